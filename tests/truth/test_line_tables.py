# SPDX-License-Identifier: MIT
# interpreters: all
"""Every instruction of many functions has the line that CPython itself says it has.

src/cpython/line_table.c is compiled as a library and asked in this very interpreter, for code of
the standard library and for code made to be hard; PyCode_Addr2Line is the truth.
"""
import ast
import ctypes
import os
import shutil
import sys
import types

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import SRC, equal, need, run, run_tests  # noqa: E402

LNOTAB, RANGES, LOCATIONS = 0, 1, 2  # enum sd_lines_style
STYLE = LNOTAB if sys.version_info < (3, 10) else RANGES if sys.version_info < (3, 11) else LOCATIONS
MODULES = "argparse ast asyncio.base_events collections configparser dataclasses decimal difflib dis doctest " \
          "email.message enum fractions functools heapq inspect json.decoder logging os pathlib pickle pprint re " \
          "shutil statistics subprocess tarfile textwrap threading traceback typing unittest.mock zipfile".split()

truth = ctypes.pythonapi.PyCode_Addr2Line
truth.argtypes = [ctypes.py_object, ctypes.c_int]
truth.restype = ctypes.c_int


def find_function(folder):
    cc = shutil.which(os.environ.get("CC") or "cc")
    need(cc, "no C compiler")
    library = os.path.join(folder, "lines.so")
    done = run([cc, "-O2", "-shared", "-fPIC", "-I", os.path.join(SRC, "src"), "-o", library,
                os.path.join(SRC, "src", "cpython", "line_table.c")])
    equal(done.status, 0, "status of the compiler (%s)" % done.err.strip())
    find = ctypes.CDLL(library).sd_line_table_find
    find.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64]
    find.restype = ctypes.c_int32
    return find


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def compare(find, top):
    """How many instructions were compared; the first difference is a failure."""
    n = 0
    for code in codes_in(top):
        table = code.co_lnotab if STYLE == LNOTAB else code.co_linetable
        n_code = len(code.co_code)
        step = max(1, n_code // 20000) * 2  # long functions: both sides search from the start
        for offset in [-2] + list(range(0, n_code, step)):
            ours = find(STYLE, table, len(table), code.co_firstlineno, n_code, offset)
            if ours != truth(code, offset):
                raise AssertionError("%s (%s:%d) at %d: line %d, but CPython says %d" % (
                    code.co_name, code.co_filename, code.co_firstlineno, offset, ours, truth(code, offset)))
            n += 1
    return n


def test_lines_of_the_standard_library(folder):
    find = find_function(folder)
    n = 0
    for name in MODULES:
        __import__(name)
        path = sys.modules[name].__file__
        with open(path, encoding="utf-8") as f:
            n += compare(find, compile(f.read(), path, "exec", dont_inherit=True))
    assert n > 50000, "only %d instructions were compared" % n


def test_lines_of_expressions_that_go_up_again(folder):
    source = "def f(a):\n    return g(\n        a,\n\n        h(\n            1),\n        *[x\n          for x in a]\n    )(\n 2)\n"
    assert compare(find_function(folder), compile(source, "up.py", "exec")) > 20


def test_lines_far_apart(folder):
    source = "def f(a):\n    a = 1" + "\n" * 1000 + "    a = (2," + "\n" * 70000 + "  a)\n    return a\n"
    assert compare(find_function(folder), compile(source, "far.py", "exec")) > 8


def test_lines_of_a_function_of_many_lines(folder):
    source = "def f(a):\n" + "".join("    a.b%d = a[%d:%d]\n" % (i, i, i + 1) for i in range(3000))
    assert compare(find_function(folder), compile(source, "many.py", "exec")) > 3000


def test_lines_of_one_long_line(folder):
    source = "def f(a):\n    return [" + "a, " * 5000 + "]\n"
    assert compare(find_function(folder), compile(source, "long.py", "exec")) > 5000


def test_lines_that_a_program_made_up(folder):
    tree = ast.parse("def f(a):\n    b = a\n    c = b\n    d = c\n    return d\n")
    for i, statement in enumerate(tree.body[0].body):
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = [5, 100000, 2, 70000][i]
    assert compare(find_function(folder), compile(tree, "made.py", "exec")) > 8


run_tests(globals())
