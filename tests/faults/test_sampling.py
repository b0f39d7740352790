# SPDX-License-Identifier: MIT
"""`sonde` sampling when things break: kills, a full disk, a program hidden in a namespace or gone from the disk.

With the newest interpreter; what depends on the version is in test_sampler.py.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PYTHON, SONDE, clean_env, contains, equal, need, run, run_tests, sonde, text, wait_for, write  # noqa: E402
from full_disk import small_disk  # noqa: E402
from sampled import Samples, look, sampler  # noqa: E402

# Busy for so long, or until SIGUSR1.
BUSY = """
import os, signal, sys, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
def busy(end):
    while time.monotonic() < end and not told:
        pass
sys.stdout.write("%d\\n" % os.getpid()); sys.stdout.flush()
busy(time.monotonic() + float(sys.argv[1]))
sys.stdout.write("done\\n"); sys.stdout.flush()
"""


def real_python():
    return os.path.realpath(PYTHON)


def start(folder, *words, **how):
    """sonde run --with sample -o x.sonde busy.py SECONDS; gives the process and the pid of the program."""
    program = write(folder, "busy.py", BUSY)
    command = [SONDE, "run", "--with", "sample", "--sample-rate", "1000", "-o", os.path.join(folder, "x.sonde"), "--python", PYTHON]
    p = subprocess.Popen(command + list(words) + [program, how.pop("seconds", "100")], env=clean_env(), cwd=folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    return p, int(p.stdout.readline())


def state(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def busy_times(folder):
    """The moments, in seconds, of the samples in busy that the capture has up to now."""
    return [s.time / 1e9 for s in Samples(os.path.join(folder, "x.sonde")) if s.frames[0].name == "busy"]


def record_some(folder):
    """Waits for samples over half a second, as anybody can read them while they are recorded; gives those."""
    def enough():
        times = busy_times(folder)
        return times if len(times) > 30 and times[-1] - times[0] > 0.5 else None
    return wait_for(enough, "samples over half a second")


def test_kill_sonde(folder):
    """The program goes on undisturbed and the capture holds what was told until then."""
    for mode in ("auto", "pause"):
        p, pid = start(folder, "--force", "--sample-consistency", mode)
        before = record_some(folder)
        p.kill()
        p.wait()
        wait_for(lambda: state(pid) in "RS", "the program to run on")
        os.kill(pid, signal.SIGUSR1)
        contains(text(p.stdout.read()), "done", "output of the program after sonde's death")
        # No gap at the end: whatever could be read before the kill is still there.
        equal(busy_times(folder)[:len(before)], before, "samples from before the kill")
        samples = Samples(os.path.join(folder, "x.sonde"))
        assert not samples.health["ended"] or not samples.health["whole"], samples.health
        p.stdout.close()
        p.stderr.close()


def test_kill_the_program(folder):
    p, pid = start(folder)
    before = record_some(folder)
    os.kill(pid, signal.SIGKILL)
    _, err = p.communicate(timeout=LIMIT_S)
    equal(p.returncode, -signal.SIGKILL, "status of sonde (%r)" % text(err))
    samples = Samples(os.path.join(folder, "x.sonde"))
    samples.adds_up()
    equal(busy_times(folder)[:len(before)], before, "samples from before the kill")


def test_kill_both(folder):
    p, pid = start(folder)
    before = record_some(folder)
    os.kill(pid, signal.SIGKILL)
    p.kill()
    p.communicate(timeout=LIMIT_S)
    wait_for(lambda: state(pid) in ("Z", "X", "gone"), "the program's end")
    equal(busy_times(folder)[:len(before)], before, "samples from before the kill")


def test_full_disk(folder):
    """The program ends as it would; what could not be written is counted and said."""
    with small_disk(folder, "1200k") as disk:
        program = write(folder, "many.py", """
import time
space = {}
for i in range(3000):
    exec("def f_%d(n):\\n    end = time.perf_counter() + n\\n    while time.perf_counter() < end: pass" % i, globals(), space)
for f in space.values():
    f(0.0007)
print("done")
""")
        result = sonde("run", "--with", "sample", "--sample-rate", "20000", "-o", os.path.join(disk, "x.sonde"), "--python", PYTHON, program)
        equal((result.status, result.out), (0, "done\n"), "status and output of the program (%r)" % result.err[-500:])
        if os.path.exists(os.path.join(disk, "x.sonde")):
            shutil.copy(os.path.join(disk, "x.sonde"), folder)
    samples = Samples(os.path.join(folder, "x.sonde"))
    assert len(samples) > 100, "%d samples kept" % len(samples)


def test_what_found_no_room_is_lost(folder):
    """The last line, the report and the picture tell the samples that are in the file; the others are lost."""
    with small_disk(folder, "64k") as disk:
        capture, picture = os.path.join(disk, "x.sonde"), os.path.join(folder, "x.svg")
        done = sonde("record", "-r", "2000", "-o", capture, "--", PYTHON, write(folder, "busy.py", "import time\nwhile time.process_time() < 1.5: pass\n"))
        report = sonde("report", capture)
        meta = json.loads(sonde("info", "--json", capture).out)["meta"]
        equal(sonde("report", "--flame", "-o", picture, capture).status, 0, "status of the picture")
    words = re.search(r"([0-9,]+) samples? \(([0-9,]+) missed, ([0-9,]+) lost", done.err.splitlines()[-1]).groups()
    kept, _, lost = (int(w.replace(",", "")) for w in words)
    taken = int(meta["sample.samples"]) + int(meta["sample.lost"])
    assert lost > 0 and kept + lost == taken, (done.err, taken)
    assert re.search(r"%s samples? \(%s missed, %s lost\)" % words, report.out), report.out[:300]
    with open(picture) as f:
        assert "%s missed, %s lost" % words[1:] in f.read()


def test_what_stays_beside_a_picture_that_found_no_room_is_named_and_can_be_read(folder):
    with small_disk(folder, "60k") as disk:
        write(disk, "pad", "x" * 20480)
        picture = os.path.join(disk, "x.svg")
        done = sonde("record", "-r", "2000", "-o", picture, "--", PYTHON, write(folder, "busy.py", "import time\nwhile time.process_time() < 1: pass\n"))
        left = sorted(os.listdir(disk))
        rescued = sonde("convert", picture + ".sonde", "x.collapsed", cwd=folder)
        equal((done.status, rescued.status), (1, 0), "status of record and of convert: " + done.err + rescued.err)
    kept_files = "x.svg.sonde and %s/x.svg.sonde.live" % disk if "x.svg.sonde.live" in left else "x.svg.sonde"
    contains(done.err, "the capture is kept: %s/%s\n" % (disk, kept_files))
    kept = int(re.search(r"([0-9,]+) samples? \(", done.err.splitlines()[-1]).group(1).replace(",", ""))
    with open(os.path.join(folder, "x.collapsed")) as f:
        equal(sum(int(line.split()[-1]) for line in f), kept, "samples that were rescued")


def watch(folder, command, seconds=0.6, rate=300, **how):
    """Starts a program by `command` and samples it; it must be seen in busy."""
    sampler(folder)
    program = how.pop("program", None) or write(folder, "busy.py", BUSY)
    p = subprocess.Popen(command + [program, "100"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    try:
        line = p.stdout.readline()
        why = "" if line else text(p.stderr.read())
        need("root filesystem propagation" not in why, "no namespace of mounts can be made where / is no mount")
        assert line, "the target did not start: %r" % why
        pid = how_pid(p, line)
        told = look(folder, pid, seconds, rate)
        assert sum(s.n for s in told if s.frames[0].name == "busy") > 5, (told.counts, told.refusals)
        return told
    finally:
        p.kill()
        p.communicate()


def how_pid(p, line):
    """The pid as we count it: the process itself, or the child of unshare --fork."""
    inner = int(line)
    if inner == p.pid:
        return inner
    with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
        children = f.read().split()
    return int(children[0]) if children else p.pid


def copy_of_python(folder, name="python-copy"):
    """A copy of the interpreter that finds its library by PYTHONHOME."""
    path = os.path.join(folder, name)
    shutil.copy(real_python(), path)
    env = dict(clean_env(), PYTHONHOME=sys.base_prefix)
    return path, env


def test_another_pid_and_mount_namespace(folder):
    need(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    watch(folder, ["unshare", "--pid", "--mount", "--fork", "--kill-child", PYTHON])


def test_a_root_of_its_own(folder):
    """A path that means another file, or none, on our side: read through /proc/PID/root."""
    need(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    path, env = copy_of_python(folder, "python3")
    hidden = os.path.join(folder, "hidden")
    os.mkdir(hidden)
    script = 'mount -t tmpfs tmpfs "$1" && cp "$2" "$1/python3" && shift 2 && exec "$@"'
    watch(folder, ["unshare", "--mount", "sh", "-c", script, "sh", hidden, path, os.path.join(hidden, "python3")], env=env)
    assert not os.listdir(hidden), "it is not hidden"


def test_a_binary_that_was_deleted_or_replaced(folder):
    for then in ("delete", "replace"):
        path, env = copy_of_python(folder)
        program = write(folder, "%s.py" % then, BUSY.replace("sys.stdout.write(\"%d", "os.unlink(sys.executable)\n%s\nsys.stdout.write(\"%%d" % (
            "" if then == "delete" else "open(sys.executable, 'w').write('not a program')")))
        watch(folder, [path], env=env, program=program)


def test_a_stripped_binary(folder):
    need(shutil.which("strip"), "no strip")
    path, env = copy_of_python(folder)
    equal(run(["strip", "--strip-all", path]).status, 0, "status of strip")
    watch(folder, [path], env=env)


def test_a_binary_with_another_name(folder):
    """As a program made by PyInstaller has."""
    path, env = copy_of_python(folder, "my-app")
    program = write(folder, "busy.py", BUSY)
    p = subprocess.Popen([path, program, "100"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        pid = int(p.stdout.readline())
        result = sonde("dump", "--pid", pid)
        equal(result.status, 0, "status of dump (%r)" % result.err)
        contains(result.out, "busy", "dump")
    finally:
        p.kill()
        p.communicate()


def test_somebody_elses_program(folder):
    need(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    program = write(folder, "busy.py", BUSY)
    p = subprocess.Popen([PYTHON, program, "100"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        pid = int(p.stdout.readline())
        binary = os.path.join("/tmp", "sonde-test-%d" % os.getpid())
        shutil.copy(SONDE, binary)
        os.chmod(binary, 0o755)
        try:
            result = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", binary, "dump", "--pid", str(pid)], cwd="/")
        finally:
            os.unlink(binary)
        equal(result.status, 1, "status (%r)" % result.err)
        contains(result.err, "belongs to", "what is said")
        assert len(result.err.strip().splitlines()) == 1, "one sentence, not %r" % result.err
    finally:
        p.kill()
        p.communicate()


run_tests(globals())
