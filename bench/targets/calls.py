# SPDX-License-Identifier: MIT
"""Small functions calling small functions, with a journal of the work done.

    calls.py SECONDS JOURNAL

A unit takes some 20 µs.
"""
import sys
import time

from journal import Journal


def add(a, b):
    return a + b


def scale(a):
    return add(a, a) & 1023


def step(a):
    return add(scale(a), scale(a + 1))


def unit(n):
    total = 0
    for i in range(40):
        total = step(total + i)
    return total


def main():
    end = time.monotonic() + float(sys.argv[1])
    journal, done = Journal(sys.argv[2]), 0
    print("ready", flush=True)
    while time.monotonic() < end:
        for _ in range(10):
            unit(done)
        done += 10
        journal.note(done)


main()
