# SPDX-License-Identifier: MIT
"""memray's commands: python -m sonde.compat.memray run|flamegraph|table|tree|summary|stats|transform|parse|live.

Pages, flame graphs and trees are drawn by the program `sonde`.
"""
import argparse
import base64
import html
import json
import math
import os
import runpy
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import datetime

from ..._plot import _program, run_on
from ._destination import FileDestination
from ._errors import MemrayCommandError, MemrayError
from ._memray import FileFormat, FileReader, Tracker, __version__, compute_statistics, dump_all_records, size_fmt

_DESCRIPTION = """\
Memory profiler for Python applications, measured by Sonde

Run `memray run` to record a program, then a reporter command such as `memray flamegraph` or `memray table` to see what was
recorded.

Example:

    $ python3 -m memray run -o output.bin my_script.py
    $ python3 -m memray flamegraph output.bin
"""


def _command():
    """By which words this module was started."""
    path = os.path.abspath(sys.argv[0] or "")
    if os.path.basename(path) == "memray":
        return "memray"
    is_alias = os.path.basename(os.path.dirname(os.path.dirname(path))) == "_alias"
    return "{0} -m {1}".format(sys.executable, "memray" if is_alias else "sonde.compat.memray")


def _fail(text, status=1):
    raise MemrayCommandError(text, exit_code=status)


# ---- run


def _run_parser(add):
    p = add("run", "Run the specified application and track memory usage")
    p.usage = "%(prog)s [-m module | -c cmd | file] [args]"
    where = p.add_mutually_exclusive_group()
    where.add_argument("-o", "--output", help="Output file name (default: memray-<script>.<pid>.bin)")
    where.add_argument("--live", action="store_true", dest="live_mode", help="Show what is live while the program runs, in this terminal")
    where.add_argument("--live-remote", action="store_true", dest="live_remote_mode", help="Not there: Sonde listens on no port")
    p.add_argument("--live-port", "-p", type=int, default=None, help="Port of --live-remote")
    p.add_argument("--aggregate", action="store_true", help="Write sums for each stack instead of all allocations")
    p.add_argument("--native", action="store_true", help="Record native stack frames as well")
    p.add_argument("--follow-fork", action="store_true", help="Record children that the program forks")
    p.add_argument("--trace-python-allocators", action="store_true", help="Record what Python's own allocators are asked for")
    p.add_argument("-q", "--quiet", action="store_true", help="Print nothing of our own")
    p.add_argument("-f", "--force", action="store_true", help="Replace the output file if it exists")
    p.add_argument("--buffered-file-io", action="store_true", help="Changes nothing: what was recorded survives the program either way")
    packed = p.add_mutually_exclusive_group()
    packed.add_argument("--compress-on-exit", action="store_true", default=True, help="Changes nothing: captures are compressed")
    packed.add_argument("--no-compress", action="store_true", help="Changes nothing")
    p.add_argument("-c", action="store_true", dest="run_as_cmd", help="Program passed in as string")
    p.add_argument("-m", action="store_true", dest="run_as_module", help="Run library module as a script (terminates option list)")
    p.add_argument("script", metavar="file", help=argparse.SUPPRESS)
    p.add_argument("script_args", nargs=argparse.REMAINDER, metavar="module", help=argparse.SUPPRESS)


def _check_program(args):
    """Is it Python?"""
    if args.run_as_module:
        return
    try:
        if args.run_as_cmd:
            source = args.script
        else:
            with open(args.script, "rb") as f:
                source = f.read()
        compile(source, args.script, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        _fail("Only valid Python files or commands can be executed under memray")
    except OSError as why:
        _fail(str(why))


def _run_program(args):
    sets_path = not sys.flags.isolated and not getattr(sys.flags, "safe_path", False)
    if args.run_as_module:
        first, sys.argv = os.getcwd(), [""] + args.script_args
    elif args.run_as_cmd:
        first, sys.argv = "", ["-c"] + args.script_args
    else:
        first, sys.argv = os.path.dirname(os.path.realpath(args.script)), [args.script] + args.script_args
    if sets_path:
        sys.path[0] = first
    if args.run_as_module:
        runpy.run_module(args.script, run_name="__main__", alter_sys=True)
    elif args.run_as_cmd:
        exec(args.script, {"__name__": "__main__"})
    else:
        runpy.run_path(args.script, run_name="__main__")


def _track(args, path):
    try:
        tracker = Tracker(
            destination=FileDestination(path, overwrite=args.force, compress_on_exit=not args.no_compress, buffered=args.buffered_file_io),
            native_traces=args.native, follow_fork=args.follow_fork, trace_python_allocators=args.trace_python_allocators,
            file_format=FileFormat.AGGREGATED_ALLOCATIONS if args.aggregate else FileFormat.ALL_ALLOCATIONS)
    except (OSError, NotImplementedError) as why:
        _fail(str(why))
    command = _command()
    with tracker:
        pid, is_found = os.getpid(), True
        try:
            _run_program(args)
        except ImportError as why:
            if not args.run_as_module or why.name not in (None, args.script):
                raise
            is_found = False
            _fail("memray: {0}".format(why))
        finally:
            if is_found and not args.quiet and pid == os.getpid():
                print("[memray] Successfully generated profile results.\n\nYou can now generate reports from the stored allocation records.\n"
                      "Some example commands to generate reports:\n\n{0} flamegraph {1}".format(command, path))


def _run_live(args, path):
    """`sonde alloc --live` of the same program; its last words name the file that it leaves."""
    words = ["alloc", "--live", "-o", path] + ([] if args.trace_python_allocators else ["--layer", "malloc"]) + ["--force"] * args.force
    words += ["--", sys.executable] + (["-m"] if args.run_as_module else ["-c"] if args.run_as_cmd else []) + [args.script] + args.script_args
    return subprocess.call([_program()] + words)


def _run(args, parser):
    if args.live_port is not None and not args.live_remote_mode:
        parser.error("The --live-port argument requires --live-remote")
    live = args.live_mode or args.live_remote_mode
    for flag, word in ((args.follow_fork, "--follow-fork"), (args.aggregate, "--aggregate"), (args.buffered_file_io, "--buffered-file-io")):
        if flag and live:
            parser.error("{0} cannot be used with {1}".format(word, "--live/--live-remote" if word == "--buffered-file-io" else "the live TUI"))
    if args.run_as_cmd and "\0" not in args.script and os.path.exists(args.script):
        parser.error("remove the option -c to run a file")
    if args.live_remote_mode:
        _fail("Sonde listens on no port: record into a file, and watch it from another terminal with `sonde top FILE --alloc`")
    _check_program(args)
    path = args.output
    if path is None:
        script = "string" if args.run_as_cmd else args.script
        path = os.path.join(os.path.dirname(script), "memray-{0}.{1}.bin".format(os.path.basename(script), os.getpid()))
    if args.live_mode:
        return _run_live(args, path[:-len("bin")] + "sonde")
    if not args.quiet:
        print("Writing profile results into {0}".format(path))
    return _track(args, path)


# ---- flamegraph, table, transform


def _add_views(p, leaks=True):
    which = p.add_mutually_exclusive_group()
    if leaks:
        which.add_argument("--leaks", action="store_true", dest="show_memory_leaks", help="Show what was never freed, instead of what was live at the peak")
    which.add_argument("--temporary-allocation-threshold", metavar="N", type=int, default=-1, dest="temporary_allocation_threshold",
                       help="Show what was freed with at most N other allocations of its thread in between")
    which.add_argument("--temporary-allocations", action="store_const", const=1, dest="temporary_allocation_threshold",
                       help="Equivalent to --temporary-allocation-threshold=1")


def _view(args):
    """The view, and the threshold of temporaries."""
    if getattr(args, "show_memory_leaks", False):
        return "leaks", 1
    return ("peak", 1) if args.temporary_allocation_threshold < 0 else ("temporary", args.temporary_allocation_threshold)


def _view_words(args):
    view, threshold = _view(args)
    return ["--alloc", "--temporary={0}".format(threshold) if view == "temporary" else "--" + view]


def _file_parser(add, name, summary, **more):
    p = add(name, summary)
    if "format" in more:
        p.add_argument("format", help="Format to use for the report. Available formats: " + ", ".join(sorted(_FORMATS)))
    p.add_argument("-o", "--output", default=None, help="Output file name")
    p.add_argument("-f", "--force", action="store_true", help="If the output file already exists, overwrite it")
    _add_views(p)
    p.add_argument("results", help="Results of the tracker run")
    return p


def _flamegraph_parser(add):
    p = _file_parser(add, "flamegraph", "Generate an HTML flame graph for peak memory usage")
    p.add_argument("--temporal", action="store_true", help="Write a page that shows any range of time")
    p.add_argument("--split-threads", action="store_true", help="Do not merge allocations across threads")
    p.add_argument("--inverted", action="store_true", help="Write a page that turns the graph over")
    p.add_argument("--max-memory-records", type=int, default=None, help="Changes nothing: their number is bounded")
    p.add_argument("--no-web", action="store_true", help="Changes nothing: the page loads nothing")
    p.add_argument("--confidential-files", choices=["all", "none", "default"], default="default",
                   help="With 'all' the page holds no source code")


def _table_parser(add):
    p = _file_parser(add, "table", "Generate an HTML table with all records in the peak memory usage")
    p.add_argument("--split-threads", action="store_true", help="Changes nothing: the page tells threads apart")
    p.add_argument("--no-web", action="store_true", help="Changes nothing: the page loads nothing")


def _existing(path):
    if not os.path.isfile(path):
        _fail("No such file: {0}".format(path))
    return path


def _output(args, name, suffix):
    """The file to write."""
    _existing(args.results)
    path = args.output
    if path is None:
        folder, base = os.path.split(args.results)
        base = os.path.splitext(base)[0] + suffix
        path = os.path.join(folder, "memray-{0}-{1}".format(name, base[len("memray-"):] if base.startswith("memray-") else base))
    if not args.force and os.path.exists(path):
        _fail("File already exists, will not overwrite without --force: {0}".format(path))
    return os.path.expanduser(path)


def _open(path):
    try:
        return FileReader(_existing(path), report_progress=True)
    except OSError as why:
        _fail("Failed to parse allocation records in {0}\nReason: {1}".format(path, why))


def _sonde(path, before, after):
    try:
        return run_on(path, before, after)
    except (OSError, RuntimeError) as why:
        _fail(str(why))


# A picture with a script of its own, in one page that loads nothing.
_FRAME = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ margin: 0 }} object {{ width: 100% }}</style>
<object type="image/svg+xml" data="data:image/svg+xml;base64,{picture}"></object>
"""


def _write(path, data):
    """All of it or nothing."""
    made = "{0}.part{1}".format(path, os.getpid())
    try:
        with open(made, "wb") as f:
            f.write(data)
        os.replace(made, path)
    except OSError as why:
        _fail("{0} cannot be written: {1}".format(path, why.strerror))
    finally:
        if os.path.exists(made):
            os.unlink(made)
    print("Wrote {0}".format(path))


def _page(args, more=()):
    with tempfile.TemporaryDirectory(prefix="sonde-memray-") as folder:
        made = os.path.join(folder, "page.html")
        _sonde(os.path.realpath(args.results), ["report"], ["-o", made] + list(more))
        with open(made, "rb") as f:
            return f.read()


_METRICS = {"peak": "peak_bytes", "leaks": "leaked_bytes", "temporary": "temporary_bytes"}


def _picture(args):
    view, threshold = _view(args)
    if args.split_threads and threshold != 1:
        _fail("--split-threads goes with a threshold of 1 alone: leave out one of them")
    words = ["--threads", "--metric", _METRICS[view]] if args.split_threads else _view_words(args)
    with tempfile.TemporaryDirectory(prefix="sonde-memray-") as folder:
        made = os.path.join(folder, "flame.svg")
        _sonde(os.path.realpath(args.results), ["report"], words + ["--flame", "-o", made])
        with open(made, "rb") as f:
            picture = base64.b64encode(f.read()).decode()
    return _FRAME.format(title=html.escape(os.path.basename(args.results)), picture=picture).encode()


def _flamegraph(args, parser):
    view, _ = _view(args)
    if args.temporal and view == "temporary":
        parser.error("Can't create a temporal flame graph of temporary allocations")
    is_page = args.temporal or args.inverted
    if is_page and (view == "temporary" or args.split_threads):
        _fail("--temporal and --inverted make a page that has all threads and no other threshold: leave out --temporary-allocations and --split-threads")
    path = _output(args, "flamegraph", ".html")
    _open(args.results).close()
    hides_source = ["--no-source"] if args.confidential_files == "all" else []
    _write(path, _page(args, hides_source) if is_page else _picture(args))
    if is_page:
        words = ["view=flame"] + ["metric=leaked_bytes"] * (view == "leaks") + ["order=inverted"] * args.inverted
        print("To see the flame graph, open it as {0}#{1}".format(path, "&".join(words)))


def _table(args, parser):
    path = _output(args, "table", ".html")
    _open(args.results).close()
    _write(path, _page(args))


_FORMATS = {"gprof2dot": ".json", "csv": ".csv", "speedscope": ".speedscope.json"}


def _transform_parser(add):
    _file_parser(add, "transform", "Generate reports files in different formats", format=True)


def _transform(args, parser):
    kind = args.format.lower()
    if kind not in _FORMATS:
        _fail("Format not supported: {0}".format(args.format))
    path = _output(args, kind, _FORMATS[kind])
    view, threshold = _view(args)
    with _open(args.results) as reader:
        text = reader._load(threshold).transform(kind, view, True)
    _write(path, text.encode("utf-8", "surrogateescape"))
    if kind == "gprof2dot":
        print("\nTo generate a graph from the transform file, run for example:\ngprof2dot -f json {0} | dot -Tpng -o output.png".format(path))


# ---- tree, summary


def _tree_parser(add):
    p = add("tree", "Generate a tree view in the terminal for peak memory usage")
    p.add_argument("results", help="Results of the tracker run")
    p.add_argument("-b", "--biggest-allocs", type=int, default=200, help="Show n biggest allocations (defaults to 200)")
    _add_views(p, leaks=False)


def _tree(args, parser):
    _open(args.results).close()
    sys.stdout.write(_sonde(os.path.realpath(args.results), ["report"], _view_words(args) + ["--tree", "-n", str(args.biggest_allocs)]).decode("utf-8", "replace"))


def _summary_parser(add):
    p = add("summary", "Generate a terminal-based summary report of the functions that allocate most memory")
    p.add_argument("results", help="Results of the tracker run")
    p.add_argument("-s", "--sort-column", type=int, default=1, help="Column number to sort on")
    p.add_argument("-r", "--max-rows", type=int, default=None, help="Maximum number of rows to display")
    _add_views(p, leaks=False)


_COLUMNS = "Location", "Total Memory", "Total Memory %", "Own Memory", "Own Memory %", "Allocation Count"


def _share(part, whole):
    return "{0:.2f}%".format(100 * part / whole if whole else 0)


def _terminal():
    try:
        return os.get_terminal_size()
    except OSError:
        return os.terminal_size((100, 24))


def _summary(args, parser):
    if not 1 <= args.sort_column < len(_COLUMNS):
        _fail("Invalid sort column: {0}. Columns are numbered from 1 to {1}".format(args.sort_column, len(_COLUMNS) - 1))
    view, threshold = _view(args)
    with _open(args.results) as reader:
        size, found = reader._load(threshold).functions(view, args.sort_column, args.max_rows or max(_terminal().lines - 5, 10))
    head = ["<{0}>".format(name) if i == args.sort_column else name for i, name in enumerate(_COLUMNS)]
    rows = [head] + [["{0} at {1}".format(name, path), size_fmt(total), _share(total, size), size_fmt(own), _share(own, size), str(n)]
                     for name, path, total, own, n in found]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))


# ---- stats


def _positive(text):
    if not text.isdigit() or int(text) <= 0:
        raise argparse.ArgumentTypeError("{0} is an invalid positive int value".format(text))
    return int(text)


def _stats_parser(add):
    p = add("stats", "Generate high level stats of the memory usage in the terminal")
    p.add_argument("results", help="Results of the tracker run")
    p.add_argument("-n", "--num-largest", type=_positive, default=5, help="Displays the top 'n' largest allocating functions. Default is 5")
    p.add_argument("--json", action="store_true", help="Exports stats to a JSON file")
    p.add_argument("-o", "--output", default=None, help="Output file name for JSON output")
    p.add_argument("-f", "--force", action="store_true", help="If the JSON output file already exists, overwrite it")


_BINS, _BAR = 10, 25


def _histogram(counts):
    """(upper bound, blocks) of bins whose widths grow by one factor."""
    low, high = math.log(min((size for size in counts if size), default=1)), math.log(max(counts, default=1) or 1)
    if low == high:
        low /= 2
    step = (high - low) / _BINS or 1
    sums = [0] * _BINS
    for size, n in counts.items():  # one for each different size
        sums[min(int((math.log(size) - low) // step), _BINS - 1) if size else 0] += n
    return [(int(math.exp(low + step * (i + 1))), sums[i]) for i in range(_BINS)]


def _histogram_lines(counts):
    if not counts:
        return ["<no data for histogram>"]
    bins = _histogram(counts)
    most = max(n for _, n in bins)
    width = len(str(most))
    rule = "-" * (14 + width + _BAR)
    rows = ["{0}{1:<9}: {2:>{3}} {4}".format("<=" if i == _BINS - 1 else "< ", size_fmt(bound), n, width, "▇" * math.ceil(n * _BAR / most))
            for i, (bound, n) in enumerate(bins)]
    return ["min: " + size_fmt(min(counts)), rule] + rows + [rule, "max: " + size_fmt(max(counts))]


def _place(location):
    return "<stack trace unavailable>" if location[0] == "<unknown>" else "{0}:{1}:{2}".format(*location)


def _allocators(stats):
    return sorted(stats.allocation_count_by_allocator.items(), key=lambda item: item[1], reverse=True)


def _print_stats(stats, n):
    def part(title, lines):
        print(title)
        for line in lines:
            print("\t" + line)
        print()

    part("📏 Total allocations:", [str(stats.total_num_allocations)])
    part("📦 Total memory allocated:", [size_fmt(stats.total_memory_allocated)])
    part("📈 Peak memory usage:", [size_fmt(stats.peak_memory_allocated)])
    part("📊 Histogram of allocation size:", _histogram_lines(stats.allocation_count_by_size))
    part("📂 Allocator type distribution:", [" {0}: {1}".format(*row) for row in _allocators(stats)])
    part("🥇 Top {0} largest allocating locations (by size):".format(n), ["- {0} -> {1}".format(_place(at), size_fmt(size)) for at, size in stats.top_locations_by_size])
    part("🥇 Top {0} largest allocating locations (by number of allocations):".format(n), ["- {0} -> {1}".format(_place(at), k) for at, k in stats.top_locations_by_count])
    for rows, how in ((stats.top_modules_by_allocation_size, "by size"), (stats.top_modules_by_allocation_count, "by number of allocations")):
        part("🥇 Top {0} allocating modules ({1}):".format(n, how), ["- {0}: {1} total | {2} allocations".format(name, size_fmt(size), k) for name, k, size in rows])


def _stats_json(stats):
    bins, low, histogram = _histogram(stats.allocation_count_by_size), 0, []
    for i, (bound, n) in enumerate(bins):
        histogram.append({"min_bytes": low, "max_bytes": bound - (i < _BINS - 1), "count": n})
        low = bound
    modules = [[{"module": name, "num_allocations": k, "total_bytes": size} for name, k, size in rows]
               for rows in (stats.top_modules_by_allocation_size, stats.top_modules_by_allocation_count)]
    return {
        "total_num_allocations": stats.total_num_allocations, "total_bytes_allocated": stats.total_memory_allocated,
        "allocation_size_histogram": histogram, "allocator_type_distribution": dict(_allocators(stats)),
        "top_allocations_by_size": [{"location": _place(at), "size": size} for at, size in stats.top_locations_by_size],
        "top_allocations_by_count": [{"location": _place(at), "count": n} for at, n in stats.top_locations_by_count],
        "top_modules_by_allocation_size": modules[0], "top_modules_by_allocation_count": modules[1],
        "metadata": {key: str(value) if isinstance(value, datetime) else value for key, value in asdict(stats.metadata).items()},
    }


def _stats(args, parser):
    _existing(args.results)
    path = None
    if args.json:
        name = os.path.basename(args.results) + ".json"
        path = args.output or os.path.join(os.path.dirname(args.results), "memray-stats-" + (name[len("memray-"):] if name.startswith("memray-") else name))
        if not args.force and os.path.exists(path):
            _fail("File already exists, will not overwrite without --force: {0}".format(path))
    try:
        stats = compute_statistics(args.results, num_largest=args.num_largest)
    except (OSError, NotImplementedError) as why:
        _fail("Failed to compute statistics for {0}\nReason: {1}".format(args.results, why))
    if path:
        _write(path, json.dumps(_stats_json(stats), indent=2).encode())
    else:
        _print_stats(stats, args.num_largest)


# ---- parse, and what is refused


def _parse_parser(add):
    add("parse", "Debug a results file by parsing and printing each record in it").add_argument("results", help="Results of the tracker run")


def _parse(args, parser):
    if os.isatty(1):
        _fail("You must redirect stdout to a file or shell pipeline.")
    _open(args.results).close()
    try:
        dump_all_records(args.results)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _fail("stdout was closed before all records were printed")
    except (OSError, NotImplementedError) as why:
        _fail("Failed to parse allocation records in {0}\nReason: {1}".format(args.results, why))


def _live_parser(add):
    add("live", "Not there: Sonde listens on no port").add_argument("port", type=int, help="Remote port to connect to")


def _live(args, parser):
    _fail("Sonde listens on no port: watch the file that is recorded with `sonde top FILE --alloc`, or start the program with `sonde alloc --live`")


def _attach_parser(add):
    for name in ("attach", "detach"):
        add(name, "Not there: a process that runs already gets no recorder")


def _refuse_attach(args=None, parser=None):
    _fail("Sonde puts no recorder of allocations into a process that runs already. Start the program with `{0} run`, or look at it from outside: "
          "`sonde rss --pid PID` reads its memory over time, `sonde record --pid PID` samples its stacks".format(_command()))


_PARSERS = (_run_parser, _flamegraph_parser, _table_parser, _live_parser, _tree_parser, _parse_parser, _summary_parser, _stats_parser, _transform_parser,
            _attach_parser)
_COMMANDS = {"run": _run, "flamegraph": _flamegraph, "table": _table, "live": _live, "tree": _tree, "parse": _parse, "summary": _summary, "stats": _stats,
             "transform": _transform, "attach": _refuse_attach, "detach": _refuse_attach}


def get_argument_parser():
    parser = argparse.ArgumentParser(description=_DESCRIPTION, prog="memray", formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="Changes nothing: what goes wrong is always said")
    parser.add_argument("-V", "--version", action="version", version=__version__, help="Displays the version of memray that this is like")
    commands = parser.add_subparsers(help="Mode of operation", dest="command")
    commands.required = True

    def add(name, summary):
        made = commands.add_parser(name, help=summary, description=summary)
        made.set_defaults(parser=made)
        return made

    for make in _PARSERS:
        make(add)
    return parser


def main(args=None):
    """Runs a command of memray's and returns its status."""
    words = sys.argv[1:] if args is None else args
    try:
        if words and words[0] in ("attach", "detach") and not {"-h", "--help"} & set(words):
            _refuse_attach()  # whatever it would be told
        chosen = get_argument_parser().parse_args(words)
        return _COMMANDS[chosen.command](chosen, chosen.parser) or 0
    except MemrayCommandError as why:
        print(why, file=sys.stderr)
        return why.exit_code
    except MemrayError as why:
        print(why, file=sys.stderr)
        return 1
