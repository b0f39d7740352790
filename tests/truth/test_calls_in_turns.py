# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""Profilers that are started and stopped in some threads, beside others that are busy: every count stays exact, nothing
dies or hangs.  SECONDS=60 for longer than CI takes; FIGURES=1 prints how often each was started."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, equal, run, run_tests  # noqa: E402

SECONDS = float(os.environ.get("SECONDS", 1.5))


def test_profilers_in_some_threads_beside_busy_ones(folder):
    done = run([PYTHON, os.path.join(TARGETS, "profilers_in_turns.py"), str(SECONDS)], cwd=folder, limit=SECONDS + 90)
    equal((done.status, done.err), (0, ""), "status and stderr")
    started = dict(line.rsplit(": ", 1) for line in done.out.splitlines())
    if os.environ.get("FIGURES"):
        print("# " + done.out.replace("\n", ", "))
    assert {"calls", "calls cpu", "calls of a short thread", "lines"} <= set(started), done.out


run_tests(globals())
