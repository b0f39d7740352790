# SPDX-License-Identifier: MIT
# interpreters: newest
"""CPython 3.15's own tests of the command line of profiling.sampling, run on Sonde through the folder of `sonde compat-path`.

The file imports parts of CPython's sampler, which ours does not have; names without content stand for them, so that the
file loads.  What is tested is `main`, which is ours.  Tests that look at those parts are named with their reason.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, clean_env, contains, equal, need, run, run_tests, sonde, write  # noqa: E402

COORDINATOR = "theirs starts the program by its private module _sync_coordinator, ours by `sonde record`"
SAMPLE = "it looks at the call of the private function sample, which ours does not have"
DUMP = "it looks at the call of the private function dump_stack, which ours does not have"
ASYNC = "--async-aware is refused: stacks are those of threads"
PARTS = "it calls private parts: collectors, readers, names of files"
NOT_CLAIMED = {
    "test_cli_module_argument_parsing": COORDINATOR,
    "test_cli_module_with_arguments": COORDINATOR,
    "test_cli_module_with_profiler_options": COORDINATOR,
    "test_cli_long_module_option": COORDINATOR,
    "test_cli_script_argument_parsing": COORDINATOR,
    "test_cli_script_with_arguments": COORDINATOR,
    "test_cli_script_with_profiler_options": COORDINATOR,
    "test_cli_complex_script_arguments": COORDINATOR,
    "test_argument_parsing_basic": SAMPLE,
    "test_async_aware_default_is_none": SAMPLE,
    "test_cli_custom_output_filenames": SAMPLE,
    "test_cli_default_collapsed_filename": SAMPLE,
    "test_sort_options": SAMPLE,
    "test_cli_dump_subcommand": DUMP,
    "test_cli_dump_subcommand_options": DUMP,
    "test_cli_dump_process_exits_before_snapshot": DUMP,
    "test_async_aware_flag_defaults_to_running": ASYNC,
    "test_async_aware_with_async_mode_all": ASYNC,
    "test_cli_dump_async_aware_defaults_to_all": ASYNC,
    "test_cli_dump_async_mode_all_is_forwarded": ASYNC,
    "test_cli_dump_async_mode_running_is_forwarded": ASYNC,
    "test_cli_binary_create_collector_propagates_mode": PARTS,
    "test_cli_jsonl_create_collector_propagates_mode": PARTS,
    "test_cli_jsonl_extension_in_format_extensions": PARTS,
    "test_cli_replay_propagates_recorded_mode": PARTS,
    "test_cli_replay_reader_errors_exit_cleanly": PARTS,
    "test_handle_output_browser_not_opened_when_export_fails": PARTS,
}
DRIVER = """\
import sys, types, unittest
import profiling.sampling.cli as cli
import profiling.sampling.errors as errors
import sonde.compat.profiling.sampling.errors
assert "/sonde/compat/profiling/" in cli.__file__, cli.__file__
assert errors.SamplingProfilerError is sonde.compat.profiling.sampling.errors.SamplingProfilerError

def stand_in(module, *names):
    name = "profiling.sampling." + module
    made = sys.modules.setdefault(name, types.ModuleType(name))
    for one in names:
        assert not hasattr(made, one), one + " is there"
        setattr(made, one, None)

stand_in("binary_reader", "BinaryReader")
stand_in("jsonl_collector", "JsonlCollector")
stand_in("constants", "PROFILING_MODE_ALL", "PROFILING_MODE_CPU", "PROFILING_MODE_WALL")
# The first five are imported, the others replaced while a test runs.
stand_in("cli", "FORMAT_EXTENSIONS", "_create_collector", "_generate_output_filename", "_handle_output", "_replay_with_reader",
         "sample", "_is_process_running", "dump_stack", "print_stack_dump")
from test.test_profiling.test_sampling_profiler import test_cli

named = unittest.defaultTestLoader.getTestCaseNames(test_cli.TestSampleProfilerCLI)
print("lacking", sorted(set(sys.argv[1:]) - set(named)))
suite = unittest.TestSuite(test_cli.TestSampleProfilerCLI(name) for name in named if name not in sys.argv[1:])
ended = unittest.TextTestRunner(verbosity=0).run(suite)
print("skipped", len(ended.skipped), "of", len(named))
sys.exit(not ended.wasSuccessful())
"""


def test_cli_tests_of_cpython_pass(folder):
    need(sys.version_info >= (3, 15), "Python %d.%d has no profiling.sampling" % sys.version_info[:2])
    base = os.path.realpath(PYTHON)
    has_tests = run([base, "-c", "import test.test_profiling.test_sampling_profiler"], cwd=folder, env=clean_env(PYTHONPATH=None))
    need(has_tests.status == 0, "this Python has no test.test_profiling")
    env = clean_env(PYTHONPATH=sonde("compat-path").out.strip(), PYTHONHOME=sys.base_prefix, TMPDIR=folder)
    result = run([base, write(folder, "driver.py", DRIVER)] + sorted(NOT_CLAIMED), cwd=folder, env=env)
    equal(result.status, 0, "status (%s)" % result.err[-1500:])
    contains(result.out, "lacking []", "tests that are named here and not there")
    contains(result.out, "skipped 0 of")
    ran = re.search(r"Ran (\d+) tests? in", result.err)
    assert ran and int(ran.group(1)) >= 28, result.err[-500:]
    print("# %s of %s" % (ran.group(1), result.out.split()[-1]))


run_tests(globals())
