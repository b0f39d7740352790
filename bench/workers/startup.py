# SPDX-License-Identifier: MIT
"""What `sonde run` adds to the start and end of a program that does nothing.

    startup.py ROUNDS SONDE FOLDER
"""
import os
import resource
import subprocess
import sys
import time

from rounds import tell

EACH = 5


def cost(command):
    """(CPU, wall) nanoseconds of a command, its children included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    for _ in range(EACH):
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return cpu * 1e9 / EACH, (time.monotonic_ns() - start) / EACH


def main():
    n_rounds, sonde, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    plain = [sys.executable, "-c", "pass"]
    under = [sonde, "run", "--force", "-o", os.path.join(folder, "start.sonde"), "--python", sys.executable, "-c", "pass"]
    rows = {k: [] for k in ("plain-cpu", "plain-wall", "sonde-cpu", "sonde-wall")}
    for command in (plain, under):
        cost(command)
    for turn in range(n_rounds):
        for name, command in ((("plain", plain), ("sonde", under)) if turn % 2 else (("sonde", under), ("plain", plain))):
            cpu, wall = cost(command)
            rows[name + "-cpu"].append(cpu)
            rows[name + "-wall"].append(wall)
    tell(rows, {"plain": "CPython %d.%d.%d" % sys.version_info[:3]})


main()
