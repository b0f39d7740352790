# SPDX-License-Identifier: MIT
# interpreters: all
"""Allocations: each function that allocates, what it asked for, what it left and what it held at the peak, to the byte, in the modes full and aggregate."""
import collections
import glob
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, between, clean_env, equal, need, once, python_with, run, run_tests, sonde  # noqa: E402
sys.path.insert(0, TARGETS)
import allocated  # noqa: E402

PROGRAM = os.path.join(TARGETS, "allocated.py")
HAS_LEAN_CALLS = sys.version_info >= (3, 11)     # a call allocates no frame object
FOLDER = os.environ["TMPDIR"]


@once
def library():
    """Compiled, and its copies."""
    path = os.path.join(FOLDER, "allocated.so")
    done = run(["cc", "-O2", "-pthread", "-shared", "-fPIC", "-o", path, os.path.join(TARGETS, "allocated.c"), "-Wl,-rpath,$ORIGIN",
                "-Wl,--enable-new-dtags", "-l:libstdc++.so.6"])
    equal(done.status, 0, done.err)
    for name in ("late", "deep", "later", "deeper", "beside"):
        shutil.copy(path, os.path.join(FOLDER, name + ".so"))
    return path


def record(name, *words, options=(), verb="alloc", **how):
    path = os.path.join(FOLDER, name + ".sonde")
    done = sonde(verb, "-o", path, "--python", PYTHON, *options, PROGRAM, library(), *words, **how)
    equal((done.status, done.out.splitlines()[:1]), (0, ["done"]), done.err)
    return path


def ask(path, *options):
    done = sonde("report", path, "--alloc", "--json", "--all", *options)
    equal(done.status, 0, done.err)
    return json.loads(done.out)


def rows(path, *options):
    return ask(path, *options)["allocations"]


Amount = collections.namedtuple("Amount", "count bytes")


def by_function(path, *options):
    return {row["function"]: Amount(row["count"], row["bytes"]) for row in rows(path, "--by", "function", *options) if row["function"]}


def check_functions(path, wanted, *options):
    """Each function has its row, and as much in it as it should."""
    found = by_function(path, *options)
    wrong = {name: (found.get(name), Amount(*amount)) for name, amount in wanted.items()
             if found.get(name, Amount(0, 0)) != Amount(*amount)}
    equal(wrong, {}, "functions that differ, (found, wanted), of %s" % " ".join(options))
    return found


def check_all(path, is_full=True):
    found = check_functions(path, {name: e[:2] for name, e in allocated.EXPECTED.items()}, "--total")
    if HAS_LEAN_CALLS:
        equal([name for name in allocated.NOTHING if name in found], [], "functions that allocated nothing")
    check_functions(path, {name: e[2:] for name, e in allocated.EXPECTED.items()}, "--leaks")
    check_functions(path, {"hill": (1, allocated.HILL), "top": (1, allocated.TOP), "lower_hill": (0, 0), "by_malloc": (0, 0)}, "--peak")
    check_whole(path, is_full)
    check_twice(path)


def check_whole(path, is_full):
    """The figures of the whole agree with each other and with the rows."""
    answer = ask(path, "--peak")
    s = answer["alloc"]
    equal((s["overlaps"], s["lost"]), (0, 0), "overlaps and lost")
    equal(sum(row["bytes"] for row in answer["allocations"]), s["peak_bytes"], "bytes of the rows at the peak")
    between(s["peak_bytes"], allocated.HILL + allocated.TOP, allocated.HILL + allocated.TOP + 20e6, "peak")
    assert s["peak_ns"] > 0 and s["peak_rss_bytes"] > 1e6 and s["untracked_bytes"] is not None, s
    total, leaks = rows(path, "--total"), rows(path, "--leaks")
    equal(sum(row["bytes"] for row in total), s["bytes"], "bytes of all rows")
    equal(sum(row["count"] for row in total), s["allocations"], "blocks of all rows")
    equal(sum(row["bytes"] for row in leaks), s["leaked_bytes"], "bytes of the rows that leak")
    equal(sum(row["count"] for row in leaks), s["leaked_allocations"], "blocks of the rows that leak")
    equal(s["allocations"] - s["frees"], s["leaked_allocations"], "blocks that were not freed")
    equal(s["temporary_allocations"] is not None, is_full, "temporary allocations are known")


def check_twice(path):
    """What was called by two stands under each as often as it called.  On the way down a recursion may get frames, too."""
    found = collections.Counter()
    for row in rows(path, "--by", "stack", "--leaks"):
        callers = [caller for caller in allocated.TWICE.get(row["function"], {}) if any(f["function"] == caller for f in row["stack"])]
        depth = sum(f["function"] == row["function"] for f in row["stack"])
        if callers and depth == (allocated.DEPTH + 1 if row["function"] == "recurse" else 1):
            found[row["function"], callers[0]] += row["count"]
            equal(row["bytes"], row["count"] * allocated.LEAF, "bytes below %s" % callers[0])
        equal(len(callers), row["function"] in allocated.TWICE, "callers of %s in one stack" % row["function"])
    equal(dict(found), {(name, caller): n for name, callers in allocated.TWICE.items() for caller, n in callers.items()}, "calls by caller")


# ---- one recording in each mode

HAS_NUMPY = python_with("numpy") == PYTHON


@once
def full():
    return record("full", "children", *["numpy"] * HAS_NUMPY)


@once
def aggregate():
    return record("aggregate", "children", options=["--mode", "aggregate"])


def test_every_function_is_exact(folder):
    check_all(full())


def test_every_function_is_exact_in_sums(folder):
    check_all(aggregate(), is_full=False)


def test_temporary_allocations_by_how_many_came_between(folder):
    for n, amount in allocated.TEMPORARY.items():
        check_functions(full(), {"by_temporaries": amount, "by_malloc": (3, 3 * 10007), "lower_hill": (1, allocated.LOWER)}, "--temporary=%d" % n)
    equal(by_function(full(), "--temporary"), by_function(full(), "--temporary=1"), "temporary allocations without a number")


def check_allocators(path):
    counts = {row["allocator"]: Amount(row["count"], row["bytes"]) for row in rows(path, "--by", "allocator", "--leaks")}
    for name in "reallocarray", "posix_memalign", "memalign", "valloc", "pvalloc":
        equal(counts[name], Amount(*allocated.NATIVE[name][2:]), "blocks by %s" % name)
    # operator new for an alignment is the C++ library's, which calls aligned_alloc.
    equal(counts["aligned_alloc"], Amount(8, 4 * (10039 + 64 * 157)), "blocks by aligned_alloc")
    equal(counts["mremap"], Amount(2, 81921 + 20481), "blocks by mremap")
    for name in "reserved", "file":
        assert counts[name].count >= 1 and counts[name].bytes >= allocated.MAPPED, "%s has %r" % (name, counts[name])


def test_allocators_have_their_names(folder):
    check_allocators(full())
    check_allocators(aggregate())


def test_threads_have_their_names(folder):
    found = {row["thread"]: row for row in rows(full(), "--by", "thread", "--total")}
    for i in range(3):
        size = (i + 1) * 7 * 10103
        between(found["worker-%d" % i]["bytes"], size, size + 20000, "bytes of worker-%d" % i)
    between(found["produce"]["bytes"], 20000 * 211, 20000 * 211 + 20000, "bytes of who produces")
    between(found["consume"]["count"], 0, 500, "blocks of who consumes")
    assert "MainThread" in found, sorted(map(str, found))


def check_children(path):
    """A fork, a spawned and a started one: each leaves one block; and the forked one frees a block of its parent's."""
    found = {row["pid"]: row for row in rows(path, "--by", "process", "--leaks")}
    assert len(found) >= 4, "%d processes" % len(found)
    equal(by_function(path, "--leaks")["in_child"], Amount(3, 3 * allocated.LEAF), "what children left")
    equal(by_function(path, "--leaks")["run_fork"].bytes >= allocated.INHERITED, True, "what the parent keeps")
    return found


def test_children_have_blocks_of_their_own(folder):
    check_children(full())
    check_children(aggregate())


def test_arrays_of_numpy_are_as_large_as_they_say(folder):
    """Two arrays differ by their data alone; what else there is to an array is small."""
    need(HAS_NUMPY, "no numpy in the environment of this test")
    found = by_function(full(), "--leaks")
    large, small = found["numpy_large"], found["numpy_small"]
    equal((large.bytes - small.bytes, large.count - small.count), (8 * (1000003 - 10007), 0), "difference of two arrays")
    between(small.bytes, 8 * 10007, 8 * 10007 + 300, "bytes of an array")


# ---- beside other collectors, with one layer, with other allocators


def test_beside_other_collectors(folder):
    path = record("beside", options=["--with", "alloc,calls,sample"], verb="run")
    check_all(path)


def test_each_layer_has_its_own(folder):
    """pymalloc hands what is larger than 512 bytes on to malloc, and takes the rest from arenas."""
    path = record("malloc", options=["--layer", "malloc"])
    wanted = {"by_" + name: e[:2] for name, e in allocated.NATIVE.items() if name not in ("native_threads", "hand_over")}
    check_functions(path, dict(wanted, by_object_large=(7, 7 * 10103), by_raw=(7, 7 * 211), hill=(1, allocated.HILL)), "--total")
    equal(by_function(path, "--leaks").get("by_object", Amount(0, 0)).count, 0, "small blocks of pymalloc")
    path = record("py", options=["--layer", "py"])
    check_functions(path, {"by_" + name: e[:2] for name, e in allocated.PYMEM.items()}, "--total")
    equal([name for name in ("by_malloc", "by_mmap", "hill") if name in by_function(path, "--total")], [], "functions that called C's allocators")


def preloadable(name):
    for folder in [os.environ.get("ALLOCATORS", "")] + glob.glob("/usr/lib/*-linux-gnu") + ["/usr/lib64", "/usr/lib"]:
        found = sorted(glob.glob(os.path.join(folder, name)))
        if found:
            return found[0]
    need(False, "no %s here (CI=true installs it)" % name)


def check_preloaded(name, library, *missing):
    """`new` is the allocator's own, and a library that is bound to another one is left alone.  What the allocator lacks is
    glibc's, whose blocks it cannot free."""
    env = clean_env(LD_PRELOAD=preloadable(library))
    for mode in "full", "aggregate":
        path = record("%s-%s" % (name, mode), *["no-" + case for case in missing], options=["--mode", mode], env=env)
        without = {"by_moves", "deep", "opened_deep"} | {"by_" + case for case in missing}
        wanted = {function: e for function, e in allocated.EXPECTED.items() if function not in without}
        check_functions(path, {function: e[:2] for function, e in wanted.items()}, "--total")
        check_functions(path, {function: e[2:] for function, e in wanted.items()}, "--leaks")
        equal(ask(path)["alloc"]["overlaps"], 0, "overlaps")
        by = {row["allocator"]: row["count"] for row in rows(path, "--by", "allocator", "--leaks")}
        assert by["new"] >= 16, "only %d blocks by new" % by["new"]


def test_jemalloc(folder):
    check_preloaded("jemalloc", "libjemalloc.so.2", "pvalloc")


def test_tcmalloc(folder):
    check_preloaded("tcmalloc", "libtcmalloc_minimal.so.4")


run_tests(globals())
