# SPDX-License-Identifier: MIT
"""A thread that could run but gets no CPU does not wait: it is not idle.

The program shares one CPU with another that is always given it first (SCHED_IDLE leaves a thread
what nobody else wants), so for long times it stands still and yet waits for nothing.  Some samples
may fall where it is rightly elsewhere; nine in ten must not be idle.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PYTHON, between, clean_env, equal, need, run_tests, sonde
from sampled import IDLE, Samples

BUSY = "print(flush=True)\nwhile True: pass"


def start_on(cpu, command, policy):
    def prepare():
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, policy, os.sched_param(0))
    return subprocess.Popen(command, preexec_fn=prepare, env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def cpu_ns(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0])


def test_a_thread_that_gets_no_cpu_is_not_idle(folder):
    cpu = max(os.sched_getaffinity(0))
    starved = start_on(cpu, [PYTHON, "-c", BUSY], os.SCHED_OTHER)
    first = None
    try:
        starved.stdout.readline()       # it has started, and runs its loop
        os.sched_setscheduler(starved.pid, os.SCHED_IDLE, os.sched_param(0))
        first = start_on(cpu, [PYTHON, "-c", BUSY], os.SCHED_OTHER)
        first.stdout.readline()
        before, path = cpu_ns(starved.pid), os.path.join(folder, "x.sonde")
        result = sonde("record", "-o", path, "-r", "200", "-d", "2", "--idle", "--pid", starved.pid)
        equal(result.status, 0, "status (%s)" % result.err.strip())
        share = (cpu_ns(starved.pid) - before) / 2e9
        need(share < 0.5, "the program got %d %% of the CPU although another wanted it" % (100 * share))
    finally:
        for process in (starved, first):
            if process:
                process.kill()
                process.wait()
                process.stdout.close()
    samples = Samples(path)
    n = sum(s.n for s in samples)
    between(n, 20, 10**6, "samples")
    between(sum(s.n for s in samples if s.flags & IDLE) / n, 0, 0.1, "share of idle samples")


run_tests(globals())
