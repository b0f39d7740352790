# SPDX-License-Identifier: MIT
"""`sonde rss --pid`: memory over time of a process that runs already, and of those that it starts."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, between, clean_env, contains, equal, run_tests, sonde, wait_for, write  # noqa: E402

MIB = 1 << 20
# Each line of stdin is a step: what is held is known, whatever time it takes.
TARGET = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "b = bytearray(b'x') * (40 << 20); print(1, flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print("has a child", flush=True)
sys.stdin.readline()
held = bytearray(b"x") * (90 << 20)
print("holds", flush=True)
sys.stdin.readline()
child.communicate(b"\\n")
"""


class Target:
    def __init__(self, folder):
        self.process = subprocess.Popen([PYTHON, write(folder, "target.py", TARGET)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env())
        self.pid = self.process.pid
        self.process.stdout.readline()

    def step(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.kill()
        self.process.communicate()


def watch(folder, n, *words):
    """Begins to watch, and comes back when n processes were read."""
    process = subprocess.Popen([SONDE, "rss"] + list(words), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    wait_for(lambda: any(len(processes(folder, name)) == n for name in os.listdir(folder) if name.endswith(".sonde")), "readings")
    return process


def ended(process):
    out, err = process.communicate()
    return process.returncode, out.decode(), err.decode()


def processes(folder, name):
    done = sonde("report", name, "--json", cwd=folder)
    rows = json.loads(done.out).get("processes", []) if done.status == 0 else []
    return {row["pid"]: row for row in rows if row["pid"]}


def test_a_process_and_its_children_are_watched_until_they_end(folder):
    with Target(folder) as target:
        process = watch(folder, 2, "--every", "5ms", "--pid", str(target.pid))
        target.step()
        target.step()
        equal(target.process.wait(), 0, "its end")
        status, out, err = ended(process)
    equal(status, 0, "status (%s)" % err)
    name, = [name for name in os.listdir(folder) if name.endswith(".sonde")]
    equal(re.sub("python[0-9.]*", "python", name), "python-%d.sonde" % target.pid, "name")
    contains(out, "Processes")
    contains(err, "wrote " + name)
    rows = processes(folder, name)
    equal(len(rows), 2, "processes")
    between(rows[target.pid]["peak_rss"], 90 * MIB, 130 * MIB, "its peak")
    child, = [row for pid, row in rows.items() if pid != target.pid]
    between(child["peak_rss"], 40 * MIB, 80 * MIB, "the child's peak")


def test_it_ends_after_a_time_and_leaves_the_process_alone(folder):
    with Target(folder) as target:
        done = sonde("rss", "-q", "-d", "300ms", "--no-children", "--pid", str(target.pid), "-o", "x.dat", cwd=folder)
        equal((done.status, done.err), (0, ""), "end")
        equal(target.step(), b"holds\n", "the process goes on")
    with open(os.path.join(folder, "x.dat")) as f:
        words = [line.split(" ")[0] for line in f]
    equal((words[0], set(words[1:])), ("CMDLINE", {"MEM"}), "lines")
    equal(os.path.exists(os.path.join(folder, "x.dat.sonde")), False, "the capture goes when the file is made")


def test_control_c_ends_it_and_keeps_what_was_read(folder):
    with Target(folder) as target:
        process = watch(folder, 2, "--every", "5ms", "-o", "x.sonde", "--pid", str(target.pid))
        target.step()
        process.send_signal(signal.SIGINT)
        status, _, err = ended(process)
        equal(status, 0, "status (%s)" % err)
        equal(target.process.poll(), None, "the process goes on")
    assert target.pid in processes(folder, "x.sonde")


def test_what_cannot_be_watched_is_refused_in_a_sentence(folder):
    gone = subprocess.Popen([PYTHON, "-c", ""])
    gone.wait()
    for words, status, says in ((["--pid", str(gone.pid)], 1, "there is no process %d" % gone.pid), (["--pid", "x"], 2, '"x" is not a process ID'),
                                (["--pid", str(os.getpid()), "x.py"], 2, '--pid watches a process that is already running; it cannot start "x.py" too'),
                                (["--with", "calls", "--pid", str(os.getpid())], 2, "collectors that work inside a program must start with it"),
                                (["-d", "3", "x.py"], 2, "--duration works only with --pid"), (["-d", "0", "--pid", str(os.getpid())], 2, "--duration takes a time")):
        done = sonde("rss", *words, cwd=folder)
        equal((done.status, done.out), (status, ""), " ".join(words))
        contains(done.err, says)
    equal([name for name in os.listdir(folder) if "sonde" in name], [], "files left")


if __name__ == "__main__":
    run_tests(globals())
