# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""kill -9 of a Python program, of sonde, of both, at random moments: nothing committed is lost."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import kill_test  # noqa: E402
from helpers import PYTHON, TARGETS, run_tests  # noqa: E402

COMMAND = ["--python", PYTHON, os.path.join(TARGETS, "counted.py")]


def test_kill_the_program(folder):
    kill_test(folder, "target", COMMAND)


def test_kill_sonde_and_the_program_goes_on(folder):
    kill_test(folder, "sonde", COMMAND)


def test_kill_both(folder):
    kill_test(folder, "both", COMMAND)


run_tests(globals())
