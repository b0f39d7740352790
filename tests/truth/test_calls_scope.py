# SPDX-License-Identifier: MIT
# interpreters: all
"""Profiles that are limited to a scope, one piece of work among others: tasks on one event loop, threads, contexts that
come and go.  Every count is known and exact; nothing of other work is in it, and nothing is left hooked."""
import asyncio
import contextvars
import functools
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, Skip, equal, only, run_tests  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde import Profile, _sonde, record  # noqa: E402

unrelated = contextvars.ContextVar("unrelated")


def leaf():
    pass


def twig(n):
    for _ in range(n):
        leaf()


def bough(n):
    twig(n)


def scoped(**how):
    """(scope, profile that follows it and has begun)"""
    scope = _sonde.Scope()
    profile = scope.limit(Profile, signatures=False, **dict({"builtins": False}, **how))
    profile.enable()
    return scope, profile


def counts(profile, *functions):
    """{name: calls} of functions of this file, and what else was named"""
    profile.create_stats()
    return {name: numbers[1] for (path, line, name), numbers in profile.stats.items() if path == __file__ or name in functions}


def callers(profile, name):
    profile.create_stats()
    return {caller[2] for row, numbers in profile.stats.items() if row[2] == name for caller in numbers[4]}


async def steps(scope, awaitable):
    return await _sonde.Resumed(scope.enter, scope.leave, awaitable)


def nothing_is_left():
    equal(sys.getprofile(), None, "sys.getprofile()")
    equal(sys.gettrace(), None, "sys.gettrace()")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring:
        equal([monitoring.get_tool(i) for i in range(6)], [None] * 6, "monitoring tools")


# ---- Tasks


async def work(n):
    """n + 1 resumes, n leaves, one twig each time"""
    for _ in range(n):
        unrelated.set(n)
        twig(1)
        await asyncio.sleep(0)


async def job(n):
    """Works itself and in a task of its own, and in a thread."""
    task = asyncio.ensure_future(work(n))
    await work(n)
    await task
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, functools.partial(contextvars.copy_context().run, bough, n))


def expected(n):
    # `job` and each `work` are counted as cProfile counts them: every resume is a call.
    return {"work": 2 * (n + 1), "twig": 2 * n + 1, "bough": 1, "leaf": 3 * n}


async def profiled_job(n, **how):
    scope, profile = scoped(**how)
    try:
        await steps(scope, job(n))
    finally:
        profile.disable()
    return profile


def without(found, *names):
    return {name: n for name, n in found.items() if name not in names}


def test_jobs_on_one_loop_have_their_own_calls_alone(folder):
    async def main():
        return await asyncio.gather(profiled_job(3), job(1000), profiled_job(50), profiled_job(200), job(70))

    profiles = asyncio.run(main())
    for n, profile in ((3, profiles[0]), (50, profiles[2]), (200, profiles[3])):
        equal(without(counts(profile), "job"), expected(n), "calls of the job of %d" % n)
        equal(len(profile.threads()), 2, "threads of the job of %d" % n)
    nothing_is_left()


def test_with_c_functions_too(folder):
    async def some(n):
        for _ in range(n):
            abs(n)
            await asyncio.sleep(0)

    async def one(n):
        scope, profile = scoped(builtins=True)
        await steps(scope, some(n))
        profile.disable()
        return profile

    async def main():
        return await asyncio.gather(one(30), some(50), one(7))

    first, _, third = asyncio.run(main())
    abs_name = "<built-in method builtins.abs>"
    equal([counts(p, abs_name)[abs_name] for p in (first, third)], [30, 7], "calls of abs")
    equal([counts(p)["some"] for p in (first, third)], [31, 8], "resumes")
    nothing_is_left()


def test_callbacks_and_timers_belong_to_who_asked_for_them(folder):
    async def ask(n):
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        for _ in range(n):
            loop.call_soon(leaf)
            loop.call_later(0, leaf)
        loop.call_later(0.01, done.set_result, None)
        await done

    async def one(n):
        scope, profile = scoped()
        await steps(scope, ask(n))
        profile.disable()
        return profile

    async def main():
        return await asyncio.gather(one(5), ask(11), one(17))

    first, _, third = asyncio.run(main())
    equal([counts(p)["leaf"] for p in (first, third)], [10, 34], "calls of leaf")


def test_a_job_ends_by_an_exception_or_is_cancelled(folder):
    async def fails(n):
        await work(n)
        raise KeyError(n)

    async def waits(n):
        try:
            await work(n)
            await asyncio.sleep(3600)
        finally:
            twig(2)

    async def one(awaitable):
        scope, profile = scoped()
        try:
            await steps(scope, awaitable)
        except (KeyError, asyncio.CancelledError) as why:
            return profile, type(why)
        finally:
            profile.disable()

    async def main():
        tasks = [asyncio.ensure_future(one(fails(3))), asyncio.ensure_future(one(waits(4))), asyncio.ensure_future(work(100))]
        while not tasks[0].done() or not tasks[2].done():
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        return await asyncio.gather(*tasks)

    (failed, error), (cancelled, why), _ = asyncio.run(main())
    equal((error, why), (KeyError, asyncio.CancelledError), "what was raised")
    equal(without(counts(failed), "fails"), {"work": 4, "twig": 3, "leaf": 3}, "the one that failed")
    equal(without(counts(cancelled), "waits"), {"work": 5, "twig": 5, "leaf": 6}, "the one that was cancelled")
    nothing_is_left()


def test_what_outlives_the_job_is_not_followed_after_it(folder):
    async def late():
        await asyncio.sleep(0.02)
        twig(100)

    async def starts():
        twig(1)
        return asyncio.ensure_future(late())

    async def main():
        scope, profile = scoped()
        task = await steps(scope, starts())
        profile.disable()
        await task
        return profile

    equal(without(counts(asyncio.run(main())), "late"), {"starts": 1, "twig": 1, "leaf": 1}, "calls")


def test_time_that_a_job_waits_is_its_own(folder):
    async def sleeper(seconds):
        await asyncio.sleep(seconds)

    async def one(seconds):
        scope = _sonde.Scope()
        recording = record("calls")
        scope.limit(recording.__enter__)
        await steps(scope, sleeper(seconds))
        recording.__exit__(None, None, None)
        return recording

    async def main():
        return await asyncio.gather(one(0.2), one(0.4), work(50))

    for seconds, recording in zip((0.2, 0.4), asyncio.run(main())[:2]):
        found = [f for f in recording.report()["functions"] if f["function"].endswith("sleeper")]
        equal([f["calls"] for f in found], [2], "steps of sleeper")
        assert seconds - 0.001 <= found[0]["elapsed"] / 1e9 <= recording.wall, (found, recording.wall)


@only(sys.version_info >= (3, 12))
def test_eager_tasks(folder):
    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        return await asyncio.gather(profiled_job(20), job(5), profiled_job(9))

    profiles = asyncio.run(main())
    for n, profile in ((20, profiles[0]), (9, profiles[2])):
        equal({k: v for k, v in counts(profile).items() if k != "job"}, expected(n), "calls of the job of %d" % n)


# ---- Coroutines and generators that change hands


def test_a_generator_belongs_to_who_resumes_it(folder):
    def numbers():
        while True:
            leaf()
            yield

    one, first = scoped()
    two, second = scoped()
    generator = one.call(numbers)
    for _ in range(3):
        one.call(next, generator)
    for _ in range(5):
        two.call(next, generator)
    for _ in range(7):
        next(generator)
    one.call(next, generator)
    first.disable()
    second.disable()
    equal(counts(first), {"numbers": 4, "leaf": 4}, "the first scope")
    equal(counts(second), {"numbers": 5, "leaf": 5}, "the second scope")
    nothing_is_left()


def test_a_coroutine_that_another_task_goes_on_with(folder):
    async def handed():
        for _ in range(4):
            twig(1)
            await asyncio.sleep(0)

    def goes_on(coroutine, steps):
        for _ in range(steps):
            try:
                coroutine.send(None)
            except StopIteration:
                return

    one, first = scoped()
    two, second = scoped()
    coroutine = handed()
    one.call(goes_on, coroutine, 1)
    two.call(goes_on, coroutine, 2)
    goes_on(coroutine, 1)
    one.call(goes_on, coroutine, 9)
    first.disable()
    second.disable()
    equal(counts(first), {"goes_on": 2, "handed": 2, "twig": 1, "leaf": 1}, "who began and ended it")
    equal(counts(second), {"goes_on": 1, "handed": 2, "twig": 2, "leaf": 2}, "who went on with it")


# ---- Contexts


def test_the_context_is_marked_and_unmarked_in_one_frame(folder):
    scope, profile = scoped()
    for n in range(1, 20):
        leaf()
        equal(scope.enter(), True, "enter()")
        equal(scope.enter(), False, "enter() once more")
        twig(2)
        unrelated.set(n)
        leaf()
        scope.leave()
        twig(3)
        scope.leave()
        leaf()
    profile.disable()
    equal(counts(profile), {"twig": 19, "leaf": 3 * 19}, "calls")
    equal([value for variable, value in contextvars.copy_context().items() if variable.name == "sonde.scope"], [()], "what is left in the context")
    nothing_is_left()


def test_scopes_in_turns_in_one_context(folder):
    """What marks the context is made anew each time, where the last mark was."""
    both = [scoped() for _ in range(3)]
    for _ in range(50):
        for n, (scope, _) in enumerate(both):
            scope.call(twig, n)
    for n, (_, profile) in enumerate(both):
        profile.disable()
        equal(counts(profile), dict({"twig": 50}, **({"leaf": 50 * n} if n else {})), "scope %d" % n)


def test_a_mark_that_others_carry_into_a_context(folder):
    """As asgiref does, which sets in one context all that is set in another: here a thread is in a scope from one line
    to the next, in the same context; other variables are set around it, so that maps are made where others were."""
    def between(context, n):
        leaf()
        for variable, value in context.items():
            unrelated.set(n)
            variable.set(value)
            unrelated.set(-n)
        twig(2)

    scope, profile = scoped()
    unrelated.set(0)
    inside = scope.call(contextvars.copy_context)
    for n in range(200):
        contextvars.Context().run(between, inside, n)
    outside = contextvars.copy_context()
    mark, = [variable for variable in inside if variable.name == "sonde.scope"]
    outside.run(mark.set, ())
    for n in range(200):
        contextvars.Context().run(between, outside, n)
    profile.disable()
    found = counts(profile)
    equal((found["twig"], found["leaf"]), (200, 400), "calls")


def test_contexts_that_come_and_go(folder):
    """New ones lie where old ones were, and are neither in the scope nor out of it for that."""
    scope, profile = scoped()
    scope.enter()
    inside = 0
    for n in range(2000):
        contextvars.Context().run(leaf)
        if n % 3 == 0:
            contextvars.copy_context().run(leaf)
            inside += 1
    scope.leave()
    for _ in range(100):
        contextvars.copy_context().run(leaf)
    profile.disable()
    equal(counts(profile), {"leaf": inside}, "calls")


def test_a_call_from_outside_the_scope_into_it_has_its_caller(folder):
    """outer (in the scope) runs between (not in it), which runs twig (in it)."""
    def between(context):
        leaf()
        context.run(twig, 2)
        leaf()

    def outer():
        contextvars.Context().run(between, contextvars.copy_context())
        bough(1)

    scope, profile = scoped()
    scope.call(outer)
    profile.disable()
    equal(counts(profile), {"outer": 1, "twig": 2, "bough": 1, "leaf": 3}, "calls")
    equal(callers(profile, "twig"), {"outer", "bough"}, "who called twig")
    equal(callers(profile, "bough"), {"outer"}, "who called bough")


def test_scopes_inside_each_other_and_profiles_of_everything(folder):
    everything = Profile(builtins=False, signatures=False, threads=True)
    one, first = scoped()
    everything.enable()

    def outer():
        two, second = scoped()
        twig(1)
        two.call(bough, 2)
        second.disable()
        return second

    second = one.call(outer)
    twig(4)
    first.disable()
    everything.disable()
    equal(counts(second), {"bough": 1, "twig": 1, "leaf": 2}, "the inner scope")
    found = counts(first)
    equal((found["outer"], found["bough"], found["twig"], found["leaf"]), (1, 1, 2, 3), "the outer scope")
    found = counts(everything)
    equal((found["outer"], found["bough"], found["twig"], found["leaf"]), (1, 1, 3, 7), "the profile of everything")
    nothing_is_left()


def test_profiles_that_begin_and_end_while_a_scope_is_followed(folder):
    scope, profile = scoped()
    plain = Profile(builtins=False, signatures=False)
    for _ in range(50):
        scope.call(twig, 1)
        plain.enable()
        scope.call(twig, 2)
        twig(3)
        plain.disable()
        leaf()
    profile.disable()
    equal(counts(profile), {"twig": 100, "leaf": 150}, "the scope")
    equal(counts(plain), {"twig": 100, "leaf": 250}, "the thread")


# ---- Threads


def test_threads_that_work_at_once(folder):
    found = {}
    ready = threading.Barrier(4)

    def profiled(n):
        scope, profile = scoped()
        ready.wait()
        for _ in range(n):
            scope.call(bough, 3)
            bough(1)
        profile.disable()
        found[n] = profile

    def plain():
        ready.wait()
        for _ in range(2000):
            bough(5)

    threads = [threading.Thread(target=profiled, args=(n,)) for n in (500, 800, 1100)] + [threading.Thread(target=plain)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sorted(found), [500, 800, 1100], "threads that ended well")
    for n, profile in found.items():
        equal(counts(profile), {"bough": n, "twig": n, "leaf": 3 * n}, "calls of the thread of %d" % n)
        equal(len(profile.threads()), 1, "threads")
    nothing_is_left()


def test_one_scope_in_several_threads(folder):
    scope, profile = scoped()
    threads = [threading.Thread(target=scope.call, args=(twig, n)) for n in (10, 20, 30)] + [threading.Thread(target=twig, args=(1000,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    profile.disable()
    equal((counts(profile)["twig"], counts(profile)["leaf"]), (3, 60), "calls")
    equal(len(profile.threads()), 3, "threads")


def test_greenlets_that_take_turns(folder):
    """They switch in the middle of calls, and each has a context of its own."""
    try:
        from greenlet import getcurrent, greenlet
    except ImportError:
        raise Skip("no greenlet for this Python")
    top = getcurrent()

    def job(n):
        for _ in range(n):
            twig(1)
            top.switch()

    jobs = [(n,) + scoped() for n in (5, 20, 33)]
    waiting = [greenlet(functools.partial(scope.call, job, n)) for n, scope, _ in jobs] + [greenlet(functools.partial(job, 40))]
    while waiting:
        for one in waiting:
            one.switch()
        waiting = [one for one in waiting if not one.dead]
    for n, _, profile in jobs:
        profile.disable()
        equal(counts(profile), {"job": 1, "twig": n, "leaf": n}, "calls of the greenlet of %d" % n)
        equal(callers(profile, "twig"), {"job"}, "who called twig")
    nothing_is_left()


def test_a_child_of_fork_is_out_of_every_scope(folder):
    """What has no scope goes on in it."""
    scope, profile = scoped()
    plain = Profile(builtins=False, signatures=False)
    plain.enable()

    def forks():
        leaf()
        child = os.fork()
        if child:
            return child
        try:
            twig(3)
            profile.disable()
            plain.disable()
            nothing_is_left()
            found = counts(profile), counts(plain)
            os._exit(10 * found[0].get("twig", 0) + 2 * (found[0].get("leaf") != 1) + (found[1].get("leaf") != 4))
        finally:
            os._exit(255)

    child = scope.call(forks)
    twig(2)
    scope.call(twig, 5)
    plain.disable()
    profile.disable()
    equal(os.waitpid(child, 0), (child, 0), "what the child counted that it should not")
    found = counts(profile)
    equal((found["forks"], found["twig"], found["leaf"]), (1, 1, 6), "calls of the parent")
    nothing_is_left()


def test_what_limit_and_call_hand_on(folder):
    scope = _sonde.Scope()
    equal(scope.call(lambda *a, **kw: (a, kw), 1, 2, x=3), ((1, 2), {"x": 3}), "call()")
    for wrong in (scope.call, scope.limit, functools.partial(_sonde.Scope, 1)):
        try:
            wrong()
        except TypeError:
            continue
        raise AssertionError("%r without a function" % wrong)
    try:
        scope.call(int, "x")
    except ValueError:
        equal(scope.enter(), True, "the mark is gone after an exception")
        scope.leave()
    else:
        raise AssertionError("the exception of int() is gone")
    profile = Profile(builtins=False, signatures=False)  # made outside of limit(): not limited
    profile.enable()
    leaf()
    profile.disable()
    equal(counts(profile), {"leaf": 1}, "a profile of its own")


def test_a_profile_of_a_scope_in_which_nothing_runs(folder):
    scope, profile = scoped()
    leaf()
    profile.disable()
    equal(counts(profile), {}, "calls")
    recording = record("calls")
    scope.limit(recording.__enter__)
    leaf()
    recording.__exit__(None, None, None)
    equal(recording.report().get("functions", []), [], "functions")
    assert str(recording), "a text"


run_tests(globals())
