# SPDX-License-Identifier: MIT
"""What `%load_ext sonde` adds to IPython: %sonde, %%sonde and %sonde watch.

A %%sonde cell runs as IPython runs any cell, `await` included: an input transformer makes the magic's line a comment, and what
IPython tells before and after a cell begins and ends the recording.  A magic that called run_cell itself could not wait.
"""
import linecache
import os
import re
import sys

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import _sonde
from ._record import Recording

# Modules and packages whose frames are the shell's, and those that only run others' code.
_SHELL = ("IPython", "ipykernel", "ipykernel_launcher", "jupyter_client", "jupyter_core", "tornado", "traitlets", "prompt_toolkit", "zmq", "nbclient",
          "nest_asyncio", "comm", "debugpy", "ptpython", "runpy", "anyio")
_RUNNER = ("asyncio", "threading", "concurrent", "contextvars", "selectors")
_SOURCE_BYTES = 200000  # of the texts of cells that a recording has with it
_LAST = "_sonde"  # the variable that has the last recording
_MARK = "%%sonde"

USAGE = "%sonde VERB [options] statement, or %%sonde [VERB] [options] in the first line of a cell; verbs: {0}"


def verbs():
    """Collectors that measure a piece of code, and the timing of statements where this build has it."""
    import sonde

    names = [one["name"] for one in _sonde.collectors()]
    return names + (["time"] if hasattr(sonde, "timeit") else [])


# --- Lines of magics


def take_word(text):
    """The first word and the rest, as they are typed; quotes hold a word together."""
    found = re.match(r"""\s*((?:[^\s"']|"[^"]*"|'[^']*')+)\s?(.*)""", text, re.S)
    return (found.group(1), found.group(2)) if found else ("", "")


def _bare(word):
    """Without quotes around it, or around its value."""
    return re.sub(r"""^(--?[\w-]+=)?(["'])(.*)\2$""", lambda m: (m.group(1) or "") + m.group(3), word, flags=re.S)


class Line:
    """A line behind %sonde: the verb, options and the statement."""

    def __init__(self, text, is_cell):
        word, rest = take_word(text)
        known = verbs()
        self.verb = "calls"
        if word in known or word == "watch":
            self.verb, text = word, rest
        elif word and not word.startswith("-") and (is_cell or (re.match(r"[A-Za-z][\w-]*$", word) and rest.strip())):
            raise UsageError(self._no_verb(word, known))
        self.options, self.letters = {}, {}
        self.statement = self._take_options(text) if self.verb not in ("time", "watch") else text.strip()
        if is_cell and self.verb != "time" and self.statement:
            raise UsageError("{0}: the statements of %%sonde stand in the lines below; this line has only options".format(self.statement))

    @staticmethod
    def _no_verb(word, known):
        import difflib

        near = difflib.get_close_matches(word, known, 1)
        return "no verb {0}; {1}".format(word, "did you mean {0}?".format(near[0]) if near else "there are {0}".format(", ".join(known)))

    def _take_options(self, text):
        kinds = _sonde.option_kinds(self.verb)
        while True:
            word, rest = take_word(text)
            if not word.startswith("-") or word == "-":
                return text.strip()
            text = rest
            if word == "--":
                return text.strip()
            text = self._take_long(word, text, kinds) if word.startswith("--") else self._take_letter(word, text)

    def _take_long(self, word, text, kinds):
        name, equals, value = _bare(word)[2:].partition("=")
        is_off = name.startswith("no-") and kinds.get(name[3:]) == "flag"
        kind = kinds.get(name[3:] if is_off else name)
        if kind is None:
            raise UsageError("no option --{0} of {1}; there are {2}".format(name, self.verb, ", ".join("--" + k for k in kinds) or "none"))
        if kind == "flag" or is_off:
            if equals:
                raise UsageError("--{0} takes no argument".format(name))
            value = not is_off
        elif kind == "optional":
            value = value if equals else True
        elif not equals:
            value, text = take_word(text)
            if not value:
                raise UsageError("--{0} needs a value".format(name))
            value = _bare(value)
        self.options[(name[3:] if is_off else name).replace("-", "_")] = value
        return text

    # Letters of every verb (-r, -q), and %prun's of `calls`.
    _LETTERS = {"r": False, "q": False}
    _OF_CALLS = {"l": True, "s": True, "T": True, "D": True}

    def _take_letter(self, word, text):
        letters = dict(self._LETTERS, **(self._OF_CALLS if self.verb == "calls" else {}))
        at = 1
        while at < len(word):
            letter = word[at]
            at += 1
            if letter not in letters:
                raise UsageError("no option -{0} of {1}; there are {2}".format(letter, self.verb, ", ".join("-" + k for k in letters)))
            if not letters[letter]:
                self.letters[letter] = True
                continue
            value = word[at:]
            if not value:
                value, text = take_word(text)
            if not value:
                raise UsageError("-{0} needs a value".format(letter))
            self.letters.setdefault(letter, []).append(_bare(value))
            break
        return text

    def table_words(self):
        """What %prun's -s and -l are to `sonde report`."""
        words = []
        for key in self.letters.get("s", []):
            words += ["-s", key]
        for limit in self.letters.get("l", []):
            try:
                float(limit)
            except ValueError:
                words += ["--match", limit]
            else:
                words += ["-n", limit]
        return words


# --- Recordings


class CellRecording(Recording):
    """A recording of a cell, or of a statement in one."""

    title = section = "cell"
    used = None  # Usage
    _words = ()  # for `sonde report`

    def begin(self):
        """What it uses is measured inside, so that the recording's own beginning is no part of it; a section would be one of its sections."""
        usage = Usage(self.section)
        self._ends = (usage, self) if "sections" not in self.collectors else (self, usage)
        self._ends[1].__enter__()
        try:
            self._ends[0].__enter__()
        except BaseException:
            self._ends[1].__exit__(None, None, None)
            raise
        self.used = usage

    def end(self):
        try:
            self._ends[0].__exit__(None, None, None)
        finally:
            self._ends[1].__exit__(None, None, None)

    def __str__(self):
        if not self._has_ended:
            return repr(self)
        text = self._run(["report"], list(self._words)).decode("utf-8", "replace")
        return "{0}: {1}\n{2}\n".format(self.title, self.used, text.partition("\n")[2].rstrip())


class Usage:
    """What a stretch of code takes: wall, CPU, the peak of memory and what it keeps of it."""

    def __init__(self, name):
        self._name = name  # of a section, which is in captures that are written meanwhile

    def __enter__(self):
        import time

        from ._sonde import Profiler

        self._clock = time.process_time
        self._section = Profiler(measure=("time", "memory", "peak"))(self._name)
        self._cpu = self._clock()
        self._section.__enter__()
        return self

    def __exit__(self, *raised):
        self._section.__exit__(None, None, None)
        self.cpu = self._clock() - self._cpu
        measured = self._section.profiler[self._name]
        self.wall = measured.time.duration
        self.peak = measured.memory.peak_rss
        self.kept = measured.memory.end_rss - measured.memory.start_rss

    def __str__(self):
        peak = "" if self.peak is None else "peak {0}, ".format(size(self.peak))
        return "{0} wall, {1} CPU, {2}kept {3}".format(seconds(self.wall), seconds(self.cpu), peak, size(self.kept, True))


def seconds(value):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1 or unit == "us":
            return "{0:.3g} {1}".format(value * factor, unit) if value * factor < 1000 else "{0:,.0f} {1}".format(value * factor, unit)


def size(n, has_sign=False):
    sign = ("+" if n >= 0 else "-") if has_sign else ""
    n = abs(n)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return "{0}{1:.4g} {2}".format(sign, n, unit)
        n /= 1024


def facts_of(shell):
    """What readers of a capture must know of cells: their names, their texts, and which outer frames are the shell's."""
    from IPython.core import displayhook, interactiveshell

    facts = {
        "frames.shell": "\n".join(_files_of(_SHELL) + [os.path.dirname(os.path.abspath(__file__)) + "/", "<frozen runpy>"]),
        "frames.core": interactiveshell.__file__,
        "frames.display": "\n".join(_files_of(("IPython.core.displayhook", "ipykernel.displayhook"))),
        "frames.runner": "\n".join(_files_of(_RUNNER)),
    }
    room = _SOURCE_BYTES
    for file, number in sorted(getattr(shell.compile, "_filename_map", {}).items(), key=lambda item: -item[1]):
        name = "In [{0}]".format(number)
        text = "".join(linecache.getlines(file)).rstrip("\n")
        facts["cell.name:" + file] = name
        room -= len(text.encode("utf-8", "replace"))
        if room > 0:
            facts["cell.text:" + name] = text
        if len(facts) > 500:
            break
    return facts


def _files_of(names):
    """Folders (with a slash) and files of modules that are there."""
    found = []
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            found.append(os.path.dirname(file) + "/" if os.path.basename(file).startswith("__init__.") else file)
    return found


def recording_of(shell, line):
    """The recording that a line asks for; UsageError where it asks for what there is not."""
    try:
        made = CellRecording(line.verb, **line.options)
    except (TypeError, ValueError) as why:
        raise UsageError(str(why)) from None
    made._words = line.table_words()
    return made


def is_notebook(shell):
    return type(shell).__name__ != "TerminalInteractiveShell"


def show(shell, recording, line):
    """Shows it as the line wants it."""
    shell.user_ns[_LAST] = recording
    for path in line.letters.get("T", []):
        with open(path, "w", encoding="utf-8") as f:
            f.write(str(recording))
    for path in line.letters.get("D", []):
        recording.save(path if path.endswith((".prof", ".pstats", ".txt", ".sonde")) else path + ".pstats", force=True)
    if "r" in line.letters or "q" in line.letters:
        return
    if is_notebook(shell):
        from IPython.display import display

        display(recording)
    else:
        print(recording)


# --- Cells


def header_of(text):
    """What stands behind %%sonde in the first line of a cell; None: it is another cell."""
    found = re.match(r"\s*%%sonde(?=[ \t\r\n]|$)([^\n]*)", text)
    return found.group(1).strip() if found else None


def comment_magic(lines):
    """The input transformer: %%sonde is a comment, and the cell is any cell."""
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        # `%%sonde time` measures a statement, not a cell: it stays a magic.
        if header_of(line) is None or take_word(header_of(line))[0] == "time":
            return lines
        return lines[:at] + ["# " + line.lstrip()] + lines[at + 1:]
    return lines


class Cells:
    """Records the cells that ask for it, and says what each took where it is watched."""

    def __init__(self, shell):
        self.shell = shell
        self.running = []  # one for each cell that runs: [info, line, recording, usage, failure, what takes the end before tracebacks away]
        self.is_watched = False

    def before(self, info):
        header = header_of(info.raw_cell or "")
        entry = [info, None, None, None, None, None]
        self.running.append(entry)
        if header is not None and take_word(header)[0] != "time":
            try:
                entry[1] = Line(header, True)
            except UsageError as why:
                entry[4] = why
            if entry[1] is not None and entry[1].verb == "watch":
                entry[4], entry[1] = UsageError("%sonde watch is a line of its own, not the beginning of a cell"), None

    def visit(self, tree):
        """As the last thing before a cell runs: begins what it asks for.  (An AST transformer.)"""
        entry = self.running[-1] if self.running else None
        if entry is None or entry[2] is not None or entry[3] is not None:
            return tree
        if entry[1] is None and entry[4] is None:
            if self.is_watched:
                self._begin_watching(entry)
            return tree
        if entry[4] is None:
            try:
                self._begin(entry)
                return tree
            except UsageError as why:
                entry[4] = why
            except Exception as why:
                entry[4] = UsageError(str(why) or type(why).__name__)
        import ast

        self.failure = entry[4]
        entry[1] = None
        return ast.parse("get_ipython().run_line_magic('sonde', '--failure')")

    def _begin(self, entry):
        line = entry[1]
        file, number = self._newest()
        if line.verb == "lines" and "only" not in line.options:
            line.options["only"] = re.sub(r"([\\*?\[,])", r"\\\1", file) if file else "<ipython-input-*>"
        made = recording_of(self.shell, line)
        made.title = made.section = "In [{0}]".format(number)
        made._facts = facts_of(self.shell)
        made.begin()
        entry[2] = made
        self._end_before_tracebacks(entry)

    def _begin_watching(self, entry):
        entry[3] = Usage("cell").__enter__()
        self._end_before_tracebacks(entry)

    def _end_before_tracebacks(self, entry):
        """What a cell raises is shown by IPython, and takes long: the cell has ended by then."""
        shell = self.shell
        before = vars(shell).get("showtraceback")

        def restore():
            if vars(shell).get("showtraceback") is shown:
                if before is None:
                    del shell.showtraceback
                else:
                    shell.showtraceback = before

        def shown(*args, **kw):
            self._end(entry)  # what it raised itself is told after the cell
            return shell.showtraceback(*args, **kw)

        entry[5] = restore
        shell.showtraceback = shown

    @staticmethod
    def _end(entry):
        restore, entry[5] = entry[5], None
        if restore is None:
            return
        restore()  # first: whatever the end does, IPython has its own function again
        try:
            if entry[2] is not None:
                entry[2].end()
            else:
                entry[3].__exit__(None, None, None)
        except Exception as why:
            entry[4] = why

    def _newest(self):
        """The name under which the cell that runs is compiled, and its number."""
        names = getattr(self.shell.compile, "_filename_map", None)
        # By the number: a cell that runs again keeps its old place among the names.
        return max(names.items(), key=lambda item: item[1]) if names else (None, self.shell.execution_count)

    def after(self, result=None):
        if not self.running:
            return
        entry = self.running.pop()
        self._end(entry)
        _, line, made, usage, failure = entry[:5]
        if failure is not None and (made or usage):
            print("sonde: this cell could not be recorded: {0}: {1}".format(type(failure).__name__, failure), file=sys.stderr)
        elif made is not None:
            show(self.shell, made, line)
        elif usage is not None and self.is_watched:
            print("sonde: {0}".format(usage))

    def end(self):
        while self.running:
            self.after()


@magics_class
class SondeMagics(Magics):
    cells = None

    @line_cell_magic
    def sonde(self, line="", cell=None):
        """Profiles a statement, or the whole cell where %%sonde is its first line.

        %sonde VERB [options] statement          %%sonde [VERB] [options]

        Verbs: calls (every call, with wall, CPU and memory; the one without a name), sample, lines --only NAMES, alloc, rss, time, ...
        Options are those of `sonde VERB`; -r returns the recording instead of showing it, -q shows nothing; the last recording is in
        the variable _sonde.  calls takes %prun's -s -l -T -D, and time takes %timeit's options.
        %sonde watch: one line after every cell; %sonde watch off.
        """
        __tracebackhide__ = True
        if line == "--failure":
            failure, self.cells.failure = self.cells.failure, None
            raise failure or UsageError("--failure is no option")
        if not line.strip() and cell is None:
            raise UsageError(USAGE.format(", ".join(verbs())))
        asked = Line(line, cell is not None)
        if asked.verb == "watch":
            return self._watch(asked.statement)
        if asked.verb == "time":
            return self._time(asked.statement, cell)
        if cell is not None:  # called by a program: the cell runs as it would by itself
            self.shell.run_cell("%%sonde " + line + "\n" + cell)
            return None
        if not asked.statement:
            raise UsageError("nothing to run: write the statement behind the options, or %%sonde in the first line of a cell")
        return self._run(asked)

    def _watch(self, word):
        if word not in ("", "on", "off"):
            raise UsageError("%sonde watch, or %sonde watch off, not {0}".format(word))
        self.cells.is_watched = word != "off"

    def _run(self, asked):
        __tracebackhide__ = True
        shell = self.shell
        text = shell.transform_cell(asked.statement)
        made = recording_of(shell, asked)
        made.section = "statement"
        made.title = asked.statement if len(asked.statement) < 60 else asked.statement[:57] + "..."
        code = compile(shell.compile.ast_parse(text, filename="<sonde>"), "<sonde>", "exec")
        made._facts = facts_of(shell)
        made._facts["cell.name:<sonde>"] = "statement"
        made._facts["cell.text:statement"] = text.rstrip("\n")
        made._facts["frames.base"] = os.path.abspath(__file__)
        try:
            self._execute(made, code)
        finally:
            if made._has_ended:
                show(shell, made, asked)
        return made if "r" in asked.letters else None

    def _execute(self, made, code):
        __tracebackhide__ = True
        names = self.shell.user_ns
        try:
            made.begin()
        except RuntimeError as why:
            raise UsageError(str(why)) from None
        try:
            exec(code, names)
        finally:
            made.end()

    def _time(self, text, cell):
        """%timeit's options: -n N, -r R, -p P, -q, -o, -t (wall time, as without it), -c (CPU time: measured as %timeit does)."""
        import sonde

        opts, statement = self.parse_options(text, "n:r:tcp:qo", posix=False, strict=False, preserve_non_opts=True)
        if not hasattr(sonde, "timeit"):
            raise UsageError("no verb time; there are {0}".format(", ".join(verbs())))
        number, repeat, precision = (self._whole_number(opts, letter) for letter in "nrp")
        setup, statement = ("pass", statement) if cell is None else (statement.strip() or "pass", cell)
        if not statement.strip():
            raise UsageError("nothing to time: write a statement behind the options")
        statement, setup = (self.shell.transform_cell(part).rstrip("\n") for part in (statement, setup))
        if "c" in opts:
            result = self._cpu_time(statement, setup, number, repeat, precision)
        else:
            result = sonde.timeit(statement, setup, number, repeat, self.shell.user_ns)
        if "q" not in opts:
            print(result if "c" in opts or not precision else self._as_timeit(result.loops, result.repeat, result.timings, precision))
        return result if "o" in opts else None

    @staticmethod
    def _whole_number(opts, letter):
        if letter not in opts:
            return None
        if not opts[letter].isdigit() or int(opts[letter]) < 1:
            raise UsageError("-{0} takes a whole number from 1 on, not {1}".format(letter, opts[letter]))
        return int(opts[letter])

    @staticmethod
    def _as_timeit(loops, repeat, seconds, precision):
        """%timeit's own result; `seconds` are those of one execution in each run."""
        from IPython.core.magics.execution import TimeitResult

        return TimeitResult(loops, repeat, min(seconds), max(seconds), [s * loops for s in seconds], 0.0, precision)

    def _cpu_time(self, statement, setup, number, repeat, precision):
        from time import process_time

        from .compat.timeit import Timer

        timer = Timer(statement, setup, process_time, self.shell.user_ns)
        number = number or timer.autorange()[0]
        runs = timer.repeat(repeat or 7, number)
        return self._as_timeit(number, len(runs), [s / number for s in runs], precision or 3)


class _Visitor:
    def __init__(self, cells):
        self.visit = cells.visit


_loaded = {}  # shell's id: what unload() takes away


def load(shell):
    if id(shell) in _loaded:
        return
    cells = Cells(shell)
    visitor = _Visitor(cells)
    shell.input_transformers_cleanup.append(comment_magic)
    shell.ast_transformers.append(visitor)
    shell.events.register("pre_run_cell", cells.before)
    shell.events.register("post_run_cell", cells.after)
    magics = SondeMagics(shell)
    magics.cells = cells
    before = {kind: dict(found) for kind, found in shell.magics_manager.magics.items()}
    shell.register_magics(magics)
    _register_others(shell)
    added = [(kind, name) for kind, found in shell.magics_manager.magics.items() for name in found if name not in before[kind]]
    _loaded[id(shell)] = cells, visitor, added


def _register_others(shell):
    """%lprun, %%lprun_all, %mprun and %memit, where their own packages have not registered theirs."""
    from .compat._magics import LineProfilerMagics, MemoryProfilerMagics

    for others in (LineProfilerMagics, MemoryProfilerMagics):
        made = others(shell)
        for kind, names in others.magics.items():
            for name, method in names.items():
                there = shell.magics_manager.magics[kind]
                if name not in there:
                    there[name] = getattr(made, method) if isinstance(method, str) else method


def unload(shell):
    if id(shell) not in _loaded:
        return
    cells, visitor, added = _loaded.pop(id(shell))
    cells.end()
    cells.is_watched = False
    if comment_magic in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(comment_magic)
    if visitor in shell.ast_transformers:
        shell.ast_transformers.remove(visitor)
    for event, function in (("pre_run_cell", cells.before), ("post_run_cell", cells.after)):
        try:
            shell.events.unregister(event, function)
        except ValueError:
            pass
    for kind, name in added:
        shell.magics_manager.magics[kind].pop(name, None)
