# SPDX-License-Identifier: MIT
"""A target on a CPU of its own, and a sampler that watches it for a while.

The target is pinned to the last CPU, unless it wants all.  A sampler goes where it likes, as it would for a user; ours
follows its target.  Where the most that it can do is measured (`away=True`), it has the first CPU.
"""
import collections
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))
TARGETS = os.path.join(os.path.dirname(HERE), "targets")
CPUS = sorted(os.sched_getaffinity(0))
LIBC = ctypes.CDLL(None)

Watched = collections.namedtuple("Watched", "cpu_s wall_s text out")


def on_cpu(cpu):
    """For preexec_fn: on that CPU, or on all; and nothing of a worker that is cut short runs on."""
    def before_exec():
        LIBC.prctl(1, signal.SIGKILL)               # PR_SET_PDEATHSIG
        signal.signal(signal.SIGINT, signal.SIG_DFL)    # which jobs in a shell's background ignore
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
    return before_exec


class Target:
    """with Target(python, "chain.py", 20, 10) as t: t.pid runs, its first line has been read."""

    def __init__(self, command, script, *words, cpu=CPUS[-1], **env):
        path = script if os.path.isabs(script) else os.path.join(TARGETS, script)
        self.process = subprocess.Popen(command + [path] + [str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, preexec_fn=on_cpu(cpu), env=dict(os.environ, **env),
                                        start_new_session=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        os.killpg(self.pid, signal.SIGKILL)         # some profilers start the program as a child
        self.process.wait()
        self.process.stdout.close()


class Watch:
    """A sampler on its way; end() waits for it, or interrupts it when the time is over."""

    def __init__(self, sampler, pid, rate, seconds, folder, away=False, **how):
        self.out = os.path.join(folder, "watched." + sampler.name)
        for old in (self.out, self.out + ".sonde"):
            if os.path.exists(old):
                os.unlink(old)
        self.said = tempfile.TemporaryFile()
        self.started = time.monotonic()
        self.interrupt_at = self.started + seconds if sampler.ends_by_signal else None
        self.process = subprocess.Popen(sampler.record(pid, rate, seconds, self.out, **how), stdin=subprocess.DEVNULL, stdout=self.said,
                                        stderr=self.said, preexec_fn=on_cpu(CPUS[0] if away else None))

    def cpu_ns(self):
        """CPU time of the sampler so far, all its threads."""
        return time.clock_gettime_ns((~self.process.pid << 3) | 2)

    def has_ended(self):
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)    # it has not been waited for: nobody else has its number

    def end(self):
        if self.interrupt_at is not None:
            time.sleep(max(0, self.interrupt_at - time.monotonic()))
            self.interrupt()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status            # it has been waited for: Popen must not do it again
        wall_s = time.monotonic() - self.started
        self.said.seek(0)
        return Watched(usage.ru_utime + usage.ru_stime, wall_s, self.said.read().decode(errors="replace"), self.out)


def watch(sampler, pid, rate, seconds, folder, **how):
    return Watch(sampler, pid, rate, seconds, folder, **how).end()


def rounds_of(samplers, n_rounds):
    """(sampler, ...) in turn; nobody is always first."""
    order = list(samplers)
    for _ in range(n_rounds):
        order = order[1:] + order[:1]
        for sampler in order:
            yield sampler


def complain(sampler, what, text):
    sampler.why = sampler.reason(text) or "it said nothing"
    print("bench: %s gave no %s: %s" % (sampler.version, what, " | ".join(text.strip().splitlines()[-2:])[:200]), file=sys.stderr)
