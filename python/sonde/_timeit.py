# SPDX-License-Identifier: MIT
"""sonde.timeit: what a statement takes, measured in this process (`sonde time` does it in several)."""
import operator
import os
import sys
from math import floor, fsum, log10, sqrt
from types import BuiltinFunctionType, FunctionType, MethodType

from . import _sonde
from ._statement import drive, empty, side

_BUDGET = 1.0  # seconds for each statement; %timeit takes 1.6 and more
_REPEAT = 5  # timeit's
_NUMBER_MAX, _REPEAT_MAX = 1 << 50, 1000000  # as `sonde time`


def timeit(stmt="pass", setup="pass", number=None, repeat=None, globals=None, against=None):
    """Measures a statement, which is text or a callable, and returns a TimeitResult.

        sonde.timeit("json.dumps(data)", "import json", globals=globals())
        sonde.timeit(f, against=g).verdict        # "slower", "faster", "same" or "cannot tell"

    It takes about a second: set-up runs once, then the statement in batches of 0.15 ms.  A batch in which this thread was taken off
    its CPU is dropped, and the loop's own time is subtracted.  With `number` or `repeat` it works as timeit does: set-up and `number`
    executions, `repeat` times (5); `number` alone is chosen as timeit chooses it.  `globals` are the names that texts see, beside
    the builtins.  `against` is another statement for the same set-up, measured in turn with the first.
    """
    number, repeat = _count("number", number, _NUMBER_MAX), _count("repeat", repeat, _REPEAT_MAX)
    statements = [stmt] if against is None else [stmt, against]
    made = {}
    for at in sorted(range(len(statements)), reverse=os.urandom(1)[0] & 1):  # which is compiled first changes both by a little
        made[at] = side(statements[at], setup, globals, at)
    sides = [made[at] for at in range(len(statements))]
    if any(is_async for _, is_async in sides):
        _need_no_loop()
    run = _sonde.TimeRun([empty()] + sides)
    if number is None and repeat is None:
        run.plan_budget(_BUDGET * len(sides))
    else:
        run.plan_repeats(number or 0, repeat or _REPEAT)
    drive(run)
    result = TimeitResult(stmt, run, 0)
    if against is not None:
        compared = run.compare(0, 1)
        result.against = TimeitResult(against, run, 1)
        result.ratio, result.verdict, result.ratio_interval = compared["ratio"], compared["verdict"], (compared["low"], compared["high"])
    return result


class TimeitResult:
    """What a statement takes, in seconds of one execution; the loop's own time is subtracted everywhere.

    As of %timeit: best, worst, average, stdev, timings (of each batch that counts), all_runs (the same of whole batches), loops (in a
    batch), repeat (batches that count).  Besides:

    best is the 2 % quantile of the batches, which another run repeats more closely than the least of them; interval holds it with 95 %
    median, mad     the median, and the median of the distances from it
    modes           [(seconds, share)], the fastest first
    outliers        how many batches were far off, by cause
    dropped         batches that do not count: the thread was taken off its CPU
    overhead        of one turn of the loop alone
    settled         whether the fastest batches agree within 2 %, and the machine reached the best speed that `sonde time` ever saw
    against, ratio, ratio_interval, verdict
                    of a comparison: the other statement's result, this one's time as a multiple of that; else None
    """

    against = ratio = ratio_interval = verdict = None

    def __init__(self, statement, run, at):
        figures = run.figures(at)
        self.statement = statement
        self.timings = run.times(at)
        self.loops, self.repeat, self.dropped = figures["loops"], len(self.timings), figures["dropped"]
        self.settled, self.outliers = figures["settled"], figures["outliers"]
        self.best, self.median, self.mad, self.overhead = (figures[name] * 1e-9 for name in ("best_ns", "median_ns", "mad_ns", "loop_ns"))
        self.interval = figures["low_ns"] * 1e-9, figures["high_ns"] * 1e-9
        self.modes = [(ns * 1e-9, share) for ns, share in figures["modes"]]

    @property
    def all_runs(self):
        return [seconds * self.loops for seconds in self.timings]

    @property
    def worst(self):
        return max(self.timings)

    @property
    def average(self):
        return fsum(self.timings) / len(self.timings)

    @property
    def stdev(self):
        average = self.average
        return sqrt(fsum((seconds - average) ** 2 for seconds in self.timings) / len(self.timings))

    def __str__(self):
        sign = _writable("\xb1", "+-")
        line = "{0} {1} {2} per loop (mean {1} std. dev. of {3} run{4}, {5:,} loop{6} each)".format(
            _time_text(self.average), sign, _time_text(self.stdev), self.repeat, _s(self.repeat), self.loops, _s(self.loops))
        if self.against is None:
            return line
        return "{0}\n{1}: {2:.4g} {3} {4} ({5:.4g} to {6:.4g}), {7}".format(
            line, _name(self.statement), self.ratio, _writable("\xd7", "x"), _name(self.against.statement), *self.ratio_interval + (self.verdict,))

    def __repr__(self):
        return "<TimeitResult : {0}>".format(self)


def _count(what, number, most):
    if number is None:
        return None
    number = operator.index(number)
    if number < 1:
        raise ValueError("{0} is {1}, but it must be at least 1".format(what, number))
    if number > most:
        raise ValueError("{0} is {1}, but it must be at most {2}".format(what, number, most))
    return number


def _need_no_loop():
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("a statement with await runs in an event loop of its own, which cannot be within the one that runs here; "
                       "call sonde.timeit in another thread, as by asyncio.to_thread")


def _s(n):
    return "" if n == 1 else "s"


def _name(statement):
    """The first line of a text, the name of a callable; nothing of it is called."""
    if isinstance(statement, str):
        return statement.strip().split("\n")[0]
    has_name = isinstance(statement, (type, FunctionType, BuiltinFunctionType, MethodType))
    return statement.__qualname__ if has_name else type(statement).__name__


def _writable(sign, otherwise):
    try:
        sign.encode(sys.stdout.encoding)
    except (AttributeError, LookupError, TypeError, UnicodeError):
        return otherwise
    return sign


def _time_text(seconds):
    """As %timeit writes it: 1.23 µs, and 1min 5s from a minute on."""
    if seconds >= 60:
        parts, left = [], seconds
        for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            if left >= length:
                parts.append("{0}{1}".format(int(left / length), unit))
                left %= length
        return " ".join(parts)
    order = min(-(floor(log10(seconds)) // 3), 3) if seconds > 0 else 3
    return "{0:.3g} {1}".format(seconds * 1000 ** order, ("s", "ms", _writable("\xb5s", "us"), "ns")[order])
