# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""kill -9 of a program whose lines are counted, and of sonde: every line that was begun is counted."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import Trial, kill_test  # noqa: E402
from helpers import PYTHON, SONDE, TARGETS, clean_env, contains, equal, run_tests, sonde, write  # noqa: E402

COMMAND = ["--only", "leaf", "--python", PYTHON, os.path.join(TARGETS, "counted_calls.py")]


class LinesTrial(Trial):
    VERB, WHAT = "lines", "lines"

    def count_recorded(self, capture):
        status, out, err = sonde("report", self.capture, "--json", "--lines")
        equal(status, 0, err)
        return sum(row["hits"] for f in json.loads(out)["functions"] if f["function"] == "leaf" for row in f["lines"])


def test_kill_the_program(folder):
    kill_test(folder, "target", COMMAND, make=LinesTrial, n_trials=4)


def test_kill_both(folder):
    kill_test(folder, "both", COMMAND, make=LinesTrial, n_trials=4)


WAITING = """
import os, time

@profile
def f():
    return 1

f()
print(os.getpid(), flush=True)
begun = time.monotonic()
while not os.path.exists("end") and time.monotonic() - begun < 120:
    time.sleep(0.01)
"""


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_that_goes_on_without_sonde(folder):
    """What there is so far is reported, with a sentence, and the run has lasted until now; and once it has ended, until then."""
    write(folder, "program.py", WAITING)
    p = subprocess.Popen([SONDE, "lines", "--python", PYTHON, "-o", "x.sonde", "program.py"], cwd=folder, env=clean_env(),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pid = int(p.stdout.readline())
    ready = time.monotonic()
    p.kill()
    p.wait()
    p.stdout.close()
    time.sleep(max(0, ready + 0.5 - time.monotonic()))
    status, out, err = sonde("report", "x.sonde", cwd=folder)
    write(folder, "end", "")
    equal(status, 0, err)
    contains(err, "x.sonde: the process that wrote it was killed, and the program still runs: the recording ends here")
    assert float(re.match(r"x\.sonde: ([\d.]+) s wall", out).group(1)) >= 0.5, out
    contains(out, "return 1")
    while is_running(pid):
        time.sleep(0.01)
    status, out, err = sonde("report", "x.sonde", cwd=folder)
    equal(status, 0, err)
    contains(err, "it has no end: the process that wrote it was killed")
    contains(out, "return 1")


run_tests(globals())
