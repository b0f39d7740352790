# SPDX-License-Identifier: MIT
# interpreters: all
# alone
"""CPU time of calls is what the kernel says of the thread, and rest is none.

What is compared is CPU time only, so that a busy machine changes nothing; tolerance 5 % and 2 ms, the
time that the thread works outside of the functions.  What the host of a virtual machine takes meanwhile is told as the
call's for a while (docs/accuracy.md): of three counts the middle one is judged.

Tiny calls: the cost of tracing is taken off as it is of wall time.  The truth is the CPU time of the same
calls untraced, measured in turn with the traced ones, and of both the shortest of many counts; a process
on a shared machine may have been slow all the while, so the middle one of five processes counts.
Tolerance: less than a half of what tracing took, and a twentieth of the truth.  Not less, because costs are known from
quick moments: where a neighbour has half of the core, everything takes 1.7 times as long, but a traced call up to twice.
"""
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PACKAGE_PATH, PYTHON, run_tests  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import _sonde  # noqa: E402

burned = []


def burn(seconds):
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        pass
    burned.append(time.thread_time() - begin)


def rest(seconds):
    time.sleep(seconds)


def cpu_seconds(p):
    return {e.code.co_name: e.totaltime for e in p.getstats(cpu=True)}


def check(do, **settings):
    """Of three counts of what `do` does, the one whose error is the middle one."""
    counts = []
    for _ in range(3):
        del burned[:]
        p = _sonde.Profile(builtins=False, cpu=True, **settings)
        p.enable()
        do()
        p.disable()
        found, truth = cpu_seconds(p), sum(burned)
        counts.append((found["burn"] - truth, truth, found["rest"]))
    error, truth, _ = sorted(counts)[1]
    assert abs(error) < 0.05 * truth + 0.002, "burn has %.4f s, the thread's clock %.4f s (all: %s)" % (truth + error, truth, counts)
    rest_s = sorted(rest for _, _, rest in counts)[1]
    assert rest_s < 0.01, "rest has %.4f s of CPU time" % rest_s


def work():
    burn(0.05)
    rest(0.05)
    burn(0.05)


def test_cpu_time_is_the_threads_own(folder):
    check(work)


def work_in_threads():
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_cpu_time_of_threads_that_share_a_processor(folder):
    check(work_in_threads, threads=True)


def nothing():
    pass


def many_calls():
    for _ in range(20):
        nothing()
        burn(0.005)
        rest(0.0001)


def test_each_of_many_calls_counts_from_its_own_start(folder):
    """The usual case of a call that was made before from here: every front has a short way for it."""
    check(many_calls)


def test_a_thread_that_another_one_stops_has_its_own_time(folder):
    del burned[:]
    p = _sonde.Profile(builtins=False, cpu=True, threads=True)
    has_burned, may_end = threading.Event(), threading.Event()

    def held():
        burn(0.05)
        has_burned.set()
        may_end.wait()

    p.enable()
    thread = threading.Thread(target=held)
    thread.start()
    has_burned.wait()
    burn(0.3)
    p.disable()
    may_end.set()
    thread.join()
    found = cpu_seconds(p)["held"]
    assert abs(found - burned[0]) < 0.05, "held has %.4f s, and burned %.4f s" % (found, burned[0])


def test_a_child_of_fork_goes_on_counting(folder):
    del burned[:]
    p = _sonde.Profile(builtins=False, cpu=True)
    read, write = os.pipe()

    def forks():
        burn(0.1)
        pid = os.fork()
        if pid == 0:
            burn(0.05)
        return pid

    p.enable()
    pid = forks()
    p.disable()
    if pid == 0:
        os.write(write, repr((cpu_seconds(p)["forks"], sum(burned))).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        found, truth = eval(f.read())
    os.waitpid(pid, 0)
    assert abs(found - truth) < 0.05, "forks has %.4f s in the child, and burned %.4f s" % (found, truth)


# ---- tiny calls


def tiny(x):
    return x + 1


def tiny_calls():
    t = 0
    for _ in range(2000):
        t = tiny(t)


def plain_seconds():
    begin = time.thread_time()
    tiny_calls()
    return time.thread_time() - begin


def traced_seconds(**how):
    p = _sonde.Profile(builtins=False, cpu=True, **how)
    p.enable()
    tiny_calls()
    p.disable()
    return cpu_seconds(p)["tiny_calls"]


def shortest():
    """CPU seconds of the calls: untraced, traced, and traced with the cost taken off."""
    rounds = [(plain_seconds(), traced_seconds(raw=True), traced_seconds()) for _ in range(100)]
    return [min(column) for column in zip(*rounds)]


def test_tiny_calls_take_the_cpu_time_that_they_take_untraced(folder):
    found = [[float(word) for word in subprocess.check_output([PYTHON, os.path.abspath(__file__), "shortest"], timeout=LIMIT_S).split()]
             for _ in range(5)]
    words = "; ".join("truth %.1f us, as measured %.1f us, corrected %.1f us" % tuple(1e6 * s for s in three) for three in found)
    off = statistics.median(said / truth - 1 for truth, _, said in found)
    was_off = statistics.median(raw / truth - 1 for truth, raw, _ in found)
    assert was_off > 0, "tracing costs nothing? " + words
    assert abs(off) < was_off / 2 + 0.05, "half of it is still there: " + words


if __name__ == "__main__":
    if sys.argv[1:] == ["shortest"]:
        print(*shortest())
    else:
        run_tests(globals())
