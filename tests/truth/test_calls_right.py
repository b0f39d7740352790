# SPDX-License-Identifier: MIT
# interpreters: all
"""Where other profilers of calls are known to be wrong, each with a program whose truth is known.

The cost of tracing that lands in callers: test_calls_bias.py.  Callers that strip_dirs() makes one:
formats/test_pstats.py and compat/test_cprofile.py.
"""
import cProfile
import io
import json
import marshal
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, contains, equal, run_tests, sonde, write  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
import sonde as package  # noqa: E402
from sonde.compat import cProfile as compat, pstats, yappi  # noqa: E402


def Profile(**how):
    """Functions by their names alone."""
    return package.Profile(signatures=False, **how)


def profiled(profile, function, *args):
    """{(file, line, name): (primitive, calls, own, total, callers)} of what a pstats file would hold."""
    profile.enable()
    try:
        function(*args)
    finally:
        profile.disable()
    profile.create_stats()
    return profile.stats


def row(stats, name):
    found = [entry for key, entry in stats.items() if key[2] == name]
    equal(len(found), 1, "rows of " + name)
    return found[0]


# ---- functions that have one name


ALIKE = """
import collections, dataclasses
@dataclasses.dataclass
class Many:
    x: int
@dataclasses.dataclass
class Few:
    x: int
def both():
    for i in range(300):
        Many(i)
    for i in range(5):
        Few(i)
def lambdas():
    f, g = (lambda: 1), (lambda: 2)
    for _ in range(4):
        f()
    for _ in range(6):
        g()
both()
lambdas()
"""


def test_functions_of_one_file_line_and_name_add_up(folder):
    """cProfile keeps one of them: all dataclasses have their __init__ in line 1 or 2 of <string>."""
    names = {}
    exec(compile(ALIKE, "alike.py", "exec"), names)
    for profile in (Profile(), Profile(builtins=False), compat.Profile()):
        stats = profiled(profile, names["both"])
        calls, by = row(stats, "__init__")[1], row(stats, "__init__")[4]
        equal((calls, sum(caller[0] for caller in by.values())), (305, 305), "constructions, and by whom")
        stats = profiled(profile, names["lambdas"])
        equal(row(stats, "<lambda>")[:2], (10, 10), "calls of two functions in one line")
    separate = [e.callcount for e in profile.getstats() if getattr(e.code, "co_name", "") == "__init__"]
    equal(sorted(separate), [5, 300], "getstats() tells them apart")


def test_they_add_up_in_captures_and_files_too(folder):
    script = write(folder, "alike.py", ALIKE)
    status, out, err = sonde("calls", "--python", PYTHON, "-o", "x.sonde", script, cwd=folder)
    equal(status, 0, err)
    capture = os.path.join(folder, "x.sonde")
    equal(sonde("convert", capture, "x.pstats", cwd=folder).status, 0, "convert")
    with open(os.path.join(folder, "x.pstats"), "rb") as f:
        stats = marshal.load(f)
    equal(sum(v[1] for k, v in stats.items() if k[0] == "<string>" and k[2] == "__init__"), 305, "constructions")
    equal(sum(v[1] for k, v in stats.items() if k[0] == script and k[2] == "<lambda>"), 10, "calls of lambdas")


NESTED = """
import dataclasses
@dataclasses.dataclass
class Inner:
    x: int
@dataclasses.dataclass
class Outer:
    x: int
    def __post_init__(self):
        self.y = Inner(1)
for i in range(7):
    Outer(i)
below = None
for i in range(4):
    names = {"below": below}
    exec(compile("def again(): return 1 + (below() if below else 0)", "made.py", "exec"), names)
    below = names["again"]
assert below() == 4
"""


def test_functions_that_look_the_same_are_no_recursion_when_one_calls_another(folder):
    """In a capture as in a Profile; what they add up to is counted of each by itself."""
    code = compile(NESTED, "nested.py", "exec")
    stats = profiled(Profile(builtins=False), lambda: exec(code, {"__name__": "nested"}))
    script = write(folder, "nested.py", NESTED)
    status, out, err = sonde("calls", "--python", PYTHON, "-o", "x.pstats", script, cwd=folder)
    equal(status, 0, err)
    with open(os.path.join(folder, "x.pstats"), "rb") as f:
        captured = marshal.load(f)
    for found in (stats, captured):
        equal(row(found, "again")[:2], (4, 4), "primitive calls and calls of four functions, each of which calls the next")
        equal(sum(n[0] for caller, n in row(found, "again")[4].items() if caller[2] == "again"), 3, "of each other")
        made = [v for k, v in found.items() if k[0] == "<string>" and k[2] == "__init__"]
        equal((sum(v[0] for v in made), sum(v[1] for v in made)), (14, 14), "constructions, one within the other")


# ---- threads


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def leaf_a():
    spin(0.0005)


def leaf_b():
    spin(0.0005)


def work_a():
    for _ in range(100):
        leaf_a()


def work_b():
    for _ in range(100):
        leaf_b()


def two_threads():
    threads = [threading.Thread(target=work) for work in (work_a, work_b)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_threads_have_their_own_calls_and_times(folder):
    """cProfile of 3.12 and later has one stack for all threads: 0 s in work_b, and leaves called by join()."""
    stats = profiled(Profile(builtins=False, threads=True), two_threads)
    for work, leaf in (("work_a", "leaf_a"), ("work_b", "leaf_b")):
        equal((row(stats, work)[1], row(stats, leaf)[1]), (1, 100), "calls of %s and %s" % (work, leaf))
        equal({key[2]: caller[0] for key, caller in row(stats, leaf)[4].items()}, {work: 100}, "who calls " + leaf)
        assert row(stats, leaf)[3] >= 0.9 * 100 * 0.0005, "%s has %r" % (leaf, row(stats, leaf)[:4])
        assert row(stats, work)[3] >= row(stats, leaf)[3], "%s has less than what it calls" % work
    equal(row(stats, "spin")[1], 200, "calls of spin")
    equal({key[2]: caller[0] for key, caller in row(stats, "spin")[4].items()}, {"leaf_a": 100, "leaf_b": 100}, "who calls spin")


def test_no_crossed_edge_through_compat_either(folder):
    """It follows the thread that enabled it, as cProfile's documents say."""
    stats = profiled(compat.Profile(), two_threads)
    for leaf, work in (("leaf_a", "work_a"), ("leaf_b", "work_b"), ("spin", "leaf_a leaf_b")):
        for key, entry in stats.items():
            if key[2] == leaf:
                assert {caller[2] for caller in entry[4]} <= set(work.split()), "%s is called by %r" % (leaf, list(entry[4]))


FOLLOWING = """
import os, threading
def leaf(n):
    return n
def work():
    for i in range(500):
        leaf(i)
for _ in range(30):
    t = threading.Thread(target=work)
    t.start()
    t.join()
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_threads_and_processes_that_follow_each_other_are_all_there(folder):
    """Each ends before the next begins, so that whatever an ended one leaves free is used again."""
    write(folder, "script.py", FOLLOWING)
    status, out, err = sonde("calls", "-q", "-o", "x.sonde", "--python", PYTHON, "script.py", cwd=folder)
    equal(status, 0, err)
    rows = json.loads(sonde("report", os.path.join(folder, "x.sonde"), "--json", "--table", "functions").out)["functions"]
    equal({r["function"]: r["calls"] for r in rows if r["function"] in ("leaf", "work")}, {"leaf": 40 * 500, "work": 40}, "calls")


# ---- tables


def dumped(folder, stats):
    path = os.path.join(folder, "made.pstats")
    with open(path, "wb") as f:
        marshal.dump(stats, f)
    return path


def test_a_recursive_call_is_not_the_whole_recursion(folder):
    """Own time is divided by all calls, and time in all by those from outside."""
    stats = {("fib.py", 1, "fib"): (2, 35422, 3.5422, 4.0, {})}
    path = dumped(folder, stats)
    out = sonde("report", "--digits", "6", path).out
    contains(out, "  35422/2    3.542200    0.000100    4.000000    2.000000 fib.py:1(fib)")
    said = io.StringIO()
    pstats.Stats(path, stream=said).print_stats()
    contains(said.getvalue(), "  35422/2    3.542    0.000    4.000    2.000 fib.py:1(fib)")


# ---- names


def test_a_builtin_has_a_row_of_its_own(folder):
    """Some profilers book it as the function that calls it."""
    def run(n):
        return len("x" * n)

    def twice():
        run(1)
        run("2" and 2)
    stats = profiled(Profile(), twice)
    equal(row(stats, "run")[:2], (2, 2), "calls of run")
    equal(row(stats, "<built-in method builtins.len>")[:2], (2, 2), "calls of len")
    equal({key[2] for key in row(stats, "<built-in method builtins.len>")[4]}, {"run"}, "who calls len")


class Base:
    def method(self):
        return 1


class Derived(Base):
    pass


def test_a_method_has_the_name_of_the_class_that_defines_it(folder):
    """yappi names it after the class of the first object that it saw."""
    yappi.set_clock_type("wall")
    yappi.start()
    Derived().method()
    Base().method()
    yappi.stop()
    found = [(s.name, s.ncall) for s in yappi.get_func_stats() if s.name.endswith("method")]
    yappi.clear_stats()
    equal(found, [("Base.method" if sys.version_info >= (3, 11) else "method", 2)], "methods")


# ---- what is left behind


def small(n):
    return n


def many():
    for i in range(3000):
        small(i)
        len("x")


def counted(profile):
    stats = profiled(profile, many)
    return row(stats, "small")[1], row(stats, "<built-in method builtins.len>")[1]


def test_nothing_stays_disabled_for_others(folder):
    """A DISABLE of sys.monitoring outlives the tool that gave it: whoever comes next must hear every call."""
    for mine in (Profile, compat.Profile, cProfile.Profile, Profile, cProfile.Profile):
        equal(counted(mine()), (3000, 3000), "%s.%s" % (mine.__module__, mine.__name__))


BOUNDED = """
import sys
import cProfile
def small(n):
    return n
def many(n):
    for i in range(n):
        small(i)
many(20000)
try:
    profile = cProfile.Profile()
    profile.enable()
    many(500)
    profile.disable()
finally:
    print([e.callcount for e in profile.getstats() if e.code is small.__code__])
"""


def test_calls_that_were_left_out_are_heard_by_others(folder):
    """Bounded tracing leaves out small functions; cProfile, within it, misses nothing."""
    write(folder, "script.py", BOUNDED)
    status, out, err = sonde("calls", "-q", "--bounded", "-o", "x.sonde", "--python", PYTHON, "script.py", cwd=folder)
    equal((status, out.splitlines()[0]), (0, "[500]"), err)
    rows = json.loads(sonde("report", os.path.join(folder, "x.sonde"), "--json", "--table", "functions").out)["functions"]
    calls = [r["calls"] for r in rows if r["function"] == "small"]
    # On a machine so busy that each call took long it is not left out at all.
    assert calls and 2000 <= calls[0] <= 20500, "calls of a function that may be left out: %r" % calls


if __name__ == "__main__":
    if sys.version_info < (3, 12):   # bounded tracing needs sys.monitoring
        del test_calls_that_were_left_out_are_heard_by_others
    run_tests(globals())
