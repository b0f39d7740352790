# SPDX-License-Identifier: MIT
"""Takes one hundredth of the CPU that a program runs on: a slow-down that is known.

    takes.py CPU SECONDS
"""
import os
import sys
import time

EVERY_S, TAKEN_NS = 0.005, 50000


def main():
    end = time.monotonic() + float(sys.argv[2])
    os.sched_setaffinity(0, {int(sys.argv[1])})
    while time.monotonic() < end:
        time.sleep(EVERY_S)
        until = time.thread_time_ns() + TAKEN_NS
        while time.thread_time_ns() < until:
            pass


main()
