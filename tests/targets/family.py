# SPDX-License-Identifier: MIT
"""A program of several processes.  Each one opens sections and writes down how many.

    family.py KIND NOTES

KIND says how the processes come to be (the functions below); NOTES is a folder in which every
process leaves a file named after its pid with one line per section name: "name count".  What
the capture says of each process is compared with it.
"""
import os
import pickle
import subprocess
import sys
import threading
import time

KIND, NOTES = sys.argv[1], sys.argv[2]


def sections(name, n):
    """n sections of this name, noted once they are done."""
    from sonde import Profiler
    profiler = Profiler(measure=("time",))
    for _ in range(n):
        with profiler(name):
            pass
    with open(os.path.join(NOTES, str(os.getpid())), "a") as f:
        f.write("%s %d\n" % (name, n))


class Parcel:
    """Pickled by its name: only works when __main__ is this file."""

    def __init__(self, n):
        self.n = n


def job(parcel):
    sections("job", parcel.n)
    return Parcel(parcel.n * 2)


def wait_all(pids):
    for pid in pids:
        assert os.waitpid(pid, 0)[1] == 0


# ---- kinds


def fork():
    sections("before", 3)
    pids = []
    for i in range(3):
        pid = os.fork()
        if pid == 0:
            sections("child", 5 + i)
            grandchild = os.fork()
            if grandchild == 0:
                sections("grandchild", 2)
                sys.exit(0)
            wait_all([grandchild])
            os._exit(0)
        pids.append(pid)
    wait_all(pids)
    sections("after", 4)


def fork_many():
    """A child at a time, each with one section: no state of a dead child may be met again."""
    for _ in range(60):
        pid = os.fork()
        if pid == 0:
            sections("brief", 1)
            os._exit(0)
        wait_all([pid])


def fork_in_threads():
    """Threads write sections while others fork: no lock of ours may be held over a fork."""
    from sonde import Profiler      # now: a fork while a thread imports would hang any Python program
    stop = threading.Event()
    counts = [0] * 4

    def write(i):
        profiler = Profiler(measure=("time",))
        while not stop.is_set():
            with profiler("thread"):
                counts[i] += 1

    def forker():
        for _ in range(8):
            pid = os.fork()
            if pid == 0:
                sections("child", 7)
                os._exit(0)
            wait_all([pid])

    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    forkers = [threading.Thread(target=forker) for _ in range(2)]
    for t in writers + forkers:
        t.start()
    for t in forkers:
        t.join()
    stop.set()
    for t in writers:
        t.join()
    with open(os.path.join(NOTES, str(os.getpid())), "a") as f:
        f.write("thread %d\n" % sum(counts))


def fork_inside_a_section():
    """What is open at the fork stays the parent's; the child's own sections are its own."""
    from sonde import Profiler
    profiler = Profiler(measure=("time",))
    with profiler("outer"):
        pid = os.fork()
        if pid == 0:
            sections("child", 3)
            os._exit(0)
        wait_all([pid])
    with open(os.path.join(NOTES, str(os.getpid())), "a") as f:
        f.write("outer 1\n")


def multiprocess(method, way):
    import multiprocessing
    context = multiprocessing.get_context(method)
    if way == "process":
        queue = context.SimpleQueue()
        processes = [context.Process(target=answer, args=(queue, Parcel(n))) for n in (3, 4)]
        for p in processes:
            p.start()
        got = sorted(queue.get().n for _ in processes)
        for p in processes:
            p.join()
            assert p.exitcode == 0, p.exitcode
    elif way == "pool":
        with context.Pool(2) as pool:
            got = sorted(p.n for p in pool.map(job, [Parcel(3), Parcel(4)]))
            pool.close()
            pool.join()
    else:
        from concurrent.futures import ProcessPoolExecutor
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            got = sorted(p.n for p in pool.map(job, [Parcel(3), Parcel(4)]))
    assert got == [6, 8], got
    assert Parcel.__module__ == "__main__" and pickle.loads(pickle.dumps(Parcel(1))).n == 1
    sections("parent", 2)


def answer(queue, parcel):
    queue.put(job(parcel))


def terminated():
    """Process.terminate() in mid-life: what it had done until then is there."""
    import multiprocessing
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    p = context.Process(target=until_ended, args=(ready,))
    p.start()
    ready.wait()
    p.terminate()
    p.join()
    assert p.exitcode == -15, p.exitcode
    sections("parent", 2)


def until_ended(ready):
    sections("doomed", 9)
    ready.set()
    time.sleep(60)


def python_child():
    sections("parent", 2)
    subprocess.check_call([sys.executable, __file__, "leaf", NOTES])


def shell_child():
    """A shell between, and a program that is not Python beside it."""
    sections("parent", 2)
    subprocess.check_call("true; '%s' '%s' leaf '%s'; true" % (sys.executable, __file__, NOTES), shell=True)


def execs():
    sections("before", 3)
    os.execv(sys.executable, [sys.executable, __file__, "leaf", NOTES])


def execs_without_environment():
    """A new image that knows nothing of us: it must run as ever; what was before is kept."""
    sections("before", 3)
    os.execve(sys.executable, [sys.executable, "-c", "print('bare')"], {})


def spawned():
    sections("parent", 2)
    pid = os.posix_spawn(sys.executable, [sys.executable, __file__, "leaf", NOTES], os.environ)
    wait_all([pid])


def outliving():
    """The child goes on after its parent (and so after sonde) and writes sections then too."""
    sections("parent", 2)
    if os.fork() == 0:
        os.setsid()
        for stream in (0, 1, 2):         # or whoever reads the run's output waits for us
            os.close(stream)
        sections("early", 3)
        while os.getppid() != 1 and not os.path.exists(os.path.join(NOTES, "go")):
            time.sleep(0.01)
        while not os.path.exists(os.path.join(NOTES, "go")):
            time.sleep(0.01)
        sections("late", 4)
        with open(os.path.join(NOTES, "done"), "w"):
            pass
        os._exit(0)


def leaf():
    sections("leaf", 6)


def threads():
    """Many short-lived threads, more than there are slots: each one's section is kept."""
    def one():
        sections("brief", 1)
    for _ in range(4):
        batch = [threading.Thread(target=one) for _ in range(50)]
        for t in batch:
            t.start()
        for t in batch:
            t.join()


if __name__ == "__main__":
    if KIND.startswith("mp-"):
        multiprocess(*KIND.split("-")[1:])
    else:
        globals()[KIND]()
    print("end of %s" % KIND)
