# SPDX-License-Identifier: MIT
"""sonde.plot: the flame graph and the call graph of a Profile, in a notebook or as a page of its own.

Both are drawn by the program `sonde` of this package, which gets what was measured as a capture.
"""
import html
import os
import shutil
import subprocess
import sys
import tempfile

HEIGHT = 640  # pixels of each picture inside a notebook

# Each picture is a document of its own, so that their scripts and addresses stay apart.
FRAME = '<iframe title="{title}" srcdoc="{picture}" style="{style}"></iframe>'
PICTURE = '<!DOCTYPE html><html><head><meta charset="utf-8"><style>body {{ margin: 0 }} svg {{ display: block }}</style></head><body>{svg}</body></html>'
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ margin: 0; font: 14px system-ui, sans-serif; display: flex; flex-direction: column; height: 100vh }}
nav {{ padding: 6px 12px; border-bottom: 1px solid #d8d3ca }}
nav a {{ margin-right: 16px; color: #7440b3 }}
iframe {{ flex: 1; border: 0; width: 100% }}
#graph, body:has(#graph:target) #flame {{ display: none }}
#graph:target, #flame {{ display: flex; flex: 1 }}
</style></head>
<body><nav><a href="#flame">Flame graph</a><a href="#graph">Call graph</a></nav>
<div id="flame">{flame}</div><div id="graph">{graph}</div>
</body></html>
"""


class Pictures:
    """What a notebook shows: the flame graph, and the call graph below it."""

    def __init__(self, title, flame, graph):
        self.title, self.flame, self.graph = title, flame, graph

    def _frames(self, style):
        return [FRAME.format(title=html.escape(words, quote=True), picture=html.escape(PICTURE.format(svg=svg), quote=True), style=style)
                for words, svg in (("flame graph", self.flame), ("call graph", self.graph))]

    def _repr_html_(self):
        return "\n".join(self._frames("width: 100%; height: {0}px; border: 1px solid #d8d3ca".format(HEIGHT)))

    def page(self):
        """The same as one page that needs nothing else."""
        flame, graph = self._frames("")
        return PAGE.format(title=html.escape(self.title), flame=flame, graph=graph)

    def __repr__(self):
        return "flame graph and call graph of {0}".format(self.title)


def _program():
    from .__main__ import _is_program, _places

    for path in _places():
        if _is_program(path):
            return path
    raise RuntimeError("the program `sonde`, which draws, is neither in this package nor on PATH; install sonde again, or run `make`")


def _draw(program, capture, kind):
    """The SVG of the capture in the open file, without the line that makes it a file."""
    done = subprocess.run([program, "convert", "/proc/self/fd/{0}".format(capture.fileno()), "-", "--format", kind], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[capture.fileno()])
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip() or "sonde ended with {0}".format(done.returncode))
    return done.stdout.decode("utf-8").split("?>\n", 1)[1]


def _command():
    """What runs, as the title says it."""
    words = [w for w in sys.argv if w] if getattr(sys, "argv", None) else []
    return " ".join([os.path.basename(words[0])] + words[1:]) if words and words[0] not in ("-c", "-m") else "Python"


def _pictures(profile):
    program = _program()
    if not profile.getstats():
        raise ValueError("nothing was profiled yet: enable(), run what is to be seen, then plot()")
    title = _command().encode("utf-8", "replace").decode("utf-8")
    with tempfile.TemporaryFile(prefix="sonde-plot-") as capture:  # without a name, so a death leaves nothing
        capture.write(profile._capture(title))
        capture.flush()
        return Pictures(title, _draw(program, capture, "flamegraph"), _draw(program, capture, "graph"))


def _shows_pictures():
    """Are we in a notebook, or in what else shows HTML?"""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"


def _check(path, force):
    """Before anything is drawn: can the page have this name?"""
    if not path.lower().endswith((".html", ".htm")) and (os.path.isfile(path) or not os.path.exists(path)):
        raise ValueError("plot() writes a page, x.html, not {0!r}; a picture alone is made by p.dump_stats('x.pstats') and then "
                         "`sonde report x.pstats --graph -o x.svg`".format(path))
    if os.path.isfile(path) and not force:
        raise FileExistsError("{0!r} already exists; choose another name, or use force=True to replace it".format(path))
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError("{0!r} cannot be written: its folder does not exist".format(path))


def _write(path, page):
    """All of it or nothing: it is written beside, and then takes the name.  What is no plain file is written as it is."""
    path = os.path.realpath(path)
    is_new = not os.path.exists(path)
    beside = "{0}.{1}.tmp".format(path, os.getpid()) if is_new or os.path.isfile(path) else path
    try:
        with open(beside, "w", encoding="utf-8") as f:
            f.write(page)
        if beside != path and not is_new:
            shutil.copymode(path, beside)
        if beside != path:
            os.replace(beside, path)
    except BaseException:
        if beside != path and os.path.exists(beside):
            os.remove(beside)
        raise


def plot(profile, path, force):
    """sonde.plot, of a Profile that has stopped."""
    if not hasattr(profile, "_capture"):
        raise TypeError("plot() needs a sonde.Profile, not {0}".format(type(profile).__name__))
    if path is not None:
        path = os.path.abspath(os.fsdecode(path))
        _check(path, force)
    pictures = _pictures(profile)
    if path is None and _shows_pictures():
        from IPython.display import display

        display(pictures)
        return None
    if path is None:
        handle, path = tempfile.mkstemp(prefix="sonde-plot-", suffix=".html")
        os.close(handle)
    _write(path, pictures.page())
    print(path)
    return path
