# SPDX-License-Identifier: MIT
# limit: 600
"""Programs of each format's own world read our files and agree on the numbers.

speedscope (its web page, in Chromium): speedscope, Chrome trace, collapsed and pprof files.  The Firefox
Profiler (its command line): Firefox, Chrome trace and collapsed files.  `go tool pprof`: pprof files.
Perfetto's trace processor (which its viewer runs as WebAssembly, and so does Node): Chrome traces.
The captures are made by hand (made.py).
"""
import base64
import collections
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import helpers  # noqa: E402
import made  # noqa: E402
import node  # noqa: E402

SPEEDSCOPE = os.path.join(node.PACKAGES, "speedscope", "dist", "release", "index.html")
PERFETTO = os.path.join(os.path.dirname(node.PACKAGES), "perfetto")
FIREFOX = os.path.join(node.PACKAGES, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")


def need_program(name):
    helpers.need(shutil.which(name), "no %s; %s" % (name, node.HINT))


def converted(folder, suffix, capture=made.known):
    target = os.path.join(folder, "out" + suffix)
    done = helpers.run([helpers.SONDE, "convert", "--force", capture(folder), target])
    helpers.equal(done.status, 0, "status")
    return target


# ---- speedscope


def speedscope(folder, path):
    """(name, weight) of each profile, and {symbol: (total, self)} of the first, as its page shows them."""
    need_program("chromium")
    helpers.need(os.path.exists(SPEEDSCOPE), "speedscope is not in build/npm; " + node.HINT)
    script = os.path.join(folder, "load.js")
    with open(path, "rb") as f, open(script, "w") as out:
        out.write("speedscope.loadFileFromBase64(%s, %s)" %
                  (json.dumps(os.path.basename(path)), json.dumps(base64.b64encode(f.read()).decode())))
    url = "file://%s#localProfilePath=%s&view=sandwich" % (SPEEDSCOPE, script)
    done = helpers.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder + "/browser",
                        "--virtual-time-budget=30000", "--dump-dom", url], limit=120)
    texts = [html.unescape(t) for t in re.findall(">([^<]+)<", done.out) if t.strip()]
    assert "Symbol Name" in texts, "speedscope did not open it: %r" % texts[-20:]
    rows = texts[texts.index("Symbol Name") + 1:]
    symbols = collections.defaultdict(lambda: [0, 0])
    for total, own, name in zip(rows[0::3], rows[1::3], rows[2::3]):
        if re.match(r"[\d.,]+[a-zµ]* \(", total):
            symbols[name][0] += amount(total)
            symbols[name][1] += amount(own)
    profiles = []
    if "Total Weight" in texts:
        at = texts.index("Total Weight") + 1
        while texts[at].isdigit():
            profiles.append((texts[at + 1], amount(texts[at + 2])))
            at += 3
    return profiles, symbols


def amount(text):
    """"112.93ms (76%)" as milliseconds; a bare number as it is."""
    number, unit = re.match(r"([\d.,]+)\s*([a-zµ]*)", text).groups()
    scale = {"": 1, "ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}[unit]
    return float(number.replace(",", "")) * scale


def test_speedscope_opens_our_speedscope_file(folder):
    profiles, symbols = speedscope(folder, converted(folder, ".speedscope.json"))
    helpers.equal([weight for _, weight in profiles], [400, 60], "ms of each thread")
    assert profiles[0][0] == 'Thread 7 "MainThread"', profiles
    helpers.equal(symbols["f"], [400, 300], "total and self of f")
    helpers.equal(symbols["<listcomp>"], [100, 100], "total and self of <listcomp>")


def test_speedscope_opens_our_chrome_trace(folder):
    profiles, symbols = speedscope(folder, converted(folder, ".trace.json"))
    helpers.equal([weight for _, weight in profiles], [400, 60], "ms of each thread")
    helpers.equal(symbols['f {"filename":"/x/app.py","line":11}'], [300, 300])
    helpers.equal(symbols['f {"filename":"/x/app.py","line":13}'], [100, 0])
    helpers.equal(symbols['<listcomp> {"filename":"/x/app.py","line":12}'], [100, 100])


def test_speedscope_opens_our_collapsed_stacks(folder):
    _, symbols = speedscope(folder, converted(folder, ".collapsed"))
    helpers.equal(symbols["f (app.py:11)"], [30, 30])
    helpers.equal(symbols["<listcomp> (app.py:12)"], [15, 15])
    helpers.equal(symbols["<module> (app.py:4)"], [10, 0])


def test_speedscope_opens_our_pprof(folder):
    _, symbols = speedscope(folder, converted(folder, ".pb.gz"))
    helpers.equal(symbols["f"], [400, 300])
    helpers.equal(symbols["<listcomp>"], [150, 150])


def test_speedscope_opens_deep_and_mixed_captures(folder):
    for suffix in (".speedscope.json", ".trace.json"):
        profiles, symbols = speedscope(folder, converted(folder, suffix, made.mixed))
        helpers.equal([weight for _, weight in profiles], [260, 30], "ms of each thread in " + suffix)
        own = collections.Counter()
        for name, (_, self_ms) in symbols.items():
            own[name.split(" ")[0]] += self_ms
        helpers.equal((own["step"], own["[partial]"], own["dgemm"]), (160, 40, 60), "self times in " + suffix)


CALLS = """
import time
def inner(n):
    time.sleep(0.001 * n)
def outer():
    for i in range(20):
        inner(i % 3)
outer()
"""


def timeline(folder):
    """The trace of a program with every call of it, and {name: lengths in ms}."""
    program = helpers.write(folder, "calls.py", CALLS)
    target = os.path.join(folder, "trace.json")
    done = helpers.sonde("calls", "--timeline", "--python", helpers.PYTHON, "-o", target, program, cwd=folder)
    helpers.equal(done.status, 0, "status (%r)" % done.err)
    lengths = collections.defaultdict(list)
    with open(target) as f:
        for e in json.load(f)["traceEvents"]:
            if e["ph"] == "X":
                lengths[e["name"]].append(e["dur"] / 1000)
    return target, lengths


def test_speedscope_opens_a_timeline_of_calls(folder):
    path, lengths = timeline(folder)
    _, symbols = speedscope(folder, path)
    inner = next(v for name, v in symbols.items() if name.startswith("inner {"))
    outer = next(v for name, v in symbols.items() if name.startswith("outer {"))
    assert abs(inner[0] / sum(lengths["inner"]) - 1) < 0.01, "inner: %r, of %g ms" % (inner, sum(lengths["inner"]))
    assert abs(outer[0] / sum(lengths["outer"]) - 1) < 0.01, "outer: %r, of %g ms" % (outer, sum(lengths["outer"]))
    assert abs(outer[1] - (outer[0] - inner[0])) <= 0.02 * outer[0], "own time of outer: %r, inner %r" % (outer, inner)


# ---- Perfetto


def perfetto(path, *queries):
    """What its trace processor answers: for each query a list of rows, as dictionaries."""
    program = node.need(path=os.path.join(PERFETTO, "engine_bundle.js"))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto.js")
    done = helpers.run([program, script, PERFETTO, path] + list(queries), limit=300)
    helpers.equal(done.status, 0, "status of Perfetto (%r)" % done.err[-500:])
    return [json.loads(line) for line in done.out.splitlines() if line.startswith("[")]


# What it could not make sense of: events that overlap, or end without a beginning, numbers that are none.
COMPLAINTS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def test_perfetto_opens_a_timeline_of_calls(folder):
    path, lengths = timeline(folder)
    complaints, slices, threads, roots = perfetto(
        path, COMPLAINTS, "select name, dur, depth, parent_id is null as is_root from slice order by ts, depth",
        "select thread.name as name, count(*) as n from slice join thread_track on track_id = thread_track.id join thread using (utid) group by utid",
        "select child.name as name, parent.name as below, count(*) as n from slice child join slice parent on child.parent_id = parent.id "
        "where child.name in ('inner', 'outer') group by 1, 2 order by 1")
    helpers.equal(complaints, [], "what Perfetto complains of")
    found = collections.defaultdict(list)
    for s in slices:
        found[s["name"]].append(s["dur"] / 1e6)
    helpers.equal({name: len(all) for name, all in found.items()}, {name: len(all) for name, all in lengths.items()}, "slices")
    for name, all in lengths.items():
        for got, want in zip(sorted(found[name]), sorted(all)):
            assert abs(got - want) < 2e-6, "%s: %r ms, not %r" % (name, got, want)
    helpers.equal([(t["name"], t["n"]) for t in threads], [("MainThread", len(slices))], "slices of threads")
    helpers.equal(roots, [{"name": "inner", "below": "outer", "n": 20}, {"name": "outer", "below": "<module>", "n": 1}], "callers")


def test_perfetto_opens_our_chrome_trace(folder):
    complaints, slices = perfetto(converted(folder, ".trace.json"), COMPLAINTS,
                                  "select slice.name as name, sum(dur) / 1e6 as ms from slice join thread_track on track_id = thread_track.id "
                                  "where slice.name in ('f', '<listcomp>') group by 1 order by 1")
    helpers.equal(complaints, [], "what Perfetto complains of")
    helpers.equal({s["name"]: round(s["ms"], 6) for s in slices}, {"f": 400, "<listcomp>": 150}, "ms of slices")


# ---- Firefox Profiler


class Firefox:
    """One session of its command line, which is a process in the background."""

    def __init__(self, folder, path):
        self.node = node.need("@firefox-devtools/profiler-cli")
        self.env = dict(os.environ, HOME=folder)
        self.pid = None
        done = self.ask("load", path)
        late = re.search(r"may still be running as pid (\d+)", done.out + done.err)
        if done.status != 0 and late:           # it gives itself half a second, which is little beside other tests
            self.pid = int(late.group(1))
        deadline = time.monotonic() + 60
        while self.ask("status").status != 0:
            assert late and time.monotonic() < deadline, "profiler-cli: %s%s" % (done.out, done.err)
            time.sleep(0.2)

    def ask(self, *words):
        return helpers.run([self.node, FIREFOX] + list(words), env=self.env, limit=120)

    def tell(self, *words):
        done = self.ask(*(words + ("--json",)))
        assert done.status == 0, "profiler-cli %s: %s" % (" ".join(words), done.err)
        return json.loads(done.out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stopped = self.ask("stop").status == 0
        if self.pid and not stopped:
            os.kill(self.pid, signal.SIGTERM)

    def threads(self):
        return self.tell("thread", "list")["threads"]

    def functions(self, thread):
        """{name: (total, self)} in its own unit."""
        found = self.tell("thread", "functions", "--thread", thread, "--include-idle")
        return {f["name"]: (round(f["totalSamples"], 6), round(f["selfSamples"], 6)) for f in found["functions"]}

    def markers(self, thread):
        """{name: lengths in ms}"""
        found = self.tell("thread", "markers", "--thread", thread)["byType"]
        return {one["markerName"]: (one["count"], one["durationStats"] and round(one["durationStats"]["max"], 6)) for one in found}


def test_firefox_profiler_opens_our_profile(folder):
    with Firefox(folder, converted(folder, ".firefox.json")) as viewer:
        main = next(t["threadHandle"] for t in viewer.threads() if t["name"] == "MainThread")
        functions = viewer.functions(main)
        helpers.equal(functions["f"], (400, 300), "total and self of f, in ms")
        helpers.equal(functions["<listcomp>"], (100, 100), "total and self of <listcomp>, in ms")


def test_firefox_profiler_sees_sections_memory_and_children(folder):
    with Firefox(folder, converted(folder, ".firefox.json", made.mixed)) as viewer:
        threads = {str(t["tid"]): t["threadHandle"] for t in viewer.threads()}
        helpers.equal(sorted(threads), ["7", "9"], "threads")
        functions = viewer.functions(threads["7"])
        helpers.equal((functions["step"], functions["[partial]"]), ((260, 160), (40, 40)))
        helpers.equal(next(v for k, v in functions.items() if "dgemm" in k), (60, 60))
        helpers.equal(viewer.functions(threads["9"])["recurse"], (30, 30), "a recursion of 2,000, counted once")
        helpers.equal(viewer.markers(threads["7"]), {"epoch": (1, 245), "batch": (2, 140)}, "sections")
        counters = viewer.tell("counter", "list")["counters"]
        helpers.equal(len(counters), 1, "counters")


def test_firefox_profiler_opens_a_capture_without_samples(folder):
    with Firefox(folder, converted(folder, ".firefox.json", made.memory)) as viewer:
        helpers.equal(len(viewer.threads()), 1, "threads")


def test_firefox_profiler_opens_our_chrome_trace(folder):
    with Firefox(folder, converted(folder, ".trace.json", made.mixed)) as viewer:
        found = {}
        for thread in viewer.threads():
            found.update(viewer.markers(thread["threadHandle"]))
        helpers.equal(found["dgemm"], (1, 60), "a native frame")
        helpers.equal(found["[partial]"], (1, 40), "a cut frame")
        helpers.equal(found["epoch"], (1, 245), "a section")
        helpers.equal(found["recurse"], (2000, 30), "a recursion")


def test_firefox_profiler_opens_a_timeline_of_calls(folder):
    path, lengths = timeline(folder)
    with Firefox(folder, path) as viewer:
        found = {}
        for thread in viewer.threads():
            found.update(viewer.markers(thread["threadHandle"]))
        for name in ("inner", "outer"):
            count, longest = found[name]
            helpers.equal(count, len(lengths[name]), "calls of " + name)
            assert abs(longest - max(lengths[name])) < 0.002, "longest call of %s: %r ms, not %r" % (name, longest, max(lengths[name]))


def test_firefox_profiler_opens_our_collapsed_stacks(folder):
    with Firefox(folder, converted(folder, ".collapsed")) as viewer:
        functions = {}
        for thread in viewer.threads():
            functions.update(viewer.functions(thread["threadHandle"]))
        helpers.equal(functions["f (app.py:11)"], (30, 30))
        helpers.equal(functions["<listcomp> (app.py:12)"], (15, 15))


# ---- go tool pprof


def pprof(folder, path, *options):
    """{function: (self, cum)} as it prints them, without units."""
    need_program("go")
    done = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0"] + list(options) + [path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, HOME=folder, PPROF_TMPDIR=folder))
    assert done.returncode == 0, done.stderr.decode()
    rows = done.stdout.decode().splitlines()
    at = next(i for i, row in enumerate(rows) if row.split()[:2] == ["flat", "flat%"])
    found = collections.defaultdict(lambda: (0, 0))
    for row in rows[at + 1:]:
        words = row.split(None, 5)
        own, cum = (float(re.sub("[a-zA-Z]+$", "", words[k])) for k in (0, 3))
        found[words[5]] = (found[words[5]][0] + own, found[words[5]][1] + cum)
    return found


def test_go_tool_pprof_agrees_with_report(folder):
    for capture in (made.known, made.mixed):
        path = converted(folder, ".pb.gz", capture)
        done = helpers.run([helpers.SONDE, "report", capture(folder), "--table", "functions", "--json"])
        helpers.equal(done.status, 0, "status of report: " + done.err)
        for metric, options in (("samples", ["-sample_index=samples"]), ("wall", ["-sample_index=wall", "-unit=ns"]),
                                ("cpu", ["-sample_index=cpu", "-unit=ns"])):
            seen = pprof(folder, path, *options)
            ours = collections.defaultdict(lambda: (0, 0))
            for row in json.loads(done.out)["functions"]:
                if row["cum_" + metric]:
                    own, cum = ours[row["function"]]
                    ours[row["function"]] = own + row["self_" + metric], cum + row["cum_" + metric]
            plain = {n: v for n, v in seen.items() if n in ours}
            helpers.equal(plain, {n: v for n, v in ours.items() if n in plain}, metric)
            helpers.equal(len([v for v in seen.values() if any(v)]), len(ours), "functions with " + metric)


def test_go_tool_pprof_keeps_threads_apart(folder):
    path = converted(folder, ".pb.gz")
    seen = pprof(folder, path, "-sample_index=samples", "-tagfocus=thread=MainThread")
    helpers.equal(seen["<listcomp>"], (10, 10))
    helpers.equal(seen["f"], (30, 40))


helpers.run_tests(globals())
