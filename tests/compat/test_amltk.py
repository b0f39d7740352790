# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.compat.amltk has amltk.profiling's names, arguments and answers; where amltk itself is there, both are asked."""
import math
import os
import pickle
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import MIB, PACKAGE_PATH, between, equal, need, run_tests  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
import sonde  # noqa: E402
from sonde.compat.amltk import Memory, Profile, Profiler, Timer  # noqa: E402

COLUMNS = ["memory:start_vms", "memory:end_vms", "memory:diff_vms", "memory:start_rss", "memory:end_rss", "memory:diff_rss",
           "memory:unit", "time:start", "time:end", "time:duration", "time:kind", "time:unit"]


def raises(kind, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError("%s was not raised" % kind.__name__)


def theirs():
    try:
        import amltk.profiling
    except Exception as why:
        need(False, "amltk is not installed (%s)" % why)
    return amltk.profiling


def test_names(folder):
    import sonde.compat.amltk as module
    equal(sorted(module.__all__), ["Memory", "Profile", "Profiler", "Timer"], "names")
    assert Profiler is sonde.Profiler


def test_documented_sections(folder):
    """The first block of amltk's page on profiling, in plain Python."""
    profiler = Profiler()

    with profiler("loading-data"):
        x = [[float(i * j % 7) for j in range(100)] for i in range(100)]

    with profiler("training-model"):
        model = [sum(row) for row in x]

    with profiler("predicting"):
        sum(model)

    equal(list(profiler), ["loading-data", "training-model", "predicting"], "names")
    equal(list(profiler["loading-data"].to_dict())[:12], COLUMNS, "columns")


def test_documented_loop(folder):
    profiler = Profiler()
    for i in profiler.each(range(3), name="for-loop"):
        [0.0] * 1000
    equal((list(profiler), i), (["for-loop", "for-loop:0", "for-loop:1", "for-loop:2"], 2), "names")


def test_constructor(folder):
    p = Profiler({}, "MB", "cpu", True)
    equal((p.memory_unit, p.time_kind, p.disabled, p.profiles), ("MB", "cpu", True, {}), "as given")
    p = Profiler(profiles={"a": Profile.na()}, memory_unit=Memory.Unit.KILOBYTES, time_kind=Timer.Kind.PROCESS, disabled=False)
    assert p.memory_unit is Memory.Unit.KILOBYTES and p.time_kind is Timer.Kind.PROCESS
    equal(list(p), ["a"], "profiles")
    p.memory_unit, p.time_kind, p.disabled = "GB", "wall", True
    equal((p.memory_unit, p.time_kind, p.disabled), ("GB", "wall", True), "as set")


def test_measure_is_call(folder):
    p = Profiler()
    with p.measure("a", memory_unit="MB", time_kind="process"):
        with p(name="b"):
            pass
    equal(list(p), ["a", "a:b"], "names")
    equal((str(p["a"].memory.unit), str(p["a"].time.kind)), ("megabytes", "process"), "words")


def test_enums(folder):
    equal([str(k) for k in Timer.Kind], ["wall", "cpu", "process"], "kinds")
    equal([repr(u) for u in Memory.Unit], ["bytes", "kilobytes", "megabytes", "gigabytes"], "units")
    equal([str(u) for u in Timer.Unit], ["seconds", "milliseconds", "microseconds", "nanoseconds"], "units of time")
    equal(["%s" % Timer.Kind.WALL, "{0}".format(Timer.Kind.WALL), Timer.Kind.WALL == "wall"], ["wall", "wall", True], "as a str")
    for word in ("B", "b", "bytes", "BYTES", Memory.Unit.BYTES):
        assert Memory.Unit.from_str(word) is Memory.Unit.BYTES, word
    equal([Memory.Unit.from_str(w) for w in ("KB", "mb", "Gb")], ["kilobytes", "megabytes", "gigabytes"], "short names")
    assert Timer.Kind.from_str("CPU") is Timer.Kind.CPU and Timer.Unit.from_str("seconds") is Timer.Unit.SECONDS
    for cls in (Timer.Kind, Timer.Unit, Memory.Unit):
        assert not isinstance(cls.from_str("nothing"), cls) and not isinstance(cls.from_str(3), cls)
        assert pickle.loads(pickle.dumps(list(cls)[0])) is list(cls)[0]


def test_timer(folder):
    for kind in Timer.Kind:
        t = Timer.start(kind)
        assert isinstance(t, Timer) and t.kind is kind and t.start_time >= 0
        interval = t.stop()
        assert isinstance(interval, Timer.Interval) and interval.start == t.start_time
        assert interval.kind is kind and interval.unit is Timer.Unit.SECONDS and 0 <= interval.duration < 10
        assert Timer.start(str(kind)).kind is kind
    with Timer.time("wall") as inside:
        time.sleep(0.02)
    between(inside.duration, 0.02, 10, "duration")          # 20 would be milliseconds
    before = time.time()
    between(Timer.start().start_time, before, before + 60, "start, in seconds since the epoch")
    equal(str(raises(ValueError, Timer.start, "sundial")), "Unknown timer type: sundial", "error")
    raises(ValueError, Timer(1.0, "sundial").stop)
    equal(repr(Timer(1.5, Timer.Kind.WALL)), "Timer(start_time=1.5, kind=wall)", "repr")
    assert Timer(1.5, Timer.Kind.WALL) == Timer(1.5, Timer.Kind.WALL) != Timer(2.5, Timer.Kind.WALL)
    nothing = Timer.na()
    assert math.isnan(nothing.start) and math.isnan(nothing.duration)


def test_memory(folder):
    m = Memory.start("MB")
    kept = bytearray(b"x") * (20 * MIB)
    interval = m.stop()
    assert isinstance(interval, Memory.Interval) and interval.unit is Memory.Unit.MEGABYTES
    between(interval.rss_used, 18, 24, "rss_used")
    between(interval.vms_used, 18, 28, "vms_used")
    with Memory.measure(unit="KB") as inside:
        more = bytearray(b"x") * (20 * MIB)
    between(inside.rss_used, 18 * 1024, 24 * 1024, "in a block")
    equal(inside.to_unit(Memory.Unit.BYTES).rss_used, inside.rss_used * 1024, "in bytes")
    assert Memory.usage() >= Memory.usage("rss") > 40 * MIB - 5 * MIB
    between(Memory.usage("RSS", unit="GB") * 1024, Memory.usage("rss", unit="MB") * 0.9, Memory.usage("rss", unit="MB") * 1.1, "in GB")
    raises(ValueError, Memory.usage, "heap")
    equal([Memory.convert(2048, "B", "KB"), Memory.convert(1, frm="GB", to="MB"), Memory.convert(3, "MB", "MB"),
           Memory.convert(1, frm=Memory.Unit.MEGABYTES, to="B")], [2, 1024, 3, MIB], "converted")
    assert math.isnan(Memory.na().start_vms) and math.isnan(Memory.na().rss_used)
    del kept, more


def test_profile(folder):
    p = Profile.start(memory_unit="MB", time_kind="process")
    assert isinstance(p.timer, Timer) and isinstance(p.memory, Memory)
    interval = p.stop()
    assert isinstance(interval, Profile.Interval) and isinstance(interval.memory, Memory.Interval)
    with Profile.measure(memory_unit="KB", time_kind="cpu") as inside:
        pass
    assert inside.time.duration >= 0 and str(inside.memory.unit) == "kilobytes" and str(inside.time.kind) == "cpu"
    for one in (interval, inside, Profiler({"x": inside})["x"]):
        again = Profile.from_dict(one.to_dict())
        for key, value in one.to_dict().items():
            other = again.to_dict()[key]
            assert other == value, (key, value, other)
        assert abs(Profiler({"x": again})["x"].time.duration - one.time.duration) < 1e-9, "in a Profiler, to the nanosecond"
    na = Profile.na()
    assert math.isnan(na.time.duration) and math.isnan(na.memory.diff_vms)
    kept = Profiler({"na": na})["na"].to_dict()
    equal({k: kept[k] for k in COLUMNS}, dict.fromkeys(COLUMNS), "na in a Profiler")
    equal(pickle.loads(pickle.dumps(Profiler({"na": na})))["na"].to_dict(), kept, "na in a pickle")
    empty = Profile.from_dict({})
    assert math.isnan(empty.time.start) and math.isnan(empty.memory.end_rss)
    equal(list(na.to_dict(prefix="p"))[:12], ["p:" + c for c in COLUMNS], "keys with a prefix")


def test_unknown_words_are_na(folder):
    try:
        import pandas
    except ImportError:
        equal((Timer.na().kind, Memory.na().unit, Timer.Kind.from_str("x")), (None, None, None), "without pandas")
    else:
        assert Timer.na().kind is pandas.NA and Memory.na().unit is pandas.NA and Timer.Kind.from_str("x") is pandas.NA


def test_parts_by_hand(folder):
    t = Timer.Interval(start=1.0, end=3.5, kind=Timer.Kind.CPU, unit=Timer.Unit.SECONDS)
    m = Memory.Interval(start_vms=1.0, start_rss=2.0, end_vms=11.0, end_rss=22.0, unit=Memory.Unit.MEGABYTES)
    i = Profile.Interval(memory=m, time=t)
    equal((t.duration, m.vms_used, m.rss_used, i.time, i.memory), (2.5, 10.0, 20.0, t, m), "figures")
    equal(i, Profile.Interval(m, t), "by position")
    equal(pickle.loads(pickle.dumps(i)), i, "after a pickle")
    equal(Profiler({"x": i})["x"].to_dict()["memory:diff_rss"], 20.0, "in a Profiler")
    raises(TypeError, Timer.Interval, 1.0)
    raises(TypeError, Timer.Interval, 1.0, 2.0, "cpu", "s", colour=3)


def test_beside_amltk(folder):
    """The same program through both: same names, same keys in the same order, same words, figures close."""
    peer = theirs()
    told = []
    for cls in (peer.Profiler, Profiler):
        p = cls(memory_unit="MB")
        with p("outer"):
            time.sleep(0.02)
            with p("inner", time_kind="process", memory_unit="KB"):
                pass
        for x in p.each("ab", name="loop", itr_name="item"):
            pass
        for x in p.each("ab", name="loop", itr_name=lambda i, item: item * 2):
            pass
        told.append({name: p[name].to_dict() for name in p})
    mine = told[1]
    equal(list(mine), list(told[0]), "names")
    for name, facts in told[0].items():
        equal(list(mine[name])[:12], list(facts), "keys of %s" % name)
        for key in ("memory:unit", "time:kind", "time:unit"):
            equal((str(mine[name][key]), repr(mine[name][key])), (str(facts[key]), repr(facts[key])), key)
        between(mine[name]["memory:start_rss"], facts["memory:start_rss"] * 0.8, facts["memory:start_rss"] * 1.2, "rss")
    between(mine["outer"]["time:duration"], 0.02, 10, "duration")
    na, theirs_na = Profile.na().to_dict(), peer.Profile.na().to_dict()
    equal([(k, str(na[k])) for k in theirs_na], [(k, str(v)) for k, v in theirs_na.items()], "na")


def test_data_frame_beside_amltk(folder):
    peer = theirs()
    frames = []
    for cls in (peer.Profiler, Profiler):
        p = cls()
        with p("a"):
            pass
        with p("b"):
            pass
        frames.append(p.df())
    a, b = frames
    equal((list(b.columns)[:12], list(b.index)), (list(a.columns), list(a.index)), "columns and index")
    equal(b["time:kind"].tolist(), [str(k) for k in a["time:kind"]], "kinds")


run_tests(globals())
