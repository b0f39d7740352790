# SPDX-License-Identifier: MIT
"""profile, measured by Sonde: `from sonde.compat import profile`, `python -m sonde.compat.profile`.

The names and the tables of the pure-Python profiler: C functions by their bare names, the command
as the caller of all, callers as plain numbers, CPU time of the process.  The calls are seen by the engine
that cProfile has here, so the methods by which profile.py does its work (dispatch, trace_dispatch and
what they call) are not there to be overridden.
"""
import sys
import time

from . import _script
from .._calls import Runs as _Runs
from .._sonde import Profile as _Engine
from .._sonde import plain_stats as _plain_stats

__all__ = ["run", "runctx", "Profile"]


def _warn():
    """Tells the line that imports this, of whichever name, as CPython's module tells it."""
    import importlib
    import os
    import warnings

    warnings.warn(
        "The profile module is deprecated and will be removed in Python 3.17. "
        "Use profiling.tracing (or cProfile) for tracing profilers instead.",
        DeprecationWarning,
        skip_file_prefixes=(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, os.path.dirname(importlib.__file__) + os.sep),
    )


if sys.version_info >= (3, 15):
    _warn()


def run(statement, filename=None, sort=-1):
    """Runs a statement in the names of __main__ and prints where its time went, or writes that to a file.

    sort is a key of pstats.Stats.sort_stats, or a tuple of keys.  SystemExit ends the statement only.
    """
    return _script.profile_statement(Profile(), lambda p: p.run(statement), filename, sort)


def runctx(statement, globals, locals, filename=None, sort=-1):
    """Does the same as run(), in the given names."""
    return _script.profile_statement(Profile(), lambda p: p.runctx(statement, globals, locals), filename, sort)


class Profile(_Runs):
    """Profile(timer=None, bias=None)

    A timer gives a number, or several that are added up.  bias is what is taken off at each call and each
    return, in the timer's unit; calibrate() measures it, and Profile.bias is that of all new ones.
    """

    bias = 0

    def __init__(self, timer=None, bias=None):
        self.bias = self.bias if bias is None else bias
        self.timer = timer or time.process_time
        self.get_time = self.timer
        if hasattr(self.timer(), "__len__"):
            self.get_time = lambda timer=self.timer, sum=sum: sum(timer())
        self.cmd = ""
        self._engine = _Engine(self.get_time, builtins=True, signatures=False)
        self.enable, self.disable = self._engine.enable, self._engine.disable  # C: no rows of our own

    @property
    def timings(self):
        """{(file, line, name): (primitive calls, 0, own time, total time, callers)}"""
        return {key: (cc, 0, tt, ct, callers) for key, (cc, nc, tt, ct, callers) in self._plain().items()}

    def _plain(self):
        return _plain_stats(self._engine.getstats(bias=self.bias), self.cmd)

    def set_cmd(self, cmd):
        """Sets the name of what is called first, which stands in the tables as the caller of the rest."""
        self.cmd = self.cmd or cmd

    def dump_stats(self, file):
        import marshal

        with open(file, "wb") as f:
            self.create_stats()
            marshal.dump(self.stats, f)

    def create_stats(self):
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self):
        self.stats = self._plain()

    def runctx(self, cmd, globals, locals):
        self.set_cmd(cmd)
        return _Runs.runctx(self, cmd, globals, locals)

    def runcall(self, func, /, *args, **kw):
        self.set_cmd(repr(func))
        return _Runs.runcall(self, func, *args, **kw)

    def calibrate(self, m, verbose=0):
        """Measures what one event (a call, a return) costs more than this profiler notices: a value for bias."""
        if type(self) is not Profile:
            raise TypeError("Subclasses must override .calibrate().")

        def work(n):
            for i in range(n):
                pass

        def works(m, work=work):
            for i in range(m):
                work(100)

        works(m)  # warm
        began = self.get_time()
        works(m)
        plain = self.get_time() - began
        p = Profile(self.timer, 0)
        began = self.get_time()
        p.runcall(works, m)
        profiled = self.get_time() - began
        rows = [row for key, row in p.timings.items() if key[2] in ("work", "works")]
        calls, reported = sum(row[0] for row in rows), sum(row[2] for row in rows)
        if calls != m + 1:
            raise ValueError("internal error: total calls = %d" % calls)
        mean = (reported - plain) / 2.0 / calls
        if verbose:
            print("elapsed time without profiling =", plain)
            print("elapsed time with profiling =", profiled)
            print("'CPU seconds' profiler reported =", reported)
            print("total # calls =", calls)
            print("mean stopwatch overhead per profile event =", mean)
        return mean


def main():
    return _script.main(_script.options("profile", {"default": -1}, "Profile a library module."), runctx)


if __name__ == "__main__":
    main()
