# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""What a run says of its numbers by itself: that the machine was busy, and that compiled code is behind a row."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, between, compile_c, equal, run_tests, sonde, write  # noqa: E402

# One CPU for the program and three others: it has it a quarter of the time.  Two thirds of its work are first's.
BUSY = """
import os, subprocess, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))
def first():
    spin(0.4)
def second():
    spin(0.2)
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
try:
    first()
    second()
finally:
    for other in others:
        other.kill()
        other.wait()
"""
SENTENCE = r"threads that could run had a CPU \d+ % of the time \(a busy machine, or a limit\), so shares are of CPU time; to see shares of samples: sonde report --metric samples"

FAST = """
#include <time.h>
void spin(void)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec < 1);
}
"""
COMPILED = """
import ctypes
def main():
    ctypes.PyDLL("./fast__mypyc.cpython-3-x86_64-linux-gnu.so").spin()
main()
"""


def test_on_a_busy_machine_shares_are_of_cpu_time(folder):
    write(folder, "busy.py", BUSY)
    status, _, err = sonde("run", "--sample-rate", "200", "--python", PYTHON, "-o", "x.sonde", "busy.py", cwd=folder)
    equal(status, 0, err)
    assert re.search("(?m)^sonde: %s$" % SENTENCE, err), err
    report = sonde("report", "x.sonde", cwd=folder)[1]
    assert re.search(SENTENCE, report), report
    several = sonde("report", "x.sonde", "--table", "functions,lines,callers", cwd=folder)[1]
    said = len(re.findall(SENTENCE, several)), len(re.findall("(?m)(?:^|; )shares are of CPU time", several))
    equal(said, (1, 2), "tables with the reason, and without it: " + several)
    row = re.search(r"^ *[\d.]+ +([\d.]+) .* first +busy.py", report, re.M)
    rows = json.loads(sonde("report", "x.sonde", "--json", "--metric", "cpu", cwd=folder)[1])["functions"]
    shares = {row["function"]: row["cum%"] for row in rows}
    equal(float(row.group(1)), round(shares["first"], 1), "the share of first")
    between(shares["first"] / (shares["first"] + shares["second"]), 0.62, 0.71, "of the work is first's")
    plain = sonde("report", "x.sonde", "--metric", "samples", cwd=folder)[1]
    assert "so shares are of" not in plain, plain
    samples = json.loads(sonde("report", "x.sonde", "--json", cwd=folder)[1])["functions"]
    total = sum(row["self_samples"] for row in samples)
    for row in samples:
        between(row["self%"] - 100.0 * row["self_samples"] / total, -0.01, 0.01, "data is of samples, whatever the machine does")


def test_compiled_code_behind_the_hottest_line_is_told_of(folder):
    os.rename(compile_c(folder, write(folder, "fast.c", FAST), shared=True), os.path.join(folder, "fast__mypyc.cpython-3-x86_64-linux-gnu.so"))
    write(folder, "script.py", COMPILED)
    status, _, err = sonde("run", "--python", PYTHON, "-o", "x.sonde", "script.py", cwd=folder)
    equal(status, 0, err)
    found = re.search(r"(\d+) % of the samples are in one line, script.py:4; if it calls code that was compiled by mypyc \(.*/fast__mypyc\S+\), sonde sample --native shows the functions there", err)
    assert found and int(found.group(1)) > 50, err
    write(folder, "plain.py", "for i in range(3000000): pass\n")
    assert "--native" not in sonde("run", "--python", PYTHON, "-o", "y.sonde", "plain.py", cwd=folder)[2]


run_tests(globals())
