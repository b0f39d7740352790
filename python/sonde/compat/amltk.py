# SPDX-License-Identifier: MIT
"""amltk.profiling, measured by Sonde: `from sonde.compat.amltk import Profiler, Profile, Timer, Memory`.

Same names, arguments and columns.  What is different is what was wrong: kind "cpu" is CPU time (of
the thread), wall time does not jump with the machine's clock, an exception leaves no name behind,
repeated names are all kept (df() has a row for each), threads and asyncio tasks do not mix.
Intervals have more figures (memory.peak_rss, io, network) and cannot be changed by assignment.
"""
import contextlib
import time as _time

from .. import Interval as _Interval
from .. import MemoryInterval, Profiler, TimeInterval, _sonde
from .. import _enums

__all__ = ["Memory", "Timer", "Profile", "Profiler"]

_NAN = float("nan")


def _known(d, key, default):
    value = d.get(key)
    return default if value is None else value


class _Fields:
    """What a dataclass would be, without importing one: fields by name, shown and compared."""

    __slots__ = ()

    def __repr__(self):
        shown = ", ".join("{0}={1!r}".format(name, getattr(self, name)) for name in self._fields)
        return "{0}({1})".format(type(self).__qualname__, shown)

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None


class Timer(_Fields):
    """A clock that was started: Timer.start(kind), then stop()."""

    Kind, Unit, Interval = _enums.Kind, _enums.TimeUnit, TimeInterval
    _fields = ("start_time", "kind")
    __slots__ = ("start_time", "kind", "_began")

    def __init__(self, start_time, kind):
        self.start_time, self.kind = start_time, kind
        self._began = None  # of the clock that nobody can set, for kind "wall"

    @classmethod
    def from_dict(cls, d):
        return TimeInterval(
            start=_known(d, "start", _NAN), end=_known(d, "end", _NAN),
            kind=cls.Kind.from_str(d.get("kind")), unit=cls.Unit.from_str(d.get("unit")), duration=d.get("duration"),
        )

    @classmethod
    def na(cls):
        return TimeInterval(start=_NAN, end=_NAN, kind=_enums.not_available(), unit=_enums.not_available())

    @classmethod
    @contextlib.contextmanager
    def time(cls, kind="wall"):
        """Times a block; the interval it gives is whole when the block is over."""
        profiler = Profiler(time_kind=kind, measure="time")
        with profiler("Timer.time"):
            yield profiler["Timer.time"].time

    @classmethod
    def start(cls, kind="wall"):
        found = cls.Kind.from_str(kind)
        if not isinstance(found, cls.Kind):
            raise ValueError("Unknown timer type: {0}".format(kind))
        timer = cls(_CLOCKS[found](), found)
        timer._began = _time.monotonic()
        return timer

    def stop(self):
        if self.kind is Timer.Kind.WALL and self._began is not None:
            end = self.start_time + (_time.monotonic() - self._began)
        elif isinstance(self.kind, Timer.Kind):
            end = _CLOCKS[self.kind]()
        else:
            raise ValueError("Unknown timer type: {0}".format(self.kind))
        return TimeInterval(self.start_time, end, self.kind, Timer.Unit.SECONDS)


_CLOCKS = {Timer.Kind.WALL: _time.time, Timer.Kind.CPU: _time.thread_time, Timer.Kind.PROCESS: _time.process_time}


class Memory(_Fields):
    """The process's memory at one moment: Memory.start(unit), then stop()."""

    Unit, Interval = _enums.MemoryUnit, MemoryInterval
    _fields = ("start_vms", "start_rss", "unit")
    __slots__ = _fields

    def __init__(self, start_vms, start_rss, unit):
        self.start_vms, self.start_rss, self.unit = start_vms, start_rss, unit

    @classmethod
    def from_dict(cls, d):
        return MemoryInterval(
            start_vms=_known(d, "start_vms", _NAN), start_rss=_known(d, "start_rss", _NAN),
            end_vms=_known(d, "end_vms", _NAN), end_rss=_known(d, "end_rss", _NAN),
            unit=cls.Unit.from_str(d.get("unit")), peak_rss=d.get("peak_rss"), pss=d.get("pss"),
        )

    @classmethod
    def na(cls):
        return MemoryInterval(_NAN, _NAN, _NAN, _NAN, _enums.not_available())

    @classmethod
    def convert(cls, x, frm="B", to="B"):
        """Converts x from one unit into another."""
        if frm == to:
            return x
        sizes = [_SIZES.get(cls.Unit.from_str(unit), _NAN) for unit in (frm, to)]
        return x * sizes[0] / sizes[1]

    @classmethod
    @contextlib.contextmanager
    def measure(cls, unit="B"):
        """Measures a block; the interval it gives is whole when the block is over."""
        profiler = Profiler(memory_unit=unit, measure=("memory", "peak"))
        with profiler("Memory.measure"):
            yield profiler["Memory.measure"].memory

    @classmethod
    def start(cls, unit="B"):
        rss, vms = _sonde._memory()
        return cls(cls.convert(vms, to=unit), cls.convert(rss, to=unit), cls.Unit.from_str(unit))

    def stop(self):
        rss, vms = _sonde._memory()
        return MemoryInterval(
            self.start_vms, self.start_rss, self.convert(vms, to=self.unit), self.convert(rss, to=self.unit), self.unit,
        )

    @classmethod
    def usage(cls, kind="vms", unit="B"):
        """Returns the memory that the process uses now."""
        rss, vms = _sonde._memory()
        try:
            return cls.convert({"rss": rss, "vms": vms}[kind.lower()], to=unit)
        except KeyError:
            raise ValueError("Unknown memory type: {0}".format(kind)) from None


_SIZES = {unit: 1024 ** i for i, unit in enumerate(Memory.Unit)}


class Profile(_Fields):
    """Time and memory between start() and stop()."""

    Interval = _Interval
    _fields = ("timer", "memory")
    __slots__ = _fields

    def __init__(self, timer, memory):
        self.timer, self.memory = timer, memory

    @classmethod
    def from_dict(cls, d):
        """Returns the interval whose to_dict() this was."""
        def part(prefix):
            return {k[len(prefix):]: v for k, v in d.items() if k.startswith(prefix)}

        return _Interval(
            memory=Memory.from_dict(part("memory:")), time=Timer.from_dict(part("time:")),
            io=_sonde.IoInterval(**part("io:")), network=_sonde.NetworkInterval(**part("network:")),
        )

    @classmethod
    @contextlib.contextmanager
    def measure(cls, *, memory_unit="B", time_kind="wall"):
        """Measures a block; the interval it gives is whole when the block is over."""
        profiler = Profiler(memory_unit=memory_unit, time_kind=time_kind)
        with profiler("Profile.measure"):
            yield profiler["Profile.measure"]

    @classmethod
    def start(cls, memory_unit="B", time_kind="wall"):
        return cls(timer=Timer.start(kind=time_kind), memory=Memory.start(unit=memory_unit))

    def stop(self):
        return _Interval(memory=self.memory.stop(), time=self.timer.stop())

    @classmethod
    def na(cls):
        return _Interval(memory=Memory.na(), time=Timer.na())
