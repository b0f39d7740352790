# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
# limit: 1200
"""`pip install .` gives the command, the package and its extension, without a network."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SRC, contains, equal, once, run, run_tests, write  # noqa: E402

VERSION = "0.1.0"


def plain_env():
    """As a newcomer's shell: no SONDE*, no PYTHON*, no environment active."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SONDE", "PYTHON")) and k != "VIRTUAL_ENV"}


def must(command, **how):
    result = run(command, env=plain_env(), limit=900, **how)
    assert result.status == 0, "%s: status %d: %s" % (" ".join(command), result.status, (result.out + result.err)[-1500:])
    return result


@once
def venv():
    """The environment it was installed in, asked by every test."""
    top = os.path.join(os.environ.get("TMPDIR", "/tmp"), "fresh")
    must([PYTHON, "-m", "venv", top])
    must([os.path.join(top, "bin", "python"), "-m", "pip", "install", "--no-index", "--disable-pip-version-check", SRC])
    return top


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


run_tests(globals())
