# SPDX-License-Identifier: MIT
# interpreters: all
"""The bootstrap leaves no trace: what a program sees of its interpreter is the same with and without sonde."""
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import (PACKAGE_PATH, PYTHON, SONDE, TARGETS, Capture, clean_env, equal, need, run, run_tests, sonde,  # noqa: E402
                     sonde_run, write)

STATE = os.path.join(TARGETS, "state.py")
BOOTSTRAP = os.path.join(PACKAGE_PATH, "sonde", "_bootstrap")


def both(folder, words, env, python=None):
    """The same program without and with sonde: two results and the capture."""
    python = python or PYTHON
    without = run([python] + words, cwd=folder, env=env)
    with_sonde, path = sonde_run(folder, *words, env=env, python=python, options=["--force", "--quiet"])
    return without, with_sonde, path


def without_ours(err):
    """stderr less what sonde itself says."""
    return "".join(line for line in err.splitlines(True) if not line.startswith("sonde: "))


def same_state(folder, env, words=None, python=None):
    """Runs tests/targets/state.py both ways.  The one difference we document: where the program's own path has no
    sonde, the last finder of sys.meta_path answers for that name, so that `import sonde` works under `sonde run`."""
    words = words or [STATE, "a", "b c"]
    a, b, path = both(folder, words, env, python)
    equal((a.status, b.status), (0, 0), "exit statuses (%r, %r)" % (a.err, b.err))
    old, new = json.loads(a.out), json.loads(b.out)
    check_environment(old.pop("environment"), new.pop("environment"), env)
    if PACKAGE_PATH not in (env.get("PYTHONPATH") or "").split(os.pathsep):
        equal(new["meta_path"][-1:], ["SondeFinder"], "the last finder")
        new["meta_path"].pop()
    for key in old:
        equal(new[key], old[key], "%s under sonde" % key)
    return old, path


def check_environment(old, new, env):
    """Only SONDE* and PYTHONPATH may differ, and PYTHONPATH only by the bootstrap in front."""
    differ = {k for k in set(old) | set(new) if old.get(k) != new.get(k)}
    others = {k for k in differ if not k.startswith("SONDE") and k != "PYTHONPATH"}
    equal(others, set(), "variables that differ")
    mine = env.get("PYTHONPATH")
    equal(new["PYTHONPATH"], BOOTSTRAP + (os.pathsep + mine if mine else ""), "PYTHONPATH")


def test_state_is_the_same(folder):
    same_state(folder, clean_env())


def test_state_is_the_same_without_a_path(folder):
    same_state(folder, clean_env(PYTHONPATH=None))


def test_state_of_a_module_and_of_a_string(folder):
    with open(STATE) as f:
        source = f.read()
    write(folder, "mod_state.py", source)
    same_state(folder, clean_env(), ["-m", "mod_state", "x", "-o", "y"])
    same_state(folder, clean_env(), ["-c", source, "x", "--json"])


def test_state_of_a_child(folder):
    """A child gets the same PYTHONPATH, so it is recorded too; its own state is as clean."""
    program = write(folder, "parent.py", "import subprocess, sys\nsys.exit(subprocess.call([sys.executable] + sys.argv[1:]))\n")
    same_state(folder, clean_env(), [program, STATE])


def customized(folder):
    site = os.path.join(folder, "site")
    os.mkdir(site)
    write(site, "sitecustomize.py", "import sys\nsys.site_mark = __file__\nimport colorsys\n")
    return site


def test_own_sitecustomize_runs(folder):
    site = customized(folder)
    state, _ = same_state(folder, clean_env(PYTHONPATH=site + os.pathsep + PACKAGE_PATH))
    equal(state["marks"], ["site_mark"], "marks")
    equal(state["sitecustomize"], os.path.join(site, "sitecustomize.py"), "sitecustomize")
    assert "colorsys" in state["modules"]


def test_own_sitecustomize_that_is_a_package(folder):
    site = os.path.join(folder, "site")
    os.makedirs(os.path.join(site, "sitecustomize"))
    write(site, "sitecustomize/__init__.py", "import sys\nfrom . import part\nsys.site_mark = part.X\n")
    write(site, "sitecustomize/part.py", "X = 3\n")
    state, _ = same_state(folder, clean_env(PYTHONPATH=site))
    equal(state["marks"], ["site_mark"], "marks")


def test_errors_of_own_sitecustomize_look_the_same(folder):
    for i, source in enumerate(("import sys\nsys.site_mark = 1\n1 / 0\n", "import no_such_module_here\n", "this is no Python\n",
                                "raise SystemExit(4)\n", "import os\nos._exit(5)\n", "raise KeyboardInterrupt\n")):
        site = os.path.join(folder, "site%d" % i)
        os.mkdir(site)
        write(site, "sitecustomize.py", source)
        a, b, _ = both(folder, ["-c", "print('body')"], clean_env(PYTHONPATH=site))
        equal((b.status, b.out), (a.status, a.out), "status and output with %r (stderr %r and %r)" % (source, a.err, b.err))
        equal(without_the_bootstrap(b.err), a.err, "stderr with %r" % source)


def without_the_bootstrap(err):
    """Python prints every frame of an exception that ends its start; the bootstrap's one import line among them is documented."""
    ours = '  File "%s", line [0-9]+, in <module>\n(    .*\n)+' % re.escape(os.path.join(BOOTSTRAP, "sitecustomize.py"))
    return re.sub(ours, "", without_ours(err))


def test_usercustomize_runs(folder):
    base = os.path.join(folder, "base")
    env = clean_env(PYTHONUSERBASE=base)
    python = os.path.realpath(PYTHON)       # a virtual environment has no user site
    site = run([python, "-c", "import site; print(site.getusersitepackages()); print(site.ENABLE_USER_SITE)"], env=env).out.split()
    need(site[1] == "True", "this interpreter has no user site")
    os.makedirs(site[0])
    write(site[0], "usercustomize.py", "import sys\nsys.user_mark = 1\n")
    state, _ = same_state(folder, env, python=python)
    equal(state["marks"], ["user_mark"], "marks")


def test_virtual_environment(folder):
    """A venv's python: its own prefix and site-packages, with sonde as without; sections are recorded."""
    venv = os.path.join(folder, "venv")
    made = run([PYTHON, "-m", "venv", "--without-pip", venv])
    need(made.status == 0, "no venv here: %s" % made.err.strip()[-100:])
    python = os.path.join(venv, "bin", "python")
    same_state(folder, clean_env(), python=python)
    source = "import sys\nfrom sonde import Profiler\np = Profiler()\nwith p('x'): pass\nprint(sys.prefix)\n"
    a, b, path = both(folder, ["-c", source], clean_env(), python)
    equal((b.status, b.out), (a.status, a.out), "status and output (%r)" % b.err)
    equal(b.out.strip(), os.path.realpath(venv) if os.path.realpath(venv) == b.out.strip() else venv, "prefix")
    equal(Capture(path).count("x"), 1, "sections")


def test_active_virtual_environment_is_chosen(folder):
    """Without --python the active environment's interpreter runs the program."""
    venv = os.path.join(folder, "venv")
    made = run([PYTHON, "-m", "venv", "--without-pip", venv])
    need(made.status == 0, "no venv here")
    result = sonde("run", "-o", os.path.join(folder, "x.sonde"), "-c", "import sys; print(sys.prefix)", cwd=folder, env=clean_env(VIRTUAL_ENV=venv))
    equal((result.status, result.out.strip()), (0, venv), "status and prefix (%r)" % result.err)


def test_path_of_grandchildren_is_kept(folder):
    """PYTHONPATH reaches children whole, also when the program changes it or starts them with a fresh one."""
    program = write(folder, "p.py", """
import os, subprocess, sys
code = "import os; print(os.environ.get('PYTHONPATH'))"
print(os.environ["PYTHONPATH"])
sys.stdout.flush()
subprocess.check_call([sys.executable, "-c", code])
subprocess.check_call([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH="/elsewhere"))
subprocess.check_call([sys.executable, "-c", code], env={})
""")
    result, _ = sonde_run(folder, program, env=clean_env(PYTHONPATH="/one:/two"))
    equal(result.status, 0, "exit status (%r)" % result.err)
    ours = BOOTSTRAP + ":/one:/two"
    equal(result.out.splitlines(), [ours, ours, "/elsewhere", "None"], "what each process had")


def test_import_works_without_a_path(folder):
    """`sonde run` of a program that says `from sonde import Profiler` needs nothing installed."""
    result, path = sonde_run(folder, "-c", "from sonde import Profiler\nwith Profiler()('x'): pass\n", env=clean_env(PYTHONPATH=None))
    equal(result.status, 0, "exit status (%r)" % result.err)
    equal(Capture(path).count("x"), 1, "sections")


def test_tracebacks_show_no_frame_of_ours(folder):
    program = write(folder, "p.py", "from sonde import Profiler\np = Profiler()\ndef f():\n    with p('x'):\n        1 / 0\nf()\n")
    a, b, _ = both(folder, [program], clean_env())
    equal((b.status, without_ours(b.err)), (a.status, a.err), "status and stderr")
    assert "sonde" not in without_ours(b.err).replace(folder, ""), b.err


def test_warnings_as_errors(folder):
    """-W error and -X dev: nothing of ours warns."""
    for words in (["-W", "error"], ["-X", "dev"], ["-bb"], ["-OO"]):
        command = [PYTHON] + words + ["-c", "import os, sys\nfrom sonde import Profiler\nwith Profiler()('x'): pass\nsys.stdout.write('done\\n')"]
        a = run(command, cwd=folder)
        path = os.path.join(folder, "x.sonde")
        b = sonde("run", "--force", "--quiet", "-o", path, "--", *command, cwd=folder)
        equal((a.status, a.out, a.err), (0, "done\n", ""), "without sonde, %r" % words)
        equal((b.status, b.out, without_ours(b.err)), (0, "done\n", ""), "with sonde, %r" % words)
        equal(Capture(path).count("x"), 1, "sections with %r" % words)


def old_pythons():
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    return sorted(p for v in ("2.7", "3.6", "3.7") for p in glob.glob(os.path.join(glob.escape(pyenv), "versions", v + ".*", "bin", "python")))


def test_old_interpreters(folder):
    """Too old for the extension: they run as ever, memory is recorded, one sentence says what is not."""
    found = old_pythons()
    need(found, "no Python 2.7, 3.6 or 3.7 here")
    program = write(folder, "p.py", "import sys, time\ntime.sleep(0.1)\nprint(sys.version_info[:2])\nsys.exit(3)\n")
    for python in found:
        a, b, path = both(folder, [program], clean_env(PYTHONPATH=None), python)
        equal((b.status, b.out, without_ours(b.err)), (3, a.out, a.err), "status, output and stderr of %s" % python)
        said = [line for line in b.err.splitlines() if re.search("extension|inside", line)]
        equal(len(said), 1, "sentences with %s in %r" % (python, b.err))
        assert Capture(path).tree()["peak_rss"] > 1 << 20


def test_old_interpreters_as_children(folder):
    """A child of any version loads the bootstrap and is silent."""
    found = old_pythons()
    need(found, "no Python 2.7, 3.6 or 3.7 here")
    program = write(folder, "p.py", "import subprocess, sys\nfor p in sys.argv[1:]:\n    subprocess.check_call([p, '-c', 'print(1)'])\n")
    result, path = sonde_run(folder, program, *found, options=["-q"], env=clean_env(PYTHONPATH=None))
    equal((result.status, result.out, without_ours(result.err)), (0, "1\n" * len(found), ""), "status, output, stderr")
    Capture(path)


def test_zipped_and_foreign_paths(folder):
    """A program in a folder or a zip file with __main__.py keeps its own sys.path[0]."""
    import zipfile
    with open(STATE) as f:
        source = f.read()
    app = os.path.join(folder, "app")
    os.mkdir(app)
    write(app, "__main__.py", source)
    same_state(folder, clean_env(), [app])
    with zipfile.ZipFile(os.path.join(folder, "app.zip"), "w") as z:
        z.writestr("__main__.py", source)
    same_state(folder, clean_env(), [os.path.join(folder, "app.zip")])


def test_program_from_stdin(folder):
    """A pipe into python stays a pipe into python."""
    command = [PYTHON, "-", "a"]
    env = clean_env()
    p = subprocess.Popen([SONDE, "run", "-o", os.path.join(folder, "x.sonde"), "--"] + command, env=env, cwd=folder,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = p.communicate(b"import sys\nprint(sys.argv)\nsys.exit(2)\n", timeout=60)
    equal((p.returncode, out), (2, b"['-', 'a']\n"), "status and output (%r)" % err)


run_tests(globals())
