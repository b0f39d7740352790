# SPDX-License-Identifier: MIT
# interpreters: all
# quiet
"""What a Profiler says of sections whose truth is known, and what it leaves alone."""
import asyncio
import contextvars
import copy
import gc
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import weakref

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import MIB, PACKAGE_PATH, PYTHON, Capture, between, clean_env, equal, need, run, run_tests, sonde_run, write  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
import sonde  # noqa: E402
from sonde import Profiler  # noqa: E402

TWELVE = ["memory:start_vms", "memory:end_vms", "memory:diff_vms", "memory:start_rss", "memory:end_rss", "memory:diff_rss",
          "memory:unit", "time:start", "time:end", "time:duration", "time:kind", "time:unit"]
MORE = ["memory:peak_rss", "io:read", "io:written", "network:received", "network:sent"]


def raises(kind, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError("%s was not raised" % kind.__name__)


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


# ---- the figures


def test_wall_time_of_a_sleep(folder):
    p = Profiler()
    before = time.time()
    with p("sleep"):
        time.sleep(0.1)
    t = p["sleep"].time
    between(t.duration, 0.1, 10, "duration")
    between(t.start, before - 0.01, before + 10, "start, in seconds since the epoch")
    assert abs(t.end - t.start - t.duration) < 1e-6


def test_cpu_time_is_that_of_the_thread(folder):
    p = Profiler()
    with p("asleep", time_kind="cpu"):
        time.sleep(0.1)
    with p("busy", time_kind="cpu"):
        spin(0.1)
    other = threading.Thread(target=spin, args=(0.2,))
    with p("other thread's", time_kind="cpu"), p("everyone's", time_kind="process"):
        other.start()
        other.join()
    between(p["asleep"].time.duration, 0, 0.02, "CPU of a sleep")
    between(p["busy"].time.duration, 0.1, 0.15, "CPU of 0.1 s of work")
    between(p["other thread's"].time.duration, 0, 0.05, "CPU of a wait")
    between(p["other thread's:everyone's"].time.duration, 0.2, 0.3, "CPU of the process")
    equal([str(p[n].time.kind) for n in p], ["wall" if n == "" else k for n, k in
                                             zip(p, ["cpu", "cpu", "cpu", "process"])], "kinds")


def test_memory_that_stays_and_memory_that_goes(folder):
    p = Profiler(memory_unit="MB")
    with p("stays"):
        kept = bytearray(b"x") * (64 * MIB)
    with p("goes"):
        len(bytearray(b"x") * (96 * MIB))
    with p("nothing"):
        pass
    stays, goes, nothing = (p[n].memory for n in ("stays", "goes", "nothing"))
    between(stays.diff_rss, 61, 68, "resident memory of 64 MiB")
    between(stays.diff_vms, 61, 72, "virtual memory of 64 MiB")
    between(abs(goes.diff_rss), 0, 8, "what is left of 96 MiB")
    between(goes.peak_rss - goes.start_rss, 90, 102, "peak above the start")
    between(nothing.peak_rss - nothing.start_rss, 0, 4, "peak of nothing")
    equal(str(stays.unit), "megabytes", "unit")
    equal((stays.vms_used, stays.rss_used), (stays.diff_vms, stays.diff_rss), "amltk's names")
    del kept


def test_peaks_of_nested_and_overlapping_sections(folder):
    """A peak belongs to every section that was open, also when one inside has set the mark back."""
    p = Profiler(memory_unit="MB")
    with p("outer"):
        len(bytearray(b"x") * (80 * MIB))
        with p("small"):
            len(bytearray(b"x") * (20 * MIB))
    with p("later"):
        pass
    outer, small, later = (p[n].memory for n in ("outer", "outer:small", "later"))
    between(outer.peak_rss - outer.start_rss, 75, 86, "outer's peak")
    between(small.peak_rss - small.start_rss, 16, 26, "small's peak")
    between(later.peak_rss - later.start_rss, 0, 4, "later's peak")


def test_peak_is_not_below_what_was_seen(folder):
    p = Profiler()
    for _ in range(200):
        with p("x"):
            bytearray(100000)
    for i in p.all("x"):
        assert i.memory.peak_rss >= max(i.memory.start_rss, i.memory.end_rss), i


def test_bytes_written_and_read(folder):
    path = os.path.join(folder, "bytes")
    p = Profiler()
    with p("write"):
        with open(path, "wb") as f:
            f.write(bytes(5 * MIB))
    with p("read"):
        with open(path, "rb") as f:
            f.read()
    with p("rest"):
        pass
    between(p["write"].io.written, 5 * MIB, 5.1 * MIB, "written")
    between(p["read"].io.read, 5 * MIB, 5.1 * MIB, "read")
    between(p["rest"].io.written, 0, 4096, "written by nothing")


def test_bytes_over_the_network(folder):
    p = Profiler()
    server = socket.create_server(("127.0.0.1", 0))

    def send():
        peer, _ = server.accept()
        peer.sendall(bytes(8 * MIB))
        peer.close()

    with p("net"):
        thread = threading.Thread(target=send)
        thread.start()
        with socket.create_connection(server.getsockname()) as s:
            while s.recv(1 << 16):
                pass
        thread.join()
    server.close()
    between(p["net"].network.received, 8 * MIB, 40 * MIB, "received")
    between(p["net"].network.sent, 8 * MIB, 40 * MIB, "sent")


def test_pss_only_on_request(folder):
    p = Profiler(measure=("memory", "pss"))
    with p("x"):
        pass
    equal(len(p.rows()[0]), 1 + len(TWELVE) + len(MORE) + 1, "columns with pss")
    need(p["x"].memory.pss is not None, "the kernel has no smaps_rollup")
    between(p["x"].memory.pss, 1e6, p["x"].memory.end_rss * 1.1, "pss")
    assert "memory:pss" in p["x"].to_dict()
    assert "memory:pss" not in Profiler().df().columns if has_pandas() else True
    with Profiler()("y") as y:
        pass
    assert "memory:pss" not in y.interval.to_dict()


def test_measure_chooses(folder):
    known = {
        "time": {"time:start", "time:end", "time:duration", "time:kind", "time:unit"},
        "memory": {c for c in TWELVE if c.startswith("memory:")},
        "peak": {"memory:peak_rss"}, "io": {"io:read", "io:written"}, "network": {"network:received", "network:sent"},
    }
    for words in (["time"], ["memory"], ["peak"], ["io"], ["network"], ["time", "memory"], ["time", "io", "network"]):
        p = Profiler(measure=words)
        equal(p.measures, tuple(words), "measures")
        with p("x"):
            pass
        facts = p["x"].to_dict()
        equal(list(facts), TWELVE + MORE, "keys")
        equal({k for k, v in facts.items() if v is not None}, set().union(*(known[w] for w in words)), "known with %s" % words)
    equal(Profiler(measure="time").measures, ("time",), "one word")
    equal(Profiler().measures, ("time", "memory", "peak", "io", "network"), "default")
    raises(ValueError, Profiler, measure=["cpu time"])
    raises(ValueError, Profiler, measure=["time", 3])
    raises(TypeError, Profiler, measure=3)


def test_units(folder):
    p = Profiler(memory_unit="kb", measure=("memory",))
    with p("a"):
        pass
    with p("b", memory_unit="GB"):
        pass
    a, b = p["a"].memory, p["b"].memory
    equal((str(a.unit), str(b.unit)), ("kilobytes", "gigabytes"), "units")
    equal(a.to_unit("B").start_rss, a.start_rss * 1024, "kilobytes as bytes")
    equal(str(a.to_unit("MB").unit), "megabytes", "unit")
    between(a.start_rss / 2 ** 20, b.start_rss * 0.8, b.start_rss * 1.2, "kilobytes and gigabytes")
    raises(ValueError, Profiler, memory_unit="XB")
    raises(ValueError, Profiler, time_kind="cuckoo")
    raises(ValueError, p, "x", memory_unit="pounds")
    raises(ValueError, p, "x", time_kind="cuckoo")
    equal(list(p), ["a", "b"], "names after errors")


# ---- names


def test_nesting(folder):
    p = Profiler(measure="time")
    with p("a"):
        with p("b"):
            with p("c"):
                pass
        with p("b"):
            pass
    with p("b"):
        pass
    equal(list(p), ["a", "a:b", "a:b:c", "b"], "names")
    equal([len(p.all(n)) for n in p], [1, 2, 1, 1], "intervals")
    assert p["a"].time.duration >= sum(i.time.duration for i in p.all("a:b"))


def test_profilers_do_not_mix(folder):
    p, q = Profiler(measure="time"), Profiler(measure="time")
    with p("p1"):
        with q("q1"):
            with p("p2"):
                with q("q2"):
                    pass
    equal((list(p), list(q)), (["p1", "p1:p2"], ["q1", "q1:q2"]), "names")


def test_exceptions_leave_no_name(folder):
    p = Profiler(measure="time")
    for kind in (ValueError, KeyboardInterrupt, SystemExit, GeneratorExit):
        with_ = p("bad")
        try:
            with with_:
                with p("inner"):
                    raise kind
        except kind:
            pass
    with p("after"):
        pass
    equal(list(p), ["bad", "bad:inner", "after"], "names")
    equal(len(p.all("bad")), 4, "intervals")
    assert all(i.time.duration > 0 for i in p.all("bad"))


def test_repeats_are_kept_in_order(folder):
    p = Profiler()
    with open(os.devnull, "wb", buffering=0) as f:
        for i in range(1, 4):
            with p("again"):
                f.write(bytes(10000 * i))
    equal([i.io.written // 10000 for i in p.all("again")], [1, 2, 3], "written")
    starts = [i.time.start for i in p.all("again")]
    equal(starts, sorted(starts), "starts")
    equal(p["again"], p.all("again")[-1], "the last")
    equal((len(p), len(p.rows()), [r[0] for r in p.rows()]), (1, 3, ["again"] * 3), "sizes")
    equal(p.all("nothing"), [], "all of nothing")


def test_an_open_section_fills_when_it_ends(folder):
    p = Profiler()
    with p("x") as section:
        interval = p["x"]
        assert interval.time.duration is None and interval.time.end is None and interval.memory.start_rss > 0
        equal(len(p), 1, "length inside")
    assert interval.time.duration > 0 and interval.memory.diff_rss is not None
    equal(section.interval, interval, "the section's interval")
    equal(section.name, "x", "name")
    assert section.profiler is p


def test_ended_in_another_order(folder):
    p = Profiler(measure="time")
    a, b, c = p("a"), p("b"), p("c")
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    with p("x"):
        pass
    c.__enter__()
    b.__exit__(None, None, None)
    with p("y"):
        pass
    c.__exit__(None, None, None)
    c.__exit__(None, None, None)  # twice does nothing
    with p("z"):
        pass
    equal(list(p), ["a", "a:b", "x", "c", "c:y", "z"], "names")
    assert all(r[10] is not None for r in p.rows()), "all ended"


def leave_open(p, name, keep):
    """A generator that holds a section and is not run to its end."""
    def generate():
        with p(name):
            yield 1
            with p("deep in " + name):
                yield 2

    keep.append(generate())
    next(keep[-1])


def test_what_is_left_open_inside_an_ended_section_is_nobodys_parent(folder):
    p, keep = Profiler(measure="time"), []
    with p("x"):
        leave_open(p, "generator", keep)
        with p("in"):
            pass
    with p("y"):
        with p("in"):
            next(keep[0])
        with p("also in"):      # the generator's second section has gone with "in"
            keep.clear()
        with p("last"):
            pass
    with p("x2"):
        p("entered only").__enter__()
        forgotten = p("forgotten")
        forgotten.__enter__()
    with p("z"):
        forgotten.__exit__(None, None, None)
        with p("in"):
            pass
    equal(list(p), ["x", "x:generator", "x:generator:in", "y", "y:in", "y:in:deep in generator", "y:also in", "y:last",
                    "x2", "x2:entered only", "x2:forgotten", "z", "z:in"], "names")
    assert all(r[10] is not None for r in p.rows()), "all ended"
    assert p["x:generator"].time.end > p["y:in"].time.end, "measured to its own end"


def test_an_async_generator_left_by_break(folder):
    p, keep = Profiler(measure="time"), []

    async def numbers():
        with p("numbers"):
            for i in range(10):
                yield i

    async def main():
        with p("x"):
            keep.append(numbers())
            async for _ in keep[0]:
                break
        with p("y"):
            await keep[0].aclose()
            with p("in"):
                pass

    asyncio.run(main())
    equal(list(p), ["x", "x:numbers", "y", "y:in"], "names")


def test_what_is_left_open_across_two_profilers(folder):
    p, q, keep = Profiler(measure="time"), Profiler(measure="time"), []
    with q("q1"):
        with p("p1"):
            inside = q("q2")
            inside.__enter__()
            leave_open(p, "left", keep)
        with p("p2"), q("q3"):      # p1 has ended: p's are set aside, q's are not
            pass
        inside.__exit__(None, None, None)
        with p("p3"), q("q4"):
            keep.clear()
    with q("q5"), p("p4"):
        pass
    equal(list(p), ["p1", "p1:left", "p2", "p3", "p4"], "names of p")
    equal(list(q), ["q1", "q1:q2", "q1:q2:q3", "q1:q4", "q5"], "names of q")
    assert all(r[10] is not None for r in p.rows() + q.rows()), "all ended"


def test_left_open_and_ended_by_another_thread(folder):
    """Neither those of the thread that ends it are touched, nor those of a task begun inside it."""
    p = Profiler(measure="time")
    outer, inner = p("outer"), p("inner")
    outer.__enter__()
    inner.__enter__()

    def end():
        with p("thread"):
            outer.__exit__(None, None, None)
            with p("in"):
                pass

    def copied():
        with p("copied"):
            outer.__exit__(None, None, None)
            with p("in"):
                pass

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    with p("after"):
        pass
    inner.__exit__(None, None, None)
    outer = p("outer")
    outer.__enter__()
    contextvars.copy_context().run(copied)
    with p("last"):
        pass
    equal(list(p), ["outer", "outer:inner", "thread", "thread:in", "after", "outer:copied", "outer:copied:in", "last"], "names")


def test_sections_left_open_are_let_go(folder):
    """However they are dropped, nothing points at a section that is gone."""
    p, q, keep = Profiler(measure="time"), Profiler(measure="time"), []
    for turn in range(300):
        with p("x"):
            with q("q"):
                leave_open(p, "a", keep)
                leave_open(q, "b", keep)
                leave_open(p, "c", keep)
            if turn % 3 == 0:
                keep.pop(turn % 2)
        if turn % 7 == 0:
            keep.clear()
            gc.collect()
        with p("y"), q("z"):
            pass
    keep.clear()
    equal(set(p), {"x", "x:a", "x:a:c", "y"}, "names of p")
    assert all(r[10] is not None for r in p.rows() + q.rows()), "all ended"


def test_one_object_entered_again(folder):
    p = Profiler(measure="time")
    s = p("s")
    for _ in range(2):
        with s:
            pass
    with s:
        with s:
            with s:
                pass
            with p("x"):
                pass
    with p("after"):
        pass
    equal(list(p), ["s", "s:s", "s:s:s", "s:s:x", "after"], "names")
    equal(len(p.all("s")), 3, "of s")
    assert all(r[10] is not None for r in p.rows()), "all ended"


def test_an_object_entered_again_inside_what_began_in_it(folder):
    p = Profiler(measure="time")
    a, b = p("a"), p("b")
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    a.__enter__()               # b began in it, and is open, but around nothing any more
    a.__exit__(None, None, None)
    b.__exit__(None, None, None)
    with p("after"):
        pass
    equal(list(p), ["a", "a:b", "after"], "names")
    equal(len(p.all("a")), 2, "entries")
    assert a.interval.time.start >= p["a:b"].time.start, "the interval is that of the last entry"
    around, inner = p("around"), p("inner")
    count = sys.getrefcount(around)
    with around:
        for _ in range(50):
            with inner:
                pass
    between(sys.getrefcount(around), count, count + 2, "references to a section around others")


def test_a_generator_may_hold_a_section(folder):
    p = Profiler(measure="time")

    def generate():
        with p("generator"):
            yield 1
            yield 2

    def leave():
        g = generate()
        next(g)

    for _ in generate():
        with p("body"):
            pass
    g = generate()
    next(g)
    with p("while open"):
        g.close()
    with p("after"):
        pass
    leave()
    with p("dropped"):
        pass
    equal(list(p), ["generator", "generator:body", "generator:while open", "after", "dropped"], "names")
    assert all(r[10] is not None for r in p.rows()), "all ended"


def test_decorator(folder):
    p = Profiler(measure="time")

    @p("f")
    def fact(n):
        """n!"""
        return n * fact(n - 1) if n else 1

    @p("g", time_kind="cpu")
    async def pause():
        await asyncio.sleep(0.01)
        return 7

    equal((fact(3), fact.__name__, fact.__doc__), (6, "fact", "n!"), "function")
    equal(list(p), ["f", "f:f", "f:f:f", "f:f:f:f"], "names")
    equal(asyncio.run(pause()), 7, "coroutine")
    equal(str(p["g"].time.kind), "cpu", "kind")


def test_deep_nesting(folder):
    p = Profiler(measure="time")
    opened = []
    for i in range(30000):
        opened.append(p("f"))
        opened[-1].__enter__()
    equal(len(p.rows()), 30000, "rows")
    equal(len(p), 1024, "different paths: names are joined to a depth of 1024")
    while len(opened) > 20000:
        opened.pop().__exit__(None, None, None)
    del opened  # the rest is never ended: dropping it must not use up the stack
    gc.collect()
    context = contextvars.Context()
    context.run(lambda: [p("g").__enter__() for _ in range(30000)])
    del context
    gc.collect()


def test_names_of_any_kind(folder):
    class Name(str):
        def __eq__(self, other):
            raise RuntimeError("user code was run")

        __hash__ = __str__ = __eq__

    names = ["", " ", "a:b", "ünïcödé ☃ 日本", "\x1b[31mred\x1b[0m", "\u202eevil", "\0", "lone \ud800 half", "<script>", "=cmd()", "x" * 100000]
    p = Profiler(measure="time")
    for name in names:
        with p(name):
            pass
    equal(list(p), names, "names")
    for name in names:
        assert name in p and p[name].time.duration >= 0
    equal(pickle.loads(pickle.dumps(p)), p, "after a pickle")
    with p(Name("special")):
        pass
    assert type(list(p)[-1]) is str and "special" in p
    for bad in (None, 3, b"bytes", ("a",), object()):
        raises(TypeError, p, bad)
        raises(TypeError, p.each, [], bad)
    raises(TypeError, p)
    raises(TypeError, p, "a", "B", "wall", "more")
    raises(TypeError, p, "a", name="a")
    raises(TypeError, p, "a", colour="red")


# ---- threads, tasks, processes


def test_threads_do_not_cross(folder):
    p = Profiler(measure="time")
    n, turns = 8, 200
    start = threading.Barrier(n)

    def work(i):
        start.wait()
        for _ in range(turns):
            with p("t%d" % i):
                with p("in"):
                    time.sleep(0)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    with p("main"):
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    equal(set(p), {"main"} | {"t%d" % i for i in range(n)} | {"t%d:in" % i for i in range(n)}, "names")
    assert all(len(p.all("t%d:in" % i)) == turns for i in range(n))


def test_a_section_ended_by_another_thread(folder):
    p = Profiler()
    for kind in ("wall", "cpu", "process"):
        s = p(kind, time_kind=kind)
        s.__enter__()
        t = threading.Thread(target=s.__exit__, args=(None, None, None))
        t.start()
        t.join()
        with p("after " + kind):
            pass
    equal(list(p), ["wall", "after wall", "cpu", "after cpu", "process", "after process"], "names")
    assert p["wall"].time.duration > 0 and p["process"].time.duration > 0
    equal(p["cpu"].time.duration, None, "CPU time begun on another thread")


def test_tasks_do_not_cross(folder):
    p = Profiler(measure="time")

    async def work(i):
        with p("task%d" % i):
            for k in range(3):
                await asyncio.sleep(0.001 * ((i * 7 + k * 3) % 5))
                with p("step"):
                    await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(work(i) for i in range(10)))
        with p("main"):
            await asyncio.gather(*(work(i) for i in range(3)))

    asyncio.run(main())
    wanted = {"task%d" % i for i in range(10)} | {"task%d:step" % i for i in range(10)} | {"main"}
    wanted |= {"main:task%d" % i for i in range(3)} | {"main:task%d:step" % i for i in range(3)}
    equal(set(p), wanted, "names")
    assert all(r[10] is not None for r in p.rows()), "all ended"


def test_a_task_may_outlive_the_section_that_made_it(folder):
    p = Profiler(measure="time")

    async def work(go):
        await go.wait()
        with p("late"):
            pass

    async def main():
        go = asyncio.Event()
        with p("maker"):
            early = asyncio.ensure_future(work(go))
            await asyncio.sleep(0)
        go.set()
        await early
        with p("after"):
            pass

    asyncio.run(main())
    equal(list(p), ["maker", "late", "after"], "names: the maker had ended")


def test_contexts_keep_their_own(folder):
    p = Profiler(measure="time")
    inner = contextvars.copy_context()
    held = p("held")
    inner.run(held.__enter__)
    with p("outside"):
        inner.run(lambda: p("a").__enter__().__exit__(None, None, None))
    held.__exit__(None, None, None)
    inner.run(lambda: p("b").__enter__().__exit__(None, None, None))
    equal(list(p), ["held", "outside", "held:a", "b"], "names")


def test_fork_inside_a_section(folder):
    p = Profiler()
    read, write_end = os.pipe()
    with p("outer"):
        with p("cpu", time_kind="cpu"):
            child = os.fork()
            if child == 0:
                try:
                    with p("child"):
                        kept = bytearray(b"x") * (32 * MIB)
                    p("left")
                    os.write(write_end, pickle.dumps((p["outer:cpu:child"].memory.diff_rss, len(kept))))
                finally:
                    os._exit(0)
            equal(os.waitpid(child, 0)[1], 0, "status of the child")
    os.close(write_end)
    with os.fdopen(read, "rb") as f:
        grown, _ = pickle.loads(f.read())
    between(grown, 30 * MIB, 36 * MIB, "memory of the child's own section")
    equal(list(p), ["outer", "outer:cpu"], "names in the parent")


def test_a_section_begun_before_a_fork_has_no_cpu_time_in_the_child(folder):
    p = Profiler()
    read, write_end = os.pipe()
    spin(0.02)
    wall, cpu, process = p("wall"), p("cpu", time_kind="cpu"), p("process", time_kind="process")
    for s in (wall, cpu, process):
        s.__enter__()
    child = os.fork()
    if child == 0:
        try:
            for s in (process, cpu, wall):
                s.__exit__(None, None, None)
            os.write(write_end, pickle.dumps([s.interval.time.duration for s in (wall, cpu, process)]))
        finally:
            os._exit(0)
    for s in (process, cpu, wall):
        s.__exit__(None, None, None)
    equal(os.waitpid(child, 0)[1], 0, "status of the child")
    os.close(write_end)
    with os.fdopen(read, "rb") as f:
        told = pickle.loads(f.read())
    assert told[0] > 0 and told[1:] == [None, None], told
    assert all(s.interval.time.duration is not None for s in (wall, cpu, process))


def test_spawned_pool(folder):
    """Profilers travel to another process and back, with a trial."""
    program = write(folder, "trials.py", """
import multiprocessing, sys
from sonde import Profiler

class Trial:
    def __init__(self, name):
        self.name, self.profiler = name, Profiler(memory_unit="MB")

def work(trial):
    with trial.profiler("fit"):
        with trial.profiler("score"):
            pass
    return trial

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            for t in pool.map(work, [Trial("a"), Trial("b")]):
                print(method, t.name, list(t.profiler), str(t.profiler["fit"].memory.unit))
""")
    result = run([PYTHON, program], cwd=folder)
    equal(result.status, 0, "exit status (%s)" % result.err)
    equal(result.out.splitlines(), ["%s %s ['fit', 'fit:score'] megabytes" % (m, t) for m in ("fork", "spawn", "forkserver") for t in "ab"], "output")


def test_descriptors_closed_by_the_program(folder):
    """A program that closes every descriptor, and opens its own under their numbers, is measured and left alone."""
    program = write(folder, "p.py", """
import os
from sonde import Profiler
p = Profiler()
with p("warm"):
    pass
with p("outer"):
    os.closerange(3, 256)
    mine = [os.open("mine", os.O_RDWR | os.O_CREAT) for _ in range(20)]
    with p("inner"):
        kept = bytearray(b"x") * (32 << 20)
m = p["outer:inner"].memory
assert 30 << 20 <= m.diff_rss <= 36 << 20 and m.peak_rss >= m.end_rss, m
assert p["outer:inner"].io.written is not None
assert os.fstat(mine[0]).st_size == 0
""")
    result = run([PYTHON, program], cwd=folder)
    equal((result.status, result.err), (0, ""), "exit status and stderr")


def test_sections_reach_the_capture(folder):
    program = write(folder, "p.py", """
import asyncio, sonde
from sonde import Profiler
p = Profiler()
def turn():
    with p("turn"):
        pass
with p("outer"):
    for _ in range(1000):
        turn()
    with sonde.section("plain"):
        pass
async def work():
    with p("task"):
        await asyncio.sleep(0.01)
async def main():
    await asyncio.gather(*(work() for _ in range(5)))
asyncio.run(main())
try:
    with p("raised"):
        raise KeyError
except KeyError:
    pass
assert sonde.is_recording()
print(len(p.rows()))
""")
    result, path = sonde_run(folder, program)
    equal((result.status, result.out), (0, "1007\n"), "status and output (%s)" % result.err)
    c = Capture(path)
    equal({r["section"]: r["count"] for r in c.sections()}, {"outer": 1, "outer:turn": 1000, "plain": 1, "task": 5, "raised": 1}, "sections")
    equal(c.lost(), 0, "lost")


# ---- each


def test_each(folder):
    p = Profiler()
    began = time.monotonic()
    equal([x for x in p.each([0.01, 0.02, 0.03], name="loop", itr_name="item") if not time.sleep(x)], [0.01, 0.02, 0.03], "items")
    equal(list(p), ["loop", "loop:item_0", "loop:item_1", "loop:item_2"], "names")
    parts = [p["loop:item_%d" % i].time.duration for i in range(3)]
    whole = time.monotonic() - began        # a busy machine makes all of them longer
    for got, wanted in zip(parts, (0.01, 0.02, 0.03)):
        between(got, wanted, whole, "a turn")
    between(p["loop"].time.duration, sum(parts), whole, "the loop")
    for x in p.each("ab", name="named", itr_name=lambda i, item: "%s%d" % (item, i)):
        with p("body"):
            pass
    for n in ("named:a0", "named:b1", "named:a0:body"):
        assert n in p, list(p)
    list(p.each(iter(()), name="empty"))
    assert "empty" in p and "empty:0" not in p


def test_each_left_early(folder):
    p = Profiler(measure="time")

    def returns():
        for x in p.each(range(10), name="return"):
            if x == 1:
                return

    for x in p.each(range(10), name="break"):
        if x == 2:
            break
    returns()
    try:
        for x in p.each(range(10), name="raise"):
            1 / x
    except ZeroDivisionError:
        pass
    e = p.each(range(10), name="close")
    next(e)
    e.close()
    equal(list(e), [], "after close")
    p.each(range(3), name="unused")
    with p("after"):
        pass
    equal([n for n in p if ":" not in n], ["break", "return", "raise", "close", "after"], "names")
    assert all(r[10] is not None for r in p.rows()), "all ended: %r" % p.rows()


def test_each_passes_on_what_its_parts_raise(folder):
    p = Profiler(measure="time")

    def items():
        yield 1
        raise LookupError("mine")

    def name(i, item):
        raise ArithmeticError("mine")

    raises(LookupError, list, p.each(items(), name="items"))
    raises(ArithmeticError, list, p.each([1], name="name", itr_name=name))
    raises(TypeError, list, p.each([1], name="not str", itr_name=lambda i, x: 3))
    raises(TypeError, list, p.each(3, name="no iterable"))
    with p("after"):
        pass
    assert "after" in p and all(r[10] is not None for r in p.rows()), list(p)


def test_sections_of_a_finalizer_while_the_table_is_made(folder):
    """Making a list may collect garbage, whose __del__ may open sections of the same Profiler."""
    p = Profiler(measure="time")

    class Late(object):
        def __init__(self):
            self.me = self

        def __del__(self):
            for i in range(1000):
                with p("late%d" % (i % 50)):
                    pass

    for make in (p._columns, p.rows, lambda: pickle.loads(pickle.dumps(p)).rows()):
        for free in ([], {}):
            gc.disable()
            Late()
            held = [[] for _ in range(300)], [tuple(range(60))]    # lists to come are new ones
            spare = [type(free)() for _ in range(50)]
            del spare
            gc.enable()
            before = gc.get_threshold()
            gc.set_threshold(1, 0, 0)
            try:
                made = make()
            finally:
                gc.set_threshold(*before)
            del held
        assert made
    names, columns = p._columns()
    equal({len(c) // 8 if isinstance(c, bytes) else len(c) for c in columns.values()}, {len(names)}, "lengths")


# ---- switching off


def test_disabled(folder):
    p = Profiler(disabled=True)
    with p("x") as s:
        equal(s.interval, None, "interval")
    equal(list(p.each(range(3), name="loop")), [0, 1, 2], "items")
    equal((len(p), p.disabled), (0, True), "nothing")
    p.enable()
    for i in p.each(range(4), name="loop"):
        if i == 1:
            p.disable()
        if i == 2:
            p.enable()
    equal(list(p), ["loop", "loop:0", "loop:1", "loop:3"], "switched inside a loop")
    s = p("held")
    with s:
        p.disable()
        with p("unseen"):
            pass
    p.disabled = False
    with p("seen"):
        pass
    equal(list(p)[-2:], ["held", "seen"], "names")
    assert p["held"].time.duration > 0


# ---- as a mapping, a table, a pickle


def test_mapping(folder):
    from collections.abc import Mapping
    p = Profiler()
    with p("a"):
        with p("b"):
            pass
    assert isinstance(p, Mapping)
    equal(list(p.keys()), ["a", "a:b"], "keys")
    equal([k for k, _ in p.items()], ["a", "a:b"], "items")
    equal(list(p.values())[0], p["a"], "values")
    equal((p.get("a"), p.get("z"), p.get("z", 1)), (p["a"], None, 1), "get")
    equal(raises(KeyError, lambda: p["z"]).args, ("z",), "KeyError")
    raises(KeyError, lambda: p[3])
    assert 3 not in p and "a" in p
    assert p == dict(p) and p != {} and p.profiles == dict(p)
    assert not (p == 3) and p != Profiler() and Profiler() == Profiler()
    raises(TypeError, hash, p)
    q = Profiler(p.profiles)
    equal(q, p, "made from its profiles")
    raises(TypeError, Profiler, {"a": 3})
    assert "2 names" in repr(p) and "a" in repr(p["a"].to_dict())


def test_pickle_and_copy(folder):
    class Mine(Profiler):
        pass

    globals()["Mine"] = Mine
    Mine.__qualname__ = "Mine"
    p = Profiler(memory_unit="GB", time_kind="process", measure=("time", "memory", "pss"))
    with p("a"):
        for _ in p.each(range(3), name="l"):
            pass
    p.disable()
    for q in [pickle.loads(pickle.dumps(p, n)) for n in range(pickle.HIGHEST_PROTOCOL + 1)] + [copy.copy(p), copy.deepcopy(p)]:
        equal((q, q.rows(), q.measures, q.disabled, q.memory_unit, q.time_kind),
              (p, p.rows(), p.measures, True, "GB", "process"), "a copy")
        q.enable()
        with q("more"):
            pass
        assert "more" in q and "more" not in p
    m = Mine()
    m.extra = [1]
    with m("x"):
        pass
    n = pickle.loads(pickle.dumps(m))
    equal((type(n), n.extra, n), (Mine, [1], m), "a subclass")
    for part in (p["a"], p["a"].time, p["a"].memory, p["a"].io, p["a"].network):
        equal(pickle.loads(pickle.dumps(part)), part, "a part")


def test_damaged_pickles(folder):
    p = Profiler(measure=("time", "io"))
    with p("a"):
        with p("b"):
            pass
    _, _, state = p.__reduce__()[:3]
    for i, wrong in [(0, 9), (2, "XB"), (3, "zz"), (6, (1, 2)), (6, (b"a", b"a")), (6, (b"a",)), (7, state[7][:-1]), (7, b"\xff" * len(state[7])), (7, b"x")]:
        damaged = state[:i] + (wrong,) + state[i + 1:]
        raises(ValueError, Profiler.__new__(Profiler).__setstate__, damaged)
    raises((ValueError, TypeError), Profiler.__new__(Profiler).__setstate__, ())
    raises(ValueError, p.__setstate__, state)


def test_rows(folder):
    p = Profiler()
    with p("a"):
        pass
    row = p.rows()[0]
    facts = p["a"].to_dict()
    equal(type(row), tuple, "type")
    equal(list(facts), TWELVE + MORE, "order of columns")
    equal(row[1:], tuple(str(v) if isinstance(v, str) else v for v in facts.values()), "row")
    equal(row[7:8] + row[11:13], ("bytes", "wall", "seconds"), "words")
    equal(list(p["a"].to_dict(prefix="z"))[0], "z:memory:start_vms", "prefix of an interval")
    equal(list(p["a"].time.to_dict(prefix="z"))[0], "zstart", "prefix of a part")
    equal(facts["memory:end_rss"] - facts["memory:start_rss"], facts["memory:diff_rss"], "difference")


def has_pandas():
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def test_data_frame(folder):
    need(has_pandas(), "no pandas")
    p = Profiler()
    for _ in range(2):
        with p("a"):
            pass
    with p("b"):
        df = p.df()
    equal(list(df.columns), TWELVE + MORE, "columns")
    equal(list(df.index), ["a", "a", "b"], "index")
    for column in df.columns:
        if not column.endswith((":unit", ":kind")):
            equal(str(df[column].dtype), "float64", "type of %s" % column)
    assert df["time:duration"].isna().tolist() == [False, False, True]
    df.loc["a", "time:duration"] = 0.0  # the frame is the user's own
    assert p["a"].time.duration > 0
    empty = Profiler().df()
    equal((len(empty), list(empty.columns)), (0, TWELVE + MORE), "an empty one")
    only = Profiler(measure="time")
    with only("x"):
        pass
    assert only.df()["memory:start_rss"].isna().all()


def test_data_frame_without_pandas(folder):
    error = run([PYTHON, "-S", "-c", "from sonde import Profiler\nProfiler().df()"]).err.splitlines()[-1]
    assert error.startswith("ImportError: df() needs pandas"), error


def test_rich(folder):
    try:
        import rich.console
    except ImportError:
        need(False, "no rich")
    p = Profiler()
    with p("loading"):
        pass
    console = rich.console.Console(width=400, record=True, file=open(os.devnull, "w"))
    console.print(p)
    assert "loading" in console.export_text()


def arrow_profiler():
    p = Profiler(measure=("time", "memory", "io"))
    for i in p.each(range(20), name="loop"):
        with p("lone \ud800 half"):
            pass
    return p


def test_arrow_through_pyarrow(folder):
    try:
        import pyarrow
    except ImportError:
        need(False, "no pyarrow")
    need(hasattr(pyarrow.RecordBatchReader, "from_stream"), "pyarrow is older than the stream interface")
    p = arrow_profiler()
    table = pyarrow.table(p)
    table.validate(full=True)
    equal(table.column_names, ["name"] + TWELVE + MORE, "columns")
    rows = [tuple(v.replace("\ufffd", "\ud800") if isinstance(v, str) else v for v in r.values()) for r in table.to_pylist()]
    equal(rows, p.rows(), "rows")
    empty = pyarrow.table(Profiler())
    equal((empty.num_rows, empty.column_names), (0, ["name"] + TWELVE + MORE), "an empty one")
    child = table.column("time:duration")
    del table, p
    gc.collect()
    assert child[0].as_py() > 0
    capsule = arrow_profiler().__arrow_c_stream__()
    del capsule  # never used


def test_arrow_capsules(folder):
    p = arrow_profiler()
    assert "arrow_array_stream" in repr(p.__arrow_c_stream__())
    assert "arrow_array_stream" in repr(p.__arrow_c_stream__(requested_schema=None))
    assert "arrow_schema" in repr(p.__arrow_c_schema__())


# ---- a good guest


def test_import_changes_nothing(folder):
    code = ("import sys\nbefore = set(sys.modules)\nthreads = len(__import__('os').listdir('/proc/self/task'))\n"
            "import os, sonde\nprint(sorted(set(sys.modules) - before - {'os'}))\n"
            "print(len(os.listdir('/proc/self/task')) - threads, sonde.is_recording(), os.listdir('.'))\n"
            "p = sonde.Profiler()\nwith p('x'): pass\nprint(len(os.listdir('/proc/self/task')) - threads, os.listdir('.'))\n")
    result = run([PYTHON, "-c", code], cwd=folder)
    equal((result.status, result.err), (0, ""), "status and stderr")
    equal(result.out.splitlines(), ["['sonde', 'sonde._sonde']", "0 False []", "0 []"], "what import brought")


def test_no_memory_of_python(folder):
    """The nth allocation of Python fails: the section is lost and counted, the program sees nothing of it."""
    try:
        from _testcapi import remove_mem_hooks, set_nomemory
    except ImportError:
        need(False, "no _testcapi")
    p = Profiler()
    names = ["n%d" % i for i in range(3000)]
    lost = 0
    for k in range(1, 60):
        s = t = None
        name, deep = names[2 * k], names[2 * k + 1]
        set_nomemory(1, k)
        try:
            s = p(name)
            s.__enter__()
            t = p(deep, time_kind="cpu")
            t.__enter__()
            t.__exit__(None, None, None)
            s.__exit__(None, None, None)
            failed = None
        except BaseException as error:
            failed = error
        finally:
            remove_mem_hooks()
        # The interpreter's own call machinery may fail too: then it is before or after our code.
        assert failed is None or isinstance(failed, MemoryError), failed
        lost = max(lost, p.lost)
        del s, t
        with p("still works"):
            pass
        assert p["still works"].time.duration is not None
    gc.collect()
    with p("after"):
        with p("inner"):
            pass
    assert "after:inner" in p, list(p)[-5:]


def slope(work, turns):
    """What is left behind by each turn, in bytes, after a while of getting warm."""
    def rss():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(turns):
        work()
    gc.collect()
    before = rss()
    for _ in range(2 * turns):
        work()
    gc.collect()
    return (rss() - before) / (2 * turns)


def test_nothing_leaks(folder):
    p = Profiler()
    with p("a"):
        pass

    def section():
        q = Profiler(measure="time")
        with q("a"):
            with q("b"):
                pass
        q.rows(), list(q), q["a"].to_dict(), q["a"].time, repr(q["a"])

    def broken():
        q = Profiler(measure="time")
        try:
            with q("a"):
                raise KeyError
        except KeyError:
            pass
        q("never entered")
        q("never left").__enter__()
        list(q.each(range(3), name="l"))
        next(q.each(range(3), name="m"))

    def travel():
        copy.deepcopy(p)
        p.__arrow_c_stream__(), p.__arrow_c_schema__(), p._columns(), p.all("a")

    def task():
        contextvars.copy_context().run(section)

    for work in (section, broken, travel, task):
        between(slope(work, 1500), -200, 60, "bytes left behind by each turn of %s" % work.__name__)


def test_objects_die(folder):
    p = Profiler()
    with p("a"):
        pass
    interval, gone = p["a"], weakref.ref(p)
    del p
    assert gone() is not None and interval.time.duration > 0
    del interval
    gc.collect()
    assert gone() is None

    class Cycle(Profiler):
        pass

    c = Cycle()
    c.me, c.section = c, c("x")
    c.section.__enter__()
    gone = weakref.ref(c)
    context_free = contextvars.Context()
    context_free.run(lambda: None)
    c.section.__exit__(None, None, None)
    del c
    gc.collect()
    assert gone() is None


def test_types_cannot_be_made_empty(folder):
    p = Profiler()
    for thing in (p("x"), p.each([], "n"), Profiler(disabled=True)("x")):
        raises(TypeError, type(thing))
        raises(TypeError, object.__new__, type(thing))
        raises(TypeError, copy.copy, thing)
    raises(TypeError, sonde.Interval)
    raises(TypeError, sonde.Interval, memory=1, time=2)


def test_evil_finalizers(folder):
    """Sections opened by __del__ in the middle of ours, by the collector or by a dropped object."""
    p = Profiler(measure="time")

    class Evil:
        def __init__(self):
            self.me = self

        def __del__(self):
            with p("evil"):
                pass

    old = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(300):
            Evil()
            with p("a"):
                Evil()
                with p("b%d" % i):
                    pass
    finally:
        gc.set_threshold(*old)
    gc.collect()
    names = {n.rsplit(":", 1)[-1] for n in p}
    assert names <= {"a", "evil"} | {"b%d" % i for i in range(300)}, names
    assert all(r[10] is not None for r in p.rows()), "all ended"


def test_subinterpreters(folder):
    """Each has its own types and nesting; none takes the process down."""
    program = write(folder, "p.py", """
import sys
try:
    import _xxsubinterpreters as sub
except ImportError:
    try:
        import _interpreters as sub
    except ImportError:
        print("none"); sys.exit()
from sonde import Profiler
code = '''
try:
    from sonde import Profiler
except ImportError as why:
    pass
else:
    p = Profiler()
    with p("a"):
        with p("b"):
            pass
    assert list(p) == ["a", "a:b"]
    held = p("held").__enter__()
'''
p = Profiler()
for _ in range(5):
    with p("x"):
        i = sub.create()
        sub.run_string(i, code)
        sub.destroy(i)
with p("after"):
    pass
print(list(p))
""")
    result = run([PYTHON, program], cwd=folder)
    need(result.out != "none\n", "this Python has no module for them")
    equal((result.status, result.out), (0, "['x', 'after']\n"), "status and output (%s)" % result.err[-300:])


def test_at_exit(folder):
    """Open sections, daemon threads and late finalizers do not disturb the end."""
    program = write(folder, "p.py", """
import atexit, sys, threading, time
from sonde import Profiler
p = Profiler()
def forever():
    while True:
        with p("daemon"):
            pass
threading.Thread(target=forever, daemon=True).start()
class Late:
    def __del__(self):
        try:
            with p("late"):
                pass
        except TypeError:
            pass
sys.late = Late()
keep = p("open").__enter__()
each = p.each(range(3), name="each"); next(each)
atexit.register(lambda: p("atexit").__enter__())
time.sleep(0.05)
sys.exit(7)
""")
    for env in (clean_env(), clean_env(SONDE_OUT=os.path.join(folder, "own.sonde"))):
        start = time.monotonic()
        result = run([PYTHON, program], cwd=folder, env=env)
        equal((result.status, result.out, result.err), (7, "", ""), "status, stdout, stderr")
        between(time.monotonic() - start, 0, 10, "seconds")
    c = Capture(os.path.join(folder, "own.sonde"))
    equal((c.count("open"), c.count("open:each")), (1, 1), "open sections in the capture")


def test_own_capture(folder):
    path = os.path.join(folder, "own.sonde")
    program = write(folder, "p.py", """
import sonde, sys
p = sonde.Profiler()
with p("before"):
    pass
sonde.start(sys.argv[1])
with p("inside"):
    pass
try:
    sonde.start(sys.argv[1] + "2")
except FileExistsError as why:
    assert "already" in str(why), why
else:
    sys.exit("no error")
sonde.stop()
sonde.stop()
with p("after"):
    pass
try:
    sonde.start(sys.argv[1])
except FileExistsError as why:
    assert "already exists; choose another name or remove it" in str(why), why
else:
    sys.exit("no error")
try:
    sonde.start("/nowhere/at/all.sonde")
except FileNotFoundError:
    pass
assert not sonde.is_recording()
""")
    result = run([PYTHON, program, path], cwd=folder)
    equal((result.status, result.out, result.err), (0, "", ""), "status, stdout, stderr")
    c = Capture(path)
    equal([r["section"] for r in c.sections()], ["inside"], "sections")
    equal(os.path.exists(path + ".live"), False, "a live folder is left")


def test_python_m_sonde(folder):
    result = run([PYTHON, "-m", "sonde", "--version"])
    equal((result.status, result.out.split()[-1]), (0, sonde.__version__), "version (%s)" % result.err)


def test_collectors(folder):
    told = {c["name"]: c for c in sonde.collectors()}
    assert {"rss", "sections"} <= set(told) and told["sections"]["blind_to"] and "measure" in told["sections"]["options"]


def test_import_without_an_extension(folder):
    """A Python without its extension is told what to do."""
    import shutil
    package = os.path.join(folder, "sonde")
    shutil.copytree(os.path.join(PACKAGE_PATH, "sonde"), package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    result = subprocess.run([PYTHON, "-c", "import sonde"], cwd=folder, env=clean_env(PYTHONPATH=folder), stderr=subprocess.PIPE)
    last = result.stderr.decode().splitlines()[-1]
    assert result.returncode == 1 and last.startswith("ImportError: sonde has no extension for this Python"), last
    assert last.endswith("while this Python is on PATH"), last
    for pretence, wanted in (("sys.version_info = (3, 16)", "it supports CPython 3.8 to 3.15"),
                             ("sys._is_gil_enabled = lambda: False", "it does not support free-threaded builds yet")):
        result = subprocess.run([PYTHON, "-c", "import sys; %s; import sonde" % pretence], cwd=folder, env=clean_env(PYTHONPATH=folder),
                                stderr=subprocess.PIPE)
        last = result.stderr.decode().splitlines()[-1]
        assert result.returncode == 1 and last.endswith(wanted + "; `sonde record` measures from outside what it can"), last


run_tests(globals())
