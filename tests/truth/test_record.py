# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.record: a block of this process, measured by any collectors; several at once; nothing is left behind."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, PYTHON, between, clean_env, contains, equal, need, run, run_tests, sonde, write  # noqa: E402

HEAD = """
import json, os, sys, threading, time
import sonde

def leaf():
    return 1
def work(n):
    for _ in range(n):
        leaf()
def counts(r, *names):
    found = {f["function"]: f["calls"] for f in r.report()["functions"]}
    return [found.get(name, 0) for name in names]
def lines(r):
    return {f["function"]: [[l["line"], l["hits"]] for l in f["lines"]] for f in r.report()["functions"]}
def hooks():
    tools = [sys.monitoring.get_tool(i) for i in range(6)] if hasattr(sys, "monitoring") else []
    return [sys.getprofile(), sys.gettrace(), tools, threading.active_count(), sorted(os.listdir("/proc/self/fd")), sorted(os.environ)]
"""
HEAD_LINES = HEAD.count("\n")


def answer(folder, program, env=None, before=()):
    """What the program prints, as JSON; a folder for temporary files of its own is empty at its end."""
    temporary = os.path.join(folder, "tmp")
    os.makedirs(temporary, exist_ok=True)
    write(folder, "p.py", HEAD + program)
    result = run(list(before) + [PYTHON, "p.py"], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, TMPDIR=temporary, PYTHONDONTWRITEBYTECODE="1", **(env or {})))
    equal(result.status, 0, result.err)
    equal(os.listdir(temporary), [], "files left behind")
    return json.loads(result.out.splitlines()[-1]) if result.out else result.err


def test_a_block_has_its_calls_and_those_of_threads_it_starts(folder):
    """A thread that was there before is another's, unless all threads are asked for."""
    got = answer(folder, """
def elsewhere():
    while not stop.is_set():
        other(); turned.set(); time.sleep(0.001)
def other():
    pass
def in_thread():
    work(7)
stop, turned = threading.Event(), threading.Event()
there = threading.Thread(target=elsewhere); there.start()
def block(**how):
    with sonde.record("calls", **how) as r:
        work(100)
        t = threading.Thread(target=in_thread); t.start(); t.join()
        for _ in range(2):    # the first turn may have begun before the block
            turned.clear(); turned.wait(60)
    calls = counts(r, "work", "leaf", "in_thread", "other")
    return calls[:3] + [calls[3] > 0]
found = [block(), block(threads=True), block(threads=False)]
stop.set(); there.join()
print(json.dumps(found))
""")
    equal(got, [[2, 107, 1, False], [2, 107, 1, True], [1, 100, 0, False]], "calls of work, leaf, the thread's function and another thread's")


def test_blocks_nest_and_each_has_its_own(folder):
    got = answer(folder, """
section = sonde.Profiler()
with sonde.record("calls", "lines", only="work") as outer:
    work(3)
    with sonde.record("sections") as inner:
        with section("a"):
            with section("b"):
                work(5)
        with sonde.section("plain"):
            pass
    with sonde.record("calls") as last:
        work(2)
with section("after"):
    work(1)
with sonde.record("lines", only="work,leaf") as both:
    work(4)
rows = [[s["section"], s["count"]] for s in inner.report()["sections"]]
print(json.dumps([counts(outer, "work", "leaf"), counts(last, "work", "leaf"), rows, lines(both)]))
""")
    first = HEAD.split("\n").index("def leaf():") + 1
    equal(got[0], [3, 10], "calls of the outer block")
    equal(got[1], [1, 2], "calls of the last block")
    equal(got[2], [["a", 1], ["a:b", 1], ["plain", 1]], "sections of the inner block")
    equal(got[3], {"leaf": [[first + 1, 4]], "work": [[first + 3, 5], [first + 4, 4]]}, "lines: what an earlier block did not want, too")


def test_nested_lines_are_counted_for_each(folder):
    got = answer(folder, """
with sonde.record("lines", only="work") as outer:
    work(3)
    with sonde.record("lines", only="leaf") as inner:
        work(5)
    work(1)
print(json.dumps([lines(outer), lines(inner)]))
""")
    first = HEAD.split("\n").index("def leaf():") + 1
    equal(got, [{"work": [[first + 3, 12], [first + 4, 9]]}, {"leaf": [[first + 1, 5]]}], "hits")


def test_what_a_process_does_once_is_refused_the_second_time(folder):
    got = answer(folder, """
said = []
def refuses(begin):
    try:
        with begin():
            said.append("began")
    except RuntimeError as why:
        said.append(str(why))
with sonde.record("alloc", "calls") as r:
    kept = bytearray(1000003)
    refuses(lambda: sonde.record("alloc"))
    refuses(sonde.memory.track)
    with sonde.record("calls") as inner:
        work(2)
with sonde.record("rss") as seen:
    refuses(lambda: sonde.record("sample"))
    refuses(lambda: sonde.record("rss", "calls"))
    child = os.fork()
    if child == 0:      # another process: nobody looks into it yet
        refuses(lambda: sonde.record("rss"))
        os._exit(0 if said[-1] == "began" else 1)
    said.append(os.waitpid(child, 0)[1])
with sonde.record("alloc") as again:
    more = bytearray(2000003)
sonde.start("own.sonde")
refuses(lambda: sonde.record("alloc"))
with sonde.record("calls") as own:
    work(3)
sonde.stop()
print(json.dumps([said, counts(inner, "work", "leaf"), counts(own, "work", "leaf"), r.report()["alloc"]["peak_bytes"], again.report()["alloc"]["peak_bytes"]]))
""")
    equal(got[0], ["a block of sonde.record() is being recorded already; end it before the next begins",
                   "a block of sonde.record() is being recorded already; end it before track() begins",
                   "a block of sonde.record() is being recorded already; end it before the next begins",
                   "a block of sonde.record() is being recorded already; end it before the next begins", 0,
                   "this process records itself already (sonde.start(), or SONDE_OUT); call sonde.stop() before sonde.record()"], "sentences")
    equal(got[1:3], [[1, 2], [1, 3]], "calls meanwhile")
    between(got[3], 1000003, 3000003, "peak of the first")
    between(got[4], 2000003, 4000003, "peak of the second")


def test_it_is_what_report_says_and_is_saved(folder):
    got = answer(folder, """
with sonde.record("calls") as r:
    work(6)
paths = [os.path.basename(r.save(name)) for name in ("x.sonde", "x.html", "x.speedscope.json", "x.pstats")]
said = []
for name in ("x.sonde", "x.html", "no/x.sonde", "x.unknown"):
    try:
        r.save(name)
    except Exception as why:
        said.append([type(why).__name__, str(why)])
r.save("x.sonde", force=True)
import pstats
calls = {name: nc for (_, _, name), (cc, nc, *_) in pstats.Stats("x.pstats").stats.items()}
bundle = r._repr_mimebundle_()
print(json.dumps([paths, said, str(r), r.report()["functions"][0]["function"], calls["leaf"], sorted(bundle), bundle["text/html"][:200], len(bundle["text/html"]) < 2 << 20]))
""")
    equal(got[0], ["x.sonde", "x.html", "x.speedscope.json", "x.pstats"], "files")
    equal([kind for kind, _ in got[1]], ["FileExistsError", "FileExistsError", "FileNotFoundError", "RuntimeError"], "refusals (%s)" % got[1])
    report = sonde("report", "x.sonde", cwd=folder)
    equal(got[2], report.out[len("x.sonde: "):], "str() is what `sonde report` prints")
    contains(got[2], "7 function calls")
    equal(got[3:5], ["work", 6], "report() and pstats")
    equal(got[5], ["text/html", "text/plain"], "forms")
    contains(got[6], 'sandbox="allow-scripts allow-downloads" srcdoc="')
    assert got[7]


def test_an_exception_passes_and_what_ran_is_there(folder):
    got = answer(folder, """
with sonde.record("alloc"):     # opens /proc/self/statm for the life of the process, as sections do
    pass
before = hooks()
try:
    with sonde.record("calls", "lines", "sections", only="work") as r:
        work(4)
        raise KeyError("the program's own")
except KeyError as why:
    said = str(why), why.__traceback__.tb_next is None
with sonde.record("alloc") as a:
    work(1)
with sonde.record("rss") as b:
    work(1)
print(json.dumps([counts(r, "work", "leaf"), said, hooks() == before]))
""")
    equal(got, [[1, 4], ["\"the program's own\"", True], True], "calls, the exception, and no hook, thread, descriptor or variable is left")


def test_wrong_words_are_told_in_one_sentence(folder):
    got = answer(folder, """
said = []
for names, options in ((("cals",), {}), ((), {}), (("calls", "calls"), {}), ((3,), {}), (("calls",), {"buildins": True}), (("calls",), {"nodes": 1}),
                       (("calls",), {"nodes": "many"}), (("calls",), {"builtins": 3}), (("calls",), {"signatures": "x"}), (("calls",), {"nodes": object}),
                       (("lines",), {"debug_above": "100MiB"}), (("model",), {})):
    try:
        with sonde.record(*names, **options):
            said.append("began")
    except Exception as why:
        said.append(type(why).__name__ + ": " + str(why))
r = sonde.record("calls")
for ask in (r.report, lambda: r.save("x.sonde"), lambda: r.__enter__() and r.__enter__(), lambda: r.__exit__(None, None, None) or r.__enter__()):
    try:
        ask()
    except Exception as why:
        said.append(type(why).__name__ + ": " + str(why))
print(json.dumps(said))
""")
    equal(got, [
        "ValueError: no collector cals; did you mean calls?",
        "ValueError: name at least one collector: sonde.record(\"calls\")",
        "ValueError: calls is named twice",
        "TypeError: collectors are named by strings, not int",
        "TypeError: no option buildins; there are builtins, threads, cpu, bounded, nodes, timeline, signatures, scaling",
        "ValueError: nodes must be from 2 to 16,000,000",
        "ValueError: nodes takes a whole number such as 10, not \"many\"",
        "ValueError: builtins takes yes or no, not \"3\"",
        "ValueError: signatures must be types, lengths or sizes, not \"x\"",
        "TypeError: nodes takes text, a number, True, False or None, not type",
        "ValueError: a recording takes no debug_above and no then; they are for `sonde lines`",
        "ValueError: no collector model; there are sample, rss, sections, calls, lines, alloc",
        "RuntimeError: nothing is recorded yet: use it as `with sonde.record('calls') as r:`, and ask when the block has ended",
        "RuntimeError: nothing is recorded yet: use it as `with sonde.record('calls') as r:`, and ask when the block has ended",
        "RuntimeError: this recording runs already; nest another one",
        "RuntimeError: this recording has ended; make another one with sonde.record()",
    ], "sentences")


def test_collectors_that_look_from_outside_are_attached(folder):
    """Work of 3 : 1, told by its samples; the attached program is no part of it."""
    got = answer(folder, """
def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
def three():
    spin(0.12)
def one():
    spin(0.04)
before = hooks()
with sonde.record("sample", "rss", "calls", rate=500, every="10ms") as r:
    for _ in range(10):
        three(); one()
d = r.report()
sampled = {f["function"]: f["cum%"] for f in d["functions"]}
traced = {f["function"]: f["calls"] for f in d["traced_functions"]}
print(json.dumps([sampled["three"], sampled["one"], traced["three"], traced["spin"], [p["pid"] == os.getpid() for p in d["processes"]], d["summary"]["samples"],
                  hooks() == before]))
""")
    between(got[0] / got[1], 1.8, 5, "share of three to that of one")
    equal(got[2:5], [10, 20, [True]], "calls, and the processes that were read")
    assert got[5] > 20, got[5]
    equal(got[6], True, "nothing is left")


def test_what_fails_on_the_way_leaves_no_process_and_no_file(folder):
    """Control-C while the program is waited for; a capture that cannot be taken in."""
    got = answer(folder, """
import subprocess
import sonde._attached as attached, sonde._record as record, sonde._scratch as scratch
before, said, started = hooks(), [], []
def interrupted(self):
    started.append(self.process)
    raise KeyboardInterrupt
kept_wait, attached.Attached._wait_until_it_records = attached.Attached._wait_until_it_records, interrupted
try:
    with sonde.record("rss"):
        said.append("began")
except KeyboardInterrupt:
    said.append("interrupted")
attached.Attached._wait_until_it_records = kept_wait
said.append(started[0].returncode)
def full(self):
    raise OSError("no disk")
kept_keep, scratch.Scratch.keep = scratch.Scratch.keep, full
try:
    with sonde.record("rss"):
        pass
except OSError as why:
    said.append(str(why))
scratch.Scratch.keep = kept_keep
print(json.dumps([said, len(record._running), os.listdir(os.environ["TMPDIR"]), hooks() == before]))
""")
    equal(got, [["interrupted", -9, "no disk"], 0, [], True], "what is said, what still runs, files, and hooks")


def test_where_nobody_may_look_the_block_does_not_begin(folder):
    """A process that is not dumpable, without the right to trace."""
    if os.geteuid() == 0:
        need(shutil.which("setpriv"), "no setpriv to give up a right with")
    got = answer(folder, """
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)    # PR_SET_DUMPABLE
said, before = [], hooks()
for names in (("sample",), ("sample", "calls")):
    try:
        with sonde.record(*names):
            said.append("began")
    except RuntimeError as why:
        said.append(str(why))
with sonde.record("calls") as r:
    work(2)
print(json.dumps([said, counts(r, "leaf"), hooks() == before]))
""", before=["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", "--ambient-caps", "-all"] if os.geteuid() == 0 else [])
    assert "began" not in got[0] and all("\n" not in text and len(text) > 20 for text in got[0]), got
    equal(got[1:], [[2], True], "a block of calls afterwards, and what is left")


def test_a_child_and_a_run_keep_their_own(folder):
    """A fork inside a block ends its own copy; under `sonde run` a block is beside what that records."""
    program = """
with sonde.record("calls") as r:
    work(5)
    pid = os.fork()
    if pid == 0:
        work(1000)
if pid == 0:
    assert counts(r, "work", "leaf") == [2, 1005], counts(r, "work", "leaf")
    os._exit(0)
status = os.waitpid(pid, 0)[1]
print(json.dumps([counts(r, "work", "leaf"), status]))
"""
    equal(answer(folder, program), [[1, 5], 0], "calls of the parent")
    write(folder, "q.py", HEAD + program)
    done = sonde("run", "-q", "--python", PYTHON, "--with", "calls", "-o", "run.sonde", "q.py", cwd=folder)
    equal(done.status, 0, done.err)
    equal(json.loads(done.out), [[1, 5], 0], "the same under `sonde run`")
    found = json.loads(sonde("report", "run.sonde", "--json", cwd=folder).out)
    calls = {f["function"]: f["calls"] for f in found["functions"]}
    equal([calls["work"], calls["leaf"]], [2, 1005], "what the run has recorded")


if __name__ == "__main__":
    run_tests(globals())
