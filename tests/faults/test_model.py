# SPDX-License-Identifier: MIT
"""`sonde model` is ended in mid-work: its Python ends with it, and no half file has the name of a whole one."""
import glob
import json
import os
import random
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import LIMIT_S, PYTHON, SONDE, clean_env, equal, is_alive, need, python_with, run, run_tests, wait_for, write  # noqa: E402

# Found by PYTHONPATH in the place of torch, so that none needs to be there: it says that it runs, and then counts nothing for ever.
SLEEPER = """
import os, time
with open("pid.new", "w") as f:
    f.write(str(os.getpid()))
os.rename("pid.new", "pid")
while True:
    time.sleep(60)
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER


def plain_signals(ignored=()):
    """As a shell in front of a user has them: who runs the tests in the background has SIGINT ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def start(folder, source, ignored=()):
    """`sonde model` of a program whose torch does not come back; its process, and the pid of its Python once that runs."""
    write(folder, "torch.py", source)
    p = subprocess.Popen([SONDE, "model", "net.py:Net", "--python", PYTHON, "-o", "x.json"], cwd=folder, env=clean_env(PYTHONPATH=folder), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                         preexec_fn=lambda: plain_signals(ignored))
    path = os.path.join(folder, "pid")
    try:
        wait_for(lambda: os.path.exists(path) or p.poll() is not None, "its Python", LIMIT_S)
        assert p.poll() is None, "ended with %r: %r" % (p.returncode, p.communicate())
    except BaseException:
        kill_all(p)
        raise
    return p, int(open(path).read())


def kill_all(p):
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.communicate()


def ends_with_it(folder, source, number):
    p, child = start(folder, source)
    try:
        os.kill(p.pid, number)
        p.communicate(timeout=LIMIT_S)      # the end of both pipes: nobody holds them any more
        equal(p.returncode, -number, "how sonde ended")
        wait_for(lambda: not is_alive(child), "the end of its Python", LIMIT_S)
        equal([name for name in os.listdir(folder) if "x.json" in name or name.startswith(".sonde-")], [], "what is left of the output")
    finally:
        kill_all(p)


def test_the_python_that_counts_ends_with_sigterm(folder):
    ends_with_it(folder, SLEEPER, signal.SIGTERM)


def test_the_python_that_counts_ends_with_sigint(folder):
    ends_with_it(folder, SLEEPER, signal.SIGINT)


def test_the_python_that_counts_ends_with_sighup(folder):
    ends_with_it(folder, SLEEPER, signal.SIGHUP)


def test_the_python_that_counts_ends_with_sigkill(folder):
    ends_with_it(folder, SLEEPER, signal.SIGKILL)


def test_a_python_that_does_not_listen_is_killed(folder):
    ends_with_it(folder, STUBBORN, signal.SIGTERM)


def test_what_is_ignored_stays_so(folder):
    """nohup: neither sonde nor its Python may end of a SIGHUP; of the SIGTERM behind it both do."""
    p, child = start(folder, SLEEPER, ignored=(signal.SIGHUP,))
    try:
        os.kill(p.pid, signal.SIGHUP)
        os.kill(p.pid, signal.SIGTERM)
        p.communicate(timeout=LIMIT_S)
        equal(p.returncode, -signal.SIGTERM, "how sonde ended")
    finally:
        kill_all(p)


def test_the_keyboard_ends_it_without_a_traceback(folder):
    """Ctrl-C goes to both at once; a Python that is interrupted alone would print where it was."""
    p, child = start(folder, SLEEPER)
    try:
        os.killpg(p.pid, signal.SIGINT)
        out, err = p.communicate(timeout=LIMIT_S)
        equal((p.returncode, out, err), (-signal.SIGINT, b"", b""), "how it ended")
        wait_for(lambda: not is_alive(child), "the end of its Python", LIMIT_S)
    finally:
        kill_all(p)


# Found by every Python that starts; the one that counts has run nothing of ours yet.
EARLY = """
import os, signal
if b"_model_main" in open("/proc/self/cmdline", "rb").read():
    os.killpg(0, signal.SIGINT)
"""


def test_the_keyboard_ends_it_before_its_python_is_ready(folder):
    write(folder, "sitecustomize.py", EARLY)
    write(folder, "torch.py", SLEEPER)
    p = subprocess.Popen([SONDE, "model", "net.py:Net", "--python", PYTHON], cwd=folder, env=dict(clean_env(), PYTHONPATH=folder), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=plain_signals)
    try:
        out, err = p.communicate(timeout=LIMIT_S)
        equal((p.returncode, out, err), (-signal.SIGINT, b"", b""), "how it ended")
        assert not os.path.exists(os.path.join(folder, "pid")), "its Python went on"
    finally:
        kill_all(p)


def test_a_program_that_ends_the_python_lends_no_status(folder):
    write(folder, "torch.py", "import os\nos._exit(9)\n")
    done = run([SONDE, "model", "net.py:Net", "--python", PYTHON], cwd=folder, env=clean_env(PYTHONPATH=folder))
    equal(done.status, 1, "status (%r)" % done.err)
    assert "exited with status 9" in done.err and done.err.count("\n") == 1, done.err


def test_a_python_that_dies_is_told(folder):
    write(folder, "torch.py", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    done = run([SONDE, "model", "net.py:Net", "--python", PYTHON], cwd=folder, env=clean_env(PYTHONPATH=folder))
    equal(done.status, 1, "status (%r)" % done.err)
    assert "killed by signal 9" in done.err, done.err


def in_place_of_torch(folder, source=""):
    """The environment in which this is torch, found as an installed one would be: not in the folder of the program."""
    os.mkdir(os.path.join(folder, "site"))
    write(folder, "site/torch.py", source)
    return clean_env(PYTHONPATH=os.path.join(folder, "site"))


def test_files_of_the_folder_do_not_stand_in_for_modules_that_we_need(folder):
    """Each is a name of what Sonde or Python itself imports; the program's own modules are found, and its folder is the first."""
    env = in_place_of_torch(folder)
    os.mkdir(os.path.join(folder, "sonde"))
    for name in ("argparse", "types", "json", "signal", "inspect", "linecache", "typing", "runpy", "sonde/__init__"):
        write(folder, name + ".py", "raise RuntimeError('taken from the folder')\n")
    write(folder, "mine.py", "import sys\nfirst = sys.path[0]\n")
    write(folder, "net.py", "import mine, sys\nprint(mine.first, file=sys.stderr)\n")
    done = run([SONDE, "model", "net:nothing", "--python", PYTHON], cwd=folder, env=env)
    equal(done.err, "%s\nsonde: net has no nothing\n" % os.path.realpath(folder), "what is said")


def test_a_file_with_the_name_of_a_module_leaves_that_one_alone(folder):
    write(folder, "json.py", "import sys\nprint(sys.modules['json'].__name__, __name__, file=sys.stderr)\n")
    done = run([SONDE, "model", "json.py:nothing", "--python", PYTHON], cwd=folder, env=in_place_of_torch(folder, "import json\n"))
    equal(done.err, "json _file_json\nsonde: json.py has no nothing\n", "what is said")


def test_no_thread_of_the_program_is_waited_for(folder):
    """Refused or counted, it ends; what the program has for its end runs, and what it printed is not lost."""
    env = in_place_of_torch(folder)
    write(folder, "net.py", "import atexit, sys, threading, time\nthreading.Thread(target=time.sleep, args=(%d,)).start()\n"
                            "atexit.register(print, 'at its end')\nprint('at its start')\n" % (10 * LIMIT_S))
    done = run([SONDE, "model", "net:nothing", "--python", PYTHON], cwd=folder, env=env)
    equal(sorted(done.err.splitlines()), ["at its end", "at its start", "sonde: net has no nothing"], "what is said")


# Enough of torch for `_found`.
TORCH = """
class nn:
    class Module: pass
def manual_seed(n): pass
"""


def test_an_exception_that_cannot_say_what_it_is_has_a_name(folder):
    write(folder, "net.py", "class W(Exception):\n    def __str__(self): raise RuntimeError('no words')\ndef f(): raise W\n")
    done = run([SONDE, "model", "net:f", "--python", PYTHON], cwd=folder, env=in_place_of_torch(folder, TORCH))
    equal((done.status, done.err), (1, "sonde: f() failed: W\n"), "how it ended")


NAMES = """
import torch
class Args(torch.nn.Module):
    def __init__(self, n): pass
class Odd:
    @property
    def net(self): raise ValueError("not now")
odd = Odd()
"""


def test_what_is_named_wrongly_has_a_way_out(folder):
    """Status 2 where what was typed is wrong, 1 where the program fails."""
    env = in_place_of_torch(folder, TORCH + "import json\n")
    os.makedirs(os.path.join(folder, "pkg", "sub"))
    for name, source in (("pkg/__init__.py", ""), ("pkg/sub/__init__.py", ""), ("pkg/sub/m.py", "from . import other\n"), ("json.py", "net = 1\n"), ("net.py", NAMES)):
        write(folder, name, source)
    for target, status, said in (
            ("os:nope", 2, "os has no nope"), ("json:net", 2, "json has no net; json.py of this folder is another; use json.py:net"),
            ("p/net.py:Net:x", 2, "Net:x does not name anything in p/net.py; use p/net.py:NAME"),
            ("net.py:odd.net", 1, "odd.net of net.py failed: ValueError: not now"),
            ("net.py:Args", 1, "; name a function that takes none and gives the model"),
            ("pkg/sub/m.py:make", 1, "; of a package it is named pkg.sub.m:NAME, in the folder that holds pkg")):
        done = run([SONDE, "model", target, "--python", PYTHON], cwd=folder, env=env)
        equal((done.status, done.err.count("\n"), done.err.startswith("sonde: ")), (status, 1, True), "how %s ended (%s)" % (target, done.err))
        assert done.err.endswith(said + "\n"), done.err


def test_a_program_that_closes_what_it_did_not_open_is_told(folder):
    """Refused for another reason, that is said alone; the model never goes into a file that has got the number."""
    closes = "import os, torch\nos.closerange(3, 200)\nmine = [open('mine', 'w') for _ in range(20)]\n"
    write(folder, "net.py", closes + "number = 3\nnet = torch.nn.Linear(8, 8) if hasattr(torch.nn, 'Linear') else None\n")
    done = run([SONDE, "model", "net:number", "--python", PYTHON], cwd=folder, env=in_place_of_torch(folder, TORCH))
    equal((done.status, done.err.count("\n"), "not a model but an int" in done.err), (1, 1, True), "how it ended (%s)" % done.err)
    python = python_with("torch")
    need(python, "no torch in any environment of the tests")
    done = run([SONDE, "model", "net.py:net", "-i", "2,8", "--python", python], cwd=folder)
    equal((done.status, done.out, done.err.count("\n")), (1, "", 1), "how it ended (%s)" % done.err)
    assert "closed the file that the counted model goes into" in done.err, done.err
    equal(os.path.getsize(os.path.join(folder, "mine")), 0, "what was written into its file")


def many_weights(folder):
    head, at = {}, 0
    for i in range(20000):
        head["layers.%d.part.weight" % i] = {"dtype": "F32", "shape": [2], "data_offsets": [at, at + 8]}
        at += 8
    head = json.dumps(head).encode()
    path = os.path.join(folder, "many.safetensors")
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + bytes(at))
    return path


def test_no_half_file_has_the_name_of_a_whole_one(folder):
    """Killed while it writes, at moments that are drawn; the whole file is written once to compare."""
    source = many_weights(folder)
    whole = os.path.join(folder, "whole.csv")
    equal(run([SONDE, "model", source, "-o", whole]).status, 0, "status")
    with open(whole, "rb") as f:
        wanted = f.read()
    draw = random.Random(38)
    for i in range(20):
        path = os.path.join(folder, "x%d.csv" % i)
        p = subprocess.Popen([SONDE, "model", source, "-o", path], env=clean_env(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # It writes from the moment when there is a file beside; some are killed then, some a little later.
        wait_for(lambda: glob.glob(os.path.join(folder, ".sonde-*")) or p.poll() is not None or os.path.exists(path), "its output", LIMIT_S)
        try:
            p.wait(draw.choice((0, 0, 0.002, 0.005, 0.01)) or 0.0001)
        except subprocess.TimeoutExpired:
            p.kill()
        p.wait(LIMIT_S)
        if os.path.exists(path):
            with open(path, "rb") as f:
                assert f.read() == wanted, "half a file under its final name (run %d)" % i
        for left in glob.glob(os.path.join(folder, ".sonde-*")):
            os.unlink(left)


run_tests(globals())
