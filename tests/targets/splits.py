# SPDX-License-Identifier: MIT
"""Programs that know where their time went: python splits.py KIND prints the truth as one line of JSON.

Parts take turns in short slices, so that whatever else the machine does meanwhile falls on all of
them alike.  The truth is read around each slice, by the wall clock and by the thread's CPU clock.
"""
import json
import os
import sys
import threading
import time
import zlib

TURN_S = 0.001      # a slice is a few of these
spent = {}
starved = {}        # seconds in which a part could have run and had no CPU


def timed(name, work, *words):
    wall, cpu = time.perf_counter(), time.thread_time()
    work(*words)
    old = spent.get(name, (0, 0))
    spent[name] = (old[0] + time.perf_counter() - wall, old[1] + time.thread_time() - cpu)


def loops_per_turn(work):
    """How much of `work` makes a slice, found by trying."""
    n = 100
    while True:
        began = time.thread_time()
        work(n)
        took = time.thread_time() - began
        if took > TURN_S / 2:
            return max(1, int(n * TURN_S / took))
        n *= 2


# ---- G1: four functions with the same loop


def part_10(n):
    while n:
        n -= 1


def part_20(n):
    while n:
        n -= 1


def part_30(n):
    while n:
        n -= 1


def part_40(n):
    while n:
        n -= 1


def split(seconds):
    n = loops_per_turn(part_10) // 4
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        timed("part_10", part_10, n)
        timed("part_20", part_20, 2 * n)
        timed("part_30", part_30, 3 * n)
        timed("part_40", part_40, 4 * n)


# ---- G2: the same work, inline and through small calls


def small(x):
    return x + 1


def by_calls(n):
    x = 0
    for _ in range(n):
        x = small(x)


def inline(n):
    x = 0
    for _ in range(n):
        x = x + 1


def bias(seconds):
    n = loops_per_turn(inline)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        timed("inline", inline, n)
        timed("by_calls", by_calls, n)


# ---- G4: three lines of one function


def three_lines(n, clock=time.perf_counter):
    i = j = k = 0
    t0 = clock()
    while i < n: i += 1             # noqa: E701  line_10
    t1 = clock()
    while j < 3 * n: j += 1         # noqa: E701  line_30
    t2 = clock()
    while k < 6 * n: k += 1         # noqa: E701  line_60
    t3 = clock()
    return t1 - t0, t2 - t1, t3 - t2


def lines(seconds):
    n = loops_per_turn(three_lines) // 10 + 100
    end = time.monotonic() + seconds
    first = three_lines.__code__.co_firstlineno
    sums = [0, 0, 0]
    while time.monotonic() < end:
        sums = [a + b for a, b in zip(sums, three_lines(n))]
    for at, total in zip((3, 5, 7), sums):
        spent[str(first + at)] = (total, 0)


# ---- G5: two threads, one with three times the work of the other


def leaf_a(n):
    while n:
        n -= 1


def leaf_b(n):
    while n:
        n -= 1


def thread_a(n, turns):
    for _ in range(turns):
        leaf_a(n)
    spent["thread_a"] = (0, time.thread_time())


def thread_b(n, turns):
    for _ in range(3 * turns):
        leaf_b(n)
    spent["thread_b"] = (0, time.thread_time())


def threads(seconds):
    n = loops_per_turn(leaf_a)
    turns = int(seconds / 4 / TURN_S)
    both = [threading.Thread(target=t, args=(n, turns), name=t.__name__) for t in (thread_a, thread_b)]
    for t in both:
        t.start()
    for t in both:
        t.join()


# ---- G7: waiting, in several ways, and working, with and without the GIL


def sleeps():
    time.sleep(0.03)


def naps():
    for _ in range(30):
        time.sleep(0.001)


def reads(pipe=os.pipe()):
    threading.Timer(0.03, os.write, (pipe[1], b"x")).start()
    os.read(pipe[0], 1)


def locks():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=0.03)


def works():
    end = time.perf_counter() + 0.03
    while time.perf_counter() < end:
        pass


def compresses(data=bytes(4 << 20)):       # zeros: the result is small, and is all that is made with the GIL
    end = time.perf_counter() + 0.03
    while time.perf_counter() < end:
        zlib.compress(data, 1)      # without the GIL


def run_delay():
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1]) / 1e9


def waits(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for part in (sleeps, naps, reads, locks, works, compresses):
            before = run_delay()
            timed(part.__name__, part)
            starved[part.__name__] = starved.get(part.__name__, 0) + run_delay() - before


if __name__ == "__main__":
    wall, cpu = time.perf_counter(), time.thread_time()
    {"split": split, "bias": bias, "lines": lines, "threads": threads, "waits": waits}[sys.argv[1]](float(sys.argv[2]))
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    print(json.dumps({"wall": {k: v[0] for k, v in spent.items()}, "cpu": {k: v[1] for k, v in spent.items()},
                      "starved": starved, "ran": cpu / wall}))
