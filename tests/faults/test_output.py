# SPDX-License-Identifier: MIT
"""Output that cannot be written, files that are no captures, descriptors taken away: one sentence each,
the program's own status, and nothing recorded is lost."""
import glob
import json
import os
import random
import re
import resource
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import (LIMIT_S, MIB, PACKAGE_PATH, PYTHON, SONDE, Capture, clean_env, contains, equal, need, run,  # noqa: E402
                     run_tests, sonde, sonde_run, wait_for, write)
from full_disk import FILL, FUNCTION, LEAF, small_disk  # noqa: E402

TOUCH = "open('ran', 'w').close()"
TEN_SECTIONS = """
from sonde import Profiler
p = Profiler(measure=("time",))
for _ in range(10):
    with p("work"):
        pass
"""


def one_sentence(result, *parts):
    """Exactly one line on stderr, ours, a sentence a person can act on."""
    lines = result.err.strip().splitlines()
    equal(len(lines), 1, "number of lines on stderr %r" % result.err)
    assert lines[0].startswith("sonde: "), "not said by sonde: %r" % lines[0]
    assert len(lines[0]) < 300 and "usage" not in lines[0].lower(), "a usage dump: %r" % lines[0]
    for part in parts:
        assert re.search(part, lines[0]), "the sentence lacks %r: %r" % (part, lines[0])


def our_lines(err):
    return [line for line in err.splitlines() if line.startswith("sonde: ")]


def refused(folder, result, status, *parts):
    """Refused before anything started: status, one sentence, the program never ran."""
    equal(result.status, status, "exit status (%r)" % result.err)
    one_sentence(result, *parts)
    assert not os.path.exists(os.path.join(folder, "ran")), "the program ran all the same"


# ---- refusals before the start


def test_output_folder_is_missing(folder):
    path = os.path.join(folder, "no", "such", "x.sonde")
    result, _ = sonde_run(folder, "-c", TOUCH, capture=path)
    refused(folder, result, 1, re.escape(os.path.join(folder, "no", "such")))


def test_output_folder_is_read_only(folder):
    need(os.geteuid() != 0 or shutil.which("setpriv"), "root may write anywhere, and there is no setpriv to become somebody else")
    inner = os.path.join(folder, "inner")
    os.mkdir(inner)
    os.chmod(folder, 0o755)
    os.chmod(inner, 0o555)
    command = [SONDE, "run", "-o", os.path.join(inner, "x.sonde"), "--", "/bin/echo", "ran"]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + command
        probe = run(command[:4] + ["test", "-x", SONDE])
        need(probe.status == 0, "nobody may not reach the build")
    result = run(command, cwd="/")
    equal(result.status, 1, "exit status (%r)" % result.err)
    one_sentence(result, "[Pp]ermission|denied|write|refus")
    equal(result.out, "", "output")


def test_output_exists(folder):
    path = write(folder, "x.sonde", "mine")
    result, _ = sonde_run(folder, "-c", TOUCH)
    refused(folder, result, 1, "x.sonde", "--force")
    equal(open(path).read(), "mine", "the existing file")
    result, _ = sonde_run(folder, "-c", TOUCH, options=["--force"])
    equal(result.status, 0, "exit status with --force (%r)" % result.err)
    Capture(path)


def test_output_is_a_symbolic_link(folder):
    victim = write(folder, "victim", "mine")
    os.symlink(victim, os.path.join(folder, "x.sonde"))
    for options in ([], ["--force"]):
        result, _ = sonde_run(folder, "-c", TOUCH, options=options)
        equal(open(victim).read(), "mine", "what the link points at (options %r)" % options)
    os.unlink(os.path.join(folder, "x.sonde"))
    os.symlink(os.path.join(folder, "nowhere"), os.path.join(folder, "x.sonde"))
    if os.path.exists(os.path.join(folder, "ran")):
        os.unlink(os.path.join(folder, "ran"))
    result, _ = sonde_run(folder, "-c", TOUCH)
    refused(folder, result, 1, "x.sonde")
    assert not os.path.lexists(os.path.join(folder, "nowhere")), "wrote through a link"


def test_output_is_a_directory(folder):
    os.mkdir(os.path.join(folder, "x.sonde"))
    for options in ([], ["--force"]):
        result, _ = sonde_run(folder, "-c", TOUCH, options=options)
        refused(folder, result, 1, "directory|folder|exists")
    assert os.path.isdir(os.path.join(folder, "x.sonde"))


def test_stale_live_folder_is_not_joined(folder):
    """A folder left by a killed sonde under the same name is neither used nor mixed in."""
    os.mkdir(os.path.join(folder, "x.sonde.live"))
    write(folder, "x.sonde.live/keep", "mine")
    result, path = sonde_run(folder, "-c", TEN_SECTIONS)
    if result.status == 0:
        equal(Capture(path).count("work"), 10, "sections")
    else:
        refused(folder, result, 1, "live")
    equal(open(os.path.join(folder, "x.sonde.live", "keep")).read(), "mine", "what was in the folder")


def test_capture_is_private(folder):
    os.umask(0)
    try:
        result, path = sonde_run(folder, "-c", "pass")
    finally:
        os.umask(0o022)
    equal(result.status, 0, "exit status")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of the capture")


def test_what_is_made_of_a_capture_has_the_mode_of_the_umask(folder):
    result, path = sonde_run(folder, "-c", "pass")
    os.umask(0o027)
    try:
        done = sonde("convert", path, os.path.join(folder, "x.csv"))
    finally:
        os.umask(0o022)
    equal((result.status, done.status), (0, 0), done.err)
    equal(stat.S_IMODE(os.stat(os.path.join(folder, "x.csv")).st_mode), 0o640, "mode of the table")


def test_live_folder_is_private(folder):
    """While the program runs; it asks from inside, as anybody else would from outside."""
    source = "import os, sys\nd = sys.argv[1] + '.live'\nprint(oct(os.stat(d).st_mode & 0o777), sorted({oct(os.stat(os.path.join(d, n)).st_mode & 0o777) for n in os.listdir(d)}))"
    os.umask(0)
    try:
        result, path = sonde_run(folder, "-c", source, os.path.join(folder, "x.sonde"))
    finally:
        os.umask(0o022)
    equal((result.status, result.out), (0, "0o700 ['0o600']\n"), "status and modes (%r)" % result.err)


def test_secrets_are_not_kept(folder):
    """Neither the environment nor what looks like a password on the command line is in the capture."""
    result, path = sonde_run(folder, "-c", TEN_SECTIONS, "--password=CANARY-ONE", "--api-key", "CANARY-TWO", "plain-word",
                             env=clean_env(SOME_TOKEN="CANARY-THREE"))
    equal(result.status, 0, "exit status (%r)" % result.err)
    target = os.path.join(folder, "all.json")
    equal(sonde("convert", path, target).status, 0, "status of convert")
    with open(target) as f:
        everything = f.read() + sonde("info", path).out
    contains(everything, "plain-word", "the command line kept in the capture")
    for canary in ("CANARY-ONE", "CANARY-TWO", "CANARY-THREE"):
        assert canary not in everything, "%s is in the capture" % canary
    with open(path, "rb") as f:
        assert b"CANARY" not in f.read()


def test_read_while_it_is_written(folder):
    """Readers beside a running program: always status 0, never fewer sections than before, all of them in the end."""
    program = write(folder, "p.py", TEN_SECTIONS.replace("range(10)", "range(60000)") + "import sys\nsys.stdin.read()\n")
    path = os.path.join(folder, "x.sonde")
    p = subprocess.Popen([SONDE, "run", "-q", "-o", path, "--python", PYTHON, program], env=clean_env(), cwd=folder, stdin=subprocess.PIPE)
    try:
        wait_for(lambda: os.path.exists(path), "the capture")
        wait_for(lambda: total(path)[1].status == 0, "a readable capture")
        seen = [0]
        while seen[-1] < 60000:
            n, result = total(path)
            equal(result.status, 0, "status of a report in mid-run (%r)" % result.err)
            assert n >= seen[-1], "%d sections after %d" % (n, seen[-1])
            seen.append(n)
            assert p.poll() is None, "the program ended too early"
    finally:
        p.stdin.close()
        status = p.wait(LIMIT_S)
    equal(status, 0, "exit status")
    equal(total(path)[0], 60000, "sections in the end")


def test_no_such_script(folder):
    result, path = sonde_run(folder, "nowhere.py")
    refused(folder, result, 1, "nowhere.py")
    assert not os.path.exists(path), "a capture of nothing is left"


def test_no_such_interpreter(folder):
    result, path = sonde_run(folder, "-c", TOUCH, python=os.path.join(folder, "python"))
    refused(folder, result, 1, "python")
    assert not os.path.exists(path), "a capture of nothing is left"


def test_no_such_command(folder):
    result = sonde("run", "-o", os.path.join(folder, "x.sonde"), "--", "no-such-command-here", cwd=folder)
    refused(folder, result, 1, "no-such-command-here")


def test_nothing_to_run(folder):
    result = sonde("run", cwd=folder)
    equal(result.status, 2, "exit status")
    one_sentence(result)


def test_unknown_collector(folder):
    result, path = sonde_run(folder, "-c", TOUCH, options=["--with", "nonsense"])
    refused(folder, result, 2, "nonsense")
    assert not os.path.exists(path)


def test_unknown_words(folder):
    for words in (["reprot"], ["run", "--nonsense", "x.py"], ["--nonsense"]):
        result = sonde(*words, cwd=folder)
        equal(result.status, 2, "exit status of %r" % words)
        one_sentence(result, re.escape(words[-2] if words[-1].endswith(".py") else words[-1]).replace(r"\-", "-"))


# ---- the disk


def test_disk_full_in_mid_run(folder):
    """The program runs to its end with its own status; what was sealed before is readable; one sentence says so."""
    with small_disk(folder, "8m") as disk:
        program = write(folder, "fill.py", FILL + """
from sonde import Profiler
p = Profiler(measure=("time",))
for i in range(20000):
    with p("early"):
        pass
fill()
for i in range(150000):
    with p("late-%d" % (i % 7)):
        pass
print("done")
sys.exit(7)
""")
        path = os.path.join(disk, "x.sonde")
        result, _ = sonde_run(folder, program, os.path.join(disk, "filler"), capture=path)
        equal(result.status, 7, "exit status (%r)" % result.err)
        equal(result.out, "done\n", "output")
        assert "Traceback (most recent" not in result.err, result.err
        said = [line for line in our_lines(result.err) if re.search("full|space", line)]
        equal(len(said), 1, "sentences on the full disk in %r" % result.err)
        c = Capture(path)
        assert c.count("early") >= 1, "nothing of what was sealed before is readable: %r" % c.info
        kept = sum(row["count"] for row in c.sections())
        assert kept <= 170000, kept
        if kept < 170000:
            said = sonde("info", path)
            assert re.search("lost|missing|dropped|not recorded", said.out + said.err), "the loss is not said: %r" % (said.out + said.err)
            assert kept + c.lost() >= 170000 or c.lost() > 0, "%d kept, %d counted as lost" % (kept, c.lost())


def test_disk_too_full_to_start(folder):
    with small_disk(folder, "32k") as disk:
        with open(os.path.join(disk, "filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass
        result, _ = sonde_run(folder, "-c", "print('ran')", capture=os.path.join(disk, "x.sonde"))
        assert len(our_lines(result.err)) >= 1, result
        if result.status == 1:
            one_sentence(result, "full|space")
            equal(result.out, "", "output")
        else:                    # it started, so the program's own status counts
            equal(result.status, 0, "exit status (%r)" % result.err)
            equal(result.out, "ran\n", "output")


def test_calls_on_a_full_disk_say_why_there_are_none(folder):
    """Whatever little room there is, the cause is named, and no other one is."""
    with small_disk(folder, "200k") as disk:
        for left, name in ((200, "x.pstats"), (48, "x.sonde"), (12, "x.sonde"), (8, "x.sonde")):
            with open(os.path.join(disk, "filler"), "wb") as f:
                f.write(bytes((200 - left) * 1024))
            result = sonde("calls", "--python", PYTHON, "-o", os.path.join(disk, name), "-c", "print('ran')", cwd=folder)
            assert re.search("disk.* full|No space left", result.err), "%d KiB left: %r" % (left, result)
            for wrong in ("-I, -E", "record with"):
                assert wrong not in result.err, "%d KiB left: %r" % (left, result)
            if result.status == 0:
                equal(result.out.splitlines()[:1], ["ran"], "output with %d KiB left" % left)
            for path in glob.glob(os.path.join(disk, "*")):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def test_calls_lost_on_a_full_disk_are_counted_alike_by_all(folder):
    with small_disk(folder, "8m") as disk:
        program = write(folder, "grows.py", FUNCTION + FILL + """
for i in range(1000):
    function(i)(20)
    if i == 100:
        fill()
print("done")
""")
        path = os.path.join(disk, "x.sonde")
        result = sonde("calls", "--python", PYTHON, "-n", "1", "-o", path, program, os.path.join(disk, "filler"), cwd=folder)
        equal((result.status, result.out.splitlines()[:1]), (0, ["done"]), "the program (%r)" % result.err)
        what = r"([\d,]+) calls of thread \d+ are missing: there was no room for them on the disk"
        said = re.search(what, result.err)
        assert said, "no loss is said: %r" % result.err
        told = re.search(what, sonde("info", path).out)
        assert told, "no loss is in the capture"
        equal(said.group(1), told.group(1), "calls lost, by the run and by the capture")
        assert int(told.group(1).replace(",", "")) > 1000, told.group(1)


def test_calls_missing_from_a_timeline_on_a_full_disk_are_counted(folder):
    """The trees, whose place is there, go on counting; what the timeline has and what it has lost is all of it."""
    with small_disk(folder, "6m") as disk:
        program = write(folder, "fills.py", LEAF + FILL + """
work(1000)
fill()
work(300000)
print("done")
""")
        path = os.path.join(disk, "x.sonde")
        result = sonde("calls", "--timeline", "--python", PYTHON, "-n", "1", "-o", path, program, os.path.join(disk, "filler"), cwd=folder)
        equal((result.status, result.out.splitlines()[:1]), (0, ["done"]), "the program (%r)" % result.err)
        contains(result.err, "calls are missing from the timeline", "stderr")
        about = json.loads(sonde("info", "--json", path).out)
        assert about["timeline_lost"] > 10000 and about["timeline_calls"] > 100, about
        trace = os.path.join(folder, "x.trace.json")
        equal(sonde("convert", path, trace).status, 0, "status of convert")
        with open(trace) as f:
            spans = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
        begun = sum(e["name"] == "leaf" for e in spans)
        assert 100 <= begun < 301000, "%d calls of leaf" % begun
        assert "[lost name]" not in {e["name"] for e in spans}, "names are lost"


def limited(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def test_limit_on_file_size(folder):
    """RLIMIT_FSIZE: no SIGXFSZ into sonde or the program, the program's own status."""
    program = write(folder, "p.py", TEN_SECTIONS + "print('done')\nraise SystemExit(5)\n")
    for limit in (0, 4096, 65536, 300000, 2 * MIB):
        path = os.path.join(folder, "x%d.sonde" % limit)
        result, _ = sonde_run(folder, program, capture=path, preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
        if result.status == 1:           # refused before the start
            one_sentence(result)
            equal(result.out, "", "output")
        else:
            equal(result.status, 5, "exit status under RLIMIT_FSIZE %d (%r)" % (limit, result.err))
            equal(result.out, "done\n", "output")


def test_limit_on_descriptors(folder):
    program = write(folder, "p.py", TEN_SECTIONS + "print('done')\nraise SystemExit(5)\n")
    for limit in (4, 6, 8, 10, 12, 16, 24, 64):
        path = os.path.join(folder, "x%d.sonde" % limit)
        bare = run([PYTHON, "-c", "import json; print('done')"], preexec_fn=limited(resource.RLIMIT_NOFILE, limit))
        result, _ = sonde_run(folder, program, capture=path, preexec_fn=limited(resource.RLIMIT_NOFILE, limit))
        if result.status == 1 and not result.out:
            assert our_lines(result.err), "status 1 without a word from sonde under %d descriptors: %r" % (limit, result.err)
        elif bare.status == 0:
            equal(result.status, 5, "exit status under %d descriptors (%r)" % (limit, result.err))
            equal(result.out, "done\n", "output under %d descriptors" % limit)
        if limit == 64:
            equal(Capture(path).count("work"), 10, "sections under 64 descriptors")


def test_limit_on_memory(folder):
    """RLIMIT_AS: refused or the program's own status, never a crash of sonde."""
    program = write(folder, "p.py", TEN_SECTIONS + "print('done')\nraise SystemExit(5)\n")
    for limit in (16, 32, 64, 128, 512):
        path = os.path.join(folder, "x%d.sonde" % limit)
        result, _ = sonde_run(folder, program, capture=path, preexec_fn=limited(resource.RLIMIT_AS, limit * MIB))
        assert result.status >= 0, "died of signal %d under %d MiB (%r)" % (-result.status, limit, result.err)
        if result.out == "done\n":
            equal(result.status, 5, "exit status under %d MiB (%r)" % (limit, result.err))


def memory_group(limit):
    """A control group of this test with so much memory: (folder, file to write a pid to)."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(root, "sonde-test-%d" % os.getpid())
        try:
            os.mkdir(group)
            with open(os.path.join(group, name), "w") as f:
                f.write(str(limit))
            return group, os.path.join(group, "cgroup.procs")
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    need(False, "no control group of memory can be made here")


def test_killed_for_want_of_memory(folder):
    """The kernel kills the program: its sections are there, and sonde says how it ended."""
    group, procs = memory_group(96 * MIB)
    try:
        def join():
            with open(procs, "w") as f:
                f.write(str(os.getpid()))

        source = TEN_SECTIONS.replace("range(10)", "range(5000)") + "kept = []\nwhile True:\n    kept.append(bytearray(b'x') * (4 << 20))\n"
        result, path = sonde_run(folder, "-c", source, preexec_fn=join)
        need("MemoryError" not in result.err, "the group refuses memory instead of killing")
        equal(result.status, -9, "exit status (%r)" % result.err[-300:])
        c = Capture(path)
        equal(c.count("work"), 5000, "sections")
        contains(c.info["ending"], "killed by SIGKILL", "the ending")
    finally:
        wait_for(lambda: not open(procs).read().strip(), "the end of all in the group")
        os.rmdir(group)


# ---- streams


def test_stdout_and_stderr_closed(folder):
    program = write(folder, "p.py", TEN_SECTIONS + "import sys\nsys.exit(3)\n")
    for closed in (">&-", "2>&-", ">&- 2>&-", "<&-", ">&- 2>&- <&-"):
        path = os.path.join(folder, "x.sonde")
        command = "exec '%s' run -o '%s' --python '%s' '%s' %s" % (SONDE, path, PYTHON, program, closed)
        result = run(["/bin/sh", "-c", command], cwd=folder)
        equal(result.status, 3, "exit status with %s (%r)" % (closed, result.err))
        c = Capture(path)
        equal(c.count("work"), 10, "sections with %s" % closed)
        os.unlink(path)


def test_nobody_reads_our_report(folder):
    """EPIPE ends a report quietly; a run it does not end at all."""
    result, path = sonde_run(folder, "-c", TEN_SECTIONS)
    for words in (["report", path], ["info", path], ["collectors"], ["--help"]):
        p = subprocess.Popen([SONDE] + words, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.close()
        err = p.stderr.read().decode()
        p.stderr.close()
        status = p.wait(LIMIT_S)
        assert status in (0, 1, -13, 141), "status %d of %r" % (status, words)
        assert len(err.splitlines()) <= 1, err
    path = os.path.join(folder, "y.sonde")
    p = subprocess.Popen([SONDE, "run", "--python", PYTHON, "-o", path, "-c", "import sys; sys.exit(4)"], env=clean_env(), cwd=folder,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.close()
    p.stderr.close()
    equal(p.wait(LIMIT_S), 4, "exit status of a run whose stderr nobody reads")
    Capture(path)


def test_program_closes_our_descriptors(folder):
    """closerange(3, 256), then the program's own files under those numbers: they hold its bytes and nothing else."""
    program = write(folder, "p.py", """
import os, sys, time
from sonde import Profiler
p = Profiler()
def many(n):
    for _ in range(n):
        with p("work"):
            pass
many(20)
os.closerange(3, 256)
names = ["own-%d" % i for i in range(60)]
fds = [os.open(n, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for n in names]
many(20)
q = Profiler(measure=("time",))
for _ in range(30000):                    # several full halves: hand-over and .chunks
    with q("fast"):
        pass
kept = bytearray(b"x") * (80 << 20)
with p("big"):
    time.sleep(0.15)
for i, fd in enumerate(fds):
    os.write(fd, b"mine %d" % i)
many(20)
for i, n in enumerate(names):
    assert open(n, "rb").read() == b"mine %d" % i, (n, open(n, "rb").read()[:80])
big = p["big"].to_dict()
assert big["memory:end_rss"] > 80 << 20, big
print("own files are whole")
""")
    result, path = sonde_run(folder, program)
    equal(result.status, 0, "exit status (%r)" % result.err)
    equal(result.out, "own files are whole\n", "output")
    c = Capture(path)
    equal((c.count("work"), c.count("fast"), c.count("big")), (60, 30000, 1), "sections")
    equal(c.lost(), 0, "events lost")
    peak = c.tree()["peak_rss"]
    assert 80 * MIB < peak < 400 * MIB, "peak %r" % peak


def test_program_changes_folder(folder):
    os.mkdir(os.path.join(folder, "elsewhere"))
    program = write(folder, "p.py", "import os\nos.chdir('elsewhere')\n" + TEN_SECTIONS
                    + "import subprocess, sys\nsubprocess.check_call([sys.executable, '-c', %r])\n" % TEN_SECTIONS)
    result = sonde("run", "-o", "x.sonde", "--python", PYTHON, program, cwd=folder)
    equal(result.status, 0, "exit status (%r)" % result.err)
    equal(os.listdir(os.path.join(folder, "elsewhere")), [], "files in the program's folder")
    equal(Capture(os.path.join(folder, "x.sonde")).count("work"), 20, "sections")


def test_capture_unlinked_in_mid_run(folder):
    program = write(folder, "p.py", "import os, shutil, sys\n" + TEN_SECTIONS + "os.unlink(sys.argv[1])\n" + TEN_SECTIONS
                    + "print('done')\nsys.exit(6)\n")
    path = os.path.join(folder, "x.sonde")
    result, _ = sonde_run(folder, program, path)
    equal(result.status, 6, "exit status (%r)" % result.err)
    equal(result.out, "done\n", "output")
    assert "Traceback (most recent" not in result.err
    if not os.path.exists(path):
        assert our_lines(result.err), "nobody says that the capture is gone: %r" % result.err


def test_live_folder_removed_in_mid_run(folder):
    program = write(folder, "p.py", "import os, shutil, sys\n" + TEN_SECTIONS + "shutil.rmtree(sys.argv[1] + '.live')\n"
                    + TEN_SECTIONS.replace("range(10)", "range(30000)") + "os.fork() or os._exit(0)\n"
                    + "print('done')\nsys.exit(6)\n")
    path = os.path.join(folder, "x.sonde")
    result, _ = sonde_run(folder, program, path)
    equal(result.status, 6, "exit status (%r)" % result.err)
    equal(result.out, "done\n", "output")
    assert "Traceback (most recent" not in result.err, result.err
    Capture(path)


# ---- an interpreter without us


def test_no_extension_for_this_interpreter(folder):
    """The package without its extensions: outside collectors work, one sentence tells how to get the rest."""
    package = os.path.join(folder, "package", "sonde")
    shutil.copytree(os.path.join(PACKAGE_PATH, "sonde"), package, ignore=shutil.ignore_patterns("_sonde*.so", "bin"))
    env = clean_env(SONDE_PACKAGE=package, PYTHONPATH=None)
    result, path = sonde_run(folder, "-c", "import time; time.sleep(0.1); print('done'); raise SystemExit(9)", env=env)
    equal(result.status, 9, "exit status (%r)" % result.err)
    equal(result.out, "done\n", "output")
    said = [line for line in our_lines(result.err) if re.search("extension|inside|sections", line)]
    equal(len(said), 1, "sentences on the missing extension in %r" % result.err)
    assert Capture(path).tree()["peak_rss"] > MIB
    result, path = sonde_run(folder, "-c", TOUCH, env=env, options=["--with", "sections"], capture=os.path.join(folder, "y.sonde"))
    refused(folder, result, 1, "extension")
    assert not os.path.exists(path)


def test_isolated_interpreters(folder):
    """-I, -E and -S keep the bootstrap out; the run works and says so; with -S and a path of its own it may work."""
    for flag in ("-I", "-E", "-S", "-IS"):
        path = os.path.join(folder, "x%s.sonde" % flag)
        result = sonde("run", "-o", path, "--", PYTHON, flag, "-c", "import time; time.sleep(0.05); print('done'); raise SystemExit(9)", cwd=folder)
        equal(result.status, 9, "exit status with %s (%r)" % (flag, result.err))
        equal(result.out, "done\n", "output with %s" % flag)
        said = [line for line in our_lines(result.err) if "did not start" in line]
        equal(len(said), 1, "sentences with %s in %r" % (flag, result.err))
        Capture(path)


def test_a_command_that_is_no_python(folder):
    result = sonde("run", "-o", os.path.join(folder, "x.sonde"), "--", "/bin/sh", "-c", "echo hello; exit 8", cwd=folder)
    equal(result.status, 8, "exit status (%r)" % result.err)
    equal(result.out, "hello\n", "output")
    Capture(os.path.join(folder, "x.sonde"))


# ---- files that are no captures, or are damaged


def made(folder):
    """A capture of some size, with several chunks."""
    program = write(folder, "p.py", TEN_SECTIONS.replace("range(10)", "range(9000)").replace('"work"', '"work-%d" % (_ % 50)'))
    result, path = sonde_run(folder, program)
    equal(result.status, 0, "exit status (%r)" % result.err)
    return path


def test_not_a_capture(folder):
    write(folder, "text", "hello, I am a letter\n" * 50)
    write(folder, "empty", "")
    with open(os.path.join(folder, "noise"), "wb") as f:
        f.write(random.Random(1).getrandbits(8 * 5000).to_bytes(5000, "little"))
    for name in ("text", "empty", "noise", ".", "missing"):
        for verb in ("report", "info"):
            result = sonde(verb, os.path.join(folder, name), cwd=folder)
            equal(result.status, 1, "status of %s on %s (%r)" % (verb, name, result.err))
            equal(result.out, "", "output of %s on %s" % (verb, name))
            one_sentence(result)


def total(path):
    result = sonde("report", path, "--json")
    if result.status != 0:
        return None, result
    import json
    return sum(row["count"] for row in json.loads(result.out).get("sections", [])), result


def test_truncated_capture(folder):
    path = made(folder)
    whole = open(path, "rb").read()
    n, result = total(path)
    equal((n, result.err), (9000, ""), "sections and complaints of the whole file")
    draw = random.Random(7)
    last = 0
    cuts = sorted(draw.sample(range(64, len(whole) - 1), 40)) + [len(whole) - 1]
    for cut in cuts:
        damaged = os.path.join(folder, "cut.sonde")
        with open(damaged, "wb") as f:
            f.write(whole[:cut])
        n, result = total(damaged)
        if result.status == 1:  # it was cut before the first of what was to be recorded
            assert last == 0 and re.search("there is nothing to report|it ends before the first", result.err), result.err
            continue
        equal(result.status, 0, "status after a cut at %d of %d (%r)" % (cut, len(whole), result.err))
        one_sentence(result)
        assert last <= n <= 9000, "%d sections after a cut at %d, %d after an earlier one" % (n, cut, last)
        last = n
    for cut in (0, 1, 8, 63):
        with open(damaged, "wb") as f:
            f.write(whole[:cut])
        result = sonde("report", damaged)
        equal(result.status, 1, "status after a cut inside the preamble, at %d" % cut)
        one_sentence(result)


def test_flipped_bytes_are_never_silent(folder):
    path = made(folder)
    whole = open(path, "rb").read()
    same = sonde("report", path, "--json").out
    draw = random.Random(11)
    silent = []
    for _ in range(150):
        at, bit = draw.randrange(len(whole)), draw.randrange(8)
        damaged = os.path.join(folder, "flip.sonde")
        with open(damaged, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1:])
        result = sonde("report", damaged, "--json")
        assert result.status in (0, 1), "status %d with bit %d of byte %d flipped (%r)" % (result.status, bit, at, result.err)
        assert len([line for line in result.err.splitlines() if "it ends before the first" not in line]) <= 1, result.err
        if result.status == 0 and not result.err and result.out.replace("flip.sonde", "x.sonde") != same:
            silent.append((at, bit))
        if result.status == 0 and not result.err:
            silent.append((at, bit, "no complaint"))
    equal(silent, [], "flips that nobody complained of, of %d bytes" % len(whole))


run_tests(globals())
