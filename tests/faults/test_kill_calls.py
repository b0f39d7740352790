# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""kill -9 of a program whose calls are followed, of sonde, of both: every finished call is counted."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import Trial, kill_test  # noqa: E402
from helpers import PYTHON, TARGETS, equal, run_tests, sonde  # noqa: E402

COMMAND = ["--python", PYTHON, os.path.join(TARGETS, "counted_calls.py")]
BEYOND = ["--nodes", "2"] + COMMAND     # all calls are counted by caller and callee


class CallsTrial(Trial):
    VERB, WHAT = "calls", "calls"

    def count_recorded(self, capture):
        status, out, err = sonde("report", self.capture, "--json", "--table", "functions")
        equal(status, 0, err)
        return sum(row["calls"] for row in json.loads(out)["functions"] if row["function"] == "leaf")


def kills(folder, kind, command=COMMAND):
    kill_test(folder, kind, command, make=CallsTrial, n_trials=12)


def test_kill_the_program(folder):
    kills(folder, "target")


def test_kill_sonde_and_the_program_goes_on(folder):
    kills(folder, "sonde")


def test_kill_both(folder):
    kills(folder, "both")


def test_kill_both_while_calls_are_beyond_the_tree(folder):
    kills(folder, "both", BEYOND)


run_tests(globals())
