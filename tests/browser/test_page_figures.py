# SPDX-License-Identifier: MIT
"""The figures of the page equal those of `report --json`, for any part of a run: every column of every row.

The parts are drawn: a stretch of slices, a section, a thread or process, a metric, with and without waiting threads, those
that held the GIL, own code, by function, line and module.  No browser is needed: Node decodes the page and sums as it does.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import helpers  # noqa: E402
import node  # noqa: E402
from helpers import PYTHON, equal, run_tests, sonde, write  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.join(os.environ.get("SONDE_BUILD") or os.path.dirname(helpers.SONDE), "web", "node_modules")
TABLES = ("functions", "calls", "lines", "callers", "callees", "threads")
N_PARTS = 30
PROGRAM = """
import threading, time, json, fractions, re
from sonde import Profiler
profiler = Profiler()
def work(n):
    t = 0
    for i in range(n):
        t += i
    return t
def loads():
    re.compile("(a|b)*c" * 20 + str(time.monotonic()))
    return json.dumps(list(range(3000))) and work(10000)
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


def need_bundler():
    helpers.need(os.path.isdir(os.path.join(PACKAGES, "esbuild")), "no esbuild in build/web; make web installs it")
    return node.need()


def page_of(folder, capture):
    result = sonde("report", capture, "-o", "x.html", "--force", cwd=folder)
    equal((result.status, result.out), (0, ""), "status and output of report -o: %s" % result.err)
    return os.path.join(folder, "x.html")


def figures(page, parts):
    wanted = write(os.path.dirname(page), "parts.json", json.dumps(parts))
    done = helpers.run([need_bundler(), os.path.join(HERE, "page_figures.mjs"), PACKAGES, os.path.join(helpers.SRC, "web", "src"), page, wanted])
    equal(done.status, 0, "status of node: %s" % done.err)
    return json.loads(done.out)


def drawn_part(drawn, block):
    """A random selection, as the store has it, and options."""
    step, n = block["sliceNs"], -(-block["durationNs"] // block["sliceNs"])
    begin = drawn.randrange(n)
    end = drawn.randrange(begin, n) + 1
    has_time = drawn.random() < 0.6
    tracks = [t["track"] for t in block["threads"]] + [str(t["pid"]) for t in block["threads"]]
    return {"tables": TABLES,
            "selection": {"from": begin * step if has_time else None, "to": end * step if has_time else None, "search": "",
                          "section": drawn.choice([None] + block["sections"]), "thread": drawn.choice([None, None] + tracks)},
            "options": {"metric": drawn.choice(block["metrics"]), "by": drawn.choice(["function", "line", "module"]), "idle": drawn.random() < 0.3,
                        "gilOnly": drawn.random() < 0.2, "mine": drawn.random() < 0.3, "foldImports": False}}


def words_of(part):
    selection, options = part["selection"], part["options"]
    words = ["--metric", options["metric"], "--by", options["by"]]
    if selection["from"] is not None:
        words += ["--from", "%dns" % selection["from"], "--to", "%dns" % (selection["to"] - 1)]
    for key, option in (("section", "--section"), ("thread", "--track")):
        words += [option, selection[key]] if selection[key] is not None else []
    return words + ["--idle"] * options["idle"] + ["--gil"] * options["gilOnly"] + ["--mine"] * options["mine"]


def reported(folder, part):
    result = sonde("report", "x.sonde", "--json", "--table", ",".join(part["tables"]), *words_of(part), cwd=folder)
    equal(result.status, 0, "status of %s (%s)" % (words_of(part), result.err))
    return json.loads(result.out)


def row(cells, columns):
    """Comparable: shares to ten digits."""
    return tuple("%.10g" % cells[c] if isinstance(cells[c], (int, float)) else cells[c] for c in columns)


def with_paths(rows):
    """Rows of a tree know the names above them instead of where their parent stands."""
    for one in rows:
        above = one.pop("parent", None)
        one.pop("depth", None)
        one["path"] = (rows[above]["path"] if above is not None else ()) + (str(one.get("function")),)
    return rows


def same(mine, theirs, what):
    columns = sorted(theirs[0]) if theirs else []
    equal(sorted((row(r, columns) for r in with_paths(mine)), key=repr), sorted((row(r, columns) for r in theirs), key=repr), what)


def name_in_report(part, table):
    by = part["options"]["by"] if table == "functions" else None
    return {"module": "modules", "line": "lines"}.get(by, table)


def compare(folder, parts, at_least):
    n_rows = 0
    for part, made in zip(parts, figures(page_of(folder, "x.sonde"), parts)["tables"]):
        theirs = reported(folder, part)
        for name in part["tables"]:
            rows = theirs.get(name_in_report(part, name)) or []
            same(made[name], with_paths(rows), "%s of %s" % (name, words_of(part)))
            n_rows += len(rows)
    assert n_rows > at_least, n_rows


def recorded(folder, *words):
    write(folder, "program.py", PROGRAM)
    result = sonde("run", "-q", "--python", PYTHON, "-o", "x.sonde", *words, "program.py", cwd=folder)
    equal(result.status, 0, result.err)
    return figures(page_of(folder, "x.sonde"), [])["block"]


def test_any_part_of_a_run_has_the_figures_of_its_report(folder):
    need_bundler()
    block, drawn = recorded(folder, "--sample-rate", "1000"), random.Random(5)
    compare(folder, [drawn_part(drawn, block) for _ in range(N_PARTS)], 200)


def test_tables_without_stacks_have_the_numbers_of_the_report(folder):
    need_bundler()
    recorded(folder)
    options = {"metric": "samples", "by": "function", "idle": False, "gilOnly": False, "mine": False, "foldImports": False}
    whole = {"from": None, "to": None, "section": None, "thread": None, "search": ""}
    compare(folder, [{"tables": ("series", "processes", "sections"), "selection": whole, "options": options}], 10)


def test_traced_calls_are_summed_as_in_their_report(folder):
    need_bundler()
    block, drawn = recorded(folder, "--with", "calls"), random.Random(6)
    tracks = [None] + [t["track"] for t in block["threads"]]
    usual = {"metric": "time", "idle": False, "gilOnly": False, "foldImports": False}
    parts = [{"calls": True, "tables": [t for t in TABLES if t != "lines"],
              "selection": {"from": None, "to": None, "section": None, "search": "", "thread": drawn.choice(tracks)},
              "options": dict(usual, by=by, mine=mine)} for by in ("function", "module") for mine in (False, True) for _ in range(3)]
    compare(folder, parts, 200)


def test_calls_with_a_timeline_are_summed_as_in_the_report_of_the_same_part(folder):
    need_bundler()
    write(folder, "program.py", PROGRAM)
    result = sonde("calls", "-q", "--timeline", "--python", PYTHON, "-o", "x.sonde", "program.py", cwd=folder)
    equal(result.status, 0, result.err)
    block, drawn = figures(page_of(folder, "x.sonde"), [])["block"], random.Random(7)
    assert block["sliceNs"] > 0 and "calls" in block["metrics"], block["metrics"]
    parts = []
    for i in range(N_PARTS):
        part = drawn_part(drawn, block)
        part["tables"] = [t for t in TABLES if t != "lines"]
        part["options"].update(metric="time", by=drawn.choice(["function", "module"]), idle=False, gilOnly=False)
        parts.append(part)
    compare(folder, parts, 500)


run_tests(globals())
