# SPDX-License-Identifier: MIT
# interpreters: all
"""A sampler that may not run where the program runs tells no stack that cannot be, and says why it cuts them.

The program has the last CPU to itself, by its affinity, and `sonde` all others, as under taskset or in a container of
its own.  So nobody can be followed.  Stacks marked as partial may lack their inner end; what they have must be
possible, too: from 3.11 on two copies prove it, before that many looks do.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, clean_env, equal, need, run_tests, sonde, write  # noqa: E402
from sampled import Samples  # noqa: E402

# Two chains that take turns, each for some hundred nanoseconds, in a loop that changes no variable.
TURNS = """
import time
def a2():
    return 1
def a1():
    return a2()
def b2():
    return 2
def b1():
    return b2()
def turns():
    while True:
        a1()
        b1()
print(flush=True)
turns()
"""
CALLED_FROM = {"a2": ("a1", 6), "b2": ("b1", 10), "a1": ("turns", 13), "b1": ("turns", 14)}


def record_apart(folder, command, rate, *words):
    """Samples of the program from other CPUs, and what `sonde` said."""
    cpus = sorted(os.sched_getaffinity(0))
    need(len(cpus) > 1, "one CPU: nobody can be apart")
    path = os.path.join(folder, "apart.sonde")
    program = subprocess.Popen([PYTHON] + command, stdout=subprocess.PIPE, env=clean_env(),
                               preexec_fn=lambda: os.sched_setaffinity(0, cpus[-1:]))
    try:
        program.stdout.readline()
        os.sched_setaffinity(0, cpus[:-1])
        result = sonde("record", "-o", path, "-r", rate, "-d", "1.5", "--pid", program.pid, *words)
    finally:
        os.sched_setaffinity(0, cpus)
        program.kill()
        program.wait()
        program.stdout.close()
    equal(result.status, 0, "status (%s)" % result.err.strip())
    return Samples(path), result.err


def impossible_turn(frames):
    for inner, outer in zip(frames, frames[1:]):
        if inner.name in CALLED_FROM and CALLED_FROM[inner.name] != (outer.name, outer.line):
            return "%s called by %s at line %d" % (inner.name, outer.name, outer.line)
    return None


def impossible_in_tree(frames):
    frames = [f for f in frames if f.file == "call_tree.generated"]
    for inner, outer in zip(frames, frames[1:]):
        if inner.name[:-1] != outer.name:
            return "%s called by %s" % (inner.name, outer.name)
        if outer.line != outer.first + 2 + int(inner.name[-1]):
            return "%s called from line %d of %s" % (inner.name, outer.line - outer.first, outer.name)
    return None


def check(samples, said, impossible):
    samples.adds_up()
    n = sum(s.n for s in samples)
    assert n >= 50, "%d samples" % n
    wrong = [why for why in (impossible([f for f in s.frames if f.name != "[partial]"]) for s in samples) if why]
    equal(wrong[:5], [], "impossible stacks, %d of %d" % (len(wrong), n))
    if samples.count("apart") > n / 10:
        equal(said.count("sonde may not run there"), 1, "times that the reason is said in %r" % said)
    return n


def test_two_chains_in_turn(folder):
    samples, said = record_apart(folder, [write(folder, "turns.py", TURNS)], 1000)
    check(samples, said, impossible_turn)
    if sys.version_info < (3, 11):
        assert samples.count("apart") > 50, "%d reads from another CPU" % samples.count("apart")


def test_tree_of_calls(folder):
    samples, said = record_apart(folder, [os.path.join(TARGETS, "call_tree.py")], 1000)
    check(samples, said, impossible_in_tree)


def test_a_stack_that_stands_is_whole(folder):
    """What does not change in all the looks is not cut."""
    source = "def inner():\n    while True:\n        pass\ndef outer():\n    inner()\nprint(flush=True)\nouter()\n"
    samples, _ = record_apart(folder, [write(folder, "stands.py", source)], 200)
    whole = sum(s.n for s in samples if [f.name for f in s.frames] == ["inner", "outer", "<module>"])
    assert whole > 0.9 * sum(s.n for s in samples), "%d of %d stacks are whole" % (whole, sum(s.n for s in samples))


run_tests(globals())
