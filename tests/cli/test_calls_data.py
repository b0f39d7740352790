# SPDX-License-Identifier: MIT
"""sonde calls: its numbers as data, and processes that outlive the program.  None of it depends on the version of Python."""
import csv
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, clean_env, contains, equal, is_alive, run_tests, sonde, wait_for, write  # noqa: E402

SCRIPT = """
def leaf(n):
    return n + 1
def work(n):
    for i in range(n):
        leaf(i)
def recurse(n):
    return n and recurse(n - 1)
def main():
    work(10)
    work(20)
    recurse(4)
    print("total 10")
main()
"""


def calls(folder, *words, **how):
    """sonde calls with this interpreter: (status, out, err)."""
    return sonde("calls", "--python", PYTHON, *words, cwd=folder, **how)


def test_data_has_the_words_of_the_report(folder):
    """sonde calls prints what sonde report prints of its capture, text and data alike."""
    write(folder, "script.py", SCRIPT)
    for options in ([], ["-s", "ncalls,name", "-n", "3"], ["--match", r"script\.py:\d+$", "--reverse", "-s", "pcalls"],
                    ["--callers=(?i)LEAF"], ["--by", "module", "--mine"], ["--per-thread", "--strip-dirs"]):
        out = calls(folder, "--force", "-o", "x.sonde", "--json", *options + ["script.py"])[1]
        got = json.loads(out[out.index("{"):])
        status, out, err = sonde("report", "x.sonde", "--json", *options, cwd=folder)
        equal((status, got), (0, json.loads(out)), options)
    out = calls(folder, "--force", "-o", "x.sonde", "--csv", "-s", "calls", "script.py")[1]
    assert out.startswith("total 10\n"), out[:60]
    equal(out[len("total 10\n"):], sonde("report", "x.sonde", "--csv", "-s", "calls", cwd=folder)[1])
    rows = list(csv.DictReader(out.splitlines()[1:]))
    row, = [row for row in rows if row["function"] == "recurse"]
    equal((row["calls"], row["primitive"], row["starts"], row["line"]), ("5", "1", "5", "7"))
    assert int(row["total"]) >= int(row["own"]) > 0 and row["file"].endswith("script.py"), row
    equal([int(row["calls"]) for row in rows], sorted((int(row["calls"]) for row in rows), reverse=True), "sorted")
    out = calls(folder, "-o", "x.collapsed", "--json", "script.py")[1]
    equal(json.loads(out[out.index("{"):])["file"], None, "the capture is not kept")


def test_what_has_columns_is_sorted_by_them(folder):
    """And what no column is called is known before the program starts."""
    write(folder, "script.py", SCRIPT)
    for options in (["--json", "-s", "own"], ["--csv", "-s", "per_call,-line"], ["--scaling", "-s", "exponent"],
                    ["--json", "--callers", "-s", "callee"], ["--json", "--per-thread", "-s", "thread_name"]):
        status, out, err = calls(folder, "--force", "-o", "x.sonde", *options + ["script.py"])
        equal((status, out.splitlines()[0]), (0, "total 10"), (options, err))
        assert "there is no column" not in err, err
    for options, word in ((["-s", "own"], "own"), (["--json", "-s", "age"], "age"), (["--scaling", "-s", "primitive"], "primitive"),
                          (["--csv", "--callers", "-s", "starts"], "starts"), (["--json", "-s", "thread_name"], "thread_name")):
        status, out, err = calls(folder, *options + ["script.py"])
        equal((status, out), (2, ""), options)
        contains(err, word)


def test_growth_is_a_table_of_twenty_rows_unless_more_are_asked_for(folder):
    write(folder, "script.py", "".join("def f%d(rows): pass\nf%d([1]); f%d([1, 2])\n" % (i, i, i) for i in range(25)))
    for options, n in (([], 20), (["-n", "30"], 25), (["--csv"], 25)):
        status, out, err = calls(folder, "--force", "-o", "x.sonde", "--scaling", *options + ["script.py"])
        equal((status, sum(line[0] == "f" and line[1].isdigit() for line in out.splitlines() if len(line) > 1)), (0, n), (options, err))


SIZES = """
def sums(rows):
    total = 0
    for row in rows:
        total += row
for n in (200, 600, 2000, 6000, 20000):
    sums(list(range(n)))
"""


def test_growth_is_drawn_and_what_has_no_effect_on_it_is_refused(folder):
    write(folder, "sizes.py", SIZES)
    status, out, err = calls(folder, "--scaling", "-o", "growth.svg", "--match", "sums", "sizes.py")
    equal(status, 0, err)
    contains(out, "len(rows)", "the table")
    with open(os.path.join(folder, "growth.svg"), encoding="utf-8") as file:
        contains(file.read(), "CPU time of a call", "the picture")
    status, out, err = calls(folder, "--scaling", "--signatures=types", "sizes.py")
    equal((status, out), (2, ""), "sizes are needed")
    contains(err, "--signatures=sizes")
    calls(folder, "--scaling", "-o", "x.sonde", "sizes.py")
    status, out, err = sonde("report", "x.sonde", "--scaling", "--metric", "calls", cwd=folder)
    equal((status, out), (2, ""), "calls do not grow")
    contains(err, "cpu_time")


def test_growth_of_a_program_without_sizes_is_an_answer(folder):
    """Nothing has a size: that is said once, and data are data."""
    write(folder, "one.py", "def f(): pass\nf()\n")
    status, out, err = calls(folder, "--scaling", "-o", "x.sonde", "one.py")
    equal(status, 0, err)
    contains(out, "no function was called with arguments of several sizes")
    assert "sonde calls --scaling" not in err, err
    status, out, err = calls(folder, "--scaling", "--json", "-o", "y.sonde", "one.py")
    equal((status, json.loads(out)["scaling"]), (0, []), err)
    for options in (["--scaling"], []):
        status, out, err = calls(folder, "--json", "--force", "-o", "y.sonde", *options + ["--", "/bin/true"])
        equal((status, type(json.loads(out))), (0, dict), "of a program without Python: " + err)
        contains(err, "no calls were recorded: sonde saw no Python function run")
    status, out, err = calls(folder, "--scaling", "-o", "growth.svg", "one.py")
    equal((status, err.count("to draw its growth"), err.count("sizes")), (0, 1, 1), err)
    status, out, err = sonde("report", "x.sonde", "--scaling", cwd=folder)
    equal((status, err.count("\n")), (1, 1), err)
    contains(err, "no argument has a size")


def test_what_has_no_effect_on_growth_is_refused(folder):
    write(folder, "sizes.py", SIZES)
    for options, said in ((["-o", "x.prof"], "x.prof would be a pstats file, which cannot hold how time grows"), (["-o", "x.txt"], "-o growth.svg"),
                          (["--per-thread"], "--per-thread has no effect with --scaling"), (["--by", "module"], "--by has no effect"),
                          (["--digits", "6"], "--digits has no effect"), (["--callers"], "--callers has no effect"),
                          (["--reverse"], "-s exponent")):
        status, out, err = calls(folder, "--scaling", *options + ["sizes.py"])
        equal((status, out, err.count("\n")), (2, "", 1), (options, err))
        contains(err, said)
    equal(sorted(os.listdir(folder)), ["sizes.py"], "files")
    calls(folder, "--scaling", "-o", "x.sonde", "sizes.py")
    for options, said in ((["--tree"], "--tree has no effect on the table of --scaling"), (["--per-thread"], "--per-thread has no effect"), (["--by", "module"], "--by has no effect"),
                          (["--digits", "3"], "--digits has no effect"), (["--idle"], "--idle has no effect"), (["--strip-dirs"], "--strip-dirs has no effect"),
                          (["--width", "800"], "--width has no effect"), (["--no-signatures"], "--scaling needs signatures"), (["--reverse"], "-s exponent"),
                          (["-o", "growth.svg", "-n", "3"], "--rows has no effect on the picture of --scaling"),
                          (["-o", "growth.svg", "-s", "exponent"], "--sort has no effect")):
        status, out, err = sonde("report", "x.sonde", "--scaling", *options, cwd=folder)
        equal((status, out, err.count("\n")), (2, "", 1), (options, err))
        contains(err, said)
    for options in (["--reverse", "-s", "exponent", "-n", "3", "--match", "sums"], ["--csv", "--strip-dirs"], ["--metric", "time", "--raw", "--mine"],
                    ["-o", "growth.svg", "--width", "800", "--match", "sums"], ["--table", "processes", "--tree"]):
        status, out, err = sonde("report", "x.sonde", "--scaling", *options, cwd=folder)
        equal(status, 0, (options, err))


def test_what_calls_do_not_have_is_not_passed_over(folder):
    write(folder, "script.py", SCRIPT)
    calls(folder, "-o", "x.sonde", "script.py")
    for options, wanted, said in ((["--metric", "nonsense"], 2, 'calls have no metric "nonsense"; the metrics of calls are '),
                                  (["--metric", "samples", "--json"], 2, 'calls have no metric "samples"'),
                                  (["--metric", "nonsense", "--flame", "-o", "f.svg"], 2, "calls have no metric"),
                                  (["--gil"], 2, "--gil works on samples"),
                                  (["--graph", "--gil"], 2, "--gil works on samples"),
                                  (["--graph", "--metric", "nonsense"], 2, "a call graph cannot show"),
                                  (["--graph", "--metric", "calls"], 2, "a call graph cannot show"),
                                  (["--graph", "--metric", "cpu_time"], 1, "CPU time was not measured"),
                                  (["--graph", "--filter", "zz"], 1, "--filter leaves nothing"),
                                  (["--flame", "-o", "f.svg", "--filter", "zz"], 1, "--filter leaves nothing")):
        status, out, err = sonde("report", "x.sonde", *options, cwd=folder)
        equal((status, out, err.count("\n")), (wanted, "", 1), (options, err))
        contains(err, said)
    equal(sonde("report", "x.sonde", "--graph", "--metric", "time", cwd=folder)[:2], sonde("report", "x.sonde", "--graph", cwd=folder)[:2], "a graph of time")


def test_files_of_all_kinds_come_through_pipes(folder):
    write(folder, "script.py", SCRIPT)
    calls(folder, "-o", "x.sonde", "script.py")
    calls(folder, "-o", "x.pstats", "script.py")
    for name in "x.sonde", "x.pstats":
        with open(os.path.join(folder, name), "rb") as file:
            whole = file.read()
        for options in ((), ("--graph",), ("--json",)):
            named = sonde("report", name, *options, cwd=folder)
            piped = subprocess.run([SONDE, "report", "-"] + list(options), cwd=folder, input=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
            equal((named.status, piped.returncode, piped.stderr.decode()), (0, 0, named.err), (name, options))
            equal(piped.stdout.count(b"\n"), named.out.count("\n"), "lines of %s %r" % (name, options))


def test_what_has_no_lines_says_so(folder):
    write(folder, "script.py", SCRIPT)
    calls(folder, "-o", "x.sonde", "script.py")
    for options in (["--lines"], ["--by", "line"], ["--table", "lines", "--json"]):
        status, out, err = sonde("report", "x.sonde", *options, cwd=folder)
        equal((status, out), (2, ""), options)
        contains(err, "have no lines")
        contains(err, "sonde record")


def test_calls_are_in_csv_and_json_files(folder):
    write(folder, "script.py", SCRIPT)
    calls(folder, "-o", "x.sonde", "script.py")
    for name in ("x.csv", "x.json"):
        equal(sonde("convert", "x.sonde", name, cwd=folder)[0], 0, name)
    with open(os.path.join(folder, "x.csv"), newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["kind"] == "calls"]
    equal(sum(int(row["calls"]) for row in rows if row["name"] == "leaf"), 30)
    equal(sorted(int(row["starts"]) for row in rows if row["name"] == "recurse"), [1] * 5, "a row for each depth")
    equal({row["start_s"] for row in rows}, {""}, "no moment is theirs")
    with open(os.path.join(folder, "x.json")) as f:
        made = json.load(f)
    name_of = {stack["id"]: made["sites"][stack["site"]]["name"] for stack in made["stacks"]}
    equal(sum(call["values"]["calls"] for call in made["calls"] if name_of[call["stack"]] == "leaf"), 30)


OUTLIVES = """
import os, sys, time
def leaf(n):
    return n + 1
def work(n):
    for i in range(n):
        leaf(i)
work(10)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        for fd in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        with open("daemon.tmp", "w") as f:
            f.write(str(os.getpid()))
        os.rename("daemon.tmp", "daemon")
        while not os.path.exists("go"):
            time.sleep(0.01)
        work(50)
        os.rename("daemon", "done")
        os._exit(0)
    os._exit(0)
os.wait()
while not os.path.exists("daemon"):
    time.sleep(0.01)
"""


def test_a_process_that_outlives_the_program_is_told_of(folder):
    write(folder, "script.py", OUTLIVES)
    for to, kept in (("x.sonde", "x.sonde"), ("x.pstats", "x.pstats.sonde")):
        for name in ("go", "done"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        status, out, err = calls(folder, "-o", to, "script.py")
        equal(status, 0, err)
        with open(os.path.join(folder, "daemon")) as f:
            pid = int(f.read())
        told = r"process %d \(python[\d.]*\) still runs: what is recorded there from now on stays in %s\.live" % (pid, re.escape(kept))
        assert re.search(told, err), err
        contains(err, "which sonde report %s also reads" % kept)
        assert to == kept or "the capture is kept: %s" % kept in err, err
        equal(os.path.exists(os.path.join(folder, to)), True, to)
        write(folder, "go", "")
        wait_for(lambda: os.path.exists(os.path.join(folder, "done")) and not is_alive(pid), "the daemon's end")
        out = sonde("report", kept, "--json", "--table", "functions", cwd=folder)[1]
        equal([row["calls"] for row in json.loads(out)["functions"] if row["function"] == "leaf"], [60], "what it called later, too")


if __name__ == "__main__":
    run_tests(globals())
