# SPDX-License-Identifier: MIT
"""The call graph of one pstats file, that of a program with thousands of functions: `sonde report --graph` beside
gprof2dot and dot; and all of its functions, whose layout has a limit.  Fresh processes; CPU time of the whole of them.

    graph_file.py ROUNDS SONDE FOLDER
"""
import importlib.util
import os
import pstats
import resource
import shutil
import subprocess
import sys

from rounds import tell

# Imports are most of what starts; pandas is used, too, where it is there.
PROGRAM = """
import argparse, asyncio, concurrent.futures, csv, ctypes, decimal, difflib, doctest, email.mime.text, http.client, json, logging.config
import multiprocessing.pool, sqlite3, ssl, statistics, tarfile, unittest.mock, urllib.request, xml.dom.minidom, zipfile
try:
    import pandas
except ImportError:
    pandas = None
if pandas:
    df = pandas.DataFrame({"a": range(1000), "b": [str(i) for i in range(1000)]})
    df.groupby("b").sum(); df.to_json(); df.to_csv(); df.merge(df, on="a"); df.describe(); str(df)
json.loads(json.dumps(list(range(1000))))
"""


def cpu_ns(commands, folder):
    """A pipe of commands."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    stdin, children = None, []
    for i, command in enumerate(commands):
        last = i + 1 == len(commands)
        children.append(subprocess.Popen(command, stdin=stdin, stdout=None if last else subprocess.PIPE, cwd=folder))
        if stdin:
            stdin.close()
        stdin = children[-1].stdout
    if any([child.wait() for child in children]):
        sys.exit("%s failed" % commands)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9


def main():
    n_rounds, sonde, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    path = os.path.join(folder, "program.pstats")
    script = os.path.join(folder, "program.py")
    with open(script, "w") as f:
        f.write(PROGRAM)
    subprocess.run([sys.executable, "-m", "cProfile", "-o", path, script], check=True)
    report = [sonde, "report", path, "--force", "--graph", "-o"]
    commands = {"sonde": [report + ["ours.svg"]], "all": [report + ["all.svg", "--node-thres", "0", "--edge-thres", "0"]]}
    versions = {"sonde": "a program with %d functions" % len(pstats.Stats(path).stats)}
    if importlib.util.find_spec("gprof2dot") and shutil.which("dot"):
        commands["gprof2dot"] = [[sys.executable, "-m", "gprof2dot", "-f", "pstats", path], ["dot", "-Tsvg", "-o", "theirs.svg"]]
        graphviz = subprocess.run(["dot", "-V"], stderr=subprocess.PIPE, check=True).stderr.decode().strip()
        versions["gprof2dot"] = "gprof2dot, " + graphviz
    found = {name: [] for name in commands}
    for _ in range(n_rounds):
        for name, pipe in commands.items():
            found[name].append(cpu_ns(pipe, folder))
    tell(found, versions)


main()
