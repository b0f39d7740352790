# SPDX-License-Identifier: MIT
"""cProfile, as sonde.compat.cProfile."""
import _sonde_alias

_sonde_alias.become(globals())
