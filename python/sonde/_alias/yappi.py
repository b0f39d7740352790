# SPDX-License-Identifier: MIT
"""yappi, as sonde.compat.yappi."""
import _sonde_alias

_sonde_alias.become(globals())
