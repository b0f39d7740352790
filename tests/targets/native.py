# SPDX-License-Identifier: MIT
"""Python and native functions that call each other in known ways.

    native.py LIBRARY KIND [SECONDS]

It prints "ready", and after it a dot for each turn, so that a test sees it run."""
import ctypes
import json
import sys
import threading
import time
import zlib

library = ctypes.CDLL(sys.argv[1])
for name in ("native_work", "native_a", "native_split", "native_turns"):
    if hasattr(library, name):
        getattr(library, name).argtypes = [ctypes.c_uint64]
library.native_deep.argtypes = [ctypes.c_int, ctypes.c_uint64]
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def splits():
    library.native_split(40)


def bare():
    library.native_a(1000000)


def turns():
    library.native_turns(100)


def compares_inside(a, b):
    for _ in range(20):
        pass
    return (a > b) - (a < b)


def compares(a, b):
    return compares_inside(a[0], b[0])


COMPARES = COMPARE(compares)


def sorts():
    items = (ctypes.c_int * 200)(*[i * 7919 % 1000 for i in range(200)])
    library.native_sort(items, 200, COMPARES)


def keys(n):
    for _ in range(30):
        n += 1
    return n


def sorts_by_key():
    sorted(range(500), key=keys)


def numbers():
    for i in range(300):
        yield sum(x for x in range(30))


def generates():
    list(numbers())


DATA = bytes(range(256)) * 400
TEXT = json.dumps([{"a": list(range(50)), "b": "x" * 50}] * 50)


def compresses():
    zlib.compress(DATA, 9)


def parses():
    json.loads(TEXT)


def deepens(n):
    if n:
        max([n], key=lambda _: deepens(n - 1))
    else:
        library.native_deep(1000, 300000)


def deep():
    deepens(100)


def sleeps():
    time.sleep(0.02)


def mixed():
    sorts()
    sorts_by_key()
    generates()
    compresses()
    parses()


def locks(lock):
    lock.acquire()


def main():
    turn = globals()[sys.argv[2]]
    end = time.process_time() + float(sys.argv[3]) if len(sys.argv) > 3 else None
    if turn is sleeps:
        lock = threading.Lock()
        lock.acquire()
        threading.Thread(target=locks, args=(lock,), daemon=True).start()
    print("ready", end="", flush=True)
    while end is None or time.process_time() < end:
        turn()
        sys.stdout.write(".")
        sys.stdout.flush()


main()
