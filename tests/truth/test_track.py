# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.memory.track: what a block allocates is recorded to the byte, in this process, and nothing is left behind."""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, PYTHON, SONDE, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

BYTES = 1000003  # a prime; a bytearray's block has one byte more, or what stands before its bytes (3.15)

HEAD = """
import json, os, sys, threading
import sonde
track = sonde.memory.track
def made(n):
    return bytearray(n)
extra = made(1000003).__alloc__() - 1000003
def block(t, view="leaks"):    # the large blocks of a view
    return [[r["function"], r["line"], r["bytes"] - extra] for r in t.rows(view) if r["bytes"] > 500000]
"""
HEAD_LINES = HEAD.count("\n")


def answer(folder, program, env=None, wants=0):
    """What the program prints, as JSON; a folder for temporary files of its own is empty at its end."""
    temporary = os.path.join(folder, "tmp")
    os.makedirs(temporary, exist_ok=True)
    write(folder, "p.py", HEAD + program)
    result = run([PYTHON, "p.py"], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, TMPDIR=temporary, PYTHONDONTWRITEBYTECODE="1", **(env or {})))
    equal(result.status, wants, result.err)
    equal(os.listdir(temporary), [], "files left behind")
    return json.loads(result.out) if result.out else result.err


def test_hooks_of_others_that_went_away(folder):
    """tracemalloc is stopped within a block, which takes our hooks away: a later block has them again; it may also stay over ours."""
    got = answer(folder, """
import tracemalloc
def count(layer, before, inside=lambda: None):
    before()
    with track(layer=layer) as t:
        inside()
        kept = [bytearray(1009) for i in range(300)]
    return t.summary["allocations"] >= 600
nothing = lambda: None
print(json.dumps([count("py", tracemalloc.start, tracemalloc.stop), count("py", nothing), count("py", nothing, tracemalloc.start),
                  count("py", nothing), count("py", nothing, tracemalloc.stop), count("py", nothing)]))
""")
    equal(got, [False, True, True, True, True, True], "which blocks have their allocations")


def test_a_block_has_what_it_allocates_alone(folder):
    got = answer(folder, """
with track(layer="py") as none:
    pass
with track(layer="py") as t:
    kept = made(1000003)
    gone = made(2000003)
    del gone
print(json.dumps([none.summary["allocations"], t.peak_bytes > 3000000, block(t), block(t, "peak"), block(t, "total"), t.summary["overlaps"], t.summary["lost"]]))
""")
    made, line = "made", 6
    equal(got[0], 0, "allocations of an empty block")
    equal(got[1], True)
    leaked, peak, total = ({r[0]: r for r in rows}[made] for rows in got[2:5])
    for rows, count in ((leaked, 1), (peak, 2), (total, 2)):
        equal(rows[1], line)
        size = BYTES if count == 1 else 3 * BYTES - 3
        assert 0 <= rows[2] - size <= 200, (rows, size)    # with the bytearray objects themselves
    equal(got[5:], [0, 0], "overlaps and losses")


def test_each_mode_knows_what_is_live(folder):
    got = answer(folder, """
out = {}
for mode in "full", "aggregate":
    for layer in "py", "malloc", "all":
        with track(mode=mode, layer=layer) as t:
            kept = made(1000003)
        (_, _, out[mode + " " + layer]), = block(t)
        assert t.summary["mode"] == mode and t.summary["layer"] == layer
        del kept
print(json.dumps(out))
""")
    for name, leaked in got.items():
        size = BYTES if "malloc" in name else BYTES + 56    # the object beside its bytes: pymalloc's
        assert abs(leaked - size) <= 8, (name, leaked)
    equal(len(got), 6)


def test_an_object_is_asked_before_and_after_its_block(folder):
    got = answer(folder, """
t, said = track(), []
for i in range(2):
    try:
        t.rows()
    except RuntimeError as why:
        said.append(str(why))
    if i == 0:
        with t:
            kept = made(1000003)
        with t:
            made(1000003)
print(json.dumps([said, len(block(t)), repr(t)[:13]]))
""")
    equal(len(got[0]), 1)
    contains(got[0][0], "nothing is recorded yet")
    equal(got[1:], [0, "<track: peak "], "the last block is what it has")


def test_an_exception_ends_a_block_and_stays_the_same(folder):
    got = answer(folder, """
try:
    with track() as t:
        kept = made(1000003)
        1 / 0
except ZeroDivisionError:
    with track() as again:
        pass
print(json.dumps([len(block(t)), len(block(again))]))
""")
    equal(got, [1, 0])


def test_of_threads_that_begin_at_once_one_is_recorded(folder):
    got = answer(folder, """
sys.setswitchinterval(1e-6)
ended = []
def one(path, barrier):
    t = track(path)
    barrier.wait()
    try:
        with t:
            kept = [made(1000003) for _ in range(3)]
            barrier.wait()    # all have tried
        ended.append(["recorded", sum(r[2] > 3000000 for r in block(t)), os.path.exists(path)])
    except RuntimeError:
        barrier.wait()
        ended.append(["refused", 0, os.path.exists(path)])
for i in range(50):
    barrier = threading.Barrier(4, timeout=30)
    threads = [threading.Thread(target=one, args=("%d-%d.sonde" % (i, k), barrier)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
print(json.dumps(sorted(ended)))
""")
    equal(got, [["recorded", 1, True]] * 50 + [["refused", 0, False]] * 150)


def test_what_is_refused(folder):
    got = answer(folder, """
open("there.sonde", "w").close()
said = []
def refused(f):
    try:
        f()
    except Exception as why:
        said.append("%s: %s" % (type(why).__name__, why))
    else:
        said.append("nothing")
def inside():
    with track():
        with track():
            pass
def with_path(path):
    with track(path):
        pass
refused(inside)
refused(lambda: with_path("there.sonde"))
refused(lambda: with_path("no/such/folder/x.sonde"))
refused(lambda: track(layer="none"))
refused(lambda: track(mode="none"))
refused(lambda: sonde.memory.load("missing.sonde"))
refused(lambda: sonde.memory.load("there.sonde"))
sonde.start("own.sonde")
refused(lambda: with_path(None))
sonde.stop()
with_path(None)
with track(mode="aggregate") as t:
    pass
refused(lambda: t.rows("temporary"))
refused(lambda: t.rows("sums"))
refused(lambda: t.flame("there.sonde"))
print(json.dumps(said))
""")
    for said, part in zip(got, ["RuntimeError: a block of track() is being recorded already", "FileExistsError: 'there.sonde' already exists", "FileNotFoundError: ",
                                "ValueError: layer must be all, py or malloc, not 'none'", "ValueError: mode must be", "FileNotFoundError: there is no file",
                                "ValueError: ", "RuntimeError: this process records itself already", "ValueError: view='temporary' needs every allocation",
                                "ValueError: view must be one of", "FileExistsError: "]):
        contains(said, part)
        assert "\n" not in said and "--" not in said, said
    equal(len(got), 11)


def test_it_is_refused_under_sonde(folder):
    write(folder, "p.py", HEAD + "try:\n    track().__enter__()\nexcept RuntimeError as why:\n    print(why)\n")
    for verb, part in (["run", "--with", "alloc"], "`sonde alloc` already records all allocations"), (["run"], "is already being recorded by `sonde`"):
        result = sonde(*(verb + ["-q", "-o", verb[-1] + ".sonde", "--python", PYTHON, "p.py"]), cwd=folder, env=clean_env(PYTHONPATH=None))
        contains(result.out, part, result.err)


def test_native_frames_are_in_stacks(folder):
    got = answer(folder, """
def largest():
    return max([1000003], key=made)
with track(native=True) as t:
    largest()
print(json.dumps([[f["function"] for f in r["stack"]] for r in t.rows("total", by="stack") if r["bytes"] > 500000][0]))
""")
    at = [got.index("largest"), got.index("made")]
    between = got[at[0] + 1:at[1]]
    assert between, got    # max() itself, which has a name unless the interpreter is stripped


def test_a_capture_with_a_name_stays(folder):
    got = answer(folder, """
with track("x.sonde", layer="py") as t:
    kept = made(1000003)
t.print()
print(json.dumps([block(t), t.summary, block(sonde.memory.load("x.sonde"))]), file=open("said.json", "w"))
print("{}")
""".replace("t.print()", "t.print(file=open('said.txt', 'w'))"))
    equal(got, {})
    rows, summary, loaded = json.load(open(os.path.join(folder, "said.json")))
    equal(loaded, rows)
    report = json.loads(sonde("report", "x.sonde", "--alloc", "--leaks", "--json", cwd=folder).out)
    equal(report["alloc"], summary, "the summary")
    equal(max(r["bytes"] for r in report["allocations"]), max(r["bytes"] for r in json.loads(json.dumps([dict(bytes=b[2]) for b in rows]))) + report["allocations"][0]["bytes"] - rows[0][2])
    text = sonde("report", "x.sonde", "--alloc", cwd=folder).out
    equal(open(os.path.join(folder, "said.txt")).read().split("\n", 1)[1], text.split("\n", 1)[1], "what is printed")
    equal(sorted(os.path.basename(f) for f in glob.glob(os.path.join(folder, "x.*"))), ["x.sonde"])


def test_functions_generators_and_coroutines(folder):
    got = answer(folder, """
import asyncio
kept, out = [], {}
t = track()
@t
def function(depth=2):
    "Says so."
    kept.append(made(1000003))
    return depth and function(depth - 1)
function()
out["function"] = [sum(r[2] + extra for r in block(t)) // 1000003, function.__name__, function.__doc__]
@t
def generator():
    first = made(1000003)
    got = yield 1
    kept.append(made(1000003))
    yield got
    return 7
def all_of():
    g = generator()
    a = next(g)
    assert t.is_recording
    between = made(1000003)
    kept.append(between)
    b = g.send(5)
    try:
        next(g)
    except StopIteration as end:
        return [a, b, end.value]
out["generator"] = [all_of(), t.is_recording, sum(r[2] + extra for r in block(t)) // 1000003]
@t
async def coroutine():
    await asyncio.sleep(0)
    kept.append(made(1000003))
    return 3
@t
async def items():
    for i in range(2):
        kept.append(made(1000003))
        try:
            yield i
        except KeyError:
            yield "caught"
async def main():
    result = [await coroutine(), sum(r[2] + extra for r in block(t)) // 1000003]
    async for i in items():
        result.append(i)
    result.append(sum(r[2] + extra for r in block(t)) // 1000003)
    g = items()
    await g.asend(None)
    result.append(await g.athrow(KeyError()))
    await g.aclose()
    return result + [t.is_recording]
loop = asyncio.new_event_loop()
out["async"] = loop.run_until_complete(main())
loop.close()
@t
def fails():
    kept.append(made(1000003))
    raise KeyError("x")
try:
    fails()
except KeyError:
    out["fails"] = [t.is_recording, sum(r[2] + extra for r in block(t)) // 1000003]
named = track("named.sonde")
@named
def twice():
    pass
twice(); twice()
out["named"] = sorted(f for f in os.listdir(".") if f.startswith("named"))
print(json.dumps(out))
""")
    equal(got["function"], [3, "function", "Says so."], "one recording of a recursion")
    equal(got["generator"], [[1, 5, 7], False, 2], "from the first step to the last")
    equal(got["async"], [3, 1, 0, 1, 2, "caught", False])
    equal(got["fails"], [False, 1])
    equal(got["named"], ["named-2.sonde", "named.sonde"])


def test_threads_and_the_current_one_alone(folder):
    got = answer(folder, """
out = {}
def other(kept):
    kept.append(made(1000003))
    passed.clear()
    [made(100) for _ in range(1000)]    # a thread has its name a little after its start
def both(kept):
    kept.append(made(2000003))
    passed.append(made(4000037))
    thread = threading.Thread(target=other, args=(kept,), name="other one")
    thread.start()
    thread.join()
passed = []
for only in False, True:
    for mode in "full", "aggregate":
        kept = []
        with track(current_thread_only=only, mode=mode, layer="py") as t:
            both(kept)
        out["unknown %s %s" % (only, mode)] = t.summary["unknown_frees"]
        out["%s %s" % (only, mode)] = [sum(r["bytes"] for r in t.leaks() if r["bytes"] > 500000) // 1000000, t.peak_bytes // 1000000]
        if mode == "full" and not only:
            out["names"] = sorted(r["thread"] for r in t.rows("leaks", by="thread") if r["bytes"] > 500000)
print(json.dumps(out))
""")
    equal(got["False full"], [3, 7], "all threads: leaked and peak in MB")
    equal(got["False aggregate"], [3, 7])
    equal(got["True full"], [2, 6], "this thread: what another one frees is freed")
    equal(got["True aggregate"], [2, 6])
    equal(got["names"], ["MainThread", "other one"])
    equal([got["unknown True full"], got["unknown True aggregate"]], [None, None], "frees of other threads' blocks are none of blocks from before")
    assert isinstance(got["unknown False full"], int), got


def test_threads_that_call_a_decorated_function_at_once_share_a_recording(folder):
    got = answer(folder, """
sys.setswitchinterval(1e-6)
t = track()
raised = []
@t
def call():
    return made(1009)
def calls():
    for _ in range(40):
        try:
            call()
        except BaseException as why:
            raised.append(repr(why))
threads = [threading.Thread(target=calls) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
empty = track()
empty(lambda: None)()
print(json.dumps([raised, t.is_recording, empty.rows("total")]))
""")
    equal(got, [[], False, []])


def test_threads_that_go_on_do_not_disturb_later_blocks(folder):
    got = answer(folder, """
stop = False
def busy():
    while not stop:
        [made(100) for _ in range(50)]
threads = [threading.Thread(target=busy) for _ in range(3)]
[t.start() for t in threads]
sums = [0, 0, 0]
for i in range(24):
    with track(mode=("full", "aggregate", "sample")[i % 3]) as t:
        kept = made(1000003)
        for _ in range(20):
            made(5000)
    s = t.summary
    sums[0] += s["overlaps"] + s["lost"]
    sums[1] += s["allocations"] > 0
    sums[2] += i % 3 < 2 and any(r["bytes"] - extra >= 1000003 for r in t.leaks())
stop = True
[t.join() for t in threads]
print(json.dumps(sums))
""")
    equal(got[0], 0, "overlaps and losses")
    equal(got[2], 16, "blocks of which the leak is known")


def test_a_child_that_is_forked_inside(folder):
    got = answer(folder, """
with track() as t:
    kept = made(1000003)
    pid = os.fork()
    if pid == 0:
        mine = made(3000017)
        try:
            with track():
                pass
        except RuntimeError:
            mine.append(1)
        t.__exit__(None, None, None)
        try:
            t.rows()
        except RuntimeError:
            with track() as again:
                del mine
                other = made(1000003)
            os._exit(len(block(again)))
        os._exit(9)
    status = os.waitpid(pid, 0)[1] >> 8
processes = [r["bytes"] // 1000000 for r in t.rows("leaks", by="process")]
left = os.fork()
if left == 0:
    sys.exit(0)    # its atexit handlers remove nothing of the parent's
os.waitpid(left, 0)
print(json.dumps([status, sorted(processes), t.peak_bytes // 1000000]))
""")
    equal(got, [1, [1, 3], 3], "blocks of the child's own, leaks of both in MB, the largest peak")


def test_nothing_is_left_of_a_block_that_the_program_ends_in(folder):
    answer(folder, """
def forever():
    with track():
        yield made(1000003)
g = forever()
next(g)
sys.exit(3)
""", wants=3)
    answer(folder, """
t = track("kept.sonde")
t.__enter__()
kept = made(1000003)
""")
    contains(sonde("report", "kept.sonde", "--alloc", "--leaks", cwd=folder).out, "p.py:6")


def test_a_thousand_blocks_cost_nothing_afterwards(folder):
    got = answer(folder, """
def now():
    return [int(open("/proc/self/statm").read().split()[1]) * 4096, len(os.listdir("/proc/self/fd")), len(open("/proc/self/maps").readlines())]
def rounds(n):
    for i in range(n):
        with track(mode=("full", "aggregate")[i % 2]) as t:
            kept = [made(1000003) for _ in range(2)]
        if i % 50 == 0:
            t.rows()
rounds(ROUNDS // 5)
before = now()
rounds(ROUNDS)
after = now()
print(json.dumps([b - a for a, b in zip(before, after)]))
""".replace("ROUNDS", "1000" if sys.version_info[:2] == (3, 13) else "100"))
    assert got[0] < 2 << 20, "resident memory grows by %d bytes" % got[0]
    equal(got[1], 0, "descriptors")
    assert got[2] <= 2, "%d mappings more" % got[2]


def test_a_flame_graph_is_made_by_the_program(folder):
    answer(folder, """
sonde.memory._IN_MEMORY = 100    # what is larger stays on the disk, without a name
with track() as t:
    kept = made(1000003)
t.print(file=open("said.txt", "w"))
assert open("said.txt").read().startswith("this recording: ") and len(block(t)) == 1
t.flame("open.svg")
sonde.memory._IN_MEMORY = 1 << 20
with track() as t:
    kept = made(1000003)
assert t.flame("x.svg") == os.path.abspath("x.svg")
assert set(t._repr_mimebundle_()) == {"text/plain", "text/html"}
""", env={"SONDE": SONDE})
    svg = open(os.path.join(folder, "x.svg")).read()
    contains(svg, "made")
    contains(svg, "</svg>")


run_tests(globals())
