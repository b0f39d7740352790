# SPDX-License-Identifier: MIT
# patient
"""A view is a file and a line: a copy of the source gets both, is built, and has the view in its tables, in JSON, in help, and
as a tab of the page, whose own files stay as they are.
"""
import json
import os
import shutil
import subprocess

from browser import browse, helpers, need_browser
import made  # found by browser

SOURCE = os.environ.get("SONDE_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINE = 'VIEW(toy, "Toys", TABLE, ANY, ALWAYS, PLAIN, NOTHING, NULL, sd_view_toy)\n'
FILE = """\
#include "analyse/views.h"

int sd_view_toy(const struct sd_profile *p, const struct sd_view_request *r, struct sd_view *v)
{
    static const struct sd_column columns[] = { { "toy", "what it is", SD_CELL_TEXT, false, 0 },
                                                { "tracks", "how many there are", SD_CELL_COUNT, false, 0 } };
    struct sd_view_table *t = sd_views_add(v, "toy", columns, 2, 1);

    (void)r;
    if (!t)
        return -1;
    *sd_view_cell(t, 0, 0) = sd_cell_text("a teddy bear");
    *sd_view_cell(t, 0, 1) = sd_cell_number(SD_CELL_COUNT, (int64_t)p->n_tracks);
    return 0;
}
"""


@helpers.once
def program():
    """`sonde` with one more view."""
    top = os.path.join(os.getcwd(), "source")
    shutil.copytree(SOURCE, top, symlinks=True, ignore=lambda folder, names: ("build", ".git") if folder == SOURCE else ())
    with open(os.path.join(top, "src/analyse/toy_view.c"), "w") as f:
        f.write(FILE)
    with open(os.path.join(top, "src/analyse/views.def"), "a") as f:
        f.write(LINE)
    build = os.path.join(top, "build")
    done = helpers.run([os.path.join(top, "tools/build"), build, "-Dextension=false", "-Doptimization=0", "-Ddebug=false"], limit=600,
                       env=helpers.clean_env(TARGET="sonde"))
    helpers.equal(done.status, 0, "status of the build: %s" % (done.out + done.err)[-2000:])
    return os.path.join(build, "sonde")


@helpers.once
def capture():
    c = made.Capture()
    process = c.track(made.PROCESS, 7, "python")
    main = c.track(made.THREAD, 7, "MainThread", process)
    c.sample(main, c.stack((c.function("f", "/x/app.py", 10), 11)), 10 ** 7, 5)
    return c.save(os.path.join(os.getcwd(), "x.sonde"))


def told(*words):
    done = helpers.run([program()] + list(words))
    helpers.equal(done.status, 0, "status of %s: %s" % (words, done.err))
    return done.out


def test_it_is_in_tables_and_json_and_help(folder):
    helpers.contains(told("report", capture()), "a teddy bear", "report")
    helpers.equal(json.loads(told("report", capture(), "--json"))["toy"], [{"toy": "a teddy bear", "tracks": 2}], "JSON")
    helpers.contains(told("report", "--help-all"), "toy", "help")
    refused = helpers.run([program(), "report", capture(), "--table", "nonsense"])
    helpers.contains(refused.err, "toy", "refusal")


def test_it_is_a_tab_of_the_page(folder):
    need_browser()
    page = os.path.join(folder, "x.html")
    helpers.equal(told("report", capture(), "-o", page), "", "output")
    seen = browse("toy.js", page)
    helpers.equal((seen["complaints"], seen["columns"], seen["row"]), ([], ["toy", "tracks"], ["a teddy bear", "2"]), "the view")


def test_no_file_of_the_page_was_touched(folder):
    program()
    for name in ("web", "src/report/page", "src/outputs/page"):
        done = subprocess.run(["diff", "-r", os.path.join(SOURCE, name), os.path.join(os.path.dirname(os.path.dirname(program())), name)],
                              stdout=subprocess.PIPE)
        helpers.equal((done.returncode, done.stdout), (0, b""), "difference of %s" % name)


helpers.run_tests(globals())
