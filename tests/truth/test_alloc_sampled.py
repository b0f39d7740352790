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

# Mappings that go page by page, in an order that leaves parts on both sides; and one of 64 TiB.
MAPPINGS = """
import ctypes
c = ctypes.CDLL(None)
c.mmap.restype = ctypes.c_void_p
c.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
c.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
def pages(n):
    for i in range(n):
        p = c.mmap(None, 16 * 4096, 3, 0x22, -1, 0)
        for k in range(16):
            c.munmap(p + 4096 * (k * 5 % 16), 4096)
pages(2000)
c.mmap(None, 1 << 46, 0, 0x4022, -1, 0)
"""


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


def test_blocks_that_were_drawn_stand_for_parts_of_others(folder):
    rows = {row["function"]: row for row in ask("--total")["allocations"]}
    for size in SIZES:
        p, wanted = 1 - math.exp(-size / 65536), BYTES // size * EACH
        found = sum(rows["f_%d_%d" % (size, i)]["count"] for i in range(EACH))
        between((found - wanted) / math.sqrt(wanted * (1 - p) / p), -4.5, 4.5, "error of the count of blocks of %d bytes, in standard errors" % size)


def test_what_was_drawn_and_not_freed_stands_for_what_is_left(folder):
    check("--leaks", 0.5)


def test_a_sample_says_what_it_is(folder):
    s = ask()["alloc"]
    equal((s["mode"], s["overlaps"], s["lost"]), ("sample", 0, 0))
    between(s["bytes"], 0.9 * BYTES * len(SIZES) * EACH, 1.1 * BYTES * len(SIZES) * EACH, "bytes")


def test_parts_of_a_mapping_add_up_to_its_weight(folder):
    path = os.path.join(folder, "m.sonde")
    done = sonde("alloc", "--mode", "sample", "-o", path, "--python", PYTHON, write(folder, "m.py", MAPPINGS))
    equal(done.status, 0, done.err)
    done = sonde("report", path, "--alloc", "--leaks", "--by", "function", "--json", "--all")
    equal(done.status, 0, done.err)
    said = json.loads(done.out)
    assert said["alloc"]["frees"] >= 1000, "few mappings were drawn: %r" % said["alloc"]
    between(said["alloc"]["peak_bytes"], 0, 50000000, "bytes at the peak")
    equal([r for r in said["allocations"] if r["function"] == "pages" and r["bytes"] > 4000000], [], "rows of mappings that are gone")


run_tests(globals())
