# SPDX-License-Identifier: MIT
"""A program that counts its work and must not notice that it is being sampled.

The program maps a file of eight bytes and counts units of work in it (`Counted` below gives it the
path), so that its speed is read from outside while it runs, with and without a sampler in turns.
Two speeds are compared, each the best of several short windows, because a busy machine makes a
window slower and never faster: work per second of the clock, and work per second of the program's
own CPU time.  And every thread's state is read meanwhile: a thread that somebody stops or traces
is in state T or t, or has a tracer.

A stop of some microseconds is easily missed by looking.  So sonde is also run where the kernel ends
it at once should it ask for ptrace or send a signal: whoever samples on there stops nobody.
"""
import ctypes
import glob
import os
import signal
import struct
import subprocess
import tempfile
import time

from helpers import SONDE, between, clean_env, equal, need, wait_for

WINDOW_S = 0.4
# System calls of x86-64: ptrace, and all that send signals but kill, which with signal 0 is a question.
FORBIDDEN = {"ptrace": 101, "rt_sigqueueinfo": 129, "tkill": 200, "tgkill": 234, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424}
KILL = 62
LIBC = ctypes.CDLL(None, use_errno=True)


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


def filter_program():
    """A seccomp filter: the system calls above end the process with SIGSYS, the others are as ever."""
    load, equals, give = 0x20, 0x15, 0x06       # of classic BPF: ld word, jump if equal, return
    ending, allowing = 0x80000000, 0x7fff0000   # SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW
    left = len(FORBIDDEN)
    steps = [(load, 0, 0, 0)]                   # the number of the call
    for n, number in enumerate(FORBIDDEN.values()):
        steps.append((equals, left - n + 3, 0, number))
    steps += [(equals, 0, 2, KILL), (load, 0, 0, 24), (equals, 0, 1, 0), (give, 0, 0, allowing), (give, 0, 0, ending)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps), len(steps)


def forbid_stopping():
    """For preexec_fn: from here on the process ends when it tries to stop another."""
    code, n = filter_program()
    kept = ctypes.create_string_buffer(code)
    program = struct.pack("=H6xQ", n, ctypes.addressof(kept))
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    LIBC.prctl(no_new_privileges, 1, 0, 0, 0)
    if LIBC.prctl(seccomp, by_filter, program, 0, 0) != 0:
        os._exit(97)


class Sampled:
    """with Sampled(pid, folder): while sonde records it, 200 times a second."""

    def __init__(self, pid, folder, *options, **how):
        self.said = tempfile.TemporaryFile()
        command = [SONDE, "record", "--force", "-r", "200", "-o", os.path.join(folder, "x.sonde"), "--pid", str(pid)]
        self.process = subprocess.Popen(command + list(options), stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said, env=clean_env(), **how)

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


def check_cannot_stop(program, folder):
    """It is sampled all the same by a sonde that must not stop it, and by no sonde that wants to."""
    paused = Sampled(program.pid, folder, "--consistency", "pause", "-d", "60", preexec_fn=forbid_stopping)
    status = paused.process.wait()
    need(status != 97, "the kernel has no seccomp filters")
    equal(status, -signal.SIGSYS, "status of a sonde that stops threads (%s)" % paused.text())
    usual = Sampled(program.pid, folder, "-d", "2", preexec_fn=forbid_stopping)
    equal(usual.process.wait(), 0, "status of sonde (%s)" % usual.text())
    between(int(usual.text().split(" samples")[0].split()[-1].replace(",", "")), 20, 10**6, "samples")


def check(speeds, states, said, n_threads, aim, tolerance):
    """No thread stopped or traced, and the aim reached within the tolerance and three times what the machine scatters."""
    assert not states.bad, "%d times: %s" % (len(states.bad), states.bad[0])
    between(states.n, 5 * n_threads, 10**9, "states read")
    for slower, scatter, what in zip(speeds.slower(), speeds.scatter(), ("the clock", "its CPU time")):
        between(slower, -1, aim + tolerance + 3 * scatter, "slow-down by %s" % what)
    assert "samples" in said, said
