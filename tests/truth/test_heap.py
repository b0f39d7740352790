# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.heap beside brute force: gc.get_objects, gc.get_referents and sys.getsizeof; what holds what; and nothing of the program is called."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, PYTHON, clean_env, contains, equal, run, run_tests, write  # noqa: E402

HEAD = """
import collections, functools, gc, json, os, random, sys, threading, types
from sonde import heap
"""


def answer(folder, program):
    """What the program prints, as JSON."""
    write(folder, "p.py", HEAD + program)
    result = run([PYTHON, "p.py"], cwd=folder, env=clean_env(PYTHONPATH=PACKAGE_PATH, PYTHONDONTWRITEBYTECODE="1"))
    equal(result.status, 0, result.err)
    return json.loads(result.out)


KINDS = """
class Plain:
    pass
class Slots:
    __slots__ = ("a", "b", "__weakref__")
class SlotsBelow(Slots):
    __slots__ = ("c",)
class Meta(type):
    pass
class List(list):
    pass
class Tuple(tuple):
    pass
class Dict(dict):
    pass
class Int(int):
    pass
class Str(str):
    pass
Pair = collections.namedtuple("Pair", "x y")
def some(n):
    x = [n]
    y = yield x
async def later(n):
    return n
def make(rng, nodes):
    one = lambda: rng.choice(nodes)
    def put(o, **names):
        for name in names:
            setattr(o, name, names[name])
        return o
    def closure():
        cell = one()
        return lambda argument=one(), *, only=one(): cell
    def generator():
        g = some(one())
        next(g)
        return g
    def error():
        e = ValueError(one())
        e.more = one()
        return e
    def class_of():
        return Meta("Made", (Plain,), {"held": one(), "method": closure()})
    return rng.choice([
        lambda: [one() for i in range(rng.randrange(5))], lambda: tuple(one() for i in range(rng.randrange(4))),
        lambda: {str(i): one() for i in range(rng.randrange(4))}, lambda: {i: one() for i in range(rng.randrange(30))},
        lambda: {(i, "x"): one() for i in range(rng.randrange(4))}, lambda: {str(i) for i in range(rng.randrange(40))},
        lambda: frozenset([1.5, "x"]), lambda: put(Plain(), a=one(), b=one()), lambda: put(Slots(), a=one()),
        lambda: put(SlotsBelow(), a=one(), c=one()), lambda: collections.deque([one() for i in range(rng.randrange(100))]),
        lambda: collections.OrderedDict(a=one(), b=one()), lambda: collections.defaultdict(list, a=one()),
        lambda: types.SimpleNamespace(a=one()), lambda: functools.partial(print, one(), key=one()), closure, generator, error, class_of,
        lambda: List([one(), one()]), lambda: Tuple([one(), one()]), lambda: put(Dict(a=one()), more=one()), lambda: Pair(one(), one()),
        lambda: put(Plain(), **{"x%d" % i: one() for i in range(40)}), lambda: iter([one()]), lambda: map(str, [one()]),
        lambda: types.MethodType(print, one() or 1), lambda: put(types.ModuleType("made"), a=one()), lambda: property(one()),
        lambda: Int(5), lambda: Int(0), lambda: Str("text"), lambda: Str("\\u00e9"), lambda: rng.choice([0, -1, 5, 2 ** 30, -2 ** 90, 1.5, True]),
        lambda: rng.choice(["", "plain", "\\u00e9t\\u00e9", "\\u20ac" * 9, "\\U0001f600", b"", b"x" * 99, None, 1j]),
        lambda: bytearray(rng.randrange(99)), lambda: range(3), lambda: slice(one(), one()),
        lambda: functools.lru_cache(maxsize=9)(closure()), lambda: memoryview(b"abc"), lambda: type("T", (), {}), lambda: __import__("array").array("d", [1, 2]),
    ])()
def graph(seed, n):
    rng = random.Random(seed)
    nodes = [0, "first"]
    while len(nodes) < n:
        nodes.append(make(rng, nodes))
    for o in nodes:  # loops, too
        if type(o) is list:
            o.append(rng.choice(nodes))
        elif type(o) is Plain:
            o.later = rng.choice(nodes)
    return nodes
"""


def test_sizes_references_and_types_of_random_graphs(folder):
    got = answer(folder, KINDS + """
import abc, array, ctypes, enum, io
wrong = []
n = 0
for seed in range(20):
    nodes = graph(seed, 400)
    for o in nodes:
        if type(o) is str:
            o.encode()  # some remember that
    gc.disable()
    classes = [type, object, int, dict, Plain, Meta, functools.partial, ctypes.c_int, ctypes.c_char_p, ctypes.Structure, type(ctypes.c_int), enum.Enum, enum.IntFlag,
               abc.ABC, collections.deque, Exception, type(len), io.BytesIO, io.BytesIO(b"x" * 99), io.StringIO("text"), io.TextIOWrapper, array.array, Pair]
    s = heap.snapshot()
    s.held(nodes)
    for o in nodes + classes:
        if type(o) is int:
            continue  # an int is an address
        n += 1
        if o not in s:
            wrong.append(["absent", type(o).__name__])
            continue
        if s.size(o) != sys.getsizeof(o):
            wrong.append(["size", type(o).__name__, s.size(o), sys.getsizeof(o)])
        if s.referents(o) != [id(x) for x in gc.get_referents(o)]:
            wrong.append(["references", type(o).__name__])
        for x in gc.get_referents(o):
            if s.referrers(id(x)).count(id(o)) != s.referents(o).count(id(x)):
                wrong.append(["referrers", type(x).__name__])
    ints = [o for o in nodes if type(o) is int]
    if any(s.size(id(o)) != sys.getsizeof(o) for o in ints):
        wrong.append("int")
    gc.enable()
print(json.dumps([wrong[:20], len(wrong), n > 5000]))
""")
    equal(got, [[], 0, True], "what differs from gc and sys.getsizeof")


def test_every_object_is_found(folder):
    got = answer(folder, KINDS + """
nodes = graph(1, 3000)
frozen = [[1], [2]]
gc.collect()
gc.freeze()
late = [[3]]
gc.disable()
def closure():  # ints are left out: its own sets have as many of them
    pending = gc.get_objects()
    seen = set(map(id, pending))
    seen_no_ints = set(seen)
    mine = {id(pending), id(seen), id(seen_no_ints)}
    while pending:
        new = {id(x): x for x in gc.get_referents(*pending)}
        mine.add(id(new))
        pending = [x for i, x in new.items() if i not in seen]
        seen.update(map(id, pending))
        seen_no_ints.update(id(x) for x in pending if type(x) is not int)
        mine.add(id(pending))
    return seen_no_ints - mine
s = heap.snapshot()
t = heap.snapshot(graph=False)
gc.unfreeze()
brute = closure()
every = set(s._found.all().addresses)
no_ints = every - set(s.find(int).addresses)
print(json.dumps([len(every) == s.count == len(set(every)), len(no_ints - brute) < 60, len(brute - every) < 60, frozen in s and frozen[1] in s and late in s,
                  len(brute) > 10000, abs(t.count - s.count) < 60, abs(t.bytes - s.bytes) < 20000, t.edges is None, s.edges > s.count / 2,
                  s.bytes == sum(row.bytes for row in s.by("type")) == sum(map(s.size, every))]))
""")
    equal(got, [True] * 10, "what is found, in numbers")


def test_nothing_is_made_collected_or_called(folder):
    got = answer(folder, """
called = []
def teller(name):
    def tell(self, *args, **kwargs):
        called.append(name)
        raise RuntimeError(name)
    return tell
names = ["__repr__", "__str__", "__eq__", "__hash__", "__len__", "__bool__", "__iter__", "__getattribute__", "__getattr__", "__sizeof__", "__dir__",
         "__contains__", "__getitem__", "__call__", "__del__", "__reduce__", "__format__", "__lt__", "__index__", "__int__", "__instancecheck__", "__subclasscheck__"]
class Meta(type):
    pass
for name in names:
    if name not in ("__del__", "__hash__", "__eq__", "__getattribute__"):
        setattr(Meta, name, teller("Meta." + name))
Touchy = Meta("Touchy", (), {name: teller(name) for name in names})
class Held(list):
    def __sizeof__(self):
        called.append("sizeof of Held")
        return 1
object_new = object.__new__
touchy = [object_new(Touchy) for i in range(3)]
held = Held([1, 2])
key = {}
class Key:
    def __hash__(self):
        return 7
    def __eq__(self, other):
        called.append("__eq__ of a key")
        return self is other
    def __repr__(self):
        called.append("repr of a key")
keys = {Key(): touchy[0], Key(): 2}
called.clear()
collected = []
gc.callbacks.append(lambda phase, info: collected.append(phase))
gc.disable()
before = len(gc.get_objects())
from sonde import _sonde
s = _sonde.heap_snapshot(True, 0)
after = len(gc.get_objects()) - before  # a snapshot is not tracked; the list of get_objects and a name may be
s = heap.snapshot()
text = str(s)
for kind in ("type", "owner", "size", "module", "referrers"):
    str(s.by(kind))
for x in touchy + [keys, held]:
    s.size(x), s.retained(x), s.dominator(x), s.referents(x), s.referrers(x), str(s.path(x)), [str(p) for p in s.paths(x, 3)], str(heap.why_alive(x))
s.find(Touchy).retained, s.find("Touchy").count
str(heap.snapshot() - s)
heap.show_backrefs(touchy[0])._repr_svg_()
heap.show_refs(keys)._repr_svg_()
heap.show_refs([keys, held], filename="x.dot")
import io
heap.show_growth(file=io.StringIO())
heap.show_most_common_types(file=io.StringIO())
s.suspects()
seen = list(called)
plain = list.__sizeof__(held) + sys.getsizeof([]) - [].__sizeof__()
size = s.size(held)
for name in names:
    setattr(Meta, name, None) if name not in ("__getattribute__", "__hash__", "__eq__", "__del__") else None
    type.__delattr__(Touchy, name)
print(json.dumps([seen, collected, abs(after) <= 2, size >= plain and size < plain + 64]))
sys.stdout.flush()
os._exit(0)
""")
    equal(got, [[], [], True, True], "what of the program was called")


LEAKS = """
class Leak:
    __slots__ = ("next",)
def by_default(a, cache={}):
    cache[a] = Leak()
by_default("key")
GLOBAL = [Leak()]
class Holder:
    shared = {"it": Leak()}
def closing():
    kept = Leak()
    def inner():
        return kept
    return inner
inner = closing()
callbacks = [functools.partial(print, Leak())]
@functools.lru_cache(maxsize=None)
def cached(n):
    return Leak()
cached(3)
class Slotted:
    __slots__ = ("value",)
slotted = Slotted()
slotted.value = Leak()
def produce():
    waiting = Leak()
    yield waiting
generator = produce()
next(generator)
running, end = threading.Event(), threading.Event()
def body():
    mine = Leak()
    running.set()
    end.wait(60)
thread = threading.Thread(target=body)
thread.daemon = True
thread.start()
running.wait(60)
queue = collections.deque(["x", Leak()])
def failing():
    broken = Leak()
    raise ValueError
try:
    failing()
except ValueError as why:
    error = why
import ctypes
def lose():
    lost = Leak()
    lost.next = None
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
    return id(lost)
address = lose()
s = heap.snapshot()
paths = [s.path(x) for x in s.find(Leak).addresses]
"""


def test_holders_are_named(folder):
    got = answer(folder, LEAKS + """
print(json.dumps([[p.root, p.text, [step.name for step in p], p[-1].type] for p in paths] + [s.find(Leak).count, s.path(address).root]))
end.set()
""")
    root, count = got.pop(), got.pop()
    equal([root, count, len(got)], ["C", 12, 12], "the leaked count of references, and all of them")
    equal({p[3] for p in got}, {"__main__.Leak"}, "types")
    texts = sorted(p[1] for p in got)
    wanted = ["__main__.by_default(default of cache)['key']", "__main__.GLOBAL[0]", "__main__.Holder.shared['it']",
              "__main__.inner(closure variable kept)", "__main__.callbacks[0].args[0]", "__main__.slotted.value",
              "__main__.queue[1]"]
    for text in wanted:
        contains("\n".join(texts), text)
    rest = [text for text in texts if text not in wanted]
    for pattern in (r"__main__\.cached.*", r"__main__\.generator.*waiting in produce.*", r"mine in body, thread \d+.*|.*mine in body.*",
                    r"__main__\.error\.__traceback__.*broken in failing.*", r"references that C holds|__main__.Leak"):
        if not any(re.fullmatch(pattern, text) for text in rest):
            raise AssertionError("no path like %s among %r" % (pattern, rest))
    named = {p[1]: p[2] for p in got}
    equal(named["__main__.GLOBAL[0]"][-1], "[0]", "the name of a step")
    equal(named["__main__.GLOBAL[0]"][0], "__main__", "the root's")


def test_why_alive_says_more_than_the_variable_that_asks(folder):
    got = answer(folder, """
class Fat:
    pass
def compute(_cache={}):
    _cache[42] = dict(foo=Fat(), bar=Fat())
compute()
def ask():
    local = compute.__defaults__[0][42]["foo"]
    alone = Fat()
    return [heap.why_alive(local).text, heap.why_alive(alone).text, heap.why_alive(alone).root, str(heap.why_alive(local))]
gone = Fat()
gone.me = gone
gc.disable()
address = id(gone)
del gone
s = heap.snapshot()
print(json.dumps(ask() + [s.path(address), address in s.garbage, s.garbage.count >= 1, heap.why_alive(Fat) is not None]))
""")
    equal(got[0], "__main__.compute(default of _cache)[42]['foo']", "the way from the module")
    contains(got[1], "alone in ask, main thread")
    equal(got[2], "thread", "a variable is a root of its thread")
    contains(got[3], "__main__.Fat at 0x")
    equal(got[4:], [None, True, True, True], "garbage")


def test_retained_and_dominators_of_known_holders(folder):
    got = answer(folder, """
class Node:
    __slots__ = ("next", "load")
store = {}
for i in range(500):
    store[1000.5 + i] = [bytes(100 + i), (i + 0.25,)]
shared = [object()]
store["a"] = [shared[0]]
head = None
for i in range(2000):
    n = Node(); n.next = head; n.load = bytes(50)
    head = n
n = None
s = heap.snapshot()
size = sys.getsizeof
parts = size(store) + sum(size(k) + (size(v) + size(v[0]) + size(v[1]) + size(v[1][0]) if type(k) is float else size(v)) for k, v in store.items() if type(k) is float) + size(store["a"])
chain = 2000 * (size(head) + size(head.load))
value = store[1000.5]
first = head.next
print(json.dumps([s.retained(store) - parts, s.retained(head) - chain, s.find(Node).retained - chain, s.dominator(value) == id(store), s.dominator(first) == id(head),
                  s.dominator(shared[0]) not in (id(store["a"]), id(shared)), s.find(Node).count, {row.name: row.retained for row in s.by("type")}["__main__.Node"] - chain,
                  s.path(first).text, len(s.paths(shared[0], 5)), sorted(p.text for p in s.paths(shared[0], 2))]))
""")
    equal(got[:8], [0, 0, 0, True, True, True, 2000, 0], "retained bytes and dominators")
    equal(got[8], "__main__.head.next", "slots are named")
    equal(got[9] >= 2, True, "two ways at least")
    equal(got[10], ["__main__.shared[0]", "__main__.store['a'][0]"], "the shortest ways")


def test_differences_growth_and_sets(folder):
    got = answer(folder, """
class Fat:
    def __init__(self):
        self.load = bytes(1000)
class Thin:
    pass
old = [Thin() for i in range(10)]
a = heap.snapshot()
kept = [Fat() for i in range(5000)]
del old[5:]
b = heap.snapshot()
kept += [Fat() for i in range(100)]
c = heap.snapshot()
d = b - a
rows = {row.name: row for row in d.rows}
fat = b.find(Fat)
some = b.find("Thin") | fat
grown = {row.name: row for row in heap.growth(a, b, c)}
text = str(d).splitlines()
print(json.dumps([rows["__main__.Fat"].count_delta, rows["bytes"].count_delta >= 5000, abs(rows["bytes"].bytes_delta - 5000 * sys.getsizeof(bytes(1000))) < 50000,
                  rows["__main__.Thin"].count_delta, (d.added & fat).count, some.count, len(some - fat), (some & fat).count, (fat ^ some).count,
                  fat.bytes == 5000 * sys.getsizeof(kept[0]), kept[3] in fat, kept in fat, fat.retained > 5000 * 1000, grown["__main__.Fat"].rises, grown["__main__.Fat"].count_delta,
                  id(kept[0]) in set(fat.addresses), any("bytes" in line for line in text[:8]), any("+5,000" in line and "Fat" in line for line in text[:8]),
                  [row.count for row in b.by("type", of=some)], d.gone.count > 0]))
""")
    equal(got, [5000, True, True, -5, 5000, 5005, 5, 5000, 5, True, True, False, True, 2, 5100, True, True, True, [5000, 5], True], "differences and sets")


def test_suspects_and_printing(folder):
    got = answer(folder, """
class Session:
    def __init__(self, i):
        self.data = bytearray(500)
class Cache:
    def __init__(self):
        self._store = {i: Session(i) for i in range(40000)}
cache = Cache()
s = heap.snapshot()
one = s.suspects()[0]
import io
out = io.StringIO()
heap.show_growth(file=out)
out = io.StringIO()
new = [Session(1) for i in range(50)]
heap.show_growth(limit=1, file=out)
common = io.StringIO()
heap.show_most_common_types(limit=3, file=common)
print(json.dumps([one["sentence"], one["holds"], one["count"], one["address"] == id(cache._store), one["share"] > 0.5, str(s).splitlines()[0], out.getvalue().splitlines(),
                  len(common.getvalue().splitlines()), repr(s)]))
""")
    contains(got[0], "hang on the dict __main__.cache._store: 40,000 __main__.Session")
    equal(got[1:5], ["__main__.Session", 40000, True, True], "the suspect")
    equal(got[5], got[0], "suspects come first in a report")
    contains(got[6][1], "+50")
    equal(len(got[6]), 2, "a head and one row")
    equal(got[7], 4, "a head and three rows")
    contains(got[8], "<Snapshot of ")


def test_pictures(folder):
    got = answer(folder, """
class MyBigFatObject:
    pass
def compute(_cache={}):
    _cache[42] = dict(foo=MyBigFatObject(), bar=MyBigFatObject())
compute()
heap.show_backrefs(compute.__defaults__[0][42]["foo"], filename="chain.svg")
heap.show_backrefs([compute.__defaults__[0][42]["foo"]], max_depth=10, filename="chain.dot")
heap.show_refs(compute, max_depth=5, filename="refs.dot")
heap.show_backrefs(compute.__defaults__[0][42]["foo"], max_depth=1, filename="near.dot")
try:
    heap.show_refs(compute, filename="refs.dot")
    refused = None
except FileExistsError as why:
    refused = str(why)
heap.show_refs(compute, max_depth=5, filename="refs.dot", force=True)
try:
    heap.show_refs(compute, filename="refs.bmp")
except ValueError as why:
    bad = str(why)
print(json.dumps([refused, bad, open("chain.svg").read(), open("chain.dot").read(), open("refs.dot").read(), open("near.dot").read(), sorted(os.listdir("."))]))
""")
    contains(got[0], "refs.dot")
    equal(got[1], "a picture is written as .svg or .dot, not .bmp", "the sentence")
    contains(got[2], "<svg")
    for text in got[2:6]:
        contains(text, "foo")
        contains(text, "MyBigFatObject")
    equal(got[3].startswith("digraph") and "->" in got[3], True, "DOT")
    contains(got[3], "default of _cache") if "default of _cache" in got[3] else contains(got[3], "__defaults__")
    equal(got[5].count("label=\"__main__"), 1, "boxes of our classes")
    equal("frame" in got[5], False, "our own functions are in no picture")
    equal([name for name in got[6] if name.startswith("refs")], ["refs.dot"], "nothing half written")


def test_refusals(folder):
    got = answer(folder, """
def said(do):
    try:
        do()
    except Exception as why:
        return [type(why).__name__, str(why)]
class Session:
    pass
keep = Session()
s = heap.snapshot()
t = heap.snapshot(graph=False)
late = Session()
print(json.dumps([said(lambda: t.retained(keep)), said(lambda: t.by("owner")), said(lambda: s.by("colour")), said(lambda: s.size(late)), said(lambda: s.size(12345)),
                  said(lambda: s.find("Sesion")), said(lambda: s.find(3)), said(lambda: s.find("dict") & heap.snapshot().find("dict")), said(lambda: heap.growth(s)),
                  said(lambda: type(s._found)()), said(lambda: type(s.find("dict"))()), said(lambda: s - 1), late in s, t.size(keep) == sys.getsizeof(keep), [row.retained for row in t.by("type")][0]]))
""")
    kinds = [one[0] for one in got[:12]]
    equal(kinds, ["ValueError", "ValueError", "ValueError", "LookupError", "LookupError", "LookupError", "TypeError", "ValueError", "ValueError", "TypeError", "TypeError", "TypeError"], got)
    contains(got[0][1], "graph=True")
    contains(got[2][1], "type, owner, size, module and referrers")
    contains(got[3][1], "is not in the snapshot")
    contains(got[5][1], "the nearest name is Session")
    equal(got[12:], [False, True, None], "what is not in it; sizes without references")


def test_other_threads_and_generators_at_work(folder):
    """Snapshots beside threads that make and drop objects all the time, and within generators and finalizers."""
    got = answer(folder, """
import time
end = time.monotonic() + 3
def churn():
    def numbers(n):
        held = [n]
        for i in range(n):
            yield {i: held}
    while time.monotonic() < end:
        kept = [list(numbers(20)) for i in range(20)]
        kept.append(kept)
threads = [threading.Thread(target=churn) for i in range(4)]
for t in threads:
    t.start()
n = 0
class Late:
    def __del__(self):
        global n
        n += heap.snapshot().count > 0
def walk():
    while time.monotonic() < end:
        late = Late()
        late.me = late
        s = heap.snapshot()
        yield s.count, sum(row.count for row in s.by("referrers")), s.retained(threads)
good = all(count == total and retained > 0 for count, total, retained in walk())
for t in threads:
    t.join()
gc.collect()
print(json.dumps([good, n > 0]))
""")
    equal(got, [True, True], "snapshots beside work")


run_tests(globals())
