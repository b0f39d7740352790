# SPDX-License-Identifier: MIT
"""A Python thread that works, beside many threads of C (native_threads.c).

    native_threads.py LIBRARY N COUNTER      counts its work in COUNTER (tests/undisturbed.py)
"""
import ctypes
import mmap
import struct
import sys


def step(n):
    total = 0
    for i in range(200):
        total += i * n
    return total


def main():
    library, n_threads = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
    if library.start(n_threads) != 0:
        sys.exit("no more threads")
    with open(sys.argv[3], "r+b") as f:
        counter = mmap.mmap(f.fileno(), 8)
    put, done = struct.Struct("=Q").pack_into, 0
    while True:
        for n in range(20):
            step(n)
        done += 1
        put(counter, 0, done)


main()
