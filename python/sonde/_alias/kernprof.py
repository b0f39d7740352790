# SPDX-License-Identifier: MIT
"""kernprof, as sonde.compat.kernprof."""
import _sonde_alias

_sonde_alias.become(globals())
