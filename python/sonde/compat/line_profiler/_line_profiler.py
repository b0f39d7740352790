# SPDX-License-Identifier: MIT
"""line_profiler._line_profiler: the parts that are public in all but name."""
from ..._line_profiler import LineProfiler, label
from ..._line_stats import LineStats

__all__ = ["LineProfiler", "LineStats", "label"]
