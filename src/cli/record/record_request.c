/* SPDX-License-Identifier: MIT */
#include "cli/record/record_request.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/path.h"
#include "cli/record/attach.h"
#include "cli/record/running_process.h"
#include "cli/shared_options.h"
#include "outputs/outputs.h"

const struct sd_option sd_record_options[] = {
    [SD_RECORD_PID] = { "pid", SD_TEXT, NULL,
                        "record this running process instead of starting a program",
                        'p', "PID" },
    [SD_RECORD_OUTPUT] = { "output", SD_TEXT, NULL,
                           "where to record to; without --format the suffix chooses; "
                           "without it NAME-PID.sonde",
                           'o', "FILE" },
    [SD_RECORD_FORMAT] = { "format", SD_FORMAT, NULL,
                           "what to write: sonde, flamegraph, raw, speedscope, "
                           "chrometrace, or another of `sonde convert --list`",
                           'f', "NAME" },
    [SD_RECORD_DURATION] = { "duration", SD_TEXT, "unlimited",
                             "how long to record; a bare number is seconds; a program "
                             "that sonde started is then ended",
                             'd', "TIME|unlimited" },
    [SD_RECORD_RATE] = { "rate", SD_NUMBER, "100",
                         "samples a second, on average; above 100000 as many as it can",
                         'r', "N" },
    [SD_RECORD_SUBPROCESSES] = { "subprocesses", SD_FLAG, NULL,
                                 "record the processes that it starts, too", 's',
                                 NULL },
    [SD_RECORD_THREADS] = { "threads", SD_FLAG, NULL, "show threads in what is written",
                            't', NULL },
    [SD_RECORD_GIL] = { "gil", SD_FLAG, NULL,
                        "record only threads that hold the interpreter's lock", 'g',
                        NULL },
    [SD_RECORD_IDLE] = { "idle", SD_FLAG, NULL, "record waiting threads, too", 'i',
                         NULL },
    [SD_RECORD_FUNCTION] = { "function", SD_FLAG, NULL,
                             "show the first line of a function, not the executed one",
                             'F', NULL },
    [SD_RECORD_NOLINENO] = { "nolineno", SD_FLAG, NULL, "show no line numbers", 0,
                             NULL },
    [SD_RECORD_FULL_FILENAMES] = SD_OPTION_FULL_FILENAMES,
    [SD_RECORD_QUALIFIED] = SD_OPTION_QUALIFIED,
    [SD_RECORD_NATIVE] = SD_OPTION_NATIVE,
    [SD_RECORD_NONBLOCKING] = SD_OPTION_NONBLOCKING,
    [SD_RECORD_BLOCKING] = SD_OPTION_BLOCKING,
    [SD_RECORD_CONSISTENCY] = SD_OPTION_CONSISTENCY,
    [SD_RECORD_MODE] = { "mode", SD_CHOICE, "wall",
                         "which threads to record: all, those that run, or the one "
                         "that holds the GIL",
                         0, "wall|cpu|gil" },
    [SD_RECORD_WITH] = { "with", SD_TEXT, NULL,
                         "collectors to use beside sample, such as rss", 0,
                         "NAME[,NAME...]" },
    [SD_RECORD_CAPTURE] = { "capture", SD_TEXT, NULL,
                            "keep the capture, too, when another format is written", 0,
                            "FILE" },
    [SD_RECORD_FORCE] = SD_OPTION_FORCE,
    [SD_RECORD_PYTHON] = SD_OPTION_PYTHON,
    [SD_RECORD_SYNC] = SD_OPTION_SYNC,
    [SD_RECORD_SOURCE] = SD_OPTION_SOURCE,
    [SD_RECORD_SHARE] = SD_OPTION_SHARE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* --- What */

static int speak(const struct sd_option_value *v, struct sd_option_value *spoken)
{
    enum sd_consistency consistency;
    int rc = sd_attach_consistency(&v[SD_RECORD_CONSISTENCY], &v[SD_RECORD_NONBLOCKING],
                                   &v[SD_RECORD_BLOCKING], &consistency);

    if (rc < 0)
        return rc;
    if (v[SD_RECORD_GIL].number && v[SD_RECORD_MODE].is_given &&
        v[SD_RECORD_MODE].number != SD_MODE_GIL)
        return sd_fail(SD_EUSAGE,
                       "--gil and --mode %s contradict each other; drop one of them",
                       v[SD_RECORD_MODE].text);
    if (v[SD_RECORD_RATE].number == 0)
        return sd_fail(SD_EUSAGE, "--rate must be at least 1 a second");
    spoken[SD_SAMPLE_RATE].number = v[SD_RECORD_RATE].number;
    spoken[SD_SAMPLE_RATE].is_given = true; /* py-spy keeps to its 100, too */
    spoken[SD_SAMPLE_MODE].number =
        v[SD_RECORD_GIL].number ? SD_MODE_GIL : v[SD_RECORD_MODE].number;
    spoken[SD_SAMPLE_CONSISTENCY].number = consistency;
    spoken[SD_SAMPLE_WITH_IDLE].number = 1;
    spoken[SD_SAMPLE_WITH_CHILDREN].number = v[SD_RECORD_SUBPROCESSES].number;
    spoken[SD_SAMPLE_WITH_NATIVE].number = v[SD_RECORD_NATIVE].number;
    return 0;
}

static struct sd_stack_style style_of(const struct sd_option_value *v)
{
    return (struct sd_stack_style){
        .has_idle = v[SD_RECORD_IDLE].number,
        .is_gil_only = v[SD_RECORD_GIL].number,
        .has_threads = v[SD_RECORD_THREADS].number,
        .has_processes = v[SD_RECORD_SUBPROCESSES].number,
        .has_full_files = v[SD_RECORD_FULL_FILENAMES].number,
        .is_qualified = v[SD_RECORD_QUALIFIED].number,
        .has_no_lines = v[SD_RECORD_NOLINENO].number,
        .is_by_function = v[SD_RECORD_FUNCTION].number,
    };
}

static bool is_capture(const char *format)
{
    return format && sd_output_named(format) && !sd_output_named(format)->write;
}

static int read_format(const struct sd_command *c, const char **format)
{
    *format = c->values[SD_RECORD_FORMAT].text;
    if (!*format && c->is_pyspy)
        *format = "flamegraph";
    return *format && !is_capture(*format) ? sd_output_check_word(*format) : 0;
}

/* Of the two ways to say who is recorded, one. */
static int read_whom(const struct sd_command *c, pid_t *pid)
{
    const char *typed = c->values[SD_RECORD_PID].text;

    *pid = 0;
    if (!typed && c->n_words == 0)
        return sd_fail(
            SD_EUSAGE,
            "record needs a process or a program: sonde record --pid PID, or "
            "sonde record -- python app.py");
    if (typed && c->n_words)
        return sd_fail(
            SD_EUSAGE,
            "--pid records a process that is already running; it cannot start \"%s\" "
            "too",
            c->words[strcmp(c->words[0], "--") == 0 && c->n_words > 1]);
    return typed ? sd_attach_pid(typed, pid) : 0;
}

int sd_record_request_read(struct sd_arena *a, const struct sd_command *c,
                           struct sd_record_request *out)
{
    const struct sd_option_value *v = c->values;
    int rc;

    *out = (struct sd_record_request){ .style = style_of(v) };
    rc = read_whom(c, &out->pid);
    if (rc == 0)
        rc = sd_running_process_duration(v[SD_RECORD_DURATION].text, &out->duration_ns);
    if (rc == 0)
        rc = speak(v, out->spoken);
    if (rc == 0)
        rc = read_format(c, &out->format);
    if (rc < 0)
        return rc;
    out->with = v[SD_RECORD_WITH].text
                    ? sd_arena_printf(a, "sample,%s", v[SD_RECORD_WITH].text)
                    : "sample";
    return out->with ? 0 : sd_no_memory();
}

/* --- Where to */

/* py-spy calls its files so. */
static const char *pyspy_name(struct sd_arena *a, const char *name, const char *suffix)
{
    char when[64];
    time_t now = time(NULL);
    struct tm local;

    if (!localtime_r(&now, &local) ||
        strftime(when, sizeof when, "%Y-%m-%dT%H-%M-%S%z", &local) == 0)
        return NULL;
    return sd_arena_printf(a, "%s-%s%s", name, when, suffix);
}

/* Another format was asked for by name. */
static int name_export(struct sd_arena *a, const struct sd_command *c,
                       const char *format, const char *name, struct sd_naming *out)
{
    const char *output = c->values[SD_RECORD_OUTPUT].text;
    const char *suffix = sd_output_suffix(sd_output_named(format), format, c->is_pyspy);

    if (!output)
        output = c->is_pyspy ? pyspy_name(a, name, suffix)
                             : sd_arena_printf(a, "%s%s", name, suffix);
    out->export = output;
    if (output && strcmp(output, "-") == 0)
        return sd_naming_next(a, name, out);
    out->capture = output ? sd_arena_printf(a, "%s.sonde", output) : NULL;
    return out->capture ? 0 : sd_no_memory();
}

int sd_record_request_names(struct sd_arena *a, const struct sd_command *c,
                            const struct sd_record_request *request, const char *name,
                            enum sd_create_flags create, struct sd_naming *out)
{
    const struct sd_option_value *v = c->values;
    const char *output = v[SD_RECORD_OUTPUT].text;
    int rc;

    *out = (struct sd_naming){ .is_chosen = true };
    if (request->format && !is_capture(request->format)) {
        rc = name_export(a, c, request->format, name, out);
        if (rc == 0)
            rc = sd_naming_check_free(out->export, create);
    } else if (request->format && output && strcmp(output, "-") != 0) {
        out->capture = output;
        rc = sd_naming_check_free(output, create);
    } else {
        rc = sd_naming_choose(a, output, name, create, out);
    }
    if (rc < 0 || !v[SD_RECORD_CAPTURE].text)
        return rc;
    if (!out->export)
        return sd_fail(SD_EUSAGE,
                       "--capture keeps the capture beside another file; here "
                       "the capture is what is written: -o %s",
                       v[SD_RECORD_CAPTURE].text);
    out->capture = v[SD_RECORD_CAPTURE].text;
    if (strcmp(out->capture, out->export) == 0)
        return sd_fail(SD_EUSAGE,
                       "--capture and -o name the same file, %s: one would overwrite "
                       "the other",
                       out->capture);
    return sd_naming_check_free(out->capture, create);
}
