# SPDX-License-Identifier: MIT
"""Ends: of a program that leaves a process behind, a time past the end, a capture that was cut; and whose peak the summary has."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import between, contains, equal, is_alive, sonde, wait_for, write  # noqa: E402

# It leaves its parents and its session, as daemons do, and stays until it is told to go.
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for i in range(3):
            os.dup2(null, i)
        with open("daemon.part", "w") as f:
            f.write(str(os.getpid()))
        os.rename("daemon.part", "daemon")
        while not os.path.exists("go"):
            time.sleep(0.01)
    os._exit(0)
os.wait()
while not os.path.exists("daemon"):
    time.sleep(0.01)
"""
# What ends a moment after the program is not named: multiprocessing's own helper.
HELPED = """
import multiprocessing as m, time
if __name__ == "__main__":
    m.set_start_method("spawn")
    p = m.Process(target=print, args=("child",))
    p.start(); p.join()
    q = m.Queue()
"""
BUSY = """
import time
end = time.time() + 0.6
while time.time() < end:
    sum(range(1000))
"""


def recorded(folder, *words):
    return helpers.run([helpers.SONDE, words[0], "--force", "--python", helpers.PYTHON, "-o", "x.sonde", *words[1:]], cwd=folder)


def daemon_of(folder):
    with open(os.path.join(folder, "daemon")) as f:
        return int(f.read())


def test_a_daemon_is_named_and_not_waited_for(folder):
    write(folder, "program.py", DAEMON)
    for words, said in ((("run",), "process %d (python) still runs and is no longer recorded; to sample it: sonde record --pid %d\n"),
                        (("calls", "-n", "1"), "process %d (python) still runs: what is recorded there from now on stays in x.sonde.live")):
        for name in ("daemon", "go"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        done = recorded(folder, *words, "program.py")
        pid = daemon_of(folder)
        try:
            equal((done.status, is_alive(pid)), (0, True), "end of sonde %s, and the daemon: %s" % (words[0], done.err))
            contains(re.sub(r"\(python[\d.]*\)", "(python)", done.err), said % ((pid,) * said.count("%d")))
        finally:
            write(folder, "go", "")
            wait_for(lambda: not is_alive(pid), "the daemon's end")


# Between its fork and the end of the program the daemon calls no function of Python.
QUIET = """
import os, time
def late(): pass
def wait():
    while not os.path.exists("go"): time.sleep(0.02)
    for _ in range(10): late()
    open("done", "w").close()
pid = os.fork()
if pid:
    open("daemon.part", "w").write(str(pid))
    os.rename("daemon.part", "daemon")
else:
    os.setsid()
    for fd in range(3): os.close(fd)
    time.sleep(1)
    wait()
    os._exit(0)
"""


def test_a_daemon_that_makes_its_first_call_after_the_end_is_recorded(folder):
    write(folder, "program.py", QUIET)
    done = recorded(folder, "calls", "-n", "1", "program.py")
    pid = daemon_of(folder)
    write(folder, "go", "")
    wait_for(lambda: not is_alive(pid), "the daemon's end")
    contains(re.sub(r"\(python[\d.]*\)", "(python)", done.err), "process %d (python) still runs: what is recorded there" % pid)
    rows = json.loads(sonde("report", "x.sonde", "--json", "--all", "--table", "functions", cwd=folder).out)["functions"]
    equal([row["calls"] for row in rows if row["function"] == "late"], [10], "calls of the daemon")


# It goes on for a second; its calls are recorded.
LASTING = """
import os, time
def work():
    time.sleep(1)
if os.fork() == 0:
    os.setsid()
    for fd in range(3): os.close(fd)
    open("daemon.part", "w").write(str(os.getpid()))
    os.rename("daemon.part", "daemon")
    work()
    open("worked", "w").close()
    while not os.path.exists("go"): time.sleep(0.02)
    os._exit(0)
while not os.path.exists("daemon"): time.sleep(0.01)
"""


def test_the_heading_covers_what_was_recorded_after_the_end(folder):
    write(folder, "program.py", LASTING)
    done = recorded(folder, "calls", "-n", "1", "program.py")
    pid = daemon_of(folder)
    for is_over in (False, True):
        if is_over:
            write(folder, "go", "")
            wait_for(lambda: not is_alive(pid), "the daemon's end")
        else:
            wait_for(lambda: os.path.exists(os.path.join(folder, "worked")), "the end of work()")
        heading = re.search(r"x.sonde: ([\d.]+) s wall", sonde("report", "x.sonde", cwd=folder).out)
        between(heading and float(heading.group(1)), 1.0, 60, "wall time of the heading")
        between(json.loads(sonde("info", "x.sonde", "--json", cwd=folder).out)["wall_ns"] / 1e9, 1.0, 60, "wall_ns of info")
    equal(done.status, 0, "status: " + done.err)


def test_what_ends_with_the_program_is_not_named(folder):
    write(folder, "program.py", HELPED)
    for verb in ("run", "calls"):
        done = recorded(folder, verb, "program.py")
        equal((done.status, "still run" in done.err), (0, False), "end of sonde %s: %s" % (verb, done.err))


# Nobody waits for the process that works: its parent has ended.
UNWAITED = """
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < 1.2:
            sum(range(1000))
    os._exit(0)
os.wait()
os.close(writer)
os.read(reader, 1)
"""


def test_cpu_time_of_a_process_that_nobody_waited_for_is_counted(folder):
    write(folder, "program.py", UNWAITED)
    done = recorded(folder, "calls", "-n", "1", "program.py")
    found = re.search(r"wall, at least ([\d.]+) s CPU", done.err)
    between(found and float(found.group(1)), 0.4, 2.5, "CPU time: " + done.err)
    report = sonde("report", "x.sonde", cwd=folder).out
    contains(report, "wall, at least %s s CPU" % found.group(1))


def test_the_summary_says_whose_peak_it_is(folder):
    write(folder, "two.py", "import subprocess, sys\nsubprocess.call([sys.executable, '-c', 'import time; time.sleep(0.3)'])\n")
    write(folder, "one.py", "import time\ntime.sleep(0.2)\n")
    for words, said in ((("run", "--with", "rss", "two.py"), " of all processes together"), (("calls", "-n", "1", "two.py"), " of the largest process"),
                        (("run", "--with", "rss", "one.py"), "")):
        done = recorded(folder, *words)
        equal(done.status, 0, "status: " + done.err)
        found = re.search(r"CPU, peak [\d.]+ \w+( of [a-z ]+?)?(,| in \d)", done.err)
        assert found, done.err
        equal(found.group(1) or "", said, "whose peak, by sonde " + " ".join(words))


def test_a_time_past_the_end_is_refused(folder):
    write(folder, "busy.py", BUSY)
    equal(recorded(folder, "run", "-q", "busy.py").status, 0, "status of run")
    for words in ([], ["--json"], ["--graph"], ["--flame", "-o", "x.svg"]):
        done = sonde("report", "--from", "1000s", "x.sonde", *words, cwd=folder)
        equal((done.status, done.out), (2, ""), "status and output with %s" % words)
        assert re.fullmatch(r"sonde: --from 16m40s is past the end: the capture is [\d.]+ m?s long\n", done.err), done.err
    equal(sonde("report", "--from", "0.1", "x.sonde", cwd=folder).status, 0, "status within")


def test_a_capture_that_was_cut_before_its_samples_says_so(folder):
    write(folder, "busy.py", BUSY)
    equal(recorded(folder, "run", "-q", "busy.py").status, 0, "status of run")
    with open(os.path.join(folder, "x.sonde"), "rb") as f:
        data = f.read()
    told = set()
    for n in range(200, len(data), 200):
        with open(os.path.join(folder, "cut.sonde"), "wb") as f:
            f.write(data[:n])
        done = sonde("report", "--json", "cut.sonde", cwd=folder)
        has_samples = '"functions"' in done.out
        equal(done.status, 0 if has_samples else 1, "status of the first %d bytes: %s" % (n, done.err))
        last = done.err.splitlines()[-1]
        if not has_samples:
            told.add(last)
    assert told <= {"sonde: there is nothing to report: the capture ends before anything was recorded",
                    "sonde: the capture has no samples: it ends before the first was recorded"}, told
    assert told, "no cut was before the samples"


if __name__ == "__main__":
    helpers.run_tests(globals())
