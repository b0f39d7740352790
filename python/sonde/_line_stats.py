# SPDX-License-Identifier: MIT
"""The plain data of line_profiler's results, under the name that its files have for them."""


class LineStats:
    """timings, {(file, first line, name): [(line, hits, time), ...]}, and the seconds of their unit."""

    def __init__(self, timings, unit):
        self.timings = timings
        self.unit = unit
