# SPDX-License-Identifier: MIT
# limit: 900
"""Models of torch: known networks and small modules give the published integers, and nothing is left behind.

Needs torch in one of the environments of the tests; CI has it for one version.  The numbers stand in
targets/model_cases.py and targets/torch_networks.py.
"""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, PYTHON, SONDE, TARGETS, equal, need, run_tests


def python_with_torch():
    """The interpreter of an environment that has torch, or None."""
    build = os.environ.get("SONDE_BUILD") or os.path.dirname(SONDE)
    for python in [PYTHON] + sorted(glob.glob(os.path.join(build, "venv", "*", "bin", "python"))):
        home = os.path.dirname(os.path.dirname(python))
        if glob.glob(os.path.join(home, "lib", "python3*", "site-packages", "torch")):
            return python
    return None


def right(word, at_least):
    """All that model_cases.py says of this is right, and it says as much as it should."""
    python = python_with_torch()
    need(python, "no torch in any environment of the tests (CI=true installs it for one version)")
    done = subprocess.run([python, "-W", "ignore", os.path.join(TARGETS, "model_cases.py"), word], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, PYTHONPATH=PACKAGE_PATH, PYTHONDONTWRITEBYTECODE="1"), timeout=400, universal_newlines=True)
    lines = done.stdout.splitlines()
    equal([line for line in lines if not line.startswith("ok ")], [], "what is wrong")
    equal(done.returncode, 0, "status (%s)" % done.stderr[-400:])
    assert len(lines) >= at_least, "only %d answers" % len(lines)


def test_small_modules_in_every_way(folder):
    right("cases", 25)


def test_known_networks(folder):
    right("networks", 18)


def test_backward(folder):
    right("backward", 12)


def test_nothing_is_left_behind(folder):
    right("residue", 48)


def test_what_the_caller_lends_is_not_written_to(folder):
    right("borrowed", 8)


def test_names_of_other_tools_run_it_as_they_do(folder):
    right("shims", 6)


def test_operators_of_all_kinds(folder):
    right("operators", 11)


def test_what_cannot_be_run_says_why(folder):
    right("errors", 10)


def test_times_of_layers(folder):
    right("times", 7)


def test_memory(folder):
    right("memory", 4)


def test_what_a_block_runs(folder):
    right("counting", 4)


run_tests(globals())
