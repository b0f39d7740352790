# SPDX-License-Identifier: MIT
"""run, attach, dump and replay: the options of CPython's profiling.sampling, put into those of the program `sonde`.

The program samples and writes every format; here are names alone.  What it cannot do is refused by the option's name.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from sonde.__main__ import program
from sonde.compat.profiling.sampling import errors

FORMATS = {  # option: (word of `sonde convert --format`, suffix of a file that nobody named)
    "pstats": ("pstats", "pstats"),
    "collapsed": ("collapsed", "txt"),
    "flamegraph": ("flamegraph", "html"),
    "gecko": ("firefox", "json"),
    "binary": ("sonde", "bin"),
}
SORT = {  # word of --sort: those of pstats
    "nsamples": ("psamples", "samples", "stdname"),
    "tottime": ("tottime", "stdname"),
    "cumtime": ("cumtime", "stdname"),
    "sample-pct": ("psamples", "samples", "stdname"),
    "cumul-pct": ("samples", "stdname"),
    "nsamples-cumul": ("samples", "stdname"),
    "name": ("stdname",),
}
REFUSED = {  # option: what there is instead
    "--heatmap": "`sonde report --lines` prints the hottest lines of a capture (--binary -o x.sonde)",
    "--jsonl": "--collapsed and --gecko write the stacks, `sonde convert x.sonde x.json` the samples of a capture (--binary -o x.sonde)",
    "--diff-flamegraph": "`sonde report old.sonde new.sonde --graph --compare` draws the difference of two captures (--binary -o new.sonde)",
    "--async-aware": "stacks are those of threads",
    "--async-mode": "stacks are those of threads",
    "--opcodes": "samples have lines, not instructions",
    "--realtime-stats": "`sonde record` prints its rate when it ends",
    "--mode exception": "choose wall, cpu or gil",
    "--compression": "captures have their own; leave it out",
}
CAPTURE = b"\x89SONDE\r\n"  # how one begins
PAGE = """\
<!DOCTYPE html>
<meta charset="utf-8"><title>%s</title>
<style>html, body, object { margin: 0; width: 100%%; height: 100%% }</style>
<object type="image/svg+xml" data="data:image/svg+xml;base64,%s"></object>
"""


def rate(text):
    """Samples a second: 1000, 10khz, 10k."""
    found = re.match(r"(\d+(?:\.\d+)?)(hz|khz|k)?$", text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(
            "Invalid sampling rate format: %s. Expected: number followed by optional suffix (hz, khz, k) with no spaces (e.g., 10khz)" % text)
    hz = float(found.group(1)) * (1000 if found.group(2) in ("k", "khz") else 1)
    if hz <= 0:
        raise argparse.ArgumentTypeError("Sampling rate must be positive: %s" % text)
    if hz < 1:
        raise argparse.ArgumentTypeError("Sonde samples once a second or more often, not at %s" % text)
    if hz > 1000000:
        raise argparse.ArgumentTypeError("Sampling rate too high: %s" % text)
    return "%d" % round(hz)


class Refused(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        refuse(parser, self.option_strings[-1])


def refuse(parser, option):
    parser.error("Sonde has no %s: %s" % (option, REFUSED[option]))


def add_refused(group, option, **how):
    group.add_argument(option, action=Refused, help="(not in Sonde: %s)" % REFUSED[option], **how)


def add_sampling(parser):
    group = parser.add_argument_group("Sampling configuration")
    group.add_argument("-r", "--sampling-rate", type=rate, default="1khz", metavar="RATE", dest="rate",
                       help="samples a second (e.g., 10000, 10khz, 10k; default: 1khz)")
    group.add_argument("-d", "--duration", type=int, metavar="SECONDS", help="how long to sample (default: until the program ends)")
    group.add_argument("--subprocesses", action="store_true", help="also sample child processes, into the same output")
    add_refused(group, "--realtime-stats", nargs=0)
    group = parser.add_argument_group("Mode options")
    group.add_argument("--mode", choices=["wall", "cpu", "gil", "exception"], default="wall",
                       help="wall: all threads; cpu: running threads; gil: the thread that holds the GIL (default: wall); Sonde refuses exception")
    parser.add_argument("--live", action="store_true", help="show it live: `sonde top`")


def add_stacks(parser):
    group = parser.add_argument_group("Stacks")
    group.add_argument("-a", "--all-threads", action="store_true", help="(as always: all threads are sampled)")
    group.add_argument("--native", action="store_true", help="show the C functions between Python functions, too")
    group.add_argument("--no-gc", action="store_true", help="(as always: there are no <GC> frames)")
    group.add_argument("--blocking", action="store_true", help="stop each thread while it is read")
    add_refused(group, "--opcodes", nargs=0)
    group.add_argument("--async-aware", action="store_true", help="(not in Sonde: %s)" % REFUSED["--async-aware"])
    group.add_argument("--async-mode", choices=["running", "all"], help="(not in Sonde: %s)" % REFUSED["--async-mode"])


def add_output(parser, has_binary=True):
    group = parser.add_argument_group("Output options")
    formats = group.add_mutually_exclusive_group()
    for name in FORMATS:
        if name != "binary" or has_binary:
            formats.add_argument("--" + name, action="store_const", const=name, dest="format")
    add_refused(formats, "--heatmap", nargs=0)
    add_refused(formats, "--jsonl", nargs=0)
    add_refused(formats, "--diff-flamegraph", metavar="BASELINE")
    if has_binary:
        add_refused(group, "--compression")
    group.add_argument("-o", "--output", dest="outfile", help="where to (default: of pstats a table on stdout, else FORMAT_PID.SUFFIX)")
    group.add_argument("--browser", action="store_true", help="open the flame graph")
    group = parser.add_argument_group("pstats format options")
    group.add_argument("--sort", choices=sorted(SORT), help="order of the table (default: nsamples)")
    group.add_argument("-l", "--limit", type=int, help="rows of the table (default: 15)")
    group.add_argument("--no-summary", action="store_true", help="(as always: the table has no summary)")
    parser.set_defaults(format="pstats")


def options():
    parser = argparse.ArgumentParser(prog="profiling.sampling", description="Samples the stacks of a Python program, by `sonde record`.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, about in (("run", "runs a script or module and samples it"), ("attach", "samples a running process"),
                        ("dump", "prints what the threads of a process do now"), ("replay", "writes a capture (--binary) in another format")):
        one = commands.add_parser(name, help=about, description=about)
        if name == "run":
            one.add_argument("-m", "--module", action="store_true", help="the target is a module")
            one.add_argument("target")
            one.add_argument("args", nargs=argparse.REMAINDER)
        elif name == "replay":
            one.add_argument("input_file")
        else:
            one.add_argument("pid", type=int)
        if name in ("run", "attach"):
            add_sampling(one)
        if name != "replay":
            add_stacks(one)
        if name != "dump":
            add_output(one, has_binary=name != "replay")
        one.set_defaults(parser=one)
    return parser


def check_async(args):
    """Sonde has none of it; what would not go together is told first, in the original's words."""
    mode = getattr(args, "mode", "wall")
    others = [word for word, given in (("--native", args.native), ("--no-gc", args.no_gc), ("--all-threads", args.all_threads),
                                       ("--mode=" + mode, mode != "wall"), ("--binary", getattr(args, "format", None) == "binary")) if given]
    if args.async_aware and others:
        args.parser.error("Options %s are incompatible with --async-aware." % ", ".join(others))
    if args.async_mode and not args.async_aware:
        args.parser.error("--async-mode requires --async-aware to be enabled.")
    if args.async_aware:
        refuse(args.parser, "--async-aware")


def check(args):
    """What does not go together, in the original's words."""
    error = args.parser.error
    if args.command != "replay":
        check_async(args)
    if getattr(args, "mode", None) == "exception":
        refuse(args.parser, "--mode exception")
    if args.command == "dump":
        return
    of_tables = [word for word, given in (("--sort", args.sort), ("--limit", args.limit is not None), ("--no-summary", args.no_summary)) if given]
    if getattr(args, "live", False):
        if args.subprocesses:
            error("--subprocesses is incompatible with --live mode.")
        if args.format != "pstats":
            error("--live is incompatible with --%s. Live mode uses a TUI interface." % args.format)
        if of_tables:
            error("Options %s are incompatible with --live. Live mode uses a TUI interface with its own controls." % ", ".join(of_tables))
    elif args.format == "gecko" and getattr(args, "mode", "wall") != "wall":
        error("--mode option is incompatible with --gecko. Gecko format automatically includes both GIL-holding and CPU status analysis.")
    elif args.format != "pstats" and of_tables:
        error("Options %s are only valid with --pstats, not --%s" % (", ".join(of_tables), args.format))


def target(args):
    """The words of `sonde record` and `sonde top` that say what is sampled."""
    if args.command == "attach":
        return ["--pid", str(args.pid)]
    if args.module:
        need_module(args.target)
        return ["--", sys.executable, "-m", args.target] + args.args
    if not os.path.exists(args.target):
        raise errors.SamplingScriptNotFoundError(args.target)
    return ["--", sys.executable, args.target] + args.args


def look(args):
    """Those that say how a stack is read."""
    return [word for word, given in (("--native", args.native), ("--blocking", args.blocking)) if given]


def need_module(name):
    from importlib.util import find_spec

    sys.path.insert(0, os.getcwd())
    try:
        found = find_spec(name)
    except ImportError:
        found = None
    if not found:
        raise errors.SamplingModuleNotFoundError(name)


def need_process(pid):
    if not os.path.exists("/proc/%d" % pid):
        raise errors.SamplingUnknownProcessError(pid)


def sonde(words):
    """Runs the program; Control-C is for it."""
    child = subprocess.Popen([program()] + words)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            pass


def written(args, verb, words):
    """Has `sonde VERB` with the words of a path make the file that was asked for, or prints the table."""
    word, suffix = FORMATS[args.format]

    def write(path, *more):
        return sonde([verb, "--force", "--format", word] + list(more) + words(path))

    with tempfile.TemporaryDirectory() as folder:
        if args.format == "pstats" and not args.outfile:
            path = os.path.join(folder, "samples.pstats")
            return write(path, "--quiet") or print_table(args, path)
        path = args.outfile or "%s_%d.%s" % (args.format, getattr(args, "pid", os.getpid()), suffix)
        if os.path.isdir(path):
            path = os.path.join(path, "%s_%d.%s" % (args.format, getattr(args, "pid", os.getpid()), suffix))
        if args.format != "flamegraph" or path.endswith(".svg"):
            status = write(path)
        else:
            picture = os.path.join(folder, "flame.svg")
            status = write(picture, "--quiet") or write_page(picture, path)
        if status == 0 and args.browser and args.format == "flamegraph":
            import webbrowser

            webbrowser.open("file://" + os.path.abspath(path))
        return status


def write_page(picture, path):
    """A page around the flame graph: its own suffix is .svg, and a page was asked for."""
    from base64 import b64encode

    with open(picture, "rb") as f:
        inside = b64encode(f.read()).decode()
    with open(path, "w", encoding="utf-8") as f:
        f.write(PAGE % ("Flame graph", inside))
    return 0


def print_table(args, path):
    from sonde.compat import pstats

    stats = pstats.SampledStats(path).strip_dirs().sort_stats(*SORT[args.sort or "nsamples"])
    stats.files = []
    stats.print_stats(15 if args.limit is None else args.limit)
    return 0


def record(args):
    if args.command == "attach":
        need_process(args.pid)
    how = look(args) + ["-r", args.rate, "--mode", args.mode] + (["-d", str(args.duration)] if args.duration is not None else [])
    if args.live:
        return sonde(["top"] + how + target(args))
    if args.mode == "wall":
        how.append("--idle")
    if args.subprocesses:
        how.append("--subprocesses")
    return written(args, "record", lambda path: how + ["-o", path] + target(args))


def replay(args):
    try:
        with open(args.input_file, "rb") as f:
            head = f.read(len(CAPTURE))
    except OSError as why:
        sys.exit("Error: %s" % ("Input file not found: " + args.input_file if isinstance(why, FileNotFoundError) else why))
    if head[:4] in (b"HCAT", b"TACH"):
        args.parser.error("%s was written by CPython's own sampler, which alone reads it; record it again with --binary" % args.input_file)
    if head != CAPTURE:
        sys.exit("Error: %s is not a binary sampling profile: replay reads what --binary wrote; `sonde convert` reads other files"
                 % args.input_file)
    return written(args, "convert", lambda path: ["--idle", args.input_file, path])


def dump(args):
    need_process(args.pid)
    return sonde(["dump"] + look(args) + ["--pid", str(args.pid)])


def main():
    args = options().parse_args()
    check(args)
    if not program():
        raise errors.SamplingProfilerError("the program `sonde` is neither in its package nor on PATH; install sonde again, or run `make`")
    return {"run": record, "attach": record, "dump": dump, "replay": replay}[args.command](args)


if __name__ == "__main__":
    sys.exit(main())
