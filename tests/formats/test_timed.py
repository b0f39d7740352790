# SPDX-License-Identifier: MIT
"""Timed statements, as pyperf reads them."""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import PYTHON, SONDE, clean_env, contains, equal, need, run, run_tests  # noqa: E402

STATEMENTS = ("sum(range(1000))", "sum(range(2000))")


def measured(folder):
    """Its figures; x.sonde and x.pyperf.json are there."""
    result = run([SONDE, "time", "--python", PYTHON, "--json", "--budget", "300ms", "-o", "x.sonde", STATEMENTS[0], "--against", STATEMENTS[1]],
                 cwd=folder, env=clean_env(PYTHONPATH=None), limit=200)
    equal(result.status, 0, result.err)
    equal(run([SONDE, "convert", "x.sonde", "x.pyperf.json"], cwd=folder).status, 0)
    return json.loads(result.out)["results"]


def test_every_value_is_a_batch_that_counts(folder):
    figures = measured(folder)
    with open(os.path.join(folder, "x.pyperf.json")) as f:
        benchmarks = json.load(f)["benchmarks"]
    for one, told in zip(benchmarks, figures):
        values = [value for r in one["runs"] for value in r["values"]]
        equal(len(values), told["batches"])
        assert abs(statistics.median(values) * 1e9 / told["median_ns"] - 1) < 0.02, (statistics.median(values), told["median_ns"])
        assert all(r["metadata"]["loops"] == told["loops"] for r in one["runs"])


def test_a_statement_longer_than_a_time_slice_has_values(folder):
    text = "import time\nend = time.thread_time() + 0.03\nwhile time.thread_time() < end:\n    pass"
    done = run([SONDE, "time", "--python", PYTHON, "--json", "--budget", "600ms", "--processes", "3", text, "-o", "long.pyperf.json"],
               cwd=folder, env=clean_env(PYTHONPATH=None), limit=200)
    equal(done.status, 0, done.err)
    with open(os.path.join(folder, "long.pyperf.json")) as f:
        values = [value for r in json.load(f)["benchmarks"][0]["runs"] for value in r["values"]]
    told = json.loads(done.out)["results"][0]
    equal(len(values), told["batches"])
    assert abs(statistics.median(values) * 1e9 / told["median_ns"] - 1) < 0.02, (values, told)


def test_pyperf_reads_what_we_write(folder):
    try:
        import pyperf
    except ImportError:
        pyperf = None
    need(pyperf, "no pyperf; CI=true make test installs it")

    figures = measured(folder)
    suite = pyperf.BenchmarkSuite.load(os.path.join(folder, "x.pyperf.json"))
    equal(sorted(suite.get_benchmark_names()), sorted(STATEMENTS))
    for told in figures:
        benchmark = suite.get_benchmark(told["statement"])
        equal(benchmark.get_nvalue(), told["batches"])
        equal(benchmark.get_unit(), "second")
        assert abs(benchmark.median() * 1e9 / told["median_ns"] - 1) < 0.02, (benchmark.median(), told["median_ns"])
    for command in (["show"], ["stats"], ["hist"], ["metadata"]):
        done = run([PYTHON, "-m", "pyperf"] + command + ["x.pyperf.json"], cwd=folder, env=clean_env(PYTHONPATH=None))
        equal(done.status, 0, done.err)
        contains(done.out, STATEMENTS[0])
    done = run([SONDE, "time", "--python", PYTHON, "--budget", "100ms", "pass", "-o", "pass.pyperf.json"], cwd=folder, env=clean_env(PYTHONPATH=None))
    equal(done.status, 0, done.err)
    equal(pyperf.Benchmark.load(os.path.join(folder, "pass.pyperf.json")).get_name(), "pass")


run_tests(globals())
