# SPDX-License-Identifier: MIT
"""_lsprof, as sonde.compat._lsprof."""
import _sonde_alias

_sonde_alias.become(globals())
