# SPDX-License-Identifier: MIT
"""Pages of every kind of file in a real browser: one run with samples, readings, calls, lines and sections, in which one drag
and one section move all views or have them say that they do not follow; a pstats file, an .lprof file and a model.
"""
import cProfile
import json
import os
import struct

from browser import browse, helpers, need_browser

PROGRAM = """
import json, os, time
from sonde import Profiler
profiler = Profiler()
def work(n):
    t = 0
    for i in range(n):
        t += i * i
    return t
def load():
    return [json.dumps(list(range(2000))) for _ in range(60)]
def train():
    held = []
    for i in range(30):
        held.append(bytearray(200000))
        work(40000)
    return held
with profiler("load"):
    load()
for _ in range(2):
    with profiler("train"):
        train()
with profiler("load"):
    load()
"""


def page_of(folder, name, *files):
    page = os.path.join(folder, name + ".html")
    done = helpers.sonde("report", *files, "-o", page, cwd=folder)
    helpers.equal((done.status, done.out), (0, ""), "status and output of report -o: %s" % done.err)
    return page


def tensors(path):
    """A safetensors file of two weights."""
    head, at = {}, 0
    for name, shape in (("encoder.weight", [64, 32]), ("encoder.bias", [64])):
        n = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(at))


def all_kinds(folder):
    helpers.write(folder, "program.py", PROGRAM)
    words = ["-q", "--with", "sample,rss,calls", "--sample-rate", "500", "--python", helpers.PYTHON, "-o", "run.sonde", "program.py"]
    done = helpers.sonde("run", *words, cwd=folder)
    helpers.equal(done.status, 0, done.err)
    done = helpers.sonde("lines", "-q", "--only", "work", "--python", helpers.PYTHON, "-o", "lines.sonde", "program.py", cwd=folder)
    helpers.equal(done.status, 0, done.err)
    helpers.equal(helpers.sonde("convert", "lines.sonde", "lines.lprof", cwd=folder).status, 0, "status of convert")
    cProfile.runctx("json.dumps(list(range(9999)))", {"json": json}, {}, os.path.join(folder, "old.pstats"))
    tensors(os.path.join(folder, "net.safetensors"))
    pages = [page_of(folder, "run", "run.sonde", "lines.sonde"), page_of(folder, "pstats", "old.pstats"), page_of(folder, "lprof", "lines.lprof")]
    done = helpers.sonde("model", "net.safetensors", "-o", "model.html", cwd=folder)
    helpers.equal(done.status, 0, done.err)
    return pages + [os.path.join(folder, "model.html")]


@helpers.once
def seen():
    need_browser()
    found = browse("kinds.js", *all_kinds(os.getcwd()))
    helpers.equal(found["complaints"], [], "complaints")
    return found["pages"]


def test_a_run_of_many_kinds_has_a_view_of_each(folder):
    run = seen()[0]
    for title in ("Sampled functions", "Traced functions", "Sampled flame graph", "Traced flame graph", "Sampled source", "Counted source", "Sections",
                  "Processes"):
        assert title in run["tabs"], run["tabs"]
    helpers.contains(run["banner"], "samples", "the head")
    helpers.equal((run["timelines"], run["sliders"]), (1, 2), "timelines and sliders")


def test_one_drag_and_one_section_move_each_view_or_it_says_whole_run(folder):
    run = seen()[0]
    for step in ("byTime", "bySection"):
        for title, view in run[step].items():
            assert view["moved"] or view["isWhole"], "%s neither moves nor says whole run: %s" % (title, step)
    for title in ("Sampled functions", "Sampled flame graph", "Sampled call graph", "Sampled source"):
        for step in ("byTime", "bySection"):
            helpers.equal(run[step][title], {"moved": True, "isWhole": False}, "%s, %s" % (title, step))
    for title in ("Traced functions", "Counted source", "Sections"):
        helpers.equal(run["byTime"][title]["isWhole"], True, "%s says whole run" % title)


def test_files_without_time_have_no_timeline_and_their_views(folder):
    for page, tabs in zip(seen()[1:], (["Functions", "Callers", "Callees", "Call graph"], ["Source", "Functions"], ["Tensors"])):
        helpers.equal((page["timelines"], page["sliders"]), (0, 0), "timelines and sliders of %s" % page["tabs"])
        assert set(tabs) <= set(page["tabs"]), page["tabs"]
        assert all(text.strip() for text in page["texts"].values()), page["texts"]
    assert seen()[1]["findings"] > 0 and seen()[2]["findings"] > 0, "findings of a pstats and an .lprof file"
    helpers.contains(seen()[3]["texts"]["Tensors"], "encoder.weight", "the model")


helpers.run_tests(globals())
