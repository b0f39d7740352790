# SPDX-License-Identifier: MIT
"""A program whose every possible stack is known.

A binary tree of functions: t_0110 is called by t_011 alone, from its third line
(t_0111 from the fourth).  A call takes some hundred nanoseconds, so that whoever
reads the stack piece by piece while it runs sees stacks that never were.

    python call_tree.py [SECONDS [DEPTH]]      prints its pid, then runs

The functions stand in the file call_tree.generated, which is no real file: nothing
but names and lines is needed of it.
"""
import os
import sys
import time


def source(depth):
    out = []
    for n in range(depth, -1, -1):
        for i in range(2**n):
            name = "t_" + (format(i, "0%db" % n) if n else "")
            out.append("def %s(n):" % name)
            if n == depth:
                out += ["    s = n", "    s = s + 1", "    s = s * 3", "    return s & 7"]
            else:
                out += [
                    "    a = 0",
                    "    a = %s0(n)" % name,
                    "    a += %s1(n)" % name,
                    "    return a & 7",
                ]
    return "\n".join(out) + "\n"


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1e9
    depth = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    space = {}
    exec(compile(source(depth), "call_tree.generated", "exec"), space)
    root = space["t_"]
    print(os.getpid(), flush=True)
    end = time.monotonic() + seconds
    n = 0
    while time.monotonic() < end:
        for _ in range(20):
            n = root(n)


main()
