# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""sonde.plot: a page that stays outside a notebook, HTML inside one; the numbers are those of the Profile."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import contains, equal, page_data, run, write  # noqa: E402

PROGRAM = """
import sonde, sys
def leaf(): return 1
def work(): return [leaf() for i in range(7)]
p = sonde.Profile(signatures=False)
p.enable()
work()
p.disable()
"""


def unescaped(text):
    import html
    return html.unescape(text)


def ran(folder, end, **env):
    return run([sys.executable, write(folder, "program.py", PROGRAM + end)], cwd=folder, env=helpers.clean_env(TMPDIR=folder, **env))


def test_a_page_stays_and_its_path_is_printed(folder):
    done = ran(folder, "sonde.plot(p)\nassert sonde.plot(p, 'named.html').endswith('named.html')\n")
    equal(done.status, 0, "status (%s)" % done.err)
    paths = done.out.split()
    equal(len(paths), 2, "pages")
    assert all(os.path.isabs(p) and os.path.exists(p) for p in paths), paths
    assert any(p.endswith(os.sep + "named.html") for p in paths), paths
    for path in paths:
        with open(path, encoding="utf-8") as f:
            page = f.read()
        contains(page[:200].lower(), "<!doctype html>")
        assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//|file:)", page), "the page asks for something"
        contains(page, "<title>program.py</title>")
        data = page_data(page)
        equal(data["head"]["command"], "program.py", "command")
        assert {"leaf", "work", os.path.join(folder, "program.py")} <= set(data["strings"]), data["strings"]
        graph, = [view["data"] for view in data["views"] if view["name"] == "graph"]
        equal({(n["name"], n["calls"]) for n in graph["nodes"] if n["name"] in ("leaf", "work")}, {("leaf", 7), ("work", 1)}, "calls")
    equal(sorted(os.listdir(folder)), sorted({os.path.basename(p) for p in paths} | {"program.py"}), "files left")


def test_in_a_notebook_it_is_shown_below_the_cell(folder):
    """IPython's part is played by a module that keeps what it is shown."""
    shell = ("import types\n"
             "class Shell: pass\n"
             "shown = []\n"
             "ipython = types.ModuleType('IPython'); display = types.ModuleType('IPython.display')\n"
             "ipython.get_ipython = lambda: Shell(); display.display = shown.append\n"
             "sys.modules.update({'IPython': ipython, 'IPython.display': display})\n"
             "assert sonde.plot(p) is None\n"
             "html = shown[0]._repr_html_()\n"
             "open('cell.html', 'w').write(html)\n"
             "print(repr(shown[0]))\n")
    done = ran(folder, shell)
    equal(done.status, 0, "status (%s)" % done.err)
    equal(done.out.strip(), "page of program.py", "plain form")
    with open(os.path.join(folder, "cell.html")) as f:
        cell = f.read()
    is_frame(cell)
    assert "work" in page_data(unescaped(cell))["strings"]


def test_on_a_terminal_a_result_is_plain_text(folder):
    """IPython asks for all that a result can show, and prints the text."""
    done = ran(folder, "import types\n"
               "class TerminalInteractiveShell: pass\n"
               "sys.modules['IPython'] = ipython = types.ModuleType('IPython')\n"
               "print(sorted(p._repr_mimebundle_()))\n"  # a module of that name which is no IPython
               "ipython.get_ipython = TerminalInteractiveShell\n"
               "print(sorted(p._repr_mimebundle_()))\n")
    equal((done.status, done.out, done.err), (0, "['text/plain']\n" * 2, ""), "kinds")


def is_frame(cell):
    """One frame, which can read nothing of the notebook, and nothing of the page outside of it."""
    assert re.match(r'<iframe title="[^"<>]*" sandbox="allow-scripts allow-downloads" srcdoc="[^"]*" style="[^"<>]*"></iframe>$', cell), cell[:300]


RESULTS = """
import sonde, sys
def work(n): return sum(i for i in range(n))
p = sonde.Profile(signatures=False)
print(sorted(p._repr_mimebundle_()))
p.enable()
work(20000)
print(sorted(p._repr_mimebundle_()))
p.disable()
lines = sonde.LineProfiler()
print(sorted(lines._repr_mimebundle_()))
lines(work)(10)
for result, name in ((p, "p.html"), (lines, "lines.html")):
    shown = result._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(result), shown["text/plain"]
    open(name, "w").write(shown["text/html"])
import sonde._plot
sonde._plot.SHOWN_BYTES = 100
print(sorted(p._repr_mimebundle_()))
"""


def test_results_show_their_page_as_the_value_of_a_cell(folder):
    """Plain text always; the page when there is something, nothing more is being collected, and it is not large."""
    done = run([sys.executable, write(folder, "program.py", RESULTS)], cwd=folder, env=helpers.clean_env(TMPDIR=folder))
    equal((done.status, done.err), (0, ""), "status")
    equal(done.out.split("\n")[:4], ["['text/plain']"] * 4, "kinds where there is no page")
    for name in ("p.html", "lines.html"):
        with open(os.path.join(folder, name)) as f:
            cell = f.read()
        is_frame(cell)
        assert "work" in unescaped(unescaped(cell)), name
    equal(sorted(os.listdir(folder)), ["lines.html", "p.html", "program.py"], "files left")


SECTIONS = """
import json, pickle, sonde, threading
p = sonde.Profiler(measure=["time", "memory", "peak", "io", "network"])
print(sorted(p._repr_mimebundle_()))
with p("outer"):
    for i in range(3):
        with p("inner"): kept = bytearray(100000 * i)
    with p(""): pass
with p("a:b"): pass
with p("lone \\ud800"): pass
with p("cpu", time_kind="cpu"): sum(range(100000))
with p("process", time_kind="process"): sum(range(100000))
thread = threading.Thread(target=lambda: p("in a thread").__enter__().__exit__(None, None, None))
thread.start(); thread.join()
try:
    with p("raises"): 1 / 0
except ZeroDivisionError: pass
with open("x.sonde", "wb") as f: f.write(p._capture_sections("program.py"))
with open("pickled.sonde", "wb") as f: f.write(pickle.loads(pickle.dumps(p))._capture_sections("program.py"))
with p("open"):
    shown = p._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(p), shown["text/plain"]
    with open("open.sonde", "wb") as f: f.write(p._capture_sections("program.py"))
with open("p.html", "w") as f: f.write(shown["text/html"])
with open("rows.json", "w") as f: json.dump(p.rows()[:-1], f)
class Odd(sonde.Profiler):
    def __repr__(self): raise KeyError("odd")
    def __len__(self): raise KeyError("odd")
    def _capture_sections(self, command): raise KeyError("odd")
odd = Odd()
with odd("s"): pass
shown = odd._repr_mimebundle_()
print(sorted(shown), "Odd object" in shown["text/plain"])
import sonde._plot
sonde._plot.SHOWN_BYTES = 100
print(sorted(p._repr_mimebundle_()))
sonde._plot._program = lambda: "/nowhere/sonde"
print(sorted(p._repr_mimebundle_()))
"""
# Of rows(), behind the name, and what the table of sections makes of them.
START_VMS, END_VMS, START_RSS, END_RSS, DURATION, KIND, PEAK, READ, WRITTEN, RECEIVED, SENT = 1, 2, 4, 5, 10, 11, 13, 14, 15, 16, 17


def sections_of(path):
    import json
    done = run([helpers.SONDE, "report", path, "--json"])
    equal((done.status, done.err), (0, ""), "report of " + path)
    return {row["section"]: row for row in json.loads(done.out)["sections"]}


def told(rows):
    """The rows of one section as its row in a report; its clock is the wall's."""
    lasted = [round(row[DURATION] * 1e9) for row in rows]
    sums = {name: sum(row[at] for row in rows) for name, at in (("read", READ), ("written", WRITTEN), ("received", RECEIVED), ("sent", SENT))}
    return dict(sums, count=len(rows), wall=sum(lasted), min=min(lasted), max=max(lasted), peak_rss=max(row[PEAK] for row in rows),
                rss_change=sum(row[END_RSS] - row[START_RSS] for row in rows), vms_change=sum(row[END_VMS] - row[START_VMS] for row in rows))


def test_a_profiler_shows_a_page_whose_sections_are_its_rows(folder):
    import json
    done = run([sys.executable, write(folder, "program.py", SECTIONS)], cwd=folder, env=helpers.clean_env(TMPDIR=folder))
    equal((done.status, done.err), (0, ""), "status")
    equal(done.out.splitlines(), ["['text/plain']", "['text/html', 'text/plain'] True"] + ["['text/plain']"] * 2, "kinds")
    with open(os.path.join(folder, "p.html")) as f:
        cell = f.read()
    is_frame(cell)
    assert {"outer", "in a thread", "open"} <= set(page_data(unescaped(cell))["strings"])
    with open(os.path.join(folder, "rows.json")) as f:
        rows = json.load(f)
    names = sorted({row[0] for row in rows}, key=repr)
    info = run([helpers.SONDE, "info", os.path.join(folder, "x.sonde")])
    assert re.search(r"^whole +yes$", info.out, re.M), info.out
    drawn = sections_of(os.path.join(folder, "x.sonde"))
    equal(len(drawn), len(names), "sections")
    for name in names:
        mine = [row for row in rows if row[0] == name]
        found, = [row for section, row in drawn.items() if section == name or section[:5] == name[:5] == "lone "]  # JSON has no such character
        if mine[0][KIND] == "wall":
            equal({key: found[key] for key in told(mine)}, told(mine), name)
        else:
            equal(found["cpu" if name == "cpu" else "process_cpu"], round(mine[0][DURATION] * 1e9), name)
        equal((found["raised"], found["unfinished"]), (int(name == "raises"), 0), name)


def test_what_is_open_or_of_another_process_is_said(folder):
    done = run([sys.executable, write(folder, "program.py", SECTIONS)], cwd=folder, env=helpers.clean_env(TMPDIR=folder))
    equal(done.status, 0, "status (%s)" % done.err)
    whole = sections_of(os.path.join(folder, "x.sonde"))
    now = sections_of(os.path.join(folder, "open.sonde"))
    equal((now["open"]["count"], now["open"]["unfinished"]), (1, 1), "open")
    equal(set(now) - set(whole), {"open"}, "sections")
    pickled = sections_of(os.path.join(folder, "pickled.sonde"))
    equal(set(whole) - set(pickled), {"cpu", "process"}, "of whose CPU seconds nobody knows when they were")
    equal({name: row["wall"] for name, row in pickled.items()}, {name: whole[name]["wall"] for name in pickled}, "wall")
    contains(run([helpers.SONDE, "info", os.path.join(folder, "pickled.sonde")]).out, "2 intervals are left out")


CELLS = ["import sonde\ndef work(n): return sum(i for i in range(n))\np = sonde.Profile(signatures=False)\np.enable(); work(10); p.disable()",
         "sonde.plot(p)", "p", "sections = sonde.Profiler()\nwith sections('load'): work(10)\nsections"]
KERNEL = """
import json, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3", startup_timeout=120)
shown = []
def note(message):
    if message["msg_type"] in ("display_data", "execute_result", "error", "stream"):
        shown[-1].append((message["msg_type"], message["content"].get("data") or message["content"]))
try:
    for cell in json.load(open("cells.json")):
        shown.append([])
        client.execute_interactive(cell, output_hook=note, timeout=120)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
json.dump(shown, open("shown.json", "w"))
"""


def test_a_kernel_shows_pages(folder):
    """A notebook without a window: its kernel alone."""
    import importlib.util
    import json
    helpers.need(all(importlib.util.find_spec(name) for name in ("ipykernel", "jupyter_client")), "no ipykernel for this Python")
    write(folder, "cells.json", json.dumps(CELLS))
    done = run([sys.executable, write(folder, "kernel.py", KERNEL)], cwd=folder, limit=300,
               env=helpers.clean_env(TMPDIR=folder, HOME=folder, JUPYTER_PLATFORM_DIRS="1", PYTHONWARNINGS="ignore"))
    equal(done.status, 0, "status (%s)" % done.err)
    with open(os.path.join(folder, "shown.json")) as f:
        shown = json.load(f)
    equal([[kind for kind, _ in cell] for cell in shown], [[], ["display_data"], ["execute_result"], ["execute_result"]], "what cells show")
    for (_, data), plain, name in zip([cell[0] for cell in shown[1:]], ("page of ", "<sonde.", "<sonde.Profiler: 1 names, 1 intervals>"), ("work", "work", "load")):
        assert data["text/plain"].startswith(plain), data["text/plain"]
        is_frame(data["text/html"])
        assert name in page_data(unescaped(data["text/html"]))["strings"], name


def test_what_is_no_profile_is_refused(folder):
    done = ran(folder, "sonde.plot(3)\n")
    contains(done.err, "TypeError: plot() needs a sonde.Profile, not int")


def test_a_profile_of_nothing_says_so(folder):
    done = ran(folder, "sonde.plot(sonde.Profile())\n")
    contains(done.err, "ValueError: nothing was profiled yet: enable()")
    equal(os.listdir(folder), ["program.py"], "files left")


def test_a_page_is_replaced_by_a_whole_one_or_stays(folder):
    """A disk that is full is played by a limit on the size of files."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (%d, resource.RLIM_INFINITY))\n"
    write(folder, "x.html", "the old page")
    done = ran(folder, "from sonde import _plot\n_plot.page_of_calls = lambda p: _plot.Page('x', 'x' * 20000)\n" +
               "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + limit % 8192 + "sonde.plot(p, 'x.html', force=True)\n")
    contains(done.err, "File too large")
    equal(sorted(os.listdir(folder)), ["program.py", "x.html"], "files left")
    with open(os.path.join(folder, "x.html")) as f:
        equal(f.read(), "the old page", "what was there")
    equal(ran(folder, "sonde.plot(p, 'x.html', force=True)\n").status, 0, "status")
    with open(os.path.join(folder, "x.html")) as f:
        contains(f.read()[:200].lower(), "<!doctype html>")


def test_names_that_a_page_cannot_have_are_refused_before_anything_is_drawn(folder):
    write(folder, "x.html", "the old page")
    for name, why, words in (("a.png", "ValueError", "writes a page, x.html"), ("x.html", "FileExistsError", "force=True"),
                             ("none/x.html", "FileNotFoundError", "none/x.html' cannot be written: its folder does not exist")):
        done = ran(folder, "sonde.plot(p, %r)\n" % name)
        equal(done.status, 1, name)
        contains(done.err.splitlines()[-1], why, name)
        contains(done.err.splitlines()[-1], words, name)
        assert ".tmp" not in done.err, done.err
    equal(sorted(os.listdir(folder)), ["program.py", "x.html"], "files left")


def test_a_profile_that_still_collects_shows_none_of_the_drawing(folder):
    done = ran(folder, "p = sonde.Profile(signatures=False)\np.enable()\nwork()\nsonde.plot(p, 'x.html')\n"
               "print(*sorted({f.code.co_name for f in p.getstats() if not isinstance(f.code, str)}))\n")
    equal(done.status, 0, "status (%s)" % done.err)
    names = set(done.out.split("\n")[1].split())
    assert {"work", "leaf", "plot"} <= names <= {"work", "leaf", "plot", "<listcomp>"}, names


def test_a_timer_of_ones_own_keeps_its_unit(folder):
    """1000 units of a millisecond each in work(): the page says so."""
    done = run([sys.executable, write(folder, "program.py", """
import sonde
now = [0]
def work(): now[0] += 1000
p = sonde.Profile(lambda: now[0], 0.001, signatures=False)
p.enable(); work(); p.disable()
sonde.plot(p, 'x.html')
""")], cwd=folder)
    equal(done.status, 0, "status (%s)" % done.err)
    with open(os.path.join(folder, "x.html"), encoding="utf-8") as f:
        data = page_data(f.read())
    contains(str(data["views"]), "1.0 s traced")


def test_raw_times_stay_raw_in_pictures(folder):
    """The cost of tracing is taken off unless times are to be raw: in getstats(), and in the capture that is drawn."""
    done = ran(folder, """
import json, subprocess
from sonde._plot import _program
def loop():
    for i in range(20000): leaf()
for raw in (True, False):
    p = sonde.Profile(signatures=False, raw=raw)
    p.enable()
    loop()
    p.disable()
    with open("x.sonde", "wb") as f:
        f.write(p._capture("x"))
    rows = json.loads(subprocess.run([_program(), "report", "x.sonde", "--json"], check=True, stdout=subprocess.PIPE).stdout.decode())["functions"]
    drawn, = [row for row in rows if row["function"] == "leaf"]
    told, = [f.inlinetime for f in p.getstats() if getattr(f.code, "co_name", "") == "leaf"]
    print(0.999 < drawn["own"] / 1e9 / told < 1.001 or (raw, drawn, told))
    print((sum(row["tracing"] for row in rows) == 0) == raw or (raw, rows)) # of a leaf alone it may be too little to be told
""")
    equal((done.out.split(), done.err), (["True"] * 4, ""), "times of the pictures are those of getstats(), raw or not")


helpers.run_tests(globals())
