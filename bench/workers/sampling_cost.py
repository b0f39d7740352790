# SPDX-License-Identifier: MIT
"""What one sample costs a sampler that samples as fast as it can, and how many it takes in a second.

    sampling_cost.py ROUNDS [PYTHON]

Each round a short and a long watch of the same process; the difference of the two is without what
starting and ending cost.  Stacks of 10 and of 50 functions, and of 10 with 32 waiting threads
beside them, where a round is one look at all 33.  With another Python: targets of that one.

The sampler has a CPU of its own, but not where targets keep each frame in an object of its own (before 3.11): these ours
reads from the program's CPU, and where it may not run there it looks at each stack 20 times more.
"""
import sys
import tempfile

from rounds import tell
from samplers import FASTEST, output_of, present, refused, versions
from watch import Target, complain, rounds_of, watch

SHORT_S, LONG_S = 1, 2
# measurement, depth, threads that wait
TARGETS = (("10", 10, 0), ("50", 50, 0), ("33", 10, 32))


def is_apart(sampler):
    return output_of(sampler.python + ["-c", "import sys; print(sys.version_info >= (3, 11))"]).strip() == "True"


def cost(sampler, pid, folder, all_threads):
    """(CPU ns per sample, samples per second), or None."""
    ends = []
    for seconds in (SHORT_S, LONG_S):
        seen = watch(sampler, pid, FASTEST, seconds, folder, all_threads=all_threads, away=is_apart(sampler))
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


def main():
    samplers = [s for s in present(*sys.argv[2:]) if s.name != "pyspynb"]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        rows = measure(samplers, int(sys.argv[1]), folder)
    tell(rows, versions(samplers), refused(samplers))


main()
