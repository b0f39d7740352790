# SPDX-License-Identifier: MIT
"""What counting adds to a line, beside line_profiler and memory_profiler.

    lines.py ROUNDS

Every tool counts every program's lines in turn, in one process; what counts is the thread's CPU time of a program's
second run under the tool, the first having made it warm, and of all rounds the shortest.

- added to one line: that less the same of no tool, by the lines that ran, as a mean over the programs
- a wrapped call: the same of a function of one line that is called very often, by its calls
- code not chosen: how much longer a program takes that is called from a chosen function, in percent
- memory: the same as the first, with the memory read at each line, by the lines
"""
import functools
import gc
import sys
import time
import types

from rounds import tell, version_of

clock = time.thread_time_ns
ROUNDS_EACH = 2   # they are short, and a minimum wants many


# ---- the programs, each with the lines that it runs


def tight(n=20000):
    for i in range(n):
        pass


def body(n=6000):
    t = 0
    for i in range(n):
        a = i & 7
        b = a + 1
        if b > 4:
            t += b
        else:
            t -= a
    return t


def helper(x):
    return x


def with_calls(n=8000):
    t = 0
    for i in range(n):
        t += helper(i)
    return t


LINES = {tight: 40001, body: 1 + 6001 + 6000 * 4 + 1, with_calls: 1 + 16001 + 1}


def small(n=300):
    t = 0
    for i in range(n):
        t += i
    return t


SMALL_LINES = 1 + 601 + 1


def one_line():
    return 1


N_CALLS = 2000


def call_often(f):
    for _ in range(N_CALLS):
        f()


def not_chosen():
    """Calls upon calls, as programs do."""
    t = 0
    for i in range(6000):
        t += helper(helper(i))
    return t


def caller():
    return not_chosen()


# ---- the tools: each gives what wraps a function


def ours():
    from sonde import LineProfiler
    return LineProfiler()


def peer():
    from line_profiler import LineProfiler
    return LineProfiler()


def with_memory(**how):
    from sonde import _sonde
    lines = _sonde.Lines(memory=True, **how)

    def wrap(f):
        def wrapped(*args):
            lines.start()
            f(*args)
            lines.stop()
        lines.add(f.__code__)
        return wrapped
    return wrap


def memory_peer():
    from memory_profiler import LineProfiler
    return LineProfiler(backend="psutil")


def copy_of(f):
    """With code of its own: line_profiler puts other code into a function, which the next tool would not know."""
    return types.FunctionType(f.__code__.replace(), f.__globals__, f.__name__, f.__defaults__)


def wrapped(tools, f):
    """{tool: the function counted by it}, and the function as it is."""
    return dict({name: make()(copy_of(f)) for name, make in tools.items()}, plain=copy_of(f))


def spent(f, *args):
    f(*args)
    begin = clock()
    f(*args)
    return clock() - begin


def shortest(subjects, n_rounds):
    """{name: CPU nanoseconds}; subjects: {name: what is run}"""
    best = dict.fromkeys(subjects, float("inf"))
    order = list(subjects)
    for _ in range(n_rounds):
        order.append(order.pop(0))                      # nobody is always first
        for name in order:
            best[name] = min(best[name], spent(subjects[name]))
    return best


def per_line(tools, n_rounds):
    added, rows = {name: [] for name in tools}, {}
    for program, n in LINES.items():
        best = shortest(wrapped(tools, program), n_rounds)
        for name in tools:
            added[name].append((best[name] - best["plain"]) / n)
            rows["%s/%s" % (name, program.__name__)] = [added[name][-1]]
    rows.update((name, [sum(values) / len(values)]) for name, values in added.items())
    return rows


def per_call(tools, n_rounds):
    best = shortest({name: functools.partial(call_often, f) for name, f in wrapped(tools, one_line).items()}, n_rounds)
    return {name + "call": [(best[name] - best["plain"]) / N_CALLS] for name in tools}


def slower(tools, n_rounds):
    best = shortest(wrapped(tools, caller), n_rounds)
    return {name + "other": [100 * (best[name] / best["plain"] - 1)] for name in tools}


def per_reading(tools, n_rounds):
    best = shortest(wrapped(tools, small), n_rounds)
    return {name: [(best[name] - best["plain"]) / SMALL_LINES] for name in tools}


def main():
    n_rounds = ROUNDS_EACH * int(sys.argv[1])
    versions = {"line_profiler": version_of("line_profiler"), "memory_profiler": version_of("memory_profiler")}
    versions.update(line_profilercall=versions["line_profiler"], line_profilerother=versions["line_profiler"])
    tools, readers = {"ours": ours}, {"oursmemory": with_memory, "ourspeak": functools.partial(with_memory, peak=True)}
    if versions["line_profiler"]:
        tools["line_profiler"] = peer
    if versions["memory_profiler"]:
        readers["memory_profiler"] = memory_peer
    gc.disable()
    rows = per_line(tools, n_rounds)
    rows.update(per_call(tools, n_rounds))
    rows.update(slower(tools, n_rounds))
    rows.update(per_reading(readers, max(2, n_rounds // 2)))
    tell(rows, versions)


main()
