# SPDX-License-Identifier: MIT
"""tracemalloc, by Sonde: `from sonde.compat import tracemalloc`.

Same names, arguments, results and text.  Blocks are recorded by the collector alloc, whose stacks cost the same however many
frames are asked for; groups, differences and filters are C.  dump() writes what CPython's load() reads; load() reads both as data,
and never unpickles.

Where CPython's own tracemalloc is tracing already when this module is imported (-X tracemalloc, PYTHONTRACEMALLOC), that one
goes on, and this module asks it.
"""
import fnmatch
import linecache
import os.path
import pickle
import sys
from _collections_abc import Iterable, Sequence
from functools import total_ordering

import _tracemalloc as _cpythons

from .. import _sonde

_HAS_TOTAL = sys.version_info >= (3, 9)  # a trace says how many frames there were

if _cpythons.is_tracing():
    from _tracemalloc import _get_object_traceback, _get_traces, clear_traces, get_traceback_limit, get_traced_memory, get_tracemalloc_memory, is_tracing, start, stop

    reset_peak = getattr(_cpythons, "reset_peak", None)
else:
    start, stop, is_tracing, clear_traces, reset_peak = _sonde.traces_start, _sonde.traces_stop, _sonde.traces_are_on, _sonde.traces_clear, _sonde.traces_reset_peak
    get_traceback_limit, get_traced_memory, get_tracemalloc_memory = _sonde.traces_limit, _sonde.traces_memory, _sonde.traces_own_memory
    _get_object_traceback = _sonde.traces_of

    def _get_traces():
        return _sonde.traces_all(_HAS_TOTAL)


def _format_size(size, sign):
    plus, unit = "+" if sign else "", "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 100 and unit != "B":
            return ("%" + plus + ".1f %s") % (size, unit)
        if abs(size) < 10 * 1024 or unit == "TiB":
            break
        size /= 1024
    return ("%" + plus + ".0f %s") % (size, unit)


class _Compared:
    """What is equal when its fields are."""

    __slots__ = ()

    def _key(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __hash__(self):
        return hash(self._key())

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, type(self)) else NotImplemented


class Statistic(_Compared):
    """Blocks of one place: its traceback, size in bytes, and count."""

    __slots__ = ("traceback", "size", "count")

    def __init__(self, traceback, size, count):
        self.traceback, self.size, self.count = traceback, size, count

    def __str__(self):
        text = "%s: size=%s, count=%i" % (self.traceback, _format_size(self.size, False), self.count)
        return text + ", average=%s" % _format_size(self.size / self.count, False) if self.count else text

    def __repr__(self):
        return "<Statistic traceback=%r size=%i count=%i>" % self._key()

    def _sort_key(self):
        return (self.size, self.count, self.traceback)


class StatisticDiff(_Compared):
    """Blocks of one place in a snapshot, and how many more these are than in an older one."""

    __slots__ = ("traceback", "size", "size_diff", "count", "count_diff")

    def __init__(self, traceback, size, size_diff, count, count_diff):
        self.traceback, self.size, self.size_diff, self.count, self.count_diff = traceback, size, size_diff, count, count_diff

    def __str__(self):
        text = "%s: size=%s (%s), count=%i (%+i)" % (self.traceback, _format_size(self.size, False), _format_size(self.size_diff, True), self.count, self.count_diff)
        return text + ", average=%s" % _format_size(self.size / self.count, False) if self.count else text

    def __repr__(self):
        return "<StatisticDiff traceback=%r size=%i (%+i) count=%i (%+i)>" % self._key()

    def _sort_key(self):
        return (abs(self.size_diff), self.size, abs(self.count_diff), self.count, self.traceback)


@total_ordering
class Frame:
    """A frame of a traceback: filename and lineno."""

    __slots__ = ("_frame",)

    def __init__(self, frame):
        self._frame = frame  # (filename, lineno)

    filename = property(lambda self: self._frame[0])
    lineno = property(lambda self: self._frame[1])

    def __eq__(self, other):
        return self._frame == other._frame if isinstance(other, Frame) else NotImplemented

    def __lt__(self, other):
        return self._frame < other._frame if isinstance(other, Frame) else NotImplemented

    def __hash__(self):
        return hash(self._frame)

    def __str__(self):
        return "%s:%s" % self._frame

    def __repr__(self):
        return "<Frame filename=%r lineno=%r>" % self._frame


_Frame = Frame  # a name that CPython's tests use


@total_ordering
class Traceback(Sequence):
    """Frames, from the oldest to the most recent."""

    __slots__ = ("_frames", "_total_nframe")

    def __init__(self, frames, total_nframe=None):
        Sequence.__init__(self)
        self._frames = tuple(reversed(frames))  # they come most recent first
        self._total_nframe = total_nframe

    total_nframe = property(lambda self: self._total_nframe)

    def __len__(self):
        return len(self._frames)

    def __getitem__(self, index):
        return tuple(map(Frame, self._frames[index])) if isinstance(index, slice) else Frame(self._frames[index])

    def __contains__(self, frame):
        return frame._frame in self._frames

    def __hash__(self):
        return hash(self._frames)

    def __eq__(self, other):
        return self._frames == other._frames if isinstance(other, Traceback) else NotImplemented

    def __lt__(self, other):
        return self._frames < other._frames if isinstance(other, Traceback) else NotImplemented

    def __str__(self):
        return str(self[0])

    def __repr__(self):
        total = "" if self._total_nframe is None else " total_nframe={0}".format(self._total_nframe)
        return "<Traceback {0!r}{1}>".format(tuple(self), total)

    def format(self, limit=None, most_recent_first=False):
        """Returns lines as traceback.format_tb does: of the most recent `limit` frames, or without the last -limit."""
        frames = self[:] if limit is None else self[-limit:] if limit > 0 else self[:limit]
        lines = []
        for frame in reversed(frames) if most_recent_first else frames:
            lines.append('  File "%s", line %s' % frame._frame)
            source = linecache.getline(frame.filename, frame.lineno).strip()
            if source:
                lines.append("    " + source)
        return lines


def get_object_traceback(obj):
    """Returns the Traceback of where the object was allocated; None where that is not known."""
    frames = _get_object_traceback(obj)
    return None if frames is None else Traceback(frames)


class Trace:
    """A block: domain, size and traceback."""

    __slots__ = ("_trace",)

    def __init__(self, trace):
        self._trace = trace  # (domain, size, frames), from 3.9 on with the number of frames

    domain = property(lambda self: self._trace[0])
    size = property(lambda self: self._trace[1])
    traceback = property(lambda self: Traceback(*self._trace[2:]))

    def __eq__(self, other):
        return self._trace == other._trace if isinstance(other, Trace) else NotImplemented

    def __hash__(self):
        return hash(self._trace)

    def __str__(self):
        return "%s: %s" % (self.traceback, _format_size(self.size, False))

    def __repr__(self):
        return "<Trace domain=%s size=%s, traceback=%r>" % (self.domain, _format_size(self.size, False), self.traceback)


class _Traces(Sequence):
    def __init__(self, traces):
        Sequence.__init__(self)
        self._traces = traces

    def __len__(self):
        return len(self._traces)

    def __getitem__(self, index):
        return tuple(map(Trace, self._traces[index])) if isinstance(index, slice) else Trace(self._traces[index])

    def __iter__(self):
        return map(Trace, self._traces)

    def __contains__(self, trace):
        return trace._trace in self._traces

    def __eq__(self, other):
        return self._traces == other._traces if isinstance(other, _Traces) else NotImplemented

    def __repr__(self):
        return "<Traces len=%s>" % len(self)


def _normalize_filename(filename):
    filename = os.path.normcase(filename)
    return filename[:-1] if filename.endswith(".pyc") else filename


class BaseFilter:
    """A filter of traces; `inclusive` says whether those that match stay or go."""

    def __init__(self, inclusive):
        self.inclusive = inclusive

    def _match(self, trace):
        raise NotImplementedError


class Filter(BaseFilter):
    """A filter by file name (as fnmatch has it), line and domain."""

    def __init__(self, inclusive, filename_pattern, lineno=None, all_frames=False, domain=None):
        super().__init__(inclusive)
        self._filename_pattern = _normalize_filename(filename_pattern)
        self.lineno, self.all_frames, self.domain = lineno, all_frames, domain

    filename_pattern = property(lambda self: self._filename_pattern)

    def _match_file(self, filename):
        return fnmatch.fnmatch(_normalize_filename(filename), self._filename_pattern)

    def _match_frame(self, filename, lineno):
        return self._match_traceback(((filename, lineno),))

    def _match_traceback(self, traceback):
        every = Filter(self.inclusive, self._filename_pattern, self.lineno, self.all_frames)
        return bool(_sonde.trace_filter([(0, 0, traceback)], [every], [], Filter))

    def _match(self, trace):
        return bool(_sonde.trace_filter([trace], [self], [], type(self)))


class DomainFilter(BaseFilter):
    """A filter by domain."""

    def __init__(self, inclusive, domain):
        super().__init__(inclusive)
        self._domain = domain

    domain = property(lambda self: self._domain)

    def _match(self, trace):
        return (trace[0] == self.domain) ^ (not self.inclusive)


def _pickled(value):
    """Protocol 3, without its first and its last word: it may stand inside another."""
    return pickle.dumps(value, 3)[2:-1]


def _pickled_object(name, state):
    """An object of CPython's class, whose attributes are plain data or pickled already."""
    parts = [b"ctracemalloc\n", name.encode(), b"\n)\x81}("]
    for key, value in state.items():
        parts += [_pickled(key), value if isinstance(value, _Pickled) else _pickled(value)]
    return _Pickled(b"".join(parts) + b"ub")


class _Pickled(bytes):
    pass


class Snapshot:
    """The traces of all blocks at one moment."""

    def __init__(self, traces, traceback_limit):
        self.traces = _Traces(traces)
        self.traceback_limit = traceback_limit

    def dump(self, filename):
        """Writes the snapshot into a file, which CPython's tracemalloc loads, too."""
        state = dict(vars(self), traces=_pickled_object("_Traces", {"_traces": self.traces._traces}))
        with open(filename, "wb") as f:
            f.write(b"\x80\x03" + _pickled_object("Snapshot", state) + b".")

    @staticmethod
    def load(filename):
        """Loads a snapshot that dump() wrote, as data; a file with anything else is refused."""
        with open(filename, "rb") as f:
            state = _sonde.trace_load(f.read())
        snapshot = Snapshot(state.pop("traces"), state["traceback_limit"])
        vars(snapshot).update(state)
        return snapshot

    def filter_traces(self, filters):
        """Returns a snapshot of the traces that one of the inclusive filters takes and none of the others leaves out."""
        if not isinstance(filters, Iterable):
            raise TypeError("filters must be a list of filters, not %s" % type(filters).__name__)
        filters = list(filters)
        inclusive, exclusive = [f for f in filters if f.inclusive], [f for f in filters if not f.inclusive]
        return Snapshot(_sonde.trace_filter(self.traces._traces, inclusive, exclusive, Filter), self.traceback_limit)

    def _group_by(self, key_type, cumulative):
        if key_type not in ("traceback", "filename", "lineno"):
            raise ValueError("unknown key_type: %r" % (key_type,))
        if cumulative and key_type == "traceback":
            raise ValueError("cumulative mode cannot by used with key type %r" % key_type)
        return _sonde.trace_groups(self.traces._traces, key_type, cumulative, Traceback, Statistic)

    def statistics(self, key_type, cumulative=False):
        """Returns a Statistic for each traceback, filename or lineno, the largest first."""
        statistics = list(self._group_by(key_type, cumulative).values())
        _sonde.trace_sort(statistics)
        return statistics

    def compare_to(self, old_snapshot, key_type, cumulative=False):
        """Returns a StatisticDiff for each traceback, filename or lineno, the largest difference first."""
        new, old = self._group_by(key_type, cumulative), old_snapshot._group_by(key_type, cumulative)
        statistics = _sonde.trace_differences(old, new, StatisticDiff)
        _sonde.trace_sort(statistics)
        return statistics


def take_snapshot():
    """Returns a Snapshot of the blocks that live now."""
    if not is_tracing():
        raise RuntimeError("the tracemalloc module must be tracing memory allocations to take a snapshot")
    return Snapshot(_get_traces(), get_traceback_limit())
