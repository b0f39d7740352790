# SPDX-License-Identifier: MIT
# quiet
"""What `rss` reads against programs that know their own use of memory, CPU, disk and network."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import MIB, TARGETS, Capture, between, equal, run_tests, sonde_run, write  # noqa: E402
from truth.own_network import own_network  # noqa: E402

PROGRAM = os.path.join(TARGETS, "memory.py")
# How far the largest reading may be from what the program read of itself: the pages it touches
# between its own reading and ours.
SLACK = 3 * MIB


def measured(folder, kind, **how):
    """What the program knows, and what the capture says."""
    result, path = sonde_run(folder, PROGRAM, kind, **how)
    equal(result.status, 0, "exit status (%r)" % result.err)
    c = Capture(path)
    c.said = result.err
    return json.loads(result.out.splitlines()[-1]), c


def test_level_that_lasts(folder):
    truth, c = measured(folder, "hold")
    process = c.processes()[truth["pid"]]
    between(process["rss_max"], truth["during"] - SLACK, truth["during"] + SLACK, "largest rss")
    between(process["peak_rss"], truth["during"] - SLACK, truth["during"] + SLACK, "peak")
    assert process["vms_max"] >= process["rss_max"], process
    rises = [r for r in c.readings("rss", truth["pid"])]
    assert min(rises) < truth["before"] + 10 * MIB, "no reading from before the rise, of %d" % len(rises)
    assert sum(r > truth["during"] - SLACK for r in rises) >= 10, "half a second at 100 Hz gave %d readings of the level" % len(rises)


def test_peak_between_readings(folder):
    """Readings every 10 s cannot see it; the kernel's high-water mark can."""
    truth, c = measured(folder, "brief_peak", options=["--rss-every", "10s"])
    between(c.processes()[truth["pid"]]["peak_rss"], truth["during"] - SLACK, truth["during"] + SLACK, "peak")
    between(c.tree()["peak_rss"], truth["during"] - SLACK, truth["during"] + SLACK, "peak of the tree")


def test_peak_is_in_the_summary(folder):
    truth, c = measured(folder, "brief_peak")
    found = re.search(r"peak ([\d.]+) MiB", c.said)
    assert found, "no peak in the summary %r" % c.said
    between(float(found.group(1)) * MIB, truth["during"] - SLACK, truth["during"] + SLACK, "peak of the summary")


def test_peak_though_sections_reset_the_mark(folder):
    truth, c = measured(folder, "peak_under_sections")
    between(c.processes()[truth["pid"]]["peak_rss"], truth["during"] - SLACK, truth["during"] + SLACK, "peak of the process")
    between(float(re.search(r"peak ([\d.]+) MiB", c.said).group(1)) * MIB, truth["during"] - SLACK, truth["during"] + SLACK, "peak of the summary")
    for name, size in (("small", 5), ("middle", 60), ("outer", 40), ("inner", 40)):
        between(truth[name] - truth["base"], (size - 4) * MIB, (size + 6) * MIB, "peak inside %s above the base" % name)
    peaks = {row["section"]: row["peak_rss"] for row in c.sections()}
    for name, key in (("small", "small"), ("middle", "middle"), ("outer", "outer"), ("outer:inner", "inner")):
        between(peaks[name], truth[key] - SLACK, truth[key] + SLACK, "peak of %s in the capture" % name)


def test_peak_of_the_summary_without_readings(folder):
    """Nobody reads from outside: what the sections folded before each reset is all there is."""
    truth, c = measured(folder, "peak_under_sections", options=["--with", "sections"])
    between(float(re.search(r"peak ([\d.]+) MiB", c.said).group(1)) * MIB, truth["during"] - SLACK, truth["during"] + SLACK, "peak of the summary")


def test_bytes_written_and_read(folder):
    truth, c = measured(folder, "writes")
    process = c.processes()[truth["pid"]]
    between(process["written"], 30 * MIB, 31 * MIB, "bytes written")
    between(process["read"], 12 * MIB, 24 * MIB, "bytes read (the interpreter's own files are among them)")


def test_bytes_that_sections_read_are_not_the_programs(folder):
    """Each section reads some 2 KB of /proc inside the program."""
    program = write(folder, "sections.py", """
import sys, sonde
p = sonde.Profiler()
for _ in range(int(sys.argv[1])):
    with p("s"):
        pass
""")
    read = []
    for n in (1, 5000):
        result, path = sonde_run(folder, program, str(n), capture=os.path.join(folder, "%d.sonde" % n))
        equal(result.status, 0, "exit status (%r)" % result.err)
        read.append(Capture(path).tree()["read"])
    between(read[1] - read[0], -MIB / 10, MIB / 10, "more bytes read by 5,000 sections than by one")


def test_cpu_time(folder):
    truth, c = measured(folder, "spins")
    process = c.processes()[truth["pid"]]
    # 10 %, and two ticks of the kernel's 10 ms.
    between(process["cpu"] / 1e9, truth["cpu"] * 0.9 - 0.02, truth["cpu"] * 1.1 + 0.02, "CPU seconds")
    assert process["wall"] / 1e9 >= 0.85, process["wall"]


def test_tree_is_the_sum_of_its_processes(folder):
    truth, c = measured(folder, "family")
    rows = c.processes()
    between(rows[truth["pid"]]["rss_max"], truth["mine"] - SLACK, truth["mine"] + SLACK, "largest rss of the parent")
    between(rows[truth["child_pid"]]["rss_max"], truth["child"] - SLACK, truth["child"] + SLACK + 60 * MIB, "largest rss of the child")
    # Both stand at the same time, so the tree holds both; pages they share count twice, as in every sum of RSS.
    between(c.tree()["rss_max"], truth["mine"] + truth["child"] - 2 * SLACK, truth["mine"] + truth["child"] + 2 * SLACK, "largest rss of the tree")
    equal(len(rows), 2, "processes")


def test_threads_are_counted(folder):
    truth, c = measured(folder, "threads")
    equal(c.processes()[truth["pid"]]["threads"], truth["threads"], "threads")


def test_network_of_the_namespace(folder):
    alone = os.geteuid() == 0
    truth, c = measured(folder, "network", **({"preexec_fn": own_network} if alone else {}))
    process = c.processes()[truth["pid"]]
    # Headers and acknowledgements come on top; without a network of our own others' bytes do too.
    most = 1.2 * truth["bytes"] if alone else float("inf")
    between(process["received"], truth["bytes"], most, "bytes received")
    between(process["sent"], truth["bytes"], most, "bytes sent")


run_tests(globals())
