# SPDX-License-Identifier: MIT
"""Small functions calling small functions, and a counter of the work done, to be read from outside.

    calls.py SECONDS COUNTER

COUNTER is a file of eight bytes, mapped: whoever watches reads how many units were done between
two moments, so that a slow-down is seen while the program runs on.  A unit takes some 20 µs.
"""
import mmap
import struct
import sys
import time


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
    with open(sys.argv[2], "r+b") as f:
        counter = mmap.mmap(f.fileno(), 8)
    put, done = struct.Struct("=Q").pack_into, 0
    print("ready", flush=True)
    while time.monotonic() < end:
        for _ in range(10):
            unit(done)
        done += 10
        put(counter, 0, done)


main()
