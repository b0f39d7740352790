# SPDX-License-Identifier: MIT
"""What is added up from `report --json --table stacks`, for any part of a run, equals `report` of that part.

The parts are drawn: a stretch of slices, a section, a thread, with and without waiting threads, or those that held the GIL; by
function, line or module, with and without libraries, and shares by any metric.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, contains, equal, run_tests, sonde, write  # noqa: E402

PROGRAM = """
import json, sys, threading, time
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
        json.dumps([[i] for i in range(300)], indent=1)
        time.sleep(0.002)
thread = threading.Thread(target=other)
thread.start()
for i in range(int(sys.argv[1])):
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


def record(folder, name, rounds):
    write(folder, "program.py", PROGRAM)
    result = sonde("run", "-q", "--sample-rate", "1000", "--python", PYTHON, "-o", name, "program.py", rounds, cwd=folder)
    equal(result.status, 0, result.err)


def stacks_of(folder, files):
    result = sonde("report", *files, "--json", "--table", "stacks", cwd=folder)
    equal(result.status, 0, result.err)
    return json.loads(result.out)["stacks"]


def chain(stacks, frame, choice):
    """The rows of a stack, the newest first: what is folded is part of what called it."""
    frames, functions, rows = stacks["frames"], stacks["functions"], []
    while frame is not None:
        function, parent = functions[frames["function"][frame]], frames["parent"][frame]
        if parent is None or not (frames["startup"][frame] or (choice["mine"] and function["library"])):
            where = function["file"]
            # Of some code no line is known: then it is the function's first, or none.
            rows.append({"function": (function["function"], where, function["line"] or None),
                         "line": (function["function"], where, frames["line"][frame] or function["line"] or None),
                         "module": (function["module"], where, None)}[choice["by"]])
        frame = parent
    return rows


def added_up(stacks, choice):
    """{row: [own samples, wall, cpu, those with what it calls]} of the entries that are chosen, and the sums of all."""
    found, whole, places, entries = {}, [0] * 3, stacks["places"], stacks["entries"]
    for i, (at, place, which) in enumerate(zip(entries["slice"], entries["place"], entries["set"])):
        frame = places["frame"][place]
        if not choice["from"] <= at <= choice["to"] or (choice["section"] is not None and choice["section"] not in stacks["sets"][which]):
            continue
        thread = stacks["threads"][places["thread"][place]]
        if choice["thread"] not in (None, (thread["pid"], thread["tid"])) or (places["idle"][place] and not choice["idle"]) or (choice["gil"] and not places["gil"][place]):
            continue
        if frame is not None and stacks["frames"]["startup"][frame]:
            continue
        for k, key in enumerate(KEYS):
            whole[k] += entries[key][i]
        for n, name in enumerate(dict.fromkeys(chain(stacks, frame, choice))):
            row = found.setdefault(name, [0] * 6)
            for k, key in enumerate(KEYS):
                row[k] += entries[key][i] if n == 0 else 0
                row[3 + k] += entries[key][i]
    return {name: row for name, row in found.items() if any(row)}, whole


def reported(folder, files, stacks, choice):
    """The same of a report, and the shares it gives: {row: self%}."""
    words = ["--from", "%dns" % (choice["from"] * stacks["slice_ns"]), "--to", "%dns" % ((choice["to"] + 1) * stacks["slice_ns"] - 1)]
    if choice["section"] is not None:
        words += ["--section", stacks["sections"][choice["section"]]]
    if choice["thread"] is not None:
        words += ["--track", "%d/%d" % choice["thread"]]
    words += ["--idle"] * choice["idle"] + ["--gil"] * choice["gil"] + ["--mine"] * choice["mine"] + ["--by", choice["by"], "--metric", choice["metric"]]
    result = sonde("report", *files, "--json", "--table", "functions", "--all", *words, cwd=folder)
    if result.status == 2 and "is past the end" in result.err:      # of that capture of several which has the thread
        return {}, {}
    equal(result.status, 0, "status of %s (%s)" % (words, result.err))
    tables = json.loads(result.out)
    rows = tables.get("functions") or tables.get("lines") or tables.get("modules") or []
    made, shares = {}, {}
    for r in rows:
        name = (r.get("module") or r["function"], r["file"], None if choice["by"] == "module" else r["line"])
        made[name] = [r["self_" + k] for k in KEYS] + [r["cum_" + k] for k in KEYS]
        shares[name] = r["self%"]
    return {name: row for name, row in made.items() if any(row)}, shares


def drawn_choice(drawn, stacks, i):
    last = max(stacks["entries"]["slice"])
    begin = drawn.randrange(last + 1)
    return {"from": begin, "to": drawn.randrange(begin, last + 1), "section": drawn.choice([None, None] + list(range(len(stacks["sections"])))),
            "thread": drawn.choice([None, None] + [(t["pid"], t["tid"]) for t in stacks["threads"]]), "idle": i % 3 == 1, "gil": i % 3 == 2,
            "mine": drawn.choice([False, True]), "by": drawn.choice(["function", "function", "line", "module"]), "metric": drawn.choice(KEYS)}


def check_choices(folder, files, n, seed):
    stacks, drawn, n_full = stacks_of(folder, files), random.Random(seed), 0
    equal(sorted(stacks["sections"]), ["load", "train", "train:step"], "sections")
    for i in range(n):
        choice = drawn_choice(drawn, stacks, i)
        (mine, whole), (made, shares) = added_up(stacks, choice), reported(folder, files, stacks, choice)
        equal(mine, made, "rows of %s" % choice)
        k = KEYS.index(choice["metric"])
        for name, row in mine.items():
            assert abs(shares[name] - (100 * row[k] / whole[k] if whole[k] else 0)) < 1e-9, (name, choice)
        n_full += len(mine) > 0
    assert n_full > n // 6, n_full


def test_any_part_of_a_run_adds_up_to_its_report(folder):
    record(folder, "x.sonde", 40)
    check_choices(folder, ["x.sonde"], 30, 3)


def test_several_captures_have_the_time_of_each(folder):
    record(folder, "x.sonde", 30)
    record(folder, "y.sonde", 15)
    check_choices(folder, ["x.sonde", "y.sonde"], 12, 4)
    result = sonde("merge", "x.sonde", "y.sonde", "-o", "all.sonde", cwd=folder)
    equal(result.status, 0, result.err)
    check_choices(folder, ["all.sonde"], 12, 5)
    equal(stacks_of(folder, ["x.sonde", "x.sonde"]), stacks_of(folder, ["x.sonde"]), "a recording that is given twice")


def calls_of(trace):
    """The calls of a timeline, as a trace has them: (path of functions, outermost first; begin; end; children), by thread in order of time."""
    threads, calls = {}, []
    for e in trace:
        if e["ph"] == "X":
            name = (e["name"], e["args"].get("filename"), e["args"].get("line"))
            begin = round(e["ts"] * 1000)
            threads.setdefault((e["pid"], e["tid"]), []).append((begin, begin + round(e["dur"] * 1000), name))
    for thread, spans in threads.items():
        around = []
        for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
            while around and end > around[-1][2]:
                around.pop()
            call = ((around[-1][0] if around else ()) + (name,), begin, end, [])
            if around:
                around[-1][3].append(call)
            around.append(call)
            calls.append((thread, call))
    return calls


def pieces(begin, end, slice_ns):
    while begin < end:
        until = min(end, (begin // slice_ns + 1) * slice_ns)
        yield begin // slice_ns, until - begin
        begin = until


def own_by_slice(trace, slice_ns):
    """{(thread, path): {slice: ns in the function itself}}, as the trace has it, with the cost of tracing."""
    found = {}
    for thread, (path, begin, end, children) in calls_of(trace):
        own = found.setdefault((thread, path), {})
        for at, ns in pieces(begin, end, slice_ns):
            own[at] = own.get(at, 0) + ns
        for _, child_begin, child_end, _ in children:
            for at, ns in pieces(child_begin, child_end, slice_ns):
                own[at] -= ns
    return found


def path_of(stacks, frame):
    path = []
    while frame is not None:
        function = stacks["functions"][stacks["frames"]["function"][frame]]
        path.append((function["function"], function["file"], function["line"]))
        frame = stacks["frames"]["parent"][frame]
    return tuple(reversed(path))


def traced_by_slice(stacks):
    """The same from stacks over time; what stands there is without the cost of tracing."""
    found, entries, places = {}, stacks["entries"], stacks["places"]
    for i, (at, place) in enumerate(zip(entries["slice"], entries["place"])):
        thread = stacks["threads"][places["thread"][place]]
        own = found.setdefault(((thread["pid"], thread["tid"]), path_of(stacks, places["frame"][place])), {})
        own[at] = own.get(at, 0) + entries["time"][i]
    return found


def test_calls_with_a_timeline_are_where_they_passed(folder):
    write(folder, "program.py", PROGRAM)
    result = sonde("calls", "-q", "--timeline", "--python", PYTHON, "-o", "c.sonde", "program.py", 8, cwd=folder)
    equal(result.status, 0, result.err)
    result = sonde("report", "c.sonde", "--json", "--table", "stacks,functions", cwd=folder)
    equal(result.status, 0, result.err)
    report = json.loads(result.out)
    stacks = report["stacks"]
    equal((stacks["evidence"], stacks["note"]), ("calls", None), "evidence and note")
    # All slices together are the functions of the report.
    sums, entries, places = {}, stacks["entries"], stacks["places"]
    for i, place in enumerate(entries["place"]):
        name = path_of(stacks, places["frame"][place])[-1]
        row = sums.setdefault(name, [0, 0])
        row[0] += entries["time"][i]
        row[1] += entries["calls"][i]
    program = {n: row for n, row in sums.items() if n[1].endswith("program.py")}
    rows = {(r["function"], r["file"], r["line"]): [r["own"], r["calls"]] for r in report["functions"]}
    equal(program, {n: rows[n] for n in program}, "own time and calls")
    assert len(program) >= 5, program
    # Each slice has its part of them, as the trace tells.
    equal(sonde("convert", "c.sonde", "c.trace.json", cwd=folder).status, 0, "status of convert")
    with open(os.path.join(folder, "c.trace.json")) as file:
        trace = json.load(file)
    raw = own_by_slice(trace["traceEvents"] if isinstance(trace, dict) else trace, stacks["slice_ns"])
    traced, n_compared = traced_by_slice(stacks), 0
    for key, own in traced.items():
        whole, measured = sum(own.values()), sum(raw[key].values())
        for at in set(own) | set(raw[key]):
            expected = whole * raw[key].get(at, 0) / measured if measured else 0
            assert abs(own.get(at, 0) - expected) <= 0.01 * stacks["slice_ns"], (key, at, own.get(at, 0), expected)
            n_compared += 1
    assert n_compared > 100, n_compared
    # What runs in a section alone is nowhere else.
    load, n_loads = stacks["sections"].index("load"), 0
    for place, which in zip(entries["place"], entries["set"]):
        names = [name for name, _, _ in path_of(stacks, places["frame"][place])]
        if "loads" in names:
            assert load in stacks["sets"][which], names
            n_loads += 1
        elif "trains" in names:
            assert load not in stacks["sets"][which], names
    assert n_loads > 8, n_loads


def record_calls(folder, *words):
    write(folder, "program.py", PROGRAM)
    result = sonde("calls", "-q", *words, "--python", PYTHON, "-o", "c.sonde", "program.py", 12, cwd=folder)
    equal(result.status, 0, result.err)


def calls_reported(folder, *words):
    """{(function, file, line): [calls, primitive, own, total]}, and what stderr says."""
    result = sonde("report", "c.sonde", "--json", "--table", "functions", *words, cwd=folder)
    equal(result.status, 0, "status of %s (%s)" % (words, result.err))
    rows = json.loads(result.out).get("functions") or []
    return {(r["function"], r["file"], r["line"]): [r["calls"], r["primitive"], r["own"], r["total"]] for r in rows}, result.err


def calls_added_up(stacks, choice):
    """The same from the entries that are chosen."""
    found, places, entries = {}, stacks["places"], stacks["entries"]
    paths = {place: path_of(stacks, places["frame"][place])[::-1] for place in set(entries["place"])}
    for i, (at, place, which) in enumerate(zip(entries["slice"], entries["place"], entries["set"])):
        thread = stacks["threads"][places["thread"][place]]
        if not choice["from"] <= at <= choice["to"] or (choice["section"] is not None and choice["section"] not in stacks["sets"][which]) or choice["thread"] not in (None, (thread["pid"], thread["tid"])):
            continue
        path, calls, time = paths[place], entries["calls"][i], entries["time"][i]
        row = found.setdefault(path[0], [0] * 4)
        row[0] += calls
        row[1] += calls if path[0] not in path[1:] else 0
        row[2] += time
        for name in set(path):
            found.setdefault(name, [0] * 4)[3] += time
    return {name: row for name, row in found.items() if any(row)}


def test_any_part_of_calls_with_a_timeline_adds_up_to_its_report(folder):
    record_calls(folder, "--timeline")
    stacks, drawn, n_full = stacks_of(folder, ["c.sonde"]), random.Random(6), 0
    # The start of the interpreter has functions of one name, file and line that are not the same.
    of_program = lambda rows: {n: row for n, row in rows.items() if n[1] and n[1].endswith("program.py")}  # noqa: E731
    for _ in range(40):
        choice = drawn_choice(drawn, stacks, 0)
        words = ["--from", "%dns" % (choice["from"] * stacks["slice_ns"]), "--to", "%dns" % ((choice["to"] + 1) * stacks["slice_ns"] - 1)]
        words += ["--section", stacks["sections"][choice["section"]]] if choice["section"] is not None else []
        words += ["--track", "%d/%d" % choice["thread"]] if choice["thread"] is not None else []
        made, err = calls_reported(folder, *words)
        mine = calls_added_up(stacks, choice)
        equal(of_program({n: row for n, row in made.items() if any(row)}), of_program(mine), "rows of %s" % words)
        equal(sum(row[2] for row in made.values()), sum(row[2] for row in mine.values()), "time of %s" % words)
        assert "whole run" not in err, err
        n_full += len(mine) > 0
    assert n_full > 6, n_full


def own_within(trace, begin, end):
    """{function: [calls that begin, own ns, all its own ns, its paths]} of a stretch of time, as the trace has it."""
    def inside(call):
        return max(0, min(call[2], end) - max(call[1], begin))
    found = {}
    for thread, call in calls_of(trace):
        row = found.setdefault(call[0][-1], [0, 0, 0, set()])
        row[3].add((thread, call[0]))
        row[0] += begin <= call[1] < end
        row[1] += inside(call) - sum(inside((None,) + child[1:]) for child in call[3])
        row[2] += call[2] - call[1] - sum(child[2] - child[1] for child in call[3])
    return found


def test_a_window_of_calls_has_what_the_trace_has_in_it(folder):
    record_calls(folder, "--timeline")
    equal(sonde("convert", "c.sonde", "c.trace.json", cwd=folder).status, 0, "status of convert")
    with open(os.path.join(folder, "c.trace.json")) as file:
        trace = json.load(file)
    trace = trace["traceEvents"] if isinstance(trace, dict) else trace
    last, drawn, n_exact = max(call[2] for _, call in calls_of(trace)), random.Random(8), 0
    all_of, _ = calls_reported(folder)
    for _ in range(6):
        begin = drawn.randrange(last)
        end = drawn.randrange(begin, last) + 1
        made, _ = calls_reported(folder, "--from", "%dns" % begin, "--to", "%dns" % (end - 1))
        for name, (calls, own, whole, paths) in own_within(trace, begin, end).items():
            if not name[1] or not name[1].endswith("program.py"):
                continue
            row = made.get(name, [0] * 4)
            equal(row[0], calls, "calls of %s from %d to %d" % (name[0], begin, end))
            # The table has less, by the cost of tracing, which is not the same along all paths.
            expected = all_of[name][2] * own / whole
            assert abs(row[2] - expected) <= (3 if len(paths) == 1 else 1000 + 0.02 * whole), (name, begin, end, row, expected, whole)
            n_exact += own > 0 and len(paths) == 1
    assert n_exact > 6, n_exact


def test_calls_without_a_timeline_stay_whole_and_say_so(folder):
    record_calls(folder)
    whole, _ = calls_reported(folder)
    for words in (["--from", "1ms", "--to", "2ms"], ["--section", "load"]):
        equal(calls_reported(folder, *words)[0], whole, "calls with %s" % words)
        result = sonde("report", "c.sonde", *words, cwd=folder)
        equal(result.status, 0, result.err)
        contains(result.err, "calls cover the whole run: a window of time does not narrow them")


def test_a_part_without_samples_shows_none_and_not_calls_in_their_place(folder):
    write(folder, "program.py", "import time\nfor i in range(3):\n    sum(range(200000))\n    time.sleep(0.2)\n")
    result = sonde("run", "-q", "--with", "sample,calls", "--python", PYTHON, "-o", "x.sonde", "program.py", cwd=folder)
    equal(result.status, 0, result.err)
    part = ("--from", "300000001ns", "--to", "300000002ns")
    whole, told = [json.loads(sonde("report", "x.sonde", "--json", *words, cwd=folder).out) for words in ((), part)]
    equal({"functions", "traced_functions"} <= set(whole), True, "samples and calls of the whole run")
    equal((told.get("functions", []), told["summary"]["samples"]), ([], 0), "samples of two nanoseconds")
    equal([row["function"] for row in told["traced_functions"]], [row["function"] for row in whole["traced_functions"]], "calls, which have no time")
    refused = sonde("report", "x.sonde", "-o", "x.svg", *part, cwd=folder)
    equal(refused.status, 1, "status of a flame graph of nothing")
    contains(refused.err, "--from leaves nothing of what was sampled", "stderr")


run_tests(globals())
