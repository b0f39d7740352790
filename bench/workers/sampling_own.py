# SPDX-License-Identifier: MIT
"""How much of a core a sampler itself uses at 100 Hz, at 1 kHz, and with C functions at 200 Hz, in per
cent; and what `dump` takes.

    sampling_own.py ROUNDS [PYTHON]

The stack has 10 functions, of another Python where one is given.  Its own CPU time is read from outside between two moments of its life,
so that starting and ending are not in it.  `dump` is the time from exec to its end, the stack being
printed: wall time, the least of several calls, because starting a process on a busy machine is
mostly waiting.
"""
import subprocess
import sys
import tempfile
import time

from rounds import tell
from samplers import present, refused, versions
from watch import Target, Watch, complain, rounds_of

WINDOW_S = 1.0
DUMPS = 5


def own_share(sampler, pid, rate, folder, **how):
    """Per cent of a core, or None."""
    watch = Watch(sampler, pid, rate, round(2 * sampler.settle_s + WINDOW_S), folder, **how)
    time.sleep(sampler.settle_s)
    first, start = watch.cpu_ns(), time.monotonic_ns()
    time.sleep(WINDOW_S)
    last, end = watch.cpu_ns(), time.monotonic_ns()
    seen = watch.end()
    if sampler.refused(seen.text):
        complain(sampler, "samples", seen.text)
        return None
    return 100.0 * (last - first) / (end - start)


def dump_ns(sampler, pid):
    """Wall nanoseconds of one dump, or None when it showed no stack."""
    best = None
    for _ in range(DUMPS):
        start = time.monotonic_ns()
        done = subprocess.run(sampler.dump(pid), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        took = time.monotonic_ns() - start
        if b"f_1" not in done.stdout:
            complain(sampler, "dump", done.stderr.decode(errors="replace"))
            return None
        best = took if best is None else min(best, took)
    return best


def main():
    n_rounds, rows = int(sys.argv[1]), {}
    samplers = [s for s in present(*sys.argv[2:]) if s.name != "pyspynb"]

    def add(name, value):
        if value is not None:
            rows.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        for sampler in rounds_of(samplers, n_rounds):
            with Target(sampler.python, "chain.py", 60, 10) as target:
                for rate in (100, 1000):
                    add("%s-own%d" % (sampler.name, rate), own_share(sampler, target.pid, rate, folder))
                if sampler.has_native:
                    add(sampler.name + "-native", own_share(sampler, target.pid, 200, folder, native=True))
                add(sampler.name + "-dump", dump_ns(sampler, target.pid))
    tell(rows, versions(samplers), refused(samplers))


main()
