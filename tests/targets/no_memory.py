# SPDX-License-Identifier: MIT
"""A program in which one chosen allocation of Python fails.

    no_memory.py plain|sections

For k = 0, 1, 2 ... the kth request to Python's allocators fails, and no other, until forty in a
row were never made.  Prints one letter for each k: `.` nothing of it was seen by the program, `E`
a MemoryError was.  A failing request in the program's own code is seen with sections as it is
without; one in the code of a section must not be.
"""
import sys
import threading

import _testcapi


def profiler():
    if sys.argv[1] == "plain":
        # A call in C that gives a context manager in C, as a profiler is, and that asks for no memory.
        lock = threading.RLock()
        return {"outer": lock, "inner": lock}.__getitem__
    from sonde import Profiler
    return Profiler()


def drive(p):
    """Some work of its own: each piece asks for memory, inside and outside of sections."""
    kept = []
    for i in range(6):
        with p("outer"):
            kept.append(bytes(1000 + i))
            with p("inner"):
                kept.append(bytes(2000 + i))
    return len(kept)


def main():
    p = profiler()
    for _ in range(5):
        drive(p)
    seen = []
    for k in range(2000):
        letter = "."
        _testcapi.set_nomemory(k, k + 1)
        try:
            drive(p)
        except MemoryError:
            letter = "E"
        finally:
            _testcapi.remove_mem_hooks()
        seen.append(letter)
        drive(p)                    # and it works again
        if seen[-40:] == ["."] * 40:
            break
    sys.stdout.write("".join(seen) + "\n")


main()
