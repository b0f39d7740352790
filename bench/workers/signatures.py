# SPDX-License-Identifier: MIT
"""What signatures add to a call, beside tracing without them and beside data_profiler.

    signatures.py ROUNDS

As calls.py: the thread's CPU time of a program's second run under the tool, less the same of no tool, by its calls; of all
rounds the shortest.  The programs call a function with two arrays, one with six arguments of which two are arrays, a
method with one, and one whose arrays alternate.

data_profiler (numba/data_profiler, the port of accelerate.profiler) is in no index of packages and builds up to Python
3.9: BENCH_DATA_PROFILER names a checkout of it in which data_profiler/prof was built for this Python.
"""
import gc
import os
import sys
import time
import types

import numpy
from rounds import tell

clock = time.thread_time_ns
CALLS = 2000
MATRIX, VECTOR = numpy.zeros((4, 8, 16), "f4"), numpy.zeros(16, "f8")


def two(a, b):
    return a


def six(a, b, c, d, e, f):
    return a


class Model:
    def forward(self, x):
        return x


def calls_two(n):
    for _ in range(n):
        two(MATRIX, VECTOR)


def calls_six(n):
    for _ in range(n):
        six(MATRIX, VECTOR, 1, 2.0, "s", None)


def calls_method(n, model=Model()):
    for _ in range(n):
        model.forward(MATRIX)


def calls_alternating(n):
    for _ in range(n // 2):
        two(MATRIX, VECTOR)
        two(VECTOR, MATRIX)


PROGRAMS = (calls_two, calls_six, calls_method, calls_alternating)


def nobody():
    return types.SimpleNamespace(enable=gc.collect, disable=gc.collect)


def ours(**how):
    from sonde import Profile
    return lambda: Profile(builtins=False, **how)


def data_profiler():
    """Its Profile, or None.  What draws its pictures is not needed, nor here."""
    for name in ("jinja2", "IPython", "IPython.display", "IPython.core", "IPython.core.display"):
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(dict.fromkeys(("Template", "HTML", "IFrame", "display")))
    sys.path.insert(0, os.environ.get("BENCH_DATA_PROFILER", ""))
    try:
        from data_profiler.profile import Profile
    except Exception:
        return None
    return lambda: Profile(builtins=False, signatures=True)


def added(subjects, program, n_rounds):
    """{tool: nanoseconds that it adds to a call}"""
    best = {name: float("inf") for name in subjects}
    order = list(subjects)
    for _ in range(n_rounds):
        order.append(order.pop(0))                      # nobody is always first
        for name in order:
            n = CALLS // 20 if name == "data_profiler" else CALLS
            profile = subjects[name]()
            profile.enable()
            program(n)
            begin = clock()
            program(n)
            spent = clock() - begin
            profile.disable()
            best[name] = min(best[name], spent / n)
    return {name: spent - best["plain"] for name, spent in best.items() if name != "plain"}


def main():
    subjects = {"plain": nobody, "without": ours(signatures=False), "ours": ours(signatures=True), "lengths": ours(signatures="lengths")}
    peer = data_profiler()
    if peer:
        subjects["data_profiler"] = peer
    gc.disable()
    rows = {name: [] for name in subjects if name != "plain"}
    for program in PROGRAMS:
        for name, ns in added(subjects, program, 10 * int(sys.argv[1])).items():
            rows["%s/%s" % (name, program.__name__)] = [ns]
            rows[name].append(ns)
    rows = {name: [sum(values) / len(values)] for name, values in rows.items()}
    tell(rows, {"data_profiler": peer and "data_profiler", "without": "sonde.Profile(signatures=False)"})


main()
