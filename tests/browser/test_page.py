# SPDX-License-Identifier: MIT
"""The page of `report -o x.html` in a real browser: every name that tests and screen readers were promised, one selection
that moves every view, pointer and keyboard, hostile names in every field, what leaves the page, a sandboxed frame.

Chromium does what page.js says and tells what it showed; here that is held against the capture, whose every number is
known, and against `sonde report --json` of the same part.  Both are installed with CI=true only.
"""
import json
import os
import re

from browser import HOSTILE, browse, helpers, need_browser
import made  # found by browser

MS = 10 ** 6


def capture(folder):
    """Four seconds of a main thread, 40 samples 100 ms apart: 20 in f itself (with the lock), 10 in a <listcomp> below it, 10 in
    a name that bites.  A second thread has 10 in g, and 10 idle ones.  Section train is open from 1 s to 3 s."""
    c = made.Capture()
    process = c.track(made.PROCESS, 7, "python " + HOSTILE)
    main, other = c.track(made.THREAD, 7, "MainThread", process), c.track(made.THREAD, 8, HOSTILE, process)
    module, f = c.function("<module>", "/x/app.py", 1), c.function("f", "/x/app.py", 10)
    comp, bad = c.function("<listcomp>", "/x/app.py", 12), c.function(HOSTILE, "/x/" + HOSTILE, 3)
    g, lib = c.function("=g", "/usr/lib/python3.11/json/decoder.py", 20), c.function("scan", "/usr/lib/python3.11/json/scanner.py", 7)
    for i in range(40):
        stack = [(module, 3), (f, 11)] if i < 20 else [(module, 3), (f, 13), (comp, 12)] if i < 30 else [(module, 6), (bad, 4)]
        c.sample(main, c.stack(*stack), (100 * i + 50) * MS, 1, made.GIL if i < 20 else 0, cpu=9 * MS)
    for i in range(10):
        c.sample(other, c.stack((module, 5), (g, 21), (lib, 8)), (400 * i + 75) * MS, 1, cpu=5 * MS)
        c.sample(other, c.stack((module, 5), (g, 22)), (400 * i + 275) * MS, 1, made.IDLE)
    train = c.section("train")
    c.span(main, train, 1000 * MS, 3000 * MS)
    c.span(main, c.section("epoch", train), 1000 * MS, 2000 * MS)
    c.span(main, c.section(HOSTILE), 3000 * MS, 3500 * MS)
    for i in range(41):
        c.memory(process, 100 * MS * i, (10 + i) << 20)
    return c.save(os.path.join(folder, "x.sonde"))


@helpers.once
def seen():
    """What the browser showed, by step; it is started once for all tests."""
    need_browser()
    folder = os.getcwd()
    html = os.path.join(folder, "x.html")
    done = helpers.sonde("report", capture(folder), "-o", html)
    helpers.equal((done.status, done.out), (0, ""), "status and stdout of report (%s)" % done.err)
    return browse("page.js", html, folder)


def reported(*words):
    done = helpers.sonde("report", "--json", *(words + (os.path.join(os.getcwd(), "x.sonde"),)))
    helpers.equal(done.status, 0, "status of report: %s" % done.err)
    return json.loads(done.out)


def figures(step):
    """{function: (self%, cum%)} of the table that was shown."""
    table = seen()[step]["table"]
    at = [table["columns"].index(name) for name in ("function", "self%", "cum%")]
    return {row[at[0]]: (row[at[1]], row[at[2]]) for row in table["rows"]}


def shown(text):
    return text.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")


def told(*words):
    """The same of `report --json`."""
    return {shown(row["function"]): ("%.2f" % row["self%"], "%.2f" % row["cum%"]) for row in reported("--all", *words)["functions"]
            if row["self_samples"] or row["cum_samples"]}


def part(step):
    """The options of `report` for the time that was selected."""
    ends = re.match(r"([\d.]+) s to ([\d.]+) s", seen()[step]["selection"])
    assert ends, seen()[step]["selection"]
    return ["--from", ends.group(1) + "s", "--to", ends.group(2) + "s"]


def test_nothing_is_complained_of_and_nothing_is_asked_of_the_network(folder):
    helpers.equal(seen()["complaints"], [], "complaints")
    asked = {r.split("#")[0] for r in seen()["requests"] if not r.startswith(("data:", "blob:"))}
    here = "file://" + os.getcwd() + "/"
    helpers.equal(asked, {here + "x.html", here + "frame.html", "about:srcdoc"} & asked | {here + "x.html"}, "requests")


def test_the_page_has_the_promised_names(folder):
    names = seen()["names"]
    helpers.equal(set(names["tag"].values()), {"SELECT"})
    helpers.equal([o["label"] for o in names["Section"]["options"]][1:3], ["train", "train:epoch"])
    helpers.equal([o["value"] for o in names["By"]["options"]], ["function", "line", "module"])
    helpers.equal([o["value"] for o in names["Metric"]["options"]][0], "samples")
    helpers.equal({o["value"] for o in names["Thread"]["options"]} - {""}, {"7/7", "7/8"})
    helpers.equal([names[n] for n in ("Idle", "GIL only", "My code")], [False] * 3, "checkboxes")
    helpers.equal(names["unnamed"], [], "what takes the focus without a name")
    for title in ("Functions", "Flame graph", "Call graph", "Calls", "Sections", "Processes", "Threads", "Source"):
        assert title in names["tabs"], names["tabs"]
    helpers.contains(names["title"], "x.sonde")
    for text in ("60 samples", "wall", "peak memory", "1, with 2 threads"):
        helpers.contains(names["banner"], text, "the head")
    helpers.equal(names["plain"], 0, "plain part that is left")


def test_the_plot_begins_at_the_top_of_its_region_and_fills_its_width(folder):
    names = seen()["names"]
    for key in ("x", "y", "width"):
        helpers.between(names["plot"][key], names["region"][key] - 0.01, names["region"][key] + 0.01, key)


def test_figures_are_those_of_report(folder):
    helpers.equal(figures("opened"), told())
    helpers.equal(figures("opened")["f"], ("40.00", "60.00"))
    helpers.equal(seen()["opened"]["selection"], "whole run")
    helpers.equal(seen()["opened"]["table"]["columns"][:2], ["self%", "cum%"])


def test_a_drag_selects_what_report_counts(folder):
    for step, low, high in (("dragged", 1.0, 2.0), ("draggedBack", 2.4, 3.6)):
        ends = [float(x) for x in re.findall(r"([\d.]+) s", seen()[step]["selection"])]
        helpers.between(ends[0], low - 0.1, low + 0.1, "begin")
        helpers.between(ends[1], high - 0.1, high + 0.1, "end")
        helpers.equal([seen()[step]["from"], seen()[step]["to"]], ends, "sliders")
        helpers.equal(figures(step), told(*part(step)))


def test_while_something_is_dragged_ends_move_at_once_and_views_when_the_pointer_rests(folder):
    ends = re.findall(r"([\d.]+) s", seen()["held"]["selection"])
    helpers.equal(len(ends), 2, seen()["held"]["selection"])
    helpers.between(float(ends[1]), 2.9, 3.1, "end")
    helpers.equal(seen()["held"]["to"], float(ends[1]), "slider")
    helpers.equal(seen()["rested"]["selection"], seen()["held"]["selection"], "selection after a rest")
    helpers.equal(figures("rested"), told(*part("rested")))


def test_a_view_that_does_not_follow_says_whole_run(folder):
    helpers.contains(seen()["wholeRun"]["panel"], "whole run")
    assert "whole run" not in seen()["dragged"]["panel"]


def test_section_and_thread_add_to_the_time_and_a_reload_keeps_all(folder):
    helpers.contains(seen()["section"]["selection"], ", section train")
    helpers.equal(figures("section"), told("--section", "train", *part("section")))
    helpers.contains(seen()["thread"]["selection"], ", section train, thread 7/8")
    helpers.equal(figures("thread"), told("--track", "7/8", "--section", "train", *part("thread")))
    for key in ("view", "selection", "hash", "table", "from", "to"):
        helpers.equal(seen()["reloaded"][key], seen()["thread"][key], key)
    helpers.equal(seen()["pressed"]["selection"], "whole run")


def test_findings_are_those_of_report_and_lead_to_their_view(folder):
    helpers.equal(seen()["findings"], [f["text"] for f in reported()["findings"]])
    helpers.between(len(seen()["findings"]), 1, 8, "findings")
    helpers.equal(seen()["followed"]["view"], "Functions")
    assert seen()["followed"]["search"], "nothing is searched for"
    assert "f" in figures("followed"), seen()["followed"]["table"]


def test_options_are_those_of_report(folder):
    for step, words in (("Idle", ["--idle"]), ("GIL only", ["--gil"]), ("My code", ["--mine"]), ("by function", [])):
        helpers.equal(figures(step), told(*words), step)
    helpers.contains(str(seen()["by line"]["table"]["rows"]), "app.py:11")
    assert len(seen()["by module"]["table"]["rows"]) < len(seen()["by line"]["table"]["rows"])


def test_sliders_move_by_slices_and_twentieths(folder):
    names, start = seen()["names"], seen()["slidFrom"]["from"]
    end = seen()["pressed"]["to"]
    helpers.between(start, end / 20, end / 20 + 0.2, "From")
    helpers.equal(seen()["slidFrom"]["to"], end, "To")
    helpers.between(seen()["slidTo"]["to"], end * 0.9 - 0.2, end * 0.9, "To")
    helpers.equal(figures("slidTo"), told(*part("slidTo")))
    helpers.equal(seen()["slidBack"]["selection"], "whole run")
    assert names["region"]["height"] > names["plot"]["height"], "no sliders below the plot"


def test_digits_change_views_outside_text_fields_alone(folder):
    helpers.equal(seen()["digit"]["view"], seen()["names"]["tabs"][1])
    helpers.equal(seen()["typed"]["view"], seen()["searched"]["view"])
    helpers.equal(seen()["typed"]["search"], "listcomp1?m")
    helpers.equal((seen()["typed"]["mine"], seen()["mine"]), (False, True), "My code by m, in the field and outside")
    helpers.contains(seen()["keys"], "search")
    helpers.equal(seen()["dialogs"], 0, "dialogs after Escape")
    helpers.equal(seen()["nextTab"]["view"], seen()["names"]["tabs"][seen()["names"]["tabs"].index("Functions") + 1])


def test_a_search_keeps_rows_that_match_and_adds_them_up(folder):
    helpers.equal(seen()["searched"]["matches"], "matched 20.00 %")
    helpers.equal(list(figures("searched")), ["<listcomp>"])
    helpers.equal((seen()["searchEnded"]["search"], seen()["searchEnded"]["matches"]), ("", ""))
    helpers.equal(seen()["badSearch"]["matches"], "matched 0.00 %", "of what is no expression, searched as text")


def test_tables_sort_walk_and_copy(folder):
    table = seen()["byName"]["table"]
    at = table["columns"].index("function")
    first = [row[at].lower() for row in table["rows"]]
    helpers.equal(first, sorted(first), "names")
    helpers.equal(table["sorts"][at], "ascending")
    helpers.equal([row[at].lower() for row in seen()["byNameDown"]["table"]["rows"]], sorted(first, reverse=True), "names, by Enter")
    helpers.equal(seen()["byNameDown"]["table"]["sorts"][at], "descending")
    for key in ("sorts", "rows"):
        helpers.equal(seen()["byNameAgain"]["table"][key], seen()["byNameDown"]["table"][key], key + " after a reload")
    helpers.equal(table["rowCount"], len(table["rows"]) + 1, "rows with the headings")
    helpers.equal(seen()["walked"]["table"]["active"], "row-%d" % (len(table["rows"]) - 2))
    for text in ("f", "app.py:10", "40.00", "60.00"):
        helpers.contains(seen()["hovered"]["details"], text)
    lines = seen()["csv"].split("\r\n")
    helpers.equal(lines[0].split(",")[:2], ["self%", "cum%"])
    helpers.contains(seen()["csv"], ",'=g,")
    helpers.equal(len(lines), len(table["rows"]) + 2, "lines of CSV")


def test_trees_open_and_close(folder):
    helpers.equal(seen()["closed"]["table"]["role"], "treegrid")
    helpers.equal(seen()["closed"]["table"]["levels"][0], ["1", "false"])
    helpers.equal(seen()["treeOpened"]["table"]["levels"][:2], [["1", "true"], ["2", "true"]])
    helpers.equal([level for level, _ in seen()["treeSearched"]["table"]["levels"]], ["1", "2", "3"], "a match with its callers")


def test_the_flame_graph_is_walked_by_keys(folder):
    assert seen()["root"].startswith("all"), seen()["root"]
    helpers.contains(seen()["down"]["box"], "f (app.py:10), 30 samples, 60.00 %, self ")
    for text in ("f", "/x/app.py", "60.00 %"):
        helpers.contains(seen()["down"]["details"], text)
    assert seen()["right"] != seen()["down"]["box"], "Right stays on %s" % seen()["right"]
    helpers.equal(seen()["zoomed"]["box"], seen()["down"]["box"])
    helpers.equal([seen()["zoomedAgain"][key] for key in ("box", "hash")], [seen()["zoomed"][key] for key in ("box", "hash")], "zoomed, after a reload")
    helpers.equal(seen()["flameSearched"]["matches"], "matched 20.00 %")
    assert seen()["match"].startswith("<listcomp>"), seen()["match"]
    assert seen()["matchBack"].startswith("<listcomp>"), seen()["matchBack"]
    helpers.equal(seen()["orders"], ["Left heavy", "Time order", "Inverted", "Sandwich"])
    assert seen()["inverted"].startswith("f (app.py:10), 20 samples"), "inverted: %s" % seen()["inverted"]
    helpers.contains(seen()["invertedZoom"]["hash"], "zoom=")
    helpers.equal((seen()["reordered"]["box"], "zoom=" in seen()["reordered"]["hash"]), (seen()["root"], False), "root and zoom after another order")
    assert seen()["up"].startswith("<module>"), "Up leads from f to %s" % seen()["up"]
    helpers.equal((seen()["clicked"]["box"], "zoom=" in seen()["clicked"]["hash"]), (seen()["down"]["box"], True), "the box that was clicked, zoomed")


def test_a_search_highlights_boxes(folder):
    assert seen()["isHighlighted"], "the picture is that of before the search"


def test_drawings_are_saved(folder):
    helpers.equal(seen()["svg"]["head"], "<svg")
    helpers.contains(seen()["svg"]["text"], "&lt;listcomp&gt;")
    assert "<script" not in seen()["svg"]["text"], "a name became an element"
    helpers.equal(seen()["png"]["head"], "\x89PNG")
    assert seen()["svg"]["name"].endswith(".svg") and seen()["png"]["name"].endswith(".png")


def test_a_hostile_name_is_only_text(folder):
    helpers.equal(seen()["ran"], ["x.sonde", 1], "title, and scripts of the page")
    names = list(figures("opened"))
    assert any("<script>document.title='run'</script>\\x1b\\u202e" in name for name in names), names
    assert any("\\u202e" in o["label"] for o in seen()["names"]["Thread"]["options"]), seen()["names"]["Thread"]
    assert any("\\u202e" in o["label"] for o in seen()["names"]["Section"]["options"]), seen()["names"]["Section"]


def test_light_dark_print_and_every_width(folder):
    light, dark, system = seen()["grounds"]
    assert light != dark, "the button changes nothing"
    helpers.equal(system, dark, "ground when the system is dark")
    helpers.equal(seen()["printed"]["tabs"], False, "tabs on paper")
    for name, width in seen()["widths"].items():
        helpers.equal(width, int(name.split()[0]), "width of the page, %s" % name)


def test_axe_finds_nothing_serious(folder):
    helpers.need("axe" in seen(), "axe-core is not in build/npm; CI=true make test installs it")
    assert seen()["axeRuns"] >= 10
    helpers.equal(seen()["axe"], [], "what axe finds")


def test_a_sandboxed_frame_shows_and_saves_all(folder):
    helpers.equal(seen()["framedMatches"], "matched 20.00 %")
    assert re.match(r"\d+ rows? copied|The browser does not let", seen()["framedMessage"]), seen()["framedMessage"]
    assert seen()["framedSaved"].endswith(".svg"), seen()["framedSaved"]


helpers.run_tests(globals())
