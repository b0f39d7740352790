# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""sonde.plot: a page that stays outside a notebook, HTML inside one; the numbers are those of the Profile."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import contains, equal, run, write  # noqa: E402

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
        contains(page[:200], "<!DOCTYPE html>")
        assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//|file:)", page), "the page asks for something"
        words = unescaped(unescaped(page))
        for name in ("program:3:leaf", "program:4:work", "program.py:3"):
            contains(words, name)
        contains(words, "7\u00d7")
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
             "assert html.count('<iframe') == 2 and 'program:4:work' in html, html[:300]\n"
             "print(repr(shown[0]))\n")
    done = ran(folder, shell)
    equal(done.status, 0, "status (%s)" % done.err)
    equal(done.out.strip(), "flame graph and call graph of program.py", "plain form")


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
    done = ran(folder, "from sonde import _plot\n_plot._pictures = lambda p: type('Full', (), {'page': lambda self: 'x' * 20000})()\n" +
               "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + limit % 8192 + "sonde.plot(p, 'x.html', force=True)\n")
    contains(done.err, "File too large")
    equal(sorted(os.listdir(folder)), ["program.py", "x.html"], "files left")
    with open(os.path.join(folder, "x.html")) as f:
        equal(f.read(), "the old page", "what was there")
    equal(ran(folder, "sonde.plot(p, 'x.html', force=True)\n").status, 0, "status")
    with open(os.path.join(folder, "x.html")) as f:
        contains(f.read()[:200], "<!DOCTYPE html>")


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
        contains(unescaped(unescaped(f.read())), "total 100.00%, 1.0 s")


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
