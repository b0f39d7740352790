# SPDX-License-Identifier: MIT
"""By how much a program that calls all the time gets slower while it is sampled, in per cent.

    sampling_slowdown.py ROUNDS

How that is measured: slower.py.  Profilers that live inside a program get a program of their own,
beside a plain one.  Ours and the control are measured in every round, the peers, of which less is to
be known, in the first ones.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

from rounds import tell
from samplers import VENVS, output_of, present, versions
from slower import FEW, LONG_S, Counter, Nobody, add, come_and_go, in_turn, slower
from watch import Target

SETTLED_S = 1.5                         # after its first work a program in a profiler is still being set up
RATES = (200, 1000)


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


def round_of_attached(samplers, turn, folder, rows):
    """Every sampler beside a program of the Python that it watches; the control beside the first."""
    for python in ([s.python for s in samplers if s.name == "ours"] + [s.python for s in samplers if s.name == "oursnew"]):
        mine = [s for s in samplers if s.python == python and (s.name.startswith("ours") or turn < FEW)]
        if mine[0].name == "ours":
            mine.append(Nobody())
        counter = Counter(folder)
        with Target(python, "calls.py", 600, counter.path) as target:
            counter.pid = target.pid
            for n in range(len(mine)):
                sampler = mine[(n + turn) % len(mine)]
                how = come_and_go if sampler.ends_by_signal else in_turn
                for rate in RATES:
                    add(rows, sampler.name, "slow%%s%d" % rate, how(sampler, rate, counter, folder))


def main():
    n_rounds, rows = int(sys.argv[1]), {}
    samplers = [s for s in present() if s.name != "pyspynb"]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        inner = in_process_peers(folder)
        for turn in range(n_rounds):
            round_of_attached(samplers, turn, folder, rows)
            for name, (_, commands) in inner.items() if turn < FEW else ():
                for rate, command in commands.items():
                    add(rows, name, "slow%%s%d" % rate, [inside(command, folder)])
            said = versions(samplers)
            said.update({name: version for name, (version, _) in inner.items()}, control="nobody")
            tell(rows, said)


main()
