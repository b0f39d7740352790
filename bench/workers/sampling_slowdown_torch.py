# SPDX-License-Identifier: MIT
"""By how much a torch program with many native threads gets slower while it is sampled, in per cent.

    sampling_slowdown_torch.py ROUNDS

targets/torch_steps.py trains a small model with 32 threads of torch, at home on all CPUs, so
that whoever samples takes its CPU time from the program.  200 looks a second.  How it is measured:
slower.py; the windows are longer than for other programs, because 32 threads on a few CPUs do not
get the same share of them in every one.  The peers are measured in the first rounds alone.
"""
import os
import sys
import tempfile

from rounds import tell
from samplers import VENVS, output_of, present, refused, versions
from slower import FEW, FEW_PAIRS, PAIRS, Journal, Nobody, add, come_and_go, in_turn
from watch import Target

PYTHON = os.path.join(VENVS, "3.11-torch", "bin", "python")
N_THREADS, RATE = 32, 200
WINDOW_S = 0.06
COMES_AND_GOES = 4                      # windows in a round of a sampler that must not be stopped


def measured(sampler, target, journal, folder):
    if not sampler.ends_by_signal:
        pairs = PAIRS // 2 if sampler.name in ("ours", "control") else FEW_PAIRS // 3
        return in_turn(sampler, RATE, target, journal, folder, pairs, WINDOW_S)
    return [found for _ in range(COMES_AND_GOES) for found in come_and_go(sampler, RATE, target, journal, folder)]


def main():
    n_rounds, rows = int(sys.argv[1]), {}
    version = output_of([PYTHON, "-c", "import torch; print(torch.__version__)"]).strip()
    if not version:
        sys.exit("there is no torch in the environment 3.11-torch")
    samplers = [s for s in present() if s.name in ("ours", "pyspy", "austin3", "austin4")]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        for turn in range(n_rounds):
            order = [Nobody()] + [s for s in samplers if s.name == "ours" or turn < FEW]
            for n in range(len(order)):
                sampler, journal = order[(n + turn) % len(order)], Journal(folder)
                # Threads that spin while they wait for work would take the CPUs from each other, sampled or not.
                with Target([PYTHON], "torch_steps.py", N_THREADS, journal.path, cpu=None, OMP_WAIT_POLICY="PASSIVE") as target:
                    add(rows, sampler.name, "torch%s", measured(sampler, target, journal, folder))
            tell(rows, dict(versions(samplers), control="nobody", torch="torch " + version), refused(samplers))


main()
