# SPDX-License-Identifier: MIT
"""sonde.plot, and what results show in a notebook: the page that `sonde view` makes.

It is made by the program `sonde` of this package, which gets what was measured as a file without a name.
"""
import html
import os
import shutil
import subprocess
import sys
import tempfile

HEIGHT = 720  # pixels of the page inside a notebook
SHOWN_BYTES = 2000000  # of a page that is shown unasked

# A document of its own, which gets nothing of the notebook: no address, no storage, no cookies.
FRAME = '<iframe title="{title}" sandbox="allow-scripts allow-downloads" srcdoc="{page}" style="width: 100%; height: {height}px; border: 1px solid #8886"></iframe>'


class Page:
    """A page as a notebook shows it."""

    def __init__(self, title, text):
        self.title, self.text = title, text

    def _repr_html_(self):
        return FRAME.format(title=html.escape(self.title, quote=True), page=html.escape(self.text, quote=True), height=HEIGHT)

    def __repr__(self):
        return "page of {0}".format(self.title)


def _plain(result, text):
    try:
        return text(result)
    except Exception:  # of a subclass
        return object.__repr__(result)


def bundle(result, page, text=repr):
    """What _repr_mimebundle_ of a result returns; `page` makes its page, or returns None where there is nothing to show."""
    shown = {"text/plain": _plain(result, text)}
    try:
        made = None if _is_terminal() else page()
    except Exception:  # without the program, memory or a disk, the plain text is what there is
        made = None
    if made is not None and len(made.text) < SHOWN_BYTES:
        shown["text/html"] = made._repr_html_()
    return shown


def _program():
    from .__main__ import _is_program, _places

    for path in _places():
        if _is_program(path):
            return path
    raise RuntimeError("the program `sonde`, which makes pages, is neither in this package nor on PATH; install sonde again, or run `make`")


def _page_of_capture(make):
    """The page of the capture that make() returns when it is told what ran; None where it returns none."""
    title = _command().encode("utf-8", "replace").decode("utf-8")
    made = make(title)
    if made is None:
        return None
    with tempfile.TemporaryFile(prefix="sonde-plot-") as capture:  # without a name, so a death leaves nothing
        capture.write(made)
        capture.flush()
        return Page(title, _html_of(capture))


def _html_of(file):
    """The page of what is in the open file."""
    return run_on(file, ["convert"], ["-", "--format", "html"]).decode("utf-8")


def run_on(source, before, after, is_piped=False):
    """Runs the program on a file, by its path, open, or as bytes, with words before and after its name; returns its stdout.

    Piped, the file has no name: it is "-" in what the program writes.
    """
    if isinstance(source, bytes):
        with tempfile.TemporaryFile(prefix="sonde-plot-") as file:
            file.write(source)
            file.flush()
            return run_on(file, before, after, is_piped)
    is_open = hasattr(source, "fileno")
    name = "/proc/self/fd/{0}".format(source.fileno()) if is_open else os.fspath(source)
    stdin = open(name, "rb") if is_piped else None
    try:
        done = subprocess.run([_program()] + before + ["-" if is_piped else name] + after, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, pass_fds=[source.fileno()] if is_open else [])
    finally:
        if stdin:
            stdin.close()
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip() or "sonde ended with {0}".format(done.returncode))
    return done.stdout


def page_of_allocations(source):
    """The page of a capture with allocations; None where there is none yet."""
    return None if source is None else Page(_command(), run_on(source, ["convert"], ["-", "--format", "html"]).decode("utf-8"))


def _command():
    """What runs, as the title says it."""
    words = [w for w in sys.argv if w] if getattr(sys, "argv", None) else []
    return " ".join([os.path.basename(words[0])] + words[1:]) if words and words[0] not in ("-c", "-m") else "Python"


def page_of_calls(profile):
    """The page of a Profile; None of one that has nothing."""
    if not profile.getstats():
        return None
    return _page_of_capture(profile._capture)


def page_of_sections(profiler):
    """The page of a Profiler; None of one that has nothing."""
    from ._sonde import Profiler

    return _page_of_capture(lambda title: Profiler._capture_sections(profiler, title))  # not what a subclass makes of it


def bundle_of_sections(profiler):
    """_repr_mimebundle_ of a Profiler, for the extension."""
    return bundle(profiler, lambda: page_of_sections(profiler))


def page_of_lines(profiler):
    """The page of a LineProfiler; None of one that has nothing."""
    if not any(profiler.get_stats().timings.values()):
        return None
    with tempfile.TemporaryDirectory(prefix="sonde-plot-") as folder:
        path = os.path.join(folder, "lines.lprof")
        profiler.dump_stats(path)
        with open(path, "rb") as f:
            return Page(_command(), _html_of(f))


def page_of_model(model, name, count):
    from ._picture import draw

    return Page(name, draw(model, ["--count", count, "--format", "html", "-o", "-"]).decode("utf-8"))


def _shell():
    """IPython's, where there is one."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def _is_terminal():
    return type(_shell()).__name__ == "TerminalInteractiveShell"


def _shows_pages():
    """Are we in a notebook, or in what else shows HTML?"""
    return _shell() is not None and not _is_terminal()


def _check(path, force):
    """Before anything is made: can the page have this name?"""
    if not path.lower().endswith((".html", ".htm")) and (os.path.isfile(path) or not os.path.exists(path)):
        raise ValueError("plot() writes a page, x.html, not {0!r}; a picture alone is made by p.dump_stats('x.pstats') and then "
                         "`sonde report x.pstats --graph -o x.svg`".format(path))
    if os.path.isfile(path) and not force:
        raise FileExistsError("{0!r} already exists; choose another name, or use force=True to replace it".format(path))
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError("{0!r} cannot be written: its folder does not exist".format(path))


def write_whole(path, content, mode=0o666):
    """All of it or nothing: it is written beside, and then takes the name.  What is no plain file is written as it is.

    A new file has what the umask leaves of `mode`.
    """
    path = os.path.realpath(path)
    is_new = not os.path.exists(path)
    beside = "{0}.{1}.tmp".format(path, os.getpid()) if is_new or os.path.isfile(path) else path
    try:
        with open(beside, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as f:
            f.write(content)
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
    page = page_of_calls(profile)
    if page is None:
        raise ValueError("nothing was profiled yet: enable(), run what is to be seen, then plot()")
    if path is None and _shows_pages():
        from IPython.display import display

        display(page)
        return None
    if path is None:
        handle, path = tempfile.mkstemp(prefix="sonde-plot-", suffix=".html")
        os.close(handle)
    write_whole(path, page.text.encode("utf-8"))
    print(path)
    return path
