# SPDX-License-Identifier: MIT
# interpreters: all
"""`sonde alloc --native`: native functions between Python functions, of a library whose chain of calls is known
(tests/targets/allocating_chain.c)."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, TARGETS, contains, equal, need, once, run, run_tests, sonde, write  # noqa: E402

SOURCE = os.path.join(TARGETS, "allocating_chain.c")
CHAIN = ["chain_a", "chain_b", "chain_c"]
STOPPED, UNPLACED = "[unwinding stopped]", "[native frames not placed]"
MODES = (["--mode", "full"], ["--mode", "aggregate"], ["--mode", "sample", "--sample-bytes", "1"])

PROGRAM = """\
import ctypes, os, sys, threading
chain = ctypes.CDLL(%r)
chain.chain_a.argtypes = chain.chain_thread.argtypes = [ctypes.c_size_t]
chain.chain_a.restype = chain.chain_thread.restype = chain.chain_call.restype = None

def one():
    for _ in range(7):
        chain.chain_a(10007)

def two():
    for _ in range(5):
        chain.chain_a(20011)

def outer():
    one()
    two()
"""


def library(name, *options):
    @once
    def make():
        compiler = shutil.which(os.environ.get("CC") or "cc")
        need(compiler, "no C compiler")
        path = os.path.join(os.environ.get("TMPDIR") or "/tmp", name)
        shared = [] if "-DPROGRAM" in options else ["-shared", "-fPIC"]
        done = run([compiler, "-g0", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", path, SOURCE, "-pthread"] + shared + list(options))
        equal(done.status, 0, "status of the compiler (%s)" % done.err)
        return path
    return make


plain = library("libchain.so", "-O2", "-fomit-frame-pointer")
c_program = library("chain", "-O2", "-fomit-frame-pointer", "-DPROGRAM")


def record(folder, *words):
    """Rows by stack of everything, innermost function last; and the summary."""
    path = os.path.join(folder, "x.sonde")
    done = sonde("alloc", "--quiet", "--force", "--native", "-o", path, *words, cwd=folder)
    return done, read(path)


def read(path, *words):
    report = sonde("report", path, "--alloc", "--total", "--by", "stack", "--json", "-n", "0", *words)
    equal(report.status, 0, "status of the report (%s)" % report.err)
    got = json.loads(report.out)
    for row in got["allocations"]:
        row["names"] = [frame["function"] for frame in row["stack"]]
    return got


def record_python(folder, code, *words, **how):
    write(folder, "p.py", PROGRAM % how.get("library", plain)() + code)
    done, got = record(folder, *(list(words) + ["--python", PYTHON, "p.py"]))
    equal(done.status, 0, "status (%s)" % done.err)
    equal((got["alloc"]["overlaps"], got["alloc"]["lost"]), (0, 0), "overlaps and losses")
    return got


def chained(got, size, names=CHAIN):
    """Rows of blocks of this size that these functions allocated."""
    return [row for row in got["allocations"] if row["names"][-len(names):] == names and row["bytes"] == row["count"] * size]


def without_ctypes(names):
    """What is no part of ctypes, of libffi, or of what a library without symbols is called."""
    parts = ("ffi", "ctypes", "PyCFuncPtr", "closure_fcn", "_CallPythonObject", "libpython")
    return [name for name in names if name in CHAIN or not any(part in name for part in parts)]


def exact(got):
    for function, line, count, size in (("one", 8, 7, 10007), ("two", 12, 5, 20011)):
        (row,) = chained(got, size)
        equal((row["function"], row["line"], row["count"]), (function, line, count), "the innermost Python function")
        equal(os.path.basename(row["file"]), "p.py", "its file")
        equal(without_ctypes(row["names"]), ["<module>", "outer", function] + CHAIN, "stack of " + function)


def test_known_chains_are_exact_in_every_mode(folder):
    for mode in MODES:
        exact(record_python(folder, "outer()\n", *mode))


def test_known_chains_are_exact_under_preload(folder):
    exact(record_python(folder, "outer()\n", "--preload"))


def test_nearly_every_stack_is_whole_and_placed(folder):
    got = record_python(folder, "import json, decimal\nouter()\n[json.loads(json.dumps({'a': [i] * 9})) for i in range(200)]\n")
    marked = sum(row["count"] for row in got["allocations"] if STOPPED in row["names"] or UNPLACED in row["names"])
    assert marked * 1000 <= got["alloc"]["allocations"], (marked, got["alloc"]["allocations"])


def test_frames_of_every_kind_are_unwound(folder):
    for name, options in (("frames", ["-O0"]), ("pointers", ["-O2", "-fno-omit-frame-pointer"]), ("alloca", ["-O2", "-DALLOCA"]),
                          ("aligned", ["-O2", "-DALIGNED"])):
        exact(record_python(folder, "outer()\n", library=library("lib%s.so" % name, *options)))


def test_functions_without_symbols_are_named_by_their_place(folder):
    got = record_python(folder, "outer()\n", library=library("libstripped.so", "-O2", "-s", "-DHIDDEN"))
    (row,) = [row for row in got["allocations"] if row["bytes"] == 7 * 10007]
    equal([name.split("+0x")[0] for name in row["names"][-3:]], ["chain_a", "libstripped.so", "libstripped.so"], "names")
    assert row["names"][-2] != row["names"][-1], row["names"]
    got = record_python(folder, "outer()\n", library=library("libdynamic.so", "-O2", "-s"))
    exact(got)      # what others link to has its name there, too


def test_a_function_without_unwind_table_is_told(folder):
    bare = library("libbare.so", "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    got = record_python(folder, "outer()\n", library=bare)
    rows = [row for row in got["allocations"] if row["bytes"] == 7 * 10007]
    equal([row["names"][-2:] for row in rows], [[STOPPED, rows[0]["names"][-1]]], "what is known")
    equal(rows[0]["names"][:3], ["<module>", "outer", "one"], "Python functions")


def test_callbacks_stand_where_they_are_called(folder):
    got = record_python(folder, """
back = ctypes.CFUNCTYPE(None)
def inner():
    chain.chain_a(40009)
called = back(inner)
def calls():
    chain.chain_call(called)
calls()
""")
    (row,) = chained(got, 40009)
    equal(without_ctypes(row["names"]), ["<module>", "calls", "chain_call", "inner"] + CHAIN, "stack")
    equal(row["function"], "inner", "the innermost Python function")


def test_builtins_stand_between_python_functions(folder):
    got = record_python(folder, """
def key(x):
    chain.chain_a(40013)
    return x
def sorts():
    sorted([2, 1], key=key)
sorts()
""")
    (row,) = chained(got, 40013)
    names = without_ctypes(row["names"])
    equal((names[:2], names[-4:]), (["<module>", "sorts"], ["key"] + CHAIN), "ends of the stack")
    names = row["names"]
    assert names.index("key") > names.index("sorts") + 1, names        # list_sort, or what stands for it


def test_recursion_and_generators_keep_their_callers(folder):
    got = record_python(folder, """
def deep(n):
    if n:
        return deep(n - 1)
    chain.chain_a(40031)
def gives():
    chain.chain_a(40037)
    yield
def first():
    list(gives())
    deep(150)
def second():
    list(gives())
    deep(150)
first()
second()
""")
    for size, tail in ((40031, ["deep"] * 151), (40037, ["gives"])):
        rows = sorted(chained(got, size), key=lambda row: row["names"][1])
        equal([row["names"][1] for row in rows], ["first", "second"], "callers")
        for row in rows:
            names = [name for name in without_ctypes(row["names"]) if name in ("deep", "gives")]
            equal(names, tail, "frames")


def test_threads_have_their_own_stacks(folder):
    got = record_python(folder, """
def worker():
    chain.chain_a(40039)
threads = [threading.Thread(target=worker) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
def starts():
    chain.chain_thread(40063)
starts()
""")
    rows = chained(got, 40039)      # several where the interpreter has changed its instructions meanwhile
    equal((sum(row["count"] for row in rows), {row["function"] for row in rows}), (4, {"worker"}), "count and function")
    (row,) = chained(got, 40063)
    names = without_ctypes(row["names"])
    assert names.index("starts") < names.index("chain_thread") < names.index("chain_a"), names


def test_a_forked_child_has_names(folder):
    got = record_python(folder, """
def child():
    chain.chain_a(40087)
one()
pid = os.fork()
if not pid:
    child()
    os._exit(0)
os.waitpid(pid, 0)
""")
    (row,) = chained(got, 40087)
    equal(without_ctypes(row["names"]), ["<module>", "child"] + CHAIN, "stack")


def test_a_killed_program_leaves_all_names(folder):
    write(folder, "p.py", PROGRAM % plain() + "outer()\nos.kill(os.getpid(), 9)\n")
    for mode in MODES[:2]:
        done, got = record(folder, *(mode + ["--python", PYTHON, "p.py"]))
        equal(done.status, -9, "status")
        exact(got)


def test_a_c_program_has_its_functions(folder):
    for mode in MODES:
        done, got = record(folder, "--preload", *(mode + ["--", c_program(), "thread"]))
        equal(done.status, 0, "status")
        (row,) = chained(got, 10007)
        equal((row["count"], row["names"][-4:], row["function"]), (7, ["main"] + CHAIN, "chain_c"), "stack")
        (row,) = chained(got, 30011)
        assert row["names"].index("main") < row["names"].index("chain_thread") < row["names"].index("in_thread"), row["names"]


def test_names_of_cxx_are_written_out(folder):
    compiler = shutil.which("c++")
    need(compiler, "no C++ compiler")
    source = write(folder, "shapes.cc", """
namespace shapes { struct Circle { double *p; Circle(int n); }; }
__attribute__((noinline)) shapes::Circle::Circle(int n) { p = new double[n]; asm volatile("" :: "r"(p) : "memory"); }
int main() { shapes::Circle c(1000); return c.p == nullptr; }
""")
    path = os.path.join(folder, "shapes")
    equal(run([compiler, "-O1", "-o", path, source]).status, 0, "status of the compiler")
    _, got = record(folder, "--preload", "--", path)
    (row,) = [row for row in got["allocations"] if row["bytes"] == 8000]
    contains(" ".join(row["names"]), "main shapes::Circle::Circle", "stack")


run_tests(globals())
