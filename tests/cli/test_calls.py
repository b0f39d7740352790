# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde calls: the table, its options, pstats files, every thread and process, every way to end, and the reports."""
import csv
import json
import marshal
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

# What is called, how often, and by whom, does not depend on the clock.
SCRIPT = """
import sys
def leaf(n):
    return n + 1
def work(n):
    for i in range(n):
        leaf(i)
def recurse(n):
    return n and recurse(n - 1)
def numbers(n):
    for i in range(n):
        yield i
def main():
    work(10)
    work(20)
    recurse(4)
    print("total", sum(numbers(5)))
main()
if sys.argv[1:] == ["exit"]:
    sys.exit(7)
"""
COUNTS = {"leaf": "30", "work": "2", "recurse": "5/1", "numbers": "6", "main": "1"}


def calls(folder, *words, **how):
    """sonde calls with this interpreter: (status, out, err)."""
    return sonde("calls", "--python", PYTHON, *words, cwd=folder, **how)


def table(out):
    """{function: ncalls} of a table as pstats prints it."""
    rows = re.findall(r"^ +([\d/]+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ (?:.*:\d+\((\S+)\)|(\{.*\}))$", out, re.M)
    return {name or c_name: ncalls for ncalls, name, c_name in rows}


def counts(out):
    found = table(out)
    return {name: found.get(name) for name in COUNTS}


def functions(capture, *options, **which):
    """The functions of a file in a capture, by name.  Some versions know the script by a relative name and its import
    by an absolute one: such rows add up."""
    status, out, err = sonde("report", capture, "--json", "--table", "functions", *options)
    equal(status, 0, err)
    rows = {}
    for row in json.loads(out)["functions"]:
        if not (row["file"] or "").endswith(which.get("file", "script.py")):
            continue
        sums = rows.setdefault(row["function"], {})
        for key, value in row.items():
            if isinstance(value, (int, float)):
                sums[key] = sums.get(key, 0) + value
    return rows


def test_the_table_follows_the_programs_output(folder):
    write(folder, "script.py", SCRIPT)
    status, out, err = calls(folder, "script.py", "exit")
    equal(status, 7, "the program's own status")
    assert out.startswith("total 10\n"), out[:60]
    contains(out, "   Ordered by: cumulative time\n")
    equal(counts(out), COUNTS, "counts")
    contains(err, "sonde: wrote script.sonde")
    equal(sorted(os.listdir(folder)), ["script.py", "script.sonde"])


def test_modules_and_code(folder):
    write(folder, "script.py", SCRIPT)
    for words in (["-m", "script"], ["-c", SCRIPT]):
        status, out, err = calls(folder, "--force", "-o", "x.sonde", *words)
        equal(status, 0, err)
        equal(counts(out), COUNTS, words[0])


def test_what_is_shown_can_be_chosen(folder):
    write(folder, "script.py", SCRIPT)
    out = calls(folder, "-o", "a.sonde", "-s", "calls", "-n", "1", "--match", "script.py", "script.py")[1]
    equal(table(out), {"leaf": "30"}, "most calls first, one row of those that match")
    out = calls(folder, "-o", "b.sonde", "--callers=leaf", "--strip-dirs", "script.py")[1]
    assert re.search(r"^script\.py:3\(leaf\) +<- +30 +[\d.]+ +[\d.]+  script\.py:5\(work\)$", out, re.M), out
    out = calls(folder, "-o", "c.sonde", "--callees=main", "--strip-dirs", "script.py")[1]
    assert re.search(r"^script\.py:13\(main\) .*-> +", out, re.M), out
    out = calls(folder, "-o", "d.sonde", "--builtins", "script.py")[1]
    equal(table(out).get("{built-in method builtins.sum}"), "1", "C functions")


def test_what_is_typed_wrong_is_refused_before_the_program_starts(folder):
    write(folder, "script.py", "open('ran', 'w')")
    for words, said in ((["-s", "nonsense"], "nonsense"), (["--match", "("], "regular expression"),
                        (["-n", "many"], "many"), (["--digits", "99"], "--digits"),
                        (["--calls-nodes", "1"], "nodes")):
        status, out, err = calls(folder, *words, "script.py")
        equal((status, out), (2, ""), words)
        contains(err, said)
    equal(os.listdir(folder), ["script.py"], "nothing ran, nothing was written")


def test_a_pstats_file(folder):
    write(folder, "script.py", SCRIPT)
    for name in ("profile.txt", "restats", "x.prof"):
        status, out, err = calls(folder, "-o", name, "script.py")
        equal((status, out), (0, "total 10\n"), "no table beside a file")
        with open(os.path.join(folder, name), "rb") as f:
            stats = marshal.load(f)
        by_name = {key[2]: value for key, value in stats.items() if key[0].endswith("script.py")}
        equal(by_name["recurse"][:2], (1, 5), "primitive calls and calls")
        (caller, numbers), = by_name["leaf"][4].items()
        equal((caller[2], numbers[:2]), ("work", (30, 30)), "the caller of leaf")
        status, out, err = calls(folder, "-o", name, "script.py")
        equal((status, out), (1, ""), "an existing file is not overwritten")
        contains(err, "--force")
        equal(calls(folder, "--force", "-o", name, "script.py")[0], 0)
    equal(sorted(os.listdir(folder)), ["profile.txt", "restats", "script.py", "x.prof"], "no capture is left")


def test_run_with_calls(folder):
    write(folder, "script.py", SCRIPT)
    status, out, err = sonde("run", "--with", "calls,rss", "--python", PYTHON, "script.py", cwd=folder)
    equal((status, out), (0, "total 10\n"))
    rows = functions(os.path.join(folder, "script.sonde"))
    equal({name: rows[name]["calls"] for name in ("leaf", "work", "recurse")}, {"leaf": 30, "work": 2, "recurse": 5})
    equal(rows["recurse"]["primitive"], 1)
    equal((rows["numbers"]["calls"], rows["numbers"]["starts"]), (6, 1), "a generator's calls and starts")
    assert rows["main"]["total"] >= rows["work"]["total"] >= rows["work"]["own"], rows


THREADS = """
import json, threading
tids = {}
def leaf(n):
    return n + 1
def alpha(n):
    tids[n] = threading.get_native_id()
    for i in range(n):
        leaf(i)
def beta(n):
    tids[n] = threading.get_native_id()
    for i in range(n):
        leaf(i)
threads = [threading.Thread(target=alpha, args=(400,)), threading.Thread(target=beta, args=(600,))]
for t in threads: t.start()
for t in threads: t.join()
alpha(5)
with open("tids", "w") as f:
    json.dump(tids, f)
"""


def test_threads_are_told_apart_and_added(folder):
    write(folder, "script.py", THREADS)
    status, out, err = calls(folder, "--strip-dirs", "--callers=leaf", "script.py")
    equal(status, 0, err)
    pairs = dict(reversed(pair) for pair in re.findall(r" (\d+) +[\d.]+ +[\d.]+  script\.py:\d+\((\w+)\)$", out, re.M))
    equal(pairs, {"alpha": "405", "beta": "600"}, "no edge is crossed")
    capture = os.path.join(folder, "script.sonde")
    status, out, err = sonde("report", capture, "--json", "--table", "threads")
    with open(os.path.join(folder, "tids")) as f:
        tids = json.load(f)
    rows = {row["thread"]: row["calls"] for row in json.loads(out)["threads"]}
    assert rows[tids["400"]] >= 401 and rows[tids["600"]] >= 601, (tids, rows)
    equal(functions(capture, "--track", "%d/%d" % (tids["5"], tids["400"]))["leaf"]["calls"], 400)
    out = sonde("report", capture, "--per-thread", "--match", "leaf")[1]
    equal(sorted(re.findall(r"^ +(\d+) .*\(leaf\)$", out, re.M)), ["400", "5", "600"], "a table for each thread")
    leaves = {tids["5"]: 5, tids["400"]: 400, tids["600"]: 600}
    out = sonde("report", capture, "--per-thread", "--json", "--table", "functions")[1]
    equal({row["thread"]: row["calls"] for row in json.loads(out)["functions"] if row["function"] == "leaf"}, leaves, "as JSON")
    out = sonde("report", capture, "--per-thread", "--csv", "--callers=leaf")[1]
    rows = list(csv.DictReader(out.splitlines()))
    equal({int(row["thread"]): int(row["calls"]) for row in rows}, leaves, "callers as CSV")
    assert all(row["process"].startswith("%d " % tids["5"]) for row in rows), rows



def test_threads_of_merged_captures_are_told_apart_beyond_the_tree(folder):
    """One capture has the paths of all calls, the other none: merged, each thread has its own calls and callers."""
    write(folder, "script.py", THREADS)
    leaves, callers = {}, {}
    for name, nodes in (("many", "1000000"), ("few", "2")):
        equal(calls(folder, "-q", "--nodes", nodes, "-o", name + ".sonde", "script.py").status, 0, name)
        with open(os.path.join(folder, "tids")) as f:
            tids = json.load(f)
        leaves.update({tids["5"]: 5, tids["400"]: 400, tids["600"]: 600})
        callers.update({(tids["5"], "alpha"): 5, (tids["400"], "alpha"): 400, (tids["600"], "beta"): 600})
    equal(len(leaves), 6, "threads")
    equal(sonde("merge", "many.sonde", "few.sonde", "-o", "both.sonde", cwd=folder).status, 0, "merge")
    for files in (["both.sonde"], ["many.sonde", "few.sonde"]):
        out = sonde("report", *files, "--per-thread", "--json", "--all", "--table", "functions", cwd=folder).out
        equal({row["thread"]: row["calls"] for row in json.loads(out)["functions"] if row["function"] == "leaf"}, leaves, "calls in %s" % files)
        out = sonde("report", *files, "--per-thread", "--json", "--callers=leaf", cwd=folder).out
        rows = {(row["thread"], row["caller"].split()[0]): row["calls"] for row in json.loads(out)["callers"]}
        equal(rows, callers, "callers in %s" % files)
        out = sonde("report", *files, "--json", "--all", "--table", "functions", cwd=folder).out
        equal([row["calls"] for row in json.loads(out)["functions"] if row["function"] == "leaf"], [2010], "all threads in %s" % files)

PROCESSES = """
import multiprocessing, os, subprocess, sys
def leaf(n):
    return n + 1
def work(n):
    for i in range(n):
        leaf(i)
    return n
if __name__ == "__main__":
    work(100)
    if os.fork() == 0:
        work(20)
        os._exit(0)
    os.wait()
    subprocess.run([sys.executable, "-c", "import script; script.work(3)"], check=True)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(work, [1000] * 4)
        pool.close()
        pool.join()
"""


def test_all_processes_are_in_one_capture(folder):
    write(folder, "script.py", PROCESSES)
    for method in ("fork", "spawn"):
        status, out, err = calls(folder, "--force", "-o", "x.sonde", "script.py", method)
        equal(status, 0, err)
        rows = functions(os.path.join(folder, "x.sonde"))
        equal((rows["leaf"]["calls"], rows["work"]["calls"]), (4123, 7), method)


ENDINGS = """
import os, signal, sys, threading
def leaf(n):
    return n + 1
def work(n):
    for i in range(n):
        leaf(i)
work(500)
def last():
    work(7)
    %s
last()
"""


def test_no_way_to_end_loses_calls(folder):
    for ending, status in (("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise ValueError", 1),
                           ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
                           ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM)):
        write(folder, "script.py", ENDINGS % ending)
        got, out, err = calls(folder, "--force", "-o", "x.sonde", "script.py")
        equal(got, status, ending)
        rows = functions(os.path.join(folder, "x.sonde"))
        equal((rows["leaf"]["calls"], rows["work"]["calls"], rows["last"]["calls"]), (507, 2, 1), ending)
        assert rows["<module>"]["total"] >= rows["work"]["total"] > 0, ending


def test_a_capture_is_read_while_it_is_made_and_after_its_owner_was_killed(folder):
    script = write(folder, "script.py", ENDINGS % "print('there', flush=True); sys.stdin.read()")
    capture = os.path.join(folder, "x.sonde")
    owner = subprocess.Popen([SONDE, "calls", "--python", PYTHON, "-o", capture, script], cwd=folder, env=clean_env(),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        equal(owner.stdout.readline(), b"there\n")
        equal(functions(capture)["leaf"]["calls"], 507, "while it runs")
        owner.kill()
        owner.wait()
    finally:
        owner.stdin.close()  # ends the program, too
        owner.stdout.read()
        owner.stdout.close()
        owner.stderr.close()
    equal(functions(capture)["leaf"]["calls"], 507, "after kill -9 of the owner")


COROUTINES = """
import asyncio
async def nap():
    await asyncio.sleep(0.2)
async def outer():
    await nap()
asyncio.run(outer())
"""


def test_coroutines_have_running_and_elapsed_time(folder):
    write(folder, "script.py", COROUTINES)
    calls(folder, "-o", "x.sonde", "script.py")
    rows = functions(os.path.join(folder, "x.sonde"))
    for name in ("nap", "outer"):
        assert rows[name]["elapsed"] >= 200e6, "%s lasted %d ns" % (name, rows[name]["elapsed"])
        # However long it had to wait for a CPU: it did not run while it slept.
        assert rows[name]["total"] <= rows[name]["elapsed"] - 190e6, "%s ran for %d of %d ns" % (name, rows[name]["total"], rows[name]["elapsed"])


def test_cpu_time_is_said_to_be_that(folder):
    write(folder, "script.py", "import time\ndef nap():\n    time.sleep(0.3)\nnap()\n")
    status, out, err = calls(folder, "--cpu", "-o", "x.sonde", "script.py")
    assert re.search(r" function calls .*in \d\.\d{3} CPU seconds\n", out), out
    contains(err, "sonde: times are CPU time;")
    rows = re.findall(r"^ +1 .* (\d\.\d{3}) +[\d.]+ .*\(nap\)$", out, re.M)
    assert len(rows) == 1 and float(rows[0]) < 0.15, out
    status, out, err = sonde("report", "x.sonde", cwd=folder)
    rows = re.findall(r"^ +1 .* (\d\.\d{3}) +[\d.]+ .*\(nap\)$", out, re.M)
    assert len(rows) == 1 and float(rows[0]) >= 0.299 and "CPU seconds" not in out, out
    assert "CPU time;" not in err, err


def test_calls_that_find_a_full_tree_are_told_of(folder):
    write(folder, "script.py", "for i in range(3000):\n    eval('lambda x: x', {})(i)\n")
    status, out, err = calls(folder, "--nodes", "1000", "-o", "x.sonde", "script.py")
    equal(status, 0, err)
    told = re.search(r" ([\d,]+) calls \([\d.]+ % of the time\) are known by caller and callee alone", err)
    assert told and 2000 <= int(told.group(1).replace(",", "")) <= 6000, err
    assert re.search(r"^ *3000 .*\(<lambda>\)$", out, re.M), out
    assert "[" not in "".join(re.findall(r"\d (\S+)$", out, re.M)), out
    contains(sonde("info", "x.sonde", cwd=folder).out, told.group(1) + " calls (")


PATHS = """
def leaf(n): pass
def f(n, d):
    leaf(n)
    if d:
        (f if n % 2 else g)(n // 2, d - 1)
        (g if n % 3 else f)(n // 3, d - 1)
def g(n, d):
    f(n + 1, d - 1) if d else leaf(d)
f(100, 9)
"""


def test_functions_and_their_callers_are_the_same_at_any_number_of_paths(folder):
    """Only what needs paths shows where they left the tree."""
    write(folder, "script.py", PATHS)
    for name, nodes in (("all", "1000000"), ("few", "20")):
        equal(calls(folder, "--nodes", nodes, "-q", "-o", name + ".sonde", "script.py").status, 0, name)
    columns = ("function", "file", "line", "calls", "primitive", "starts")
    for how in (["--table", "functions"], ["--per-thread", "--table", "functions"]):
        tables = [json.loads(sonde("report", name + ".sonde", "--json", *how, cwd=folder).out)["functions"] for name in ("all", "few")]
        equal(*[sorted([row[c] for c in columns] for row in table) for table in tables], "rows with " + " ".join(how))
    for side in "--callers", "--callees":
        tables = [re.sub(r" *\d+\.\d{3}", "", sonde("report", name + ".sonde", side, "-s", "name", cwd=folder).out) for name in ("all", "few")]
        equal(*[tables[i].split("\n", 3)[3] for i in (1, 0)], side)
    for how in (["--tree"], ["--mine"], ["--by", "module"], ["--imports"]):
        contains(sonde("report", "few.sonde", *how, cwd=folder).out, "[beyond the tree]")
    sonde("report", "few.sonde", "--flame", "-o", "few.svg", cwd=folder)
    with open(os.path.join(folder, "few.svg")) as f:
        contains(f.read(), "[beyond the tree]")


# From 3.12 on Generic.__init_subclass__ is in C, calls object's, and is named like it (by cProfile, too).
TWINS_IN_C = """
import typing
class P(typing.Protocol): pass
class Q(P, typing.Protocol): pass
"""


def test_c_functions_that_look_the_same_are_no_recursion(folder):
    write(folder, "script.py", TWINS_IN_C)
    for nodes in "1000000", "2":
        found = table(calls(folder, "--builtins", "--all", "-q", "--nodes", nodes, "-o", nodes + ".sonde", "script.py").out)
        # What 3.15 calls a class method does not tell of which class it is.
        ncalls = found.get("{method '__init_subclass__' of 'object' objects}") or found.get("{method '__init_subclass__'}")
        assert ncalls and ncalls.isdigit(), (nodes, ncalls)


def test_paths_that_left_the_tree_keep_their_time(folder):
    write(folder, "script.py", PATHS)
    calls(folder, "--nodes", "20", "-q", "-o", "few.sonde", "script.py")
    rows = json.loads(sonde("report", "few.sonde", "--json", "--tree", cwd=folder).out)["calls"]
    functions = json.loads(sonde("report", "few.sonde", "--json", "--table", "functions", cwd=folder).out)["functions"]
    own_of_tree, own_of_functions = sum(row["own"] for row in rows), sum(row["own"] for row in functions)
    assert abs(own_of_tree - own_of_functions) <= 0.02 * own_of_tree, (own_of_tree, own_of_functions)
    equal(sum(row["calls"] for row in rows), sum(row["calls"] for row in functions), "calls")


LIBRARY = """
import json
def load(n):
    for _ in range(n):
        json.loads("[1, 2]")
load(200)
"""


def test_libraries_fold_and_roll_up(folder):
    write(folder, "script.py", LIBRARY)
    mine = table(calls(folder, "-o", "x.sonde", "--mine", "script.py")[1])
    equal(mine.get("load"), "1")
    assert "loads" not in mine and "decode" not in mine, mine
    capture = os.path.join(folder, "x.sonde")
    whole = functions(capture)
    folded = functions(capture, "--mine")
    loads = functions(capture, file="json/__init__.py")["loads"]
    equal(loads["calls"], 200)
    equal(folded["load"]["own"], whole["load"]["total"], "all below it is its own")
    assert folded["load"]["own"] >= loads["total"], (folded["load"], loads)
    status, out, err = sonde("report", capture, "--json", "--by", "module", "--table", "functions")
    modules = {row["module"]: row for row in json.loads(out)["modules"]}
    assert modules["json"]["calls"] >= 200 and modules["script"]["calls"] == 1, modules


def test_imports_are_a_tree(folder):
    write(folder, "low.py", "import time\ntime.sleep(0.4)\n")
    write(folder, "high.py", "import low\n")
    write(folder, "script.py", "import high\n")
    calls(folder, "-o", "x.sonde", "script.py")
    status, out, err = sonde("report", os.path.join(folder, "x.sonde"), "--json", "--imports")
    equal(status, 0, err)
    rows = {row["module"]: row for row in json.loads(out)["imports"]}
    assert rows["low"]["own"] >= 400e6 and rows["high"]["total"] >= rows["low"]["total"], rows
    assert rows["high"]["own"] <= rows["high"]["total"] - rows["low"]["total"], rows


def test_other_formats(folder):
    # A leaf of no length may end up with no time, and has no box then.
    write(folder, "script.py", SCRIPT.replace("return n + 1", "return n + sum(range(20000))"))
    calls(folder, "-o", "x.sonde", "script.py")
    for name in ("x.speedscope.json", "x.collapsed", "x.pb.gz", "x.trace.json", "x.firefox.json", "x.pstats"):
        status, out, err = sonde("convert", "x.sonde", name, cwd=folder)
        equal(status, 0, err)
    with open(os.path.join(folder, "x.collapsed")) as f:
        stacks = f.read()
    assert re.search(r"<module> \(script\.py:\d+\);main \(script\.py:\d+\);work \(script\.py:\d+\);leaf \(script\.py:3\) \d+$",
                     stacks, re.M), stacks
    status, out, err = sonde("report", "x.sonde", "--flame", "-o", "x.svg", cwd=folder)
    equal(status, 0, err)
    with open(os.path.join(folder, "x.svg")) as f:
        contains(f.read(), "leaf")
    code = "import pstats; pstats.Stats('x.pstats').sort_stats('calls').print_stats(1)"
    contains(run([PYTHON, "-c", code], cwd=folder)[1], "(leaf)")


if __name__ == "__main__":
    run_tests(globals())
