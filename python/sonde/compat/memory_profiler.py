# SPDX-License-Identifier: MIT
"""memory_profiler, as Sonde has it: the same names and texts; memory is read by Sonde, line by line and over time.

    from sonde.compat.memory_profiler import profile, memory_usage
    python -m sonde.compat.memory_profiler script.py

Increments are changes from the reading before, of any line and thread, so they add up; psutil is not needed.
"""
import builtins
import functools
import inspect
import os
import sys

from .. import _memory, _sonde
from . import _named

__version__ = "0.61.0"  # of memory_profiler: what is the same
MIB = _memory.MIB
BACKENDS = ("psutil", "psutil_pss", "psutil_uss", "posix", "tracemalloc")
has_tracemalloc = True


def choose_backend(new_backend=None):
    """Returns the backend of that name; None is psutil, the resident memory."""
    if new_backend is not None and new_backend not in BACKENDS:
        raise KeyError(new_backend)
    return new_backend or "psutil"


def _traced(filename):
    """MiB that tracemalloc knows to be allocated in a file."""
    import tracemalloc

    # A freed tuple that Python keeps for its next use counts as allocated where it was used last, as the arguments of a
    # call: use the last ones here, so that they are not the file's.
    [((i,), (i, i), (i, i, i)) for i in range(8)]
    found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, filename)]).statistics("filename")
    return sum(stat.size for stat in found) / MIB


def _get_memory(pid, backend, timestamps=False, include_children=False, filename=None):
    if backend == "tracemalloc":
        if filename is None or filename == "<unknown>":
            raise RuntimeError("There is no access to source file of the profiled function")
        mem = _traced(filename)
    else:
        mem = _memory.read(pid, backend, include_children)
        mem = -1 if mem is None else mem
    if not timestamps:
        return mem
    import time

    return mem, time.time()


def _get_child_memory(process, meminfo_attr=None, memory_metric=0):
    return iter(_memory.children(getattr(process, "pid", process)))


def memory_usage(proc=-1, interval=.1, timeout=None, timestamps=False, include_children=False, multiprocess=False, max_usage=False,
                 retval=False, stream=None, backend=None, max_iterations=None):
    """Does what sonde.memory_usage does, but a function that ends too early for four readings is called again, with a tenth of the interval."""
    return _memory.usage(proc, interval, timeout, timestamps, include_children, multiprocess, max_usage, retval, stream,
                         choose_backend(backend), max_iterations, True)


class MemitResult:
    """What %memit measured."""

    def __init__(self, mem_usage, baseline, repeat, timeout, interval, include_children):
        self.mem_usage, self.baseline, self.repeat = mem_usage, baseline, repeat
        self.timeout, self.interval, self.include_children = timeout, interval, include_children

    def __str__(self):
        most = max(self.mem_usage)
        return "peak memory: %.02f MiB, increment: %.02f MiB" % (most, most - self.baseline)

    def _repr_pretty_(self, p, cycle):
        p.text("<MemitResult : " + str(self) + ">")


# ---- functions over time


def _source_file(func):
    try:
        return inspect.getsourcefile(func)
    except TypeError:
        return "<unknown>"


def _like(made, func):
    made.__module__, made.__name__, made.__doc__ = func.__module__, func.__name__, func.__doc__
    made.__dict__.update(getattr(func, "__dict__", {}))
    return made


class _Stamp:
    """Reads memory at both ends of a block."""

    def __init__(self, of, func, filename):
        self.of, self.func, self.filename = of, func, filename
        self.timestamps = []
        of.functions[func].append(self.timestamps)

    def read(self):
        self.timestamps.append(_get_memory(-1, self.of.backend, True, self.of.include_children, self.filename))

    def __enter__(self):
        self.of.current_stack_level += 1
        self.of.stack[self.func].append(self.of.current_stack_level)
        self.read()

    def __exit__(self, *what):
        self.of.current_stack_level -= 1
        self.read()


class TimeStamper:
    """Records when decorated functions began and ended, and the memory then."""

    def __init__(self, backend, include_children=False):
        self.functions = {}
        self.backend = backend
        self.include_children = include_children
        self.current_stack_level = -1
        self.stack = {}

    def __call__(self, func=None, precision=None):
        if func is None:
            return lambda f: self(f, precision=precision)
        if not callable(func):
            raise ValueError("Value must be callable")
        self.add_function(func)
        return _like(self.wrap_function(func), func)

    def timestamp(self, name="<block>"):
        """Returns a context manager for a block of code."""

        def block(x):
            return x

        block.__module__, block.__name__ = "", name
        self.add_function(block)
        return _Stamp(self, block, _source_file(block))

    def add_function(self, func):
        self.functions.setdefault(func, [])
        self.stack.setdefault(func, [])

    def wrap_function(self, func):
        def f(*args, **kwds):
            with _Stamp(self, func, _source_file(func)):
                return func(*args, **kwds)

        return f

    def show_results(self, stream=None):
        stream = sys.stdout if stream is None else stream
        lines = ["FUNC %s.%s %.4f %.4f %.4f %.4f %d\n" % ((func.__module__, func.__name__) + ts[0] + self._end_of(ts, func) + (level,))
                 for func, timestamps in list(self.functions.items()) for ts, level in zip(timestamps, self.stack[func]) if ts]
        stream.write("".join(lines))  # at once: mprof appends to the same file

    def _end_of(self, ts, func):
        """Of what another thread is still in, it is now."""
        return ts[1] if len(ts) > 1 else _get_memory(-1, self.backend, True, self.include_children, _source_file(func))


# ---- lines


class CodeMap(dict):
    """{code: {line: (increment, most, occurrences)}} in MiB; functions in functions are with the outermost."""

    def __init__(self, include_children, backend):
        super().__init__()
        self.include_children = include_children
        self.backend = backend
        self._toplevel = []
        self._fill = lambda: None

    def add(self, code, toplevel_code=None):
        if code in self:
            return
        if toplevel_code is None:
            filename = code.co_filename
            if filename.endswith((".pyc", ".pyo")):
                filename = filename[:-1]
            if not os.path.exists(filename):
                print("ERROR: Could not find file " + filename)
                if filename.startswith(("ipython-input", "<ipython-input")):
                    print("NOTE: %mprun can only be used on functions defined in physical files, and not in the IPython environment.")
                return
            toplevel_code = code
            lines, first = inspect.getsourcelines(code)
            self._toplevel.append((filename, code, range(first, first + len(lines))))
            super().__setitem__(code, {})
        else:
            super().__setitem__(code, super().__getitem__(toplevel_code))
        for inner in filter(inspect.iscode, code.co_consts):
            if not inner.co_name.startswith("<"):  # a comprehension on one line is that line
                self.add(inner, toplevel_code)

    def __getitem__(self, code):
        self._fill()
        return super().__getitem__(code)

    def functions(self):
        """[(file, first line, name, {line: ...}), ...] of those that ran, for the extension."""
        self._fill()
        return [(filename, numbers.start, code.co_name, measured) for filename, code, numbers in self._toplevel
                for measured in [super(CodeMap, self).__getitem__(code)] if measured]

    def items(self):
        self._fill()
        for filename, code, numbers in self._toplevel:
            measured = super().__getitem__(code)
            if measured:
                yield filename, ((n, measured.get(n)) for n in numbers)


class LineProfiler:
    """Records how much memory there is after each line of decorated functions."""

    def __init__(self, **kw):
        self.backend = choose_backend(kw.get("backend"))
        self.include_children = kw.get("include_children", False)
        self.code_map = CodeMap(self.include_children, self.backend)
        self.enable_count = 0
        self.max_mem = kw.get("max_mem")
        self._lines = None
        if self.max_mem is None and self.backend in ("psutil", "posix") and not self.include_children:
            self._lines = _sonde.Lines(memory=True)
            self.code_map._fill = self._take_rows
        self._last, self._frames = None, {}

    def __call__(self, func=None, precision=1):
        if func is None:
            return lambda f: self(f, precision=precision)
        self.add_function(func)
        return _like(self.wrap_function(func), func)

    def add_function(self, func):
        try:
            code = func.__code__
        except AttributeError:
            import warnings

            warnings.warn("Could not extract a code object for the object %r" % func)
            return
        self.code_map.add(code)
        for known in self.code_map if self._lines else ():
            self._lines.add(known)

    def wrap_function(self, func):
        if inspect.iscoroutinefunction(func):
            async def f(*args, **kwds):
                with self:
                    return await func(*args, **kwds)
        elif inspect.isgeneratorfunction(func):
            def f(*args, **kwds):
                with self:
                    return (yield from func(*args, **kwds))
        else:
            def f(*args, **kwds):
                with self:
                    return func(*args, **kwds)
        return f

    def runctx(self, cmd, globals, locals):
        with self:
            exec(cmd, globals, locals)
        return self

    def enable_by_count(self):
        if self.enable_count == 0:
            self.enable()
        self.enable_count += 1

    def disable_by_count(self):
        if self.enable_count > 0:
            self.enable_count -= 1
            if self.enable_count == 0:
                self.disable()

    def __enter__(self):
        self.enable_by_count()

    def __exit__(self, *what):
        self.disable_by_count()

    def enable(self):
        if self._lines:
            self._lines.start()
            return
        self._original_trace_function = sys.gettrace()
        sys.settrace(self.trace_max_mem if self.max_mem is not None else self.trace_memory_usage)

    def disable(self):
        if self._lines:
            self._lines.rest()
        else:
            sys.settrace(self._original_trace_function)

    # ---- resident memory, which the extension reads

    def _take_rows(self):
        _sonde.memory_rows(self._lines, self.code_map)

    # ---- other memory, of which every reading takes long anyway: read here

    def _read(self, code):
        return _get_memory(-1, self.backend, include_children=self.include_children, filename=code.co_filename)

    def _book(self, code, line, is_hit):
        """The row of the def has what was there, as under the other backends; what goes on after a yield is no hit."""
        now = self._read(code)
        grew = 0 if self._last is None else now - self._last
        known = self.code_map[code].get(line, (0, 0, 0))
        total = max(known[1], now) if line == code.co_firstlineno else known[0] + grew
        self.code_map[code][line] = total, max(known[1], now), known[2] + is_hit
        self._last = now

    def trace_memory_usage(self, frame, event, arg):
        code = frame.f_code
        if code in self.code_map:
            line, is_hit = self._frames.get(frame, (None, True))
            stays = event == "line" and line == frame.f_lineno and line != code.co_firstlineno
            if event in ("line", "return") and line is not None and not stays:
                self._book(code, line, is_hit)
            if event == "return":
                self._frames.pop(frame, None)
            elif not stays:
                self._frames[frame] = frame.f_lineno, event != "call" or frame.f_lineno == code.co_firstlineno
        if self._original_trace_function is not None:
            self._original_trace_function(frame, event, arg)
        return self.trace_memory_usage

    def trace_max_mem(self, frame, event, arg):
        """Starts the debugger as soon as there is more than max_mem."""
        if event in ("line", "return") and frame.f_code in self.code_map:
            now = self._read(frame.f_code)
            if now >= self.max_mem:
                return self._debug(frame, event, arg, now)
        if self._original_trace_function is not None:
            self._original_trace_function(frame, event, arg)
        return self.trace_max_mem

    def _debug(self, frame, event, arg, now):
        import pdb

        sys.stdout.write("Current memory {0:.2f} MiB exceeded the maximum of {1:.2f} MiB\n".format(now, self.max_mem))
        sys.stdout.write("Stepping into the debugger \n")
        debugger = pdb.Pdb()
        debugger.reset()
        debugger.botframe = frame.f_back
        debugger.set_step()
        sys.settrace(debugger.trace_dispatch)
        return debugger.trace_dispatch(frame, event, arg)


def show_results(prof, stream=None, precision=1):
    """Prints the memory after each line, as memory_profiler does: line by line, since LogFile looks at each."""
    import re

    stream = sys.stdout if stream is None else stream
    for line in re.findall("[^\n]+\n+", _sonde.memory_text(prof.code_map.functions(), precision)):
        stream.write(line)


def profile(func=None, stream=None, precision=1, backend="psutil"):
    """Decorates a function, whose memory line by line is printed after each call."""
    backend = choose_backend(backend)
    if backend == "tracemalloc":
        import tracemalloc

        if not tracemalloc.is_tracing():
            tracemalloc.start()
    if func is None:
        return lambda f: profile(f, stream=stream, precision=precision, backend=backend)
    if _sonde.lines_want_memory():
        return _sonde.profile(func)  # under `sonde lines --memory`, which prints the table at the end

    def show(prof):
        show_results(prof, stream=stream, precision=precision)

    if inspect.iscoroutinefunction(func):
        @functools.wraps(func)
        async def wrapper(*args, **kwargs):
            prof = LineProfiler(backend=backend)
            value = await prof(func)(*args, **kwargs)
            show(prof)
            return value
    else:
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            prof = LineProfiler(backend=backend)
            value = prof(func)(*args, **kwargs)
            show(prof)
            return value
    return wrapper


class LogFile:
    """A file for show_results() that goes to the logging module; with reportIncrementFlag only lines that took memory."""

    def __init__(self, name=None, reportIncrementFlag=False):
        import logging

        self.logger = logging.getLogger(name)
        self.reportIncrementFlag = reportIncrementFlag

    def write(self, msg, level=20):
        if self.reportIncrementFlag and not self._is_told(msg):
            return
        self.logger.log(level, msg)

    @staticmethod
    def _is_told(msg):
        if "MiB" in msg and float(msg.split("MiB")[1].strip()) > 0:
            return True
        return "Filename:" in msg or "Line Contents" in msg

    def flush(self):
        for handler in self.logger.handlers:
            handler.flush()


def load_ipython_extension(ip):
    """%load_ext memory_profiler: %mprun and %memit."""
    from ._magics import MemoryProfilerMagics

    ip.register_magics(MemoryProfilerMagics)


# ---- the command


def _find_script(name):
    path = _named.find(name)
    if path is not None:
        return path
    sys.stderr.write("Could not find script {0}\n".format(name))
    raise SystemExit(1)


def _run(program, prof, backend):
    import tracemalloc

    builtins.profile = prof
    if choose_backend(backend) == "tracemalloc":
        tracemalloc.start()
    sys.argv = list(program)
    try:
        if program[0].endswith(".py"):
            path = _find_script(program[0])
            sys.argv[0] = path
            sys.path.insert(0, os.path.dirname(path))
            module = type(sys)("__main__")
            module.__dict__.update(__file__=path, profile=prof)
            sys.modules["__main__"] = module
            with open(path, "rb") as f:
                code = compile(f.read(), path, "exec")
            exec(code, module.__dict__)
        else:
            import runpy

            runpy.run_module(program[0], run_name="__main__", init_globals={"profile": prof})
    finally:
        if tracemalloc.is_tracing():
            tracemalloc.stop()


def main(args=None):
    """`python -m memory_profiler`"""
    from argparse import REMAINDER, ArgumentParser

    parser = ArgumentParser(usage="python -m memory_profiler script_file.py")
    add = parser.add_argument
    add("--version", action="version", version=__version__)
    add("--pdb-mmem", dest="max_mem", metavar="MAXMEM", type=float, action="store", help="step into the debugger when memory exceeds MAXMEM")
    add("--precision", dest="precision", type=int, action="store", default=3, help="precision of memory output in number of significant digits")
    add("-o", dest="out_filename", type=str, action="store", default=None, help="path to a file where results will be written")
    add("--timestamp", dest="timestamp", default=False, action="store_true",
        help="print timestamp instead of memory measurement for decorated functions")
    add("--include-children", dest="include_children", default=False, action="store_true",
        help="also include memory used by child processes")
    add("--backend", dest="backend", type=str, action="store", choices=["tracemalloc", "psutil", "psutil_pss", "psutil_uss", "posix"],
        default="psutil",
        help="backend using for getting memory info (one of the {tracemalloc, psutil, posix, psutil_pss, psutil_uss, posix})")
    add("program", nargs=REMAINDER, help="python script or module followed by command line arguments to run")
    chosen = parser.parse_args(args)
    if not chosen.program:
        print("A program to run must be provided. Use -h for help")
        sys.exit(1)
    if chosen.timestamp:
        prof = TimeStamper(chosen.backend, include_children=chosen.include_children)
    else:
        prof = LineProfiler(max_mem=chosen.max_mem, backend=chosen.backend, include_children=chosen.include_children)
    out = open(chosen.out_filename, "a") if chosen.out_filename is not None else sys.stdout
    try:
        _run(chosen.program, prof, chosen.backend)
    finally:
        if chosen.timestamp:
            prof.show_results(stream=out)
        else:
            show_results(prof, precision=chosen.precision, stream=out)
        out.flush()


if __name__ == "__main__":
    main()
