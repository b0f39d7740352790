# SPDX-License-Identifier: MIT
"""cProfile, measured by Sonde: `from sonde.compat import cProfile`, `python -m sonde.compat.cProfile`.

Same names, arguments, rows and files.  What is different is what was wrong: functions of equal
file, line and name add up instead of one hiding the other, only the thread that called enable()
is followed on every version, and times are less what tracing costs.
"""
import sys

from . import _lsprof, _script
from .._calls import Runs as _Runs

__all__ = ["run", "runctx", "Profile"]


def run(statement, filename=None, sort=-1):
    """Runs a statement in the names of __main__ and prints where its time went, or writes that to a file.

    sort is a key of pstats.Stats.sort_stats, or a tuple of keys.  SystemExit ends the statement only.
    """
    return _script.profile_statement(Profile(), lambda p: p.run(statement), filename, sort)


def runctx(statement, globals, locals, filename=None, sort=-1):
    """Does the same as run(), in the given names."""
    return _script.profile_statement(Profile(), lambda p: p.runctx(statement, globals, locals), filename, sort)


class Profile(_Runs, _lsprof.Profiler):
    """Profile(timer=None, timeunit=None, subcalls=True, builtins=True)

    Counts and times every call of this thread between enable() and disable().  A timer gives seconds as a
    float, or integers of which one is timeunit seconds.
    """


if sys.version_info < (3, 15):  # from then on profiling.tracing alone has it
    label = _script.label


def main():
    from . import pstats

    sort = {"default": 2 if sys.version_info >= (3, 11) else -1, "choices": sorted(pstats.Stats.sort_arg_dict_default)}
    return _script.main(_script.options("cProfile", sort, "Profile a library module"), runctx)


if __name__ == "__main__":
    main()
