# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
"""`sonde lines` as it is typed: its tables, what it says when there is nothing to show, and its limit of memory."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SONDE, contains, equal, run, run_tests, sonde, write  # noqa: E402

SCRIPT = """@profile
def my_func():
    a = [1] * (10 ** 6)
    b = [2] * (2 * 10 ** 7)
    del b
    return a

my_func()
print("the end")
"""


def lines(folder, source, *options, **how):
    path = write(folder, "program.py", source)
    return sonde("lines", "-q", "--python", PYTHON, *(list(options) + [path]), cwd=folder, **how)


def test_the_table_is_line_profilers(folder):
    status, out, err = lines(folder, SCRIPT)
    equal((status, err), (0, ""), "status and stderr")
    assert out.startswith("the end\nTimer unit: 1e-09 s\n\nTotal time: "), out
    contains(out, "\nFunction: my_func at line 1\n\nLine #      Hits         Time  Per Hit   % Time  Line Contents\n" + "=" * 62)
    contains(out, "\n     1                                           @profile\n     2                                           def my_func():\n")
    assert re.search(r"^     4         1 +[\d.]+ +[\d.e+]+ +[\d.]+      b = \[2\] \* \(2 \* 10 \*\* 7\)$", out, re.M), out


def test_the_table_of_memory_is_memory_profilers(folder):
    status, out, err = lines(folder, SCRIPT, "--memory")
    equal((status, err), (0, ""), "status and stderr")
    contains(out, "\n\nLine #    Mem usage    Increment  Occurrences   Line Contents\n" + "=" * 61)
    assert re.search(r"^     4 +\d+\.\d{3} MiB +\d+\.\d{3} MiB +1       b = \[2\]", out, re.M), out
    status, report, err = sonde("report", os.path.join(folder, "program.sonde"), "--lines", cwd=folder)
    equal(status, 0, err)
    assert re.search(r"^my_func  \S+program\.py:1  ", report, re.M), report
    assert re.search(r"^line  hits +time +per hit +time% +memory +increment( +peak)?  source$", report, re.M), report
    assert re.search(r"^   4 +1 +[\d.]+ [mu]?s .+ [KM]iB      b = \[2\]", report, re.M), report


TWO = """@profile
def inner():
    return sum(range(4000000))

@profile
def outer():
    inner()
    return 1

outer()
"""


def test_the_combined_view_and_the_hottest_lines(folder):
    status, out, err = lines(folder, TWO, "--memory", "--combined", "-o", "x.sonde")
    equal((status, err), (0, ""), "status and stderr")
    for named in ("inner  ", "outer  "):
        assert re.search("^" + named + r"\S+program\.py:\d  [\d.]+ [mu]?s$", out, re.M), out
    assert re.search(r"^   3 +1 +[\d.]+ [mu]?s .+ [KM]?i?B      return sum", out, re.M), out
    assert "\033" not in out, "there is no terminal"
    status, coloured, err = sonde("report", "--color", "always", "x.sonde", cwd=folder)
    equal(status, 0, err)
    contains(coloured, "\033[1m\033[31m    return sum(range(4000000))\033[0m")
    status, out, err = sonde("report", "--hottest", "-n", "1", "x.sonde", cwd=folder)
    equal(status, 0, err)
    head, first, note = out.splitlines()[2:]
    equal(head.split()[:4], ["self%", "self", "time", "hits"], "the heading")
    assert re.search(r"inner +program\.py:3 +return sum\(range\(4000000\)\)$", first), out     # not outer, which waits for it
    equal(note, "2 more lines", "the note")
    status, out, err = sonde("report", "--hottest", "--json", "x.sonde", cwd=folder)
    rows = json.loads(out)["hottest"]
    equal(sorted(row["line"] for row in rows), [3, 7, 8], "lines")
    listed = lambda *words: [row["line"] for row in json.loads(sonde("report", "--hottest", "--json", "x.sonde", *words,  # noqa: E731
                                                                     cwd=folder).out)["hottest"]]
    equal((listed("-s", "-line"), listed("-s", "-line", "-n", "2")), ([3, 7, 8], [3, 7]), "sorted by lines")
    equal(listed("--match", "outer", "-s", "line"), [8, 7], "lines of a function")
    for words, said in ((["--hottest", "-s", "bogus"], "bogus"), (["-s", "line"], "need --hottest"), (["-n", "2"], "need --hottest")):
        status, out, err = sonde("report", "x.sonde", *words, cwd=folder)
        equal((status, out), (2, ""), "status and stdout of %r" % words)
        contains(err, said)


def test_hottest_is_for_counted_lines(folder):
    path = write(folder, "program.py", "print(1)\n")
    status, _, err = sonde("run", "-q", "--with", "rss", "-o", "x.sonde", "--python", PYTHON, path, cwd=folder)
    equal(status, 0, err)
    status, out, err = sonde("report", "--hottest", "x.sonde", cwd=folder)
    equal((status, out), (2, ""), "status and stdout")
    contains(err, "--hottest needs counted lines, and the capture has none")


def test_a_file_of_line_profiler_has_the_same_numbers(folder):
    equal(lines(folder, SCRIPT).status, 0, "status")
    equal(sonde("convert", "program.sonde", "made.lprof", cwd=folder).status, 0, "status of convert")
    whole = lambda name: [f["lines"] for f in json.loads(sonde("report", name, "--json", cwd=folder).out)["functions"]]  # noqa: E731
    taken = json.loads(sonde("report", "program.sonde", "--lines", "--json", cwd=folder).out)
    ran = [(row["line"], row["hits"], row["time_ns"]) for f in taken["functions"] for row in f["lines"]]
    equal([(row["line"], row["hits"], row["time_ns"]) for f in whole("made.lprof") for row in f], ran, "lines")
    status, out, err = lines(folder, SCRIPT, "-o", os.path.join(folder, "direct.lprof"))
    equal(status, 0, err)
    equal([(row["line"], row["hits"]) for f in whole("direct.lprof") for row in f], [row[:2] for row in ran], "lines of -o")
    equal(sonde("run", "-q", "--python", PYTHON, "-o", "plain.sonde", "-c", "pass", cwd=folder).status, 0, "status of run")
    status, out, err = sonde("convert", "plain.sonde", "plain.lprof", cwd=folder)
    equal((status, os.path.exists(os.path.join(folder, "plain.lprof"))), (1, False), "status without lines, and the file")
    contains(err, "it has no counted lines; record them with: sonde lines")


def test_what_has_no_source_has_numbers(folder):
    status, out, err = lines(folder, "exec('@profile\\ndef f():\\n    return 1\\n')\nf()\n")
    equal(status, 0, err)
    contains(out, "<string>")
    assert re.search(r"^     3         1 ", out, re.M), out


def test_nothing_chosen_is_said_in_a_sentence(folder):
    status, out, err = lines(folder, "print(1)\n")
    equal((status, out), (0, "1\n"), "status and stdout")
    contains(err, "no line was counted: no function was chosen, or none of them ran; put @profile before one, or name some with --only")


MODULE = """import os
class C:
    def f(self):
        return 1

total = 0
for i in range(7):
    total += C().f()
if total < 0:
    print("never")
"""


def test_a_module_is_shown_to_its_end(folder):
    status, out, err = lines(folder, MODULE, "--only", "program.py", "--memory", "-o", os.path.join(folder, "x.sonde"))
    equal((status, err), (0, ""), "status and stderr")
    for line, hits in ((8, "7"), (10, "")):
        assert re.search(r"^ +%d .*%s +%s$" % (line, hits, re.escape(MODULE.splitlines()[line - 1].strip())), out, re.M), out
    status, out, err = lines(folder, MODULE, "--only", "__main__")
    equal((status, err), (0, ""), "status and stderr")
    assert re.search(r"^     8         7 +[\d.]+ +[\d.]+ +[\d.]+      total \+= C\(\)\.f\(\)$", out, re.M), out
    assert re.search(r'^    10 +print\("never"\)$', out, re.M), out


def test_what_never_ran_is_shown_unless_it_is_unwanted(folder):
    never = TWO.replace("\nouter()", "\nif 0: outer()").replace("    return 1", "    return 1\n\ninner()")
    status, out, err = lines(folder, never)
    equal((status, err), (0, ""), "status and stderr")
    contains(out, "Total time: 0 s\nFile: ")
    contains(out, "Function: outer at line 5\n")
    assert re.search(r"^     7 {43}    inner\(\)$", out, re.M), out
    status, report, err = sonde("report", "program.sonde", cwd=folder)
    equal(status, 0, err)
    contains(report, "outer  ")
    for layout in ([], ["--memory"], ["--combined"]):
        status, out, err = lines(folder, never, "-z", "-o", os.path.join(folder, "z.sonde"), "--force", *layout)
        equal((status, err), (0, ""), "status and stderr")
        assert "return sum" in out and "def outer" not in out, (layout, out)


def test_names_that_meet_nothing_are_told(folder):
    status, out, err = lines(folder, TWO, "--only", "inner,program.py:outer,nosuch.py,program,__main__:outer,program.inner")
    equal((status, err), (0, "sonde: --only nosuch.py: none of the functions that it names ran\n"), "status and stderr")


def test_only_finds_what_another_profiler_has_chosen_before(folder):
    status, out, err = lines(folder, "from sonde import LineProfiler\ndef f(x):\n    return x\n\n"
                             "wrapped = LineProfiler()(f)\nwrapped(1), f(2), f(3)\n", "--only", "f")
    equal((status, err), (0, ""), "status and stderr")
    assert re.search(r"^     3         3 ", out, re.M), out


def test_files_are_found_from_another_folder(folder):
    write(folder, "program.py", TWO)
    status, _, err = sonde("lines", "-q", "--python", PYTHON, "-o", "x.sonde", "program.py", cwd=folder)
    equal((status, err), (0, ""), "status and stderr")
    os.mkdir(os.path.join(folder, "elsewhere"))
    write(os.path.join(folder, "elsewhere"), "program.py", "# another\n" * 9)
    status, out, err = sonde("report", "../x.sonde", cwd=os.path.join(folder, "elsewhere"))
    equal((status, err), (0, ""), "status and stderr")
    contains(out, "return sum(range(4000000))")
    assert "another" not in out, out


CHANGED = """import time
time.sleep(0.1)         # a file system knows the time to a tick
with open(__file__, "w") as f:
    f.write("# gone\\n")

@profile
def f():
    a = 1
    return a

f()
"""


def test_a_file_that_changes_meanwhile_keeps_its_numbers(folder):
    status, out, err = lines(folder, CHANGED)
    equal(status, 0, "status")
    contains(err, "program.py has changed since it was run: numbers and source may not belong together")
    for line in (8, 9):
        assert re.search(r"^     %d         1 " % line, out, re.M), out


def test_a_file_is_known_again_by_its_bytes(folder):
    status, _, err = lines(folder, TWO, "-o", "x.sonde")
    equal((status, err), (0, ""), "status and stderr")
    path = os.path.join(folder, "program.py")
    before = os.stat(path)
    write(folder, "program.py", "# another line\n" + TWO)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    contains(sonde("report", "x.sonde", cwd=folder).err, "program.py has changed since it was run")
    write(folder, "program.py", TWO)
    os.utime(path, (before.st_atime + 100, before.st_mtime + 100))      # touched, and the same
    equal(sonde("report", "x.sonde", cwd=folder).err, "", "stderr")


def test_source_in_a_zip_is_shown(folder):
    import zipfile

    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(os.path.join(folder, "app.zip"), "w", how) as z:
            z.writestr("pkg/__init__.py", "")
            z.writestr("pkg/inside.py", "def f(n):\n    return n\n" + "# some more of it\n" * 9)
        status, _, err = lines(folder, "import sys\nsys.path.insert(0, 'app.zip')\nfrom pkg.inside import f\nf(1)\n",
                               "--only", "f", "-o", "x.sonde", "--force")
        equal((status, err), (0, ""), "status and stderr")
        os.makedirs(os.path.join(folder, "elsewhere"), exist_ok=True)
        status, out, err = sonde("report", "../x.sonde", cwd=os.path.join(folder, "elsewhere"))
        equal((status, err), (0, ""), "status and stderr")
        assert re.search(r"^ +2 +1 .*    return n$", out, re.M), out


def test_the_suffix_chooses_what_is_written(folder):
    for name, said in (("x.txt", "Timer unit: 1e-09 s\n\nTotal time: "), ("x.json", '{\n  "functions": ['), ("x.csv", "self%,self,time,hits")):
        status, out, err = lines(folder, TWO, "-o", name)
        equal((status, out, err), (0, "", ""), "status, stdout and stderr")
        with open(os.path.join(folder, name), newline="") as f:
            text = f.read()
        assert text.startswith(said), text
        equal(text.count("return sum(range(4000000))"), name != "x.json", "the line in %s" % name)
    equal(sorted(os.listdir(folder)), ["program.py", "x.csv", "x.json", "x.txt"], "files")


def test_a_capture_of_lines_is_converted_to_its_lines(folder):
    equal(lines(folder, TWO, "-o", "x.sonde").status, 0, "status")
    for name, said in (("y.csv", "self%,self,time,hits"), ("y.json", '{\n  "functions": ['), ("y.txt", "x.sonde: ")):
        status, _, err = sonde("convert", "x.sonde", name, cwd=folder)
        equal((status, err), (0, ""), "status and stderr")
        with open(os.path.join(folder, name)) as f:
            text = f.read()
        assert text.startswith(said) and "inner" in text, text
    status, out, err = sonde("report", "--table", "lines", "x.sonde", cwd=folder)
    equal((status, err), (0, ""), "status and stderr")
    contains(out, "return sum(range(4000000))")


WITH_SECTION = """from sonde import Profiler

@profile
def f():
    with Profiler()("reading"):
        return 1

f()
"""


def test_what_else_was_recorded_is_not_forgotten(folder):
    equal(lines(folder, WITH_SECTION, "-o", "x.sonde").status, 0, "status")
    status, out, err = sonde("report", "x.sonde", cwd=folder)
    equal((status, err), (0, ""), "status and stderr")
    assert re.search(r"^reading +1 ", out.partition("is subtracted")[2], re.M), out
    status, _, err = sonde("convert", "x.sonde", "x.csv", cwd=folder)
    equal(status, 0, err)
    contains(err, "the output does not hold the counted lines, only what else was recorded; write the lines with: sonde report x.sonde --lines --csv")


def test_the_summary_tells_what_is_known(folder):
    write(folder, "program.py", TWO)
    for name in ("1.sonde", "2.sonde"):
        status, _, err = sonde("lines", "--python", PYTHON, "-o", name, "program.py", cwd=folder)
        equal(status, 0, err)
        assert re.search(r" in 1 process$", err.splitlines()[0]), err       # threads share one table
    equal(sonde("merge", "-o", "both.sonde", "1.sonde", "2.sonde", cwd=folder).status, 0, "status of merge")
    cpu = [float(re.search(r"([\d.]+) s CPU", sonde("report", name, cwd=folder).out).group(1)) for name in ("1.sonde", "2.sonde", "both.sonde")]
    assert 0.9 < cpu[2] / (cpu[0] + cpu[1]) < 1.1, cpu      # they are rounded


def test_what_could_not_be_written_is_the_reason(folder):
    path = write(folder, "program.py", TWO)
    command = "ulimit -f 8; exec '%s' lines -q --python '%s' -o x.sonde '%s'" % (SONDE, PYTHON, path)
    status, out, err = run(["sh", "-c", command], cwd=folder)
    equal((status, out), (0, ""), "status and stdout")
    contains(err, "events were lost; files may not become larger here (ulimit -f)")
    contains(err, "no lines can be shown: the recorded events were lost")


def test_json_is_not_written_as_something_else(folder):
    write(folder, "program.py", TWO)
    status, out, err = sonde("lines", "--json", "--python", PYTHON, "-o", "x.txt", "program.py", cwd=folder)
    equal((status, out), (2, ""), "status and stdout")
    contains(err, "--json cannot be written to x.txt; use -o NAME.json")
    assert not os.path.exists(os.path.join(folder, "x.txt"))


def test_a_summary_is_at_the_end(folder):
    status, out, err = lines(folder, TWO, "--summarize")
    equal((status, err), (0, ""), "status and stderr")
    assert re.search(r"seconds - \S+program\.py:1 - inner\n +[\d.]+ seconds - \S+program\.py:5 - outer\n$", out), out


def test_what_is_typed_wrong_is_refused_before_the_program_starts(folder):
    for words, said in ((["--only", ""], "--only needs names"), (["--unit", "x"], "--unit takes a number of seconds"),
                        (["--then", "dump"], "--then needs a limit"), (["--debug-above", "100"], "write 100MiB"),
                        (["--most", "3"], "--most needs a capture"), (["--hot", "x", "--most", "0"], "must be at least 1"),
                        (["--debug-above", "1GiB", "--then", "nothing"], '--then takes "dump" or "exec COMMAND"'),
                        (["--debug-above", "1GiB", "--then", "exec  "], '--then takes "dump" or "exec COMMAND"'),
                        (["--memory", "--summarize"], "--summarize cannot be combined with --memory"),
                        (["-n", "5"], "-n needs --hottest")):
        status, out, err = lines(folder, "print('started')\n", *words)
        equal((status, out), (2, ""), "status and stdout of %r" % words)
        contains(err, said)


def test_the_debugger_stops_after_the_line_that_passed_the_limit(folder):
    typed = write(folder, "typed", "p 'seen', len(a)\nc\n")
    with open(typed) as stdin:
        status, out, err = lines(folder, SCRIPT, "--debug-above", "100MiB", stdin=stdin)
    equal(status, 0, err)
    assert re.search(r"Current memory [\d.]+ MiB exceeded the maximum of 100\.00 MiB", out), out
    assert re.search(r"Stepping into the debugger after \S*program\.py:4 \(my_func\)$", out, re.M), out
    assert re.search(r"> \S*program\.py\(5\)my_func\(\)", out), out
    contains(out, "('seen', 1000000)")
    contains(out, "the end")


def test_files_are_chosen_however_their_names_are_written(folder):
    """By the script as it was typed, through sys.path, and in a child that is elsewhere."""
    os.mkdir(os.path.join(folder, "src"))
    write(folder, "src/x.py", "def chosen():\n    return 1\nchosen()\n")
    winding = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', %r, 'src'))\nimport x\n"
    programs = {"by_path.py": winding % os.path.basename(folder), "relative.py": "import sys\nsys.path.insert(0, './src')\nimport x\n",
                "elsewhere.py": "import os, subprocess, sys\nsubprocess.run([sys.executable, os.path.abspath('src/x.py')], cwd='/')\n"}
    for name, source in programs.items():
        write(folder, name, source)
    up = os.path.join("..", os.path.basename(folder))
    for only in ("src/x.py", "./src/x.py", os.path.join(up, "src", "x.py"), os.path.join(folder, "src", "x.py")):
        for script in ("./src/x.py", os.path.join(up, "src", "x.py"), "by_path.py", "relative.py", "elsewhere.py"):
            status, out, err = sonde("lines", "-q", "-o", "x.sonde", "--force", "--python", PYTHON, "--only", only, script, cwd=folder)
            equal((status, "Function: chosen at line 1" in out, err), (0, True, ""), "--only %s %s" % (only, script))


OTHER_THREAD = """import threading, time
kept, taken = [], threading.Event()

def take():
    kept.append(b"x" * (80 << 20))
    taken.set()
    time.sleep(0.3)

@profile
def taker():
    take()

@profile
def late():
    a = 1
    b = 2

def starts_late():
    taken.wait()
    late()

threads = [threading.Thread(target=f) for f in (taker, starts_late)]
[t.start() for t in threads], [t.join() for t in threads]
"""


def test_a_limit_that_another_thread_has_passed_is_told_so(folder):
    status, out, err = lines(folder, OTHER_THREAD, "--debug-above", "60MiB", "--then", "dump")
    equal(status, 0, err)
    assert re.search(r"at \S*program\.py:\d+ \(late\), after or in \S*program\.py:11 \(taker\) of another thread$", err, re.M), err


LATE_CHILD = """import subprocess, sys
@profile
def f():
    return 1
f()
if len(sys.argv) == 1:
    subprocess.Popen(["sh", "-c", "sleep 0.5; %s %s kid && touch done" % (sys.executable, __file__)])
"""


def test_a_child_that_comes_when_the_run_is_over_finds_profile(folder):
    status, out, err = lines(folder, LATE_CHILD)
    equal(status, 0, err)
    deadline = time.monotonic() + 30
    while not os.path.exists(os.path.join(folder, "done")):
        assert time.monotonic() < deadline, "the child has not ended well"
        time.sleep(0.05)


QUIT = """import os

@profile
def last():
    kept = bytearray(b"x") * (150 << 20)
    %s

last()
os.mkdir("behind")
"""


def test_who_quits_the_debugger_ends_the_program_there(folder):
    for rest in ("os.mkdir('in')", "return kept"):
        with open(write(folder, "typed", "q\n")) as stdin:
            status, out, err = lines(folder, QUIT % rest, "--debug-above", "100MiB", stdin=stdin)
        equal(status, 1, err)
        contains(err, "BdbQuit")
        equal([name for name in ("in", "behind") if os.path.exists(os.path.join(folder, name))], [], "what ran on")


def test_a_format_without_lines_is_refused_before_the_program_starts(folder):
    status, out, err = lines(folder, SCRIPT, "-o", os.path.join(folder, "o.collapsed"))
    equal((status, out), (2, ""), "status and output (%s)" % err)
    contains(err, "which records no sampled stacks, traced calls or allocated memory; record them with: sonde run --with sample, sonde calls, or sonde alloc")
    equal([name for name in os.listdir(folder) if name.startswith("o.")], [], "files")


def test_a_capture_is_kept_whose_lines_the_other_format_cannot_have(folder):
    """A trace could have sections; the program opened none."""
    status, out, err = lines(folder, SCRIPT, "-o", os.path.join(folder, "o.trace.json"))
    equal(status, 0, err)
    contains(err, "the capture is kept")
    assert not os.path.exists(os.path.join(folder, "o.trace.json"))
    status, out, err = sonde("report", os.path.join(folder, "o.trace.json.sonde"), "--lines", "--csv")
    equal(status, 0, err)
    contains(out, "my_func")


def test_another_deed_than_the_debugger(folder):
    status, out, err = lines(folder, SCRIPT, "--debug-above", "100MiB", "--then", "dump")
    equal(status, 0, err)
    assert re.search(r"sonde: [\d.]+ MiB are above 100\.00 MiB, after \S*program\.py:4 \(my_func\)", err), err
    contains(err, "in my_func", "the dump")
    status, out, err = lines(folder, SCRIPT, "--debug-above", "100MiB", "--then", "exec echo pid $SONDE_PID")
    equal(status, 0, err)
    assert re.search(r"^pid \d+$", out, re.M), out
    status, out, err = lines(folder, SCRIPT, "--debug-above", "100MiB", "--then", "exec echo 100%, a+b; echo c")
    equal(status, 0, err)
    contains(out, "100%, a+b\nc\n", "what a command of two says")


LAST = """@profile
def last():
    return bytearray(b"x") * (150 << 20)

kept = last()
print("the end")
"""


def test_the_last_line_of_a_function_passes_the_limit_too(folder):
    status, out, err = lines(folder, LAST, "--debug-above", "100MiB", "--then", "dump")
    equal(status, 0, err)
    assert re.search(r"sonde: [\d.]+ MiB are above 100\.00 MiB, after \S*program\.py:3 \(last\)", err), err
    contains(err, "in last", "the dump")
    typed = write(folder, "typed", "p 'in', len(kept) if 'kept' in globals() else 'last'\nn\np 'behind'\nc\n")
    with open(typed) as stdin:
        status, out, err = lines(folder, LAST, "--debug-above", "100MiB", stdin=stdin)
    equal(status, 0, err)
    contains(out, "('in', 'last')", "what the debugger finds")
    assert re.search(r"> \S*program\.py\(3\)last\(\)", out), out
    assert re.search(r"> \S*program\.py\([56]\)<module>\(\)", out), out       # the program's next, and nothing of the debugger
    contains(out, "the end")
    grown = json.loads(lines(folder, LAST, "--memory", "--json", "--debug-above", "100MiB", "--then", "dump").out.partition("the end\n")[2])
    grown = {row["line"]: row["increment_bytes"] for f in grown["functions"] for row in f["lines"]}
    assert 145 << 20 < grown[3] < 160 << 20, grown


INTERRUPTED = """@profile
def last():
    kept = bytearray(b"x") * (150 << 20)
    for i in range(10 ** 9):        # a Ctrl-C comes at the next moment at which Python looks
        pass

try:
    last()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_a_deed_is_done_is_the_programs(folder):
    status, out, err = lines(folder, INTERRUPTED, "--debug-above", "100MiB", "--then", "exec kill -INT $SONDE_PID && sleep 2")
    equal(status, 0, err)
    contains(out, "interrupted\n")


SAYS_BADLY = """import subprocess

class Odd(Exception):
    def __str__(self):
        %s

def call(*args, **kw):
    raise Odd

subprocess.call = call
"""


def test_what_cannot_be_done_is_noted_and_an_interrupt_meanwhile_is_the_programs(folder):
    options = ("--debug-above", "100MiB", "--then", "exec true")
    status, out, err = lines(folder, SAYS_BADLY % "raise KeyboardInterrupt" + INTERRUPTED, *options)
    equal(status, 0, err)
    contains(out, "interrupted\n")
    for text in ("short", "x" + "\xe9" * 200):
        status, out, err = lines(folder, SAYS_BADLY % ("return " + ascii(text)) + LAST, *options)
        equal(status, 0, err)
        contains(err, "what --debug-above asks for could not be done in process ")
        contains(err, text[:70])
        assert "\\xc3" not in err, err


def test_a_program_without_streams(folder):
    program = "import sys, os\nsys.stderr = None\n" + SCRIPT
    status, out, err = lines(folder, program, "--debug-above", "100MiB", "--then", "dump")
    equal(status, 0, err)
    contains(err, "in my_func", "the dump")


HOT = """
def hot():
    x = 0
    for i in range(3000000):
        x += i
    return x

def cold():
    return 1

cold()
hot()
"""


def test_hot_chooses_what_took_most_time_in_a_capture(folder):
    path = write(folder, "program.py", HOT)
    before = os.path.join(folder, "before.sonde")
    status, _, err = sonde("calls", "-q", "--python", PYTHON, "-o", before, path, cwd=folder)
    equal(status, 0, err)
    status, out, err = lines(folder, HOT, "--hot", before, "--most", "1")
    equal(status, 0, err)
    contains(out, "Function: hot at line 2")
    assert "Function: cold" not in out, out
    os.remove(before)
    typed = ["-q", "--python", PYTHON]
    status, _, err = sonde("calls", "-o", before, *(typed + ["program.py"]), cwd=folder)    # 3.8 keeps the name as it is typed
    equal(status, 0, err)
    for words in (["--hot", before, "--most", "1"], ["--only", path], ["--only", "./program.py:hot"]):
        status, out, err = sonde("lines", *(typed + ["--force"] + words + ["program.py"]), cwd=folder)
        equal(status, 0, err)
        contains(out, "Function: hot at line 2", "lines of %r" % words)
    status, out, err = lines(folder, HOT, "--hot", os.path.join(folder, "none.sonde"))
    equal((status, out), (1, ""), "status and stdout without such a capture")
    contains(err, "none.sonde")


def test_files_whose_names_have_marks_can_be_chosen(folder):
    place = os.path.join(folder, "c++;[x]")
    os.mkdir(place)
    path = write(place, "a,b.py", HOT)
    typed = ["-q", "--python", PYTHON, "--force", "-o", "x.sonde"]
    equal(sonde("calls", "-q", "--python", PYTHON, "-o", "before.sonde", path, cwd=folder).status, 0, "status of calls")
    for words in (["--only", "c++;\\[x]/a\\,b.py:hot"], ["--only", "nothing,a\\,b.py"], ["--hot", "before.sonde", "--most", "1"]):
        status, out, err = sonde("lines", *(typed + words + [path]), cwd=folder)
        equal(status, 0, err)
        contains(out, "Function: hot at line 2", "lines of %r" % words)
    status, out, err = sonde("lines", *(typed + ["--only", "a,b.py", "a,b.py"]), cwd=place)
    equal((status, out), (2, ""), "status and stdout where the comma is not told")
    contains(err, "there is a file of that name, but a comma separates names; to choose the file, write its comma as \\,")


run_tests(globals())
