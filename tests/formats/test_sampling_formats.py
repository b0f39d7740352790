# SPDX-License-Identifier: MIT
"""Samples in the formats of other tools: known stacks go in, and readers that are not ours agree on them.

The captures are made by hand (made.py), so every number is known.  Programs of each format's own
world read the same ones in test_consumers.py.
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

MS = made.MS


def converted(folder, suffix, capture=made.known):
    target = os.path.join(folder, "out" + suffix)
    done = helpers.run([helpers.SONDE, "convert", "--force", capture(folder), target])
    helpers.equal((done.status, done.err), (0, ""), "status and stderr")
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


def check_nesting(events):
    """Frames of one thread begin and end like brackets, in order of time."""
    open_frames, last = collections.defaultdict(list), collections.defaultdict(float)
    for e in events:
        who = e["pid"], e["tid"]
        if e["ph"] in "BE":
            assert e["ts"] >= last[who], "back in time: %r" % e
            last[who] = e["ts"]
        if e["ph"] == "B":
            open_frames[who].append((e["name"], e["args"], e["ts"]))
        elif e["ph"] == "E":
            name, args, start = open_frames[who].pop()
            helpers.equal((e["name"], e["args"]), (name, args), "what ends")
            yield who, name, e["ts"] - start, len(open_frames[who])
    assert not any(open_frames.values()), "not ended: %r" % open_frames


def test_chrome_trace_has_every_frame_for_its_time(folder):
    events = json.loads(converted(folder, ".trace.json").decode("utf-8"))["traceEvents"]
    spent = collections.Counter()
    for who, name, us, _ in check_nesting(events):
        spent[who, name] += us
    helpers.equal(spent[(7, 7), "<module>"], 400000, "us in <module>")
    helpers.equal(spent[(7, 7), "f"], 400000, "us in f")
    helpers.equal(spent[(7, 7), "<listcomp>"], 100000, "us in <listcomp>")
    helpers.equal(spent[(7, 8), "<listcomp>"], 50000, "us in <listcomp>, the other thread")
    helpers.equal(sum(e["ph"] == "B" for e in events), 5 + 3, "frames that begin")


def test_chrome_trace_carries_all_kinds(folder):
    events = json.loads(converted(folder, ".trace.json", made.mixed).decode("utf-8"))["traceEvents"]
    deepest = max(check_nesting(events), key=lambda one: one[3])
    helpers.equal((deepest[0], deepest[1], deepest[2], deepest[3]), ((9, 9), "recurse", 30000, 2000), "the deepest frame")
    sections = {e["id"]: [e] for e in events if e["ph"] == "b"}
    for e in events:
        if e["ph"] == "e":
            sections[e["id"]].append(e)
    helpers.equal(sorted((a["args"]["path"], a["ts"], b["ts"]) for a, b in sections.values()),
                  [("epoch", 10000, 255000), ("epoch:batch", 10000, 110000), ("epoch:batch", 110000, 250000)])
    helpers.equal([e["args"] for e in events if e["ph"] == "C"], [{"bytes": (10 + i) << 20} for i in range(10)])
    helpers.equal({e["cat"] for e in events if e["name"] == "dgemm"}, {"native"})
    helpers.equal([e["ts"] for e in events if e["name"] == "[partial]"], [160000, 200000], "the cut frame")


def test_firefox_tables_fit_together(folder):
    for capture in (made.known, made.mixed):
        whole = json.loads(converted(folder, ".firefox.json", capture).decode("utf-8"))
        tables = [whole["shared"][name] for name in whole["shared"] if name != "stringArray"]
        tables += [t[name] for t in whole["threads"] for name in ("samples", "markers")]
        for table in tables:
            for key, column in table.items():
                assert not isinstance(column, list) or len(column) == table["length"], key
        stacks, n_strings = whole["shared"]["stackTable"], len(whole["shared"]["stringArray"])
        assert all(p is None or p < i for i, p in enumerate(stacks["prefix"]))
        assert all(i < n_strings for i in whole["shared"]["funcTable"]["name"])
        assert all(s < stacks["length"] for t in whole["threads"] for s in t["samples"]["stack"])
        for thread in whole["threads"]:
            times = thread["samples"]["time"]
            helpers.equal(times, sorted(times), "times of samples")


def test_captures_without_samples_give_files_of_what_else_they_have(folder):
    events = json.loads(converted(folder, ".trace.json", made.memory).decode())["traceEvents"]
    helpers.equal({e["ph"] for e in events}, {"M", "C"}, "kinds of events")
    threads = json.loads(converted(folder, ".firefox.json", made.memory).decode())["threads"]
    helpers.equal([t["samples"]["length"] for t in threads], [0], "samples of the one thread it needs")


def test_captures_without_anything_for_a_format_are_refused(folder):
    for suffix in (".collapsed", ".speedscope.json", ".trace.json", ".firefox.json", ".pb.gz", ".dot", ".pstats", ".svg"):
        target = os.path.join(folder, "empty" + suffix)
        done = helpers.run([helpers.SONDE, "convert", made.empty(folder), target])
        helpers.equal((done.status, os.path.exists(target)), (1, False), "status and file of " + suffix)
        assert "it has no sampled stacks" in done.err and "; record them with: sonde run --with sample" in done.err, done.err
        helpers.equal(done.err.count("\n"), 1, "lines on stderr (%s)" % done.err)


helpers.run_tests(globals())
