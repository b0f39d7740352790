# SPDX-License-Identifier: MIT
# interpreters: all
"""Code of the program that runs inside our calls and changes the profiler that made them: nothing breaks.

Each case is a process of its own, because what it looks for is a crash.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, clean_env, equal, run, run_tests, write  # noqa: E402

HEAD = """
import gc, signal, sys, time, weakref
from sonde import LineProfiler, Profile

refusals = []

def change(profiler, *names):
    for name in names:
        try:
            getattr(profiler, name)()
        except Exception as e:
            refusals.append(str(e))

def recurse(n):
    m = n - 1
    return n and recurse(m)
"""

CHANGES = [("clear",), ("disable",), ("clear", "enable"), ("disable", "clear"), ("getstats", "clear"), ("__init__",)]


def survives(folder, source):
    """What it prints."""
    program = write(folder, "program.py", HEAD + source)
    done = run([PYTHON, program], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH))
    equal(done.status, 0, "status of\n%s\n%s" % (source, done.err))
    return done.out


def test_the_result_of_a_timer_runs_code(folder):
    for names in CHANGES:
        out = survives(folder, """
class Time:
    n = 0

    def __index__(self):
        Time.n += 1
        change(p, *%r)
        return Time.n

    def __float__(self):
        return float(self.__index__())

    def __del__(self):
        change(p, *%r)

for unit in (0.0, 0.001):
    p = Profile(Time, unit)
    p.enable()
    for i in range(20):
        recurse(5)
    p.disable()
    assert p.getstats()
print(sorted(set(r.split(" ", 1)[1] for r in refusals)))
""" % (names, names))
        equal("profiler in external timer" in out, True, "refused in the timer: %s" % out)


def test_a_timer_that_fails_has_a_hook(folder):
    out = survives(folder, """
def fail():
    raise ValueError

sys.unraisablehook = lambda what: change(p, "clear", "disable")
p = Profile(fail)
p.enable()
recurse(5)
p.disable()
print(len(refusals) > 0)
""")
    equal(out, "True\n", "whether the hook was refused")


def test_signals_come_all_the_time(folder):
    for names in CHANGES:
        survives(folder, """
p = Profile()
signal.signal(signal.SIGALRM, lambda *_: change(p, *%r))
signal.setitimer(signal.ITIMER_REAL, .0005, .0005)
end = time.monotonic() + .3
while time.monotonic() < end:
    p.enable()
    recurse(20)
    change(p, "getstats", "disable", "clear")
signal.setitimer(signal.ITIMER_REAL, 0)
""" % (names,))


def test_code_objects_have_finalizers(folder):
    for names in CHANGES:
        survives(folder, """
p = Profile()
for i in range(100):
    names = {}
    exec("def made(): return 1", names)
    weakref.finalize(names["made"].__code__, change, p, *%r)
    p.enable()
    names["made"]()
    p.disable()
    del names
    if i %% 5 == 0:
        p.clear()
p.clear()
gc.collect()
""" % (names,))


HOOK = """
is_inside = False

def hook(event, args):
    global is_inside
    if is_inside or not any(word in event for word in ("setprofile", "settrace", "monitoring")):
        return
    is_inside = True
    try:
        react()
    finally:
        is_inside = False

sys.addaudithook(hook)
"""


def test_audit_hooks_change_a_profile(folder):
    for names in CHANGES:
        survives(folder, HOOK + """
p = Profile()

def react():
    change(p, *%r)

for i in range(20):
    change(p, "enable")
    recurse(3)
    change(p, "disable", "clear")
""" % (names,))


def test_audit_hooks_start_another_line_profiler(folder):
    survives(folder, HOOK + """
def react():
    q = LineProfiler(change)
    q.enable()
    q.disable()

p = LineProfiler(recurse)
for i in range(20):
    try:
        p.enable()
    except Exception as e:
        refusals.append(str(e))
        continue
    recurse(3)
    p.disable()
""")


run_tests(globals())
