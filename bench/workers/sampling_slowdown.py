# SPDX-License-Identifier: MIT
"""By how much a program that calls all the time gets slower while it is sampled, in per cent.

    sampling_slowdown.py ROUNDS [free | PYTHON]

How that is measured: slower.py.  Profilers that live inside a program get a program of their own,
beside a plain one.  Ours and the controls are measured in every round, the peers, of which less is to
be known, in the first ones.  With "free" the program is not bound to a CPU, and only ours and the
controls are measured.  With another Python the program is run by that one, and nobody is inside.
"""
import os
import re
import sys
import tempfile
import time

from rounds import tell
from samplers import VENVS, output_of, present, refused, versions
from slower import FEW, FEW_PAIRS, LONG_S, PAIRS, Journal, Known, Nobody, add, come_and_go, in_turn, slower, window
from watch import CPUS, Target

SETTLED_S = 1.5                         # after its first work a program in a profiler is still being set up
RATES = (200, 1000)


def inside(command, folder):
    """The same of a profiler that runs in the program: plain, profiled, plain."""
    costs = []
    for words in ([sys.executable], command, [sys.executable]):
        journal = Journal(folder)
        with Target(words, "calls.py", 30, journal.path):
            deadline = time.monotonic() + 20
            while not journal.records() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(SETTLED_S)
            costs += journal.costs([window(LONG_S)])
    return [] if None in costs else [slower(costs[1], costs[0], costs[2])]


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


def measure(sampler, target, journal, folder, rows):
    """At both rates; what does nothing, or always the same, knows no rate."""
    if isinstance(sampler, Nobody):
        add(rows, sampler.name, "slow%s", in_turn(sampler, 0, target, journal, folder))
        return
    for rate in RATES:
        if sampler.ends_by_signal:
            found = come_and_go(sampler, rate, target, journal, folder)
        else:
            found = in_turn(sampler, rate, target, journal, folder, PAIRS if sampler.name == "ours" else FEW_PAIRS)
        add(rows, sampler.name, "slow%%s%d" % rate, found)


def round_of_attached(samplers, turn, folder, rows, is_free):
    """Every sampler, and the controls, beside a program of their own."""
    mine = [s for s in samplers if s.name == "ours" or turn < FEW] + ([Nobody()] if is_free else [Nobody(), Known()])
    for n in range(len(mine)):
        journal = Journal(folder)
        with Target(samplers[0].python, "calls.py", 600, journal.path, cpu=None if is_free else CPUS[-1]) as target:
            measure(mine[(n + turn) % len(mine)], target, journal, folder, rows)


def main():
    n_rounds, is_free, rows = int(sys.argv[1]), "free" in sys.argv[2:], {}
    another = [] if is_free else sys.argv[2:]
    samplers = [s for s in present(*another) if (s.name == "ours" if is_free else s.name != "pyspynb")]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        inner = {} if is_free or another else in_process_peers(folder)
        for turn in range(n_rounds):
            round_of_attached(samplers, turn, folder, rows, is_free)
            for name, (_, commands) in inner.items() if turn < FEW else ():
                for rate, command in commands.items():
                    add(rows, name, "slow%%s%d" % rate, inside(command, folder))
            said = versions(samplers)
            said.update({name: version for name, (version, _) in inner.items()}, control="nobody", known="what it really was")
            tell(rows, said, refused(samplers))


main()
