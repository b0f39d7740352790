# SPDX-License-Identifier: MIT
"""line_profiler.autoprofile: what -p of kernprof takes."""
