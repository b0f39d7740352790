# SPDX-License-Identifier: MIT
"""sonde.record: a block of this process, recorded with any collectors.

    with sonde.record("calls", "lines", only="load") as r:
        ...
    print(r)                # what `sonde report` prints
    r.report()              # what `sonde report --json` prints, as a dict
    r.save("load.sonde")    # a capture; load.html, load.svg, ... by the suffix

Beginning and end of the block are in the extension (`_sonde.Recording`); here is what happens before and after.
"""
import atexit
import json
import os

from . import _sonde

_running = []  # recordings with a capture on the disk, whose block runs


class Recording(_sonde.Recording):
    """A recorded block, made by sonde.record().  Ask it when the block has ended."""

    _source = None  # the capture: bytes, or an open file; None: it is in the extension's memory, or there is none
    _scratch = None
    _attached = None
    _facts = {}  # more that is to be known of it, by name
    _pid = 0  # the process in which it began
    _codes = ()  # whose lines are counted, besides those of functions that `only` names

    # Called by the extension, where there is a capture on the disk.

    def _begin(self):
        """(path, None): the capture to be made; (None, folder): the one to be joined."""
        from ._scratch import Scratch

        self._pid = os.getpid()
        if self._place == "attached" and any(one._place == "attached" and one._pid == self._pid for one in _running):
            # The kernel lets one process look: the second would take the right from the first.
            raise RuntimeError("a block of sonde.record() is being recorded already; end it before the next begins")
        self._scratch = Scratch("record")
        _running.append(self)
        if self._place == "own":
            return self._scratch.path, None
        from ._attached import Attached

        self._attached = Attached(self._outside, self._scratch.path)
        return None, self._scratch.path + ".live"

    def _end(self, is_ours):
        attached, self._attached = self._attached, None
        scratch, self._scratch = self._scratch, None
        try:
            if is_ours and attached is not None:
                attached.end()
            if is_ours:
                self._source = scratch.keep()
        finally:
            if is_ours:
                scratch.drop()  # again, where its end was not reached
            if self in _running:
                _running.remove(self)

    def _give_up(self):
        attached, self._attached = self._attached, None
        scratch, self._scratch = self._scratch, None
        try:
            if attached is not None:
                attached.end()
        finally:
            if self in _running:
                _running.remove(self)
            if scratch is not None:
                scratch.drop()

    # What was recorded.

    def _capture_now(self):
        """Its capture, as bytes or as an open file."""
        if self._source is None:
            if not self._has_ended:
                raise RuntimeError("nothing is recorded yet: use it as `with sonde.record({0}) as r:`, and ask when the block has ended".format(
                    ", ".join(map(repr, self.collectors))))
            from ._plot import _command

            facts = {"command": _command().encode("utf-8", "replace").decode("utf-8")}
            facts.update(self._facts)
            self._source = self._capture(facts)
            self._forget()
        return self._source

    def _run(self, before, after):
        from ._plot import run_on

        return run_on(self._capture_now(), before, after, True)

    def __str__(self):
        """The text of `sonde report`."""
        if not self._has_ended:
            return repr(self)
        text = self._run(["report"], []).decode("utf-8", "replace")
        return text[3:] if text.startswith("-: ") else text

    def __repr__(self):
        state = "runs" if self.is_recording else "{0:.4g} s".format(self.wall) if self._has_ended else "not begun"
        return "<sonde recording of {0}: {1}>".format(", ".join(self.collectors), state)

    def report(self):
        """Returns the object of `sonde report --json`, as a dict."""
        return json.loads(self._run(["report"], ["--json"]).decode("utf-8"))

    def save(self, path, force=False):
        """Writes a capture (x.sonde), the page (x.html) or any other output of `sonde convert`, by the suffix; returns the path.

        A file that is there already is replaced with force=True alone.
        """
        path = os.path.abspath(os.fsdecode(path))
        source = self._capture_now()
        if os.path.exists(path) and not force:
            raise FileExistsError("{0!r} already exists; choose another name, or use force=True to replace it".format(path))
        if path.endswith(".sonde"):
            from ._plot import write_whole

            write_whole(path, bytes_of(source))
        else:
            self._run(["convert"] + (["--force"] if force else []), [path])
        return path

    def page(self):
        """Returns the page of it, as a notebook shows it; its `text` is HTML that needs nothing else."""
        from ._plot import Page, _command

        return Page(_command(), self._run(["convert"], ["-", "--format", "html"]).decode("utf-8"))

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook shows: the text, and the page unless it is large."""
        from ._plot import bundle

        if not self._has_ended:
            return {"text/plain": repr(self)}
        return bundle(self, self.page, str)


def bytes_of(source):
    if isinstance(source, bytes):
        return source
    with open("/proc/self/fd/{0}".format(source.fileno()), "rb") as f:
        return f.read()


def record(*collectors, **options):
    """Returns a recording of a `with` block by these collectors: "calls", "lines", "alloc", "sections", "sample", "rss".

        with sonde.record("calls", builtins=True) as r:
            ...
        print(r)

    Options are those of the collectors (sonde.collectors() lists them), with _ for -: one that several collectors have is meant of
    all of them, and calls_cpu=True of calls alone.  The thread of the block is recorded, with all threads that begin meanwhile,
    whoever starts them: threads=False records its own alone, and sonde.web one request.
    Recordings may nest; what a process can do only once ("alloc"; "sample" and "rss") is refused the second time.
    """
    return Recording(*collectors, **options)


def _end_at_exit():
    """The program ends inside a block: in a thread, or in a generator that nobody resumes."""
    while _running:
        last = _running[-1]
        last.__exit__(None, None, None)
        if _running and _running[-1] is last:
            _running.pop()


atexit.register(_end_at_exit)
