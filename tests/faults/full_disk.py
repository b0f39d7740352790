# SPDX-License-Identifier: MIT
"""A disk that is soon full: the disk itself, and pieces of programs that fill it while their calls are traced."""
import contextlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import need, run  # noqa: E402

# Many calls along one path: a timeline grows with them, a tree of calls does not.
LEAF = """
def leaf(): pass
def work(n):
    for _ in range(n):
        leaf()
"""
# function(i)(n) calls a function of its own n + 1 times, one in the other: a tree of calls grows with it.
FUNCTION = """
def function(i):
    names = {}
    exec("def f%d(n):\\n    return n and f%d(n - 1)" % (i, i), names)
    return names["f%d" % i]
"""
# Takes all that is left of the disk; the first argument is a file on it.
FILL = """
import sys
def fill():
    try:
        with open(sys.argv[1], "wb", buffering=0) as f:
            while True:
                f.write(bytes(4096))
    except OSError:
        pass
"""


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of so many bytes, as mount says it ("32k"); its folder."""
    need(os.geteuid() == 0, "only root may mount")
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    mounted = run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", disk])
    need(mounted.status == 0, "no mount here: %s" % mounted.err.strip())
    try:
        yield disk
    finally:
        run(["umount", "-l", disk])
        os.rmdir(disk)
