# SPDX-License-Identifier: MIT
"""A terminal of our own, for tests of what is drawn on a screen: knows as much of xterm as ncurses uses."""
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from helpers import LIMIT_S, SONDE, clean_env, contains, equal


class Terminal:
    """A terminal of rows x columns with sonde in it; knows as much of xterm as ncurses uses."""

    def __init__(self, *words, **how):
        self.rows, self.columns = how.get("size", (24, 100))
        self.master, slave = pty.openpty()
        self.resize(self.rows, self.columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.raw = b""
        self.clear()
        self.p = subprocess.Popen([SONDE] + [str(w) for w in words], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                  env=clean_env(TERM="xterm", LC_ALL="C.UTF-8", COLUMNS=None, LINES=None), cwd=how.get("cwd"),
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def clear(self):
        self.cells, self.y, self.x, self.pending, self.last, self.region = {}, 0, 0, "", " ", None

    def close(self):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()
        os.close(self.slave)
        os.close(self.master)

    def read(self, seconds):
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                return
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.raw += data
            self.feed(data)

    def feed(self, data):
        text = self.pending + data.decode("utf-8", "surrogateescape")
        i = 0
        while i < len(text):
            c = text[i]
            if c == "\x1b":
                m = re.compile(r"\x1b(\[[?>]?([0-9;]*)([A-Za-z@])|[()][A-Z0-9]|[=>78M]|\][^\x07]*\x07)").match(text, i)
                if not m:
                    break
                if m.group(1) == "M":
                    self.reverse_feed()
                if m.group(3):
                    self.control(m.group(3), m.group(2), m.group(1))
                i = m.end()
                continue
            i += 1
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self.line_feed()
            elif c == "\b":
                self.x -= 1
            elif c == "\t":
                self.x = (self.x // 8 + 1) * 8
            elif c >= " ":
                self.put(c)
        self.pending = text[i:] if i < len(text) else ""

    def put(self, c):
        self.cells[self.y, self.x] = self.last = c
        self.x += 1

    def control(self, letter, numbers, whole):
        if "?" in whole or ">" in whole:
            return
        n = [int(v) if v else 0 for v in numbers.split(";")]
        one = n[0] or 1
        if letter == "H":
            self.y, self.x = one - 1, (n[1] if len(n) > 1 and n[1] else 1) - 1
        elif letter == "A":
            self.y -= one
        elif letter == "B":
            self.y += one
        elif letter == "C":
            self.x += one
        elif letter == "D":
            self.x -= one
        elif letter == "G":
            self.x = one - 1
        elif letter == "d":
            self.y = one - 1
        elif letter == "b":
            for _ in range(one):
                self.put(self.last)
        elif letter == "r":
            self.region = (one - 1, (n[1] if len(n) > 1 and n[1] else self.rows) - 1)
            self.y = self.x = 0
        elif letter in "@P":
            self.shift(one if letter == "@" else -one)
        elif letter == "X":
            self.erase(lambda y, x: y == self.y and self.x <= x < self.x + one)
        elif letter == "K":
            self.erase(lambda y, x: y == self.y and (x <= self.x if n[0] == 1 else x >= self.x))
        elif letter == "J":
            self.erase(lambda y, x: n[0] == 2 or y > self.y or (y == self.y and x >= self.x))

    def line_feed(self):
        """At the lower end of the scrolling region its lines move up."""
        top, bottom = self.region or (0, self.rows - 1)
        if self.y != bottom:
            self.y += 1
            return
        kept = {(y - 1 if top < y <= bottom else y, x): c for (y, x), c in self.cells.items() if y != top}
        self.cells = kept

    def reverse_feed(self):
        top, bottom = self.region or (0, self.rows - 1)
        if self.y != top:
            self.y -= 1
            return
        self.cells = {(y + 1 if top <= y < bottom else y, x): c for (y, x), c in self.cells.items() if y != bottom}

    def shift(self, n):
        """Inserts n blanks at the cursor, or takes -n characters away."""
        row = [self.cells.pop((self.y, x), " ") for x in range(self.columns)]
        row = row[:self.x] + ([" "] * n + row[self.x:] if n > 0 else row[self.x - n:])
        for x, c in enumerate(row[:self.columns]):
            self.cells[self.y, x] = c

    def erase(self, where):
        for key in [k for k in self.cells if where(*k)]:
            del self.cells[key]

    def lines(self):
        return ["".join(self.cells.get((y, x), " ") for x in range(self.columns)).rstrip() for y in range(self.rows)]

    def text(self):
        return "\n".join(self.lines())

    def until(self, condition, what, seconds=60):
        """Reads until the picture is as wanted."""
        end = time.monotonic() + seconds
        while not condition(self.text()):
            assert time.monotonic() < end, "waited in vain for %s; on the screen:\n%s" % (what, self.text())
            self.read(0.05)
        return self.text()

    def press(self, keys, condition, what):
        os.write(self.master, keys.encode())
        return self.until(condition, what)

    def ends(self, status):
        end = time.monotonic() + LIMIT_S
        while self.p.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0.2)
        equal(self.p.poll(), status, "status (%r)" % self.raw[-300:])
        contains(self.raw.decode("utf-8", "replace"), "\x1b[?1049l", "what was sent to the terminal at the end")
        equal(termios.tcgetattr(self.slave)[:4], self.before[:4], "settings of the terminal afterwards")


@contextlib.contextmanager
def terminal(*words, **how):
    t = Terminal(*words, **how)
    try:
        yield t
    finally:
        t.close()
