# SPDX-License-Identifier: MIT
"""LineProfiler: line_profiler's class over Sonde's own counting of lines.

    from sonde import LineProfiler

    lp = LineProfiler()
    wrapped = lp(do_stuff)
    wrapped(numbers)
    lp.print_stats()

Lines are counted and timed by the extension (`_sonde.Lines`); here are the names, and what finds the functions in
whatever may be decorated.
"""
import functools
import inspect
import os
import sys
import threading
import types
import warnings
from enum import Enum

from . import _resumed, _sonde
from ._line_stats import LineStats as _PlainStats

MARK = "__line_profiler_id__"
C_CALLABLES = (types.BuiltinFunctionType, types.BuiltinMethodType, types.ClassMethodDescriptorType, types.MethodDescriptorType,
               types.MethodWrapperType, types.WrapperDescriptorType)


def is_c_level_callable(func):
    """Returns whether it is written in C, so that it has no lines."""
    return isinstance(func, C_CALLABLES)


class ScopingPolicy(str, Enum):
    """Which members of a class or module add_class() and add_module() take: those defined in it (exact: without going into what
    it holds; children), below it, beside it, or all."""

    EXACT = "exact"
    CHILDREN = "children"
    DESCENDANTS = "descendants"
    SIBLINGS = "siblings"
    NONE = "none"

    @classmethod
    def _missing_(cls, value):
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None

    def __str__(self):
        return self.value

    @classmethod
    def to_policies(cls, policies=None):
        """Returns {'func': ..., 'class': ..., 'module': ...} of one policy for all, such a mapping, or None."""
        if policies is None:
            policies = DEFAULT_SCOPING_POLICIES
        if isinstance(policies, str):
            policies = dict.fromkeys(("func", "class", "module"), policies)
        return {kind: cls(policies[kind]) for kind in ("func", "class", "module")}

    def get_filter(self, namespace, obj_type):
        """Returns a function that says whether something found in the namespace is taken."""
        if self is ScopingPolicy.NONE and not (obj_type == "module" and isinstance(namespace, type)):
            return lambda found: True
        if self is ScopingPolicy.EXACT and obj_type != "func":
            return lambda found: False
        if obj_type == "module":
            return self._module_filter(namespace)
        return self._class_filter(namespace) if isinstance(namespace, type) else self._member_filter(namespace)

    def _class_filter(self, cls):
        def is_child(found):
            return cls.__module__ == found.__module__ and found.__qualname__ == "{0}.{1}".format(cls.__qualname__, found.__name__)

        def is_below(found):
            return cls.__module__ == found.__module__ and found.__qualname__.startswith(cls.__qualname__ + ".")

        def is_beside(found):
            return cls.__module__ == found.__module__

        return {"descendants": is_below, "siblings": is_beside}.get(self.value, is_child)

    def _member_filter(self, module):
        parent, _, _ = module.__name__.rpartition(".")

        def is_in(found, name):
            return found.__module__ == name or (found.__module__ or "").startswith(name + ".")

        def is_beside(found):
            return is_in(found, module.__name__) or (bool(parent) and is_in(found, parent))

        return {"descendants": lambda found: is_in(found, module.__name__), "siblings": is_beside}.get(
            self.value, lambda found: found.__module__ == module.__name__)

    def _module_filter(self, module):
        if isinstance(module, type):
            return lambda found: False
        name = module.__name__
        parent, _, _ = name.rpartition(".")
        return {"children": lambda found: found.__name__.rpartition(".")[0] == name,
                "descendants": lambda found: found.__name__.startswith(name + "."),
                "siblings": lambda found: bool(parent) and found.__name__.startswith(parent + ".")}[self.value]


DEFAULT_SCOPING_POLICIES = {"func": ScopingPolicy.SIBLINGS, "class": ScopingPolicy.SIBLINGS, "module": ScopingPolicy.EXACT}


def source_of(filename):
    """The text of a file as the program's own linecache has it, or None."""
    import linecache

    linecache.checkcache(filename)
    return "".join(linecache.getlines(filename)) or None


def widths_of(config):
    """Of the columns; with False line_profiler's own, else as the configuration has them that is given or found."""
    if config is False:
        return 0, 0, 0, 0, 0
    from .compat.line_profiler.toml_config import widths

    return widths(config)


def put_text(text, stream):
    """Writes a text; what the stream cannot encode becomes \\u2200."""
    stream = sys.stdout if stream is None else stream
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def show_text(stats, unit, output_unit=None, stream=None, stripzeros=False, details=True, summarize=False, sort=False, rich=False, *,
              config=None):
    """Prints the times of functions' lines, as line_profiler does."""
    text = _sonde.line_text(stats, unit, output_unit, stripzeros, details, summarize, sort, source_of, widths_of(config))
    put_text(text, stream)


def show_func(filename, start_lineno, func_name, timings, unit, output_unit=None, stream=None, stripzeros=False, rich=False, *,
              config=None):
    """Prints the times of one function's lines, as line_profiler does."""
    text = _sonde.line_text({(filename, start_lineno, func_name): list(timings)}, unit, output_unit, stripzeros, True, False, False,
                            source_of, widths_of(config))
    put_text(text.partition("\n\n")[2], stream)


def get_code_block(filename, lineno):
    """Returns the lines of the function that begins there."""
    import linecache

    return inspect.getblock(linecache.getlines(os.fspath(filename))[lineno - 1:])


def is_generated_code(filename):
    """Returns whether it is a cell of a notebook, or another text that has no file of its own."""
    import tempfile

    folder = tempfile.gettempdir()
    return filename.startswith(("<generated", "<ipython-input-", os.path.join(folder, "ipykernel_"), os.path.join(folder, "xpython_")))


class LineStats(_PlainStats):
    """What was measured: timings, {(file, first line, name): [(line, hits, time), ...]}, and the seconds of their unit."""

    def __repr__(self):
        return "{0}({1}, {2:.2G})".format(type(self).__name__, self.timings, self.unit)

    def __eq__(self, other):
        try:
            return self.timings == other.timings and self.unit == other.unit
        except (AttributeError, TypeError):
            return NotImplemented

    __hash__ = None

    def __add__(self, other):
        return type(self).from_stats_objects(self, other)

    def __iadd__(self, other):
        self.timings, self.unit = _sum([self, other])
        return self

    def print(self, stream=None, output_unit=None, stripzeros=False, details=True, summarize=False, sort=False, rich=False, *,
              config=None):
        """Prints the times, as line_profiler does."""
        show_text(self.timings, self.unit, output_unit, stream, stripzeros, details, summarize, sort, rich, config=config)

    def to_file(self, filename):
        """Writes a file that line_profiler and Sonde read."""
        with open(filename, "wb") as f:
            f.write(_sonde.line_dumps(self.timings, self.unit))

    @classmethod
    def from_files(cls, file, *files):
        """Adds up what these files hold, without running anything in them."""
        parts = []
        for name in (file,) + files:
            with open(name, "rb") as f:
                parts.append(LineStats(*_sonde.line_loads(f.read())))
        return cls.from_stats_objects(*parts)

    @classmethod
    def from_stats_objects(cls, stats, *more_stats):
        """Adds up all of these into one."""
        return cls(*_sum([stats] + list(more_stats)))

    @staticmethod
    def _get_aggregated_timings(stats_objs):
        if not stats_objs:
            raise ValueError("stats_objs = {0!r}: empty".format(stats_objs))
        return _sum(list(stats_objs))


def _sum(parts):
    if len(parts) == 1:
        return {key: list(lines) for key, lines in parts[0].timings.items()}, parts[0].unit
    return _sonde.line_sum([(part.timings, part.unit) for part in parts])


load_stats = LineStats.from_files


def label(code):
    """(file, first line, name) of a code object; its qualified name from Python 3.11 on."""
    return code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name)


class _WrapperInfo:
    def __init__(self, func, profiler_id):
        self.func = func
        self.profiler_id = profiler_id


class Decorating:
    """What makes a profiler with enable_by_count() and disable_by_count() a decorator of every kind of callable."""

    _profiler_wrapped_marker = MARK
    _class_scoping_policy = ScopingPolicy.CHILDREN

    # ---- which functions

    @classmethod
    def get_underlying_functions(cls, func):
        """Returns the functions behind a callable, a property, a class, ..."""
        return [f for f in cls._get_underlying_functions(func) if isinstance(f, types.FunctionType)]

    @classmethod
    def _get_underlying_functions(cls, func, seen=None, stop_at_classes=False):
        seen = set() if seen is None else seen
        if isinstance(func, (types.MethodType, classmethod, staticmethod)):
            return cls._get_underlying_functions(func.__func__, seen, stop_at_classes)
        if isinstance(func, (functools.partial, functools.partialmethod, functools.cached_property)):
            return cls._get_underlying_functions(func.func, seen, stop_at_classes)
        if isinstance(func, property):
            return [f for part in (func.fget, func.fset, func.fdel) if part is not None
                    for f in cls._get_underlying_functions(part, seen, stop_at_classes)]
        if isinstance(func, type):
            return [func] if stop_at_classes else cls._functions_of_class(func, seen)
        if not callable(func):
            raise TypeError("func = {0!r}: cannot get functions from {1} objects".format(func, type(func)))
        if id(func) in seen:
            return []
        seen.add(id(func))
        if inspect.isfunction(func):
            return [func]
        func = None if is_c_level_callable(func) else type(func).__call__
        return [] if func is None or is_c_level_callable(func) else [func]

    @classmethod
    def _functions_of_class(cls, kls, seen):
        func_check = cls._class_scoping_policy.get_filter(kls, "func")
        cls_check = cls._class_scoping_policy.get_filter(kls, "class")
        found = []
        for member in list(vars(kls).values()):
            try:
                impls = cls._get_underlying_functions(member, seen, True)
            except TypeError:
                continue
            for impl in impls:
                if not isinstance(impl, type):
                    found += [impl] if func_check(impl) else []
                elif cls_check(impl):
                    found += cls._get_underlying_functions(impl, seen)
        return found

    # ---- wrappers

    def wrap_callable(self, func):
        """Returns the same kind of thing, which enables the profiler while its functions run."""
        if is_c_level_callable(func):
            return func
        for kind, wrap in ((classmethod, self.wrap_classmethod), (staticmethod, self.wrap_staticmethod),
                           (types.MethodType, self.wrap_boundmethod), (functools.partialmethod, self.wrap_partialmethod),
                           (functools.partial, self.wrap_partial), (property, self.wrap_property),
                           (functools.cached_property, self.wrap_cached_property)):
            if isinstance(func, kind):
                return wrap(func)
        for test, wrap in ((inspect.isasyncgenfunction, self.wrap_async_generator), (inspect.iscoroutinefunction, self.wrap_coroutine),
                           (inspect.isgeneratorfunction, self.wrap_generator), (inspect.isclass, self.wrap_class),
                           (callable, self.wrap_function)):
            if test(func):
                return wrap(func)
        raise TypeError("func = {0!r}: does not look like a callable or callable wrapper".format(func))

    def _again(self, wrapper, parts, args=(), kwargs=None, name=None):
        """Another object of the wrapper's type around profiled parts."""
        made = type(wrapper)(*[None if p is None else self.wrap_callable(p) for p in parts], *args, **kwargs or {})
        if name:
            try:
                setattr(made, name, getattr(wrapper, name))
            except AttributeError:
                pass
        try:
            old, new = vars(wrapper), vars(made)
        except TypeError:
            return made
        for key, value in old.items():
            new.setdefault(key, value)
        return made

    def wrap_classmethod(self, func):
        return self._again(func, (func.__func__,))

    wrap_staticmethod = wrap_classmethod

    def wrap_boundmethod(self, func):
        return self._again(func, (func.__func__,), (func.__self__,))

    def wrap_partial(self, func):
        return self._again(func, (func.func,), func.args, func.keywords)

    wrap_partialmethod = wrap_partial

    def wrap_property(self, func):
        return self._again(func, (func.fget, func.fset, func.fdel), kwargs={"doc": func.__doc__}, name="__name__")

    def wrap_cached_property(self, func):
        return self._again(func, (func.func,), name="attrname")

    def _wrap_steps(self, func, kind):
        if self._already_a_wrapper(func):
            return func
        wrapper = functools.wraps(func)(kind(func, self.enable_by_count, self.disable_by_count))
        if kind is _resumed.generator and func.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE:  # @types.coroutine
            wrapper = types.coroutine(wrapper)
        return self._mark_wrapper(wrapper)

    def wrap_async_generator(self, func):
        return self._wrap_steps(func, _resumed.async_generator)

    def wrap_coroutine(self, func):
        return self._wrap_steps(func, _resumed.coroutine)

    def wrap_generator(self, func):
        return self._wrap_steps(func, _resumed.generator)

    def wrap_function(self, func):
        if self._already_a_wrapper(func):
            return func

        @functools.wraps(func)
        def wrapper(*args, **kwds):
            self.enable_by_count()
            try:
                return func(*args, **kwds)
            finally:
                self.disable_by_count()

        return self._mark_wrapper(wrapper)

    def wrap_class(self, func):
        """Returns the class itself, its own callables replaced by wrappers."""
        func_check = self._class_scoping_policy.get_filter(func, "func")
        cls_check = self._class_scoping_policy.get_filter(func, "class")
        members = {}
        for name, member in vars(func).items():
            try:
                impls = self._get_underlying_functions(member, stop_at_classes=True)
            except TypeError:
                continue
            if any(cls_check(impl) if isinstance(impl, type) else func_check(impl) for impl in impls):
                members[name] = member
        self._wrap_namespace_members(func, members, warning_stack_level=2)
        return func

    def _wrap_namespace_members(self, namespace, members, *, warning_stack_level=2):
        failed = {}
        for name, member in members.items():
            wrapper = self.wrap_callable(member)
            if wrapper is not member:
                try:
                    setattr(namespace, name, wrapper)
                except (TypeError, AttributeError):
                    failed[name] = member
        if failed:
            warnings.warn("cannot wrap {0} attribute(s) of {1!r} (`{{attr: value}}`): {2!r}".format(len(failed), namespace, failed),
                          stacklevel=warning_stack_level)

    def _get_wrapper_info(self, func):
        info = getattr(func, MARK, None)
        return info, bool(info and info.profiler_id == id(self))

    def _already_a_wrapper(self, func):
        return self._get_wrapper_info(func)[1]

    def _mark_wrapper(self, wrapper):
        info = getattr(wrapper.__wrapped__, MARK, None)
        setattr(wrapper, MARK, _WrapperInfo(info.func if info else wrapper.__wrapped__, id(self)))
        return wrapper

    # ---- running something

    def run(self, cmd):
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        self.enable_by_count()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable_by_count()
        return self

    def runcall(self, func, /, *args, **kw):
        self.enable_by_count()
        try:
            return func(*args, **kw)
        finally:
            self.disable_by_count()

    def __enter__(self):
        self.enable_by_count()
        return self

    def __exit__(self, *what):
        self.disable_by_count()


class LineProfiler(Decorating, _sonde.Lines):
    """Records how often and how long the lines of functions run.

    Decorate functions, methods, properties, partials, coroutines, generators or whole classes with it, or add them and enable it.
    Every line's time is summed over its activations: recursion, threads, generators and coroutines are right.
    """

    tool_id = 2  # what line_profiler says; Sonde shares its own
    wrap_trace = True  # other trace functions always go on
    set_frame_local_trace = False

    def __init__(self, *functions, wrap_trace=None, set_frame_local_trace=None):
        super().__init__()
        self.functions = []
        self.dupes_map = {}
        self.timer_unit = 1e-9
        self.threaddata = threading.local()
        for func in functions:
            self.add_function(func)

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook shows: a page with the source and its figures, unless it is large."""
        from ._plot import bundle, page_of_lines

        return bundle(self, lambda: page_of_lines(self))

    # ---- what is profiled

    def __call__(self, func):
        self.add_callable(func)
        return self.wrap_callable(func)

    def add_function(self, func):
        """Adds one function; add_callable() takes more."""
        if hasattr(func, "__wrapped__"):
            warnings.warn("Adding a function with a `.__wrapped__` attribute. You may want to profile the wrapped function by adding "
                          "`{0}.__wrapped__` instead.".format(func.__name__))
        plain = getattr(func, "__func__", func)
        code = getattr(plain, "__code__", None)
        if not isinstance(code, types.CodeType):
            warnings.warn("Could not extract a code object for the object {0!r}".format(func))
            return
        if self.add(code):
            self.dupes_map.setdefault(code.co_code, []).append(code)
        self._remember_source(code.co_filename, plain)
        self.functions.append(func)

    @staticmethod
    def _remember_source(filename, func):
        """A module in a zip has its source only while its loader is known: `func` is the function, or its module."""
        import linecache

        if not os.path.exists(filename):
            linecache.lazycache(filename, getattr(func, "__globals__", None) or getattr(func, "__dict__", None))

    def add_callable(self, func, guard=None, name=None):
        """Adds the functions behind anything that can be called; returns 1 if there was a new one, else 0."""
        guard = self._already_a_wrapper if guard is None else guard
        n_added = 0
        for impl in self.get_underlying_functions(func):
            info, _ = self._get_wrapper_info(impl)
            if guard(impl):
                continue
            self.add_function(info.func if info else impl)
            n_added = 1
        return n_added

    def _choose(self, func):
        """Adds what `sonde lines` would, also what functools.wraps and lru_cache have wrapped; and objects that can be called."""
        found = _sonde.codes_of(func)
        if not found:
            self.add_callable(func)
        for code in found:
            self._remember_source(code.co_filename, sys.modules.get(getattr(func, "__module__", None)))
            self.add(code)

    def add_class(self, cls, *, scoping_policy=None, wrap=False):
        """Adds the functions of a class; returns how many members had some."""
        return self._add_namespace(cls, ScopingPolicy.to_policies(scoping_policy), wrap, set())

    def add_module(self, mod, *, scoping_policy=None, wrap=False):
        """Adds the functions of a module; returns how many members had some."""
        return self._add_namespace(mod, ScopingPolicy.to_policies(scoping_policy), wrap, set())

    def _add_namespace(self, namespace, policies, wrap, seen):
        checks = {kind: policy.get_filter(namespace, kind) for kind, policy in policies.items()}
        members, count = {}, 0

        def guard(func):
            return self._already_a_wrapper(func) or not checks["func"](func)

        for name, value in list(vars(namespace).items()):
            if id(value) in seen:
                continue
            seen.add(id(value))
            kind = "class" if isinstance(value, type) else "module" if isinstance(value, types.ModuleType) else None
            if kind:
                count += bool(checks[kind](value) and self._add_namespace(value, policies, wrap, seen))
                continue
            try:
                added = self.add_callable(value, guard=guard)
            except TypeError:
                continue
            if added:
                count += 1
                members[name] = value
        if wrap and members:
            self._wrap_namespace_members(namespace, members, warning_stack_level=3)
        return count

    # ---- what was measured

    @property
    def code_map(self):
        """{code: {line: {"code", "lineno", "total_time", "nhits"}}} of the lines that ran."""
        return {code: {row[0]: {"code": code, "lineno": row[0], "total_time": row[2], "nhits": row[1]} for row in self._rows(code)}
                for code in self.codes()}

    @property
    def code_hash_map(self):
        return {code: [] for code in self.codes()}

    @property
    def last_time(self):
        return {}

    def _rows(self, code):
        return [row for row in self.rows(code) if row[1] > 0]

    def get_stats(self):
        """Returns the times as a LineStats."""
        timings = {}
        for code in self.codes():
            lines = timings.setdefault(label(code), {})
            for row in self._rows(code):
                hits, time = lines.get(row[0], (0, 0))
                lines[row[0]] = hits + row[1], time + row[2]
        return LineStats({key: [(n,) + lines[n] for n in sorted(lines)] for key, lines in timings.items()}, self.timer_unit)

    def dump_stats(self, filename):
        """Writes the times into a file that `python -m line_profiler` and `sonde report` read."""
        self.get_stats().to_file(filename)

    def print_stats(self, stream=None, output_unit=None, stripzeros=False, details=True, summarize=False, sort=False, rich=False, *,
                    config=None):
        """Prints the times, as line_profiler does."""
        self.get_stats().print(stream, output_unit, stripzeros, details, summarize, sort, rich, config=config)


# ---- a decorator that stays in a program

_own = None  # the LineProfiler of SONDE_LINES=1, once something was decorated; False: lines cannot be counted


def is_worker():
    """Is this a process that multiprocessing started?  It may have run the program's file anew, up to `if __name__ == ...`.

    The forkserver process counts as one: from 3.14 on it also runs that file, under the module name `__mp_main__` of workers.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is None:
        return False
    return process.parent_process() is not None or getattr(sys.modules.get("__mp_main__"), "__name__", None) == "__mp_main__"


def enables(profiler, stacklevel):
    """Enables it, or warns: a decorator that was left in a program must not end it."""
    try:
        profiler.enable()
    except Exception as why:
        warnings.warn("no lines are counted: {0}".format(why), RuntimeWarning, stacklevel + 1)
        return False
    return True


def _print_own(pid):
    """A child that was forked has the parent's counts among its own: the parent tells of them."""
    if os.getpid() == pid and not is_worker():
        _own.print_stats(output_unit=1e-6, config=False)


def profile(func):
    """Chooses a function, or all of a class, whose lines are counted under `sonde lines`; gives it back as it is.

    Without `sonde lines` it does nothing, unless SONDE_LINES=1 is in the environment: then the times are printed when the program ends.
    """
    global _own

    if _sonde.lines_capture() is not None:
        return _sonde.profile(func)
    if os.environ.get("SONDE_LINES", "0") in ("", "0"):
        return func
    if _own is None:
        import atexit

        _own = LineProfiler()
        if enables(_own, 2):
            atexit.register(_print_own, os.getpid())
        else:
            _own = False
    if _own:
        _own._choose(func)
    return func
