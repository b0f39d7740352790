# SPDX-License-Identifier: MIT
"""By how much a program that calls all the time gets slower while it is sampled, in per cent.

    sampling_slowdown.py ROUNDS

One program runs on.  Short windows without and with a sampler follow each other: the sampler is
there all the time, and stopped (SIGSTOP) in every other window.  Each window with it is compared
with the two beside it without.  py-spy stops the program it reads, and would leave it so if it were
stopped itself: it comes and goes, in longer windows.  Profilers that live inside a program get a
program of their own, beside a plain one.  As a control `sleep` is measured as if it were a sampler:
what comes out for it is what this machine makes of nothing.

Two measures of the same windows: CPU time of the program for a unit of its work, which stands on a
busy machine, and wall time for it, which also knows the time that it was stopped, or that a sampler
on its own CPU took.
"""
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

from rounds import tell
from samplers import VENVS, output_of, present, versions
from watch import Target, Watch, complain

WINDOW_S, SETTLE_S = 0.2, 0.03          # of one kind, and after the sampler was stopped or let go
PAIRS = 12
LONG_S = 0.5                            # a window of those who come and go
SETTLED_S = 1.5                         # after its first work a program in a profiler is still being set up
RATES = (200, 1000)
FEW = 3                                 # rounds of profilers inside the program: each takes long


class Counter:
    """The eight bytes that targets/calls.py counts in."""

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


def in_turn(sampler, rate, target, counter, folder):
    """[(CPU, wall), ...] of windows in which the sampler ran, beside those in which it was stopped."""
    seconds = round(2 * sampler.settle_s + PAIRS * 2 * (WINDOW_S + SETTLE_S) + 2)
    watch = Watch(sampler, target.pid, rate, seconds, folder)
    time.sleep(sampler.settle_s)
    found, windows = [], []
    for n in range(2 * PAIRS + 1):
        os.kill(watch.process.pid, signal.SIGCONT if n % 2 else signal.SIGSTOP)
        time.sleep(SETTLE_S)
        windows.append(counter.window(WINDOW_S))
    os.kill(watch.process.pid, signal.SIGCONT)
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return []
    for n in range(1, len(windows), 2):
        found.append(slower(windows[n], windows[n - 1], windows[n + 1]))
    return found


def come_and_go(sampler, rate, target, counter, folder):
    """The same of a sampler that must not be stopped."""
    before = counter.window(LONG_S)
    watch = Watch(sampler, target.pid, rate, round(2 * sampler.settle_s + 1), folder)
    time.sleep(sampler.settle_s)
    watched = counter.window(LONG_S)
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return []
    return [slower(watched, before, counter.window(LONG_S))]


def inside(command, folder):
    """The same of a profiler that runs in the program: plain, profiled, plain."""
    costs = []
    for words in ([sys.executable], command, [sys.executable]):
        counter = Counter(folder)
        with Target(words, "calls.py", 30, counter.path) as target:
            deadline = time.monotonic() + 20
            while counter.read() == 0 and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(SETTLED_S)
            counter.pid = worker_of(target.pid)
            costs.append(counter.window(LONG_S))
    return slower(costs[1], costs[0], costs[2])


def worker_of(pid):
    """Some profilers start the program as a child: the one that uses CPU time."""
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], stdout=subprocess.PIPE).stdout.split()
    every = [pid] + [int(child) for child in children]
    return max(every, key=lambda one: time.clock_gettime_ns((~one << 3) | 2))


def in_process_peers(folder):
    """{name: (version, {rate: command})}"""
    python = os.path.join(VENVS, "3.11-samplers", "bin", "python")
    found = {}
    ask = "from importlib import metadata as m; print(m.version('%s'))"
    version = re.match(r"[\d.]+", output_of([python, "-c", ask % "pyinstrument"]))
    if version:
        words = [python, "-m", "pyinstrument", "-r", "json", "-o", os.path.join(folder, "p.json")]
        found["pyinstrument"] = "pyinstrument " + version.group(), {200: words + ["-i", "0.005"], 1000: words + ["-i", "0.001"]}
    version = re.match(r"[\d.]+", output_of([python, "-c", ask % "scalene"]))
    if version:
        words = [python, "-m", "scalene", "run", "--cpu-only", "-o", os.path.join(folder, "s.json"), "--cpu-sampling-rate"]
        found["scalene"] = "scalene %s --cpu-only" % version.group(), {200: words + ["0.005"], 1000: words + ["0.001"]}
    return found


def add(rows, name, rate, found):
    for cpu, wall in found:
        rows.setdefault("%s-slow%d" % (name, rate), []).append(cpu)
        rows.setdefault("%s-slowwall%d" % (name, rate), []).append(wall)


def round_of_attached(samplers, turn, folder, rows):
    """Every sampler beside a program of the Python that it watches; the control beside the first."""
    for python in ([s.python for s in samplers if s.name == "ours"] + [s.python for s in samplers if s.name == "oursnew"]):
        mine = [s for s in samplers if s.python == python]
        if mine[0].name == "ours":
            mine.append(Nobody())
        counter = Counter(folder)
        with Target(python, "calls.py", 600, counter.path) as target:
            counter.pid = target.pid
            for n in range(len(mine)):
                sampler = mine[(n + turn) % len(mine)]
                how = come_and_go if sampler.ends_by_signal else in_turn
                for rate in RATES:
                    add(rows, sampler.name, rate, how(sampler, rate, target, counter, folder))


def main():
    n_rounds, rows = int(sys.argv[1]), {}
    samplers = [s for s in present() if s.name != "pyspynb"]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        inner = in_process_peers(folder)
        for turn in range(n_rounds):
            round_of_attached(samplers, turn, folder, rows)
            for name, (_, commands) in inner.items() if turn < FEW else ():
                for rate, command in commands.items():
                    add(rows, name, rate, [inside(command, folder)])
        said = versions(samplers)
        said.update({name: version for name, (version, _) in inner.items()}, control="nobody")
        tell(rows, said)


main()
