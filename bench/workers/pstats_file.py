# SPDX-License-Identifier: MIT
"""A pstats file of 100,000 functions, loaded, sorted and printed: `sonde report` beside CPython's pstats, and beside
both compat.pstats.  Each is a fresh process; CPU time of the whole of it.

    pstats_file.py ROUNDS SONDE FOLDER
"""
import marshal
import os
import random
import subprocess
import sys

from rounds import tell

N_FUNCTIONS = 100000
CODE = "import %s as pstats; pstats.Stats(%r).sort_stats('cumulative').print_stats()"


def make_file(path):
    r = random.Random(1)
    keys = [("/home/user/project/package%03d/module%04d.py" % (i % 97, i % 1999), i % 5000 + 1, "function_%d" % i) for i in range(N_FUNCTIONS)]
    stats = {}
    for key in keys:
        callers = {r.choice(keys): (r.randrange(1, 9), 1, r.random(), r.random()) for _ in range(r.randrange(5))}
        stats[key] = (r.randrange(1, 50), r.randrange(50, 99), r.random(), r.random() * 9, callers)
    with open(path, "wb") as f:
        f.write(marshal.dumps(stats))


def cpu_ns(command, to):
    before = os.times()
    with open(to, "wb") as f:
        subprocess.run(command, stdout=f, check=True)
    after = os.times()
    return ((after.children_user + after.children_system) - (before.children_user + before.children_system)) * 1e9


def main():
    n_rounds, sonde, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    path = os.path.join(folder, "large.pstats")
    make_file(path)
    commands = {"sonde": [sonde, "report", path, "-s", "cumulative"],
                "compat": [sys.executable, "-c", CODE % ("sonde.compat.pstats", path)],
                "pstats": [sys.executable, "-c", CODE % ("pstats", path)]}
    found = {name: [] for name in commands}
    texts = set()
    for _ in range(n_rounds):
        for name, command in commands.items():
            out = os.path.join(folder, name + ".txt")
            found[name].append(cpu_ns(command, out))
            with open(out, "rb") as f:
                texts.add(f.read())
    if len(texts) != 1:
        sys.exit("the tables are not the same")
    tell(found, {"pstats": "pstats of CPython %d.%d.%d" % sys.version_info[:3]})


main()
