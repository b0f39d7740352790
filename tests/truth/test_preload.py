# SPDX-License-Identifier: MIT
# interpreters: all
"""`sonde alloc --preload`: programs that are not Python, and what happens before `site`, against programs that know
what they allocate (tests/targets/preloaded.*)."""
import ctypes.util
import glob
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, clean_env, contains, equal, need, once, run, run_tests, sonde, write  # noqa: E402

# What allocate() of preloaded.c does: 10 blocks and 5 frees, a calloc that is moved, a mapping.
PLAIN = dict(allocations=10 + 2 + 1, bytes=10 * 1009 + 7 * 13 + 4001 + 8192, frees=5 + 1 + 1, leaked_allocations=6, leaked_bytes=5 * 1009 + 4001,
             peak_bytes=5 * 1009 + 4001 + 8192, unknown_frees=0, overlaps=0, lost=0)
MODES = (["--mode", "full"], ["--mode", "aggregate"], ["--mode", "sample", "--sample-bytes", "1"])


def compiled(name, source, *options):
    @once
    def make():
        compiler = shutil.which("c++" if source.endswith(".cc") else os.environ.get("CC") or "cc")
        need(compiler, "no compiler")
        path = os.path.join(os.environ.get("TMPDIR") or "/tmp", name)
        done = run([compiler, "-O1", "-fno-builtin", "-o", path, os.path.join(TARGETS, source), "-pthread"] + list(options))
        equal(done.status, 0, "status of the compiler (%s)" % done.err)
        return path
    return make


c_program = compiled("preloaded-c", "preloaded.c")
cc_program = compiled("preloaded-cc", "preloaded.cc")
own_malloc = compiled("own-malloc", "own_malloc.c")


def alloc(folder, *words, **how):
    """The result of the run, and its report of everything."""
    path = os.path.join(folder, "x.sonde")
    env = clean_env(**how.pop("env", {}))
    done = sonde("alloc", "--quiet", "--force", "-o", path, *words, cwd=folder, env=env)
    report = sonde("report", path, "--alloc", "--total", "--json", "-n", "0", *how.pop("report", []))
    equal(report.status, 0, "status of the report (%s)" % report.err)
    return done, json.loads(report.out)


def has(got, **wanted):
    equal({k: got["alloc"][k] for k in wanted}, wanted, "what was allocated")


def test_a_c_program_is_recorded_to_the_byte_in_every_mode(folder):
    for mode in MODES:
        done, got = alloc(folder, "--preload", *(mode + ["--", c_program()]))
        equal((done.status, done.out.splitlines()[0]), (3, "done"), "the program's end")
        wanted = dict(PLAIN)
        if mode[1] == "sample":
            wanted.pop("unknown_frees")
        has(got, **wanted)
        equal([r["function"] for r in got["allocations"]], [None], "functions")


def test_a_thread_in_c_is_recorded(folder):
    _, got = alloc(folder, "--preload", "--", c_program(), "thread", report=["--by", "thread", "--match", "."])
    has(got, allocations=PLAIN["allocations"] + 4, bytes=PLAIN["bytes"] + 3 * 3001 + 7001, overlaps=0, unknown_frees=0)


def test_children_by_fork_and_exec_are_recorded(folder):
    _, one = alloc(folder, "--preload", "--", c_program(), "fork")
    has(one, allocations=PLAIN["allocations"] + 2, bytes=PLAIN["bytes"] + 70001 + 3001, overlaps=0)
    _, two = alloc(folder, "--preload", "--", c_program(), "fork", c_program(), "exec", c_program())
    has(two, allocations=3 * PLAIN["allocations"] + 2, bytes=3 * PLAIN["bytes"] + 70001 + 3001, overlaps=0, unknown_frees=0)


def test_a_program_that_is_killed_keeps_what_it_recorded(folder):
    for mode in MODES[:2]:
        done, got = alloc(folder, "--preload", *(mode + ["--", c_program(), "killed"]))
        assert done.status < 0, done
        has(got, **PLAIN)


def test_operator_new_is_recorded(folder):
    _, plain = alloc(folder, "--preload", "--", cc_program())
    rows = {r["allocator"]: r for r in alloc(folder, "--preload", "--", cc_program(), report=["--by", "allocator"])[1]["allocations"]}
    equal((plain["alloc"]["overlaps"], plain["alloc"]["unknown_frees"]), (0, 0), "overlaps and unknown frees")
    equal((rows["malloc"]["count"], rows["malloc"]["bytes"]), (8, 7 * 5003 + 4 * 2003), "what new asks malloc for")


def allocator(name):
    """The path of an allocator that can be preloaded."""
    found = ctypes.util.find_library(name)
    paths = glob.glob("/usr/lib/*/%s" % found) if found else []
    need(paths, "no lib%s" % name)
    return paths[0]


def under(folder, name):
    library = allocator(name)
    _, got = alloc(folder, "--preload", "--", c_program(), env={"LD_PRELOAD": library})
    has(got, **PLAIN)
    rows = {r["allocator"]: r for r in alloc(folder, "--preload", "--", cc_program(), env={"LD_PRELOAD": library},
                                             report=["--by", "allocator"])[1]["allocations"]}
    equal((rows["new"]["count"], rows["new"]["bytes"]), (8, 7 * 5003 + 4 * 2003), "what new allocates")


def test_jemalloc_stays_the_allocator(folder):
    under(folder, "jemalloc")


def test_tcmalloc_stays_the_allocator(folder):
    under(folder, "tcmalloc_minimal")


def test_an_allocator_of_the_program_is_not_asked_for_memory(folder):
    for mode in MODES:
        done, got = alloc(folder, "--preload", *(mode + ["--", own_malloc()]))
        equal((done.status, done.out.splitlines()[0]), (0, "done"), "the program's end")
        assert got["alloc"]["allocations"] >= 400, got["alloc"]
        equal(got["alloc"]["overlaps"], 0, "overlaps")


PROGRAM = """\
import os, subprocess, sys
kept = []
def one():
    kept.append(bytearray(100003))
def ten():
    for i in range(10):
        kept.append(bytes(20011 + i))
    del kept[:]
one()
ten()
if len(sys.argv) > 1:
    subprocess.check_call([sys.argv[1]], stdout=subprocess.DEVNULL) if sys.argv[2:] else None
    pid = os.fork()
    if not pid:
        one()
        os._exit(0)
    os.waitpid(pid, 0)
"""


def large(got):
    """Bytes of the large blocks of PROGRAM's two functions."""
    return {r["function"]: r["bytes"] for r in got["allocations"] if r["function"] in ("one", "ten") and r["bytes"] > 20000}


def test_python_functions_have_the_same_rows_with_and_without(folder):
    write(folder, "p.py", PROGRAM)
    for mode in MODES[:2]:
        words = mode + ["--python", PYTHON, "p.py"]
        _, without = alloc(folder, *words, report=["--match", "p.py"])
        _, within = alloc(folder, "--preload", *words, report=["--match", "p.py"])
        equal([within["alloc"][k] for k in ("overlaps", "lost")], [0, 0], "overlaps and losses")
        equal(sorted(large(within)), ["one", "ten"], "functions")
        equal(large(within), large(without), "bytes of the functions")
        of = {mode: {(r["function"], r["line"]): (r["count"], r["bytes"]) for r in got["allocations"] if r["function"] in ("one", "ten")}
              for mode, got in (("without", without), ("with", within))}
        equal(of["with"], of["without"], "rows")


def test_what_python_allocates_before_site_is_recorded(folder):
    write(folder, "p.py", PROGRAM)
    _, without = alloc(folder, "--python", PYTHON, "p.py")
    _, within = alloc(folder, "--preload", "--python", PYTHON, "p.py")
    nothing = [sum(r["count"] for r in got["allocations"] if r["function"] is None) for got in (without, within)]
    assert nothing[1] > nothing[0] + 100, nothing
    assert within["alloc"]["unknown_frees"] < without["alloc"]["unknown_frees"], "frees of blocks from before are known"


def test_children_of_a_python_program_are_recorded(folder):
    write(folder, "p.py", PROGRAM)
    for mode in MODES[:2]:
        words = ["--preload"] + mode + ["--python", PYTHON, "p.py"]
        _, fork = alloc(folder, *(words + ["x"]))
        _, both = alloc(folder, *(words + [c_program(), "child"]))
        equal([got["alloc"]["overlaps"] for got in (fork, both)], [0, 0], "overlaps")
        assert 2 * 100004 <= large(fork)["one"] < 2 * 100004 + 1000, large(fork)
        rows = {r["pid"]: r["count"] for r in sonde_rows(folder)}
        assert PLAIN["allocations"] in rows.values(), rows


def sonde_rows(folder):
    done = sonde("report", os.path.join(folder, "x.sonde"), "--alloc", "--total", "--by", "process", "--json", "-n", "0")
    return json.loads(done.out)["allocations"]


def test_sections_and_other_collectors_work_beside_it(folder):
    write(folder, "p.py", "import sonde\nwith sonde.section('inner'):\n    kept = bytearray(300007)\nother = bytearray(400009)\n")
    path = os.path.join(folder, "y.sonde")
    done = sonde("run", "--quiet", "--with", "alloc,calls,sample", "--alloc-preload", "--python", PYTHON, "-o", path, "p.py", cwd=folder)
    equal(done.status, 0, "status (%s)" % done.err)
    got = json.loads(sonde("report", path, "--alloc", "--total", "--section", "inner", "--json", "-n", "0").out)
    lines = {r["line"]: r["bytes"] for r in got["allocations"] if r["file"] and r["file"].endswith("p.py")}
    assert lines.get(3, 0) >= 300007 and 4 not in lines, lines


def test_who_has_another_environment_is_left_alone(folder):
    _, got = alloc(folder, "--preload", "--", "env", "-u", "SONDE_LIVE", c_program(), "fork")
    _, gone = alloc(folder, "--preload", "--", "env", "SONDE_LIVE=/nonexistent", c_program(), "fork")
    for one in (got, gone):
        equal(len([r for r in sonde_rows(folder)]), 1, "processes")
        assert one["alloc"]["bytes"] < 70001, one["alloc"]


def test_the_environment_differs_by_our_names_only(folder):
    import ast
    code = "import os; print(dict(os.environ))"
    plain = ast.literal_eval(run([PYTHON, "-c", code], env=clean_env(LD_PRELOAD="")).out)
    done, _ = alloc(folder, "--preload", "--python", PYTHON, "-c", code)
    ours = ast.literal_eval(done.out.splitlines()[0])
    differ = {k for k in set(plain) | set(ours) if plain.get(k) != ours.get(k) and k != "_"}
    assert differ <= {"PYTHONPATH", "LD_PRELOAD"} | {k for k in differ if k.startswith("SONDE")}, differ
    equal(os.path.basename(ours["LD_PRELOAD"]), "libsonde_preload.so", "LD_PRELOAD")


def test_a_program_that_is_not_python_is_refused_without_it(folder):
    done = sonde("alloc", "-o", os.path.join(folder, "n.sonde"), "--", c_program())
    equal(done.status, 2, "status")
    contains(done.err, "--preload")
    equal(os.path.exists(os.path.join(folder, "n.sonde")), False, "a capture")
    contains(sonde("run", "--with", "alloc", "-o", os.path.join(folder, "n.sonde"), "--", c_program()).err, "--alloc-preload")
    contains(sonde("alloc", "--preload", "--layer", "py", "-o", os.path.join(folder, "n.sonde"), "p.py").err, "--layer py")


run_tests(globals())
