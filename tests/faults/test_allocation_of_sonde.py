# SPDX-License-Identifier: MIT
"""Memory that is not given to the program `sonde`: no crash, one sentence, and what it started keeps its status."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import TARGETS, clean_env, compile_c, equal, run_tests, sonde, sonde_run, write  # noqa: E402


def trials(most):
    """Every request when they are few, else the first ones and then evenly many."""
    return range(most) if most <= 150 else list(range(100)) + list(range(100, most, max(1, (most - 100) // 50)))


def failing(folder, words, whole, may_run=False):
    """Fails one request after the other of `sonde WORDS`, then all from that one on."""
    shim = compile_c(folder, os.path.join(TARGETS, "failing_malloc.c"), shared=True)
    count = os.path.join(folder, "count")
    first = run_words(folder, words, LD_PRELOAD=shim, FAIL_COUNT=count)
    equal((first.status, first.out), whole, "status and output with the shim alone (%r)" % first.err)
    n = int(open(count).read())
    assert n > 3, "only %d allocations: is the shim at work?" % n
    for k in trials(n):
        for to in (k + 1, 10**9):
            result = run_words(folder, words, LD_PRELOAD=shim, FAIL_FROM=str(k), FAIL_TO=str(to))
            how = "request %d%s of %d" % (k, "" if to == k + 1 else " and after", n)
            assert result.status >= 0, "died of signal %d: %s (%r)" % (-result.status, how, result.err[-300:])
            if (result.status, result.out) != whole:
                said = [line for line in result.err.splitlines() if line.startswith("sonde: ")]
                assert said, "status %d, output %r, and not a word: %s; stderr %r" % (result.status, result.out[-100:], how, result.err[-300:])
                if not may_run:
                    equal(result.status, 1, "exit status, %s (%r)" % (how, result.err[-300:]))
                    equal(len(said), 1, "sentences, %s (%r)" % (how, result.err[-600:]))


def run_words(folder, words, **env):
    for name in ("y.sonde", "y.sonde.live"):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
    return sonde(*words, cwd=folder, env=clean_env(**env))


def test_sonde_report_without_memory(folder):
    path = write(folder, "p.py", "from sonde import Profiler\np = Profiler()\nfor i in range(30):\n    with p('s%d' % i): pass\n")
    result, capture = sonde_run(folder, path)
    equal(result.status, 0, "exit status (%r)" % result.err)
    plain = sonde("report", capture, cwd=folder)
    failing(folder, ["report", capture], (plain.status, plain.out))


def test_sonde_info_without_memory(folder):
    result, capture = sonde_run(folder, "-c", "pass")
    plain = sonde("info", capture, cwd=folder)
    failing(folder, ["info", capture], (plain.status, plain.out))


def test_sonde_run_without_memory(folder):
    """Either refused with a sentence, or the program's own status and output."""
    failing(folder, ["run", "-o", "y.sonde", "--", "/bin/sh", "-c", "echo hello; exit 3"], (3, "hello\n"), may_run=True)


run_tests(globals())
