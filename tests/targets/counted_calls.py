# SPDX-License-Identifier: MIT
"""Calls a function until told to stop, and counts the calls itself in a shared page.

    counted_calls.py PAGE [THREADS]

The page is that of counted.py: word 0 to 15 say how many calls each thread has finished.  A count is
stored after the function has returned, so the capture may be ahead of it by one call of each thread, and
never behind.
"""
import mmap
import os
import sys
import threading

PID, STOP, DONE = 256, 257, 258
MOST_CALLS = 50000000          # whoever forgot to stop us finds a CPU at rest


def leaf(n):
    return n + 1


def work(words, mine):
    n = 0
    while not words[STOP] and n < MOST_CALLS:
        n = leaf(n)
        words[mine] = n


def main():
    with open(sys.argv[1], "r+b") as f:
        words = memoryview(mmap.mmap(f.fileno(), 4096)).cast("Q")
    n_threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    words[PID] = os.getpid()
    threads = [threading.Thread(target=work, args=(words, i)) for i in range(1, n_threads)]
    for t in threads:
        t.start()
    work(words, 0)
    for t in threads:
        t.join()
    words[DONE] = 1


if __name__ == "__main__":
    main()
