# SPDX-License-Identifier: MIT
# interpreters: all
"""Calls beyond a full tree: tables of functions, signatures and modules are those of a run with room for every path.

A run with room for every path, and cProfile, are the truth.
"""
import cProfile
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, Ticking, clean_env, equal, run_tests, sonde, write  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import Profile  # noqa: E402

NODES = (2, 7, 50)

# Recursion with arguments of several types, of which some have one name; generators, C functions, exceptions.
PROGRAM = """
def make_class():
    class Same:
        pass
    return Same

TYPES = [make_class()() for _ in range(3)] + [1, "a", 2.5, (), []]

def pick(n):
    return TYPES[n % len(TYPES)]

def first(x, depth):
    if depth > 0:
        second(pick(depth * 3 + 1), depth - 1)
        first(pick(depth * 5 + 2), depth - 1)
        return max([depth, depth - 1], key=lambda n: later(pick(n), n - 1))

def second(x, depth):
    try:
        return third(pick(depth * 2), depth)
    except KeyError:
        return None

def third(x, depth):
    for n in steps(x, depth):
        if n > 1:
            first(pick(n + depth), depth - 2)
    if depth == 1:
        raise KeyError(depth)

def later(x, depth):
    second(x, depth - 1) if depth > 0 else None
    return depth

def steps(x, depth):
    for n in range(min(depth, 3)):
        yield n
        if n == 1:
            second(pick(n), depth - 3)

def program():
    first(TYPES[0], 5)
    second(TYPES[1], 3)
"""


def stats_of(function, **how):
    p = Profile(Ticking(), 1.0, **how)
    p.enable()
    function()
    p.disable()
    p.create_stats()
    return p.stats, p.folded


def test_signatures_are_those_of_a_run_with_room_for_every_path(folder):
    names = {}
    exec(compile(PROGRAM, "program.py", "exec"), names)
    program = names["program"]
    program()
    for builtins in (True, False):
        wanted, beyond = stats_of(program, builtins=builtins)
        equal(beyond, 0, "calls beyond a tree with room")
        same = [row for key, row in wanted.items() if key[2] == "first(x:Same, depth:int)"]
        equal(len(same), 1, "rows of three types that have one name")
        for nodes in NODES:
            got, beyond = stats_of(program, builtins=builtins, nodes=nodes)
            assert beyond > 100, beyond
            for key in set(wanted) | set(got):
                equal(got.get(key), wanted.get(key), "nodes=%d: %s" % (nodes, key))


def test_types_of_one_name_are_one_recursion(folder):
    """A reader sees one signature, so what calls itself there is a recursion."""
    def make_class():
        class Same:
            pass
        return Same()
    objects = [make_class() for _ in range(3)]

    def descend(x, depth):
        for y in objects if depth else ():
            descend(y, depth - 1)
    for nodes in (None,) + NODES:
        stats, _ = stats_of(lambda: descend(objects[0], 3), builtins=False, nodes=nodes)
        row, = [row for key, row in stats.items() if key[2] == "descend(x:Same, depth:int)"]
        equal(row[:2], (1, 40), "nodes=%s: primitive calls, calls" % nodes)
        # A tick at each beginning and end: one call lasts from the first to the last of its own 80.
        equal(row[2:4], (79, 79), "nodes=%s: own and cumulative ticks" % nodes)


def tables(path, *words):
    result = sonde("report", path, "--json", "--all", "--table", "functions", "--callers", *words)
    equal(result.status, 0, result.err)
    return json.loads(result.out)


def record(folder, name, *words, **how):
    path = os.path.join(folder, name + ".sonde")
    result = sonde("calls", "-q", "--builtins", "--python", PYTHON, *(words + ("-o", path, os.path.join(folder, "program.py"))), **how)
    equal(result.status, 0, result.err)
    return path


def by_function(rows, *columns):
    return {(row["function"], row["file"], row["line"]): tuple(row[c] for c in columns) for row in rows if row["file"]}


def edges(rows):
    return {(row["caller"], row["callee"]): (row["calls"], row["primitive"]) for row in rows if "program.py" in row["caller"]}


def check_sums(path, what):
    """Rows of one function add up to it; none of them has more cumulative time than it."""
    for raw in ([], ["--raw"]):
        functions = by_function(tables(path, "--no-signatures", *raw)["functions"], "calls", "own", "total", "cum%")
        sums = collections.Counter()
        for (name, file, line), (calls, own, total, share) in by_function(tables(path, *raw)["functions"], "calls", "own", "total", "cum%").items():
            key = name.split("(")[0] if not name.startswith("<") else "<" + name[1:].split("(")[0], file, line
            sums[key, "calls"] += calls
            sums[key, "own"] += own
            if not file.endswith("program.py"):
                continue
            # Each pair is rounded to ns; what tracing took is a mean, and subtracted of each by itself.
            assert total <= functions[key][2] * (1 if raw else 1.02) + 50, "%s: %s has %d ns, its function %d" % (what, name, total, functions[key][2])
            assert share <= 100.05, "%s: %s has %s %%" % (what, name, share)
        for key, (calls, own, total, share) in functions.items():
            equal((sums[key, "calls"], sums[key, "own"]), (calls, own), "%s: sums of %s" % (what, key))
            assert share <= 100.05, "%s: %s has %s %%" % (what, key, share)


def test_functions_of_signatures_are_those_of_a_run_without(folder):
    write(folder, "program.py", PROGRAM + "\nprogram()\n")
    plain = tables(record(folder, "plain"))
    wanted, wanted_edges = by_function(plain["functions"], "calls", "primitive"), edges(plain["callers"])
    whole = by_function(tables(record(folder, "whole", "--signatures"))["functions"], "calls", "primitive")
    for nodes in NODES:
        path = record(folder, "n%d" % nodes, "--signatures", "--nodes", str(nodes))
        dropped = tables(path, "--no-signatures")
        equal(by_function(dropped["functions"], "calls", "primitive"), wanted, "nodes=%d: functions" % nodes)
        equal(edges(dropped["callers"]), wanted_edges, "nodes=%d: callers" % nodes)
        equal(by_function(tables(path)["functions"], "calls", "primitive"), whole, "nodes=%d: signatures" % nodes)
        check_sums(path, "nodes=%d" % nodes)


# C functions of one name, of which one calls another: class methods do not say of which class they are.
C_FUNCTIONS = """
import collections
import datetime

class Keys:
    def __init__(self, depth):
        self.depth = depth

    def __iter__(self):
        return iter(dict.fromkeys(Keys(self.depth - 1)) if self.depth else [1])

class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        datetime.date.fromtimestamp(0)
        return datetime.timedelta(0)

    def dst(self, when):
        return datetime.timedelta(0)

def program():
    collections.OrderedDict.fromkeys(Keys(2))
    dict.fromkeys([1])
    datetime.datetime.fromtimestamp(0, Zone())
    datetime.date.fromtimestamp(0)
    sorted([3, 1], key=lambda n: sorted([n]))
"""


def name_of(code):
    return getattr(code, "co_name", code)


def test_c_functions_of_one_name_are_counted_apart_as_cprofile_does(folder):
    names = {}
    write(folder, "program.py", C_FUNCTIONS + "\nprogram()\n")
    exec(compile(C_FUNCTIONS, "program.py", "exec"), names)
    names["program"]()
    wanted, callers = collections.Counter(), collections.Counter()
    p = cProfile.Profile()
    p.enable()
    names["program"]()
    p.disable()
    for entry in p.getstats():  # its files keep only the last of several functions that have one name
        wanted[name_of(entry.code)] += complex(entry.callcount, entry.callcount - entry.reccallcount)
        for callee in entry.calls or ():
            callers[name_of(entry.code), name_of(callee.code)] += complex(callee.callcount, callee.callcount - callee.reccallcount)
    asked = ["<built-in method fromtimestamp>", "<built-in method fromkeys>", "<built-in method builtins.sorted>"]
    for nodes in ("1000000", "2", "7"):
        got = tables(record(folder, "n" + nodes, "--nodes", nodes))
        counts = {row["function"]: complex(row["calls"], row["primitive"]) for row in got["functions"]}
        edges = {(row["caller"].split(" (")[0], row["callee"]): complex(row["calls"], row["primitive"]) for row in got["callers"]}
        equal(counts[asked[0]], wanted[asked[0]], "nodes=%s: calls and primitive calls, nothing else calls it" % nodes)
        for key in callers:
            if key[1] in asked:
                equal(edges.get(key), callers[key], "nodes=%s: calls and primitive calls of %s by %s" % (nodes, key[1], key[0]))


def modules_of(path, *words):
    result = sonde("report", path, "--json", "--all", "--by", "module", *words)
    equal(result.status, 0, result.err)
    return {row["module"]: row for row in json.loads(result.out)["modules"]}


MODULES = """
import json, textwrap, re, os, sys
try:
    import no_such_module_at_all    # every finder is asked
except ImportError:
    pass

def work(depth):
    if depth > 0:
        textwrap.dedent("  a  ")
        json.loads(json.dumps([depth, {"a": work(depth - 1)}]))
        re.sub("a", lambda match: str(work(depth - 2)), "banana")
    return depth

work(3)
"""


def test_modules_have_all_their_calls_and_own_time(folder):
    write(folder, "program.py", MODULES)
    wanted = {name: row["calls"] for name, row in modules_of(record(folder, "whole")).items()}
    for nodes in NODES:
        path = record(folder, "n%d" % nodes, "--nodes", str(nodes))
        for raw in ([], ["--raw"]):
            got = modules_of(path, *raw)
            beyond = got.pop("[beyond the tree]")
            equal((beyond["calls"], beyond["own"]), (0, 0), "calls and own time that are in no module")
            assert beyond["total"] > 0, beyond
            equal({name: row["calls"] for name, row in got.items()}, wanted, "nodes=%d: calls" % nodes)
            own, most = collections.Counter(), collections.Counter()
            for row in tables(path, *raw)["functions"]:
                own[row["file"] or "built-in"] += row["own"]
                most[row["file"] or "built-in"] = max(most[row["file"] or "built-in"], row["total"])
            for name, row in got.items():
                file = row["file"] or "built-in"
                equal(row["own"], own[file], "nodes=%d: own time of %s" % (nodes, name))
                assert row["total"] >= max(most[file], row["own"]) and 0 < row["primitive"] <= row["calls"], (name, row, most[file])


SIZES = """
def pairs(rows):
    return sum(a < b for a in rows for b in rows)

def halves(rows):
    if len(rows) < 2:
        return len(rows)
    middle = len(rows) // 2
    return halves(rows[:middle]) + halves(rows[middle:]) + len(sorted(rows))

def work(n):
    rows = list(range(n))
    return pairs(rows), halves(rows)

for n in 20, 40, 80, 160, 320:
    work(n)
"""


def test_growth_is_seen_beyond_the_tree(folder):
    """Every call of every size counts, and what a function has of the time."""
    write(folder, "program.py", SIZES)
    wanted = None
    for nodes in (1000000,) + NODES:
        result = sonde("report", record(folder, "n%d" % nodes, "--scaling", "--nodes", str(nodes)), "--scaling", "--json", "--all")
        found = json.loads(result.out)
        points = {(p["function"], p["size"]): p["calls"] for p in found["scaling_points"] if p["where"].startswith("program.py")}
        rows = {row["function"]: row for row in found["scaling"] if row["where"].startswith("program.py")}
        wanted = wanted or points
        assert len(points) > 15 and points["work", 320] == 1 and points["halves", 20] > 5, points
        equal(points, wanted, "nodes=%d: calls of each size" % nodes)
        for name, most in ("work", 90), ("pairs", 40), ("halves", 0.1):
            assert most <= rows[name]["cum%"] <= 100.05, "nodes=%d: %s" % (nodes, rows[name])


def test_own_start_is_in_no_table(folder):
    """Our finder of modules, where `import sonde` needs it, is asked for each that nobody has."""
    write(folder, "program.py", MODULES)
    for nodes in (2, 7, 1000000):
        path = record(folder, "n%d" % nodes, "--nodes", str(nodes), env=clean_env(PYTHONPATH=None))
        found = tables(path)
        assert len(found["functions"]) > 20, found
        for row in found["functions"]:
            assert "sitecustomize" not in str(row["file"]), (nodes, row)
        for row in found["callers"]:
            assert "sitecustomize" not in row["caller"] + row["callee"], (nodes, row)
        assert "sitecustomize" not in modules_of(path), nodes


if __name__ == "__main__":
    run_tests(globals())
