# SPDX-License-Identifier: MIT
"""How far six runs of a timer are apart on a machine that others use, and how long it takes to answer.

    timed.py ROUNDS SONDE

Two busy processes run beside.  In a round each timer times each of four statements six times, all in turn.  A spread is the largest of the six
over the least, less 1, in percent; "middle" is the median over the statements, "worst" the largest, of which a spread of less than 1 ns is
taken for none: a loop of some nanoseconds was taken off.
"""
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

from rounds import tell

STATEMENTS = (("x = 1", "x + 1"), ("a = [3, 1, 2] * 5", "sorted(a)"), ("import json", "json.dumps([1, 2, 3])"), ("pass", "sum(range(500))"))
RUNS = 6
MOST = 4.0


def output(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()


def by_sonde(sonde, setup, statement):
    return json.loads(output([sonde, "time", "--python", sys.executable, "--json", "-s", setup, statement]))["results"][0]["best_ns"]


UNITS = {"nsec": 1, "ns": 1, "usec": 1e3, "us": 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, "msec": 1e6, "ms": 1e6, "sec": 1e9, "s": 1e9}


def by_timeit(sonde, setup, statement):
    value, unit = output([sys.executable, "-m", "timeit", "-s", setup, statement]).split(": ")[1].split()[:2]
    return float(value) * UNITS[unit]


def by_ipython(sonde, setup, statement):
    cell = "{0}\nr = get_ipython().run_line_magic('timeit', '-o -q {1}')\nprint(r.average * 1e9)".format(setup, statement)
    return float(output([sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c", cell]).split()[-1])


def by_pyperf(sonde, setup, statement, *more):
    value, unit = output([sys.executable, "-m", "pyperf", "timeit", "-q", "-s", setup, statement, *more]).split(": ")[-1].split()[:2]
    return float(value) * UNITS[unit]


def by_pyperf_fast(sonde, setup, statement):
    return by_pyperf(sonde, setup, statement, "--fast")


def timers():
    """{name: its function} of those that are here, and {name: version}."""
    found, versions = {"ours": by_sonde, "timeit": by_timeit}, {"timeit": "CPython %d.%d.%d" % sys.version_info[:3]}
    for module, name, timer in (("IPython", "ipython", by_ipython), ("pyperf", "pyperf", by_pyperf_fast)):
        try:
            versions[name] = "%s %s" % (module, importlib.import_module(module).__version__)
        except ImportError:
            continue
        found[name] = timer
    return found, versions


def spreads(values):
    """(middle, worst) over the statements, in percent."""
    parts = []
    for of_statement in values:
        apart, part = max(of_statement) - min(of_statement), 100 * (max(of_statement) / max(min(of_statement), 1e-9) - 1)
        parts.append(part if apart > 1 else min(part, MOST))
    return statistics.median(parts), max(parts)


def measure(rows, found, sonde):
    values = {name: [[] for _ in STATEMENTS] for name in found}
    for run in range(RUNS):
        for at, (setup, statement) in enumerate(STATEMENTS):
            for name in sorted(found, reverse=run % 2 == 1):
                start = time.monotonic_ns()
                values[name][at].append(found[name](sonde, setup, statement))
                if at == 3 and run == 0:
                    rows.setdefault(name + "-answer", []).append(time.monotonic_ns() - start)
    for name in found:
        middle, worst = spreads(values[name])
        rows.setdefault(name + "-middle", []).append(middle)
        rows.setdefault(name + "-worst", []).append(worst)
    if "pyperf" in found:
        start = time.monotonic_ns()
        by_pyperf(sonde, *STATEMENTS[3])
        rows.setdefault("pyperfdefault-answer", []).append(time.monotonic_ns() - start)


def main():
    n_rounds, sonde = int(sys.argv[1]), sys.argv[2]
    found, versions = timers()
    if "pyperf" in versions:
        versions["pyperfdefault"] = versions["pyperf"]
    busy = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(2)]
    rows = {}
    try:
        for _ in range(n_rounds):
            measure(rows, found, sonde)
    finally:
        for one in busy:
            one.kill()
            one.wait()
    tell(rows, versions)


os.environ.pop("PYTHONPATH", None)  # ours finds its package by itself
main()
