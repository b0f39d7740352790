# SPDX-License-Identifier: MIT
# interpreters: all
"""The folder of `sonde compat-path` in interpreters that sonde has an extension for, and in those that it has none for."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402


def stripped_alias(folder):
    """The folder of compat-path in a package without any extension."""
    package = os.path.join(folder, "site", "sonde")
    shutil.copytree(os.path.join(PACKAGE_PATH, "sonde"), package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return os.path.join(package, "_alias")


ASKS_WHOSE = """\
import warnings
warnings.simplefilter("ignore")  # from 3.15 on profile warns, whosever it is
import sys, cProfile, pstats, profile, _lsprof
print([m.__name__ for m in (cProfile, pstats, profile, _lsprof)], "sonde" in sys.modules, "_alias" in cProfile.__file__)
cProfile.run("len([])")
"""


def others():
    """Interpreters that sonde has no extension for, as far as there are any."""
    root = os.path.join(os.path.expanduser("~"), ".pyenv", "versions")
    names = sorted(os.listdir(root)) if os.path.isdir(root) else []
    return [os.path.join(root, name, "bin", "python") for name in names if re.match(r"2\.7|3\.[67]\.", name)]


def test_without_an_extension_the_interpreter_keeps_its_own(folder):
    alias = stripped_alias(folder)
    path, plain = write(folder, "asks.py", ASKS_WHOSE), write(folder, "plain.py", "print(len([]))\n")
    for python in [PYTHON] + others():
        result = run([python, path], cwd=folder, env=clean_env(PYTHONPATH=alias))
        equal(result.err, "", "stderr of %s" % python)
        contains(result.out, "['cProfile', 'pstats', 'profile', '_lsprof']")
        contains(result.out, "False")
        assert "True" not in result.out, result.out
        contains(result.out, "{len}" if "2.7" in python else "{built-in method builtins.len}")
        result = run([python, "-m", "cProfile", "-s", "name", plain], cwd=folder, env=clean_env(PYTHONPATH=alias))
        equal((result.status, result.err), (0, ""), "cProfile of %s" % python)
        contains(result.out, "Ordered by: function name")


def test_a_program_need_not_have_sonde_on_its_path(folder):
    path = write(folder, "asks.py", ASKS_WHOSE + "print(cProfile.Profile.__module__, pstats.Stats.__module__)\n")
    result = run([PYTHON, path], cwd=folder, env=clean_env(PYTHONPATH=sonde("compat-path").out.strip()))
    equal(result.err, "", "stderr")
    contains(result.out, "['cProfile', 'pstats', 'profile', '_lsprof'] True True")
    contains(result.out, "sonde.compat.cProfile sonde.compat.pstats")


if __name__ == "__main__":
    run_tests(globals())
