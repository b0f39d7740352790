# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""Where no rate is asked for, the sampler takes a small part of one CPU however many processes it reads, and says how often it read them."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, between, equal, run_tests, sonde, write  # noqa: E402
from sampled import Samples  # noqa: E402

# Seven processes wait while the eighth works, which makes rounds cheap; then all of them work.
EIGHT = """
import os, time
def work(n):
    return n and work(n - 1)
def busy(seconds):
    until = time.time() + seconds
    while time.time() < until:
        work(8)
def first():
    busy(1.5)
def second():
    busy(1.5)
reads, writes = os.pipe()
others = 0
while others < 7 and os.fork():
    others += 1
if others == 7:
    first()
    os.write(writes, b"7654321")
else:
    os.read(reads, 1)
second()
if others == 7:
    for _ in range(7):
        os.wait()
"""


def run(folder, *options):
    path = os.path.join(folder, "x.sonde")
    result = sonde("run", "--with", "sample", "--force", "--python", PYTHON, "-o", path, *options, write(folder, "eight.py", EIGHT), cwd=folder)
    equal(result.status, 0, "status (%s)" % result.err[-500:])
    samples = Samples(path)
    samples.adds_up()
    return samples, result.err


SENTENCE = "times a second instead of 200, to take less CPU time ("


def test_the_sampler_keeps_to_its_share_of_a_cpu(folder):
    """A hundredth of the time and 20 ms to begin with, which are paid back; twice that is allowed.  Where 200 rounds a second would not take more, nothing is to be seen."""
    samples, said = run(folder)
    allowed = samples.count("elapsed_ns") / 100 + 20e6
    wanted = samples.count("cpu_ns") / samples.count("rounds") * 200 * samples.count("elapsed_ns") / 1e9
    assert samples.count("cpu_ns") < 2 * allowed, "%d ms of CPU time, %d allowed" % (samples.count("cpu_ns") / 1e6, allowed / 1e6)
    assert samples.count("put_off") > 0 or wanted < 2 * allowed, "no round put off of %d" % samples.count("rounds")
    equal(SENTENCE in said, samples.count("put_off") > samples.count("rounds") + samples.count("missed"), "whether it is said in %r" % said)


def test_a_rate_that_was_asked_for_is_kept(folder):
    samples, said = run(folder, "--sample-rate", "200")
    equal((samples.count("put_off"), SENTENCE in said), (0, False), "rounds put off, and said so")


def test_samples_then_stand_for_their_time(folder):
    """Samples that are counted give the first half two thirds of the time and more."""
    samples, _ = run(folder)
    equal(sonde("convert", "x.sonde", "x.collapsed", cwd=folder).status, 0, "status")
    with open(os.path.join(folder, "x.collapsed")) as f:
        lines = [line.rsplit(" ", 1) for line in f]
    halves = [sum(float(value) for stack, value in lines if name in stack) for name in ("first", "second")]
    between(halves[1] / halves[0], 4, 16, "time of second() in eight processes by that of first() in one")


run_tests(globals())
