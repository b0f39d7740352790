# SPDX-License-Identifier: MIT
"""pstats, as sonde.compat.pstats."""
import _sonde_alias

_sonde_alias.become(globals())
