/* SPDX-License-Identifier: MIT */
/* verb_time: the verb `time`: what a statement takes. */
#include <unistd.h>

#include "base/error.h"
#include "cli/say.h"
#include "cli/time/time_file.h"
#include "cli/time/time_processes.h"
#include "cli/time/time_put.h"
#include "cli/time/time_request.h"

static int put(const struct sd_time_ask *ask, const struct sd_timings *t)
{
    const struct sd_time_style style = { ask->unit, ask->has_histogram };
    struct sd_out out;
    int rc;

    sd_out_to_fd(&out, STDOUT_FILENO);
    rc = ask->is_json ? sd_time_put_json(&out, t) : sd_time_put_text(&out, t, &style);
    if (rc < 0) {
        sd_out_release(&out);
        return sd_say_failure(rc);
    }
    return sd_finish_stdout(&out, 0);
}

static int measure(const struct sd_time_ask *ask)
{
    struct sd_timings t = { 0 };
    int status = 0, rc = sd_time_file_check(ask);

    if (rc == 0)
        rc = sd_time_processes_measure(ask, &t, &status);
    if (rc < 0)
        status = status ? status : sd_say_failure(rc);
    /* Measuring takes long: what was found is told, whatever becomes of the rest. */
    if (rc == 0) {
        int told = put(ask, &t);

        status = status ? status : told;
        rc = ask->to ? sd_time_file_write(ask, &t) : 0;
        if (rc < 0)
            status = sd_say_failure(rc);
    }
    sd_timings_release(&t);
    return status;
}

static int run(const struct sd_command *c)
{
    struct sd_time_ask ask;
    int rc = sd_time_request_read(c, &ask);
    int status = rc < 0 ? sd_say_failure(rc) : measure(&ask);

    sd_time_request_release(&ask);
    return status;
}

const struct sd_verb sd_verb_time = {
    .name = "time",
    .group = SD_GROUP_RECORD,
    .summary = "times a statement, as timeit does, on machines that others use too",
    .usage = "[OPTION...] [STATEMENT...]",
    .about =
        "Runs a statement in Python's own loop, in batches of 0.15 ms, in ten "
        "processes. "
        "A batch in which it was taken off its CPU does not count, the loop's own time "
        "is subtracted, and the headline is the mean of the three fastest processes "
        "(of "
        "each the 2 % quantile of its batches), with its 95 % interval. Several "
        "STATEMENTs are lines of one; without any it is `pass`. With -n or -r it "
        "measures as timeit does: one process, R batches of N, each behind a set-up of "
        "its own. A statement may use `await`.",
    .examples = "sonde time '\"-\".join(str(n) for n in range(100))'\n"
                "sonde time -s 'import json' 'json.dumps(1)' --against 'repr(1)'\n"
                "sonde time --python python3.11,python3.13 'sum(range(1000))'\n"
                "sonde time -s 'a = list(range(n))' 'sorted(a)' --vary "
                "n=100,1000,10000,100000\n"
                "sonde time -n 1000 -r 20 -u usec 'sorted([3, 1, 2])'\n"
                "sonde time 'sum(range(1000))' -o sum.sonde\n",
    .options = sd_time_request_options,
    .run = run,
};
