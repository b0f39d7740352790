# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde dump: programs whose stacks are known, name by name and line by line.

Each program marks lines with `#@ name`; what is expected is said by these marks, so that a
line added above does not change a test."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PYTHON, TARGETS, clean_env, contains, equal, need, run_tests, sonde, state_of, wait_for

READY = "import os, sys; print('ready', flush=True)\n"


class Program:
    """A running program; `line[mark]` is where its mark stands."""

    def __init__(self, folder, source, name="prog.py", python=PYTHON):
        self.path = os.path.join(folder, name)
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(source)
        self.name = name
        self.line = {}
        for number, text in enumerate(source.split("\n"), 1):
            for mark in re.findall(r"#@ (\w+)", text):
                self.line[mark] = number
        self.process = subprocess.Popen([python, self.path], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=clean_env(), cwd=folder)
        self.pid = self.process.pid

    def wait_ready(self):
        equal(self.process.stdout.readline().strip(), b"ready", "first line of the program")
        time.sleep(0.05)

    def at(self, function, mark):
        return (function, self.name, self.line[mark])


@contextlib.contextmanager
def program(folder, source, **how):
    p = Program(folder, source, **how)
    try:
        p.wait_ready()
        yield p
    finally:
        p.process.kill()
        p.process.wait()
        p.process.stdout.close()


def dump(pid, *options):
    result = sonde("dump", "--json", "--pid", pid, *options)
    equal(result.status, 0, "status (%s)" % result.err.strip())
    return json.loads(result.out)


def frames(thread):
    return [(f["name"], f["short_filename"], f["line"]) for f in thread["frames"]]


def sleeps_in(pid):
    """The first thread as soon as it sleeps in its innermost function, so that the picture is the settled one."""
    return wait_for(lambda: [t for t in dump(pid) if t["os_thread_id"] == pid and not t["active"]], "the program to sleep")[0]


def test_calls_generators_coroutines_and_callbacks(folder):
    source = """import asyncio, time
def leaf(x):
    print('ready', flush=True)
    time.sleep(1000)                        #@ leaf
def gen(n):
    for i in range(n):
        yield leaf(i)                       #@ gen
def delegating(n):
    yield from gen(n)                       #@ delegating
def key(x):
    return list(delegating(2))              #@ key
async def inner():
    return sorted([1, 2], key=key)          #@ inner
async def outer():
    await inner()                           #@ outer
class Thing:
    def method(self):
        drive(outer())                      #@ method
def drive(coroutine):
    try:
        coroutine.send(None)                #@ drive
    except StopIteration:
        pass
list(map(lambda x: Thing().method(), [1]))  #@ module
"""
    with program(folder, source) as p:
        thread = sleeps_in(p.pid)
        equal(frames(thread), [p.at("leaf", "leaf"), p.at("gen", "gen"), p.at("delegating", "delegating"), p.at("key", "key"),
                               p.at("inner", "inner"), p.at("outer", "outer"), p.at("drive", "drive"), p.at("method", "method"),
                               p.at("<lambda>", "module"), p.at("<module>", "module")], "frames")
        equal([f["filename"] for f in thread["frames"]], [p.path] * 10, "files")
        names = [f["name"] for f in dump(p.pid, "--qualified")[0]["frames"]]
        equal(names[7], "Thing.method" if sys.version_info >= (3, 11) else "method", "qualified name")


def test_an_event_loop(folder):
    source = """import asyncio, time
async def work():
    print('ready', flush=True)
    time.sleep(1000)            #@ work
async def main():
    await asyncio.gather(work())
asyncio.run(main())             #@ module
"""
    with program(folder, source) as p:
        found = frames(sleeps_in(p.pid))
        equal(found[0], p.at("work", "work"), "innermost")
        equal(found[-1], p.at("<module>", "module"), "outermost")
        assert ("run_until_complete" in [f[0] for f in found]) and all(f[2] > 0 for f in found), found
        equal(found[-2][:2], ("run", "asyncio/runners.py"), "caller")


def test_recursion_2000_deep(folder):
    source = """import sys, time
sys.setrecursionlimit(10000)
def down(n):
    if n == 0:
        print('ready', flush=True)
        time.sleep(1000)        #@ bottom
    return down(n - 1) + 1      #@ down
down(2000)                      #@ module
"""
    with program(folder, source) as p:
        found = frames(sleeps_in(p.pid))
        equal(found, [p.at("down", "bottom")] + [p.at("down", "down")] * 2000 + [p.at("<module>", "module")], "frames")
        text = sonde("dump", "--pid", p.pid).out
        equal(text.count("down (prog.py:"), 2001, "frames in the text")


def test_lines_that_go_back(folder):
    """The line of a call is that of its beginning, after its arguments on later lines."""
    source = """import time
def g(a, b):
    print('ready', flush=True)
    time.sleep(1000)            #@ g
def f():
    return g(                   #@ f
        1,
        [2,
         3])
f()                             #@ module
"""
    with program(folder, source) as p:
        equal(frames(sleeps_in(p.pid)), [p.at("g", "g"), p.at("f", "f"), p.at("<module>", "module")], "frames")


def test_a_thread_that_takes_the_place_of_another(folder):
    source = """import threading, time
def quick():
    pass
def last(event):
    event.wait()                #@ last
for i in range(200):
    t = threading.Thread(target=quick, name="quick")
    t.start()
    t.join()
threading.Thread(target=last, args=(threading.Event(),), name="last", daemon=True).start()
print('ready', flush=True)
time.sleep(1000)
"""
    with program(folder, source) as p:
        sleeps_in(p.pid)
        equal(sorted(t["thread_name"] for t in dump(p.pid)), ["MainThread", "last"], "names")


def test_thread_names_and_states(folder):
    source = """import threading, time
def busy():
    while True:
        pass                    #@ busy
def wait(event):
    event.wait()                #@ wait
event = threading.Event()
for i, name in enumerate(["wörker \u4e16\u754c", "second"]):
    threading.Thread(target=wait, args=(event,), name=name, daemon=True).start()
threading.Thread(target=busy, name="busy", daemon=True).start()
print('ready', flush=True)
time.sleep(1000)                #@ main
"""
    with program(folder, source) as p:
        sleeps_in(p.pid)
        threads = {t["thread_name"]: t for t in dump(p.pid)}
        equal(sorted(threads), sorted(["MainThread", "wörker \u4e16\u754c", "second", "busy"]), "names")
        equal(threads["MainThread"]["os_thread_id"], p.pid, "first thread")
        equal(len({t["thread_id"] for t in threads.values()}), 4, "different ids")
        for name, t in threads.items():
            equal(t["pid"], p.pid, "pid")
            equal(t["active"], name == "busy", "active of %s" % name)
            equal((t["stopped"], t["partial"]), (False, False), "flags")
        equal(threads["MainThread"]["frames"][-1]["name"], "<module>", "outermost")
        assert p.at("wait", "wait") in frames(threads["second"])
        assert frames(threads["busy"])[0][0] == "busy"
        wait_for(lambda: [t for t in dump(p.pid) if t["thread_name"] == "busy" and t["owns_gil"]], "the holder of the GIL", 10)

        text = sonde("dump", "--pid", p.pid).out
        contains(text, 'Thread %d (idle): "MainThread"\n    <module> (prog.py:%d)\n' % (p.pid, p.line["main"]))
        contains(text, '(idle): "wörker \u4e16\u754c"\n')
        assert re.search(r'Thread \d+ \(active(\+gil)?\): "busy"\n    busy \(prog\.py:\d+\)\n    run \(threading\.py:\d+\)\n', text), text
        assert text.startswith("Process %d: %s %s\nPython v%s (" % (p.pid, PYTHON, p.path, ".".join(map(str, sys.version_info[:3])))), text[:200]
        equal(re.findall(r'Thread \d+ \([^)]*\): "(.*)"', text), ["MainThread", "wörker \u4e16\u754c", "second", "busy"], "order")


def test_names_that_are_not_ascii(folder):
    source = """import time
def функция(значение):
    print('ready', flush=True)
    time.sleep(1000)            #@ leaf
def café():
    функция("ok")               #@ cafe
café()                          #@ module
"""
    with program(folder, source, name="файл-€.py") as p:
        equal(frames(sleeps_in(p.pid)), [p.at("функция", "leaf"), p.at("café", "cafe"), p.at("<module>", "module")], "frames")
        contains(sonde("dump", "--locals", "--pid", p.pid).out, "            значение: 'ok'\n")


def test_local_variables(folder):
    source = """import time
class Thing:
    def __repr__(self):
        open('repr-ran', 'w')
        return 'never'
def f(first, second=2.5, *rest, third=None, **more):
    text = 'caf\u00e9 \u4e16'
    quoted = ["it's", 'a "', b"b'"]
    raw = b'a\\x00b'
    numbers = [0, -1, 1 << 40, -(1 << 59)]
    nested = {'k': (1, [2, (3,)]), 2: None}
    truth = (True, False)
    thing = Thing()
    shared = 'in a cell'
    long = 'x' * 5000
    def inner():
        return shared
    del first
    print('ready', flush=True)
    time.sleep(1000)            #@ f
f(1, 3.5, 'r', third='t', a=1)
"""
    with program(folder, source) as p:
        sleeps_in(p.pid)
        frame = dump(p.pid, "--locals")[0]["frames"][0]
        texts = {v["name"]: v["repr"] for v in frame["locals"]}
        thing = texts.pop("thing")
        assert re.match(r"<Thing at 0x[0-9a-f]+>$", thing), thing
        assert re.match(r"<function at 0x[0-9a-f]+>$", texts.pop("inner"))
        long = texts.pop("long")
        assert long.startswith("'xxxx") and long.endswith("...") and len(long) < 300, long
        equal(texts, {"second": "3.5", "third": "'t'", "rest": "('r',)", "more": "{'a': 1}", "text": "'caf\u00e9 \u4e16'", "raw": "b'a\\x00b'",
                      "numbers": "[0, -1, 1099511627776, -576460752303423488]", "nested": "{'k': (1, [2, (3,)]), 2: None}", "truth": "(True, False)",
                      "shared": "'in a cell'", "quoted": repr(["it's", 'a "', b"b'"])}, "values")
        equal([v["name"] for v in frame["locals"] if v["arg"]], ["second", "third", "rest", "more"], "arguments")
        assert all(v["addr"] > 0 for v in frame["locals"])
        assert not os.path.exists(os.path.join(folder, "repr-ran")), "code of the program ran"
        text = sonde("dump", "-l", "-p", p.pid).out
        contains(text, "    f (prog.py:%d)\n        Arguments:\n            second: 3.5\n            third: 't'\n            rest: ('r',)\n            more: {'a': 1}\n        Locals:\n" % p.line["f"])


def test_stacks_of_a_running_program_are_possible(folder):
    """call_tree.py runs a call every hundred nanoseconds: a stack that is read piece by piece would be one that cannot be."""
    p = subprocess.Popen([PYTHON, os.path.join(TARGETS, "call_tree.py"), "60", "6"], stdout=subprocess.PIPE, env=clean_env())
    n_partial = n_seen = 0
    try:
        p.stdout.readline()
        for _ in range(20):
            for thread in dump(p.pid):
                stack = [f for f in frames(thread) if f[0].startswith("t_")]
                n_seen += len(stack) > 0
                n_partial += thread["partial"]
                check_chain(stack, thread["partial"])
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
    assert n_seen >= 10, "only %d of 20 looks met the tree" % n_seen
    assert n_partial <= 5, "%d of 20 looks were partial" % n_partial


def check_chain(stack, is_partial):
    """t_0110 is called by t_011 from its third line, t_0111 from its fourth."""
    for inner, outer in zip(stack, stack[1:]):
        equal(inner[0][:-1], outer[0], "caller of %s" % inner[0])
    firsts = first_lines(6)
    for inner, outer in zip(stack, stack[1:]):
        equal(outer[2] - firsts[outer[0]], 2 if inner[0].endswith("0") else 3, "line in %s that calls %s" % (outer[0], inner[0]))
    if stack and not is_partial:
        equal(stack[-1][0], "t_", "outermost of the tree")


def first_lines(depth):
    found, line = {}, 1
    for n in range(depth, -1, -1):
        for i in range(2 ** n):
            found["t_" + (format(i, "0%db" % n) if n else "")] = line
            line += 5
    return found


def test_locals_of_a_running_thread(folder):
    source = """import time
def count(limit):
    n = 0
    while n < limit:
        n += 1
def main():
    print('ready', flush=True)
    while True:
        count(100000)           #@ call
main()
"""
    with program(folder, source) as p:
        for _ in range(5):
            frame = [f for f in dump(p.pid, "--locals")[0]["frames"] if f["name"] == "count"]
            if frame and not frame[0]["moved"]:
                values = {v["name"]: v["repr"] for v in frame[0]["locals"]}
                equal(values["limit"], "100000", "argument")
                assert "n" not in values or 0 <= int(values["n"]) <= 100000, values
                return
    raise AssertionError("never met the function standing still")


def test_children_and_only_when_asked(folder):
    source = """import multiprocessing, subprocess, sys, time
def child():
    time.sleep(1000)            #@ child
if __name__ == '__main__':
    p = multiprocessing.get_context('fork').Process(target=child, daemon=True)
    p.start()
    q = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])
    zombie = subprocess.Popen(['true'])     # ends, and is never waited for
    time.sleep(0.5)
    print('ready', q.pid, flush=True)
    try:
        time.sleep(1000)        #@ main
    except KeyboardInterrupt:
        q.kill()
"""
    p = Program(folder, source)
    try:
        other = int(p.process.stdout.readline().split()[1])
        wait_for(lambda: len({t["pid"] for t in dump(p.pid, "-s")}) == 3, "three processes")
        equal({t["pid"] for t in dump(p.pid)}, {p.pid}, "processes without -s")
        threads = dump(p.pid, "--subprocesses")
        parents = {t["pid"]: t["process_info"]["parent"] for t in threads}
        equal(sorted(map(str, parents.values())), sorted(["None", str(p.pid), str(p.pid)]), "parents")
        equal(len(threads), 3, "threads: no process twice")
        text = sonde("dump", "-s", "-p", p.pid).out
        contains(text, "Parent Process %d: %s %s\n" % (p.pid, PYTHON, p.path))
        contains(text, "child (prog.py:%d)" % p.line["child"])
        contains(text, "Process %d: " % other)
    finally:
        p.process.send_signal(signal.SIGINT)
        p.process.wait()
        p.process.stdout.close()


def test_a_stopped_program_is_called_stopped_and_stays_so(folder):
    source = """import time
def busy():
    print('ready', flush=True)
    while True:
        pass
busy()                          #@ module
"""
    with program(folder, source) as p:
        os.kill(p.pid, signal.SIGSTOP)
        wait_for(lambda: state_of(p.pid) == "T", "the stop")
        for options in ([], ["--blocking"], ["--consistency", "follow"]):
            thread = dump(p.pid, *options)[0]
            equal((thread["stopped"], thread["active"]), (True, False), "state")
            equal(thread["frames"][0]["name"], "busy", "innermost")
            equal(state_of(p.pid), "T", "state after %s" % options)
        contains(sonde("dump", "-p", p.pid).out, "Thread %d (stopped" % p.pid)
        os.kill(p.pid, signal.SIGCONT)
        wait_for(lambda: not dump(p.pid)[0]["stopped"], "it to run again")


def test_every_consistency_gives_the_same_of_a_waiting_thread(folder):
    source = "import time\ndef f():\n    print('ready', flush=True)\n    time.sleep(1000)\nf()\n"
    with program(folder, source) as p:
        wanted = frames(sleeps_in(p.pid))
        for options in (["--nonblocking"], ["--blocking"], ["--consistency", "follow"], ["--consistency", "pause"], ["--consistency", "none"]):
            equal(frames(dump(p.pid, *options)[0]), wanted, "frames with %s" % options)
        result = sonde("dump", "-p", p.pid, "--blocking", "--nonblocking")
        equal(result.status, 2, "status")
        equal(frames(dump(hex(p.pid))[0]), wanted, "frames by a hexadecimal number")
        full = sonde("dump", "--full-filenames", "-p", p.pid).out
        contains(full, "f (%s:4)" % p.path)


def refused(pid, status, *parts, **how):
    result = sonde("dump", "--pid", pid, *how.get("options", []))
    equal((result.status, result.out), (status, ""), "status and stdout (%s)" % result.err.strip())
    equal(result.err.count("\n"), 1, "lines of %r" % result.err)
    assert result.err.startswith("sonde: "), result.err
    for part in parts:
        contains(result.err, part, "sentence")


def test_what_cannot_be_read_is_said_in_one_sentence(folder):
    refused("nonsense", 2, '"nonsense" is not a process ID')
    refused("-5", 2, "is not a process ID")
    refused(2 ** 22 - 3, 1, "there is no process %d" % (2 ** 22 - 3))
    sleeper = subprocess.Popen(["sleep", "1000"])
    zombie = subprocess.Popen(["true"])
    try:
        wait_for(lambda: state_of(zombie.pid) == "Z", "the zombie")
        refused(sleeper.pid, 1, "(sleep) is not a Python process")
        refused(zombie.pid, 1, "(true) has ended")
        refused(sleeper.pid, 1, "is not a Python process", options=["--subprocesses"])
    finally:
        sleeper.kill()
        sleeper.wait()
        zombie.wait()
    result = sonde("dump")
    equal((result.status, result.err), (2, "sonde: dump needs one process: sonde dump --pid 1234\n"), "without a process")


def test_a_kernel_thread_has_no_stack(folder):
    kernel = [int(p) for p in os.listdir("/proc") if p.isdigit() and kernel_thread(p)]
    need(kernel, "no thread of the kernel is to be seen here")
    refused(kernel[0], 1, "is a thread of the kernel")


def kernel_thread(pid):
    try:
        with open("/proc/%s/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[1] == "2"
    except OSError:
        return False


def test_older_pythons_are_refused_by_name(folder):
    found = []
    root = os.path.expanduser("~/.pyenv/versions")
    for version in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        if re.match(r"(2\.|3\.[0-7]\.)", version) and os.access(os.path.join(root, version, "bin/python"), os.X_OK):
            found.append(version)
    need(found, "no Python before 3.8 is installed")
    for version in found:
        p = subprocess.Popen([os.path.join(root, version, "bin/python"), "-c", "import sys, time; print('ready'); sys.stdout.flush(); time.sleep(1000)"],
                             stdout=subprocess.PIPE, env=clean_env(PYTHONPATH=None))
        try:
            p.stdout.readline()
            refused(p.pid, 1, "CPython %s" % version.rsplit(".", 1)[0])
        finally:
            p.kill()
            p.wait()
            p.stdout.close()


def test_a_program_just_started_is_waited_for(folder):
    for _ in range(5):
        p = subprocess.Popen([PYTHON, "-c", "import time; time.sleep(1000)"], env=clean_env())
        try:
            threads = dump(p.pid)
            assert threads and threads[0]["os_thread_id"] == p.pid, threads
        finally:
            p.kill()
            p.wait()


run_tests(globals())
