# SPDX-License-Identifier: MIT
"""The call graph in a real browser: opened from disk, hovered, zoomed, dragged, searched, asked for callers and callees.

Chromium does what graph.js says and tells what it showed; here that is held against the capture,
whose every number is known.  Both are installed with CI=true only.
"""
import os
import re

from browser import HOSTILE, browse, helpers, need_browser
import made  # found by browser

MS = 10 ** 6

def capture(folder):
    """100 samples: <module> 1, f 60, its <listcomp> 20, a <listcomp> beside it 10, in it a leaf 3, a name that bites 6."""
    c = made.Capture()
    main = c.track(made.THREAD, 7, "MainThread", c.track(made.PROCESS, 7, "python"))
    module, f = c.function("<module>", "/x/app.py", 1), c.function("f", "/x/app.py", 10)
    comp, bad, leaf = c.function("<listcomp>", "/x/app.py", 12), c.function(HOSTILE, "/x/" + HOSTILE, 3), c.function("leaf", "/x/app.py", 20)
    c.sample(main, c.stack((module, 3), (f, 11)), 10 * MS, 60, made.GIL)
    c.sample(main, c.stack((module, 3), (f, 13), (comp, 12)), 20 * MS, 20)
    c.sample(main, c.stack((module, 5), (comp, 12)), 30 * MS, 10)
    c.sample(main, c.stack((module, 5), (comp, 12), (leaf, 21)), 35 * MS, 3)
    c.sample(main, c.stack((module, 6), (bad, 4)), 40 * MS, 6)
    c.sample(main, c.stack((module, 7)), 50 * MS, 1)
    return c.save(os.path.join(folder, "x.sonde"))


@helpers.once
def seen():
    """What the browser showed, by step; it is started once for all tests."""
    need_browser()
    folder = os.getcwd()
    svg = os.path.join(folder, "x.svg")
    helpers.equal(helpers.sonde("report", capture(folder), "--graph", "-o", svg).status, 0, "status of report")
    return browse("graph.js", svg, folder)


def by_label(step):
    """{name: function} as it is drawn."""
    return {n["label"].split(", ")[0]: n for n in seen()[step]["nodes"]}


def test_nothing_is_complained_of_and_nothing_is_asked_of_the_network(folder):
    helpers.equal(seen()["complaints"], [], "complaints")
    asked = {r.split("#")[0] for r in seen()["requests"]}
    helpers.equal(asked, {"file://" + os.path.join(os.getcwd(), "x.svg")}, "requests")


def test_every_function_and_call_is_drawn(folder):
    names = sorted(by_label("opened"))
    helpers.equal(len(names), 5, "functions")
    assert {"app:1:<module>", "app:10:f", "app:12:<listcomp>", "app:20:leaf"} <= set(names), names
    calls = sorted(e["label"].split(", ")[0] for e in seen()["opened"]["edges"])
    helpers.equal([c for c in calls if "script" not in c],
                  ["app:10:f → app:12:<listcomp>", "app:12:<listcomp> → app:20:leaf", "app:1:<module> → app:10:f",
                   "app:1:<module> → app:12:<listcomp>"], "calls")
    helpers.equal(len(calls), 5, "calls")


def test_it_opens_in_the_window_and_callers_stand_above(folder):
    s, nodes = seen()["opened"], by_label("opened")
    for n in nodes.values():
        helpers.between(n["x"], 0, s["width"] - n["width"], "x of %s" % n["label"])
        helpers.between(n["y"], 60, s["height"] - n["height"], "y of %s" % n["label"])
    for above, below in (("app:1:<module>", "app:10:f"), ("app:10:f", "app:12:<listcomp>"), ("app:12:<listcomp>", "app:20:leaf")):
        assert nodes[above]["y"] + nodes[above]["height"] < nodes[below]["y"], "%s is not above %s" % (above, below)


def test_boxes_do_not_overlap_and_hold_their_text(folder):
    for step in ("opened", "zoomed", "narrow"):
        nodes = seen()[step]["nodes"]
        for i, a in enumerate(nodes):
            assert a["textX"] >= a["x"] - 0.5 and a["textX"] + a["textWidth"] <= a["x"] + a["width"] + 0.5, "%s: text of %r leaves its box" % (step, a)
            assert a["textY"] >= a["y"] - 1 and a["textY"] + a["textHeight"] <= a["y"] + a["height"] + 1, "%s: text of %r leaves its box" % (step, a)
            for b in nodes[:i]:
                assert (a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"] or a["y"] + a["height"] <= b["y"]
                        or b["y"] + b["height"] <= a["y"]), "%s: %r and %r overlap" % (step, a["label"], b["label"])


def test_a_hostile_name_is_only_text(folder):
    hostile = [n["label"] for n in seen()["opened"]["nodes"] if "script" in n["label"]]
    helpers.equal(len(hostile), 1, "functions of that name")
    helpers.contains(hostile[0], "]]></script><script>document.title='run'</script>\\x1b\\u202e\\xff")


def test_hovering_tells_function_place_shares_callers_and_callees(folder):
    card = re.sub(r"\s+", " ", seen()["hovered"]["card"])
    for part in ("app:10:f", "/x/app.py:10", "total 80.00%, 80 samples", "self 60.00%, 60 samples", "called by 80.00% app:1:<module>",
                 "calls 20.00% app:12:<listcomp>"):
        helpers.contains(card, part)


def test_the_wheel_zooms_where_the_pointer_is_and_dragging_moves(folder):
    before, zoomed, dragged = by_label("opened")["app:10:f"], by_label("zoomed")["app:10:f"], by_label("dragged")["app:10:f"]
    helpers.between(zoomed["width"] / before["width"], 1.5, 3, "zoom of 400")
    middle = [n["x"] + n["width"] / 2 for n in (before, zoomed)]
    helpers.between(middle[1] - middle[0], -2, 2, "how far what is below the pointer moved")
    helpers.between(dragged["x"] - zoomed["x"], 98, 102, "dragged to the right")
    helpers.between(dragged["y"] - zoomed["y"], -52, -48, "dragged up")
    helpers.between(by_label("fitted")["app:10:f"]["width"], before["width"] - 1, before["width"] + 1, "width after Fit")


def test_a_click_shows_callers_and_callees_and_the_address_keeps_it(folder):
    for step in ("chosen", "reloaded"):
        nodes = by_label(step)
        strong = sorted(name for name, n in nodes.items() if n["opacity"] == 1)
        helpers.equal(strong, ["app:10:f", "app:12:<listcomp>", "app:1:<module>"], "functions that stand out (%s)" % step)
        edges = [e for e in seen()[step]["edges"] if e["opacity"] == 1]
        helpers.equal(len(edges), 2, "calls that stand out (%s)" % step)
        assert re.fullmatch(r"#n=\d+", seen()[step]["hash"]), seen()[step]["hash"]
    assert all(n["opacity"] == 1 for n in seen()["cleared"]["nodes"]), "Escape shows all of it again"


def test_search_marks_and_goes_from_one_to_the_next(folder):
    s = seen()["searched"]
    helpers.equal(s["found"], "2 found")
    helpers.equal(sorted(n["label"].split(", ")[0] for n in s["nodes"] if n["isFound"]), ["app:12:<listcomp>", "app:20:leaf"], "found")
    helpers.equal(s["hash"], "#s=listcomp%7Cleaf")
    helpers.contains(seen()["next"]["card"], "app:12:<listcomp>")
    helpers.equal(seen()["unsearched"]["found"], "")
    helpers.equal(seen()["badSearch"]["found"], "0 found", "of what is no expression, searched as text")


def test_the_keyboard_does_the_same(folder):
    assert any(n["opacity"] < 1 for n in seen()["entered"]["nodes"]), "Enter chooses nothing"
    helpers.contains(seen()["help"]["card"], "Escape")


helpers.run_tests(globals())
