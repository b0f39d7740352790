# SPDX-License-Identifier: MIT
# interpreters: all in CI
"""sonde.compat.objgraph: objgraph's own tests, unchanged, and what it finds beside the original.

objgraph's files are not kept here (fetched.py).  Its tests.py, doctests included, runs with `objgraph` found in the folder of
`sonde compat-path`.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fetched import download, unpack_tests  # noqa: E402
from helpers import PYTHON, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

VERSION = "3.7.0"
SHA256 = "b6ef4b244217410509b257970413b01a979d54df48d2d4055b6941e8679ddbbb"
NOT_CLAIMED = ["doctest_setup_py_works"]  # its setup.py reads the version out of its own objgraph.py


def alias_env(**more):
    return clean_env(PYTHONPATH=sonde("compat-path").out.strip(), **more)


def test_objgraphs_own_tests_pass(folder):
    tests = unpack_tests(folder, download("objgraph", "objgraph-%s.tar.gz" % VERSION, SHA256), "objgraph-%s/" % VERSION)
    original = os.path.join(tests, "objgraph.py")
    os.rename(original, os.path.join(folder, "original.py"))
    result = run([PYTHON, "tests.py", "-v"], cwd=tests, env=alias_env(), limit=300)
    ran = int(re.search(r"Ran (\d+) tests", result.err).group(1))
    failed = [m for m in re.findall(r"^(?:FAIL|ERROR): (\S+)", result.err, re.M)]
    equal(sorted(set(failed)), NOT_CLAIMED, result.err[-1500:])
    skipped = re.search(r"skipped=(\d+)", result.err)  # 3.12.1 counts them apart
    assert ran == 59 or ran + int(skipped.group(1)) == 59, result.err[-300:]
    print("# %d of %d tests" % (ran - len(failed), ran))


WORK = """
import gc, io, json, sys
import objgraph
import original
class Leak:
    pass
kept = [Leak() for i in range(123)]
class Other:
    __module__ = "some.where"
others = [Other(), Other()]
gc.collect()
def tells(og):
    out = io.StringIO()
    og.show_most_common_types(limit=5, file=out)
    stats, long = og.typestats(), og.typestats(shortnames=False)
    found = og.find_backref_chain(kept[7], og.is_proper_module)
    dot = io.StringIO()
    og.show_backrefs([kept[7]], max_depth=4, output=dot, filter=lambda o: o is kept or o is kept[7] or o is globals() or o is sys.modules["__main__"])
    refs = io.StringIO()
    og.show_refs([kept], too_many=3, output=refs, refcounts=False)
    new = {name: len(ids) for name, ids in og.get_new_ids(limit=0).items() if name in ("Leak", "Other")}
    return [stats["Leak"], long["__main__.Leak"], long["some.where.Other"], og.count("Leak"), og.count("some.where.Other"), og.count("nothing"), len(og.by_type("Leak")),
            og.by_type("some.where.Other") == others, [type(o).__name__ for o in found], dot.getvalue(), refs.getvalue(), og.at(id(kept)) is kept, og.at(5) is None,
            og.at_addrs({id(kept), id(others)}) in ([kept, others], [others, kept]), new, set(og.__dict__) >= {"IS_INTERACTIVE", "subprocess"},
            og.count("Leak", kept + [1]), og.typestats(kept), og.typestats(filter=lambda o: type(o) is Other), out.getvalue().count("\\n"),
            len(og.get_leaking_objects([kept[3], object()])), og.is_proper_module(sys), og.is_proper_module(kept)]
a, b = tells(objgraph), tells(original)
near = objgraph.typestats(), original.typestats()
frozen = gc.get_freeze_count()  # 3.12 begins with some; they are counted by us alone
away = [name for name in near[0] if abs(near[0][name] - near[1].get(name, 0)) > 5 + frozen]
public = [name for name in dir(original) if callable(getattr(original, name)) and getattr(original, name).__module__ == "original" and not name.startswith("_")]
print(json.dumps([objgraph.count.__module__, a, b, away, [name for name in public if not hasattr(objgraph, name)]]))
"""


def test_it_finds_what_the_original_finds(folder):
    tests = unpack_tests(folder, download("objgraph", "objgraph-%s.tar.gz" % VERSION, SHA256), "objgraph-%s/" % VERSION)
    os.rename(os.path.join(tests, "objgraph.py"), os.path.join(folder, "original.py"))
    write(folder, "work.py", WORK)
    result = run([PYTHON, "work.py"], cwd=folder, env=alias_env())
    equal(result.status, 0, result.err)
    name, ours, theirs, away, absent = json.loads(result.out)
    equal(name, "sonde.compat.objgraph", "the module that was imported")
    equal(ours, theirs, "answers")
    equal(away, [], "types with another count")
    equal(absent, [], "public functions that are not there")
    contains(ours[9], 'label="kept"')


def test_growth_is_said_in_its_words(folder):
    write(folder, "work.py", """
import objgraph
class MyBigFatObject(object):
    pass
def computate_something(_cache={}):
    _cache[42] = dict(foo=MyBigFatObject(), bar=MyBigFatObject())
    x = MyBigFatObject()
objgraph.show_growth(limit=3)
computate_something()
print("----")
objgraph.show_growth()
chain = objgraph.find_backref_chain(objgraph.by_type("MyBigFatObject")[0], objgraph.is_proper_module)
print([type(o).__name__ for o in chain])
objgraph.show_chain(chain, filename="chain.dot")
""")
    result = run([PYTHON, "work.py"], cwd=folder, env=alias_env())
    equal(result.status, 0, result.err)
    first, second = result.out.split("----\n")
    equal(len(re.findall(r"^\S+ +\d+ +\+\d+$", first, re.M)), 3, first)
    contains(re.sub(" +", " ", second), "MyBigFatObject 2 +2")
    contains(second, "['module', 'dict', 'function', 'tuple', 'dict', 'dict', 'MyBigFatObject']")
    contains(second, "Graph written to chain.dot (7 nodes)")
    with open(os.path.join(folder, "chain.dot")) as f:
        contains(f.read(), "computate_something")


run_tests(globals())
