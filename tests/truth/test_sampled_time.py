# SPDX-License-Identifier: MIT
# interpreters: all
# alone
"""Shares of time that sampling finds, against programs that know them (tests/targets/splits.py).

A gate is four sigma of what so many samples can tell, plus a budget for bias: 1 point, for what a
program does between two of its own clock readings; plus the share of the time in which the program
could have run and had no CPU: then the sampler had none either, looked late, and saw what came
after.  On a quiet machine that is nothing.  FIGURES=1 prints what was found.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import HAS_JIT, TARGETS, between, clean_env, equal, run_tests  # noqa: E402
from sampled import GIL, IDLE, WAITS_GIL, in_function, leaf_is, sample, share  # noqa: E402

PROGRAM = os.path.join(TARGETS, "splits.py")
BUDGET = 0.01


def measured(folder, kind, seconds, *options, **how):
    out, samples = sample(folder, PROGRAM, kind, seconds, options=options, **how)
    samples.adds_up()
    return json.loads(out.splitlines()[-1]), samples


def check_share(samples, chosen, of, truth, what, by="n", starved=0.0):
    p, sigma = share(samples, chosen, of, by)
    off = 100 * (4 * sigma + BUDGET + starved)
    between(100 * (p - truth), -off, off, "points off of %s (%s, truth %.1f %%)" % (what, by, 100 * truth))


def check_parts(samples, truth, of, names, how=in_function):
    total = sum(truth["wall"][n] for n in names)
    for name in names:
        for by in ("n", "wall"):
            check_share(samples, how(name), of, truth["wall"][name] / total, name, by, 1 - truth["ran"])


def check_split(folder, **how):
    truth, samples = measured(folder, "split", 1.5, **how)
    names = ["part_10", "part_20", "part_30", "part_40"]
    check_parts(samples, truth, in_function(*names), names)
    total = sum(truth["cpu"].values())
    for name in names:
        check_share(samples, in_function(name), in_function(*names), truth["cpu"][name] / total, name, "cpu", 1 - truth["ran"])


def test_split(folder):
    """G1: four functions with the same loop, 10, 20, 30 and 40 %."""
    check_split(folder)


if HAS_JIT:
    def test_split_with_the_jit_compiler(folder):
        check_split(folder, env=clean_env(PYTHON_JIT="1"))


def test_function_bias(folder):
    """G2: small calls are charged with what they take, not with being calls."""
    truth, samples = measured(folder, "bias", 1.5)
    check_parts(samples, truth, in_function("inline", "by_calls"), ["inline", "by_calls"])
    assert any(s.frames[0].name == "small" for s in samples), "no sample inside the small function"


def test_as_fast_as_can_be(folder):
    """Without a rate, a stack that stands still gives more samples than one that changes; the time that they stand for is true."""
    out, samples = sample(folder, PROGRAM, "bias", 1.0, options=("--sample-rate", "1000000"))
    truth = json.loads(out.splitlines()[-1])
    equal(sum(s.n for s in samples), samples.count("samples"), "samples in the file")
    total = sum(truth["wall"].values())
    for name in ("inline", "by_calls"):
        # A sampler that is put off its CPU for a while does not know where that time went: hence 10 points, and four
        # sigma, which few long intervals make large.
        found, sigma = share(samples, in_function(name), in_function("inline", "by_calls"), "wall")
        off = 10 + 400 * sigma
        between(100 * (found - truth["wall"][name] / total), -off, off, "points off of " + name)


def test_lines(folder):
    """G4: three lines of one function, 10, 30 and 60 %."""
    truth, samples = measured(folder, "lines", 1.5)
    lines = sorted(truth["wall"], key=int)
    total = sum(truth["wall"].values())
    here = [s for s in samples if s.frames[0].name == "three_lines" and str(s.frames[0].line) in lines]
    for line in lines:
        check_share(here, lambda s: str(s.frames[0].line) == line, lambda s: True, truth["wall"][line] / total, "line " + line, starved=1 - truth["ran"])


def test_threads(folder):
    """G5: 25 and 75 % of the CPU time, no function in the other's thread, one holder of the GIL at a time."""
    truth, samples = measured(folder, "threads", 1.2)
    chosen = [s for s in samples if s.thread in ("thread_a", "thread_b")]
    for s in chosen:
        other = {"thread_a": "b", "thread_b": "a"}[s.thread]
        assert not any(f.name in ("leaf_" + other, "thread_" + other) for f in s.frames), "%s in %s" % (s.frames, s.thread)
    total = sum(truth["cpu"].values())
    check_share(chosen, lambda s: s.thread == "thread_a", lambda s: True, truth["cpu"]["thread_a"] / total, "thread_a", "cpu")
    cpu = sum(s.cpu for s in chosen) / 1e9
    # What a thread did after the last look at it is never seen, and a busy machine lets us look late.
    between(cpu / total, 0.85, 1.02, "CPU time of both threads, of the truth")
    holders = {}
    for s in samples:
        if s.flags & GIL and s.n == 1:
            holders[s.time] = holders.get(s.time, 0) + 1
    equal(max(holders.values()), 1, "threads that hold the GIL at once")
    assert any(s.flags & WAITS_GIL for s in chosen), "two threads that work never wait for the GIL"


PARTS = ["sleeps", "naps", "reads", "locks", "works", "compresses"]
WAITING = ["sleeps", "naps", "reads", "locks"]


def main_thread(samples):
    return [s for s in samples if s.pid == s.tid and any(f.name == "waits" for f in s.frames)]


def test_wall_knows_waiting(folder):
    """G7: sleeping, reading and waiting for a lock, long and short, are time and are idle."""
    truth, samples = measured(folder, "waits", 1.2)
    mine = main_thread(samples)
    total = sum(truth["wall"].values())
    for name in PARTS:
        check_share(mine, in_function(name), in_function(*PARTS), truth["wall"][name] / total, name, "wall")
    wall = sum(s.wall for s in mine if in_function(*PARTS)(s)) / 1e9
    starved = sum(truth["starved"].values()) / total
    between(wall / total, 0.9 - starved, 1.1 + starved, "wall time of all parts, of the truth")
    for name in WAITING:
        # A thread that was woken and has no CPU yet does not wait any more; the kernel knows for how long.
        idle, _ = share(mine, lambda s: s.flags & IDLE, in_function(name))
        awake = (truth["cpu"][name] + truth["starved"][name]) / truth["wall"][name]
        between(idle, 0.8 - awake, 1, "idle share of " + name)
    for name in ("works", "compresses"):
        idle, _ = share(mine, lambda s: s.flags & IDLE, in_function(name))
        between(idle, 0, 0.1, "idle share of " + name)


def test_cpu_knows_no_waiting(folder):
    """G7: in CPU mode those who wait are absent."""
    truth, samples = measured(folder, "waits", 1.2, "--sample-mode", "cpu")
    mine = main_thread(samples)
    working, sigma = share(mine, in_function("works", "compresses"), in_function(*PARTS))
    # One that was woken and has no CPU yet does not wait any more: it may be told, and the kernel knows for how long.
    # When that is often, the sampler is late just as often, and finds more of them: hence 10 points.  Were those who
    # wait told, too, the share would be a third.
    awake = sum(truth["cpu"][name] + truth["starved"][name] for name in WAITING)
    works = sum(truth["wall"][name] for name in PARTS if name not in WAITING)
    between(working, works / (works + awake) - 4 * sigma - 0.1, 1, "share of samples in the parts that work")
    equal([s for s in samples if s.flags & IDLE], [], "idle samples")


def test_cpu_time_is_the_threads(folder):
    """G7: in CPU mode the CPU time of samples is the thread's.  What passes after the last sample is in none, and a
    sampler whose machine stalls at the program's end has its last one early: of three runs the middle one is judged."""
    ratios = []
    for turn in "abc":
        own = os.path.join(folder, turn)
        os.mkdir(own)
        truth, samples = measured(own, "waits", 0.8, "--sample-mode", "cpu")
        ratios.append(sum(s.cpu for s in main_thread(samples)) / 1e9 / sum(truth["cpu"].values()))
    between(sorted(ratios)[1], 0.85, 1.15, "CPU time, of the truth (%s)" % ratios)


def test_gil_knows_who_holds_it(folder):
    """G7: in GIL mode work without the GIL is absent, too.

    Of all samples of this program one sixth would be in `works`, of those in CPU mode one half; here it
    is all but the moments in which another part holds the GIL, which last while it has no CPU."""
    _, samples = measured(folder, "waits", 1.2, "--sample-mode", "gil")
    mine = main_thread(samples)
    holding, sigma = share(mine, in_function("works"), in_function(*PARTS))
    between(holding, 0.8 - 4 * sigma, 1, "share of samples in the part that holds the GIL")
    equal([s for s in samples if not s.flags & GIL], [], "samples without the GIL")


run_tests(globals())
