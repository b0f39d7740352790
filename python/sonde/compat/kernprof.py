# SPDX-License-Identifier: MIT
"""kernprof: runs a script under LineProfiler (-l) or Profile.

    python -m sonde.compat.kernprof -l -v script.py
"""
import builtins
import functools
import os
import shlex
import sys
import threading
from inspect import CO_OPTIMIZED

from .._line_profiler import Decorating, LineProfiler
from . import _named
from .cProfile import Profile
from .line_profiler import __version__
from .line_profiler import profile as global_profiler
from .line_profiler.cli_utils import WORDS, add_argument, command_of, positive_float
from .line_profiler.toml_config import ConfigSource


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
    """Finds the path of a script, which may also stand in a folder of PATH."""
    path = _named.find(name)
    if path is not None:
        return path
    message = "Could not find script {0!r}".format(name)
    if not exit_on_error:
        raise FileNotFoundError(message)
    print(message, file=sys.stderr)
    raise SystemExit(1)


def find_module_script(name, *, static=True, exit_on_error=True):
    """Finds the file of a module, or of the __main__ of a package.  Only the packages it lies in are imported."""
    from importlib.util import find_spec

    try:
        spec = find_spec(name)
    except ImportError:
        spec = None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, "__main__.py")
        if os.path.isfile(path):
            return path
    if spec and spec.origin and os.path.exists(spec.origin):
        return spec.origin
    message = "Could not find module `{0}`".format(name)
    if not exit_on_error:
        raise ModuleNotFoundError(message)
    print(message, file=sys.stderr)
    raise SystemExit(1)


# ---- the command line


SWITCHES = ("line-by-line", "builtin", "preimports", "prof-imports", "rich", "skip-zero", "summarize")


def make_parser():
    from argparse import ArgumentParser

    parser = ArgumentParser(prog="kernprof", description="Run and profile a python script.")
    add = functools.partial(add_argument, parser)
    add("-V", "--version", action="version", version=__version__)
    add("--config", help="Load configuration from the provided TOML file (--no-config: from none)")
    add("--no-config", action="store_const", dest="config", const=False)
    add("-l", "--line-by-line", action="store_true", help="Use the line-by-line profiler instead of cProfile. Implies `--builtin`.")
    add("-b", "--builtin", action="store_true",
        help="Put `profile` in the builtins. Use `profile.enable()`/`.disable()` to toggle profiling, `@profile` to decorate functions, "
             "or `with profile:` to profile a section of code.")
    add("-s", "--setup", help="Path to the Python source file containing setup code to execute before the code to profile.")
    add("-p", "--prof-mod", action="append",
        help="List of modules, functions and/or classes to profile specified by their name or path. Adding the current script/module "
             "profiles the entirety of it. Only works with line profiling (`-l`/`--line-by-line`).")
    add("--preimports", action="store_true", help="Eagerly import all profiling targets specified via `-p`.")
    add("--prof-imports", action="store_true", help="If the script/module profiled is in `--prof-mod`, autoprofile all its imports.")
    add("-o", "--outfile", help="Save stats to OUTFILE. (Default: '<script_or_module_name>.lprof' in line-profiling mode "
                                "(`-l`/`--line-by-line`); '<script_or_module_name>.prof' otherwise)")
    add("-v", "--verbose", "--view", action="count",
        help="Increase verbosity level. At level 1, view the profiling results in addition to saving them.")
    add("-q", "--quiet", action="count", default=0,
        help='Decrease verbosity level. At level -1, disable helpful messages (e.g. "Wrote profile results to <...>"); at level -2, '
             "silence the stdout; at level -3, silence the stderr.")
    add("-r", "--rich", action="store_true", help="Accepted: the text is the same")
    add("-u", "--unit", type=positive_float, help="Output unit (in seconds) in which the timing info is displayed. (Default: 1e-06 s)")
    add("-z", "--skip-zero", action="store_true", help="Hide functions which have not been called.")
    add("--summarize", action="store_true", help="Print a summary of total function time.")
    add("-i", "--output-interval", type=int, const=1, nargs="?",
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


def spelled_out(words):
    """A switch that is followed by a word which is neither yes nor no is not followed by its own: the script's name may come next."""
    names = {"--" + name for name in SWITCHES} | {"--no-" + name for name in SWITCHES}
    return [word + "=yes" if word in names and after.lower() not in WORDS else word for word, after in zip(words, words[1:] + ["-"])]


def configure(options):
    """What was not said is as the configuration has it."""
    options.config = ConfigSource.from_config(options.config)
    for name, value in options.config.conf_dict["kernprof"].items():
        if getattr(options, name.replace("-", "_")) is None:
            setattr(options, name.replace("-", "_"), value)


def read_options(words):
    own, flag, what, rest = split_words(list(words))
    parser = make_parser()
    if flag is None:
        parser.add_argument("script", metavar='{path/to/script | -m path.to.module | -c "literal code"}',
                            help="The python script file, module, or literal code to run")
    parser.add_argument("args", nargs="...", help="Optional script arguments")
    options = parser.parse_args(spelled_out(own))
    options.args = options.args + rest
    options.module = what if flag == "-m" else None
    options.code = what if flag == "-c" else None
    if flag is None and options.script == "-":
        options.code = sys.stdin.read()
    if options.module:
        options.script = options.module
    configure(options)
    options.verbose -= options.quiet
    return options


# ---- what to profile without a decorator


def functions_in(code):
    """All code objects of functions that stand in this one; bodies of classes are none, and comprehensions belong to their line."""
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            if constant.co_flags & CO_OPTIMIZED and (not constant.co_name.startswith("<") or constant.co_name == "<lambda>"):
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


def name_of(path):
    """The dotted name of a file or folder that can be imported, or None."""
    path = os.path.abspath(path)
    stem = os.path.splitext(path)[0] if os.path.isfile(path) else path
    for folder in sorted({os.path.abspath(p) for p in sys.path} | {os.path.dirname(path)}, key=len, reverse=True):
        parts = os.path.relpath(stem, folder).split(os.sep)
        if all(part.isidentifier() for part in parts):
            while os.path.exists(os.path.join(folder, "__init__.py")):
                folder, last = os.path.split(folder)
                parts.insert(0, last)
            if folder not in sys.path:
                sys.path.append(folder)
            return ".".join(parts[:-1] if parts[-1] in ("__init__", "__main__") and len(parts) > 1 else parts)
    return None


def import_from(folder, name):
    """Imports a module, from a file in our folder: so a traceback shows the statement, should the module raise."""
    path, names = os.path.join(folder, "kernprof-imports.py"), {}
    with open(path, "w", encoding="utf-8") as f:
        f.write("import {0}\n".format(name))
    execfile(path, names)
    return sys.modules[name]


def resolve(folder, name):
    """(what holds it, its own name, the thing) of a dotted name, importing what is needed; None: there is no such thing."""
    parts, rest = name.split("."), []
    if not all(part.isidentifier() for part in parts):
        return None
    while parts:
        try:
            found = import_from(folder, ".".join(parts))
            break
        except ModuleNotFoundError:
            rest.insert(0, parts.pop())
    else:
        return None
    holder = None
    for part in rest:
        holder, found = found, vars(found).get(part) if hasattr(found, "__dict__") else None
        if found is None:
            return None
    return holder, rest[-1] if rest else None, found


def add_found(prof, holder, name, found):
    """Adds a module, class or function; functions are replaced by wrappers where they are held."""
    if isinstance(found, type(sys)):
        prof.add_module(found, wrap=True)
    elif isinstance(found, type):
        prof.add_class(found, wrap=True)
    elif prof.add_callable(found):
        setattr(holder, name, prof.wrap_callable(found))


def modules_in(package):
    """A package and all modules below it, imported; those that cannot be are left out."""
    import pkgutil
    from importlib import import_module

    yield package
    for _, name, _ in pkgutil.walk_packages(getattr(package, "__path__", ()), package.__name__ + ".", onerror=lambda name: None):
        if name.rpartition(".")[2] != "__main__":
            try:
                yield import_module(name)
            except Exception:
                continue


def add_target(prof, folder, word):
    """What -p names: a dotted name or a file; packages with all that is below them, unless it ends in .__init__."""
    name = name_of(word) if os.path.exists(word) else word
    is_alone = bool(name) and name.endswith(".__init__")
    found = resolve(folder, name[:-len(".__init__")] if is_alone else name) if name else None
    if found is None:
        import warnings

        warnings.warn("1 profile-on-import target cannot be converted to dotted-path form: {0!r}".format([word]))
        return
    if isinstance(found[2], type(sys)) and not is_alone:
        for module in modules_in(found[2]):
            prof.add_module(module, wrap=True)
    else:
        add_found(prof, *found)


def imports_of(script, package):
    """Dotted names of what a script imports itself."""
    import ast

    with open(script, "rb") as f:
        tree = ast.parse(f.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            for alias in node.names:
                yield ".".join(base + ([node.module] if node.module else []) + [alias.name])


def is_below(name, target):
    return name == target or name.startswith(target + ".")


def choose(prof, options, script, code):
    """What is profiled without a decorator: all of the script when -p names it, and what else -p names."""
    wanted = targets(options.prof_mod)
    is_whole = any(is_same_file(word, script) or word in (options.script, options.module) for word in wanted)
    others = [word for word in wanted if not is_same_file(word, script) and word not in (options.script, options.module)]
    if options.module and any(is_below(options.module, word) for word in others):
        is_whole = True
    package = options.module if options.module and script.endswith("__main__.py") else (options.module or "").rpartition(".")[0]
    if is_whole:
        for found in functions_in(code):
            prof.add(found)
        prof.enable_by_count()
    for word in others if options.preimports else ():
        add_target(prof, options.folder, word)
    takes_imports = is_whole and options.prof_imports
    for name in imports_of(script, package) if wanted and (takes_imports or not options.preimports) else ():
        if not takes_imports and not any(is_below(name, word) for word in others):
            continue
        found = resolve(options.folder, name)
        if found and (takes_imports or name in others or not isinstance(found[2], type(sys))):
            add_found(prof, *found)


# ---- running it


def write_code(options, kind):
    """Code of -c or stdin goes into a file, so that tracebacks can show it; it is profiled whole."""
    import tempfile
    from textwrap import dedent

    name = "kernprof-{0}".format("stdin" if getattr(options, "script", None) == "-" else "command")
    options.script = os.path.join(options.folder, name + ".py")
    with open(options.script, "w", encoding="utf-8") as f:
        f.write(dedent(options.code) + "\n")
    options.prof_mod = (options.prof_mod or []) + [options.script]
    if not options.outfile:
        handle, path = tempfile.mkstemp(dir=os.curdir, prefix=name + "-", suffix="." + kind)
        os.close(handle)
        options.outfile = os.path.relpath(path)


def set_up(options):
    """What is done before there is a profiler: names, sys.argv, and the code of -s."""
    kind = "lprof" if options.line_by_line else "prof"
    if options.code is not None:
        write_code(options, kind)
    elif not options.outfile:
        options.outfile = "{0}.{1}".format(os.path.basename(options.script), kind)
    sys.argv = [options.script] + options.args
    if options.module:
        sys.path.insert(0, os.path.abspath(os.curdir))
    if options.setup:
        path = find_script(options.setup)
        sys.path.insert(0, os.path.dirname(path))
        names = {"__file__": path, "__name__": "__main__"}
        execfile(path, names, names)


def find(options):
    """The file to be run; a module's packages are imported on the way."""
    if options.module:
        sys.argv[0] = find_module_script(options.module)
        return sys.argv[0]
    path = find_script(options.script)
    sys.path.insert(0, os.path.dirname(path))
    return path


def compiled(script):
    with open(script, "rb") as f:
        return compile(f.read(), script, "exec")


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


def dump(prof, options):
    """Without what lies in the folder that goes with us: nobody could show its lines."""
    if isinstance(prof, ContextualProfile) or options.code is None:
        prof.dump_stats(options.outfile)
        return
    stats = prof.get_stats()
    for key in [key for key in stats.timings if key[0].startswith(options.folder + os.sep)]:
        del stats.timings[key]
    stats.to_file(options.outfile)


def finish(prof, options, stdout):
    dump(prof, options)
    tell(options, "Wrote profile results to {0!r}".format(options.outfile))
    if options.verbose > 0:
        if isinstance(prof, ContextualProfile):
            prof.print_stats()
        else:
            prof.print_stats(stream=stdout, output_unit=options.unit, stripzeros=options.skip_zero, summarize=options.summarize,
                             rich=options.rich, config=options.config)
    else:
        how = command_of("-rmt", options.outfile) if not isinstance(prof, ContextualProfile) else \
            "{0} -m pstats {1}".format(shlex.quote(os.path.basename(sys.executable)), shlex.quote(options.outfile))
        tell(options, "Inspect results with:\n" + how)
    for _ in range(prof.enable_count):
        prof.disable_by_count()


def profile_script(options):
    set_up(options)
    prof = LineProfiler() if options.line_by_line else ContextualProfile()
    options.builtin |= options.line_by_line
    outfile_at = os.path.abspath(options.outfile)  # now: the program may change its directory
    here = os.getcwd()
    global_profiler._kernprof_overwrite(prof)
    if options.builtin:
        builtins.profile = prof
    stdout, timer = sys.stdout, None
    try:
        script = find(options)
        code = compiled(script)
        if options.line_by_line:
            choose(prof, options, script, code)
        if options.output_interval:
            timer = RepeatedTimer(max(options.output_interval, 1), prof.dump_stats, outfile_at)
        try:
            execute(prof, options, script, code)
        finally:
            if timer:
                timer.stop()
            options.outfile = options.outfile if os.getcwd() == here else outfile_at
            finish(prof, options, stdout)
    finally:
        global_profiler._kernprof_overwrite(None)
        if options.builtin:
            del builtins.profile


def forget(folder):
    """Removes it; after an exception when Python ends, so that the traceback can show its lines."""
    import atexit
    import shutil

    if sys.exc_info()[0] is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def main(args=None, *, exit_on_error=True):
    """The command: `args` are its words, without its name."""
    import contextlib
    import tempfile

    kept_argv, kept_path = list(sys.argv), list(sys.path)
    options = read_options(sys.argv[1:] if args is None else args)
    try:
        with contextlib.ExitStack() as stack:
            if options.verbose < -1:
                nowhere = stack.enter_context(open(os.devnull, "w"))
                stack.enter_context(contextlib.redirect_stdout(nowhere))
                if options.verbose < -2:
                    stack.enter_context(contextlib.redirect_stderr(nowhere))
            options.folder = os.path.realpath(tempfile.mkdtemp())
            stack.callback(forget, options.folder)
            profile_script(options)
    finally:
        sys.argv[:], sys.path[:] = kept_argv, kept_path


if __name__ == "__main__":
    main()
