# SPDX-License-Identifier: MIT
"""What is added up from `report --json --table stacks`, for any part of a run, equals `report` of that part.

The parts are drawn: a stretch of slices, a section, a thread, with and without waiting threads, or those that held the GIL.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, contains, equal, run_tests, sonde, write  # noqa: E402

PROGRAM = """
import threading, time
from sonde import Profiler
profiler = Profiler()
def work(n):
    t = 0
    for i in range(n):
        t += i
    return t
def loads():
    return work(20000)
def trains(depth):
    return trains(depth - 1) if depth else work(40000)
def other():
    for _ in range(60):
        work(30000)
        time.sleep(0.002)
thread = threading.Thread(target=other)
thread.start()
for i in range(40):
    with profiler("load"):
        loads()
    with profiler("train"):
        trains(3)
        for _ in range(10):
            with profiler("step"):
                work(2000)
thread.join()
"""
KEYS = ("samples", "wall", "cpu")


def recorded(folder):
    write(folder, "program.py", PROGRAM)
    result = sonde("run", "-q", "--sample-rate", "1000", "--python", PYTHON, "-o", "x.sonde", "program.py", cwd=folder)
    equal(result.status, 0, result.err)
    return json.loads(sonde("report", "x.sonde", "--json", "--table", "stacks", cwd=folder).out)["stacks"]


def chain(stacks, frame):
    """The functions of a stack, the newest first."""
    while frame is not None:
        yield stacks["frames"]["function"][frame]
        frame = stacks["frames"]["parent"][frame]


def added_up(stacks, choice):
    """{function: [own samples, wall, cpu, those with what it calls]} of the entries that are chosen."""
    found, places, entries = {}, stacks["places"], stacks["entries"]
    for i, (at, place, which) in enumerate(zip(entries["slice"], entries["place"], entries["set"])):
        frame = places["frame"][place]
        if not choice["from"] <= at <= choice["to"] or frame is None or stacks["frames"]["startup"][frame] or (choice["section"] is not None and choice["section"] not in stacks["sets"][which]):
            continue
        thread = stacks["threads"][places["thread"][place]]
        if choice["tid"] not in (None, thread["tid"]) or (places["idle"][place] and not (choice["idle"] or choice["gil"])) or (choice["gil"] and not places["gil"][place]):
            continue
        functions = list(chain(stacks, frame))
        for n, function in enumerate(dict.fromkeys(functions)):
            row = found.setdefault(function, [0] * 6)
            for k, key in enumerate(KEYS):
                row[k] += entries[key][i] if n == 0 else 0
                row[3 + k] += entries[key][i]
    names = stacks["functions"]
    return {(names[f]["function"], names[f]["file"], names[f]["line"]): row for f, row in found.items() if any(row)}


def reported(folder, stacks, choice):
    words = ["--from", "%dns" % (choice["from"] * stacks["slice_ns"]), "--to", "%dns" % ((choice["to"] + 1) * stacks["slice_ns"] - 1)]
    if choice["section"] is not None:
        words += ["--section", stacks["sections"][choice["section"]]]
    if choice["tid"] is not None:
        words += ["--track", "%d/%d" % (stacks["threads"][0]["pid"], choice["tid"])]
    words += ["--idle"] * choice["idle"] + ["--gil"] * choice["gil"]
    result = sonde("report", "x.sonde", "--json", "--table", "functions", "--all", *words, cwd=folder)
    equal(result.status, 0, "status of %s (%s)" % (words, result.err))
    rows = json.loads(result.out).get("functions", [])
    made = {(r["function"], r["file"], r["line"]): [r["self_" + k] for k in KEYS] + [r["cum_" + k] for k in KEYS] for r in rows}
    return {key: row for key, row in made.items() if any(row)}


def test_any_part_of_a_run_adds_up_to_its_report(folder):
    stacks = recorded(folder)
    last, drawn = max(stacks["entries"]["slice"]), random.Random(3)
    equal(sorted(stacks["sections"]), ["load", "train", "train:step"], "sections")
    n_full = 0
    for i in range(24):
        begin = drawn.randrange(last + 1)
        choice = {"from": begin, "to": drawn.randrange(begin, last + 1), "section": drawn.choice([None, None, 0, 1, 2]),
                  "tid": drawn.choice([None, None] + [t["tid"] for t in stacks["threads"]]), "idle": i % 3 == 1, "gil": i % 3 == 2}
        mine = added_up(stacks, choice)
        equal(mine, reported(folder, stacks, choice), "functions of %s" % choice)
        n_full += len(mine) > 0
    assert n_full > 4, n_full


def test_it_needs_one_capture_in_a_file(folder):
    recorded(folder)
    result = sonde("report", "x.sonde", "x.sonde", "--json", "--table", "stacks", cwd=folder)
    equal((result.status, result.out), (2, ""), "status and output")
    contains(result.err, "stacks over time need one capture, from a file")


run_tests(globals())
