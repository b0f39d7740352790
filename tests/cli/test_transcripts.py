# SPDX-License-Identifier: MIT
"""Golden transcripts: what a user types, and what the program answers, word for word.

Every file *.txt here is one session, run in an empty folder of its own:

    @ x.py                  makes the file x.py of the lines below it that are indented by four spaces
    $ sonde run x.py        a command, run by sh; `sonde` and `python3` are those under test
    text                    a line of its stdout
    ! text                  a line of its stderr; the order between stdout and stderr is not looked at
    ...                     any lines, or none
    [3]                     its exit status, 0 unless said; -15 is SIGTERM
    # text                  for the reader

Inside a line <n> is a whole number, <time> a duration, <size> a number of bytes as people write
them, <date> a day and time, <missed> how many samples were missed and lost, and <*> anything.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, clean_env, run, run_tests, write  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PATTERNS = {
    "<n>": r"\d[\d,]*",
    "<time>": r"\d[\d,.]* (?:ns|us|ms|s|m|min|h)",
    "<size>": r"\d[\d,.]* (?:B|KiB|MiB|GiB)",
    "<missed>": r"\d[\d,]* missed(?:, \d[\d,]* lost)?",     # a busy machine loses a sample now and then
    "<date>": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}",
    "<*>": r".*?",
}


def pattern_of(line):
    parts = re.split("(%s)" % "|".join(re.escape(p) for p in PATTERNS), line)
    # Columns are as wide as their numbers need: between two words any number of spaces is as good.
    return "".join(PATTERNS.get(part) or re.sub(r"(\\ |\s)+", " +", re.escape(part)) for part in parts)


def mismatch(expected, text):
    """None when the text is what the lines say, else how far it was followed."""
    lines = text.splitlines()
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else pattern_of(line) + " *\n" for line in expected)
    if re.fullmatch(pattern, "".join(line + "\n" for line in lines)):
        return None
    for n in range(len(expected), 0, -1):
        start = "".join(r"(?:.*\n)*?" if line == "..." else pattern_of(line) + " *\n" for line in expected[:n])
        if re.match(start, "".join(line + "\n" for line in lines)):
            break
    else:
        n = 0
    wanted = expected[n] if n < len(expected) else "(the end)"
    return "wanted %r next, got:\n%s" % (wanted, text)


class Step:
    def __init__(self, command, number):
        self.command, self.number = command, number
        self.out, self.err, self.status = [], [], 0


def parse(path):
    """The steps of a session: ("file", name, text) and Steps, in order."""
    steps, content = [], None
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if content is not None and (line.startswith("    ") or not line):
                content.append(line[4:])
                continue
            content = None
            if line.startswith("# ") or line == "#" or not line and not (steps and isinstance(steps[-1], Step)):
                continue
            if line.startswith("@ "):
                content = []
                steps.append(("file", line[2:], content))
            elif line.startswith("$ "):
                steps.append(Step(line[2:], number))
            elif re.fullmatch(r"\[-?\d+\]", line):
                steps[-1].status = int(line[1:-1])
            elif line.startswith("! ") or line == "!":
                steps[-1].err.append(line[2:])
            else:
                steps[-1].out.append(line)
    for step in steps:
        if isinstance(step, Step):
            while step.out and not step.out[-1]:
                step.out.pop()      # empty lines between steps are for the reader
    return steps


def environment(folder):
    tools = os.path.join(folder, ".tools")
    os.mkdir(tools)
    for name, target in (("sonde", SONDE), ("python3", PYTHON)):
        write(tools, name, '#!/bin/sh\nexec "%s" "$@"\n' % target)
        os.chmod(os.path.join(tools, name), 0o755)
    return clean_env(PATH=tools + os.pathsep + os.environ["PATH"], VIRTUAL_ENV=None, LC_ALL="C.UTF-8", TERM="dumb", HOME=folder,
                     PYTHON=PYTHON, COLUMNS=None)


def play(path, folder):
    env = environment(folder)
    for step in parse(path):
        if not isinstance(step, Step):
            write(folder, step[1], "\n".join(step[2]) + "\n")
            continue
        result = run(["sh", "-c", step.command], cwd=folder, env=env)
        where = "%s:%d: $ %s" % (os.path.basename(path), step.number, step.command)
        wrong = mismatch(step.out, result.out)
        assert wrong is None, "%s: stdout: %s" % (where, wrong)
        wrong = mismatch(step.err, result.err)
        assert wrong is None, "%s: stderr: %s" % (where, wrong)
        status = 128 - step.status if step.status < 0 else step.status      # sh's own way to say a signal
        assert result.status in (step.status, status), "%s: status %d, wanted %d; stderr %s" % (where, result.status, step.status, result.err)


for name in sorted(os.listdir(HERE)):
    if name.endswith(".txt"):
        globals()["test_" + name[:-4].replace("-", "_")] = lambda folder, path=os.path.join(HERE, name): play(path, folder)

if __name__ == "__main__":
    run_tests(globals())
