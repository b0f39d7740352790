# SPDX-License-Identifier: MIT
"""Files of line_profiler: `sonde report` prints them as line_profiler does, byte for byte; what Sonde writes, line_profiler reads;
nothing in them is ever run."""
import contextlib
import io
import json
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import SONDE, contains, equal, need, run  # noqa: E402

SOURCE = '''\
import functools
@functools.lru_cache(
    maxsize=None)
def fib(n):
    """Two
lines at the margin."""
    # a comment

    if n < 2: return n
    return (fib(n - 1) +
fib(n - 2))
    # of fib
# of nobody
class Caf\u00e9:
\tdef \u00e4(self):
\t\treturn f"{self:'>3}" 'it\\'s' # \u4f60
\tone = lambda self: [
\t\t1]
def last(): pass
'''
KEYS = {("fib", 2): range(9, 12), ("Caf\u00e9.\u00e4", 15): [16], ("<lambda>", 17): [17, 18], ("last", 19): [19], ("never", 19): []}


class LineStats:
    """Stands for line_profiler's, where that is not installed: its pickle is the same but for the module."""


def timings(path, scale=1):
    return {(path, first, name): [(line, line % 3 + 1, line * 10 ** (line % 5 * 2) * scale) for line in lines]
            for (name, first), lines in KEYS.items()}


def write(folder, name, of, unit=1e-9, protocol=pickle.HIGHEST_PROTOCOL):
    stats = LineStats()
    stats.__dict__.update(timings=of, unit=unit)
    path = os.path.join(folder, name)
    LineStats.__module__ = "line_profiler.line_profiler"
    with contextlib.ExitStack() as undo:
        module = type(sys)("line_profiler.line_profiler")
        module.LineStats = LineStats
        had = {name: sys.modules.get(name) for name in ("line_profiler", "line_profiler.line_profiler")}
        undo.callback(lambda: [sys.modules.pop(name) if m is None else sys.modules.update({name: m}) for name, m in had.items()])
        sys.modules.update({"line_profiler": type(sys)("line_profiler"), "line_profiler.line_profiler": module})
        with open(path, "wb") as f:
            pickle.dump(stats, f, protocol)
    return path


def source(folder, text=SOURCE, name="m.py", encoding="utf-8"):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(text.encode(encoding))
    return path


def report(*words):
    done = run([SONDE, "report"] + list(words))
    equal(done.status, 0, "status of %s (%s)" % (words, done.err))
    return done.out


def theirs():
    try:
        import line_profiler.line_profiler as module
    except ImportError:
        need(False, "no line_profiler; CI=true make test installs it")
    return module


def printed(module, files, **how):
    stream = io.StringIO()
    stats = module.load_stats(*files)
    module.show_text(stats.timings, stats.unit, stream=stream, **how)
    return stream.getvalue()


# ---- with line_profiler itself


def test_text_is_line_profilers(folder):
    module = theirs()
    m = source(folder)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        path = write(folder, "p%d.lprof" % protocol, timings(m), protocol=protocol)
        equal(report(path), printed(module, [path], output_unit=1e-6), "text of protocol %d" % protocol)
    equal(report(path, "-u", "1e-3", "--skip-zero", "--summarize", "-s", "-time"),
          printed(module, [path], output_unit=1e-3, stripzeros=True, summarize=True, sort=True), "text with options")
    other = write(folder, "other.lprof", timings(m, 7), unit=1e-7)
    equal(report(path, other), printed(module, [path, other], output_unit=1e-6), "two files added up")
    gone = write(folder, "gone.lprof", timings(os.path.join(folder, "gone.py")))
    equal(report(gone), printed(module, [gone], output_unit=1e-6), "text without the source")


def test_text_is_that_of_its_command(folder):
    theirs()
    path = write(folder, "x.lprof", timings(source(folder)))
    done = run([sys.executable, "-m", "line_profiler", path])
    equal((done.status, done.out), (0, report(path)), "python -m line_profiler")


def test_line_profiler_reads_what_we_write(folder):
    module = theirs()
    of = timings(source(folder))
    of["caf\u00e9.py", 70000, "x" * 300] = [(70001, 2 ** 40, 2 ** 45), (70002, 1, 0)]
    path, target = write(folder, "x.lprof", of), os.path.join(folder, "ours.lprof")
    equal(run([SONDE, "convert", path, target]).status, 0, "status")
    stats = module.load_stats(target)
    equal(stats.timings, of, "timings")
    equal(stats.unit, 1e-9, "unit")
    equal(run([sys.executable, "-m", "line_profiler", target]).out, report(path), "its text of our file")


# ---- without


def test_data_of_a_file(folder):
    m = source(folder)
    path = write(folder, "x.lprof", timings(m))
    functions = json.loads(report(path, "--json"))["functions"]
    equal([(f["function"], f["first_line"], len(f["lines"])) for f in functions],
          [(name, first, len(lines)) for (name, first), lines in KEYS.items()], "functions")
    equal(functions[0]["lines"][0], {"line": 9, "hits": 1, "time_ns": 9 * 10 ** 8}, "a line")
    equal(len(json.loads(report(path, "--json", "--skip-zero"))["functions"]), 4, "functions that ran")
    rows = report(path, "--csv").split("\r\n")
    equal(rows[0], "file,first_line,function,line,hits,time_ns", "heading")
    equal(rows[1], "%s,2,fib,9,1,900000000" % m, "a row")


def test_source_of_any_kind(folder):
    latin = source(folder, "# -*- coding: latin-1 -*-\r\ndef f():\r\n    return '\u00e9'\r\n", "latin.py", "latin-1")
    binary = source(folder, "def f():\n    return '\u00e9\x1b'\n", "binary.py", "latin-1")
    short = source(folder, "pass\n", "short.py")
    path = write(folder, "x.lprof", {(latin, 2, "f"): [(3, 1, 5)], (binary, 1, "f"): [(2, 1, 5)], (short, 9, "f"): [(10, 7, 5)]})
    text = report(path)
    contains(text, "    return '\u00e9'\n")
    contains(text, "    return '\\xe9\\x1b'\n")
    contains(text, "\n    10         7          0.0      0.0    100.0  \n")


class Evil:
    def __reduce__(self):
        return os.system, ("touch run",)


def test_nothing_in_a_file_is_run(folder):
    path = os.path.join(folder, "evil.lprof")
    with open(path, "wb") as f:
        pickle.dump({"LineStats": Evil()}, f)
    done = run([SONDE, "report", path], cwd=folder)
    equal(done.status, 1, "status")
    contains(done.err, "holds no LineStats")
    equal(os.path.exists(os.path.join(folder, "run")), False, "was it run?")


def test_what_it_cannot_become_is_said(folder):
    path = write(folder, "x.lprof", timings(source(folder)))
    for words, why in ((["convert", path, os.path.join(folder, "x.svg")], "cannot be written as"),
                       (["report", path, "--callers"], "--callers needs a capture"),
                       (["report", path, "-s", "hits"], "sorted by time"),
                       (["report", path, "-u", "ms"], "takes a number of seconds"),
                       (["report", path, path + ".none"], "is not; report them separately")):
        done = run([SONDE] + words)
        equal(done.status, 2, "status of %s" % words)
        contains(done.err, why)


helpers.run_tests(globals())
