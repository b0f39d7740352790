# SPDX-License-Identifier: MIT
"""What a target has done by when, for whoever watches it from outside.

The file is mapped, and as large as the journal may become.  A record is three numbers: units of work
done, wall and CPU nanoseconds.  The program itself reads the clocks between two units, so that nobody
has to look at it at the right moment.
"""
import mmap
import struct
import time

RECORD = struct.Struct("=QQQ")
EVERY_NS = 500000


class Journal:
    def __init__(self, path):
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)
        self.at, self.next_ns = 0, 0

    def note(self, done):
        """After a unit; a record is written every half of a millisecond, as long as there is room."""
        now = time.monotonic_ns()
        if now < self.next_ns or self.at + RECORD.size > len(self.map):
            return
        RECORD.pack_into(self.map, self.at, done, now, time.process_time_ns())
        self.at += RECORD.size
        self.next_ns = now + EVERY_NS
