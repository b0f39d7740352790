# SPDX-License-Identifier: MIT
# interpreters: all
"""Signatures: what a function was called with, to the letter, and without touching any of it.

The texts of arrays are those that numpy itself gives (str of a dtype, the tuple of a shape).
"""
import array
import asyncio
import collections
import gc
import json
import os
import pstats
import random
import signal
import subprocess
import sys
import threading
import types
import weakref

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, SONDE, Skip, clean_env, contains, equal, run, run_tests, write  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import Profile, runctx as sonde_runctx  # noqa: E402
from sonde.compat import cProfile as compat  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


def rows(profile, function):
    """{signature: (calls, primitive calls)} of the program's own functions."""
    profile.enable()
    try:
        function()
    finally:
        profile.disable()
    profile.create_stats()
    return {key[2]: (v[1], v[0]) for key, v in profile.stats.items() if key[0] == __file__ and key[2] != function.__name__ + "()"}


def counts(function, **how):
    return {name: calls for name, (calls, _) in rows(Profile(**dict(dict(builtins=False), **how)), function).items()}


def rows_by_line(function):
    """{(line, signature): calls} of this file."""
    p = Profile(builtins=False)
    p.enable()
    function()
    p.disable()
    p.create_stats()
    return {(key[1], key[2]): v[1] for key, v in p.stats.items() if key[0] == __file__ and key[2].startswith("plain")}


def need_numpy():
    if not numpy:
        raise Skip("no numpy for this Python")


# ---- texts


def plain(a, b=1):
    return a


def many(a, /, b, *rest, c, d=None, **more):
    return a


class Model:
    def __init__(self, layers):
        self.layers = layers

    def predict(self, batch, *rest):
        return batch

    def itself(this):
        return this

    @classmethod
    def make(cls):
        return cls(2)

    @staticmethod
    def free(x):
        return x


def test_types_of_all_kinds_of_parameters(folder):
    def program():
        plain(1)
        plain("x", b=2.5)
        plain(None, b=[1])
        many(1, 2, c=3)
        many("a", b"b", 1, "x", c=1.0, d={}, scale=2j, name="n")
        Model.make().predict([1], 2)
        Model(3).itself()
        Model.free(())
    equal(counts(program), {
        "plain(a:int, b:int)": 1, "plain(a:str, b:float)": 1, "plain(a:NoneType, b:list)": 1,
        "many(a:int, b:int, *rest:(), c:int, d:NoneType, **more:())": 1,
        "many(a:str, b:bytes, *rest:(int, str), c:float, d:dict, **more:(scale:complex, name:str))": 1,
        "make(cls:type)": 1, "Model(layers:int)": 2, "Model.predict(batch:list, *rest:(int))": 1, "itself(this:Model)": 1,
        "free(x:tuple)": 1,
    }, "signatures")


def test_names_of_all_kinds_are_one_line(folder):
    weird = type("We\x07ird\n\x1b[31m", (), {})
    strong = type("\u5f37\xdf", (), {})

    def program():
        plain(weird(), strong())
        many(1, 2, c=3, **{"a\x00b": 1, "\udc80": 2, "": 3, "a b": 4})
    equal(sorted(counts(program)), [
        "many(a:int, b:int, *rest:(), c:int, d:NoneType, **more:(a\\x00b:int, \\udc80:int, :int, a b:int))",
        "plain(a:We\\x07ird\\x0a\\x1b[31m, b:\u5f37\xdf)"], "signatures")


def test_long_ones_are_cut(folder):
    keywords = {"k%d" % i: i for i in range(20)}

    def program():
        many(1, 2, *range(20), c=1, **keywords)
    equal(list(counts(program)), ["many(a:int, b:int, *rest:(%s, ...), c:int, d:NoneType, **more:(%s, ...))" % (
        ", ".join(["int"] * 8), ", ".join("k%d:int" % i for i in range(8)))], "signature")
    source = "def wide(%s): pass" % ", ".join("a%d" % i for i in range(120))
    names = {}
    exec(compile(source, __file__, "exec"), names)
    equal(counts(lambda: names["wide"](*range(120))).get("wide(...)"), 1, "of more arguments than there is room for")


def dtypes():
    yield from "? b B h H i I l L q Q e f d g F D G O S5 U7 V3 >f4 >i8 >U3 M8[ns] M8[25s] m8[D] M8".split()
    yield [("a", "i4"), ("b", "f8")]


def test_arrays_have_their_dtype_and_shape(folder):
    need_numpy()
    expected = {}
    for dtype in dtypes():
        dtype = numpy.dtype(dtype)
        text = dtype.name if dtype.names else str(dtype)
        expected["plain(a:ndarray(dtype=%s, shape=(2, 3)), b:int)" % text] = 0
    for shape in (), (0,), (16,), (1, 2, 3, 4, 5, 6, 7, 8):
        expected["plain(a:ndarray(dtype=float32, shape=%s), b:int)" % (shape,)] = 1

    def program():
        for dtype in dtypes():
            a = numpy.zeros((2, 3), dtype)
            plain(a)
            expected["plain(a:ndarray(dtype=%s, shape=(2, 3)), b:int)" % (a.dtype.name if a.dtype.names else a.dtype)] += 1
        for shape in (), (0,), (16,), (1, 2, 3, 4, 5, 6, 7, 8):
            plain(numpy.zeros(shape, "f4"))
        plain(numpy.float32(1))
        plain(numpy.ma.zeros((2, 2)))
    found = counts(program)
    expected["plain(a:float32, b:int)"] = 1
    expected["plain(a:MaskedArray(dtype=float64, shape=(2, 2)), b:int)"] = 1
    equal({name: n for name, n in found.items() if name.startswith("plain(")}, expected, "signatures")


def test_arrays_of_numpy_2(folder):
    need_numpy()
    if not hasattr(numpy, "dtypes") or not hasattr(numpy.dtypes, "StringDType"):
        raise Skip("numpy before 2.0")

    def program():
        for n in (32, 33, 64):
            plain(numpy.zeros((1,) * n))
        plain(numpy.zeros(2, numpy.dtypes.StringDType()))
    equal({name: n for name, n in counts(program).items() if name.startswith("plain(")}, {
        "plain(a:ndarray(dtype=float64, shape=(%s)), b:int)" % ", ".join("1" * 32): 1,
        "plain(a:ndarray(dtype=float64, shape=(%s, ...)), b:int)" % ", ".join("1" * 32): 2,
        "plain(a:ndarray(dtype=%s, shape=(2,)), b:int)" % numpy.dtypes.StringDType(): 1}, "signatures")


def test_tables_have_their_shape(folder):
    try:
        import pandas
    except ImportError:
        raise Skip("no pandas for this Python")
    frames = [
        pandas.DataFrame({"a": range(10), "b": [1.5] * 10, "c": ["x"] * 10}), pandas.DataFrame(), pandas.DataFrame(index=[1, 2, 3]),
        pandas.DataFrame(columns=["a", "b"]), pandas.DataFrame(numpy.zeros((5, 7)), index=list("abcde"), columns=list("tuvwxyz")),
        pandas.DataFrame({"when": pandas.date_range("2020", periods=4, tz="UTC"), "n": pandas.array([1, None, 2, 3], dtype="Int64")}),
        pandas.DataFrame({"g": pandas.Categorical(["a", "b", "a"]), "h": [True] * 3}), pandas.DataFrame(numpy.zeros((3, 4)))[1:],
        pandas.DataFrame(numpy.zeros((6, 2)), index=pandas.MultiIndex.from_product([[1, 2], [1, 2, 3]])),
        pandas.DataFrame({"t": pandas.to_timedelta([1, 2], unit="s"), "d": pandas.date_range("2020", periods=2)}),
    ]

    def program():
        for frame in frames:
            plain(frame)
    found = counts(program)
    equal(set(found), {"plain(a:DataFrame(shape=%s), b:int)" % (frame.shape,) for frame in frames}, "signatures")


def test_lengths_and_values_on_request(folder):
    values = [[1, 2], (1,), {1: 2}, {1, 2, 3}, frozenset((1,)), "abc", "\u20ac" * 4, b"ab", bytearray(5), range(7), array.array("d", [1, 2]),
              collections.deque([1]), collections.OrderedDict(a=1, b=2)]
    wanted = {"%s(len=%d)" % (type(v).__name__, len(v)) for v in values}

    def program():
        for value in values:
            plain(value)
        plain(12, b=-3)
        plain(True, b=10 ** 30)
        plain(range(10 ** 20), b=-1)  # has no length that a list could have
        plain(range(-2 ** 62, 2 ** 62), b=-1)
    found = counts(program, signatures="lengths")
    equal(set(found), {"plain(a:%s, b:int)" % text for text in wanted | {"int", "bool", "range"}}, "with lengths")
    found = counts(program, signatures="sizes")
    equal(set(found), {"plain(a:%s, b:int(1))" % text for text in wanted} | {"plain(a:int(12), b:int)", "plain(a:bool, b:int)", "plain(a:range, b:int)"},
          "with sizes")
    for wrong in "all", "":
        try:
            Profile(signatures=wrong)
        except ValueError as why:
            contains(str(why), "'lengths'")
        else:
            raise AssertionError("signatures=%r was accepted" % wrong)


def test_beyond_the_limit_they_are_one(folder):
    kinds = [type("Kind%d" % i, (), {}) for i in range(300)]

    def program():
        for kind in kinds * 2:
            plain(kind())
    found = counts(program)
    equal((len(found), found["plain(...)"], sum(found.values())), (257, 2 * 44, 600), "rows, calls of the rest, all calls")

    def lengths():
        for n in range(1, 2000):
            plain("x" * n)
    found = counts(lengths, signatures="lengths")
    equal(sum(found.values()), 1999, "all calls")
    assert "plain(a:str(len=256), b:int)" in found and "plain(a:str(len=~1792), b:int)" in found and "plain(...)" not in found, sorted(found)


def test_names_of_keywords_are_told_by_their_text(folder):
    text = '{"first name": 1, "second \\u20ac": 2.5}'

    class Name(str):
        __hash__ = str.__hash__

    def program():
        for _ in range(300):        # new strings at each call, as of lines of JSON
            many(1, 2, c=3, **json.loads(text))
        for _ in range(2):
            many(1, 2, c=3, **{"first name": 1, "second \u20ac": 2.5})
            many(1, 2, c=3, **{Name("first name"): 1, Name("second \u20ac"): 2.5})
            many(1, 2, c=3, other=json.loads("1"), **json.loads('{"name": 1}'))
            many(1, 2, c=3, other=1, name=1)
    found = {name: n for name, n in counts(program).items() if name.startswith("many(")}
    equal(found, {
        "many(a:int, b:int, *rest:(), c:int, d:NoneType, **more:(first name:int, second \u20ac:float))": 304,
        "many(a:int, b:int, *rest:(), c:int, d:NoneType, **more:(other:int, name:int))": 4}, "calls")


def test_functions_without_end_are_not_kept_for_their_signatures(folder):
    made, code = types.FunctionType, plain.__code__

    def program():
        for i in range(66000):
            made(code.replace(co_firstlineno=i + 1), {}, "plain")(1, 2)
    found = rows_by_line(program)
    signed = sum(name == "plain(a:int, b:int)" for _, name in found)
    equal((len(found), sum(found.values())), (66000, 66000), "functions, calls")
    assert 65000 < signed <= 65536, "%d of 66000 functions have signatures" % signed
    equal(sum(name == "plain" for _, name in found), 66000 - signed, "functions without")


def test_a_profile_and_the_classes_it_has_met_are_collected(folder):
    def use():
        class Met:
            pass
        Met.profile = Profile(builtins=False)       # from the class to who holds it
        Met.profile.enable()
        plain(Met())
        Met.profile.disable()
        return weakref.ref(Met)
    gone = use()
    gc.collect()
    equal(gone(), None, "the class, when nobody has it")


def test_signatures_are_chosen_wherever_a_profile_starts(folder):
    def rows(p):
        p.create_stats()
        return sorted(key[2] for key in p.stats if key[2].startswith("plain"))
    p = Profile(builtins=False)
    p.enable(signatures="sizes")
    plain([1, 2])
    p.disable()
    equal(rows(p), ["plain(a:list(len=2), b:int(1))"], "of enable()")
    for wrong, said in ("nonsense", "not 'nonsense'"), ("types", "another kind"):
        try:
            p.enable(signatures=wrong)
        except ValueError as error:
            contains(str(error), said)
        else:
            raise AssertionError("enable(signatures=%r) is taken" % wrong)
    p.clear()
    p.enable(signatures="types")
    plain([1, 2])
    p.enable(signatures=False)
    plain([1, 2])
    p.disable()
    equal(rows(p), ["plain", "plain(a:list, b:int)"], "after clear(), with and without")
    for chosen, wanted in (False, ["plain"]), ("lengths", ["plain(a:list(len=2), b:int)"]):
        p = Profile(builtins=False, signatures=chosen)
        p.enable(signatures=None)
        plain([1, 2])
        p.disable()
        equal(rows(p), wanted, "enable(signatures=None) is as the constructor said")
    path = os.path.join(folder, "x.pstats")
    for signatures, wanted in (True, "plain(a:list, b:int)"), (False, "plain"), ("lengths", "plain(a:list(len=3), b:int)"):
        sonde_runctx("plain([1, 2, 3])", globals(), {}, path, signatures=signatures)
        assert wanted in [key[2] for key in pstats.Stats(path).stats], "%s: %s" % (wanted, sorted(pstats.Stats(path).stats))


def test_classes_without_a_row_are_let_go(folder):
    """A program may make classes without end: those of calls that are in `plain(...)` are not kept alive."""
    for detail, most in (True, 256), ("sizes", 1024):
        p = Profile(builtins=False, signatures=detail)
        met = []
        p.enable()
        for i in range(1200):
            Made = type("Made%d" % i, (), {})
            plain(Made())
            met.append(weakref.ref(Made))
        p.disable()
        del Made
        gc.collect()
        kept = sum(ref() is not None for ref in met)
        assert 0 < kept <= most, "%d of 1200 classes are kept with signatures=%r" % (kept, detail)
        p.create_stats()
        rows = {key[2]: row[0] for key, row in p.stats.items() if key[2].startswith("plain(")}
        equal((sum(rows.values()), rows["plain(...)"]), (1200, 1200 - kept), "calls, those in the last row")


DTYPE_WITHOUT_A_NUMBER = """\
import ctypes, numpy, sonde
def f(a): pass
a = numpy.zeros((2, 3), [("x", "f8")])
number = ctypes.c_int.from_address(id(a.dtype) + object.__basicsize__ + 8 + 4)
assert number.value == 20, number.value     # that of records
p = sonde.Profile(builtins=False)
p.enable()
number.value = -1       # as all kinds of dtypes have that are made by numpy's newer interface
f(a)
number.value = 20
p.disable()
p.create_stats()
print(sorted(key[2] for key in p.stats if key[2].startswith("f(")))
"""


def test_a_dtype_without_a_number_has_its_scalar_type(folder):
    need_numpy()
    done = run([PYTHON, write(folder, "p.py", DTYPE_WITHOUT_A_NUMBER)], cwd=folder)
    equal((done.status, done.out), (0, "['f(a:ndarray(dtype=void, shape=(2, 3)))']\n"), "status, signatures (%s)" % done.err[-300:])


def test_tables_of_many_blocks_are_not_counted_block_by_block(folder):
    try:
        import pandas
    except ImportError:
        raise Skip("no pandas for this Python")
    frame = pandas.DataFrame({"c0": [1, 2]})
    for i in range(1, 99):
        frame["c%d" % i] = [i, i]       # a block each
    equal(counts(lambda: plain(frame)).get("plain(a:DataFrame(shape=(2, 99)), b:int)"), 1, "calls")


# ---- which call has which


def recursive(x, n):
    return x if n == 0 else recursive(x, n - 1)


def alternating(x, n):
    return n and alternating(str(n) if isinstance(x, int) else n, n - 1)


def test_recursion_is_of_a_signature(folder):
    def program():
        recursive(1.5, 3)
        alternating(0, 3)
    equal(rows(Profile(builtins=False), program), {
        "recursive(x:float, n:int)": (4, 1), "alternating(x:int, n:int)": (2, 1), "alternating(x:str, n:int)": (2, 1)}, "calls, primitive calls")
    p = Profile(builtins=False)
    rows(p, program)
    callers = {key[2]: {caller[2]: n[:2] for caller, n in v[4].items()} for key, v in p.stats.items()}
    equal(callers["alternating(x:str, n:int)"], {"alternating(x:int, n:int)": (2, 1)}, "callers")


def text_of(value, detail):
    """As the documentation has it."""
    name = type(value).__name__
    if numpy and isinstance(value, numpy.ndarray):
        return "%s(dtype=%s, shape=%s)" % (name, value.dtype, value.shape)
    if detail != "types" and isinstance(value, (str, list, tuple, dict, bytes)):
        return "%s(len=%d)" % (name, len(value))
    return "int(%d)" % value if detail == "sizes" and type(value) is int and 0 < value <= 2 ** 48 else name


def some_values(draw):
    """Kinds of values that differ in one respect alone."""
    pool = [1, 2, -1, 10 ** 40, True, None, 2.5, "a", "ab", b"a", (), (1,), [1], [2], [1, 2], {}, {1: 2}, plain, Model, gives_cell(1).__closure__[0]]
    if numpy:
        shapes = [(), (1,), (2,), (2, 1), (1, 2), (2, 2), (0,)]
        pool += [numpy.zeros(draw.choice(shapes), draw.choice(["f4", "f8", ">f4", "i4", "S3", "S4", "U2", "M8[s]", "M8[ns]"])) for _ in range(15)]
    return pool


def any_calls(draw, values, detail):
    """Calls functions, chosen at random, with random arguments: what there must be then."""
    wanted = collections.Counter()
    model = Model(1)
    for _ in range(400):
        a, b = draw.choice(values), draw.choice(values)
        x, y = text_of(a, detail), text_of(b, detail)
        which = draw.randrange(6)
        if which == 0:
            plain(a, b)
            wanted["plain(a:%s, b:%s)" % (x, y)] += 1
        elif which == 1:
            gives_cell(a)
            wanted["gives_cell(cell:%s)" % x] += 1
        elif which == 2:
            model.predict(a, b)
            wanted["Model.predict(batch:%s, *rest:(%s))" % (x, y)] += 1
        elif which == 3:
            many(1, 2, c=a, key=b)
            one, two = text_of(1, detail), text_of(2, detail)
            wanted["many(a:%s, b:%s, *rest:(), c:%s, d:NoneType, **more:(key:%s))" % (one, two, x, y)] += 1
        elif which == 4:
            list(closed_generator(a))
            wanted["closed_generator(x:%s)" % x] += 3
        else:
            for _ in range(draw.randrange(20)):
                plain(a, b)
                wanted["plain(a:%s, b:%s)" % (x, y)] += 1
    return wanted


def test_random_calls_have_their_own_signatures(folder):
    """A call is compared with the ones before it, so what comes after what must not matter.  The number of signatures stays below the limit."""
    for seed in range(12):
        detail = ("types", "lengths", "sizes")[seed % 3]
        draw = random.Random(seed)
        p = Profile(builtins=bool(seed % 2), signatures=detail)
        values = some_values(draw)
        p.enable()
        wanted = any_calls(draw, values, detail)
        p.disable()
        p.create_stats()
        first = ("plain", "gives_cell", "Model.predict", "many", "closed_generator")
        found = {key[2]: v[1] for key, v in p.stats.items() if key[0] == __file__ and key[2].split("(")[0] in first}
        equal(set(found.items()) ^ set(wanted.items()), set(), "what differs, seed %d" % seed)


def test_types_that_come_and_go(folder):
    """A class at the address of one that is gone is another class."""
    def program():
        for i in range(200):
            plain(type("A" if i % 3 else "B", (), {})())
    found = counts(program)
    equal((found["plain(a:A, b:int)"], found["plain(a:B, b:int)"]), (133, 67), "calls")


def loop_with(value):
    for _ in range(200):
        plain(value)


def loop_with_keywords(value):
    for _ in range(200):
        many(1, value, value, c=value, x=value)


def own_time(loop, value, signatures):
    """Of the loop itself, with the cost of tracing in it, as far as that is anyone's time."""
    p = Profile(builtins=False, signatures=signatures, raw=True)
    p.enable()
    loop(value)
    p.disable()
    p.create_stats()
    return sum(v[2] for key, v in p.stats.items() if key[2].split("(")[0] == loop.__name__)


def check_own_time(loop, value, limit, what):
    """The shortest of many rounds, with and without signatures in turns."""
    times = [(own_time(loop, value, False), own_time(loop, value, True)) for _ in range(60)]
    ratio = min(signed for _, signed in times) / min(plainly for plainly, _ in times)
    assert 0 < ratio < limit, "a loop of calls with %s has %.2f times the own time with signatures" % (what, ratio)


def test_what_signatures_cost_is_little_of_a_callers_time(folder):
    """Of calls of empty functions: 1.1 to 1.6 where this was written; to read and look up all anew each time made it 2 and more."""
    check_own_time(loop_with, 1, 2.2, "an integer")
    check_own_time(loop_with_keywords, 1, 2.2, "keywords")
    if numpy:
        check_own_time(loop_with, numpy.zeros((2, 3)), 2.4, "an array")


def test_looking_into_a_table_is_nobodys_time(folder):
    """It takes three to eight times as long as such a call."""
    try:
        import pandas
    except ImportError:
        raise Skip("no pandas for this Python")
    check_own_time(loop_with, pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=["p", "q"]), 3.2, "a table")


def generator(n):
    n = str(n)
    yield 1
    n = [n]
    yield 2


async def awaits(n):
    n = str(n)
    await asyncio.sleep(0)
    n = [n]
    return n


async def asynchronous(n):
    n = [n]
    yield 1
    yield 2


def test_what_goes_on_keeps_the_signature_it_began_with(folder):
    async def all_of():
        await awaits(1)
        async for _ in asynchronous(1.0):
            pass

    def program():
        for n in range(3):
            list(generator(n))
        one, other = generator("x"), generator(2.0)
        for _ in range(3):      # by turns, to their ends
            next(one, None)
            next(other, None)
        asyncio.run(all_of())
    found = counts(program)
    equal({name: n for name, n in found.items() if name.startswith(("gen", "aw", "async"))}, {
        "generator(n:int)": 9, "generator(n:str)": 3, "generator(n:float)": 3, "awaits(n:int)": 2, "asynchronous(n:float)": 3}, "calls and resumes")


def test_one_that_began_before_has_its_function_alone(folder):
    began = generator(1)
    next(began)
    equal(counts(lambda: next(began)).get("generator"), 1, "of a generator that was under way")


def closed(x, y, *z, **w):
    def inner():
        return x, z, w
    y = 1
    return inner


def test_a_generator_that_is_thrown_into_before_its_first_step_has_its_own_signature(folder):
    """Its frame may lie where that of another was."""
    def program():
        for given in "a", 2.5, "b", None, 1, 1:
            if isinstance(given, str):
                list(generator(given))
                continue
            made = generator(given)
            try:
                made.throw(KeyError)
            except KeyError:
                pass
            del made
    for builtins in (False, True):
        equal({name: calls for name, calls in counts(program, builtins=builtins).items() if name.startswith("generator")},
              {"generator(n:str)": 6, "generator(n:float)": 1, "generator(n:NoneType)": 1, "generator(n:int)": 2}, "calls and resumes")


def closed_generator(x):
    yield lambda: x
    x = 1
    yield 2


def gives_cell(cell):
    return lambda: cell


def test_arguments_that_inner_functions_use(folder):
    cell = closed(1, 2).__closure__[0]

    def program():
        closed("x", 2.0, 1, k=None)
        list(closed_generator("x"))
        gives_cell(cell)
        plain(cell)
    for builtins in (False, True):
        equal(counts(program, builtins=builtins), {
            "closed(x:str, y:float, *z:(int), **w:(k:NoneType))": 1, "closed_generator(x:str)": 3, "gives_cell(cell:cell)": 1,
            "plain(a:cell, b:int)": 1}, "signatures, builtins=%s" % builtins)


def test_off_and_on(folder):
    def program():
        plain(1)
    equal(counts(program, signatures=False), {"plain": 1, "program": 1}, "without")
    p = Profile(builtins=False)
    p.enable(signatures=False)
    plain(1)
    p.disable()
    p.enable(signatures=True)
    plain(1)
    p.disable()
    p.create_stats()
    equal(sorted(key[2] for key in p.stats if key[0] == __file__), ["plain", "plain(a:int, b:int)"], "both in one profile")
    equal(rows(compat.Profile(), program)["plain"], (1, 1), "cProfile has none")
    one, other, third = Profile(builtins=False), Profile(builtins=False, signatures=False), Profile(builtins=False, signatures="sizes")
    for p in (one, other, third):
        p.enable()
    plain("x")
    for p in (third, other, one):
        p.disable()
    for p, text in ((one, "plain(a:str, b:int)"), (other, "plain"), (third, "plain(a:str(len=1), b:int(1))")):
        p.create_stats()
        equal([key[2] for key in p.stats if key[0] == __file__], [text], "each of several at once")


def test_getstats_tells_the_code_and_clear_forgets(folder):
    p = Profile(builtins=False)
    rows(p, lambda: plain(1))
    entry, = [e for e in p.getstats() if getattr(e.code, "code", None) is plain.__code__]
    equal((entry.code.co_filename, entry.code.co_firstlineno, entry.code.co_name, entry.callcount),
          (__file__, plain.__code__.co_firstlineno, "plain(a:int, b:int)", 1), "entry")
    import cProfile
    if hasattr(cProfile, "label"):      # up to 3.14
        equal(cProfile.label(entry.code), (__file__, plain.__code__.co_firstlineno, "plain(a:int, b:int)"), "as cProfile labels it")
    p.clear()
    equal(p.getstats(), [], "after clear()")
    equal(rows(p, lambda: plain("x")).get("plain(a:str, b:int)"), (1, 1), "and again")
    equal(pstats.Stats(p).total_calls, 2, "CPython's pstats takes it")


def test_all_threads(folder):
    def work():
        for _ in range(100):
            plain(1.0)
            list(generator(1))

    def program():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    found = counts(program, threads=True)
    equal((found["plain(a:float, b:int)"], found["generator(n:int)"]), (400, 1200), "calls")


# ---- nothing is touched


touched = []


def touch(*what):
    touched.append(what)
    raise RuntimeError("touched: %r" % (what,))


class Meta(type):
    __name__ = property(lambda cls: touch("__name__"))
    __mro__ = property(lambda cls: touch("__mro__"))

    def __getattribute__(cls, name):
        touch("attribute of the type", name)

    def __instancecheck__(cls, o):
        touch("isinstance")

    def __subclasscheck__(cls, o):
        touch("issubclass")

    def __hash__(cls):
        touch("hash of the type")

    def __eq__(cls, other):
        touch("equality of types")


class Hostile(metaclass=Meta):
    __class__ = property(lambda self: touch("__class__"))
    dtype = shape = _mgr = __dict__ = property(lambda self: touch("property"))

    def __getattribute__(self, name):
        touch("attribute", name)

    def __torch_function__(self, *args):
        touch("__torch_function__")

    def __repr__(self):
        touch("__repr__")

    __str__ = __len__ = __hash__ = __array__ = __iter__ = __bool__ = __repr__


class LongList(list):
    def __len__(self):
        touch("__len__")

    def __getattribute__(self, name):
        touch("attribute of a list", name)


class Dict(dict):
    __len__ = __iter__ = keys = LongList.__len__


def test_hostile_arguments_are_never_touched(folder):
    values = [object.__new__(Hostile), LongList(), Dict(a=1)]
    for detail in "types", "lengths", "sizes":
        p = Profile(builtins=True, signatures=detail)
        del touched[:]
        p.enable()
        for value in values:
            plain(value)
            many(value, 1, value, c=value, k=value)
        p.disable()
        equal(touched, [], "what was asked of them, with " + detail)
        p.create_stats()
        names = {key[2] for key in p.stats}
        contains("\n".join(sorted(names)), "plain(a:Hostile, b:int")
        contains("\n".join(sorted(names)), "*rest:(Hostile), c:Hostile, d:NoneType, **more:(k:Hostile)")


def test_arrays_of_hostile_classes(folder):
    need_numpy()

    class Array(numpy.ndarray):
        shape = dtype = property(lambda self: touch("property of an array"))

        def __array_finalize__(self, other):
            pass

        def __getattribute__(self, name):
            touch("attribute of an array", name)

    made = numpy.ndarray.__new__(Array, (3, 4), "f8")
    del touched[:]
    found = counts(lambda: plain(made))
    equal(touched, [], "what was asked of it")
    equal(found.get("plain(a:Array(dtype=float64, shape=(3, 4)), b:int)"), 1, "calls")


# ---- when Python ends


# Followed to the last: what is closed after the modules went, and what it then calls for the first time.
LEFT_ON = """\
import builtins, gc, sys, threading
from sonde import Profile
EXTRA
class Late:
    def __init__(self, left, name):
        self.left, self.name, self.me = left, name, self
    def __del__(self, late=lambda a, b, *rest, **more: (a, b)):
        late(self, self.left, 1, [2], key=3)
        if self.left:
            type(self)(self.left - 1, self.name)
def steps(of):
    try:
        while True:
            yield of
    finally:
        late = lambda a: a
        late(of)
async def asteps(of):
    yield of
def kept(of):
    made = [steps(of), (x for x in [of, of]), Late(2, "late"), (x for x in [of])]  # the last one never starts
    next(made[0]), next(made[1])
    return made
before = [kept(1) for i in range(3)]
profile = Profile(HOW)
profile.enable()
after = [kept("one") for i in range(3)]
sys.never, sys.kept, builtins.kept = (x for x in [1]), (before[0], after[0], asteps(1)), (before[1], after[1])
sys.profile = profile  # it goes after those before it
def endless():
    while True:
        kept(1.0)
threading.Thread(target=lambda: [kept(2) for i in range(50)]).start()
threading.Thread(target=endless, daemon=True).start()
END
"""


def left_on(folder, how, extra, end):
    program = write(folder, "left.py", LEFT_ON.replace("HOW", how).replace("EXTRA", extra).replace("END", end))
    done = run([PYTHON, program], cwd=folder, env=dict(clean_env(), PYTHONPATH=PACKAGE_PATH))
    return done.status, done.err.splitlines()[-1:]


def test_a_profile_that_is_left_on_harms_no_ending(folder):
    for how in "", "threads=True, cpu=True, signatures='sizes'", "builtins=False, signatures='lengths'":
        equal(left_on(folder, how, "", ""), (0, []), "ending, Profile(%s)" % how)
    equal(left_on(folder, "", "", "sys.exit(3)"), (3, []), "ending by sys.exit")
    equal(left_on(folder, "", "", "1 / 0"), (1, ["ZeroDivisionError: division by zero"]), "ending by an exception")
    try:
        import pandas  # noqa: F401
    except ImportError:
        return
    equal(left_on(folder, "", "import pandas; table = pandas.DataFrame({'a': [1]})", "kept(table)"), (0, []), "ending, with pandas")


# A generator that never started is closed in the last collection, where there are no modules any more.
NEVER_BEGUN = """\
import sys
from sonde import Profile
class Left(Profile):
    pass
sys.never = never = (x for x in [1, 2])
profile = Left()
profile.me = profile
profile.enable()
"""


def test_a_generator_that_ends_after_the_modules_harms_no_ending(folder):
    done = run([PYTHON, write(folder, "never.py", NEVER_BEGUN)], cwd=folder)
    equal((done.status, done.err), (0, ""), "ending")


# ---- in captures


PROGRAM = """\
import sys, time
def f(x, n=1): return x
def steps(n):
    n = [n]
    yield n
for i in range(5):
    f([1, 2]); f("abc")
list(steps(1))
if len(sys.argv) > 1:
    print("ready", flush=True)
    time.sleep(600)
"""
TEXTS = ["program.py:1(<module>)", "program.py:2(f(x:list, n:int))", "program.py:2(f(x:str, n:int))", "program.py:3(steps(n:int))"]


def recorded(folder, *options):
    write(folder, "program.py", PROGRAM)
    return run([SONDE, "calls", "--python", PYTHON, "-o", "x.sonde", "--force"] + list(options) + ["program.py"], cwd=folder)


def test_captures_and_reports_have_them(folder):
    equal(recorded(folder, "--signatures").status, 0, "status")
    shown = run([SONDE, "report", "x.sonde"], cwd=folder)
    for text in TEXTS:
        contains(shown.out, text)
    merged = run([SONDE, "report", "--no-signatures", "x.sonde"], cwd=folder)
    row, = [line.split()[0] for line in merged.out.splitlines() if line.endswith("program.py:2(f)")]
    equal(row, "10", "calls of f, whatever it was called with")
    assert ":list" not in merged.out, merged.out
    recorded(folder, "--signatures=sizes")
    contains(run([SONDE, "report", "x.sonde"], cwd=folder).out, "program.py:2(f(x:list(len=2), n:int(1)))")
    wrong = recorded(folder, "--signatures=everything")
    equal(wrong.status, 2, "status of a wrong word")
    contains(wrong.err, "types, lengths or sizes")


def test_a_killed_program_loses_none(folder):
    write(folder, "program.py", PROGRAM)
    program = subprocess.Popen([SONDE, "calls", "--python", PYTHON, "--signatures", "-o", "x.sonde", "program.py", "wait"], cwd=folder, env=clean_env(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, start_new_session=True)
    try:
        equal(program.stdout.readline(), "ready\n", "first line")
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
    shown = run([SONDE, "report", "x.sonde"], cwd=folder)
    for text in TEXTS:
        contains(shown.out, text)


if __name__ == "__main__":
    run_tests(globals())
