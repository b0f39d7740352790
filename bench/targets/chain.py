# SPDX-License-Identifier: MIT
"""A chain of DEPTH functions with a busy one at its end: a stack of known depth that stands still.

    chain.py SECONDS DEPTH [WAITING]      prints "ready", then runs

With WAITING as many further threads wait for an event meanwhile.
"""
import sys
import threading
import time


def source(depth):
    lines = ["def f_%d(end):" % depth, "    while clock() < end:", "        for n in numbers:", "            n += 1"]
    for n in range(depth - 1, 0, -1):
        lines += ["def f_%d(end):" % n, "    return f_%d(end)" % (n + 1)]
    return "\n".join(lines) + "\n"


def wait(event):
    event.wait()


def main():
    seconds, depth, n_waiting = float(sys.argv[1]), int(sys.argv[2]), int((sys.argv + ["0"])[3])
    space = {"clock": time.monotonic, "numbers": range(20000)}
    exec(compile(source(depth), "chain.generated", "exec"), space)
    event = threading.Event()
    threads = [threading.Thread(target=wait, args=(event,)) for _ in range(n_waiting)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    space["f_1"](time.monotonic() + seconds)
    event.set()


main()
