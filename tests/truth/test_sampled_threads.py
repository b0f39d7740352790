# SPDX-License-Identifier: MIT
# interpreters: all
"""Whose sample it is: a thread that is being started is not the one that starts it.

CPython makes the thread state of a new thread in the old one, and to 3.11 with the old one's ident and
tid.  Many threads are started while the program is sampled often, so that some are met in that moment.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import between, equal, run_tests, sonde_run, write
from sampled import Samples

N_THREADS = 60
PROGRAM = """
import threading, time
def wk():
    time.sleep(0.3)
def start_all():
    for i in range(%d):
        threading.Thread(target=wk, name="worker-%%d" %% i).start()
        for k in range(30000):
            pass
start_all()
""" % N_THREADS


def test_threads_being_started_are_not_their_starter(folder):
    path = write(folder, "threads.py", PROGRAM)
    result, capture = sonde_run(folder, path, options=["--with", "sample", "--sample-rate", "1000"])
    equal(result.status, 0, "status (%s)" % result.err.strip())
    samples = Samples(capture)
    samples.adds_up()
    walls, names = collections.Counter(), collections.defaultdict(set)
    n_on = collections.Counter()
    for s in samples:
        on_main = s.tid == s.pid
        is_worker = any(f.name == "wk" for f in s.frames)
        n_on[is_worker, on_main] += s.n
        walls[s.tid] += s.wall
        if is_worker:
            names[s.tid].add(s.thread)
    equal(n_on[True, True], 0, "samples of wk on the main thread")
    between(n_on[False, True], 20, 10**6, "samples of the main thread")
    between(n_on[True, False], N_THREADS, 10**7, "samples of wk")
    between(max(walls.values()) / samples.count("elapsed_ns"), 0, 1.05, "longest wall of a thread, by that of the run")
    seen = [name for some in names.values() for name in some]
    equal(sorted(set(seen) - {"worker-%d" % i for i in range(N_THREADS)}), [], "names that no worker has")
    equal(len(seen), len(set(seen)), "threads by as many names")
    between(len(seen), N_THREADS * 0.9, N_THREADS, "workers that were seen")


run_tests(globals())
