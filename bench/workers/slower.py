# SPDX-License-Identifier: MIT
"""By how much a program gets slower while it is sampled: thousands of pairs of short windows.

One program runs on, and keeps a journal of its work (targets/journal.py).  A sampler is there all the
time; in one window of each pair it is stopped (SIGSTOP), in the other it runs, and which comes first
is drawn.  How fast a machine is changes by some per cent, but slowly: two windows of a few
milliseconds, one after the other, differ as little as two of a second do, and there are a hundred
times as many.  Means are taken of 100 pairs at a time, without a tenth at each end, and
the scatter of these means is the error.

py-spy stops the program it reads, and would leave it so if it were stopped itself: it comes and goes,
in longer windows.  As controls `sleep` is measured as if it were a sampler: what comes out for it is
what this machine makes of nothing; and takes.py, which takes a known share of the program's own CPU.

Two measures of the same windows: CPU time of the program for a unit of its work, which stands on a
busy machine, and wall time for it, which also knows the time that it was stopped, or that a sampler
on its own CPU took.
"""
import bisect
import itertools
import math
import os
import random
import signal
import statistics
import sys
import time

from middle import middle_mean
from watch import CPUS, HERE, TARGETS, Watch, complain

sys.path.insert(0, TARGETS)
from journal import RECORD  # noqa: E402

WINDOW_S, SETTLE_S = 0.012, 0.003       # of one kind, and after the sampler was stopped or let go
PAIRS = int(os.environ.get("BENCH_PAIRS") or 1000)      # in a round
FEW_PAIRS = min(300, PAIRS)             # of a peer, of which less is to be known
AT_ONCE, AT_LEAST = 100, 30             # pairs of one mean, and where there are so few in all
LONG_S = 0.5                            # a window of those who come and go
FEW = 2                                 # rounds in which peers are measured
LONGEST_S = 600                         # that a sampler would watch: it is interrupted when the pairs are there
JOURNAL_BYTES = 600000 * RECORD.size     # five minutes of it


class Journal:
    """The journal of a target, read from outside."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "journal")
        with open(self.path, "wb") as f:
            f.truncate(JOURNAL_BYTES)

    def records(self):
        """[(units, wall ns, CPU ns), ...]; the last may be half written, and is left out."""
        with open(self.path, "rb") as f:
            every = RECORD.iter_unpack(f.read())
        return list(itertools.takewhile(lambda record: record[0], every))[:-1]

    def costs(self, windows):
        """(CPU ns, wall ns) for a unit in each window (begin, end), or None where too little was done."""
        every = self.records()
        walls, found = [record[1] for record in every], []
        for begin, end in windows:
            a, b = bisect.bisect_left(walls, begin), bisect.bisect_right(walls, end) - 1
            units = every[b][0] - every[a][0] if 0 <= a < b else 0
            found.append(((every[b][2] - every[a][2]) / units, (walls[b] - walls[a]) / units) if units else None)
        return found


def window(seconds):
    begin = time.monotonic_ns()
    time.sleep(seconds)
    return begin, time.monotonic_ns()


class Nobody:
    """The control: something that does nothing, treated as a sampler."""
    name, version, settle_s, ends_by_signal = "control", "nobody", 0.5, False

    def refused(self, text):
        return False

    def reason(self, text):
        return text.strip()

    def record(self, pid, rate, seconds, out):
        return ["sleep", str(seconds)]


class Known(Nobody):
    """Takes a hundredth of the program's CPU, or a little more: how much is in its own CPU time."""
    name, version = "known", "its own share of the CPU"

    def record(self, pid, rate, seconds, out):
        return [sys.executable, os.path.join(HERE, "takes.py"), str(CPUS[-1]), str(seconds)]


def switch(watch, is_on):
    os.kill(watch.process.pid, signal.SIGCONT if is_on else signal.SIGSTOP)
    time.sleep(SETTLE_S)


def draw_windows(watch, pairs, window_s):
    """[((begin, end) with the sampler, (begin, end) without, its own share of a core in the first), ...]"""
    found = []
    for _ in range(pairs):
        pair, used_ns = {}, 0
        for is_on in random.sample((True, False), 2):
            switch(watch, is_on)
            before_ns = watch.cpu_ns()
            pair[is_on] = window(window_s)
            used_ns += watch.cpu_ns() - before_ns if is_on else 0
        found.append((pair[True], pair[False], used_ns / (pair[True][1] - pair[True][0])))
    switch(watch, True)
    return found


def means_of(pairs):
    """[(CPU, wall, share), ...] in per cent, of (costs with it, costs without, its share): by their logarithms, because
    the mean of ratios that scatter is more than the ratio."""
    pairs, found = [pair for pair in pairs if None not in pair], []
    step = min(AT_ONCE, max(len(pairs), AT_LEAST))
    for at in range(0, len(pairs) - step + 1, step):
        some = pairs[at:at + step]
        logs = [middle_mean(math.log(on[n] / off[n]) for on, off, _ in some) for n in (0, 1)]
        found.append((100 * math.expm1(logs[0]), 100 * math.expm1(logs[1]), 100 * statistics.fmean(share for _, _, share in some)))
    return found


def in_turn(sampler, rate, target, journal, folder, pairs=PAIRS, window_s=WINDOW_S):
    """[(CPU, wall, share), ...]: per cent that the program takes more, and the sampler's own share of a core meanwhile."""
    watch = Watch(sampler, target.pid, rate, LONGEST_S, folder)
    time.sleep(sampler.settle_s)
    windows = draw_windows(watch, pairs, window_s)
    has_ended = watch.has_ended()
    watch.interrupt()
    seen = watch.end()
    if has_ended or sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return []
    costs = journal.costs([each for pair in windows for each in pair[:2]])
    return means_of(list(zip(costs[::2], costs[1::2], (share for _, _, share in windows))))


def come_and_go(sampler, rate, target, journal, folder, window_s=LONG_S):
    """The same of a sampler that must not be stopped: one window beside those before and after."""
    windows = [window(window_s)]
    watch = Watch(sampler, target.pid, rate, round(2 * sampler.settle_s + 1), folder)
    time.sleep(sampler.settle_s)
    windows.append(window(window_s))
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return []
    windows.append(window(window_s))
    before, watched, after = journal.costs(windows)
    return [slower(watched, before, after)] if before and watched and after else []


def slower(watched, before, after):
    """(per cent of CPU, per cent of wall time)."""
    return tuple(100.0 * (2 * w / (b + a) - 1) for w, b, a in zip(watched, before, after))


def add(rows, name, what, found):
    """what: "slow%s200", where %s becomes "" for CPU time, "wall" for wall time, "share" for the sampler's own."""
    for each in found:
        for word, value in zip(("", "wall", "share"), each):
            rows.setdefault("%s-%s" % (name, what % word), []).append(value)
