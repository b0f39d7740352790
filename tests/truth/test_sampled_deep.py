# SPDX-License-Identifier: MIT
# interpreters: all
"""A thread whose stack takes long to read is read less often, and that is said; a usual one is not."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, equal, run_tests, sonde, write  # noqa: E402
from sampled import Samples  # noqa: E402

DEEP = """
import sys, threading
sys.setrecursionlimit(10 ** 6)
threading.stack_size(512 << 20)
def work():
    print(flush=True)
    while True:
        pass
def deep(n):
    return deep(n - 1) if n else work()
threading.Thread(target=deep, args=(%d,)).start()
"""


def record(folder, depth):
    path = os.path.join(folder, "deep%d.sonde" % depth)
    program = subprocess.Popen([PYTHON, write(folder, "deep.py", DEEP % depth)], stdout=subprocess.PIPE, env=clean_env())
    try:
        program.stdout.readline()
        result = sonde("record", "-o", path, "-r", "1000", "-d", "2", "--pid", program.pid)
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
    equal(result.status, 0, "status (%s)" % result.err.strip())
    return Samples(path), result.err


# Before 3.11 a read of 30,000 objects can be interrupted each time on a busy machine, and nothing is known of it then.
if sys.version_info >= (3, 11):
    def test_a_deep_stack_is_read_less_often(folder):
        samples, said = record(folder, 30000)
        samples.adds_up()
        assert samples.count("spared") > 0, "no look was left out"
        equal(said.count("samples were skipped"), 1, "times that it is said in %r" % said)
        assert samples.count("samples") > 0, "no samples"


HALVES = """
import sys, threading, time
sys.setrecursionlimit(10 ** 6)
threading.stack_size(512 << 20)
def spin():
    begin = time.time()
    while time.time() < begin + 1.2:
        pass
def deep(n):
    return deep(n - 1) if n else spin()
def flat():
    spin()
def both():
    deep(20000)
    flat()
thread = threading.Thread(target=both)
thread.start()
thread.join()
"""


def share_of_flat(folder):
    equal(sonde("run", "--with", "sample", "--python", PYTHON, "-o", "x.sonde", "--force", write(folder, "halves.py", HALVES), cwd=folder).status, 0, "status")
    assert Samples(os.path.join(folder, "x.sonde")).count("spared") > 0, "no look was left out"
    equal(sonde("convert", "--force", "x.sonde", "x.collapsed", cwd=folder).status, 0, "status")
    with open(os.path.join(folder, "x.collapsed")) as f:
        lines = [line.rsplit(" ", 1) for line in f if ";spin " in line or "[partial]" in line]
    flat = sum(float(value) for stack, value in lines if ";flat" in stack)
    return flat / sum(float(value) for _, value in lines)


def test_what_is_read_less_often_keeps_its_share(folder):
    """Both halves take 1.2 s; a read may wait for 0.3 s, so that a quarter to three quarters are allowed, where counted samples always give a
    tenth.  On a busy machine every read of the deep half can be interrupted, and its time is the next sample's: so one run of four has to be right."""
    shares = []
    while len(shares) < 4 and not any(0.25 <= share <= 0.75 for share in shares):
        shares.append(share_of_flat(folder))
    assert 0.25 <= shares[-1] <= 0.75, "shares of flat() in four runs: %r" % shares


def test_a_usual_stack_is_not(folder):
    samples, said = record(folder, 20)
    equal((samples.count("spared"), said.count("samples were skipped")), (0, 0), "looks left out, and said so")


run_tests(globals())
