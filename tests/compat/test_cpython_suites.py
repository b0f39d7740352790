# SPDX-License-Identifier: MIT
# interpreters: all
"""CPython's own tests of cProfile, profile and pstats, run on Sonde through the folder that `sonde compat-path` prints.

PYTHONHOME is set because test.support then starts its sub-processes without -I, so that they
have the folder too.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, contains, equal, need, run, run_tests, sonde, write  # noqa: E402

# Runs one suite and then proves whose modules it was that passed.
DRIVER = """\
import sys, unittest
name = sys.argv[1]
if name == "test_cprofile" and sys.version_info >= (3, 15):
    name = "test_profiling.test_tracing_profiler"  # where it has gone
ended = unittest.main("test." + name, argv=[name], exit=False, verbosity=0).result
import cProfile, _lsprof, profile, pstats, sonde.compat
if "profiling" in name:
    import profiling.tracing
    assert profiling.tracing.Profile is sonde.compat.cProfile.Profile
assert cProfile.Profile is sonde.compat.cProfile.Profile
assert _lsprof.Profiler is sonde.compat._lsprof.Profiler is sonde._sonde.LsprofProfiler
assert profile.Profile is sonde.compat.profile.Profile
assert pstats.Stats is sonde.compat.pstats.Stats
loaded = [line.split()[-1] for line in open("/proc/self/maps") if "_lsprof" in line]
assert not loaded, loaded
print("whose: sonde's")
sys.exit(not ended.wasSuccessful())
"""

# What a sub-process of these suites is: `python -m cProfile -m MODULE`.
PROBE = """\
import sys
print("engine", sys.modules["__main__"].__file__)
print("lsprof", [line.split()[-1] for line in open("/proc/self/maps") if "_lsprof" in line])
"""


def alias_env(**more):
    """The environment of a program that uses Sonde without knowing it; no other path leads to sonde."""
    found = sonde("compat-path")
    equal(found.status, 0, "status of sonde compat-path (%s)" % found.err)
    return clean_env(PYTHONPATH=found.out.strip(), PYTHONHOME=sys.base_prefix, **more)


def suite(folder, name):
    base = os.path.realpath(PYTHON)
    has_tests = run([base, "-c", "import test.test_profile"], cwd=folder, env=clean_env(PYTHONPATH=None))
    need(has_tests.status == 0, "this Python has no test.%s" % name)
    driver = write(folder, "driver.py", DRIVER)
    result = run([base, driver, name], cwd=folder, env=alias_env(TMPDIR=folder), limit=200)
    equal(result.status, 0, "status of %s (%s)" % (name, result.err[-1500:]))
    contains(result.out, "whose: sonde's")
    ran = re.search(r"Ran (\d+) tests? in", result.err)
    assert ran and int(ran.group(1)) >= 6, result.err[-500:]
    assert "skipped" not in result.err, result.err[-500:]
    print("# %s: %s tests" % (name, ran.group(1)))


def test_test_cprofile_passes(folder):
    suite(folder, "test_cprofile")


def test_test_profile_passes(folder):
    suite(folder, "test_profile")


def test_test_pstats_passes(folder):
    suite(folder, "test_pstats")


def test_sub_processes_have_it_too(folder):
    write(folder, "probe.py", PROBE)
    for words in (["-m", "cProfile", "-m", "probe"], ["-m", "profile", "-m", "probe"]):
        result = run([os.path.realpath(PYTHON)] + words, cwd=folder, env=alias_env())
        equal(result.status, 0, "status (%s)" % result.err)
        contains(result.out, "/sonde/_alias/%s.py" % words[1], "the engine of %s" % words[1])
        contains(result.out, "lsprof []", "what is mapped")
        contains(result.out, "function calls")


if __name__ == "__main__":
    run_tests(globals())
