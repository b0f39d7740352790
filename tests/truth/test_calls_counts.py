# SPDX-License-Identifier: MIT
# interpreters: all
"""Every call is counted, by whom and how deep: the same figures as cProfile's own, function by function.

cProfile is the truth here; its getstats() tells code objects apart, which its files do not.  Where
cProfile itself is wrong (threads on 3.12 and later) the truth is what the program does.
"""
import asyncio
import cProfile
import gc
import os
import random
import sys
import threading
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, PYTHON, SONDE, Skip, Ticking, clean_env, contains, equal, need, run, run_tests, sonde, write  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import _sonde  # noqa: E402

Profile = _sonde.Profile


def name_of(code):
    """A C function's name, without that of the profiler's own type."""
    return code.replace("_lsprof.Profiler", "sonde.Profile") if isinstance(code, str) else code


def figures(profile):
    """{function: (calls, recursive calls, {callee: (calls, recursive calls)})}"""
    found = {}
    for entry in profile.getstats():
        assert name_of(entry.code) not in found, "%r twice" % (entry.code,)
        callees = {name_of(c.code): (c.callcount, c.reccallcount) for c in entry.calls or ()}
        found[name_of(entry.code)] = (entry.callcount, entry.reccallcount, callees)
    return found


def under(profile, function, **asked):
    """From 3.14 on cProfile's enable() forgets what its constructor was told, so it is told again."""
    profile.enable(**asked)
    try:
        function()
    finally:
        profile.disable()
    return figures(profile)


# How many paths are kept: all of them, or so few that most calls are counted by caller and callee.
NODES = (None, 2, 7)


def compare(function, what):
    """Runs it under cProfile and under ours, with C functions and without."""
    function()  # what happens only once has happened
    for builtins in (True, False):
        wanted = under(cProfile.Profile(builtins=builtins), function, builtins=builtins)
        if not builtins:  # cProfile sees its own disable() on 3.12 and later, whatever it was told
            wanted = {key: value for key, value in wanted.items() if not isinstance(key, str)}
        for nodes in NODES:
            got = under(Profile(builtins=builtins, nodes=nodes), function)
            if not builtins:
                got = {key: value for key, value in got.items() if not isinstance(key, str)}
            for key in set(wanted) | set(got):
                equal(got.get(key), wanted.get(key), "%s, builtins=%s, nodes=%s: %s" % (what, builtins, nodes, key))
            assert len(got) > 1 or not builtins, "nothing was counted"


# ---- programs of one thread


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def test_recursion(folder):
    compare(lambda: fib(14), "fib")


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def test_mutual_recursion(folder):
    compare(lambda: [even(n) for n in range(30)], "even and odd")


def counting(n):
    for i in range(n):
        yield i


def chained(n):
    yield from counting(n)
    yield from counting(n)


def test_generators(folder):
    def program():
        list(chained(7))
        sum(i for i in counting(5))
        left = counting(9)
        next(left)
        left.close()
        thrown = counting(9)
        next(thrown)
        try:
            thrown.throw(KeyError)
        except KeyError:
            pass
        next(counting(3))  # dropped while it is suspended
    compare(program, "generators")


def test_starts_are_told_from_resumes(folder):
    """ncalls counts both, as cProfile's; a capture tells them apart (test_calls_captured)."""
    p = Profile(builtins=False)
    found = under(p, lambda: list(counting(10)))
    equal(found[counting.__code__][0], 11, "calls of a generator of ten")


def raising(n):
    if n == 0:
        raise ValueError(n)
    raising(n - 1)


def test_exceptions(folder):
    def program():
        for n in range(5):
            try:
                raising(n)
            except ValueError:
                pass
        try:
            len(5)
        except TypeError:
            pass
        try:
            fib()
        except TypeError:
            pass
        try:
            [].append()
        except TypeError:
            pass
    compare(program, "exceptions")


class Shape:
    count = 0

    def __init__(self, n):
        self.n = n
        super().__init__()

    @property
    def area(self):
        return self.side() ** 2

    def side(self):
        return abs(self.n)

    @classmethod
    def make(cls, n):
        return cls(n)

    @staticmethod
    def helper(x):
        return max(x, 1)

    def __lt__(self, other):
        return self.area < other.area

    def __del__(self):
        Shape.helper(self.n)


class Square(Shape):
    def __init__(self, n):
        super().__init__(n)

    def side(self):
        return super().side()


def test_objects(folder):
    def program():
        shapes = [Shape.make(n) for n in range(5)] + [Square(n) for n in range(5)]
        sorted(shapes)
        max(shapes, key=lambda s: s.area)
        del shapes
    compare(program, "objects")


def test_callbacks_from_c(folder):
    def program():
        list(map(lambda x: x + 1, range(10)))
        sorted(range(10), key=lambda x: -x)
        "".join(map(str, filter(lambda x: x % 2, range(10))))
        {str(i): [i].append(i) for i in range(5)}
        "a-b-c".split("-").index("b")
        getattr("x", "upper")()
        print(end="")
    compare(program, "callbacks")


def test_one_call_site_of_many_kinds(folder):
    """The same instruction calls Python, C, a class, a bound method and a partial in turn."""
    from functools import partial

    class Plain:
        def __init__(self, given):
            self.given = given

    def program():
        for f in (fib, len, Plain, [].append, partial(fib, 3), fib, str, len):
            for argument in ("a", 3, [1]):
                try:
                    f(argument)
                except TypeError:
                    pass
        for f in (str.upper, fib, len, str.upper):  # cProfile raises when a method gets an object of another type
            for argument in ("a", "b"):
                try:
                    f(argument)
                except TypeError:
                    pass
    compare(program, "call sites")


def test_deep_recursion(folder):
    def down(n):
        return n and down(n - 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)
    try:
        compare(lambda: down(2000), "deep")
    finally:
        sys.setrecursionlimit(limit)


def test_recursion_without_end(folder):
    def down():
        return down()

    def program():
        try:
            down()
        except RecursionError:
            return
        raise AssertionError("no RecursionError")
    program()
    p = Profile(builtins=False)
    found = under(p, program)
    calls, recursive, _ = found[down.__code__]
    assert calls > 100 and recursive == calls - 1, (calls, recursive)
    equal(under(Profile(builtins=False), lambda: fib(3))[fib.__code__][0], 5, "fib after it")


async def leaf(n):
    await asyncio.sleep(0)
    return n


async def agen(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def tasks():
    await asyncio.gather(*[leaf(i) for i in range(5)])
    return [i async for i in agen(3)]


def test_coroutines(folder):
    """Only what the program itself defines: how often the loop turns depends on the clock."""
    def program():
        asyncio.run(tasks())
    program()
    ours = (leaf.__code__, agen.__code__, tasks.__code__)
    wanted = under(cProfile.Profile(builtins=False), program, builtins=False)
    got = under(Profile(builtins=False), program)
    for code in ours:
        equal(got[code][:2], wanted[code][:2], code.co_name)
        equal({k: v for k, v in got[code][2].items() if k in ours}, {k: v for k, v in wanted[code][2].items() if k in ours},
              "callees of " + code.co_name)


# ---- random programs


def random_functions(seed):
    """Functions that call each other at random, all of them alike in name and file."""
    rng = random.Random(seed)
    n = rng.randrange(2, 7)
    plans = [[(rng.randrange(n), rng.random() < 0.2, rng.random() < 0.15) for _ in range(rng.randrange(4))] for _ in range(n)]
    functions = []

    def make(i):
        source = ("def f(depth):\n"
                  "    if depth <= 0:\n        return len('x')\n"
                  "    for callee, raises, by_map in plans[%d]:\n"
                  "        try:\n"
                  "            if by_map:\n                list(map(functions[callee], [depth - 2]))\n"
                  "            else:\n                functions[callee](depth - 1)\n"
                  "            if raises:\n                raise KeyError(depth)\n"
                  "        except KeyError:\n            pass\n" % i)
        names = {"plans": plans, "functions": functions}
        exec(compile(source, "<same>", "exec"), names)
        return names["f"]
    functions.extend(make(i) for i in range(n))
    return functions


def test_random_recursive_programs(folder):
    for seed in range(60):
        functions = random_functions(seed)
        compare(lambda: functions[0](5), "seed %d" % seed)


def times(profile, function):
    """{function: (own, total, {callee: (own, total)})}, in ticks"""
    profile.enable()
    function()
    profile.disable()
    return {name_of(e.code): (e.inlinetime, e.totaltime, {name_of(c.code): (c.inlinetime, c.totaltime) for c in e.calls or ()})
            for e in profile.getstats()}


def test_times_are_exact_at_any_number_of_paths(folder):
    """Own and cumulative, of functions and of pairs, to the tick."""
    programs = [lambda: fib(12), lambda: [even(n) for n in range(20)], lambda: list(chained(7))]
    for seed in range(20):
        programs.append(lambda functions=random_functions(seed): functions[0](5))
    n_beyond = 0
    for n, program in enumerate(programs):
        program()
        wanted = times(cProfile.Profile(Ticking(), 1.0), program)
        for nodes in NODES:
            p = Profile(Ticking(), 1.0, nodes=nodes)
            got = times(p, program)
            for key in set(wanted) | set(got):
                equal(got.get(key), wanted.get(key), "program %d, nodes=%s: %s" % (n, nodes, key))
            n_beyond += p.folded
    assert n_beyond > 1000, "few calls were beyond the tree: %d" % n_beyond


def test_calls_beyond_the_tree_are_told_of(folder):
    p = Profile(builtins=False, nodes=2)
    under(p, lambda: fib(10))
    equal(p.folded, 177, "all calls of fib")
    for wrong in (0, 1, -5, 16000001):
        try:
            Profile(nodes=wrong)
        except ValueError:
            continue
        raise AssertionError("nodes=%d" % wrong)


def test_a_look_at_a_profile_that_runs_beyond_the_tree(folder):
    p = Profile(builtins=False, nodes=2)

    def outer():
        return inside()

    def inside():
        fib(4)
        return figures(p)
    p.enable()
    found = outer()
    p.disable()
    assert inside.__code__ not in found and outer.__code__ not in found, "what runs is not counted yet"
    equal(found[fib.__code__][0], 9, "what has ended is")
    equal(figures(p)[inside.__code__][:2], (1, 0), "afterwards")


# ---- real modules


def test_the_standard_library(folder):
    need(not (3, 11, 0) <= sys.version_info[:3] < (3, 11, 4), "Python 3.11 before 3.11.4 does not tell of every __getitem__ (docs/calls.md)")
    import ast
    import json.decoder
    import json.encoder
    import re
    import tokenize
    from io import StringIO

    source = "def f(x, *y):\n    return [x + 1 for x in y if x] or {'a': (1, 2.5, None)}\n" * 10

    def program():
        getattr(re, "purge")()
        re.compile(r"(?P<a>[a-z]+)|\d{2,3}(?:x|y)*?$")
        ast.dump(ast.parse(source))
        list(tokenize.generate_tokens(StringIO(source).readline))
        json.encoder.JSONEncoder(indent=1).encode({"a": [1, 2, {"b": None}]})
        json.loads('{"a": [1, 2, {"b": null}]}')
    gc.disable()
    try:
        compare(program, "standard library")
    finally:
        gc.enable()


# ---- several profiles


def test_profiles_at_once_see_the_same(folder):
    outer, inner = Profile(builtins=False), Profile(builtins=False)
    outer.enable()
    fib(5)
    inner.enable()
    fib(7)
    inner.disable()
    fib(4)
    outer.disable()
    equal(figures(inner)[fib.__code__][0], 41, "the inner one's calls")
    equal(figures(outer)[fib.__code__][0], 15 + 41 + 9, "the outer one's calls")


def test_profiles_that_overlap(folder):
    first, second = Profile(), Profile(builtins=False)
    first.enable()
    fib(3)
    second.enable()
    fib(3)
    first.disable()
    fib(3)
    second.disable()
    equal(figures(first)[fib.__code__][0], 10, "the first one's")
    equal(figures(second)[fib.__code__][0], 10, "the second one's")
    equal([k for k in figures(second) if isinstance(k, str)], [], "C functions in the second one")


def test_enable_and_disable_inside_calls(folder):
    p = Profile(builtins=False)

    def starts():
        p.enable()
        fib(2)

    def stops():
        fib(3)
        p.disable()
    starts()
    stops()
    fib(10)
    found = figures(p)
    equal(found[fib.__code__], (3 + 5, 2 + 4, {fib.__code__: (6, 2)}), "fib")
    equal(found[stops.__code__][:2], (1, 0), "what was open is counted")
    assert starts.__code__ not in found, "what ran before is not"
    p.enable()
    fib(2)
    p.disable()
    equal(figures(p)[fib.__code__][0], 11, "a second time adds up")
    p.clear()
    equal(p.getstats(), [], "after clear()")


def test_enable_and_disable_while_calls_are_open_beyond_the_tree(folder):
    """Whatever is open is ended by disable(); after the next enable() what runs is below everything, as in cProfile."""
    def leaf():
        pass

    def inner(p, depth):
        leaf()
        if depth:
            inner(p, depth - 1)
        else:
            p.disable()
            leaf()              # not followed
            p.enable()
        leaf()

    def outer(p):
        leaf()
        inner(p, 3)
        fib(4)

    def program(p):
        p.enable()
        outer(p)
        fib(3)
        p.disable()
        leaf()
        p.enable()
        outer(p)
        p.disable()
        return {key: value for key, value in figures(p).items() if not isinstance(key, str)}

    wanted = program(cProfile.Profile(builtins=False))
    for key in (leaf, inner, outer, fib):
        assert wanted[key.__code__][0] > 1, "cProfile has %r" % (wanted,)
    for nodes in NODES:
        got = program(Profile(builtins=False, nodes=nodes))
        for key in set(wanted) | set(got):
            for entry in (wanted, got):     # callees of C functions are not wanted here
                entry[key] = entry[key][:2] + ({k: v for k, v in entry[key][2].items() if not isinstance(k, str)},)
            equal(got.get(key), wanted.get(key), "nodes=%s: %s" % (nodes, key))


def test_a_look_at_a_running_profile(folder):
    p = Profile(builtins=False)

    def inside():
        fib(4)
        return figures(p)
    p.enable()
    found = inside()
    p.disable()
    assert inside.__code__ not in found, "what runs is not counted yet"
    equal(found[fib.__code__][0], 9, "what has ended is")
    equal(figures(p)[inside.__code__][0], 1, "afterwards")


def test_beside_cprofile(folder):
    theirs, p = cProfile.Profile(builtins=False), Profile(builtins=False)
    theirs.enable(builtins=False)
    p.enable()
    fib(8)
    p.disable()
    theirs.disable()
    equal(figures(p)[fib.__code__], figures(theirs)[fib.__code__], "fib")
    equal(under(cProfile.Profile(builtins=False), lambda: fib(6), builtins=False)[fib.__code__][0], 25, "cProfile alone, afterwards")


def test_a_profile_that_is_dropped_while_it_runs(folder):
    p = Profile()
    p.enable()
    fib(3)
    del p
    gc.collect()
    equal(under(Profile(builtins=False), lambda: fib(3))[fib.__code__][0], 5, "the next one")


def test_garbage_collection_while_profiled(folder):
    class Node:
        def __init__(self):
            self.me = self

        def __del__(self):
            fib(2)
    p = Profile(builtins=False)
    p.enable()
    for _ in range(200):
        Node()
        gc.collect(0)
        p.getstats()
    p.disable()
    gc.collect()
    equal(figures(p)[Node.__init__.__code__][0], 200, "objects made")


def closed_by_the_collector():
    def cycle():
        def generator():
            try:
                yield
            finally:
                fib(1)
        loop = [generator()]
        loop.append(loop)
        next(loop[0])

    for i in range(500):
        cycle()
        all(x for x in (i,))  # its start is where 3.12 and later collect, its making where 3.11 may


def test_what_the_collector_closes_has_a_caller(folder):
    """Also where a function was called of which nobody has been told yet."""
    before = gc.get_threshold()
    gc.set_threshold(20)
    try:
        for nodes in NODES:
            for builtins in True, False:
                seen = under(Profile(builtins=builtins, nodes=nodes), closed_by_the_collector)
                all_of_it, = [n for code, (n, _, _) in seen.items() if getattr(code, "co_name", None) == "generator"]
                called = sum(n for _, _, callees in seen.values() for code, (n, _) in callees.items() if getattr(code, "co_name", None) == "generator")
                assert all_of_it > 600, all_of_it
                equal(called, all_of_it, "calls with a caller, nodes=%s, builtins=%s" % (nodes, builtins))
    finally:
        gc.set_threshold(*before)


def test_code_that_is_gone_is_not_mistaken(folder):
    """A code object may be freed and another made at the same place: each has its own row."""
    p = Profile(builtins=False)
    p.enable()
    for i in range(300):
        names = {}
        exec(compile("def made_%d(): pass\nmade_%d()" % (i, i), "<made>", "exec"), names)
    p.disable()
    made = [e for e in p.getstats() if e.code.co_name.startswith("made_")]
    equal(len(made), 300, "functions")
    assert all(e.callcount == 1 for e in made)


def test_a_timer_that_drops_its_profile(folder):
    class Drops:
        held = None
        left = 5

        def __call__(self):
            self.left -= 1
            if self.left == 0:
                self.held.clear()
            return self.left
    for builtins in (True, False):
        timer = Drops()
        p = Profile(timer, builtins=builtins)
        timer.held = [p]
        p.enable()
        del p
        for _ in range(10):
            fib(2)
    gc.collect()
    equal(under(Profile(builtins=False), lambda: fib(3))[fib.__code__][0], 5, "the next one")


def test_without_sys_monitoring(folder):
    if not hasattr(sys, "monitoring"):
        raise Skip("there is none in this Python")
    p, monitoring = Profile(builtins=False), sys.monitoring
    p.enable()
    fib(3)
    del sys.monitoring
    try:
        p.disable()
        fib(3)
    finally:
        sys.monitoring = monitoring
    equal(figures(p)[fib.__code__][0], 5, "calls")
    equal(monitoring.get_tool(3), None, "the tool id is free again")


def test_wrong_words(folder):
    p = Profile()
    under(p, lambda: fib(3))
    try:
        p.getstats(thread=-1)
    except ValueError:
        pass
    else:
        raise AssertionError("a thread of number -1")
    equal(p.getstats(thread=2 ** 32), [], "a thread that there is not")
    assert p.getstats(bias=1e300), "a bias beyond all bounds"


# ---- threads


def busy(n):
    return [fib(3) for _ in range(n)]


def test_a_profile_follows_its_own_thread(folder):
    p = Profile(builtins=False)
    t = threading.Thread(target=busy, args=(50,))
    p.enable()
    fib(3)
    t.start()
    t.join()
    p.disable()
    equal(figures(p)[fib.__code__][0], 5, "calls of this thread")
    assert busy.__code__ not in figures(p)


def test_each_thread_has_a_profile(folder):
    results = {}

    def work(n):
        p = Profile(builtins=False)
        p.enable()
        busy(n)
        p.disable()
        results[n] = figures(p)[fib.__code__][0]
    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 20, 30, 40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(results, {n: n * 5 for n in (10, 20, 30, 40)}, "calls")


def work_a(n):
    for _ in range(n):
        only_a()


def work_b(n):
    for _ in range(n):
        only_b()


def only_a():
    fib(2)


def only_b():
    fib(2)


def test_all_threads_and_no_crossed_edge(folder):
    begin, stop = threading.Event(), threading.Event()

    def running_before():
        begin.wait()
        work_a(300)
        stop.set()
    early = threading.Thread(target=running_before)
    early.start()
    p = Profile(builtins=False, threads=True)
    p.enable()
    begin.set()
    late = [threading.Thread(target=work, args=(300,)) for work in (work_a, work_b, work_b)]
    for t in late:
        t.start()
    for t in late + [early]:
        t.join()
    p.disable()
    found = figures(p)
    equal(found[work_a.__code__], (2, 0, {only_a.__code__: (600, 0)}), "work_a")
    equal(found[work_b.__code__], (2, 0, {only_b.__code__: (600, 0)}), "work_b")
    equal(found[only_a.__code__], (600, 0, {fib.__code__: (600, 0)}), "only_a")
    equal(found[fib.__code__], (3600, 2400, {fib.__code__: (2400, 0)}), "fib")
    assert len(p.threads()) >= 4, p.threads()
    one = [p.getstats(thread=i) for i in range(len(p.threads()))]
    equal(sum(e.callcount for entries in one for e in entries if e.code is fib.__code__), 3600, "by thread")


def test_many_threads_that_come_and_go(folder):
    p = Profile(builtins=False, threads=True, nodes=3)  # of all threads, most calls are beyond the tree
    p.enable()
    for _ in range(30):
        threads = [threading.Thread(target=fib, args=(3,)) for _ in range(5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    p.disable()
    equal(figures(p)[fib.__code__][0], 150 * 5, "calls")


def test_a_forked_child_goes_on_with_its_copy(folder):
    p = Profile(builtins=False)
    p.enable()
    fib(3)
    pid = os.fork()
    fib(4)
    p.disable()
    calls = figures(p)[fib.__code__][0]
    if pid == 0:
        os._exit(calls == 5 + 9)
    equal(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), 1, "the child counted right")
    equal(calls, 14, "the parent's")


def status_of_child(**how):
    """How a child ends that is forked while another thread has a Profile on which only the interpreter holds:
    before 3.12 that is dropped inside os.fork(), when the interpreter clears the states of the threads that are gone."""
    begun, may_end = threading.Event(), threading.Event()

    def drops_it():
        p = Profile(**how)
        p.enable()
        fib(3)
        del p
        begun.set()
        may_end.wait()

    thread = threading.Thread(target=drops_it)
    thread.start()
    begun.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # to fork with threads, from 3.12 on
        pid = os.fork()
    if pid == 0:
        right = False
        try:
            p = Profile(builtins=False, cpu=True)
            p.enable()
            fib(4)
            p.disable()
            right = figures(p)[fib.__code__][0] == 9
        finally:
            os._exit(0 if right else 1)
    status = os.waitpid(pid, 0)[1]
    may_end.set()
    thread.join()
    with Profile():  # it takes the place of what was left on in this thread, too
        pass
    return status


def test_a_fork_while_another_thread_left_its_profile_on(folder):
    for how in ({}, {"cpu": True}, {"cpu": True, "builtins": False}, {"cpu": True, "threads": True},
                {"cpu": True, "timer": time.perf_counter}):
        equal(status_of_child(**how), 0, "the child's status after Profile(%r)" % (how,))


def test_a_profile_that_was_left_on_is_replaced(folder):
    """Before 3.12 the interpreter alone holds the first one, and drops it in the midst of the second's enable()."""
    for how in ({}, {"threads": True}, {"threads": True, "builtins": False}, {"threads": True, "cpu": True}):
        left_on = Profile(**how)
        left_on.enable()
        del left_on
        p = Profile(builtins=False)
        p.enable()
        fib(4)
        p.disable()
        equal(figures(p)[fib.__code__][0], 9, "calls after Profile(%r)" % (how,))


def test_a_capture_of_its_own_that_is_stopped_first(folder):
    """Threads go on, and end, after their tables were finished."""
    script = write(folder, "own.py", """
import sonde, threading
def leaf(): pass
def work():
    for _ in range(100): leaf()
begun, stopped = threading.Event(), threading.Event()
def late():
    work()
    begun.set()
    stopped.wait()
    work()
t = threading.Thread(target=late)
t.start()
work()
begun.wait()
sonde.stop()
stopped.set()
t.join()
work()
""")
    capture = os.path.join(folder, "own.sonde")
    done = run([PYTHON, script], cwd=folder, env=clean_env(SONDE_OUT=capture, SONDE_WITH="calls", PYTHONPATH=PACKAGE_PATH))
    equal(done.status, 0, done.err)
    rows = [line.split() for line in run([SONDE, "report", capture, "-n", "1000"]).out.splitlines()]
    equal([row[0] for row in rows if row and row[-1].endswith("(leaf)")], ["200"], "calls of leaf before the stop")


def test_a_capture_says_why_calls_do_not_run(folder):
    script = write(folder, "own.py", "import sonde")
    capture = os.path.join(folder, "own.sonde")
    done = run([PYTHON, script], cwd=folder, env=clean_env(SONDE_OUT=capture, SONDE_WITH="calls:nodes=0", PYTHONPATH=PACKAGE_PATH))
    equal((done.status, done.err), (0, ""))
    said = run([SONDE, "info", capture]).out
    contains(said, "the collector calls does not run in process")
    contains(said, "--nodes must be from 2 to 16,000,000")


# ---- greenlets


def test_greenlets(folder):
    try:
        from greenlet import greenlet
    except ImportError:
        raise Skip("greenlet is not installed")

    def outer(n):
        return step(n)

    def step(n):
        for i in range(n):
            visits.append(i)
            other().switch(n)
        return n

    def other():
        return lets[1] if greenlet.getcurrent() is lets[0] else lets[0]

    for builtins, nodes in [(builtins, nodes) for builtins in (False, True) for nodes in NODES]:
        visits = []
        lets = [greenlet(outer), greenlet(outer)]
        p = Profile(builtins=builtins, nodes=nodes)
        p.enable()
        lets[0].switch(20)
        while not all(let.dead for let in lets):
            next(let for let in lets if not let.dead).switch(20)
        p.disable()
        found = figures(p)
        equal(found[outer.__code__][:2], (2, 0), "outer")
        equal(found[outer.__code__][2], {step.__code__: (2, 0)}, "what outer calls")
        equal(found[step.__code__][:2], (2, 0), "step")
        equal(found[step.__code__][2][other.__code__], (len(visits), 0), "other, by step")
        equal({key for key in found if not isinstance(key, str) and other.__code__ in found[key][2]}, {step.__code__},
              "who calls other")


# ---- memory


def test_without_memory_the_program_goes_on(folder):
    """Each allocation of the interpreter fails in turn while functions are met for the first time."""
    try:
        from _testcapi import remove_mem_hooks, set_nomemory
    except ImportError:
        raise Skip("this Python has no _testcapi")
    if sys.version_info >= (3, 15):
        raise Skip("3.15 dies when allocations fail under any tool, cProfile as well")

    def trial(start):
        names = {}
        exec("\n".join("def new_%d(x): return [x.upper(), len(x)]" % i for i in range(5)), names)
        new = [f for f in names.values() if callable(f)]
        p.enable()
        set_nomemory(start, start + 2)
        for f in new:
            f("x")

    def tolerant(function, *args):
        """From 3.12 on the interpreter needs memory to tell of an exception, and may raise another past its handler."""
        try:
            function(*args)
        except MemoryError:
            pass

    def finish():
        remove_mem_hooks()
        p.disable()
    for start in range(60):
        p = Profile()
        tolerant(tolerant, tolerant, trial, start)
        tolerant(tolerant, tolerant, finish)
        finish()
        assert all(e.callcount >= 1 for e in p.getstats())
    equal(under(Profile(builtins=False), lambda: fib(5))[fib.__code__][0], 15, "afterwards")


def test_subinterpreters_are_left_alone(folder):
    try:
        from _testcapi import run_in_subinterp
    except ImportError:
        raise Skip("this Python has no _testcapi")
    p = Profile(builtins=False)
    p.enable()
    fib(3)
    run_in_subinterp("def f(n): return n and f(n - 1)\nf(5)")
    fib(3)
    p.disable()
    equal(figures(p)[fib.__code__][0], 10, "calls of the main interpreter")


OTHERS = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
def f(): pass
f()
if %r:
    one = interpreters.create()
    (getattr(interpreters, "run_string", None) or interpreters.exec)(one, "def g(): pass\\ng()")
    interpreters.destroy(one)
"""


def test_that_other_interpreters_are_not_followed_is_said(folder):
    """Those that came and went, too."""
    for are_others in True, False:
        write(folder, "p.py", OTHERS % are_others)
        done = sonde("calls", "--force", "-o", "x.sonde", "--python", PYTHON, "p.py", cwd=folder)
        if "ModuleNotFoundError" in done.err:
            raise Skip("this Python has no module for sub-interpreters")
        equal(done.status, 0, "status: " + done.err)
        equal(done.err.count("calls in sub-interpreters of process"), int(are_others), "said of others: " + done.err)


SECOND = """
import sys
sys.path[:] = %r
from sonde import Profile
said = "nothing"
try:
    Profile(builtins=%r).enable()
except Exception as why:
    said = str(why)
with open(%r, "w") as f:
    f.write(said)
"""


def test_a_second_interpreter_is_refused_and_the_first_goes_on(folder):
    try:
        from _testcapi import run_in_subinterp
    except ImportError:
        raise Skip("this Python has no _testcapi")
    path = os.path.join(folder, "said")
    for builtins in (False, True):  # as the first one hears, and more
        p = Profile(builtins=False)
        p.enable()
        fib(3)
        run_in_subinterp(SECOND % (sys.path, builtins, path))
        fib(3)
        p.disable()
        with open(path) as f:
            contains(f.read(), "another interpreter in this process")
        equal(figures(p)[fib.__code__][0], 10, "calls of the first interpreter")
    equal(under(Profile(builtins=False), lambda: fib(3))[fib.__code__][0], 5, "afterwards")


if __name__ == "__main__":
    run_tests(globals())
