# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""An assert of Sonde's that breaks inside a program stops the measuring and says why in the capture; the program goes on.

The program breaks one itself: the function that every broken assert calls is not exported, so the program finds its
address among the symbols of the extension, and calls it while a function whose calls or lines are measured runs.
"""
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, contains, equal, run, run_tests, sections_by_process, sonde, write  # noqa: E402

BREAK = """
import ctypes, sys
import sonde
def broken_assert():
    path = sys.modules["sonde._sonde"].__file__
    with open("/proc/self/maps") as maps:
        base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
    at, = [int(line.split()[0], 16) for line in SYMBOLS if line.split()[2:] == ["sd_assert_broken"]]
    return ctypes.PYFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)(base + at)
SYMBOLS = open("symbols").read().splitlines()
"""

# Nothing measures the second half: the interpreter makes our pending call between two instructions, soon after the break.
PROGRAM = BREAK + """
def before(): return 1
def after(): return 1
def work(f, n):
    with sonde.section(f.__name__):
        return sum(f() for i in range(n))
def main():
    total = work(before, 100)
    broken_assert()(b"x.c", 7, b"one == two")
    for i in range(1000): pass
    hook = sys.getprofile(), sys.gettrace()
    total += work(after, 100)
    print(total, hook)
    sys.exit(3)
main()
"""

WHY = "a check of Sonde's own failed, which is a fault in Sonde (x.c:7: one == two)"


def rows_of(capture, *words):
    return list(csv.DictReader(io.StringIO(sonde("report", "--csv", "-n", "0", *words, capture).out)))


def recorded(folder, *words, script=PROGRAM):
    """The program under `sonde WORDS`: its output and status are its own, and the capture says why the measuring stopped."""
    extension = run([PYTHON, "-c", "import sonde._sonde as s; print(s.__file__)"]).out.strip()
    write(folder, "symbols", run(["nm", extension]).out)
    write(folder, "script.py", script)
    path = os.path.join(folder, "x.sonde")
    result = sonde(*words, "--python", PYTHON, "-o", path, "script.py", cwd=folder)
    equal(result.status, 3, "status (%s)" % result.err[-400:])
    equal(result.out.splitlines()[0], "200 (None, None)", "what the program says")
    info = sonde("info", path)
    contains(info.out + info.err, WHY, "what the capture says")
    return path


def test_sections(folder):
    names = [name for of_process in sections_by_process(recorded(folder, "run")).values() for name in of_process]
    equal(names, ["before"], "sections")


def test_calls(folder):
    rows = {row["function"]: row for row in rows_of(recorded(folder, "calls"))}
    equal(rows["before"]["calls"], "100", "calls of before")
    assert "after" not in rows, rows["after"]


def test_lines(folder):
    path = recorded(folder, "lines", "--only", "before,after")
    lines = {row["function"]: row for row in rows_of(path) if row.get("hits") not in (None, "", "0")}
    equal(lines["before"]["hits"], "100", "hits of the line of before")
    assert "after" not in lines, lines["after"]


def test_alloc(folder):
    """What was allocated before is there, and what is allocated after is not."""
    script = PROGRAM.replace("return 1\ndef after(): return 1", "return bytes(100003)\ndef after(): return bytes(100003)")
    script = script.replace("sum(f() for i in range(n))", "sum(len(f()) for i in range(n))").replace("print(total, hook)", "print(total // 100003, hook)")
    path = recorded(folder, "alloc", script=script)
    rows = json.loads(sonde("report", "--alloc", "--total", "--by", "function", "--json", "-n", "0", path).out)["allocations"]
    counts = {row["function"]: row["bytes"] // 100003 for row in rows if row["bytes"] >= 100003}    # 3.8 allocates frames, too
    equal(counts.get("before"), 100, "allocations of before")
    assert "after" not in counts, counts


def test_thread(folder):
    """One that breaks in another thread stops the calls of all."""
    script = PROGRAM.replace('    broken_assert()(b"x.c", 7, b"one == two")', """    import threading
    worker = threading.Thread(target=broken_assert(), args=(b"x.c", 7, b"one == two"))
    worker.start()
    worker.join()""")
    assert script != PROGRAM
    rows = {row["function"]: row for row in rows_of(recorded(folder, "calls", script=script))}
    equal(rows["before"]["calls"], "100", "calls of before")
    assert "after" not in rows, rows["after"]


def test_each_collector_inside(_):
    """A collector that runs in the program has a test of its name here."""
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(source, "src", "collect", "collectors.def")) as table:
        names = re.findall(r"^(?:INSIDE|PYTHON)\((\w+)\)$", table.read(), re.M)
    assert names
    equal([name for name in names if "test_" + name not in globals()], [], "collectors without a test")


if __name__ == "__main__":
    run_tests(globals())
