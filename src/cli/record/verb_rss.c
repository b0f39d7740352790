/* SPDX-License-Identifier: MIT */
/* verb_rss: the verb `rss`: memory and other resources over time, of a program that it
 * starts or of a process that runs already. */
#include "base/error.h"
#include "cli/record/attach.h"
#include "cli/record/running_process.h"
#include "cli/record/verb_run.h"
#include "cli/say.h"

extern const struct sd_collector_about sd_about_rss;

enum { OPT_PID = SD_RUN_OPTIONS, OPT_DURATION };
static const struct sd_option options[] = {
    [SD_RUN_WITH] =
        SD_OPTION_WITH("besides this one and the sections the program itself "
                       "opens"),
    [SD_RUN_OUTPUT] = { "output", SD_TEXT, NULL,
                        "where to record to; the suffix chooses the format: .dat is "
                        "mprof's; without it SCRIPT.sonde, SCRIPT-2.sonde, ...",
                        'o', "FILE" },
    [SD_RUN_FORCE] = SD_OPTION_FORCE,
    [SD_RUN_PYTHON] = SD_OPTION_PYTHON,
    [SD_RUN_SYNC] = SD_OPTION_SYNC,
    [SD_RUN_ALL] =
        SD_OPTION_ALL("show the functions of imports; in a file, " SD_ALL_PATHS),
    [SD_RUN_SOURCE] = SD_OPTION_SOURCE,
    [SD_RUN_SHARE] = SD_OPTION_SHARE,
    [OPT_PID] = { "pid", SD_TEXT, NULL,
                  "watch this running process instead of starting a program, and the "
                  "processes that it starts (--no-children: it alone), until it ends "
                  "or Control-C",
                  'p', "PID" },
    [OPT_DURATION] = { "duration", SD_TEXT, "unlimited",
                       "with --pid: how long to watch; a bare number is seconds", 'd',
                       "TIME|unlimited" },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static int watch(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    struct sd_running_process process = { .watch.remote = SD_REMOTE_NONE };
    pid_t pid;
    int status;
    int rc = c->n_words == 0
                 ? sd_attach_pid(v[OPT_PID].text, &pid)
                 : sd_fail(SD_EUSAGE,
                           "--pid watches a process that is already running; it cannot "
                           "start \"%s\" too",
                           c->words[c->n_words > 1 && c->words[0][0] == '-']);

    if (rc == 0)
        rc = sd_running_process_duration(v[OPT_DURATION].text, &process.duration_ns);
    if (rc == 0)
        rc = sd_running_process_hold(&process, pid);
    if (rc < 0)
        return sd_say_failure(rc);
    status = sd_run_beside(c, &process);
    sd_running_process_leave(&process);
    return status;
}

static int run(const struct sd_command *c)
{
    if (c->values[OPT_PID].text)
        return watch(c);
    if (c->values[OPT_DURATION].is_given)
        return sd_say_failure(
            sd_fail(SD_EUSAGE, "--duration works only with --pid; a program that sonde "
                               "starts is recorded to its end"));
    return sd_run(c, NULL);
}

const struct sd_verb sd_verb_rss = {
    .name = "rss",
    .group = SD_GROUP_RECORD,
    .summary = "reads over time what each process holds and uses: memory and its peak, "
               "CPU, threads, bytes read, written and sent",
    .usage = "[OPTION...] [--pid PID | SCRIPT ARG... | -m MODULE ARG... | -c CODE "
             "ARG... | -- COMMAND ARG...]",
    .about = "Runs a Python script, module or piece of code, or any command after "
             "\"--\", or watches a process that runs already, and reads from outside "
             "how much memory, CPU time, I/O and network each of its processes uses. "
             "In the end a table of the processes is printed on stdout, and the "
             "capture stands in a .sonde file that `sonde report --plot` draws.\n\n"
             "Options stand before the program; all that follows it is the "
             "program's.",
    .examples = "sonde rss train.py --epochs 2\n"
                "sonde rss -o mem.svg train.py    # memory over time, as a picture\n"
                "sonde rss --every 1ms -o train.dat train.py    # for mprof\n"
                "sonde rss --pid 1234    # until it ends, or Control-C\n"
                "sonde rss --pid 1234 -d 60 --no-children -o worker.sonde\n",
    .options = options,
    .takes_program = true,
    .collector = &sd_about_rss,
    .run = run,
};
