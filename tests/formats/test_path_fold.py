# SPDX-License-Identifier: MIT
"""Files of traced calls with very many paths: folded to 20 MB with every sum kept, or whole with --all, whose size is told before."""
import gzip
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import between, equal, sonde, write  # noqa: E402

LIMIT = 20 * 1000 * 1000
# Long names make few paths large.
PROGRAM = """
import random
random.seed(1)
R = random.random
for i in range(10):
    exec("def f%d_%s(d):\\n    return d and F[int(R() * 10)](d - 1)\\n" % (i, "x" * 130), globals())
F = [value for name, value in sorted(globals().items()) if name.startswith("f") and "_x" in name]
for _ in range(ROUNDS):
    F[0](8)
"""


def write_program(folder, rounds):
    return write(folder, "many.py", PROGRAM.replace("ROUNDS", str(rounds)))


@helpers.once
def capture():
    path = os.path.abspath("many.sonde")
    done = helpers.run([helpers.SONDE, "calls", "-q", "-n", "1", "--python", helpers.PYTHON, "-o", path, write_program(".", 25000)])
    equal(done.status, 0, "status of calls: " + done.err)
    return path


def lines_of(text):
    return [(line[:line.rindex(b" ")], int(line[line.rindex(b" ") + 1:])) for line in text.splitlines()]


def piped(*words):
    """stdout and stderr of `sonde convert` to a pipe."""
    done = subprocess.run([helpers.SONDE, "convert", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=helpers.clean_env())
    equal(done.returncode, 0, "status: %s" % done.stderr)
    return done.stdout, done.stderr.decode()


@helpers.once
def whole():
    """[(stack, ns)] of every path, and what was said."""
    out, err = piped("--all", capture(), "-", "--format", "collapsed")
    return lines_of(out), len(out), err


def test_a_file_with_every_path_is_announced_with_its_size(folder):
    lines, size, err = whole()
    assert len(lines) > 100000 and size > 100 * 1000 * 1000, (len(lines), size)
    said = re.fullmatch(r"sonde: the output will have about ([\d.]+) ([MG])B: [\d,]+ paths\n", err)
    assert said, err
    between(float(said.group(1)) * (1e6 if said.group(2) == "M" else 1e9), size * 0.8, size * 1.2, "bytes as announced")


def test_collapsed_stacks_are_folded_into_their_callers(folder):
    path = os.path.join(folder, "x.collapsed")
    done = sonde("convert", capture(), path)
    equal(done.status, 0, "status")
    said = re.fullmatch(r"sonde: \S+ has ([\d,]+) of ([\d,]+) paths folded into their callers, each below ([\d.]+) % of the whole, so that it "
                        r"stays small; --all writes every path\n", done.err)
    assert said, done.err
    with open(path, "rb") as f:
        text = f.read()
    between(len(text), LIMIT / 8, LIMIT, "bytes")
    lines, all_lines = dict(lines_of(text)), whole()[0]
    total = sum(n for _, n in all_lines)
    equal(sum(lines.values()), total, "ns of all paths")
    # By hand: a path with less than the share, with all below it, is its caller's.
    inclusive = {}
    for stack, n in all_lines:
        frames = stack.split(b";")
        for depth in range(1, len(frames) + 1):
            key = b";".join(frames[:depth])
            inclusive[key] = inclusive.get(key, 0) + n
    least = int(float(said.group(3)) / 100 * total * 0.9), int(float(said.group(3)) / 100 * total * 1.1)
    own = {}
    for stack, n in all_lines:
        while b";" in stack and inclusive[stack] < least[0]:
            stack = stack[:stack.rindex(b";")]
        own[stack] = own.get(stack, 0) + n
    # Of the program alone: short names of files make one path of several that imports have.
    sure = [stack for stack, n in inclusive.items() if n > least[1] and b"_x" in stack[stack.rindex(b";") + 1 if b";" in stack else 0:]]
    assert sure and not [stack for stack in sure if own.get(stack) and stack not in lines], "a path above the share is not there"
    equal([stack for stack in lines if inclusive[stack] < least[0] and b";" in stack], [], "paths below the share")


def test_every_format_of_paths_is_kept_small_and_keeps_its_sum(folder):
    total = sum(n for _, n in whole()[0]) / 1e9
    for suffix, seconds in ((".speedscope.json", lambda d: sum(sum(p["weights"]) for p in d["profiles"])),
                            (".firefox.json", lambda d: sum(sum(t["samples"]["weight"]) for t in d["threads"]) / 1e3)):
        path = os.path.join(folder, "x" + suffix)
        equal(sonde("convert", capture(), path).status, 0, "status of " + suffix)
        between(os.path.getsize(path), 1, LIMIT, "bytes of " + suffix)
        with open(path) as f:
            between(seconds(json.load(f)), total - 1e-6, total + 1e-6, "seconds in " + suffix)
    for suffix in (".trace.json", ".pb.gz"):
        path = os.path.join(folder, "x" + suffix)
        equal(sonde("convert", capture(), path).status, 0, "status of " + suffix)
        between(os.path.getsize(path), 1, LIMIT, "bytes of " + suffix)
    with gzip.open(path) as f:
        assert f.read(2), "nothing in .pb.gz"


def test_small_files_have_every_path_and_nothing_is_said(folder):
    write(folder, "small.py", "def f(n): return n and f(n - 1)\nf(5)\n")
    for words in ((), ("--all",)):
        done = helpers.run([helpers.SONDE, "calls", "-q", "--force", *words, "--python", helpers.PYTHON, "-o", "x.collapsed", "small.py"],
                           cwd=folder)
        equal((done.status, done.err), (0, ""), "end with %s" % (words,))
        with open(os.path.join(folder, "x.collapsed")) as f:
            equal(max(line.count(";f (small.py:1)") for line in f), 6, "depth with %s" % (words,))


def test_what_a_run_writes_is_folded_too(folder):
    path = write_program(folder, 8000)
    sizes = []
    for words in (["calls", "-n", "1"], ["calls", "-n", "1", "--all"], ["run", "--with", "calls"]):
        to = os.path.join(folder, "x%d.collapsed" % len(sizes))
        done = helpers.run([helpers.SONDE, words[0], "-q", *words[1:], "--python", helpers.PYTHON, "-o", to, path], cwd=folder)
        equal(done.status, 0, "status of %s: %s" % (words, done.err))
        sizes.append(os.path.getsize(to))
        equal("paths folded into their callers" in done.err, "--all" not in words, "said by %s: %s" % (words, done.err))
    assert sizes[0] <= LIMIT < sizes[1] and sizes[2] <= LIMIT, sizes


if __name__ == "__main__":
    helpers.run_tests(globals())
