# SPDX-License-Identifier: MIT
"""The training of tests/targets/torch_threads.py, with a journal of its steps.

    torch_steps.py N JOURNAL      N threads of torch; says "ready"
"""
import os
import sys

from journal import Journal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tests", "targets"))
from torch_threads import prepare, step  # noqa: E402


def main():
    work, journal, done = prepare(int(sys.argv[1])), Journal(sys.argv[2]), 0
    print("ready", flush=True)
    while True:
        step(*work)
        done += 1
        journal.note(done)


main()
