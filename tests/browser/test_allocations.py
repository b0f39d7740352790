# SPDX-License-Identifier: MIT
"""The page of a capture with allocations: its tables, its flame graph by bytes and by count, heap and RSS over time, and what
stands out, held against `sonde report --alloc --json` of the same capture."""
import json
import os
import re

from browser import browse, helpers, need_browser

PROGRAM = """
import time
cache = {}
def remember(i):
    cache[i] = bytes(20011)
def churn(n):
    for i in range(n):
        bytes(3001)
def spike():
    return len(bytes(8 * 2 ** 20))
def serve():
    for i in range(200):
        remember(i)
        churn(20)
        time.sleep(0.006)
serve()
spike()
"""


@helpers.once
def capture():
    path = helpers.write(os.getcwd(), "served.py", PROGRAM)
    done = helpers.sonde("alloc", "-q", "-o", "served.sonde", "--python", helpers.PYTHON, path)
    helpers.equal((done.status, done.err), (0, ""), "status and stderr of alloc")
    return os.path.join(os.getcwd(), "served.sonde")


@helpers.once
def seen():
    need_browser()
    page = os.path.join(os.getcwd(), "served.html")
    done = helpers.sonde("report", capture(), "-o", page)
    helpers.equal((done.status, done.out), (0, ""), "status and stdout of report (%s)" % done.err)
    told = browse("allocations.js", page, os.environ.get("SCREENSHOTS", os.getcwd()))
    helpers.equal(told["complaints"], [], "complaints")
    return told


def reported(*words):
    done = helpers.sonde("report", capture(), "--alloc", "--json", *words)
    helpers.equal(done.status, 0, "status of report: %s" % done.err)
    return json.loads(done.out)


def rows(table):
    """By function: its row, as text, by column; the largest of several lines."""
    found = {}
    for row in table["rows"]:
        row = dict(zip(table["columns"], row))
        found.setdefault(row["function"], row)
    return found


def test_every_kind_of_block_is_a_tab(folder):
    told = seen()
    for name in ("Functions", "Flame graph", "Source", "Peak of allocations", "Leaks", "Growing memory", "Temporary allocations", "All allocations"):
        assert name in told["tabs"], (name, told["tabs"])
    for name, options in (("Peak of allocations", []), ("Leaks", ["--leaks"]), ("Temporary allocations", ["--temporary"]), ("All allocations", ["--total"]),
                          ("Growing memory", ["--growing"])):
        shown, ours = rows(told[name]), {}
        for row in reported(*options)["allocations"]:
            ours.setdefault(row["function"], row)
        first = max((r for r in ours.values() if r["function"]), key=lambda r: r["bytes"])["function"]
        helpers.equal(shown[first]["count"].replace(",", ""), str(ours[first]["count"]), "blocks of %s under %s" % (first, name))


def test_what_grows_and_what_is_temporary(folder):
    told = seen()
    helpers.equal(rows(told["Growing memory"])["remember"]["growth"].split()[1], "MiB", "growth of remember")
    assert "churn" not in rows(told["Growing memory"]), told["Growing memory"]
    helpers.equal(rows(told["Temporary allocations"])["churn"]["count"], "4,000", "temporary blocks of churn")
    assert "spike" not in rows(told["Leaks"]), told["Leaks"]


def test_functions_show_the_chosen_metric_alone(folder):
    told = seen()
    helpers.equal([c for c in told["functions"]["columns"] if "peak" in c],
                  ["self_peak_bytes", "cum_peak_bytes", "self_peak_blocks", "cum_peak_blocks"], "columns of the peak")
    assert not [c for c in told["functions"]["columns"] if "leaked" in c or "temporary" in c], told["functions"]["columns"]
    assert "self_allocations" in told["counted"]["columns"] and "self_peak_bytes" not in told["counted"]["columns"], told["counted"]["columns"]
    assert {"peak_bytes", "leaked_bytes", "temporary_bytes", "bytes", "allocations"} <= set(told["metrics"]), told["metrics"]


def test_the_flame_graph_is_of_bytes_or_blocks(folder):
    told, alloc = seen(), reported()["alloc"]
    assert "MiB" in told["peak"], told["peak"]
    shown = int(re.search(r"^all, ([\d,]+) allocations, 100.00 %", told["count"]).group(1).replace(",", ""))
    # All but what Sonde's own start allocated, which is in no table.
    helpers.between(shown, 0.8 * alloc["allocations"], alloc["allocations"], "blocks in all")


def test_time_and_findings(folder):
    told = seen()
    helpers.contains(told["timeline"], "Live heap", "timeline")
    helpers.contains(told["timeline"], "Resident memory", "timeline")
    text = " ".join(told["findings"])
    helpers.contains(text, "spike (served.py:10) holds 8.0 MiB", "findings")
    helpers.contains(text, "Memory that remember (served.py:5) allocates only grows", "findings")
    assert "time is" not in text, text
    helpers.equal(told["linked"], "Peak of allocations", "where the first finding leads")


helpers.run_tests(globals())
