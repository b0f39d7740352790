# SPDX-License-Identifier: MIT
"""Captures with samples and traced calls: the report has both, each in tables of its own."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, contains, equal, run_tests, sonde, write  # noqa: E402

BOTH = """
import time
def leaf(n):
    return n + 1
def work(n):
    for i in range(n):
        leaf(i)
def spin():
    end = time.process_time() + 0.4
    while time.process_time() < end:
        pass
def main():
    work(30)
    spin()
main()
"""


def table(out):
    """{function: ncalls} of a table as pstats prints it."""
    rows = re.findall(r"^ +([\d/]+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ (?:.*:\d+\((\S+)\)|(\{.*\}))$", out, re.M)
    return {name or c_name: ncalls for ncalls, name, c_name in rows}


def both(folder):
    """A capture with samples and traced calls."""
    write(folder, "script.py", BOTH)
    capture = os.path.join(folder, "both.sonde")
    status, out, err = sonde("run", "--python", PYTHON, "--with", "calls,rss,sample", "-o", capture, "script.py", cwd=folder)
    equal(status, 0, err)
    return capture


def halves(capture, *options):
    """What report says of samples, and what of traced calls."""
    status, out, err = sonde("report", capture, *options)
    equal(status, 0, err)
    equal(out.count("\nTraced calls\n\n"), 1, out)
    return out.split("\nTraced calls\n\n")


def test_samples_and_calls_are_both_reported(folder):
    capture = both(folder)
    sampled, traced = halves(capture)
    contains(sampled, "\nSampled functions\n")
    contains(sampled, "\nProcesses\n")
    assert re.search(r"^ *[\d.]+ .* spin +script\.py:8$", sampled, re.M), sampled
    equal(table(sampled), {}, "no traced calls among the samples")
    contains(traced, "   Ordered by: cumulative time\n")
    assert "self%" not in traced, traced
    found = table(traced)
    equal((found["leaf"], found["work"], found["spin"]), ("30", "1", "1"))
    for metric, here, gone in (("samples", "Functions", "function calls"), ("time", "function calls", "self%")):
        status, out, err = sonde("report", capture, "--metric", metric)
        equal(status, 0, err)
        contains(out, here)
        assert gone not in out and "Sampled" not in out and "Traced" not in out, out


def test_options_of_calls_reach_them_beside_samples(folder):
    capture = both(folder)
    for word in ("calls", "ncalls", "cumulative", "tottime", "name", "calls,name", "2"):
        assert "leaf" in table(halves(capture, "-s", word)[1]), word
    equal(list(table(halves(capture, "-s", "ncalls", "--match", "script.py", "-n", "1")[1])), ["leaf"])
    sampled, traced = halves(capture, "-s", "-self")
    contains(traced, "   Ordered by: cumulative time\n")
    status, out, err = sonde("report", capture, "-s", "nonsense")
    equal(status, 2, err)
    contains(err, "nonsense")
    sampled, traced = halves(capture, "--callers=leaf", "--strip-dirs", "--digits", "6", "--raw")
    assert re.search(r"^script\.py:3\(leaf\) +<- +30 +\d\.\d{6} +\d\.\d{6}  script\.py:5\(work\)$", traced, re.M), traced
    sampled, traced = halves(capture, "--per-thread")
    assert re.search(r"^Sampled functions of thread \d+ \w+, process \d+ ", sampled, re.M), sampled
    contains(traced, "Thread ")
    equal(table(traced)["leaf"], "30")
    status, out, err = sonde("report", capture, "--tree")
    equal(status, 0, err)
    assert out.index("\nSampled calls\n") < out.index("\nTraced calls\n") and "function calls" not in out, out
    status, out, err = sonde("report", capture, "--imports")
    equal(status, 0, err)
    equal(out.count("\nImports\n"), 1, out)


def test_json_holds_samples_and_calls(folder):
    capture = both(folder)
    status, out, err = sonde("report", capture, "--json", "--callers=leaf", "--table", "functions,threads")
    equal(status, 0, err)
    found = json.loads(out)
    assert "self_samples" in found["functions"][0] and "calls" not in found["functions"][0], found["functions"][0]
    assert "idle%" in found["threads"][0], found["threads"]
    rows = {row["function"]: row for row in found["traced_functions"] if row["where"].startswith("script.py")}
    equal((rows["leaf"]["calls"], rows["spin"]["calls"]), (30, 1))
    equal([row["calls"] for row in found["traced_callers"]], [30])
    assert found["traced_threads"][0]["calls"] >= 32, found["traced_threads"]
    status, out, err = sonde("report", capture, "--json", "--metric", "time", "--table", "functions")
    equal(json.loads(out)["functions"], found["traced_functions"], "the same rows as without samples")


if __name__ == "__main__":
    run_tests(globals())
