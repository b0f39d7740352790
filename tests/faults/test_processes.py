# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""Programs of several processes: every process's sections are in the one capture, under their process."""
import collections
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import (PYTHON, SONDE, TARGETS, Capture, clean_env, equal, run_tests, sections_by_process, sonde_run,
                     wait_for)  # noqa: E402

FAMILY = os.path.join(TARGETS, "family.py")


def noted(folder):
    """{pid: {section: count}} as the processes themselves wrote it down."""
    found = {}
    for name in os.listdir(folder):
        if name.isdigit():
            counts = found.setdefault(int(name), collections.Counter())
            with open(os.path.join(folder, name)) as f:
                for line in f:
                    section, n = line.split()
                    counts[section] += int(n)
    return found


def check(folder, kind, n_processes, status=0, end=None):
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    result, path = sonde_run(folder, FAMILY, kind, notes)
    equal(result.status, status, "exit status (stderr %r)" % result.err[-600:])
    assert "Traceback (most recent" not in result.err, result.err[-800:]
    equal(result.out, "end of %s\n" % (end or kind), "the program's output")
    truth = noted(notes)
    equal(len(truth), n_processes, "number of processes that noted sections")
    equal(sections_by_process(path), truth, "sections per process")
    equal(sorted(os.listdir(folder)), ["notes", "x.sonde"], "files left behind")
    equal(Capture(path).lost(), 0, "events lost")


def test_fork(folder):
    check(folder, "fork", 7)


def test_fork_sixty_times(folder):
    check(folder, "fork_many", 60)


def test_fork_while_threads_write(folder):
    check(folder, "fork_in_threads", 17)


def test_fork_inside_a_section(folder):
    check(folder, "fork_inside_a_section", 2)


def test_multiprocessing_fork_process(folder):
    check(folder, "mp-fork-process", 3)


def test_multiprocessing_spawn_process(folder):
    check(folder, "mp-spawn-process", 3)


def test_multiprocessing_forkserver_process(folder):
    check(folder, "mp-forkserver-process", 3)


def pool(folder, kind):
    """A pool may give both jobs to one worker: two or three processes note sections."""
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    result, path = sonde_run(folder, FAMILY, kind, notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    assert "Traceback (most recent" not in result.err, result.err[-800:]
    truth = noted(notes)
    assert len(truth) in (2, 3), truth
    equal(sections_by_process(path), truth, "sections per process")
    assert not os.path.exists(path + ".live"), "the live folder is left behind"


def test_multiprocessing_fork_pool(folder):
    pool(folder, "mp-fork-pool")


def test_multiprocessing_spawn_pool(folder):
    pool(folder, "mp-spawn-pool")


def test_multiprocessing_forkserver_pool(folder):
    pool(folder, "mp-forkserver-pool")


def test_executor_fork(folder):
    pool(folder, "mp-fork-executor")


def test_executor_spawn(folder):
    pool(folder, "mp-spawn-executor")


def test_executor_forkserver(folder):
    pool(folder, "mp-forkserver-executor")


def test_process_terminated(folder):
    check(folder, "terminated", 2)


def test_python_started_by_subprocess(folder):
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    result, path = sonde_run(folder, FAMILY, "python_child", notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    truth = noted(notes)
    equal(len(truth), 2, "processes")
    equal(sections_by_process(path), truth, "sections per process")


def test_python_started_through_a_shell(folder):
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    result, path = sonde_run(folder, FAMILY, "shell_child", notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    equal(sections_by_process(path), noted(notes), "sections per process")


def test_posix_spawn(folder):
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    result, path = sonde_run(folder, FAMILY, "spawned", notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    truth = noted(notes)
    equal(len(truth), 2, "processes")
    equal(sections_by_process(path), truth, "sections per process")


def test_exec_keeps_both_lives(folder):
    check(folder, "execs", 1, end="leaf")


def test_exec_without_environment(folder):
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    result, path = sonde_run(folder, FAMILY, "execs_without_environment", notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    equal(result.out, "bare\n", "output")
    equal(sections_by_process(path), noted(notes), "sections per process")


def test_child_outlives_its_parent(folder):
    """sonde ends with the program it started; what the orphan writes later is still readable."""
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    started = time.monotonic()
    result, path = sonde_run(folder, FAMILY, "outliving", notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    assert time.monotonic() - started < 15, "sonde waited for the orphan"
    # Readable while the orphan lives, with all there is so far.
    wait_for(lambda: "early" in str(noted(notes)), "the orphan's first sections")
    equal(sections_by_process(path), noted(notes), "sections per process while the orphan lives")
    open(os.path.join(notes, "go"), "w").close()
    wait_for(lambda: os.path.exists(os.path.join(notes, "done")), "the orphan's end")
    equal(sections_by_process(path), noted(notes), "sections per process after the orphan's end")


def test_more_threads_than_slots(folder):
    check(folder, "threads", 1)


def test_two_runs_of_one_name_do_not_meet(folder):
    """Two sondes at once in one folder, without -o: neither overwrites the other."""
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    command = [SONDE, "run", "--python", PYTHON, FAMILY, "leaf", notes]
    both = [subprocess.Popen(command, cwd=folder, env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)]
    for p in both:
        err = p.communicate(timeout=60)[1]
        equal(p.returncode, 0, "exit status (%r)" % err)
    names = sorted(n for n in os.listdir(folder) if n.endswith(".sonde"))
    equal(names, ["family-2.sonde", "family.sonde"], "captures")
    truth = noted(notes)
    equal(len(truth), 2, "processes")
    merged = {}
    for n in names:
        merged.update(sections_by_process(os.path.join(folder, n)))
    equal(merged, truth, "sections per process")


def test_a_sonde_inside_a_sonde(folder):
    """The inner run has a capture of its own; both programs run to their end."""
    notes = os.path.join(folder, "notes")
    os.mkdir(notes)
    inner = os.path.join(folder, "inner.sonde")
    result, path = sonde_run(folder, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
                             SONDE, "run", "-o", inner, "--python", PYTHON, FAMILY, "leaf", notes)
    equal(result.status, 0, "exit status (stderr %r)" % result.err[-600:])
    equal(sections_by_process(inner), noted(notes), "sections of the inner capture")


run_tests(globals())
