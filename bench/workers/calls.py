# SPDX-License-Identifier: MIT
"""What tracing adds to a call, beside cProfile, yappi and viztracer.

    calls.py ROUNDS

Every tool traces every program (call_programs.py) in turn, in one process; what counts is the thread's CPU time of a
program's second run under the tool, the first having made it warm, and of all rounds the shortest.  A tool's figure is
that less the same of no tool, by the calls that it saw, as a mean over the programs: one value per process, and those
of single programs as TOOL/PROGRAM.

Bias: of two jobs, one with tiny calls and one without, how many points more than its true share of their time the
first is said to have.  The truth is what both take when nothing is traced; of everything the shortest counts.
"""
import atexit
import cProfile
import gc
import os
import shutil
import sys
import tempfile
import time

import call_programs
from rounds import tell, version_of

clock = time.thread_time_ns
FEW = 2           # nodes: the root and the program, so that all its calls lie beyond the tree
ROUNDS_EACH = 2   # they are short, and a minimum wants many


def second_run(start, program, stop):
    """CPU nanoseconds of the second run between start and stop."""
    start()
    program()
    begin = clock()
    program()
    spent = clock() - begin
    stop()
    return spent


# ---- the tools: each gives the CPU time of a program under it


def plain(program):
    return second_run(gc.collect, program, gc.collect)


def ours(**how):
    from sonde import Profile

    def traced(program):
        profile = Profile(signatures=False, **how)
        return second_run(profile.enable, program, profile.disable)
    return traced


def timeline():
    """Into a capture that this process owns: what is full is written by the thread itself, in its own CPU time."""
    import sonde
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sonde.start(os.path.join(folder, "x.sonde"))
    return ours(builtins=False, timeline=True)


def cprofile(builtins):
    def traced(program):
        profile = cProfile.Profile(builtins=builtins)
        # From 3.14 on enable() forgets what the constructor was told.
        return second_run(lambda: profile.enable(builtins=builtins), program, profile.disable)
    return traced


def with_yappi(clock_type):
    import yappi

    def start():
        yappi.set_clock_type(clock_type)
        yappi.start(builtins=False, profile_threads=False)

    def stop():
        yappi.stop()
        yappi.clear_stats()
    return lambda program: second_run(start, program, stop)


def with_viztracer():
    from viztracer import VizTracer

    def traced(program):
        tracer = VizTracer(verbose=0, tracer_entries=200000, ignore_c_function=True, log_gc=False)
        spent = second_run(tracer.start, program, tracer.stop)
        tracer.clear()
        return spent
    return traced


def tools(versions):
    """{name: (how it traces, whether C functions are among what it sees)}"""
    found = {"plain": (plain, False), "ours": (ours(builtins=False), False), "cprofile": (cprofile(False), False),
             "oursc": (ours(), True), "cprofilec": (cprofile(True), True), "ourscpu": (ours(builtins=False, cpu=True), False),
             "timeline": (timeline(), False), "beyond": (ours(builtins=False, nodes=FEW), False), "beyondc": (ours(nodes=FEW), True)}
    if versions["yappi"]:
        found.update(yappi=(with_yappi("wall"), False), yappicpu=(with_yappi("cpu"), False))
    if versions["viztracer"]:
        found["viztracer"] = with_viztracer(), False
    return found


# ---- rounds


def calls_of(program):
    """(calls of Python functions, calls of C functions), by cProfile."""
    profile = cProfile.Profile()
    profile.enable()
    program()
    profile.disable()
    entries = [e for e in profile.getstats() if e.code is not program.__code__]
    in_c = sum(e.callcount for e in entries if isinstance(e.code, str))
    return sum(e.callcount for e in entries) - in_c, in_c


def shortest(program, subjects, n_rounds):
    best = {name: float("inf") for name in subjects}
    order = list(subjects)
    for _ in range(n_rounds):
        order.append(order.pop(0))                      # nobody is always first
        for name in order:
            best[name] = min(best[name], subjects[name][0](program))
    return best


def measure(subjects, n_rounds):
    """{tool or tool/program: [added nanoseconds per call]}"""
    added = {name: [] for name in subjects if name != "plain"}
    rows = {}
    for program in call_programs.PYTHON_CALLS + call_programs.C_CALLS:
        in_c = program in call_programs.C_CALLS
        chosen = {name: tool for name, tool in subjects.items() if name == "plain" or tool[1] or not in_c}
        python_calls, c_calls = calls_of(program)
        best = shortest(program, chosen, n_rounds)
        for name in added:
            if name in chosen:
                per_call = (best[name] - best["plain"]) / (python_calls + (c_calls if chosen[name][1] else 0))
                rows["%s/%s" % (name, program.__name__)] = [per_call]
                added[name].append(per_call)
    rows.update((name, [sum(values) / len(values)]) for name, values in added.items())
    return rows


# ---- bias


def with_calls():
    f = call_programs.nothing
    for _ in range(1000):
        f()


def without_calls():
    t = 0
    for _ in range(3000):
        t = t + 1


JOBS = (with_calls, without_calls)


def true_times():
    for job in JOBS:
        begin = time.perf_counter()
        job()
        yield job, time.perf_counter() - begin


def said_times(profile):
    profile.enable(builtins=False)                      # from 3.14 on cProfile forgets what the constructor was told
    for job in JOBS:
        job()
    profile.disable()
    by_code = {e.code: e.totaltime for e in profile.getstats()}
    return [(job, by_code[job.__code__]) for job in JOBS]


def bias(n_rounds):
    """{who: [points]} of cProfile, of ours, and of ours before what tracing costs is subtracted."""
    from sonde import Profile
    ask = {"truth": true_times, "oursbias": lambda: said_times(Profile(builtins=False, signatures=False)),
           "rawbias": lambda: said_times(Profile(builtins=False, raw=True, signatures=False)), "cprofilebias": lambda: said_times(cProfile.Profile(builtins=False))}
    best = {who: dict.fromkeys(JOBS, float("inf")) for who in ask}
    for _ in range(n_rounds):
        for who, times in ask.items():
            for job, seconds in times():
                best[who][job] = min(best[who][job], seconds)
    shares = {who: 100 * found[with_calls] / sum(found.values()) for who, found in best.items()}
    return {who: [abs(share - shares["truth"])] for who, share in shares.items() if who != "truth"}


def main():
    n_rounds = ROUNDS_EACH * int(sys.argv[1])
    versions = {"yappi": version_of("yappi"), "viztracer": version_of("viztracer")}
    python = "%d.%d.%d" % sys.version_info[:3]
    versions.update(cprofile="cProfile(builtins=False) of " + python, cprofilec="cProfile of " + python,
                    cprofilebias="cProfile of " + python, ours="sonde, all in the tree", oursc="sonde, all in the tree", yappicpu=versions["yappi"] and versions["yappi"] + ", its default clock")
    gc.disable()
    rows = measure(tools(versions), n_rounds)
    rows.update(bias(10 * n_rounds))
    tell(rows, versions)


main()
