# SPDX-License-Identifier: MIT
"""What cProfile and profile have in common: run(), runctx(), and the command line of both.

Options, defaults and the text of --help are those of the interpreter's own modules, version by
version.  One thing is different on all versions: the script is sys.modules["__main__"], without a
spec, as a script has none; so what it pickles and what multiprocessing starts finds its classes.
"""
import os
import sys

USAGE = "{0}.py [-o output_file_path] [-s sort] [-m module | scriptfile] [arg] ..."


def profile_statement(profiler, run, filename, sort):
    """Calls run(profiler), then shows what was measured, even if it raised an exception."""
    try:
        run(profiler)
    except SystemExit:
        pass
    finally:
        if filename is not None:
            profiler.dump_stats(filename)
        else:
            profiler.print_stats(sort)


def options(name, sort, module_help):
    """The parser of `python -m NAME`; `sort` is what -s takes besides its flags."""
    from optparse import OptionParser

    parser = OptionParser(usage=USAGE.format(name))
    parser.allow_interspersed_args = False
    sort_option = ("-s", "--sort"), dict(sort, dest="sort", help="Sort order when printing to stdout, based on pstats.Stats class")
    module_option = ("-m",), dict(dest="module", action="store_true", help=module_help, default=False)
    parser.add_option("-o", "--outfile", dest="outfile", help="Save stats to <outfile>", default=None)
    for flags, how in (sort_option, module_option) if name == "cProfile" else (module_option, sort_option):
        parser.add_option(*flags, **how)
    return parser


def main(parser, runctx):
    """`python -m cProfile|profile`: takes sys.argv, and leaves to the program what is the program's."""
    usage = parser.get_usage()
    if not sys.argv[1:]:
        print(usage)
        sys.exit(2)
    chosen, words = parser.parse_args()
    if not words:
        print(usage)
        sys.exit(2)
    sys.argv[:] = words
    outfile = chosen.outfile and os.path.abspath(chosen.outfile)  # now: the program may change its directory
    code, names = module_code(words[0]) if chosen.module else script_code(words[0])
    try:
        runctx(code, names, None, outfile, chosen.sort)
    except BrokenPipeError as why:
        sys.stdout = None  # nothing is said about it at exit
        sys.exit(why.errno)
    return parser


def label(code):
    """The key of a function in pstats: of a code object, or of the text that stands for a C function."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


def module_code(name):
    import runpy

    return "run_module(modname, run_name='__main__')", {"run_module": runpy.run_module, "modname": name}


def script_code(path):
    import io

    named = {"module": "__main__"} if sys.version_info >= (3, 15) else {}
    sys.path.insert(0, os.path.dirname(path))
    with io.open_code(path) as f:
        code = compile(f.read(), path, "exec", **named)  # by it, filters of warnings know the script
    module = type(sys)("__main__")
    module.__file__ = path
    if sys.version_info < (3, 15):
        module.__cached__ = None
    sys.modules["__main__"] = module
    return code, module.__dict__
