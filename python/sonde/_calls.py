# SPDX-License-Identifier: MIT
"""sonde.Profile, sonde.run and sonde.runctx: the adapters around the profiler of calls, which is C.

What runs the statement must be Python: the frames below enable() are nobody's rows, while a call
of exec() from C would not be seen, and every table of cProfile has it.
"""
from . import _sonde


class Runs:
    """Runs statements and functions under a profiler, and prints what it measured."""

    def print_stats(self, sort=-1):
        """Prints all rows; sort is a key of pstats.Stats.sort_stats, or a tuple of keys."""
        from .compat import pstats

        keys = sort if isinstance(sort, tuple) else (sort,)
        pstats.Stats(self).strip_dirs().sort_stats(*keys).print_stats()

    def run(self, cmd):
        """Executes a statement in the names of __main__; gives self."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        """Executes a statement in the given names; gives self."""
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func, /, *args, **kw):
        """Calls a function; gives what it returned."""
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()


class Profile(Runs, _sonde.Profile):
    __doc__ = _sonde.Profile.__doc__

    def __call__(self, func):
        """As a decorator: every outermost call of the function is profiled, and all of them add up here."""
        from functools import wraps

        depth = 0

        @wraps(func)
        def profiled(*args, **kw):
            nonlocal depth
            if depth:
                return func(*args, **kw)
            depth += 1
            try:
                return self.runcall(func, *args, **kw)
            finally:
                depth -= 1

        return profiled


def run(statement, filename=None, sort=-1):
    """Runs a statement in the names of __main__ and prints where its time went, or writes that to a file."""
    from .compat import _script

    return _script.profile_statement(Profile(), lambda p: p.run(statement), filename, sort)


def runctx(statement, globals, locals, filename=None, sort=-1):
    """The same as run(), in the given names."""
    from .compat import _script

    return _script.profile_statement(Profile(), lambda p: p.runctx(statement, globals, locals), filename, sort)
