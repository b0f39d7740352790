# SPDX-License-Identifier: MIT
"""line_profiler._line_profiler: the parts that are public in all but name."""
from ..._line_profiler import LineProfiler, LineStats, label

__all__ = ["LineProfiler", "LineStats", "label"]
