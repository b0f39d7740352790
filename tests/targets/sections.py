# SPDX-License-Identifier: MIT
"""Sections whose cost the program knows itself; prints both as JSON: {figure: [ours, truth]}."""
import json
import mmap
import os
import socket
import threading
import time

from sonde import Profiler

MIB = 1 << 20


def filled(n_mib):
    area = mmap.mmap(-1, n_mib * MIB)
    for at in range(0, n_mib * MIB, mmap.PAGESIZE):
        area[at] = 1
    return area


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def times(p, found):
    start = time.perf_counter()
    with p("wall"):
        time.sleep(0.2)
    found["wall, a sleep of 0.2 s"] = [p["wall"].to_dict()["time:duration"], time.perf_counter() - start]
    start = time.thread_time()
    with p("cpu", time_kind="cpu"):
        time.sleep(0.1)
        spin(0.2)
    found["cpu, 0.2 s of work beside 0.1 s of sleep"] = [p["cpu"].to_dict()["time:duration"], time.thread_time() - start]
    other = threading.Thread(target=spin, args=(0.2,))
    start = time.thread_time()
    with p("beside", time_kind="cpu"):
        other.start()
        spin(0.1)
        other.join()
    found["cpu, 0.1 s of work beside a busy thread"] = [p["beside"].to_dict()["time:duration"], time.thread_time() - start]
    start = time.process_time()
    with p("process", time_kind="process"):
        other = threading.Thread(target=spin, args=(0.1,))
        other.start()
        spin(0.1)
        other.join()
    found["process, two threads of 0.1 s"] = [p["process"].to_dict()["time:duration"], time.process_time() - start]


def memory(p, found):
    with p("kept"):
        kept = filled(100)
    found["memory kept, 100 MiB"] = [p["kept"].to_dict()["memory:diff_rss"], len(kept)]
    with p("temporary"):
        filled(50)
    d = p["temporary"].to_dict()
    found["peak of a temporary, 50 MiB"] = [d["memory:peak_rss"] - d["memory:start_rss"], 50 * MIB]
    with p("outer"):
        filled(30)
        with p("inner"):
            filled(10)
    d, e = p["outer"].to_dict(), p["outer:inner"].to_dict()
    found["peak of the outer section, 30 MiB"] = [d["memory:peak_rss"] - d["memory:start_rss"], 30 * MIB]
    found["peak of the inner section, 10 MiB"] = [e["memory:peak_rss"] - e["memory:start_rss"], 10 * MIB]


def traffic(p, found):
    block = os.urandom(MIB)
    with p("write"):
        with open("block.bin", "wb", buffering=0) as f:
            for _ in range(20):
                f.write(block)
    found["written, 20 MiB"] = [p["write"].to_dict()["io:written"], 20 * MIB]
    with p("read"):
        with open("block.bin", "rb", buffering=0) as f:
            while f.read(MIB):
                pass
    found["read, 20 MiB"] = [p["read"].to_dict()["io:read"], 20 * MIB]
    server = socket.create_server(("127.0.0.1", 0))

    def send():
        peer, _ = server.accept()
        peer.sendall(bytes(20 * MIB))
        peer.close()

    with p("network"):
        thread = threading.Thread(target=send)
        thread.start()
        got = 0
        with socket.create_connection(server.getsockname()) as s:
            while got < 20 * MIB:
                got += len(s.recv(1 << 16))
        thread.join()
    found["received over loopback, 20 MiB"] = [p["network"].to_dict()["network:received"], got]


def main():
    found = {}
    p = Profiler()
    with p("warm"):
        pass
    times(p, found)
    memory(p, found)
    traffic(p, found)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
