# SPDX-License-Identifier: MIT
"""line_profiler._line_profiler: the parts that are public in all but name."""
import sys

from ..._line_profiler import LineProfiler, label
from ..._line_stats import LineStats

USE_LEGACY_TRACE = not hasattr(sys, "monitoring")  # how lines are heard of

__all__ = ["LineProfiler", "LineStats", "USE_LEGACY_TRACE", "label"]
