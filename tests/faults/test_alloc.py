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


run_tests(globals())
