# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""Programs whose allocations are recorded while something is against it: full disks and limits, other tools' hooks, debug
allocators, sub-interpreters, closed descriptors.  Output and status are as without Sonde, and what is lost is said."""
import json
import os
import re
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from full_disk import FILL, small_disk  # noqa: E402
from helpers import MIB, PYTHON, TARGETS, between, clean_env, contains, equal, need, run, run_tests, sonde, write  # noqa: E402

MODES = ["full", "aggregate"]
WORK = """
import os, sys
def work(n):
    kept = []
    for i in range(n):
        kept.append([i] * (i % 50 + 1))
        if len(kept) > 200:
            kept[i % 200] = None
            del kept[:50]
    return len(kept)
"""
END = """
print("done", work(3000))
raise SystemExit(5)
"""


def bare(program, *words, **how):
    return run([PYTHON, program] + list(words), **how)


def recorded(folder, program, *words, mode="full", options=(), status=5, path=None, **how):
    """Runs it, and asks that its output and status are its own; gives what the report says and what stderr has of ours."""
    path = path or os.path.join(folder, mode + ".sonde")
    done = sonde("alloc", "-q", "--force", "--mode", mode, *options, "-o", path, "--python", PYTHON, program, *words, **how)
    equal((done.status, done.out.splitlines()[:1]), (status, bare(program, *words, **how).out.splitlines()[:1]), done.err)
    asked = sonde("report", path, "--alloc", "--json", "--total", "--by", "function")
    equal(asked.status, 0, asked.err)
    return json.loads(asked.out), done.err


def check(folder, source, what, **how):
    """Sound in each mode, and nothing is said."""
    program = write(folder, "program.py", WORK + source + END)
    for mode in MODES:
        answer, err = recorded(folder, program, mode=mode, **how)
        s = answer["alloc"]
        equal((s["overlaps"], s["lost"], err), (0, 0, ""), "overlaps, lost and words, with %s, %s" % (what, mode))
        equal(s["allocations"] - s["frees"], s["leaked_allocations"], "blocks that were not freed, with %s, %s" % (what, mode))
        found = {row["function"]: row["count"] for row in answer["allocations"]}
        assert found.get("work", 0) >= 2500, "with %s, %s: %r" % (what, mode, found)


# ---- other allocators, other hooks


def test_python_s_allocators(folder):
    for name in "malloc", "debug", "malloc_debug", "pymalloc":
        check(folder, "", "PYTHONMALLOC=" + name, env=clean_env(PYTHONMALLOC=name))
    check(folder, "", "PYTHONDEVMODE", env=clean_env(PYTHONDEVMODE="1"))


def test_tracemalloc_beside(folder):
    """From the start, from the middle, and started and stopped over our hooks, which then stay."""
    check(folder, "", "PYTHONTRACEMALLOC", env=clean_env(PYTHONTRACEMALLOC="3"))
    start = "import tracemalloc, threading\nwork(20000)\ntracemalloc.start(3)\nwork(20000)\n"
    threads = "threads = [threading.Thread(target=work, args=(2000,)) for _ in range(20)]\n[t.start() for t in threads]; [t.join() for t in threads]\n"
    check(folder, start + threads, "tracemalloc.start()")
    check(folder, start + "tracemalloc.stop()\nwork(20000)\n", "tracemalloc.start() and stop()")


def test_hooks_that_others_remove(folder):
    """tracemalloc puts back what it found before us: this is noticed, within 100 ms of the program's time or at its end."""
    program = write(folder, "program.py", WORK + "import tracemalloc, time\nwork(3000)\nbefore = time.monotonic()\ntracemalloc.stop()\n" + END)
    for mode in MODES + ["sample"]:
        for layer in "all", "py":
            answer, err = recorded(folder, program, mode=mode, options=["--layer", layer], env=clean_env(PYTHONTRACEMALLOC="1"))
            contains(err, "other code removed Sonde's hooks from Python's allocators", "what is said")
            low, high = map(float, re.search(r"between ([0-9.]+) s and ([0-9.]+) s after its recording began", err).groups())
            assert low <= high, err
            equal(answer["alloc"]["overlaps"], 0, "overlaps")
            equal(err.count("other code removed"), 1, "how often it is said")


def test_sub_interpreters(folder):
    source = '''
code = "kept = [[i] * 30 for i in range(500)]"
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None
for _ in range(3 if interpreters else 0):
    one = interpreters.create()
    getattr(interpreters, "run_string")(one, code) if hasattr(interpreters, "run_string") else interpreters.exec(one, code)
    interpreters.destroy(one)
'''
    check(folder, source, "sub-interpreters")


def test_closed_descriptors(folder):
    check(folder, "os.closerange(3, 1000)\n", "closed descriptors")
    check(folder, "work(5000)\nos.closerange(3, 1000)\nf = [open(os.devnull, 'wb') for _ in range(20)]\n[one.write(b'x') for one in f]\n", "descriptors closed and others in their places")


def test_children_that_nobody_has_told_of(folder):
    """Handlers of a fork that run before ours, and a child that runs none: nothing of theirs is in the parent's record."""
    library = os.path.join(folder, "untold.so")
    done = run(["cc", "-O2", "-pthread", "-shared", "-fPIC", "-o", library, os.path.join(TARGETS, "untold_fork.c")])
    equal(done.status, 0, done.err)
    source = """
import ctypes
library = ctypes.CDLL(%r)
def parent():
    for i in range(10):
        library.forked_quietly()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        [bytes(1000 + k) for k in range(300)]
        os.waitpid(pid, 0)
parent()
""" % library
    program = write(folder, "program.py", WORK + source + END)
    for mode in MODES + ["sample"]:
        s = recorded(folder, program, mode=mode, env=clean_env(LD_PRELOAD=library))[0]
        a = s["alloc"]
        equal((a["overlaps"], a["lost"]), (0, 0), "overlaps and lost, %s" % mode)
        between(a["peak_bytes"], 0, 30 * MIB, "bytes at the peak, %s" % mode)
        if mode != "sample":
            between(sum(row["count"] for row in s["allocations"] if row["function"] == "parent"), 10000, 17000, "what the parent allocated, %s" % mode)


# ---- all at once

SECONDS = float(os.environ.get("STRESS", 2))


def test_stress(folder):
    """Threads, forks, starts and libraries that are opened and closed; STRESS is for how many seconds."""
    library = os.path.join(folder, "allocated.so")
    done = run(["cc", "-O2", "-pthread", "-shared", "-fPIC", "-o", library, os.path.join(TARGETS, "allocated.c"), "-l:libstdc++.so.6"])
    equal(done.status, 0, done.err)
    for mode in MODES + ["sample"]:
        path = os.path.join(folder, mode + ".sonde")
        seconds = SECONDS if mode == "full" else SECONDS / 2
        done = sonde("alloc", "-q", "--mode", mode, "-o", path, "--python", PYTHON, os.path.join(TARGETS, "allocation_stress.py"), library, str(seconds),
                     env=clean_env(PYTHONWARNINGS="ignore"))
        equal((done.status, done.err), (5, ""), "status and words, %s: %s" % (mode, done.out[:300]))
        equal(json.loads(done.out.splitlines()[0]), {"errors": [], "idle": []}, "what went wrong, %s" % mode)
        asked = sonde("report", path, "--alloc", "--json", "--total", "--by", "process")
        equal((asked.status, asked.err), (0, ""), "the report, %s" % mode)
        s = json.loads(asked.out)["alloc"]
        equal((s["overlaps"], s["lost"]), (0, 0), "overlaps and lost, %s" % mode)
        assert s["allocations"] > 20000, "%s: %r" % (mode, s)


# ---- no room


def check_lost(answer, err, what, mode):
    """A free that was lost leaves its block, over which another begins: so overlaps may be told, too."""
    s = answer["alloc"]
    assert s["lost"] or "lost" in err or "missing" in err or "could not be written" in err, "nothing is said of the loss, with %s, %s: %r" % (what, mode, err)
    assert s["allocations"] >= 1000, "what there was room for is not there, with %s, %s: %r" % (what, mode, s)


MUCH = "import sys\nwork(3000)\nfill()\nfor i in range(2000):\n    names = {}\n    exec('def f%d():\\n    return [[1] * 20 for _ in range(30)]' % i, names)\n    names['f%d' % i]()\n"


def test_full_disk(folder):
    """The program goes on, and the loss is told."""
    program = write(folder, "program.py", WORK + FILL + MUCH + END)
    for mode in MODES:
        with small_disk(folder, "12m") as disk:
            path, filler = os.path.join(disk, "x.sonde"), os.path.join(disk, "filler")
            done = sonde("alloc", "-q", "--mode", mode, "-o", path, "--python", PYTHON, program, filler)
            equal((done.status, done.out.splitlines()[:1]), (5, ["done 200"]), done.err)
            os.unlink(filler)
            asked = sonde("report", path, "--alloc", "--json", "--total", "--by", "function")
            equal(asked.status, 0, asked.err)
            check_lost(json.loads(asked.out), done.err + asked.err, "a full disk", mode)


def limited(what, limit):
    return lambda: resource.setrlimit(what, (limit, limit))


def test_limit_on_files(folder):
    program = write(folder, "program.py", WORK + MUCH.replace("fill()", "work(200000)") + END)
    for mode in MODES:
        for limit in (1 * MIB,):
            path = os.path.join(folder, "x%d%s.sonde" % (limit, mode))
            done = sonde("alloc", "-q", "--mode", mode, "-o", path, "--python", PYTHON, program, preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
            equal((done.status, done.out.splitlines()[:1]), (5, ["done 200"]), "under a limit of %d, %s: %s" % (limit, mode, done.err))
            asked = sonde("report", path, "--alloc", "--json", "--total", "--by", "function")
            equal(asked.status, 0, asked.err)
            check_lost(json.loads(asked.out), done.err + asked.err, "a limit of %d" % limit, mode)


def test_limit_on_memory(folder):
    """Refused, or the program's own end."""
    program = write(folder, "program.py", WORK + "work(50000)\n" + END)
    for limit in (24, 40, 64, 96, 160):
        for mode in MODES:
            how = dict(preexec_fn=limited(resource.RLIMIT_AS, limit * MIB))
            alone = run([PYTHON, program], **how)
            done = sonde("alloc", "-q", "--force", "--mode", mode, "-o", os.path.join(folder, "x.sonde"), "--python", PYTHON, program, **how)
            assert done.status >= 0, "sonde died of signal %d under %d MiB, %s: %r" % (-done.status, limit, mode, done.err)
            if alone.status == 5 and done.status != 1:
                equal((done.status, done.out.splitlines()[:1]), (5, ["done 200"]), "under %d MiB, %s: %s" % (limit, mode, done.err))
    path = os.path.join(folder, "y.sonde")
    done = sonde("alloc", "-q", "-o", path, "--python", PYTHON, program, preexec_fn=limited(resource.RLIMIT_AS, 600 * MIB))
    equal((done.status, done.err), (5, ""), "under 600 MiB")


def test_largest_file(folder):
    program = write(folder, "program.py", WORK + "import random\nfor i in range(30):\n    kept = [bytes(random.randrange(5000)) for _ in range(20000)]\n" + END)
    path = os.path.join(folder, "x.sonde")
    done = sonde("alloc", "-q", "--max-file", "1MiB", "-o", path, "--python", PYTHON, program)
    equal((done.status, done.out.splitlines()[:1]), (5, ["done 200"]), done.err)
    contains(done.err, "the recording of allocations in process", "what is said")
    between(os.path.getsize(path), 0.5 * MIB, 2 * MIB, "size of the file")
    done = sonde("alloc", "--mode", "aggregate", "--max-file", "1MiB", "-o", os.path.join(folder, "n.sonde"), "--python", PYTHON, program)
    equal((done.status, done.out, os.path.exists(os.path.join(folder, "n.sonde"))), (2, "", False), done.err)
    contains(done.err, "--max-file has no effect on --mode aggregate", "why it is refused")


run_tests(globals())
