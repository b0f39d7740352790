# SPDX-License-Identifier: MIT
"""profile, as sonde.compat.profile."""
import _sonde_alias

_sonde_alias.become(globals())
