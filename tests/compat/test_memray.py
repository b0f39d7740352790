# SPDX-License-Identifier: MIT
# interpreters: oldest and newest
"""sonde.compat.memray: memray's names over Sonde's recorder, where the figures are known."""
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import helpers  # noqa: E402
from helpers import PYTHON, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

sys.path.insert(0, helpers.PACKAGE_PATH)
from sonde.compat.memray import (AllocatorType, FileDestination, FileFormat, FileReader, SocketDestination, Tracker,  # noqa: E402
                                 dump_all_records)
from sonde import _sonde  # noqa: E402
from sonde.compat.memray._memray import Interval, compute_statistics, size_fmt  # noqa: E402

KEPT, SOON = 1000003, 500009  # bytes: no others of these sizes
MORE = 33 if sys.version_info >= (3, 15) else 1  # bytes of a bytearray's block: from 3.15 on it holds a bytes object


def work(kept):
    for _ in range(5):
        kept.append(bytearray(KEPT))
        bytearray(SOON)


def record(folder, name="a.bin", **how):
    path, kept = os.path.join(folder, name), []
    with Tracker(path, **how):
        work(kept)
    return FileReader(path)


def of_work(records):
    return [r for r in records if r.size >= SOON and r.stack_trace()[0][0] == "work"]


def refused(kind, call, *words):
    try:
        call()
    except kind as why:
        for word in words:
            contains(str(why), word)
    else:
        raise AssertionError("nothing was raised")


# ---- records


def test_a_history_is_read_by_one_thread_at_a_time(folder):
    record(folder)
    refusals = 0
    for _ in range(200):
        history = _sonde.AllocationHistory(os.path.join(folder, "a.bin"))
        thread = threading.Thread(target=history.memory, args=(lambda *reading: reading,))
        thread.start()
        try:
            for _ in history:
                pass
        except RuntimeError as why:
            contains(str(why), "another thread is reading this history")
            refusals += 1
        thread.join()
    assert refusals


def test_names_that_are_not_utf_8(folder):
    with Tracker(os.path.join(folder, "a.bin")):
        exec(compile("kept = bytearray(%d)" % KEPT, os.fsdecode(b"/tmp/\xff.py"), "exec"), {})
    got = compute_statistics(os.path.join(folder, "a.bin"))
    contains(str(got.top_locations_by_size), "/tmp/\ufffd.py")


def test_every_allocation_and_free_in_their_order(folder):
    records = list(record(folder).get_allocation_records())
    ours = [r for r in records if r.size in (KEPT + MORE, SOON + MORE)]
    equal([r.size for r in ours], [KEPT + MORE, SOON + MORE] * 5, "sizes")
    for r in ours:
        after = records[records.index(r) + 1:]
        ends = [f for f in after if f.address == r.address and f.allocator == AllocatorType.FREE]
        equal(bool(ends), r.size == SOON + MORE, "freed")
    equal(ours[0].n_allocations, 1, "blocks")
    equal(ours[0].tid, threading.get_native_id(), "thread")
    refused(NotImplementedError, [r for r in records if r.allocator == AllocatorType.FREE][0].stack_trace, "deallocations")


def test_stacks_begin_at_the_block(folder):
    reader = record(folder)
    equal(of_work(reader.get_leaked_allocation_records(merge_threads=False))[0].stack_trace(),
          of_work(reader.get_leaked_allocation_records())[0].stack_trace(), "threads together and apart")
    r = of_work(reader.get_leaked_allocation_records())[0]
    trace = r.stack_trace()
    equal([frame[0] for frame in trace], ["work", "record"], "functions")
    equal(trace[0][1], os.path.abspath(__file__), "file")
    equal(trace[0][2], work.__code__.co_firstlineno + 2, "line")
    equal(r.stack_trace(max_stacks=1), trace[:1], "the innermost")
    assert len(r.stack_trace(max_stacks=50)) > 2
    equal(r.hybrid_stack_trace(), trace, "without native frames")
    equal(r.native_stack_trace(), [], "native frames")


def test_peak_leaks_and_temporaries_are_exact(folder):
    reader = record(folder)
    kept = of_work(reader.get_leaked_allocation_records())
    equal([(r.size, r.n_allocations) for r in kept], [(5 * (KEPT + MORE), 5)], "leaked")
    soon = of_work(reader.get_temporary_allocation_records())
    equal([(r.size, r.n_allocations) for r in soon], [(5 * (SOON + MORE), 5)], "temporary")
    peak = sorted((r.size, r.n_allocations) for r in of_work(reader.get_high_watermark_allocation_records()))
    equal(peak, [(SOON + MORE, 1), (5 * (KEPT + MORE), 5)], "peak")
    equal({r.tid for r in kept + soon}, {-1}, "threads are merged")
    equal(kept[0].thread_name, "merged thread", "name")
    apart = of_work(reader.get_leaked_allocation_records(merge_threads=False))
    equal([r.tid for r in apart], [threading.get_native_id()], "apart")
    assert reader.metadata.peak_memory >= 5 * (KEPT + MORE) + SOON + MORE


def test_sums_have_no_single_allocations(folder):
    reader = record(folder, file_format=FileFormat.AGGREGATED_ALLOCATIONS)
    equal([(r.size, r.n_allocations) for r in of_work(reader.get_leaked_allocation_records())], [(5 * (KEPT + MORE), 5)], "leaked")
    equal(reader.metadata.file_format, FileFormat.AGGREGATED_ALLOCATIONS, "format")
    for call in (reader.get_allocation_records, reader.get_temporary_allocation_records, reader.get_temporal_allocation_records):
        refused(NotImplementedError, lambda: list(call()), "pre-aggregated")


def test_python_allocators_have_their_functions(folder):
    names = set()
    path = os.path.join(folder, "a.bin")
    with Tracker(path, trace_python_allocators=True):
        grown = []
        for i in range(100):
            grown.append([i])
    for r in FileReader(path).get_allocation_records():
        names.add(AllocatorType(r.allocator).name)
    assert {"PYMALLOC_MALLOC", "PYMALLOC_REALLOC", "PYMALLOC_FREE"} <= names, names
    names = {AllocatorType(r.allocator).name for r in record(folder, "b.bin").get_allocation_records()}
    assert not any(name.startswith("PYMALLOC") for name in names), names


# ---- memory over time


def test_memory_is_read_while_the_program_sleeps(folder):
    import time

    path = os.path.join(folder, "a.bin")
    with Tracker(path, memory_interval_ms=20):
        kept = bytearray(KEPT)
        time.sleep(0.3)
        del kept
        time.sleep(0.1)
    reader = FileReader(path)
    shots = list(reader.get_memory_snapshots())
    assert len(shots) > 3 and all(shot.rss > 0 for shot in shots), shots
    assert all(b.time - a.time >= 20 for a, b in zip(shots, shots[1:])), shots
    holds = [shot.heap >= KEPT for shot in shots]
    assert holds[1] and not holds[-1] and sorted(holds[1:], reverse=True) == holds[1:], shots
    (one,) = [t for t in reader.get_temporal_allocation_records() if any(i.n_bytes == KEPT + MORE for i in t.intervals)]
    (interval,) = [i for i in one.intervals if i.n_bytes == KEPT + MORE]
    equal(interval, Interval(interval.allocated_before_snapshot, holds.index(False, 1), 1, KEPT + MORE), "when it was live")
    few = FileReader(path, max_memory_records=2)
    assert len(list(few.get_memory_snapshots())) <= 3


# ---- statistics, text


def test_statistics(folder):
    reader = record(folder)
    stats = compute_statistics(reader._path, num_largest=2)
    equal(stats.allocation_count_by_size[KEPT + MORE], 5, "blocks of the size")
    equal(sum(stats.allocation_count_by_allocator.values()), stats.total_num_allocations, "allocators")
    equal(stats.total_num_allocations, sum(1 for r in reader.get_allocation_records() if r.allocator not in (AllocatorType.FREE, AllocatorType.MUNMAP)),
          "allocations")
    (function, path, line), size = stats.top_locations_by_size[0]
    equal((function, os.path.basename(path), size), ("work", "test_memray.py", 5 * (KEPT + MORE)), "the largest")
    equal(stats.top_modules_by_allocation_size[0][0], "test_memray", "module")
    equal(len(stats.top_locations_by_count), 2, "as many as are asked for")


def test_every_record_as_text(folder):
    path = record(folder)._path
    done = run([PYTHON, "-c", "from sonde.compat.memray import dump_all_records; dump_all_records(%r)" % path],
               env=clean_env(PYTHONPATH=helpers.PACKAGE_PATH))
    equal(done.status, 0, done.err)
    equal(done.out.count("size=%d " % (KEPT + MORE)), 5, "allocations")
    contains(done.out, "\nDEALLOCATION tid=")
    contains(done.out, "MEMORY_RECORD time=")
    assert dump_all_records.__doc__


# ---- processes


def test_children_are_recorded_under_their_pids(folder):
    path = os.path.join(folder, "a.bin")
    with Tracker(path, follow_fork=True):
        pid = os.fork()
        if pid == 0:
            kept = []
            work(kept)
            os._exit(0)
        os.waitpid(pid, 0)
    equal(sorted(os.listdir(folder)), ["a.bin", "a.bin.%d" % pid], "files")
    equal(of_work(FileReader(path).get_leaked_allocation_records()), [], "the parent's")
    for child in (FileReader("%s.%d" % (path, pid)), FileReader(path, pid=pid)):
        equal([r.n_allocations for r in of_work(child.get_leaked_allocation_records())], [5], "the child's")
        equal(child.metadata.pid, pid, "pid")


def test_a_child_that_is_not_followed_may_record_itself(folder):
    path = os.path.join(folder, "a.bin")
    with Tracker(path):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = 0 if of_work(record(folder, "b.bin").get_leaked_allocation_records()) else 2
            finally:
                os._exit(status)
        equal(os.waitpid(pid, 0)[1], 0, "status")
    equal(sorted(os.listdir(folder)), ["a.bin", "b.bin"], "files")


def test_a_program_that_is_killed_leaves_what_it_recorded(folder):
    path = os.path.join(folder, "a.bin")
    source = """\
import os
from sonde.compat.memray import Tracker

with Tracker(%r):
    kept = [bytearray(%d) for _ in range(5)]
    os.kill(os.getpid(), 9)
""" % (path, KEPT)
    done = run([PYTHON, write(folder, "k.py", source)], env=clean_env(PYTHONPATH=helpers.PACKAGE_PATH))
    equal(done.status, -9, done.err)
    equal(sum(r.size == KEPT + MORE for r in FileReader(path).get_allocation_records()), 5, "allocations")


# ---- names, refusals


def test_what_cannot_be_is_refused_in_a_sentence(folder):
    path = os.path.join(folder, "a.bin")
    refused(TypeError, lambda: Tracker(), "Exactly one of")
    refused(TypeError, lambda: Tracker(path, destination=FileDestination(path)), "Exactly one of")
    refused(NotImplementedError, lambda: Tracker(destination=SocketDestination(server_port=4000)), "sonde top")
    refused(NotImplementedError, lambda: Tracker(path, track_object_lifetimes=True), "single objects")
    with Tracker(path) as outer:
        refused(RuntimeError, lambda: Tracker(os.path.join(folder, "b.bin")).__enter__(), "No more than one Tracker instance can be active")
    refused(RuntimeError, outer.__enter__, "stale")
    refused(FileExistsError, lambda: Tracker(path), path)
    refused(OSError, lambda: FileReader(os.path.join(folder, "no.bin")), "Could not open file", "No such file")
    refused(OSError, lambda: FileReader(write(folder, "c.bin", "no capture")), "c.bin")
    equal(sorted(os.listdir(folder)), ["a.bin", "c.bin"], "files")
    with Tracker(destination=FileDestination(path, overwrite=True)):
        pass
    equal(list(FileReader(path).get_allocation_records()), [], "records of an empty block")
    with Tracker("/dev/null"):
        pass


def test_a_closed_reader_says_so(folder):
    with record(folder) as reader:
        assert not reader.closed
    assert reader.closed
    refused(ValueError, lambda: list(reader.get_high_watermark_allocation_records()), "closed")


def test_metadata(folder):
    meta = record(folder).metadata
    equal((meta.pid, meta.main_thread_id), (os.getpid(), threading.get_native_id()), "who")
    equal(meta.command_line, " ".join(sys.argv), "command")
    equal((meta.python_allocator, meta.has_native_traces, meta.trace_python_allocators), ("pymalloc", False, False), "how")
    assert meta.start_time <= meta.end_time and meta.total_allocations >= 10


def test_captures_of_the_program_are_read(folder):
    script = write(folder, "w.py", "kept = [None] * 5\nfor i in range(5):\n    kept[i] = bytearray(%d)\n" % KEPT)
    done = sonde("alloc", "--layer", "malloc", "-o", os.path.join(folder, "w.sonde"), "--", PYTHON, script)
    equal(done.status, 0, done.err)
    (row,) = [r for r in FileReader(os.path.join(folder, "w.sonde")).get_leaked_allocation_records() if r.stack_trace()[:1] == [("<module>", script, 3)]]
    equal((row.size, row.n_allocations), (5 * (KEPT + MORE), 5), "leaked")


def test_under_memrays_own_name(folder):
    source = """\
import memray
import memray._memray
with memray.Tracker("x.bin"):
    pass
print(list(memray.FileReader("x.bin").get_allocation_records()), memray._memray.size_fmt(1500), memray.__version__)
"""
    done = subprocess.run([PYTHON, "-c", source], cwd=folder, env=clean_env(PYTHONPATH=sonde("compat-path").out.strip()), stdout=subprocess.PIPE)
    equal(done.stdout.decode(), "[] 1.500kB 1.20.0\n", "output")
    equal(size_fmt(2500000), "2.500MB", "size")


run_tests(globals())
