# SPDX-License-Identifier: MIT
# interpreters: all
# alone
"""The cost of tracing is not taken for the program's own: two jobs, one with tiny calls and one without.

The truth is how long they take when nothing is traced, measured in turn with the traced runs.  Of both
the shortest of many short runs counts, so that what else the machine does changes nothing.  Aim: the
share of the job with calls is within 5 points of the truth; tolerance on a busy machine: 8.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, run_tests  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import _sonde  # noqa: E402

TOLERANCE = 8
ROUNDS = 150
SETTLING = 110  # sessions until the cost is not measured any more


def tiny(x):
    return x + 1


def with_calls():
    t = 0
    for _ in range(1000):
        t = tiny(t)


def inline():
    t = 0
    for _ in range(3000):
        t = t + 1


class Shortest:
    def __init__(self):
        self.seconds = {}

    def add(self, name, seconds):
        self.seconds[name] = min(seconds, self.seconds.get(name, seconds))

    def share(self):
        """Of the job with calls, in points."""
        return 100 * self.seconds["with_calls"] / (self.seconds["with_calls"] + self.seconds["inline"])


def run_plain(to):
    for job in (with_calls, inline):
        begin = time.perf_counter()
        job()
        to.add(job.__name__, time.perf_counter() - begin)


def run_traced(to, **how):
    p = _sonde.Profile(builtins=False, **how)
    p.enable()
    with_calls()
    inline()
    p.disable()
    for entry in p.getstats():
        if entry.code in (with_calls.__code__, inline.__code__):
            to.add(entry.code.co_name, entry.totaltime)


def shares(**how):
    truth, raw, said = Shortest(), Shortest(), Shortest()
    for _ in range(SETTLING):
        run_traced(Shortest(), **how)
    for _ in range(ROUNDS):
        run_plain(truth)
        run_traced(raw, raw=True, **how)
        run_traced(said, **how)
    return truth.share(), raw.share(), said.share()


def check(**how):
    truth, raw, said = shares(**how)
    words = "truth %.1f %%, as measured %.1f %%, corrected %.1f %%" % (truth, raw, said)
    assert raw > truth, "tracing costs nothing? " + words
    assert abs(said - truth) < TOLERANCE, words
    assert abs(said - truth) < abs(raw - truth) + 2, "it was better before: " + words


def test_tiny_calls_are_not_blamed_for_being_traced(folder):
    check()


if __name__ == "__main__":
    run_tests(globals())
