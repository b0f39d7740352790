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
    profiler                            # as the value of a notebook's cell: a page with all of them

    with sonde.memory.track() as t:     # every allocation of a block, by line and stack
        ...
    t.print()

    with sonde.record("calls") as r:    # a block with any collectors; print(r), r.report(), r.save("x.html")
        ...
    print(sonde.heap.snapshot())        # every object by type, and what holds much of them
    print(sonde.heap.why_alive(obj))

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

    if sys.version_info >= (3, 16):
        why = "it supports CPython 3.8 to 3.15; `sonde record` measures from outside what it can"
    elif not getattr(sys, "_is_gil_enabled", lambda: True)() or "free-threading" in sys.version:
        why = "it does not support free-threaded builds yet; `sonde record` measures from outside what it can"
    else:
        why = "install sonde with it (pip install sonde), or run `make` in the source tree while this Python is on PATH"
    raise ImportError("sonde has no extension for this Python ({0}): {1}".format(sys.version.split()[0], why), name="sonde._sonde") from None

from _collections_abc import Mapping as _Mapping  # loaded already wherever a program runs

_Mapping.register(Profiler)
del _Mapping

__all__ = [
    "Interval", "IoInterval", "LineProfiler", "LineStats", "MemoryInterval", "NetworkInterval", "Profile", "Profiler", "TimeInterval",
    "collectors", "heap", "is_recording", "memory", "memory_usage", "plot", "profile", "record", "run", "runctx", "section", "start", "stop",
    "timeit",
]


def plot(profile, path=None, force=False):
    """Shows a Profile, which stops collecting, as a page: functions, callers, flame graph, call graph.

    In a notebook it appears below the cell.  Elsewhere, and whenever a path is given (x.html), it is written as one
    file that needs nothing else and stays when the program ends; its path is printed, and returned.  A file that is there
    already is replaced with force=True alone.
    """
    if hasattr(profile, "_capture"):
        profile.disable()  # first of all: what comes now is our own work
    from ._plot import plot as show

    return show(profile, path, force)


_WHERE = {
    "Profile": "_calls", "run": "_calls", "runctx": "_calls", "LineProfiler": "_line_profiler", "LineStats": "_line_profiler",
    "memory_usage": "_memory", "profile": "_line_profiler", "record": "_record", "timeit": "_timeit",
}


def load_ipython_extension(shell):
    """%load_ext sonde: %sonde, %%sonde and %sonde watch."""
    from ._notebook import load

    load(shell)


def unload_ipython_extension(shell):
    """%unload_ext sonde."""
    from ._notebook import unload

    unload(shell)


def __getattr__(name):
    """What stands in a module of its own, imported when it is first asked for."""
    if name in ("heap", "memory"):
        return __import__(__name__ + "." + name, fromlist=[name])
    if name not in _WHERE:
        raise AttributeError("module {0!r} has no attribute {1!r}".format(__name__, name))
    found = getattr(__import__(__name__ + "." + _WHERE[name], fromlist=[name]), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted(set(globals()) | set(__all__))
