# SPDX-License-Identifier: MIT
"""kill -9 of a C program that uses <sonde.h>, of sonde, of both: nothing committed is lost."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import kill_test  # noqa: E402
from helpers import TARGETS, compile_c, run_tests  # noqa: E402


def command(folder):
    return ["--", compile_c(folder, os.path.join(TARGETS, "counted.c"), with_libsonde=True)]


def test_kill_the_c_program(folder):
    kill_test(folder, "target", command(folder))


def test_kill_sonde_under_a_c_program(folder):
    kill_test(folder, "sonde", command(folder))


def test_kill_both_with_a_c_program(folder):
    kill_test(folder, "both", command(folder))


run_tests(globals())
