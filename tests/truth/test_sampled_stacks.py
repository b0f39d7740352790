# SPDX-License-Identifier: MIT
# interpreters: all
"""No stack that cannot be is ever told: two programs that change their stacks faster than they can be read.

Default mode, 1 kHz.  Stacks marked as partial may lack their inner end; all others must be possible
ones, frame by frame and line by line.  Lost and partial together stay below 0.5 % (goals: the same),
with four sigma for the few that there are.
"""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import HAS_JIT, TARGETS, between, clean_env, contains, equal, run_tests, write  # noqa: E402
from sampled import PARTIAL, sample  # noqa: E402

SECONDS = 2.5
LEAST = 100         # samples: fewer prove nothing, whatever the load


def check_counts(samples):
    samples.adds_up()
    looks = samples.count("samples") + samples.count("lost")
    bad = samples.count("partial") + samples.count("lost")
    between(bad, 0, 0.005 * looks + 4 * math.sqrt(0.005 * looks), "lost and partial of %d" % looks)


def impossible_in_tree(frames):
    """Why this stack of call_tree.py cannot be, or None."""
    frames = [f for f in frames if f.file == "call_tree.generated"]
    if [f.name for f in frames] == ["<module>"]:
        return None         # it defines the functions
    for inner, outer in zip(frames, frames[1:]):
        if inner.name[:-1] != outer.name:
            return "%s called by %s" % (inner.name, outer.name)
        if outer.line != outer.first + 2 + int(inner.name[-1]):
            return "%s called from line %d of %s" % (inner.name, outer.line - outer.first, outer.name)
    if frames and frames[-1].name != "t_":
        return "begins with %s" % frames[-1].name
    if frames and not frames[0].first <= frames[0].line <= frames[0].first + 4:
        return "%s at line %d" % (frames[0].name, frames[0].line - frames[0].first)
    return None


def check_tree(folder, **how):
    _, samples = sample(folder, os.path.join(TARGETS, "call_tree.py"), SECONDS, **how)
    in_tree = [s for s in samples if s.frames[0].file == "call_tree.generated"]
    assert sum(s.n for s in in_tree) >= LEAST, "%d samples" % sum(s.n for s in in_tree)
    wrong = [why for why in (impossible_in_tree(s.frames) for s in in_tree if not s.flags & PARTIAL) if why]
    equal(wrong[:5], [], "impossible stacks, %d of %d" % (len(wrong), len(in_tree)))
    assert len({s.frames[0].name for s in in_tree}) > 20, "samples fall everywhere"
    check_counts(samples)
    return samples


def test_tree_of_calls(folder):
    check_tree(folder)


if HAS_JIT:
    def test_tree_of_calls_with_the_jit_compiler(folder):
        samples = check_tree(folder, env=clean_env(PYTHON_JIT="1"))
        contains(str(samples.notes), "the JIT compiler of Python was on")


# Two chains that take turns at the same depth: whoever reads frame by frame finds the inner half of
# one on the outer half of the other.
TURNS = """
import time
def a3(n):
    return n + 1
def a2(n):
    return a3(n) + 1
def a1(n):
    return a2(n) + 1
def b3(n):
    return n + 2
def b2(n):
    return b3(n) + 2
def b1(n):
    return b2(n) + 2
def turns(end):
    while time.monotonic() < end:
        for i in range(200):
            a1(i)
            b1(i)
turns(time.monotonic() + %r)
"""
CHAINS = (("a3", 4), ("a2", 6), ("a1", 8)), (("b3", 10), ("b2", 12), ("b1", 14))
CALLED_AT = {"a1": 18, "b1": 19}


def is_possible_turn(frames):
    """frames: (name, line), innermost first, up to and with `turns`."""
    if frames[0][0] == "turns":
        return len(frames) == 1
    chain = CHAINS[0] if frames[0][0][0] == "a" else CHAINS[1]
    inner, outer = frames[:-1], frames[-1]
    if [f[0] for f in inner] != [name for name, _ in chain[3 - len(inner):]]:
        return False
    # The innermost may stand on its `def`, where a call begins; those that called are on their line.
    lines = dict(chain)
    return (all(line == lines[name] for name, line in inner[1:]) and inner[0][1] in (lines[inner[0][0]], lines[inner[0][0]] - 1)
            and outer == ("turns", CALLED_AT[inner[-1][0]]))


# A child that puts its parent on another CPU all the time: the one that it was told of, because getppid() is that of
# whoever adopts orphans from the moment the program ends, and that process must stay where it is.
MOVER = """
import os, sys, time
parent, cpus, n = int(sys.argv[1]), sorted(os.sched_getaffinity(0)), 0
while os.getppid() == parent:
    n += 1
    try:
        os.sched_setaffinity(parent, {cpus[n % len(cpus)]})
    except ProcessLookupError:
        break
    time.sleep(0.003)
"""
MOVED = "import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', %r, str(os.getpid())], stderr=subprocess.DEVNULL)" % MOVER


def check_turns(folder, source, least):
    program = write(folder, "turns.py", source)
    _, samples = sample(folder, program)
    seen = 0
    wrong = []
    for s in samples:
        names = [f.name for f in s.frames]
        if "turns" not in names or s.flags & PARTIAL:
            continue
        frames = [(f.name, f.line) for f in s.frames[:names.index("turns") + 1]]
        seen += s.n
        if not is_possible_turn(frames):
            wrong.append(frames)
    assert seen >= least, "%d samples" % seen
    equal(wrong[:5], [], "impossible stacks, %d of %d" % (len(wrong), seen))
    return samples


def test_two_chains_in_turn(folder):
    check_counts(check_turns(folder, TURNS % SECONDS, LEAST))


# Where each frame is an object of its own, nothing but standing still proves a stack.
if sys.version_info < (3, 11):
    def test_two_chains_of_a_program_that_is_moved(folder):
        """Between CPUs: we follow, and what was read while it was elsewhere is not told.  More is lost then."""
        check_turns(folder, MOVED + TURNS % SECONDS, 20)


run_tests(globals())
