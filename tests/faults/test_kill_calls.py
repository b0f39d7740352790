# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""kill -9 of a program whose calls are followed, of sonde, of both: every finished call is counted, and its time is that of its open callers, too."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.kill_trials import Trial, kill_test  # noqa: E402
from helpers import PYTHON, SONDE, TARGETS, between, clean_env, equal, run_tests, sonde, wait_for, write  # noqa: E402

COMMAND = ["--python", PYTHON, os.path.join(TARGETS, "counted_calls.py")]
BEYOND = ["--nodes", "2"] + COMMAND     # all calls are counted by caller and callee


class CallsTrial(Trial):
    VERB, WHAT = "calls", "calls"

    def count_recorded(self, capture):
        status, out, err = sonde("report", self.capture, "--json", "--table", "functions")
        equal(status, 0, err)
        return sum(row["calls"] for row in json.loads(out)["functions"] if row["function"] == "leaf")


def kills(folder, kind, command=COMMAND):
    kill_test(folder, kind, command, make=CallsTrial, n_trials=12)


def test_kill_the_program(folder):
    kills(folder, "target")


def test_kill_sonde_and_the_program_goes_on(folder):
    kills(folder, "sonde")


def test_kill_both(folder):
    kills(folder, "both")


def test_kill_both_while_calls_are_beyond_the_tree(folder):
    kills(folder, "both", BEYOND)


# ---- calls that are open at the end: what had ended in them is their time, in the tree and beyond it


def tables(capture, *options):
    status, out, err = sonde("report", capture, "--json", "--all", *options)
    equal(status, 0, err)
    return json.loads(out)


class OpenCalls:
    """A program that ends with calls open (targets/open_calls.py), and what it says of itself."""

    def __init__(self, folder, how, *options):
        self.capture, self.truth_file = os.path.join(folder, "x.sonde"), os.path.join(folder, "truth")
        self.command = [SONDE, "calls", "-o", self.capture] + list(options) + [
            "--python", PYTHON, os.path.join(TARGETS, "open_calls.py"), self.truth_file, how]

    def start(self):
        return subprocess.Popen(self.command, env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def run(self):
        p = self.start()
        said = p.communicate()[1]
        assert os.path.exists(self.truth_file), "the program did not come to its end: %r" % said
        return self

    def check(self, *options, clock="", has_c=False):
        """All that has ended is in every function that was open, once; own time is that of those that ended."""
        with open(self.truth_file) as f:
            truth = json.load(f)
        rows = tables(self.capture, "--table", "functions", *options)["functions"]
        rows = {row["function"]: row for row in rows}
        # What the program measured of itself lies in leaf(), and in outer() lies nothing but calls.
        low, high, most = truth["busy" + clock] * 0.9e9, truth["elapsed" + clock] * 1.02e9, truth["all" + clock] * 1.02e9
        names = ["main", "outer", "down", "turn", "leaf"]
        for name in names:
            between(rows[name]["total"], low, high, "time of %s" % name)
        for caller, callee in zip(names, names[1:]):
            assert rows[caller]["total"] >= rows[callee]["total"] * 0.999, "%s took less than %s, which it called" % (caller, callee)
        if not has_c:
            between(rows["leaf"]["own"], low, high, "own time")
        between(sum(row["own"] for row in rows.values()), low, most, "all own time")
        equal((rows["leaf"]["calls"], rows["down"]["calls"], rows["down"]["primitive"]), (truth["leaves"], truth["downs"], 1), "calls")
        between(rows["outer"]["cum%"], 100 * low / most, 100, "share of outer")
        pairs = tables(self.capture, "--callees", *options)["callees"]
        pairs = {(row["caller"].split()[0], row["callee"].split()[0]): row["total"] for row in pairs}
        # The first down() was called by outer(), the second by the first, the last by a function in the third.
        before = [moment[bool(clock)] * 1e9 for moment in truth["before"]]
        for caller, first in (("outer", 0), ("down", 1), ("<lambda>", 3)):
            between(pairs[caller, "down"], (truth["busy" + clock] * 1e9 - before[first]) * 0.9, high - before[first], "down() as called by %s" % caller)
        equal(any("max" in name for name in rows), has_c, "C functions")
        paths = tables(self.capture, "--tree", *options)["calls"]
        between(sum(row["own"] for row in paths), low, most, "own time of all paths")
        between(sum(row["total"] for row in paths if row["depth"] == 0), low, most, "time of the outermost paths")
        return paths, low, most, truth


def beyond(paths):
    return [row for row in paths if row["function"] == "[beyond the tree]"]


def check_beyond(paths, low, most, truth):
    rows = [row for row in paths if row["function"] == "[beyond the tree]"]
    equal(len(rows), 1, "entries beyond the tree")
    between(rows[0]["total"], low, most, "time beyond the tree")
    assert rows[0]["calls"] >= 2 * truth["leaves"] + truth["downs"], "only %d calls are beyond the tree" % rows[0]["calls"]


def test_open_calls_in_the_tree_have_what_ended_in_them(folder):
    OpenCalls(folder, "kill").run().check("--raw")


def test_open_calls_beyond_a_tiny_tree_have_what_ended_in_them(folder):
    open_calls = OpenCalls(folder, "kill", "--nodes", "2").run()
    check_beyond(*open_calls.check("--raw"))
    check_beyond(*open_calls.check())                # and without the cost of tracing
    said = sonde("info", open_calls.capture)
    assert "killed" in said.out + said.err, "info says %r" % said.out


def test_open_calls_beyond_a_small_tree_have_what_ended_in_them(folder):
    open_calls = OpenCalls(folder, "kill", "--nodes", "50", "--builtins").run()
    paths = open_calls.check("--raw", has_c=True)[0]
    assert any(row["function"] == "[beyond the tree]" for row in paths), "nothing is beyond the tree"


def test_cpu_time_of_open_calls_beyond_the_tree(folder):
    open_calls = OpenCalls(folder, "kill", "--nodes", "2", "--cpu").run()
    check_beyond(*open_calls.check("--raw"))
    check_beyond(*open_calls.check("--raw", "--cpu", clock="_cpu"))
    _, low, most, _ = open_calls.check("--raw", "--cpu", clock="_cpu")
    between(tables(open_calls.capture, "--threads", "--raw")["threads"][0]["cpu_time"], low, most, "CPU time of the thread")


def test_open_calls_of_functions_with_signatures(folder):
    """down() has another signature at each depth, and is one recursion."""
    open_calls = OpenCalls(folder, "kill", "--nodes", "2", "--signatures=sizes").run()
    check_beyond(*open_calls.check("--raw", "--no-signatures"))
    check_beyond(*open_calls.check("--no-signatures"))


def test_the_error_of_a_part_is_not_that_of_the_whole(folder):
    """What tracing cost is known within an error at an orderly end: a child that was killed has none, and makes most of the calls."""
    program = write(folder, "program.py", """
import os, signal
def leaf(): pass
def work(n):
    for _ in range(n): leaf()
pid = os.fork()
if pid == 0:
    work(200000)
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(pid, 0)
work(50)
""")
    for killed in (True, False):
        if not killed:
            program = write(folder, "ended.py", open(program).read().replace("os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit"))
        done = sonde("calls", "--python", PYTHON, "-n", "3", "--force", "-o", os.path.join(folder, "x.sonde"), program)
        equal(done.status, 0, "status (%r)" % done.err)
        equal(len(re.findall("of tracing subtracted", done.out + done.err)) > 0, True, "the cost of tracing is said: %r" % (done.out + done.err))
        equal("give or take" in done.out + done.err, not killed, "and its error is: %r" % (done.out + done.err))


def test_exit_with_calls_open_beyond_the_tree(folder):
    check_beyond(*OpenCalls(folder, "exit", "--nodes", "2").run().check("--raw"))


def test_report_while_calls_are_open_beyond_the_tree(folder):
    open_calls = OpenCalls(folder, "wait", "--nodes", "2", "--cpu")
    p = open_calls.start()
    try:
        wait_for(lambda: os.path.exists(open_calls.truth_file) or p.poll() is not None, "the open calls")
        check_beyond(*open_calls.check("--raw"))
        check_beyond(*open_calls.check("--raw", "--cpu", clock="_cpu"))
    finally:
        p.terminate()
        p.communicate()


run_tests(globals())
