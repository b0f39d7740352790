# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""kill -9 of a program that allocates, of sonde, of both, in each mode: every allocation and free that was done is counted, and
at most one more of each thread."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import Trial, kill_test  # noqa: E402
from helpers import PYTHON, TARGETS, equal, once, run, run_tests, sonde  # noqa: E402

TRIALS = 4


@once
def library():
    path = os.path.join(os.environ["TMPDIR"], "allocated.so")
    done = run(["cc", "-O2", "-pthread", "-shared", "-fPIC", "-o", path, os.path.join(TARGETS, "allocated.c"), "-l:libstdc++.so.6"])
    equal(done.status, 0, done.err)
    return path


def rows(path, option):
    done = sonde("report", path, "--alloc", "--json", "--all", "--by", "function", option)
    equal(done.status, 0, done.err)
    answer = json.loads(done.out)
    return answer["alloc"], {row["function"]: row for row in answer["allocations"]}


class AllocTrial(Trial):
    VERB, WHAT = "alloc", "allocations"

    def count_recorded(self, capture):
        s, total = rows(self.capture, "--total")
        left = rows(self.capture, "--leaks")[1]
        count = total["work"]["count"]
        freed, recorded = sum(self.page.word(16 + i) for i in range(16)), count - left["work"]["count"]
        slack = 0 if self.kind == "sonde" else self.n_threads
        assert freed <= recorded <= freed + slack, "the program freed %d blocks, %d are recorded" % (freed, recorded)
        equal((s["overlaps"], s["lost"]), (0, 0), "overlaps and lost")
        assert left["work"]["count"] <= 500 * self.n_threads and left["work"]["bytes"] <= 700 * left["work"]["count"], left["work"]
        return count


class SampledTrial(AllocTrial):
    """What was drawn can be read, whatever happened."""

    def check(self):
        told = sonde("report", self.capture, "--alloc")
        if told.status == 1 and "it ends before the first was recorded" in told.err:  # nothing was drawn so soon
            self.counted = self.recorded = self.page.finished()
            return
        s = rows(self.capture, "--total")[0]
        equal((s["mode"], s["overlaps"]), ("sample", 0), "what is read")
        self.counted = self.recorded = self.page.finished()


def kills(folder, kind, mode, make=AllocTrial):
    command = ["--mode", mode, "--python", PYTHON, os.path.join(TARGETS, "counted_allocations.py"), library()]
    kill_test(folder, kind, command, make=make, n_trials=TRIALS)


def test_kill_the_program(folder):
    kills(folder, "target", "full")


def test_kill_sonde_and_the_program_goes_on(folder):
    kills(folder, "sonde", "full")


def test_kill_both(folder):
    kills(folder, "both", "full")


def test_kill_the_program_with_sums(folder):
    kills(folder, "target", "aggregate")


def test_kill_sonde_with_sums_and_the_program_goes_on(folder):
    kills(folder, "sonde", "aggregate")


def test_kill_both_with_sums(folder):
    kills(folder, "both", "aggregate")


def test_kill_the_program_with_samples(folder):
    kills(folder, "target", "sample", SampledTrial)


def test_kill_sonde_with_samples_and_the_program_goes_on(folder):
    kills(folder, "sonde", "sample", SampledTrial)


def test_kill_both_with_samples(folder):
    kills(folder, "both", "sample", SampledTrial)


run_tests(globals())
