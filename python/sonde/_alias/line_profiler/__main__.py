# SPDX-License-Identifier: MIT
import line_profiler

line_profiler.main()
