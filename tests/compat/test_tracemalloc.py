# SPDX-License-Identifier: MIT
# interpreters: all
"""tracemalloc, by Sonde: CPython's own tests of it, and what they do not ask: threads, forks, files, and results that
are those of CPython's tracemalloc."""
import json
import os
import re
import sys
from importlib.util import find_spec

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, clean_env, contains, equal, need, only, run, run_tests, sonde, write  # noqa: E402

# Tests of CPython's that cannot pass, each with its reason.
ITS_TABLE = "asks the table of CPython's own tracer, by _testcapi or _testinternalcapi, where a block is from"
EXCEPTIONS = {
    "test_new_reference": "a list that Python takes from its free list is allocated nowhere; CPython tells its own tracer of it",
    "test_track": ITS_TABLE, "test_track_already_tracked": ITS_TABLE, "test_track_without_gil": ITS_TABLE, "test_untrack": ITS_TABLE,
    "test_untrack_without_gil": ITS_TABLE,
}

# Runs the suite without them, and says which of them are there.  In place of the module that stands for ours (_alias) is ours: a name
# that is looked up there is a tuple more on 3.8 to 3.11, which one test does not expect.
DRIVER = """\
import sys, unittest
exceptions = set(sys.argv.pop().split(","))
import tracemalloc, sonde.compat.tracemalloc
assert tracemalloc.Snapshot is sonde.compat.tracemalloc.Snapshot
sys.modules["tracemalloc"] = sonde.compat.tracemalloc
import test.test_tracemalloc as tests
left_out = 0
for name, cls in list(vars(tests).items()):
    for test in exceptions.intersection(vars(cls) if isinstance(cls, type) else ()):
        setattr(cls, test, None)
        left_out += 1
def run(depth):  # below more than ten frames, which one test takes for granted of every block
    return run(depth - 1) if depth else unittest.main(tests, argv=["test_tracemalloc"], exit=False, verbosity=0).result
ended = run(10)
print("left out", left_out, "skipped", [(t.id().rsplit(".", 1)[1], why) for t, why in ended.skipped])
sys.exit(not ended.wasSuccessful())
"""

HEAD = """
import json, os, sys, threading, time
from sonde.compat import tracemalloc
"""


def answer(folder, program, *words):
    write(folder, "p.py", HEAD + program)
    result = run([PYTHON] + list(words) + ["p.py"], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, PYTHONDONTWRITEBYTECODE="1"))
    equal(result.status, 0, result.err)
    return json.loads(result.out)


def test_cpythons_own_suite(folder):
    base = os.path.realpath(PYTHON)
    has_tests = run([base, "-c", "import test.test_tracemalloc"], cwd=folder, env=clean_env(PYTHONPATH=None))
    need(has_tests.status == 0, "this Python has no test.test_tracemalloc")
    found = sonde("compat-path")
    driver = write(folder, "driver.py", DRIVER)
    env = clean_env(PYTHONPATH=found.out.strip(), PYTHONHOME=sys.base_prefix, TMPDIR=folder)
    result = run([base, driver, ",".join(sorted(EXCEPTIONS))], cwd=folder, env=env, limit=200)
    equal(result.status, 0, "status (%s)" % result.err[-1500:])
    ran = re.search(r"Ran (\d+) tests? in", result.err)
    assert ran and int(ran.group(1)) >= 38, result.err[-500:]
    # One needs an interpreter that is found without PYTHONHOME; others a module that not every build has.
    said = re.search(r"left out (\d+) skipped (.*)", result.out)
    print("# test_tracemalloc: %s tests, %s left out" % (ran.group(1), said.group(1)))
    for name, why in eval(said.group(2)):
        assert "PYTHON env vars" in why or "_testcapi" in why or "ctypes" in why, (name, why)


def test_a_program_that_knows_nothing_of_it(folder):
    write(folder, "p.py", "import tracemalloc, sys\ntracemalloc.start()\nx = bytearray(100003)\nfor s in tracemalloc.take_snapshot().statistics('lineno')[:1]:\n    print(s)\n"
                          "print('sonde._sonde' in sys.modules)\n")
    result = run([PYTHON, "p.py"], cwd=folder, env=clean_env(PYTHONPATH=sonde("compat-path").out.strip()))
    equal(result.status, 0, result.err)
    contains(result.out, "p.py:3: size=9")
    contains(result.out, "True")
    result = run([PYTHON, "-X", "tracemalloc=7", "p.py"], cwd=folder, env=clean_env(PYTHONPATH=sonde("compat-path").out.strip()))
    contains(result.out, "True", "beside CPython's own, which goes on")


def test_the_same_blocks_as_cpythons(folder):
    """One after the other, of the same program: blocks of more than 500 bytes, by line, with five frames."""
    got = answer(folder, """
import tracemalloc as theirs
def leaf(n):
    return bytearray(n)
def middle(n):
    return [leaf(n), leaf(n + 1)]
def work():
    return [middle(1000 + i) for i in range(20)] + [tuple(range(200)), {i: str(i) for i in range(100)}, b"x" * 3000]
out = []
kept = snapshot = rows = t = key = None
for module in theirs, tracemalloc:
    module.start(5)
    kept = work()
    snapshot = module.take_snapshot()
    module.stop()
    rows = {}
    for t in snapshot.traces:
        if t.size > 500 and str(t.traceback[-1]).split(":")[0].endswith("p.py"):
            key = " ".join("%s:%d" % (os.path.basename(f.filename), f.lineno) for f in t.traceback)
            rows[key] = [rows.get(key, [0, 0])[0] + t.size, rows.get(key, [0, 0])[1] + 1]
    out.append(sorted(rows.items()))
    del kept, snapshot
print(json.dumps(out))
""")
    assert len(got[0]) >= 2, got[0]
    equal(got[1], got[0])


def test_a_file_is_read_by_both_and_is_data(folder):
    got = answer(folder, """
import pickle
import tracemalloc as theirs
tracemalloc.start(3)
kept = [bytearray(100) for _ in range(100)]
s = tracemalloc.take_snapshot()
tracemalloc.stop()
s.note = {"why": ["test", 1, 2.5, None, True]}
s.dump("ours.snap")
t = theirs.Snapshot.load("ours.snap")
t.dump("theirs.snap")
back = tracemalloc.Snapshot.load("theirs.snap")
text = lambda x: [str(y) for y in x]
out = [type(t).__module__, back.traces == s.traces, back.note == s.note == t.note, back.traceback_limit,
       text(t.statistics("lineno")) == text(s.statistics("lineno")) == text(back.statistics("lineno")),
       text(t.statistics("filename", True)) == text(s.statistics("filename", True))]
class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)
said = []
for content in (pickle.dumps(Evil()), pickle.dumps([1]), b"", open("ours.snap", "rb").read()[:-50]):
    open("bad.snap", "wb").write(content)
    try:
        tracemalloc.Snapshot.load("bad.snap")
    except ValueError as why:
        said.append(str(why))
s.note = Evil()
s.dump("bad.snap")
try:
    tracemalloc.Snapshot.load("bad.snap")
except ValueError as why:
    said.append(str(why))
print(json.dumps([out, said, os.path.exists("ran")]))
""")
    equal(got[0], ["tracemalloc", True, True, 3, True, True])
    equal(len(got[1]), 5)
    assert all("no snapshot of tracemalloc" in said for said in got[1]), got[1]
    equal(got[2], False, "what the file says was run")


def test_statistics_are_those_of_cpythons_classes(folder):
    got = answer(folder, """
import random
import tracemalloc as theirs
random.seed(4)
total = (3,) if sys.version_info >= (3, 9) else ()
def traces(n):
    return [(random.choice([0, 7]), random.randrange(1, 900),
             tuple((random.choice(["a.py", "lib/b.pyc", "c.py"]), random.randrange(1, 5)) for _ in range(random.randrange(1, 4)))) + total for _ in range(n)]
first, second = traces(3000), traces(2000)
def answers(m):
    a, b = m.Snapshot(first, 3), m.Snapshot(second, 3)
    out = []
    for key in "traceback", "lineno", "filename":
        out += [a.statistics(key), b.compare_to(a, key)]
    for key in "lineno", "filename":
        out += [a.statistics(key, True), b.compare_to(a, key, cumulative=True)]
    for filters in ([], [m.Filter(True, "a*")], [m.Filter(False, "*b.py", all_frames=True)], [m.Filter(True, "c.py", 3), m.Filter(True, "a.py", domain=7)],
                    [m.Filter(False, "a.py", domain=7), m.DomainFilter(False, 0)], [m.DomainFilter(True, 7), m.Filter(True, "lib/*", all_frames=True), m.Filter(False, "c.py", 1)]):
        out.append(a.filter_traces(filters).traces._traces)
    return [[str(x) for x in each] for each in out]
print(json.dumps([x == y and len(x) > 1 for x, y in zip(answers(theirs), answers(tracemalloc))]))
""")
    equal(got, [True] * 16)


@only(find_spec("numpy"))
def test_numpys_buffers_are_those_that_cpythons_sees(folder):
    got = answer(folder, """
import numpy
import tracemalloc as theirs
def work():
    a = numpy.ones(100003)
    kept = [numpy.zeros((1000, 77)), a[5:] * 2]
    a = None
    return kept
out = []
for module in theirs, tracemalloc:
    module.start(3)
    kept = work()
    traces = module.take_snapshot().filter_traces([module.DomainFilter(False, 0)]).traces
    out.append(sorted([t.domain, t.size, [f.lineno for f in t.traceback]] for t in traces))
    kept = None
    out.append(len(module.take_snapshot().filter_traces([module.DomainFilter(False, 0)]).traces))
    module.stop()
print(json.dumps(out))
""")
    equal(len(got[0]), 2)
    equal(got[2:], got[:2])
    equal(got[1], 0)


def test_it_goes_on_in_threads_and_children(folder):
    got = answer(folder, """
tracemalloc.start(2)
kept, stop = [], False
def busy():
    while not stop:
        [bytearray(50) for _ in range(100)]
def make():
    kept.extend(bytearray(1000) for _ in range(500))
threads = [threading.Thread(target=busy) for _ in range(2)] + [threading.Thread(target=make)]
[t.start() for t in threads]
threads[2].join()
statuses = []
for i in range(5):
    pid = os.fork()
    if pid == 0:
        mine = bytearray(300007)
        there = [t for t in tracemalloc.take_snapshot().traces if t.size >= 300007]
        os._exit(len(there) + 10 * tracemalloc.is_tracing() + 100 * (tracemalloc.get_object_traceback(kept[0]) is not None))
    statuses.append(os.waitpid(pid, 0)[1] >> 8)
stop = True
[t.join() for t in threads]
rows = [s for s in tracemalloc.take_snapshot().statistics("lineno") if s.size > 400000]
live, peak = tracemalloc.get_traced_memory()
del kept
after = tracemalloc.get_traced_memory()[0]
print(json.dumps([statuses, [[s.count >= 1000, s.traceback[0].lineno] for s in rows], live - after > 500000, peak >= live]))
""")
    equal(got[0], [111] * 5, "children trace, and know what lived")
    equal(got[1], [[True, 11]])
    equal(got[2:], [True, True])


def test_what_is_refused(folder):
    got = answer(folder, """
from sonde.memory import track
said = []
def refused(f, *args):
    try:
        f(*args)
    except Exception as why:
        said.append("%s: %s" % (type(why).__name__, why))
with track():
    refused(tracemalloc.start)
tracemalloc.start()
refused(track().__enter__)
refused(tracemalloc.take_snapshot().statistics, "line")
refused(tracemalloc.take_snapshot().statistics, "traceback", True)
refused(tracemalloc.take_snapshot().filter_traces, 1)
tracemalloc.stop()
refused(tracemalloc.start, 65536)
with track() as t:    # and then it may
    kept = bytearray(1000003)
tracemalloc.start()
print(json.dumps(said + [t.peak_bytes > 1000000, tracemalloc.is_tracing(), tracemalloc.get_traceback_limit()]))
""")
    for said, part in zip(got, ["RuntimeError: allocations of this process are already being recorded by", "RuntimeError: sonde.compat.tracemalloc traces this process",
                                "ValueError: unknown key_type: 'line'", "ValueError: cumulative mode", "TypeError: filters must be a list", "ValueError: the number of frames"]):
        contains(said, part)
    equal(got[6:], [True, True, 1])


def test_starting_often_costs_nothing_afterwards(folder):
    got = answer(folder, """
def now():
    return [int(open("/proc/self/statm").read().split()[1]) * 4096, len(open("/proc/self/maps").readlines())]
def rounds(n):
    for i in range(n):
        tracemalloc.start(5)
        kept = [bytearray(100) for _ in range(100)]
        tracemalloc.take_snapshot().statistics("lineno")
        tracemalloc.stop()
rounds(100)
before = now()
rounds(200)
print(json.dumps([b - a for a, b in zip(before, now())]))
""")
    assert got[0] < 1 << 20, "resident memory grows by %d bytes" % got[0]
    assert got[1] <= 2, "%d mappings more" % got[1]


if __name__ == "__main__":
    run_tests(globals())
