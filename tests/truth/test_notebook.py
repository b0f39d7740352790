# SPDX-License-Identifier: MIT
# interpreters: all
# needs: nbclient ipykernel
"""%load_ext sonde: a notebook with every magic, run by nbclient in a kernel; what cells show, and that nothing is left after each."""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PACKAGE_PATH, between, clean_env, contains, equal, once, run, run_tests, write  # noqa: E402

RUNNER = """
import json, sys
import nbformat
from nbclient import NotebookClient
cells = json.load(open("cells.json"))
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
NotebookClient(book, timeout=200, kernel_name="python3", allow_errors=True).execute()
json.dump([cell["outputs"] for cell in book["cells"]], open("outputs.json", "w"))
"""

DEFINED = """
import asyncio, sys, threading, time
def leaf(i):
    return i * i
def work(n):
    total = 0
    for i in range(n):
        total += leaf(i)
    return total
async def wait(n):
    await asyncio.sleep(0.01)
    return work(n)
def state():
    shell = get_ipython()
    tools = [sys.monitoring.get_tool(i) for i in range(6)] if hasattr(sys, "monitoring") else []
    return repr([sys.getprofile(), sys.gettrace(), tools, [t.name for t in threading.enumerate() if not type(t).__module__.startswith("zmq.")], len(shell.events.callbacks["post_run_cell"]),
                 len(shell.ast_transformers), len(shell.input_transformers_cleanup)])
"""

# Name, text, whether the state is asked for after it.
CELLS = [
    ("defined", DEFINED),
    ("bare", "print(state())"),
    ("load", "%load_ext sonde"),
    ("calls", "%%sonde\nx = work(50)\ny = await wait(7)\ntask = asyncio.ensure_future(wait(3))\nz = await task\nt = threading.Thread(target=work, args=(2,)); t.start(); t.join()\nx"),
    ("names", "x, y, z, Out[4]"),
    ("raises", "%%sonde calls -s time -l 5\nwork(5)\n1 / 0"),
    ("lines", "%%sonde lines --only work\nwork(9);"),
    ("own_lines", "%%sonde lines\nfor i in range(3):\n    leaf(i)"),
    ("between", "leaf(1)"),
    # The same text as before: ipykernel compiles it under the same name.
    ("rerun", "%%sonde lines\nfor i in range(3):\n    leaf(i)"),
    ("broken", "%%sonde\nimport sonde._notebook as notebook\nkept_exit = notebook.Usage.__exit__\ndef fails(self, *raised):\n    kept_exit(self, *raised)\n    raise OSError('no disk')\nnotebook.Usage.__exit__ = fails\n1 / 0"),
    ("mended", "notebook.Usage.__exit__ = kept_exit\nprint('showtraceback' in vars(get_ipython()))\n{}[2]"),
    ("alloc", "%%sonde alloc\nkept = bytearray(10000019)"),
    ("sample", "%%sonde sample --rate 500 --idle\nuntil = time.time() + 0.5\nwhile time.time() < until:\n    work(100)"),
    ("rss", "%%sonde rss --every=10ms\ntime.sleep(0.2)"),
    ("statement", "%sonde calls work(11)"),
    ("returned", "r = %sonde -r work(12)"),
    ("asked", "print({f['function']: f['calls'] for f in r.report()['functions']}); r"),
    ("line_statement", "%sonde lines --only leaf work(13)"),
    ("last", "type(_sonde).__name__"),
    ("pstats", "%sonde calls -q -D stats.pstats -T stats.txt work(3)"),
    ("read", "import pstats; sorted({k[2] for k in pstats.Stats('stats.pstats').stats} & {'work', 'leaf'}), open('stats.txt').read()[:9]"),
    ("wrong_verb", "%sonde cals work(3)"),
    ("wrong_verb_of_cell", "%%sonde cals\nnever = 1"),
    ("wrong_option", "%%sonde --node 3\nnever = 1"),
    ("wrong_value", "%%sonde calls --nodes=1\nnever = 1"),
    ("nothing", "%sonde"),
    ("statement_in_line", "%%sonde calls work(3)\nnever = 1"),
    ("never", "'never' in globals()"),
    ("statement_raises", "%sonde calls 1 / 0"),
    ("watch", "%sonde watch"),
    ("watched", "many = [0] * 30000000"),
    ("watch_off", "%sonde watch off"),
    ("unwatched", "few = 1"),
    ("lprun", "%lprun -f leaf work(4)"),
    ("memit", "%memit -r 1 work(4)"),
    ("timeit", "%timeit -n 3 -r 1 work(3)"),
    ("nested", "%%sonde\nwith __import__('sonde').record('calls') as inner:\n    work(4)\nwork(2)\nprint([f['calls'] for f in inner.report()['functions'] if f['function'] == 'leaf'])"),
    ("second_alloc", "import sonde\nwith sonde.record('alloc'):\n    get_ipython().run_cell('%%sonde alloc\\nnever = 1');"),
    ("empty", "%%sonde"),
    ("syntax", "%%sonde\nthis is no Python"),
    ("program", "get_ipython().run_cell_magic('sonde', 'calls', 'work(6)')"),
    ("reload", "%reload_ext sonde"),
    ("again", "%%sonde\nwork(1)"),
    ("unload", "%unload_ext sonde"),
    ("gone", "%sonde work(1)"),
    ("at_end", "print(state())"),
]


@once
def outputs():
    folder = tempfile.mkdtemp()
    texts, places = [], {}
    for name, text in CELLS:
        places[name] = len(texts)
        texts.append(text)
        if name not in ("defined", "bare", "load", "at_end", "unload", "gone"):
            texts.append("state()")
    write(folder, "cells.json", json.dumps(texts))
    done = run([sys.executable, write(folder, "runner.py", RUNNER)], cwd=folder, limit=400, env=clean_env(
        PYTHONPATH=PACKAGE_PATH, TMPDIR=folder, HOME=folder, IPYTHONDIR=folder, JUPYTER_PLATFORM_DIRS="1", PYTHONWARNINGS="ignore"))
    equal(done.status, 0, "status (%s)" % done.err[-2000:])
    with open(os.path.join(folder, "outputs.json")) as f:
        return json.load(f), places, sorted(name for name in os.listdir(folder) if name.startswith("sonde-"))


def cell(name):
    """(stdout, stderr, what is shown, the value's text, the error) of a cell."""
    found, places, _ = outputs()
    out, err, shown, value, error = "", "", [], None, None
    for one in found[places[name]]:
        if one["output_type"] == "stream":
            out, err = out + one["text"] * (one["name"] == "stdout"), err + one["text"] * (one["name"] == "stderr")
        elif one["output_type"] == "display_data":
            shown.append(one["data"])
        elif one["output_type"] == "execute_result":
            value = one["data"]
        else:
            error = one
    return out, err, shown, value, error


def calls_of(text):
    """{function: calls} of a table as pstats prints it."""
    rows = re.findall(r"^ +(\d+)(?:/\d+)? +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ (.*)$", text, re.M)
    return {where: int(n) for n, where in rows}


def is_without_the_shell(text):
    text = re.sub(r".*ipykernel.*_closure\)", "", text)  # around every thread that the cell starts: ipykernel patches threading
    assert not re.search(r"IPython|ipykernel|traitlets|_notebook\.py|zmq|ast\.py|codeop", text), text


def test_a_cell_runs_as_any_cell(unused):
    _, err, shown, value, error = cell("calls")
    equal([err, error, len(shown)], ["", None, 1], "stderr, error and how much is shown")
    equal(value["text/plain"], "40425", "the value of the cell")
    contains(shown[0]["text/html"], "<iframe")
    text = shown[0]["text/plain"]
    contains(text, "In [4]: ")
    assert re.match(r"In \[4\]: [\d.,]+ \w+ wall, [\d.,]+ \w+ CPU, peak [\d.]+ \wiB, kept [+-][\d.]+ \w+\n", text), text
    calls = calls_of(text)
    equal([calls["In [1]:2(leaf)"], calls["In [1]:4(work)"]], [62, 4], "calls, those of a task and of a thread among them")
    assert re.search(r"In \[4\]:\d\(<module>\)", text), text
    is_without_the_shell(text)
    equal(cell("names")[3]["text/plain"], "(40425, 91, 5, 40425)", "names are set, and Out has the value")


def test_an_exception_is_the_users_and_what_ran_is_shown(unused):
    _, _, shown, _, error = cell("raises")
    equal(error["ename"], "ZeroDivisionError", "error")
    assert not any("_notebook" in line for line in error["traceback"]), error["traceback"]
    contains(shown[0]["text/plain"], "Ordered by: internal time")
    equal(calls_of(shown[0]["text/plain"])["In [1]:2(leaf)"], 5, "calls until then")
    _, _, shown, _, error = cell("statement_raises")
    equal([error["ename"], len(shown)], ["ZeroDivisionError", 1], "the same of a statement")


def test_lines_have_their_source(unused):
    text = cell("lines")[2][0]["text/plain"]
    for line in (r"^ +7 +9 .* total \+= leaf\(i\)$", r"^ +6 +10 .* for i in range\(n\):$"):
        assert re.search(line, text, re.M), text
    contains(text, "work  In [1]:4")
    text = cell("own_lines")[2][0]["text/plain"]
    assert re.search(r"^ +3 +3 .* leaf\(i\)$", text, re.M), text
    assert re.search(r"^ +3 +13 ", cell("line_statement")[2][0]["text/plain"], re.M)


def test_a_cell_that_runs_again_is_the_newest(unused):
    """It is compiled under the name that it had, and another one was compiled since."""
    text = cell("rerun")[2][0]["text/plain"]
    contains(text, "In [%d]: " % (outputs()[1]["rerun"] + 1))
    assert re.search(r"^ +3 +3 .* leaf\(i\)$", text, re.M), text


def test_an_end_that_fails_is_told_and_leaves_nothing(unused):
    """test_nothing_is_left asks for hooks afterwards: the recording has ended, though what is measured inside it could not."""
    _, err, shown, _, error = cell("broken")
    equal([err, shown, error["ename"]], ["sonde: this cell could not be recorded: OSError: no disk\n", [], "ZeroDivisionError"], "stderr, what is shown, and the error")
    out, _, _, _, error = cell("mended")
    equal([out, error["ename"]], ["False\n", "KeyError"], "whether a function of the shell is still replaced, and the error of the next cell")


def test_other_verbs(unused):
    text = cell("alloc")[2][0]["text/plain"]
    assert re.search(r"9\.5 MiB .* <module> +In \[\d+\]:\d", text), text
    is_without_the_shell(text)
    text = cell("sample")[2][0]["text/plain"]
    contains(text, "work")
    contains(text, "In [1]:4")
    is_without_the_shell(text)
    contains(cell("rss")[2][0]["text/plain"], "rss_max")


def test_statements(unused):
    text = cell("statement")[2][0]["text/plain"]
    contains(text, "work(11): ")
    equal(calls_of(text)["In [1]:2(leaf)"], 11, "calls")
    is_without_the_shell(text)
    equal(cell("returned")[:4], ("", "", [], None), "what -r shows")
    out, _, _, value, _ = cell("asked")
    equal(eval(out)["leaf"], 12, "calls of the recording that -r returned")
    contains(value["text/plain"], "work(12): ")
    contains(value["text/html"], "<iframe")
    equal(cell("last")[3]["text/plain"], "'CellRecording'", "the last recording")
    equal(cell("pstats")[:3], ("", "", []), "what -q shows")
    equal(cell("read")[3]["text/plain"], "(['leaf', 'work'], 'work(3): ')", "what -D and -T have written")


def test_what_is_typed_wrong_is_one_sentence(unused):
    for name, sentence in (
            ("wrong_verb", "no verb cals; did you mean calls?"), ("wrong_verb_of_cell", "no verb cals; did you mean calls?"),
            ("wrong_option", "no option --node of calls; there are --builtins, --threads, --cpu, --bounded, --nodes, --timeline, --signatures, --scaling"),
            ("wrong_value", "nodes must be from 2 to 16,000,000"),
            ("statement_in_line", "work(3): the statements of %%sonde stand in the lines below; this line has only options")):
        equal(cell(name)[1], "UsageError: %s\n" % sentence, name)
    contains(cell("nothing")[1], "UsageError: %sonde VERB [options] statement, or")
    contains(cell("second_alloc")[1], "UsageError: a block of sonde.record() is being recorded already; end it before the next begins\n")
    equal(cell("never")[3]["text/plain"], "False", "the cell ran")
    equal(cell("syntax")[4]["ename"], "SyntaxError", "error")
    equal(cell("syntax")[2], [], "what a cell that did not run shows")


def test_watching_says_a_line_after_each_cell(unused):
    out = cell("watched")[0]
    kept = re.match(r"sonde: [\d.,]+ \w+ wall, [\d.,]+ \w+ CPU, peak [\d.]+ \wiB, kept \+([\d.]+) MiB\n$", out)
    assert kept, out
    between(float(kept.group(1)), 220, 240, "kept MiB of a list of 229 MiB")
    equal([cell(name)[0] for name in ("unwatched", "watch_off")], ["", ""], "after `watch off`")


def test_magics_of_others(unused):
    contains(cell("lprun")[0], "Total time: ")
    contains(cell("memit")[0], "peak memory: ")
    contains(cell("timeit")[0], "loop")


def test_recordings_in_a_recorded_cell_and_by_a_program(unused):
    out, _, shown, _, _ = cell("nested")
    contains(out, "[4]")
    equal(calls_of(shown[0]["text/plain"])["In [1]:2(leaf)"], 6, "calls of the cell")
    equal(calls_of(cell("program")[2][0]["text/plain"])["In [1]:2(leaf)"], 6, "calls of run_cell_magic()")
    equal(len(cell("again")[2]), 1, "after %reload_ext")


def test_nothing_is_left(unused):
    found, places, left = outputs()
    states = {}
    for name, text in CELLS:
        if name not in ("defined", "bare", "load", "at_end", "unload", "gone"):
            states.setdefault(found[places[name] + 1][0]["data"]["text/plain"], []).append(name)
    equal(len(states), 1, "states after the cells: %s" % states)
    equal(cell("at_end")[0], cell("bare")[0], "after %unload_ext and before %load_ext")
    contains(cell("gone")[1], "not found")
    equal(left, [], "files left")


if __name__ == "__main__":
    run_tests(globals())
