# SPDX-License-Identifier: MIT
"""Programs to trace: single kinds of calls in a loop, and four of the standard library that work in Python.

A millisecond or two each, so that the shortest of several runs is one that nothing disturbed.
"""
import ast
import io
import json
import json.decoder
import json.scanner
import sys
import tokenize

if sys.version_info >= (3, 11):
    from re import _compiler as regex_compiler
else:
    import sre_compile as regex_compiler


# ---- one kind of call each


def nothing():
    pass


def leaf():
    f = nothing
    for _ in range(20000):
        f()


def fib_of(n):
    return n if n < 2 else fib_of(n - 1) + fib_of(n - 2)


def fib():
    fib_of(20)


class Point:
    def __init__(self, x):
        self.x = x

    def plus(self, y):
        return self.x + y

    @property
    def twice(self):
        return self.x + self.x


def method():
    point, total = Point(1), 0
    for i in range(8000):
        total += point.plus(i)
        total += point.twice


def numbers(n):
    for i in range(n):
        yield i


def generator():
    for _ in numbers(20000):
        pass


def length():
    f, of = len, []
    for _ in range(15000):
        f(of)


def append():
    to = []
    for i in range(15000):
        to.append(i)


# ---- programs


RECORD = {"name": "x" * 10, "flags": [True, False, None, 1.5], "by": {str(i): i for i in range(20)}, "in": [1, 2, {"y": [3]}]}
TEXT = json.dumps([RECORD] * 4)


def python_decoder():
    """json's decoder without its C parts."""
    decoder = json.JSONDecoder()
    decoder.parse_object, decoder.parse_array = json.decoder.JSONObject, json.decoder.JSONArray
    decoder.parse_string = json.decoder.py_scanstring
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    return decoder


DECODER = python_decoder()


def json_python():
    for _ in range(3):
        DECODER.decode(TEXT)
    "".join(json.JSONEncoder(indent=1).iterencode([RECORD] * 4))


PATTERNS = [r"(?P<year>\d{4})-(?P<word>[a-z_]+)*\s+(red|green|blue)+?", r"^[\w.%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
            r"(\w+)\s*=\s*('[^']*'|\"[^\"]*\"|\S+)", r"(?:a|b|c|d)(?=e)(?!f)[^gh]{2,5}"]


def regex():
    for pattern in PATTERNS:
        regex_compiler.compile(pattern)


with open(json.decoder.__file__) as f:
    SOURCE = "".join(f.readlines()[:130])
TREE = ast.parse("\n".join("def f%d(x, *y):\n    return [x + 1 for x in y if x] or {'a': (1, 2.5, None)}" % i for i in range(12)))


def ast_walk():
    ast.dump(TREE)
    ast.NodeVisitor().visit(TREE)


def tokens():
    try:
        for _ in tokenize.generate_tokens(io.StringIO(SOURCE).readline):
            pass
    except tokenize.TokenError:   # the cut is within a bracket
        pass


PYTHON_CALLS = [leaf, fib, method, generator, json_python, regex, ast_walk, tokens]
C_CALLS = [length, append]
