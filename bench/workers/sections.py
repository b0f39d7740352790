# SPDX-License-Identifier: MIT
"""What one section costs, by what it measures, beside amltk's; and what a disabled one costs, beside
a context manager in C that does nothing.

    sections.py ROUNDS [FOLDER with _empty.*.so]
"""
import sys

from rounds import measure, tell, version_of


def body_of(profiler):
    def body(turns):
        for _ in turns:
            with profiler("section"):
                pass
    return body


def empty(turns):
    for _ in turns:
        pass


def ours(measures, disabled=False):
    from sonde import Profiler
    return lambda: body_of(Profiler(measure=measures, disabled=disabled))


def amltk():
    from amltk.profiling import Profiler
    return body_of(Profiler())


def main():
    n_rounds = int(sys.argv[1])
    sys.path[1:1] = sys.argv[2:3]
    everything = ("time", "memory", "peak", "io", "network")
    subjects = {
        "time-memory": (ours(("time", "memory")), 4000),
        "all": (ours(everything), 2000),
        "wall": (ours(("time",)), 40000),
        "disabled": (ours(everything, disabled=True), 100000),
    }
    versions = {"amltk": version_of("amltk")}
    if versions["amltk"]:
        subjects["amltk"] = (amltk, 400)
    try:
        import _empty
        subjects["empty"] = (lambda: body_of(_empty.Manager()), 100000)
        versions["empty"] = "an empty C manager, CPython %d.%d" % sys.version_info[:2]
    except ImportError:
        versions["empty"] = None
    tell(measure(subjects, n_rounds, empty), versions)


main()
