# SPDX-License-Identifier: MIT
"""pstats, by Sonde: `from sonde.compat import pstats`, `python -m sonde.compat.pstats FILE`.

Same names, arguments, files, and tables to the letter.  Files are read, sorted and printed in C;
Stats.stats is made when it is first asked for, and what is then done to it counts.  What is
different is what was wrong: strip_dirs() adds up the callers that become equal instead of
keeping one of them.
"""
import os
import sys
from enum import Enum as _Enum

from .._sonde import CallStats as _CallStats

__all__ = ["Stats", "SortKey", "FunctionProfile", "StatsProfile"]

try:
    from enum import StrEnum as _StrEnum
except ImportError:

    class _StrEnum(str, _Enum):
        pass


class SortKey(_StrEnum):
    """The keys of Stats.sort_stats."""

    CALLS = "calls", "ncalls"
    CUMULATIVE = "cumulative", "cumtime"
    FILENAME = "filename", "module"
    LINE = "line"
    NAME = "name"
    NFL = "nfl"
    PCALLS = "pcalls"
    STDNAME = "stdname"
    TIME = "time", "tottime"

    def __new__(cls, *values):
        key = str.__new__(cls, values[0])
        key._value_ = values[0]
        key._all_values = values
        for other in values[1:]:
            cls._value2member_map_[other] = key
        return key


def __getattr__(name):
    """FunctionProfile and StatsProfile: importing dataclasses takes longer than most reports."""
    if name not in ("FunctionProfile", "StatsProfile"):
        raise AttributeError("module {0!r} has no attribute {1!r}".format(__name__, name))
    from . import _pstats_profile as made

    globals().update(FunctionProfile=made.FunctionProfile, StatsProfile=made.StatsProfile)
    return globals()[name]


def __dir__():
    return sorted(set(globals()) | set(__all__))


_LAZY = object()  # of a list that the tables have and Python has not asked for
_PRINTING = ("eval_print_amount", "get_print_list", "print_call_heading", "print_call_subheading", "print_call_line", "print_line", "print_title")


def _of_tables(name):
    def get(self):
        return getattr(self._tables, name)

    def put(self, value):
        setattr(self._tables, name, value)

    return property(get, put)


class Stats:
    """Stats(*files_or_profiles, stream=None): profiles, added up, sorted and printed.

    Each argument is the name of a file that dump_stats() wrote, a profiler, or another Stats.
    sort_stats() takes keys ('time', SortKey.NAME, -1), the print methods restrictions: how many rows, which fraction of
    them, or an expression that the printed name matches.  All give self back:

        Stats('a', 'b').strip_dirs().sort_stats('cumulative').print_stats(10).print_callers('load')
    """

    sort_arg_dict_default = {
        "calls": (((1, -1),), "call count"),
        "ncalls": (((1, -1),), "call count"),
        "cumtime": (((3, -1),), "cumulative time"),
        "cumulative": (((3, -1),), "cumulative time"),
        "filename": (((4, 1),), "file name"),
        "line": (((5, 1),), "line number"),
        "module": (((4, 1),), "file name"),
        "name": (((6, 1),), "function name"),
        "nfl": (((6, 1), (4, 1), (5, 1)), "name/file/line"),
        "pcalls": (((0, -1),), "primitive call count"),
        "stdname": (((7, 1),), "standard name"),
        "time": (((2, -1),), "internal time"),
        "tottime": (((2, -1),), "internal time"),
    }

    def __init__(self, *args, stream=None):
        self.stream = stream or sys.stdout
        self.init(args[0] if args else None)
        self.add(*args[1:])

    def init(self, arg):
        self._tables = self._new_tables()
        self._dict = None  # of .stats once it was asked for: from then on it is what counts
        self._list = None  # the same of .fcn_list
        self.sort_arg_dict = {}
        self.load_stats(arg)

    def _new_tables(self):
        tables = _CallStats()
        tables.is_sampled = isinstance(self, SampledStats)
        return tables

    def load_stats(self, arg):
        if isinstance(arg, str):
            self._tables = _CallStats()
            self._dict = self._list = None
            self._tables.load(arg)
            if self._tables.is_sampled and not isinstance(self, SampledStats):
                self.__class__ = SampledStats
            self._tables.is_sampled = isinstance(self, SampledStats)
        elif hasattr(arg, "create_stats"):
            arg.create_stats()
            self._take(arg.stats)
            arg.stats = {}
            if sys.version_info >= (3, 15):  # from then on one without rows is no fault
                return
        if arg is not None and not len(self._tables):
            raise TypeError("Cannot create or construct a %r object from %r" % (self.__class__, arg))

    def _take(self, stats):
        self._tables = self._new_tables()
        self._tables.load_dict(stats)
        self._dict = stats

    # What Python may look at, and change

    files, top_level = _of_tables("files"), _of_tables("top_level")
    total_calls, prim_calls, total_tt = _of_tables("total_calls"), _of_tables("prim_calls"), _of_tables("total_tt")
    max_name_len = _of_tables("max_name_len")
    all_callees = None

    @property
    def sort_type(self):
        """What the keys of sort_stats() mean; there is none before."""
        if not self._tables.sort_type:
            raise AttributeError("'Stats' object has no attribute 'sort_type'")
        return self._tables.sort_type

    @property
    def stats(self):
        """{(file, line, name): (primitive calls, calls, own time, total time, callers)}"""
        if self._dict is None:
            self._dict = self._tables.as_dict()
        return self._dict

    @stats.setter
    def stats(self, value):
        self._dict = value

    @property
    def fcn_list(self):
        """The keys in the order that sort_stats() gave them; None before."""
        if self._list is _LAZY:
            self._list = self._tables.fcn_list()
        return self._list

    @fcn_list.setter
    def fcn_list(self, value):
        self._list = value

    def _current(self):
        """The tables, with what was done to the dict and to the list."""
        old = self._tables
        if self._dict is not None:
            self._tables = new = self._new_tables()
            new.load_dict(self._dict)
            for name in ("files", "top_level", "total_calls", "prim_calls", "total_tt", "max_name_len"):
                setattr(new, name, getattr(old, name))
            if self._list is _LAZY:
                self._list = old.fcn_list()
        if self._list is not _LAZY:
            self._tables.set_order(self._list or None, old.sort_type)
        return self._tables

    def get_top_level_stats(self):
        self._tables = self._new_tables()
        self._tables.load_dict(self.stats)

    def add(self, *arg_list):
        for item in reversed(arg_list):
            if type(self) != type(item):
                item = Stats(item)
            tables = self._current()
            tables.add(item._current())
            self.fcn_list = None
            if self._dict is not None:
                self._dict.update(tables.as_dict())
        return self

    def dump_stats(self, filename):
        """Writes what Stats(filename), and every other pstats, reads."""
        with open(filename, "wb") as f:
            f.write(self._current().dumps())

    # Order

    def get_sort_arg_defs(self):
        """Returns every key, and every beginning that only one key has."""
        if not self.sort_arg_dict:
            known, doubtful = self.sort_arg_dict, set()
            for word, meaning in self.sort_arg_dict_default.items():
                for n in range(len(word), 0, -1):
                    if word[:n] in known:
                        doubtful.add(word[:n])  # and what is shorter was doubtful before, but for "cu"
                        break
                    known[word[:n]] = meaning
            for word in doubtful:
                del known[word]
        return self.sort_arg_dict

    def sort_stats(self, *field):
        if not field:
            self.fcn_list = 0
            return self
        if len(field) == 1 and isinstance(field[0], int):
            field = [{-1: "stdname", 0: "calls", 1: "time", 2: "cumulative"}[field[0]]]
        elif any(type(key) != type(field[0]) for key in field):
            raise TypeError("Can't have mixed argument type")
        self._list = None
        self._current().sort(tuple(key.value if isinstance(key, SortKey) else key for key in field))
        self._list = _LAZY
        return self

    def reverse_order(self):
        if self._list is _LAZY:
            self._tables.reverse()
        elif self._list:
            self._list.reverse()
        return self

    def strip_dirs(self):
        self._current().strip_dirs()
        self._dict = self._list = self.all_callees = None
        return self

    def calc_callees(self):
        if not self.all_callees:
            self.all_callees = self._current().callees()

    # Tables

    def _prints_itself(self):
        """Has a subclass its own way to print a part of a table?"""
        ours = SampledStats if isinstance(self, SampledStats) else Stats
        return any(getattr(type(self), name) is not getattr(ours, name) for name in _PRINTING)

    def print_stats(self, *amount):
        if not self._prints_itself():
            self._current().print_stats(self.stream.write, amount)
            return self
        for line in self.files:
            print(line, file=self.stream)
        if self.files:
            print(file=self.stream)
        for func in self.top_level:
            print(" " * 8, func_get_function_name(func), file=self.stream)
        primitive = "" if self.total_calls == self.prim_calls else "(%d primitive calls) " % self.prim_calls
        print(" " * 8, self.total_calls, "function calls", primitive + "in %.3f seconds" % self.total_tt, file=self.stream)
        print(file=self.stream)
        width, chosen = self.get_print_list(amount)
        if chosen:
            self.print_title()
            self._print_each(chosen, self.print_line)
        return self

    def print_callees(self, *amount):
        if not self._prints_itself():
            self._current().print_callees(self.stream.write, amount)
            return self
        width, chosen = self.get_print_list(amount)
        if chosen:
            self.calc_callees()
            self.print_call_heading(width, "called...")
            self._print_each(chosen, lambda func: self.print_call_line(width, func, self.all_callees.get(func, {})))
        return self

    def print_callers(self, *amount):
        if not self._prints_itself():
            self._current().print_callers(self.stream.write, amount)
            return self
        width, chosen = self.get_print_list(amount)
        if chosen:
            self.print_call_heading(width, "was called by...")
            self._print_each(chosen, lambda func: self.print_call_line(width, func, self.stats[func][4], "<-"))
        return self

    def _print_each(self, chosen, print_one):
        for func in chosen:
            print_one(func)
        print("\n", file=self.stream)

    def eval_print_amount(self, sel, list, msg):
        chosen = list
        if isinstance(sel, str):
            import re

            try:
                matches = re.compile(sel).search
            except re.error:
                return list, msg + "   <Invalid regular expression %r>\n" % sel
            chosen = [func for func in list if matches(func_std_string(func))]
        elif isinstance(sel, float) and 0.0 <= sel < 1.0:
            chosen = list[: int(len(list) * sel + 0.5)]
        elif isinstance(sel, int) and 0 <= sel < len(list):
            chosen = list[:sel]
        if len(chosen) != len(list):
            msg += "   List reduced from %r to %r due to restriction <%r>\n" % (len(list), len(chosen), sel)
        return chosen, msg

    def get_print_list(self, sel_list):
        if self.fcn_list:
            chosen, msg = self.fcn_list[:], "   Ordered by: " + self.sort_type + "\n"
        else:
            chosen, msg = list(self.stats), "   Random listing order was used\n"
        for sel in sel_list:
            chosen, msg = self.eval_print_amount(sel, chosen, msg)
        if not chosen:
            return 0, chosen
        print(msg, file=self.stream)
        is_part = len(chosen) < len(self.stats)
        return (max(len(func_std_string(f)) for f in chosen) if is_part else self.max_name_len) + 2, chosen

    def print_title(self):
        print("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)", file=self.stream)

    def print_line(self, func):
        cc, nc, tt, ct, callers = self.stats[func]
        columns = (
            _count(nc, cc).rjust(9), f8(tt), f8(tt / nc) if nc else " " * 8, f8(ct), f8(ct / cc) if cc else " " * 8,
            func_std_string(func),
        )
        print(*columns, file=self.stream)

    def print_call_heading(self, name_size, column_title):
        print("Function ".ljust(name_size) + column_title, file=self.stream)
        for entry in self.stats.values():
            if entry[4]:
                if isinstance(next(iter(entry[4].values())), tuple):
                    self.print_call_subheading(name_size)
                break

    def print_call_subheading(self, name_size):
        print(" " * name_size + "    ncalls  tottime  cumtime", file=self.stream)

    def print_call_line(self, name_size, source, call_dict, arrow="->"):
        print(func_std_string(source).ljust(name_size) + arrow, end=" " if call_dict else " \n", file=self.stream)
        indent = ""
        for func in sorted(call_dict):
            value, name = call_dict[func], func_std_string(func)
            if isinstance(value, tuple):
                nc, cc, tt, ct = value
                said = "%s %s %s  %s" % (_count(nc, cc).rjust(7 + 2 * len(indent)), f8(tt), f8(ct), name)
                margin = name_size + 1
            else:
                said = "%s(%r) %s" % (name, value, f8(self.stats[func][3]))
                margin = name_size + 3
            print(indent * margin + said, file=self.stream)
            indent = " "

    def get_stats_profile(self):
        """Returns the same figures as a StatsProfile: func_profiles has a FunctionProfile by function name."""
        from . import _pstats_profile as made

        return made.stats_profile(self)


class SampledStats(Stats):
    """The same of samples: what profiling.sampling collects, and the files that it writes.

    Calls are samples with the function anywhere on the stack, primitive calls those in the function itself.  Stats() of such
    a file becomes one; dump_stats() writes one.
    """

    def __init__(self, *args, stream=None):
        super().__init__(*args, stream=stream)
        self.sort_arg_dict = self._sampled_keys()

    def _sampled_keys(self):
        sampled = {"calls": "samples", "ncalls": "nsamples", "pcalls": "psamples"}
        keys = {sampled.get(word, word): meaning for word, meaning in self.sort_arg_dict_default.items()}
        keys["samples"] = keys["nsamples"] = (keys["samples"][0], "sample count")
        return keys

    def print_call_subheading(self, name_size):
        print(" " * name_size + "    nsamples  tottime  cumtime", file=self.stream)

    def print_title(self):
        print(" nsamples  tottime persample cumtime persample filename:lineno(function)", file=self.stream)


class StatsLoaderShim:
    """Stands for a profiler where there is only its dictionary: Stats(StatsLoaderShim(stats))."""

    def __init__(self, raw_stats):
        self.stats = raw_stats

    def create_stats(self):
        pass


def stats_factory(raw_stats):
    """Returns a Stats of a dictionary, or a SampledStats of one that has the key ("__sampled__",)."""
    if ("__sampled__",) not in raw_stats:
        return Stats(StatsLoaderShim(raw_stats))
    raw_stats = dict(raw_stats)
    del raw_stats[("__sampled__",)]
    return SampledStats(StatsLoaderShim(raw_stats))


def _count(nc, cc):
    return str(nc) if nc == cc else "%d/%d" % (nc, cc)


class TupleComp:
    """Compares two tuples by some of their items: (index, 1 or -1), the weightiest first."""

    def __init__(self, comp_select_list):
        self.comp_select_list = comp_select_list

    def compare(self, left, right):
        for index, direction in self.comp_select_list:
            if left[index] != right[index]:
                return -direction if left[index] < right[index] else direction
        return 0


def func_strip_path(func_name):
    filename, line, name = func_name
    return os.path.basename(filename), line, name


def func_get_function_name(func):
    return func[2]


def func_std_string(func_name):
    """Returns how a function is printed: "file:line(name)", of C functions "{built-in method builtins.len}"."""
    if func_name[:2] != ("~", 0):
        return "%s:%d(%s)" % func_name
    name = func_name[2]
    return "{%s}" % name[1:-1] if name.startswith("<") and name.endswith(">") else name


def add_func_stats(target, source):
    """Returns the sum of two entries."""
    return tuple(a + b for a, b in zip(target[:4], source[:4])) + (add_callers(target[4], source[4]),)


def add_callers(target, source):
    """Returns the sum of two dicts of callers, of tuples (cProfile) or of plain counts (profile)."""
    callers = dict(target)
    for func, caller in source.items():
        if func in callers:
            old = callers[func]
            caller = tuple(a + b for a, b in zip(caller, old)) if isinstance(caller, tuple) else old + caller
        callers[func] = caller
    return callers


def count_calls(callers):
    """Returns how often a function was called, from its callers as profile has them."""
    return sum(callers.values())


def f8(x):
    return "%8.3f" % x


def main():
    from ._pstats_shell import main as browse

    browse()


if __name__ == "__main__":
    from sonde.compat import pstats as _pstats

    _pstats.main()
