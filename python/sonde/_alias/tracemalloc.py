# SPDX-License-Identifier: MIT
"""tracemalloc, as sonde.compat.tracemalloc."""
import _sonde_alias

_sonde_alias.become(globals())
