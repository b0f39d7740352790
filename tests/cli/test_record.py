# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""sonde record: by process and by command, every way to end, and every refusal."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import (PYTHON, SONDE, Capture, clean_env, contains, equal, is_alive, need, run, run_tests,  # noqa: E402
                     sonde, state_of, wait_for, write)

SERVER = """
import sys, time
def heavy():
    t = 0
    for i in range(30000):
        t += i
def light():
    t = 0
    for i in range(10000):
        t += i
print("ready", flush=True)
end = time.process_time() + float(sys.argv[1])  # of work: on a busy machine it takes as many samples, not fewer
while time.process_time() < end:
    heavy()
    light()
sys.exit(3)
"""
ACCOUNT = r"sonde: ([\d,]+) samples \(([\d,]+) missed, ([\d,]+) lost, ([\d,]+) partial, ([\d,]+) idle\)"


class Server:
    """A busy program that lives as long as the test needs it."""

    def __init__(self, folder, seconds=60):
        self.process = subprocess.Popen([PYTHON, write(folder, "server.py", SERVER), str(seconds)], stdout=subprocess.PIPE,
                                        env=clean_env())
        self.pid = self.process.pid

    def __enter__(self):
        equal(self.process.stdout.readline(), b"ready\n", "the server's first words")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def samples_of(err):
    last = err.splitlines()[-1]
    found = re.fullmatch(ACCOUNT, last)
    assert found, "the last line accounts for nothing: %r" % err
    return int(found.group(1).replace(",", ""))


def self_samples(path, names=("heavy", "light")):
    """Samples in the functions up to now; 0 while there is nothing to be read yet."""
    report = sonde("report", path, "--json")
    rows = json.loads(report.out).get("functions", []) if report.status == 0 else []
    return sum(row["self_samples"] for row in rows if row["function"] in names)


def functions(path):
    """Of the samples that are not idle; there may be none."""
    return {row["function"]: row for row in Capture(path).report.get("functions", [])}


def test_a_process_for_a_time(folder):
    with Server(folder) as server:
        result = sonde("record", "-d", "1", "-r", "200", "--pid", server.pid, cwd=folder)
        equal(result.status, 0, "status (%s)" % result.err)
        assert is_alive(server.pid), "the program did not survive"
    assert samples_of(result.err) > 3, result.err
    names = [n for n in os.listdir(folder) if n.endswith("-%d.sonde" % server.pid)]
    equal(len(names), 1, "captures called after the process, of %r" % os.listdir(folder))
    contains(result.err, "wrote %s" % names[0])
    assert "heavy" in functions(os.path.join(folder, names[0])), "the busy function was not seen"


def test_until_control_c(folder):
    with Server(folder) as server:
        p = subprocess.Popen([SONDE, "record", "-o", "p.txt", "-f", "raw", "--pid", hex(server.pid)], cwd=folder,
                             stderr=subprocess.PIPE, env=clean_env())
        wait_for(lambda: self_samples(os.path.join(folder, "p.txt.sonde"), ("heavy",)) > 3, "some samples")
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=30)[1].decode()
        equal(p.returncode, 0, "status (%s)" % err)
        assert is_alive(server.pid), "the program did not survive"
    assert samples_of(err) > 3, err
    equal(sorted(os.listdir(folder)), ["p.txt", "server.py"], "files: the capture was only on the way")
    with open(os.path.join(folder, "p.txt")) as f:
        contains(f.read(), "heavy (server.py:")


def test_a_command(folder):
    result = sonde("record", "-o", "x.sonde", "--", PYTHON, write(folder, "server.py", SERVER), "0.6", cwd=folder)
    equal((result.status, result.out), (0, "ready\n"), "status and the program's output (%s)" % result.err)
    assert samples_of(result.err) > 3, result.err
    capture = Capture(os.path.join(folder, "x.sonde"))
    equal(capture.info["status"], 3, "the program's own status, in the capture")


def test_a_script_in_every_style(folder):
    write(folder, "server.py", SERVER)
    result = sonde("record", "--python", PYTHON, "-o", "x.json", "-f", "speedscope", "-t", "-F", "--full-filenames",
                   "--capture", "kept.sonde", "server.py", "0.5", cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    with open(os.path.join(folder, "x.json")) as f:
        frames = json.load(f)["shared"]["frames"]
    lines = {f["line"] for f in frames if f["name"] == "heavy"}
    equal(lines, {3}, "lines of heavy, by function")
    assert any(f.get("file") == "server.py" or f.get("file", "").endswith("/server.py") for f in frames), frames
    Capture(os.path.join(folder, "kept.sonde"))


CLASS = """
import time
class Worker:
    def work(self):
        while time.process_time() < 0.4:
            pass
Worker().work()
"""


def test_qualified_names_on_request(folder):
    """In what is recorded, reported and converted; the capture has both names."""
    write(folder, "class.py", CLASS)
    result = sonde("record", "--python", PYTHON, "--qualified", "-f", "raw", "-o", "x.txt", "--capture", "x.sonde", "class.py", cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    plain, full = "work", "Worker.work" if sys.version_info >= (3, 11) else "work"
    with open(os.path.join(folder, "x.txt")) as f:
        contains(f.read(), ";%s (class.py:" % full)

    def made(*words):
        result = sonde(*words, cwd=folder)
        equal(result.status, 0, "status of %s (%s)" % (words, result.err))
        return result.out

    def names(*options):
        return {f["function"] for f in json.loads(made("report", "x.sonde", "--json", *options))["functions"]}

    assert full in names("--qualified") and (full == plain or plain not in names("--qualified")), names("--qualified")
    assert plain in names(), names()
    contains(made("report", "--qualified", "--match", full.replace(".", "[.]"), "x.sonde"), full)
    assert full in names("--qualified", "--filter", "^%s$" % full), "found by the name that is shown"
    contains(made("report", "--qualified", "--flame", "-o", "-", "x.sonde"), full)
    contains(made("convert", "--qualified", "x.sonde", "-", "-f", "raw"), ";%s (class.py:" % full)
    contains(made("convert", "x.sonde", "-", "-f", "raw"), ";%s (class.py:" % plain)


def test_to_stdout(folder):
    """Only the data, and of a file called "-" no word and no trace."""
    write(folder, "class.py", CLASS)
    result = sonde("record", "--python", PYTHON, "-f", "raw", "-o", "-", "class.py", cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    contains(result.out, "work (class.py:")
    assert "wrote" not in result.err, result.err
    equal(os.listdir(folder), ["class.py"], "files")
    result = sonde("record", "--python", PYTHON, "-o", "-", "class.py", cwd=folder)
    equal(result.status, 2, "status (%s)" % result.err)
    contains(result.err, "not written to stdout")


def test_a_command_for_a_time(folder):
    before = time.monotonic()
    result = sonde("record", "-d", "1500ms", "-o", "x.sonde", "--", PYTHON, write(folder, "server.py", SERVER), "60", cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    assert samples_of(result.err) > 0 and time.monotonic() - before < 50, result.err


def test_children_on_request(folder):
    program = "import subprocess, sys; subprocess.call([sys.executable] + sys.argv[1:])"
    words = [PYTHON, "-c", program, write(folder, "server.py", SERVER), "0.5"]
    result = sonde("record", "-o", "a.sonde", "--", *words, cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    assert "heavy" not in functions(os.path.join(folder, "a.sonde"))
    result = sonde("record", "-s", "-o", "b.sonde", "--", *words, cwd=folder)
    assert "heavy" in functions(os.path.join(folder, "b.sonde"))


def test_processes_have_their_names_and_commands(folder):
    """As they are after exec, in raw and flame graphs by their command, as py-spy has them."""
    write(folder, "server.py", SERVER)

    def record(name, *options):
        result = sonde("record", "-s", "-o", name, *options, "--", "sh", "-c", '"$0" server.py 0.8; true', PYTHON, cwd=folder)
        equal(result.status, 0, "status (%s)" % result.err)
        with open(os.path.join(folder, name)) as f:
            return f.read()

    roots = {line.split(";")[0] for line in record("x.txt", "-f", "raw", "--capture", "x.sonde").splitlines()}
    assert any(re.fullmatch(r'process \d+:"%s server.py 0.8"' % re.escape(PYTHON), root) for root in roots), roots
    contains(record("x.svg"), "server.py 0.8&quot;")
    tracks = json.loads(sonde("convert", "x.sonde", "-", "-f", "json", cwd=folder).out)["tracks"]
    names = {t["name"] for t in tracks if t["kind"] == "process"}
    assert "sh" in names and "sonde" not in names, names


TWO_NAMES = """
import sys, time
import lib
own = {}
exec(compile(open("lib.py").read(), "lib.py", "exec"), own)
gone = {}
exec(compile(open("lib.py").read(), "gone.py", "exec"), gone)
while time.process_time() < 0.6:
    lib.spin()
    own["spin"]()
    gone["spin"]()
"""
LIB = """
def spin():
    for i in range(20000):
        pass
"""


def test_a_file_under_a_relative_name_is_the_same(folder):
    """One row for a function of lib.py, whoever names the file; a file that is not there stays as it is."""
    write(folder, "lib.py", LIB)
    write(folder, "two.py", TWO_NAMES)
    result = sonde("record", "-o", "x.sonde", "--", PYTHON, "two.py", cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    rows = json.loads(sonde("report", "--json", "x.sonde", cwd=folder).out)["functions"]
    equal(sorted(row["file"] for row in rows if row["function"] == "spin"),
          sorted([os.path.join(os.path.realpath(folder), "lib.py"), "gone.py"]), "files of spin")


def test_kill_of_sonde(folder):
    """The program runs on, and what was seen is there."""
    with Server(folder) as server:
        path = os.path.join(folder, "x.sonde")
        p = subprocess.Popen([SONDE, "record", "-r", "500", "-o", path, "--pid", str(server.pid)], env=clean_env(),
                             stderr=subprocess.DEVNULL)
        wait_for(lambda: self_samples(path) > 20, "some samples")
        seen = self_samples(path)
        p.kill()
        p.wait()
        assert is_alive(server.pid), "the program did not survive"
        state = state_of(server.pid)
        assert state in "RSD", "the program is left in state %s" % state
    assert self_samples(path) >= seen, "%d samples, and %d were there before the kill" % (self_samples(path), seen)


def test_a_stopped_process(folder):
    with Server(folder) as server:
        os.kill(server.pid, signal.SIGSTOP)
        # It stops when it next gets a CPU.
        wait_for(lambda: state_of(server.pid) == "T", "the program to stop")
        result = sonde("record", "-d", "500ms", "-i", "-f", "raw", "-o", "x.txt", "--pid", server.pid, cwd=folder)
        os.kill(server.pid, signal.SIGCONT)
    equal(result.status, 0, "status (%s)" % result.err)
    contains(result.err, "is stopped")
    with open(os.path.join(folder, "x.txt")) as f:
        contains(f.read(), "<module> (server.py:")


def test_samples_of_waiting_threads_alone_are_not_silently_left_out(folder):
    with Server(folder) as server:
        os.kill(server.pid, signal.SIGSTOP)
        wait_for(lambda: state_of(server.pid) == "T", "the program to stop")
        record = ("record", "-d", "300ms", "--force", "--pid", server.pid)
        picture = sonde(*record, "-o", "x.svg", cwd=folder)
        capture = sonde(*record, "-o", "x.sonde", cwd=folder)
        os.kill(server.pid, signal.SIGCONT)
    alone = r"(?m)^sonde: all \d+ samples are of threads that waited or were stopped; %s$"
    assert re.search(alone % "to see them: sonde report --idle x.sonde", capture.err), capture.err
    results = [("record", picture)]
    for words in (("report", "x.sonde"), ("report", "x.sonde", "--tree"), ("report", "x.sonde", "--flame", "-o", "f.svg"), ("report", "x.sonde", "--graph"),
                  ("convert", "x.sonde", "y.svg"), ("convert", "x.sonde", "y.collapsed"), ("convert", "x.sonde", "y.txt")):
        results.append((words, sonde(*words, cwd=folder, env=clean_env(BROWSER="true"))))
    for words, result in results:
        equal(result.status, 0, "status of %r (%s)" % (words, result.err))
        assert re.search(alone % "--idle shows them", result.err), "%r said %r" % (words, result.err)
    for words in (("report", "--idle", "x.sonde"), ("report", "--threads", "x.sonde"), ("convert", "--idle", "x.sonde", "z.collapsed"),
                  ("convert", "x.sonde", "z.csv"), ("view", "x.sonde"), ("view", "--idle", "x.sonde"), ("report", "x.sonde", "-o", "x.html"), ("report", "-q", "x.sonde")):
        result = sonde(*words, cwd=folder, env=clean_env(BROWSER="true"))
        equal((result.status, "samples are of threads" in result.err), (0, False), "status and sentence of %r" % (words,))
    with open(os.path.join(folder, "z.collapsed")) as f:
        contains(f.read(), "<module> (server.py:")


def test_a_process_that_ends(folder):
    with Server(folder, 2) as server:
        result = sonde("record", "-o", "x.sonde", "--pid", server.pid, cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    samples_of(result.err)


def test_refusals(folder):
    def refused(words, status, *parts):
        result = sonde("record", *words, cwd=folder)
        equal((result.status, result.err.count("\n"), result.out), (status, 1, ""), "%r: status and lines (%s)" % (words, result.err))
        for part in parts:
            contains(result.err, part)
        equal(os.listdir(folder), [], "files left by %r" % (words,))

    sleep = subprocess.Popen(["sleep", "60"])
    zombie = subprocess.Popen(["true"])
    wait_for(lambda: open("/proc/%d/stat" % zombie.pid).read().rsplit(")", 1)[1].split()[0] == "Z", "a zombie")
    try:
        refused(["--pid", "999999999"], 1, "no process 999999999")
        refused(["--pid", str(sleep.pid)], 1, "not a Python process")
        refused(["--pid", str(zombie.pid)], 1, "has ended")
        refused(["--pid", "nonsense"], 2, "nonsense")
        refused([], 2, "--pid PID")
        refused(["--pid", "1", "x.py"], 2, "x.py")
        refused(["--pid", str(os.getpid()), "-f", "nonsense"], 2, "nonsense")
        refused(["--pid", str(os.getpid()), "-d", "never"], 2, "never")
        refused(["--pid", str(os.getpid()), "-r", "0"], 2, "--rate")
        refused(["--pid", str(os.getpid()), "--blocking", "--nonblocking"], 2, "--blocking")
        refused(["--pid", str(os.getpid()), "--with", "sections"], 2, "sonde run --with sections")
        refused(["--pid", str(os.getpid()), "-o", "no/such/folder/x.sonde"], 1, "no/such/folder")
        refused(["--pid", str(os.getpid()), "-o", "x.svg", "--capture", "x.svg", "--force"], 2, "the same file, x.svg")
    finally:
        sleep.kill()
        sleep.wait()
        zombie.wait()
    need(os.getuid() == 0 and os.path.exists("/proc/2/stat"), "no kernel threads to see")
    refused(["--pid", "2"], 1, "kernel")


def test_another_users_process(folder):
    """The sentence has the cause, and what helps."""
    need(os.getuid() == 0, "only root can become somebody else")
    need(run(["setpriv", "--version"]).status == 0, "no setpriv")
    with Server(folder) as server:
        other = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "test", "-x", SONDE])
        need(other.returncode == 0, "others may not run this build")
        result = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", SONDE, "record", "--pid", str(server.pid)])
    equal((result.status, result.err.count("\n")), (1, 1), "status and lines (%s)" % result.err)
    contains(result.err, "belongs to root, not to us")
    contains(result.err, "sudo")


def test_nothing_to_see(folder):
    """A file all the same, a sentence, and status 1."""
    result = sonde("record", "-o", "x.sonde", "--", "true", cwd=folder)
    equal((result.status, samples_of(result.err)), (1, 0), "status and samples (%s)" % result.err)
    contains(result.err, "no running Python was found")
    Capture(os.path.join(folder, "x.sonde"))


def test_a_python_that_ends_before_it_is_seen(folder):
    """It is no matter of processes that it starts."""
    os.symlink(shutil.which("true"), os.path.join(folder, "python3"))
    result = sonde("record", "-o", "x.sonde", "--", "./python3", "prog.py", cwd=folder)
    equal((result.status, samples_of(result.err)), (1, 0), "status and samples (%s)" % result.err)
    contains(result.err, "no samples: the program ended before the first one\n")
    result = sonde("run", "--with", "sample", "-o", "y.sonde", "--", "./python3", "prog.py", cwd=folder)
    contains(result.err, "no samples: the program ended before the first one")


def test_no_flame_graph_of_nothing(folder):
    """It is samples that are missing, not readings."""
    result = sonde("record", "-o", "x.svg", "--", "true", cwd=folder)
    equal((result.status, os.listdir(folder)), (1, ["x.svg.sonde"]), "status and files (%s)" % result.err)
    contains(result.err, "it has no sampled stacks, traced calls, allocated memory or readings over time; record them with: sonde run --with sample")


def test_code_that_comes_and_goes(folder):
    """What exec compiles gets the address of what was freed: it is known anew at the first look.

    Each function works for 0.15 s, and until sonde has worked for 2 ms, which is dozens of looks: had it no CPU, it
    could not look."""
    write(folder, "many.py", """
import os, time
SOURCE = '''
def made%d():
    own, sondes = cpu(OURS) + 0.15, cpu(SONDES) + 0.002
    while cpu(OURS) < own or cpu(SONDES) < sondes:
        pass
made%d()
'''
KNOWN = {"cpu": time.clock_gettime, "OURS": time.CLOCK_PROCESS_CPUTIME_ID, "SONDES": (~os.getppid() << 3) | 2}
def make(k):
    exec(SOURCE % (k, k), dict(KNOWN))
for i in range(8):
    make(i)
""")
    result = sonde("record", "-r", "300", "-f", "raw", "-o", "x.txt", "--python", PYTHON, "many.py", cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    with open(os.path.join(folder, "x.txt")) as f:
        stacks = [line.rsplit(" ", 1) for line in f if "make (" in line]
    seen = {name for name in ("made%d" % i for i in range(8)) if any(name + " (" in stack for stack, n in stacks)}
    equal(len(seen), 8, "functions that were seen, of %r" % stacks)
    partial = sum(int(n) for stack, n in stacks if "[partial]" in stack)
    assert partial * 10 < sum(int(n) for stack, n in stacks), stacks


def test_what_is_no_file_is_not_replaced(folder):
    """Said before anything is recorded."""
    os.symlink("target.txt", os.path.join(folder, "link.txt"))
    result = sonde("record", "-f", "raw", "-o", "link.txt", "--force", "--", "true", cwd=folder)
    equal((result.status, os.listdir(folder)), (1, ["link.txt"]), "status and files (%s)" % result.err)
    contains(result.err, "not a regular file")


def test_existing_files(folder):
    write(folder, "x.svg", "mine")
    result = sonde("record", "-f", "raw", "-o", "x.svg", "--", "true", cwd=folder)
    equal(result.status, 1, "status (%s)" % result.err)
    contains(result.err, "--force")
    with open(os.path.join(folder, "x.svg")) as f:
        equal(f.read(), "mine", "the file that was there")


def test_called_as_py_spy(folder):
    """py-spy's defaults and its way to take a command; what is there is overwritten."""
    link = os.path.join(folder, "py-spy")
    os.symlink(SONDE, link)
    write(folder, "server.py", SERVER)
    write(folder, "x.json", "old")
    result = run([link, "record", "-f", "speedscope", "-o", "x.json", "-d", "1", PYTHON, "server.py", "0.5"], cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err)
    with open(os.path.join(folder, "x.json")) as f:
        assert json.load(f)["profiles"]
    result = run([link, "record", "-d", "1", "--", os.path.basename(PYTHON), "server.py", "0.5"], cwd=folder,
                 env=clean_env(PATH=os.path.dirname(PYTHON) + os.pathsep + os.environ["PATH"]))
    equal(result.status, 0, "status (%s)" % result.err)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"python[\d.]*-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[+-]\d{4}\.svg", n)]
    equal(len(names), 1, "flame graphs with py-spy's name, of %r" % os.listdir(folder))
    contains(run([link, "--version"]).out, "py-spy 0.")
    contains(run([link, "--help"]).out, "Usage: py-spy <COMMAND>")
    result = run([link])
    equal((result.status, result.out, result.err.split("\n")[0]), (2, "", "Usage: py-spy <COMMAND>"), "of no command")
    contains(run([link, "completions", "bash"]).out, "complete")


if __name__ == "__main__":
    run_tests(globals())
