# SPDX-License-Identifier: MIT
"""What one sample costs a sampler that samples as fast as it can, and how many it takes in a second.

    sampling_cost.py ROUNDS [PYTHON]

Each round a short and a long watch of the same process; the difference of the two is without what
starting and ending cost.  Stacks of 10 and of 50 functions, and of 10 with 32 waiting threads
beside them, where a round is one look at all 33.  With another Python: targets of that one, and the
samplers that know it.
"""
import sys
import tempfile

from rounds import tell
from samplers import FASTEST, present, versions
from watch import Target, complain, rounds_of, watch

SHORT_S, LONG_S = 1, 2
# measurement, depth, threads that wait
TARGETS = (("10", 10, 0), ("50", 50, 0), ("33", 10, 32))


def cost(sampler, pid, folder, all_threads):
    """(CPU ns per sample, samples per second), or None."""
    ends = []
    for seconds in (SHORT_S, LONG_S):
        seen = watch(sampler, pid, FASTEST, seconds, folder, all_threads=all_threads, away=True)
        ends.append((sampler.n_samples(seen.text), seen))
    (n_short, short), (n_long, long) = ends
    if n_long <= n_short:
        complain(sampler, "samples", long.text)
        return None
    n = n_long - n_short
    return max(0, long.cpu_s - short.cpu_s) * 1e9 / n, n / (long.wall_s - short.wall_s)


def measure(samplers, n_rounds, folder):
    rows = {}
    for sampler in rounds_of(samplers, n_rounds):
        for kind, depth, n_waiting in TARGETS:
            with Target(sampler.python, "chain.py", 60, depth, n_waiting) as target:
                found = cost(sampler, target.pid, folder, n_waiting > 0)
            if found:
                threads = 1 if sampler.counts_rounds else n_waiting + 1
                rows.setdefault("%s-cpu%s" % (sampler.name, kind), []).append(found[0] * threads)
                rows.setdefault("%s-rate%s" % (sampler.name, kind), []).append(found[1] / threads)
    return rows


def chosen(python):
    samplers = [s for s in present() if s.name != "pyspynb"]
    if python:
        samplers = [s for s in samplers if s.python == [sys.executable]]
        for s in samplers:
            s.python = [python]
    return samplers


def main():
    samplers = chosen(sys.argv[2] if len(sys.argv) > 2 else None)
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        tell(measure(samplers, int(sys.argv[1]), folder), versions(samplers))


main()
