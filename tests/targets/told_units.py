# SPDX-License-Identifier: MIT
"""Works in units, and adds up the CPU time of each where it is told to, for whoever watches it from outside.

    told_units.py TABLE

TABLE is a file of 64-bit numbers that both map.  The first two are orders: the row to which units are added, and how
many steps a unit has (0: end).  Row n is at 2n and 2n + 1: units, and CPU nanoseconds of these.  A unit during which
the order changed is added to no row.
"""
import mmap
import sys
import time

LONGEST_S = 300         # should nobody be left who could say when to end


def heavy(steps):
    t = 0
    for i in range(steps):
        t += i
    return t


def main():
    with open(sys.argv[1], "r+b") as f:
        table = memoryview(mmap.mmap(f.fileno(), 0)).cast("Q")
    until, before = time.monotonic() + LONGEST_S, time.process_time_ns()
    while table[1] and time.monotonic() < until:
        row = table[0]
        heavy(table[1])
        now = time.process_time_ns()
        if row == table[0]:
            table[2 * row + 1] += now - before
            table[2 * row] += 1
        before = now


main()
