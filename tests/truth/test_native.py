# SPDX-License-Identifier: MIT
# interpreters: all
"""Native functions between Python functions, against programs that know who calls whom (tests/targets/native.*).

Every stack that is not marked must be one that the program can have, from its outermost function on.
A mark ([unwinding stopped], [native frames not placed]) is allowed where a thread could not be stopped in
time, which a busy machine does now and then: at most one sample in ten.
"""
import math
import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, TARGETS, between, clean_env, contains, equal, need, run, run_tests, wait_for, write  # noqa: E402
from sampled import IDLE, NATIVE, in_function, look, sample, sampler, share  # noqa: E402

PROGRAM = os.path.join(TARGETS, "native.py")
STOPPED, UNPLACED = "[unwinding stopped]", "[native frames not placed]"
BUDGET = 0.01       # of a share, for what the program does itself
SECONDS = 1.0


def library(folder, *options):
    path = os.path.join(folder, "libknown.so")
    cc = shutil.which(os.environ.get("CC") or "cc")
    need(cc, "no C compiler")
    done = run([cc, "-O2", "-g0", "-fomit-frame-pointer", "-shared", "-fPIC", "-o", path] + list(options) + [os.path.join(TARGETS, "native.c")])
    equal(done.status, 0, "status of the compiler (%s)" % done.err.strip())
    return path


class Target:
    """A program that runs until it is told to end, and can be asked whether it does."""

    def __init__(self, folder, path, kind, python=PYTHON):
        self.process = subprocess.Popen([python, PROGRAM, path, kind], stdout=subprocess.PIPE, env=clean_env(), cwd=folder)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.pid = self.process.pid
        self.seen = b""
        wait_for(lambda: b"ready" in self.read(), "the program")

    def read(self):
        self.seen += self.process.stdout.read() or b""
        return self.seen

    def turns(self):
        return self.read().count(b".")

    def runs_on(self):
        """It makes turns, and no thread of it is held by anybody."""
        before = self.turns()
        wait_for(lambda: self.turns() > before + 1, "the program to go on")
        for tid in os.listdir("/proc/%d/task" % self.pid):
            with open("/proc/%d/task/%s/status" % (self.pid, tid)) as f:
                fields = dict(line.split(":", 1) for line in f if ":" in line)
            equal(fields["TracerPid"].strip(), "0", "tracer of thread " + tid)
            assert fields["State"].split()[0] not in "tT", "thread %s is %s" % (tid, fields["State"].strip())

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def watched(folder, path, kind, rate=300, python=PYTHON, seconds=SECONDS, cpu_seconds=0):
    """Told samples of the main thread in main(), once it was seen to run on undisturbed; of so much of its CPU time,
    for which a busy machine needs more than one look."""
    with Target(folder, path, kind, python) as target:
        told = look(folder, target.pid, seconds, rate, "native", "each")
        while sum(s.cpu for s in told) < cpu_seconds * 1e9:
            told += look(folder, target.pid, seconds, rate, "native", "each")
        target.runs_on()
    mine = [s for s in told if in_function("main")(s)]
    assert mine, "no samples"
    assert all(s.flags & NATIVE for s in mine), "samples without native frames"
    marked = sum(s.n for s in mine if is_marked(s))
    return mine, marked / sum(s.n for s in mine), told


def is_marked(s):
    return in_function(STOPPED, UNPLACED)(s)


def names(s):
    """From the outermost on."""
    return [f.name for f in reversed(s.frames)]


def check_chains(samples, chains):
    """Of the functions in `chains` every stack has those of the beginning of one of them, in order."""
    known = set(sum(chains, []))
    for s in samples:
        if is_marked(s):
            continue
        got = [n for n in names(s) if n in known]
        assert any(got == chain[:len(got)] for chain in chains), "%s (%s)" % (" ".join(names(s)), s.n)
    seen = [[n for n in names(s) if n in known] for s in samples]
    for chain in chains:
        assert chain in seen, "never seen: " + " ".join(chain)


def check_split(samples):
    """G3: 60 and 40 % of its CPU time by construction; where it stands when it has no CPU is a matter of the machine."""
    inside = in_function("native_a", "native_b")
    p, _ = share(samples, in_function("native_a"), inside, "cpu")
    # However often it is looked at while it has no CPU, it stands at the same place.  A sample counts as the CPU time before
    # it, and on a busy machine a few, after long turns, count for much: that is what the scatter comes from.
    weights = [s.cpu for s in samples if inside(s)]
    sigma = math.sqrt(0.6 * 0.4 * sum(w * w for w in weights)) / sum(weights)
    between(100 * p, 100 * (0.6 - 4 * sigma - BUDGET), 100 * (0.6 + 4 * sigma + BUDGET), "share of native_a in %")
    p, sigma = share(samples, inside)
    between(p, 0.95 - 4 * sigma, 1, "share of both, of the program")


SPLIT = [["<module>", "main", "splits", "native_split", "native_a", "native_work"],
         ["<module>", "main", "splits", "native_split", "native_b", "native_work"]]


def test_split_of_native_functions(folder):
    samples, marked, _ = watched(folder, library(folder), "splits", cpu_seconds=0.8 * SECONDS)
    between(marked, 0, 0.1, "share of marked samples")
    check_chains(samples, SPLIT)
    check_split([s for s in samples if not is_marked(s)])
    files = {f.file for s in samples for f in s.frames if f.name == "native_a"}
    equal({os.path.basename(f) for f in files}, {"libknown.so"}, "file of a function without debug information")


def test_split_in_a_capture(folder):
    """The same through sonde run: the file holds it, and the program's end is its own."""
    path = library(folder, "-g")
    _, samples = sample(folder, PROGRAM, path, "splits", SECONDS, options=["--sample-native"], rate=300)
    samples.adds_up()
    mine = [s for s in samples if in_function("native_split")(s)]
    check_split([s for s in mine if not is_marked(s)])
    site = [s for s in samples.sites.values() if s["name"] == "native_a"]
    equal([os.path.basename(s["file"]) for s in site], ["native.c"], "source file with debug information")
    with open(os.path.join(TARGETS, "native.c")) as f:
        lines = f.read().splitlines()
    for s in mine:
        for frame in s.frames[1:]:  # the innermost may be at its loop
            if frame.name == "native_split" and frame.line:
                contains(lines[frame.line - 1], "native_", "line %d" % frame.line)
    between(samples.count("native_marked"), 0, samples.count("native") / 10, "marked samples")


def test_calls_in_both_directions(folder):
    """C calls Python (qsort through ctypes, sorted, generators) and Python calls C."""
    samples, marked, _ = watched(folder, library(folder), "mixed", rate=500, seconds=1.5)
    between(marked, 0, 0.1, "share of marked samples")
    start = ["<module>", "main", "mixed"]
    check_chains(samples, [start + ["sorts", "native_sort", "compares", "compares_inside"],
                           start + ["sorts_by_key", "keys"],
                           start + ["generates", "numbers", "<genexpr>"],
                           start + ["compresses", "deflate"],
                           start + ["parses", "loads", "decode", "raw_decode"]])
    for s in samples:
        chain = names(s)
        if "keys" in chain and "builtin_sorted" in chain:
            assert chain.index("sorts_by_key") < chain.index("builtin_sorted") < chain.index("keys"), chain


def test_deep_stack(folder):
    """A megabyte of stack: more than is copied at first.  100 calls of Python through C, then 1000 of C."""
    whole = []
    for _ in range(10):         # a busy machine has little time for this one
        samples, _, _ = watched(folder, library(folder), "deep", rate=50)
        whole += [s for s in samples if "native_work" in names(s) and not is_marked(s)]
        if whole:
            break
    assert whole, "no whole stack"
    for s in whole:
        chain = [n for n in names(s) if n in ("deepens", "<lambda>", "native_deep", "native_work")]
        equal(chain, ["deepens", "<lambda>"] * 100 + ["deepens"] + ["native_deep"] * 1001 + ["native_work"], "chain")


def test_threads_that_wait_are_not_stopped(folder):
    with Target(folder, library(folder), "sleeps") as target:
        told = look(folder, target.pid, SECONDS, 200, "native")
        target.runs_on()
    locked = [s for s in told if in_function("locks")(s)]
    between(sum(s.n for s in locked), 20, 10000, "samples of the thread that waits for a lock")
    for s in locked:
        assert s.flags & IDLE and not is_marked(s) and s.frames[0].name != "locks", names(s)
    asleep = [s for s in told if in_function("sleeps")(s) and s.flags & IDLE and not is_marked(s)]
    assert all(not s.frames[0].file.endswith(".py") for s in asleep), "a sleeping thread without a native function"
    between(told.counts["paused"], 0, told.counts["samples"] / 4, "threads that were stopped, though all wait")


def test_names_of_cpp(folder):
    cxx = shutil.which("g++") or shutil.which("clang++")
    need(cxx, "no C++ compiler")
    library(folder)
    path = os.path.join(folder, "libturns.so")
    done = run([cxx, "-O2", "-shared", "-fPIC", "-o", path, os.path.join(TARGETS, "native.cc"), os.path.join(folder, "libknown.so"),
                "-Wl,-rpath," + folder])
    equal(done.status, 0, "status of the compiler (%s)" % done.err.strip())
    samples, marked, _ = watched(folder, path, "turns")
    between(marked, 0, 0.1, "share of marked samples")
    check_chains(samples, [["<module>", "main", "turns", "native_turns", "shop::Worker::twice<unsigned long>",
                            "shop::Worker::turn", "native_work"]])


def test_code_without_unwind_tables_is_marked(folder):
    path = library(folder, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions")
    samples, _, _ = watched(folder, path, "bare")
    inside = [s for s in samples if s.frames[0].name in ("native_a", "native_work")]
    between(sum(s.n for s in inside) / sum(s.n for s in samples), 0.8, 1, "share inside the library")
    for s in inside:
        equal(names(s), ["<module>", "main", "bare", STOPPED, s.frames[0].name], "stack")


def test_interpreter_in_one_file(folder):
    """Debian's python3 is linked statically and stripped; those of pyenv are here with a shared library."""
    python = "/usr/bin/python3"
    need(os.path.exists(python), "no " + python)
    samples, marked, _ = watched(folder, library(folder), "splits", python=python)
    between(marked, 0, 0.1, "share of marked samples")
    check_chains(samples, SPLIT)


def test_kill_of_the_sampler_lets_the_program_go(folder):
    """SIGKILL at any moment, many of them while the thread stands still."""
    draw = random.Random(4)
    program = sampler(folder)
    with Target(folder, library(folder), "splits") as target:
        for _ in range(25):
            p = subprocess.Popen([program, str(target.pid), "10", "100000", "native"], stdout=subprocess.DEVNULL)
            time.sleep(0.03 + draw.random() * 0.05)
            p.kill()
            p.wait()
            target.runs_on()


def test_without_elfutils_it_says_what_to_install(folder):
    write(folder, "hide.c", """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return name && strstr(name, "libdw") ? NULL : next(name, flags);
}
""")
    done = run(["cc", "-shared", "-fPIC", "-o", "hide.so", "hide.c"], cwd=folder)
    equal(done.status, 0, "status of the compiler (%s)" % done.err.strip())
    done = run([SONDE, "sample", "--native", "--python", PYTHON, "-c", "print('ran')"], cwd=folder,
               env=clean_env(LD_PRELOAD=os.path.join(folder, "hide.so")))
    equal((done.status, done.out), (1, ""), "status and output")
    contains(done.err, "apt install libdw1")


run_tests(globals())
