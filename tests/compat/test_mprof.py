# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""sonde.compat.mprof: its commands and texts, calls of decorated functions, and files that memory_profiler's own mprof reads and writes."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import helpers  # noqa: E402
from fetched import download, unpack_tests  # noqa: E402
from helpers import PYTHON, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

MEMORY_PROFILER = "memory_profiler", "memory_profiler-0.61.0", "4e5b73d7864a1d1292fb76a03e82a3e78ef934d06828a698d9dada76da2067b0"
PROGRAM = """\
import sys, time

@profile
def inner(n):
    held = bytearray(b"x") * (n << 20)
    time.sleep(0.15)
    return len(held)

@profile
def outer():
    inner(60)
    inner(20)

outer()
print("output", sys.argv[1:])
"""
READING = re.compile(r"MEM \d+\.\d{6} \d+\.\d{4}$")
CHILD = re.compile(r"CHLD \d+ \d+\.\d{6} \d+\.\d{4}$")
CALL = re.compile(r"FUNC (\S+) (\d+\.\d{4}) (\d+\.\d{4}) (\d+\.\d{4}) (\d+\.\d{4}) (\d)$")
OLD = """\
CMDLINE python old.py
MEM 10.000000 1700000000.0000
MEM 90.500000 1700000000.1000
CHLD 77 5.250000 1700000000.1000
MEM 20.000000 1700000000.2000
FUNC m.f 10.0000 1700000000.0500 20.0000 1700000000.1500
"""


def near(value, expected, slack, what):
    assert abs(value - expected) <= slack, "%s: %s, not %s +- %s" % (what, value, expected, slack)


def mprof(folder, *words, **more):
    return run([PYTHON, "-m", "sonde.compat.mprof"] + list(words), cwd=folder, env=clean_env(PYTHONPATH=helpers.PACKAGE_PATH), **more)


def lines_of(folder, name):
    with open(os.path.join(folder, name)) as f:
        return f.read().splitlines()


def answers(folder, *words, **more):
    """stdout of a command that ends well."""
    done = mprof(folder, *words, **more)
    equal((done.status, done.err), (0, ""), " ".join(words))
    return done.out


def test_run_of_a_script_has_memory_and_its_functions(folder):
    write(folder, "work.py", PROGRAM)
    out = answers(folder, "run", "-T", "0.02", "work.py", "a", "b c")
    equal(out.splitlines(), ["mprof.py: Sampling memory every 0.02s", "running new process", "running as a Python program...", "output ['a', 'b c']"], "stdout")
    name, = [name for name in os.listdir(folder) if re.match(r"mprofile_\d{14}\.dat$", name)]
    lines = lines_of(folder, name)
    equal(lines[0], "CMDLINE %s work.py a 'b c'" % PYTHON, "command")
    readings = [line.split() for line in lines if READING.match(line)]
    calls = [CALL.match(line).groups() for line in lines if line.startswith("FUNC")]
    equal(len(readings) + len(calls) + 1, len(lines), "lines of other kinds: %s" % lines)
    equal([(call[0], call[5]) for call in calls], [("__main__.inner", "1"), ("__main__.inner", "1"), ("__main__.outer", "0")], "calls and levels")
    assert len(readings) >= 8, readings
    most, low = max(float(r[1]) for r in readings), float(calls[2][1])
    near(most - low, 60, 12, "what the larger call holds")
    for call in calls:
        assert float(call[2]) < float(call[4]) and abs(float(call[2]) - time.time()) < 600, call
    near(float(calls[0][4]) - float(calls[0][2]), 0.2, 0.15, "the larger call lasts")
    peak = answers(folder, "peak")
    equal(peak, "Using last profile data.\n%s\t%.3f MiB\n" % (name, most), "peak")
    found = re.match(r"%s\t([\d.]+) MiB\n" % name, answers(folder, "peak", "--func", "__main__.inner", "0"))
    near(float(found.group(1)), most, 0.001, "peak of a function")
    equal(answers(folder, "peak", "--func", "nowhere", name), name + "\tNaN MiB\n", "peak of no function")
    ts = name[len("mprofile_"):-len(".dat")]
    equal(answers(folder, "list"), "0 %s %s:%s:%s %s/%s/%s\n" % (name, ts[8:10], ts[10:12], ts[12:], ts[6:8], ts[4:6], ts[:4]), "list")


def test_children_are_summed_or_apart(folder):
    write(folder, "parent.py", "import subprocess, sys\nheld = bytearray(b'x') * (30 << 20)\n"
                               "subprocess.check_call([sys.executable, '-c', 'import time; b = bytearray(b\"x\") * (50 << 20); time.sleep(0.6)'])\n")
    answers(folder, "run", "-T", "0.02", "-C", "-o", "sum.dat", "--nopython", PYTHON, "parent.py")
    answers(folder, "run", "-T", "0.02", "-M", "-o", "apart.dat", "parent.py")
    both = max(float(line.split()[1]) for line in lines_of(folder, "sum.dat") if READING.match(line))
    lines = lines_of(folder, "apart.dat")
    alone = max(float(line.split()[1]) for line in lines if READING.match(line))
    children = [line.split() for line in lines if CHILD.match(line)]
    equal(len(set(child[1] for child in children)), 1, "children")
    child = max(float(child[2]) for child in children)
    assert child > 50 and alone > 30, (child, alone)
    near(both, alone + child, 8, "the sum")
    peak = answers(folder, "peak", "apart.dat").splitlines()
    equal(peak, ["apart.dat\t%.3f MiB" % alone, "  Child %s\t\t\t%.3f MiB" % (children[0][1], child)], "peak")


def test_exit_codes_and_timeouts(folder):
    done = mprof(folder, "run", "-E", "-T", "0.01", "-o", "x.dat", PYTHON, "-c", "raise SystemExit(3)")
    equal(done.status, 3, "status")
    contains(done.err, "Program resulted with a non-zero exit code: 3")
    equal(mprof(folder, "run", "-T", "0.01", "-o", "y.dat", PYTHON, "-c", "raise SystemExit(3)").status, 0, "without -E")
    process = subprocess.Popen([PYTHON, "-c", "import time; time.sleep(60)"])
    try:
        out = answers(folder, "attach", "-T", "0.1", "-t", "1", "-o", "z.dat", str(process.pid))
        contains(out, "attaching to existing process, using hint: %d\n" % process.pid)
        lines = lines_of(folder, "z.dat")
        equal(lines[0], "CMDLINE %d" % process.pid, "command")
        equal(len([line for line in lines if READING.match(line)]), 10, "readings of a second")
    finally:
        process.kill()
        process.wait()
    done = mprof(folder, "attach", str(process.pid))
    equal((done.status, done.err), (1, "mprof: there is no process %d that can be read\n" % process.pid), "attach to none")
    path = write(folder, "sonde-named", "#!/bin/sh\nsleep 60\n:\n")
    os.chmod(path, 0o755)
    process = subprocess.Popen([path], start_new_session=True)
    try:
        answers(folder, "attach", "-T", "0.1", "-t", "1", "-o", "n.dat", "onde-name")
        contains(lines_of(folder, "n.dat")[0], "CMDLINE ['/bin/sh', '%s']" % path)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = mprof(folder, "attach", "no-such-process")
    equal(done.status, 1, "attach to no name")
    contains(done.err, "Failed to find a process using hint: no-such-process")


def test_a_backend_that_cannot_read_a_process_is_refused_before_it_starts(folder):
    write(folder, "a.py", "open('begun', 'w')\n")
    done = mprof(folder, "run", "--backend", "tracemalloc", "-o", "a.dat", "a.py")
    equal((done.status, done.out), (1, ""))
    equal(done.err, "mprof: the backend tracemalloc reads the memory of functions, from inside their process; choose psutil, psutil_pss, psutil_uss or posix\n")
    equal(os.listdir(folder), ["a.py"], "what is there")


def test_attach_ends_with_the_process(folder):
    process = subprocess.Popen([PYTHON, "-c", "import time; time.sleep(1.5)"])
    answers(folder, "attach", "-T", "0.1", "-o", "z.dat", str(process.pid))  # a zombie is left to us
    equal(process.wait(), 0, "its end")


def test_control_c_keeps_the_readings(folder):
    write(folder, "long.py", "import time\ntime.sleep(60)\n")
    process = subprocess.Popen([PYTHON, "-m", "sonde.compat.mprof", "run", "-T", "0.05", "-o", "long.dat", "long.py"], cwd=folder,
                               env=clean_env(PYTHONPATH=helpers.PACKAGE_PATH), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    path = os.path.join(folder, "long.dat")
    deadline = time.time() + 30
    while time.time() < deadline and not (os.path.exists(path) and len(lines_of(folder, "long.dat")) > 3):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    equal(process.wait(), 130, "status")
    assert len(lines_of(folder, "long.dat")) > 3


def test_files_are_listed_and_removed(folder):
    for name in ("mprofile_20200101000000.dat", "mprofile_20210203040506.dat", "mprofile_20210203040506_ts.dat", "other.dat"):
        write(folder, name, OLD)
    equal(answers(folder, "list"), "0 mprofile_20200101000000.dat 00:00:00 01/01/2020\n1 mprofile_20210203040506.dat 04:05:06 03/02/2021\n", "list")
    equal(answers(folder, "rm", "--dry-run", "-1"), "Files to be removed: \nmprofile_20210203040506.dat\nmprofile_20210203040506_ts.dat\n", "rm of the last")
    answers(folder, "rm", "0", "other.dat")
    equal(sorted(os.listdir(folder)), ["mprofile_20210203040506.dat", "mprofile_20210203040506_ts.dat"], "what is left")
    for words, says in ((["rm", "9"], "Invalid index (non-existing file): 9"), (["rm", "nowhere.dat"], "File nowhere.dat not found"), (["rm", "."], "Path . is a directory")):
        done = mprof(folder, *words)
        equal((done.status, done.err), (1, "mprof: " + says + "\n"), " ".join(words))
    equal(answers(folder, "clean", "--dry-run"), "Files to be removed: \nmprofile_20210203040506.dat\nmprofile_20210203040506_ts.dat\n", "clean")
    answers(folder, "clean")
    equal(os.listdir(folder), [], "what is left")
    for words, status, out in ((["peak"], 255, "No input file found. \nThis program looks for mprofile_*.dat files, generated by the 'mprof run' command.\n"),
                               (["plot", "x"], 255, "Input file not found: x\nNo files found from given input.\n"), (["rm"], 1, "A profile to remove must be provided (number or filename)\n"),
                               (["run"], 1, "A program to run must be provided. Use -h for help\n")):
        done = mprof(folder, *words)
        equal((done.status, done.out), (status, out), " ".join(words))
    done = mprof(folder)
    equal((done.status, done.out.splitlines()[0]), (1, "Usage: mprof.py <command> <options> <arguments>"), "no command")
    equal(answers(folder, "run", "--version"), "0.61.0\n", "version")


def head(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read(8)


def test_plots_are_drawn_without_matplotlib(folder):
    write(folder, "old.dat", OLD)
    write(folder, "new.dat", OLD.replace("17000", "18000").replace("90.5", "70.5"))
    answers(folder, "plot", "-o", "a.png", "old.dat")
    answers(folder, "plot", "-o", "b.jpeg", "-n", "-s", "-t", "a title", "-w", "0,0.15", "--backend", "agg", "old.dat")
    answers(folder, "plot", "-o", "c.svg", "-f", "old.dat")
    answers(folder, "plot", "-o", "d", "old.dat", "new.dat")
    equal((head(folder, "a.png")[1:4], head(folder, "b.jpeg")[:3], head(folder, "d.png")[1:4]), (b"PNG", b"\xff\xd8\xff", b"PNG"), "kinds")
    write(folder, "empty.dat", "CMDLINE x\n")
    contains(answers(folder, "plot", "-o", "e.png", "empty.dat"), "** No memory usage values have been found in the profile file.**\nFile path: empty.dat\n")
    done = mprof(folder, "plot", "-w", "1", "-o", "e.png", "old.dat")
    equal(done.status, 2, "a window of one number")
    write(folder, "broken.dat", "MEM 1\n")
    done = mprof(folder, "peak", "broken.dat")
    equal((done.status, done.err), (1, 'mprof: broken.dat: line 1 is broken: after MEM there should be MiB and a time, not "MEM 1"\n'), "a broken file")


def test_the_program_needs_no_sonde_on_the_path(folder):
    write(folder, "work.py", PROGRAM)
    path = sonde("compat-path", "--programs").out.strip() + os.pathsep + os.path.dirname(PYTHON) + os.pathsep + os.environ["PATH"]
    done = run(["mprof", "run", "-o", "x.dat", "work.py"], cwd=folder, env=clean_env(PATH=path))
    equal((done.status, done.err, done.out.splitlines()[0]), (0, "", "mprof: Sampling memory every 0.1s"), "mprof")
    equal(len([line for line in lines_of(folder, "x.dat") if CALL.match(line)]), 3, "calls")


ASKS = """\
import sys
sys.path.insert(0, sys.argv[1])
import mprof
for name in sys.argv[2:]:
    found = mprof.read_mprofile_file(name)
    print(sorted(found), found["cmd_line"], found["mem_usage"], found["timestamp"], sorted(found["func_timestamp"].items()), sorted(found["children"].items()))
"""


def test_memory_profilers_own_mprof_reads_our_files_and_we_read_its(folder):
    project, name, sha256 = MEMORY_PROFILER
    inside = unpack_tests(folder, download(project, name + ".tar.gz", sha256), name + "/")
    theirs = os.path.join(folder, "theirs")
    os.mkdir(theirs)
    os.rename(os.path.join(inside, "mprof.py"), os.path.join(theirs, "mprof.py"))
    alias = clean_env(PYTHONPATH=sonde("compat-path").out.strip())  # theirs imports memory_profiler, which need not be installed
    write(folder, "work.py", PROGRAM)
    write(folder, "old.dat", OLD)
    answers(folder, "run", "-T", "0.02", "-o", "ours.dat", "work.py")
    done = run([PYTHON, os.path.join(theirs, "mprof.py"), "run", "-T", "0.02", "-M", "-o", "theirs.dat", PYTHON, "-c", "import time; time.sleep(0.2)"], cwd=folder, env=alias)
    equal(done.status, 0, "theirs (%s)" % done.err)
    code = "import sonde, time\nwith sonde.section('of work'): time.sleep(0.1)"
    equal(sonde("rss", "-q", "--every", "10ms", "-o", "rss.dat", "-c", code, cwd=folder).status, 0, "sonde rss")
    equal(sonde("convert", "old.dat", "again.dat", cwd=folder).status, 0, "convert")
    files = ["ours.dat", "theirs.dat", "old.dat", "again.dat", "rss.dat"]
    write(folder, "asks.py", ASKS)
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    by_theirs = run([PYTHON, "asks.py", theirs] + files, cwd=folder, env=alias)
    by_ours = run([PYTHON, "asks.py", empty] + files, cwd=folder, env=alias)
    equal((by_theirs.status, by_ours.status), (0, 0), "reading (%s%s)" % (by_theirs.err, by_ours.err))
    equal(by_ours.out, by_theirs.out, "what is read")
    contains(by_ours.out.splitlines()[-1], "of_work")
    for command in (["run", "--help"], ["peak", "--help"], ["list", "--help"], ["rm", "--help"], ["clean", "--help"], ["peak"] + files, ["list"], ["peak", "--func", "__main__.outer", "ours.dat"]):
        words = [[PYTHON, at] + command for at in (os.path.join(theirs, "mprof.py"), os.path.join(helpers.PACKAGE_PATH, "sonde", "compat", "mprof.py"))]
        equal(mprof(folder, *command).out, run(words[0], cwd=folder, env=alias).out, " ".join(command))


if __name__ == "__main__":
    run_tests(globals())
