# SPDX-License-Identifier: MIT
# interpreters: all
"""timeit, by Sonde: CPython's own tests of it, and the same questions to both modules, whose answers must be equal to the letter."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, clean_env, contains, equal, need, run, run_tests, sonde, write  # noqa: E402

DRIVER = """\
import sys, unittest
ended = unittest.main("test.test_timeit", argv=["test_timeit"], exit=False, verbosity=0).result
import timeit, sonde.compat.timeit
assert timeit.Timer is sonde.compat.timeit.Timer and timeit.__file__.endswith("/_alias/timeit.py")
print("whose: sonde's")
sys.exit(not ended.wasSuccessful())
"""

# Asks both modules, and fails with the first answer that differs.
BOTH = """\
import contextlib, inspect, io, re, sys, warnings
import timeit as theirs
from sonde.compat import timeit as ours
assert theirs.Timer.__module__ == "timeit" and ours.Timer.__module__ == "sonde.compat.timeit"

def plain(text):
    return re.sub("\\x1b\\\\[[0-9;]*m", "", text)

def outcome(ask, module):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("always")
        path = sys.path[:]
        try:
            said = ask(module)
        except BaseException as why:
            said = type(why), str(why)
        changed, sys.path[:] = [folder for folder in sys.path if folder not in path], path
    shown = re.sub(r'  File "[^<].*timeit.py", line \\d+, in (.*)\\n.*\\n(?: +[~^]+\\n)?', r"  in \\1\\n", plain(err.getvalue()))
    return said, out.getvalue(), shown, changed

def same(what, ask):
    a, b = outcome(ask, theirs), outcome(ask, ours)
    assert repr(a) == repr(b), "%s\\ntheirs: %r\\nours:   %r" % (what, a, b)
    return a

class Clock:
    def __init__(self, step):
        self.at, self.step, self.reads = 100.0, step, 0
    def __call__(self):
        self.reads += 1
        return self.at
    def wrap(self, timer):
        self.wrapped = timer.__name__
        return self
    def work(self):
        self.at += self.step

def command(words, step=1.0):
    def ask(module):
        module.clock = clock = Clock(step)
        try:
            status = module.main(words, _wrap_timer=clock.wrap)
        finally:
            del module.clock
        return status, clock.reads, clock.wrapped, clock.at
    return ask

WORK = "clock.work()"
LINES = [
    ["-h"], ["--help", "-n", "x"], ["-n", "3", "-h"], ["--verbose", WORK], ["-vv", WORK], ["-vvvv", "-r3", WORK], ["--bad"], ["-x"], ["-n"],
    ["-n", "x"], ["-n", "1.5"], ["-r", "x"], ["-u", "parsec", WORK], ["-u"], ["--num", "3", WORK], ["--s", "pass", WORK],
    ["-n", "0", WORK], ["-n", "-4", WORK], ["-n-4", "-v", WORK], ["-r", "0", WORK], ["-r-2", WORK], ["-n7", "-r3", WORK], ["-p", WORK], ["-t", WORK],
    ["-t", "5", WORK], ["-t", "x", WORK], ["--target-time", "0.001", WORK], ["-c", WORK], ["--time", WORK], ["--clock", "-n1", WORK],
    ["-n2", "for i in range(2):", "    " + WORK], ["-s", "x = 2", "-s", "print(x)", "-n2", WORK], ["-n1", "-s", "", WORK],
    ["-n1", WORK, "-v"], ["-n1", "--", WORK], ["-n1", "--", "-1"], ["-n1", "1/0"], ["1/0"], ["-v", "1/0"], ["-n1", "-s", "1/0", WORK],
    ["-n1", "raise SystemExit(3)"], ["-n1", "raise KeyboardInterrupt"], ["-n1", "return"], ["-n1", "x ="], ["-n1", "-s", "  x", WORK], ["-n1", "# nothing"], ["-n1", "-s", "while False:\\n  pass", "  break"],
    ["-n1", "time.sleep(0); gc.isenabled(); itertools.count(); sys.path"], ["-n1", "os"], ["-n2", "import timeit; print(_i, _t0, sorted(locals()))"],
    ["-n1", "-r6", "clock.step = clock.step * 1.5; " + WORK],
] + [["-u" + unit, "-n2", "-v", WORK] for unit in ("nsec", "usec", "msec", "sec")]

for line in LINES:
    same(line, command(line))
for step in (5.5e-9, 1e-6, 9.9996e-4, 0.003, 0.0, 71.0, -1.0, float("nan")):
    same(step, command(["-n3", "-v", WORK], step))
assert plain(same("a command", command(["-n1", WORK]))[1]) == "1 loop, best of 5: 1 sec per loop\\n"

same("signatures", lambda m: {
    name: str(inspect.signature(found)) for name, found in [("Timer." + n, f) for n, f in inspect.getmembers(m.Timer, inspect.isfunction) if n == "__init__" or n[0] != "_"]
    + [(name, getattr(m, name)) for name in ("Timer", "timeit", "repeat", "reindent", "main")]})
same("names", lambda m: (m.__all__, m.template, m.dummy_src_name, m.default_number, m.default_repeat, m.default_timer, m.__doc__,
                         getattr(m, "default_target_time", None)))
for arguments in (dict(stmt=None), dict(setup=3), dict(stmt=b"x"), dict(timer=None), dict(stmt="  x"), dict(setup="return"), dict(stmt="from os import *"),
                  dict(stmt="x", setup="y", other=1), dict(stmt="a\\nb", setup="c\\nd"), dict(stmt=len, setup=len), dict(stmt="{0}"), dict(stmt=""), dict(stmt="'''a\\nb'''")):
    same(arguments, lambda m: m.Timer(**arguments).src)

def callables(m):
    seen, clock = [], Clock(0.125)
    t = m.Timer(lambda: (seen.append("work"), clock.work()), lambda: seen.append("set-up"), clock)
    got = [t.timeit(3), t.repeat(2, 2), t.repeat(repeat=0), t.timeit(0), t.timeit(-1), t.inner.__code__.co_varnames, t.inner.__defaults__ is not None]
    return got, seen, clock.reads
same("callables", callables)
same("counts of other kinds", lambda m: m.Timer().timeit(1.5))
same("counts of other kinds", lambda m: m.Timer().repeat("a"))

def ranges(m):
    clock, told = Clock(1 / 1024), []
    t = m.Timer(clock.work, timer=clock)
    return t.autorange(), t.autorange(lambda *trial: told.append(trial)), t.autorange(callback=0), told
assert same("autorange", ranges)[0][0] == (500, 500 / 1024)
x = Clock(0.5)
same("a target", lambda m: m.Timer("x.work()", timer=x, globals=globals()).autorange(None, 2.0))
same("a target by name", lambda m: m.Timer("x.work()", timer=x, globals=globals()).autorange(target_time=0))
same("a callback that raises", lambda m: m.Timer("x.work()", timer=x, globals=globals()).autorange(lambda n, t: 1 / 0))

def namespaces(m):
    names = {"y": 3, "z": []}
    m.timeit("z.append(y); global k; k = 7", "y", number=2, globals=names)
    empty = {}
    m.timeit("w = 1", number=1, globals=empty)
    m.timeit("global left_here; left_here = __name__.split('.')[-1]", number=1)
    return names["z"], names["k"], sorted(empty), m.__dict__.pop("left_here")
assert same("namespaces", namespaces)[0][1] == 7

def collects(m):
    import gc
    states = []
    m.timeit(lambda: states.append(gc.isenabled()), lambda: states.append(gc.isenabled()), number=1)
    try:
        m.timeit("1/0", number=1)
    except ZeroDivisionError:
        states.append(gc.isenabled())
    gc.disable()
    m.timeit(number=1)
    states.append(gc.isenabled())
    gc.enable()
    return states
assert same("garbage collection", collects)[0] == [False, False, True, False]

def exception(m, **how):
    t, out = m.Timer("a = 1\\n1/0"), io.StringIO()
    try:
        t.timeit()
    except ZeroDivisionError:
        t.print_exc(**how)
        t.print_exc(out, **how)
    shown = plain(out.getvalue())
    return re.sub('  File "[^<].*\\n.*\\n(?: +[~^]+\\n)?', "", shown), shown != out.getvalue()
shown = same("print_exc", exception)[0]
assert "    1/0\\n" in shown[0] and not shown[1]
coloured = same("print_exc in colour", lambda m: exception(m, colorize=True))[0]
assert sys.version_info < (3, 15) or coloured[1]

def subclass(m):  # what IPython's %timeit does
    class Timed(m.Timer):
        def timeit(self, number=m.default_number):
            return self.inner(range(number), self.timer)
    t = Timed(timer=Clock(1))
    t.src, t.inner = None, lambda loops, timer: len(loops)
    t.print_exc(io.StringIO())
    return t.repeat(3, 4), t.autorange()
assert same("a subclass", subclass)[0] == ([4, 4, 4], (1, 1))
print("equal", len(LINES))
"""


def test_cpythons_own_suite(folder):
    base = os.path.realpath(PYTHON)
    has_tests = run([base, "-c", "import test.test_timeit"], cwd=folder, env=clean_env(PYTHONPATH=None))
    need(has_tests.status == 0, "this Python has no test.test_timeit")
    driver = write(folder, "driver.py", DRIVER)
    env = clean_env(PYTHONPATH=sonde("compat-path").out.strip(), PYTHONHOME=sys.base_prefix, TMPDIR=folder)
    result = run([base, driver], cwd=folder, env=env, limit=200)
    equal(result.status, 0, "status (%s)" % result.err[-1500:])
    contains(result.out, "whose: sonde's")
    ran = re.search(r"Ran (\d+) tests? in", result.err)
    assert ran and int(ran.group(1)) >= 40, result.err[-500:]
    assert "skipped" not in result.err, result.err[-500:]
    print("# test_timeit: %s tests" % ran.group(1))


def test_answers_are_equal(folder):
    path = write(folder, "both.py", BOTH)
    for env in ({}, {"FORCE_COLOR": "1"}):
        result = run([PYTHON, path], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, **env))
        equal(result.status, 0, result.err[-3000:])
        contains(result.out, "equal ")


def test_the_command(folder):
    write(folder, "beside.py", "value = 4\n")
    alias = clean_env(PYTHONPATH=sonde("compat-path").out.strip())
    for words, env in ((["-m", "sonde.compat.timeit"], clean_env(PYTHONPATH=PACKAGE_PATH)), (["-m", "timeit"], alias)):
        def ask(*more):
            return run([PYTHON] + words + list(more), cwd=folder, env=env)

        result = ask("-n", "2", "-r", "20", "-s", "import beside", "beside.value")
        equal((result.status, len(result.out.splitlines())), (0, 1), result.err)
        assert re.match(r"2 loops, best of 20: [\d.e+]+ (nsec|usec|msec|sec) per loop\n$", result.out), result.out
        result = ask()
        equal(result.status, 0, result.err)
        assert re.match(r"[125]0+ loops, best of 5: [\d.]+ nsec per loop\n$", result.out), result.out
        result = ask("-n1", "1/0")
        equal((result.status, result.out), (1, ""))
        contains(result.err, 'File "<timeit-src>", line 6, in inner\n    1/0\n')
        equal(ask("-u", "parsec").status, 2)
        equal(ask("-h").out, run([PYTHON, "-m", "timeit", "-h"], cwd=folder, env=clean_env(PYTHONPATH=None)).out)


if __name__ == "__main__":
    run_tests(globals())
