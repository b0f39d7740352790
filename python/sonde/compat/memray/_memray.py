# SPDX-License-Identifier: MIT
"""Tracker, which records, and FileReader, which reads what was recorded."""
import enum
import os
import shutil
import sys
import tempfile
import threading
from collections import namedtuple
from datetime import datetime, timezone

from ... import _sonde
from ..._sonde import AllocationRecord, TemporalAllocationRecord
from ._destination import Destination, FileDestination, SocketDestination
from ._metadata import Metadata
from ._stats import Stats

__version__ = "1.20.0"  # whose names these are

MemorySnapshot = namedtuple("MemorySnapshot", "time rss heap")
_INTERVAL_MS = 10


class AllocatorType(enum.IntEnum):
    PYMALLOC_FREE = 1
    PYMALLOC_MALLOC = 2
    PYMALLOC_CALLOC = 3
    PYMALLOC_REALLOC = 4
    FREE = 5
    MALLOC = 6
    REALLOC = 7
    CALLOC = 8
    POSIX_MEMALIGN = 9
    ALIGNED_ALLOC = 10
    MEMALIGN = 11
    VALLOC = 12
    PVALLOC = 13
    MMAP = 14
    MUNMAP = 15


class FileFormat(enum.IntEnum):
    ALL_ALLOCATIONS = 1
    AGGREGATED_ALLOCATIONS = 2


class PymallocDomain(enum.IntEnum):
    PYMALLOC_RAW = 1
    PYMALLOC_MEM = 2
    PYMALLOC_OBJECT = 3


class SymbolicSupport(enum.IntEnum):
    NONE = 1
    FUNCTION_NAME_ONLY = 2
    TOTAL = 3


class Interval:
    """Blocks that began and ended between the same readings of memory."""

    __slots__ = "allocated_before_snapshot", "deallocated_before_snapshot", "n_allocations", "n_bytes"

    def __init__(self, allocated_before_snapshot, deallocated_before_snapshot, n_allocations, n_bytes):
        self.allocated_before_snapshot = allocated_before_snapshot
        self.deallocated_before_snapshot = deallocated_before_snapshot
        self.n_allocations = n_allocations
        self.n_bytes = n_bytes

    def _fields(self):
        return self.allocated_before_snapshot, self.deallocated_before_snapshot, self.n_allocations, self.n_bytes

    def __eq__(self, other):
        return self._fields() == other._fields() if isinstance(other, Interval) else NotImplemented

    def __hash__(self):
        return hash(self._fields())

    def __repr__(self):
        return "Interval({0!r}, {1!r}, {2!r}, {3!r})".format(*self._fields())


def size_fmt(num, suffix="B"):
    """Returns a number of bytes with three decimals and the unit that leaves it below 1000: '1.500kB'."""
    for unit in ("", "k", "M", "G", "T", "P", "E", "Z"):
        if abs(num) < 1000.0:
            return "{0:5.3f}{1}{2}".format(num, unit, suffix)
        num /= 1000.0
    return "{0:.1f}Y{1}".format(num, suffix)


def set_log_level(level):
    """Does nothing: Sonde says what went wrong in the capture, and its reports repeat it."""


def start_thread_trace(frame, event, arg):
    """Does nothing: threads need no trace function to be recorded."""


def get_symbolic_support():
    """Says what reports can name of the interpreter's own frames."""
    return SymbolicSupport.FUNCTION_NAME_ONLY


def _python_allocator():
    """By which allocator this interpreter makes objects, as memray words it."""
    asked = "" if sys.flags.ignore_environment else os.environ.get("PYTHONMALLOC", "")
    if not asked or asked == "default":
        asked = "debug" if sys.flags.dev_mode else "pymalloc"
    words = {"pymalloc": "pymalloc", "pymalloc_debug": "pymalloc debug", "debug": "pymalloc debug", "malloc": "malloc", "mimalloc": "mimalloc",
             "mimalloc_debug": "mimalloc debug"}
    return words.get(asked, "other")


def _nowhere():
    """What /dev/null stands for: a file that goes when it is whole."""
    return os.path.join(tempfile.mkdtemp(prefix="sonde-memray-"), "null.bin")


def _discard(path):
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def _outer_frames():
    """Frames around the one that begins to record."""
    frame, n = sys._getframe(2), -1
    while frame is not None:
        frame, n = frame.f_back, n + 1
    return n


# --- Recording


class Tracker(_sonde.Track):
    """Records every allocation and free of its block into a file, with their stacks.

        with Tracker("load.bin"):
            ...

    All threads are recorded, and with `follow_fork` children that this process forks; what a child did is in the same file, and
    FileReader finds it under the name of the file and the pid ("load.bin.4711").  Without `trace_python_allocators` it
    records C's allocators alone, with it also those of Python, as memray does; with the format AGGREGATED_ALLOCATIONS sums for each stack.
    """

    _busy = "No more than one Tracker instance can be active at the same time"

    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    def __init__(self, file_name=None, *, destination=None, native_traces=False, memory_interval_ms=_INTERVAL_MS, follow_fork=False,
                 trace_python_allocators=False, track_object_lifetimes=False, file_format=FileFormat.ALL_ALLOCATIONS):
        if (file_name is None) == (destination is None):
            raise TypeError("Exactly one of 'file_name' or 'destination' argument must be specified")
        if file_name is not None:
            destination = FileDestination(path=file_name)
        _check(destination, native_traces, track_object_lifetimes)
        self._path = os.path.abspath(os.fsdecode(destination.path))
        self._overwrites = destination.overwrite
        self._is_used, self._is_kept = False, True
        self._interval_ms = int(memory_interval_ms)
        self._follows_forks = bool(follow_fork)
        self._is_native = bool(native_traces)
        self._with = "alloc:layer={0};mode={1}{2}".format(
            "all" if trace_python_allocators else "malloc", "full" if FileFormat(file_format) == FileFormat.ALL_ALLOCATIONS else "aggregate",
            ";native=1" if native_traces else "")
        if self._path == os.devnull:
            self._path, self._is_kept = _nowhere(), False
        if os.path.exists(self._path) and not self._overwrites:
            raise FileExistsError(17, "Could not create output file {0}: File exists".format(self._path))
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            raise FileNotFoundError(2, "Could not create output file {0}: No such file or directory".format(self._path))

    @property
    def reader(self):
        return FileReader(self._path)

    def get_surviving_objects(self):
        raise RuntimeError("track_object_lifetimes=True was not provided at Tracker construction")

    # Called by the extension, before it begins and when it has ended.

    def _begin(self):
        """Where to record, how, of which threads, what is noted beside it, and how often memory is read."""
        global _running
        if self._is_used:
            raise RuntimeError("Attempting to use stale output handle")
        self._is_used = True
        _watch_forks()
        if self._overwrites and os.path.exists(self._path):
            os.unlink(self._path)
        facts = (("track.command", " ".join(sys.argv)), ("track.tid", threading.get_native_id()), ("track.outer_frames", _outer_frames()),
                 ("track.python_allocator", _python_allocator()), ("track.memory_interval_ms", self._interval_ms))
        _running = self
        return os.fsencode(self._path), self._with, False, b"".join(os.fsencode(str(part)) + b"\0" for fact in facts for part in fact), self._interval_ms

    def _end(self, is_ours):
        global _running
        _running = None
        if is_ours and not self._is_kept:
            _discard(self._path)

    def _give_up(self):
        global _running
        _running = None
        if not self._is_kept:
            _discard(self._path)


_running = None  # the Tracker whose block runs
_watches_forks = False


def _check(destination, native_traces, track_object_lifetimes):
    if isinstance(destination, SocketDestination):
        raise NotImplementedError("Sonde's Tracker serves no port: give it a file, and watch that with `sonde top FILE --alloc` while the program runs, or start "
                                  "the program with `sonde alloc --live`")
    if not isinstance(destination, FileDestination):
        raise TypeError("destination must be a SocketDestination or FileDestination")
    if track_object_lifetimes:
        raise NotImplementedError("Sonde's Tracker does not follow the lifetimes of single objects; get_leaked_allocation_records() has the blocks that are left")
    if native_traces and "native" not in _options():
        raise NotImplementedError("native_traces=True is not possible: this build records no native stacks of allocations")


def _options():
    return next(about["options"] for about in _sonde.collectors() if about["name"] == "alloc")


def _watch_forks():
    global _watches_forks
    if not _watches_forks:
        _watches_forks = True
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork():
    """The child is recorded on, under a name of its own, or leaves the recording."""
    if _running is None:
        return
    if not _running._follows_forks:
        _sonde.Track.__exit__(_running, None, None, None)
        return
    try:
        os.symlink(os.path.basename(_running._path), "{0}.{1}".format(_running._path, os.getpid()))
    except OSError:
        pass  # where there can be none, FileReader(path, pid=...) finds the child


# --- Reading


def _process_of(path):
    """The pid of the child that this name is for, or 0."""
    stem, _, pid = path.rpartition(".")
    if pid.isdigit() and os.path.islink(path) and os.path.realpath(path) == os.path.realpath(stem):
        return int(pid)
    return 0


class FileReader:
    """What a Tracker, or `sonde alloc`, has recorded of one process.

    That is the one which was recorded first, or the child whose pid the name of the file ends with; of any other one with pid=.
    """

    def __init__(self, file_name, *, report_progress=False, max_memory_records=10000, pid=0):
        path = os.fsdecode(file_name)
        try:
            self._file = open(path, "rb")
        except OSError as why:
            raise OSError("Could not open file {0}: {1}".format(path, why.strerror)) from None
        self._path = os.path.realpath(path)
        self._pid = pid or _process_of(path)
        self._limit = max(1, max_memory_records)
        try:
            self._sums = self._load(1)
        except ValueError as why:
            self.close()
            raise OSError("{0}".format(why)) from None
        self._interval_ms = int(self._sums.meta("track.memory_interval_ms") or _INTERVAL_MS)
        self._snapshots = self._stride = None

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def close(self):
        self._file.close()

    @property
    def closed(self):
        return self._file.closed

    def _load(self, threshold):
        return _sonde.AllocationSums(self._path, self._pid, threshold)

    def _is_aggregated(self):
        return self._sums.meta("alloc.mode") == "aggregate"

    def _check(self, cannot=None):
        if self.closed:
            raise ValueError("Operation on a closed FileReader")
        if cannot and self._is_aggregated():
            raise NotImplementedError("Can't {0} a pre-aggregated capture file.".format(cannot))

    def _history(self, every_ms=0):
        return _sonde.AllocationHistory(self._path, self._pid, every_ms)

    def get_allocation_records(self):
        """Every allocation and free, in their order.  Mappings of files and reservations are not among them."""
        self._check("get all allocations from")
        yield from self._history()

    def get_high_watermark_allocation_records(self, merge_threads=True):
        """What was live when the most was."""
        self._check()
        yield from self._sums.rows("peak", merge_threads)

    def get_leaked_allocation_records(self, merge_threads=True):
        """What was live at the end."""
        self._check()
        yield from self._sums.rows("leaks", merge_threads)

    def get_temporary_allocation_records(self, merge_threads=True, threshold=1):
        """What was freed with at most `threshold` other allocations of its thread in between."""
        self._check("find temporary allocations using")
        yield from (self._sums if threshold == 1 else self._load(threshold)).rows("temporary", merge_threads)

    def get_temporal_allocation_records(self, merge_threads=True):
        """What was live at readings of memory, with the readings between which it was."""
        self._check("get allocation history using")
        self._read_memory()
        yield from self._history(self._interval_ms).lifetimes(Interval, merge_threads, self._stride)

    def get_temporal_high_water_mark_allocation_records(self, merge_threads=True):
        raise NotImplementedError("Sonde has no peaks of every part of a recording; `sonde view` shows the peak of the part that is chosen there")

    def get_memory_snapshots(self):
        """Readings of memory: when (ms since 1970), resident bytes, bytes that were live."""
        self._check()
        yield from self._read_memory()

    def get_object_lifetime_events(self, included_objects=None):
        raise RuntimeError("Object lifetime events are not available in this capture file: Sonde does not follow single objects.")

    def _read_memory(self):
        if self._snapshots is None:
            every = [] if self._is_aggregated() else self._history(self._interval_ms).memory(MemorySnapshot)
            self._stride = -(-len(every) // self._limit) or 1
            self._snapshots = every[:: self._stride]
        return self._snapshots

    @property
    def metadata(self):
        """When, how and of what was recorded."""
        facts, meta = self._sums.facts(), self._sums.meta
        return Metadata(
            start_time=_moment(facts["started_ns"]), end_time=_moment(facts["ended_ns"]), total_allocations=facts["allocations"] + facts["frees"],
            total_frames=facts["stacks"], peak_memory=facts["peak_bytes"], command_line=meta("track.command") or meta("command") or "", pid=facts["pid"],
            main_thread_id=facts["main_tid"], python_allocator=meta("track.python_allocator") or "pymalloc",
            has_native_traces=facts["native"], trace_python_allocators=meta("alloc.layer") != "malloc",
            file_format=FileFormat.AGGREGATED_ALLOCATIONS if self._is_aggregated() else FileFormat.ALL_ALLOCATIONS)


def _moment(ns):
    return datetime.fromtimestamp(ns / 1e9, timezone.utc).astimezone()


class SocketReader:
    """Nothing of Sonde's listens on a port."""

    def __init__(self, port):
        raise NotImplementedError("Sonde's Tracker serves no port: watch the file that is recorded with `sonde top FILE --alloc`")


def dump_all_records(file_name):
    """Prints a line for each allocation, free and reading of memory."""
    reader = FileReader(file_name)
    reader._check("get all allocations from")
    sys.stdout.flush()
    reader._history().dump(sys.stdout.fileno())


# --- Statistics


def _module_of(path):
    """The package or module at the top of which a file stands."""
    if not path or not os.path.isabs(path):
        return path or "<unknown>"
    folder, name = os.path.split(path)
    name = os.path.splitext(name)[0]
    while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder, name = os.path.split(folder)
    return name


def _modules(files, n):
    """The largest by bytes, and by blocks, out of (file, blocks, bytes)."""
    sums = {}
    for path, blocks, size in files:  # those that have allocated: a few hundred at most
        was = sums.get(_module_of(path), (0, 0))
        sums[_module_of(path)] = was[0] + blocks, was[1] + size
    rows = [(name, blocks, size) for name, (blocks, size) in sums.items()]
    return sorted(rows, key=lambda row: row[2], reverse=True)[:n], sorted(rows, key=lambda row: row[1], reverse=True)[:n]


def _location(function, path, line):
    return (function, path, line) if function else ("<unknown>", "<unknown>", 0)


def compute_statistics(file_name, *, report_progress=False, num_largest=5):
    """Counts all allocations by size, allocator, line and module."""
    reader = FileReader(file_name)
    reader._check("compute statistics using")
    n, size, frees, by_size, by_allocator, largest, most, files = reader._history().statistics(num_largest)
    metadata = reader.metadata
    metadata.total_allocations = n + frees
    by_bytes, by_blocks = _modules(files, num_largest)
    return Stats(
        metadata=metadata, total_num_allocations=n, total_memory_allocated=size, peak_memory_allocated=metadata.peak_memory,
        allocation_count_by_size=by_size, allocation_count_by_allocator={AllocatorType(k).name: v for k, v in by_allocator.items()},
        top_locations_by_size=[(_location(*row[:3]), row[4]) for row in largest], top_locations_by_count=[(_location(*row[:3]), row[3]) for row in most],
        top_modules_by_allocation_size=by_bytes, top_modules_by_allocation_count=by_blocks)
