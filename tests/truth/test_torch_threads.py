# SPDX-License-Identifier: MIT
# alone
"""A torch program with many native threads is sampled 200 times a second without being stopped or slowed down.

Needs torch in one of the environments of the tests; CI has it for one version.  As in test_native_threads.py,
but 10 % are allowed, because 32 threads that share two CPUs scatter more; `make bench` measures the slow-down itself.
"""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PYTHON, SONDE, TARGETS, Capture, between, need, run_tests
from undisturbed import Counted, check, check_cannot_stop, measure

N = 32
MOST = 0.1


def python_with_torch():
    """The interpreter of an environment that has torch, or None."""
    build = os.environ.get("SONDE_BUILD") or os.path.dirname(SONDE)
    for python in [PYTHON] + sorted(glob.glob(os.path.join(build, "venv", "*", "bin", "python"))):
        home = os.path.dirname(os.path.dirname(python))
        if glob.glob(os.path.join(home, "lib", "python3*", "site-packages", "torch")):
            return python
    return None


def test_a_torch_program_is_neither_stopped_nor_slowed(folder):
    python = python_with_torch()
    need(python, "no torch in any environment of the tests (CI=true installs it for one version)")
    # Threads that spin while they wait for work would take the cores from each other, sampled or not.
    with Counted([python, os.path.join(TARGETS, "torch_threads.py"), str(N)], folder, OMP_WAIT_POLICY="PASSIVE") as program:
        between(len(program.threads()), N, 1000, "threads")
        measured = measure(program, folder)
        check_cannot_stop(program, folder)
    functions = {row["function"] for row in Capture(os.path.join(folder, "x.sonde")).report["functions"]}
    assert {"step", "main"} & functions, sorted(functions)
    check(*measured, N, MOST)


run_tests(globals())
