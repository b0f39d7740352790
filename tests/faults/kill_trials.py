# SPDX-License-Identifier: MIT
"""Kills the program, sonde, or both with SIGKILL at random moments, and counts what is left.

The truth is kept by the program itself (tests/targets/counted.py, counted.c and counted_calls.py).
Used by test_kill.py, test_kill_c.py, test_kill_calls.py and test_kill_lines.py; KILLS is the number of trials of each
kind, SEED repeats a run.
"""
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import threading
import time

from helpers import LIMIT_S, Capture, SONDE, clean_env, equal, is_alive, sonde, text, wait_for

PID, STOP, DONE = 256, 257, 258
AT_ONCE = 2


class Page:
    """The page in which the program counts."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.truncate(4096)
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)

    def word(self, i):
        return struct.unpack_from("=Q", self.map, 8 * i)[0]

    def set(self, i, value):
        struct.pack_into("=Q", self.map, 8 * i, value)

    def finished(self):
        return sum(self.word(i) for i in range(16))


class Trial:
    VERB, WHAT = "run", "sections"

    def __init__(self, kind, folder, command, n_threads, delay_s, order):
        self.kind, self.folder, self.n_threads, self.delay_s, self.order = kind, folder, n_threads, delay_s, order
        self.capture = os.path.join(folder, "x.sonde")
        self.command = [SONDE, self.VERB, "-o", self.capture] + command + [os.path.join(folder, "page"), str(n_threads)]

    def run(self):
        os.mkdir(self.folder)
        self.page = Page(os.path.join(self.folder, "page"))
        with open(os.path.join(self.folder, "stderr"), "wb") as err:
            p = subprocess.Popen(self.command, env=clean_env(), stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        try:
            wait_for(lambda: self.page.finished() or p.poll() is not None, "the first section")
            assert p.poll() is None, "sonde ended with %r before the kill: %r" % (p.returncode, self.said())
            self.pid = self.page.word(PID)
            time.sleep(self.delay_s)
            getattr(self, "kill_" + self.kind)(p)
        finally:
            self.end(p)
        self.check()
        self.page.map.close()
        shutil.rmtree(self.folder)

    def said(self):
        with open(os.path.join(self.folder, "stderr"), "rb") as f:
            return text(f.read())

    def kill_target(self, p):
        os.kill(self.pid, signal.SIGKILL)
        equal(p.wait(LIMIT_S), -signal.SIGKILL, "status of sonde after its program was killed")

    def kill_sonde(self, p):
        p.kill()
        p.wait(LIMIT_S)
        before = self.page.finished()
        # The program must go on: more sections after the death than before it.
        wait_for(lambda: self.page.finished() > before + 100, "sections after the death of sonde")
        with open("/proc/%d/stat" % self.pid) as f:
            assert f.read().rsplit(")", 1)[1].split()[0] in "RSD", "the program was left stopped"
        self.page.set(STOP, 1)
        wait_for(lambda: not is_alive(self.pid), "the program's end")
        equal(self.page.word(DONE), 1, "orderly end of the program")

    def kill_both(self, p):
        for victim in self.order:
            os.kill({"sonde": p.pid, "target": self.pid}[victim], signal.SIGKILL)
        p.wait(LIMIT_S)
        wait_for(lambda: not is_alive(self.pid), "the program's end")

    def end(self, p):
        """Leaves nothing running, whatever failed."""
        self.page.set(STOP, 1)
        pid = self.page.word(PID)
        try:
            p.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        if pid and is_alive(pid):
            time.sleep(0.5)
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)

    def count_recorded(self, capture):
        return capture.count("work")

    def check(self):
        counted = self.page.finished()
        c = Capture(self.capture)
        recorded = self.count_recorded(c)
        slack = 0 if self.kind == "sonde" else self.n_threads
        assert counted <= recorded <= counted + slack, (
            "the program finished %d %s, %d are recorded (lost %d)" % (counted, self.WHAT, recorded, counted - recorded))
        equal(c.lost(), 0, "events counted as lost")
        how = sonde("info", self.capture)
        said = how.out + how.err
        saw_the_end = self.kind == "both" and self.order[0] == "target" and "sonde itself" not in said
        if self.kind == "target" or saw_the_end:     # before it was killed itself
            assert "killed" in said and "sonde itself" not in said, "info does not say that the program was killed: %r" % said
            assert saw_the_end or not os.path.exists(self.capture + ".live"), "the live folder is left behind"
        else:
            assert "sonde itself was killed: the program's end is not known" in said, "info says %r" % said
        self.counted, self.recorded = counted, recorded


def trials(make, kind, folder, command, n, seed):
    """Runs n trials of one kind, two at a time, and gives the figures back."""
    draw = random.Random("%s-%s" % (seed, kind))
    waiting = []
    for i in range(n):
        # Mostly the first hand-overs of a half, sometimes much later.
        delay = draw.uniform(0, 0.03) if i % 10 else draw.uniform(0, 0.2)
        order = draw.choice((("sonde", "target"), ("target", "sonde")))
        waiting.append(make(kind, os.path.join(folder, "%s-%d" % (kind, i)), command, 1 + i % 3, delay, order))
    faults, done = [], []
    lock = threading.Lock()

    def one_after_the_other():
        while True:
            with lock:
                if not waiting or faults:
                    return
                t = waiting.pop()
            try:
                t.run()
                with lock:
                    done.append(t)
            except Exception as why:
                with lock:
                    faults.append("%s (kind %s, %d threads, after %.4f s, seed %s)"
                                  % (str(why) or repr(why), kind, t.n_threads, t.delay_s, seed))

    workers = [threading.Thread(target=one_after_the_other) for _ in range(AT_ONCE)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not faults, "%d of %d trials passed, then: %s" % (len(done), n, faults[0])
    return sum(t.counted for t in done), sum(t.recorded for t in done)


def kill_test(folder, kind, command, make=Trial, n_trials=50):
    n = int(os.environ.get("KILLS", n_trials))
    seed = os.environ.get("SEED") or str(random.SystemRandom().randrange(10**6))
    counted, recorded = trials(make, kind, folder, command, n, seed)
    print("# %d kills (%s), %d %s finished by the program, %d recorded, 0 lost, seed %s"
          % (n, kind, counted, make.WHAT, recorded, seed))
