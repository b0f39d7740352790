# SPDX-License-Identifier: MIT
# interpreters: all
"""What Sonde reads of a Python process from outside is what the process says of itself.

The process prints where its threads stand (names, lines, tids), then stays there.
"""
import json
import os
import shutil
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SRC, TARGETS, equal, need, run, run_tests, wait_for, write  # noqa: E402

BUILD = os.environ.get("SONDE_BUILD") or os.path.join(SRC, "build")
HAS_QUALNAME = sys.version_info >= (3, 11)

# Says what it knows of its own threads as one line of JSON: the truth of each test.
TELL = '''
import json, os, sys, threading, time
def tell(**more):
    me = threading.get_ident()
    stacks = {}
    for ident, frame in sys._current_frames().items():
        stack = []
        while frame:
            if frame.f_code is not tell.__code__:
                stack.append([frame.f_lineno, frame.f_code.co_firstlineno, frame.f_code.co_name,
                              getattr(frame.f_code, "co_qualname", ""), frame.f_code.co_filename])
            frame = frame.f_back
        stacks[ident] = stack
    native = {t.ident: t.native_id for t in threading.enumerate()}
    native[me] = threading.get_native_id()  # the attribute is the parent's in a forked child
    threads = {native[t.ident]: [t.name, stacks.get(t.ident, [])] for t in threading.enumerate()}
    os.write(1, (json.dumps([os.getpid(), threads, more]) + "\\n").encode())
'''


def reader(folder):
    cc = shutil.which(os.environ.get("CC") or "cc")
    need(cc, "no C compiler")
    library = os.path.join(BUILD, "libsondecore.a")
    need(os.path.exists(library), "no libsondecore.a in the build")
    program = os.path.join(folder, "read_process")
    if os.path.exists(program):
        return program
    done = run([cc, "-D_GNU_SOURCE", "-O1", "-I", os.path.join(SRC, "src"), "-o", program, os.path.join(TARGETS, "read_process.c"), library,
                "-lzstd", "-pthread", "-lm"])
    equal(done.status, 0, "status of the compiler (%s)" % done.err.strip())
    return program


class Target:
    """A Python program that tells the truth when it is where it stays."""

    def __init__(self, folder, source, python=PYTHON, env=None):
        path = write(folder, "target.py", TELL + textwrap.dedent(source))
        self.process = subprocess.Popen([python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def truth(self):
        pid, threads, more = json.loads(self.process.stdout.readline().decode())
        return pid, {int(tid): value for tid, value in threads.items()}, more

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Thread:
    def __init__(self, words):
        self.tid, self.interpreter, self.holds = int(words[0]), int(words[1]), words[2] == "1"
        self.name = words[3] if len(words) > 3 else ""
        self.frames = []
        self.locals = {}


def parse(lines):
    threads = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "thread":
            threads.append(Thread(rest.split(" ", 3)))
        elif kind == "frame":
            line_number, first, entry, names = rest.split(" ", 3)
            name, qualname, filename = names.split("\t")
            threads[-1].frames.append([int(line_number), int(first), name, qualname, filename])
        elif kind == "local":
            is_argument, _, named = rest.partition(" ")
            name, _, value = named.partition("\t")
            threads[-1].locals[name] = (is_argument == "1", value)
        elif kind == "torn":
            threads[-1].frames.append("torn")
    return threads


def look(folder, pid, *more):
    done = run([reader(folder), str(pid)] + list(more))
    equal((done.status, done.err), (0, ""), "status and stderr of the reader")
    lines = done.out.splitlines()
    return lines[0], parse(lines[1:])


def same(threads, truth):
    """Every thread that the program knows, with its name and its stack."""
    by_tid = {t.tid: t for t in threads}
    equal(sorted(by_tid), sorted(truth), "tids")
    for tid, (name, stack) in truth.items():
        equal(by_tid[tid].name, name, "name of thread %d" % tid)
        ours = by_tid[tid].frames
        if stack and stack[0][2] == "stay":  # it has gone on from tell() to where it waits
            ours, stack = ours[1:], stack[1:]
        equal(ours, stack, "stack of thread %d" % tid)


STAY = '''
def stay():
    tell()
    sys.stdin.readline()
'''


def check(folder, source):
    with Target(folder, STAY + source) as target:
        pid, truth, _ = target.truth()
        # The thread that told needs a moment to get from there to where it waits.
        wait_for(lambda: look(folder, pid)[1][-1].frames[0][2] in ("stay", "wait", "decode", "read"), "the target to wait")
        version, threads = look(folder, pid)
        same(threads, truth)
        return version, threads


def test_version_and_file(folder):
    version, threads = check(folder, "stay()")
    equal(version.split()[1], "%d.%d.%d" % sys.version_info[:3] if sys.version_info[3] == "final" else version.split()[1], "version")
    assert os.path.exists(version.split(" ", 2)[2]), version


def test_functions_methods_and_lines(folder):
    check(folder, """
class Outer:
    class Inner:
        def method(self, n):
            if n:
                return self.method(
                    n - 1)
            return [
                stay()
                for _ in range(1)]
def with_local():
    def local():
        Outer.Inner().method(3)
    local()
with_local()
""")


def test_generators_and_coroutines(folder):
    check(folder, """
import asyncio
def generator(n):
    if n:
        yield from generator(n - 1)
    else:
        yield stay()
async def inner():
    return list(generator(5))
async def outer():
    return await inner()
class Awaitable:
    def __await__(self):
        yield from outer().__await__()
async def top():
    await Awaitable()
asyncio.run(top())
""")


def test_callbacks_from_c(folder):
    check(folder, """
import functools
def key(x):
    return functools.reduce(lambda a, b: stay(), [1, 2])
sorted([3], key=key)
""")


def test_names_of_every_width(folder):
    check(folder, """
def naïve():
    exec(compile("def 名前():\\n  exec(compile('stay()', 'datei_🐍.py', 'exec'))\\n名前()", "fichier_é.py", "exec"))
𝔡𝔢𝔢𝔭 = naïve
def 𐐀𐐁():
    𝔡𝔢𝔢𝔭()
𐐀𐐁()
""")


def test_deep_recursion(folder):
    _, threads = check(folder, """
sys.setrecursionlimit(20000)
def down(n):
    return down(n - 1) if n else stay()
down(3000)
""")
    assert len(threads[-1].frames) > 3000, len(threads[-1].frames)


def test_threads_and_their_names(folder):
    _, threads = check(folder, """
event = threading.Event()
def wait(): event.wait()
for name in ["plain", "Wörker-名", "x" * 50, "🐍"]:
    threading.Thread(target=wait, name=name, daemon=True).start()
class Named(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        for i in range(40):
            setattr(self, "attribute%d" % i, i)
        self.name = "with many attributes"
    def run(self): wait()
Named().start()
while len(event._cond._waiters) < 5: time.sleep(0.01)
time.sleep(0.2)
stay()
""")
    equal(len(threads), 6, "threads")


def test_holder_of_the_gil(folder):
    with Target(folder, """
def busy():
    while True: pass
threading.Thread(target=busy, name="busy", daemon=True).start()
time.sleep(0.1)
tell()
time.sleep(100)
""") as target:
        pid, _, _ = target.truth()
        held = [t.name for _ in range(20) for t in look(folder, pid)[1] if t.holds]
        assert held.count("busy") >= 15, held


def test_local_variables(folder):
    """As repr() says, wherever that needs no code to run."""
    values = {
        "none": "None", "yes": "True", "no": "False", "zero": "0", "small": "42", "minus": "-7", "large": "-1152921504606846975",
        "real": "0.1", "minus_real": "-2.5e-07", "text": "'plain'", "quoted": '"it\'s"', "lines": "'a\\nb\\tc\\x01'", "wide": "'näme 名前 🐍'",
        "raw": "b'\\x00\\xffab'", "empty": "()", "one": "(1,)", "many": "[1, [2, 'x'], (3.5, None)]", "table": "{'a': 1, 2: [3], (4, 5): {}}",
        "nothing": "{}", "blank": "''", "beyond": str(10**30), "below": str(-2**64 - 5), "gap": str(2**90), "full": str(2**600 - 1), "zeros": str(10**150)}
    source = STAY + "def with_values(a, b=2, *rest, c=3, **named):\n    shared = 'in a cell'\n"
    source += "".join("    %s = %s\n" % item for item in values.items())
    source += "    table['deleted'] = 1; del table['deleted']\n    long = 'x' * 1000; huge = 1 << 5000; minus_huge = -3 << 100000; deep = [[[[[[1]]]]]]; other = threading\n    unset = 1; del unset\n"
    source += "    def inner(): return shared\n    stay()\nwith_values('first', d=4)\n"
    with Target(folder, source) as target:
        pid, _, _ = target.truth()
        wait_for(lambda: look(folder, pid)[1][-1].frames[0][2] == "stay", "the target to wait")
        found = look(folder, pid)[1][-1].locals
    for name, text in values.items():
        equal(found[name], (False, text), "local %s" % name)
    arguments = {name: value for name, (is_argument, value) in found.items() if is_argument}
    equal(arguments, {"a": "'first'", "b": "2", "rest": "()", "c": "3", "named": "{'d': 4}"}, "arguments")
    assert found["long"][1].endswith("...") and 200 < len(found["long"][1]) < 300, found["long"]
    equal(found["deep"][1], "[[[[[...]]]]]", "a list in lists")
    equal((found["huge"][1], found["minus_huge"][1]), ("<int of 5001 bits>", "<int of 100002 bits>"), "ints that are too long")
    assert found["other"][1].startswith("<module at 0x"), found["other"]
    assert "unset" not in found
    if HAS_QUALNAME:  # before 3.11 such variables stand apart
        equal(found["shared"], (False, "'in a cell'"), "a variable that an inner function uses")


def test_child_of_a_fork(folder):
    with Target(folder, STAY + """
threading.Thread(target=time.sleep, args=(100,), daemon=True, name="of the parent").start()
if os.fork() == 0:
    stay()
else:
    os.wait()
""") as target:
        pid, truth, _ = target.truth()
        wait_for(lambda: look(folder, pid)[1][-1].frames[0][2] == "stay", "the child")
        same(look(folder, pid)[1], truth)


def test_a_running_sub_interpreter(folder):
    with Target(folder, """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
i = interpreters.create()
threading.Thread(target=lambda: interpreters.run_string(i, "import time\\ndef sub(): time.sleep(100)\\nsub()"), daemon=True).start()
tell(which=int(i))
time.sleep(100)
""") as target:
        pid, _, more = target.truth()
        inside = wait_for(lambda: [t for t in look(folder, pid)[1] if t.frames and t.frames[0][2] == "sub"], "sub() to run")
        equal([t.interpreter for t in inside], [more["which"]], "interpreter that runs sub()")


def test_code_that_takes_the_place_of_another(folder):
    """A program that makes functions without end: names that were read must not stay."""
    with Target(folder, """
def turn(i):
    space = {}
    exec("def made_%d(f):\\n" % i + "\\n" * (i % 7) + "    f()", space)
    space["made_%d" % i](lambda: (tell(i=i), sys.stdin.readline()))
import gc
for i in range(6):
    turn(i)
    gc.collect()  # the function and its globals hold one another
""") as target:
        program = subprocess.Popen([reader(folder), str(target.truth()[0])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        n_changed = 0
        try:
            for i in range(6):
                lines = []
                while not lines or lines[-1] != "end":
                    lines.append(program.stdout.readline().decode().rstrip("\n"))
                names = [f[2] for f in parse(lines)[0].frames]
                assert "made_%d" % i in names, (i, names)
                if lines[0].startswith("again"):
                    n_changed += int(lines[0].split()[1])
                if i < 5:
                    target.go_on()
                    target.truth()
                    wait_for(lambda: "pipe_read" in open("/proc/%d/wchan" % target.process.pid).read() or
                             open("/proc/%d/stat" % target.process.pid).read().split()[2] == "S", "the target to wait")
                    program.stdin.write(b"\n")
                    program.stdin.flush()
        finally:
            program.kill()
            program.communicate()
        assert n_changed > 0, "no address was used twice: the test tests nothing"


def test_a_deleted_interpreter(folder):
    """The files of a running Python are replaced when it is upgraded."""
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(PYTHON)))
    library = [os.path.join(prefix, "lib", name) for name in os.listdir(os.path.join(prefix, "lib")) if name.startswith("libpython3.") and ".so." in name]
    copy = os.path.join(folder, "python3")
    shutil.copy(os.path.realpath(PYTHON), copy)
    copied = [shutil.copy(path, folder) for path in library]
    env = dict(os.environ, LD_LIBRARY_PATH=folder, PYTHONHOME=prefix)
    with Target(folder, STAY + "stay()", python=copy, env=env) as target:
        pid, truth, _ = target.truth()
        os.remove(copy)
        for path in copied:
            os.remove(path)
            write(folder, os.path.basename(path), "another file of that name")
        wait_for(lambda: look(folder, pid)[1][-1].frames[0][2] == "stay", "the target to wait")
        same(look(folder, pid)[1], truth)


def test_a_process_in_a_container(folder):
    """In a pid namespace of its own, with another root folder's view of its files."""
    unshare = shutil.which("unshare")
    need(unshare and run([unshare, "--pid", "--mount", "--fork", "true"]).status == 0, "no right to make namespaces")
    path = write(folder, "target.py", TELL + STAY + """
event = threading.Event()
def wait(): event.wait()
threading.Thread(target=wait, name="second", daemon=True).start()
time.sleep(0.2)
stay()
""")
    command = "mount -t tmpfs none /mnt && cp %s /mnt/target.py && exec %s /mnt/target.py" % (path, PYTHON)
    process = subprocess.Popen([unshare, "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", command],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        pid, truth, _ = json.loads(process.stdout.readline().decode())
        equal(pid, 1, "the pid inside")
        outer = int(open("/proc/%d/task/%d/children" % (process.pid, process.pid)).read().split()[0])
        wait_for(lambda: look(folder, outer)[1][-1].frames[0][2] == "stay", "the target to wait")
        _, threads = look(folder, outer)
        equal(sorted(t.tid for t in threads), sorted(int(tid) for tid in os.listdir("/proc/%d/task" % outer)), "tids as we count them")
        equal(sorted(t.name for t in threads), sorted(name for name, _ in truth.values()), "names")
        equal({f[4] for t in threads for f in t.frames if f[2] == "stay"}, {"/mnt/target.py"}, "file as the process knows it")
    finally:
        process.kill()
        process.communicate()


def has_kernel_threads():
    """A namespace of processes, as containers have, shows none."""
    try:
        with open("/proc/2/comm") as f:
            return f.read() == "kthreadd\n"
    except OSError:
        return False


def test_what_cannot_be_read_is_refused_in_a_sentence(folder):
    program = reader(folder)
    sleeper = subprocess.Popen(["sleep", "100"])
    zombie = subprocess.Popen(["true"])
    try:
        wait_for(lambda: open("/proc/%d/stat" % zombie.pid).read().split()[2] == "Z", "the zombie")
        cases = [(sleeper.pid, "is not a Python process"), (zombie.pid, "has ended"), (0x3fffffff, "there is no process"),
                 (2, "kernel") if has_kernel_threads() else (0x3ffffffe, "no process")]
        for pid, words in cases:
            done = run([program, str(pid)])
            equal(done.status, 1, "status for %d" % pid)
            assert words in done.err and done.err.count("\n") == 1, done.err
    finally:
        sleeper.kill()
        sleeper.wait()
        zombie.wait()


def test_a_wrong_version_is_noticed(folder):
    """A layout that is not the process's own is refused, never read with; from 3.13 on the
    process tells its own, whatever we were told."""
    with Target(folder, STAY + "stay()") as target:
        pid, _, _ = target.truth()
        for minor in range(8, 13):
            done = run([reader(folder), str(pid), "3.%d" % minor])
            if minor == sys.version_info[1] or sys.version_info >= (3, 13):
                equal((done.status, done.err), (0, ""), "status and stderr with version 3.%d" % minor)
            else:
                assert done.status == 1, (minor, done.out)
                assert "does not look like that of CPython" in done.err or "has not begun to run" in done.err, (minor, done.err)


run_tests(globals())
