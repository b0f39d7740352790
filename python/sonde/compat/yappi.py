# SPDX-License-Identifier: MIT
"""yappi, measured by Sonde: `from sonde.compat import yappi`, `python -m sonde.compat.yappi`.

start, stop, run, profile, get_func_stats, get_thread_stats and what they give: sorted, filtered, printed,
saved, added up, made into pstats and callgrind files.  Sonde traces all threads, also those that already run,
each in a tree of its own.  What is different is what was wrong: a method has the name of the class that defines
it (from CPython 3.11 on; before, its bare name), not that of the first object it was called with, and pstats
files have calls and primitive calls in their places.

Not here: tags, callbacks for contexts and the greenlet backend (greenlets are told apart by themselves, and have no stats of
their own), how often a thread was scheduled (sched_count is 0), and files of yappi's own, which are pickled objects: those saved here
hold plain data.
"""
import os
import sys
import threading
import time
from contextlib import contextmanager

from .._sonde import CallStats as _CallStats
from .._sonde import Profile as _Engine

__all__ = [
    "start", "stop", "get_func_stats", "get_thread_stats", "clear_stats", "is_running", "get_clock_time", "get_clock_type",
    "set_clock_type", "get_clock_info", "get_mem_usage", "set_context_backend",
]

LINESEP = os.linesep
COLUMN_GAP = 2
COLUMNS_FUNCSTATS = ["name", "ncall", "ttot", "tsub", "tavg"]
SORT_TYPES_FUNCSTATS = {
    "name": 0, "callcount": 3, "totaltime": 6, "subtime": 7, "avgtime": 14, "ncall": 3, "ttot": 6, "tsub": 7, "tavg": 14,
}
SORT_TYPES_CHILDFUNCSTATS = {
    "name": 10, "callcount": 1, "totaltime": 3, "subtime": 4, "avgtime": 5, "ncall": 1, "ttot": 3, "tsub": 4, "tavg": 5,
}
SORT_ORDERS = {"ascending": 0, "asc": 0, "descending": 1, "desc": 1}
CLOCK_TYPES = {"WALL": 0, "CPU": 1}
NATIVE_THREAD, GREENLET = "NATIVE_THREAD", "GREENLET"
BACKEND_TYPES = {NATIVE_THREAD: 0, GREENLET: 1}


class YappiError(Exception):
    pass


class _Session:
    """The one profiler of the process.  Its trees stay over stop() and start(), until clear_stats()."""

    def __init__(self):
        self.clock = "cpu"
        self.engine = None
        self.is_running = False
        self.follows_threads = None
        self.names = {}  # native thread id: class of its threading.Thread

    def start(self, builtins, threads):
        if self.is_running:
            return
        if self.engine is None or self.follows_threads != threads:
            self.engine = _Engine(threads=threads, cpu=self.clock == "cpu", signatures=False)
            self.follows_threads = threads
        # Up to 3.11 C functions are seen through the thread's one profile function, which is not ours to replace then.
        # Neither is what the program has set for its threads: their names are then those that remember() finds.
        if threads and threading._profile_hook is None and (sys.version_info >= (3, 12) or not builtins):
            threading.setprofile(_name_thread)
        self.remember()
        self.is_running = True
        self.engine.enable(builtins=builtins)

    def stop(self):
        if not self.is_running:
            return
        self.engine.disable()
        self.is_running = False
        if threading._profile_hook is _name_thread:
            threading.setprofile(None)
        self.remember()

    def remember(self):
        for thread in list(threading._active.values()):  # the property native_id would be a call, and seen
            self.names[thread._native_id] = type(thread).__name__

    def clear(self):
        if self.engine is not None:
            self.engine.clear()
        if not self.is_running:
            self.engine = None

    def has_stats(self):
        return self.engine is not None and bool(self.engine.getstats())

    def threads(self):
        """(ctx_id, class of the thread, ident, seconds on the chosen clock) of each thread."""
        if self.engine is None:
            return []
        self.remember()
        found = []
        for i, (ident, tid, wall, cpu) in enumerate(self.engine.threads()):
            found.append((i, self.names.get(tid, "Thread"), ident, cpu if self.clock == "cpu" else wall))
        return found

    def entries(self, ctx_id):
        return self.engine.getstats(thread=ctx_id, cpu=self.clock == "cpu")


_session = _Session()


def _name_thread(frame, event, arg):
    """Called once in each new thread, when threading knows it."""
    sys.setprofile(None)
    _session.names[threading.get_native_id()] = type(threading._active.get(threading.get_ident())).__name__


# ---- Rows


def _named(word, known, what):
    word = word.lower()
    if word not in known:
        raise YappiError("Invalid {0}: '{1}'".format(what, word))
    return word


def _seconds(x, size=8):
    """As many digits as there is room for, six at most."""
    for digits in range(6, -1, -1):
        text = "%0.*f" % (digits, x)
        if len(text) <= size:
            break
    return text


def _cut_left(text, size):
    text = str(text)
    return ".." + text[len(text) - size + 2:] if len(text) > size else text.ljust(size)


def _cut_right(text, size):
    text = str(text)
    return text[: size - 2] + ".." if len(text) > size else text.ljust(size)


class YStat(dict):
    """A row: its items by number, and as attributes."""

    _KEYS = {}

    def __init__(self, values):
        super().__init__()
        for name, at in self._KEYS.items():
            setattr(self, name, values[at])

    def __setattr__(self, name, value):
        self[self._KEYS[name]] = value
        super().__setattr__(name, value)

    def _key(self):
        return self.full_name

    def __eq__(self, other):
        return isinstance(other, YStat) and self._key() == other._key()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self._key())

    def _print(self, out, columns):
        for at in sorted(columns):
            title, size = columns[at]
            out.write(self._column(title, size) + " " * (0 if title in ("tavg", "scnt") else COLUMN_GAP))
        out.write(LINESEP)


class YFuncStat(YStat):
    """What one function did."""

    _KEYS = {
        "name": 0, "module": 1, "lineno": 2, "ncall": 3, "nactualcall": 4, "builtin": 5, "ttot": 6, "tsub": 7, "index": 8,
        "children": 9, "ctx_id": 10, "ctx_name": 11, "tag": 12, "tavg": 14, "full_name": 15,
    }

    def __add__(self, other):
        if other is None or self is other:
            return self
        self.ncall += other.ncall
        self.nactualcall += other.nactualcall
        self.ttot += other.ttot
        self.tsub += other.tsub
        self.tavg = self.ttot / self.ncall
        for child in getattr(other, "children", ()):
            self.children.append(child)
        return self

    def is_recursive(self):
        return self.nactualcall != 0 and self.ncall != self.nactualcall

    def strip_dirs(self):
        self.module = os.path.basename(self.module)
        self.full_name = _full_name(self.builtin, self.module, self.lineno, self.name)
        return self

    def _column(self, title, size):
        if title == "name":
            return _cut_left(self.full_name, size)
        if title == "ncall":
            return _cut_right("%d/%d" % (self.ncall, self.nactualcall) if self.is_recursive() else self.ncall, size)
        return _cut_right(_seconds(getattr(self, title), size), size)


class YChildFuncStat(YFuncStat):
    """What one function did when another one called it."""

    _KEYS = {
        "index": 0, "ncall": 1, "nactualcall": 2, "ttot": 3, "tsub": 4, "tavg": 5, "builtin": 6, "full_name": 7, "module": 8,
        "lineno": 9, "name": 10,
    }


class YThreadStat(YStat):
    """One thread: the class of its threading.Thread, its number here, its ident, and its time."""

    _KEYS = {"name": 0, "id": 1, "tid": 2, "ttot": 3, "sched_count": 4}

    def _key(self):
        return self.id

    def _column(self, title, size):
        if title == "name":
            return _cut_left(self.name, size)
        value = {"scnt": self.sched_count, "ttot": _seconds(self.ttot, size)}.get(title)
        return _cut_right(getattr(self, title) if value is None else value, size)


def _full_name(builtin, module, lineno, name):
    return "%s.%s" % (module, name) if builtin else "%s:%d %s" % (module, lineno, name)


# ---- Tables


class YStats:
    """Rows, each once, in an order."""

    _sorts = {}
    _default_columns = {}
    _columns = []

    def __init__(self):
        self._clock_type = None
        self._as_dict = {}
        self._as_list = []

    def sort(self, sort_type, sort_order="desc"):
        self._sort_type = _named(sort_type, self._sorts, "SortType parameter")
        self._sort_order = _named(sort_order, SORT_ORDERS, "SortOrder parameter")
        at = self._sorts[self._sort_type]
        self._as_list.sort(
            key=lambda stat: stat[at].lower() if isinstance(stat[at], str) else stat[at],
            reverse=SORT_ORDERS[self._sort_order] == SORT_ORDERS["desc"],
        )
        return self

    def get(self):
        self._clock_type = get_clock_type()
        return self.sort("totaltime", "desc")

    def clear(self):
        self._as_list.clear()
        self._as_dict.clear()

    def empty(self):
        return not self._as_list

    def count(self, item):
        return self._as_list.count(item)

    def __getitem__(self, key):
        try:
            return self._as_list[key]
        except IndexError:
            return None

    def __iter__(self):
        return iter(self._as_list)

    def __len__(self):
        return len(self._as_list)

    def __contains__(self, item):
        return item in self._as_dict

    def append(self, item):
        known = self._as_dict.get(item)
        if known is not None:
            known + item
            return
        self._as_list.append(item)
        self._as_dict[item] = item

    def pop(self):
        item = self._as_list.pop()
        del self._as_dict[item]
        return item

    def strip_dirs(self):
        return self

    def _print_heading(self, out):
        pass

    def print_all(self, out=None, columns=None, limit=None):
        """Writes the table to `out`; columns are {position: (title, width)}."""
        out = out or sys.stdout
        columns = self._default_columns if columns is None else columns
        if self.empty() or not columns:
            return
        for title, size in columns.values():
            _named(title, self._columns, "Column name")
            if len(title) > size:
                raise YappiError("Column title exceeds available length[%s:%d]" % (title, size))
        out.write(LINESEP)
        self._print_heading(out)
        for at in sorted(columns):
            title, size = columns[at]
            out.write(title.ljust(COLUMN_GAP + size))
        out.write(LINESEP)
        for stat in self._as_list[:limit]:
            stat._print(out, columns)

    def _debug_check_sanity(self):
        return all(self.count(stat) == 1 for stat in self)


_FUNC_WIDTHS = {0: ("name", 36), 1: ("ncall", 5), 2: ("tsub", 8), 3: ("ttot", 8), 4: ("tavg", 8)}


class YStatsIndexable(YStats):
    """Rows that are found by number, by full name, and by a row of the same function."""

    _default_columns, _columns = _FUNC_WIDTHS, COLUMNS_FUNCSTATS

    def __init__(self):
        super().__init__()
        self._found = {}

    def clear(self):
        super().clear()
        self._found.clear()

    def append(self, item):
        super().append(item)
        self._found.setdefault(item.index, item)
        self._found.setdefault(item.full_name, item)

    def pop(self):
        item = super().pop()
        self._found.pop(item.index, None)
        self._found.pop(item.full_name, None)
        return item

    def __getitem__(self, key):
        if isinstance(key, YFuncStat):
            key = key.index
        return self._found.get(key) if isinstance(key, (int, str)) else super().__getitem__(key)

    def strip_dirs(self):
        for stat in self:
            stat.strip_dirs()
        return self


class YChildFuncStats(YStatsIndexable):
    _sorts = SORT_TYPES_CHILDFUNCSTATS


class YFuncStats(YStatsIndexable):
    """The functions of a session, of saved files, or of both."""

    _sorts = SORT_TYPES_FUNCSTATS
    _sort_type, _sort_order = "totaltime", "desc"

    def __init__(self, files=()):
        super().__init__()
        self.add(files)

    def get(self, filter=None, filter_callback=None):
        self.clear()
        for stat in _read_session(dict(filter or {})):
            if filter_callback is None or filter_callback(stat):
                self.append(stat)
        for stat in self:
            stat.children = _children(stat.children, self)
        return super().get()

    def strip_dirs(self):
        super().strip_dirs()
        for stat in self:
            stat.children.strip_dirs()
        return self

    def _print_heading(self, out):
        out.write("Clock type: %s%s" % ((self._clock_type or "").upper(), LINESEP))
        out.write("Ordered by: %s, %s%s%s" % (self._sort_type, self._sort_order, LINESEP, LINESEP))

    def add(self, files, type="ystat"):
        """Adds what save() wrote, of one file or of several."""
        if type.upper() != "YSTAT":
            raise NotImplementedError('Loading from "%s" format is not possible currently.' % type.upper())
        for path in [files] if isinstance(files, str) else files:
            _add_saved(self, path)
        return self.sort("totaltime", "desc")

    def save(self, path, type="ystat"):
        """Writes them as ystat (for add()), pstat (for pstats) or callgrind."""
        write = {"YSTAT": _save_ystat, "PSTAT": _save_pstat, "CALLGRIND": _save_callgrind}.get(type.upper())
        if write is None:
            raise NotImplementedError('Saving in "%s" format is not possible currently.' % type.upper())
        write(self, path)

    def debug_print(self):
        for stat in self:
            for row, margin in [(stat, "")] + [(child, " " * 5) for child in stat.children]:
                said = (
                    "index: %d" % row.index, "full_name: %s" % row.full_name, "ncall: %d/%d" % (row.ncall, row.nactualcall),
                    "ttot: %s" % _seconds(row.ttot), "tsub: %s" % _seconds(row.tsub), "",
                )
                sys.stdout.write("".join(margin + line + LINESEP for line in said))


class YThreadStats(YStats):
    _sorts = {"name": 0, "id": 1, "tid": 2, "totaltime": 3, "schedcount": 4, "ttot": 3, "scnt": 4}
    _default_columns = {0: ("name", 13), 1: ("id", 5), 2: ("tid", 15), 3: ("ttot", 8), 4: ("scnt", 10)}
    _columns = ["name", "id", "tid", "ttot", "scnt"]

    def get(self):
        self.clear()
        for ctx_id, name, ident, seconds in _session.threads():
            self.append(YThreadStat((name, ctx_id, ident, seconds, 0)))
        return super().get()


# ---- From the engine to rows


_HERE = _name_thread.__code__.co_filename
_functions = {}  # full name: the code object, or the text that stands for a C function


def _place(code):
    """(name, module, line, is it a C function) as yappi says them."""
    if not isinstance(code, str):
        parts = getattr(code, "co_qualname", code.co_name).split(".")
        owner = parts[-2] + "." if len(parts) > 1 and parts[-2] != "<locals>" else ""
        return owner + parts[-1], code.co_filename, code.co_firstlineno, False
    said = code[len("<built-in method "):-1] if code.startswith("<built-in method ") else ""
    module, dot, name = said.rpartition(".")
    return (name, module, 0, True) if dot and " of " not in said else (code, "builtins", 0, True)


def _read_session(chosen):
    """A row for each function and thread.  `chosen` has ctx_id, tag, and values that columns must have."""
    ctx_id, tag = chosen.pop("ctx_id", None), chosen.pop("tag", None)
    if not isinstance(ctx_id, (int, type(None))) or not isinstance(tag, (int, type(None))):
        raise YappiError("filters 'ctx_id' and 'tag' are numbers")
    indexes = {}
    for i, thread_name, _, _ in _session.threads():
        if tag or ctx_id not in (None, i):
            continue
        for stat in _rows(_session.entries(i), i, thread_name, indexes):
            if all(getattr(stat, key) == value for key, value in chosen.items()):
                yield stat


def _rows(entries, ctx_id, thread_name, indexes):
    """Rows of one thread, less this module's own and the C functions that it called."""
    hidden = {}
    for entry in entries:
        if _is_own(entry.code):
            for sub in [sub for sub in entry.calls or () if isinstance(sub.code, str)]:
                calls, total, own = hidden.get(sub.code, (0, 0.0, 0.0))
                hidden[sub.code] = calls + sub.callcount, total + sub.totaltime, own + sub.inlinetime
    for entry in entries:
        calls, total, own = hidden.get(entry.code, (0, 0.0, 0.0))
        ncall = entry.callcount - calls
        if _is_own(entry.code) or ncall <= 0:
            continue
        name, module, lineno, builtin = _place(entry.code)
        full_name = _full_name(builtin, module, lineno, name)
        _functions[full_name] = entry.code
        ttot, tsub = max(entry.totaltime - total, 0.0), max(entry.inlinetime - own, 0.0)
        children = [
            (_index(indexes, sub.code), sub.callcount, sub.callcount - sub.reccallcount, sub.totaltime, sub.inlinetime)
            for sub in entry.calls or () if not _is_own(sub.code)
        ]
        yield YFuncStat((
            name, module, lineno, ncall, ncall - entry.reccallcount, builtin, ttot, tsub, _index(indexes, entry.code), children,
            ctx_id, thread_name, 0, None, ttot / ncall, full_name,
        ))


def _is_own(code):
    return not isinstance(code, str) and code.co_filename == _HERE


def _index(indexes, code):
    return indexes.setdefault(_full_name(*[_place(code)[i] for i in (3, 1, 2, 0)]), len(indexes))


def _children(rows, stats):
    children = YChildFuncStats()
    for index, ncall, nactualcall, ttot, tsub in rows:
        of = stats[index]
        if of is not None:
            children.append(YChildFuncStat((
                index, ncall, nactualcall, ttot, tsub, ttot / ncall, of.builtin, of.full_name, of.module, of.lineno, of.name,
            )))
    return children


# ---- Files


_SAVED = ("name", "module", "lineno", "ncall", "nactualcall", "builtin", "ttot", "tsub", "ctx_id", "ctx_name")


def _save_ystat(stats, path):
    import pickle

    rows = []
    for stat in stats:
        children = [(c.full_name, c.ncall, c.nactualcall, c.ttot, c.tsub) for c in stat.children]
        rows.append(tuple(getattr(stat, key) for key in _SAVED) + (children,))
    with open(path, "wb") as f:
        pickle.dump(("sonde", stats._clock_type, rows), f, 2)


def _load_ystat(path):
    import pickle

    class Plain(pickle.Unpickler):
        def find_class(self, module, name):  # data only: nothing in a file is run
            raise YappiError

    with open(path, "rb") as f:
        try:
            maker, clock, rows = Plain(f).load()
            if maker == "sonde":
                return clock, rows
        except Exception:
            pass
    raise YappiError("Unable to load the saved profile information from %s." % path)


def _add_saved(stats, path):
    clock, rows = _load_ystat(path)
    if not stats.empty() and stats._clock_type not in (None, clock):
        raise YappiError("Clock type mismatch between current and saved profiler sessions.[%s,%s]" % (stats._clock_type, clock))
    stats._clock_type = clock
    free = max([stat.index for stat in stats] or [0]) + 1
    saved = []
    for row in rows:
        name, module, lineno, ncall, nactualcall, builtin, ttot, tsub, ctx_id, ctx_name, children = row
        full_name = _full_name(builtin, module, lineno, name)
        known = stats[full_name]
        index = known.index if known is not None else free
        free += known is None
        stat = YFuncStat((
            name, module, lineno, ncall, nactualcall, builtin, ttot, tsub, index, YChildFuncStats(), ctx_id, ctx_name, 0, None,
            ttot / ncall, full_name,
        ))
        stats.append(stat)
        saved.append((full_name, children))
    for full_name, children in saved:
        known = [(stats[child[0]].index,) + tuple(child[1:]) for child in children if stats[child[0]] is not None]
        for child in _children(known, stats):
            stats[full_name].children.append(child)


def _as_pstats(stats):
    """The functions as pstats.Stats.stats has them."""
    callers = {}
    for stat in stats:
        for child in stat.children:
            callers.setdefault(child.full_name, {})[stat.module, stat.lineno, stat.name] = (
                child.ncall, child.nactualcall, child.tsub, child.ttot,
            )
    return {
        (stat.module, stat.lineno, stat.name): (stat.nactualcall, stat.ncall, stat.tsub, stat.ttot, callers.get(stat.full_name, {}))
        for stat in stats
    }


def convert2pstats(stats):
    """Returns the functions as pstats.Stats."""
    if not isinstance(stats, YFuncStats):
        raise YappiError("Source stats must be derived from YFuncStats.")
    from . import pstats

    class Holder:
        def create_stats(self):
            self.stats = _as_pstats(stats)

    return pstats.Stats(Holder())


def _save_pstat(stats, path):
    convert2pstats(stats).dump_stats(path)


def _save_callgrind(stats, path):
    """Callgrind's profile format, version 1; a tick is a microsecond."""
    tables = _CallStats()
    tables.load_dict(_as_pstats(stats))
    command = " ".join(sys.argv).replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    with open(path, "wb") as f:
        f.write(tables.callgrind(command, "Ticks", 1e6))


# ---- Questions to a row


def _check_wanted(stat, wanted, name):
    if not isinstance(stat, YStat):
        raise YappiError("Argument 'stat' shall be a YStat object. (%s)" % stat)
    if not isinstance(wanted, list):
        raise YappiError("Argument '%s' is not a list object. (%s)" % (name, wanted))
    if not wanted:
        raise YappiError("Argument '%s' cannot be empty." % name)


def func_matches(stat, funcs):
    """Returns whether the row is that of one of these functions, methods or C functions, which is not known of rows that were loaded."""
    _check_wanted(stat, funcs, "funcs")
    for func in funcs:
        if not callable(func):
            raise YappiError("Non-callable item in 'funcs'. (%s)" % func)
    code = _functions.get(stat.full_name)
    if isinstance(code, str):
        said = ["<built-in method %s.%s>" % (getattr(f, "__module__", None), getattr(f, "__name__", None)) for f in funcs]
        return code in said or code in map(repr, funcs)
    return code is not None and any(getattr(f, "__code__", None) is code for f in funcs)


def module_matches(stat, modules):
    """Returns whether the row is that of a function of one of these modules."""
    _check_wanted(stat, modules, "modules")
    for module in modules:
        if not isinstance(module, type(sys)):
            raise YappiError("Non-module item in 'modules'. (%s)" % module)
    code = _functions.get(stat.full_name)
    if code is None:
        return False
    if isinstance(code, str):
        return stat.module in [module.__name__ for module in modules]
    import inspect

    return inspect.getmodule(code) in modules


# ---- What a program calls


def is_running():
    """Returns whether the profiler is running."""
    return _session.is_running


def start(builtins=False, profile_threads=True, profile_greenlets=True):
    """Starts the profiler: of all threads, or of this one alone; of C functions too when asked."""
    _session.start(bool(builtins), bool(profile_threads))


def stop():
    """Stops it; what it measured stays, and the next start() adds to it."""
    _session.stop()


def clear_stats():
    """Forgets what was measured."""
    _session.clear()


@contextmanager
def run(builtins=False, profile_threads=True, profile_greenlets=True):
    """with run(): profiles the block.  Not to be nested: the inner one stops the profiler."""
    start(builtins=builtins, profile_threads=profile_threads, profile_greenlets=profile_greenlets)
    try:
        yield
    finally:
        stop()


def profile(clock_type="cpu", profile_builtins=False, return_callback=None):
    """A decorator: each outermost call is profiled by itself and printed, or given to return_callback(func, stats)."""

    def decorate(func):
        depth = 0

        def wrapper(*args, **kwargs):
            nonlocal depth
            if depth == 0:
                stop()
                clear_stats()
                set_clock_type(clock_type)
                start(profile_builtins, profile_threads=False)
            depth += 1
            try:
                return func(*args, **kwargs)
            finally:
                depth -= 1
                if depth == 0:
                    stop()
                    try:
                        _show_one(func, clock_type, return_callback)
                    finally:
                        clear_stats()

        return wrapper

    return decorate


def _show_one(func, clock_type, return_callback):
    if return_callback is not None:
        return_callback(func, get_func_stats())
        return
    seconds = max([stat.ttot for stat in get_thread_stats()] or [0.0])
    sys.stdout.write("%sExecuted in %s %s clock seconds%s" % (LINESEP, _seconds(seconds), clock_type.upper(), LINESEP))
    get_func_stats().print_all()


def get_func_stats(tag=None, ctx_id=None, filter=None, filter_callback=None):
    """Returns the functions so far, of all threads or of one (ctx_id); filter_callback(stat) chooses among them."""
    chosen = dict(filter or {})
    chosen.update({key: value for key, value in (("tag", tag), ("ctx_id", ctx_id)) if value})
    return YFuncStats().get(filter=chosen, filter_callback=filter_callback)


def get_thread_stats():
    """Returns the threads so far."""
    return YThreadStats().get()


def get_greenlet_stats():
    raise YappiError("there are no stats of single greenlets; get_func_stats() has the functions that ran in them")


def set_clock_type(type):
    """Chooses the clock: 'cpu' (of the thread) or 'wall'; only while there are no stats."""
    chosen = type.upper()
    if chosen not in CLOCK_TYPES:
        raise YappiError("Invalid clock type:%s" % chosen)
    if chosen.lower() == _session.clock:
        return
    if _session.is_running or _session.has_stats():
        raise YappiError("clock type cannot be changed previous stats are available. clear the stats first.")
    _session.clock, _session.engine = chosen.lower(), None


def get_clock_type():
    return _session.clock


def get_clock_time():
    """Returns the time of the chosen clock, in seconds."""
    return time.thread_time() if _session.clock == "cpu" else time.perf_counter()


def get_clock_info():
    name = "thread_time" if _session.clock == "cpu" else "perf_counter"
    info = time.get_clock_info(name)
    return {"api": info.implementation, "resolution": "%dns" % max(1, round(info.resolution * 1e9))}


def get_mem_usage():
    raise YappiError("sonde does not count how much memory the profiler holds")


def set_context_backend(type):
    if type.upper() not in BACKEND_TYPES:
        raise YappiError("Invalid backend type: %s" % type.upper())
    if type.upper() == GREENLET:
        raise YappiError("greenlets need no backend here, and there are no stats of single greenlets")


def _no_callback(what):
    def set_callback(callback):
        if callback is not None:
            raise YappiError("there are no callbacks for %s: the profiler runs no Python while it measures" % what)

    return set_callback


set_tag_callback = _no_callback("tags")
set_context_id_callback = _no_callback("contexts")
set_context_name_callback = _no_callback("names of contexts")


def main():
    from optparse import OptionParser

    from . import _script

    usage = "%s [-b] [-c clock_type] [-o output_file] [-f output_format] [-s] [scriptfile] args ..." % os.path.basename(sys.argv[0])
    parser = OptionParser(usage=usage)
    parser.allow_interspersed_args = False
    parser.add_option("-c", "--clock-type", default="cpu", choices=sorted(c.lower() for c in CLOCK_TYPES), metavar="clock_type",
                      help='Clock type to use during profiling ("cpu" or "wall", default is "cpu").')
    parser.add_option("-b", "--builtins", action="store_true", dest="profile_builtins", default=False,
                      help="Profiles builtin functions when set. [default: False]")
    parser.add_option("-o", "--output-file", metavar="output_file", help="Write stats to output_file.")
    parser.add_option("-f", "--output-format", default="pstat", choices=("pstat", "callgrind", "ystat"), metavar="output_format",
                      help='Write stats in the specified format ("pstat", "callgrind" or "ystat", default is "pstat").')
    parser.add_option("-s", "--single_thread", action="store_true", dest="profile_single_thread", default=False,
                      help="Profiles only the thread that calls start(). [default: False]")
    chosen, words = parser.parse_args()
    if not words:
        print(parser.get_usage())
        sys.exit(2)
    sys.argv[:] = words
    code, names = _script.script_code(words[0])
    set_clock_type(chosen.clock_type)
    start(chosen.profile_builtins, not chosen.profile_single_thread)
    try:
        exec(code, names)
    finally:
        stop()
        if chosen.output_file:
            get_func_stats().save(chosen.output_file, chosen.output_format)
        else:
            get_func_stats().print_all()
            get_thread_stats().print_all()


if __name__ == "__main__":
    from sonde.compat import yappi as _yappi

    _yappi.main()
