# SPDX-License-Identifier: MIT
"""Allocations of torch: a tensor's bytes, in the modes full and aggregate; and its threads give back all that they take."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import equal, need, python_with, run_tests, sonde, write  # noqa: E402

PROGRAM = """
import torch
kept = [None] * 4
def small(): kept[0] = torch.empty(100003, dtype=torch.uint8)
def large(): kept[1] = torch.empty(5000011, dtype=torch.uint8)
def dropped(): torch.empty(7000003, dtype=torch.uint8)
def product():
    a = torch.ones(400, 400)
    for _ in range(5):
        a = a @ a / 400
    return float(a.sum())
small(), large(), dropped(), product()
small(), large(), dropped(), print(product())
"""


def rows(path, *options):
    done = sonde("report", path, "--alloc", "--json", "--all", *options)
    equal(done.status, 0, done.err)
    return json.loads(done.out)


def check(folder, mode):
    python = python_with("torch")
    need(python, "no torch in any environment of the tests (CI=true installs torch for one version)")
    path = os.path.join(folder, mode + ".sonde")
    done = sonde("alloc", "--mode", mode, "-o", path, "--python", python, write(folder, "program.py", PROGRAM))
    equal((done.status, done.out.splitlines()[0]), (0, "160000.0"), done.err)
    answer = rows(path, "--by", "function", "--leaks")
    equal((answer["alloc"]["overlaps"], answer["alloc"]["lost"]), (0, 0), "overlaps and lost")
    left = {row["function"]: row["bytes"] for row in answer["allocations"]}
    all_of = {row["function"]: row["bytes"] for row in rows(path, "--by", "function", "--total")["allocations"]}
    # A tensor's object is as large as another's; the first of each has what is made once.
    equal(left["large"] - left["small"] in range(5000011 - 100003 - 4096, 5000011 - 100003 + 4096), True, "difference of two tensors: %r" % left)
    equal(all_of["dropped"] - 2 * 7000003 in range(4096), True, "what was dropped: %r" % all_of["dropped"])
    by = {row["allocator"]: (row["count"], row["bytes"]) for row in rows(path, "--by", "allocator", "--total", "--filter", "^(small|large|dropped)$")["allocations"]}
    equal(by["posix_memalign"], (6, 2 * (100003 + 5000011 + 7000003)), "data of tensors")


def test_tensors_are_as_large_as_they_say(folder):
    check(folder, "full")


def test_tensors_are_as_large_as_they_say_in_sums(folder):
    check(folder, "aggregate")


run_tests(globals())
