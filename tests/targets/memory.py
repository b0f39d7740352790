# SPDX-License-Identifier: MIT
"""Programs whose use of memory, CPU, disk and network is known.

    memory.py KIND

Each prints, as JSON on its last line, what it knows of itself at its end.
"""
import json
import mmap
import os
import sys
import time

MIB = 1 << 20


def filled(n_mib):
    """Memory that is really there, as every page is written, and really gone when dropped, as malloc's is not."""
    area = mmap.mmap(-1, n_mib * MIB)
    for at in range(0, n_mib * MIB, mmap.PAGESIZE):
        area[at] = 1
    return area


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def hold():
    """150 MiB for half a second, then free again."""
    time.sleep(0.1)
    before = resident()
    kept = filled(150)
    during = resident()
    time.sleep(0.5)
    del kept
    time.sleep(0.1)
    return {"before": before, "during": during}


def brief_peak():
    """200 MiB for 30 ms: shorter than most readings."""
    time.sleep(0.15)
    before = resident()
    kept = filled(200)
    during = resident()
    end = time.monotonic() + 0.03
    while time.monotonic() < end:
        pass
    del kept
    time.sleep(0.15)
    return {"before": before, "during": during}


def peak_under_sections():
    """A peak before any section, then sections that reset the kernel's mark again and again."""
    from sonde import Profiler
    p = Profiler()
    kept = filled(200)
    during = resident()
    del kept
    for _ in range(20):
        with p("small"):
            small = filled(5)
            del small
        time.sleep(0.01)
    base = resident()
    with p("middle"):
        middle = filled(60)
        del middle
    with p("outer"):
        with p("inner"):
            inner = filled(40)
            del inner
    return {"during": during, "base": base, "small": p["small"].to_dict()["memory:peak_rss"],
            "middle": p["middle"].to_dict()["memory:peak_rss"], "outer": p["outer"].to_dict()["memory:peak_rss"],
            "inner": p["outer:inner"].to_dict()["memory:peak_rss"]}


def writes():
    """30 MiB written, 12 MiB read back."""
    block = os.urandom(MIB)
    with open("block.bin", "wb", buffering=0) as f:
        for _ in range(30):
            f.write(block)
    time.sleep(0.1)
    with open("block.bin", "rb", buffering=0) as f:
        for _ in range(12):
            assert len(f.read(MIB)) == MIB
    time.sleep(0.1)
    return {}


def spins():
    """Half a second of CPU time, between two rests."""
    time.sleep(0.2)
    while time.process_time() < 0.5:
        pass
    time.sleep(0.2)
    return {"cpu": time.process_time()}


def family():
    """A child that holds 100 MiB while its parent holds 60."""
    kept = filled(60)
    ready, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        del kept
        own = filled(100)
        os.write(say, b"%d\n" % resident())
        time.sleep(0.5)
        del own
        os._exit(0)
    child = int(os.read(ready, 100))
    mine = resident()
    time.sleep(0.2)
    os.waitpid(pid, 0)
    return {"pid": os.getpid(), "child_pid": pid, "mine": mine, "child": child, "kept": len(kept)}


def threads():
    """Seven threads beside the first."""
    import threading
    stop = threading.Event()
    several = [threading.Thread(target=stop.wait) for _ in range(7)]
    for t in several:
        t.start()
    time.sleep(0.3)
    stop.set()
    for t in several:
        t.join()
    return {"threads": 8}


def network():
    """20 MiB through the loopback device."""
    import socket
    import threading
    size = 20 * MIB
    time.sleep(0.1)
    server = socket.create_server(("127.0.0.1", 0))

    def send():
        peer, _ = server.accept()
        peer.sendall(bytes(size))
        peer.close()

    thread = threading.Thread(target=send)
    thread.start()
    got = 0
    with socket.create_connection(server.getsockname()) as s:
        while got < size:
            got += len(s.recv(1 << 16))
    thread.join()
    time.sleep(0.1)
    return {"bytes": got}


if __name__ == "__main__":
    known = globals()[sys.argv[1]]()
    known["pid"] = os.getpid()
    print(json.dumps(known))
