# SPDX-License-Identifier: MIT
"""By how much a program gets slower while it is sampled: windows in turn, with and without the sampler.

One program runs on.  Short windows without and with a sampler follow each other: the sampler is
there all the time, and stopped (SIGSTOP) in every other window.  Each window with it is compared
with the two beside it without.  py-spy stops the program it reads, and would leave it so if it were
stopped itself: it comes and goes, in longer windows.  As a control `sleep` is measured as if it were
a sampler: what comes out for it is what this machine makes of nothing.

Two measures of the same windows: CPU time of the program for a unit of its work, which stands on a
busy machine, and wall time for it, which also knows the time that it was stopped, or that a sampler
on its own CPU took.
"""
import os
import signal
import struct
import time

from watch import Watch, complain

WINDOW_S, SETTLE_S = 0.2, 0.03          # of one kind, and after the sampler was stopped or let go
PAIRS = 12
LONG_S = 0.5                            # a window of those who come and go
FEW = 2                                 # rounds in which peers are measured


class Counter:
    """The eight bytes that a target counts its units of work in."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "counter")
        with open(self.path, "wb") as f:
            f.write(bytes(8))

    def read(self):
        with open(self.path, "rb") as f:
            return struct.unpack("=Q", f.read(8))[0]

    def next(self):
        """(units, CPU ns, wall ns) of the program at the moment when it counts on."""
        now = self.read()
        while True:
            more = self.read()
            if more != now:
                return more, time.clock_gettime_ns((~self.pid << 3) | 2), time.monotonic_ns()

    def window(self, seconds):
        """(CPU ns, wall ns) for a unit, over one window."""
        first = self.next()
        time.sleep(seconds)
        last = self.next()
        return tuple((b - a) / (last[0] - first[0]) for a, b in zip(first[1:], last[1:]))


def slower(watched, before, after):
    """(per cent of CPU, per cent of wall time)."""
    return tuple(100.0 * (2 * w / (b + a) - 1) for w, b, a in zip(watched, before, after))


class Nobody:
    """The control: something that does nothing, treated as a sampler."""
    name, settle_s, ends_by_signal = "control", 0.5, False

    def refused(self, text):
        return False

    def record(self, pid, rate, seconds, out):
        return ["sleep", str(seconds)]


def in_turn(sampler, rate, counter, folder, pairs=PAIRS, window_s=WINDOW_S):
    """[(CPU, wall), ...] of windows in which the sampler ran, beside those in which it was stopped."""
    seconds = round(2 * sampler.settle_s + (2 * pairs + 1) * (window_s + SETTLE_S) + 1)
    watch = Watch(sampler, counter.pid, rate, seconds, folder)
    time.sleep(sampler.settle_s)
    found, windows = [], []
    for n in range(2 * pairs + 1):
        os.kill(watch.process.pid, signal.SIGCONT if n % 2 else signal.SIGSTOP)
        time.sleep(SETTLE_S)
        windows.append(counter.window(window_s))
    os.kill(watch.process.pid, signal.SIGCONT)
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return []
    for n in range(1, len(windows), 2):
        found.append(slower(windows[n], windows[n - 1], windows[n + 1]))
    return found


def come_and_go(sampler, rate, counter, folder, window_s=LONG_S):
    """The same of a sampler that must not be stopped."""
    before = counter.window(window_s)
    watch = Watch(sampler, counter.pid, rate, round(2 * sampler.settle_s + 1), folder)
    time.sleep(sampler.settle_s)
    watched = counter.window(window_s)
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return []
    return [slower(watched, before, counter.window(window_s))]


def add(rows, name, what, found):
    """what: "slow%s200", where %s becomes "" for CPU time and "wall" for wall time."""
    for cpu, wall in found:
        rows.setdefault("%s-%s" % (name, what % ""), []).append(cpu)
        rows.setdefault("%s-%s" % (name, what % "wall"), []).append(wall)
