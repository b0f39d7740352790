# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.memory_usage and sonde.compat.memory_profiler: the names of memory_profiler, its texts, and right numbers."""
import asyncio
import io
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import PYTHON, contains, equal, run, write  # noqa: E402

sys.path.insert(0, helpers.PACKAGE_PATH)
import sonde  # noqa: E402
from sonde.compat import memory_profiler  # noqa: E402

MIB = 2 ** 20
ROW = re.compile(r"^ *(\d+) +(-?[\d.]+) MiB +(-?[\d.]+) MiB +(\d+)   (.*)$", re.M)


def near(value, wanted, by, what):
    if abs(value - wanted) > by:
        raise AssertionError("%s: %s, not %s" % (what, value, wanted))


def grow(n):
    kept = []
    for i in range(n):
        kept.append(bytearray(b"x") * MIB)
    big = bytearray(b"x") * (64 * MIB)
    del big
    return len(kept)


def rows(text):
    return {m.group(5).strip(): (float(m.group(2)), float(m.group(3)), int(m.group(4))) for m in ROW.finditer(text)}


# ---- lines


def test_the_text_and_the_numbers(folder):
    out = io.StringIO()
    equal(memory_profiler.profile(grow, stream=out, precision=3)(20), 20, "result")
    text = out.getvalue()
    contains(text, "Filename: %s\n\nLine #    Mem usage    Increment  Occurrences   Line Contents\n%s\n" % (
        grow.__code__.co_filename, "=" * 61))
    got = rows(text)
    append = got['kept.append(bytearray(b"x") * MIB)']
    near(append[1], 20, 2, "twenty times one MiB")
    equal(append[2], 20, "occurrences")
    big, gone = got['big = bytearray(b"x") * (64 * MIB)'], got["del big"]
    near(big[1], 64, 2, "what was taken")
    near(gone[1], -64, 2, "what was given back")
    first = got["def grow(n):"]
    near(first[0] + sum(row[1] for row in got.values()) - first[1], got["return len(kept)"][0], 1, "all increments together")


def test_methods_coroutines_and_with(folder):
    prof = memory_profiler.LineProfiler()

    async def waits(n):
        await asyncio.sleep(0)
        return n

    equal(asyncio.new_event_loop().run_until_complete(prof(waits)(3)), 3, "a coroutine")
    measured = prof.code_map[waits.__code__]
    equal(measured[waits.__code__.co_firstlineno + 2][2], 1, "occurrences")
    prof.add_function(grow)
    with prof:
        grow(1)
    equal(len(prof.code_map[grow.__code__]) >= 6, True, "lines")
    equal(prof.enable_count, 0, "enabled")


def test_other_backends(folder):
    for backend, most in (("psutil_uss", 12), ("tracemalloc", 2)):
        out = io.StringIO()
        memory_profiler.profile(stream=out, backend=backend)(grow)(3)
        # What a process has to itself may grow without it, too: when another that shared the pages of its libraries ends.
        near(rows(out.getvalue())['big = bytearray(b"x") * (64 * MIB)'][1], 64, most, "with " + backend)
    import tracemalloc

    tracemalloc.stop()
    try:
        memory_profiler.memory_usage(backend="tracemalloc")
    except RuntimeError as e:
        contains(str(e), "tracemalloc")
    else:
        raise AssertionError("memory_usage() has no file to look at")


def test_tracemalloc_counts_no_tuples_that_python_keeps_for_reuse(folder):
    """In a file of its own: texts that this one keeps and frees would be memory of the file."""
    import importlib.util
    import tracemalloc

    spec = importlib.util.spec_from_file_location("fills", write(folder, "fills.py", "def fill(n):\n    a = bytearray(n)\n    del a\n"))
    fills = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fills)
    found = []
    for _ in range(60):
        out = io.StringIO()
        memory_profiler.profile(stream=out, backend="tracemalloc", precision=6)(fills.fill)(1000)
        found.append(rows(out.getvalue())["a = bytearray(n)"][1])
    tracemalloc.stop()
    equal(set(found), {found[0]}, "MiB of one line in 60 calls")
    near(found[0], 1000 / MIB, 104 / MIB, "of 1,000 bytes and what the object has besides")


# ---- over time


BACKENDS = """@profile
def gen():
    yield 1
    yield 2
@profile
def a():
    x = bytearray(b'x') * (50 << 20)
@profile
def b():
    y = 1
    return [i for i in range(9)]
list(gen()); a(); b()
"""


def test_backends_agree_in_what_they_count(folder):
    path, found = write(folder, "program.py", BACKENDS), []
    for backend in ("psutil", "psutil_uss"):
        done = run([PYTHON, "-m", "sonde.compat.memory_profiler", "--backend", backend, path], cwd=folder)
        equal((done.status, done.err), (0, ""), "status and stderr")
        rows = re.findall(r"^ +(\d+) +([\d.]+) MiB +(-?[\d.]+) MiB +(\d+)", done.out, re.M)
        found.append([(int(line), int(times), memory == increment) for line, memory, increment, times in rows])
    equal(found[1], found[0], "lines, occurrences, and where the increment is what was there")


def test_memory_usage_of_a_process_that_is_not_there(folder):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for pid in (gone.pid, 2 ** 22 + 1, -5):
        try:
            sonde.memory_usage(pid)
        except ProcessLookupError as why:
            contains(str(why), str(pid))
        else:
            raise AssertionError("there is no process %d" % pid)


def test_memory_usage_of_a_call(folder):
    done = threading.Event()

    def hold(n):
        held = bytearray(b"x") * (n * MIB)
        done.wait(0.2)
        return len(held)

    for module in (sonde, memory_profiler):
        before = module.memory_usage()[0]
        most, result = module.memory_usage((hold, (64,)), interval=0.001, max_usage=True, retval=True)
        equal(result, 64 * MIB, "result")
        near(most - before, 64, 16, "the most")
        readings = module.memory_usage((hold, (1,), {}), interval=0.001, timestamps=True)
        equal(len(readings) > 4 and readings == sorted(readings, key=lambda r: r[1]), True, "readings")
    calls = []
    sonde.memory_usage((calls.append, (1,)), interval=10)
    equal(calls, [1], "a call is made once")
    del calls[:]
    memory_profiler.memory_usage((calls.append, (1,)), interval=10, max_iterations=3)
    equal(1 <= len(calls) <= 3, True, "where the original calls again")
    try:
        sonde.memory_usage(lambda: 1 / 0)
    except ZeroDivisionError:
        return
    raise AssertionError("the function's own exception is lost")


def test_memory_usage_of_processes(folder):
    child = subprocess.Popen([PYTHON, "-c", "b = bytearray(b'x') * (50 << 20); print(1, flush=True); input()"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    child.stdout.read(1)
    own = sonde.memory_usage()[0]
    equal(sonde.memory_usage(child.pid)[0] > 50, True, "memory of the child")
    equal(sonde.memory_usage(-1, include_children=True)[0] - own > 45, True, "with children")
    nested = sonde.memory_usage(-1, multiprocess=True)[0]
    equal(len(nested) == 2 and nested[1] > 50, True, "each child for itself")
    stream = io.StringIO()
    equal(sonde.memory_usage(child.pid, interval=0.001, timeout=0.003, stream=stream), None, "with a stream")
    equal(len(re.findall(r"^MEM \d+\.\d{6} \d+\.\d{4}$", stream.getvalue(), re.M)), 3, "lines of the stream")
    child.communicate(b"\n")


def test_time_stamps(folder):
    stamps = memory_profiler.TimeStamper("psutil")
    equal(stamps(grow)(2), 2, "result")
    with stamps.timestamp("block"):
        stamps(grow)(1)
    out = io.StringIO()
    stamps.show_results(out)
    lines = out.getvalue().splitlines()
    equal([re.sub(r"-?\d+\.\d{4}", "N", line) for line in lines],
          ["FUNC %s.grow N N N N 0" % __name__, "FUNC %s.grow N N N N 1" % __name__, "FUNC .block N N N N 0"], "stamps")


def test_time_stamps_of_what_still_runs(folder):
    stamps, inside, ends = memory_profiler.TimeStamper("psutil"), threading.Event(), threading.Event()

    def waits():
        inside.set()
        ends.wait()

    thread = threading.Thread(target=stamps(waits))
    thread.start()
    inside.wait()
    out = io.StringIO()
    try:
        stamps.show_results(out)
    finally:
        ends.set()
        thread.join()
    assert re.match(r"FUNC %s.waits \d+\.\d{4} (\d+\.\d{4}) \d+\.\d{4} (\d+\.\d{4}) 0\n$" % __name__, out.getvalue()), out.getvalue()
    out = io.StringIO()
    stamps.show_results(out)
    equal(out.getvalue().count("FUNC"), 1, "stamps at the end")


COMMA = """
import io, locale, logging, sys
from sonde.compat import memory_profiler

locale.setlocale(locale.LC_NUMERIC, "comma")
logging.basicConfig(level=20, stream=sys.stdout, format="%(message)s")

@memory_profiler.profile(stream=memory_profiler.LogFile("x", reportIncrementFlag=True))
def f():
    return bytearray(b"x") * (64 << 20)

f()
print(locale.localeconv()["decimal_point"])
"""


def test_the_programs_locale_stays_out_of_numbers(folder):
    import struct

    place = os.path.join(folder, "locales", "comma")
    os.makedirs(place)
    with open(os.path.join(place, "LC_NUMERIC"), "wb") as f:  # what localedef makes of de_DE: glibc's number, 6 values, where they are
        f.write(struct.pack("<8I", 0x20031114, 6, 32, 34, 36, 40, 44, 48) + b",\0.\0\3\3\0\0" + struct.pack("<2I", 44, 46) + b"UTF-8\0")
    path = write(folder, "comma.py", COMMA)
    done = run([PYTHON, path], cwd=folder, env=helpers.clean_env(LOCPATH=os.path.join(folder, "locales"), PYTHONPATH=helpers.PACKAGE_PATH))
    if "unsupported locale setting" in done.err:
        raise helpers.Skip("this C library takes no locale from LOCPATH")
    equal((done.status, done.err), (0, ""), "end")
    contains(done.out, "MiB")
    assert re.search(r" 64\.\d MiB +1 +return bytearray", done.out) and done.out.endswith("\n,\n"), done.out


NAMED = '''\
import io, sys
from sonde.compat import memory_profiler

def \u00e9():
    return 1

prof, out = memory_profiler.LineProfiler(), io.StringIO()
prof(\u00e9)()
memory_profiler.show_results(prof, out)
print(sys.getfilesystemencoding(), ascii(out.getvalue()))
'''


def test_names_are_text_in_any_locale(folder):
    path = os.path.join(folder, "named.py")
    with io.open(path, "w", encoding="utf-8") as f:
        f.write(NAMED)
    env = helpers.clean_env(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONPATH=helpers.PACKAGE_PATH)
    done = run([PYTHON, path], cwd=folder, env=env)
    equal((done.status, done.err), (0, ""), "end")
    contains(done.out, "ascii ")
    contains(done.out, "def \\xe9():")


# ---- the command


SCRIPT = "@profile\ndef f():\n    a = [1] * 10 ** 6\n    b = [2] * (2 * 10 ** 7)\n    del b\n    return a\nf()\n"


def command(folder, *words, **more):
    return run([PYTHON, "-m", "sonde.compat.memory_profiler"] + list(words), cwd=folder,
               **more)


def test_the_command(folder):
    write(folder, "script.py", SCRIPT)
    done = command(folder, "script.py")
    equal((done.status, done.err), (0, ""), "end")
    got = rows(done.out)
    near(got["b = [2] * (2 * 10 ** 7)"][1], 152.6, 8, "what was taken")
    contains(done.out, "Filename: script.py\n\nLine # ")
    equal(command(folder, "--precision", "1", "-o", "out.txt", "script.py").out, "", "with -o")
    with open(os.path.join(folder, "out.txt")) as f:
        contains(f.read(), "    b = [2] * (2 * 10 ** 7)\n")
    contains(command(folder, "--timestamp", "script.py").out, "FUNC __main__.f ")
    near(rows(command(folder, "--include-children", "script.py").out)["b = [2] * (2 * 10 ** 7)"][1], 152.6, 8, "with children")
    equal(command(folder).status, 1, "without a program")


LINES = [helpers.SONDE, "lines", "--memory", "-q", "-o", "x.sonde", "--force", "--python", PYTHON]
INSTALLED = """
def profile(func=None, stream=None, precision=1, backend="psutil"):
    raise SystemExit("this one counts by itself")
"""
CHOSEN = """
@profile
def f():
    a = [1] * (10 ** 6)
    return a
@profile(precision=4)
def g():
    return f()
g()
import sys
print([type(x).__name__ for x in sys.meta_path if type(x).__module__ == 'sonde'])
"""


def test_the_profile_of_a_memory_profiler_that_is_installed_is_counted_by_sonde_lines(folder):
    """Not Sonde's: it would trace by itself.  The name of the file is the one that was typed, as memory_profiler shows it."""
    write(folder, "memory_profiler.py", INSTALLED)
    os.mkdir(os.path.join(folder, "below"))
    for head in ("from memory_profiler import profile", "import memory_profiler\nprofile = memory_profiler.profile"):
        write(folder, "program.py", head + CHOSEN)
        for typed in ("program.py", "./program.py", os.path.join(folder, "program.py"), "below/../program.py"):
            done = run(LINES + [typed], cwd=folder)
            equal((done.status, done.err), (0, ""), "end")
            contains(done.out, "['ProfileFinder']\n")    # that of line_profiler, which nobody asked for
            equal(done.out.count("Filename: %s\n\nLine #" % typed), 2, "tables of " + typed)
            contains(done.out, "           1       return f()\n")
    done = run([w for w in LINES if w != "--memory"] + ["program.py"], cwd=folder)
    equal((done.status, "this one counts by itself" in done.err), (1, True), "without --memory it is left alone")


def test_the_profile_of_ours_is_counted_by_sonde_lines(folder):
    write(folder, "program.py", "from sonde.compat.memory_profiler import profile" + CHOSEN)
    done = run(LINES + ["program.py"], cwd=folder)
    equal((done.status, done.err), (0, ""), "end")
    equal(done.out.count("Filename: program.py\n\nLine #"), 2, "tables")
    contains(done.out, "           1       return f()\n")


def test_the_debugger_stops_at_the_line(folder):
    write(folder, "script.py", SCRIPT)
    write(folder, "typed", "p 'seen', len(a)\nc\n")
    with open(os.path.join(folder, "typed")) as typed:
        done = command(folder, "--pdb-mmem=100", "script.py", stdin=typed)
    contains(done.out, "exceeded the maximum of 100.00 MiB\n")
    contains(done.out, "script.py(5)f()\n-> del b\n")
    contains(done.out, "('seen', 1000000)")


helpers.run_tests(globals())
