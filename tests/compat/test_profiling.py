# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""profiling.tracing and profiling.sampling of CPython 3.15: as sonde.compat.profiling everywhere, under their own names from 3.15 on."""
import json
import marshal
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

HAS_NAMES = sys.version_info >= (3, 15)
SAMPLING = "profiling.sampling" if HAS_NAMES else "sonde.compat.profiling.sampling"
BUSY = """\
import sys, time
def inner(until):
    while time.process_time() < until:
        pass
def outer(until):
    inner(until)
outer(0.3)
print("args", sys.argv[1:])
"""


def alias_env():
    return clean_env(PYTHONPATH=sonde("compat-path").out.strip())


def sampling(folder, *words):
    return run([PYTHON, "-m", SAMPLING] + list(words), cwd=folder, env=alias_env() if HAS_NAMES else None)


def ok(result, what):
    equal(result.status, 0, "status of %s (%s)" % (what, result.err[-600:]))
    return result


def test_a_run_prints_a_table_or_writes_a_file_of_samples(folder):
    write(folder, "busy.py", BUSY)
    out = ok(sampling(folder, "run", "-r", "500", "--sort", "cumtime", "-l", "30", "busy.py", "-x", "2"), "run").out
    contains(out, "args ['-x', '2']")
    contains(out, "Ordered by: cumulative time, standard name")
    contains(out, " nsamples  tottime persample cumtime persample filename:lineno(function)\n")
    assert re.search(r"^ +\d+ +(?!0\.000)\d+\.\d+ .*busy\.py:2\(inner\)$", out, re.M), out
    assert re.search(r"^ +\d+/0 +0\.000 .*busy\.py:5\(outer\)$", out, re.M), out
    ok(sampling(folder, "run", "-r", "500", "-o", "x.pstats", "busy.py"), "run -o")
    with open(os.path.join(folder, "x.pstats"), "rb") as f:
        rows = marshal.load(f)
    equal(rows.pop(("__sampled__",)), True, "the mark of samples")
    contains(ok(sonde("report", "x.pstats", "-s", "samples", cwd=folder), "report").out, " nsamples ")


def leaves(path):
    """{function: samples in it} of collapsed stacks."""
    found = {}
    with open(path) as f:
        for line in f:
            stack, n = line.rsplit(" ", 1)
            name = stack.split(";")[-1].split(" ")[0]
            found[name] = found.get(name, 0) + int(n)
    return found


def test_a_capture_is_replayed_in_each_format_with_the_same_samples(folder):
    write(folder, "busy.py", BUSY)
    ok(sampling(folder, "run", "-r", "500", "--binary", "-o", "x.bin", "busy.py"), "run --binary")
    for words in (["--pstats", "-o", "x.pstats"], ["--collapsed", "-o", "x.txt"], ["--gecko", "-o", "x.json"],
                  ["--flamegraph", "-o", "x.html"], ["--flamegraph", "-o", "x.svg"]):
        ok(sampling(folder, "replay", "x.bin", *words), words)
    with open(os.path.join(folder, "x.pstats"), "rb") as f:
        rows = {key[-1]: row for key, row in marshal.load(f).items() if key[0].endswith("busy.py")}
    counts = leaves(os.path.join(folder, "x.txt"))
    assert counts["inner"] > 20, counts
    equal(rows["inner"][0], counts["inner"], "samples in inner")
    equal([rows["outer"][0], rows["outer"][1]], [counts.get("outer", 0), counts["inner"] + counts.get("outer", 0)], "samples in and below outer")
    equal([n[0] for caller, n in rows["inner"][4].items() if caller[2] == "outer"], [rows["inner"][1]], "inner below outer")
    with open(os.path.join(folder, "x.json")) as f:
        contains(json.load(f), "threads")
    with open(os.path.join(folder, "x.html")) as f:
        contains(f.read(), '<object type="image/svg+xml" data="data:image/svg+xml;base64,')


def test_a_process_is_attached_to_and_dumped(folder):
    path = write(folder, "waits.py", "import sys, time\ndef waiting():\n    print('ready', flush=True)\n    time.sleep(60)\nwaiting()\n")
    p = subprocess.Popen([PYTHON, path], stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        contains(ok(sampling(folder, "dump", "-a", str(p.pid)), "dump").out, "waiting (waits.py:4)")
        contains(ok(sampling(folder, "attach", "-d", "1", "-r", "100", str(p.pid)), "attach").out, "waits.py:2(waiting)")
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


def test_options_reach_the_sampler(folder):
    write(folder, "busy.py", BUSY)
    for i, words in enumerate((["-r", "1000khz"], ["-r", "2.5k", "-a", "--no-gc"], ["--native"], ["--subprocesses"], ["--blocking"],
                               ["--mode", "cpu"], ["--mode", "gil"], ["-m"])):
        name = "%d.collapsed" % i
        ok(sampling(folder, *(["run"] + [w for w in words if w != "-m"] + ["--collapsed", "-o", name] + (["-m", "busy"] if words == ["-m"] else ["busy.py"]))), words)
        with open(os.path.join(folder, name)) as f:
            contains(f.read(), "inner (busy.py")
    for words, said in ((["-r", "0.5"], "once a second or more often"), (["-r", "1001khz"], "too high"), (["-r", "fast"], "Invalid sampling rate")):
        result = sampling(folder, *(["run"] + words + ["busy.py"]))
        equal((result.status, result.out), (2, ""), "status and output of %s" % words)
        contains(result.err, said)


def test_what_cannot_be_had_is_refused_by_name(folder):
    write(folder, "busy.py", "raise SystemExit('it ran')\n")
    write(folder, "theirs.bin", "TACH and more")
    for words, said in ((["run", "--heatmap"], "--heatmap"), (["run", "--jsonl"], "--jsonl"), (["run", "--diff-flamegraph", "b"], "--diff-flamegraph"),
                        (["run", "--async-aware"], "--async-aware"), (["run", "--opcodes"], "--opcodes"), (["run", "--mode", "exception"], "--mode exception"),
                        (["run", "--live", "--gecko"], "--live is incompatible"), (["run", "--collapsed", "-l", "3"], "only valid with --pstats")):
        result = sampling(folder, *(words + ["busy.py"]))
        equal((result.status, result.out), (2, ""), "status and output of %s" % words)
        contains(result.err, said)
    for words, status, said in ((["replay", "theirs.bin"], 2, "CPython's own sampler"), (["replay", "missing"], 1, "not found: missing"),
                                (["replay", "busy.py"], 1, "busy.py is not a binary sampling profile"), (["run", "--async-mode", "all", "busy.py"], 2, "--async-mode requires --async-aware"),
                                (["run", "missing.py"], 1, "Script 'missing.py' not found."), (["run", "-m", "missing"], 1, "Module 'missing' not found."),
                                (["attach", "4194305"], 1, "'4194305' does not exist")):
        result = sampling(folder, *words)
        equal(result.status, status, "status of %s (%s)" % (words, result.err))
        contains(result.err, said)


def test_the_names_are_ours_where_cpython_has_them(folder):
    path = write(folder, "asks.py", """\
import sys
import profiling.sampling.cli, profiling.tracing as tracing, cProfile
from profiling.sampling.errors import SamplingScriptNotFoundError
sys.argv[1:] = ["run", "missing.py"]
try:
    profiling.sampling.main()
except SamplingScriptNotFoundError as why:
    print(why.script_path, why)
print(tracing.Profile is cProfile.Profile, tracing.Profile.__module__, tracing.label("len"), tracing.__all__)
print(profiling.__name__, tracing.__name__, profiling.tracing is tracing, "_remote_debugging" in sys.modules)
""")
    result = run([PYTHON, path], cwd=folder, env=alias_env())
    if HAS_NAMES:
        equal(result.err, "", "stderr")
        equal(result.out.splitlines(), ["missing.py Script 'missing.py' not found.",
                                        "True sonde.compat.cProfile ('~', 0, 'len') ('run', 'runctx', 'Profile')", "profiling profiling.tracing True False"])
        made = run([PYTHON, "-m", "profiling.tracing", "-s", "name", write(folder, "plain.py", "print(len([]))\n")], cwd=folder, env=alias_env())
        equal((made.status, made.err), (0, ""), "profiling.tracing")
        contains(made.out, "Ordered by: function name")
        return
    contains(result.err, "No module named 'profiling'")
    os.mkdir(os.path.join(folder, "site"))
    write(folder, os.path.join("site", "profiling.py"), "MINE = 'of the program'\n")
    path = write(folder, "has_its_own.py", "import profiling, cProfile\nprint(profiling.MINE, cProfile.Profile.__module__)\n")
    result = run([PYTHON, path], cwd=folder, env=clean_env(PYTHONPATH=sonde("compat-path").out.strip() + ":site"))
    equal((result.out, result.err), ("of the program sonde.compat.cProfile\n", ""), "whose modules they are")


if __name__ == "__main__":
    run_tests(globals())
