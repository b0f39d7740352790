# SPDX-License-Identifier: MIT
"""Works in nested calls and ends, or waits, while they are open; says itself what they took.

    open_calls.py TRUTH kill|exit|wait

TRUTH is a JSON file with seconds: `busy` and `busy_cpu` in all calls of leaf(), `elapsed` and `elapsed_cpu` since
outer() began, `all` and `all_cpu` since the program did; and how often leaf() and down() were called,
with what had been busy before each of the latter.  With `wait` the program sleeps until it is killed.
"""
import time
BEGAN, BEGAN_CPU = time.perf_counter(), time.thread_time()
import json     # noqa: E402
import os       # noqa: E402
import signal   # noqa: E402
import sys      # noqa: E402

DEPTH, TURNS, TURN_S = 4, 6, 0.01
truth = {"busy": 0.0, "busy_cpu": 0.0, "leaves": 0, "downs": 0, "before": []}


def leaf():
    began, cpu = time.perf_counter(), time.thread_time()
    while time.perf_counter() < began + TURN_S:
        for _ in range(5000):       # few of its calls are of C functions
            pass
    truth["leaves"] += 1
    truth["busy"] += time.perf_counter() - began
    truth["busy_cpu"] += time.thread_time() - cpu


def turn(i):
    leaf()
    return i


def down(depth):
    """Calls itself, the last time out of a C function, and never returns."""
    truth["downs"] += 1
    truth["before"].append([truth["busy"], truth["busy_cpu"]])
    for i in range(TURNS):
        turn(i)
    if depth > 1:
        down(depth - 1)
    elif depth == 1:
        max([0], key=lambda _: down(0))
    else:
        end()


def end():
    truth["elapsed"] = time.perf_counter() - truth.pop("began")
    truth["elapsed_cpu"] = time.thread_time() - truth.pop("began_cpu")
    truth["all"], truth["all_cpu"] = time.perf_counter() - BEGAN, time.thread_time() - BEGAN_CPU
    with open(sys.argv[1] + ".part", "w") as f:
        json.dump(truth, f)
    os.rename(sys.argv[1] + ".part", sys.argv[1])
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[2] == "exit":
        os._exit(0)
    time.sleep(600)


def outer():
    truth["began"], truth["began_cpu"] = time.perf_counter(), time.thread_time()
    down(DEPTH - 1)


def main():
    outer()


if __name__ == "__main__":
    main()
