# SPDX-License-Identifier: MIT
"""The call graph: the same functions, calls, percentages and colours as gprof2dot has of the same file, in DOT that
graphviz takes, and as an SVG in which all of them are drawn; callgrind files that callgrind's own reader and gprof2dot take."""
import cProfile
import importlib.util
import marshal
import os
import pstats
import re
import shutil
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import helpers  # noqa: E402
import made  # noqa: E402
from helpers import between, contains, equal, need, sonde  # noqa: E402

MS = 10 ** 6
HOSTILE = 'a"b<c>&\\N\n\t]]>\udcff\u202e'
PROGRAM = """
import json, re, decimal
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
class Box:
    def fill(self): return [len(str(i)) for i in range(300)]
def numbers(n):
    for i in range(n): yield i
fib(14); even(60); Box().fill(); sum(numbers(400)); sorted(range(500), key=lambda i: -i)
for i in range(40): json.dumps({"a": [1, 2, 3]}); re.compile("a|b(c*)[d-f]" + "x" * i)
for i in range(200): decimal.Decimal(i).sqrt()
"""
NODE = re.compile(r'^\t(\d+) \[(.*)\];$')
EDGE = re.compile(r'^\t(\d+) -> (\d+) \[(.*)\];$')


def module(name):
    need(importlib.util.find_spec(name), "%s is not installed; CI=true make test installs it" % name)
    return name


@helpers.once
def profiled():
    """A pstats file of CPython's own profiler."""
    path = os.path.abspath("program.pstats")
    p = cProfile.Profile()
    p.enable()
    exec(compile(PROGRAM, os.path.abspath("program.py"), "exec"), {"__name__": "program"})
    p.disable()
    p.dump_stats(path)
    return path


def attributes(text):
    return {k: (v or w).replace('\\"', '"') for k, v, w in re.findall(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^,\s\]]+))', text)}


def read_dot(text):
    """({node: its colours}, {(node, node): (percentage, colour, pen)}) of DOT as both write it; a node is label and file."""
    named, nodes, edges = {}, {}, {}
    for line in text.splitlines():
        node, edge = NODE.match(line), EDGE.match(line)
        if node:
            a = attributes(node.group(2))
            key = named[node.group(1)] = a["label"], a.get("tooltip", "") # json/__init__.py and re/__init__.py have one label
            assert key not in nodes, "two nodes %r" % (key,)
            nodes[key] = (a["color"], float(a["fontsize"]), a["fontcolor"])
        elif edge:
            a = attributes(edge.group(3))
            edges[edge.group(1), edge.group(2)] = (a["label"].split("\\n")[0], a["color"], a["penwidth"], a["arrowsize"])
    return nodes, {(named[a], named[b]): value for (a, b), value in edges.items()}


def theirs(*words):
    done = helpers.run([sys.executable, "-m", module("gprof2dot"), "-f", "pstats"] + list(words))
    equal(done.status, 0, "status of gprof2dot: " + done.err)
    return read_dot(done.out)


def ours(*words):
    done = sonde("report", "--graph", *words)
    equal(done.status, 0, "status of sonde: " + done.err)
    return read_dot(done.out)


def compare(name, got, wanted):
    equal(sorted(set(wanted) - set(got)), [], "%s that only gprof2dot has" % name)
    equal(sorted(set(got) - set(wanted)), [], "%s that only we have" % name)
    for key in wanted:
        equal(got[key], wanted[key], "%s %r" % (name, key))


def test_the_graph_is_gprof2dots(folder):
    all_of_it = ["--node-thres", "0", "--edge-thres", "0"]
    for words in ([], all_of_it, ["--node-thres", "5", "--edge-thres", "2"], ["--colormap", "pink", "--skew", "0.1"],
                  ["--colormap", "print"], ["--color-nodes-by-selftime"], all_of_it + ["--root", "*:compile", "--depth", "2"],
                  all_of_it + ["--leaf", "*dumps"], all_of_it + ["--root", "*:<module>"], ["--node-label", "self-time-percentage"]):
        got, wanted = ours(profiled(), *words), theirs(*(list(words) + [profiled()]))
        assert len(wanted[0]) >= 2, "%s chooses %d nodes" % (words, len(wanted[0]))
        compare("nodes with %s" % words, got[0], wanted[0])
        compare("edges with %s" % words, got[1], wanted[1])


def test_a_comparison_marks_what_gprof2dot_marks(folder):
    other = os.path.join(folder, "other.pstats")
    stats = pstats.Stats(profiled())
    slower = [key for key in stats.stats if key[2] == "fib"][0]
    cc, nc, tt, ct, callers = stats.stats[slower]
    stats.stats[slower] = (cc, nc, tt * 5, ct * 5, callers)
    stats.dump_stats(other)
    done = helpers.run([sys.executable, "-m", module("gprof2dot"), "-f", "pstats", "-n", "0", "-e", "0", "--compare", profiled(), other])
    equal(done.status, 0, "status of gprof2dot: " + done.err)
    dot = sonde("report", "--graph", "--node-thres", "0", "--edge-thres", "0", "--compare", profiled(), other)
    equal(dot.status, 0, "status of sonde: " + dot.err)

    def marked(text):
        """Names that two functions have are left out: gprof2dot compares either with the last of them."""
        found, names = {}, []
        for line in text.splitlines():
            a = attributes(NODE.match(line).group(2)) if NODE.match(line) else {}
            names.append(a.get("label", "").split("\\n")[0])
            if a.get("shape") == "cds":
                found[names[-1]] = a.get("orientation", "0")
        return {name: way for name, way in found.items() if names.count(name) == 1}
    assert marked(done.out), "gprof2dot marks nothing"
    equal(marked(dot.out), marked(done.out), "functions that changed, and which way")
    one = sonde("report", "--graph", "--node-thres", "0", "--edge-thres", "0", "--compare", "--compare-only-faster", profiled(), other)
    equal(one.status, 0, "status of sonde: " + one.err)
    equal(marked(one.out), {name: way for name, way in marked(dot.out).items() if way != "0"}, "only what is faster")
    assert marked(one.out), "nothing is faster"


def test_what_only_one_of_the_files_has_is_drawn_so(folder):
    """The function that was added, or is gone, is why somebody compares."""
    before, after = os.path.join(folder, "before.pstats"), os.path.join(folder, "after.pstats")
    main, old, new = ("app.py", 1, "main"), ("app.py", 5, "old"), ("app.py", 9, "new")
    for path, callee in ((before, old), (after, new)):
        with open(path, "wb") as f:
            marshal.dump({main: (1, 1, 0.5, 2.0, {}), callee: (3, 3, 1.5, 1.5, {main: (3, 3, 1.5, 1.5)})}, f)
    done = sonde("report", "--graph", "--compare", before, after)
    equal(done.status, 0, "status of sonde: " + done.err)
    labels = [attributes(NODE.match(line).group(2))["label"] for line in done.out.splitlines() if NODE.match(line)]
    equal([label.split("\\n") for label in labels],
          [["app:1:main", "100.00%", "(25.00%)", "1\u00d7 / 1\u00d7"], ["app:5:old", "75.00% - 75.000%", "(75.00%) - 75.000%", "3\u00d7 / 0\u00d7"],
           ["app:9:new", "0.00% + 75.000%", "(0.00%) + 75.000%", "0\u00d7 / 3\u00d7"]], "boxes")
    assert re.search("0 -> 2 .*label=\"0.00% / 75.00%.n0\u00d7 / 3\u00d7\"", done.out), done.out


def test_a_comparison_names_its_files(folder):
    """Both may be of one program: which is before and which after is known by their names."""
    first = hostile(folder)
    for name in "before.sonde", "after.sonde":
        shutil.copy(first, os.path.join(folder, name))
    done = sonde("report", "--graph", "--compare", "before.sonde", "after.sonde", "-o", "x.svg", cwd=folder)
    equal(done.status, 0, "status of sonde: " + done.err)
    with open(os.path.join(folder, "x.svg"), encoding="utf-8") as file:
        contains(file.read(), "before.sonde, compared with after.sonde", "the picture")


def test_dot_reads_what_we_write(folder):
    need(shutil.which("dot"), "no graphviz; CI=true make test installs it")
    path = os.path.join(folder, "x.dot")
    equal(sonde("convert", hostile(folder), path).status, 0, "status of convert")
    done = helpers.run(["dot", "-Tplain", path])
    equal(done.status, 0, "status of dot: " + done.err)
    equal(len(re.findall(r"^node ", done.out, re.M)), 3, "nodes")
    equal(len(re.findall(r"^edge ", done.out, re.M)), 3, "edges")


def hostile(folder):
    """A capture: <module> calls a function whose name bites, which calls itself and one more."""
    c = made.Capture()
    main = c.track(made.THREAD, 7, "MainThread", c.track(made.PROCESS, 7, "python"))
    module_, bad, leaf = c.function("<module>", "/x/app.py", 1), c.function(HOSTILE, "/x/" + HOSTILE, 3), c.function("leaf", "/x/app.py", 9)
    c.sample(main, c.stack((module_, 3)), 10 * MS, 10)
    c.sample(main, c.stack((module_, 3), (bad, 4)), 20 * MS, 30)
    c.sample(main, c.stack((module_, 3), (bad, 4), (bad, 5)), 30 * MS, 20)
    c.sample(main, c.stack((module_, 3), (bad, 4), (bad, 5), (leaf, 9)), 40 * MS, 40)
    return c.save(os.path.join(folder, "x.sonde"))


def test_samples_count_once_for_a_function_and_once_for_a_call(folder):
    nodes, edges = ours(hostile(folder))
    labels = sorted(label for label, file in nodes)
    equal(len(labels), 3, "functions")
    assert any(label.startswith("app:1:<module>\\n100.00%\\n(10.00%)") for label in labels), labels
    assert any(label.startswith("app:9:leaf\\n40.00%\\n(40.00%)") for label in labels), labels
    assert any("90.00%\\n(50.00%)" in label for label in labels), labels
    equal(sorted(e[0] for e in edges.values()), ["40.00%", "60.00%", "90.00%"], "shares of calls")


def svg_of(*words):
    path = os.path.abspath("graph.svg")
    equal(sonde("report", "--graph", "--force", "-o", path, *words).status, 0, "status of sonde")
    root = xml.etree.ElementTree.parse(path).getroot()
    groups = {g.get("class"): list(g) for g in root.iter("{http://www.w3.org/2000/svg}g")}
    return root, groups["nodes"], groups["edges"]


def boxes_of(nodes):
    for g in nodes:
        x, y = map(float, re.findall(r"-?[\d.]+", g.get("transform")))
        rect = g.find("{http://www.w3.org/2000/svg}rect")
        yield x + float(rect.get("x")), y + float(rect.get("y")), float(rect.get("width")), float(rect.get("height"))


def test_the_picture_has_every_function_and_call_and_no_overlap(folder):
    for words in ([profiled()], [profiled(), "--node-thres", "0", "--edge-thres", "0"], [hostile(folder)]):
        _, nodes, edges = svg_of(*words)
        wanted = ours(*words)
        equal(len(nodes), len(wanted[0]), "boxes")
        equal(len(edges), len(wanted[1]), "lines")
        boxes = list(boxes_of(nodes))
        for i, (x, y, w, h) in enumerate(boxes):
            for x2, y2, w2, h2 in boxes[:i]:
                assert x + w <= x2 + 0.2 or x2 + w2 <= x + 0.2 or y + h <= y2 + 0.2 or y2 + h2 <= y + 0.2, "boxes overlap"
    with open("graph.svg") as f:
        contains(f.read(), "\\u202e")


def test_the_same_file_gives_the_same_picture(folder):
    paths = [os.path.join(folder, name) for name in ("a.svg", "b.svg")]
    for path in paths:
        equal(sonde("convert", profiled(), path).status, 0, "status of convert")
    with open(paths[0]) as a, open(paths[1]) as b:
        equal(a.read() == b.read(), True, "the same bytes")


def test_callgrind_is_read_by_its_own_reader(folder):
    need(shutil.which("callgrind_annotate"), "no valgrind; CI=true make test installs it")
    path = os.path.join(folder, "x.callgrind")
    equal(sonde("convert", profiled(), path).status, 0, "status of convert")
    done = helpers.run(["callgrind_annotate", "--threshold=100", "--inclusive=yes", path])
    equal(done.status, 0, "status of callgrind_annotate: " + done.err)
    stats = pstats.Stats(profiled())
    for key, (cc, nc, tt, ct, callers) in stats.stats.items():
        if key[2] in ("encode", "dumps", "fill"): # of what calls itself callgrind_annotate adds up every level
            row = re.search(r"^ *([\d,]+) .*\.py:%s\b" % key[2], done.out, re.M)
            assert row, "no row for %s in %s" % (key[2], done.out[-800:])
            between(int(row.group(1).replace(",", "")), ct * 1e9 - 2, ct * 1e9 + 2, "inclusive ns of %s" % key[2])
    total = re.search(r"^ *([\d,]+) .*PROGRAM TOTALS", done.out, re.M)
    between(int(total.group(1).replace(",", "")), stats.total_tt * 1e9 - 500, stats.total_tt * 1e9 + 500, "all of it")


def test_callgrind_of_samples_has_the_right_own_cost(folder):
    """How often functions were called is not known of samples, but their own cost is not that of what they call."""
    need(shutil.which("callgrind_annotate"), "no valgrind; CI=true make test installs it")
    path = os.path.join(folder, "x.callgrind")
    equal(sonde("convert", hostile(folder), path).status, 0, "status of convert")
    for inclusive, expected in (("no", {"<module>": 10, "leaf": 40}), ("yes", {"<module>": 100, "leaf": 40})):
        done = helpers.run(["callgrind_annotate", "--auto=no", "--threshold=100", "--inclusive=" + inclusive, path])
        equal(done.status, 0, "status of callgrind_annotate: " + done.err)
        equal(re.search(r"^ *([\d,]+) .*PROGRAM TOTALS", done.out, re.M).group(1), "100", "samples in all")
        equal({name: int(n) for n, name in re.findall(r"^ *(\d+) .*app\.py:(\S+)", done.out, re.M)}, expected, "inclusive " + inclusive)


def test_callgrind_is_read_by_gprof2dot(folder):
    path = os.path.join(folder, "x.callgrind")
    equal(sonde("convert", hostile(folder), path).status, 0, "status of convert")
    done = helpers.run([sys.executable, "-m", module("gprof2dot"), "-f", "callgrind", path])
    equal(done.status, 0, "status of gprof2dot: " + done.err)
    rows = [line for line in done.out.splitlines() if "fontsize=" in line]
    equal((sum(" -> " not in r for r in rows), sum(" -> " in r for r in rows)), (3, 3), "functions and calls")
    contains(done.out, "leaf\\n40.00%\\n(40.00%)")


def test_what_cannot_be_is_said_in_one_sentence(folder):
    for words, said in ((["--graph", "-o", "x.png"], "a call graph can be written as .svg or .dot"),
                        (["--graph", "--root", "nobody"], "no function that is drawn matches nobody"),
                        (["--graph", "--compare"], "--compare needs two files"),
                        (["--graph", "--node-thres", "many"], "--node-thres takes a number from 0 to 100"),
                        (["--graph", "--node-label", "age"], "--node-label takes self-time"),
                        (["--graph", "--flame", "-o", "x.svg"], "choose one of"),
                        (["--graph", "--mine"], "--mine needs a capture"),
                        (["--graph", "--track", "7"], "--track needs a capture"),
                        (["--graph", "--from", "2s"], "--from needs a capture"),
                        (["--graph", "--cpu"], "--cpu needs a capture"),
                        (["--graph", "--no-signatures"], "--no-signatures needs a capture"),
                        (["--graph", "-p", "/nowhere"], "no function is in a file whose path begins with /nowhere"),
                        (["--graph", "--scaling"], "--scaling has no effect on a call graph"),
                        (["--graph", "-n", "5"], "--rows has no effect on a call graph"),
                        (["--graph", hostile(folder)], "report them separately")):
        done = sonde("report", profiled(), *words)
        equal(done.status, 2, "status of %s" % words)
        contains(done.err, said)
        equal(done.err.count("\n"), 1, "lines of %s" % words)


def test_what_means_nothing_for_samples_is_said(folder):
    for words, said in ((["--raw"], "--raw needs traced calls, and the capture has none"),
                        (["--by", "line"], "a call graph shows functions or modules"),
                        (["--threads"], "--threads has no effect on a call graph")):
        done = sonde("report", "--graph", hostile(folder), *words)
        equal((done.status, done.out), (2, ""), "of %s" % words)
        contains(done.err, said)


def test_signatures_are_left_out_where_that_is_said(folder):
    helpers.write(folder, "typed.py", "\n\ndef f(x):\n    return x\nfor x in (1, 'a', 2.0):\n    f(x)\n")
    done = sonde("calls", "--signatures", "-o", "x.sonde", "--python", helpers.PYTHON, "typed.py", cwd=folder)
    equal(done.status, 0, "status of calls: " + done.err)
    for words, wanted in (([], ["f(x:float)", "f(x:int)", "f(x:str)"]), (["--no-signatures"], ["f"])):
        done = sonde("report", "x.sonde", "--graph", "--node-thres", "0", "--edge-thres", "0", *words, cwd=folder)
        equal(done.status, 0, "status of report: " + done.err)
        equal(sorted(re.findall(r'label="typed:3:([^"\\]*)\\n', done.out)), wanted, "functions with %s" % words)
    done = sonde("report", "x.sonde", "--graph", "--node-thres", "0", "--edge-thres", "0", "--leaf", "f", cwd=folder)
    equal((done.status, len(re.findall("label=\"typed:3:f[(]", done.out))), (0, 3), "signatures of the function that is named: " + done.err)


helpers.run_tests(globals())
