# SPDX-License-Identifier: MIT
# interpreters: all
# alone
"""A recursion that branches, with the sizes of its arguments: every call is the first on its path, so that a node of the
tree, and often a signature, is made for each.  That takes several times as long as the call itself, and is nobody's time.

The truth is what the same program takes by `sonde calls --cpu` without sizes, where the whole recursion has a few nodes;
both are CPU time, run in turn, and the medians of seven count: of times less the cost of tracing the shortest is the one of which most was taken.  It was 7 to 10 times the truth when the making of nodes stayed in;
without it is 1.2 to 1.7 times (what a call finds cold behind it stays).  Tolerance: 3.5 times.
"""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PYTHON, equal, run_tests, sonde, write  # noqa: E402

ROUNDS = 7
MOST = 3.5

PROGRAM = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(18)
"""
CALLS = 8361


def fib_of(folder, *options):
    """Its row, of a new run."""
    capture = os.path.join(folder, "x.sonde")
    done = sonde("calls", "-q", "--force", "-o", capture, "--python", PYTHON, *(options + ("program.py",)), cwd=folder)
    equal(done.status, 0, done.err)
    done = sonde("report", capture, "--no-signatures", "--cpu", "--json", cwd=folder)
    equal(done.status, 0, done.err)
    row, = [r for r in json.loads(done.out)["functions"] if r["function"] == "fib"]
    equal(row["calls"], CALLS, "calls")
    return row


def test_the_making_of_nodes_is_nobodys_time(folder):
    write(folder, "program.py", PROGRAM)
    plain, sized = [], []
    for _ in range(ROUNDS):
        plain.append(fib_of(folder, "--cpu")["total"])
        sized.append(fib_of(folder, "--scaling")["total"])
    ratio = statistics.median(sized) / statistics.median(plain)
    assert 0.5 < ratio < MOST, "%.2f times: %r with sizes, %r without" % (ratio, sized, plain)


run_tests(globals())
