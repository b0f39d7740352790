# SPDX-License-Identifier: MIT
"""memray, as sonde.compat.memray."""
import _sonde_alias

_sonde_alias.become(globals(), ("_memray", "_destination", "_metadata", "_stats", "_errors", "commands"))
