# SPDX-License-Identifier: MIT
"""sonde.Profile, sonde.run and sonde.runctx: the adapters around the profiler of calls, which is C.

What runs the statement must be Python: the frames below enable() are nobody's rows, while a call
of exec() from C would not be seen, and every table of cProfile has it.
"""
from . import _sonde


def _say_what_is_missing(profile):
    """The table is pstats' own, so what it cannot tell goes to stderr: whoever asked for the one gets the other."""
    import sys

    untraced, folded, lost = (getattr(profile, name, 0) for name in ("untraced", "folded", "lost"))
    if untraced and sys.stderr:
        print("sonde: not traced for %.3g s: another tool, or a very deep recursion, kept calls from the profiler" % untraced,
              file=sys.stderr)
    if folded and sys.stderr:
        print("sonde: {:,} calls are known by caller and callee alone: there were more paths than Profile(nodes=N) keeps; give a larger N".format(folded), file=sys.stderr)
    if lost and sys.stderr:
        print("sonde: {:,} calls are missing: there was no room to count them".format(lost), file=sys.stderr)


class Runs:
    """Runs statements and functions under a profiler, and prints what it measured."""

    def print_stats(self, sort=-1):
        """Prints all rows; sort is a key of pstats.Stats.sort_stats, or a tuple of keys."""
        from .compat import pstats

        keys = sort if isinstance(sort, tuple) else (sort,)
        pstats.Stats(self).strip_dirs().sort_stats(*keys).print_stats()
        _say_what_is_missing(self)

    def run(self, cmd):
        """Executes a statement in the names of __main__; returns self."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        """Executes a statement in the given names; returns self."""
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func, /, *args, **kw):
        """Calls a function and returns what it returned."""
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()


class Profile(Runs, _sonde.Profile):
    __doc__ = _sonde.Profile.__doc__
    _is_calling = False

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook shows: the page of plot(), unless it is large or more is being collected."""
        from ._plot import bundle, page_of_calls

        return bundle(self, lambda: None if self._is_enabled else page_of_calls(self))

    def __call__(self, func):
        """As a decorator: every outermost call of the function is profiled, and all of them add up here.

        The body of a generator or an async function runs when it is resumed, not when it is called: each of its
        resumes is profiled, and nothing of what runs in between.
        """
        import inspect
        from functools import wraps

        from . import _resumed

        if inspect.isasyncgenfunction(func):
            profiled = _resumed.async_generator(func, self._begin, self._end)
        elif inspect.iscoroutinefunction(func):
            profiled = _resumed.coroutine(func, self._begin, self._end)
        elif inspect.isgeneratorfunction(func):
            profiled = _resumed.generator(func, self._begin, self._end)
        else:
            profiled = _profiled_function(self, func)
        return wraps(func)(profiled)

    def _call(self, func, /, *args, **kw):
        """runcall(), unless one is under way: its end would be the end of the outer one, too."""
        if self._is_calling:
            return func(*args, **kw)
        self._is_calling = True
        try:
            return self.runcall(func, *args, **kw)
        finally:
            self._is_calling = False

    def _begin(self):
        """The same of a step of a generator, which is no call: False where one is under way."""
        if self._is_calling:
            return False
        self.enable()
        self._is_calling = True

    def _end(self):
        self._is_calling = False
        self.disable()


def _profiled_function(profile, func):
    def profiled(*args, **kw):
        return profile._call(func, *args, **kw)

    return profiled


def run(statement, filename=None, sort=-1, signatures=True):
    """Runs a statement in the names of __main__ and prints where its time went, or writes that to a file."""
    from .compat import _script

    return _script.profile_statement(Profile(signatures=signatures), lambda p: p.run(statement), filename, sort)


def runctx(statement, globals, locals, filename=None, sort=-1, signatures=True):
    """Does the same as run(), in the given names."""
    from .compat import _script

    return _script.profile_statement(Profile(signatures=signatures), lambda p: p.runctx(statement, globals, locals), filename, sort)
