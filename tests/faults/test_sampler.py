# SPDX-License-Identifier: MIT
# interpreters: all
"""The sampler and programs that make it hard: deep, many, short-lived, stopped, exec'ed, killed.

Asked directly (tests/targets/sample_process.c): what it tells, without a capture between.
"""
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, Skip, between, equal, run_tests, wait_for, write  # noqa: E402
from sampled import GIL, IDLE, PARTIAL, STOPPED, look, sampler  # noqa: E402

ENDS = 30       # seconds to look at a program that ends by itself, when looking ends, too

HEAD = """
import os, sys, time, threading
def say():
    os.write(1, b"%d\\n" % os.getpid())
def spin(seconds):
    # Of its CPU time: a busy machine gives it as many samples, not fewer.
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
"""


class Target:
    """A Python program that says its pid when it is where it should be."""

    def __init__(self, folder, source, *words, **how):
        sampler(folder)     # compiled before anything runs
        path = write(folder, "target.py", HEAD + textwrap.dedent(source))
        self.process = subprocess.Popen(how.pop("before", []) + [PYTHON, path] + list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)

    def pid(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the target ended with %r" % self.process.wait())
        return int(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def adds_up(told):
    n = told.counts
    equal(n["samples"] + n["lost"] + n["empty"] + n["skipped"] + n["ended"], n["looks"], "looks")
    equal(sum(s.n for s in told), n["samples"], "samples told")
    equal(sum(s.n for s in told if s.flags & IDLE), n["idle"], "idle samples told")
    equal(sum(s.n for s in told if s.flags & PARTIAL), n["partial"], "partial samples told")


def watched(folder, source, seconds, rate, *words):
    with Target(folder, source) as target:
        told = look(folder, target.pid(), seconds, rate, *words)
    adds_up(told)
    return told


# ---- deep


RECURSION = """
def down(n):
    if n:
        return down(n - 1)
    say()
    spin(60)
def start():
    sys.setrecursionlimit(200000)
    down(%d)
threading.stack_size(1 << 30)
t = threading.Thread(target=start, name="deep")
t.daemon = True
t.start()
t.join()
"""


def depths(told):
    return {sum(f.name == "down" for f in s.frames) for s in told if s.thread == "deep" and not s.flags & PARTIAL}


def test_a_deep_stack_is_whole(folder):
    """Frames over several chunks."""
    told = watched(folder, RECURSION % 3000, 0.3, 300)
    equal(depths(told), {3001}, "depths seen")
    assert all(s.frames[-1].name.startswith("_bootstrap") for s in told if s.thread == "deep"), "a stack without its outer end"
    assert sum(s.n for s in told if s.thread == "deep" and not s.flags & PARTIAL) > 3, told.counts


def test_a_deeper_stack_than_any_is_cut_at_its_outer_end(folder):
    with Target(folder, RECURSION % 70000) as target:
        told = look(folder, target.pid(), 0.5, 50)
    deep = [s for s in told if s.thread == "deep"]
    # Before 3.11 that is 30 MB in 65,535 pieces: it may take too long to be proved, and is lost, and counted.
    assert deep or (told.counts["lost"] and sys.version_info < (3, 11)), told.counts
    for s in deep:
        if not s.flags & PARTIAL:
            equal(len(s.frames), 65535, "frames of the cut stack")
            assert s.frames[-1].name == "down", s.frames[-1]


# ---- many


def test_five_hundred_threads(folder):
    """All are told, each with its own name and function; a round is a few system calls."""
    told = watched(folder, """
        go = threading.Event()
        def waits_for_it():
            go.wait()
        threading.stack_size(1 << 18)
        for i in range(500):
            threading.Thread(target=waits_for_it, name="waiter-%d" % i, daemon=True).start()
        say()
        spin(60)
    """, 0.6, 50)
    names = {s.thread for s in told if any(f.name == "waits_for_it" for f in s.frames)}
    equal(names, {"waiter-%d" % i for i in range(500)}, "names of the threads")
    waiting = [s for s in told if s.thread.startswith("waiter")]
    assert all(s.flags & IDLE for s in waiting if s.n > 1), "a thread that waits is not idle"
    between(told.counts["lost"] + told.counts["partial"], 0, told.counts["looks"] * 0.01, "lost and partial of %d" % told.counts["looks"])


def test_threads_that_come_and_go_keep_their_own_names(folder):
    """Thread states, tids and idents come again; a name must not."""
    told = watched(folder, """
        def work(number):
            exec("def f_%d(): spin(0.012)\\nf_%d()" % (number, number), globals())
        say()
        for i in range(100000):
            t = threading.Thread(target=work, args=(i,), name="w_%d" % i)
            t.start()
            t.join()
    """, 1.0, 500)
    seen = wrong = 0
    for s in told:
        numbers = [f.name[2:] for f in s.frames if f.name.startswith("f_")]
        if not numbers or not s.thread.startswith("w_"):
            continue        # not named yet: the kernel's name
        seen += s.n
        wrong += s.n * (s.thread[2:] != numbers[0])
    assert seen > 20, "%d samples in named threads" % seen
    between(wrong, 0, 0, "samples under another thread's name, of %d" % seen)


FLEETING = """
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
say()
for i in range(1000000):
    space = {"spin": spin}
    exec(compile("def g_%d():\\n    spin(0.003)\\ndef f_%d():\\n    g_%d()" % (i, i, i), "made-%d" % i, "exec"), space)
    began = time.monotonic_ns()
    space["f_%d" % i]()
    os.write(log, b"%d %d %d\\n" % (i, began, time.monotonic_ns()))
"""


def fault_of(s, lives):
    """What is wrong with a sample in a g_N, or None."""
    names = [f.name for f in s.frames]
    at = [i for i, name in enumerate(names) if name.startswith("g_")][0]
    g, f, number = s.frames[at], s.frames[at + 1], int(names[at][2:])
    began, ended = lives.get(number, (0, 1 << 63))      # the last one has not ended
    if (f.name, g.file, f.file) != ("f_%d" % number, "made-%d" % number, "made-%d" % number):
        return "%r in %r calls %r in %r" % (f.name, f.file, g.name, g.file)
    if ended < s.time[0] or began > s.time[1]:
        return "%s ran from %d to %d, and was told at %r" % (g.name, began, ended, s.time)
    # A function that has not begun its first line is on that of its def.
    if (g.line, f.line) != (2, 4) and not (at == 0 and (g.line, f.line) == (1, 4)):
        return "lines %d and %d of %r" % (g.line, f.line, names)
    return None


def test_code_that_comes_and_goes(folder):
    """Functions made up anew all the time, at the addresses of the last ones: each sample tells of one that ran then."""
    log = os.path.join(folder, "lives")
    with Target(folder, FLEETING, log) as target:
        told = look(folder, target.pid(), 1.5, 500, "each")
    adds_up(told)
    with open(log) as f:
        lives = {int(w[0]): (int(w[1]), int(w[2])) for w in map(str.split, f.read().rsplit("\n", 1)[0].splitlines())}
    seen = [s for s in told if not s.flags & PARTIAL and any(f.name.startswith("g_") for f in s.frames)]
    assert len(seen) > 10, "%d samples" % len(seen)
    faults = [why for why in (fault_of(s, lives) for s in seen) if why]
    assert not faults, "%d of %d samples are wrong: %s" % (len(faults), len(seen), faults[:3])


# ---- interpreters


SUBINTERPRETER = """
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
def in_main():
    interpreter = sub.create()
    run = getattr(sub, "run_string", None) or sub.exec
    run(interpreter, '''
import os, time
def in_sub():
    os.write(1, b"%%d\\\\n" %% os.getpid())
    while True:
        pass
in_sub()
''')
%s
"""


def sub_samples(folder, start):
    try:
        told = watched(folder, SUBINTERPRETER % start, 0.5, 300)
    except AssertionError as why:
        if "the target ended" in str(why):
            raise Skip("no sub-interpreters to be had")
        raise
    return told, [s for s in told if any(f.name == "in_sub" for f in s.frames)]


def test_a_subinterpreter_is_told_and_counts_once(folder):
    """One thread with two thread states: it is where it entered last."""
    told, sub = sub_samples(folder, "in_main()")
    n = sum(s.n for s in sub)
    between(n, 0.8 * told.counts["rounds"], told.counts["rounds"], "samples in the sub-interpreter")
    equal(sum(s.n for s in told if s not in sub), told.counts["samples"] - n, "other samples")
    between(sum(s.n for s in told) - n, 0, 3 + 0.05 * n, "samples of the same thread elsewhere")
    assert all(s.time > 0 for s in sub), "ids of the interpreters %r" % {s.time for s in sub}
    assert sum(s.n for s in sub if s.flags & GIL) > n / 2, "it runs, so it holds its GIL"


def test_a_subinterpreter_in_its_own_thread(folder):
    told, sub = sub_samples(folder, "t = threading.Thread(target=in_main, name='sub'); t.start(); t.join()")
    assert sum(s.n for s in sub) > 5, told.counts
    main = [s for s in told if s.thread == "MainThread"]
    assert main and all(s.time == 0 for s in main), "the main thread is in interpreter 0"


# ---- beginning, ending, becoming another


def test_exec_of_the_same_python(folder):
    """Same pid, same addresses where they are not random: nothing of the old one is told of the new."""
    with Target(folder, """
        if len(sys.argv) < 2:
            def before(): spin(0.4)
            say()
            before()
            os.execv(sys.executable, [sys.executable, __file__, "again"])
        def after(): spin(0.4)
        after()
    """, before=["setarch", "-R"]) as target:
        told = look(folder, target.pid(), ENDS, 500)
    adds_up(told)
    before = [s for s in told if any(f.name == "before" for f in s.frames)]
    after = [s for s in told if any(f.name == "after" for f in s.frames)]
    assert before and after, "functions seen: %r" % {f.name for s in told for f in s.frames}
    for s in told:
        names = [f.name for f in s.frames]
        assert not ("before" in names and "after" in names), names
        if "after" in names:
            assert names[-2:] == ["after", "<module>"], names
    equal(told.counts["processes"], 2, "Pythons found in this process")


def test_exec_of_something_else_and_back(folder):
    with Target(folder, """
        if len(sys.argv) < 2:
            say()
            spin(0.2)
            os.execv("/bin/sh", ["sh", "-c", "sleep 0.3; exec %s %s again" % (sys.executable, __file__)])
        def after(): spin(0.5)
        after()
    """) as target:
        told = look(folder, target.pid(), ENDS, 300)
    adds_up(told)
    assert sum(s.n for s in told if any(f.name == "after" for f in s.frames)) > 3, told.counts
    equal(told.refusals, [], "refusals")


def test_a_process_that_is_no_python_yet(folder):
    with Target(folder, "def after(): spin(0.5)\nafter()", before=["sh", "-c", 'sleep 0.3; exec "$@"', "sh"]) as target:
        told = look(folder, target.process.pid, ENDS, 300)
    adds_up(told)
    assert sum(s.n for s in told if any(f.name == "after" for f in s.frames)) > 3, told.counts
    equal(told.refusals, [], "refusals")


def test_a_python_that_is_ending(folder):
    """Its last words (atexit, __del__) do not disturb the sampler, and it is not found twice."""
    with Target(folder, """
        import atexit
        class Last:
            def __del__(self, spin=spin): spin(0.2)
        last = sys.last = Last()
        def at_exit(): spin(0.3)
        atexit.register(at_exit)
        say()
    """) as target:
        told = look(folder, target.pid(), ENDS, 300)
    adds_up(told)
    assert sum(s.n for s in told if any(f.name == "at_exit" for f in s.frames)) > 3, told.counts
    equal(told.counts["processes"], 1, "Pythons found")


# ---- families


def test_forked_children_are_told(folder):
    told = watched(folder, """
        def child(): spin(1.5)
        def parent(): spin(60)
        pid = os.fork()
        if pid == 0:
            time.sleep(0.2)
            child()
            os._exit(0)
        say()
        parent()
    """, 1.5, 300)
    of = {f.name: s.pid for s in told for f in s.frames if f.name in ("child", "parent")}
    equal(sorted(of), ["child", "parent"], "functions seen")
    assert of["child"] != of["parent"], of
    equal(told.refusals, [], "refusals")


def test_short_lived_children_are_told(folder):
    """Each lives some tenths of a second, starts of an interpreter included."""
    told = watched(folder, """
        import subprocess
        say()
        time.sleep(0.5)     # whoever watches begins when it is told
        for i in range(4):
            subprocess.check_call([sys.executable, "-S", "-c", "import time\\ndef job_%d():\\n    e = time.thread_time() + 0.15\\n    while time.thread_time() < e: pass\\njob_%d()" % (i, i)])
    """, ENDS, 300)
    jobs = {f.name for s in told for f in s.frames if f.name.startswith("job_")}
    equal(jobs, {"job_%d" % i for i in range(4)}, "jobs seen")
    equal(told.refusals, [], "refusals")


def test_vfork_children_are_left_alone(folder):
    """Until its exec such a child has its parent's memory: it is not a Python of its own."""
    told = watched(folder, """
        import ctypes
        say()
        libc = ctypes.CDLL(None)
        end = time.perf_counter() + 1.0
        while time.perf_counter() < end:
            pid = os.posix_spawn("/bin/true", ["true"], {})
            os.waitpid(pid, 0)
        spin(60)
    """, 0.9, 500)
    equal({s.pid for s in told if s.frames[-1].file.endswith("target.py")}.__len__(), 1, "processes with the program's stack")
    equal(told.refusals, [], "refusals")


# ---- stopped and killed


def state(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def test_a_stopped_program_is_shown_as_it_stands(folder):
    """And stays stopped; and when it goes on it is no longer called so."""
    for words in ((), ("pause",), ("follow",)):
        with Target(folder, "def here():\n    say()\n    spin(60)\nhere()") as target:
            pid = target.pid()
            wait_for(lambda: state(pid) == "R", "the target to run")
            os.kill(pid, signal.SIGSTOP)
            wait_for(lambda: state(pid) == "T", "the target to stop")
            told = look(folder, pid, 0.2, 200, *words)
            equal(state(pid), "T", "state after sampling (%r)" % (words,))
            assert told and all(s.flags & STOPPED and s.flags & IDLE for s in told), [s.flags for s in told]
            assert all(any(f.name == "here" for f in s.frames) for s in told), told[0].frames
            os.kill(pid, signal.SIGCONT)
            wait_for(lambda: state(pid) == "R", "the target to go on")
            told = look(folder, pid, 0.2, 200, *words)
            assert not any(s.flags & STOPPED for s in told), "called stopped though it runs"


def test_targets_that_die_at_any_moment(folder):
    draw = random.Random(7)
    for _ in range(12):
        words = draw.choice(((), ("pause",), ("follow",), ("none",), ("gil",)))
        with Target(folder, "say()\ndef f(n): return n and f(n - 1)\nwhile 1: f(50)") as target:
            pid = target.pid()
            killer = subprocess.Popen(["sh", "-c", "sleep %.3f; kill -9 %d" % (draw.uniform(0, 0.03), pid)])
            told = look(folder, pid, 2, 5000, *words)
            killer.wait()
        adds_up(told)


def test_a_paused_program_goes_on_when_the_sampler_is_killed(folder):
    program = sampler(folder)
    with Target(folder, "say()\nwhile 1: spin(0.01)") as target:
        pid = target.pid()
        for _ in range(15):
            p = subprocess.Popen([program, str(pid), "10", "20000", "pause"], stdout=subprocess.DEVNULL)
            time.sleep(0.06)
            p.kill()
            p.wait()
            wait_for(lambda: state(pid) in "RS", "the target to go on")


run_tests(globals())
