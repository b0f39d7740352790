/* SPDX-License-Identifier: MIT */
/* verb_run: the verb `run`: starts a program, records it, and prints a summary at the
 * end.
 *
 * Everything that can be refused is refused before the program starts.  From then on
 * the program is in charge: whatever happens to the recording, the exit status is the
 * program's own. */
#include "cli/record/verb_run.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/idle_samples.h"
#include "cli/path.h"
#include "cli/read/export.h"
#include "cli/read/command_captures.h"
#include "cli/record/compiled_modules.h"
#include "cli/record/environment.h"
#include "cli/record/facts.h"
#include "cli/record/interpreter.h"
#include "cli/record/launch.h"
#include "cli/record/package.h"
#include "cli/record/preload_choice.h"
#include "cli/record/recording.h"
#include "cli/record/running_process.h"
#include "cli/record/summary.h"
#include "cli/record/program.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "outputs/outputs.h"
#include "outputs/remarks.h"
#include "outputs/tables.h"
#include "process/heirs.h"

/* For so long the program's processes may take to end after it. */
enum {
    SURVIVORS_STEP_NS = 5 * 1000 * 1000,
    SURVIVORS_STEPS = 40,
};

/* Between two looks at the modules that the program has loaded. */
#define FIRST_LOOK_NS UINT64_C(250000000)
#define LAST_LOOK_NS UINT64_C(16000000000)

static const struct sd_option options[] = {
    [SD_RUN_WITH] = SD_OPTION_WITH("without it sample and rss, and the sections the "
                                   "program itself opens"),
    [SD_RUN_OUTPUT] = { "output", SD_TEXT, NULL,
                        "where to record to; the suffix chooses the format; without it "
                        "SCRIPT.sonde, SCRIPT-2.sonde, ...",
                        'o', "FILE" },
    [SD_RUN_FORCE] = SD_OPTION_FORCE,
    [SD_RUN_PYTHON] = SD_OPTION_PYTHON,
    [SD_RUN_SYNC] = SD_OPTION_SYNC,
    [SD_RUN_ALL] =
        SD_OPTION_ALL("show the functions of imports; in a file, " SD_ALL_PATHS),
    [SD_RUN_SOURCE] = SD_OPTION_SOURCE,
    [SD_RUN_SHARE] = SD_OPTION_SHARE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

struct run {
    const struct sd_pass_manner *manner; /* or NULL */
    struct sd_running_process *process;  /* that is recorded; NULL: one is started */
    struct sd_recording recording;
    struct sd_program target;
    const char *package; /* or NULL */
    const char *preload; /* the library for LD_PRELOAD, or NULL */
    struct sd_child child;
    unsigned privacy; /* of a page */
};

static int choose_name(struct run *r)
{
    struct sd_recording *rec = &r->recording;
    const char *to = rec->command->values[SD_RUN_OUTPUT].text;
    int rc;

    if (to && r->manner && r->manner->makes(rec->command, to))
        return sd_naming_beside(&rec->arena, to, rec->create, &rec->naming);
    rc = sd_naming_choose(&rec->arena, to, r->target.name, rec->create, &rec->naming);
    return rc == 0 && rec->naming.export
               ? sd_collector_set_check_export(&rec->chosen, to, NULL)
               : rc;
}

static int find_program(struct run *r)
{
    struct sd_recording *rec = &r->recording;
    int rc = 0;

    if (rec->command->n_words == 0)
        rc = sd_fail(SD_EUSAGE,
                     "no program to run; for example: sonde %s train.py --epochs 2",
                     rec->command->verb->name);
    if (rc == 0 && r->manner && r->manner->check)
        rc = r->manner->check(rec->command);
    if (rc == 0)
        rc = sd_program_read(&rec->arena, rec->command->n_words, rec->command->words,
                             rec->command->values[SD_RUN_PYTHON].text, &r->target);
    return rc;
}

static int find_process(struct run *r)
{
    int rc = sd_running_process_check(&r->recording,
                                      r->recording.command->values[SD_RUN_WITH].text);

    if (rc == 0)
        rc = sd_running_process_find(r->process, &r->recording.arena);
    r->target = r->process->target;
    return rc;
}

/* All that can be refused. */
static int prepare(struct run *r)
{
    struct sd_recording *rec = &r->recording;
    const struct sd_option_value *v = rec->command->values;
    int rc = sd_collector_set_read(rec->command, v[SD_RUN_WITH].text, &rec->chosen);

    if (rc == 0)
        rc = r->process ? find_process(r) : find_program(r);
    if (rc < 0)
        return rc;
    rec->create = v[SD_RUN_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW;
    r->package = sd_package_find(&rec->arena);
    rc = sd_preload_choose(&rec->arena, &rec->chosen, &r->target, r->package,
                           &r->preload);
    if (rc == 0)
        rc = choose_name(r);
    if (rc == 0)
        rc = sd_export_privacy(
            &v[SD_RUN_SOURCE], &v[SD_RUN_SHARE],
            rec->naming.export ? sd_output_for(rec->naming.export, SD_HOLDS_ANYTHING)
                               : NULL,
            &r->privacy);
    if (rc == 0 && rec->chosen.is_named &&
        sd_collector_set_needs_inside(&rec->chosen) && r->target.is_python)
        rc = sd_interpreter_fits(&rec->arena, r->target.path, r->package);
    if (rc == 0)
        rc = sd_recording_create(rec, r->target.name, v[SD_RUN_SYNC].text);
    return rc;
}

static char **environment(struct run *r)
{
    struct sd_recording *rec = &r->recording;
    const char *bootstrap =
        r->package ? sd_package_bootstrap(&rec->arena, r->package) : NULL;
    char **theirs = r->target.environment ? r->target.environment : environ;
    struct sd_buf inside = { 0 };
    char **result;

    sd_collector_set_inside(&rec->chosen, &inside);
    result = sd_environment_for(&rec->arena, theirs, sd_capture_live_dir(rec->capture),
                                sd_buf_string(&inside), bootstrap, r->preload);
    if (inside.bad)
        result = NULL;
    sd_buf_release(&inside);
    return result;
}

/* Processes of the program that go on without it.  What ends with it (the helpers of
 * multiprocessing) gets a moment to do so, a daemon needs none. */
static unsigned find_survivors(const char *entry, struct sd_heir *first)
{
    const struct timespec step = { .tv_nsec = SURVIVORS_STEP_NS };
    unsigned n = sd_heirs_find(entry, 0, first);

    for (int i = 0; n > 0 && i < SURVIVORS_STEPS; i++) {
        if (sd_heirs_find(entry, getsid(0), first) == 0)
            break;
        nanosleep(&step, NULL);
    }
    return n > 0 ? sd_heirs_find(entry, 0, first) : 0;
}

/* sd_recording_finish names those that record. */
static void say_survivors(const struct run *r, const char *entry)
{
    const struct sd_recording *rec = &r->recording;
    char others[48] = "";
    struct sd_heir first;
    unsigned n;

    if (!entry || rec->n_running > 0 || sd_loudness_of(rec->command) == SD_QUIET)
        return;
    n = find_survivors(entry, &first);
    if (n == 0)
        return;
    if (n > 1)
        snprintf(others, sizeof others, " and %u more", n - 1);
    sd_say("process %d (%s)%s still run%s no longer recorded; to sample it: sonde "
           "record --pid %d",
           (int)first.pid, first.name, others, n > 1 ? " and are" : "s and is",
           (int)first.pid);
}

/* Modules are loaded early, so we look less and less often; each look takes about a
 * tenth of a millisecond. */
static void wait_and_look(struct run *r, struct sd_compiled_modules *compiled)
{
    uint64_t pause_ns = FIRST_LOOK_NS;

    if (!sd_collector_set_sampler(&r->recording.chosen)) {
        sd_launch_wait(&r->child);
        return;
    }
    while (!sd_launch_wait_until(&r->child, sd_clock_ns() + pause_ns)) {
        sd_compiled_modules_look(compiled, &r->recording.arena, r->child.pid);
        pause_ns = pause_ns < LAST_LOOK_NS ? 2 * pause_ns : pause_ns;
    }
}

static void put_compiled(struct sd_log *log, const struct sd_compiled_modules *compiled)
{
    struct sd_buf text = { 0 };

    sd_compiled_modules_put(compiled, &text);
    if (text.n > 0 && !text.bad)
        sd_log_meta(log, SD_COMPILED_MODULES_META, sd_buf_string(&text));
    sd_buf_release(&text);
}

/* Follows the program to its end and seals the capture. */
static void follow(struct run *r)
{
    struct sd_recording *rec = &r->recording;
    const char *entry = sd_arena_printf(&rec->arena, "SONDE_LIVE=%s",
                                        sd_capture_live_dir(rec->capture));
    struct sd_compiled_modules compiled = { .n = 0 };
    struct sd_log *log;

    wait_and_look(r, &compiled);
    sd_collector_set_at_end(&rec->chosen);
    sd_launch_reap(&r->child);
    sd_recording_stop(rec);
    log = sd_writer_log(rec->writer);
    if (log)
        sd_facts_put_after(log, &r->child, sd_recording_peak(rec, r->child.pid),
                           sd_capture_cpu_ns(rec->capture));
    if (log)
        put_compiled(log, &compiled);
    sd_recording_finish(rec, r->child.status);
    say_survivors(r, entry);
    sd_launch_done(&r->child);
}

/* A program that nothing inside ever answered for. */
static void say_absence(struct run *r)
{
    struct sd_recording *rec = &r->recording;

    if (rec->n_joined > 0)
        return;
    if (!r->target.is_python) {
        if (rec->chosen.is_named && sd_collector_set_needs_inside(&rec->chosen))
            sd_say("nothing inside %s took part in the recording: no Python in it read "
                   "PYTHONPATH (frozen programs ignore it); to sample it from outside: "
                   "sonde run -- %s",
                   r->target.argv[0], r->target.argv[0]);
        return;
    }
    if (sd_interpreter_fits(&rec->arena, r->target.path, r->package) < 0)
        sd_say("sections were not recorded: %s", sd_fail_text());
    else if (sd_recording_is_disk_full(rec))
        sd_say("collectors inside the program did not start: the disk of %s is full",
               rec->naming.capture);
    else
        sd_say("the collectors that run inside the program did not start: Python was "
               "started with "
               "-I, -E or -S, or the program cleared PYTHONPATH; run it without these");
}

/* Under --quiet only to those who asked for samples by name. */
static void say_unsampled(const struct run *r)
{
    const struct sd_recording *rec = &r->recording;

    if (rec->sampled.counts.samples)
        return;
    if (!rec->chosen.is_named && sd_loudness_of(rec->command) == SD_QUIET)
        return;
    if (rec->sampled.counts.processes ||
        (r->target.is_python && sd_launch_was_short(&r->child)))
        sd_say("no samples: the program ended before the first one");
    else
        sd_say("no samples: no running Python was found in %s", r->target.argv[0]);
}

/* The verbs that have their own manner have their own tables. */
static bool folds_imports(const struct sd_command *c)
{
    return c->verb->options == options && !c->values[SD_RUN_ALL].number;
}

/* A collector's verb prints its table where data goes; it is the run's answer. */
static void put_report(const struct sd_command *c, const struct sd_profile *p)
{
    const struct sd_view_request request = { .limit = 20,
                                             .is_short = true,
                                             .is_for_eyes = true,
                                             .folds_imports = folds_imports(c) };
    struct sd_text_style style = sd_style_for(c, STDOUT_FILENO);
    struct sd_view v = { 0 };
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    if (sd_tables_of(p, &request, &v) < 0)
        sd_say("%s", sd_fail_text());
    else if (v.n_tables == 0)
        sd_say("%s recorded nothing, so there is no table", c->verb->name);
    sd_tables_put_text(&out, &v, &style);
    if (sd_out_flush(&out) < 0 && out.err != EPIPE)
        sd_say("%s", sd_fail_text());
    sd_out_release(&out);
    sd_view_release(&v);
}

static int make_export(const struct run *r, const struct sd_profile *p)
{
    const struct sd_recording *rec = &r->recording;
    const char *to = rec->naming.export;
    const struct sd_output *output = sd_output_for(to, SD_HOLDS_ANYTHING);
    struct sd_stack_style style = {
        .has_all_paths = rec->command->values[SD_RUN_ALL].number != 0,
        .is_by_function = output && output->shows_functions,
    };
    bool has_style = style.has_all_paths;

    if (r->manner && r->manner->makes(rec->command, to))
        return r->manner->make(rec->command, p, to, rec->create);
    if (r->manner && r->manner->style)
        has_style |= r->manner->style(rec->command, &style);
    return sd_export(rec->command, &(struct sd_export_request){
                                       .choice = { .input = &sd_input_capture,
                                                   .from = rec->naming.capture,
                                                   .to = to },
                                       .style = has_style ? &style : NULL,
                                       .create = rec->create,
                                       .privacy = r->privacy,
                                   });
}

static void export(const struct run *r, const struct sd_profile *p)
{
    const struct sd_recording *rec = &r->recording;
    int rc = make_export(r, p);
    /* Else more comes, or is there, and is of no use without it. */
    bool is_whole = rc == 0 && rec->n_running == 0;

    if (rc < 0) {
        sd_recording_say_kept(rec);
        return;
    }
    if (is_whole)
        sd_recording_discard(rec);
    if (sd_loudness_of(rec->command) == SD_QUIET)
        return;
    sd_summary_wrote_export(rec->naming.export);
    if (!is_whole)
        sd_say("the capture is kept: %s", rec->naming.capture);
}

static void show(struct run *r)
{
    const struct sd_recording *rec = &r->recording;
    const struct sd_command *c = rec->command;
    bool is_quiet = sd_loudness_of(c) == SD_QUIET;
    struct sd_profile *p = NULL;
    const char *verb;

    say_absence(r);
    if (sd_load_back(c, rec->naming.capture, &p) < 0) {
        sd_say("the capture cannot be read back: %s", sd_fail_text());
        return;
    }
    sd_remark_losses(&sd_said_remarks, NULL, p, SD_LOSSES_ALL & ~rec->said_losses);
    if (sd_summary_refusals(p) == 0 && rec->has_sampled)
        say_unsampled(r);
    if (!is_quiet)
        sd_summary_print(rec, p, folds_imports(c));
    if (r->manner && !(rec->naming.export && r->manner->makes(c, rec->naming.export)))
        r->manner->put_report(c, p, rec->naming.export ? NULL : rec->naming.capture);
    else if (!r->manner && c->verb->collector)
        put_report(c, p);
    verb = sd_profile_has_stacks(p) || p->n_series
               ? "view"
               : "report"; /* no picture of nothing */
    if (rec->naming.export)
        export(r, p);
    else if (!is_quiet)
        sd_summary_wrote(rec->naming.capture, verb);
    if (!rec->naming.export)
        sd_idle_samples_say(c, p, rec->naming.capture);
    sd_profile_free(p);
}

static void say_what_runs(const struct run *r)
{
    if (sd_loudness_of(r->recording.command) != SD_VERBOSE)
        return;
    sd_say("runs %s, records to %s, package %s", r->target.path,
           r->recording.naming.capture, r->package ? r->package : "not found");
}

int sd_run(const struct sd_command *c, const struct sd_pass_manner *manner)
{
    struct run r = { .manner = manner, .recording.command = c };
    int rc = prepare(&r);

    if (rc == 0) {
        say_what_runs(&r);
        rc = sd_recording_launch(&r.recording, &r.target, environment(&r), &r.child);
    }
    if (rc < 0) {
        int status = sd_say_failure(rc);

        sd_recording_abandon(&r.recording);
        sd_arena_release(&r.recording.arena);
        return status;
    }
    follow(&r);
    show(&r);
    sd_arena_release(&r.recording.arena);
    if (r.child.status == SD_STATUS_UNKNOWN)
        return 1;
    if (r.child.status < 0)
        sd_die_of(-r.child.status);
    return r.child.status;
}

int sd_run_beside(const struct sd_command *c, struct sd_running_process *process)
{
    struct run r = { .recording.command = c, .process = process };
    int rc = prepare(&r), status = 0;

    if (rc == 0)
        rc = sd_running_process_record(process, &r.recording, NULL, NULL);
    if (rc == 0) {
        show(&r);
    } else {
        status = sd_say_failure(rc);
        sd_recording_abandon(&r.recording);
    }
    sd_arena_release(&r.recording.arena);
    return status;
}

static int run(const struct sd_command *c) { return sd_run(c, NULL); }

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
