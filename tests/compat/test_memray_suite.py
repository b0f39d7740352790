# SPDX-License-Identifier: MIT
# patient
"""memray's own tests of tracking, threads and processes, run unchanged on sonde.compat.memray.

The tests are in its repository alone, and the extension that they call (every function of the malloc family, from C) is in its
package for CPython 3.13; neither is kept here (fetched.py).  What is not claimed is named with its reason.
"""
import io
import os
import re
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fetched import download, download_source  # noqa: E402
from helpers import PYTHON, Skip, clean_env, equal, run, run_tests, sonde, write  # noqa: E402

WHEEL = "memray-1.20.0-cp313-cp313-manylinux_2_26_x86_64.manylinux_2_28_x86_64.whl"
WHEEL_SHA256 = "3c3aec7a4d0b0d0eb55d72e815a492ff060a3a46b014f6ae216ae68a006ea304"
SOURCES = {
    "tests/utils.py": "cfa8a07a2c1424d66c48bf419adcd731e938d5ed51d87d8175d4b372072b4642",
    "tests/integration/test_tracking.py": "48221ac6b445afc426ba03ba0f66b9064f6814078ea33620bfff6a794c3be4f0",
    "tests/integration/test_threads.py": "65255bca516ab4e33f68e7d238638187fc1f6fa5ae9e9e28d99de63c17e04242",
    "tests/integration/test_processes.py": "4285784c5c34d598313c888062f36a0553baffbae7ad6b24b20cff174d00d475",
}
NOT_CLAIMED = {
    "of several equal peaks the last, in sums; Sonde notes the first there": [
        "test_tracking.py::TestHighWatermark::test_spiky_generally_increasing_to_final_peak[AGGREGATED_ALLOCATIONS]"],
    "threads in sums": ["test_tracking.py::TestLeaks::test_thread_allocations_multiple_threads[AGGREGATED_ALLOCATIONS]"],
    "the kernel's name of a thread where Python has one": ["test_threads.py::test_thread_name"],
    "every name that a thread has had; Sonde shows one": ["test_threads.py::test_setting_python_thread_name"],
    "two calls in one native function that has no line numbers": [
        "test_tracking.py::TestHighWatermark::test_aggregation_same_python_stack_but_different_native_stack[%s_ALLOCATIONS]" % which
        for which in ("ALL", "AGGREGATED")],
}
# memray's extension for tests stands in the package that is Sonde's.
SITE = """\
import os
import memray

memray.__path__.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "extension"))
"""


def lay_out(folder):
    """Unpacks all of it below the folder, and returns the environment that it runs in."""
    with zipfile.ZipFile(io.BytesIO(download("memray", WHEEL, WHEEL_SHA256))) as package:
        for name in package.namelist():
            if re.match(r"memray/(_test\.py|_test_utils\..*so)$", name):
                os.makedirs(os.path.join(folder, "extension"), exist_ok=True)
                with open(os.path.join(folder, "extension", os.path.basename(name)), "wb") as f:
                    f.write(package.read(name))
    for path, sha256 in SOURCES.items():
        raw = download_source("bloomberg/memray", "v1.20.0", path, sha256)
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "wb") as f:
            f.write(raw)
    write(os.path.join(folder, "tests"), "__init__.py", "")
    write(os.path.join(folder, "tests", "integration"), "__init__.py", "")
    write(folder, "sitecustomize.py", SITE)
    return clean_env(PYTHONPATH=os.pathsep.join((folder, sonde("compat-path").out.strip())))


def test_memrays_own_tests_pass(folder):
    if run([PYTHON, "-c", "import pytest"]).status != 0:
        raise Skip("no pytest; CI=true make test installs it")
    env = lay_out(folder)
    left_out = [word for names in NOT_CLAIMED.values() for name in names for word in ("--deselect", "tests/integration/" + name)]
    done = run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "tests/integration"] + left_out, cwd=folder, env=env, limit=900)
    last = done.out.splitlines()[-1] if done.out else done.err[-500:]
    equal(done.status, 0, "status (%s): %s" % (last, " ".join(re.findall(r"^(?:FAILED|ERROR) (\S+)", done.out, re.M))))
    passed, deselected = [int(re.search(r"(\d+) %s" % what, last).group(1)) for what in ("passed", "deselected")]
    equal(deselected, sum(len(names) for names in NOT_CLAIMED.values()), "those left out by name")
    assert passed >= 130, last
    print("# " + last)


run_tests(globals())
