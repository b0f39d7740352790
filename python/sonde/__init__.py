# SPDX-License-Identifier: MIT
"""Sonde: one profiler for Python and machine-learning programs.

    from sonde import Profiler

    profiler = Profiler()
    with profiler("loading-data"):
        ...
    for batch in profiler.each(batches, name="epoch"):
        ...
    profiler["loading-data"].time.duration
    profiler.df()                       # with pandas; profiler.rows() always

Sections are measured in this process and kept in memory.  Under `sonde run program.py`, after
sonde.start("x.sonde"), or with SONDE_OUT=x.sonde in the environment, they also go into a capture,
on one clock with everything else that is recorded: `sonde report x.sonde`.

Importing sonde starts nothing, opens nothing and imports nothing but its own extension.
"""
try:
    from ._sonde import (
        Interval, IoInterval, MemoryInterval, NetworkInterval, Profiler, TimeInterval, __version__, collectors, is_recording,
        section, start, stop,
    )
except ModuleNotFoundError as why:
    if why.name != "sonde._sonde":
        raise
    import sys

    raise ImportError(
        "sonde has no extension for this Python ({0}): install sonde with it (pip install sonde), or run `make` in the "
        "source tree while this Python is on PATH".format(sys.version.split()[0]),
        name="sonde._sonde",
    ) from None

from _collections_abc import Mapping as _Mapping  # loaded already wherever a program runs

_Mapping.register(Profiler)
del _Mapping

__all__ = [
    "Interval", "IoInterval", "MemoryInterval", "NetworkInterval", "Profile", "Profiler", "TimeInterval", "collectors",
    "is_recording", "plot", "run", "runctx", "section", "start", "stop",
]


def __getattr__(name):
    """Profile, plot, run and runctx, imported when they are first asked for."""
    if name == "plot":
        from ._plot import plot

        globals().update(plot=plot)
        return plot
    if name not in ("Profile", "run", "runctx"):
        raise AttributeError("module {0!r} has no attribute {1!r}".format(__name__, name))
    from . import _calls

    globals().update(Profile=_calls.Profile, run=_calls.run, runctx=_calls.runctx)
    return globals()[name]


def __dir__():
    return sorted(set(globals()) | set(__all__))
