/* SPDX-License-Identifier: MIT */
#include "cli/live/verb_top.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/redact.h"
#include "cli/live/top_child.h"
#include "cli/record/attach.h"
#include "cli/record/launch.h"
#include "cli/record/program.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "outputs/outputs.h"

enum {
    OPT_PID,
    OPT_RATE,
    OPT_SUBPROCESSES,
    OPT_GIL,
    OPT_IDLE,
    OPT_MODE,
    OPT_DELAY,
    OPT_DURATION,
    OPT_JSON,
    OPT_LIMIT,
    OPT_ALL,
    OPT_ALLOC,
    OPT_ATTACH,
    OPT_PYTHON = OPT_ATTACH + SD_ATTACH_OPTIONS,
};
static const struct sd_option options[] = {
    [OPT_PID] = { "pid", SD_TEXT, NULL, "the process to sample", 'p', "PID" },
    [OPT_RATE] = { "rate", SD_NUMBER, "100", "looks a second, on average", 'r', "N" },
    [OPT_SUBPROCESSES] = { "subprocesses", SD_FLAG, NULL,
                           "sample the processes it starts, too", 's', NULL },
    [OPT_GIL] = { "gil", SD_FLAG, NULL,
                  "count only threads that hold the interpreter's lock: --mode gil",
                  'g', NULL },
    [OPT_IDLE] = { "idle", SD_FLAG, NULL, "count waiting threads, too: --mode wall",
                   'i', NULL },
    [OPT_MODE] = { "mode", SD_CHOICE, "cpu",
                   "which threads count: all, those that run, or the one that holds "
                   "the GIL",
                   0, "wall|cpu|gil" },
    [OPT_DELAY] = { "delay", SD_DURATION, "1s", "time between two refreshes", 0,
                    "TIME" },
    [OPT_DURATION] = { "duration", SD_DURATION, NULL, "end after this time", 'd',
                       "TIME" },
    [OPT_JSON] = { "json", SD_FLAG, NULL,
                   "print one JSON object per refresh, a line each", 'j', NULL },
    [OPT_LIMIT] = { "limit", SD_NUMBER, "20",
                    "rows of the table without a terminal; 0: all", 0, "N" },
    [OPT_ALL] = SD_OPTION_ALL("show every row, and the functions of imports; without "
                              "it an import is one row (JSON always has everything)"),
    [OPT_ALLOC] = { "alloc", SD_FLAG, NULL,
                    "of a capture: the live bytes of its allocations instead of time",
                    0, NULL },
    SD_ATTACH_OPTIONS_AT(OPT_ATTACH),
    [OPT_PYTHON] = SD_OPTION_PYTHON,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

struct asked { /* the command line, understood */
    pid_t pid; /* 0: none was given */
    struct sd_runtime_hints hints;
    struct sd_sampler_options sampler;
    enum sd_tally_wants wants;
    bool has_screen;
};

/* --- Understanding */

static int read_mode(const struct sd_option_value *v, enum sd_tally_wants *wants)
{
    static const enum sd_tally_wants by_mode[] = { SD_TALLY_ALL, SD_TALLY_ACTIVE,
                                                   SD_TALLY_GIL };

    if ((v[OPT_GIL].number != 0) + (v[OPT_IDLE].number != 0) + v[OPT_MODE].is_given > 1)
        return sd_fail(SD_EUSAGE, "choose one of --gil, --idle and --mode");
    *wants = by_mode[v[OPT_MODE].number];
    if (v[OPT_GIL].number)
        *wants = SD_TALLY_GIL;
    if (v[OPT_IDLE].number)
        *wants = SD_TALLY_ALL;
    return 0;
}

static int check_words(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;

    if (!v[OPT_RATE].number)
        return sd_fail(SD_EUSAGE, "--rate must be at least 1 a second");
    if (!v[OPT_DELAY].number)
        return sd_fail(SD_EUSAGE,
                       "--delay must be longer than 0; for example: --delay 1s");
    if (!v[OPT_PID].text == !c->n_words)
        return sd_fail(SD_EUSAGE,
                       "top needs one thing to watch: sonde top --pid 1234, sonde top "
                       "train.sonde, or sonde top -- python train.py");
    if (v[OPT_ALLOC].number && !(c->n_words == 1 && sd_output_is_capture(c->words[0])))
        return sd_fail(SD_EUSAGE,
                       "--alloc shows a capture: sonde top train.sonde "
                       "--alloc; to record one: sonde alloc --live train.py");
    return 0;
}

static int read_words(const struct sd_command *c, struct asked *a)
{
    const struct sd_option_value *v = c->values;
    uint64_t rate = v[OPT_RATE].number;
    int rc = check_words(c);

    if (rc == 0 && v[OPT_PID].text)
        rc = sd_attach_pid(v[OPT_PID].text, &a->pid);
    if (rc == 0)
        rc = sd_attach_read(v + OPT_ATTACH, &a->hints, &a->sampler);
    if (rc == 0)
        rc = read_mode(v, &a->wants);
    a->sampler.period_ns = 1000000000u / (rate > 100000 ? 100000 : rate ? rate : 1);
    a->sampler.skips_children = !v[OPT_SUBPROCESSES].number;
    a->has_screen =
        !v[OPT_JSON].number && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    return rc;
}

/* --- What it is called in the header */

static char *title_of(const struct sd_program *target)
{
    struct sd_buf text = { 0 };
    char *copy;

    for (size_t i = 0; target->argv[i]; i++)
        sd_buf_printf(&text, "%s%s", i ? " " : "", target->argv[i]);
    copy = sd_strdup(sd_buf_string(&text));
    sd_buf_release(&text);
    return copy;
}

/* --- Showing */

int sd_top_take_signals(struct sd_top *t, sigset_t *before)
{
    static const int taken[] = { SIGINT,   SIGTERM, SIGHUP, SIGQUIT,
                                 SIGWINCH, SIGTSTP, SIGCHLD };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        sigaddset(&set, taken[i]);
    sigprocmask(SIG_BLOCK, &set, before);
    signal(SIGPIPE, SIG_IGN);
    t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return t->signals < 0 ? sd_fail_errno(errno, "cannot wait for signals") : 0;
}

static int show(struct sd_top *t, const struct asked *a)
{
    const struct sd_option_value *v = t->command->values;
    int rc = SD_ELACKS;

    if (v[OPT_DURATION].number)
        t->until_ns = sd_clock_ns() + v[OPT_DURATION].number;
    if (a->has_screen) {
        rc = sd_top_screen(t);
        if (rc == SD_ELACKS)
            sd_say("%s; the table is printed instead", sd_fail_text());
    }
    if (rc == SD_ELACKS)
        rc = sd_top_plain(t, v[OPT_JSON].number);
    return rc;
}

/* Control-C and q are the way to end it; what else ended us ends us truly. */
static int finish(const struct sd_top *t, const sigset_t *before, int rc)
{
    close(t->signals);
    if (t->ended_by && t->ended_by != SIGINT && t->ended_by != SIGPIPE)
        sd_die_of(t->ended_by);
    sigprocmask(SIG_SETMASK, before, NULL);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

static int watch(struct sd_top *t, struct asked *a, pid_t pid,
                 enum sd_sampler_open_flags open)
{
    struct sd_rounds rounds;
    int rc =
        sd_rounds_start(&rounds, pid, &a->sampler, open, a->wants, t->folds_imports);

    if (rc < 0)
        return rc;
    t->rounds = &rounds;
    rc = show(t, a);
    if (rc == 0 && t->shown.has_ended && t->shown.counts.samples == 0 &&
        rounds.before.samples == 0)
        rc =
            sd_fail(SD_EGONE, "the program ended before sonde saw a Python thread in "
                              "it: it runs no Python, or ended too soon to be sampled; "
                              "`sonde calls` records every call of a short program");
    sd_top_release(&t->shown);
    sd_rounds_stop(&rounds);
    return rc;
}

static int watch_program(struct sd_top *t, struct asked *a)
{
    const struct sd_command *c = t->command;
    struct sd_arena arena = { 0 };
    struct sd_top_child child = { .output = -1 };
    struct sd_program target;
    char *title = NULL;
    int rc = sd_program_read(&arena, c->n_words, c->words, c->values[OPT_PYTHON].text,
                             &target);

    if (rc == 0)
        rc = sd_top_child_start(&child, &target, a->has_screen);
    if (rc == 0) {
        t->child = &child;
        t->shown.title = title = title_of(&target);
        rc = watch(t, a, child.pid, SD_SAMPLER_WAITS);
    }
    sd_top_child_end(&child);
    sd_free(title);
    sd_arena_release(&arena);
    return rc;
}

static int watch_pid(struct sd_top *t, struct asked *a)
{
    char *title = sd_attach_command(a->pid);
    int rc;

    t->shown.title = title;
    rc = watch(t, a, a->pid,
               a->sampler.skips_children ? SD_SAMPLER_NEEDS_PYTHON : SD_SAMPLER_WAITS);
    sd_free(title);
    return rc;
}

static int watch_file(struct sd_top *t, struct asked *a)
{
    int rc;

    t->file = t->command->words[0];
    rc = show(t, a);
    sd_top_release(&t->shown);
    return rc;
}

static int start(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    struct asked a = { 0 };
    struct sd_top t = {
        .command = c,
        .view = { .sort = SD_TOP_OWN_TIME,
                  .has_full_files = v[OPT_ATTACH + SD_ATTACH_FULL_FILENAMES].number,
                  .is_qualified = v[OPT_ATTACH + SD_ATTACH_QUALIFIED].number,
                  .is_of_memory = v[OPT_ALLOC].number != 0 },
        .delay_ns = v[OPT_DELAY].number,
        .folds_imports = !v[OPT_ALL].number && !v[OPT_JSON].number && !c->is_pyspy,
        .limit = v[OPT_ALL].number && !v[OPT_LIMIT].is_given ? 0 : v[OPT_LIMIT].number
    };
    sigset_t before;
    int rc = read_words(c, &a);

    if (rc < 0)
        return sd_say_failure(rc);
    t.wants = a.wants;
    rc = sd_top_take_signals(&t, &before);
    if (rc < 0)
        return sd_say_failure(rc);
    if (a.pid)
        rc = watch_pid(&t, &a);
    else if (c->n_words == 1 && sd_output_is_capture(c->words[0]))
        rc = watch_file(&t, &a);
    else
        rc = watch_program(&t, &a);
    return finish(&t, &before, rc);
}

/* Behind a program all words are the program's; behind a capture they are still ours:
 * sonde top train.sonde --json. */
static int run_behind_file(const struct sd_command *c)
{
    struct sd_option_table tables[SD_TABLES_MAX];
    size_t n_tables = sd_verb_tables(c->verb, tables);
    size_t n_own = sd_options_count(tables[0].options);
    size_t n = n_own + sd_options_count(tables[1].options);
    struct sd_option_value *values = sd_zalloc(n * sizeof *values);
    struct sd_command again = *c;
    int rc, status;

    if (!values)
        return sd_say_failure(sd_no_memory());
    rc = sd_options_parse(tables, n_tables, SD_PARSE_MIXED, c->n_words, c->words,
                          values, &again.n_words);
    for (size_t i = 0; i < n; i++)
        if (c->values[i].is_given && !values[i].is_given)
            values[i] = c->values[i];
    again.n_words++;
    again.values = values;
    again.common = values + n_own;
    status = rc < 0 ? sd_say_failure(rc) : start(&again);
    sd_free(values);
    return status;
}

static int run(const struct sd_command *c)
{
    bool is_behind_file = c->n_words > 1 && sd_output_is_capture(c->words[0]);

    return is_behind_file ? run_behind_file(c) : start(c);
}

const struct sd_verb sd_verb_top = {
    .name = "top",
    .group = SD_GROUP_RECORD,
    .summary = "shows live where a program spends its time",
    .usage = "[OPTION...] [--pid PID | FILE | SCRIPT ARG... | -- COMMAND ARG...]",
    .about =
        "Samples a running program, or one that it starts, or reads a capture (also "
        "one "
        "that is still being recorded), and shows which functions its time goes to: "
        "their own, and with all they called, in percent of the time since the last "
        "refresh and in seconds since the beginning. A thread that is in a function "
        "all the time makes 100 %.\n\n"
        "On a terminal: q quits, s sorts by the next column (1 to 4 choose one), p "
        "pauses, r begins again, / searches, t shows threads, l lines, + and - change "
        "the rate, ? helps. Elsewhere a table is printed at each refresh.\n\n"
        "A program that top has started gets SIGTERM when top ends.",
    .examples = "sonde top --pid 1234\n"
                "sonde top -- python train.py --epochs 2\n"
                "sonde top train.sonde    # a capture, also while it is recorded\n"
                "sonde top train.sonde --alloc    # its live memory\n"
                "sonde top --pid 1234 --json --delay 5s | jq '.functions[0].name'\n",
    .options = options,
    .takes_command = true,
    .run = run,
};
