# SPDX-License-Identifier: MIT
# interpreters: all
"""When each call was: as many spans as calls, nested as the calls were, and as long as the tables say.

The trace of `sonde convert` and the tables of `sonde report --raw` come from two ways of recording (a log of
events, a tree that adds up) that read one clock once, so they agree but for the rounding of ticks to
nanoseconds: to 1 in 1,000, and 2 µs.
"""
import collections
import json
import marshal
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, contains, equal, once, run, run_tests, sonde, write  # noqa: E402

PROGRAM = r"""
import os, sys, threading, time

def leaf(n):
    for _ in range(n):
        pass

def outer():
    for i in range(4):
        leaf(200)
    try:
        fails()
    except ValueError:
        pass

def fails():
    raise ValueError

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def steps(n):
    for i in range(n):
        yield leaf(50)

def forever():
    return forever()

def slow():
    time.sleep(0.03)

def main():
    for i in range(3):
        outer()
    fib(12)
    list(steps(10))
    slow()
    try:
        forever()
    except RecursionError:
        pass

class Weird:
    def __call__(self):
        return [leaf(i) for i in range(5)]

main()
threads = [threading.Thread(target=fib, args=(10,), name='T"%d<' % i) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
Weird()()
if hasattr(os, "fork"):
    pid = os.fork()
    if pid == 0:
        fib(8)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
"""


def trace_of(path, *words):
    """(complete events, {(pid, tid): name of the thread}) of a capture."""
    target = path + ".trace.json"
    done = sonde("convert", "--force", *(list(words) + [path, target]))
    equal(done.status, 0, "status of convert (%r)" % done.err)
    with open(target) as f:
        found = json.load(f)["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["ph"] == "M" and e["name"] == "thread_name"}
    return [e for e in found if e["ph"] == "X"], names


def ns(us):
    return round(us * 1000)


def check_nesting(spans):
    """{(parent, child): calls}, having seen that no two spans of a thread overlap in part."""
    edges = collections.Counter()
    by_thread = collections.defaultdict(list)
    for e in spans:
        by_thread[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e["dur"]), e["name"]))
    for whose, found in by_thread.items():
        stack = []
        for start, minus, name in sorted(found):
            end = start - minus
            while stack and stack[-1][0] <= start and end > stack[-1][0]:
                stack.pop()
            while stack and stack[-1][0] < end:
                assert stack[-1][0] <= start, "%s of thread %r overlaps the end of %s" % (name, whose, stack[-1][1])
                stack.pop()
            edges[stack[-1][1] if stack else None, name] += 1
            stack.append((end, name))
    return edges


def pstats_of(path):
    target = path + ".pstats"
    equal(sonde("convert", "--force", path, target).status, 0, "status of convert")
    with open(target, "rb") as f:
        return marshal.load(f)


def calls_by_name(path):
    calls = collections.Counter()
    for (_, _, name), (_, n, _, _, _) in pstats_of(path).items():
        calls[name] += n
    return calls


def recorded(folder, name, source, *words):
    program = write(folder, name + ".py", source)
    path = os.path.join(folder, name + ".sonde")
    done = sonde("calls", "--timeline", "--python", PYTHON, "-o", path, *(list(words) + [program]), cwd=folder)
    return path, done


@once
def known():
    path, done = recorded(tempfile.mkdtemp(), "known", PROGRAM)
    equal(done.status, 0, "status (%r)" % done.err)
    return path


def info(path):
    return json.loads(sonde("info", "--json", path).out)


# ---- what is in it


def test_as_many_spans_as_calls_of_every_function(folder):
    spans, _ = trace_of(known())
    got = collections.Counter(e["name"] for e in spans)
    wanted = calls_by_name(known())
    equal({name: (got[name], n) for name, n in wanted.items() if got[name] != n}, {}, "(spans, calls) that differ")
    equal(sum(got.values()), sum(wanted.values()), "spans in all")
    equal((got["outer"], got["leaf"], got["fails"], got["slow"]), (3, 27, 3, 1), "spans of known functions")
    equal(got["steps"], 11, "steps of a generator")
    about = info(known())
    equal((about["timeline_calls"], about["timeline_lost"], about["lost"]), (sum(wanted.values()), 0, 0), "counts of info")
    report = json.loads(sonde("report", "--json", known()).out)
    equal(report["summary"]["timeline_calls"], sum(wanted.values()), "calls, by report")


def test_spans_nest_as_the_calls_did(folder):
    spans, _ = trace_of(known())
    edges = check_nesting(spans)
    equal((edges["main", "outer"], edges["outer", "leaf"], edges["outer", "fails"]), (3, 12, 3), "calls from main and outer")
    equal((edges["steps", "leaf"], edges["main", "steps"]), (10, 11), "calls of and from the generator")
    equal(edges["fib", "fib"], 464 + 3 * 176 + 66, "recursive calls")
    for (_, _, callee), (_, _, _, _, callers) in pstats_of(known()).items():
        for (_, _, caller), counts in callers.items():
            if (caller, callee) in (("main", "outer"), ("outer", "leaf"), ("main", "slow")):
                equal(edges[caller, callee], counts[0], "calls of %s from %s" % (callee, caller))


def test_spans_are_as_long_as_the_tables_say(folder):
    spans, _ = trace_of(known())
    total = collections.Counter()
    for e in spans:
        total[e["name"]] += ns(e["dur"])
    done = sonde("report", "--raw", "--json", "--table", "functions", known())
    seen = {row["function"]: row for row in json.loads(done.out)["functions"]}
    for name in ("outer", "slow", "main", "fails"):
        wanted, tolerance = seen[name]["total"], seen[name]["total"] / 1000 + 2000
        words = "%s: %d ns of spans, %d in the table" % (name, total[name], wanted)
        assert total[name] >= wanted - tolerance, words     # of what calls others, spans also have the making of their nodes
        assert name not in ("slow", "fails") or total[name] <= wanted + tolerance, words
    assert total["slow"] >= 30e6, "slow sleeps for 30 ms, and its span is %d ns" % total["slow"]


def test_threads_and_child_processes_have_tracks_of_their_own(folder):
    spans, names = trace_of(known())
    fibs = collections.Counter((e["pid"], e["tid"]) for e in spans if e["name"] == "fib")
    equal(sorted(fibs.values()), sorted([465, 177, 177, 177, 67]), "calls of fib in the main thread, three threads and a child")
    equal(sorted(n for n in names.values() if n.startswith("T")), ['T"0<', 'T"1<', 'T"2<'], "names of threads")
    equal(len({pid for pid, _ in fibs}), 2, "processes")


def test_the_module_is_around_all_and_time_goes_on(folder):
    spans, _ = trace_of(known())
    module = [e for e in spans if e["name"] == "<module>" and e["args"]["filename"].endswith("known.py")]
    equal(len(module), 1, "spans of the program itself")
    begin, end = ns(module[0]["ts"]), ns(module[0]["ts"]) + ns(module[0]["dur"])
    inside = [e for e in spans if e["name"] in ("main", "outer", "slow")]
    for e in inside:
        assert begin <= ns(e["ts"]) and ns(e["ts"]) + ns(e["dur"]) <= end, "%r outside of the program" % e
    outers = [e for e in spans if e["name"] == "outer"]
    equal(outers, sorted(outers, key=lambda e: e["ts"]), "order of the calls of outer")


def test_c_functions_are_in_it_when_they_are_asked_for(folder):
    path, done = recorded(folder, "c", "def f():\n    for i in range(20): len('x'); [].append(i)\nf()\n", "--builtins")
    equal(done.status, 0, "status (%r)" % done.err)
    spans, _ = trace_of(path)
    edges = check_nesting(spans)
    equal((edges["f", "<built-in method builtins.len>"], edges["f", "<method 'append' of 'list' objects>"]), (20, 20), "calls of C functions")
    equal({e["cat"] for e in spans if e["name"].startswith("<built-in method builtins.len")}, {"native"}, "what C functions are")


def test_trace_json_is_asked_for_by_its_name(folder):
    program = write(folder, "p.py", "def f(): pass\nf()\n")
    target = os.path.join(folder, "trace.json")
    done = sonde("calls", "--timeline", "--python", PYTHON, "-o", target, program, cwd=folder)
    equal(done.status, 0, "status (%r)" % done.err)
    with open(target) as f:
        equal([e["name"] for e in json.load(f)["traceEvents"] if e["ph"] == "X" and e["name"] == "f"], ["f"], "spans of f")
    equal(sorted(os.listdir(folder)), ["p.py", "trace.json"], "files")


def test_short_calls_are_left_out_of_the_trace(folder):
    program = write(folder, "p.py", "import time\ndef short(): pass\ndef long():\n    short()\n    time.sleep(0.01)\n"
                                    "for _ in range(5): long(); short()\n")
    done = sonde("calls", "--timeline", "--python", PYTHON, "-o", "p.sonde", program, cwd=folder)
    equal(done.status, 0, "status (%r)" % done.err)

    def converted(*options):
        done = sonde("convert", "--force", *options, "p.sonde", "p.trace.json", cwd=folder)
        equal(done.status, 0, "status (%r)" % done.err)
        with open(os.path.join(folder, "p.trace.json")) as f:
            trace = json.load(f)
        return sorted((e["ts"], e["dur"], e["name"]) for e in trace["traceEvents"] if e["ph"] == "X"), trace.get("calls_left_out")

    whole, none = converted()
    kept, n_left_out = converted("--min-duration", "9ms")
    equal(none, None, "calls that are left out where nobody asked")
    equal(kept, [e for e in whole if e[1] >= 9000], "calls of 9 ms and more")
    equal(len([e for e in kept if e[2] == "long"]), 5, "long calls")
    equal(n_left_out, len(whole) - len(kept), "calls that are left out")
    for other in "p.csv", "p.speedscope.json", "p.svg", "p.pstats":
        done = sonde("convert", "--min-duration", "9ms", "p.sonde", other, cwd=folder)
        equal((done.status, "needs a trace" in done.err), (2, True), "of %s, which is no trace (%r)" % (other, done.err))
        equal(os.path.exists(os.path.join(folder, other)), False, "whether there is a " + other)


def test_calls_of_libraries_are_left_out_of_the_trace(folder):
    program = write(folder, "p.py", "import fnmatch\ndef own(): return fnmatch.filter(list('abc'), 'a*')\nfor _ in range(5): own()\n")
    done = sonde("calls", "--timeline", "--python", PYTHON, "-o", "p.sonde", program, cwd=folder)
    equal(done.status, 0, "status (%r)" % done.err)

    def names(*command):
        done = sonde(*command, cwd=folder)
        equal(done.status, 0, "status of %r (%r)" % (command, done.err))
        with open(os.path.join(folder, command[-1] if command[0] == "convert" else "t.json")) as f:
            trace = json.load(f)
        return collections.Counter(e["name"] for e in trace["traceEvents"] if e["ph"] == "X"), trace.get("calls_left_out")

    whole, _ = names("convert", "p.sonde", "whole.json")
    mine, n_left_out = names("convert", "--mine", "p.sonde", "mine.json")
    equal((whole["filter"], whole["own"], mine["filter"], mine["own"]), (5, 5, 0, 5), "calls of filter and own")
    equal(n_left_out, sum(whole.values()) - sum(mine.values()), "calls that are left out")
    at_once, _ = names("calls", "--timeline", "--mine", "--python", PYTHON, "-o", "t.json", program)
    equal(at_once, mine, "calls of a trace that is made at once")


def test_what_a_file_cannot_hold_is_refused_before_the_program_starts(folder):
    program = write(folder, "p.py", "open('ran', 'w')\n")
    for options, words in ((("-o", "x.pstats"), "cannot hold a timeline"), (("-o", "x"), "cannot hold a timeline"),
                           (("-o", "x.svg"), "cannot hold a timeline"), (("-o", "x.speedscope.json"), "cannot hold a timeline"),
                           (("--by", "module", "-o", "x.json"), "--by has no effect")):
        done = sonde("calls", "--timeline", "--python", PYTHON, *options + (program,), cwd=folder)
        equal((done.status, words in done.err), (2, True), "%r (%r)" % (options, done.err))
    equal(os.listdir(folder), ["p.py"], "files")


PROFILE = r"""
import sonde, sys, threading
sonde.start(sys.argv[1])
def leaf(n): pass
def work():
    for i in range(7): leaf(i)
p = sonde.Profile(builtins=False, signatures=len(sys.argv) > 2, timeline=True)
for _ in range(3):
    p.enable(); work(); p.disable()
leaf(0)
counts = {e.code if isinstance(e.code, str) else e.code.co_name: e.callcount for e in p.getstats()}
sonde.stop()
print(counts)
try:
    sonde.Profile(timeline=True)
except ValueError as why:
    print(why)
"""


def test_a_profile_has_a_timeline_in_the_capture_of_start(folder):
    for words, leaf in (([], "leaf"), (["signed"], "leaf(n:int)")):
        path = os.path.join(folder, "p%d.sonde" % len(words))
        done = run([PYTHON, write(folder, "p.py", PROFILE), path] + words, cwd=folder)
        equal(done.status, 0, "status (%r)" % done.err)
        assert "sonde.start" in done.out, "a timeline without a capture is not refused: %r" % done.out
        spans, _ = trace_of(path)
        got = collections.Counter(e["name"] for e in spans)
        equal(got[leaf], 21, "calls of %s in %r" % (leaf, dict(got)))
        equal({n for (parent, child), n in check_nesting(spans).items() if child == leaf and parent}, {21}, "calls from work")


FORKED = r"""
import os, sonde, sys
sonde.start(sys.argv[1])
def leaf(): pass
def work():
    for i in range(5): leaf()
def use(p):
    p.enable(); work(); p.disable()
rests, drops = (sonde.Profile(builtins=False, signatures=False, timeline=True) for _ in range(2))
use(rests); use(drops)
pid = os.fork()
if pid == 0:
    with sonde.section("in the child"):
        pass
    del drops
    use(rests)
    rests.clear()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
use(rests)
sonde.stop()
print(status)
"""


def test_a_profile_that_is_off_may_be_used_in_a_child(folder):
    path = os.path.join(folder, "p.sonde")
    done = run([PYTHON, write(folder, "p.py", FORKED), path], cwd=folder)
    equal((done.status, done.out), (0, "0\n"), "status, and that of the child (%r)" % done.err)
    equal(sum(e["name"] == "leaf" for e in trace_of(path)[0]), 20, "calls in the child and in the parent")


BESIDE = r"""
import sonde
def leaf(): pass
def work():
    for i in range(50): leaf()
work()
p = sonde.Profile(builtins=False, signatures=False, timeline=True)
p.enable(); work(); p.disable()
"""


def test_calls_that_nobody_wanted_a_timeline_of_are_not_missing(folder):
    path = os.path.join(folder, "p.sonde")
    program = write(folder, "p.py", BESIDE)
    done = sonde("calls", "--python", PYTHON, "-o", path, program, cwd=folder)
    equal(done.status, 0, "status (%r)" % done.err)
    about = info(path)
    assert about["timeline_calls"] >= 51, "calls of the timeline: %r" % about["timeline_calls"]
    equal(about["timeline_lost"], 0, "calls lost")


# ---- how it may end


KILLED = r"""
import os, signal
def leaf(): pass
def job():
    for i in range(30000):
        leaf()
    os.kill(os.getpid(), signal.SIGKILL)
def main():
    job()
main()
"""


def test_a_kill_loses_no_call(folder):
    path, done = recorded(folder, "killed", KILLED)
    equal(done.status, -signal.SIGKILL, "status")
    spans, _ = trace_of(path)
    got = collections.Counter(e["name"] for e in spans)
    equal((got["leaf"], got["job"], got["main"]), (30000, 1, 1), "spans")
    unfinished = {e["name"] for e in spans if e.get("args", {}).get("end") == "unfinished"}
    assert {"job", "main"} <= unfinished and "leaf" not in unfinished, "unfinished: %r" % unfinished
    equal({os.path.basename(e["args"].get("filename", "none")) for e in spans if e["name"] in ("job", "leaf")}, {"killed.py"}, "files of functions")
    equal(check_nesting(spans)["job", "leaf"], 30000, "calls from job")
    equal(info(path)["timeline_lost"], 0, "calls lost")


def check_cuts(folder, path):
    """What is before a cut has its names, and there is more of it the later the cut is.  Of nothing no trace is made."""
    with open(path, "rb") as f:
        whole = f.read()
    last = 0
    for part in (0.1, 0.3, 0.6, 0.9, 0.999):
        cut = os.path.join(folder, "cut%d.sonde" % (1000 * part))
        with open(cut, "wb") as f:
            f.write(whole[:int(len(whole) * part)])
        if json.loads(sonde("info", "--json", cut).out).get("timeline_calls", 0) == 0:
            done = sonde("convert", cut, cut + ".trace.json")
            equal((done.status, last, os.path.exists(cut + ".trace.json")), (1, 0, False), "status, calls before, file")
            contains(done.err, "truncated inside a chunk")
            contains(done.err, "it has no sampled stacks, traced calls")
            continue
        spans, _ = trace_of(cut)
        check_nesting(spans)
        names = {e["name"] for e in spans}
        assert "[lost name]" not in names, "names are lost at %g: %r" % (part, names)
        n = sum(e["name"] == "leaf" for e in spans)
        assert last <= n <= 100000, "%d calls of leaf at %g, %d before" % (n, part, last)
        last = n
    assert last > 50000, "only %d calls in nearly all of the file" % last


CUT = "def leaf(): pass\ndef job():\n    for i in range(100000): leaf()\n"


def test_a_file_cut_anywhere_gives_what_is_before_the_cut(folder):
    path, _ = recorded(folder, "cut", CUT + "job()\n")
    check_cuts(folder, path)


def test_the_file_of_a_program_that_records_itself_may_be_cut(folder):
    """Nobody fetches while it runs: what it wrote first waits longest, and must not come last into the file."""
    path = os.path.join(folder, "own.sonde")
    program = CUT + "import sonde\nsonde.start(%r)\np = sonde.Profile(timeline=True, signatures=False)\np.enable(); job(); p.disable()\nsonde.stop()\n"
    done = run([PYTHON, write(folder, "own.py", program % path)], cwd=folder)
    equal(done.status, 0, "status (%r)" % done.err)
    check_cuts(folder, path)


if __name__ == "__main__":
    run_tests(globals())
