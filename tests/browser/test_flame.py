# SPDX-License-Identifier: MIT
"""The flame graph in a real browser: opened from disk, hovered, zoomed, searched, walked by keyboard.

Chromium does what flame.js says and tells what it showed; here that is held against the capture,
whose every number is known.  Both are installed with CI=true only.
"""
import os
import re

from browser import HOSTILE, browse, helpers, need_browser
import made  # found by browser

MS = 10 ** 6


def capture(folder):
    """100 samples: 60 in f itself, 20 in a <listcomp> below it and 10 in one beside it, 9 in a name that bites, 1 in <module>."""
    c = made.Capture()
    main = c.track(made.THREAD, 7, "MainThread", c.track(made.PROCESS, 7, "python"))
    module, f = c.function("<module>", "/x/app.py", 1), c.function("f", "/x/app.py", 10)
    comp, bad = c.function("<listcomp>", "/x/app.py", 12), c.function(HOSTILE, "/x/" + HOSTILE, 3)
    c.sample(main, c.stack((module, 3), (f, 11)), 10 * MS, 60, made.GIL)
    c.sample(main, c.stack((module, 3), (f, 13), (comp, 12)), 20 * MS, 20)
    c.sample(main, c.stack((module, 5), (comp, 12)), 30 * MS, 10)
    c.sample(main, c.stack((module, 6), (bad, 4)), 40 * MS, 9)
    c.sample(main, c.stack((module, 7)), 50 * MS, 1)
    c.sample(main, c.stack((module, 7)), 60 * MS, 50, made.IDLE)
    return c.save(os.path.join(folder, "x.sonde"))


@helpers.once
def seen():
    """What the browser showed, by step; it is started once for all tests."""
    need_browser()
    folder = os.getcwd()
    svg = os.path.join(folder, "x.svg")
    helpers.equal(helpers.sonde("convert", capture(folder), svg).status, 0, "status of convert")
    helpers.equal(helpers.sonde("report", "--flame", "--match", "listcomp", "-o", os.path.join(folder, "matched.svg"),
                                os.path.join(folder, "x.sonde")).status, 0, "status of report")
    return browse("flame.js", svg, folder)


def by_label(step):
    """{start of the label: box} of the boxes that are shown."""
    return {re.sub(r" \([^()]* samples, .*", "", box["label"], flags=re.S): box for box in seen()[step]["boxes"]}


def width_of(step, label):
    """As a share of the widest box, which is the whole."""
    boxes = by_label(step)
    return boxes[label]["width"] / max(b["width"] for b in boxes.values())


def test_nothing_is_complained_of_and_nothing_is_asked_of_the_network(folder):
    helpers.equal(seen()["complaints"], [], "complaints")
    helpers.equal({r.split("#")[0] for r in seen()["requests"]},
                  {"file://" + os.path.join(os.getcwd(), name) for name in ("x.svg", "matched.svg")}, "requests")


def test_widths_are_the_shares_of_the_capture(folder):
    for label, share in (("all", 1), ("<module> (app.py:1)", 1), ("f (app.py:10)", 0.8)):
        helpers.between(width_of("opened", label), share - 0.002, share + 0.002, label)
    comps = sorted(b["width"] for b in seen()["opened"]["boxes"] if b["label"].startswith("<listcomp>"))
    whole = by_label("opened")["all"]["width"]
    helpers.between(comps[0] / whole, 0.098, 0.102, "the <listcomp> beside f")
    helpers.between(comps[1] / whole, 0.198, 0.202, "the <listcomp> below f")
    helpers.between(whole, 1240, 1280, "pixels of the whole in a window of 1280")


def test_boxes_lie_inside_their_parents_and_text_inside_its_box(folder):
    for step in ("opened", "zoomed", "flipped", "narrow"):
        for box in seen()[step]["boxes"]:
            assert box["textWidth"] <= box["width"] + 0.5, "%s: text of %r leaves its box" % (step, box)
            helpers.between(box["x"], 11.9, seen()[step]["width"], "x of %s" % box["label"])
            helpers.between(box["x"] + box["width"], 11.9, seen()[step]["width"] - 11, "end of %s" % box["label"])


def test_a_hostile_name_is_only_text(folder):
    hostile = [b["label"] for b in seen()["opened"]["boxes"] if "script" in b["label"]]
    helpers.equal(len(hostile), 1, "boxes of that name")
    helpers.contains(hostile[0], "]]></script><script>document.title='run'</script>\\x1b\\u202e\\xff")


def test_hovering_tells_function_place_and_shares(folder):
    lines = re.sub(r"\s+", " ", seen()["hovered"]["card"])
    helpers.contains(lines, "f app.py:10 total 80 samples 80.00 % self 60 samples 60.00 %")


def test_a_click_zooms_and_the_address_keeps_it(folder):
    boxes = by_label("zoomed")
    helpers.between(width_of("zoomed", "f (app.py:10)"), 0.999, 1, "f")
    helpers.between(width_of("zoomed", "<listcomp> (app.py:12)"), 0.248, 0.252, "its <listcomp>")
    assert boxes["<module> (app.py:1)"]["isAbove"] and boxes["all"]["isAbove"], "what is above is not faded"
    helpers.equal(len(seen()["zoomed"]["boxes"]), 4, "boxes shown")
    assert re.fullmatch(r"#z=\d+", seen()["zoomed"]["hash"]), seen()["zoomed"]["hash"]
    helpers.equal([b["label"] for b in seen()["reloaded"]["boxes"]], [b["label"] for b in seen()["zoomed"]["boxes"]], "boxes after a reload")


def test_reset_back_and_escape(folder):
    helpers.equal(len(seen()["reset"]["boxes"]), 6, "boxes after a reset")
    helpers.equal(len(seen()["back"]["boxes"]), 4, "boxes after the browser's back")
    helpers.equal(len(seen()["escaped"]["boxes"]), 6, "boxes after Escape")


def test_search_marks_and_adds_up(folder):
    helpers.equal(seen()["searched"]["found"], "matched 30.00 %")
    helpers.equal(sorted(b["label"][:10] for b in seen()["searched"]["boxes"] if b["isFound"]), ["<listcomp>"] * 2)
    helpers.equal(seen()["searched"]["hash"], "#s=listcomp")
    assert seen()["next"]["focused"].startswith("<listcomp>"), "Enter goes to a box that was found"
    helpers.equal(seen()["cleared"]["found"], "")
    helpers.equal(len([b for b in seen()["cleared"]["boxes"] if b["isFound"]]), 0, "marks after Escape")
    helpers.equal(seen()["badSearch"]["found"], "matched 0.00 %", "of what is no expression, searched as text")


def test_match_is_searched_for_when_it_is_opened(folder):
    helpers.equal(seen()["matched"]["found"], "matched 30.00 %")
    helpers.equal(sorted(b["label"][:10] for b in seen()["matched"]["boxes"] if b["isFound"]), ["<listcomp>"] * 2)


def test_the_keyboard_goes_everywhere(folder):
    assert seen()["down"]["focused"].startswith("f (app.py:10)"), seen()["down"]["focused"]
    assert seen()["right"]["focused"].startswith("<listcomp>"), seen()["right"]["focused"]
    helpers.contains(seen()["right"]["card"], "10 samples")
    helpers.between(width_of("entered", "f (app.py:10)"), 0.999, 1, "f after Enter")
    helpers.contains(seen()["help"]["card"], "Escape")


def test_flipping_puts_the_first_call_below(folder):
    before, after = by_label("opened"), by_label("flipped")
    assert before["all"]["y"] < before["f (app.py:10)"]["y"]
    assert after["all"]["y"] > after["f (app.py:10)"]["y"]


def test_a_narrow_window_holds_it_all(folder):
    helpers.between(by_label("narrow")["all"]["width"], 600, 640, "pixels of the whole in a window of 640")


helpers.run_tests(globals())
