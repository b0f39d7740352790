# SPDX-License-Identifier: MIT
"""mprof, as sonde.compat.mprof."""
import _sonde_alias

_sonde_alias.become(globals())
