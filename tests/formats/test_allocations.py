# SPDX-License-Identifier: MIT
# limit: 600
"""Files made of a capture with allocations: `go tool pprof` reads one, and agrees with the program, whose bytes are known;
speedscope files, collapsed stacks and CSV have the same sums."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
import node  # noqa: E402

HEAD = 33  # what `bytes` holds besides its content
PROGRAM = """
kept = []
def keep():
    for i in range(100):
        kept.append(bytes(5003))
def churn():
    bytes(7001)
def spike():
    bytes(3000001)
keep()
for i in range(200):
    churn()
spike()
"""


@helpers.once
def capture():
    path = helpers.write(os.getcwd(), "made.py", PROGRAM)
    done = helpers.sonde("alloc", "-q", "-o", "made.sonde", "--python", helpers.PYTHON, path)
    helpers.equal((done.status, done.err), (0, ""), "status and stderr of alloc")
    return os.path.join(os.getcwd(), "made.sonde")


def converted(folder, suffix):
    target = os.path.join(folder, "out" + suffix)
    done = helpers.sonde("convert", capture(), target)
    helpers.equal((done.status, done.out), (0, ""), "status and stdout of convert (%s)" % done.err)
    return target


def pprof(folder, path, index):
    """{function: (self, cum)} in bytes or blocks, as `go tool pprof` prints them."""
    helpers.need(shutil.which("go"), "no go; " + node.HINT)
    done = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-unit=B", "-sample_index=" + index, path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, HOME=folder, PPROF_TMPDIR=folder))
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["flat", "flat%"])
    rows = [line.split(None, 5) for line in lines[at + 1:]]
    return {row[5]: tuple(int(re.sub("[a-zA-Z]+$", "", row[k])) for k in (0, 3)) for row in rows}


def test_go_tool_pprof_knows_objects_and_space(folder):
    path = converted(folder, ".pb.gz")
    equal, between = helpers.equal, helpers.between
    equal(pprof(folder, path, "alloc_objects")["churn"], (200, 200), "blocks of churn")
    equal(pprof(folder, path, "alloc_space")["churn"], (200 * (7001 + HEAD),) * 2, "bytes of churn")
    assert pprof(folder, path, "inuse_objects").get("churn", (0, 0)) == (0, 0), "churn keeps something"
    between(pprof(folder, path, "inuse_space")["keep"][0], 100 * (5003 + HEAD), 100 * (5003 + HEAD) + 2000, "bytes that keep keeps")
    between(pprof(folder, path, "inuse_objects")["keep"][0], 100, 102, "blocks that keep keeps")
    equal(pprof(folder, path, "peak_space")["spike"], (3000001 + HEAD,) * 2, "the spike at the peak")


def test_speedscope_files_are_of_bytes(folder):
    with open(converted(folder, ".speedscope.json")) as f:
        document = json.load(f)
    profile, = document["profiles"]
    helpers.equal(profile["unit"], "bytes", "unit")
    own = {}
    for stack, weight in zip(profile["samples"], profile["weights"]):
        name = document["shared"]["frames"][stack[-1]]["name"]
        own[name] = own.get(name, 0) + weight
    helpers.equal(own["spike"], 3000001 + HEAD, "weight of spike")
    helpers.equal(profile["endValue"], sum(profile["weights"]), "the end")


def test_collapsed_stacks_and_csv_have_the_same_bytes(folder):
    with open(converted(folder, ".collapsed")) as f:
        stacks = dict(line.rsplit(" ", 1) for line in f.read().splitlines())
    helpers.equal([int(n) for s, n in stacks.items() if "spike" in s], [3000001 + HEAD], "bytes of spike, collapsed")
    with open(converted(folder, ".csv")) as f:
        rows = [row for row in csv.DictReader(f) if row["kind"] == "allocations"]
    churn = [row for row in rows if row["name"] == "churn"]
    helpers.equal((sum(int(r["allocations"]) for r in churn), sum(int(r["bytes"]) for r in churn)), (200, 200 * (7001 + HEAD)), "churn in the CSV")
    done = helpers.sonde("report", capture(), "--alloc", "--json")
    helpers.equal(sum(int(r["leaked_bytes"]) for r in rows), json.loads(done.out)["alloc"]["leaked_bytes"], "leaked bytes of all rows")


helpers.run_tests(globals())
