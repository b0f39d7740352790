# SPDX-License-Identifier: MIT
"""allocation_stress LIBRARY SECONDS: threads, forks, starts of programs and libraries that come and go, all at once.

The library is allocated.c, compiled.  Says what went wrong, and which part did nothing.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

end = time.monotonic() + float(sys.argv[2])
library = ctypes.CDLL(sys.argv[1])
counts = [0] * 8
errors = []


def run(threads):
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def until(i, f):
    def go():
        try:
            while not counts[i] or time.monotonic() < end:
                f()
                counts[i] += 1
        except BaseException as why:
            errors.append(repr(why))
    return go


def objects():
    kept = [{str(i): [i] * 20} for i in range(500)]
    json.loads(json.dumps(kept))


def made():
    for i in range(50):
        names = {}
        exec("def f%d(n):\n    return [bytearray(n) for _ in range(10)]" % i, names)
        names["f%d" % i](700)


def short():
    threads = [threading.Thread(target=objects) for _ in range(4)]
    run(threads)


def native():
    library.case_native_threads()
    library.case_hand_over()


def forked():
    pid = os.fork()
    if pid == 0:
        try:
            made()
            run([threading.Thread(target=objects)])
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def started():
    subprocess.check_call([sys.executable, "-c", "x = [[i] for i in range(1000)]"])


folder = tempfile.mkdtemp()
copy = os.path.join(folder, "copy.so")
shutil.copy(sys.argv[1], copy)
close = ctypes.CDLL(None).dlclose
close.argtypes = [ctypes.c_void_p]


def opened():
    for mode in (0, os.RTLD_DEEPBIND):
        one = ctypes.CDLL(copy, mode=mode)
        one.case_leaf()
        close(one._handle)


work = [objects, made, short, native, forked, started, opened]
threads = [threading.Thread(target=until(i, f)) for i, f in enumerate(work)]
run(threads)
shutil.rmtree(folder)
print(json.dumps({"errors": errors, "idle": [work[i].__name__ for i in range(len(work)) if not counts[i]]}))
raise SystemExit(6 if errors else 5)
