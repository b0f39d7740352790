# SPDX-License-Identifier: MIT
"""How many stacks a sampler reports that never were, in per cent, of a program that calls all the time.

    sampling_truth.py ROUNDS [PYTHON]

tests/targets/call_tree.py has functions of which each is called by one other alone, from one known
line.  At 1 kHz, each sampler in its default mode (py-spy also with --nonblocking).  With another Python: of
the tree run by that one.
"""
import importlib.util
import os
import sys
import tempfile

from rounds import tell
from samplers import present, refused, versions
from watch import SRC, Target, complain, rounds_of, watch

CALL_TREE = os.path.join(SRC, "tests", "targets", "call_tree.py")
DEPTH = 8
SECONDS = 2


def first_lines():
    """{function of the tree: the line of its def}."""
    spec = importlib.util.spec_from_file_location("call_tree", CALL_TREE)
    text = spec.loader.get_source("call_tree")
    space = {"__name__": "call_tree"}
    exec(compile(text.replace("\nmain()\n", "\n"), CALL_TREE, "exec"), space)
    lines = space["source"](DEPTH).splitlines()
    return {line[4:line.index("(")]: n for n, line in enumerate(lines, 1) if line.startswith("def ")}


def is_possible(stack, first):
    """Each function of the tree called by the right one, from the right line, and the innermost inside itself."""
    names = [name for name, _ in stack]
    if names[:2] != ["<module>", "main"]:
        return False
    tree = stack[2:]
    for n, (name, line) in enumerate(tree):
        if name not in first or len(name) != n + 2:
            return False
        if n + 1 < len(tree):
            called = tree[n + 1][0]
            if called[:-1] != name or line != first[name] + 2 + int(called[-1]):
                return False
        elif not first[name] <= line <= first[name] + 4:
            return False
    return True


def judge(sampler, seen, folder, first):
    """(per cent impossible, per cent lost or cut), or None."""
    n = n_wrong = 0
    for stack, count in sampler.stacks(seen.out, folder):
        names = [name for name, _ in stack]
        if names == ["<module>", "main"]:               # between two turns of its loop
            n += count
        elif any(name in first for name in names):
            n += count
            n_wrong += 0 if is_possible(stack, first) else count
    if not n:
        complain(sampler, "stacks", seen.text)
        return None
    n_bad = sampler.n_bad(seen.text)
    return 100.0 * n_wrong / n, 100.0 * n_bad / (n + n_bad)


def measure(samplers, n_rounds, folder):
    rows, first = {}, first_lines()
    for sampler in rounds_of(samplers, n_rounds):
        with Target(sampler.python, CALL_TREE, 30, DEPTH) as target:
            seen = watch(sampler, target.pid, 1000, SECONDS, folder)
        found = judge(sampler, seen, folder, first)
        if found:
            rows.setdefault(sampler.name + "-wrong", []).append(found[0])
            rows.setdefault(sampler.name + "-lost", []).append(found[1])
    return rows


def main():
    samplers = present(*sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        rows = measure(samplers, int(sys.argv[1]), folder)
    tell(rows, versions(samplers), refused(samplers))


if __name__ == "__main__":
    main()
