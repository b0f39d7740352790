# SPDX-License-Identifier: MIT
# interpreters: all
"""Files of pstats: what CPython's own pstats prints of them, `sonde report` prints, byte for byte; what
Sonde writes, CPython and the programs around it read."""
import contextlib
import io
import json
import marshal
import os
import pstats
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import SONDE, contains, equal, need, run  # noqa: E402

sys.path.insert(0, helpers.PACKAGE_PATH)

PROGRAM = """
import json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
class Caf\u00e9:
    def \u00e4(self): return [len(str(i)) for i in range(50)]
def numbers(n):
    for i in range(n):
        yield i
fib(12); even(30); Caf\u00e9().\u00e4(); sum(numbers(40)); sorted(range(20), key=lambda i: -i)
json.dumps({"a": [1, 2, 3]}); re.compile("a|b(c*)[d-f]")
"""

# Each is what follows `sonde report FILE` and the same said to pstats.
VIEWS = [
    ([], lambda s: s.print_stats()),
    (["-s", "-1"], lambda s: s.sort_stats(-1).print_stats()),
    (["-s", "0", "-n", "7"], lambda s: s.sort_stats(0).print_stats(7)),
    (["-s", "1"], lambda s: s.sort_stats(1).print_stats()),
    (["-s", "2", "-n", "0.1"], lambda s: s.sort_stats(2).print_stats(.1)),
    (["-s", "time,name"], lambda s: s.sort_stats("time", "name").print_stats()),
    (["-s", "calls", "-s", "nfl"], lambda s: s.sort_stats("calls", "nfl").print_stats()),
    (["-s", "cu", "--reverse", "-n", "5"], lambda s: s.sort_stats("cu").reverse_order().print_stats(5)),
    (["-s", "pcalls,filename,line"], lambda s: s.sort_stats("pcalls", "filename", "line").print_stats()),
    (["-s", "stdname", "--strip-dirs"], lambda s: s.strip_dirs().sort_stats("stdname").print_stats()),
    (["--match", "fib", "-n", "1"], lambda s: s.print_stats("fib", 1)),
    (["-n", "0.5", "--match", r"(?i)CAF|\d+\(<|é"], lambda s: s.print_stats(.5, r"(?i)CAF|\d+\(<|é")),
    (["--match", "it's"], lambda s: s.print_stats("it's")),
    (["--match", r"^(?!.*json).*\bre\b"], lambda s: s.print_stats(r"^(?!.*json).*\bre\b")),
    (["-s", "cumulative", "--callers"], lambda s: s.sort_stats("cumulative").print_callers()),
    (["-s", "name", "--callees"], lambda s: s.sort_stats("name").print_callees()),
    (["--callers", "fib"], lambda s: s.print_callers("fib")),
    (["-s", "tottime", "--callees=built-in", "-n", "3"], lambda s: s.sort_stats("tottime").print_callees("built-in", 3)),
    (["-n", "3", "--callees=built-in"], lambda s: s.print_callees(3, "built-in")),
    (["--callers=zzz"], lambda s: s.print_callers("zzz")),
]


def theirs(files, view):
    stream = io.StringIO()
    view(pstats.Stats(*files, stream=stream))
    return stream.getvalue()


def ours(files, words):
    done = run([SONDE, "report"] + files + words)
    equal(done.status, 0, "status of %s (%s)" % (words, done.err))
    return done.out


def compare(files, views=VIEWS):
    for words, view in views:
        got, wanted = ours(files, words), theirs(files, view)
        for a, b in zip(got.splitlines(), wanted.splitlines()):
            equal(a, b, "a line of %s %s" % (files, words))
        equal(got, wanted, "text of %s %s" % (files, words))


def profiled(folder, module="cProfile", name="restats", as_script=False):
    """A file that this interpreter's own profiler wrote, of PROGRAM as a module, or run as a script."""
    program = helpers.write(folder, "program.py", PROGRAM)
    path = os.path.join(folder, name)
    code = "import %s; %s.run('import program', %r)" % (module, module, path)
    how = ["-m", module, "-o", path, program] if as_script else ["-c", code]
    done = run([sys.executable, "-B"] + how, cwd=folder)
    equal(done.status, 0, "status of %s (%s)" % (module, done.err))
    return path


def dumped(folder, stats, name="made", version=marshal.version):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(marshal.dumps(stats, version))
    return path


def random_stats(seed, n=60):
    """Any numbers, hard ones for rounding too; recursion, twins in two folders, callers that are nowhere listed."""
    r = random.Random(seed)

    def seconds():
        return r.choice([0.0, 0, 0.0005, 0.0015, 1.0005, 2.5, 1e-9, 12345678.9995, 1e15, r.random(), r.randrange(10**7) / 1e6])
    keys = [(r.choice(["/a/x.py", "/b/x.py", "/é/ü.py", "<string>", "C:\\x.py"]), r.randrange(300), r.choice("fgh") * r.randrange(1, 30))
            for _ in range(n)] + [("~", 0, "<built-in method builtins.len>"), ("~", 0, "<method 'x' of 'y' objects>"), ("~", 0, "odd")]
    stats = {}
    for key in keys[5:]:
        calls = r.choice([0, 1, 2, 50, 10**6, 2**31, 2**40])
        callers = {}
        for _ in range(r.randrange(4)):
            n_calls = r.randrange(1, 10**5)
            callers[r.choice(keys)] = (n_calls, r.choice([n_calls, 1]), seconds(), seconds())
        stats[key] = (r.choice([calls, calls // 2]), calls, seconds(), seconds(), callers)
    return stats


# ---- byte for byte


def test_tables_of_cprofile_are_those_of_pstats(folder):
    compare([profiled(folder)])


def test_tables_of_profile_are_those_of_pstats(folder):
    compare([profiled(folder, "profile")])


def test_scripts_run_by_profile_are_named_after_their_code(folder):
    """profile.py writes the script's code object for a name; pstats shows its address, which says nothing."""
    path = profiled(folder, "profile", as_script=True)
    text = re.sub(r" at 0x[0-9a-fA-F]+, file", ", file", theirs([path], lambda s: s.print_stats()))
    contains(text, "(<code object <module>, file ")
    equal(ours([path], []), text, "text")


def test_tables_of_hard_numbers_are_those_of_pstats(folder):
    for seed in range(3):
        compare([dumped(folder, random_stats(seed))], [v for v in VIEWS if "--strip-dirs" not in v[0]])


def test_every_version_of_marshal_reads_the_same(folder):
    stats = random_stats(7)
    texts = {ours([dumped(folder, stats, "one", v)], []).split("\n", 1)[1] for v in range(marshal.version + 1)}
    equal(len(texts), 1, "different tables")


def test_files_add_up_as_pstats_adds_them(folder):
    files = [profiled(folder)] + [dumped(folder, random_stats(i), "made%d" % i) for i in range(3)]
    compare(files, [v for v in VIEWS if "--strip-dirs" not in v[0]][::4])


def test_shared_objects_are_read(folder):
    callers = {("a", 1, "a"): (1, 1, 0.5, 0.5)}
    entry = (1, 1, 0.5, 0.5, callers)
    stats = {("a", 1, "a"): entry, ("b", 2, "b"): entry, ("c", 3, "c"): (1, 1, 0.0, 0.0, callers)}
    compare([dumped(folder, stats)], VIEWS[:2] + VIEWS[14:16])


# ---- where Sonde is right


def test_strip_dirs_loses_no_caller(folder):
    stats = {("~", 0, "<len>"): (10, 10, 0.1, 0.1, {("/a/x.py", 1, "f"): (4, 4, 0.04, 0.04), ("/b/x.py", 1, "f"): (6, 6, 0.06, 0.06)}),
             ("/a/x.py", 1, "f"): (1, 1, 0.0, 1.0, {}), ("/b/x.py", 1, "f"): (2, 2, 0.0, 2.0, {})}
    text = ours([dumped(folder, stats)], ["--strip-dirs", "--callers=len"])
    contains(text, "{len}  <-      10    0.100    0.100  x.py:1(f)\n")
    report = json.loads(ours([dumped(folder, stats)], ["--strip-dirs", "--json"]))
    equal([(f["function"], f["ncalls"], f["cumtime"]) for f in report["functions"]], [("<len>", 10, 0.1), ("f", 3, 3.0)])


def test_microseconds_are_shown_when_asked_for(folder):
    stats = {("x.py", 1, "f"): (2, 2, 0.000003, 0.0000125, {})}
    text = ours([dumped(folder, stats)], ["--digits", "6"])
    contains(text, "   ncalls     tottime     percall     cumtime     percall filename:lineno(function)\n"
                   "        2    0.000003    0.000002    0.000013    0.000006 x.py:1(f)\n")


# ---- what Sonde writes, others read


def call_stats():
    from sonde import _sonde
    return _sonde.CallStats()


def test_python_reads_what_we_write(folder):
    for stats in [random_stats(3), marshal.loads(open(profiled(folder), "rb").read()), marshal.loads(open(profiled(folder, "profile"), "rb").read())]:
        made = call_stats()
        made.load_dict(stats)
        again = marshal.loads(made.dumps())
        equal(again, stats, "stats")
        equal([type(v) for entry in again.values() for v in entry], [type(v) for entry in stats.values() for v in entry], "types")
        equal(list(again), list(stats), "order")
        path = os.path.join(folder, "ours")
        with open(path, "wb") as f:
            f.write(made.dumps())
        equal(pstats.Stats(path).stats, stats, "what pstats loads")
        other = call_stats()
        other.load(path)
        equal(other.as_dict(), stats, "what we load")


def test_convert_writes_pstats(folder):
    path = profiled(folder)
    target = os.path.join(folder, "again.pstats")
    equal(run([SONDE, "convert", path, target]).status, 0, "status")
    equal(pstats.Stats(target).stats, pstats.Stats(path).stats, "stats")
    done = run([SONDE, "convert", path, os.path.join(folder, "x.speedscope.json")])
    equal(done.status, 2, "status")
    contains(done.err, "cannot be written as")


def test_names_with_lone_surrogates_are_kept(folder):
    stats = {("/a/\udcff.py", 1, "f\ud800"): (1, 1, 0.0, 0.0, {})}
    path = dumped(folder, stats)
    made = call_stats()
    made.load(path)
    equal(made.as_dict(), stats, "stats")
    equal(marshal.loads(made.dumps()), stats, "written")
    texts = []
    made.print_stats(texts.append, ())
    contains("".join(texts), "/a/\udcff.py:1(f\ud800)")
    equal(run([SONDE, "report", path]).status, 0, "status")


def test_gprof2dot_reads_what_we_write(folder):
    gprof2dot = need_module("gprof2dot")
    path = os.path.join(folder, "ours.pstats")
    equal(run([SONDE, "convert", profiled(folder), path]).status, 0, "status")
    done = run([sys.executable, "-m", gprof2dot, "-f", "pstats", "-n", "0", "-e", "0", path])
    equal(done.status, 0, "status of gprof2dot: " + done.err)
    contains(done.out, "fib")
    contains(done.out, "digraph")


def test_snakeviz_reads_what_we_write(folder):
    need_module("snakeviz")
    from snakeviz.stats import json_stats, table_rows
    path = os.path.join(folder, "ours.pstats")
    equal(run([SONDE, "convert", profiled(folder), path]).status, 0, "status")
    stats = pstats.Stats(path)
    equal(len(table_rows(stats)), len(stats.stats), "rows")
    contains(str(json_stats(stats)), "fib")


def need_module(name):
    try:
        __import__(name)
    except ImportError:
        need(False, "no %s; CI=true make test installs it" % name)
    return name


# ---- the rest of the command


def test_json_and_csv_have_the_numbers(folder):
    path = profiled(folder)
    stats = pstats.Stats(path).stats
    report = json.loads(ours([path], ["--json", "-s", "calls"]))
    equal({(f["file"], f["line"], f["function"]): (f["pcalls"], f["ncalls"], f["tottime"], f["cumtime"]) for f in report["functions"]},
          {key: value[:4] for key, value in stats.items()}, "functions")
    equal(sum(len(f["callers"]) for f in report["functions"]), sum(len(v[4]) for v in stats.values()), "callers")
    equal(report["calls"], pstats.Stats(path).total_calls, "calls")
    rows = ours([path], ["--csv"]).splitlines()
    equal(rows[0], "file,line,function,ncalls,pcalls,tottime,cumtime")
    equal(len(rows), len(stats) + 1, "rows")
    rows = ours([path], ["--csv", "--callers"]).splitlines()
    equal(len(rows), sum(len(v[4]) for v in stats.values()) + 1, "rows of callers")


def test_any_suffix_will_do_and_words_may_stand_anywhere(folder):
    path = profiled(folder, name="profile.txt")
    equal(ours([path], ["--callers", "fib"]), run([SONDE, "report", "--callers", "fib", path]).out, "text")
    with open(path, "rb") as f:
        piped = subprocess.run([SONDE, "report", "-", "-s", "time"], stdin=f, stdout=subprocess.PIPE)
    equal(piped.returncode, 0, "status of stdin")
    contains(piped.stdout.decode(), "Ordered by: internal time")


def test_mistakes_are_told_in_one_sentence(folder):
    good, other = profiled(folder), profiled(folder, "profile", "old")
    capture = os.path.join(folder, "x.sonde")
    with open(capture, "wb") as f:
        f.write(b"no capture")
    for words, status, says in [
            ([good, "-s", "c"], 2, 'calls cannot be sorted by "c"'),
            ([good, "--match", "("], 2, "is not a valid regular expression"),
            ([good, "-n", "x"], 2, "-n takes a number of rows"),
            ([good, "--digits", "99"], 2, "--digits must be from 1 to 12"),
            ([good, "--reverse"], 2, "--reverse needs an order"),
            ([good, "--tree"], 2, "--tree needs a capture"),
            ([good, "-o", os.path.join(folder, "x.svg")], 2, "no stacks to draw"),
            ([good, capture], 2, "report them separately"),
            ([good, other], 2, "cannot be added up"),
            ([dumped(folder, {}, "empty")], 1, "without any calls"),
            ([dumped(folder, {("a", 1, "b"): 3}, "wrong")], 1, "damaged, or of another kind")]:
        done = run([SONDE, "report"] + words)
        equal(done.status, status, "status of %s" % words)
        contains(done.err, says)
        equal(done.err.count("\n"), 1, "lines of %r" % done.err)
        equal(done.out, "", "output")


def test_damaged_files_are_refused_in_one_sentence(folder):
    with open(profiled(folder), "rb") as f:
        whole = f.read()
    path = os.path.join(folder, "cut")
    for n in range(2, len(whole) - 1, max(1, len(whole) // 25)):
        with open(path, "wb") as f:
            f.write(whole[:n])
        done = run([SONDE, "report", path])
        equal(done.status, 1, "status when cut after %d bytes" % n)
        contains(done.err, "truncated")
    r = random.Random(1)
    for _ in range(25):
        changed = bytearray(whole)
        changed[r.randrange(2, len(changed))] ^= 1 << r.randrange(8)
        with open(path, "wb") as f:
            f.write(changed)
        assert run([SONDE, "report", path]).status in (0, 1), "a changed byte"


# ---- _sonde.CallStats, what compat.pstats stands on


def test_call_stats_do_what_stats_do(folder):
    path = profiled(folder)
    made, stats = call_stats(), pstats.Stats(path, stream=io.StringIO())
    made.load(path)
    for name in ("files", "total_calls", "prim_calls", "total_tt", "max_name_len", "top_level"):
        equal(getattr(made, name), getattr(stats, name), name)
    for keys in [("time",), ("cumulative", "name"), ("nfl",), ("stdname",)]:
        made.sort(keys)
        stats.sort_stats(*keys)
        equal((made.fcn_list(), made.sort_type), (stats.fcn_list, stats.sort_type), "order by %s" % (keys,))
        for restrictions in [(), (3,), (.25, "fib"), ("(",), (0,)]:
            for method in ("print_stats", "print_callers", "print_callees"):
                texts = []
                getattr(made, method)(texts.append, restrictions)
                stats.stream.seek(0)
                stats.stream.truncate()
                getattr(stats, method)(*restrictions)
                equal("".join(texts), stats.stream.getvalue(), method)
    stats.calc_callees()
    equal(made.callees(), stats.all_callees, "callees")
    made.add(made.copy())
    equal(made.as_dict(), pstats.Stats(path, path).stats, "twice")


def test_call_stats_refuse_what_is_none(folder):
    made = call_stats()
    for wrong, error in [({("a", 1): (1, 1, 0.0, 0.0, {})}, TypeError), ({("a", 1, "b"): (1, 1, 0.0, 0.0)}, ValueError),
                         ({("a", 1, "b"): (1, 1, "x", 0.0, {})}, TypeError), ({("a", 1, "b"): (1, 2**70, 0.0, 0.0, {})}, OverflowError),
                         ({("a", 1, "b"): (1, 1, 0.0, 0.0, [])}, TypeError), ([], TypeError)]:
        with expecting(error):
            made.load_dict(wrong)
        equal(len(made), 0, "functions after a refusal")
    with expecting(FileNotFoundError):
        made.load(os.path.join(folder, "none"))
    with expecting(IsADirectoryError):
        made.load(folder)
    with expecting(KeyError):
        made.sort(("cum",))


def test_plain_stats_refuse_what_is_no_entry(folder):
    from sonde import _sonde

    entry = ("f", 1, 0, 1.0, 1.0, [("g", 2, 0, 1.0, 1.0)])
    equal(_sonde.plain_stats([entry], "x")["", 0, "f"][:4], (1, 1, 1.0, 1.0), "a plain tuple")
    for wrong in [1, (), ("f", 1, 0, 1.0, 1.0), (1, 1, 0, 1.0, 1.0, None), entry[:5] + ([1],), entry[:5] + ([("g",)],),
                  entry[:5] + ([("g", "many", 0, 1.0, 1.0)],), ("f", "many") + entry[2:]]:
        with expecting(TypeError):
            _sonde.plain_stats([wrong], "x")


class Meddler:
    """A pattern that does something else in the middle of a search."""

    def __init__(self, meddle):
        self.meddle = meddle

    def search(self, text):
        self.meddle()
        return True


def test_call_stats_do_not_change_while_they_are_read(folder):
    made = call_stats()
    made.load(profiled(folder))
    made.sort(("time",))
    order, texts = made.fcn_list(), []

    def meddle():
        for change in (made.reverse, made.strip_dirs, made.sort_clear, lambda: made.load_dict({}), lambda: made.add(made), lambda: made.sort(("name",)),
                       lambda: made.set_order(order, "x"), lambda: setattr(made, "files", []), lambda: setattr(made, "top_level", order),
                       lambda: setattr(made, "total_calls", 1), lambda: setattr(made, "total_tt", 1), lambda: setattr(made, "max_name_len", 1)):
            with expecting(RuntimeError):
                change()
        made.print_stats(texts.append, (1,))  # another reader, which ends first

    compiles, re.compile = re.compile, lambda text: Meddler(meddle)
    try:
        made.print_stats(lambda text: None, ("fib",))
        made.get_print_list(lambda text: None, ("fib",))
    finally:
        re.compile = compiles
    equal((len(texts) > 0, made.fcn_list() == order), (True, True), "readers, and the order that was")
    made.reverse()
    equal(made.fcn_list(), order[::-1], "the order when nobody reads")


@contextlib.contextmanager
def expecting(error):
    try:
        yield
    except error:
        return
    raise AssertionError("no %s" % error.__name__)


helpers.run_tests(globals())
