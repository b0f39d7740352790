# SPDX-License-Identifier: MIT
# interpreters: all
"""The first rows of tables: imports are one row each, the program's own functions come first, and data stays whole."""
import json
import os
import pstats
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, contains, equal, run_tests, sonde, write  # noqa: E402

# Most of the time is that of an import, and json brings importlib along.
BODY = """
import json, time
def inner():
    end = time.process_time() + 0.25
    while time.process_time() < end:
        sum(range(100))
inner()
"""
SCRIPT = """
import mine.net
def work():
    return sum(range(1000000))
work()
"""
# More functions than are printed, and the library's take the time.
MANY = """
import json
%s
def main():
    for i in range(20):
        json.loads(json.dumps(list(range(1000))))
%s
main()
""" % ("\n".join("def f%d():\n    pass" % i for i in range(45)), "\n".join("    f%d()" % i for i in range(45)))
GROWS = """
import json, decimal
def total(rows):
    return sum(x * y for x in rows for y in rows[:10])
for n in (100, 200, 400, 800, 1600, 3200):
    total(list(range(n)))
"""


def record(folder, *options):
    os.mkdir(os.path.join(folder, "mine"))
    write(folder, "mine/__init__.py", "")
    write(folder, "mine/net.py", BODY)
    write(folder, "script.py", SCRIPT)
    rate = () if "--with" in options else ("--sample-rate", "500")
    status, out, err = sonde("run", "--python", PYTHON, "-o", "x.sonde", *rate + options + ("script.py",), cwd=folder)
    equal(status, 0, err)
    return err


def is_listed(table, function):
    """As a row; its share is the machine's, too: one that stands still for a second gives its CPU time to whoever ran."""
    return re.search(r"^ *[\d.]+ +[\d.]+ .*\b%s(?: .*)?$" % re.escape(function), table, re.M) is not None


def test_an_import_is_one_row_of_the_summary_and_of_the_report(folder):
    summary = record(folder)
    _, report, _ = sonde("report", "x.sonde", cwd=folder)
    for what, table in ("summary", summary), ("report", report):
        assert is_listed(table, "import mine.net"), (what, table)
        for word in "importlib", "_find_and_load", "sitecustomize", "inner":
            assert word not in table, (what, word, table)
        contains(table, "an import is one row (--all shows what it does)", what)


def test_all_and_data_are_not_folded(folder):
    err = record(folder, "--all")
    for table in err, sonde("report", "x.sonde", "--all", cwd=folder)[1]:
        assert not is_listed(table, "import mine.net") and is_listed(table, "inner"), table
    rows = json.loads(sonde("report", "x.sonde", "--json", cwd=folder)[1])["functions"]
    names = [row["function"] for row in rows]
    assert "inner" in names and "_find_and_load" in names and not [name for name in names if name.startswith("import ")], names
    assert not [row for row in rows if (row["file"] or "").endswith("_bootstrap/sitecustomize.py")], "Sonde's own start"
    contains(sonde("report", "x.sonde", "--csv", cwd=folder)[1], "_find_and_load")
    contains(sonde("report", "x.sonde", "--match", "inner", cwd=folder)[1], "inner", "what is looked for is shown")


def last_table(out):
    """Of what top printed, the last table in which the program was still seen to run."""
    return [table for table in out.split("%Own")[1:] if "script.py" in table][-1]


def test_an_import_is_one_row_of_top(folder):
    record(folder)
    for what in ("x.sonde",), ("--delay", "100ms", "--rate", "500", "script.py"):
        own = () if what[0] == "x.sonde" else ("--python", PYTHON)
        folded, plain = (last_table(sonde("top", *option + own + what, cwd=folder)[1]) for option in ((), ("--all",)))
        assert "import mine.net (script.py:2)" in folded and "importlib" not in folded and "inner" not in folded, folded
        assert "import mine.net" not in plain and "inner" in plain, plain
    contains(sonde("top", "x.sonde", "--json", cwd=folder)[1], '"_find_and_load"', "data is whole")


def test_an_import_is_one_row_of_traced_calls(folder):
    err = record(folder, "--with", "calls")
    assert is_listed(re.sub(r"(?m)^ +\d+ ", " ", err), "import mine.net") and "inner" not in err, err


def rows(out):
    return re.findall(r"^ +[\d/]+ +[\d.]+ .*[:(]([\w<>]+)\)$", out, re.M)


def test_calls_prints_forty_rows_and_the_programs_own_first(folder):
    write(folder, "many.py", MANY)
    calls = ("calls", "--python", PYTHON)
    status, out, err = sonde(*calls + ("many.py",), cwd=folder)
    equal(status, 0, err)
    contains(out, " to 40 due to restriction <40>\n")
    equal(len(rows(out)), 40, "rows")
    assert all(re.match(r"f\d+$|main$|<module>$", name) for name in rows(out)), out
    times = [float(t) for t in re.findall(r"^ +[\d/]+ +[\d.]+ +[\d.]+ +([\d.]+)", out, re.M)]
    equal(times, sorted(times, reverse=True), "the order that was asked for")
    equal(len(rows(sonde(*calls + ("-n", "3", "many.py"), cwd=folder)[1])), 3, "-n")
    equal(len(rows(sonde(*calls + ("--strip-dirs", "many.py"), cwd=folder)[1])), 40, "--strip-dirs")
    everything = sonde(*calls + ("--all", "many.py"), cwd=folder)[1]
    assert len(rows(everything)) > 47 and "reduced" not in everything, everything
    sonde(*calls + ("-o", "x.prof", "many.py"), cwd=folder)
    assert len(pstats.Stats(os.path.join(folder, "x.prof")).stats) > 47, "a file is whole"


def test_sondes_own_finder_is_in_no_table_at_any_number_of_paths(folder):
    """It is asked for modules that nobody else has found."""
    write(folder, "script.py", "for i in range(3):\n    try:\n        import no_such_module\n    except ImportError:\n        pass\n")
    for nodes in "1000", "2":
        out = sonde("calls", "--python", PYTHON, "--nodes", nodes, "--all", "-o", nodes + ".sonde", "script.py", cwd=folder,
                    env=clean_env(PYTHONPATH=None)).out
        contains(out, "(_find_and_load)")
        assert "_bootstrap/sitecustomize.py" not in out, (nodes, out)


def test_growth_lists_the_programs_functions_first(folder):
    write(folder, "grows.py", GROWS)
    calls = ("calls", "--python", PYTHON, "--scaling")
    status, out, err = sonde(*calls + ("-o", "x.sonde", "grows.py"), cwd=folder)
    equal(status, 0, err)
    lines = out.splitlines()
    assert lines[2].startswith("total "), out
    contains(out, "\nimport json ")
    contains(out, "\nimport decimal ")
    assert "importlib" not in out, out
    everything = sonde("report", "x.sonde", "--scaling", "--all", cwd=folder)[1]
    assert "importlib" in everything and "import json" not in everything, everything


run_tests(globals())
