# SPDX-License-Identifier: MIT
"""What `sonde convert` and `sonde report` write, read back by parsers that are not ours.

One program with hostile names runs through every output; whatever comes out must parse,
agree with the other outputs, and hold no byte that a terminal or a browser would obey.
"""
import csv
import io
import json
import os
import re
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402

HOSTILE = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "a,b", 'say "hi"', "esc\x1b[2J\x1b]0;x\x07", "line\nbreak",
           "</text><script>alert(1)</script>", "&amp;<b>", "right\u202eleft", "\u65e5\u672c\u8a9e", "tab\there", "W" * 900]

PROGRAM = """
import sys, time
from sonde import Profiler
p = Profiler(measure=("time", "memory"))
names = %r
with p("outer"):
    for name in names:
        with p(name):
            time.sleep(0.002)
kept = bytearray(30 << 20)
time.sleep(0.3)     # some readings of it, on a busy machine too
""" % (HOSTILE,)


def record(folder):
    """The capture of the program above."""
    program = os.path.join(folder, "hostile.py")
    capture = os.path.join(folder, "x.sonde")
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    done = helpers.run([helpers.SONDE, "run", "--with", "rss", "-o", capture, program], cwd=folder)
    helpers.equal(done.status, 0, "status")
    return capture


def sonde(*words):
    done = helpers.run([helpers.SONDE] + list(words))
    assert done.status == 0, "sonde %s: %s" % (" ".join(words), done.err)
    return done


def converted(folder, suffix):
    capture = record(folder)
    target = os.path.join(folder, "out" + suffix)
    sonde("convert", capture, target)
    with open(target, "rb") as f:
        return capture, f.read()


def harmless(data, what):
    """Nothing that a terminal obeys, and UTF-8 throughout."""
    text = data.decode("utf-8")
    bad = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert not bad, "%s holds %r" % (what, bad and bad.group())
    return text


def shown(name):
    """How a name looks where only eyes read it; enough of it to be found."""
    return re.split("[\x00-\x1f\u202e]", name)[0]


def test_csv_parses_and_has_every_event(folder):
    capture, data = converted(folder, ".csv")
    rows = list(csv.DictReader(io.StringIO(harmless(data, "csv"), newline="")))
    spans = [r for r in rows if r["kind"] == "span"]
    helpers.equal(len(spans), len(HOSTILE) + 1, "number of spans")
    for row in rows:
        assert None not in row and None not in row.values(), "a row of another length: %r" % row
        assert float(row["start_s"]) <= float(row["end_s"])
        assert row["name"][:1] not in ("=", "+", "-", "@") or not row["name"], "a formula: %r" % row["name"]
    for name in HOSTILE:
        assert any(shown(name) in r["name"] for r in spans), "no span for %r" % name
    points = [r for r in rows if r["kind"] == "point" and r["rss"]]
    assert len(points) > 3 and max(int(r["rss"]) for r in points) > 30 << 20


def test_json_parses_and_agrees_with_csv(folder):
    capture, data = converted(folder, ".json")
    whole = json.loads(harmless(data, "json"))
    assert b"<script" not in data
    sites = {s["id"]: s for s in whole["sites"]}
    tracks = {t["id"]: t for t in whole["tracks"]}
    spans = [e for e in whole["events"] if e["kind"] == "span"]
    helpers.equal(sorted(sites[e["site"]]["name"] for e in spans), sorted(HOSTILE + ["outer"]), "names of sections")
    for event in whole["events"]:
        assert event["track"] in tracks and all(isinstance(v, int) for v in event["values"].values())
    helpers.equal(whole["health"]["whole"], True, "whole")
    names = {m["name"] for m in whole["metrics"]}
    assert {"rss", "vms", "rss_before", "rss_after"} <= names, names
    target = os.path.join(folder, "again.csv")
    sonde("convert", capture, target)
    with open(target, newline="") as f:
        rows = list(csv.DictReader(f))
    helpers.equal(len(rows), len(whole["events"]), "events in CSV and JSON")
    total = sum(e["to_ns"] - e["from_ns"] for e in spans)
    also = sum(round((float(r["end_s"]) - float(r["start_s"])) * 1e9) for r in rows if r["kind"] == "span")
    helpers.between(also, total - 1000 * len(spans), total + 1000 * len(spans), "time in sections")


def test_tables_parse_and_agree(folder):
    capture = record(folder)
    done = sonde("report", capture, "--json")
    tables = json.loads(harmless(done.out.encode(), "report --json"))
    by_name = {r["section"]: r for r in tables["sections"]}
    for name in HOSTILE:
        row = by_name["outer:" + name]
        helpers.equal(row["count"], 1, "count")
        helpers.between(row["wall"], 2e6, 1e10, "wall of %r" % name)
    inner = sum(r["wall"] for n, r in by_name.items() if n != "outer")
    helpers.between(inner, 2e6 * len(HOSTILE), by_name["outer"]["wall"], "inner sections")
    text = harmless(sonde("report", capture, "-n", "100").out.encode(), "report")
    for name in HOSTILE:
        assert shown(name)[:20] in text, "the table lacks %r" % name
    tree = json.loads(sonde("report", capture, "--tree", "--json").out)["sections"]
    helpers.equal([r["depth"] for r in tree], [0] + [1] * len(HOSTILE), "depths of the tree")
    helpers.equal(tree[0]["own"], tree[0]["wall"] - sum(r["wall"] for r in tree[1:]), "own time of outer")


def test_pictures_are_harmless(folder):
    capture = record(folder)
    for suffix, magic in ((".svg", b"<?xml"), (".png", b"\x89PNG\r\n"), (".jpeg", b"\xff\xd8\xff"), (".pdf", b"%PDF-")):
        target = os.path.join(folder, "plot" + suffix)
        done = helpers.run([helpers.SONDE, "report", capture, "--plot", "-o", target])
        helpers.need("apt install libcairo" not in done.err and "apt install libjpeg" not in done.err, done.err.strip())
        helpers.equal((done.status, done.err), (0, ""), "status and stderr for " + suffix)
        with open(target, "rb") as f:
            data = f.read()
        assert data.startswith(magic), "%s begins with %r" % (suffix, data[:8])
        if suffix == ".svg":
            words = harmless(data, "svg")
            root = xml.etree.ElementTree.fromstring(words)
            kinds = {e.tag.split("}")[-1] for e in root.iter()}
            assert "script" not in kinds and "b" not in kinds, kinds
            assert "resident memory (MiB)" in words and re.search(r"time \(m?s\)", words)
            assert "outer" in words and not any(k.startswith("on") for e in root.iter() for k in e.attrib)


def test_an_empty_capture_gives_empty_outputs(folder):
    program = os.path.join(folder, "empty.py")
    capture = os.path.join(folder, "e.sonde")
    with open(program, "w") as f:
        f.write("import sonde, os\nsonde.start(%r)\nsonde.stop()\n" % capture)
    helpers.equal(helpers.run([helpers.PYTHON, program], cwd=folder).status, 0, "status")
    for suffix in (".csv", ".json"):
        sonde("convert", capture, os.path.join(folder, "e" + suffix))
    with open(os.path.join(folder, "e.json")) as f:
        helpers.equal(json.load(f)["events"], [], "events")
    with open(os.path.join(folder, "e.csv")) as f:
        helpers.equal(len(f.read().splitlines()), 1, "lines of the CSV")
    done = helpers.run([helpers.SONDE, "report", capture, "--plot", "-o", os.path.join(folder, "e.png")])
    assert done.status != 0 and len(done.err.strip().splitlines()) == 1, done.err
    assert not os.path.exists(os.path.join(folder, "e.png"))


STACKS = {"callgrind", "collapsed", "dot", "flamegraph", "graph", "pprof", "pstats", "speedscope"}
OVER_TIME = {"chrometrace", "firefox"}
ALWAYS = {"csv", "html", "json", "txt"}     # at least what is known of the run
WRITTEN = {
    "sample": STACKS | OVER_TIME | ALWAYS,
    "calls": STACKS | OVER_TIME | ALWAYS,
    "lines": ALWAYS | {"lprof"},
    "rss": OVER_TIME | ALWAYS | {"mprof", "plot"},
    "sections": OVER_TIME | ALWAYS,
}
SMALL = """
import sonde
def work():
    end = __import__("time").perf_counter() + 0.2
    while __import__("time").perf_counter() < end:
        pass
with sonde.section("only"):
    work()
"""


def test_every_output_is_written_of_its_evidence_and_refused_without(folder):
    """No file of nothing: the sentence says what is missing and how to record it."""
    listed = sonde("convert", "--list").out.splitlines()
    outputs = [(line.split()[0], line.split()[1]) for line in listed]
    helpers.equal({name for name, _ in outputs}, set.union({"lprof", "mprof", "plot", "pyperf"}, STACKS, OVER_TIME, ALWAYS), "outputs")
    for collector, written in sorted(WRITTEN.items()):
        program = SMALL if collector == "sections" else SMALL.replace("import sonde", "").replace('with sonde.section("only"):', "if True:")
        with open(os.path.join(folder, "small.py"), "w") as f:
            f.write(program)
        capture = os.path.join(folder, collector + ".sonde")
        more = ["--lines-only", "work"] if collector == "lines" else []
        sonde("run", "-q", "--python", helpers.PYTHON, "--with", collector, *more, "-o", capture, os.path.join(folder, "small.py"))
        for name, suffix in outputs:
            target = os.path.join(folder, "%s-%s%s" % (collector, name, suffix))
            done = helpers.run([helpers.SONDE, "convert", capture, target, "--format", name])
            there = os.path.exists(target) and os.path.getsize(target) > 0
            helpers.equal((done.status, there), (0, True) if name in written else (1, False), "%s of %s (%s)" % (name, collector, done.err))
            if name not in written:
                assert re.match(r"sonde: \S+ cannot be written as %s: it has no .*; record them with: sonde [^\n]*\n$" % name, done.err), done.err


helpers.run_tests(globals())
