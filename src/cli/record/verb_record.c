/* SPDX-License-Identifier: MIT */
/* verb_record: the verb `record`: samples a program, running or started by it, into a
 * file.
 *
 * What py-spy's `record` does, in its words.  Whatever ends the recording (the program,
 * the time, Control-C), what was recorded is kept; the status is 1 only when there is
 * nothing in it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/idle_samples.h"
#include "cli/path.h"
#include "cli/read/export.h"
#include "cli/read/command_captures.h"
#include "cli/record/attach.h"
#include "cli/record/environment.h"
#include "cli/record/facts.h"
#include "cli/record/interpreter.h"
#include "cli/record/launch.h"
#include "cli/record/package.h"
#include "cli/record/preload_choice.h"
#include "cli/record/record_request.h"
#include "cli/record/recording.h"
#include "cli/record/summary.h"
#include "cli/record/program.h"
#include "cli/record/running_process.h"
#include "cli/say.h"
#include "outputs/outputs.h"
#include "outputs/remarks.h"

extern const struct sd_collector_about sd_about_sample;

struct record {
    struct sd_command command; /* ours, with what it speaks for sample */
    struct sd_record_request request;
    struct sd_recording recording;
    struct sd_program target; /* of a pid: its command line */
    const char *package;      /* or NULL */
    const char *preload;      /* the library for LD_PRELOAD, or NULL */
    struct sd_child child;
    struct sd_running_process process;
};

/* --- A process that runs already */

/* Can it be sampled?  Asked before anything is made, so that what is wrong is said in
 * one sentence.  Its children may be Python where it is none itself. */
static int check_python(const struct record *r)
{
    struct sd_sampler_options options = { .skips_children = true };
    struct sd_sampler *sampler = NULL;
    int rc = sd_attach_open(&sampler, r->request.pid, &options);

    sd_sampler_free(sampler, NULL);
    if (rc == SD_EABSENT && r->command.values[SD_RECORD_SUBPROCESSES].number) {
        sd_say("%s; sonde waits for its child processes", sd_fail_text());
        rc = 0;
    }
    return rc;
}

static int find_process(struct record *r)
{
    int rc = sd_running_process_hold(&r->process, r->request.pid);

    if (rc == 0)
        rc = check_python(r);
    if (rc == 0)
        rc = sd_running_process_check(&r->recording,
                                      r->command.values[SD_RECORD_WITH].text);
    if (rc == 0)
        rc = sd_running_process_find(&r->process, &r->recording.arena);
    if (rc == 0)
        r->target = r->process.target;
    return rc;
}

static bool is_drawn(const struct record *r)
{
    return sd_loudness_of(&r->command) != SD_QUIET && isatty(STDERR_FILENO);
}

/* How far it has come, on a terminal that nobody else writes to. */
static void draw(const void *of)
{
    const struct record *r = of;
    char samples[SD_TEXT_MAX], time[SD_TEXT_MAX], line[160];
    uint64_t for_ns =
        (sd_clock_ns() - r->process.started_ns) / 1000000000u * 1000000000u;
    ssize_t written;
    int n;

    n = snprintf(line, sizeof line,
                 "\r\033[Ksonde: %s samples of process %d in %s; Control-C ends it",
                 sd_text_count(samples, (int64_t)sd_recording_n_samples(&r->recording)),
                 (int)r->request.pid, sd_text_duration(time, (int64_t)for_ns));
    written = write(STDERR_FILENO, line, (size_t)n);
    (void)written;
}

static void erase(void)
{
    static const char blank[] = "\r\033[K";
    ssize_t written;

    written = write(STDERR_FILENO, blank, sizeof blank - 1);
    (void)written;
}

static int record_process(struct record *r)
{
    bool is_seen = is_drawn(r);
    int rc;

    r->process.duration_ns = r->request.duration_ns;
    rc =
        sd_running_process_record(&r->process, &r->recording, is_seen ? draw : NULL, r);
    if (rc == 0 && is_seen)
        erase();
    return rc;
}

/* --- A program that is started for it */

/* py-spy takes any command, with or without "--". */
static int read_program(struct record *r)
{
    const struct sd_command *c = &r->command;
    struct sd_arena *a = &r->recording.arena;
    char **words = c->words;
    int n = c->n_words;

    if (c->is_pyspy && strcmp(words[0], "--") != 0) {
        words = sd_arena_alloc(a, ((size_t)n + 2) * sizeof *words);
        if (!words)
            return sd_no_memory();
        words[0] = (char[]){ "--" };
        memcpy(words + 1, c->words, (size_t)n * sizeof *words);
        return sd_program_read(a, n + 1, words, NULL, &r->target);
    }
    return sd_program_read(a, n, words, c->values[SD_RECORD_PYTHON].text, &r->target);
}

static int find_program(struct record *r)
{
    struct sd_recording *rec = &r->recording;
    int rc = read_program(r);

    if (rc < 0 || !sd_collector_set_needs_inside(&rec->chosen))
        return rc;
    r->package = sd_package_find(&rec->arena);
    return sd_preload_choose(&rec->arena, &rec->chosen, &r->target, r->package,
                             &r->preload);
}

/* Untouched, unless a collector is to work inside. */
static char **environment(struct record *r)
{
    struct sd_recording *rec = &r->recording;
    char **theirs = r->target.environment ? r->target.environment : environ;
    const char *package = r->package;
    struct sd_buf inside = { 0 };
    char **result = NULL;

    if (!sd_collector_set_needs_inside(&rec->chosen))
        return theirs;
    sd_collector_set_inside(&rec->chosen, &inside);
    if (!inside.bad)
        result = sd_environment_for(
            &rec->arena, theirs, sd_capture_live_dir(rec->capture),
            sd_buf_string(&inside),
            package ? sd_package_bootstrap(&rec->arena, package) : NULL, r->preload);
    sd_buf_release(&inside);
    return result;
}

/* To its end, or to that of the time: then what was asked for is done, and the program
 * was started for nothing else. */
static void follow_program(struct record *r)
{
    uint64_t ns = r->request.duration_ns;
    uint64_t until = ns ? r->child.started_ns + ns : UINT64_MAX;

    if (sd_launch_wait_until(&r->child, until)) {
        sd_collector_set_at_end(&r->recording.chosen);
        sd_launch_reap(&r->child);
        sd_recording_stop(&r->recording);
        return;
    }
    sd_recording_stop(&r->recording);
    sd_launch_end(&r->child);
    sd_launch_reap(&r->child);
}

static int record_program(struct record *r)
{
    struct sd_recording *rec = &r->recording;
    struct sd_log *log;
    int rc = sd_recording_launch(rec, &r->target, environment(r), &r->child);

    if (rc < 0)
        return rc;
    follow_program(r);
    log = sd_writer_log(rec->writer);
    if (log)
        sd_facts_put_after(log, &r->child, sd_recording_peak(rec, r->child.pid),
                           sd_capture_cpu_ns(rec->capture));
    sd_recording_finish(rec, r->child.status);
    sd_launch_done(&r->child);
    return 0;
}

/* --- What became of it */

static void say_why_none(const struct record *r)
{
    const struct sd_recording *rec = &r->recording;
    struct sd_profile *p = NULL;
    size_t n_refusals = 0;

    if (sd_load_back(&r->command, rec->naming.capture, &p) == 0)
        n_refusals = sd_summary_refusals(p);
    sd_profile_free(p);
    if (n_refusals)
        return;
    if (rec->sampled.counts.processes)
        sd_say("no samples: the program ended before the first one, or none of its "
               "threads did what was asked for");
    else if (!r->request.pid && r->target.is_python && sd_launch_was_short(&r->child))
        sd_say("no samples: the program ended before the first one");
    else if (r->command.values[SD_RECORD_SUBPROCESSES].number)
        sd_say("no samples: no running Python was found");
    else
        sd_say("no samples: no running Python was found in %s itself; --subprocesses "
               "also looks at the processes it starts",
               r->target.argv[0] ? r->target.argv[0] : r->target.name);
}

/* The file is read back only where it can hold less than was taken. */
static void settle(const struct record *r, struct sd_sample_account *out)
{
    const struct sd_recording *rec = &r->recording;
    struct sd_profile *p = NULL;

    if (rec->has_lost)
        sd_load_back(&r->command, rec->naming.capture, &p);
    if (p)
        sd_remark_losses(&sd_said_remarks, NULL, p, SD_LOSSES_ALL & ~rec->said_losses);
    sd_summary_account(rec, p, out);
    sd_profile_free(p);
}

/* py-spy is content when threads were seen and none did what was asked for: with --gil
 * a sleeping program has no samples. */
static bool is_content(const struct record *r)
{
    return r->command.is_pyspy && r->recording.sampled.counts.processes;
}

static int export(const struct record *r)
{
    const struct sd_naming *names = &r->recording.naming;
    unsigned unsaid = r->recording.has_lost ? 0 : SD_LOSSES_ALL; /* said: settle */
    int rc = sd_export(&r->command,
                       &(struct sd_export_request){
                           .choice = { &sd_input_capture, names->capture, names->export,
                                       r->request.format, is_content(r) },
                           .style = &r->request.style,
                           .create = r->recording.create,
                           .losses = unsaid,
                           .privacy = r->request.privacy,
                       });

    if (rc < 0) {
        sd_recording_say_kept(&r->recording);
        return rc;
    }
    if (!r->command.values[SD_RECORD_CAPTURE].text)
        sd_recording_discard(&r->recording);
    return 0;
}

static int show(const struct record *r)
{
    const struct sd_recording *rec = &r->recording;
    bool is_quiet = sd_loudness_of(&r->command) == SD_QUIET;
    bool has_none = rec->sampled.counts.samples == 0;
    struct sd_sample_account account;
    int rc = 0;

    settle(r, &account); /* before the capture goes */
    if (has_none)
        say_why_none(r);
    if (rec->naming.export)
        rc = export(r);
    if (rc == 0 && !is_quiet) {
        if (rec->naming.export)
            sd_summary_wrote_export(rec->naming.export);
        else
            sd_summary_wrote(rec->naming.capture, has_none ? "info" : "view");
    }
    if (!rec->naming.export && account.samples && account.idle == account.samples)
        sd_idle_samples_say_counted(&r->command, account.samples, rec->naming.capture);
    if (!is_quiet) {
        sd_summary_say_causes(rec, &account, "--consistency");
        sd_summary_say_account(&account);
    }
    if (is_content(r))
        return rc < 0 ? 1 : 0;
    return rc < 0 || account.samples == 0 ? 1 : 0;
}

/* What the file is written as that is not the capture, or NULL. */
static const struct sd_output *written(const struct sd_recording *rec,
                                       const char *format)
{
    const char *to = rec->naming.export;

    return !to      ? NULL
           : format ? sd_output_named(format)
                    : sd_output_for(to, SD_HOLDS_ANYTHING);
}

/* --- The verb */

static int prepare(struct record *r)
{
    struct sd_recording *rec = &r->recording;
    const struct sd_option_value *v = r->command.values;
    int rc = sd_record_request_read(&rec->arena, &r->command, &r->request);

    r->command.spoken = r->request.spoken;
    rec->command = &r->command;
    rec->create = v[SD_RECORD_FORCE].number || r->command.is_pyspy ? SD_CREATE_OVER
                                                                   : SD_CREATE_NEW;
    if (rc == 0)
        rc = sd_collector_set_read(&r->command, r->request.with, &rec->chosen);
    if (rc == 0)
        rc = r->request.pid ? find_process(r) : find_program(r);
    if (rc == 0)
        rc = sd_record_request_names(&rec->arena, &r->command, &r->request,
                                     r->target.name, rec->create, &rec->naming);
    if (rc == 0)
        rc = sd_export_privacy(&v[SD_RECORD_SOURCE], &v[SD_RECORD_SHARE],
                               written(rec, r->request.format), &r->request.privacy);
    if (rc == 0 && rec->naming.export)
        rc = sd_collector_set_check_export(&rec->chosen, rec->naming.export,
                                           r->request.format);
    if (rc == 0)
        rc = sd_recording_create(rec, r->target.name, v[SD_RECORD_SYNC].text);
    return rc;
}

static int run(const struct sd_command *c)
{
    struct record r = { .command = *c, .process.watch.remote = SD_REMOTE_NONE };
    int rc = prepare(&r), status;

    if (rc == 0)
        rc = r.request.pid ? record_process(&r) : record_program(&r);
    if (rc < 0) {
        status = sd_say_failure(rc);
        sd_recording_abandon(&r.recording);
    } else {
        status = show(&r);
    }
    if (r.request.pid)
        sd_running_process_leave(&r.process);
    sd_arena_release(&r.recording.arena);
    return status;
}

const struct sd_verb sd_verb_record = {
    .name = "record",
    .group = SD_GROUP_RECORD,
    .summary = "samples a running program, or one it starts, into a file",
    .usage = "[OPTION...] [--pid PID | SCRIPT ARG... | -m MODULE ARG... | -c CODE "
             "ARG... | -- COMMAND ARG...]",
    .about =
        "Looks from outside, many times a second, at what every Python thread is "
        "doing, without stopping it and without putting anything into it, and writes "
        "what it saw as a flame graph, for speedscope, pprof and others, or as a "
        "capture that `sonde report` reads. Any CPython from 3.8 on that this user may "
        "read.\n\n"
        "The recording ends with the program, after --duration, or at Control-C; what "
        "was recorded is kept, and the status is 0. It is 1 when there was no sample "
        "at "
        "all. The last line on stderr accounts for every look: missed ones came too "
        "late, lost ones could not be read, of partial ones the inner end is missing. "
        "The options are py-spy's.",
    .examples = "sonde record -o profile.svg --pid 1234    # until Control-C\n"
                "sonde record -d 30 -r 1000 -o p.speedscope.json --pid 1234\n"
                "sonde record -o profile.svg -- python app.py\n"
                "sonde record -f raw -o stacks.txt train.py --epochs 2\n"
                "sonde record --pid 1234    # a capture: NAME-1234.sonde\n",
    .options = sd_record_options,
    .takes_program = true,
    .speaks_for = &sd_about_sample,
    .run = run,
};
