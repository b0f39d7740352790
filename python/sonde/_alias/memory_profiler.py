# SPDX-License-Identifier: MIT
"""memory_profiler, as sonde.compat.memory_profiler."""
import _sonde_alias

_sonde_alias.become(globals())
