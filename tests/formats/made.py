# SPDX-License-Identifier: MIT
"""Captures made by hand from docs/format.md alone, so that tests know every number in them."""
import struct

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
    """One stream of events in one chunk; times are given from the capture's zero, in ns."""

    def __init__(self):
        head = b"\x89SONDE\r\n" + struct.pack("<HHIQQQ20x", 1, 0, 64, SALT, REAL, MONO)
        self.bytes = head + struct.pack("<I", crc32c(head) ^ 0xFFFFFFFF)
        self.records, self.n_ids, self.n_events, self.known = b"", 0, 0, {}

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

    def function(self, name, file, line):
        return self.define(2, "HHIIIII", 2, 0, self.string(name), self.string(file), line, 0, 0)

    def metric(self, name, unit):
        return self.define(4, "HHIII", unit, 1, self.string(name), 0, 0)

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

    def chunk(self, kind, seq, payload, count=0, stream=0):
        head = struct.pack("<4sHHQQIIIIQQI", b"DSCK", kind, 0, SALT, stream, seq, len(payload), len(payload), count, 0, 0, 0)
        self.bytes += head + struct.pack("<I", crc32c(payload, crc32c(head)) ^ 0xFFFFFFFF) + payload

    def save(self, path):
        self.chunk(1, 1, self.records, self.n_events, 1)
        self.chunk(6, 1, struct.pack("<iIQQQQQ", 0, 0, 1, self.n_events, 0, MONO, REAL))
        with open(path, "wb") as f:
            f.write(self.bytes)
        return path
