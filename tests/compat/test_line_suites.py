# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
# patient
"""line_profiler's and memory_profiler's own tests, run unchanged on sonde.compat.

Their files are not kept here (fetched.py).  The modules are found in the folder of `sonde compat-path`, also by the many
processes that these tests start.  What is not claimed is named with its reason; docs/compat.md has the figures.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fetched import download, unpack_tests  # noqa: E402
from helpers import PYTHON, Skip, clean_env, equal, run, run_tests, sonde, write  # noqa: E402

LINE_PROFILER = "line_profiler", "line_profiler-5.1.0", "5717a2dccf0ced65fd19ba5e479581c47412831fe768bc211c6d0f5ba1ad9b47"
MEMORY_PROFILER = "memory_profiler", "memory_profiler-0.61.0", "4e5b73d7864a1d1292fb76a03e82a3e78ef934d06828a698d9dada76da2067b0"

NOT_CLAIMED = {  # beginnings of names
    "byte code changed so that equal functions differ": [
        "test_line_profiler.py::test_multiple_profilers_identical_bytecode", "test_sys_monitoring.py::test_local_event_preservation",
    ],
    "the private map c_last_time": [
        "test_line_profiler.py::test_last_time", "test_line_profiler.py::test_interleaved_generator_timing",
        "test_line_profiler.py::test_exception_frame_timing", "test_line_profiler.py::test_abandoned_generator_and_coroutine_timing",
    ],
    "the private classes that rewrite a script": [
        "test_autoprofile.py::test_multitarget_import", "test_autoprofile.py::test_profmod_extractor_multitarget_behavior",
        "test_autoprofile.py::test_handle_star_imports",
    ],
    "a trace function or monitoring tool that the program sees, and can take away": [
        "test_line_profiler.py::test_sys_monitoring", "test_sys_monitoring.py::test_wrapping_trace[False]",
        "test_sys_trace.py::test_python_level_trace_manipulation", "test_sys_trace.py::test_callback_preservation",
        "test_sys_trace.py::test_callback_wrapping[profiled (trace suspended)",
        "test_sys_trace.py::test_wrapping_line_event_disabling_callback[profiled-True]",
    ],
    "diagnostics of -vv": ["test_kernprof.py::test_kernprof_verbosity[-vv", "test_kernprof.py::test_call_with_diagnostics"],
    "a machine that is not busy": ["test_sys_trace.py::test_wrapping_thread_local_callbacks"],  # a thread within 0.06 s
    "a switch by which modules of namespace packages are not found": ["test_kernprof.py::test_kernprof_m_import_resolution[True"],
}
FILES_NOT_CLAIMED = {
    "test_cython.py": "builds an extension",
    "test_docs_conf.py": "of its documentation",
    "test_eager_preimports.py": "of a private module, which writes a file of imports",
    "test_string_enum.py": "of a private class",
    "test_windows_wheel_repair.py": "of its packaging",
}
# test_autoprofile.py imports these before its other tests.
PRIVATE_CLASSES = """\
import sys

for name, of in (("ast_tree_profiler", "AstTreeProfiler"), ("profmod_extractor", "ProfmodExtractor")):
    module = sys.modules["line_profiler.autoprofile." + name] = type(sys)(name)
    setattr(module, of, None)
"""
WITH_MODULE = "func loop mprofile as global precision_command_line gen unicode nested loop_decorated".split()
WITHOUT = "tracemalloc import memory_usage precision_import exception exit_code mprof async attributes increment_display stream_unicode".split()


def lacks(module):
    return run([PYTHON, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)", module]).status != 0


def program(folder, name):
    """A command of that name, which runs the module."""
    os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
    path = write(os.path.join(folder, "bin"), name, "#!/bin/sh\nexec '%s' -m %s \"$@\"\n" % (PYTHON, name))
    os.chmod(path, 0o755)


def environment(folder):
    return clean_env(PYTHONPATH=sonde("compat-path").out.strip(), PATH=os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"],
                     HOME=folder, IPYTHONDIR=folder)


def test_line_profilers_own_tests_pass(folder):
    for module in ("pytest", "ubelt"):
        if lacks(module):
            raise Skip("no %s; CI=true make test installs it" % module)
    project, name, sha256 = LINE_PROFILER
    tests = unpack_tests(folder, download(project, name + ".tar.gz", sha256), name + "/tests/")
    write(tests, "conftest.py", PRIVATE_CLASSES)
    program(folder, "kernprof")
    words = [word for names in NOT_CLAIMED.values() for name in names for word in ("--deselect", "tests/" + name)]
    words += ["--ignore=tests/" + name for name in FILES_NOT_CLAIMED]
    done = run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", tests] + words, cwd=folder, env=environment(folder),
               limit=1800)
    last = done.out.splitlines()[-1] if done.out else done.err[-500:]
    equal(done.status, 0, "status (%s): %s" % (last, " ".join(re.findall(r"^(?:FAILED|ERROR) (\S+)", done.out, re.M))))
    passed, deselected = [int(re.search(r"(\d+) %s" % what, last).group(1)) for what in ("passed", "deselected")]
    assert passed > 180 and deselected < 70, last
    print("# " + last)


def test_memory_profilers_own_tests_pass(folder):
    project, name, sha256 = MEMORY_PROFILER
    raw = download(project, name + ".tar.gz", sha256)
    inside = unpack_tests(folder, raw, name + "/")
    program(folder, "mprof")
    env = environment(folder)
    os.remove(os.path.join(inside, "mprof.py"))
    os.remove(os.path.join(inside, "memory_profiler.py"))
    if sys.version_info >= (3, 12):  # calls assertRaisesRegexp, which unittest has no more
        path = os.path.join(inside, "test", "test_exit_code.py")
        with open(path) as f:
            text = f.read()
        write(os.path.join(inside, "test"), "test_exit_code.py", text.replace("assertRaisesRegexp", "assertRaisesRegex"))
    wrong = []
    for words in [["-m", "memory_profiler", "test/test_%s.py" % of] for of in WITH_MODULE] + [["test/test_%s.py" % of] for of in WITHOUT]:
        done = run([PYTHON] + words, cwd=inside, env=env, limit=300)
        if done.status != 0:
            wrong.append("%s: %s" % (words[-1], done.err.strip().splitlines()[-1:]))
    equal(wrong, [], "those that fail")
    print("# %d of %d" % (len(WITH_MODULE + WITHOUT), len(WITH_MODULE + WITHOUT)))


run_tests(globals())
