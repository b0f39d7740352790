# SPDX-License-Identifier: MIT
"""Captures made by hand from docs/format.md alone, so that tests know every number in them."""
import os
import struct

MS = 10 ** 6
HOSTILE = "esc\x1b[2J;semi\nline</script>\u202e\u65e5\udcff"
MONO, REAL, SALT = 10 ** 9, 1700000000 * 10 ** 9, 77
PROCESS, THREAD = 1, 2
IDLE, GIL, PARTIAL, STOPPED, NATIVE, WAITS_GIL = 1, 2, 4, 8, 16, 32


def crc32c(data, crc=0xFFFFFFFF):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


class Capture:
    """One stream of events, in one chunk unless it is cut; times are given from the capture's zero, in ns."""

    def __init__(self):
        head = b"\x89SONDE\r\n" + struct.pack("<HHIQQQ20x", 1, 0, 64, SALT, REAL, MONO)
        self.bytes = head + struct.pack("<I", crc32c(head) ^ 0xFFFFFFFF)
        self.records, self.n_ids, self.n_events, self.known = b"", 0, 0, {}
        self.n_chunks, self.n_of_chunks = 0, 0

    def put(self, kind, body):
        n = (4 + len(body) + 7) & ~7
        self.records += struct.pack("<HBB", n, kind, 1) + body.ljust(n - 4, b"\0")
        self.n_events += kind >= 16

    def define(self, kind, fields, *values):
        """The id of this definition, made when it is new."""
        key = (kind, fields, values)
        if key not in self.known:
            self.n_ids += 1
            self.known[key] = self.n_ids
            self.put(kind, struct.pack("<I", self.n_ids) + struct.pack("<" + fields, *values))
        return self.known[key]

    def string(self, text):
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        return self.define(1, "II%ds" % len(raw), len(raw), 0, raw)

    def track(self, kind, number, name, parent=0):
        return self.define(3, "HHIQQII", kind, 0, parent, number, number * 10, self.string(name), 0)

    def function(self, name, file, line, is_native=False):
        return self.define(2, "HHIIIII", 2, int(is_native), self.string(name), self.string(file), line, 0, 0)

    def section(self, name, parent=0):
        return self.define(2, "HHIIIII", 1, 0, self.string(name), 0, 0, parent, 0)

    def metric(self, name, unit, adds=1):
        return self.define(4, "HHIII", unit, adds, self.string(name), 0, 0)

    def stack(self, *frames):
        """Frames from the outermost in, each (function, line)."""
        at = 0
        for function, line in frames:
            at = self.define(9, "IIII", at, function, line, 0)
        return at

    def sample(self, track, stack, time, samples=1, flags=0, wall=None, cpu=None):
        metrics = [self.metric("samples", 1), self.metric("wall", 2), self.metric("cpu", 2)]
        shape = self.define(5, "II3I", 3, 0, *metrics)
        values = [samples, samples * 10 ** 7 if wall is None else wall, 0 if cpu is None else cpu]
        self.put(20, struct.pack("<IIHHQ3q", track, stack, shape, flags, MONO + time, *values))

    def span(self, track, section, start, end):
        self.n_spans = getattr(self, "n_spans", 0) + 1
        self.put(17, struct.pack("<IIHHQQQ", section, track, 0, 0, self.n_spans, MONO + start, MONO + end))

    def memory(self, track, time, rss):
        shape = self.define(5, "III", 1, 0, self.metric("rss", 3, 2))
        self.put(18, struct.pack("<IIIQq", shape, track, 0, MONO + time, rss))

    def chunk(self, kind, seq, payload, count=0, stream=0):
        head = struct.pack("<4sHHQQIIIIQQI", b"DSCK", kind, 0, SALT, stream, seq, len(payload), len(payload), count, 0, 0, 0)
        self.bytes += head + struct.pack("<I", crc32c(payload, crc32c(head)) ^ 0xFFFFFFFF) + payload

    def cut(self):
        """What follows is in another chunk, where ids begin again."""
        self.n_chunks += 1
        self.n_of_chunks += self.n_events
        self.chunk(1, self.n_chunks, self.records, self.n_events, 1)
        self.records, self.n_ids, self.n_events, self.known = b"", 0, 0, {}

    def save(self, path):
        self.cut()
        self.chunk(6, 1, struct.pack("<iIQQQQQ", 0, 0, self.n_chunks, self.n_of_chunks, 0, MONO, REAL))
        with open(path, "wb") as f:
            f.write(self.bytes)
        return path


def known(folder):
    """30 samples in f, 10 in a <listcomp> below it, 5 in one called directly and one under a
    name that formats break on, by two threads, one of which was idle for 10 samples more."""
    c = Capture()
    process = c.track(PROCESS, 7, "python")
    main = c.track(THREAD, 7, "MainThread", process)
    other = c.track(THREAD, 8, HOSTILE, process)
    module, f = c.function("<module>", "/x/app.py", 1), c.function("f", "/x/app.py", 10)
    comp, bad = c.function("<listcomp>", "/x/app.py", 12), c.function(HOSTILE, "/x/" + HOSTILE, 3)
    for i in range(30):
        c.sample(main, c.stack((module, 3), (f, 11)), 10 * MS * (i + 1), 1, GIL, cpu=9 * MS)
    for i in range(10):
        c.sample(main, c.stack((module, 4), (f, 13), (comp, 12)), 10 * MS * (i + 31))
    c.sample(other, c.stack((module, 5)), 100 * MS, 10, IDLE)
    c.sample(other, c.stack((module, 5), (comp, 12)), 150 * MS, 5)
    c.sample(other, c.stack((module, 5), (bad, 4)), 160 * MS, 1)
    return c.save(os.path.join(folder, "x.sonde"))


def mixed(folder):
    """What else a capture may have: a child process, native frames, a cut stack, a recursion of
    2,000, sections that nest and repeat, memory.  Samples: step 20 (4 of them cut), dgemm 6,
    recurse 3."""
    c = Capture()
    process = c.track(PROCESS, 7, "python")
    main = c.track(THREAD, 7, "MainThread", process)
    child = c.track(THREAD, 9, "MainThread", c.track(PROCESS, 9, "child", process))
    module, step = c.function("<module>", "/x/app.py", 1), c.function("step", "/x/app.py", 10)
    gemm = c.function("dgemm", "/usr/lib/libblas.so.3", 0, True)
    recurse = c.function("recurse", "/x/app.py", 30)
    epoch = c.section("epoch")
    batch = c.section("batch", epoch)
    c.sample(main, c.stack((module, 3), (step, 11)), 160 * MS, 16)
    c.sample(main, c.stack((module, 3), (step, 11)), 200 * MS, 4, PARTIAL)
    c.sample(main, c.stack((module, 3), (step, 12), (gemm, 0)), 260 * MS, 6)
    c.sample(child, c.stack((module, 5), *[(recurse, 31)] * 2000), 30 * MS, 3)
    c.span(main, batch, 10 * MS, 110 * MS)
    c.span(main, batch, 110 * MS, 250 * MS)
    c.span(main, epoch, 10 * MS, 255 * MS)
    for i in range(10):
        c.memory(process, 25 * MS * i, (10 + i) << 20)
    return c.save(os.path.join(folder, "mixed.sonde"))


def memory(folder):
    """Readings of memory, and nothing else."""
    c = Capture()
    process = c.track(PROCESS, 7, "python")
    for i in range(10):
        c.memory(process, 25 * MS * i, (10 + i) << 20)
    return c.save(os.path.join(folder, "memory.sonde"))


def empty(folder):
    c = Capture()
    c.track(PROCESS, 7, "python")
    return c.save(os.path.join(folder, "empty.sonde"))
