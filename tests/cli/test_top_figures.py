# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""sonde top --json: figures of a program whose truth is known, with the oldest and the newest interpreter."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import between, equal, run_tests, sonde
from sampled import busy


def test_json_has_a_line_for_each_refresh(folder):
    with busy(folder, seconds=4) as pid:
        result = sonde("top", "--pid", pid, "--delay", "0.5", "--json")
    equal((result.status, result.err), (0, ""), "status and stderr")
    lines = [json.loads(line) for line in result.out.splitlines()]
    last = lines[-1]
    assert len(lines) >= 4 and last["ended"] and not lines[0]["ended"], len(lines)
    assert all(a["samples"] <= b["samples"] for a, b in zip(lines, lines[1:]))
    own = {f["name"]: f["own_ns"] for f in last["functions"]}
    total = {f["name"]: f["total_ns"] for f in last["functions"]}
    # Truth: heavy does three times the work of light.  Four sigma of the samples there are, twice their
    # variance because they are weighted with random intervals, and 5 points for what the loops differ.
    off = 4 * math.sqrt(2 * 0.25 * 0.75 / max(last["samples"], 1)) + 0.05
    between(own["light"] / (own["heavy"] + own["light"]), 0.25 - off, 0.25 + off, "share of light")
    assert own["heavy"] + own["light"] <= total["wörk"] * 1.001 and total["wörk"] <= total["<module>"] * 1.001, (own, total)
    between(total["<module>"], 0.5 * last["elapsed_ns"], 1.02 * last["elapsed_ns"], "time of the module")
    assert total.get("wait", 0) < 0.1 * last["elapsed_ns"], "a thread that waits is counted: %r" % total  # it may be seen while it begins
    names = {t["name"] for line in lines for t in line["threads"]}
    equal(names, {"MainThread", "waiter"}, "threads")
    for key in ("target", "python", "elapsed_ns", "rate", "rounds", "missed", "lost", "partial", "idle", "gil_percent", "active_percent", "processes"):
        assert key in last, key


run_tests(globals())
