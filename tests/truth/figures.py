#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures.py [RUNS]: how far our numbers are from the truth, as the table of docs/accuracy.md.

The programs are those of tests/targets that know their own use; each runs RUNS times (10), and the
worst error over all runs is printed.  Not a test: test_rss.py and test_sections.py hold the bounds.
"""
import json
import os
import platform
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import MIB, TARGETS, Capture, equal, sonde_run  # noqa: E402
from truth.own_network import own_network  # noqa: E402


def run(program, *words):
    with tempfile.TemporaryDirectory(prefix="sonde-figures-") as folder:
        how = {"preexec_fn": own_network} if os.geteuid() == 0 else {}
        result, path = sonde_run(folder, os.path.join(TARGETS, program), *words, **how)
        equal(result.status, 0, "exit status (%r)" % result.err)
        return json.loads(result.out.splitlines()[-1]), Capture(path)


def of_rss(found):
    truth, c = run("memory.py", "hold")
    row = c.processes()[truth["pid"]]
    found("rss: largest reading, 150 MiB for 0.5 s", row["rss_max"], truth["during"])
    truth, c = run("memory.py", "brief_peak")
    found("rss: peak of 30 ms, 200 MiB", c.processes()[truth["pid"]]["peak_rss"], truth["during"])
    truth, c = run("memory.py", "peak_under_sections")
    found("rss: peak of 200 MiB though 23 sections reset the mark", c.processes()[truth["pid"]]["peak_rss"], truth["during"])
    truth, c = run("memory.py", "writes")
    found("rss: bytes written, 30 MiB", c.processes()[truth["pid"]]["written"], 30 * MIB)
    truth, c = run("memory.py", "spins")
    found("rss: CPU time, 0.5 s", c.processes()[truth["pid"]]["cpu"] / 1e9, truth["cpu"])
    truth, c = run("memory.py", "family")
    found("rss: two processes together, 60 and 100 MiB", c.tree()["rss_max"], truth["mine"] + truth["child"])
    truth, c = run("memory.py", "network")
    found("rss: received over loopback, 20 MiB", c.processes()[truth["pid"]]["received"], truth["bytes"])


def main():
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    errors = {}

    def found(name, ours, truth):
        errors.setdefault(name, []).append((ours - truth) / truth)

    for _ in range(n_runs):
        of_rss(found)
        for name, (ours, truth) in run("sections.py")[0].items():
            found("sections: " + name, ours, truth)
    print("CPython %s, Linux %s, %d runs, load %.1f\n" % (platform.python_version(), platform.release(), n_runs, os.getloadavg()[0]))
    print("| figure | smallest error | largest error |\n|---|---|---|")
    for name, values in errors.items():
        print("| %s | %+.2f %% | %+.2f %% |" % (name, 100 * min(values), 100 * max(values)))


if __name__ == "__main__":
    main()
