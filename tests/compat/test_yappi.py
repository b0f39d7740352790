# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""sonde.compat.yappi: what it gives, and yappi's own tests of what it claims.

yappi's files are not kept here (fetched.py).  Its tests/test_functionality.py runs unchanged, test by test, with `yappi`
found in the folder of `sonde compat-path`.  It also imports yappi's private module, through which tests give the clock
figures of their own.  Ours measures whatever is given: tests whose claims hold for true figures, too, are run, and those that
state the given ones are among the not claimed.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fetched import download, unpack_tests  # noqa: E402
from helpers import PYTHON, between, clean_env, contains, equal, run, run_tests, sonde, write  # noqa: E402

VERSION = "1.7.6"
SHA256 = "c94281936af77c00c6ac2306a0e7f85a67e354d717120df85fcc5dfb9243d4dd"

PRIVATE_MODULE = """\
from yappi import YappiError as error


def _set_test_timings(timings):
    'What the clock should say is not heard: the figures of these runs are measured.'
"""

NOT_CLAIMED = {
    "tags, and callbacks for contexts": [
        "BasicUsage.test_callback_function_int_return_overflow", "BasicUsage.test_issue54", "MultithreadedScenarios.test_clear_stats_race",
        "MultithreadedScenarios.test_ctx_stats_cpu",
    ],
    "figures of a replaced clock": [
        "BasicUsage.test_children_stat_functions",  # two empty functions, whose measured times may be equal
        "BasicUsage.test_subsequent_profile", "MultithreadedScenarios.test_subsequent_profile", "NonRecursiveFunctions.test_abcd",
        "NonRecursiveFunctions.test_stop_in_middle", "RecursiveFunctions.test_aaaa", "RecursiveFunctions.test_aaab",
        "RecursiveFunctions.test_aabb", "RecursiveFunctions.test_aabccb", "RecursiveFunctions.test_abaa", "RecursiveFunctions.test_abab",
        "RecursiveFunctions.test_abbb", "RecursiveFunctions.test_abcabc", "RecursiveFunctions.test_abcadc", "RecursiveFunctions.test_abcbca",
        "StatSaveScenarios.test_merge_aabab_aabbc", "StatSaveScenarios.test_merge_multithreaded_stats",
        "StatSaveScenarios.test_merge_stats", "StatSaveScenarios.test_pstats_conversion",
    ],
    "its private flags": ["BasicUsage.test_start_flags"],
    "a machine that is not busy": [
        "BasicUsage.test_filter_callback",  # sleeps of 0.1 s may take 60 % longer, no more
        "BasicUsage.test_get_clock",  # nor may one take 0.2 s longer
        "MultithreadedScenarios.test_ctx_stats",  # nor one in a thread 0.4 s
    ],
}
# Other files: test_hooks and test_tags (callbacks), test_gevent (its backend), test_asyncio and
# test_asyncio_context_vars (wall time of a coroutine there is what it waited, too).


def alias_env(**more):
    return clean_env(PYTHONPATH=sonde("compat-path").out.strip(), **more)


def run_program(folder, program, words=()):
    path = write(folder, "program.py", program)
    result = run([PYTHON, path] + list(words), cwd=folder, env=alias_env())
    equal(result.err, "", "stderr")
    return result.out


def test_yappis_own_tests_pass(folder):
    tests = unpack_tests(folder, download("yappi", "yappi-%s.tar.gz" % VERSION, SHA256), "yappi-%s/tests/" % VERSION)
    write(tests, "_yappi.py", PRIVATE_MODULE)
    os.mkdir(os.path.join(folder, "bin"))
    script = write(os.path.join(folder, "bin"), "yappi", "#!/bin/sh\nexec '%s' -m yappi \"$@\"\n" % PYTHON)
    os.chmod(script, 0o755)
    unclaimed = {name for names in NOT_CLAIMED.values() for name in names}
    if sys.version_info < (3, 11):
        unclaimed.add("MultithreadedScenarios.test_basic")  # code objects do not know the class of a method
    with open(os.path.join(tests, "test_functionality.py")) as f:
        text = f.read()
    found, group = [], None
    for line in text.splitlines():
        group = (re.match(r"class (\w+)", line) or [None, group])[1]
        test = re.match(r"    def (test_\w+)", line)
        if test:
            found.append("%s.%s" % (group, test.group(1)))
    equal(sorted(unclaimed - set(found)), [], "names of tests that are not there")
    chosen = ["test_functionality." + name for name in found if name not in unclaimed]
    env = alias_env(PATH=os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"])
    env["PYTHONPATH"] += os.pathsep + tests
    result = run([PYTHON, "-m", "unittest"] + chosen, cwd=folder, env=env, limit=200)
    equal(result.status, 0, "status of %d tests (%s)" % (len(chosen), result.err[-1500:]))
    contains(result.err, "Ran %d tests" % len(chosen))
    assert "ERR:" not in result.out, result.out[-500:]
    print("# %d of %d tests" % (len(chosen), len(found)))


WORK = """\
import threading, time, sys
import yappi
def burn(n):
    t = 0
    for i in range(n):
        t += i
    return t
def slow(): burn(300000)
def fast(): burn(100000)
def sleeps(): time.sleep(0.2)
class Worker(threading.Thread):
    def run(self):
        slow()
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
"""


def test_cpu_time_leaves_out_sleep_and_wall_time_has_it(folder):
    out = run_program(folder, WORK + """
for clock in ("cpu", "wall"):
    yappi.set_clock_type(clock)
    yappi.start()
    slow(); fast(); sleeps()
    yappi.stop()
    stats = {s.name: s for s in yappi.get_func_stats()}
    print(clock, stats["slow"].ttot / stats["fast"].ttot, stats["sleeps"].ttot, stats["slow"].tsub < stats["slow"].ttot)
    yappi.clear_stats()
""")
    cpu, wall = [line.split() for line in out.splitlines()]
    between(float(cpu[1]), 1.5, 6, "slow beside fast, CPU")
    between(float(cpu[2]), 0, 0.1, "CPU of a sleep")
    between(float(wall[2]), 0.19, 30, "wall time of a sleep")
    equal((cpu[3], wall[3]), ("True", "True"), "is own time less than all")


def test_threads_stay_apart(folder):
    out = run_program(folder, WORK + """
yappi.set_clock_type("wall")
yappi.start()
a, b = Worker(), threading.Thread(target=fast)
a.start(); b.start(); a.join(); b.join(); sleeps()
yappi.stop()
threads = yappi.get_thread_stats()
print(sorted(t.name for t in threads), all(t.ttot > 0 for t in threads))
for t in sorted(threads, key=lambda t: t.name):
    print(t.name, sorted(s.name for s in yappi.get_func_stats(filter={"ctx_id": t.id}) if s.name in ("slow", "fast", "sleeps")))
print(sorted((s.name, s.ncall) for s in yappi.get_func_stats() if s.name in ("slow", "fast", "sleeps", "burn")))
""")
    lines = out.splitlines()
    equal(lines[0], "['Thread', 'Worker', '_MainThread'] True", "the threads")
    equal(lines[1:4], ["Thread ['fast']", "Worker ['slow']", "_MainThread ['sleeps']"], "what each did")
    equal(lines[4], "[('burn', 2), ('fast', 1), ('sleeps', 1), ('slow', 1)]", "all together")


def test_the_profile_function_of_the_program_stays(folder):
    out = run_program(folder, WORK + """
def own(frame, event, arg): pass
for threads in (True, False):
    threading.setprofile(own)
    yappi.start(profile_threads=threads); fast(); yappi.stop()
    print(threading._profile_hook is own)
    threading.setprofile(None)
    yappi.start(profile_threads=threads); fast(); yappi.stop()
    print(threading._profile_hook)
""")
    equal(out.split(), ["True", "None", "True", "None"], "what threads begin with")


def test_recursion_children_and_builtins(folder):
    out = run_program(folder, WORK + """
yappi.start(builtins=True)
fib(10)
len([])
yappi.stop()
stats = yappi.get_func_stats()
f = [s for s in stats if s.name == "fib"][0]
print(f.ncall, f.nactualcall, f.is_recursive(), f.children[f].ncall, f.builtin, f.full_name.endswith("program.py:14 fib"))
print([(s.name, s.module, s.ncall, s.full_name) for s in stats if s.builtin and s.name == "len"])
print([s.name for s in yappi.get_func_stats(filter_callback=lambda s: yappi.func_matches(s, [fib, len]))])
print(yappi.is_running(), yappi.get_func_stats(filter={"ctx_id": 99}).empty())
""")
    equal(out.splitlines(), [
        "177 1 True 176 False True", "[('len', 'builtins', 1, 'builtins.len')]", "['fib', 'len']", "False True",
    ], "what it says")


def test_files_are_what_their_readers_want(folder):
    out = run_program(folder, WORK + """
import pstats
yappi.start()
fib(5); slow()
yappi.stop()
stats = yappi.get_func_stats()
for kind in ("ystat", "pstat", "callgrind"):
    stats.save("x." + kind, type=kind)
twice = yappi.YFuncStats(["x.ystat", "x.ystat"])
print(sorted((s.name, s.ncall, s.nactualcall) for s in twice if s.name in ("fib", "slow")))
print(sorted((k[2], v[:2]) for k, v in pstats.Stats("x.pstat").stats.items() if k[2] in ("fib", "slow")))
stats.strip_dirs().sort("name", "asc").print_all()
yappi.get_thread_stats().print_all()
try:
    open("bad.ystat", "w").write("no")
    yappi.YFuncStats().add("bad.ystat")
except yappi.YappiError as why:
    print(why)
""")
    contains(out, "[('fib', 30, 2), ('slow', 2, 2)]")
    contains(out, "[('fib', (1, 15)), ('slow', (1, 1))]")
    contains(out, "Clock type: CPU\nOrdered by: name, asc\n")
    assert re.search(r"^program.py:14 fib {21}15/1 +\d", out, re.MULTILINE), out
    assert re.search(r"^_MainThread    0      \d+ ", out, re.MULTILINE), out
    contains(out, "Unable to load the saved profile information from bad.ystat.")
    with open(os.path.join(folder, "x.callgrind")) as f:
        text = f.read()
    contains(text, "events: Ticks")
    assert re.search(r"^cfn=\(\d+\).*\ncalls=1 \d+\n\d+ \d+$", text, re.MULTILINE), text
    assert re.search(r"^fn=\(\d+\) slow$", text, re.MULTILINE), text


def test_the_command_line(folder):
    write(folder, "script.py", "import sys\ndef f(): pass\nf()\nprint(__name__, sys.argv)\n")
    result = run([PYTHON, "-m", "yappi", "-c", "wall", "-b", "script.py", "-x"], cwd=folder, env=alias_env())
    equal((result.status, result.err), (0, ""), "status and stderr")
    contains(result.out, "__main__ ['script.py', '-x']")
    contains(result.out, "Clock type: WALL")
    contains(result.out, "script.py:2 f")
    result = run([PYTHON, "-m", "yappi", "-o", "x.pstat", "script.py"], cwd=folder, env=alias_env())
    equal(result.status, 0, "status")
    assert os.path.getsize(os.path.join(folder, "x.pstat")) > 50
    equal(run([PYTHON, "-m", "yappi"], cwd=folder, env=alias_env()).status, 2, "status without a script")


if __name__ == "__main__":
    run_tests(globals())
