# SPDX-License-Identifier: MIT
# interpreters: all
"""Memory that is not given to a program with sections: no crash, and no MemoryError of ours."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, Capture, equal, need, run, run_tests, sonde_run  # noqa: E402

def seen(words):
    result = run([PYTHON, os.path.join(TARGETS, "no_memory.py")] + [str(w) for w in words])
    equal(result.status, 0, "exit status of %r (%r)" % (words, result.err[-500:]))
    return result.out.strip()


def has_testcapi():
    return run([PYTHON, "-c", "import _testcapi; _testcapi.set_nomemory"]).status == 0


def test_no_memory_error_of_ours(folder):
    """Fails the kth Python allocation for k = 0, 1, 2 ... : the program sees as many errors as without sections."""
    need(has_testcapi(), "this interpreter has no _testcapi")
    plain, ours = seen(["plain"]), seen(["sections"])
    assert "E" in plain, "the plain program asks for no memory: the test is blind"
    assert ours.count("E") <= plain.count("E"), "%d MemoryErrors with sections, %d without: %s against %s" % (
        ours.count("E"), plain.count("E"), ours.rstrip("."), plain.rstrip("."))


def test_no_memory_error_of_ours_under_sonde(folder):
    """The same while a capture is written."""
    need(has_testcapi(), "this interpreter has no _testcapi")
    plain = seen(["plain"])
    result, path = sonde_run(folder, os.path.join(TARGETS, "no_memory.py"), "sections")
    equal(result.status, 0, "exit status (%r)" % result.err[-500:])
    ours = result.out.strip()
    assert ours.count("E") <= plain.count("E"), "%d MemoryErrors with sections, %d without: %s against %s" % (
        ours.count("E"), plain.count("E"), ours.rstrip("."), plain.rstrip("."))
    assert Capture(path).count("outer") >= 6 * len(ours)


run_tests(globals())
