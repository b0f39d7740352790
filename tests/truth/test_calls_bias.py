# SPDX-License-Identifier: MIT
# interpreters: all
# alone
"""The cost of tracing is not taken for the program's own: two jobs, one with tiny calls and one without.

The truth is how long they take when nothing is traced, measured in turn with the traced runs.  Of both
the shortest of many short runs counts, so that what else the machine does changes little; a process may
yet live only where everything goes at half the speed, so the middle one of five counts.  Aim: the share of the job with calls is
within 5 points of the truth; tolerance on a busy machine: 8.
"""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PACKAGE_PATH, PYTHON, run_tests  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import _sonde  # noqa: E402

TOLERANCE = 8
ROUNDS = 150
PROCESSES = 5


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
    for _ in range(ROUNDS):
        run_plain(truth)
        run_traced(raw, raw=True, **how)
        run_traced(said, **how)
    return truth.share(), raw.share(), said.share()


def in_a_process():
    """What shares() gives in a process of its own."""
    return [float(word) for word in subprocess.check_output([PYTHON, os.path.abspath(__file__), "shares"], timeout=LIMIT_S).split()]


def test_tiny_calls_are_not_blamed_for_being_traced(folder):
    found = [in_a_process() for _ in range(PROCESSES)]
    words = "; ".join("truth %.1f %%, as measured %.1f %%, corrected %.1f %%" % tuple(shares) for shares in found)
    before = statistics.median(raw - truth for truth, raw, _ in found)
    after = statistics.median(said - truth for truth, _, said in found)
    assert before > 0, "tracing costs nothing? " + words
    assert abs(after) < TOLERANCE, words
    assert abs(after) < before + 2, "it was better before: " + words


if __name__ == "__main__":
    if sys.argv[1:] == ["shares"]:
        print(*shares())
    else:
        run_tests(globals())
