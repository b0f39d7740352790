# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde doctor: what it finds of processes that can and cannot be sampled."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PYTHON, SONDE, clean_env, contains, equal, need, run_tests, sonde, wait_for, write


def doctor(status, *words):
    result = sonde("doctor", "--json", *words)
    equal((result.status, result.err), (status, ""), "status and stderr")
    told = json.loads(result.out)
    equal(told["ok"], status == 0, "ok")
    return {f["name"]: f for f in told["findings"]}


def sleeper(*command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_env())


def test_a_program_that_can_be_sampled(folder):
    p = sleeper(PYTHON, "-c", "import time\ndef f():\n    print('ready', flush=True)\n    time.sleep(1000)\nf()")
    try:
        p.stdout.readline()
        found = doctor(0, "--pid", p.pid)
        equal(found["python"]["text"], "CPython %d.%d.%d" % sys.version_info[:3], "version")
        contains(found["stack"]["text"], "innermost f (<string>:")
        contains(found["threads"]["text"], "1 Python thread, 1 known")
        contains(found["runtime"]["text"], "at 0x")
        equal([found[n]["status"] for n in ("permission", "python", "layout", "threads", "stack", "result")], ["ok"] * 6, "what was found")
        text = sonde("doctor", "-p", p.pid).out
        contains(text, "ok    result        it can be sampled: sonde top --pid %d\n" % p.pid)
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


def test_what_is_in_the_way_is_named(folder):
    found = doctor(1, "--pid", 2 ** 22 - 3)
    contains(found["permission"]["text"], "there is no process")
    p = sleeper("sleep", "1000")
    zombie = sleeper("true")
    try:
        contains(doctor(1, "--pid", p.pid)["python"]["text"], "is not a Python process")
        wait_for(lambda: open("/proc/%d/stat" % zombie.pid).read().rsplit(")", 1)[1].split()[0] == "Z", "the zombie")
        contains(doctor(1, "--pid", zombie.pid)["permission"]["text"], "has ended")
    finally:
        p.kill()
        p.wait()
        zombie.wait()
        p.stdout.close()
        zombie.stdout.close()
    equal(sonde("doctor", "--pid", "x").status, 2, "status of a word that is no number")
    equal(sonde("doctor", "12").status, 2, "status of a word too many")


def become_nobody():
    os.setgid(65534)
    os.setuid(65534)


def test_another_users_process(folder):
    need(os.getuid() == 0, "only root can play two users")
    reachable = tempfile.mkdtemp(prefix="sonde-test-", dir="/tmp")      # the folder of a test is for its user alone
    p = sleeper(PYTHON, "-c", "print('ready', flush=True); import time; time.sleep(1000)")
    try:
        p.stdout.readline()
        os.chmod(reachable, 0o755)
        copy = shutil.copy(SONDE, reachable)
        out = subprocess.run([copy, "doctor", "--json", "--pid", str(p.pid)], stdout=subprocess.PIPE, preexec_fn=become_nobody, env=clean_env(), cwd="/")
        equal(out.returncode, 1, "status")
        found = {f["name"]: f for f in json.loads(out.stdout.decode())["findings"]}
        contains(found["permission"]["text"], "belongs to root, not to us")
        equal(found["permission"]["remedy"], "the same command with sudo", "remedy")
    finally:
        shutil.rmtree(reachable)
        p.kill()
        p.wait()
        p.stdout.close()


def test_the_machine(folder):
    found = doctor(0)
    for name in ("sonde", "system", "user", "ptrace_scope", "reading", "package", "interpreter", "cairo", "libdw"):
        assert name in found, sorted(found)
    contains(found["reading"]["text"], " us for a small read")
    equal(found["package"]["status"], "ok", "package")


def test_pythons_that_the_extension_does_not_support_are_refused_in_one_sentence(folder):
    """Each question to this one is answered by the suffix of its extensions."""
    for suffix, wanted in (("316", "is Python 3.16, and Sonde's extension supports CPython 3.8 to 3.15; choose another"),
                           ("37m", "is Python 3.7, and Sonde's extension supports CPython 3.8 to 3.15; choose another"),
                           ("315t", "is a free-threaded build, which Sonde's extension does not support yet; choose another")):
        python = write(folder, "python3", "#!/bin/sh\necho .cpython-%s-x86_64-linux-gnu.so\n" % suffix)
        os.chmod(python, 0o755)
        result = sonde("calls", "--python", python, "-c", "pass", cwd=folder)
        equal((result.status, result.out, result.err), (1, "", "sonde: %s %s interpreter with --python\n" % (python, wanted)), suffix)


run_tests(globals())
