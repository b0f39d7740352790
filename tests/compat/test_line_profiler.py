# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.LineProfiler, sonde.compat.line_profiler and kernprof: the names of line_profiler, and its answers."""
import asyncio
import contextlib
import functools
import importlib.util
import io
import os
import re
import sys
import threading
import time
import types
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import PYTHON, SONDE, contains, equal, run, write  # noqa: E402

sys.path.insert(0, helpers.PACKAGE_PATH)
from sonde import LineProfiler, LineStats, _sonde  # noqa: E402
from sonde.compat import line_profiler  # noqa: E402


def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


def countdown(n):
    if n == 0:
        return 0
    return countdown(n - 1)


def numbers(n):
    for i in range(n):
        yield i
    return "end"


async def later(n):
    await asyncio.sleep(0)
    return n


async def many(n):
    for i in range(n):
        yield i


def kinds():
    """A class of its own each time: decorating one changes it."""

    class Kinds:
        @classmethod
        def of_class(cls):
            return "class"

        @staticmethod
        def of_none():
            return "static"

        @property
        def held(self):
            return "property"

        @functools.cached_property
        def kept(self):
            return "cached"

        def plain(self, a=1):
            return a

        part = functools.partialmethod(plain, 5)

    return Kinds


def hits(lp, func):
    """{line after the def: hits}"""
    code = getattr(func, "__wrapped__", func).__code__
    return {line - code.co_firstlineno: entry["nhits"] for line, entry in lp.code_map[code].items()}


# ---- decorators


def test_a_function(folder):
    lp = LineProfiler()
    wrapped = lp(work)
    equal(wrapped(10), 45, "result")
    equal(hits(lp, work), {1: 1, 2: 11, 3: 10, 4: 1}, "hits")
    equal(wrapped.__wrapped__ is work and wrapped.__name__ == "work" and lp(wrapped) is wrapped, True, "wrapper")
    work(10)
    equal(hits(lp, work)[3], 10, "hits while it is not enabled")
    with lp:
        work(10)
    equal(hits(lp, work)[3], 20, "hits after with")
    equal(lp.enable_count, 0, "enabled")


def test_recursion_and_threads_are_counted(folder):
    lp = LineProfiler(countdown)
    lp.runcall(countdown, 5)
    equal(hits(lp, countdown), {1: 6, 2: 1, 3: 5}, "hits of a recursion")
    lp = LineProfiler()
    wrapped = lp(work)
    threads = [threading.Thread(target=wrapped, args=(100,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(hits(lp, work)[3], 400, "hits of four threads")


def test_it_rests_between_calls_and_counts_by_threads(folder):
    lp, other = LineProfiler(), LineProfiler(work)
    wrapped = lp(work)
    for _ in range(50):
        wrapped(3)
        for _ in range(40):  # heard for nobody until those who rest are stopped for good
            work(30)
    equal((hits(lp, work)[3], lp.is_active, lp.enable_count), (150, False, 0), "hits, and what is on")
    with other:
        work(5)
        wrapped(5)
        work(5)
    equal((hits(lp, work)[3], hits(other, work)[3]), (155, 15), "hits of two, of which one rests")
    inside, goes_on, done = threading.Event(), threading.Event(), []

    def hold():
        with lp:
            inside.set()
            goes_on.wait(60)
            done.append(lp.enable_count)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    equal((lp.enable_count, lp.is_active), (0, True), "while another thread has it on")
    with lp:
        equal(lp.enable_count, 1, "of this thread")
    work(7)
    equal(hits(lp, work)[3], 162, "hits while another thread has it on")
    goes_on.set()
    thread.join()
    work(7)
    equal((hits(lp, work)[3], done, lp.is_active), (162, [1], False), "hits afterwards")


def test_generators_and_coroutines(folder):
    lp = LineProfiler()
    made = lp(numbers)

    def take():
        got = yield from made(3)
        equal(got, "end", "what a generator returns")

    equal(list(take()), [0, 1, 2], "a generator")
    equal(hits(lp, numbers), {1: 4, 2: 3, 3: 1}, "hits of a generator")
    equal(asyncio.new_event_loop().run_until_complete(lp(later)(7)), 7, "a coroutine")
    equal(hits(lp, later), {1: 1, 2: 1}, "hits of a coroutine")

    async def collect():
        return [i async for i in lp(many)(3)]

    equal(asyncio.new_event_loop().run_until_complete(collect()), [0, 1, 2], "an async generator")
    equal(hits(lp, many)[2], 3, "hits of an async generator")


def test_a_child_of_fork_rests_though_a_thread_of_its_parent_had_it_on(folder):
    lp, inside, goes_on = LineProfiler(work), threading.Event(), threading.Event()

    def hold():
        with lp:
            inside.set(), goes_on.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of forks beside threads
        pid = os.fork()
    if pid == 0:
        with lp:
            work(5)
        before = hits(lp, work)[3]
        work(5)
        os._exit(before != 5 or lp.is_active or hits(lp, work)[3] != 5)
    goes_on.set()
    thread.join()
    equal(os.waitpid(pid, 0)[1], 0, "status of the child")


def guarded(log):
    try:
        log.append((yield 1))
        yield 2
    except ValueError as raised:
        log.append(repr(raised))
        yield 3
    finally:
        log.append("finally")


def swallowed(log):
    try:
        yield
    except ValueError:
        log.append("rolled back")


async def guarded_later(log):
    try:
        log.append((yield 1))
        await asyncio.sleep(0)
        yield 2
    except ValueError as raised:
        await asyncio.sleep(0)
        log.append(repr(raised))
        yield 3
    finally:
        await asyncio.sleep(0)
        log.append("finally")


def drive(made, managed):
    log = []
    g = made(log)
    log += [next(g), g.send("sent"), g.throw(ValueError("x"))]
    g.close()
    log.append("closed")
    g = made(log)
    log.append(next(g))
    try:
        g.throw(KeyError("k"))
    except KeyError as raised:
        log.append(repr(raised))
    with contextlib.contextmanager(managed)(log):
        raise ValueError("with")
    return log


async def drive_later(made):
    log = []
    g = made(log)
    log += [await g.asend(None), await g.asend("sent"), await g.athrow(ValueError("x"))]
    await g.aclose()
    log.append("closed")
    g = made(log)
    log.append(await g.asend(None))
    try:
        await g.athrow(KeyError("k"))
    except KeyError as raised:
        log.append(repr(raised))
    return log


def deep(n):
    yield n
    if n:
        yield from deep(n - 1)


def wait_for(awaited):
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(awaited)
    finally:
        loop.close()


def test_what_is_thrown_into_a_wrapped_generator_reaches_it(folder):
    global deep
    lp = LineProfiler()
    equal(drive(lp(guarded), lp(swallowed)), drive(guarded, swallowed), "what a generator did")
    contains(drive(guarded, swallowed), "rolled back")
    equal(hits(lp, swallowed)[4], 1, "hits of what an exception led to")
    equal(wait_for(drive_later(lp(guarded_later))), wait_for(drive_later(guarded_later)), "what an async generator did")
    equal(lp.enable_count, 0, "enabled")
    deep = lp(deep)
    equal(len(list(deep(300))), 301, "steps of generators in generators")


@types.coroutine
def handed_on():
    yield
    return 5


def test_a_coroutine_that_waits_has_nothing_enabled(folder):
    lp, log = LineProfiler(), []

    async def waits():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    async def cancel():
        task = asyncio.ensure_future(lp(waits)())
        await asyncio.sleep(0)
        log.append((lp.enable_count, lp.is_active))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            log.append("end")

    wait_for(cancel())
    equal(log, [(0, False), "cancelled", "end"], "what a coroutine did")

    async def awaits():
        return await lp(handed_on)()

    equal(wait_for(awaits()), 5, "a generator that can be awaited")


class Plainest:
    """What __await__ gives is an iterator and nothing else."""

    def __init__(self, log):
        self.log, self.n = log, 0

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        self.log.append(self.n)
        self.n += 1
        if self.n > 2:
            raise StopIteration("given")


def drive_steps(coroutine, *deeds):
    """What a coroutine does when its steps are asked for one by one."""
    log = []
    try:
        for deed, args in deeds:
            log.append(getattr(coroutine, deed)(*args))
    except BaseException as raised:
        log.append(repr(raised))
    return log


def test_whatever_can_be_awaited(folder):
    """A function that is marked as one of coroutines (3.12) may give any of them."""
    lp, none = LineProfiler(), ("send", (None,))

    async def plainly(log):
        return await Plainest(log)

    for deeds in ((none, none, none), (none, ("throw", (KeyError("k"),))), (none, ("throw", (KeyError,))), (none, ("close", ())),
                  (none, ("send", (1,)))):
        ours, theirs = [], []
        equal(drive_steps(lp.wrap_coroutine(Plainest)(ours), *deeds), drive_steps(plainly(theirs), *deeds), "what came of %r" % (deeds,))
        equal(ours, theirs, "steps")
    equal(drive_steps(lp.wrap_coroutine(lambda: 5)(), none), ["TypeError(\"object int can't be used in 'await' expression\")"], "no awaitable")

    async def awaits_a_future():
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, 7)
        return await lp.wrap_coroutine(lambda: future)()

    equal(wait_for(awaits_a_future()), 7, "a future")
    equal(lp.enable_count, 0, "enabled")


def test_a_class_with_every_kind_of_method(folder):
    lp = LineProfiler()
    Kinds = kinds()
    equal(lp(Kinds) is Kinds, True, "the class")
    made = Kinds()
    equal([Kinds.of_class(), made.of_none(), made.held, made.kept, made.plain(2), made.part()], ["class", "static", "property", "cached", 2, 5])
    ran = {key[2].rpartition(".")[2]: sum(n for _, n, _ in lines) for key, lines in lp.get_stats().timings.items()}
    equal(ran, {"of_class": 1, "of_none": 1, "held": 1, "kept": 1, "plain": 2}, "lines that ran")
    bound, part = lp(kinds()().plain), lp(functools.partial(work, 3))
    equal((bound(4), part()), (4, 3), "a bound method and a partial")
    equal(lp(len) is len, True, "a C function")
    for wrong in (1, "f"):
        try:
            lp(wrong)
        except TypeError:
            continue
        raise AssertionError("%r was taken" % (wrong,))


def test_modules_and_warnings(folder):
    lp = LineProfiler()
    module = type(sys)("made")
    exec(compile("import os\ndef f():\n    return 1\nclass C:\n    def g(self):\n        return 2\n", "made.py", "exec"), module.__dict__)
    equal(lp.add_module(mod=module), 2, "members")
    equal([key[2].rpartition(".")[2] for key in lp.get_stats().timings], ["f", "g"], "functions")
    equal(lp.add_callable(work), 1, "functions added")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        lp.add_function(LineProfiler()(work))
        lp.add_function(len)
    contains(str(said[0].message), "`.__wrapped__` attribute")
    contains(str(said[1].message), "Could not extract a code object")


# ---- results


def test_stats_are_shown_written_and_added(folder):
    lp = LineProfiler()
    lp(work)(5)
    out = io.StringIO()
    lp.print_stats(out, output_unit=1e-3, summarize=True)
    text = out.getvalue()
    contains(text, "Timer unit: 0.001 s\n\nTotal time: ")
    contains(text, "File: %s\nFunction: work at line %d\n" % (work.__code__.co_filename, work.__code__.co_firstlineno))
    contains(text, "        total += i\n")
    contains(text, " seconds - %s:%d - work\n" % (work.__code__.co_filename, work.__code__.co_firstlineno))
    path = os.path.join(folder, "x.lprof")
    lp.dump_stats(path)
    stats = line_profiler.load_stats(path)
    equal(stats == lp.get_stats() and isinstance(stats, LineStats), True, "what was written")
    twice = stats + stats
    equal([n for _, n, _ in list(twice.timings.values())[0]], [2, 12, 10, 2], "hits of a sum")
    equal(list(line_profiler.load_stats(path, path).timings), list(stats.timings), "functions of two files")
    equal(run([SONDE, "report", path]).out, run([PYTHON, "-m", "sonde.compat.line_profiler", path]).out, "the program's text and the module's")


def test_functions_that_never_ran(folder):
    lp = LineProfiler(work)
    out = io.StringIO()
    lp.print_stats(out)
    contains(out.getvalue(), "Total time: 0 s\n")
    out = io.StringIO()
    lp.print_stats(out, stripzeros=True)
    equal(out.getvalue(), "Timer unit: 1e-09 s\n\n", "without them")


def test_a_line_that_goes_on_has_its_time_so_far(folder):
    lp, inside, goes_on = LineProfiler(), threading.Event(), threading.Event()

    def waits():
        inside.set(), goes_on.wait(60)

    thread = threading.Thread(target=lp(waits))
    thread.start()
    inside.wait(60)
    read = []
    while len(read) < 3:
        time.sleep(0.01)
        read.append(lp.code_map[waits.__code__][waits.__code__.co_firstlineno + 1])
    goes_on.set()
    thread.join()
    equal([entry["nhits"] for entry in read], [1, 1, 1], "hits")
    times = [entry["total_time"] for entry in read]
    assert times == sorted(times) and times[2] - times[0] >= 15e6, "times of a line that goes on: %r" % times


def test_source_in_latin_1(folder):
    path = os.path.join(folder, "latin_lines.py")
    with open(path, "wb") as f:
        f.write(b"# coding: latin-1\ndef f():\n    return 'caf\xe9'\n")
    sys.path.insert(0, folder)
    import latin_lines
    lp = LineProfiler()
    lp(latin_lines.f)()
    out = io.StringIO()
    lp.print_stats(out)
    contains(out.getvalue(), "    return 'caf\u00e9'\n")


def test_source_that_is_no_file(folder):
    import linecache
    import zipfile

    names = {}
    exec(compile("def f():\n    return 1\n", "<made>", "exec"), names)
    lp = LineProfiler()
    lp(names["f"])()
    out = io.StringIO()
    lp.print_stats(out)
    contains(out.getvalue(), "\nCould not find file <made>\n")
    contains(out.getvalue(), "\n     2         1 ")
    linecache.cache["<made>"] = 20, None, ["def f():\n", "    return 1 # here\n"], "<made>"
    out = io.StringIO()
    lp.print_stats(out)
    contains(out.getvalue(), "    return 1 # here\n")
    path = os.path.join(folder, "x.zip")
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("zipped_lines.py", "def f():\n    return 'in a zip'\n")
    sys.path.insert(0, path)
    import zipped_lines
    lp = LineProfiler()
    lp(zipped_lines.f)()
    out = io.StringIO()
    lp.print_stats(out)
    contains(out.getvalue(), "    return 'in a zip'\n")


# ---- programs


SCRIPT = """
import sys
@profile
def busy(n):
    return [i for i in range(n)]
def plain():
    return 7
print(len(busy(9)), plain(), sys.argv[1:], __name__)
"""


def kernprof(folder, *words):
    return run([PYTHON, "-m", "sonde.compat.kernprof"] + list(words), cwd=folder)


def test_kernprof(folder):
    write(folder, "script.py", SCRIPT)
    done = kernprof(folder, "-l", "-v", "-u", "1e-3", "script.py", "-v", "x")
    equal((done.status, done.err), (0, ""), "end")
    lines = done.out.splitlines()
    equal(lines[:3], ["9 7 ['-v', 'x'] __main__", "Wrote profile results to 'script.py.lprof'", "Timer unit: 0.001 s"], "output")
    contains(done.out, "Function: busy at line 3\n")
    equal(list(key[2] for key in line_profiler.load_stats(os.path.join(folder, "script.py.lprof")).timings), ["busy"], "functions")
    done = kernprof(folder, "-l", "-p", "script.py", "-o", "other", "script.py")
    contains(done.out, "Wrote profile results to 'other'\nInspect results with:\n")
    said = done.out.splitlines()[-1]
    if not importlib.util.find_spec("line_profiler"):
        contains(said, " -m sonde.compat.line_profiler -rmt other")
    shown = run(["sh", "-c", said], cwd=folder, env=helpers.clean_env(PATH=os.pathsep.join([os.path.dirname(PYTHON), os.environ["PATH"]])))
    equal(shown.status, 0, "status of what is said: " + shown.err)
    contains(shown.out, "Function: busy at line 3\n")
    equal(sorted(set(key[2] for key in line_profiler.load_stats(os.path.join(folder, "other")).timings)), ["busy", "plain"], "with -p")
    done = kernprof(folder, "-b", "-o", "calls.prof", "script.py")
    equal(done.status, 0, "status of calls: " + done.err)
    contains(run([SONDE, "report", os.path.join(folder, "calls.prof")]).out, "(busy)")
    for kind, how in (("-l", "line_profiler -rmt 'to be $typed'"), ("-b", " -m pstats 'to be $typed'")):
        contains(kernprof(folder, kind, "-o", "to be $typed", "script.py").out, how)
    done = kernprof(folder, "-l", "-q", "-c", "print(1 + 1)")
    equal((done.status, done.out), (0, "2\n"), "of a command")
    equal(kernprof(folder, "-l", "none.py").err, "Could not find script 'none.py'\n", "what is said of none")


def test_kernprof_as_it_is_typed(folder):
    write(folder, "script.py", SCRIPT)
    programs = run([SONDE, "compat-path", "--programs"]).out.strip()
    for path in (helpers.PACKAGE_PATH, None):       # with sonde installed, and without
        env = helpers.clean_env(PATH=os.pathsep.join([programs, os.path.dirname(PYTHON), os.environ["PATH"]]), PYTHONPATH=path)
        done = run(["kernprof", "-l", "-v", "script.py"], cwd=folder, env=env)
        equal((done.status, done.err), (0, ""), "status and stderr")
        contains(done.out, "Function: busy at line 3\n")


def test_kernprof_as_it_is_typed_leaves_the_path_alone(folder):
    """Without a script's own folder on it nothing is taken off; and another package of Sonde's name is not it."""
    write(folder, "script.py", "import beside\n" + SCRIPT)
    others = os.path.join(folder, "others")
    os.makedirs(os.path.join(others, "sonde"))
    write(others, "beside.py", "")
    write(os.path.join(others, "sonde"), "__init__.py", "raise ImportError('another')\n")
    programs = run([SONDE, "compat-path", "--programs"]).out.strip()
    for safe in ("1", ""):
        env = helpers.clean_env(PATH=os.pathsep.join([programs, os.path.dirname(PYTHON), os.environ["PATH"]]), PYTHONPATH=others,
                                PYTHONSAFEPATH=safe)
        done = run(["kernprof", "-l", "-v", "script.py"], cwd=folder, env=env)
        equal((done.status, done.err), (0, ""), "status and stderr, PYTHONSAFEPATH=%r" % safe)
        contains(done.out, "Function: busy at line 4\n")


def test_a_configuration_of_kernprof(folder):
    write(folder, "script.py", SCRIPT)
    write(folder, "line_profiler.toml", "[tool.line_profiler.kernprof]\nline-by-line = true\nverbose = 1\noutfile = 'named'\n"
                                        "[tool.line_profiler.show.column_widths]\nline = 9\n")
    done = kernprof(folder, "script.py")
    if sys.version_info < (3, 11) and importlib.util.find_spec("tomli") is None:
        equal(done.status, 1, "status where nothing reads TOML, so that there is no `profile`")
        return
    equal((done.status, done.err), (0, ""), "end")
    contains(done.out, "Wrote profile results to 'named'\n")
    contains(done.out, "\n        3                                           @profile\n")
    done = kernprof(folder, "--no-config", "--line-by-line", "script.py")
    contains(done.out, "Wrote profile results to 'script.py.lprof'\nInspect results with:\n")
    done = kernprof(folder, "--no-line-by-line", "--builtin=yes", "script.py")
    contains(done.out, " function calls in ")
    write(folder, "bad.toml", "[tool.line_profiler]\nshow = 1\n")
    contains(kernprof(folder, "--config", "bad.toml", "script.py").err, "expected a table with these keys")


MAGICS = """
from IPython.core.interactiveshell import InteractiveShell
ip = InteractiveShell.instance()
ip.run_line_magic("load_ext", "sonde.compat.line_profiler")
ip.run_cell("def func():\\n    return 2 ** 20")
prof = ip.run_line_magic("lprun", "-r -u 1e-3 -D x.lprof -f func func()")
print([(key[2], [line[:2] for line in lines]) for key, lines in prof.get_stats().timings.items()])
prof = ip.run_cell_magic("lprun_all", "-r -s", "def g():\\n    return 1\\nx = g()\\n")
print(sorted(key[2] for key in prof.get_stats().timings), ip.user_ns["x"])
ip.run_line_magic("load_ext", "sonde.compat.memory_profiler")
result = ip.run_line_magic("memit", "-o -i 0.001 a = bytearray(b'x') * (80 << 20)")
print(max(result.mem_usage) - result.baseline > 60, str(result).startswith("peak memory: "))
ip.run_cell("import textwrap")
ip.run_line_magic("mprun", "-T mem.txt -f textwrap.dedent textwrap.dedent('  a')")
"""


def test_magics_of_ipython(folder):
    helpers.need(importlib.util.find_spec("IPython"), "there is no IPython")
    done = run([PYTHON, write(folder, "magics.py", MAGICS)], cwd=folder, env=helpers.clean_env(HOME=folder, IPYTHONDIR=folder))
    equal(done.status, 0, "status: " + done.err)
    contains(done.out, "Timer unit: 0.001 s\n")
    contains(done.out, "[('func', [(2, 1)])]\n")
    contains(done.out, "['<module>', 'g'] 1\n")
    contains(done.out, "True True\n")
    contains(done.out, "Line #    Mem usage    Increment  Occurrences   Line Contents\n")
    equal([os.path.exists(os.path.join(folder, name)) for name in ("x.lprof", "mem.txt")], [True, True], "files")


def test_a_profile_that_stays_in_the_program(folder):
    write(folder, "stays.py", "from sonde.compat.line_profiler import profile\n@profile\ndef f():\n    return 3\nprint(f())\n")
    equal(run([PYTHON, "stays.py"], cwd=folder).out, "3\n", "switched off")
    done = run([PYTHON, "stays.py"], cwd=folder, env=helpers.clean_env(LINE_PROFILE="1"))
    equal(done.status, 0, "status: " + done.err)
    contains(done.out, "seconds - ")
    contains(done.out, "Wrote profile results to profile_output.lprof\nTo view details run:\n")
    equal(os.path.exists(os.path.join(folder, "profile_output.txt")), True, "text")


def test_a_server_of_processes_that_runs_the_program_anew_writes_nothing(folder):
    """From 3.14 on that of forkserver imports the program's file; its empty table took the place of the program's."""
    write(folder, "serves.py", """\
import multiprocessing
from sonde.compat.line_profiler import profile
@profile
def f():
    return 3
def work(n):
    return n
if __name__ == "__main__":
    f()
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        print(pool.map(work, [1, 2]))
""")
    done = run([PYTHON, "serves.py"], cwd=folder, env=helpers.clean_env(LINE_PROFILE="1"))
    equal((done.status, done.err, done.out.count("Wrote profile results to profile_output.txt\n")), (0, "", 1), "end")
    with open(os.path.join(folder, "profile_output.txt")) as f:
        contains(f.read(), "return 3")


def test_that_profile_is_counted_by_sonde_lines(folder):
    write(folder, "stays.py", "from sonde.compat.line_profiler import profile\n@profile\ndef f():\n    return 3\nprint(f())\n")
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "stays.py"], cwd=folder)
    equal((done.status, done.err), (0, ""), "end")
    contains(done.out, "3\nTimer unit: 1e-09 s\n\nTotal time: ")
    contains(done.out, "\n     4         1 ")


AS_UNDER_KERNPROF = """
def f(n):
    return n
def g(n):
    return -n
class C:
    def m(self):
        return 3
profile.add_function(f)
profile.add_callable(g)
profile.add_class(C)
with profile:
    f(1), g(2), C().m()
profile.enable_by_count()
f(2)
profile.disable_by_count()
profile.enable(), f(3), profile.disable()
assert profile(len) is len and profile.runcall(g, 1) == -1
profile.print_stats(stripzeros=True)
profile.dump_stats("own.lprof")
print("the end")
"""


def test_profile_of_sonde_lines_has_what_that_of_kernprof_has(folder):
    write(folder, "program.py", AS_UNDER_KERNPROF)
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "program.py"], cwd=folder)
    equal((done.status, done.err), (0, ""), "status and stderr")
    own, shown = done.out.split("the end\n")
    for text in (own, shown):
        for line, hits in (("return n", 3), ("return -n", 2), ("return 3", 1)):
            assert re.search(r"^ +\d+ +%d .* %s$" % (hits, line), text, re.M), text
    equal(sorted(key[2].rpartition(".")[2] for key in line_profiler.load_stats(os.path.join(folder, "own.lprof")).timings), ["f", "g", "m"], "file")


OTHERS = """
class GlobalProfiler:
    enabled = None
    def _kernprof_overwrite(self, profile):
        self._profile, self.enabled = profile, True
    def __call__(self, func):
        return self._profile(func) if self.enabled else func
profile = GlobalProfiler()
"""


def test_the_profile_of_a_line_profiler_that_is_installed(folder):
    """Not Sonde's: its profile asks whether it is told to count, as that of the real package does."""
    os.mkdir(os.path.join(folder, "line_profiler"))
    write(os.path.join(folder, "line_profiler"), "__init__.py", "from .explicit_profiler import profile\n")
    write(os.path.join(folder, "line_profiler"), "explicit_profiler.py", OTHERS)
    write(folder, "program.py", "from line_profiler import profile\n@profile\ndef f():\n    return 1\nf()\n"
          "import sys\nassert not any(type(x).__module__ == 'sonde' for x in sys.meta_path), sys.meta_path\n")
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "program.py"], cwd=folder)
    equal((done.status, done.err), (0, ""), "status and stderr")
    assert re.search(r"^     4         1 .*return 1$", done.out, re.M), done.out
    equal(run([PYTHON, "program.py"], cwd=folder).status, 0, "status without sonde")


def test_the_loader_of_a_line_profiler_is_left_as_it_was(folder):
    """Also where its profile cannot be told: the import goes on."""
    os.mkdir(os.path.join(folder, "line_profiler"))
    write(os.path.join(folder, "line_profiler"), "__init__.py", "from .explicit_profiler import profile\n")
    write(os.path.join(folder, "line_profiler"), "explicit_profiler.py",
          OTHERS.replace("self._profile, self.enabled = profile, True", "raise ValueError('not now')"))
    write(folder, "program.py", "from line_profiler import explicit_profiler\n"
          "print(explicit_profiler.profile.enabled, 'exec_module' in vars(explicit_profiler.__loader__))\n@profile\ndef f():\n    return 1\nf()\n")
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "program.py"], cwd=folder)
    equal((done.status, done.err, done.out.splitlines()[0]), (0, "", "None False"), "what the program found")


ASKED_BY_IMPORTS = """\
import importlib, importlib.metadata, sys
@profile
def f():
    return 1
f()
importlib.invalidate_caches()
list(importlib.metadata.distributions())
try:
    importlib.metadata.version("no-such-one")
except importlib.metadata.PackageNotFoundError:
    print("sonde._lines" in sys.modules, profile in sys.meta_path)
"""


def test_the_import_system_finds_no_profile_among_its_finders(folder):
    """It asks each of them for names that finders may have: that is no reason to import anything."""
    write(folder, "program.py", ASKED_BY_IMPORTS)
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "program.py"], cwd=folder)
    equal((done.status, done.err, done.out.splitlines()[0]), (0, "", "False False"), "what the program found")
    assert re.search(r"^     4         1 .*return 1$", done.out, re.M), done.out


def test_a_program_with_another_package_of_this_name(folder):
    os.mkdir(os.path.join(folder, "sonde"))
    write(os.path.join(folder, "sonde"), "__init__.py", "mine = True\n")
    write(folder, "program.py", ASKED_BY_IMPORTS + "import sonde\nprint(sonde.mine, hasattr(profile, 'print_stats'))\n")
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "program.py"], cwd=folder)
    equal((done.status, done.err, done.out.splitlines()[:2]), (0, "", ["False False", "True False"]), "what the program found")
    assert re.search(r"^     4         1 .*return 1$", done.out, re.M), done.out


def test_profile_of_sonde_lines_takes_what_that_of_kernprof_takes(folder):
    write(folder, "program.py", """\
import gc
def f():
    return 1
profile(func=f)()
try:
    profile(f, foo=1)
except TypeError:
    print("refused")
gc.disable()
print(profile.timer_unit, profile.timer_unit)
from sonde._line_profiler import LineProfiler
print(len(LineProfiler.__subclasses__()))
""")
    done = run([SONDE, "lines", "-q", "--python", PYTHON, "program.py"], cwd=folder)
    equal((done.status, done.err, done.out.splitlines()[:3]), (0, "", ["refused", "1e-09 1e-09", "1"]), "what the program found")
    assert re.search(r"^     3         1 .*return 1$", done.out, re.M), done.out


def test_sonde_profile(folder):
    write(folder, "own.py", "from sonde import profile\n@profile\ndef f():\n    return 3\nprint(f(), f.__code__.co_name)\n")
    equal(run([PYTHON, "own.py"], cwd=folder).out, "3 f\n", "switched off")
    done = run([PYTHON, "own.py"], cwd=folder, env=helpers.clean_env(SONDE_LINES="1"))
    equal((done.status, done.err), (0, ""), "end")
    contains(done.out, "3 f\nTimer unit: 1e-06 s\n\nTotal time: ")
    contains(done.out, "\n     4         1 ")
    write(folder, "forks.py", "import os, sys\nfrom sonde import profile\n@profile\ndef f():\n    return 3\nf()\n"
                              "pid = os.fork()\nif pid == 0:\n    sys.exit(0)\nos.waitpid(pid, 0)\n")
    done = run([PYTHON, "forks.py"], cwd=folder, env=helpers.clean_env(SONDE_LINES="1"))
    equal((done.status, done.out.count("Timer unit")), (0, 1), "status and tables of a program that forks (%s)" % done.err)


KINDS = """import functools
from sonde import profile
def around(f):
    @functools.wraps(f)
    def wrapper():
        return f()
    return wrapper

@profile
@functools.lru_cache(None)
def cached():
    return 1

@profile
@around
def wrapped():
    return 2

@profile
class Kinds:
    def method(self):
        return 3

print(cached(), wrapped(), Kinds().method())
"""


def test_sonde_profile_chooses_the_same_with_and_without_sonde_lines(folder):
    path = write(folder, "kinds.py", KINDS)
    alone = run([PYTHON, path], cwd=folder, env=helpers.clean_env(SONDE_LINES="1"))
    under = run([SONDE, "lines", "-q", "--python", PYTHON, path], cwd=folder)
    chosen = [sorted(re.findall(r"^Function: (\S+) at line", done.out, re.M)) for done in (alone, under)]
    equal((alone.status, alone.err), (0, ""), "end")
    equal(sorted(name.rpartition(".")[2] for name in chosen[0]), ["cached", "method", "wrapped", "wrapper"], "functions")
    equal(chosen[0], chosen[1], "functions with SONDE_LINES=1 and under sonde lines")


def test_a_decorator_that_was_left_in_a_program_does_not_end_it(folder):
    if not hasattr(sys, "monitoring"):
        raise helpers.Skip("Python before 3.12 has no sys.monitoring, whose ids may be taken")
    for switch, name in (("SONDE_LINES", "sonde"), ("LINE_PROFILE", "sonde.compat.line_profiler")):
        write(folder, "taken.py", "import sys\nfor i in range(6):\n    sys.monitoring.get_tool(i) or sys.monitoring.use_tool_id(i, 'x')\n"
                                  "from %s import profile\n@profile\ndef f():\n    return 1\n@profile\ndef g():\n    return 2\n"
                                  "print(f(), g())\n" % name)
        done = run([PYTHON, "taken.py"], cwd=folder, env=helpers.clean_env(**{switch: "1"}))
        equal((done.status, done.out), (0, "1 2\n"), "end of a program with %s (%s)" % (switch, done.err))
        contains(done.err, "taken.py:5: RuntimeWarning: no lines are counted: other tools use both sys.monitoring tool ids")
        equal(done.err.count("no lines are counted"), 1, "warnings")


INTERRUPTED = """import linecache, sys
from sonde import LineProfiler
def f():
    return 1
lp = LineProfiler(f)
lp.runcall(f)
def getlines(file):
    raise %s
linecache.getlines = getlines
try:
    lp.print_stats()
    print("printed")
except BaseException as e:
    print("stopped by", type(e).__name__)
"""


def test_an_interrupt_while_source_is_looked_for_is_the_programs(folder):
    for raised, said in (("KeyboardInterrupt", "stopped by KeyboardInterrupt"), ("SystemExit", "stopped by SystemExit"),
                         ("ValueError", "return 1\n\nprinted")):
        write(folder, "interrupted.py", INTERRUPTED % raised)
        done = run([PYTHON, "interrupted.py"], cwd=folder)
        equal((done.status, done.err), (0, ""), "end")
        contains(done.out, said + "\n", "after a " + raised)


def test_a_file_is_asked_for_once_whatever_functions_it_has(folder):
    asked = []

    def source(file):
        asked.append(file)
        return "def f():\n    return 1\n" * 50

    timings = {("%s.py" % name, 2 * i + 1, "f"): [(2 * i + 2, 1, i)] for i in range(50) for name in "ab"}
    for is_sorted in (False, True):
        text = _sonde.line_text(timings, 1e-9, None, False, True, False, is_sorted, source, (0,) * 5)
        equal(text.count("    return 1\n"), 100, "functions with their source")
        equal(sorted(asked), ["a.py", "b.py"], "files that were asked for, sorted: %s" % is_sorted)
        del asked[:]


# A pipe as the source: who reads it waits for another thread to write.  The alarm is the kernel's, in case that one never runs.
WAITS = """import os, signal, threading
from sonde import _sonde
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.alarm(60)
os.mkfifo("pipe.py")
path, made = os.path.abspath("pipe.py"), []
for make in (lambda: _sonde.line_text({(path, 1, "f"): [(2, 1, 5)]}, 1e-9, None, False, True, False, False, lambda file: None, (0,) * 5),
             lambda: _sonde.memory_text([(path, 1, "f", {2: (1.0, 2.0, 1)})], 1)):
    reader = threading.Thread(target=lambda: made.append(make()))
    reader.start()
    with open(path, "w") as f:
        f.write("def f():\\n    return 1\\n")
    reader.join()
print(["    return 1\\n" in text for text in made])
"""


def test_other_threads_run_while_source_is_read(folder):
    done = run([PYTHON, "-c", WAITS], cwd=folder)
    equal((done.status, done.out, done.err), (0, "[True, True]\n", ""), "end")


helpers.run_tests(globals())
