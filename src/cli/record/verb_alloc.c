/* SPDX-License-Identifier: MIT */
/* verb_alloc: the verb `alloc`: runs a program, records what it allocates, and prints
 * its peak, its leaks and the lines that hold most. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyse/alloc/alloc_words.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/live/top_follow.h"
#include "cli/read/command_captures.h"
#include "cli/record/output_names.h"
#include "cli/record/program.h"
#include "cli/record/verb_run.h"
#include "cli/say.h"
#include "outputs/outputs.h"
#include "outputs/tables.h"

extern const struct sd_collector_about sd_about_alloc;

enum { OPT_ROWS = SD_RUN_OPTIONS, OPT_LIVE, OPT_DELAY };
static const struct sd_option options[] = {
    [SD_RUN_WITH] =
        SD_OPTION_WITH("besides this one and the sections the program itself "
                       "opens"),
    [SD_RUN_OUTPUT] = { "output", SD_TEXT, NULL,
                        "where to record to; the suffix chooses the format; without it "
                        "SCRIPT.sonde, SCRIPT-2.sonde, ...",
                        'o', "FILE" },
    [SD_RUN_FORCE] = SD_OPTION_FORCE,
    [SD_RUN_PYTHON] = SD_OPTION_PYTHON,
    [SD_RUN_SYNC] = SD_OPTION_SYNC,
    [SD_RUN_ALL] = SD_OPTION_ALL("print every row, and the lines of imports, each of "
                                 "which is one row without it"),
    [SD_RUN_SOURCE] = SD_OPTION_SOURCE,
    [SD_RUN_SHARE] = SD_OPTION_SHARE,
    [OPT_ROWS] = { "rows", SD_TEXT, "20",
                   "print at most N rows, or this fraction of them (0.1)", 'n', "N" },
    [OPT_LIVE] = { "live", SD_FLAG, NULL,
                   "show live bytes by function while the program runs, as `sonde top` "
                   "shows time",
                   0, NULL },
    [OPT_DELAY] = { "delay", SD_DURATION, "1s",
                    "with --live: time between two refreshes", 0, "TIME" },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static struct sd_view_request request_of(const struct sd_command *c)
{
    bool has_all = c->values[SD_RUN_ALL].number != 0;
    struct sd_view_request r = { .views = "allocations",
                                 .is_short = true,
                                 .is_for_eyes = true,
                                 .folds_imports = !has_all };

    if (!has_all || c->values[OPT_ROWS].is_given)
        sd_tables_read_rows(c->values[OPT_ROWS].text,
                            &r); /* checked before the start */
    return r;
}

static int check(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    struct sd_view_request r = { 0 };
    int rc = sd_tables_read_rows(v[OPT_ROWS].text, &r);

    if (rc == 0 && v[OPT_DELAY].is_given && !v[OPT_LIVE].number)
        rc = sd_fail(SD_EUSAGE, "--delay needs --live");
    if (rc == 0 && v[OPT_LIVE].number && !v[OPT_DELAY].number)
        rc = sd_fail(SD_EUSAGE,
                     "--delay must be longer than 0; for example: --delay 1s");
    if (rc == 0 && v[OPT_LIVE].number && v[SD_RUN_OUTPUT].text &&
        !sd_output_is_capture(v[SD_RUN_OUTPUT].text))
        rc = sd_fail(SD_EUSAGE,
                     "--live needs a capture, so -o cannot name another format; use -o "
                     "NAME.sonde, then `sonde report` or `sonde convert`");
    return rc;
}

static bool makes_nothing(const struct sd_command *c, const char *to)
{
    (void)c;
    (void)to;
    return false;
}

static int print(const struct sd_command *c, const struct sd_profile *p,
                 struct sd_out *out)
{
    const struct sd_view_request request = request_of(c);
    const struct sd_text_style style = sd_style_for(c, STDOUT_FILENO);
    struct sd_buf words = { 0 };
    struct sd_view view = { 0 };
    int rc = sd_tables_of(p, &request, &view);

    if (rc == 0) {
        sd_alloc_words(&words, p);
        sd_out_printf(out, "%s\n", sd_made(out, &words));
        sd_tables_put_text(out, &view, &style);
    }
    sd_buf_release(&words);
    sd_view_release(&view);
    return rc;
}

/* Where nobody took part, that has been said. */
static int put_report(const struct sd_command *c, const struct sd_profile *p,
                      const char *capture)
{
    struct sd_out out;
    int rc, flushed;

    (void)capture;
    if (p->allocs.n_processes == 0) {
        sd_say("no allocations were recorded");
        return 0;
    }
    sd_out_to_fd(&out, STDOUT_FILENO);
    rc = print(c, p, &out);
    flushed = sd_out_flush(&out);
    if (rc == 0 && flushed < 0 && out.err != EPIPE)
        rc = flushed;
    sd_out_release(&out);
    if (rc < 0)
        sd_say("%s", sd_fail_text());
    return rc;
}

/* --- Live */

static int put_nothing(const struct sd_command *c, const struct sd_profile *p,
                       const char *capture)
{
    (void)c;
    (void)p;
    (void)capture;
    return 0;
}

/* In a process of its own, under the name that the other one follows. */
static int record(const struct sd_command *c, const char *capture)
{
    static const struct sd_pass_manner manner = { .makes = makes_nothing,
                                                  .put_report = put_nothing };
    struct sd_option_value values[OPT_DELAY + 1];
    struct sd_command named = *c;

    memcpy(values, c->values, sizeof values);
    values[SD_RUN_OUTPUT].text = capture;
    values[SD_RUN_OUTPUT].is_given = true;
    named.values = values;
    return sd_run(&named, &manner);
}

static int name_capture(const struct sd_command *c, struct sd_arena *a,
                        struct sd_naming *naming)
{
    const struct sd_option_value *v = c->values;
    struct sd_program target;
    int rc = check(c);

    if (rc == 0 && c->n_words == 0)
        rc = sd_fail(SD_EUSAGE,
                     "no program to run; for example: sonde alloc --live train.py");
    if (rc == 0)
        rc = sd_program_read(a, c->n_words, c->words, v[SD_RUN_PYTHON].text, &target);
    return rc < 0
               ? rc
               : sd_naming_choose(
                     a, v[SD_RUN_OUTPUT].text, target.name,
                     v[SD_RUN_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW, naming);
}

static int report_back(const struct sd_command *c, const char *capture)
{
    struct sd_profile *p = NULL;
    int rc = sd_load_back(c, capture, &p);

    if (rc < 0)
        sd_say("the capture cannot be read back: %s", sd_fail_text());
    else
        rc = put_report(c, p, capture);
    sd_profile_free(p);
    return rc;
}

static int run_live(const struct sd_command *c)
{
    struct sd_arena arena = { 0 };
    struct sd_naming naming = { 0 };
    bool is_recorded = false;
    int status, rc = name_capture(c, &arena, &naming);

    if (rc == 0) {
        const struct sd_top_following f = {
            .command = c,
            .capture = naming.capture,
            .record = record,
            .delay_ns = c->values[OPT_DELAY].number,
            .limit = c->values[OPT_ROWS].is_given ? request_of(c).limit : 20,
            .has_all = c->values[SD_RUN_ALL].number != 0,
        };

        status = sd_top_follow(&f, &is_recorded);
        if (is_recorded)
            report_back(c, naming.capture);
    } else {
        status = sd_say_failure(rc);
    }
    sd_arena_release(&arena);
    return status;
}

static int run(const struct sd_command *c)
{
    static const struct sd_pass_manner manner = { .check = check,
                                                  .makes = makes_nothing,
                                                  .put_report = put_report };

    return c->values[OPT_LIVE].number ? run_live(c) : sd_run(c, &manner);
}

static const struct sd_refusal refusals[] = {
    { "pid", 'p',
      "sonde alloc cannot attach to a running process, because it would not know who "
      "allocated the blocks that are already there; from outside, sonde rss --pid 1234 "
      "reads its memory and sonde record --pid 1234 samples it" },
    { NULL, 0, NULL },
};

const struct sd_verb sd_verb_alloc = {
    .name = "alloc",
    .group = SD_GROUP_RECORD,
    .summary = "runs a program and records what it allocates, with stacks",
    .usage = "[OPTION...] [SCRIPT ARG... | -m MODULE ARG... | -c CODE ARG... | -- "
             "COMMAND ARG...]",
    .about =
        "Runs a Python program, records every allocation in all its threads and child "
        "processes, and prints how much memory was live at the peak, how much was "
        "allocated in all and never freed, how much of RSS nobody allocated "
        "(\"untracked\"), and the lines that held most at the peak. The program's "
        "output comes first and its exit status is its own.\n\n"
        "The capture answers more: `sonde report FILE --alloc` with --leaks, "
        "--temporary, --total, --growing, --at TIME, by line, function, stack, thread, "
        "allocator, ...; as a tree, a flame graph or a plot.",
    .examples =
        "sonde alloc train.py\n"
        "sonde alloc --layer malloc train.py    # C's allocators alone: faster\n"
        "sonde alloc --mode sample train.py    # a sample, nearly for free\n"
        "sonde alloc -o memory.svg train.py    # the peak as a flame graph\n"
        "sonde alloc --live server.py    # what is live, while it runs\n"
        "sonde report train.sonde --alloc --leaks    # what is never freed\n",
    .options = options,
    .refusals = refusals,
    .takes_program = true,
    .collector = &sd_about_alloc,
    .run = run,
};
