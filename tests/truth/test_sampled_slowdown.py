# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
# quiet
"""A program that is recorded needs at most 1.25 times the CPU time for the same work.

On a machine that others use, too, the same work takes 0.40 s of CPU time in one second and 0.71 s in the next, so two
runs, or the best of three, tell nothing.  Here one program works on (tests/targets/told_units.py), and the sampler is
stopped and let go in short windows, one beside the other, in an order that is drawn.  A window is a number of
units, however long they take, so none is empty on a busy machine.  What counts is the mean of the ratios of a hundred
pairs, without a tenth at each end; not the median, because the sampler comes so seldom that it misses some windows.

In every second turn there is a third window: the sampler is stopped, and each unit has 1.6 times the work.  The same
arithmetic must find that, or it would find no slow-down of the sampler either.  FIGURES=1 prints what was found.
"""
import contextlib
import math
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PYTHON, SONDE, TARGETS, between, clean_env, equal, run_tests, wait_for  # noqa: E402
from sampled import Samples, in_function, share  # noqa: E402
from undisturbed import middle  # noqa: E402

PROGRAM = os.path.join(TARGETS, "told_units.py")
MOST = 1.25
PAIRS = 100
UNITS = 60              # of a window: about 10 ms of CPU time, a sample or two
SETTLE_S = 0.002        # after the sampler was stopped or let go
USUAL, BURDENED = 3000, 4800    # steps of a unit
NOBODYS = 1             # the row of what is done between windows
BARE, WATCHED, BURDEN = "bare", "watched", "with a burden"


class Table:
    """What the program is told to do, and what it has done."""

    def __init__(self, path):
        with open(path, "w+b") as f:
            f.truncate(16 * (3 * PAIRS + 8))
            self.numbers = memoryview(mmap.mmap(f.fileno(), 0)).cast("Q")
        self.path, self.last = path, NOBODYS
        self.order(NOBODYS, USUAL)

    def order(self, row, steps):
        self.numbers[1] = steps
        self.numbers[0] = row

    def units(self, row):
        return self.numbers[2 * row]

    def window(self, steps):
        """CPU nanoseconds of a unit."""
        self.order(NOBODYS, steps)
        time.sleep(SETTLE_S)
        self.last += 1
        row = self.last
        self.order(row, steps)
        wait_for(lambda: self.units(row) >= UNITS, "%d units of work" % UNITS)
        self.order(NOBODYS, steps)
        return self.numbers[2 * row + 1] / self.units(row)


@contextlib.contextmanager
def running(*command):
    """A process that has a group of its own, so that nothing is left of it, and the file with what it says."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=clean_env(), start_new_session=True)
        try:
            yield process, said
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def one_turn(sampler, table, kinds):
    """{kind: CPU nanoseconds of a unit}."""
    found = {}
    for kind in random.sample(kinds, len(kinds)):
        sampler.send_signal(signal.SIGCONT if kind == WATCHED else signal.SIGSTOP)
        found[kind] = table.window(BURDENED if kind == BURDEN else USUAL)
    return found


def ratio(turns, kind):
    """How much more than bare; the mean of logarithms, because that of ratios which scatter is more than the ratio."""
    return math.exp(middle([math.log(turn[kind] / turn[BARE]) for turn in turns if kind in turn])[0])


def measure(sampler, said, table, capture):
    """All turns, from when there is a capture, which is after sonde has found the program; then this is told to end,
    and with it the sampler does."""
    wait_for(lambda: table.units(NOBODYS) and os.path.exists(capture), "the program's first unit, and the capture")
    turns = [one_turn(sampler, table, (BARE, WATCHED) + (BURDEN,) * (n % 2 == 0)) for n in range(PAIRS)]
    sampler.send_signal(signal.SIGCONT)
    table.order(NOBODYS, 0)
    status = sampler.wait(LIMIT_S)
    said.seek(0)
    equal(status, 0, "status of sonde (%r)" % said.read()[-400:])
    return turns


def check(turns, capture):
    between(ratio(turns, BURDEN), MOST, 2.2, "the same with 1.6 times the work")
    between(ratio(turns, WATCHED), 0.5, MOST, "CPU time of the same work when recorded, of that when not")
    samples = Samples(capture)
    between(sum(s.n for s in samples), PAIRS // 3, 10 ** 6, "samples")
    between(share(samples, in_function("heavy"))[0], 0.5, 1, "share of samples in the function that works")


def test_a_running_program(folder):
    table, capture = Table(os.path.join(folder, "table")), os.path.join(folder, "x.sonde")
    with running(PYTHON, PROGRAM, table.path) as (program, _):
        with running(SONDE, "record", "-o", capture, "--pid", str(program.pid)) as (sampler, said):
            turns = measure(sampler, said, table, capture)
    check(turns, capture)


def test_a_command(folder):
    table, capture = Table(os.path.join(folder, "table")), os.path.join(folder, "x.sonde")
    with running(SONDE, "record", "-o", capture, "--", PYTHON, PROGRAM, table.path) as (sampler, said):
        turns = measure(sampler, said, table, capture)
    check(turns, capture)


run_tests(globals())
