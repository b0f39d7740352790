# SPDX-License-Identifier: MIT
"""%lprun, %%lprun_all, %mprun and %memit: what %load_ext line_profiler and %load_ext memory_profiler add to IPython."""
import builtins
import sys
import time

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, line_magic, magics_class

from .. import _memory
from .._line_profiler import LineProfiler

ENDED = "*** {0} exception caught in code being profiled."


def functions_named(shell, words, evaluated):
    """The objects that -f names."""
    found = []
    for word in words:
        try:
            found.append(eval(word, *evaluated))
        except Exception as why:
            raise UsageError("Could not find function {0!r}.\n{1}: {2}".format(word, type(why).__name__, why)) from None
    return found


class _Builtin:
    """The profiler as the builtin `profile`, while something runs."""

    def __init__(self, prof):
        self.prof = prof

    def __enter__(self):
        self.has_one, self.before = hasattr(builtins, "profile"), getattr(builtins, "profile", None)
        builtins.profile = self.prof

    def __exit__(self, *what):
        if self.has_one:
            builtins.profile = self.before
        else:
            del builtins.profile


def run_and_tell(run, prof):
    """Runs it; what the program ends itself with is told, not raised."""
    with _Builtin(prof):
        try:
            run()
        except SystemExit:
            return ENDED.format("SystemExit")
        except KeyboardInterrupt:
            return ENDED.format("KeyboardInterrupt")
    return ""


def texts_of(prof, opts):
    """What is shown, in the unit of -u and with or without zeros."""
    from io import StringIO

    unit = opts.u[0] if isinstance(opts.u, list) else opts.u
    try:
        unit = None if unit is None else float(unit)
    except ValueError:
        raise TypeError("Timer unit setting must be a float.") from None
    out = StringIO()
    prof.print_stats(out, output_unit=unit, stripzeros="s" in opts or "z" in opts)
    return out.getvalue().rstrip()


def finish(prof, opts, text, said):
    print(text + ("\n" + said if said else ""))
    for option, write in (("D", prof.dump_stats), ("T", lambda path: write_text(path, text))):
        if opts.get(option):
            write(opts[option])
            print("\n*** Profile {0} saved to file {1!r}. {2}".format("stats" if option == "D" else "printout", opts[option], said))
    return prof if "r" in opts else None


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


@magics_class
class LineProfilerMagics(Magics):
    @line_magic
    def lprun(self, parameter_s=""):
        """Runs a statement and shows the times of the lines of functions.

        %lprun -f func1 -f func2 -m module <statement>

        -f NAME: a function, method or class; -m MODULE: all of a module; -D FILE: writes an .lprof file; -T FILE: writes the
        text; -u SECONDS: unit of times; -s or -z: without functions that never ran; -r: returns the LineProfiler.
        """
        import importlib

        opts, statement = self.parse_options(parameter_s, "rszf:m:D:T:u:", list_all=True, posix=False)
        opts = one_each(opts, "DTu")
        prof = LineProfiler()
        spaces = self.shell.user_global_ns, self.shell.user_ns
        for func in functions_named(self.shell, opts.get("f") or [], spaces):
            prof.add_callable(func)
        for name in opts.get("m") or []:
            prof.add_module(importlib.import_module(name))
        texts_of(prof, opts)  # a wrong -u is told before anything runs
        said = run_and_tell(lambda: prof.runctx(statement, *spaces), prof)
        return finish(prof, opts, texts_of(prof, opts), said)

    @cell_magic
    def lprun_all(self, parameter_s="", cell=""):
        """Runs a cell and shows the times of all its lines, with those of the functions in it.

        -p: not of the functions; -t: leaves the time that it took in _total_time_taken; others as %lprun has them.
        """
        from .kernprof import functions_in
        from textwrap import dedent

        opts, _ = self.parse_options(parameter_s, "rszptD:T:u:")
        opts = one_each(opts, "DTu")
        name = self.shell.compile.cache(dedent(cell))
        code = compile(dedent(cell).lstrip("\n"), name, "exec")
        prof = LineProfiler()
        texts_of(prof, opts)
        for chosen in [code] + ([] if "p" in opts else list(functions_in(code))):
            prof.add(chosen)
        began = time.perf_counter()
        said = run_and_tell(lambda: prof.runctx(code, self.shell.user_global_ns, self.shell.user_ns), prof)
        if "t" in opts:
            self.shell.user_ns["_total_time_taken"] = time.perf_counter() - began
        return finish(prof, opts, texts_of(prof, opts), said)


def one_each(opts, names):
    """Options that are given once, as text; None where they are not.  Quotes stay in the statement, where they belong, but not
    around these."""
    for name in names:
        value = opts.get(name)
        value = value[0] if isinstance(value, list) else value
        opts[name] = value[1:-1] if value and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
    return opts


@magics_class
class MemoryProfilerMagics(Magics):
    @line_magic
    def mprun(self, parameter_s=""):
        """Runs a statement and shows the memory after each line of functions, which must stand in files.

        %mprun -f func1 -f func2 <statement>

        -T FILE: writes the text, too; -c: with child processes; -r: returns the LineProfiler.
        """
        from io import StringIO

        from .memory_profiler import LineProfiler as MemoryProfiler
        from .memory_profiler import show_results

        opts, statement = self.parse_options(parameter_s, "rf:T:c", list_all=True, posix=False)
        opts = one_each(opts, "T")
        spaces = self.shell.user_global_ns, self.shell.user_ns
        prof = MemoryProfiler(include_children="c" in opts)
        for func in functions_named(self.shell, opts.get("f") or [], spaces):
            prof.add_function(func)
        said = run_and_tell(lambda: prof.runctx(statement, *spaces), prof)
        out = StringIO()
        show_results(prof, stream=out)
        text = out.getvalue().rstrip()
        print(text + ("\n" + said if said else ""))
        if opts["T"]:
            write_text(opts["T"], text)
            print("\n*** Profile printout saved to text file {0}. {1}".format(opts["T"], said))
        return prof if "r" in opts else None

    @line_cell_magic
    def memit(self, line="", cell=None):
        """Runs a statement, or in cell mode the cell after it, and shows the most memory that was held.

        -r N: runs it N times; -t SECONDS: for no longer; -i SECONDS: between two readings; -c: with child processes;
        -o: returns the result; -q: prints nothing.
        """
        from .memory_profiler import MemitResult, memory_usage

        opts, statement = self.parse_options(line, "r:t:i:coq", posix=False, strict=False)
        spaces = self.shell.user_ns
        if cell is not None:
            exec(compile(statement, "<magic-memit-setup>", "exec"), spaces)
            statement = cell
        elif not statement:
            return None
        repeat, interval = int(opts.get("r", 1)), float(opts.get("i", 0.1))
        timeout = float(opts.t) if opts.get("t") else None
        code = compile(self.shell.transform_cell(statement), "<magic-memit>", "exec")
        with_children = "c" in opts
        baseline = _memory.read(-1, include_children=with_children)
        most = [memory_usage((exec, (code, spaces)), timeout=timeout, interval=interval, max_usage=True, max_iterations=1,
                             include_children=with_children) for _ in range(max(repeat, 1))]
        result = MemitResult(most, baseline, repeat, timeout, interval, with_children)
        if "q" not in opts:
            print(result, file=sys.stdout)
        return result if "o" in opts else None
