# SPDX-License-Identifier: MIT
"""Functions, lines, callers, callees and the tree of calls tell one and the same story, and the true one.

Every possible stack of call_tree.py is known, so in each table the sums must come out to the sample:
what a function has is its own and that of the calls it makes.  The second program recurses beside a
thread that sleeps.
"""
import collections
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import helpers  # noqa: E402
from helpers import TARGETS, between, equal, run_tests, write  # noqa: E402

LEAST = 30     # samples: fewer prove nothing, whatever the load
TABLES = "functions,lines,callers,callees,calls,threads"


def tables(folder, script, *words):
    """The tables of a run, and the capture they are from."""
    capture = os.path.join(folder, "x.sonde")
    done = helpers.run([helpers.SONDE, "run", "-q", "--sample-rate", "200", "-o", capture, "--python", helpers.PYTHON, script] + list(words), cwd=folder)
    equal(done.status, 0, "status: " + done.err)
    return report(capture), capture


def report(capture, *words):
    done = helpers.run([helpers.SONDE, "report", capture, "--json", "--table", TABLES] + list(words))
    equal(done.status, 0, "status: " + done.err)
    return json.loads(done.out)


def samples_of_own_start(folder, capture):
    """What is in no table of functions; speedscope's file has every sample by itself, whatever it weighs."""
    path = os.path.join(folder, "all.speedscope.json")
    equal(helpers.run([helpers.SONDE, "convert", capture, path]).status, 0, "status of convert")
    with open(path) as f:
        written = json.load(f)
    own = {i for i, frame in enumerate(written["shared"]["frames"]) if "sitecustomize.py" in frame.get("file", "")}
    return sum(1 for p in written["profiles"] for stack in p["samples"] if own & set(stack))


def name_of(cell):
    return cell.split(" (")[0]


def test_tables_of_a_known_tree_add_up(folder):
    found, _ = tables(folder, os.path.join(TARGETS, "call_tree.py"), "2", "4")
    functions = {r["function"]: r for r in found["functions"] if r["file"] == "call_tree.generated"}
    assert functions["t_"]["cum_samples"] >= LEAST, "%d samples" % functions["t_"]["cum_samples"]
    made = collections.Counter()
    for row in found["callees"]:
        made[name_of(row["caller"])] += row["samples"]
    lines, called = collections.Counter(), {}
    for row in found["lines"]:
        if row["file"] == "call_tree.generated":
            lines[row["function"]] += row["cum_samples"]
            called[row["function"], row["line"]] = row["cum_samples"] - row["self_samples"]
    for name, f in functions.items():
        if name == "<module>":
            continue
        equal(f["cum_samples"], f["self_samples"] + made[name], "own and called of " + name)
        equal(f["cum_samples"], lines[name], "lines of " + name)
        if name != "t_" and "[partial]" not in {name_of(r["callee"]) for r in found["callees"]}:
            caller = functions[name[:-1]]
            equal(called[caller["function"], caller["line"] + 2 + int(name[-1])], f["cum_samples"], "the line that calls " + name)
    for row in found["callers"]:
        if name_of(row["callee"]).startswith("t_") and name_of(row["callee"]) != "t_":
            equal(name_of(row["caller"]), name_of(row["callee"])[:-1], "caller of " + row["callee"])
            equal(row["samples"], functions[name_of(row["callee"])]["cum_samples"], "samples of the only caller")
    n = functions["t_"]["cum_samples"]
    between(functions["t_0"]["cum_samples"] / n, 0.5 - 2.5 / math.sqrt(n), 0.5 + 2.5 / math.sqrt(n), "share of one half (five sigma)")


def test_tree_and_functions_have_every_sample(folder):
    found, capture = tables(folder, os.path.join(TARGETS, "call_tree.py"), "1", "3")
    total = sum(r["self_samples"] for r in found["functions"])
    below = collections.Counter()
    for row in found["calls"]:
        if row["parent"] is not None:
            below[row["parent"]] += row["cum_samples"]
    for i, row in enumerate(found["calls"]):
        # What is too small for the tree is left out of it, and counted in its parent.
        assert row["cum_samples"] >= row["self_samples"] + below[i], row
    awake = sum(round(r["samples"] * (100 - r["idle%"]) / 100) for r in found["threads"])
    equal(total + samples_of_own_start(folder, capture), awake, "samples of all functions, and of threads that were awake")


RECURSES = """
import threading, time
def down(n, end):
    if n:
        return down(n - 1, end)
    while time.monotonic() < end:
        pass
def sleeper():
    time.sleep(1.2)
t = threading.Thread(target=sleeper, name="Sleeper")
t.start()
down(30, time.monotonic() + 1)
t.join()
"""


def test_recursion_counts_once_and_sleep_only_when_asked(folder):
    found, capture = tables(folder, write(folder, "recurses.py", RECURSES))
    down = next(r for r in found["functions"] if r["function"] == "down")
    assert down["cum_samples"] >= LEAST, "%d samples" % down["cum_samples"]
    equal((down["cum_samples"], down["cum%"] <= 100), (down["self_samples"], True), "cum of a function that only calls itself")
    within = [r for r in found["callers"] if name_of(r["caller"]) == "down" and name_of(r["callee"]) == "down"]
    equal([r["samples"] for r in within], [down["cum_samples"]], "samples below down, called by itself")
    depth = sum(r["function"] == "down" for r in found["calls"])
    equal(depth, 31, "frames of down in the tree")
    asleep = {r["function"]: r for r in report(capture, "--idle")["functions"]}
    awake = sum(r["cum_samples"] for r in found["functions"] if r["function"] == "sleeper")
    # It runs for an instant before and after it sleeps, which a sample may meet.
    between(awake, 0, 0.1 * asleep["sleeper"]["cum_samples"], "samples of the sleeper that are not idle")
    # 1.2 s and 1 s by the clock; a busy machine looks late, and wakes the sleeper late.
    between(asleep["sleeper"]["cum_wall"] / 1e9, 0.8, 3, "seconds in sleeper")
    between(down["cum_wall"] / 1e9, 0.6, 2.5, "seconds in down")


run_tests(globals())
