# SPDX-License-Identifier: MIT
# interpreters: all
"""Code of the program that runs inside our calls and changes the profiler that made them: nothing breaks.

Each case is a process of its own, because what it looks for is a crash.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, Capture, clean_env, equal, run, run_tests, sonde, sonde_run, write  # noqa: E402

HEAD = """
import array, gc, itertools, os, signal, sys, threading, time, weakref
from sonde import LineProfiler, Profile

refusals = []
sizes = itertools.count(1000)
is_over = False     # nothing is changed any more

def change(profiler, *names):
    for name in () if is_over else names:
        try:
            if name == "anew":      # a session with other settings takes the place of the last
                profiler.__init__(nodes=next(sizes))
            else:
                getattr(profiler, name)()
        except Exception as e:
            refusals.append(str(e))

def recurse(n):
    m = n - 1
    return n and recurse(m)

def count_of(profiler):
    return sum(e.callcount for e in profiler.getstats() if getattr(e.code, "code", e.code) is recurse.__code__)
"""

# Whatever happened, profilers still hear every call: the one at hand, and new ones.
TAIL = """
is_over = True
for profiler in (globals().get("p"), Profile(), Profile(threads=True, builtins=False)):
    if isinstance(profiler, Profile):
        profiler.disable()
        profiler.clear()
        profiler.enable()
        recurse(6)
        profiler.disable()
        assert count_of(profiler) == 7, count_of(profiler)
"""

CHANGES = [("clear",), ("disable",), ("clear", "enable"), ("disable", "clear"), ("getstats", "clear"), ("__init__",),
           ("anew",), ("anew", "enable")]


def survives(folder, source):
    """What it prints.  It runs by itself, with memory that is overwritten when it is freed, and in a capture, in
    which no check of ours may fail."""
    program = write(folder, "program.py", HEAD + source + TAIL)
    done = run([PYTHON, program], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, PYTHONMALLOC="malloc", MALLOC_PERTURB_="165"))
    equal(done.status, 0, "status of\n%s\n%s" % (source, done.err))
    captured, path = sonde_run(folder, program)
    equal(captured.status, 0, "status in a capture of\n%s\n%s" % (source, captured.err))
    notes = sonde("info", path)
    equal(notes.status, 0, "status of sonde info")
    assert "a check of Sonde's own failed" not in notes.out, notes.out
    os.remove(path)
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
words = ("setprofile", "settrace", "monitoring")

def hook(event, args):
    global is_inside
    if is_inside or is_over or not any(word in event for word in words):
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


def test_hooks_of_every_audit_event_change_a_profile(folder):
    """Also of what is run, opened and written in our calls."""
    for names in CHANGES:
        survives(folder, HOOK + """
words = ("",)
p = Profile()
q = Profile(threads=True)

def react():
    change(p, *%r)
    change(q, "enable", "disable")

for i in range(10):
    change(p, "enable")
    recurse(3)
    change(p, "disable", "create_stats")
    try:
        p.dump_stats("x.pstats")
    except Exception as e:
        refusals.append(str(e))
""" % (names,))


def test_audit_hooks_replace_statistics_that_are_written(folder):
    survives(folder, HOOK + """
import pstats
words = ("marshal.dumps",)

for react in (lambda: p.snapshot_stats(), lambda: p.create_stats(), lambda: delattr(p, "stats"), lambda: p.clear()):
    for i in range(20):
        p = Profile()
        p.enable()
        recurse(3)
        p.disable()
        p.dump_stats("x.pstats")
        assert pstats.Stats("x.pstats").total_calls == 5        # and disable()
""")


# Where there is monitoring, a profiler that stops registers many callbacks: the hook acts at one after the other.
def test_audit_hooks_enable_another_profile_while_one_stops(folder):
    survives(folder, HOOK + """
def react():
    global is_done
    if next(turns) == at:
        is_done = True
        for name in names:
            getattr(q, name)()

p = Profile()
is_done = False
for q in (Profile(), Profile(threads=True), Profile(builtins=False), Profile(signatures=False)):
    for names in (("enable",), ("enable", "disable"), ("enable", "disable", "enable")):
        for at in range(12):
            turns = itertools.count(100)
            p.enable()
            recurse(6)
            turns, is_done = itertools.count(), False
            p.disable()
            turns = itertools.count(100)
            recurse(6)
            q.disable()
            assert count_of(q) == (7 if is_done and names[-1] == "enable" else 0), (names, at, count_of(q))
            q.clear()
assert count_of(p) == 4 * 3 * 12 * 7, count_of(p)
""")


def test_audit_hooks_enable_another_profile_while_one_starts(folder):
    survives(folder, HOOK + """
def react():
    global is_done
    if next(turns) == at:
        is_done = True
        for name in names:
            getattr(q, name)()

p = Profile()
is_done = False
for q in (Profile(), Profile(threads=True), Profile(builtins=False), Profile(signatures=False)):
    for names in (("enable",), ("enable", "disable")):
        for at in range(12):
            turns, is_done = itertools.count(), False
            p.enable()
            turns = itertools.count(100)
            recurse(6)
            p.disable()
            q.disable()
            assert count_of(q) == (7 if is_done and names[-1] == "enable" else 0), (names, at, count_of(q))
            q.clear()
assert count_of(p) == 4 * 2 * 12 * 7, count_of(p)
""")


def test_what_an_audit_hook_raises_is_told(folder):
    out = survives(folder, HOOK + """
def react():
    raise PermissionError("no profilers in here")

p = Profile()
try:
    p.enable()
except ImportError as e:
    print(e)
""")
    equal(out, "sys.monitoring refused the events for calls: no profilers in here\n" if sys.version_info >= (3, 12) else "", "output")


def test_a_timer_ends_another_profile(folder):
    """The first call of a deep stack in another thread reads the timer."""
    for act in ("q.clear()", "del globals()['q']"):
        survives(folder, """
def descend(n, lock):
    if n:
        return descend(n - 1, lock)
    lock.acquire()
    recurse(6)

def timer():
    if threading.get_ident() != first and "q" in globals():
        %s
        kept.extend(array.array("B", os.urandom(n)) for n in range(104, 1500, 16))      # what was freed is overwritten
    return time.perf_counter()

first = threading.get_ident()
kept = []
for i in range(20):
    lock = threading.Lock()
    lock.acquire()
    other = threading.Thread(target=descend, args=(20, lock))
    other.start()
    q = Profile(threads=True, builtins=False)
    p = Profile(timer, threads=True, builtins=False)
    q.enable()
    p.enable()
    lock.release()
    other.join()
    p.disable()
    q = None
""" % act)


def test_finalizers_of_code_make_a_profile_anew(folder):
    survives(folder, """
def start_anew():
    p.__init__(threads=True)
    p.enable()

for i in range(20):
    p = Profile()
    names = {}
    exec("def made(): return 1", names)
    weakref.finalize(names["made"].__code__, start_anew)
    p.enable()
    names["made"]()
    p.disable()
    names.clear()
    p.__init__(cpu=True)
    recurse(6)
    p.disable()
    assert count_of(p) == 7
    del p
    gc.collect()
    for k in range(100):
        exec("def made(): return 1")
        recurse(1)
p = None
""")


def test_arguments_run_code(folder):
    """They let another thread enter the timer, in which nothing may be changed."""
    out = survives(folder, """
class Argument:
    def __float__(self):
        return float(self.__index__())

    def __index__(self):
        global other
        other = threading.Thread(target=enable)
        other.start()
        entered.wait()
        return 0

    def __bool__(self):
        return not self.__index__()

def timer():
    if threading.get_ident() != first:
        entered.set()
        left.wait()
    return time.perf_counter()

def enable():
    p.enable()
    p.disable()

first = threading.get_ident()
entered, left = threading.Event(), threading.Event()
p = Profile(timer)
for call in (lambda: p.getstats(bias=Argument()), lambda: p.getstats(thread=Argument()), lambda: p.getstats(cpu=Argument()),
             lambda: p.enable(builtins=Argument()), lambda: p.enable(signatures=Argument()),
             lambda: p.__init__(timer, Argument()), lambda: p.__init__(timer, nodes=Argument())):
    entered.clear()
    left.clear()
    try:
        call()
        print("not refused")
    except RuntimeError as e:
        print(str(e).split(" ", 2)[2])
    except ValueError as e:
        print(e)
    left.set()
    other.join()
""")
    equal(out, "profiler in external timer\n" * 6 + "nodes must be from 2 to 16,000,000\n", "refusals")


def test_counts_of_a_table_run_code(folder):
    survives(folder, """
from sonde.compat import pstats

class Count:
    def __index__(self):
        counts.clear()
        kept.extend(os.urandom(n) for n in range(8, 200, 8))
        return 1

class Source:
    def create_stats(self):
        self.stats = {("file", 1, "name"): counts}

kept = []
for i in range(100):
    counts = [Count(), 100000 + i, 0.5 + i, 1.5 + i, {}]
    pstats.Stats(Source())
""")


def test_a_capture_goes_on_when_audit_hooks_change_profiles(folder):
    program = write(folder, "program.py", HEAD + HOOK + """
p = Profile()
q = Profile(threads=True)

def react():
    change(p, "clear", "disable", "anew", "enable")
    change(q, "enable", "disable")

for i in range(10):
    change(p, "enable")
    recurse(3)
    change(p, "disable")
""" + TAIL + """
def last():
    pass

for i in range(7):
    last()
""")
    done, path = sonde_run(folder, program, options=["--with", "calls"])
    equal(done.status, 0, "status: %s" % done.err)
    assert "a check of Sonde's own failed" not in sonde("info", path).out
    rows = Capture(path).report["functions"]
    equal([row["calls"] for row in rows if row["function"] == "last"], [7], "calls of last()")


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


# ---- LineProfiler: at every audit event of one call, or at one of them, `react` runs

LINE_HEAD = """
import os, threading

is_inside = is_watched = False
n_events = act_at = 0   # at the event of this number; 0: at each

def hook(event, args):
    global is_inside, n_events
    if is_inside or not is_watched:
        return
    n_events += 1
    if act_at in (0, n_events):
        is_inside = True
        try:
            react()
        finally:
            is_inside = False

sys.addaudithook(hook)

def watch(profiler, *names):
    global is_watched, n_events
    n_events, is_watched = 0, True
    try:
        for name in names:
            getattr(profiler, name)()
    finally:
        is_watched = False

def counted(n):
    total = 0
    for i in range(n):
        total += i
    return total

def hits(profiler, function=counted):
    code = function.__code__
    return [row[1] for row in sorted(profiler.rows(code)) if row[1]]

ONE = [1, 6, 5, 1]  # of counted(5)
TWO = [2, 12, 10, 2]

def expect(wanted, got, what):
    assert got == wanted, "%s: %r, not %r; event %d" % (what, got, wanted, act_at)

def end(profiler):
    while profiler.enable_count:
        profiler.disable_by_count()
    profiler.disable()
    profiler.stop()
    profiler.clear()

def fork():   # goes through all that count
    child = os.fork()
    if child == 0:
        os._exit(0)
    expect(0, os.waitpid(child, 0)[1], "status of a child")

def expect_clean(profiler):
    end(profiler)
    profiler(counted)(5)
    expect(ONE, hits(profiler), "hits of one wrapped call")
    expect(False, profiler.is_active, "whether it counts behind that")
    fork()
    end(profiler)

def in_thread(function):
    t = threading.Thread(target=function)
    t.start()
    t.join()
"""

LINE_CHANGES = [("enable",), ("start",), ("disable",), ("stop",), ("clear",), ("enable", "disable"), ("enable", "clear"),
                ("enable", "stop"), ("enable", "stop", "enable"), ("enable_by_count",), ("enable_by_count", "disable_by_count")]


def counts_lines(folder, source):
    program = write(folder, "program.py", HEAD + LINE_HEAD + source)
    done = run([PYTHON, program], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH), limit=60)
    equal(done.status, 0, "status (%s) of\n%s" % (done.err[-300:], source))


def test_audit_hooks_change_the_same_line_profiler(folder):
    for names in LINE_CHANGES:
        counts_lines(folder, """
def react():
    change(p, *%r)

for act_at in range(10):
    p = LineProfiler(counted)
    for name in ("enable", "start", "enable_by_count"):
        watch(p, name)
        expect(True, p.is_active, "whether it counts after " + name)
        fork()
        counted(5)
        expect(ONE, hits(p), "hits after " + name)
        watch(p, "disable", "clear")
        watch(p, "stop", "clear")
        expect_clean(p)
assert not refusals, refusals
""" % (names,))


def test_audit_hooks_change_another_line_profiler(folder):
    for names in LINE_CHANGES:
        counts_lines(folder, """
def react():
    change(q, *%r)
    change(LineProfiler(counted), *%r)

for act_at in range(10):
    p, q = LineProfiler(counted), LineProfiler(counted)
    for i in range(2):
        watch(p, "enable")
        end(q)
        counted(5)
        expect(ONE, hits(p), "hits of the one")
        q.enable()
        counted(5)
        expect(TWO, hits(p), "hits of the one beside another")
        expect(ONE, hits(q), "hits of the other")
        p.disable()
        q.disable()
        watch(q, "stop")
        watch(p, "stop")
        expect_clean(p)
        expect_clean(q)
assert not refusals, refusals
""" % (names, names))


def test_threads_use_a_line_profiler_in_its_audit_hooks(folder):
    counts_lines(folder, """
n_calls = 0

def use():
    global n_calls
    p.enable()
    counted(5)
    p.disable()
    n_calls += 1

def react():
    in_thread(use)

def expect_all(n, what):
    expect([n * h for h in ONE] if n else [], hits(p), what)

for act_at in range(1, 10):
    p, n_calls = LineProfiler(counted), 0
    watch(p, "enable")
    counted(5)
    expect_all(n_calls + 1, "hits when it is enabled")
    p.disable()
    p.clear()
    p.enable()
    n_calls = 0
    p.disable()
    watch(p, "stop")
    expect_all(n_calls, "hits when it is stopped")
    expect_clean(p)
""")


def test_audit_hooks_that_raise_refuse_a_line_profiler(folder):
    for names in [()] + LINE_CHANGES:
        counts_lines(folder, """
def react():
    change(p, *%r)
    raise PermissionError

for act_at in range(10):
    for has_other in (False, True):
        p, q = LineProfiler(counted), LineProfiler(counted)
        if has_other:
            q.enable()
        change(p, "disable")
        try:
            watch(p, "enable")
        except Exception as e:
            refusals.append(str(e))
        was_active = p.is_active
        counted(5)
        expect(ONE if was_active else [], hits(p), "hits")
        expect(ONE if has_other else [], hits(q), "hits of the other")
        watch(p, "stop", "clear")
        expect_clean(p)
        end(q)
        expect_clean(q)
assert refusals
""" % (names,))


def test_an_audit_hook_leaves_a_line_open_in_a_profiler_that_is_cleared(folder):
    counts_lines(folder, """
act_at = 1
here, go = threading.Event(), threading.Event()
t = None

def waits():
    here.set()
    go.wait()
    total = 1
    return total

def use():
    p.enable()
    waits()
    p.disable()

def react():
    global t
    t = threading.Thread(target=use)
    t.start()
    here.wait()

p = LineProfiler(waits, counted)
p.enable()
counted(5)
p.disable()
watch(p, "clear")
go.set()
if t:   # clear() runs hooks on 3.12 and 3.13
    t.join()
    expect([1, 1, 1, 1], hits(p, waits), "hits of what was open")
expect([], hits(p), "hits before clear()")
expect_clean(p)
""")


def test_an_audit_hook_counts_a_start_of_its_own(folder):
    counts_lines(folder, """
act_at = 1

def react():
    p.enable_by_count()

p = LineProfiler(counted)
watch(p, "enable_by_count")
expect(2, p.enable_count, "starts")
p.disable_by_count()
counted(5)
expect(ONE, hits(p), "hits while one start is left")
expect_clean(p)
""")


def test_an_audit_hook_starts_a_line_profiler_that_calibrates(folder):
    counts_lines(folder, """
def runs():
    watch(p, "enable")
    a = 1
    b = 2
    p.disable()

def react():
    p.enable()

p = LineProfiler(runs)
runs()
expect([1, 1, 1], hits(p, runs), "hits of the function that enabled it")
""")


def test_a_line_profiler_that_starts_in_an_audit_hook_does_not_calibrate(folder):
    """The interpreter tells of no line there, so a line would seem to cost nothing."""
    counts_lines(folder, """
def react():
    p.enable()
    p.disable()

p, q = LineProfiler(counted), LineProfiler(counted)
is_watched = True
sys.audit("the.tests.own")
is_watched = False
expect((0.0, 0.0, 0.0), p.costs, "costs in a hook")
q.enable()
assert q.costs[0] > 0, q.costs
q.disable()
""")


def test_an_audit_hook_stops_the_capture_that_starts(folder):
    """What was starting hears nothing any more, and the next capture has all that it asks for."""
    for collector in ("lines", "calls"):
        program = write(folder, "stopped.py", """
import sys
import sonde

def hook(event, args):
    global is_watched
    if is_watched and event in ("sys.monitoring.register_callback", "sys.setprofile", "sys.settrace"):
        is_watched = False
        sonde.stop()

def listeners():
    tools = getattr(sys, "monitoring", None)
    return sys.gettrace(), sys.getprofile(), [tools.get_tool(i) for i in range(6)] if tools else []

before = listeners()
is_watched = False
sys.addaudithook(hook)
is_watched = True
sonde.start("first.sonde")
if is_watched:          # these versions start without such an event
    sonde.stop()
is_watched = False
assert listeners() == before, listeners()
sonde.start("second.sonde")
sorted([2, 1], key=lambda n: n)
sonde.stop()
assert listeners() == before, listeners()
""")
        done = run([PYTHON, program], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, SONDE_WITH=collector))
        equal((done.status, done.err), (0, ""), "status with %s" % collector)
        for name in ("first.sonde", "second.sonde"):
            equal(sonde("info", name, cwd=folder).status, 0, "status of sonde info %s" % name)
            os.remove(os.path.join(folder, name))


run_tests(globals())
