# SPDX-License-Identifier: MIT
"""timeit, by Sonde: `from sonde.compat import timeit`, `python -m sonde.compat.timeit`.

Names, arguments, loop, command line and printed text are those of the interpreter's own version, and so is the help, which is
read from its own module. Nothing is subtracted and nothing dropped: that is what `sonde time` and `sonde.timeit` are for.

A statement without namespace of its own runs in the one of this module, where programs expect gc, itertools, sys and time.
"""
import gc
import itertools
import sys
import time

__all__ = ["Timer", "timeit", "repeat", "default_timer"]

default_timer = time.perf_counter
default_number, default_repeat = 1000000, 5
dummy_src_name = "<timeit-src>"

_NAMES = globals()
_HAS_TARGET = sys.version_info >= (3, 15)  # then argparse reads the command line, too, and there are colours
_TARGET_TIME = 0.2
if _HAS_TARGET:
    default_target_time = _TARGET_TIME

# Tracebacks show these lines with their numbers, and a statement sees their names.
_BODY = ["{setup}", "_t0 = _timer()", "for _i in _it:", "    {stmt}", "_t1 = _timer()", "return _t1 - _t0"]
if sys.version_info >= (3, 10):
    _BODY.insert(4, "    pass")  # a statement may be a comment
template = "\n".join(["", "def inner(_it, _timer{init}):"] + ["    " + line for line in _BODY] + [""])


def reindent(src, indent):
    """Moves every line but the first to the right."""
    return ("\n" + " " * indent).join(src.split("\n"))


def _checked(what, code, before=""):
    """Whether it is source, which must also compile by itself, so that `return` or `break` cannot mean our function and loop."""
    if isinstance(code, str):
        compile(before + code, dummy_src_name, "exec")
        return True
    if not callable(code):
        raise ValueError("%s is neither a string nor callable" % what)
    return False


class Timer:
    """Times a statement, which is source or a callable, after a set-up of either kind; both default to "pass".

    timer is a function that returns the time; globals are the names that the statement sees.
    """

    def __init__(self, stmt="pass", setup="pass", timer=default_timer, globals=None):
        self.timer = timer
        callables, sources = {}, {}
        if _checked("setup", setup):
            sources["setup"], before = reindent(setup, 4), setup + "\n"
        else:
            sources["setup"], before, callables["_setup"] = "_setup()", "", setup
        if _checked("stmt", stmt, before):
            sources["stmt"] = reindent(stmt, 8)
        else:
            sources["stmt"], callables["_stmt"] = "_stmt()", stmt
        init = "".join(", {0}={0}".format(name) for name in callables)  # as defaults they are local names of the loop
        self.src = template.format(init=init, **sources)
        exec(compile(self.src, dummy_src_name, "exec"), _NAMES if globals is None else globals, callables)
        self.inner = callables["inner"]

    def _show_source(self):
        """Lets a traceback find the lines of the loop."""
        import linecache

        if self.src is not None:  # a subclass may have put its source there itself
            linecache.cache[dummy_src_name] = len(self.src), None, self.src.split("\n"), dummy_src_name

    if _HAS_TARGET:

        def print_exc(self, file=None, **kwargs):
            """Prints the traceback of the exception being handled, with the lines of the statement; colorize=True colours it."""
            import traceback

            self._show_source()
            traceback.print_exc(file=file, **dict({"colorize": False}, **kwargs))

        def autorange(self, callback=None, target_time=default_target_time):
            """Returns the first number of 1, 2, 5, 10, 20, ... loops that take target_time seconds, and what they took.

            callback(number, time_taken) is called after each trial.
            """
            for number in _numbers():
                time_taken = self.timeit(number)
                if callback:
                    callback(number, time_taken)
                if time_taken >= target_time:
                    return number, time_taken

    else:

        def print_exc(self, file=None):
            """Prints the traceback of the exception being handled, with the lines of the statement."""
            import traceback

            self._show_source()
            traceback.print_exc(file=file)

        def autorange(self, callback=None):
            """Returns the first number of 1, 2, 5, 10, 20, ... loops that take 0.2 seconds, and what they took.

            callback(number, time_taken) is called after each trial.
            """
            for number in _numbers():
                time_taken = self.timeit(number)
                if callback:
                    callback(number, time_taken)
                if time_taken >= _TARGET_TIME:
                    return number, time_taken

    def timeit(self, number=default_number):
        """Runs the set-up once and the statement `number` times, without garbage collection; returns what the latter took."""
        loops = itertools.repeat(None, number)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return self.inner(loops, self.timer)
        finally:
            if was_enabled:
                gc.enable()

    def repeat(self, repeat=default_repeat, number=default_number):
        """Returns a list of as many results of timeit(number)."""
        taken = []  # a loop: a comprehension is a frame in tracebacks before 3.12
        for _ in range(repeat):
            taken.append(self.timeit(number))
        return taken


def _numbers():
    for power in itertools.count():
        for digit in 1, 2, 5:
            yield digit * 10 ** power


def timeit(stmt="pass", setup="pass", timer=default_timer, number=default_number, globals=None):
    """Returns Timer(stmt, setup, timer, globals).timeit(number)."""
    return Timer(stmt, setup, timer, globals).timeit(number)


def repeat(stmt="pass", setup="pass", timer=default_timer, repeat=default_repeat, number=default_number, globals=None):
    """Returns Timer(stmt, setup, timer, globals).repeat(repeat, number)."""
    return Timer(stmt, setup, timer, globals).repeat(repeat, number)


def _interpreters_own():
    """The names of the interpreter's own timeit; none where its library is in no folder or archive."""
    import os
    from _frozen_importlib_external import PathFinder

    names = {"__name__": "timeit"}
    library = os.path.dirname(getattr(os, "__file__", ""))
    spec = PathFinder.find_spec("timeit", [library]) if library else None
    if spec is not None:
        exec(spec.loader.get_code("timeit"), names)
    return names


_SCALES = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6, "nsec": 1e-9}


class _Words:
    """What the command line says."""

    number, repeat, verbose, unit, process, target_time = 0, default_repeat, 0, None, False, _TARGET_TIME

    def __init__(self):
        self.setup, self.statement = [], []


class _NoTheme:
    """The colours of a version that has none."""

    punctuation = timing = best = per_loop = warning = warning_worst = warning_best = reset = ""


def _read_by_getopt(args, words):
    """Fills the words; returns a status where the command ends with them."""
    import getopt

    ignored = sys.version_info < (3, 12)  # -t and -c chose a timer once, and were accepted until then
    try:
        options, words.statement = getopt.getopt(
            args, "n:u:s:r:pvh" + "tc" * ignored,
            ["number=", "setup=", "repeat=", "process", "verbose", "unit=", "help"] + ["time", "clock"] * ignored)
    except getopt.error as why:
        print(why)
        print("use -h/--help for command line help")
        return 2
    for option, value in options:
        if option in ("-n", "--number"):
            words.number = int(value)
        elif option in ("-r", "--repeat"):
            words.repeat = int(value)
        elif option in ("-s", "--setup"):
            words.setup.append(value)
        elif option in ("-p", "--process"):
            words.process = True
        elif option in ("-v", "--verbose"):
            words.verbose += 1
        elif option in ("-u", "--unit"):
            if value not in _SCALES:
                print("Unrecognized unit. Please select nsec, usec, msec, or sec.", file=sys.stderr)
                return 2
            words.unit = value
        elif option in ("-h", "--help"):
            print(__doc__, end="" if sys.version_info >= (3, 14) else " ")
            return 0
    return None


def _read_by_argparse(args, words):
    """Does the same with the options, usage and refusals of 3.15."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def print_help(self, file=None):
            own = _interpreters_own().get("main")
            if own:
                own(["-h"])
            else:
                super(Parser, self).print_help(file)

    parser = Parser(prog="python -m timeit")
    for flags, how in (
        (("-n", "--number"), {"type": int}), (("-r", "--repeat"), {"type": int}), (("-s", "--setup"), {"action": "append"}),
        (("-p", "--process"), {"action": "store_true"}), (("-t", "--target-time"), {"type": float}),
        (("-v", "--verbose"), {"action": "count"}), (("-u", "--unit"), {"choices": sorted(_SCALES, key=_SCALES.get)}),
        (("statement",), {"nargs": "*"}),
    ):
        parser.add_argument(*flags, **how)
    try:
        parser.parse_args(args, words)
    except SystemExit as why:
        return why.code
    return None


def main(args=None, *, _wrap_timer=None):
    """`python -m timeit`: reads args, or sys.argv[1:], and returns its status, None for success; _wrap_timer may replace the timer."""
    if args is None:
        args = sys.argv[1:]
    words, theme, colours = _Words(), _NoTheme, {}
    if _HAS_TARGET:
        import _colorize

        colours["colorize"] = _colorize.can_colorize()
        theme = _colorize.get_theme(force_color=colours["colorize"]).timeit
    status = (_read_by_argparse if _HAS_TARGET else _read_by_getopt)(args, words)
    if status is not None:
        return status
    timer = time.process_time if words.process else default_timer
    number, times = words.number, max(words.repeat, 1)
    digits = max(words.verbose, 1) + 2
    import os

    sys.path.insert(0, os.curdir)  # the statement imports what is in the current folder
    if _wrap_timer is not None:
        timer = _wrap_timer(timer)
    t = Timer("\n".join(words.statement) or "pass", "\n".join(words.setup) or "pass", timer)

    if number == 0:
        word = "sec" if sys.version_info >= (3, 14) else "secs"

        def tell(number, taken):
            print("%d loop%s %s-> %s%.*g %s%s" % (number, "s" * (number != 1), theme.punctuation, theme.timing, digits, taken, word, theme.reset))

        try:
            target = (words.target_time,) if _HAS_TARGET else ()
            number, _ = t.autorange(tell if words.verbose else None, *target)
        except:  # noqa: E722  # whatever the statement raises
            t.print_exc(**colours)
            return 1
        if words.verbose:
            print()
    try:
        taken = t.repeat(times, number)
    except:  # noqa: E722
        t.print_exc(**colours)
        return 1

    def text(seconds):
        unit = words.unit or next((unit for unit, scale in _SCALES.items() if seconds >= scale), "nsec")
        return "%.*g %s" % (digits, seconds / _SCALES[unit], unit)

    if words.verbose:
        print("raw times: %s%s\n" % ((theme.punctuation + ", ").join(theme.timing + text(seconds) for seconds in taken), theme.reset))
    each = [seconds / number for seconds in taken]
    best, worst = min(each), max(each)
    print("%d loop%s, best of %d: %s%s%s %sper loop%s" % (
        number, "s" * (number != 1), times, theme.best, text(best), theme.reset, theme.per_loop, theme.reset))
    if worst >= best * 4:
        import warnings

        if _HAS_TARGET:
            print(file=sys.stderr)
        said = "{0}The test results are likely unreliable. The {1}worst time ({2}){0} was more than four times slower than the {3}best time ({4}){0}.{5}"
        warnings.warn_explicit(
            said.format(theme.warning, theme.warning_worst, text(worst), theme.warning_best, text(best), theme.reset), UserWarning, "", 0)
    return None


__doc__ = _interpreters_own().get("__doc__", __doc__)  # -h prints it

if __name__ == "__main__":
    sys.exit(main())
