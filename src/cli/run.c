/* SPDX-License-Identifier: MIT */
/* run: starts a program, records it, and says in the end what it took.
 *
 * Everything that can be refused is refused before the program starts.  From then on
 * the program is in charge: whatever happens to the recording, the exit status is the
 * program's own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/capture.h"
#include "capture/writer.h"
#include "cli/chosen.h"
#include "cli/environment.h"
#include "cli/export.h"
#include "cli/facts.h"
#include "cli/interpreter.h"
#include "cli/launch.h"
#include "cli/load.h"
#include "cli/naming.h"
#include "cli/package.h"
#include "cli/say.h"
#include "cli/summary.h"
#include "cli/tables.h"
#include "cli/target.h"

enum { OPT_WITH, OPT_OUTPUT, OPT_FORCE, OPT_PYTHON, OPT_SYNC };
static const struct sd_option options[] = {
    [OPT_WITH] = { "with", SD_TEXT, NULL,
                   "which collectors to use; without it sample and rss, and the "
                   "sections the program itself opens",
                   0, "NAME[,NAME...]" },
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                     "where to record to; the suffix chooses the format; without it "
                     "SCRIPT.sonde, SCRIPT-2.sonde, ...",
                     'o', "FILE" },
    [OPT_FORCE] = { "force", SD_FLAG, NULL, "overwrite FILE when it is there already",
                    0, NULL },
    [OPT_PYTHON] = { "python", SD_TEXT, NULL,
                     "the interpreter; without it that of the active virtual "
                     "environment, or python3",
                     0, "PY" },
    [OPT_SYNC] = { "sync", SD_TEXT, "1s",
                   "how much a power cut may cost: off, seal (each sealed part is "
                   "flushed), or a time",
                   0, "off|seal|TIME" },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

struct run {
    const struct sd_command *command;
    struct sd_arena arena;
    struct sd_chosen chosen;
    struct sd_target target;
    struct sd_naming naming;
    const char *package; /* or NULL */
    enum sd_create_flags create;
    struct sd_capture *capture;
    struct sd_writer *writer; /* our own way into the capture, or NULL */
    struct sd_child child;
    int n_joined; /* processes that recorded from inside */
};

static int read_sync(const char *word, struct sd_capture_options *how)
{
    if (strcmp(word, "off") == 0)
        how->sync = SD_SYNC_OFF;
    else if (strcmp(word, "seal") == 0)
        how->sync = SD_SYNC_SEAL;
    else if (sd_text_parse_duration(word, &how->sync_every_ns))
        how->sync = SD_SYNC_EVERY;
    else
        return sd_fail(SD_EUSAGE,
                       "--sync takes off, seal or a time such as 1s, not \"%s\"", word);
    return 0;
}

/* A name of our own choosing that somebody else took meanwhile is stepped around. */
static int create_capture(struct run *r)
{
    struct sd_capture_options how = { .create = r->create, .zstd_level = 3 };
    int rc = read_sync(r->command->values[OPT_SYNC].text, &how);

    if (rc < 0)
        return rc;
    for (;;) {
        rc = sd_capture_create(r->naming.capture, &how, &r->capture);
        if (rc != SD_EEXISTS || r->naming.is_chosen)
            break;
        rc = sd_naming_next(&r->arena, r->target.name, &r->naming);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* All that can be refused. */
static int prepare(struct run *r)
{
    const struct sd_option_value *v = r->command->values;
    int rc = sd_chosen_read(r->command, v[OPT_WITH].text, &r->chosen);

    if (rc == 0)
        rc = sd_target_read(&r->arena, r->command->n_words, r->command->words,
                            v[OPT_PYTHON].text, &r->target);
    if (rc < 0)
        return rc;
    r->create = v[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW;
    r->package = sd_package_find(&r->arena);
    rc = sd_naming_choose(&r->arena, v[OPT_OUTPUT].text, r->target.name, r->create,
                          &r->naming);
    if (rc == 0 && r->chosen.is_named && sd_chosen_needs_inside(&r->chosen) &&
        r->target.is_python)
        rc = sd_interpreter_fits(&r->arena, r->target.path, r->package);
    if (rc == 0)
        rc = create_capture(r);
    return rc;
}

static uint64_t folded_peak(void *of, pid_t pid)
{
    return sd_capture_peak_bytes(of, (uint32_t)pid);
}

static void own_io(void *of, pid_t pid, uint64_t *read, uint64_t *written)
{
    sd_capture_own_io(of, (uint32_t)pid, read, written);
}

static char **environment(struct run *r)
{
    const char *bootstrap =
        r->package ? sd_package_bootstrap(&r->arena, r->package) : NULL;
    char **theirs = r->target.environment ? r->target.environment : environ;
    struct sd_buf inside = { 0 };
    char **result;

    sd_chosen_inside(&r->chosen, &inside);
    result = sd_environment_for(&r->arena, theirs, sd_capture_live_dir(r->capture),
                                sd_buf_string(&inside), bootstrap);
    if (inside.bad)
        result = NULL;
    sd_buf_release(&inside);
    return result;
}

/* The program is held before its exec while those who watch it get ready. */
static int begin_watching(struct run *r)
{
    struct sd_collect how = { .root = r->child.pid,
                              .folded_peak = folded_peak,
                              .own_io = own_io,
                              .of = r->capture };
    int rc = sd_capture_start(r->capture);

    if (rc == 0)
        rc = sd_writer_join(sd_capture_live_dir(r->capture), &r->writer);
    how.writer = r->writer;
    if (rc == 0)
        rc = sd_chosen_start(&r->chosen, &how);
    return rc;
}

static int start(struct run *r)
{
    char **envp = environment(r);
    int rc =
        envp ? sd_facts_put_before(r->capture, &r->target, &r->chosen) : sd_no_memory();

    if (rc < 0)
        return rc;
    rc = sd_launch_prepare(r->target.path, r->target.argv, envp, &r->child);
    if (rc < 0)
        return rc;
    rc = begin_watching(r);
    if (rc < 0) {
        sd_launch_cancel(&r->child);
        return rc;
    }
    rc = sd_launch_go(&r->child, r->target.path);
    if (rc < 0)
        sd_chosen_stop(&r->chosen);
    return rc;
}

static void abandon(struct run *r)
{
    if (r->writer)
        sd_writer_leave(r->writer);
    if (r->capture)
        sd_capture_abandon(r->capture);
}

/* The usual reason why a program's own process could not write its events. */
static bool is_disk_full(const char *path)
{
    struct statvfs disk;

    return statvfs(path, &disk) == 0 && disk.f_bavail < (1 << 20) / disk.f_bsize;
}

/* One sentence, whatever there is to say. */
static void say_losses(const struct run *r, int rc,
                       const struct sd_capture_counts *counts)
{
    char number[SD_TEXT_MAX], lost[SD_TEXT_MAX + 32] = "";

    if (counts->lost)
        snprintf(lost, sizeof lost, "; %s events were lost",
                 sd_text_count(number, (int64_t)counts->lost));
    if (counts->write_error)
        sd_say("part of the recording could not be written to %s: %s%s",
               r->naming.capture, strerror(counts->write_error), lost);
    else if (rc < 0)
        sd_say("the recording is not complete: %s%s", sd_fail_text(), lost);
    else if (counts->lost)
        sd_say("%s%s", lost + 2,
               is_disk_full(r->naming.capture) ? " because the disk is full" : "");
}

/* Follows the program to its end and seals the capture. */
static void follow(struct run *r)
{
    struct sd_capture_counts counts = { 0 };
    struct sd_log *log;
    int rc;

    sd_launch_wait(&r->child);
    sd_chosen_at_end(&r->chosen);
    sd_launch_reap(&r->child);
    sd_chosen_stop(&r->chosen);
    log = sd_writer_log(r->writer);
    if (log)
        sd_facts_put_after(log, &r->child, folded_peak(r->capture, r->child.pid));
    sd_writer_leave(r->writer);
    r->n_joined = sd_capture_n_joined(r->capture);
    rc = sd_capture_finish(r->capture, r->child.status, &counts);
    sd_launch_done(&r->child);
    say_losses(r, rc, &counts);
}

/* A program that nothing inside ever answered for. */
static void say_absence(struct run *r)
{
    if (r->n_joined > 0)
        return;
    if (!r->target.is_python) {
        if (r->chosen.is_named && sd_chosen_needs_inside(&r->chosen))
            sd_say("nothing inside %s took part in the recording", r->target.argv[0]);
        return;
    }
    if (sd_interpreter_fits(&r->arena, r->target.path, r->package) < 0)
        sd_say("sections were not recorded: %s", sd_fail_text());
    else
        sd_say("collectors inside the program did not start: it was run with -I, -E "
               "or -S, or without its PYTHONPATH");
}

/* A collector's verb prints its table where data goes; it is the run's answer. */
static void put_report(const struct sd_command *c, const struct sd_profile *p)
{
    const struct sd_tables_wish wish = { .limit = 20, .is_short = true };
    struct sd_text_style style = sd_style_for(c, STDOUT_FILENO);
    struct sd_view v = { 0 };
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    if (sd_tables_of(p, &wish, &v) < 0)
        sd_say("%s", sd_fail_text());
    else if (v.n_tables == 0)
        sd_say("%s recorded nothing", c->verb->name);
    sd_tables_text(&out, &v, &style);
    if (sd_out_flush(&out) < 0 && out.err != EPIPE)
        sd_say("%s", sd_fail_text());
    sd_out_release(&out);
    sd_view_release(&v);
}

static void export(struct run *r)
{
    if (sd_export(r->naming.capture, r->naming.export, NULL, NULL, r->create) < 0) {
        sd_say("%s; the capture is kept: %s", sd_fail_text(), r->naming.capture);
        return;
    }
    unlink(r->naming.capture);
    if (sd_loudness_of(r->command) != SD_QUIET)
        sd_say("wrote %s", r->naming.export);
}

static void show(struct run *r)
{
    bool is_quiet = sd_loudness_of(r->command) == SD_QUIET;
    struct sd_profile *p = NULL;

    say_absence(r);
    if (sd_load_one(r->command, r->naming.capture, NULL, &p) < 0) {
        sd_say("the capture cannot be read back: %s", sd_fail_text());
        return;
    }
    if (!is_quiet)
        sd_summary_print(r->command, p);
    if (r->command->verb->collector)
        put_report(r->command, p);
    sd_profile_free(p);
    if (r->naming.export)
        export(r);
    else if (!is_quiet)
        sd_summary_wrote(r->naming.capture);
}

static void say_what_runs(const struct run *r)
{
    if (sd_loudness_of(r->command) != SD_VERBOSE)
        return;
    sd_say("runs %s, records to %s, package %s", r->target.path, r->naming.capture,
           r->package ? r->package : "not found");
}

static int run(const struct sd_command *c)
{
    struct run r = { .command = c };
    int rc = prepare(&r);

    if (rc == 0) {
        say_what_runs(&r);
        rc = start(&r);
    }
    if (rc < 0) {
        int status = sd_say_failure(rc);

        abandon(&r);
        sd_arena_release(&r.arena);
        return status;
    }
    follow(&r);
    show(&r);
    sd_arena_release(&r.arena);
    if (r.child.status == SD_STATUS_UNKNOWN)
        return 1;
    if (r.child.status < 0)
        sd_die_of(-r.child.status);
    return r.child.status;
}

const struct sd_verb sd_verb_run = {
    .name = "run",
    .group = SD_GROUP_RECORD,
    .summary = "runs a program, records it, and prints a summary",
    .usage = "[OPTION...] [SCRIPT ARG... | -m MODULE ARG... | -c CODE ARG... | -- "
             "COMMAND ARG...]",
    .about = "Runs a Python script, module or piece of code, or any command after "
             "\"--\", and records it with the chosen collectors. The program's "
             "output, arguments, signals and exit status are its own. In the end a "
             "summary is printed on stderr, and the capture stands in a .sonde file "
             "that `sonde report` reads.\n\n"
             "Options stand before the program; all that follows it is the "
             "program's.",
    .examples = "sonde run train.py --epochs 2\n"
                "sonde run -m pytest tests    # a module\n"
                "sonde run --with rss -o mem.svg train.py    # memory over time, as a "
                "picture\n"
                "sonde run --python .venv/bin/python train.py\n"
                "sonde run -- ./job.sh    # any command and its children\n",
    .options = options,
    .takes_program = true,
    .run = run,
};
