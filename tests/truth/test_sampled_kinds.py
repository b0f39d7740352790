# SPDX-License-Identifier: MIT
# interpreters: all
"""Every kind of call that Python has, sampled: generators, coroutines, callbacks of C, deep recursion.

Which calls the program can make is known line by line, so every stack that is not marked as partial
is held against that: who called whom, from which line, and for recursion how deep.  And one function
that all four verbs must name: record, top, dump and run.  Nothing here is a matter of time; a machine
that is busy gives fewer samples, and then one more series is recorded.
"""
import collections
import contextlib
import dis
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, contains, equal, run_tests, sonde, write  # noqa: E402
from sampled import PARTIAL, Samples, sample  # noqa: E402

DEPTH = 2000
LEAST = 10          # samples of each kind: they prove that the kind was seen, the share of it is not asked
SERIES = 5          # at most; one is enough where the machine has time
SECONDS = 0.8

# `#@ a b`: this line calls a and b, by itself or through C or the standard library, and nothing else of this file.
SOURCE = """
import asyncio, re, sys, time
def spin(n):
    for _ in range(n):
        pass

def numbers(n):
    for _ in range(n):
        yield spin(8000)                                    #@ spin
def delegates(n):
    yield from numbers(n)                                   #@ numbers
def by_generators():
    for _ in delegates(4):                                  #@ delegates
        pass

async def innermost():
    spin(8000)                                              #@ spin
    await asyncio.sleep(0)
    spin(8000)                                              #@ spin
async def middle():
    await innermost()                                       #@ innermost
    return 1
async def other_task():
    return await middle()                                   #@ middle
async def outermost():
    await middle()                                          #@ middle
    await asyncio.gather(other_task(), other_task())        #@ other_task
def by_coroutines():
    asyncio.run(outermost())                                #@ outermost other_task

def key(x):
    spin(4000)                                              #@ spin
    return -x
def mapped(x):
    spin(4000)                                              #@ spin
    return x
def replaced(match):
    spin(4000)                                              #@ spin
    return "y"
def by_callbacks():
    sorted(range(6), key=key)                               #@ key
    list(map(mapped, range(6)))                             #@ mapped
    re.sub("x", replaced, "xxxxxx")                         #@ replaced

def down(n):
    if n:
        return down(n - 1)                                  #@ down
    return spin(100000)                                     #@ spin
def by_recursion():
    down(DEPTH)                                             #@ down

def work(end):
    while time.monotonic() < end:
        by_generators()                                     #@ by_generators
        by_coroutines()                                     #@ by_coroutines
        by_callbacks()                                      #@ by_callbacks
        by_recursion()                                      #@ by_recursion
sys.setrecursionlimit(3 * DEPTH)
print("ready", flush=True)
work(time.monotonic() + float(sys.argv[1]))                 #@ work
""".replace("DEPTH", str(DEPTH))

KINDS = "by_generators", "by_coroutines", "by_callbacks", "by_recursion"


def calls_of(source):
    """{(line, function called from there)}, by the marks."""
    return {(number, name) for number, line in enumerate(source.split("\n"), 1) if "#@" in line for name in line.split("#@")[1].split()}


def lines_of(code, found=None):
    """{function: the lines on which it can stand}, by the compiler; on the `def` it stands when its call begins."""
    found = {} if found is None else found
    found[code.co_name] = {line for _, line in dis.findlinestarts(code)} | {code.co_firstlineno}
    for inner in code.co_consts:
        if hasattr(inner, "co_code"):
            lines_of(inner, found)
    return found


CALLS = calls_of(SOURCE)
LINES = lines_of(compile(SOURCE, "kinds.py", "exec"))


def impossible(frames):
    """Why these frames of the program, innermost first, cannot be; or None."""
    if frames[-1].name != "<module>":
        return "begins with %s" % frames[-1].name
    for frame in frames:
        if frame.line not in LINES.get(frame.name, ()):
            return "%s on line %d" % (frame.name, frame.line)
    for inner, outer in zip(frames, frames[1:]):
        if (outer.line, inner.name) not in CALLS:
            return "%s called by %s on line %d" % (inner.name, outer.name, outer.line)
    depth = sum(f.name == "down" for f in frames)
    if depth > DEPTH + 1 or (depth and frames[0].name == "spin" and depth != DEPTH + 1):
        return "%d calls of down below %s" % (depth, frames[0].name)
    return None


def check(samples, seen):
    """Every stack of a capture; counts into `seen` those in which a kind reached its innermost function."""
    samples.adds_up()
    wrong = []
    for s in samples:
        mine = [f for f in s.frames if os.path.basename(f.file or "") == "kinds.py"]
        if s.flags & PARTIAL or not mine:
            continue
        why = impossible(mine)
        if why:
            wrong.append(why)
        elif mine[0].name == "spin":
            seen[mine[-3].name] += s.n
    equal(wrong[:5], [], "impossible stacks, %d of %d" % (len(wrong), len(samples)))


def check_report(path):
    """The table of functions has no other names of this file."""
    result = sonde("report", path, "--json")
    equal(result.status, 0, "status of sonde report (%s)" % result.err.strip())
    names = {row["function"] for row in json.loads(result.out)["functions"] if os.path.basename(row["file"] or "") == "kinds.py"}  # [partial] has none
    equal(names - set(LINES), set(), "functions that the program does not have")
    assert set(KINDS) <= names, names


def all_seen(seen):
    return all(seen[kind] >= LEAST for kind in KINDS)


@contextlib.contextmanager
def running(folder, name, source, *words):
    p = subprocess.Popen([PYTHON, write(folder, name, source)] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=clean_env())
    try:
        equal(p.stdout.readline(), b"ready\n", "first line of the program")
        yield p.pid
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


def test_run(folder):
    program, seen = write(folder, "kinds.py", SOURCE), collections.Counter()
    for _ in range(SERIES):
        _, samples = sample(folder, program, SECONDS, rate=500, options=["--force"])
        check(samples, seen)
        if all_seen(seen):
            break
    assert all_seen(seen), seen
    check_report(samples.path)


def test_record(folder):
    path, seen = os.path.join(folder, "x.sonde"), collections.Counter()
    with running(folder, "kinds.py", SOURCE, "1000") as pid:
        for _ in range(SERIES):
            result = sonde("record", "--force", "-r", "500", "-d", SECONDS, "-o", path, "--pid", pid)
            equal(result.status, 0, "status (%s)" % result.err.strip())
            check(Samples(path), seen)
            if all_seen(seen):
                break
    assert all_seen(seen), seen
    check_report(path)


ONE = """
import time
def turns_for_ever():
    while True:
        pass
print("ready", flush=True)
turns_for_ever()
"""


def test_all_verbs_name_the_same_function(folder):
    svg = os.path.join(folder, "x.svg")
    with running(folder, "one.py", ONE) as pid:
        record = sonde("record", "-d", "0.7", "-o", svg, "--pid", pid)
        top = sonde("top", "--json", "--delay", "0.7", "--duration", "0.7", "--pid", pid)
        dump = sonde("dump", "--pid", pid)
    for verb, result in (("record", record), ("top", top), ("dump", dump)):
        equal(result.status, 0, "status of %s (%s)" % (verb, result.err.strip()))
    with open(svg, encoding="utf-8") as f:
        contains(f.read(), "turns_for_ever", "the flame graph")
    hottest = json.loads(top.out.splitlines()[-1])["functions"][0]
    equal((hottest["name"], os.path.basename(hottest["file"])), ("turns_for_ever", "one.py"), "top's first function")
    # Two of the loop's lines can be where it stands.
    assert re.search(r"\n    turns_for_ever \(one\.py:[45]\)\n    <module> \(one\.py:7\)\n", dump.out), dump.out


run_tests(globals())
