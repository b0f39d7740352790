# SPDX-License-Identifier: MIT
"""A program that counts its work and must not notice that it is being sampled.

The program maps a file of eight bytes and counts units of work in it (`Counted` below gives it the
path), so that its speed is read from outside while it runs.  On a machine that others use, too, the
same work is half as fast in one second as in the next, so what is compared stands side by side: a
sampler is stopped and let go in short windows, in an order that is drawn, and what counts is the
mean of many ratios, with the error that it has by how much they scatter.  Two speeds are looked at:
work per second of the clock, and work per second of the program's own CPU time.  In a third kind of
window the program is stopped in turns, as a sampler would that stops it: the same arithmetic must
find that, or it would find nothing.  And every thread's state is read meanwhile: a thread that
somebody stops or traces is in state T or t, or has a tracer.

A stop of some microseconds is easily missed by looking.  So sonde is also run where the kernel ends
it at once should it ask for ptrace or send a signal: whoever samples on there stops nobody.
"""
import ctypes
import glob
import math
import os
import random
import signal
import statistics
import struct
import subprocess
import tempfile
import time

from helpers import SONDE, between, clean_env, equal, need, wait_for

WINDOW_S = 0.1
SETTLE_S = 0.002        # after the sampler was stopped or let go
TURNS = 50
BARE, WATCHED, STOPPED = "bare", "watched", "stopped in turns"
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


def window(program, meanwhile=lambda: time.sleep(0.01)):
    """(units per second, units per second of its CPU time)."""
    n, clock, cpu = program.now()
    while time.monotonic() < clock + WINDOW_S:
        meanwhile()
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
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def text(self):
        self.said.seek(0)
        return self.said.read().decode(errors="replace").strip()


def stop_in_turns(program):
    """A third of the time, about."""
    os.kill(program.pid, signal.SIGSTOP)
    time.sleep(0.003)
    os.kill(program.pid, signal.SIGCONT)
    time.sleep(0.006)


def one_turn(program, sampler):
    """{kind of window: the two speeds}."""
    found = {}
    for kind in random.sample([BARE, WATCHED, STOPPED], 3):
        sampler.send_signal(signal.SIGCONT if kind == WATCHED else signal.SIGSTOP)
        time.sleep(SETTLE_S)
        found[kind] = window(program, lambda: stop_in_turns(program)) if kind == STOPPED else window(program)
    return found


def middle(values):
    """(mean, its error) without a tenth at each end."""
    values, cut = sorted(values), len(values) // 10
    kept = values[cut:len(values) - cut]
    drawn_in = [min(max(value, kept[0]), kept[-1]) for value in values]
    return statistics.mean(kept), statistics.stdev(drawn_in) * len(values) / len(kept) / math.sqrt(len(values))


def slower(turns, kind, which):
    """(how much slower than bare, the error of that): 0.02 is 2 %.  Logarithms, because the mean of ratios that
    scatter is more than the ratio."""
    ratios = [turn[kind][which] / turn[BARE][which] for turn in turns if turn[BARE][which]]
    log, error = middle([math.log(max(ratio, 0.01)) for ratio in ratios])
    return 1 - math.exp(log), error


def measure(program, folder):
    """(turns, states, what sonde said)."""
    states = States(program.pid)
    with Sampled(program.pid, folder) as sampled:
        turns = [one_turn(program, sampled.process) for _ in range(TURNS)]
        sampled.process.send_signal(signal.SIGCONT)
        for _ in range(20):
            window(program, states.look)        # not for its speed: reading the states takes time itself
    return turns, states, sampled.text()


def check_cannot_stop(program, folder):
    """It is sampled all the same by a sonde that must not stop it, and by no sonde that wants to."""
    paused = Sampled(program.pid, folder, "--consistency", "pause", "-d", "60", preexec_fn=forbid_stopping)
    status = paused.process.wait()
    need(status != 97, "the kernel has no seccomp filters")
    equal(status, -signal.SIGSYS, "status of a sonde that stops threads (%s)" % paused.text())
    usual = Sampled(program.pid, folder, "-d", "2", preexec_fn=forbid_stopping)
    equal(usual.process.wait(), 0, "status of sonde (%s)" % usual.text())
    between(int(usual.text().split(" samples")[0].split()[-1].replace(",", "")), 20, 10**6, "samples")


def check(turns, states, said, n_threads, most):
    """No thread stopped or traced, and the program slowed down by at most so much, within three times the error.  Where a
    slow-down that is known to be there is not found, nothing can be said: that is a skip, so this comes last."""
    assert not states.bad, "%d times: %s" % (len(states.bad), states.bad[0])
    between(states.n, 5 * n_threads, 10**9, "states read")
    assert "samples" in said, said
    for which, what in enumerate(("the clock", "its CPU time")):
        found, error = slower(turns, WATCHED, which)
        between(found, -1, most + 3 * error, "slow-down by %s (its error %.3f)" % (what, error))
    stopped, least = slower(turns, STOPPED, 0)[0], most + 3 * slower(turns, WATCHED, 0)[1]
    need(stopped >= least, "the machine is too busy to judge: a program that is stopped a third of the time was slower by %.2f, not %.2f" % (stopped, least))
