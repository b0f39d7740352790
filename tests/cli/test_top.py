# SPDX-License-Identifier: MIT
"""sonde top: the table, its keys and its ways out, driven through a terminal of our own."""
import json
import os
import re
import signal
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import LIMIT_S, PYTHON, SONDE, between, clean_env, contains, equal, is_alive, run_tests, sonde, state_of, wait_for, write
from sampled import BUSY, busy
from terminals import terminal


def rows(text):
    """(own %, total %, own s, total s, function) of the rows on the screen."""
    found = []
    for line in text.split("\n"):
        m = re.match(r" *([\d.]+)% +([\d.]+)% +([\d.]+)s +([\d.]+)s  (\S+)", line)
        if m:
            found.append(tuple(float(m.group(i)) for i in range(1, 5)) + (m.group(5),))
    return found


def has_heavy(text):
    return any(r[4] == "heavy" and r[2] > 0 for r in rows(text))


def samples(text):
    return int(re.search(r"Samples ([\d,]+) ", text).group(1).replace(",", ""))


def test_the_screen_and_all_its_keys(folder):
    with busy(folder) as pid, terminal("top", "--pid", pid, "--delay", "0.2") as t:
        text = t.until(lambda x: has_heavy(x) and rows(x)[0][4] == "heavy", "the busy function, which has most own time")
        lines = text.split("\n")
        equal(lines[0], "Collecting samples from '%s %s 1000' (python v%s)" % (PYTHON, os.path.join(folder, "prog.py"), "%d.%d.%d" % sys.version_info[:3]),
              "first line") if len(lines[0]) < t.columns else None
        assert re.match(r"Samples \d+ \(\d+ missed, \d+ lost, \d+ partial\), [\d.]+ s, 100 Hz$", lines[1]), lines[1]
        assert re.match(r"GIL: [\d.]+%, Active: [\d.]+%, Threads: 2, Processes: 1$", lines[2]), lines[2]
        equal(lines[4], "   %Own  %Total   OwnTime TotalTime  Function (filename)", "heading")
        contains(text, "heavy (prog.py:2)")
        contains(text, "wörk (prog.py:6)")

        outer = ("<module>", "wörk")  # of equal total time: who was seen with some of its own stands first
        t.press("s", lambda x: rows(x) and rows(x)[0][4] in outer, "the next column, total time, to sort by")
        for key, first in (("1", ("heavy",)), ("2", outer), ("3", ("heavy",)), ("4", outer), ("3", ("heavy",))):
            t.press(key, lambda x: rows(x) and rows(x)[0][4] in first, "%s first after %s" % (first, key))
        t.press("+", lambda x: ", 200 Hz" in x, "a rate twice as high")
        t.press("--", lambda x: ", 50 Hz" in x, "a rate four times lower")
        t.press("+", lambda x: ", 100 Hz" in x, "the first rate")

        text = t.press("t", lambda x: '"waiter" idle' in x and '"MainThread"' in x, "the threads")
        contains(text, "%Active    %GIL    %CPU ActiveTime  Thread (in function)")
        t.press("t", has_heavy, "the functions again")
        t.press("l", lambda x: "heavy (prog.py:3)" in x, "lines")
        t.press("l", lambda x: "heavy (prog.py:2)" in x, "functions")

        t.press("/ligh", lambda x: [r[4] for r in rows(x)] == ["light"], "only what is searched for")
        t.press("\x7f\x7f\x7f\x7fwö\r", lambda x: [r[4] for r in rows(x)] == ["wörk"], "another text")
        contains(t.text(), "Search: wö")
        t.press("/\x1b", has_heavy, "all rows again")

        text = t.press("?", lambda x: "sort by the next column" in x, "help")
        for word in ("quit", "pause", "search", "threads", "rate", "begin again"):
            assert word in text or word == "rate", word
        t.press("x", has_heavy, "the table after the help")

        t.press("p", lambda x: x.startswith("Paused:"), "the pause")
        before = wait_for(lambda: stands_still(t), "samples to stand still")
        t.press("p", lambda x: x.startswith("Collecting") and samples(x) > before, "more samples")
        wait_for(lambda: t.read(0.1) or elapsed(t.text()) > 2, "two seconds")
        passed = elapsed(t.text())
        t.press("r", lambda x: elapsed(x) < passed and samples(x) < before, "times and counts from zero")

        t.resize(10, 50)
        t.clear()
        t.until(lambda x: has_heavy(x) and "q quit" in x.split("\n")[9], "the small screen")
        assert all(len(line) <= 50 for line in t.lines())
        t.resize(3, 20)
        t.clear()
        t.read(0.5)
        t.resize(30, 120)
        t.clear()
        t.until(lambda x: has_heavy(x) and "q quit" in x.split("\n")[29], "the large screen")
        os.write(t.master, b"q")
        t.ends(0)
        assert is_alive(pid), "the program was ended, too"


def stands_still(t):
    """The number of samples if the picture keeps it for a while; it may be behind what was sampled before the pause."""
    before = samples(t.text())
    t.read(0.6)
    return before if samples(t.text()) == before else None


def elapsed(text):
    return float(re.search(r"partial\), ([\d.]+) s", text).group(1))


def test_signals_put_the_terminal_back(folder):
    with busy(folder) as pid:
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)):
            with terminal("top", "--pid", pid, "--delay", "0.2") as t:
                t.until(has_heavy, "the busy function")
                t.p.send_signal(number)
                t.ends(status)
        with terminal("top", "--pid", pid, "--delay", "0.2") as t:
            t.until(has_heavy, "the busy function")
            os.write(t.master, b"\x03")
            t.ends(0)
        with terminal("top", "--pid", pid, "--delay", "0.2") as t:
            t.until(has_heavy, "the busy function")
            t.p.send_signal(signal.SIGSEGV)
            t.ends(-signal.SIGSEGV)
        with terminal("top", "--pid", pid, "--delay", "0.2") as t:
            t.until(has_heavy, "the busy function")
            os.write(t.master, b"\x1a")
            wait_for(lambda: t.read(0.02) or state_of(t.p.pid) == "T", "the stop")
            equal(termios.tcgetattr(t.slave)[3], t.before[3], "settings while it is stopped")
            t.clear()
            t.p.send_signal(signal.SIGCONT)
            t.until(has_heavy, "the table again")
            os.write(t.master, b"q")
            t.ends(0)


def test_the_last_picture_stays_until_q(folder):
    with busy(folder, seconds=2) as pid, terminal("top", "--pid", pid, "--delay", "0.2") as t:
        t.until(lambda x: x.startswith("Ended:") and has_heavy(x) and "the program has ended; q quits" in x, "the end of the program")
        t.read(0.5)
        equal(t.p.poll(), None, "status while it waits")
        assert has_heavy(t.text())
        os.write(t.master, b"q")
        t.ends(0)


def test_a_program_that_top_starts(folder):
    path = write(folder, "prog.py", BUSY.replace("'ready'", "'what it says'"))
    with terminal("top", "--delay", "0.2", "--python", PYTHON, path, "1000") as t:
        text = t.until(has_heavy, "the busy function")
        assert "what it says" not in text
        child = [int(p) for p in os.listdir("/proc") if p.isdigit() and parent_of(p) == t.p.pid]
        equal(len(child), 1, "children")
        os.write(t.master, b"q")
        t.ends(0)
        contains(t.raw.decode("utf-8", "replace"), "what it says", "the output afterwards")
        wait_for(lambda: not is_alive(child[0]), "the end of the program")


def parent_of(pid):
    try:
        with open("/proc/%s/stat" % pid) as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def test_without_a_terminal_tables_are_printed(folder):
    with busy(folder) as pid:
        result = sonde("top", "--pid", pid, "--delay", "0.3", "--duration", "2")
        equal((result.status, result.err), (0, ""), "status and stderr")
        tables = result.out.split("Collecting samples from ")
        between(len(tables) - 1, 2, 8, "tables")        # seven, fewer on a busy machine
        assert has_heavy(tables[-1]) and "\x1b" not in result.out, result.out
        result = sonde("top", "--pid", pid, "--delay", "0.3", "--duration", "0.3", "--limit", "1")
        equal(len(rows(result.out)), 1, "rows")
        contains(result.out, " more\n")


def test_a_stopped_program_is_called_stopped(folder):
    with busy(folder) as pid:
        os.kill(pid, signal.SIGSTOP)
        try:
            table = sonde("top", "--pid", pid, "--delay", "0.5", "--duration", "1")
            result = sonde("top", "--pid", pid, "--delay", "0.5", "--duration", "1", "--json")
        finally:
            os.kill(pid, signal.SIGCONT)
        equal((table.status, result.status), (0, 0), "status (%s, %s)" % (table.err, result.err))
        contains(table.out, "Collecting samples from a stopped program: '")
        assert "<module>" in [row[4] for row in rows(table.out)], "where it stands: %r" % table.out
        told = json.loads(result.out.splitlines()[-1])
        equal((told["stopped"], {t["stopped"] for t in told["threads"]}), (True, {True}), "stopped, and of the threads")
        result = sonde("top", "--pid", pid, "--delay", "0.5", "--duration", "0.5", "--json")
        equal(json.loads(result.out.splitlines()[-1])["stopped"], False, "stopped, once it runs")


def test_idle_threads_and_the_gil_on_request(folder):
    with busy(folder) as pid:
        for options, wants_waiter in ((["-i"], True), (["--mode", "wall"], True), (["-g"], False), (["--mode", "gil"], False)):
            result = sonde("top", "--pid", pid, "--delay", "1", "--duration", "1", "--json", *options)
            equal(result.status, 0, "status (%s)" % result.err)
            names = {f["name"] for f in json.loads(result.out.splitlines()[-1])["functions"]}
            equal("wait" in names, wants_waiter, "the waiting thread with %s" % options)
            assert "heavy" in names, names


def test_a_capture_while_it_is_recorded_and_afterwards(folder):
    path = write(folder, "prog.py", BUSY)
    capture = os.path.join(folder, "x.sonde")
    p = subprocess.Popen([SONDE, "run", "-q", "-o", capture, "--python", PYTHON, path, "1000"], stdout=subprocess.PIPE, env=clean_env())
    try:
        p.stdout.readline()

        def live():
            result = sonde("top", capture, "--json", "--delay", "0.2", "--duration", "0.5")
            equal(result.status, 0, "status (%s)" % result.err)
            last = json.loads(result.out.splitlines()[-1])
            assert not last["ended"], last
            return "heavy" in {f["name"] for f in last["functions"]}
        wait_for(live, "the busy function in the capture")
    finally:
        p.send_signal(signal.SIGINT)
        p.wait(LIMIT_S)
        p.stdout.close()
    result = sonde("top", capture)
    equal(result.status, 0, "status (%s)" % result.err)
    contains(result.out, "Samples of '%s'" % capture)
    assert has_heavy(result.out), result.out
    with terminal("top", capture) as t:
        t.until(has_heavy, "the table of a file")
        os.write(t.master, b"q")
        t.ends(0)


def test_what_cannot_be_watched_is_said_in_one_sentence(folder):
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        for words, status, part in ((["--pid", sleeper.pid], 1, "is not a Python process"), (["--pid", "x"], 2, "is not a process ID"),
                                    (["--pid", 2 ** 22 - 3], 1, "there is no process"), ([], 2, "top needs one thing to watch"),
                                    (["--pid", sleeper.pid, "a.sonde"], 2, "top needs one thing to watch"), (["absent.sonde"], 1, "absent.sonde"),
                                    (["--rate", "0", "--pid", sleeper.pid], 2, "--rate"), (["-g", "-i", "--pid", sleeper.pid], 2, "--gil"),
                                    (["--", "true"], 1, "ended before sonde saw a Python thread")):
            result = sonde("top", *words, cwd=folder)
            equal((result.status, result.err.count("\n")), (status, 1), "status and lines of %s (%r)" % (words, result.err))
            contains(result.err, part)
    finally:
        sleeper.kill()
        sleeper.wait()


run_tests(globals())
