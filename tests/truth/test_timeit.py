# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.timeit: statements whose time and number of executions are known; times are compared with times of the same run."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, clean_env, contains, equal, need, run, run_tests  # noqa: E402

HEAD = """
import asyncio, gc, sys
from statistics import median
import sonde
def refused(kind, *words, **named):
    try:
        sonde.timeit(*words, **named)
    except kind as why:
        return str(why)
    raise AssertionError("accepted")
"""


def program(text, **env):
    result = run([PYTHON, "-c", HEAD + text], env=clean_env(PYTHONPATH=PACKAGE_PATH, **env))
    equal((result.status, result.err), (0, ""), result.out)
    return result.out


def test_it_executes_as_often_as_it_is_told(folder):
    program("""
work, made = [], []
r = sonde.timeit(lambda: work.append(1), lambda: made.append(1), 7, 3)
assert (len(work), len(made), r.loops, r.repeat + r.dropped) == (21, 3, 7, 3), (len(work), len(made), r.loops, r.repeat, r.dropped)
r = sonde.timeit("work.append(1)", number=4, globals=globals())
assert (len(work), r.loops, r.repeat + r.dropped) == (41, 4, 5), (len(work), r.loops, r.repeat, r.dropped)
r = sonde.timeit("sleep(0.03)", "from time import sleep", repeat=2)
assert r.loops in (1, 2, 5, 10) and r.repeat + r.dropped == 2 and 0.0299 < r.best < 0.1, (r.loops, r.repeat, r.best)  # a sleeper wakes up late
del work[:], made[:]
r = sonde.timeit("work.append(1)", "made.append(1)", globals=globals())
assert len(made) == 1 and len(work) >= r.loops * r.repeat, (len(made), len(work), r.loops, r.repeat)
del work[:], made[:]
r = sonde.timeit("work.append(1)", "made.append(1)", 5, 2, globals(), "work.append(2)")
assert (work.count(1), work.count(2), len(made)) == (10, 10, 4), (work, made)
""")


def test_fields_are_those_of_one_set_of_batches(folder):
    program("""
r = sonde.timeit("sorted(a)", "a = list(range(300))")
assert len(r.timings) == len(r.all_runs) == r.repeat > 20, (len(r.timings), r.repeat)
assert all(abs(a - t * r.loops) <= 1e-12 for a, t in zip(r.all_runs, r.timings))
assert r.interval[0] <= r.best <= r.interval[1] and min(r.timings) <= r.best <= r.median <= r.worst == max(r.timings), r
assert abs(r.median - median(r.timings)) <= 1e-12 and abs(r.average - sum(r.timings) / r.repeat) <= 1e-12
assert abs(r.stdev ** 2 - sum((t - r.average) ** 2 for t in r.timings) / r.repeat) <= 1e-6 * r.stdev ** 2
assert 0 < r.overhead < r.best and isinstance(r.settled, bool) and r.dropped == r.outliers["preempted"]
assert 0.5 < sum(share for _, share in r.modes) <= 1.001 and r.mad >= 0, r.modes
assert (r.against, r.ratio, r.ratio_interval, r.verdict) == (None,) * 4 and r.statement == "sorted(a)"
assert repr(r) == "<TimeitResult : %s>" % r
""")


def test_its_text_is_that_of_ipython(folder):
    need(run([PYTHON, "-c", "import IPython"]).status == 0, "this Python has no IPython")
    for encoding in ("utf-8", "ascii"):
        program("""
from IPython.core.magics.execution import TimeitResult as Theirs
r = sonde.timeit("pass", number=10)
for loops in 1, 2, 12345:
    for runs in [2e-9, 3e-9], [1.5], [-1e-9, 1e-10], [61.2, 66.9], [3e-4] * 3, [0.9999999, 1.2], [7e-5, 2e-5], [90061.5], [3600.0], [0.0]:
        r.timings, r.loops, r.repeat = runs, loops, len(runs)
        theirs = Theirs(loops, len(runs), 0, 0, [t * loops for t in runs], 0, 3)
        theirs.timings = runs
        assert str(r) == str(theirs).replace("\u03bc", "\xb5"), (str(r), str(theirs))  # newer ones write the Greek letter
""", PYTHONIOENCODING=encoding)


def test_the_loop_is_subtracted(folder):
    program("""
empty = [sonde.timeit("pass").best for _ in range(3)]
assert abs(median(empty)) < 1e-9, empty
assert abs(sonde.timeit("").best) < 1e-9 or abs(sonde.timeit("# nothing").best) < 1e-9
""")


def test_spins_take_what_they_spin(folder):
    program("""
SPIN = "until = perf_counter() + %r\\nwhile perf_counter() < until: pass"
for seconds in 20e-6, 300e-6:
    found = [sonde.timeit(SPIN % seconds, "from time import perf_counter").best for _ in range(3)]
    assert seconds <= min(found) < 1.05 * seconds, (seconds, found)
r = sonde.timeit("sleep(0.002)", "from time import sleep")
assert r.repeat + r.dropped > 20 and 0.002 <= r.best < 0.02, (r.repeat, r.dropped, r.best)
""")


def test_a_comparison_has_a_ratio_and_a_verdict(folder):
    out = program("""
def one(): sum(range(500))
def three(): sum(range(500)); sum(range(500)); sum(range(500))
r, back = sonde.timeit(three, against=one), sonde.timeit(one, against=three)
assert 2 < r.ratio < 4 and r.ratio_interval[0] <= r.ratio <= r.ratio_interval[1] and r.verdict == "slower", r
assert 0.7 < r.ratio * back.ratio < 1.4 and back.verdict == "faster", (r, back)
assert r.best > r.against.best and r.against.statement is one and r.against.against is None
print(r)
""")
    contains(out, "\nthree: ")
    contains(out, " × one (")
    contains(out, "), slower\n")


def test_what_is_wrong_is_refused(folder):
    program("""
assert refused(ValueError, number=0) == "number is 0, but it must be at least 1"
assert refused(ValueError, repeat=-2) == "repeat is -2, but it must be at least 1"
refused(TypeError, number=1.5)
assert refused(ValueError, number=2**64 + 3) == "number is 18446744073709551619, but it must be at most 1125899906842624"
assert refused(ValueError, repeat=2**64 + 3) == "repeat is 18446744073709551619, but it must be at most 1000000"
assert refused(ValueError, None) == "stmt is neither a string nor callable"
assert refused(ValueError, "pass", 3) == "setup is neither a string nor callable"
assert refused(ValueError, "pass", against=3) == "stmt is neither a string nor callable"
for text in "x =", "return", "break", "yield", "  pass":
    refused(SyntaxError, text)
    refused(SyntaxError, against=text)
refused(SyntaxError, "pass", "x =")
""")


def test_what_the_statement_raises_is_raised_and_nothing_is_left(folder):
    program("""
was = sys.getprofile(), sys.gettrace(), gc.isenabled(), sys.path[:]
names = {}
for how in {}, {"number": 3}:
    assert refused(ZeroDivisionError, "1/0", **how) == "division by zero"
    refused(ZeroDivisionError, "pass", "1/0", **how)
    refused(ZeroDivisionError, against="1/0", **how)
    refused(SystemExit, "raise SystemExit(4)", **how)
    refused(StopIteration, lambda: next(iter([])), **how)
    refused(StopAsyncIteration, "raise StopAsyncIteration", **how)
    for text in "await asyncio.sleep(0); 1/0", "await asyncio.sleep(0); raise StopIteration", "await asyncio.sleep(0); raise KeyboardInterrupt":
        kind = ZeroDivisionError if "/" in text else StopIteration if "Stop" in text else KeyboardInterrupt
        refused(kind, text, "import asyncio", **how)
        assert gc.isenabled(), text
refused(NameError, "HEAD_IS_NOT_SEEN")
refused(NameError, "_end()")
refused(RuntimeError, "_sonde_end()", "_sonde_end()", number=3)
def broken():
    yield next(iter([]))
assert "raised StopIteration" in refused(RuntimeError, lambda: list(broken()), number=3)  # of its own generator
sonde.timeit("x = y", "y = 1", 2, 2, names)
assert not set(names) - {"__builtins__"}, names
gc.disable()
sonde.timeit(lambda: 0, number=3)
assert not gc.isenabled()
gc.enable()
assert was == (sys.getprofile(), sys.gettrace(), gc.isenabled(), sys.path)
states = []
sonde.timeit("states.append(gc.isenabled())", "import gc", 2, 2, globals())
assert set(states) == {False} and gc.isenabled(), states
""")


def test_a_statement_may_await(folder):
    program("""
r = sonde.timeit("await asyncio.sleep(0.01)", "import asyncio", repeat=2, number=3)
assert 0.0099 < r.best < 0.1 and len(r.timings) == r.repeat, r
async def within():
    assert "event loop" in refused(RuntimeError, "await f()", number=3)
    return sonde.timeit("pass", number=3)
assert asyncio.run(within()).loops == 3
asyncio.set_event_loop(asyncio.new_event_loop())
mine = asyncio.get_event_loop()
sonde.timeit("await asyncio.sleep(0)", "import asyncio", repeat=1, number=1)
assert asyncio.get_event_loop() is mine
mine.close()
""")


if __name__ == "__main__":
    run_tests(globals())
