# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
# limit: 900
"""What a recording or a capture lacks is said on stderr by every verb, for every output, and with --quiet.

Each test makes one kind of loss of src/profile/losses.def and then asks all verbs that read a capture.
"""
import contextlib
import csv
import io
import json
import os
import re
import resource
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, equal, need, run_tests, sonde, wait_for, write  # noqa: E402
from full_disk import FILL, FUNCTION, LEAF, small_disk  # noqa: E402

# What reads a capture: the words behind `sonde`, with X for the capture.  Those of the second list may fail, because
# the capture has no samples, no model or no hot function, and say what is lost all the same.
READERS = ["report X", "report -q X", "report --json X", "report --csv X", "report --tree X", "report --callers X", "report -o OUT.txt X",
           "report -o OUT.json X", "report --flame -o OUT.svg X", "report --graph -o OUT.dot X", "report --imports X",
           "info X", "info --json X", "view X", "merge X -o OUT.sonde", "merge X -o OUT.json", "merge X -o OUT.csv",
           "convert X OUT.prof", "convert X OUT.csv", "convert X OUT.txt", "convert X OUT.json", "convert X OUT.speedscope.json",
           "convert X OUT.collapsed", "convert X OUT.pb.gz", "convert X OUT.callgrind", "convert X OUT.svg", "convert -q X OUT.trace.json"]
FAILING = ["top X", "model X", "lines --hot X -c pass"]


def lines_with(err, what):
    return [line for line in err.splitlines() if line.startswith("sonde: ") and re.search(what, line)]


def asked(words, folder, capture, **how):
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    command = [capture if w == "X" else w.replace("OUT", os.path.join(out, "x")) for w in words.split()]
    if command[0] == "lines":
        command[1:1] = ["-q", "--python", PYTHON, "-o", os.path.join(out, "hot.sonde")]
    env = clean_env(BROWSER="true", TMPDIR=out)
    return sonde(*command, cwd=folder, env=env, **how)


def every_verb_says(folder, capture, what, **how):
    """In one sentence; a verb that is asked for what is not there says it before it fails."""
    wrong = []
    for words in READERS + FAILING:
        result = asked(words, folder, capture, **how)
        if len(lines_with(result.err, what)) != 1 or (result.status != 0 and words not in FAILING):
            wrong.append((words, result.status, result.err[-300:]))
    assert not wrong, "%d of %d do not say it: %r" % (len(wrong), len(READERS + FAILING), wrong)


def every_output_says(folder, program, what, options=()):
    """The recording itself, to each kind of file, loud and quiet.  The last capture's path."""
    for output in ("x.prof", "x.pstats", "x.txt", "x.svg", "x.speedscope.json", "x.sonde"):
        for quiet in ([], ["-q"]):
            path = os.path.join(folder, output)
            with contextlib.suppress(OSError):
                os.unlink(path)
            says_once(record(folder, *quiet, *options, "-o", path, *program), what)
    return path


def limited(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def record(folder, *words, **how):
    """`sonde calls`, which must succeed and print one row: what it said."""
    result = sonde("calls", "--python", PYTHON, "-n", "1", *words, cwd=folder, **how)
    equal(result.status, 0, "status of `sonde calls %s` (%s)" % (" ".join(words), result.err[-300:]))
    return result.err


def says_once(err, what):
    equal(len(lines_with(err, what)), 1, "sentences: %r" % err)


def rows_of(capture):
    """The rows of the table of functions, by name."""
    return {row["function"]: row for row in csv.DictReader(io.StringIO(sonde("report", "--csv", "-n", "0", capture).out))}


FUNCTIONS = "for i in range(3000):\n    eval('lambda x: x', {})(i)\n"


def test_a_whole_capture_lacks_nothing(folder):
    path = os.path.join(folder, "x.sonde")
    write(folder, "script.py", FUNCTIONS)
    equal(record(folder, "-q", "-o", path, "script.py"), "", "stderr")
    for words in READERS:
        result = asked(words, folder, path)
        equal(lines_with(result.err, "x.sonde: "), [], "what `%s` says is lost" % words)


def test_a_full_tree(folder):
    script = write(folder, "script.py", FUNCTIONS)
    capture = every_output_says(folder, [script], "are known by caller and callee alone", ["--nodes", "1000"])
    every_verb_says(folder, capture, "are known by caller and callee alone")


# Two threads begin after the limit has fallen, and two before.
THREADS = """
import resource, sys, threading
def early(): pass
def late(): pass
def run(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads: t.start()
    for t in threads: t.join()
run(early, early)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
run(late, late)
"""


def test_threads_after_a_limit_on_files_has_fallen(folder):
    script = write(folder, "script.py", THREADS)
    what = r"all calls of 2 threads are missing: the program's files may not become larger \(RLIMIT_FSIZE, ulimit -f\)"
    for limit in ("0", "100000"):        # not even a head page, and no first segment
        capture = every_output_says(folder, [script, limit], what)
        result = sonde("info", capture)
        assert re.search(r"process \d+: no calls were traced in threads \d+, \d+\n", result.out), result.out
        assert "events were" not in result.err and "no calls were traced" not in result.err, result.err
        equal((result.out + result.err).count("all calls of 2 threads"), 2, "times that info says it, once on stderr")
        table = sonde("report", "--csv", capture).out
        assert "early" in table and "late" not in table, table
    every_verb_says(folder, capture, what)


# The limit falls before the tree is full, and there is no room for what lies beyond it.
BEYOND = """
import resource, sys
def leaf(): pass
def chain(n):
    leaf()
    if n: chain(n - 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
chain(200)
for i in range(20): chain(i)
"""


def test_calls_beyond_the_tree_after_a_limit_on_files_has_fallen(folder):
    script = write(folder, "script.py", BEYOND)
    what = r"[\d,]+ calls of thread \d+ are missing: the program's files may not become larger \(RLIMIT_FSIZE, ulimit -f\)"
    capture = every_output_says(folder, [script, "100000"], what, ["--nodes", "120"])
    result = sonde("info", capture)
    assert "events were" not in result.err + result.out, result.err
    lost = int(re.search(r"([\d,]+) calls of thread", result.out).group(1).replace(",", ""))
    rows = json.loads(sonde("report", "--json", "--all", "--table", "functions", capture).out)["functions"]
    counted = sum(row["calls"] for row in rows if row["function"] in ("leaf", "chain"))
    equal(lost + counted, 2 * (201 + sum(range(1, 21))), "calls that are counted, and that are missing")
    every_verb_says(folder, capture, what)


def test_threads_without_room_when_sonde_is_killed(folder):
    """Then only the live folder knows of them, and a merged file must, too."""
    script = write(folder, "script.py", THREADS + "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(0.1)\nopen('ended', 'w')\n")
    capture, merged = os.path.join(folder, "x.sonde"), os.path.join(folder, "merged.sonde")
    equal(sonde("calls", "-q", "--python", PYTHON, "-o", capture, script, "1", cwd=folder).status, -9, "status")
    wait_for(lambda: os.path.exists(os.path.join(folder, "ended")), "the end of the program")
    time.sleep(0.3)        # it has to leave the capture yet
    equal(sonde("merge", capture, "-o", merged).status, 0, "status of merge")
    for path in (capture, merged):
        result = sonde("report", "-q", path)
        assert len(lines_with(result.err, "all calls of 2 threads are missing: the program's files may not become larger")) == 1, (path, result.err)


def test_a_limit_on_files_for_all(folder):
    script = write(folder, "script.py", FUNCTIONS.replace("3000", "20000"))
    capture = os.path.join(folder, "x.sonde")
    what = r"calls of thread \d+ are missing: the program's files may not become larger \(RLIMIT_FSIZE, ulimit -f\)"
    says_once(record(folder, "-q", "-o", capture, script, preexec_fn=limited(resource.RLIMIT_FSIZE, 1 << 20)), what)
    every_verb_says(folder, capture, what)


def test_calls_missing_on_a_full_disk(folder):
    script = write(folder, "script.py", LEAF + FUNCTION + FILL + "work(1000)\nfill()\nfor i in range(1000):\n    function(i)(20)\nwork(100000)\n")
    with small_disk(folder, "8m") as disk:
        capture, filler = os.path.join(disk, "x.sonde"), os.path.join(disk, "filler")
        for quiet in ([], ["-q"]):
            says_once(record(folder, *quiet, "--force", "-o", capture, script, filler), "calls of thread [0-9]+ are missing: there was no room for them on the disk")
            os.unlink(filler)
        every_verb_says(folder, capture, "calls of thread [0-9]+ are missing: there was no room for them on the disk")


def test_calls_missing_from_a_timeline(folder):
    script = write(folder, "script.py", LEAF + FILL + "work(1000)\nfill()\nwork(100000)\n")
    what = "calls are missing from the timeline"
    with small_disk(folder, "6m") as disk:
        capture, filler = os.path.join(disk, "x.sonde"), os.path.join(disk, "filler")
        says_once(record(folder, "-q", "--timeline", "-o", capture, script, filler), what)
        os.unlink(filler)
        every_verb_says(folder, capture, what)


def test_a_timeline_leaves_the_table_of_calls_its_room(folder):
    """The timeline alone would fill the disk; the functions that come behind it need some of it."""
    script = write(folder, "script.py", LEAF + FUNCTION + "work(3000000)\nfor i in range(1500):\n    function(i)(2)\n")
    with small_disk(folder, "3m") as disk:
        capture = os.path.join(disk, "x.sonde")
        said = record(folder, "-q", "--timeline", "-o", capture, script).splitlines()
        assert len(said) == 1 and "calls are missing from the timeline" in said[0], said
        rows = rows_of(capture)
    equal(int(rows["leaf"]["calls"]), 3000000, "calls of leaf")
    equal({int(rows["f%d" % i]["calls"]) for i in range(1500)}, {3}, "calls of the functions behind it")


def test_a_disk_without_room_for_a_timeline_has_room_for_the_table(folder):
    script = write(folder, "script.py", LEAF + "work(20000)\n")
    for size in ("540k", "600k"):
        with small_disk(folder, size) as disk:
            capture = os.path.join(disk, "x.sonde")
            err = record(folder, "-q", "--timeline", "-o", capture, script)
            rows = rows_of(capture)
            # Not as events, too: these are facts of the run itself, which find no room, either.
            lost = re.fullmatch(r"(?:sonde: at least \d events? (?:was|were) lost .*\n)?sonde: ([\d,]+) calls are missing from the timeline: .*\n", err)
            assert lost, err
            equal(int(lost.group(1).replace(",", "")), sum(int(row["calls"]) for row in rows.values()), "calls that are missing from the timeline")
            equal(int(rows["leaf"]["calls"]), 20000, "calls of leaf")


PATHS = """
import random; random.seed(1)
R=lambda a,b,r=random.random: int(r()*10)
for i in range(10): exec("def f%d(d):\\n    return d and F[R(0,9)](d-1)" % i, globals())
F=[globals()["f%d" % i] for i in range(10)]
for _ in range(15000): F[0](8)
"""


def test_more_than_fits_into_memory(folder):
    script = write(folder, "script.py", PATHS)
    capture = os.path.join(folder, "x.sonde")
    equal(record(folder, "-q", "-o", capture, script), "", "stderr")
    limit = limited(resource.RLIMIT_AS, 60 << 20)
    wrong = []
    for words in READERS + FAILING[:-1]:        # the last one starts a program, which needs more
        result = asked(words, folder, capture, preexec_fn=limit)
        # A copy is made without what is read of it.
        if len(lines_with(result.err, "names did not fit into memory")) != (words != "merge X -o OUT.sonde"):
            wrong.append((words, result.status, result.err[-300:]))
    assert not wrong, wrong
    equal(sonde("report", "-q", capture).err, "", "with the memory that there is")


def test_a_damaged_chunk(folder):
    write(folder, "script.py", FUNCTIONS)
    capture = os.path.join(folder, "x.sonde")
    record(folder, "-q", "-o", capture, "script.py")
    with open(capture, "r+b") as f:
        f.seek(os.path.getsize(capture) // 2)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 0xff]))
    every_verb_says(folder, capture, r"1 of \d+ chunks \([\d.]+ %\) is missing")


def test_time_not_traced(folder):
    need(sys.version_info < (3, 12), "nobody can take the place of sys.monitoring")
    script = write(folder, "script.py", "import sys, time\ndef f(): len('x')\ndef own(*event): pass\nf()\nsys.setprofile(own)\nf()\ntime.sleep(0.05)\nf()\n")
    capture = every_output_says(folder, [script], "calls were not traced for ", ["--builtins"])
    every_verb_says(folder, capture, "calls were not traced for ")


if __name__ == "__main__":
    run_tests(globals())
