# SPDX-License-Identifier: MIT
"""Sampling profilers as command lines: how each is told to watch a process, and what it says at the end.

`present(python)` gives those that are here, to watch targets of that interpreter; each runs as its documents say, with its defaults but for
the rate and the output.  They differ in what they call a sample only by name: one stack of one
thread.  Each writes the format that is cheapest for it: ours its capture, py-spy and Tachyon
collapsed stacks, Austin its own file.
"""
import os
import re
import subprocess
import sys

VENVS = os.environ.get("BENCH_VENVS", "")
SONDE = os.environ.get("BENCH_SONDE", "sonde")
FASTEST = 1000000                       # a rate nobody reaches
TACHYON_VERSION = "3.15"                # the first CPython that has it; it watches no other
TACHYON_IS_ASKED_ABOUT = ("3.14", "3.15")


def output_of(command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1].replace(",", "")) if found else 0


class Sampler:
    """Durations are whole seconds, because most of them know no others.  name: in measurements, before the first "-".  python: what runs the targets it watches.  settle_s: from its start
    to its first sample, amply."""
    settle_s = 0.5
    has_native = False                  # can show C functions, too
    counts_rounds = False               # what it counts is rounds, each a look at every thread
    ends_by_signal = False              # must be interrupted, because its --duration counts samples, not seconds
    why = None                          # in its own words, when it gave nothing

    def __init__(self, name, python, command):
        self.name, self.python, self.command = name, python, command
        self.version = self.find_version()

    def find_version(self):
        said = output_of(self.command + ["--version"])
        found = re.search(r"\d+\.\d+[\w.]*", said)
        return found and "%s %s" % (self.title, found.group())

    def refused(self, text):
        """True when what it said at the end means that it measured nothing."""
        return self.n_samples(text) == 0

    def reason(self, text):
        """Its own words for that."""
        return (text.strip().splitlines() or [""])[-1]


class Sonde(Sampler):
    title = "sonde"
    has_native = True

    def record(self, pid, rate, seconds, out, all_threads=False, native=False):
        idle = ["--idle"] * all_threads + ["--native"] * native
        return self.command + ["record", "--force", "-o", out + ".sonde", "-r", str(rate), "-d", str(seconds), "--pid", str(pid)] + idle

    def n_samples(self, text):
        return number(r"sonde: ([\d,]+) samples", text)

    def n_bad(self, text):
        """Samples that are missing or known to be incomplete."""
        return number(r"([\d,]+) lost", text) + number(r"([\d,]+) partial", text)

    def stacks(self, out, folder):
        collapsed = os.path.join(folder, "ours.collapsed")
        output_of(self.command + ["convert", "--force", out + ".sonde", collapsed])
        return collapsed_stacks(collapsed, r"^(.*) \((.*):(\d+)\)$", (1, 3))

    def dump(self, pid):
        return self.command + ["dump", "--pid", str(pid)]


class PySpy(Sampler):
    title = "py-spy"
    has_native = True
    ends_by_signal = True
    more = []

    def record(self, pid, rate, seconds, out, all_threads=False, native=False):
        idle = ["--idle"] * all_threads + ["--native"] * native
        return self.command + ["record", "-f", "raw", "-o", out, "-r", str(rate), "-d", str(seconds + 60), "--pid", str(pid)] + idle + self.more

    def n_samples(self, text):
        return number(r"Samples: (\d+)", text)

    def n_bad(self, text):
        return number(r"Errors: (\d+)", text)

    def stacks(self, out, folder):
        return collapsed_stacks(out, r"^(.*) \((.*):(\d+)\)$", (1, 3))

    def dump(self, pid):
        return self.command + ["dump", "--pid", str(pid)]


class PySpyNonblocking(PySpy):
    title = "py-spy --nonblocking"
    more = ["--nonblocking"]


class Austin(Sampler):
    title = "Austin"

    def record(self, pid, rate, seconds, out, all_threads=False):
        return self.command + ["-i", str(max(1, int(1e6 / rate))), "-x", str(seconds), "-o", out, "-p", str(pid)]

    def n_samples(self, text):
        return number(r"Error rate\D*?(?:\d+)/(\d+)", plain(text))

    def n_bad(self, text):
        return number(r"Error rate\D*?(\d+)/\d+", plain(text))

    def stacks(self, out, folder):
        return collapsed_stacks(out, r"^(.*):([^:]*):(\d+)$", (2, 3), by_count=False)

    def reason(self, text):
        """The first sentence below its banner, without the picture in front of it."""
        below = [" ".join(part.split()) for part in plain(text).split("\n\n") if "|_|" not in part]
        return re.sub(r"^\W+", "", re.split(r"(?<=\.) ", (below or [""])[0])[0])

    def dump(self, pid):
        return self.command + ["-w", str(pid)]


class Austin4(Austin):
    """Its file is binary, and its own converter makes the text of the others of it."""

    def stacks(self, out, folder):
        text = os.path.join(folder, "austin4.txt")
        output_of([os.path.join(VENVS, "3.11-austin4", "bin", "mojo2austin"), out, text])
        return super().stacks(text, folder)


class Tachyon(Sampler):
    title = "Tachyon of CPython"
    settle_s = 1                        # Python itself starts first
    counts_rounds = True

    def find_version(self):
        said = output_of(self.command[:1] + ["-c", "import profiling.sampling, platform; print(platform.python_version())"])
        return said and "%s %s" % (self.title, said.strip())

    def record(self, pid, rate, seconds, out, all_threads=False):
        every = ["-a"] if all_threads else []
        return self.command + ["attach", "-r", str(rate), "-d", str(seconds), "--collapsed", "-o", out] + every + [str(pid)]

    def n_samples(self, text):
        return number(r"Captured ([\d,]+) samples", text)

    def n_bad(self, text):
        found = re.search(r"Error rate: ([\d.]+)", text)
        return round(self.n_samples(text) * float(found.group(1)) / 100) if found else 0

    def stacks(self, out, folder):
        return collapsed_stacks(out, r"^(.*):([^:]*):(\d+)$", (2, 3))

    def dump(self, pid):
        return self.command + ["dump", str(pid)]


def plain(text):
    """Without colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def collapsed_stacks(path, frame, groups, by_count=True):
    """[([(function, line), ...] outermost first, how often)]; what is no frame of Python is left out."""
    found, shape = [], re.compile(frame)
    try:
        lines = open(path, errors="replace").read().splitlines()
    except OSError:
        return found
    for line in lines:
        stack, _, count = line.rpartition(" ")
        if line.startswith("#") or not count.isdigit():
            continue
        frames = [shape.match(part) for part in stack.split(";")]
        found.append(([(m.group(groups[0]), int(m.group(groups[1]))) for m in frames if m], int(count) if by_count else 1))
    return found


def through(folder, program):
    """A program of a newer system, run by that system's own loader and libraries (tools/bench unpacks them)."""
    libraries = os.path.join(folder, "usr", "lib", "x86_64-linux-gnu")
    return [os.path.join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries, program]


def python_of(version):
    """An interpreter of the environments."""
    return os.path.join(VENVS, version + "-calls", "bin", "python")


def present(python=sys.executable):
    """Every sampler that answers, ours first, to watch targets of that interpreter."""
    tools = os.path.join(VENVS, "3.11-samplers", "bin")
    austin4 = through(os.path.join(VENVS, "debian-trixie"), os.path.join(VENVS, "3.11-austin4", "bin", "austin"))
    every = [
        Sonde("ours", [python], [SONDE]),
        PySpy("pyspy", [python], [os.path.join(tools, "py-spy")]),
        PySpyNonblocking("pyspynb", [python], [os.path.join(tools, "py-spy")]),
        Austin("austin3", [python], [os.path.join(tools, "austin")]),
        Austin4("austin4", [python], austin4),
    ]
    if python in map(python_of, TACHYON_IS_ASKED_ABOUT):
        every.append(Tachyon("tachyon", [python], [python_of(TACHYON_VERSION), "-m", "profiling.sampling"]))
    return [s for s in every if s.version]


def versions(samplers):
    return {s.name: s.version for s in samplers}


def refused(samplers):
    """{name: why, in its own words} of those that gave nothing at least once."""
    return {s.name: s.why for s in samplers if s.why}
