# SPDX-License-Identifier: MIT
"""memory_usage: memory_profiler's call.  Readings are made by the extension, while something runs by a thread of its own."""
import os
import subprocess
import time

from . import _sonde

MIB = float(2 ** 20)
KINDS = {"psutil": "rss", "psutil_pss": "pss", "psutil_uss": "uss", "posix": "rss", None: "rss"}


def read(pid, backend="psutil", include_children=False):
    """MiB of a process, or None when it cannot be read."""
    n = _sonde.memory_of(0 if pid in (-1, os.getpid()) else int(pid), KINDS[backend], include_children)
    return None if n is None else n / MIB


def children(pid, backend="psutil"):
    """[(pid, MiB), ...] of the descendants."""
    return [(child, n / MIB) for child, n in _sonde.memory_of_children(0 if pid == -1 else int(pid), KINDS[backend])]


def call_of(proc):
    """(f, args, kw) of what memory_usage() takes as a call."""
    if callable(proc):
        return proc, (), {}
    if not 1 <= len(proc) <= 3:
        raise ValueError("a call is (f,), (f, args) or (f, args, kw)")
    return (tuple(proc) + ((), {})[len(proc) - 1:])[:3]


def watch_call(call, interval, backend, timestamps, include_children, max_usage):
    """(readings or the most, what the call returned, how many readings there were)."""
    f, args, kw = call
    watch = _sonde.memory_watch(0, KINDS[backend], include_children, max_usage, interval)
    try:
        returned = f(*args, **kw)
    finally:
        readings, n = _sonde.memory_watched(watch)
    shown = [(b / MIB, t) if timestamps else b / MIB for b, t in readings]
    return shown[0] if max_usage else shown, returned, n


def watch_process(proc, interval, n_most, backend, timestamps, include_children, multiprocess, max_usage, stream):
    """Reads another process until it ends or was read often enough."""
    is_child = isinstance(proc, subprocess.Popen)
    pid = proc.pid if is_child else int(proc)
    readings, most, n = [], -1, 0
    while n < n_most:
        mem = read(pid, backend, include_children)
        if mem is None and n == 0 and not is_child:
            raise ProcessLookupError("there is no process {0} that can be read".format(pid))
        if mem is None and not is_child:
            break
        n += 1
        if max_usage:
            most = max(most, -1 if mem is None else mem)
        elif mem is not None:
            keep(readings, mem, pid, backend, timestamps, multiprocess, stream)
        if stream is not None and n % 50 == 0:
            stream.flush()
        time.sleep(interval)
        if is_child and proc.poll() is not None:
            break
    return most if max_usage else readings


def keep(readings, mem, pid, backend, timestamps, multiprocess, stream):
    now = time.time()
    if stream is None:
        value = (mem, now) if timestamps else mem
        readings.append([value] + [m for _, m in children(pid, backend)] if multiprocess else value)
        return
    stream.write("MEM {0:.6f} {1:.4f}\n".format(mem, now))
    for child, m in children(pid, backend) if multiprocess else ():
        stream.write("CHLD {0} {1:.6f} {2:.4f}\n".format(child, m, now))


def usage(proc, interval, timeout, timestamps, include_children, multiprocess, max_usage, retval, stream, backend, max_iterations, reruns):
    timestamps = timestamps or stream is not None
    if backend not in KINDS:
        raise RuntimeError("the backend {0} counts what one source file allocates, and memory_usage() is given no source file; choose psutil, psutil_pss, psutil_uss or posix".format(backend))
    if not callable(proc) and not isinstance(proc, (list, tuple)):
        n_most = max(1, int(round(timeout / interval))) if timeout is not None else \
            float("inf") if isinstance(proc, subprocess.Popen) else 1
        found = watch_process(proc, interval, n_most, backend, timestamps, include_children, multiprocess, max_usage, stream)
        return None if stream else found
    call, n_runs = call_of(proc), 0
    most_runs = max_iterations if timeout is None else int(round(timeout / interval))
    while True:
        n_runs += 1
        found, returned, n = watch_call(call, interval, backend, timestamps, include_children, max_usage)
        if not reruns or n > 4 or n_runs == most_runs or interval < 1e-6:
            break
        interval /= 10.0
    if stream:
        for mem, when in [found] if max_usage else found:
            stream.write("MEM {0:.6f} {1:.4f}\n".format(mem, when))
        return None
    return (found, returned) if retval else found


def memory_usage(proc=-1, interval=.1, timeout=None, timestamps=False, include_children=False, multiprocess=False, max_usage=False,
                 retval=False, stream=None, backend=None, max_iterations=None):
    """Measures the memory of a process, or of this one while a function runs, in MiB.

    `proc` is a pid (-1 is this process), a Popen, a function or (f, args, kw).  A list of readings, with `timestamps` (MiB, time)
    each; the most with `max_usage`; with `retval` also what the function returned.  A function is called once.
    """
    return usage(proc, interval, timeout, timestamps, include_children, multiprocess, max_usage, retval, stream, backend,
                 max_iterations, False)
