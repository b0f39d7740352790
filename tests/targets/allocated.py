# SPDX-License-Identifier: MIT
"""allocated LIBRARY [WORD...]: allocates known amounts in functions that say how.  The library is allocated.c, compiled;
beside it are copies of it, late.so, deep.so, deeper.so and beside.so.  Words: numpy, children, and no-NAME, which leaves a case out.

`EXPECTED` says what each function allocates: {function: (blocks, bytes, blocks that are left, bytes that are left)}.
"""
import ctypes
import os
import sys
import threading

MAPPED = 10 * 4096 + 1


def seven(size):
    """Of seven blocks three are freed."""
    return 7, 7 * size, 4, 4 * size


# What C code allocates through functions of C, by the name of its case.
NATIVE = {
    "malloc": seven(10007), "calloc": seven(3 * 3343), "realloc": seven(10009), "reallocarray": seven(5 * 2003),
    "posix_memalign": seven(10037), "aligned_alloc": seven(10039), "memalign": seven(10061), "valloc": seven(10067), "pvalloc": seven(10069),
    "moves": (4, 101 + 103 + 107 + 20011, 2, 103 + 20011),
    "temporaries": (14, 5 * 1009 + 3 * (1013 + 1019) + 1021 + 1031 + 1033, 0, 0),
    "new": seven(10079), "new_array": seven(10091), "new_nothrow": seven(10093), "new_aligned": seven(64 * 157),
    "mmap": (7, 7 * MAPPED, 4, MAPPED + (MAPPED - 4096) + (MAPPED - 1) + (MAPPED - 8192)),
    "mremap": (9, 6 * MAPPED + 81921 + 20481 + 122881, 4, 81921 + 20481 + 2 * MAPPED),
    "native_threads": (6, 3 * (10111 + 10133), 6, 3 * (10111 + 10133)),
    "hand_over": (20000, 20000 * 211, 0, 0),
}
# And through the interpreter's.
PYMEM = {
    "raw": seven(211), "raw_calloc": seven(219), "mem": seven(223), "mem_calloc": seven(237), "object": seven(227), "object_calloc": seven(249),
    "object_large": seven(10103),
    "across_512": (9, 499 + 521 + 509 + 1031 + 503 + 541 + 491 + 487 + 547, 2, 1031 + 491),
}
HILL, TOP, LOWER = 40000003, 30000001, 60000011
TEMPORARY = {0: (9, 5 * 1009 + 3 * 1019 + 1033), 1: (13, 5 * 1009 + 3 * (1013 + 1019) + 1031 + 1033)}
LEAF = 1039
MADE, FIRST_MADE = 200, 5003
INHERITED, IN_CHILD = 10139, (1, LEAF)

EXPECTED = {}
EXPECTED.update({"by_" + name: wanted for name, wanted in list(NATIVE.items()) + list(PYMEM.items())})
EXPECTED.update({"made_%d" % i: (1, FIRST_MADE + i, 1, FIRST_MADE + i) for i in range(MADE)})
EXPECTED["hill"] = (1, HILL, 0, 0)
EXPECTED["top"] = (1, TOP, 0, 0)
EXPECTED["lower_hill"] = (1, LOWER, 0, 0)
for name in ("late", "deep", "opened_late", "opened_deep", "opened_beside"):
    EXPECTED[name] = (1, LEAF, 1, LEAF)
NOTHING = ["allocates_nothing", "by_no_heap"]     # no row from 3.11 on: before, a call may allocate its frame

# What is called by two, and how often by each.
TWICE = {"recurse": {"first_caller": 3, "second_caller": 5}, "generate": {"first_step": 3, "second_step": 5}}
DEPTH = 150


def say_and_exit(status):
    sys.stdout.flush()
    os._exit(status)


class Library:
    """Its functions, looked up before they are called: that would allocate."""

    def __init__(self, path, mode=ctypes.DEFAULT_MODE):
        self.free = ctypes.CDLL(path, mode=mode)      # without the interpreter's lock
        self.held = ctypes.PyDLL(path, mode=mode)     # with it

    def case(self, name, held=False):
        function = getattr(self.held if held else self.free, "case_" + name)
        function.restype, function.argtypes = None, ()
        return function


def allocates_nothing():
    pass


def define(source, **names):
    """The functions of this source, as if it stood here."""
    exec(compile(source, __file__, "exec"), names)
    return names


def by_case(name, held):
    return define("def by_%s(): call()" % name, call=LIBRARY.case(name, held))["by_" + name]


def recurse(n):
    if n:
        recurse(n - 1)
    else:
        leaf()


def first_caller():
    recurse(DEPTH)


def second_caller():
    recurse(DEPTH)


def generate():
    while True:
        leaf()
        yield


def first_step(g):
    next(g)


def second_step(g):
    next(g)


def run_twice():
    """By turns, so that what was remembered of the other caller's stack must not be taken for this one's."""
    g = generate()
    for i in range(5):
        if i < 3:
            first_caller()
            first_step(g)
        second_caller()
        second_step(g)


def run_made():
    """The code object of each is gone when the next is made, mostly at the same address."""
    call = LIBRARY.case("next")
    for i in range(MADE):
        names = {"call": call}
        exec("def made_%d():\n    call()\n" % i, names)
        names.pop("made_%d" % i)()


def in_thread(call, n):
    for _ in range(n):
        call()


def run_threads():
    """Threads of Python, each with its name; and two that hand blocks over, without the lock."""
    threads = [threading.Thread(target=in_thread, args=(LIBRARY.case("object_large", held=True), i + 1), name="worker-%d" % i) for i in range(3)]
    threads += [threading.Thread(target=in_thread, args=(LIBRARY.case(name), 1), name=name) for name in ("produce", "consume")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def opened(name, path=None):
    if path:
        LIBRARY.free.set_late(os.fsencode(path))
    return LIBRARY.case(name)


def run_late(folder):
    late = Library(os.path.join(folder, "late.so")).case("leaf")
    define("def late(): call()", call=late)["late"]()
    deep = Library(os.path.join(folder, "deep.so"), mode=os.RTLD_DEEPBIND).case("leaf")
    define("def deep(): call()", call=deep)["deep"]()
    define("def opened_late(): call()", call=opened("open_late", os.path.join(folder, "later.so")))["opened_late"]()
    define("def opened_deep(): call()", call=opened("open_late_deep", os.path.join(folder, "deeper.so")))["opened_deep"]()
    define("def opened_beside(): call()", call=opened("open_late_beside"))["opened_beside"]()


def numpy_small():
    KEPT[0] = EMPTY(10007)


def numpy_large():
    KEPT[1] = EMPTY(1000003)


def in_child():
    leaf()


def run_fork():
    LIBRARY.case("inherit")()
    free_inherited = LIBRARY.case("free_inherited")
    pid = os.fork()
    if pid == 0:
        in_child()
        free_inherited()
        say_and_exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def run_children():
    import multiprocessing
    import subprocess
    run_fork()
    spawned = multiprocessing.get_context("spawn").Process(target=spawned_child, args=(sys.argv[1],))
    spawned.start()
    spawned.join()
    assert spawned.exitcode == 0
    subprocess.check_call([sys.executable, __file__, sys.argv[1], "child"])


def started_child(path):
    global leaf
    leaf = Library(path).case("leaf")
    in_child()


def spawned_child(path):
    started_child(path)


def main():
    global LIBRARY, KEPT, EMPTY, leaf
    if sys.argv[2:] == ["child"]:
        return started_child(sys.argv[1])
    LIBRARY, KEPT = Library(sys.argv[1]), [None] * 10
    leaf = LIBRARY.case("leaf")
    cases = [name for name in list(NATIVE) + list(PYMEM) + ["no_heap"] if "no-" + name not in sys.argv]
    functions = {name: by_case(name, held=name in PYMEM) for name in cases}
    heap = {name: define("def %s(): call()" % name, call=LIBRARY.case(name))[name] for name in ("hill", "top", "down", "lower_hill")}
    for name in ("hill", "top", "down", "lower_hill"):
        heap[name]()
    for function in functions.values():
        function()
    allocates_nothing()
    run_twice()
    run_made()
    run_late(os.path.dirname(sys.argv[1]))
    run_threads()
    if "numpy" in sys.argv:
        import numpy
        EMPTY = numpy.empty
        EMPTY(1), EMPTY(1)      # numpy keeps the shapes of arrays that are gone
        numpy_small()
        numpy_large()
    if "children" in sys.argv:
        run_children()
    print("done")


if __name__ == "__main__":
    main()
