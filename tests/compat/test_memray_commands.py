# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""python -m sonde.compat.memray: memray's commands and flags, on figures that are known."""
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, PYTHON, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

KEPT, SOON = 1000003, 500009
MORE = 33 if sys.version_info >= (3, 15) else 1  # bytes of a bytearray's block: from 3.15 on it holds a bytes object
SCRIPT = """\
import sys
kept = []
def inner(n):
    return bytearray(n)
def work():
    for i in range(5):
        kept.append(inner(%d))
        bytearray(%d)
if __name__ == "__main__":
    work()
    print("ran", sys.argv[1:])
    sys.exit(3)
""" % (KEPT, SOON)


def memray(folder, *words, **how):
    return run([PYTHON, "-m", "sonde.compat.memray"] + list(words), cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH), **how)


def record(folder, *flags):
    write(folder, "a.py", SCRIPT)
    done = memray(folder, "run", "-q", "-o", "a.bin", *(flags + ("a.py", "x")))
    equal((done.status, done.out, done.err), (3, "ran ['x']\n", ""), "the program")
    return "a.bin"


def fails(done, status, *words):
    equal((done.status, done.out), (status, ""), done.err)
    for word in words:
        contains(done.err, word)


# ---- run


def test_run_says_where_and_keeps_the_programs_status(folder):
    write(folder, "a.py", SCRIPT)
    done = memray(folder, "run", "a.py", "-x", "--output")
    equal((done.status, done.err), (3, ""), "status")
    path = re.search(r"\AWriting profile results into (memray-a\.py\.\d+\.bin)\n", done.out).group(1)
    contains(done.out, "\nran ['-x', '--output']\n[memray] Successfully generated profile results.\n")
    contains(done.out, "%s -m sonde.compat.memray flamegraph %s\n" % (PYTHON, path))
    assert os.path.getsize(os.path.join(folder, path)) > 0
    fails(memray(folder, "run", "-q", "-o", path, "a.py"), 1, path, "File exists")
    equal(memray(folder, "run", "-q", "-f", "-o", path, "a.py").status, 3, "replaced")


def test_run_takes_modules_and_text(folder):
    write(folder, "a.py", SCRIPT)
    done = memray(folder, "run", "-q", "-o", "m.bin", "-m", "a", "y")
    equal((done.status, done.out), (3, "ran ['y']\n"), done.err)
    done = memray(folder, "run", "-q", "-o", "c.bin", "-c", "import sys; print(sys.argv); 1 / 0", "z")
    equal((done.status, done.out), (1, "['-c', 'z']\n"), done.err)
    contains(done.err, "ZeroDivisionError")
    for name in ("m.bin", "c.bin"):
        contains(memray(folder, "summary", name).out, "Total Memory")


def test_what_cannot_be_run_is_refused(folder):
    write(folder, "b.py", "def\n")
    fails(memray(folder, "run", "b.py"), 1, "Only valid Python files")
    fails(memray(folder, "run", "no.py"), 1, "no.py")
    fails(memray(folder, "run", "-q", "-m", "no_such_module"), 1, "no_such_module")
    fails(memray(folder, "run", "--live-remote", "-p", "4000", "b.py"), 1, "listens on no port", "sonde top FILE --alloc")
    fails(memray(folder, "run", "-p", "4000", "b.py"), 2, "--live-port argument requires --live-remote")
    fails(memray(folder, "run", "--live", "--aggregate", "b.py"), 2, "--aggregate cannot be used")
    equal([name for name in os.listdir(folder) if name.endswith(".bin") and "b.py" in name], [], "files")


# ---- reports


def test_summary(folder):
    path = record(folder)
    rows = [re.split(r"  +", line.strip()) for line in memray(folder, "summary", path).out.splitlines()]
    equal(rows[0], ["Location", "<Total Memory>", "Total Memory %", "Own Memory", "Own Memory %", "Allocation Count"], "head")
    (work,) = [row for row in rows if row[0].startswith("work at ")]
    (inner,) = [row for row in rows if row[0].startswith("inner at ")]
    equal(work[1], "%.3fMB" % ((5 * (KEPT + MORE) + SOON + MORE) / 1e6), "with what it called")
    equal((work[3], work[5]), ("%.3fkB" % ((SOON + MORE) / 1e3), "6"), "own")
    equal((inner[1], inner[3], inner[5]), ("%.3fMB" % (5 * (KEPT + MORE) / 1e6),) * 2 + ("5",), "inner")
    by_own = memray(folder, "summary", "-s", "3", "-r", "4", path).out.splitlines()
    equal([line.split(" at ")[0] for line in by_own[1:2]], ["inner"], "the largest")
    equal(len(by_own), 5, "rows")
    soon = [line for line in memray(folder, "summary", "--temporary-allocations", path).out.splitlines() if line.startswith("work at")]
    contains(soon[0], "%.3fMB" % (5 * (SOON + MORE) / 1e6))
    fails(memray(folder, "summary", "-s", "6", path), 1, "Invalid sort column")


def test_stats(folder):
    path = record(folder)
    text = memray(folder, "stats", "-n", "2", path).out
    for part in ("Total allocations:", "Histogram of allocation size:", "Allocator type distribution:", "Top 2 allocating modules (by size):"):
        contains(text, part)
    contains(text, "inner:%s:4 -> %.3fMB" % (os.path.join(folder, "a.py"), 5 * (KEPT + MORE) / 1e6))
    equal(memray(folder, "stats", "--json", path).out, "Wrote memray-stats-a.bin.json\n", "output")
    with open(os.path.join(folder, "memray-stats-a.bin.json")) as f:
        stats = json.load(f)
    equal(sum(row["count"] for row in stats["allocation_size_histogram"]), stats["total_num_allocations"], "histogram")
    equal(sum(stats["allocator_type_distribution"].values()), stats["total_num_allocations"], "allocators")
    equal(stats["top_modules_by_allocation_size"][0]["module"], "a", "module")
    contains(stats["metadata"]["command_line"], "run -q -o a.bin a.py x")
    fails(memray(folder, "stats", "--json", path), 1, "File already exists")
    record_sums = memray(folder, "run", "-q", "-f", "-o", path, "--aggregate", "a.py")
    equal(record_sums.status, 3, record_sums.err)
    fails(memray(folder, "stats", path), 1, "pre-aggregated")


def test_tree(folder):
    text = memray(folder, "tree", "-b", "50", record(folder)).out
    assert text.index("work ") < text.index("inner "), text


def test_transform(folder):
    path = record(folder)
    equal(memray(folder, "transform", "csv", "--leaks", path).out, "Wrote memray-csv-a.csv\n", "output")
    with open(os.path.join(folder, "memray-csv-a.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    (row,) = [row for row in rows if row["stack_trace"].startswith("inner;")]
    equal((row["num_allocations"], row["size"], row["tid"], row["thread_name"]), ("5", str(5 * (KEPT + MORE)), "-1", "merged thread"), "row")
    equal(row["stack_trace"].split("|")[1], "work;%s;7" % os.path.join(folder, "a.py"), "caller")
    memray(folder, "transform", "gprof2dot", "--leaks", path)
    with open(os.path.join(folder, "memray-gprof2dot-a.json")) as f:
        made = json.load(f)
    equal(sum(event["cost"][0] for event in made["events"] if made["functions"][event["callchain"][0]]["name"] == "inner"), 5 * (KEPT + MORE), "cost")
    memray(folder, "transform", "speedscope", "--leaks", "-o", "a.json", path)
    with open(os.path.join(folder, "a.json")) as f:
        made = json.load(f)
    sizes, blocks = made["profiles"]
    equal((sizes["unit"], sizes["endValue"]), ("bytes", sum(sizes["weights"])), "sum")
    ends = [made["shared"]["frames"][stack[-1]]["name"] if stack else "" for stack in sizes["samples"]]
    equal((sizes["weights"][ends.index("inner")], blocks["weights"][ends.index("inner")]), (5 * (KEPT + MORE), 5), "innermost")
    fails(memray(folder, "transform", "foo", path), 1, "Format not supported: foo")


def test_pages(folder):
    path = record(folder)
    made = "memray-flamegraph-a.html"
    for flags in ((), ("--leaks",), ("--temporary-allocation-threshold", "3"), ("--split-threads", "--no-web", "--max-memory-records", "5")):
        equal(memray(folder, "flamegraph", "-f", *(flags + (path,))).out, "Wrote %s\n" % made, " ".join(flags))
        with open(os.path.join(folder, made)) as f:
            contains(f.read(), 'type="image/svg+xml"')
    contains(memray(folder, "flamegraph", "-f", "--temporal", "--inverted", "--leaks", path).out, "#view=flame&metric=leaked_bytes&order=inverted")
    equal(memray(folder, "table", "-o", "t.html", path).out, "Wrote t.html\n", "table")
    for name in (made, "t.html"):
        with open(os.path.join(folder, name)) as f:
            contains(f.read(), "Content-Security-Policy")
    fails(memray(folder, "flamegraph", path), 1, "File already exists, will not overwrite without --force: " + made)
    fails(memray(folder, "flamegraph", "--temporal", "--temporary-allocations", path), 2, "temporal flame graph of temporary allocations")


def test_parse(folder):
    out = memray(folder, "parse", record(folder)).out
    equal(len(re.findall(r"^ALLOCATION tid=\d+ address=0x\w+ size=%d " % (KEPT + MORE), out, re.M)), 5, "allocations")


# ---- refusals, names


def test_what_is_not_there_says_what_works(folder):
    for words in (("attach", "--method", "gdb", "4711"), ("detach", "4711")):
        fails(memray(folder, *words), 1, "sonde rss --pid PID", "sonde record --pid PID")
    fails(memray(folder, "live", "4000"), 1, "sonde top FILE --alloc")
    for command in ("summary", "tree", "stats", "parse", "flamegraph", "table"):
        fails(memray(folder, command, "no.bin"), 1, "no.bin")
    write(folder, "text.bin", "no capture\n")
    fails(memray(folder, "summary", "text.bin"), 1, "text.bin")
    fails(memray(folder), 2, "usage: memray")
    equal(os.listdir(folder), ["text.bin"], "files")


def test_under_memrays_own_name(folder):
    alias, programs = sonde("compat-path").out.strip(), sonde("compat-path", "--programs").out.strip()
    done = run([PYTHON, "-m", "memray", "run", "-o", "a.bin", "-c", "pass"], cwd=folder, env=clean_env(PYTHONPATH=alias))
    equal(done.status, 0, done.err)
    contains(done.out, "%s -m memray flamegraph a.bin" % PYTHON)
    done = run(["memray", "summary", "a.bin"], cwd=folder, env=clean_env(PATH=os.pathsep.join((programs, os.path.dirname(PYTHON), os.environ["PATH"]))))
    equal((done.status, done.err), (0, ""), "status")
    contains(done.out, "<Total Memory>")


run_tests(globals())
