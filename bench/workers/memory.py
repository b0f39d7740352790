# SPDX-License-Identifier: MIT
"""One reading of a process's own RSS, from Python: ours beside psutil's, its Process kept or new.

    memory.py ROUNDS
"""
import sys

from rounds import measure, tell, version_of


def empty(turns):
    for _ in turns:
        pass


def ours():
    from sonde.compat.amltk import Memory

    def body(turns):
        usage = Memory.usage
        for _ in turns:
            usage("rss")
    return body


def kept():
    import psutil

    def body(turns, process=psutil.Process()):
        for _ in turns:
            process.memory_info().rss
    return body


def new():
    import os
    import psutil

    def body(turns, pid=os.getpid()):
        for _ in turns:
            psutil.Process(pid).memory_info().rss
    return body


def main():
    subjects = {"usage": (ours, 10000)}
    versions = {"psutil": version_of("psutil")}
    if versions["psutil"]:
        subjects["psutil-kept"] = (kept, 1500)
        subjects["psutil-new"] = (new, 600)
    tell(measure(subjects, int(sys.argv[1]), empty), versions)


main()
