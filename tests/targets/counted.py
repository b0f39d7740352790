# SPDX-License-Identifier: MIT
"""Opens and closes sections until told to stop, and counts them itself in a shared page.

    counted.py PAGE [THREADS]

The page (a file of 4 KiB, mapped) is the truth: word 0 to 15 say how many sections each thread
has finished, word 256 is our pid, word 257 asks us to stop, word 258 is 1 after an orderly end.
A count is stored after the `with` has ended, so the capture may be ahead of it by the section in
hand of each thread, and never behind.
"""
import mmap
import os
import sys
import threading

from sonde import Profiler

PID, STOP, DONE = 256, 257, 258
MOST_SECTIONS = 4000000         # whoever forgot to stop us finds the disk not full


def work(profiler, words, mine):
    n = 0
    while not words[STOP] and n < MOST_SECTIONS:
        with profiler("work"):
            n += 1
        words[mine] = n


def main():
    with open(sys.argv[1], "r+b") as f:
        words = memoryview(mmap.mmap(f.fileno(), 4096)).cast("Q")
    n_threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    # A profiler of its own for each thread keeps them from waiting for one list.
    profilers = [Profiler(measure=("time",)) for _ in range(n_threads)]
    words[PID] = os.getpid()
    threads = [threading.Thread(target=work, args=(profilers[i], words, i)) for i in range(1, n_threads)]
    for t in threads:
        t.start()
    work(profilers[0], words, 0)
    for t in threads:
        t.join()
    words[DONE] = 1


if __name__ == "__main__":
    main()
