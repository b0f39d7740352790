# SPDX-License-Identifier: MIT
"""How much of a CPU `sonde run` takes for itself at its defaults, with 1 and with 8 processes, in per cent.

    run_own.py ROUNDS SONDE

All threads of sonde, between two moments of its life, so that starting and ending are not in it; and of
the readings of `rss` alone, what they took of the whole run.  The processes work a little and sleep, as
servers and workers do.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from rounds import tell

SONDE = sys.argv[2]
SETTLE_S, WINDOW_S = 1.2, 3.0
PROGRAM = """
import os, sys, time
children = []
for i in range(int(sys.argv[1]) - 1):
    pid = os.fork()
    if pid == 0:
        children = []
        break
    children.append(pid)
end = time.monotonic() + float(sys.argv[2])
kept = []
while time.monotonic() < end:
    sum(range(2000))
    kept = kept[-200:] + [bytearray(20000)]
    time.sleep(0.02)
for pid in children:
    os.waitpid(pid, 0)
"""


def cpu_ns(pid):
    return time.clock_gettime_ns((~pid << 3) | 2)


def shares(n, folder):
    """(per cent of a CPU for all of sonde, and for rss)."""
    out = os.path.join(folder, "own.sonde")
    words = [SONDE, "run", "-q", "--force", "-o", out, "--python", sys.executable, "-c", PROGRAM, str(n), str(SETTLE_S + WINDOW_S + 0.8)]
    began = time.monotonic_ns()
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(SETTLE_S)
    first, start = cpu_ns(process.pid), time.monotonic_ns()
    time.sleep(WINDOW_S)
    last, end = cpu_ns(process.pid), time.monotonic_ns()
    process.wait()
    lasted = time.monotonic_ns() - began
    meta = json.loads(subprocess.run([SONDE, "info", "--json", out], stdout=subprocess.PIPE, check=True).stdout)["meta"]
    return 100.0 * (last - first) / (end - start), 100.0 * int(meta["rss.cpu_ns"]) / lasted


def main():
    rows = {}
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        for _ in range(int(sys.argv[1])):
            for n in (1, 8):
                for name, value in zip(("all", "rss"), shares(n, folder)):
                    rows.setdefault("%s%d" % (name, n), []).append(value)
    tell(rows, {})


main()
