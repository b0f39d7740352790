# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""Allocations of which some are drawn: what they stand for agrees with what was allocated, as well as it says."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, between, equal, once, run, run_tests, sonde, write  # noqa: E402

FOLDER = os.environ["TMPDIR"]
SIZES = [17, 101, 1009, 10007, 30011, 100003]     # bytes of a block; 64 KiB are between two that are drawn
EACH = 8                                          # functions of each size
BYTES = 12000000                                  # that each of them allocates, about

PROGRAM = """
import ctypes
import sys
library = ctypes.CDLL(sys.argv[1])
library.set_many.argtypes = ctypes.c_size_t, ctypes.c_size_t
many = library.case_many
for size in %r:
    library.set_many(size, %d // size)
    for i in range(%d):
        names = {"many": many}
        exec("def f_%%d_%%d(): many()" %% (size, i), names)
        names["f_%%d_%%d" %% (size, i)]()
""" % (SIZES, BYTES, EACH)


@once
def capture():
    library = os.path.join(FOLDER, "allocated.so")
    done = run(["cc", "-O2", "-pthread", "-shared", "-fPIC", "-o", library, os.path.join(TARGETS, "allocated.c"), "-l:libstdc++.so.6"])
    equal(done.status, 0, done.err)
    path = os.path.join(FOLDER, "x.sonde")
    done = sonde("alloc", "--mode", "sample", "--sample-bytes", "64KiB", "-o", path, "--python", PYTHON, write(FOLDER, "program.py", PROGRAM), library)
    equal(done.status, 0, done.err)
    return path


def ask(*options):
    done = sonde("report", capture(), "--alloc", "--json", "--all", "--by", "function", *options)
    equal(done.status, 0, done.err)
    return json.loads(done.out)


def check(option, share):
    """How far off each function is, in its own standard errors: not one in two hundred is beyond three."""
    rows = {row["function"]: row for row in ask(option)["allocations"]}
    off = []
    for size in SIZES:
        for i in range(EACH):
            row, wanted = rows["f_%d_%d" % (size, i)], BYTES // size
            wanted = size * (wanted - wanted // 2 if share == 0.5 else wanted)
            assert row["bytes_error"] > 0, "no error of %r" % row
            off.append((row["bytes"] - wanted) / row["bytes_error"])
    beyond = [round(z, 2) for z in off if abs(z) > 3]
    assert len(beyond) <= 3, "beyond three standard errors: %r" % beyond
    between(sum(off) / math.sqrt(len(off)), -4, 4, "error of all, in standard errors")
    between(sum(z * z for z in off) / len(off), 0.3, 2, "mean square of the errors")


def test_what_was_drawn_stands_for_all(folder):
    check("--total", 1)


def test_what_was_drawn_and_not_freed_stands_for_what_is_left(folder):
    check("--leaks", 0.5)


def test_a_sample_says_what_it_is(folder):
    s = ask()["alloc"]
    equal((s["mode"], s["overlaps"], s["lost"]), ("sample", 0, 0))
    between(s["bytes"], 0.9 * BYTES * len(SIZES) * EACH, 1.1 * BYTES * len(SIZES) * EACH, "bytes")


run_tests(globals())
