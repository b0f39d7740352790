# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""A program that is stopped under `sonde run` (Ctrl-Z), and sonde with it: that time is nobody's, and no round of it is missed."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, clean_env, equal, run_tests, state_of, wait_for, write  # noqa: E402
from sampled import Samples  # noqa: E402

STOPS = """
import os, signal, time
def works():
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
works()
os.kill(os.getpid(), signal.SIGSTOP)
works()
"""


def test_the_time_of_a_stop_is_in_no_sample(folder):
    path = os.path.join(folder, "x.sonde")
    command = [SONDE, "run", "--with", "sample", "--sample-rate", "200", "--python", PYTHON, "-o", path, write(folder, "stops.py", STOPS)]
    p = subprocess.Popen(command, cwd=folder, env=clean_env(), stderr=subprocess.PIPE, preexec_fn=os.setpgrp)
    try:
        wait_for(lambda: state_of(p.pid) == "T", "the stop")
        time.sleep(2)
        p.send_signal(signal.SIGCONT)
        err = p.communicate(timeout=60)[1].decode()
    finally:
        os.killpg(p.pid, signal.SIGKILL) if p.poll() is None else None
    equal(p.returncode, 0, "status (%s)" % err)
    samples = Samples(path)
    samples.adds_up()
    wall = int(samples.meta["run.wall_ns"])
    told = sum(s.wall for s in samples)
    assert told <= wall - 1.9e9, "%.3f s of samples in %.3f s, of which it was stopped for 2" % (told / 1e9, wall / 1e9)
    assert samples.count("elapsed_ns") <= wall - 1.9e9, "%d ns of rounds" % samples.count("elapsed_ns")


run_tests(globals())
