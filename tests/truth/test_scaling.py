# SPDX-License-Identifier: MIT
# interpreters: oldest and newest in CI
# alone
"""`sonde calls --scaling`: growth that is known by construction is found and flagged, and what does not
grow is left alone.

Everything is of CPU time, which other programs on the machine change little, and of two runs put together; exponents have
a tolerance of 0.4 besides, because the lower terms of a loop are in them.  What tells n from n log n is a factor of two, and
caches are worth as much on a busy machine: that the right class is named is tested with made-up times
(src/analyse/growth/growth_test.c); here no wrong one may be.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import Skip, TARGETS, between, contains, equal, once, run_tests, sonde  # noqa: E402

import shutil
import tempfile

FOLDER = tempfile.mkdtemp(prefix="sonde-scaling-", dir=os.environ.get("TMPDIR"))


def recorded(what, times=1):
    captures = [os.path.join(FOLDER, "%s%d.sonde" % (what, i)) for i in range(times)]
    for capture in captures:
        done = sonde("calls", "--scaling", "-o", capture, "--python", sys.executable,
                     os.path.join(TARGETS, "growing.py"), what)
        assert done.status == 0, done.err
    return captures


def rows_of(captures):
    done = sonde("report", *captures, "--scaling", "--json")
    assert done.status == 0, done.err
    return json.loads(done.out)


everything = once(lambda: recorded("everything", 2))
rows_of_everything = once(lambda: rows_of(everything()))


def row_of(name):
    rows = [r for r in rows_of_everything()["scaling"] if r["function"] == name]
    equal(len(rows), 1, "rows of " + name)
    return rows[0]


def grows(name, argument, exponent, named, flagged):
    """`named` is among the possible classes, unless none is: where the core is shared for half of a run, n² is about n^1.8."""
    row = row_of(name)
    equal(row["argument"], argument, "the argument of " + name)
    between(row["exponent"], exponent - 0.4, exponent + 0.4, "exponent of " + name)
    assert named is None or named in row["growth"] or row["growth"].startswith(("about", "undecided")), "%s grows as %r: %r" % (name, row["growth"], row)
    equal(bool(row["flag"]), flagged, "flag of %s (%r)" % (name, row))
    return row


def test_constant_time_is_not_flagged(folder):
    """What its class is depends on one disturbed moment: that is tested with made-up times."""
    row = row_of("constant")
    equal(row["argument"], "len(rows)", "argument")
    equal(bool(row["flag"]), False, "flag of %r" % row)


def test_n_is_n(folder):
    row = grows("linear", "len(rows)", 1, None, False)
    between(row["at_10x"] / row["at_largest"], 4, 26, "ten times the size")


def test_n_log_n_is_not_flagged(folder):
    grows("n_log_n", "len(rows)", 1.2, None, False)


def test_squares_are_flagged(folder):
    row = grows("square", "len(rows)", 2, "n²", True)
    between(row["at_10x"] / row["at_largest"], 30, 300, "ten times the size")
    assert row["exponent_low"] <= row["exponent"] <= row["exponent_high"], row
    between(row["own_exponent"], 1.6, 2.4, "of its own time")


def test_cubes_are_flagged(folder):
    grows("cube", "len(rows)", 3, "n³", True)


def test_a_caller_is_flagged_through_what_it_calls(folder):
    row = grows("calls_square", "len(rows)", 2, "n²", True)
    equal(row["through"], "square", "where the time is")


def test_a_number_is_a_size(folder):
    grows("of_number", "n", 2, "n²", True)


def test_two_sizes_are_multiplied(folder):
    row = row_of("pairs")
    assert row["argument"] in ("len(left) · len(right)", "len(right) · len(left)"), row
    between(row["exponent"], 0.7, 1.3, "of the product")
    equal(row["flag"], "faster than linear when both grow", "flag")


def test_one_run_of_a_recursion_shows_its_growth(folder):
    row = row_of("halves")
    equal(row["argument"], "len(rows)", "argument")
    between(row["exponent"], 0.8, 1.6, "exponent")
    assert not row["flag"], row


def test_every_step_of_a_number_is_exponential(folder):
    row = row_of("naive")
    equal(row["argument"], "n", "argument")
    contains(row["growth"], "exponential", "growth")
    between(float(row["growth"].split("×")[1].split()[0]), 1.4, 1.9, "factor of each step")
    assert row["flag"] and row["exponent"] is None, row


def test_the_points_are_there_to_fit_again(folder):
    points = [p for p in rows_of_everything()["scaling_points"] if p["function"] == "square"]
    assert len(points) >= 8, points
    equal(points[-1]["size"], 1000, "largest size")
    between(points[-1]["time"] / points[-1]["fitted"], 0.5, 2, "curve at the largest size")
    largest = [p["time"] for p in points if p["size"] == points[-1]["size"]]
    between(row_of("square")["at_largest"], min(largest), max(largest), "what was measured at the largest size")


def test_text_csv_and_picture(folder):
    captures = everything()
    done = sonde("report", *captures, "--scaling")
    equal(done.status, 0, "status")
    contains(done.out, "faster than linear", "the table")
    names = [line.split()[0] for line in done.out.splitlines() if "growing.py:" in line]
    assert names.index("square") < names.index("linear"), names     # what is flagged comes first
    done = sonde("report", *captures, "--scaling", "--csv", "--match", "^cube$")
    contains(done.out.splitlines()[0], "exponent_low", "heading of the CSV")
    equal(len(done.out.splitlines()), 2, "lines of CSV")
    picture = os.path.join(folder, "growth.svg")
    done = sonde("report", *captures, "--scaling", "-o", picture)
    assert done.status == 0, done.err
    with open(picture, encoding="utf-8") as file:
        drawn = file.read()
    for word in ("square", "cube", "len(rows)", "CPU time of a call"):
        contains(drawn, word, "the picture")


def test_one_size_gives_no_alarm(folder):
    capture = os.path.join(folder, "x.sonde")
    done = sonde("calls", "--scaling", "-o", capture, "--json", "--python", sys.executable,
                 os.path.join(TARGETS, "growing.py"), "same_size")
    assert done.status == 0, done.err
    equal([r for r in json.loads(done.out)["scaling"] if r["flag"]], [], "what is flagged")


def test_noise_gives_no_alarm(folder):
    rows = rows_of(recorded("noise"))["scaling"]
    assert any(r["function"] == "noisy" for r in rows), rows
    equal([r for r in rows if r["flag"]], [], "what is flagged")


def test_arrays_have_sides(folder):
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise Skip("no numpy")
    rows = {r["function"]: r for r in rows_of(recorded("arrays"))["scaling"]}
    equal(rows["sides"]["argument"], "a.shape[0]", "argument")
    between(rows["sides"]["exponent"], 1.5, 2.5, "exponent of sides")
    equal(rows["sides"]["flag"], "faster than linear", "flag of sides")
    equal(rows["elements"]["argument"], "v.size", "argument")
    between(rows["elements"]["exponent"], 0.5, 1.5, "exponent of elements")
    assert not rows["elements"]["flag"], rows["elements"]


def test_without_sizes_the_way_is_shown(folder):
    capture = os.path.join(folder, "plain.sonde")
    done = sonde("calls", "-o", capture, "--python", sys.executable, "-c", "def f(x): return x\nf(1)")
    assert done.status == 0, done.err
    done = sonde("report", capture, "--scaling")
    equal(done.status, 1, "status")
    contains(done.err, "sonde calls --scaling", "what to do")


try:
    run_tests(globals())
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
