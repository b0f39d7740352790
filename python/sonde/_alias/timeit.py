# SPDX-License-Identifier: MIT
"""timeit, as sonde.compat.timeit."""
import _sonde_alias

_sonde_alias.become(globals())
