# SPDX-License-Identifier: MIT
"""The mean that is taken of many short measurements on a machine which is not ours alone."""
import statistics


def middle_mean(values):
    """Without a tenth at each end, in which other programs are."""
    values = sorted(values)
    cut = len(values) // 10
    return statistics.fmean(values[cut:len(values) - cut])
