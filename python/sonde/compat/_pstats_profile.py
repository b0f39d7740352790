# SPDX-License-Identifier: MIT
"""What pstats.Stats.get_stats_profile() gives; apart, because dataclasses take long to import."""
from dataclasses import dataclass
from typing import Dict


@dataclass(unsafe_hash=True)
class FunctionProfile:
    """A row of a table: times in seconds, rounded as they are printed."""

    ncalls: str
    tottime: float
    percall_tottime: float
    cumtime: float
    percall_cumtime: float
    file_name: str
    line_number: int


@dataclass(unsafe_hash=True)
class StatsProfile:
    """A whole table, by function name."""

    total_tt: float
    func_profiles: Dict[str, FunctionProfile]


for _made in (FunctionProfile, StatsProfile):
    _made.__module__ = "sonde.compat.pstats"  # where they are looked for


def _printed(x):
    return float("%8.3f" % x)


def stats_profile(stats):
    keys = stats.fcn_list or list(stats.stats)
    if not keys:
        return StatsProfile(0, {})
    rows = {}
    for key in keys:
        cc, nc, tt, ct, callers = stats.stats[key]
        rows[key[2]] = FunctionProfile(
            str(nc) if nc == cc else "%d/%d" % (nc, cc), _printed(tt), _printed(tt / nc) if nc else -1,
            _printed(ct), _printed(ct / cc) if cc else -1, key[0], key[1],
        )
    return StatsProfile(_printed(stats.total_tt), rows)
