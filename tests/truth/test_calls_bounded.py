# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""Bounded overhead: what is short and often is left out, and nothing else; afterwards the program is as it was."""
import os
import pstats
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, equal, run, run_tests, write  # noqa: E402

PROGRAM = """
import time
def tiny(): pass
def down(n): return n and down(n - 1)
def steps(n):
    for i in range(n): yield i
def long(): time.sleep(0.002)
def main():
    for _ in range(50000): tiny()
    for _ in range(5000): down(5)
    for _ in steps(50000): pass
    for _ in range(30): long()
main()
"""
OFTEN = 2000


def counts(folder, *words):
    script = write(folder, "x.py", PROGRAM)
    out = os.path.join(folder, "x.pstats")
    done = run([SONDE, "calls", "-q", "-o", out, "--python", PYTHON] + list(words) + [script], cwd=folder)
    found = {}
    if os.path.exists(out):
        found = {key[2]: value[:2] for key, value in pstats.Stats(out).stats.items() if key[0].endswith("x.py")}
    return done, found


def test_counts(folder):
    done, found = counts(folder, "--bounded")
    equal(done.status, 0, done.err)
    if sys.version_info < (3, 12):
        equal(found["tiny"][1], 50000, "calls where it cannot be")
        return
    equal({name: found[name][1] for name in ("main", "long")}, {"main": 1, "long": 30}, "what is long or rare")
    for name, true in (("tiny", 50000), ("down", 30000), ("steps", 50001)):
        assert OFTEN <= found[name][1] < true, "%s: %s calls of %d" % (name, found[name][1], true)


def test_callers_keep_their_time(folder):
    script = write(folder, "y.py", """
import time
def a(): return b()
def b(): return len("x")
def main():
    began = time.perf_counter()
    for _ in range(300000): a()
    print(time.perf_counter() - began)
main()
""")
    out = os.path.join(folder, "y.pstats")
    for words in ([], ["--builtins"]):
        done = run([SONDE, "calls", "-q", "--force", "--raw", "--bounded", "-o", out, "--python", PYTHON] + words + [script], cwd=folder)
        equal(done.status, 0, done.err)
        told = next(value[3] for key, value in pstats.Stats(out).stats.items() if key[2] == "main")
        true = float(done.out.split()[0])  # what the program measured itself, in the same run
        assert told > 0.9 * true, "main has %.3f s of %.3f with %s" % (told, true, words)


def test_without_it_all_are_counted(folder):
    done, found = counts(folder)
    equal(done.status, 0, done.err)
    equal({name: n for name, (_, n) in found.items() if name != "<module>"},
          {"main": 1, "long": 30, "tiny": 50000, "down": 30000, "steps": 50001}, "calls")
    equal(found["down"][0], 5000, "primitive calls")


def test_one_sentence_says_what_it_means(folder):
    capture = os.path.join(folder, "y.sonde")
    done = run([SONDE, "run", "-q", "--with", "calls", "--calls-bounded", "-o", capture, "--python", PYTHON, "-c", "pass"], cwd=folder)
    equal(done.status, 0, done.err)
    info = run([SONDE, "info", capture]).out
    assert ("3.12" if sys.version_info < (3, 12) else "sonde stops counting it") in info, info
    if sys.version_info < (3, 12):
        assert "are not bounded" in done.err, "at its end the run says nothing: %r" % done.err


if __name__ == "__main__":
    run_tests(globals())
