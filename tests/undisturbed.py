# SPDX-License-Identifier: MIT
"""A program that counts its work and must not notice that it is being sampled.

The program maps a file of eight bytes and counts units of work in it (`Counted` below gives it the
path), so that its speed is read from outside while it runs, with and without a sampler in turns.
Two speeds are compared, each the best of several short windows, because a busy machine makes a
window slower and never faster: work per second of the clock, and work per second of the program's
own CPU time.  And every thread's state is read meanwhile: a thread that somebody stops or traces
is in state T or t, or has a tracer.
"""
import glob
import os
import signal
import struct
import subprocess
import tempfile
import time

from helpers import SONDE, between, clean_env, wait_for

WINDOW_S = 0.4


class Counted:
    """A running program; its last argument is the path of the counter."""

    def __init__(self, command, folder, **env):
        self.path = os.path.join(folder, "counter")
        with open(self.path, "wb") as f:
            f.write(bytes(8))
        self.process = subprocess.Popen(command + [self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=clean_env(**env), cwd=folder)
        self.pid = self.process.pid

    def __enter__(self):
        wait_for(lambda: self.done() > 0 or self.process.poll() is not None, "the program's first unit of work", limit=60)
        assert self.process.poll() is None, "the program ended with %s" % self.process.returncode
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()

    def done(self):
        with open(self.path, "rb") as f:
            return struct.unpack("=Q", f.read(8))[0]

    def now(self):
        """(units, clock, CPU time of the whole process), the times in seconds."""
        return self.done(), time.monotonic(), time.clock_gettime((~self.pid << 3) | 2)

    def threads(self):
        return os.listdir("/proc/%d/task" % self.pid)


def window(program, looks=None):
    """(units per second, units per second of its CPU time); looks: what to do meanwhile, again and again."""
    n, clock, cpu = program.now()
    while time.monotonic() < clock + WINDOW_S:
        if looks:
            looks()
        time.sleep(0.01)
    n_after, clock_after, cpu_after = program.now()
    return (n_after - n) / (clock_after - clock), (n_after - n) / max(cpu_after - cpu, 1e-6)


def state_of(path):
    """The letter of a thread's state, or "" when it has ended."""
    try:
        with open(path) as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def tracer_of(path):
    try:
        with open(path) as f:
            return [line.split()[1] for line in f if line.startswith("TracerPid")][0]
    except (OSError, IndexError):
        return "0"


class States:
    """Reads the state of every thread, and whether one has a tracer; keeps what must not be."""

    def __init__(self, pid):
        self.task, self.n, self.bad = "/proc/%d/task" % pid, 0, []

    def look(self):
        for path in glob.glob(self.task + "/*/stat"):
            state = state_of(path)
            self.n += 1
            if state in ("T", "t"):
                self.bad.append("%s is in state %s" % (path, state))
        for path in glob.glob(self.task + "/*/status"):
            if tracer_of(path) != "0":
                self.bad.append("%s has a tracer" % path)


class Sampled:
    """with Sampled(pid, folder): while sonde records it, 200 times a second."""

    def __init__(self, pid, folder, *options):
        self.said = tempfile.TemporaryFile()
        command = [SONDE, "record", "--force", "-r", "200", "-o", os.path.join(folder, "x.sonde"), "--pid", str(pid)]
        self.process = subprocess.Popen(command + list(options), stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said, env=clean_env())

    def __enter__(self):
        time.sleep(0.3)
        assert self.process.poll() is None, "sonde has ended: %s" % self.text()
        return self

    def __exit__(self, *ignored):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def text(self):
        self.said.seek(0)
        return self.said.read().decode(errors="replace").strip()


class Speeds:
    """The best windows so far: before the sampler, with it, and after it, by the clock and by the program's CPU time."""

    def __init__(self):
        self.before, self.sampled, self.after = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]

    def add(self, best, found):
        best[:] = [max(a, b) for a, b in zip(best, found)]

    def slower(self):
        """How much slower when sampled, by the clock and by its own CPU time: 0.02 is 2 %."""
        return [1 - with_it / max(a, b) for with_it, a, b in zip(self.sampled, self.before, self.after)]

    def scatter(self):
        """How much the two unsampled series differ from each other: what this machine makes of nothing at all."""
        return [abs(a - b) / max(a, b) for a, b in zip(self.before, self.after)]


def measure(program, folder, n_rounds, aim):
    """Windows without, with and without the sampler in turns, until the aim is reached or n_rounds are over; gives (speeds,
    states, what sonde said)."""
    speeds, states, said = Speeds(), States(program.pid), ""
    for turn in range(n_rounds):
        speeds.add(speeds.before, window(program))
        with Sampled(program.pid, folder) as sampled:
            speeds.add(speeds.sampled, window(program))
            window(program, states.look)        # not for its speed: reading the states takes time itself
        said = sampled.text()
        speeds.add(speeds.after, window(program))
        if turn >= 2 and max(speeds.slower()) <= aim:
            break
    return speeds, states, said


def check(speeds, states, said, n_threads, aim, tolerance):
    """No thread stopped or traced, and the aim reached within the tolerance and three times what the machine scatters."""
    assert not states.bad, "%d times: %s" % (len(states.bad), states.bad[0])
    between(states.n, 5 * n_threads, 10**9, "states read")
    for slower, scatter, what in zip(speeds.slower(), speeds.scatter(), ("the clock", "its CPU time")):
        between(slower, -1, aim + tolerance + 3 * scatter, "slow-down by %s" % what)
    assert "samples" in said, said
