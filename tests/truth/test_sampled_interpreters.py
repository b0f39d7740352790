# SPDX-License-Identifier: MIT
# interpreters: all
"""Sub-interpreters that come and go while a program is sampled.

What runs in one is told as that, and not as own time of the function that has made it: also of one
that was made a while ago and had nothing to run, and of one that has the address of one that is gone.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import equal, run_tests, write  # noqa: E402
from sampled import in_function, leaf_is, sample  # noqa: E402

SOURCE = """
import sys, time
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
run = getattr(sub, "run_string", None) or sub.exec
WORK = '''
import time
def in_sub():
    end = time.perf_counter() + %f
    while time.perf_counter() < end:
        pass
in_sub()
'''
def make():
    return sub.create()
def host(interpreter, seconds):
    run(interpreter, WORK % seconds)
def end(interpreter):
    sub.destroy(interpreter)
"""
AGAIN = SOURCE + """
for i in range(4):
    it = make()
    host(it, 0.3)
    end(it)
"""
LATE = SOURCE + """
some = [make() for i in range(3)]
time.sleep(0.1)
for it in some:
    host(it, 0.3)
"""


def check(folder, source):
    """Until a new interpreter has run its first line the time is the own time of host, some milliseconds."""
    _, told = sample(folder, write(folder, "subs.py", source), rate=300)
    told.adds_up()
    inside = sum(s.wall for s in told if in_function("in_sub")(s))
    host = sum(s.wall for s in told if leaf_is("host")(s))
    assert inside > 0.5e9, "time in the sub-interpreters: %d ns" % inside
    assert host < 0.15 * inside, "%d ns are host's own, %d ns of the sub-interpreters" % (host, inside)
    equal([s for s in told if in_function("in_sub")(s) and in_function("host")(s)], [], "stacks of two interpreters")


def test_one_after_the_other(folder):
    check(folder, AGAIN)


def test_made_before_they_are_used(folder):
    check(folder, LATE)


run_tests(globals())
