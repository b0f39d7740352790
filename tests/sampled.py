# SPDX-License-Identifier: MIT
"""What the tests of sampling share: a program run or watched by `sonde`, and its samples read back.

Samples are read through `sonde convert` to JSON, as anybody else would; `look` asks the sampler
itself, without a capture between (tests/targets/sample_process.c).
"""
import collections
import contextlib
import json
import math
import os
import shutil
import subprocess

from helpers import PYTHON, SRC, TARGETS, clean_env, equal, need, run, sonde, sonde_run, write

BUILD = os.environ.get("SONDE_BUILD") or os.path.join(SRC, "build")
IDLE, GIL, PARTIAL, STOPPED, NATIVE, WAITS_GIL = 1, 2, 4, 8, 16, 32

Frame = collections.namedtuple("Frame", "name file line first")
# frames: from the innermost on; n, wall, cpu: what the record stands for
Sample = collections.namedtuple("Sample", "pid tid thread flags time frames n wall cpu")


class Samples(list):
    """The samples of a capture, and what it says of itself."""

    def __init__(self, path):
        self.path = path
        target = path + ".json"
        result = sonde("convert", "--force", path, target)
        equal(result.status, 0, "status of sonde convert (%s)" % result.err.strip())
        with open(target, encoding="utf-8") as f:
            d = json.load(f)
        os.unlink(target)
        self.health, self.notes = d["health"], d["notes"]
        self.meta = {m["key"]: m["value"] for m in d["meta"]}
        self.tracks = {t["id"]: t for t in d["tracks"]}
        self.sites = {s["id"]: s for s in d["sites"]}
        self.stacks = {s["id"]: s for s in d["stacks"]}
        self.known = {None: ()}
        for e in d["events"]:
            if e["kind"] == "sample":
                self.append(self.sample(e))

    def frames(self, at):
        """Innermost first; recursion would be too deep for deep stacks."""
        chain = []
        while at not in self.known:
            chain.append(at)
            at = self.stacks[at]["parent"]
        for at in reversed(chain):
            s = self.stacks[at]
            site = self.sites[s["site"]]
            frame = Frame(site["name"], site["file"], s["line"], site["line"])
            self.known[at] = (frame,) + self.known[s["parent"]]
        return self.known[chain[0] if chain else at]

    def sample(self, e):
        track = self.tracks[e["track"]]
        process = self.tracks[track["parent"]] if track["parent"] is not None else track
        flags = (IDLE * e.get("idle", False) | GIL * e.get("gil", False) | PARTIAL * e.get("partial", False)
                 | STOPPED * e.get("stopped", False) | WAITS_GIL * e.get("waits_gil", False))
        values = e["values"]
        return Sample(process["number"], track["number"], track["name"], flags, e["time_ns"], self.frames(e["stack"]),
                      values["samples"], values["wall"], values["cpu"])

    def count(self, name):
        return int(self.meta["sample." + name])

    def adds_up(self):
        """Every count of the file equals what the file holds, and every round went somewhere."""
        equal(sum(s.n for s in self) + self.count("unwritten"), self.count("samples"), "samples in the file")
        if self.count("unwritten") == 0:
            equal(sum(s.n for s in self if s.flags & IDLE), self.count("idle"), "idle samples in the file")
            equal(sum(s.n for s in self if s.flags & PARTIAL), self.count("partial"), "partial samples in the file")
        equal(sum(self.count(n) for n in ("samples", "lost", "empty", "skipped", "ended")), self.count("looks"), "looks")
        rate, elapsed = self.count("asked_per_s"), self.count("elapsed_ns") / 1e9
        asked = rate * elapsed
        made = self.count("rounds") + self.count("missed") + self.count("put_off")
        assert abs(made - asked) <= 5 * math.sqrt(asked) + 5, "%d rounds made or missed, %.0f asked for" % (made, asked)


def sample(folder, program, *words, **how):
    """Runs a Python program under `sonde run --with sample`; gives what it printed and its samples."""
    rate = how.pop("rate", 1000)
    options = ["--with", "sample", "--sample-rate", rate] + list(how.pop("options", []))
    result, path = sonde_run(folder, program, *words, options=options, **how)
    equal(result.status, 0, "exit status (%r)" % result.err[-800:])
    return result.out, Samples(path)


def share(samples, chosen, of=lambda s: True, by="n"):
    """Which part of the samples `of` is `chosen`, and one sigma of it.

    Samples fall as rain does, so their number in a part is binomial.  Time is weighted with the
    intervals, and few long ones, as a busy machine makes them, tell less than many short ones: what
    counts is the sum of the squares.  A record of n looks stands for n random intervals."""
    total = [s for s in samples if of(s)]
    whole = sum(getattr(s, by) for s in total)
    assert whole, "no samples at all"
    p = sum(getattr(s, by) for s in total if chosen(s)) / whole
    n = sum(s.n for s in total)
    if by != "n":
        n = whole ** 2 / sum(getattr(s, by) ** 2 * (1 if s.n == 1 else 2 / s.n) for s in total)
    return p, math.sqrt(max(p * (1 - p), 0.25 / n) / n)


def in_function(*names):
    return lambda s: any(f.name in names for f in s.frames)


def leaf_is(*names):
    return lambda s: s.frames[0].name in names


# ---- a program to point at

# heavy does three times the work of light; both are called by wörk alone.
BUSY = """import sys, threading, time
def heavy():
    for i in range(30000): pass
def light():
    for i in range(10000): pass
def wörk():
    heavy()
    light()
def wait():
    time.sleep(1000)
threading.Thread(target=wait, name="waiter", daemon=True).start()
print('ready', flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    wörk()
"""


@contextlib.contextmanager
def busy(folder, seconds=1000):
    p = subprocess.Popen([PYTHON, write(folder, "prog.py", BUSY), str(seconds)], stdout=subprocess.PIPE, env=clean_env())
    try:
        p.stdout.readline()
        yield p.pid
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


# ---- the sampler itself


def sampler(folder):
    cc = shutil.which(os.environ.get("CC") or "cc")
    need(cc, "no C compiler")
    library = os.path.join(BUILD, "libsondecore.a")
    need(os.path.exists(library), "no libsondecore.a in the build")
    program = os.path.join(os.environ.get("TMPDIR") or folder, "sample_process")    # one for all tests of a file
    if not os.path.exists(program):
        done = run([cc, "-D_GNU_SOURCE", "-O1", "-I", os.path.join(SRC, "src"), "-o", program,
                    os.path.join(TARGETS, "sample_process.c"), library, "-lzstd", "-pthread", "-lm", "-ldl"])
        equal(done.status, 0, "status of the compiler (%s)" % done.err.strip())
    return program


class Told(list):
    """What the sampler told of a process: samples, counts, refusals."""

    def __init__(self, out):
        self.counts, self.refusals, self.version = {}, [], ""
        for line in out.splitlines() if isinstance(out, str) else []:
            kind, _, rest = line.partition("\t" if line.startswith("row\t") else " ")
            if kind == "row":
                *times, pid, tid, interpreter, flags, cut, n, wall, cpu, thread, stack = rest.split("\t")
                when = tuple(map(int, times)) or int(interpreter)
                frames = tuple(Frame(f[0], f[1], int(f[2]), int(f[3])) for f in (x.rsplit("|", 3) for x in stack.split("\x1e")))
                self.append(Sample(int(pid), int(tid), thread, int(flags), when, frames, int(n), int(wall), int(cpu)))
            elif kind == "count":
                name, value = rest.split()
                self.counts[name] = int(value)
            elif kind == "refusal":
                self.refusals.append(rest)
            elif kind == "version":
                self.version = rest


def look(folder, pid, seconds, rate, *words):
    """Samples for some seconds.  In `Told` the field `time` of a sample is the id of its interpreter; with the
    word `each` it is when the look began and when it was told, and each sample stands alone."""
    done = run([sampler(folder), str(pid), str(seconds), str(rate)] + list(words))
    equal((done.status, done.err), (0, ""), "status and stderr of the sampler")
    # splitlines() would cut at byte 30, too
    told = Told("")
    Told.__init__(told, Lines(done.out))
    return told


class Lines(str):
    def splitlines(self):
        return self.split("\n")[:-1]
