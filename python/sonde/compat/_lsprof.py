# SPDX-License-Identifier: MIT
"""_lsprof, measured by Sonde: what cProfile stands on."""
from .._sonde import LsprofProfiler as Profiler
from .._sonde import profiler_entry, profiler_subentry

__all__ = ["Profiler", "profiler_entry", "profiler_subentry"]
