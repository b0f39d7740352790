# SPDX-License-Identifier: MIT
"""By how much a program that calls all the time gets slower while it is sampled, in per cent.

    sampling_slowdown.py ROUNDS

Wall time, because a stopped program uses no CPU time.  Samplers that attach come and go beside one
running program; its speed while one watches is compared with its speed just before and just after.
Profilers that live inside the program get a program of their own, beside a plain one.  On a busy
machine the single figures scatter by several per cent; the median of many does not.
"""
import os
import re
import struct
import sys
import tempfile
import time

from rounds import tell
from samplers import VENVS, output_of, present, versions
from watch import Target, Watch, complain

WINDOW_S = 0.5
SETTLED_S = 1.5                         # after its first work a program in a profiler is still being set up
RATES = (200, 1000)


class Counter:
    """The eight bytes that targets/calls.py counts in."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "counter")
        with open(self.path, "wb") as f:
            f.write(bytes(8))

    def speed(self):
        """Units per second over one window."""
        first, start = self.read(), time.monotonic()
        time.sleep(WINDOW_S)
        last, end = self.read(), time.monotonic()
        return (last - first) / (end - start)

    def read(self):
        with open(self.path, "rb") as f:
            return struct.unpack("=Q", f.read(8))[0]


def slower(watched, before, after):
    return 100.0 * (1 - watched / ((before + after) / 2))


def attached(sampler, rate, target, counter, folder):
    """Per cent by which the target is slower while the sampler watches, or None."""
    before = counter.speed()
    watch = Watch(sampler, target.pid, rate, round(2 * sampler.settle_s + 1), folder)
    time.sleep(sampler.settle_s)
    watched = counter.speed()
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return None
    return slower(watched, before, counter.speed())


def inside(command, folder):
    """The same of a profiler that runs in the program: plain, profiled, plain."""
    speeds = []
    for words in ([sys.executable], command, [sys.executable]):
        counter = Counter(folder)
        with Target(words, "calls.py", 30, counter.path):
            deadline = time.monotonic() + 20
            while counter.read() == 0 and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(SETTLED_S)
            speeds.append(counter.speed())
    return slower(speeds[1], speeds[0], speeds[2])


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


def round_of_attached(samplers, turn, folder, rows):
    for python in ([s.python for s in samplers if s.name == "ours"] + [s.python for s in samplers if s.name == "oursnew"]):
        mine = [s for s in samplers if s.python == python]
        counter = Counter(folder)
        with Target(python, "calls.py", 600, counter.path) as target:
            for n in range(len(mine)):
                sampler = mine[(n + turn) % len(mine)]
                for rate in RATES:
                    found = attached(sampler, rate, target, counter, folder)
                    if found is not None:
                        rows.setdefault("%s-slow%d" % (sampler.name, rate), []).append(found)


def main():
    n_rounds, rows = int(sys.argv[1]), {}
    samplers = [s for s in present() if s.name != "pyspynb"]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        inner = in_process_peers(folder)
        for turn in range(n_rounds):
            round_of_attached(samplers, turn, folder, rows)
            for name, (_, commands) in inner.items() if turn < 3 else ():
                for rate, command in commands.items():
                    rows.setdefault("%s-slow%d" % (name, rate), []).append(inside(command, folder))
        said = versions(samplers)
        said.update({name: version for name, (version, _) in inner.items()})
        tell(rows, said)


main()
