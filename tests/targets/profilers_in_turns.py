# SPDX-License-Identifier: MIT
"""Profilers of calls and of lines that are started and stopped in some threads, beside others that are busy and have none.

    python profilers_in_turns.py SECONDS      prints how often each was started, or the first count that was wrong

Each thread that profiles has functions of its own, so that all of their calls are its own: how often each was called,
and by whom, is what the interpreter's cProfile counts before any thread is started, and hits of lines are what
sys.settrace tells.
"""
import cProfile
import faulthandler
import itertools
import sys
import threading
import time

import sonde
from sonde import _sonde
from sonde.compat.line_profiler import LineProfiler

N_BUSY = 4
SOURCE = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def steps(n):
    for i in range(n):
        yield i
def catch(n):
    try:
        return [0][n]
    except IndexError:
        return len("caught")
def work(n):
    total = 0
    for i in steps(n):
        if i % 3:
            total += fib(5)
        else:
            total += catch(i)
    return total
"""
KINDS = ({}, {"cpu": True}, {"signatures": False}, {"builtins": False}, {"threads": True})
if sys.version_info < (3, 12):
    # A thread has one hook: a profile of all threads takes it from the others, which say so.  On 3.11 a call may be lost
    # that begins while another thread turns the hearing of C functions on or off.
    KINDS = KINDS[:3 if sys.version_info >= (3, 11) else 4]


# One of a scope hears all threads, and on 3.11 may lose such a call, too.
HAS_SCOPES = sys.version_info[:2] != (3, 11)
N_KINDS = len(KINDS) + 2 + HAS_SCOPES   # and calls of a short thread, and lines


def functions():
    """New ones, with code of their own."""
    names = {}
    exec(compile(SOURCE, "turns-of-" + threading.current_thread().name, "exec"), names)
    return names


def count_calls(entries, names):
    """{function or (caller, callee): [calls, recursive calls]} of these functions, of all their signatures together."""
    codes = {id(f.__code__): name for name, f in names.items() if hasattr(f, "__code__")}  # equal ones are other threads'
    found = {}

    def add(key, entry):
        known = found.setdefault(key, [0, 0])
        known[0] += entry.callcount
        known[1] += entry.reccallcount

    def name_of(entry):
        return codes.get(id(getattr(entry.code, "code", entry.code)))

    for entry in entries:
        if name_of(entry):
            add(name_of(entry), entry)
            for callee in filter(name_of, entry.calls or ()):
                add((name_of(entry), name_of(callee)), callee)
    return found


def true_calls(n):
    names, profile = functions(), cProfile.Profile()
    profile.enable()
    names["work"](n)
    profile.disable()
    return count_calls(profile.getstats(), names)


def true_hits(n):
    names, hits = functions(), {}

    def trace(frame, event, arg):
        if frame.f_code is not names["work"].__code__:
            return None
        if event == "line":
            hits[frame.f_lineno] = hits.get(frame.f_lineno, 0) + 1
        return trace

    sys.settrace(trace)
    names["work"](n)
    sys.settrace(None)
    return hits


class Turns:
    """What all threads share."""

    def __init__(self, end):
        self.end, self.wrong, self.started = end, [], {}
        self.lock = threading.Lock()

    def is_over(self):
        """Each kind has its turn, however busy the machine is."""
        return bool(self.wrong) or (time.monotonic() > self.end and len(self.started) == N_KINDS)

    def check(self, what, found, truth):
        with self.lock:
            self.started[what] = self.started.get(what, 0) + 1
            if found != truth:
                self.wrong.append("%s: %r, not %r" % (what, found, truth))


def busy(turns):
    names = functions()
    while not turns.is_over():
        names["work"](20)


def profile_calls(turns, truth):
    names = functions()
    for how in itertools.cycle(KINDS):
        if turns.is_over():
            return
        profile = sonde.Profile(**how)
        profile.enable()
        names["work"](30)
        profile.disable()
        turns.check(" ".join(["calls"] + sorted(how)), count_calls(profile.getstats(), names), truth)


def profile_calls_in_short_threads(turns, truth):
    """Threads that come and go, every other one without disable()."""
    def once(i, found):
        names, profile = functions(), sonde.Profile(**KINDS[i % len(KINDS)])
        profile.enable()
        names["work"](30)
        if i % 2:
            profile.disable()
        found.append((profile, names))

    for i in itertools.count():
        if turns.is_over():
            return
        found = []
        thread = threading.Thread(target=once, args=(i, found))
        thread.start()
        thread.join()
        profile, names = found[0]
        turns.check("calls of a short thread", count_calls(profile.getstats(), names), truth)


def profile_calls_of_a_scope(turns, truth):
    """What the same thread runs outside of the scope is not in it."""
    names = functions()
    while not turns.is_over():
        scope = _sonde.Scope()
        profile = scope.limit(sonde.Profile, builtins=False)
        profile.enable()
        names["work"](10)
        scope.call(names["work"], 30)
        names["work"](5)
        profile.disable()
        turns.check("calls of a scope", count_calls(profile.getstats(), names), truth)


def profile_lines(turns, truth):
    while not turns.is_over():
        names, profile = functions(), LineProfiler()
        profile.add_function(names["work"])
        with profile:
            names["work"](30)
        (rows,) = profile.get_stats().timings.values()
        turns.check("lines", {line: hits for line, hits, _ in rows}, truth)


def main():
    seconds = float(sys.argv[1])
    faulthandler.dump_traceback_later(seconds + 60, exit=True)
    sys.setswitchinterval(0.0005)
    calls, hits = true_calls(30), true_hits(30)
    turns = Turns(time.monotonic() + seconds)
    threads = [threading.Thread(target=busy, args=(turns,)) for _ in range(N_BUSY)]
    threads += [threading.Thread(target=profile_calls, args=(turns, calls)) for _ in range(3)]
    threads += [threading.Thread(target=profile_calls_in_short_threads, args=(turns, calls))]
    threads += [threading.Thread(target=profile_calls_of_a_scope, args=(turns, calls)) for _ in range(2 * HAS_SCOPES)]
    threads += [threading.Thread(target=profile_lines, args=(turns, hits)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for what, n in sorted(turns.started.items()):
        print("%s: %d" % (what, n))
    sys.exit("wrong: " + turns.wrong[0] if turns.wrong else 0)


main()
