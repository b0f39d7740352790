# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""kill -9 of a program whose lines are counted, and of sonde: every line that was begun is counted."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import Trial, kill_test  # noqa: E402
from helpers import PYTHON, TARGETS, equal, run_tests, sonde  # noqa: E402

COMMAND = ["--only", "leaf", "--python", PYTHON, os.path.join(TARGETS, "counted_calls.py")]


class LinesTrial(Trial):
    VERB, WHAT = "lines", "lines"

    def count_recorded(self, capture):
        status, out, err = sonde("report", self.capture, "--json", "--lines")
        equal(status, 0, err)
        return sum(row["hits"] for f in json.loads(out)["functions"] if f["function"] == "leaf" for row in f["lines"])


def test_kill_the_program(folder):
    kill_test(folder, "target", COMMAND, make=LinesTrial, n_trials=4)


def test_kill_both(folder):
    kill_test(folder, "both", COMMAND, make=LinesTrial, n_trials=4)


run_tests(globals())
