# SPDX-License-Identifier: MIT
"""sonde.memory: what a part of a program allocates, by line, function and stack.

    from sonde.memory import track

    with track() as t:
        ...
    t.peak_bytes; t.rows("peak"); t.leaks()
    t.print()
    t.flame("peak.svg")

track() records this process as `sonde alloc` does, and needs no parent process.  load("x.sonde") asks the same of a capture
that is there already.
"""
import _thread
import atexit
import os

from . import _sonde

__all__ = ["Allocations", "load", "track"]

_ROWS = 20  # of a printed table

_WORDS = (("--temporary needs", "view='temporary' needs"), ("--growing needs", "view='growing' needs"), ("--at needs", "at= needs"),
          ("--by size needs", "by='size' needs"), ("--by thread needs", "by='thread' needs"), ("(--mode aggregate)", "(mode='aggregate')"), ("(--mode sample)", "(mode='sample')"),
          ("record with: sonde alloc --mode full", "record with mode='full'"))


class Allocations:
    """What was recorded of allocations, by track() or in a capture."""

    _source = None  # the path, or the bytes, or an open file without a name
    _asked = None  # the _sonde.Allocations of it

    def _answers(self):
        if self._asked is None:
            source = self._source
            if source is None:
                raise RuntimeError("nothing is recorded yet: write `with track() as t:`, and ask t after the block has ended")
            is_open = hasattr(source, "fileno")
            self._asked = _sonde.Allocations("/proc/self/fd/{0}".format(source.fileno()) if is_open else source, is_open)
        return self._asked

    def _ask(self, method, view, by, mine, between, at, n):
        at_ns = None if at is None else int(at * 1e9)
        try:
            return method("live" if at is not None and view == "peak" else view, by, mine, between, at_ns, n)
        except ValueError as why:
            said = str(why)
            for typed, here in _WORDS:
                said = said.replace(typed, here)
            raise ValueError(said) from None

    @property
    def summary(self):
        """The figures of the recording, as a dict: the object "alloc" of `sonde report --alloc --json`."""
        return self._answers().summary()

    @property
    def peak_bytes(self):
        """The most bytes that were live at one moment."""
        return self.summary["peak_bytes"]

    def rows(self, view="peak", by="line", mine=False, n=None, between=None, at=None):
        """Returns rows as dicts with function, file, line, count, bytes and what `by` adds, the largest first.

        `view` is peak, leaks (live at the end), temporary (freed with at most `between` other allocations of the thread in
        between; 1), total or growing; `at` asks for what was live so many seconds after the beginning.  `by` is line, function,
        file, stack, thread, process, allocator or size.  With `mine` a row is the innermost line that is no library's.
        """
        return self._ask(self._answers().rows, view, by, mine, between, at, n)

    def leaks(self, by="line", mine=False):
        """Returns the rows of what was allocated and not freed when the recording ended."""
        return self.rows("leaks", by, mine)

    def print(self, view="peak", by="line", mine=False, n=_ROWS, file=None):
        """Prints what `sonde report --alloc` prints."""
        print(self._ask(self._answers().text, view, by, mine, None, None, n), end="", file=file)

    def flame(self, path, view="peak", force=False):
        """Writes a flame graph (x.svg) of the stacks that hold the bytes, and returns its path.

        A file that is there already is replaced with force=True alone.
        """
        from ._plot import run_on

        path = os.path.abspath(os.fsdecode(path))
        views = ("peak", "leaks", "temporary", "total")
        if view not in views:
            raise ValueError("view must be one of {0}, not {1!r}".format(", ".join(views), view))
        if os.path.exists(path) and not force:
            raise FileExistsError("{0!r} already exists; choose another name, or use force=True to replace it".format(path))
        self._answers()
        run_on(self._source, ["report"], ["--alloc", "--" + view, "--flame", "-o", path] + (["--force"] if force else []))
        return path

    def __repr__(self):
        if self._source is None:
            return object.__repr__(self)
        s = self.summary
        return "<{0}: peak {1:,} bytes, {2:,} allocations of {3:,} bytes, {4:,} bytes in {5:,} blocks not freed>".format(
            type(self).__name__, s["peak_bytes"], s["allocations"], s["bytes"], s["leaked_bytes"], s["leaked_allocations"])

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook shows: the page that `sonde view` makes, unless it is large."""
        from ._plot import bundle, page_of_allocations

        return bundle(self, lambda: page_of_allocations(self._source))


def load(path):
    """Returns the Allocations of a capture that `sonde alloc` or track(path) has made."""
    loaded = Allocations()
    loaded._source = os.fsdecode(path)
    if not os.path.exists(loaded._source):
        raise FileNotFoundError("there is no file {0!r}".format(loaded._source))
    loaded.summary  # it is refused here, if it is to be
    return loaded


class track(_sonde.Track, Allocations):
    """Records every allocation and free of a block, or of each call of a function, with its stack.

        with track() as t:
            ...
        t.print()

        @track("load.sonde")
        def load(): ...

    Blocks that are live when it ends are leaked.  All threads are followed, or with `current_thread_only` what this one
    allocates, whoever frees it; children made by fork, too.  `layer` is py, malloc or all; `mode` is full, aggregate (sums for each
    stack alone) or sample; with `native` stacks have C's frames, too.

    With a path what was recorded stays there as a capture, which `sonde report` reads; without one it stays with this object.
    A decorated function is recorded from its beginning to its end, a generator from its first step to its last, with what
    runs in between; calls inside a recorded call are part of it.  This object has the last recording; with a path the second
    is x-2.sonde, the third x-3.sonde.
    """

    def __init__(self, path=None, layer="all", mode="full", native=False, current_thread_only=False):
        for word, value, known in (("layer", layer, ("all", "py", "malloc")), ("mode", mode, ("full", "aggregate", "sample"))):
            if value not in known:
                raise ValueError("{0} must be {1}, {2} or {3}, not {4!r}".format(word, *known + (value,)))
        self._path = None if path is None else os.fsdecode(path)
        self._with = "alloc:layer={0};mode={1}{2}".format(layer, mode, ";native=1" if native else "")
        self._only_this = bool(current_thread_only)
        self._scratch = None
        self._n_calls = self._n_recorded = 0
        self._is_changing = False  # the recording is beginning or ending

    # Called by the extension, before it begins and when it has ended.

    def _begin(self):
        """Where to record, and how: (path, text of SONDE_WITH, current_thread_only)."""
        global _running
        self._asked = self._source = None
        path = self._path
        if path is None:
            from ._scratch import Scratch

            self._scratch = Scratch("track")
            path = self._scratch.path
        elif self._n_calls and self._n_recorded:
            stem, suffix = os.path.splitext(path)
            path = "{0}-{1}{2}".format(stem, self._n_recorded + 1, suffix)
        if os.path.exists(path):
            raise FileExistsError("{0!r} already exists; choose another path for track(), or remove it".format(path))
        self._made = os.path.abspath(path)
        if _running is None:
            atexit.register(_end_at_exit)
        _running = self
        return os.fsencode(self._made), self._with, self._only_this

    def _end(self, is_ours):
        """Keeps what was recorded."""
        global _running
        _running = False
        if not is_ours:
            return
        self._n_recorded += 1
        scratch, self._scratch = self._scratch, None
        self._source = self._made if scratch is None else scratch.keep()

    def _give_up(self):
        """Removes what is not to be kept."""
        global _running
        _running = False
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.drop()

    # As a decorator.

    def _enter_call(self):
        _turn.acquire()  # a `with` would make an object, in a block that is recorded
        try:
            if (self._n_calls == 0 or not self.is_recording) and not self._is_changing:
                self._is_changing = True  # a signal handler may come here meanwhile
                self._n_calls += 1
                try:
                    self.__enter__()
                except BaseException:
                    self._n_calls -= 1
                    raise
                finally:
                    self._is_changing = False
            else:
                self._n_calls += 1
        finally:
            _turn.release()

    def _leave_call(self):
        _turn.acquire()
        try:
            self._n_calls -= 1
            if self._n_calls == 0 and not self._is_changing:
                self._is_changing = True
                try:
                    self.__exit__(None, None, None)
                finally:
                    self._is_changing = False
        finally:
            _turn.release()

    def __call__(self, func):
        """Decorates a function, a generator or either of them that is async."""
        import inspect
        from functools import wraps

        if inspect.isasyncgenfunction(func):
            async def tracked(*args, **kw):
                self._enter_call()
                try:
                    body = func(*args, **kw)
                    held = [body.asend(None)]  # the next step: a variable would keep it alive
                    while True:
                        try:
                            held.append(await held.pop())
                        except StopAsyncIteration:
                            return
                        try:
                            held.append(body.asend((yield held.pop())))
                        except BaseException as raised:  # by athrow() or aclose(): the body answers
                            held.append(body.athrow(raised))
                finally:
                    self._leave_call()
        elif inspect.iscoroutinefunction(func):
            async def tracked(*args, **kw):
                self._enter_call()
                try:
                    return await func(*args, **kw)
                finally:
                    self._leave_call()
        elif inspect.isgeneratorfunction(func):
            def tracked(*args, **kw):
                self._enter_call()
                try:
                    return (yield from func(*args, **kw))
                finally:
                    self._leave_call()
        else:
            def tracked(*args, **kw):
                self._enter_call()
                try:
                    return func(*args, **kw)
                finally:
                    self._leave_call()
        return wraps(func)(tracked)


_running = None  # the track whose block runs; None: there was none yet
_turn = _thread.RLock()  # of threads that call decorated functions at once: one begins or ends the recording, the others wait


def _free_turn():
    global _turn
    _turn = _thread.RLock()


os.register_at_fork(after_in_child=_free_turn)  # the thread that had it is not in the child


def _end_at_exit():
    """The program ends inside a block: in a thread, or in a generator that nobody resumes."""
    if _running:
        _running.__exit__(None, None, None)
