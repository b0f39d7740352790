# SPDX-License-Identifier: MIT
# interpreters: all from 3.14
"""Counts and lines are right where Python's JIT compiler is on, and the capture says that it was; a lazy import
(3.15) is made where it is first used, and by nothing of ours."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import HAS_JIT, PACKAGE_PATH, PYTHON, Skip, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

HOT = """
def add(a, b):
    return a + b
def loop(n):
    total = 0
    for i in range(n):
        if i % 3:
            total = add(total, i)
        else:
            total += 1
    return total
def main():
    return [loop(20000) for _ in range(5)]
print(main()[0])
"""
TRUTH = {"add": 5 * 13333, "loop": 5, "main": 1}    # of 20,000 numbers 13,333 are no multiples of 3


def jit():
    if not HAS_JIT:
        raise Skip("this Python has no JIT compiler")
    return clean_env(PYTHON_JIT="1", PYTHONPATH=None)


def test_calls_are_counted(folder):
    write(folder, "hot.py", HOT)
    result = sonde("calls", "--python", PYTHON, "-q", "-o", "x.sonde", "hot.py", cwd=folder, env=jit())
    equal(result.status, 0, result.err)
    rows = json.loads(sonde("report", "x.sonde", "--json", "--table", "functions", cwd=folder).out)["functions"]
    found = {row["function"]: row["calls"] for row in rows if row["function"] in TRUTH}
    equal(found, TRUTH, "calls")
    contains(sonde("info", "x.sonde", cwd=folder).out, "the JIT compiler of Python was on")
    result = sonde("calls", "--python", PYTHON, "-q", "-o", "off.sonde", "hot.py", cwd=folder, env=clean_env(PYTHONPATH=None, PYTHON_JIT="0"))
    assert "JIT" not in sonde("info", "off.sonde", cwd=folder).out


def test_a_variable_that_is_not_read_turns_nothing_on(folder):
    """With -E the interpreter ignores it, and a program may set it for its children."""
    jit()
    write(folder, "own.py", "import os, sys\nos.environ['PYTHON_JIT'] = '1'\nimport sonde\nsonde.start('x.sonde')\nsonde.stop()\nprint(sys._jit.is_enabled())\n")
    for options, env in ((["-E"], {"PYTHON_JIT": "1"}), ([], {"PYTHON_JIT": None})):
        code = "import sys; sys.path.insert(0, %r); exec(open('own.py').read())" % PACKAGE_PATH
        done = run([PYTHON] + options + ["-c", code], cwd=folder, env=clean_env(PYTHONPATH=None, **env))
        equal((done.status, done.out), (0, "False\n"), done.err)
        assert "JIT" not in sonde("info", "x.sonde", cwd=folder).out
        os.remove(os.path.join(folder, "x.sonde"))


LATE = """
import os
os.environ["PYTHON_JIT"] = "1"
"""


def test_one_that_is_turned_on_after_the_start_is_noted(folder):
    """As one that is on by the build of Python: nothing tells of it when the bootstrap runs, before the program's sitecustomize."""
    jit()
    write(folder, "sitecustomize.py", LATE)
    write(folder, "on.py", "import sys; print(sys._jit.is_enabled(), 'atexit' in sys.modules)")
    for i, words in enumerate((("run",), ("calls",), ("run", "--with", "sections"))):
        result = sonde(*words + ("--python", PYTHON, "-q", "-o", "%d.sonde" % i, "on.py"), cwd=folder, env=clean_env(PYTHONPATH=folder, PYTHON_JIT=None))
        equal((result.status, result.out.splitlines()[0]), (0, "True False"), result.err)
        equal(sonde("info", "%d.sonde" % i, cwd=folder).out.count("the JIT compiler of Python was on"), 1, "notes of %s" % (words,))


def test_lines_are_counted(folder):
    path = write(folder, "hot.py", HOT)
    result = sonde("lines", "--python", PYTHON, "-q", "--only", "loop", "-o", "x.sonde", "hot.py", cwd=folder, env=jit())
    equal(result.status, 0, result.err)
    with open(path) as f:
        texts = f.read().splitlines()
    (loop,) = json.loads(sonde("report", "x.sonde", "--json", cwd=folder).out)["functions"]
    hits = {texts[row["line"] - 1].strip(): row["hits"] for row in loop["lines"]}
    equal((hits["total = add(total, i)"], hits["total += 1"], hits["return total"]), (5 * 13333, 5 * 6667, 5), "hits")


LAZY = """
import sys
lazy import plistlib
lazy import fractions
def never():
    return plistlib.dumps({})
def use():
    return fractions.Fraction(1, 3)
use()
print("plistlib" in sys.modules, "fractions" in sys.modules)
"""


def test_a_lazy_import_is_made_where_it_is_used(folder):
    if sys.version_info < (3, 15):
        raise Skip("Python %d.%d has no lazy imports" % sys.version_info[:2])
    write(folder, "lazy.py", LAZY)
    for i, words in enumerate((("run",), ("calls", "-q"), ("calls", "-q", "--builtins", "--signatures"), ("lines", "-q", "--only", "lazy.py"))):
        result = sonde(*words + ("--python", PYTHON, "-o", "%d.sonde" % i, "lazy.py"), cwd=folder, env=clean_env(PYTHONPATH=None))
        equal(result.status, 0, result.err)
        contains(result.out, "False True")
    contains(sonde("report", "1.sonde", "--callees=use", cwd=folder).out, "(_find_and_load)")
    rows = json.loads(sonde("report", "1.sonde", "--json", "--tree", "--all", cwd=folder).out)["calls"]
    outer = [row["function"] for row in rows if row["depth"] == 1 and rows[0]["file"].endswith("lazy.py")]
    assert "use" in outer and "_find_and_load" not in outer, outer


run_tests(globals())
