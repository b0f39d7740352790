# SPDX-License-Identifier: MIT
# interpreters: all
"""Calls on 3.8 to 3.11: the eval-frame hook beside another's, deep recursion, and the profile function.

The other hook is TorchDynamo's in small: it keeps what was there, puts itself in, and later puts back
what it kept.  Whatever is done wrong with it ends in a crash or in calls that are lost, so each case
runs in a process of its own.
"""
import os
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PACKAGE_PATH, PYTHON, SONDE, equal, need, only, run_tests  # noqa: E402

HAS_HOOK = sys.version_info < (3, 12)          # later versions have monitoring instead
OTHERS_CAN_HOOK = (3, 9) <= sys.version_info < (3, 12)  # 3.8 has no calls for it
NEEDS_STACK = (3, 11) <= sys.version_info < (3, 12)     # recursion does without the C stack, but not under a hook

OTHER_HOOK = """
typedef void *(*eval)(void *, void *, int);
void *PyInterpreterState_Get(void);
eval _PyInterpreterState_GetEvalFrameFunc(void *);
void _PyInterpreterState_SetEvalFrameFunc(void *, eval);
void *_PyEval_EvalFrameDefault(void *, void *, int);

static eval before;
long n_frames;

static void *other(void *thread, void *frame, int raises)
{
    n_frames++;
    return before ? before(thread, frame, raises) : _PyEval_EvalFrameDefault(thread, frame, raises);
}

void put_in(void)
{
    void *interpreter = PyInterpreterState_Get();

    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == other)
        return;
    before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, other);
}

void put_back(void)
{
    void *interpreter = PyInterpreterState_Get();

    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == before)
        return;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, before);
    before = 0;
}
"""

COMMON = """
import ctypes, sys, threading
sys.path.insert(0, %r)
from sonde import _sonde
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def calls(p, f=fib): return sum(e.callcount for e in p.getstats() if e.code is f.__code__)
p = _sonde.Profile(builtins=False)
""" % PACKAGE_PATH


def child(program, *args):
    done = subprocess.run([PYTHON, "-c", COMMON + program] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=LIMIT_S, universal_newlines=True)
    assert done.returncode == 0, "status %d: %s" % (done.returncode, done.stderr[-500:])
    return done.stdout.split()


def with_other_hook(folder, program):
    compiler = shutil.which("cc") or shutil.which("gcc")
    need(compiler, "no C compiler")
    source, library = os.path.join(folder, "other.c"), os.path.join(folder, "other.so")
    with open(source, "w") as f:
        f.write(OTHER_HOOK)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return child("other = ctypes.PyDLL(sys.argv[1])\n" + program, library)


@only(OTHERS_CAN_HOOK)
def test_calls_below_another_hook_are_heard(folder):
    got = with_other_hook(folder, """
p.enable(); fib(3)
other.put_in(); fib(3); other.put_back()
fib(3)
other.put_in(); fib(3); other.put_back()
fib(3); p.disable()
print(calls(p), ctypes.c_long.in_dll(other, "n_frames").value >= 10)
""")
    equal(got, ["25", "True"], "calls, and whether the other hook had its own")


@only(OTHERS_CAN_HOOK)
def test_stopping_and_starting_below_another_hook_makes_no_circle(folder):
    got = with_other_hook(folder, """
p.enable(); fib(3)
other.put_in()
for _ in range(3):
    p.disable(); fib(3); p.enable(); fib(3)
other.put_back()
fib(3); p.disable()
fib(3)
print(calls(p))
""")
    equal(got, ["25"], "calls")


@only(OTHERS_CAN_HOOK)
def test_stopping_below_another_hook_leaves_nothing_behind(folder):
    got = with_other_hook(folder, """
get = ctypes.pythonapi._PyInterpreterState_GetEvalFrameFunc
interpreter = ctypes.pythonapi.PyInterpreterState_Get
get.restype = interpreter.restype = ctypes.c_void_p
plain = get(ctypes.c_void_p(interpreter()))
p.enable(); other.put_in(); p.disable(); other.put_back()
fib(3)
print(get(ctypes.c_void_p(interpreter())) == plain)
""")
    equal(got, ["True"], "the interpreter evaluates as before")


@only(OTHERS_CAN_HOOK)
def test_started_above_another_hook_that_then_takes_it_away(folder):
    """What ran meanwhile is lost, and everything after the function that noticed is heard again."""
    got = with_other_hook(folder, """
def job():
    fib(3); other.put_back(); fib(3)
other.put_in()
p.enable()
job()
fib(3); fib(3)
p.disable()
print(calls(p), calls(p, job))
""")
    equal(got, ["15", "1"], "calls of fib and job")


@only(OTHERS_CAN_HOOK)
def test_two_hooks_that_call_each_other(folder):
    got = with_other_hook(folder, """
other.put_in()
p.enable(); fib(3)
other.put_in()   # above ours now, which calls it
fib(3)
p.disable(); p.enable()
fib(3)
print(calls(p))
""")
    equal(got, ["15"], "calls")


DEEP = """
sys.setrecursionlimit(10 ** 6)
def deep(n): return n and 1 + deep(n - 1)
def leaf(): pass
def job():
    p.enable()
    assert deep(100000) == 100000
    for _ in range(7): leaf()
    p.disable()
"""


@only(NEEDS_STACK)
def test_recursion_is_as_deep_as_without_us(folder):
    got = child(DEEP + "job()\nprint(calls(p, leaf), calls(p, deep) > 1000)")
    equal(got, ["7", "True"], "calls after the recursion, and some of it")
    got = child(DEEP + "p = _sonde.Profile(threads=True)\njob()\nprint(calls(p, leaf), calls(p, deep))")
    equal(got, ["7", "100001"], "calls with C functions, which need no C stack")


@only(NEEDS_STACK)
def test_what_was_not_traced_is_told(folder):
    script = os.path.join(folder, "deep.py")
    with open(script, "w") as f:
        f.write("import sys\nsys.setrecursionlimit(10 ** 6)\ndef deep(n): return n and 1 + deep(n - 1)\nprint(deep(100000))\n")
    done = subprocess.run([SONDE, "calls", "--python", PYTHON, "-o", os.path.join(folder, "x.sonde"), script], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT_S, universal_newlines=True)
    assert done.stdout.startswith("100000\n"), done.stdout[:300]
    assert "not traced for " in done.stdout, done.stdout[-500:]
    done = subprocess.run([SONDE, "info", os.path.join(folder, "x.sonde")], stdout=subprocess.PIPE, timeout=LIMIT_S, universal_newlines=True)
    assert "not traced for " in done.stdout, done.stdout


PRINTED = """
import io
from sonde import Profile
def printed(p):
    sys.stdout, kept = io.StringIO(), sys.stdout
    sys.stderr = said = io.StringIO()
    p.print_stats()
    table, sys.stdout, sys.stderr = sys.stdout.getvalue(), kept, sys.__stderr__
    return table, said.getvalue()
"""


@only(NEEDS_STACK)
def test_a_profile_tells_what_it_did_not_trace(folder):
    got = child(DEEP + PRINTED + """
p = Profile(builtins=False)
job()
table, said = printed(p)
print(p.untraced > 0, "not traced" in table, said.startswith("sonde: not traced for "), said.count("\\n"))
""")
    equal(got, ["True", "False", "True", "1"], "seconds, nothing in pstats' table, one line on stderr")


def test_a_profile_that_traced_everything_says_so(folder):
    got = child(PRINTED + """
for how in (dict(), dict(builtins=False), dict(threads=True)):
    p = Profile(**how)
    p.runcall(fib, 10)
    table, said = printed(p)
    print(p.untraced == 0 and p.folded == 0 and said == "", "(fib(n:int))" in table)
""")
    equal(got, ["True", "True"] * 3, "nothing is missing, nothing is said")


@only(HAS_HOOK)
def test_threads_with_small_stacks_are_followed(folder):
    got = child("""
threading.stack_size(128 * 1024)
p = _sonde.Profile(builtins=False, threads=True)
p.enable()
t = threading.Thread(target=fib, args=(10,)); t.start(); t.join()
p.disable()
print(calls(p))
""")
    equal(got, ["177"], "calls")


# ---- the profile function

def length_calls(p):
    return sum(e.callcount for e in p.getstats() if e.code == "<built-in method builtins.len>")


def count_lengths(n):
    for _ in range(n):
        len("x")


def sonde():
    sys.path.insert(0, PACKAGE_PATH)
    from sonde import _sonde
    return _sonde


def test_c_functions_of_all_threads(folder):
    """Of those that ran before, that start later, and that no module of Python's started."""
    import _thread
    go, done = threading.Event(), threading.Semaphore(0)

    def before():
        go.wait()
        count_lengths(100)
        done.release()

    def later():
        count_lengths(100)
        done.release()
    early = threading.Thread(target=before)
    early.start()
    p = sonde().Profile(threads=True)
    p.enable()
    go.set()
    threading.Thread(target=later).start()
    _thread.start_new_thread(later, ())
    for _ in range(3):
        done.acquire()
    early.join()
    p.disable()
    equal(sum(e.callcount for e in p.getstats() if e.code is count_lengths.__code__), 3, "calls")
    assert length_calls(p) >= 300, length_calls(p)


def test_what_the_program_had_set_is_put_back(folder):
    def mine(*event):
        pass
    sys.setprofile(mine)
    try:
        p = sonde().Profile()
        p.enable()
        count_lengths(5)
        p.disable()
        assert sys.getprofile() is mine, sys.getprofile()
    finally:
        sys.setprofile(None)
    equal(length_calls(p), 5, "calls of len")


def test_a_trace_function_does_not_hear_how_the_cost_is_measured(folder):
    heard = []

    def mine(frame, event, arg):
        heard.append(frame.f_code.co_filename)
        return mine
    p = sonde().Profile()
    sys.settrace(mine)
    try:
        p.enable()
        p.disable()
    finally:
        sys.settrace(None)
    assert "<string>" not in heard, "%d events" % len(heard)


@only(HAS_HOOK)
def test_what_the_program_sets_meanwhile_stands(folder):
    heard = []

    def mine(frame, event, arg):
        heard.append(event)
    p = sonde().Profile()
    p.enable()
    count_lengths(5)
    sys.setprofile(mine)
    count_lengths(5)
    p.disable()
    stands = sys.getprofile() is mine
    sys.setprofile(None)
    assert stands, "the program's own was taken away"
    assert heard.count("c_call") >= 5, heard
    equal(length_calls(p), 5, "calls of len until then")
    q = sonde().Profile()
    q.enable()
    count_lengths(3)
    q.disable()
    equal(length_calls(q), 3, "calls of the next profile")


@only(HAS_HOOK)
def test_a_program_with_a_profile_function_of_its_own_is_told_as_not_traced(folder):
    script = os.path.join(folder, "own.py")
    with open(script, "w") as f:
        f.write("import sys, time\ndef f(): len('x')\ndef own(*event): pass\nf()\nsys.setprofile(own)\nf()\ntime.sleep(0.05)\nf()\n")
    done = subprocess.run([SONDE, "calls", "--builtins", "--python", PYTHON, "-o", os.path.join(folder, "x.sonde"), script],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, universal_newlines=True)
    equal(done.returncode, 0, "status (%s)" % done.stdout[-300:])
    assert "not traced for " in done.stdout, done.stdout[-500:]


if __name__ == "__main__":
    run_tests(globals())
