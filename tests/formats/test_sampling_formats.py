# SPDX-License-Identifier: MIT
"""Samples in the formats of other tools: known stacks go in, and readers that are not ours agree on them.

The capture is made by hand (made.py): 30 samples in f, 10 in a <listcomp> below it, 5 in one called
directly, by two threads, one of which was idle for 10 samples more; names that formats break on.
"""
import collections
import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import helpers  # noqa: E402
import made  # noqa: E402

MS = 10 ** 6
HOSTILE = "esc\x1b[2J;semi\nline</script>\u202e\u65e5\udcff"


def capture(folder):
    c = made.Capture()
    process = c.track(made.PROCESS, 7, "python")
    main = c.track(made.THREAD, 7, "MainThread", process)
    other = c.track(made.THREAD, 8, HOSTILE, process)
    module, f = c.function("<module>", "/x/app.py", 1), c.function("f", "/x/app.py", 10)
    comp, bad = c.function("<listcomp>", "/x/app.py", 12), c.function(HOSTILE, "/x/" + HOSTILE, 3)
    for i in range(30):
        c.sample(main, c.stack((module, 3), (f, 11)), 10 * MS * (i + 1), 1, made.GIL, cpu=9 * MS)
    for i in range(10):
        c.sample(main, c.stack((module, 4), (f, 13), (comp, 12)), 10 * MS * (i + 31))
    c.sample(other, c.stack((module, 5)), 100 * MS, 10, made.IDLE)
    c.sample(other, c.stack((module, 5), (comp, 12)), 150 * MS, 5)
    c.sample(other, c.stack((module, 5), (bad, 4)), 160 * MS, 1)
    return c.save(os.path.join(folder, "x.sonde"))


def converted(folder, suffix):
    target = os.path.join(folder, "out" + suffix)
    done = helpers.run([helpers.SONDE, "convert", capture(folder), target])
    helpers.equal(done.status, 0, "status")
    with open(target, "rb") as f:
        return f.read()


def test_collapsed_has_every_stack_on_one_line(folder):
    lines = converted(folder, ".collapsed").decode("utf-8").splitlines()
    stacks = dict(line.rsplit(" ", 1) for line in lines)
    helpers.equal(len(lines), 4, "lines")
    helpers.equal(stacks["<module> (app.py:3);f (app.py:11)"], "30")
    helpers.equal(stacks["<module> (app.py:4);f (app.py:13);<listcomp> (app.py:12)"], "10")
    helpers.equal(stacks["<module> (app.py:5);<listcomp> (app.py:12)"], "5")
    assert not [line for line in lines if "\x1b" in line or "\u202e" in line], "a terminal would obey this"
    helpers.equal(max(line.count(";") for line in lines), 2, "separators in the deepest stack")


def check_speedscope(document):
    """What the schema of speedscope asks for, and py-spy's exact keys."""
    frames = document["shared"]["frames"]
    helpers.equal(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
    for frame in frames:
        helpers.equal(sorted(frame), ["col", "file", "line", "name"], "keys of a frame")
        assert all(frame[key] is not None for key in frame), "a null in %r" % frame
    for profile in document["profiles"]:
        helpers.equal(sorted(profile), ["endValue", "name", "samples", "startValue", "type", "unit", "weights"])
        helpers.equal(len(profile["samples"]), len(profile["weights"]), "weights")
        assert abs(sum(profile["weights"]) - profile["endValue"]) < 1e-6
        assert all(0 <= i < len(frames) for sample in profile["samples"] for i in sample)


def test_speedscope_is_what_py_spy_writes(folder):
    document = json.loads(converted(folder, ".speedscope.json").decode("utf-8"))
    check_speedscope(document)
    frames = document["shared"]["frames"]
    main, other = document["profiles"]
    helpers.equal(main["name"], 'Thread 7 "MainThread"')
    seen = collections.Counter(tuple((frames[i]["name"], frames[i]["line"]) for i in s) for s in main["samples"])
    helpers.equal(seen, {(("<module>", 3), ("f", 11)): 30, (("<module>", 4), ("f", 13), ("<listcomp>", 12)): 10})
    helpers.equal(len(other["samples"]), 6, "samples of the other thread, the idle ones left out")
    assert abs(main["endValue"] - 0.4) < 1e-9


def fields(data):
    """(number, value) of a protobuf message; an int, or the bytes of what is longer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, "wire type %d" % (key & 7)
            n = varint()
            assert at + n <= len(data), "a message ends too early"
            yield key >> 3, data[at:at + n]
            at += n


def numbers(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def read_pprof(data):
    """Types, and (frames from the newest out, values, labels) of every sample."""
    top = list(fields(gzip.decompress(data)))
    strings = [value.decode("utf-8") for number, value in top if number == 6]
    functions = {m[1]: strings[m[2]] for m in (dict(fields(v)) for n, v in top if n == 5)}
    locations = {}
    for message in (dict(fields(v)) for n, v in top if n == 4):
        line = dict(fields(message[4]))
        helpers.equal(message[2], 1, "mapping of a location")
        locations[message[1]] = (functions[line[1]], line[2])
    types = [tuple(strings[i] for _, i in sorted(fields(v))) for n, v in top if n == 1]
    samples = []
    for message in (list(fields(v)) for n, v in top if n == 2):
        parts = dict(message)
        labels = [dict(fields(v)) for n, v in message if n == 3]
        samples.append(([locations[i] for i in numbers(parts[1])], list(numbers(parts[2])),
                        {strings[l[1]]: strings[l[2]] for l in labels}))
    helpers.equal(strings[0], "", "first string")
    return types, samples


def test_pprof_carries_every_metric(folder):
    types, samples = read_pprof(converted(folder, ".pb.gz"))
    helpers.equal(types, [("samples", "count"), ("wall", "nanoseconds"), ("cpu", "nanoseconds")])
    by_leaf = {tuple(stack): (values, labels) for stack, values, labels in samples}
    values, labels = by_leaf[("f", 11), ("<module>", 3)]
    helpers.equal(values, [30, 300 * MS, 270 * MS])
    helpers.equal(labels, {"process": "7", "thread": "MainThread", "thread_id": "7", "state": "holds GIL"})
    helpers.equal(by_leaf[("<listcomp>", 12), ("f", 13), ("<module>", 4)][0], [10, 100 * MS, 0])
    helpers.equal(sum(values[0] for _, values, _ in samples), 46, "samples, the idle ones left out")


helpers.run_tests(globals())
