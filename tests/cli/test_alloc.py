# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""sonde alloc: its answers as data, and its memory while the program runs.  The sizes are those of the programs here, to the byte."""
import json
import os
import re
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, between, contains, equal, run_tests, sonde, write  # noqa: E402
from terminals import terminal  # noqa: E402

HEAD = 33  # what `bytes` holds besides its content

THREADS = """
import threading
def hold(n, gate):
    kept = bytearray(n)
    gate.wait()
def main():
    gate = threading.Barrier(3)
    all = [threading.Thread(target=hold, args=(1000003 * (i + 1), gate), name="holder-%d" % i) for i in range(2)]
    for t in all: t.start()
    gate.wait()
    for t in all: t.join()
def leak():
    return bytes(700001)
kept = leak()
main()
print("done")
"""

GROWING = """
import sys, time
cache = {}
def remember(i):
    cache[i] = bytes(10007)
def serve(n):
    for i in range(n):
        remember(i)
        if i % 10 == 0: time.sleep(0.02)
serve(int(sys.argv[1]))
print("served")
sys.exit(3)
"""


def alloc(folder, *words, **how):
    result = sonde("alloc", "--python", PYTHON, *words, cwd=folder, **how)
    return result


def report(folder, *words):
    result = sonde("report", *words, cwd=folder)
    equal(result.status, 0, "status of report %s (%s)" % (words, result.err))
    return result.out


def data(folder, *words):
    return json.loads(report(folder, "x.sonde", "--alloc", "--json", *words))


def record(folder, text, *words):
    write(folder, "x.py", text)
    result = alloc(folder, "-q", "-o", "x.sonde", "x.py", *words)
    equal((result.status, result.err), (0, ""), "status and stderr")
    return result.out


def row(rows, function, file="x.py"):
    found = [r for r in rows if r["function"] == function and os.path.basename(r["file"] or "") == file]
    equal(len(found), 1, "rows of %s in %s" % (function, rows[:5]))
    return found[0]


def test_json_has_the_promised_keys_and_bytes(folder):
    record(folder, THREADS)
    told = data(folder)
    equal(list(told["alloc"]), "mode layer allocations bytes frees unknown_frees overlaps lost peak_bytes peak_ns leaked_allocations leaked_bytes "
          "temporary_allocations peak_rss_bytes untracked_bytes".split(), "keys of alloc")
    a = told["alloc"]
    equal((a["mode"], a["layer"], a["overlaps"], a["lost"]), ("full", "all", 0, 0), "mode, layer, overlaps, lost")
    equal(list(told["allocations"][0]), "function file line count bytes".split(), "keys of a row")
    equal(sum(r["bytes"] for r in told["allocations"]), a["peak_bytes"], "the rows of the peak")
    equal(sum(r["bytes"] for r in data(folder, "--leaks")["allocations"]), a["leaked_bytes"], "the rows of leaks")
    equal(sum(r["count"] for r in data(folder, "--total")["allocations"]), a["allocations"], "the rows of all")
    equal(sum(r["count"] for r in data(folder, "--temporary")["allocations"]), a["temporary_allocations"], "temporary rows")
    equal(a["allocations"] - a["frees"], a["leaked_allocations"], "what is left")
    equal((row(told["allocations"], "leak")["line"], row(told["allocations"], "leak")["bytes"]), (13, 700001 + HEAD), "leak")
    at_least = 3 * 1000003 + 2
    between(row(data(folder, "--by", "function")["allocations"], "hold")["bytes"], at_least, at_least + 2000, "what both threads hold at the peak")


def test_rows_by_everything(folder):
    record(folder, THREADS)
    threads = {r["thread"]: r for r in data(folder, "--by", "thread")["allocations"]}
    assert {"holder-0", "holder-1", "MainThread"} <= set(threads), threads
    assert threads["holder-1"]["tid"] != threads["holder-1"]["pid"] == threads["MainThread"]["pid"], threads
    between(threads["holder-1"]["bytes"], 2000006, 2040000, "bytes of holder-1")
    stack = row(data(folder, "--leaks", "--by", "stack")["allocations"], "leak")["stack"]
    equal([(f["function"], f["line"]) for f in stack], [("<module>", 14), ("leak", 13)], "the stack, outermost first")
    equal(set(stack[0]), {"function", "file", "line"}, "keys of a frame")
    allocators = {r["allocator"] for r in data(folder, "--total", "--by", "allocator")["allocations"]}
    assert {"object", "raw", "mem"} <= allocators, allocators
    assert allocators <= set("malloc calloc realloc reallocarray posix_memalign aligned_alloc memalign valloc pvalloc new mmap mremap raw mem object file "
                             "reserved".split()), allocators
    equal([r["pid"] for r in data(folder, "--by", "process")["allocations"]], [threads["MainThread"]["pid"]], "processes")
    sizes = {r["size"]: r for r in data(folder, "--leaks", "--by", "size")["allocations"]}
    equal(sizes[2 ** 19]["bytes"], 700001 + HEAD, "what is from 512 KiB to 1 MiB")
    equal(row(data(folder, "--leaks", "--by", "function")["allocations"], "leak")["line"], 12, "the first line of a function")
    files = {os.path.basename(r["file"] or ""): r for r in data(folder, "--leaks", "--by", "file")["allocations"]}
    assert files["x.py"]["bytes"] >= 700001 and files["x.py"]["function"] is None, files


def test_a_thread_a_time_and_only_my_code(folder):
    record(folder, THREADS)
    only = data(folder, "--track", "holder-0")
    between(only["alloc"]["peak_bytes"], 1000003, 1040000, "the peak of a thread")
    equal(only["alloc"]["untracked_bytes"], None, "what nobody tracks, of a thread")
    mine = data(folder, "--total", "--mine")["allocations"]
    equal({os.path.basename(r["file"]) for r in mine if r["line"]}, {"x.py"}, "files of my code")
    peak = data(folder)["alloc"]["peak_ns"]
    live = data(folder, "--at", "%dns" % peak)["allocations"]
    assert row(live, "leak")["bytes"] == 700001 + HEAD, live[:3]


SECTIONS = """
from sonde import Profiler
profiler = Profiler()
def fill(n):
    return [bytes(n) for _ in [0] * 40]
before = fill(10007)
with profiler("load"):
    kept = fill(20011)
    fill(5003)
after = fill(30011)
"""


def test_a_section_has_what_began_in_it(folder):
    record(folder, SECTIONS)
    inside = data(folder, "--section", "load", "--total", "--by", "function")["allocations"]
    total = sum(r["bytes"] for r in inside if r["function"] in ("fill", "<listcomp>"))
    between(total, 40 * (20011 + 5003 + 2 * HEAD), 40 * (20011 + 5003 + 2 * HEAD) + 9000, "bytes allocated in the section")
    left = data(folder, "--section", "load", "--leaks", "--by", "function")["allocations"]
    between(sum(r["bytes"] for r in left if r["function"] in ("fill", "<listcomp>")), 40 * (20011 + HEAD), 40 * (20011 + HEAD) + 9000, "and live at its end")
    peak = data(folder, "--section", "load")["alloc"]["peak_bytes"]
    assert peak < data(folder)["alloc"]["peak_bytes"] - 40 * 25000, "the peak of the section, %d" % peak
    assert report(folder, "x.sonde", "--alloc", "--section", "load").startswith("x.sonde: "), "text"
    contains(report(folder, "x.sonde", "--alloc", "--section", "load"), " in 1 process", "the heading")


def test_what_a_mode_cannot_know_is_null(folder):
    write(folder, "x.py", THREADS)
    for mode, how, unknown in (("aggregate", [], {"temporary_allocations"}),
                               ("sample", ["--sample-bytes", "64KiB"], {"temporary_allocations", "unknown_frees"})):
        result = alloc(folder, "-q", "--force", "-o", "x.sonde", "--mode", mode, *how, "x.py")
        equal((result.status, result.err), (0, ""), "status and stderr")
        told = data(folder)
        equal({k for k, v in told["alloc"].items() if v is None} - {"peak_rss_bytes", "untracked_bytes"}, unknown, "null in %s" % mode)
        equal("bytes_error" in told["allocations"][0], mode == "sample", "errors in %s" % mode)
        held = row(data(folder, "--by", "function")["allocations"], "hold")["bytes"]
        between(held, 2000000, 4500000, "what both threads hold in %s" % mode)


FORKS = """
import os
kept = bytes(100003)
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        mine = bytes(1009)
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_every_mode_counts_every_process(folder):
    write(folder, "x.py", FORKS)
    for how in ("full", "aggregate", "sample"):
        result = alloc(folder, "--force", "-o", "x.sonde", "--mode", how, "x.py")
        contains(result.err, " 3 processes", "the summary in %s" % how)
        equal(data(folder)["summary"]["processes"], 3, "processes in %s" % how)


def test_what_was_not_recorded_is_no_measurement(folder):
    write(folder, "x.py", "kept = [bytes(1009) for _ in range(1000)]\nprint('ran')\n")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200 * 1024, 200 * 1024))  # noqa: E731
    result = alloc(folder, "-o", "x.sonde", "x.py", preexec_fn=limit)
    equal((result.status, result.out), (0, "ran\n"), "the program (%s)" % result.err)
    contains(result.err, "the collector alloc does not run in process", "what is said")
    for how in (["--alloc"], ["--alloc", "--json"], ["--alloc", "--csv"], ["--alloc", "--plot", "-o", "p.png"], ["--table", "leaks"]):
        result = sonde("report", "x.sonde", *how, cwd=folder)
        equal((result.status, result.out), (1, ""), "report %s" % how)
        contains(result.err, "no room for counters", "why, with %s" % how)
    assert not os.path.exists(os.path.join(folder, "p.png"))


def test_a_stop_by_the_size_of_the_file_is_in_the_data(folder):
    write(folder, "x.py", "import random\nfor i in range(10):\n    kept = [bytes(random.randrange(5000)) for _ in range(20000)]\n")
    result = alloc(folder, "-o", "x.sonde", "--max-file", "100KiB", "x.py")
    stopped = "stopped here: the capture has the size that --max-file allows\n"
    contains(result.out, stopped, "the summary")
    contains(report(folder, "x.sonde", "--alloc"), stopped, "the summary of the report")
    told = [one for one in data(folder)["losses"] if one["kind"] == "told"]
    equal([one["amount"] for one in told], [1], "losses")
    contains(told[0]["text"] + "\n", stopped, "its text")


def figures(text):
    """How many live bytes each picture had of remember, as text."""
    return re.findall(r"^ *[\d.]+% +[\d.]+% +([\d.]+ \w+) +[\d.]+ \w+  remember ", text, re.M)


def test_live_without_a_terminal(folder):
    write(folder, "x.py", GROWING)
    result = alloc(folder, "--live", "--delay", "200ms", "x.py", "500")
    equal(result.status, 3, "status (%s)" % result.err)
    contains(result.err, "served\n", "the program's output, on stderr")
    assert result.out.count("Memory of 'x.sonde'") >= 2 and "\x1b" not in result.out, result.out[:500]
    seen = figures(result.out)
    equal(seen[-1], "4.8 MiB", "live in the last picture")
    assert re.search(r"^peak +[45]\.\d MiB at ", result.out, re.M), result.out[-800:]
    assert os.path.exists(os.path.join(folder, "x.sonde"))
    last = json.loads(sonde("top", "x.sonde", "--alloc", "--json", cwd=folder).out.splitlines()[-1])
    live = data(folder)["alloc"]
    equal((last["live_bytes"], last["live_blocks"], last["peak_bytes"]), (live["leaked_bytes"], live["leaked_allocations"], live["peak_bytes"]), "the end")
    own, = [f["own_bytes"] for f in last["functions"] if f["name"] == "remember"]
    between(own, 500 * (10007 + HEAD), 500 * (10007 + HEAD) + 40000, "bytes of remember, with those of the dict")


def test_live_on_a_terminal(folder):
    write(folder, "x.py", GROWING)
    with terminal("alloc", "--live", "--delay", "200ms", "--python", PYTHON, "x.py", "400", cwd=folder) as t:
        text = t.until(lambda x: figures(x), "live bytes")
        contains(text, "OwnLive  TotalLive", "the heading")
        assert "served" not in text, text
        t.press("t", lambda x: "MainThread" in x, "threads")
        t.press("t", lambda x: figures(x), "functions again")
        text = t.until(lambda x: "the program has ended" in x, "the end of the program")
        equal(figures(text), ["3.8 MiB"], "live at the end")
        os.write(t.master, b"q")
        t.ends(3)
        contains(t.raw.decode("utf-8", "replace"), "served", "the output afterwards")


def test_live_refuses_what_it_cannot_do(folder):
    write(folder, "x.py", GROWING)
    for words, part in ((["--live", "-o", "x.html", "x.py"], "--live needs a capture, so -o cannot name another format; use -o NAME.sonde"), (["--delay", "1s", "x.py"], "--delay needs --live"),
                        (["--live", "--delay", "0", "x.py"], "--delay must be longer than 0"), (["--live"], "no program to run")):
        result = alloc(folder, *words)
        equal((result.status, result.out), (2, ""), "status and stdout of %s" % words)
        contains(result.err, part)
    result = sonde("top", "--alloc", "--pid", os.getpid())
    equal(result.status, 2, "status of top --alloc --pid")
    contains(result.err, "--alloc shows a capture")
    equal(os.listdir(folder), ["x.py"], "what is left")


run_tests(globals())
