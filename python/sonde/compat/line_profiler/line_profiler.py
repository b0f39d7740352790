# SPDX-License-Identifier: MIT
"""line_profiler.line_profiler: where its names come from."""
from ..._line_profiler import LineProfiler, LineStats, get_code_block, is_c_level_callable, is_generated_code, load_stats, show_func, show_text
from . import __version__, main

__all__ = ["LineProfiler", "LineStats", "__version__", "get_code_block", "is_c_level_callable", "is_generated_code", "load_stats", "main",
           "show_func", "show_text"]

if __name__ == "__main__":
    main()
