# SPDX-License-Identifier: MIT
"""profiling of CPython 3.15, as sonde.compat.profiling; on a version without it, whatever else has this name."""
import _sonde_alias

_sonde_alias.become_from((3, 15), globals(), ("tracing", "sampling", "sampling.errors"))
