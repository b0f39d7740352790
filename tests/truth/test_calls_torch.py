# SPDX-License-Identifier: MIT
"""Under torch.compile no call is lost, and tracing may be stopped and started within a compiled function.

Needs torch in one of the environments of the tests; CI has it for one version.  The same without
torch, by a small hook that does as TorchDynamo's: test_calls_hook.py.
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


def test_calls_around_and_within_compiled_functions(folder):
    python = python_with_torch()
    need(python, "no torch in any environment of the tests (CI=true installs it for one version)")
    done = subprocess.run([python, os.path.join(TARGETS, "torch_compiled_calls.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, PYTHONPATH=PACKAGE_PATH), timeout=240, universal_newlines=True)
    equal(done.returncode, 0, "status (%s)" % done.stderr[-300:])
    equal(done.stdout.split(), ["21", "31"], "calls of leaf before and after stopping within")


SIGNATURES = """\
f(x:Tensor)
f(x:Loud(dtype=complex64, shape=(6, 7), device=cpu))
f(x:Parameter(dtype=float32, shape=(5,), device=cpu))
f(x:Tensor(dtype=bfloat16, shape=(2, 2), device=meta))
f(x:Tensor(dtype=bool, shape=(0,), device=cpu))
f(x:Tensor(dtype=float16, shape=(1, 2, 3, 1, 2, 3, 1), device=cpu))
f(x:Tensor(dtype=float32, shape=(2, 2), device=cpu))
f(x:Tensor(dtype=float32, shape=(3, 4), device=cpu))
f(x:Tensor(dtype=int64, shape=(), device=cpu))
f(x:Tensor(dtype=float32, shape=(2, 5), device=cpu))
f(x:Tensor)
f(x:FakeTensor(dtype=float32, shape=(4, 3)))
f(x:Parameter(dtype=float32, shape=(8,), device=meta))
"""


def test_signatures_of_tensors(folder):
    """Read from memory: no tensor and no mode is asked.  Where one would hear of the search for the layout, and of a sparse
    tensor, whose sizes are elsewhere, the type alone is told; of one whose class tells its device none is."""
    python = python_with_torch()
    need(python, "no torch in any environment of the tests (CI=true installs it for one version)")
    done = subprocess.run([python, "-W", "ignore", os.path.join(TARGETS, "torch_signatures.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, PYTHONPATH=PACKAGE_PATH), timeout=240, universal_newlines=True)
    equal(done.stdout, SIGNATURES, "signatures (status %d: %s)" % (done.returncode, done.stderr[-300:]))


run_tests(globals())
