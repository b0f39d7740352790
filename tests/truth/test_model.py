# SPDX-License-Identifier: MIT
"""Models: exact counts, frames, searches, pictures, other tools' names, the verb (tests/targets/model_checks.py).

Needs torch in one of the environments of the tests; CI has it for one version.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, SONDE, TARGETS, python_with


def main():
    python = python_with("torch")
    if not python:
        print("skip models: no torch in any environment of the tests (CI=true installs it for one version)")
        return 0
    env = dict(os.environ, PYTHONPATH=PACKAGE_PATH, SONDE=SONDE, OMP_NUM_THREADS="1")
    return subprocess.run([python, os.path.join(TARGETS, "model_checks.py")] + sys.argv[1:], env=env).returncode


sys.exit(main())
