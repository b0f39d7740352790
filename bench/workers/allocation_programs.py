# SPDX-License-Identifier: MIT
"""Programs that allocate, each in another way: `python allocation_programs.py NAME TIMES [TOOL]` runs one and prints
{"cpu": what it took, in seconds} on its last line; TOOL watches it from inside the process.

They are made of what Python programs do: small objects, JSON, methods, trees, deep and recursive calls, calls that
allocate nothing, text, and arrays, small and large.
"""
import json
import os
import sys
import time


def objects(n=150000):
    kept = []
    for i in range(n):
        named = {"number": i, "text": str(i)}
        row = (i, [i, i + 1], named)
        if i % 10 == 0:
            kept.append(row)
    return len(kept)


def documents(n=60):
    rows = [{"id": i, "name": "user%d" % i, "tags": ["a", "b", str(i)], "at": [i * 1.5, i * 2.5], "more": {"x": i, "y": None}} for i in range(600)]
    text = json.dumps(rows)
    return sum(len(json.dumps(json.loads(text))) for _ in range(n))


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def plus(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def times(self, k):
        return Vector(self.x * k, self.y * k)


def methods(n=40):
    places = [Vector(i * 1.1, i * 0.7) for i in range(2000)]
    speeds = [Vector(0.1, 0.2) for _ in range(2000)]
    for _ in range(n):
        for i, place in enumerate(places):
            places[i] = place.plus(speeds[i].times(0.01))
    return places[0].x


def tree(n=30000):
    import random
    numbers, root = random.Random(1), [0.5, None, None]
    for _ in range(n):
        number, node = numbers.random(), root
        while True:
            side = 1 if number < node[0] else 2
            if node[side] is None:
                node[side] = [number, None, None]
                break
            node = node[side]
    return root


def deep(n=150000, depth=100):
    if depth:
        return deep(n, depth - 1)
    last = []
    for i in range(n):
        last = [i, (i, i)]
    return last


def recursive(n=2500):
    def down(k):
        if k == 0:
            return [1.5]
        own = [k * 1.5]
        below = down(k - 1)
        below.append(own)
        return below
    for _ in range(n):
        down(60)


def calls(n=25):
    return n if n < 2 else calls(n - 1) + calls(n - 2)


def text(n=12):
    found = []
    for _ in range(n):
        long = " ".join("word%d item%d" % (i, i % 37) for i in range(8000))
        counts = {}
        for word in long.split():
            counts[word] = counts.get(word, 0) + 1
        found.append(sorted(counts.items(), key=lambda one: -one[1])[:50])
    return found


def arrays(n=6000, size=2000):
    import numpy
    a, b, total = numpy.ones(size), numpy.ones(size), 0.0
    for _ in range(n):
        c = a * b + a
        total += c[0]
    return total


def large_arrays(n=300):
    return arrays(n, 100000)


PROGRAMS = {f.__name__: f for f in (objects, documents, methods, tree, deep, recursive, calls, text, arrays, large_arrays)}


# ---- what watches from inside


def memray(path, **how):
    import memray
    if how.pop("aggregate", False):
        how["file_format"] = memray.FileFormat.AGGREGATED_ALLOCATIONS
    return memray.Tracker(destination=memray.FileDestination(path, overwrite=True, compress_on_exit=False), **how)


class Tracemalloc:
    def __init__(self, n):
        self.n = n

    def __enter__(self):
        import tracemalloc
        tracemalloc.start(self.n)

    def __exit__(self, *why):
        import tracemalloc
        tracemalloc.stop()


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *why):
        pass


TOOLS = {
    "": lambda path: Nothing(),
    "memray": memray,
    "memraypython": lambda path: memray(path, trace_python_allocators=True),
    "memraynative": lambda path: memray(path, trace_python_allocators=True, native_traces=True),
    "memrayaggregate": lambda path: memray(path, trace_python_allocators=True, aggregate=True),
    "tracemalloc1": lambda path: Tracemalloc(1),
    "tracemalloc25": lambda path: Tracemalloc(25),
}


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def main():
    name, times = sys.argv[1], int(sys.argv[2])
    tool, path = sys.argv[3:5] if len(sys.argv) > 4 else ("", None)
    program = PROGRAMS[name]
    if "arrays" in name:
        import numpy  # noqa: F401  (its own allocations are not the program's)
    with TOOLS[tool](path):
        begin = time.process_time()
        for _ in range(times):
            program()
        cpu = time.process_time() - begin
    print(json.dumps({"cpu": cpu, "whole": time.process_time(), "rss": resident()}))


if __name__ == "__main__":
    main()
