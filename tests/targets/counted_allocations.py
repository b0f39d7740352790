# SPDX-License-Identifier: MIT
"""counted_allocations LIBRARY PAGE THREADS: allocates and frees, and counts it in a page that is read after its death.

The library is allocated.c, compiled.  In words of 64 bits: thread i has allocated word i blocks and freed word 16 + i; 256
is the pid, 257 set: stop, 258: that it has stopped.
"""
import ctypes
import mmap
import os
import struct
import sys
import threading

PID, STOP, DONE = 256, 257, 258


def work(i):
    churn(i)


def main():
    global churn
    library = ctypes.CDLL(sys.argv[1])
    churn = library.churn
    with open(sys.argv[2], "r+b") as f:
        page = mmap.mmap(f.fileno(), 4096)
    library.set_page(ctypes.byref(ctypes.c_char.from_buffer(page)))
    struct.pack_into("=Q", page, 8 * PID, os.getpid())
    threads = [threading.Thread(target=work, args=(i,)) for i in range(int(sys.argv[3]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    struct.pack_into("=Q", page, 8 * DONE, 1)


main()
