# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
# patient
"""`pip install .` gives the command, the package and its extension, without a network; the wheel is recorded truly, and
gone when uninstalled.

The oldest Python builds the wheel from the source tree, the others from the source package, so that this is seen to be
whole.  Compiled without optimising, which takes a third of the time: what the compiler makes of the code is tested with
the build.
"""
import base64
import csv
import glob
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SRC, contains, equal, once, run, run_tests, write  # noqa: E402

VERSION = "0.1.0"
FOLDER = os.environ.get("TMPDIR", "/tmp")
IS_FROM_TREE = sys.version_info < (3, 9)


def plain_env(**more):
    """As a newcomer's shell: no SONDE*, no PYTHON*, no environment active."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE", "PYTHON")) and k != "VIRTUAL_ENV"}
    return dict(env, **more)


def must(command, **how):
    """Last in line as this file is: run() starts a session anew.  So the limit is that of the file."""
    command = [os.path.join(SRC, "tests", "last-in-line")] + command
    result = run(command, env=plain_env(CFLAGS="-O0 -Wno-cpp"), limit=7200, **how)
    assert result.status == 0, "%s: status %d: %s" % (" ".join(command), result.status, (result.out + result.err)[-1500:])
    return result


def unpacked_source_package(out):
    code = "import sys; sys.path.insert(0, %r); import sonde_build; print(sonde_build.build_sdist(sys.argv[1]))" % os.path.join(SRC, "tools")
    name = must([PYTHON, "-B", "-c", code, out]).out.strip()
    equal(name, "sonde-%s.tar.gz" % VERSION)
    must(["tar", "-xzf", name], cwd=out)
    tree = os.path.join(out, name[:-len(".tar.gz")])
    assert os.path.exists(os.path.join(tree, "PKG-INFO"))
    return tree


@once
def wheel():
    out = os.path.join(FOLDER, "wheels")
    os.makedirs(out)
    tree = SRC if IS_FROM_TREE else unpacked_source_package(out)
    must([PYTHON, "-m", "pip", "wheel", "--no-index", "--no-deps", "--disable-pip-version-check", "-w", out, tree])
    (made,) = glob.glob(os.path.join(out, "*.whl"))
    return made


def everything(top):
    return {os.path.join(d, f) for d, _, names in os.walk(top) for f in names}


@once
def installed():
    """The environment it was installed in, asked by every test, and what was there before."""
    top = os.path.join(FOLDER, "fresh")
    must([PYTHON, "-m", "venv", top])
    before = everything(top)
    must([os.path.join(top, "bin", "python"), "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel()])
    return top, before


def venv():
    return installed()[0]


def in_venv(name):
    return os.path.join(venv(), "bin", name)


def test_pip_install_puts_the_command_on_the_path(folder):
    result = must([in_venv("sonde"), "--version"])
    contains(result.out, VERSION)


def test_python_m_sonde_is_the_command(folder):
    equal(must([in_venv("python"), "-m", "sonde", "--version"], cwd=folder).out, must([in_venv("sonde"), "--version"]).out)


def test_the_installed_package_records_sections(folder):
    program = os.path.join(folder, "x.py")
    with open(program, "w") as f:
        f.write("from sonde import Profiler\np = Profiler()\nwith p('work'):\n    print(sum(range(1000)))\n")
    result = must([in_venv("sonde"), "run", "-o", "x.sonde", "x.py"], cwd=folder)
    contains(result.out, "499500")
    contains(must([in_venv("sonde"), "report", "x.sonde"], cwd=folder).out, "work")


def test_compat_path_of_the_installed_program(folder):
    path = must([in_venv("sonde"), "compat-path"]).out.strip()
    program = write(folder, "whose.py", "import cProfile; print(cProfile.Profile.__module__)\n")
    result = run([in_venv("python"), "-m", "cProfile", program], env=dict(plain_env(), PYTHONPATH=path))
    equal(result.err, "", "stderr")
    equal(result.out.splitlines()[0], "sonde.compat.cProfile", "whose cProfile it is")
    programs = must([in_venv("sonde"), "compat-path", "--programs"]).out.strip()
    write(folder, "lines.py", "@profile\ndef f():\n    return 1\nf()\n")
    path = os.pathsep.join([programs, os.path.dirname(in_venv("python")), os.environ["PATH"]])
    contains(must(["env", "PATH=" + path, "kernprof", "-l", "-v", "lines.py"], cwd=folder).out, "return 1")


def test_the_extension_depends_on_libc_alone(folder):
    (path,) = glob.glob(os.path.join(venv(), "lib", "python*", "site-packages", "sonde", "_sonde*.so"))
    needed = [line.split("[")[1].rstrip("]") for line in must(["readelf", "-d", path]).out.splitlines() if "(NEEDED)" in line]
    # The loader is part of libc; it is named when there are variables per thread.
    equal([n for n in needed if n != "ld-linux-x86-64.so.2"], ["libc.so.6"], "what the extension needs")


def test_the_extension_exports_its_init_function_alone(folder):
    (path,) = glob.glob(os.path.join(venv(), "lib", "python*", "site-packages", "sonde", "_sonde*.so"))
    exported = [line.split()[-1] for line in must(["nm", "-D", "--defined-only", path]).out.splitlines()]
    equal(exported, ["PyInit__sonde"], "what the extension exports")


def test_a_missing_tool_is_named_with_the_line_to_type(folder):
    code = "import sys; sys.path.insert(0, %r); import sonde_build; sonde_build.build_wheel(sys.argv[1])" % os.path.join(SRC, "tools")
    done = subprocess.run([PYTHON, "-B", "-c", code, folder], env={"PATH": folder}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.returncode, 1)
    contains(done.stderr.decode(), "meson and ninja-build and gcc; run: apt-get install")


# Lets the interpreter that builds for pip, and no other, take itself for another one.
OTHER = """
import collections, sys, sysconfig
if b"_in_process" in open("/proc/self/cmdline", "rb").read():
    ask = sysconfig.get_config_var
    Version = collections.namedtuple("Version", "major minor micro releaselevel serial")
    %s
"""
NEWER = "sys.version_info, sys.version = Version(3, 16, 0, 'final', 0), '3.16.0 (main)'"
FREE_THREADED = "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else ask(name)"


def test_a_python_without_an_extension_is_refused_in_one_sentence(folder):
    for other, said in ((NEWER, "sonde: this is cpython 3.16.0, and Sonde's extension supports CPython 3.8 to 3.15; install it into one of those"),
                        (FREE_THREADED, "sonde: this is a free-threaded build of Python %s, which Sonde's extension does not support yet; "
                                        "install it into a build with the GIL" % sys.version.split()[0])):
        write(folder, "sitecustomize.py", OTHER % other)
        result = run([PYTHON, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-w", folder, SRC],
                     env=plain_env(PYTHONPATH=folder), limit=300)
        equal(result.status, 1, "status")
        lines = [line.strip() for line in (result.out + result.err).splitlines()]
        equal([line for line in lines if line.startswith("sonde: ")], [said], "what is said")
        equal([line for line in lines if line.startswith("Traceback")], [], "tracebacks")
    equal(glob.glob(os.path.join(folder, "*.whl")), [], "wheels")


def test_the_wheel_is_named_and_recorded_as_it_is(folder):
    short = "cp%d%d" % sys.version_info[:2]
    equal(os.path.basename(wheel()), "sonde-%s-%s-%s-linux_x86_64.whl" % (VERSION, short, short))
    with zipfile.ZipFile(wheel()) as z:
        rows = {row[0]: row for row in csv.reader(z.read("sonde-%s.dist-info/RECORD" % VERSION).decode().splitlines())}
        equal(sorted(rows), sorted(z.namelist()), "what RECORD lists")
        for name in z.namelist():
            if not name.endswith("/RECORD"):
                data = z.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                equal(rows[name][1:], ["sha256=" + digest, str(len(data))], "record of " + name)
        for name in ("sonde/bin/sonde", "sonde-%s.data/scripts/sonde" % VERSION, "sonde/_sonde" + sysconfig.get_config_var("EXT_SUFFIX")):
            assert z.getinfo(name).external_attr >> 16 & 0o111, "%s is not executable" % name


def test_pip_uninstall_leaves_nothing(folder):
    top, before = installed()
    assert everything(top) != before
    must([in_venv("python"), "-m", "pip", "uninstall", "-y", "--disable-pip-version-check", "sonde"])
    left = [p for p in everything(top) - before if "__pycache__" not in p]
    equal(left, [], "files left behind")


run_tests(globals())
