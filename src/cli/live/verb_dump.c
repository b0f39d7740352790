/* SPDX-License-Identifier: MIT */
#include "cli/live/verb_dump.h"

#include <unistd.h>

#include "base/error.h"
#include "cli/record/attach.h"
#include "cli/say.h"
#include "cli/shared_options.h"

enum {
    OPT_PID,
    OPT_CORE,
    OPT_LOCALS,
    OPT_JSON,
    OPT_SUBPROCESSES,
    OPT_ATTACH,
};
static const struct sd_option options[] = {
    [OPT_PID] = { "pid", SD_TEXT, NULL, "the process to look at", 'p', "PID" },
    [OPT_CORE] = { "core", SD_TEXT, NULL, "a core file to look at instead", 'c',
                   "FILE" },
    [OPT_LOCALS] = { "locals", SD_FLAG, NULL, "show arguments and local variables", 'l',
                     NULL },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON array of threads", 'j',
                   NULL },
    [OPT_SUBPROCESSES] = { "subprocesses", SD_FLAG, NULL,
                           "show the processes it has started, too", 's', NULL },
    SD_ATTACH_OPTIONS_AT(OPT_ATTACH),
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

struct asked { /* the command line, understood */
    pid_t pid;
    struct sd_runtime_hints hints;
    struct sd_sampler_options sampler;
    struct sd_snapshot_request request;
};

static int read_words(const struct sd_command *c, struct asked *a)
{
    const struct sd_option_value *v = c->values;
    int rc;

    if (v[OPT_CORE].text)
        return sd_fail(SD_ELACKS, "core files cannot be read yet; a running process "
                                  "can: sonde dump --pid PID");
    if (c->n_words > 0 || !v[OPT_PID].text)
        return sd_fail(SD_EUSAGE, "dump needs one process: sonde dump --pid 1234");
    rc = sd_attach_pid(v[OPT_PID].text, &a->pid);
    if (rc == 0)
        rc = sd_attach_read(v + OPT_ATTACH, &a->hints, &a->sampler);
    a->sampler.skips_children = !v[OPT_SUBPROCESSES].number;
    a->request.consistency = a->sampler.consistency;
    a->request.has_locals = v[OPT_LOCALS].number;
    return rc;
}

/* With its children a process need not be a Python itself. */
static int open_sampler(const struct asked *a, struct sd_sampler **out)
{
    if (a->sampler.skips_children)
        return sd_attach_open(out, a->pid, &a->sampler);
    return sd_sampler_open(out, a->pid, &a->sampler, SD_SAMPLER_WAITS);
}

/* Nothing was seen: why not. */
static int say_nothing(const struct asked *a)
{
    struct sd_sampler *s = NULL;
    int rc = sd_sampler_open(&s, a->pid, &a->sampler, SD_SAMPLER_NEEDS_PYTHON);

    sd_sampler_free(s, NULL);
    if (rc == 0)
        rc = sd_fail(SD_ETORN,
                     "process %d has a Python, but none of its threads runs Python at "
                     "the moment; try again",
                     (int)a->pid);
    return sd_say_failure(rc);
}

static void say_rest(struct sd_sampler *s, const struct sd_snapshot *p)
{
    const char *why;
    pid_t pid;

    while ((why = sd_sampler_refusal(s, &pid)) != NULL)
        sd_say("process %d is not shown: %s", (int)pid, why);
    if (p->n_lost)
        sd_say("%llu thread%s could not be read: what %s did changed too fast; try "
               "--blocking",
               (unsigned long long)p->n_lost, p->n_lost == 1 ? "" : "s",
               p->n_lost == 1 ? "it" : "they");
}

static int print(const struct sd_command *c, const struct asked *a,
                 struct sd_sampler *s, const struct sd_snapshot *p)
{
    const struct sd_option_value *v = c->values;
    struct sd_dump_style style = { .text = sd_style_for(c, STDOUT_FILENO),
                                   .has_locals = a->request.has_locals,
                                   .has_full_files =
                                       v[OPT_ATTACH + SD_ATTACH_FULL_FILENAMES].number,
                                   .is_qualified =
                                       v[OPT_ATTACH + SD_ATTACH_QUALIFIED].number };
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    if (v[OPT_JSON].number)
        sd_dump_json(&out, p, s, &style);
    else
        sd_dump_text(&out, p, s, &style);
    say_rest(s, p);
    return sd_finish_stdout(&out, 0);
}

static int run(const struct sd_command *c)
{
    struct asked a = { 0 };
    struct sd_snapshot snapshot = { 0 };
    struct sd_sampler *s = NULL;
    int rc = read_words(c, &a), status;

    if (rc == 0)
        rc = open_sampler(&a, &s);
    if (rc == 0)
        rc = sd_snapshot_take(&snapshot, s, &a.request);
    if (rc < 0)
        status = sd_say_failure(rc);
    else if (snapshot.n_threads == 0)
        status = say_nothing(&a);
    else
        status = print(c, &a, s, &snapshot);
    sd_snapshot_release(&snapshot);
    sd_sampler_free(s, NULL);
    return status;
}

const struct sd_verb sd_verb_dump = {
    .name = "dump",
    .group = SD_GROUP_RECORD,
    .summary = "shows what every thread of a running program is doing now",
    .usage = "[OPTION...] --pid PID",
    .about =
        "Reads the Python stacks of a running program, of all its threads, and "
        "prints them: the innermost function first, with its file and line. "
        "Nothing is installed in the program, and only --native and --blocking stop "
        "its threads, briefly. A stack whose inner end changed too fast to be read "
        "begins with [partial].\n\n"
        "Values of variables are written from outside, as repr() would write "
        "them; no code of the program runs.",
    .examples = "sonde dump --pid 1234\n"
                "sonde dump --pid 1234 --locals\n"
                "sonde dump --pid 1234 --subprocesses --json | jq '.[].thread_name'\n",
    .options = options,
    .run = run,
};
