# SPDX-License-Identifier: MIT
"""kernprof: runs a script under LineProfiler (-l) or Profile.

    python -m sonde.compat.kernprof -l -v script.py
"""
import builtins
import os
import sys
import threading

from .._line_profiler import Decorating, LineProfiler
from .cProfile import Profile
from .line_profiler import __version__
from .line_profiler import profile as global_profiler


class ContextualProfile(Decorating, Profile):
    """cProfile's Profile, with a count of how often it was enabled, and as a decorator."""

    def __init__(self, *args, **kwds):
        super().__init__(*args, **kwds)
        self.enable_count = 0

    def __call__(self, func):
        return self.wrap_callable(func)

    def enable_by_count(self, subcalls=True, builtins=True):
        if self.enable_count == 0:
            self.enable(subcalls=subcalls, builtins=builtins)
        self.enable_count += 1

    def disable_by_count(self):
        if self.enable_count > 0:
            self.enable_count -= 1
            if self.enable_count == 0:
                self.disable()

    run, runctx, runcall = Profile.run, Profile.runctx, Profile.runcall


class RepeatedTimer:
    """Writes what there is every so many seconds, until stop()."""

    def __init__(self, interval, dump_func, outfile):
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(interval, dump_func, outfile), daemon=True)
        self._thread.start()

    def _run(self, interval, dump_func, outfile):
        while not self._ends.wait(interval):
            dump_func(outfile)

    def stop(self):
        self._ends.set()
        self._thread.join()


def execfile(filename, globals=None, locals=None):
    """Runs a file as Python 2's builtin did."""
    with open(filename, "rb") as f:
        exec(compile(f.read(), filename, "exec"), globals, locals)


def find_script(name, *, exit_on_error=True):
    """The path of a script, which may also stand in a folder of PATH."""
    for folder in [""] + [f for f in os.environ.get("PATH", os.defpath).split(os.pathsep) if f]:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    message = "Could not find script {0!r}".format(name)
    if not exit_on_error:
        raise FileNotFoundError(message)
    print(message, file=sys.stderr)
    raise SystemExit(1)


def find_module_script(name, *, exit_on_error=True):
    """The file of a module, or of the __main__ of a package."""
    from importlib.util import find_spec

    for full in (name + ".__main__", name):
        try:
            spec = find_spec(full)
        except ImportError:
            continue
        if spec and spec.origin and os.path.exists(spec.origin):
            return spec.origin
    message = "Could not find module `{0}`".format(name)
    if not exit_on_error:
        raise ModuleNotFoundError(message)
    print(message, file=sys.stderr)
    raise SystemExit(1)


# ---- the command line


def positive_float(text):
    value = float(text)
    if value <= 0:
        from argparse import ArgumentError

        raise ArgumentError(None, "must be above 0")
    return value


def make_parser():
    from argparse import ArgumentParser

    parser = ArgumentParser(prog="kernprof", description="Run and profile a python script.")
    add = parser.add_argument
    add("-V", "--version", action="version", version=__version__)
    add("--config", help="Accepted; Sonde has no such file")
    add("--no-config", action="store_const", dest="config", const=False)
    add("-l", "--line-by-line", action="store_true", help="Use the line-by-line profiler instead of cProfile. Implies `--builtin`.")
    add("-b", "--builtin", action="store_true",
        help="Put `profile` in the builtins. Use `profile.enable()`/`.disable()` to toggle profiling, `@profile` to decorate functions, "
             "or `with profile:` to profile a section of code.")
    add("-s", "--setup", help="Path to the Python source file containing setup code to execute before the code to profile.")
    add("-p", "--prof-mod", action="append",
        help="List of modules, functions and/or classes to profile specified by their name or path. Adding the current script/module "
             "profiles the entirety of it. Only works with line profiling (`-l`/`--line-by-line`).")
    add("--preimports", action="store_true", default=True, help="Eagerly import all profiling targets specified via `-p`.")
    add("--no-preimports", action="store_false", dest="preimports")
    add("--prof-imports", action="store_true", help="If the script/module profiled is in `--prof-mod`, autoprofile all its imports.")
    add("--no-prof-imports", action="store_false", dest="prof_imports")
    add("-o", "--outfile", help="Save stats to OUTFILE. (Default: '<script_or_module_name>.lprof' in line-profiling mode "
                                "(`-l`/`--line-by-line`); '<script_or_module_name>.prof' otherwise)")
    add("-v", "--verbose", "--view", action="count", default=0,
        help="Increase verbosity level. At level 1, view the profiling results in addition to saving them.")
    add("-q", "--quiet", action="count", default=0,
        help='Decrease verbosity level. At level -1, disable helpful messages (e.g. "Wrote profile results to <...>"); at level -2, '
             "silence the stdout; at level -3, silence the stderr.")
    add("-r", "--rich", action="store_true", help="Accepted: the text is the same")
    add("-u", "--unit", type=positive_float, default=1e-6,
        help="Output unit (in seconds) in which the timing info is displayed. (Default: 1e-06 s)")
    add("-z", "--skip-zero", action="store_true", help="Hide functions which have not been called.")
    add("--summarize", action="store_true", help="Print a summary of total function time.")
    add("-i", "--output-interval", type=int, const=1, nargs="?", default=0,
        help="Enables outputting of cumulative profiling results to OUTFILE every OUTPUT_INTERVAL seconds.")
    return parser


def split_words(words):
    """(kernprof's own, "-m" or "-c" or None, what follows that, the program's)."""
    end = words.index("--") if "--" in words else len(words)
    places = [words.index(flag) for flag in ("-m", "-c") if flag in words[:end]]
    if not places:
        return words, None, None, []
    at = min(places)
    if at + 1 >= len(words):
        raise ValueError("argument expected for the {0} option".format(words[at]))
    return words[:at], words[at], words[at + 1], words[at + 2:]


def read_options(words):
    own, flag, what, rest = split_words(list(words))
    parser = make_parser()
    if flag is None:
        parser.add_argument("script", metavar='{path/to/script | -m path.to.module | -c "literal code"}',
                            help="The python script file, module, or literal code to run")
    parser.add_argument("args", nargs="...", help="Optional script arguments")
    options = parser.parse_args(own)
    options.args = options.args + rest
    options.module = what if flag == "-m" else None
    options.code = what if flag == "-c" else None
    if flag is None and options.script == "-":
        options.code = sys.stdin.read()
    if options.module:
        options.script = options.module
    options.verbose -= options.quiet
    return options


# ---- what to profile without a decorator


def functions_in(code):
    """All code objects of functions that stand in this one."""
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            if not constant.co_name.startswith("<") or constant.co_name == "<lambda>":
                yield constant
            yield from functions_in(constant)


def targets(words):
    """The parts of -p, which may be names of files with commas in them; an empty one forgets those before."""
    found = []
    for word in words or []:
        if not word:
            found = []
        else:
            found += [word] if os.path.exists(word) else word.split(",")
    return found


def is_same_file(a, b):
    return os.path.exists(a) and os.path.exists(b) and os.path.samefile(a, b)


def add_target(prof, name):
    """A module, or a class or function in one, by its dotted name or its file."""
    from importlib import import_module

    if name.endswith(".py") and os.path.isfile(name):
        name = os.path.splitext(os.path.basename(name))[0]
    parts, rest = name.split("."), []
    while parts:
        try:
            found = import_module(".".join(parts))
            break
        except ImportError:
            rest.insert(0, parts.pop())
    else:
        import warnings

        warnings.warn("1 profile-on-import target cannot be imported: {0!r}".format(name))
        return
    for part in rest:
        found = getattr(found, part, None)
    if isinstance(found, type(sys)):
        prof.add_module(found, wrap=True)
    elif isinstance(found, type):
        prof.add_class(found, wrap=True)
    elif callable(found):
        prof.add_callable(found)
        prof.enable_by_count()  # there may be no wrapper where it is called


def choose(prof, options, script, code):
    wanted = targets(options.prof_mod)
    for word in wanted:
        if is_same_file(word, script) or word == options.script:
            for found in functions_in(code):
                prof._lines.add(found)
            prof.enable_by_count()
        else:
            add_target(prof, word)


# ---- running it


def prepare(options):
    script = None
    if options.code is not None:
        script = "<kernprof-{0}>".format("stdin" if getattr(options, "script", None) == "-" else "command")
    if not options.outfile:
        name = script.strip("<>") if script else os.path.basename(options.script)
        options.outfile = "{0}.{1}".format(name, "lprof" if options.line_by_line else "prof")
    sys.argv = [script or options.script] + options.args
    if options.module:
        sys.path.insert(0, os.path.abspath(os.curdir))
    if options.setup:
        path = find_script(options.setup)
        sys.path.insert(0, os.path.dirname(path))
        names = {"__file__": path, "__name__": "__main__"}
        execfile(path, names, names)
    if options.module:
        script = find_module_script(options.module)
    elif script is None:
        script = find_script(options.script)
        sys.path.insert(0, os.path.dirname(script))
    return script


def compiled(options, script):
    if options.code is None:
        with open(script, "rb") as f:
            return compile(f.read(), script, "exec")
    import linecache
    from textwrap import dedent

    text = dedent(options.code)
    linecache.cache[script] = len(text), None, text.splitlines(True), script
    return compile(text, script, "exec")


def execute(prof, options, script, code):
    module = type(sys)("__main__")
    module.__file__ = script
    kept = sys.modules["__main__"]
    sys.modules["__main__"] = module
    if options.module:
        module.__package__ = options.module if script.endswith("__main__.py") else options.module.rpartition(".")[0]
    try:
        if options.builtin:
            exec(code, module.__dict__)
        else:
            prof.runctx(code, module.__dict__, module.__dict__)
    finally:
        sys.modules["__main__"] = kept


def tell(options, text):
    if options.verbose > -1:
        print(text)


def finish(prof, options, stdout):
    prof.dump_stats(options.outfile)
    tell(options, "Wrote profile results to {0!r}".format(options.outfile))
    if options.verbose > 0:
        if isinstance(prof, ContextualProfile):
            prof.print_stats()
        else:
            prof.print_stats(stream=stdout, output_unit=options.unit, stripzeros=options.skip_zero, summarize=options.summarize,
                             rich=options.rich)
    else:
        how = "pstats" if isinstance(prof, ContextualProfile) else "line_profiler -rmt"
        tell(options, "Inspect results with:\n{0} -m {1} {2}".format(os.path.basename(sys.executable), how, options.outfile))
    for _ in range(prof.enable_count):
        prof.disable_by_count()


def profile_script(options):
    script = prepare(options)
    prof = LineProfiler() if options.line_by_line else ContextualProfile()
    options.builtin |= options.line_by_line
    options.outfile = os.path.abspath(options.outfile) if os.path.dirname(options.outfile) else options.outfile
    outfile_at = os.path.abspath(options.outfile)  # now: the program may change its directory
    global_profiler._kernprof_overwrite(prof)
    if options.builtin:
        builtins.profile = prof
    code = compiled(options, script)
    stdout, timer = sys.stdout, None
    if options.line_by_line:
        choose(prof, options, script, code)
    if options.output_interval:
        timer = RepeatedTimer(max(options.output_interval, 1), prof.dump_stats, outfile_at)
    try:
        execute(prof, options, script, code)
    finally:
        if timer:
            timer.stop()
        options.outfile = os.path.relpath(outfile_at) if os.path.exists(os.curdir) else outfile_at
        finish(prof, options, stdout)
        global_profiler._kernprof_overwrite(None)
        if options.builtin:
            del builtins.profile


def main(args=None, *, exit_on_error=True):
    """The command: `args` are its words, without its name."""
    import contextlib

    kept_argv, kept_path = list(sys.argv), list(sys.path)
    options = read_options(sys.argv[1:] if args is None else args)
    try:
        with contextlib.ExitStack() as stack:
            if options.verbose < -1:
                nowhere = stack.enter_context(open(os.devnull, "w"))
                stack.enter_context(contextlib.redirect_stdout(nowhere))
                if options.verbose < -2:
                    stack.enter_context(contextlib.redirect_stderr(nowhere))
            profile_script(options)
    finally:
        sys.argv[:], sys.path[:] = kept_argv, kept_path


if __name__ == "__main__":
    main()
