# SPDX-License-Identifier: MIT
# needs: numpy
"""accelerate.profiler's manual, with its import line changed: its two tables, headings and signatures to the letter.

Where it shows `2/1` for dot it has booked len, a builtin, on its caller; here the counts are true and len has its row.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, equal, run, run_tests, write  # noqa: E402

PROGRAM = """\
from sonde.compat.accelerate import profiler
import numpy as np



{0}
def dot(a, b):
  sum=0
  for i in range(len(a)):
      sum += a[i]*b[i]
  return sum

a = np.arange(16, dtype=np.float32)
b = np.arange(16, dtype=np.float32)

p = profiler.Profile({1})
p.enable()
dot(a, b)
p.disable()
p.print_stats()
"""
ARRAY = "ndarray(dtype=float32, shape=(16,))"


def table(folder, how):
    write(folder, "dot.py", PROGRAM.format("", how))
    result = run([PYTHON, "dot.py"], cwd=folder)
    equal(result.err, "", "stderr")
    return [re.sub(r"\d\.\d{3}", "0.000", line) for line in result.out.splitlines()]


def expected(dot):
    row = "        1    0.000    0.000    0.000    0.000 "
    return ["         3 function calls in 0.000 seconds", "", "   Ordered by: standard name", "",
            "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)", row + "dot.py:7(%s)" % dot,
            row + "{built-in method builtins.len}", row + "{method 'disable' of 'sonde.Profile' objects}", "", ""]


def test_without_signatures(folder):
    equal(table(folder, "signatures=False"), expected("dot"), "the table")


def test_with_signatures_by_default(folder):
    equal(table(folder, ""), expected("dot(a:%s, b:%s)" % (ARRAY, ARRAY)), "the table")


def test_it_is_not_among_the_aliases(folder):
    path = run([SONDE, "compat-path"]).out.strip()
    assert os.path.isdir(path) and not [name for name in os.listdir(path) if name.startswith("accelerate")], os.listdir(path)


def test_names(folder):
    result = run([PYTHON, "-c", "from sonde.compat.accelerate import profiler as p; import sonde\n"
                  "print(p.Profile is sonde.Profile, p.run is sonde.run, 'plot' in dir(p), hasattr(p, 'nothing'))"])
    equal((result.out, result.err), ("True True True False\n", ""), "what it has")


if __name__ == "__main__":
    run_tests(globals())
