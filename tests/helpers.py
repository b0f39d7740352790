# SPDX-License-Identifier: MIT
"""What the Python tests share: how to say a result, how to run sonde, how to read its captures.

A test is a function whose name starts with `test_`; `run_tests(globals())` runs them in the
order of the file and prints `ok NAME`, `FAIL NAME: why` or `skip NAME: why` (tests/README.md).
Names given on the command line choose among them.  Works on Python 3.8 and later, standard
library only, because every interpreter runs these files itself.
"""
import collections
import csv
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.environ.get("SONDE_SRC") or os.path.dirname(HERE)
SONDE = os.environ.get("SONDE") or os.path.join(SRC, "build", "sonde")
PACKAGE_PATH = os.environ.get("SONDE_PYTHONPATH") or os.path.join(os.path.dirname(SONDE), "python")
TARGETS = os.path.join(HERE, "targets")
HAS_JIT = bool(getattr(sys, "_jit", None) and sys._jit.is_available())  # of the interpreter of this run
PYTHON = sys.executable
MIB = 1 << 20

# Nothing here takes longer than a few seconds, on a busy machine some times that; what takes minutes is a
# hang, and a hang is a fault.
LIMIT_S = 120


class Ticking:
    """A clock of which every reading takes a tick."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        self.now += 1
        return self.now


class Skip(Exception):
    """The machine lacks what the test needs; the words say what."""


def need(condition, what):
    if not condition:
        raise Skip(what)


def python_with(*packages):
    """The interpreter of an environment of the tests that has all of these, the own one first, or None."""
    build = os.environ.get("SONDE_BUILD") or os.path.dirname(SONDE)
    for python in [PYTHON] + sorted(glob.glob(os.path.join(build, "venv", "*", "bin", "python"))):
        home = os.path.dirname(os.path.dirname(python))
        if all(glob.glob(os.path.join(home, "lib", "python3*", "site-packages", package)) for package in packages):
            return python
    return None


# ---- saying what happened


def only(applies):
    """A test of what this version has; on others there is no such test."""
    def mark(test):
        test.applies = applies
        return test
    return mark


def run_tests(namespace):
    """Runs every test_* of a file and exits as tests/README.md asks."""
    wanted = sys.argv[1:]
    failed = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_") or not callable(test) or not getattr(test, "applies", True):
            continue
        said = name[len("test_"):]
        if wanted and not any(w in said for w in wanted):
            continue
        folder = tempfile.mkdtemp(prefix="sonde-test-")
        try:
            test(folder)
            print("ok %s" % said)
        except Skip as why:
            print("skip %s: %s" % (said, why))
        except Exception as why:        # a test that breaks is a test that failed
            failed += 1
            text = str(why).strip() or type(why).__name__
            if not isinstance(why, AssertionError) or not str(why):
                frame = traceback.extract_tb(why.__traceback__)[-1]
                text = "%s: %s (%s:%d: %s)" % (type(why).__name__, text, os.path.basename(frame.filename),
                                              frame.lineno, frame.line)
            print("FAIL %s: %s" % (said, " | ".join(text.splitlines())[:1500]))
        finally:
            sys.stdout.flush()
            if os.environ.get("KEEP"):
                print("# kept %s" % folder)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


def equal(got, wanted, what="value"):
    assert got == wanted, "%s is %r, not %r" % (what, got, wanted)


def contains(text, part, what="text"):
    assert part in text, "%s lacks %r: %r" % (what, part, text[-600:])


def between(value, low, high, what="value"):
    if os.environ.get("FIGURES") and value is not None:
        print("# %s: %r, within %r to %r" % (what, value, low, high))
    assert value is not None and low <= value <= high, "%s is %r, not within %r to %r" % (what, value, low, high)


# ---- running


Result = collections.namedtuple("Result", "status out err")


def target_is_right(target, words, at_least, needs=("torch",)):
    """All that a target (targets/) says of these words, line by line, is right, and it says as much as it should."""
    python = python_with(*needs)
    need(python, "no %s in any environment of the tests (CI=true installs torch for one version)" % " and ".join(needs))
    done = subprocess.run([python, "-W", "ignore", os.path.join(TARGETS, target)] + words.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, PYTHONPATH=PACKAGE_PATH, PYTHONDONTWRITEBYTECODE="1"), timeout=400, universal_newlines=True)
    lines = done.stdout.splitlines()
    equal([line for line in lines if not line.startswith("ok ")], [], "what is wrong")
    equal(done.returncode, 0, "status (%s)" % done.stderr[-400:])
    assert len(lines) >= at_least, "only %d answers" % len(lines)


def clean_env(**more):
    """The environment without anything of Sonde's, as a user has it; None removes a name."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("SONDE") and k not in ("PYTHONPATH", "KILLS", "KEEP")}
    env["SONDE_PACKAGE"] = os.path.join(PACKAGE_PATH, "sonde")
    env["PYTHONPATH"] = PACKAGE_PATH
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    for key, value in more.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    return env


def run(command, cwd=None, env=None, limit=LIMIT_S, stdin=None, **more):
    """Runs a command to its end; output as text.  A hang is killed and fails the test."""
    p = subprocess.Popen(command, cwd=cwd, env=clean_env() if env is None else env, stdin=subprocess.DEVNULL if stdin is None else stdin,
                         stdout=more.pop("stdout", subprocess.PIPE), stderr=more.pop("stderr", subprocess.PIPE),
                         start_new_session=True, **more)
    try:
        out, err = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)        # its children too: they hold our pipes open
        out, err = p.communicate()
        raise AssertionError("hung for %d s: %s; stderr %r" % (limit, " ".join(map(str, command)), text(err)[-400:]))
    return Result(p.returncode, text(out), text(err))


def once(make):
    """A function that makes what several tests share: later calls get what the first one got, or fail as it did,
    instead of trying again on top of what it left half done."""
    outcome = []

    def ask():
        if not outcome:
            try:
                outcome.append((make(), None))
            except Exception as why:
                outcome.append((None, why))
        made, why = outcome[0]
        if why is not None:
            raise why
        return made
    return ask


def text(raw):
    return (raw or b"").decode("utf-8", "replace")


def sonde(*words, **how):
    return run([SONDE] + [str(w) for w in words], **how)


def sonde_run(folder, *words, **how):
    """sonde run -o FOLDER/x.sonde --python (the interpreter of this test) WORDS; gives the result and the capture's path."""
    path = how.pop("capture", None) or os.path.join(folder, "x.sonde")
    how.setdefault("cwd", folder)
    python = how.pop("python", PYTHON)
    options = how.pop("options", [])
    return sonde("run", "-o", path, "--python", python, *(list(options) + list(words)), **how), path


def write(folder, name, source):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(source)
    return path


def compile_c(folder, source, with_libsonde=False, shared=False):
    """Compiles one C file and gives the path of the program (or of the library)."""
    cc = shutil.which(os.environ.get("CC") or "cc")
    need(cc, "no C compiler")
    target = os.path.join(folder, os.path.splitext(os.path.basename(source))[0] + (".so" if shared else ""))
    command = [cc, "-O2", "-pthread", "-o", target, source] + (["-shared", "-fPIC"] if shared else [])
    if with_libsonde:
        build = os.path.dirname(SONDE)
        command += ["-I", os.path.join(SRC, "include"), "-L", build, "-lsonde", "-Wl,-rpath," + build]
    result = run(command)
    equal(result.status, 0, "status of the compiler (%s)" % result.err.strip())
    return target


def wait_for(condition, what, limit=60.0):
    """Waits until condition() is true and gives its value back."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("waited %g s in vain for %s" % (limit, what))
        time.sleep(0.005)


def state_of(pid):
    """The letter that /proc gives: T where it is stopped."""
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def is_alive(pid):
    """Does any thread of it live?  A first thread that has ended is a zombie while others of its process go on."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return False
    state, n_threads = fields[0], int(fields[17])
    return state not in ("Z", "X") or n_threads > 1


def signal_name(status):
    return signal.Signals(-status).name if status < 0 else str(status)


def page_data(page):
    """What a page is given to draw, its columns aside."""
    import base64
    import gzip
    import re
    import struct
    raw = gzip.decompress(base64.b64decode(re.search('id="data">([^<]*)</script>', page).group(1), validate=True))
    return json.loads(raw[4:4 + struct.unpack("<I", raw[:4])[0]].decode("utf-8"))


# ---- reading captures, through the program as a user does


class Capture:
    """What `sonde report --json` and `sonde info --json` say of a capture."""

    def __init__(self, path):
        self.path = path
        self.report = self.ask("report")
        self.info = self.ask("info")

    def ask(self, verb):
        result = sonde(verb, self.path, "--json")
        equal(result.status, 0, "status of sonde %s (%s)" % (verb, result.err.strip()))
        return json.loads(result.out)

    def sections(self):
        return self.report.get("sections", [])

    def count(self, name):
        """How often a section of this path ran; one that was open when its process died counts."""
        return sum(row["count"] for row in self.sections() if row["section"] == name)

    def lost(self):
        """Events that producers dropped and counted."""
        return self.info["lost"]

    def processes(self):
        """{pid: row} of the single processes."""
        return {row["pid"]: row for row in self.report.get("processes", []) if row.get("pid")}

    def tree(self):
        """The row of all processes together; of a single process it is that one's."""
        rows = self.report.get("processes", [])
        assert rows, "no processes in the report"
        return [row for row in rows if not row.get("pid")][0] if len(rows) > 1 else rows[0]

    def readings(self, metric, pid):
        """Every reading of a metric of one process, in order of time."""
        return [int(e[metric]) for e in events(self.path) if e["kind"] == "point" and e["process"] == str(pid) and e[metric]]


def events(path):
    """Every event of a capture, as `sonde convert` to CSV gives it: a dict by column name."""
    handle, target = tempfile.mkstemp(suffix=".csv", prefix="sonde-test-")
    os.close(handle)
    try:
        result = sonde("convert", "--force", path, target)
        equal(result.status, 0, "status of sonde convert (%s)" % result.err.strip())
        with open(target, newline="") as f:
            return list(csv.DictReader(f))
    finally:
        os.unlink(target)


def sections_by_process(path):
    """{pid: {section: how often}}, from every single event."""
    found = {}
    for e in events(path):
        if e["kind"] not in ("point", "sample", "idle"):
            found.setdefault(int(e["process"]), collections.Counter())[e["name"]] += 1
    return found
