/* SPDX-License-Identifier: MIT */
#include "cli/facts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/redact.h"
#include "sonde.h"

/* What does not fit into one META record is cut. */
enum { VALUE_MAX = 16 * 1024 };

static int put_command(struct sd_capture *capture, char *const *argv)
{
    struct sd_buf line = { 0 };
    int rc;

    sd_redact_command(&line, argv);
    if (line.n > VALUE_MAX)
        line.n = VALUE_MAX;
    rc = line.bad ? sd_no_memory()
                  : sd_capture_meta(capture, "command", sd_buf_string(&line));
    sd_buf_release(&line);
    return rc;
}

static int put_names(struct sd_capture *capture, const struct sd_chosen *chosen)
{
    struct sd_buf names = { 0 };
    int rc;

    sd_chosen_names(chosen, &names);
    rc = names.bad ? sd_no_memory()
                   : sd_capture_meta(capture, "collectors", sd_buf_string(&names));
    sd_buf_release(&names);
    return rc;
}

int sd_facts_put_before(struct sd_capture *capture, const struct sd_target *target,
                        const struct sd_chosen *chosen)
{
    char cwd[PATH_MAX], host[256] = "";
    int rc = put_command(capture, target->argv);

    if (rc == 0)
        rc = put_names(capture, chosen);
    if (rc == 0 && getcwd(cwd, sizeof cwd))
        rc = sd_capture_meta(capture, "cwd", cwd);
    if (rc == 0 && gethostname(host, sizeof host - 1) == 0)
        rc = sd_capture_meta(capture, "host", host);
    if (rc == 0 && target->is_python)
        rc = sd_capture_meta(capture, "python", target->path);
    if (rc == 0)
        rc = sd_capture_meta(capture, "sonde.version", SONDE_VERSION);
    return rc;
}

static void put_number(struct sd_log *log, const char *key, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    sd_log_meta(log, key, text);
}

static int64_t ns_of(const struct timeval *t)
{
    return (int64_t)t->tv_sec * 1000000000 + (int64_t)t->tv_usec * 1000;
}

/* Sections that ask for their peak set the kernel's mark back: what they folded of it
 * counts too. */
void sd_facts_put_after(struct sd_log *log, const struct sd_child *child,
                        uint64_t folded_peak)
{
    int64_t peak = (int64_t)child->usage.ru_maxrss * 1024;

    if ((int64_t)folded_peak > peak)
        peak = (int64_t)folded_peak;
    put_number(log, "run.wall_ns", (int64_t)(child->ended_ns - child->started_ns));
    put_number(log, "run.cpu_ns",
               ns_of(&child->usage.ru_utime) + ns_of(&child->usage.ru_stime));
    put_number(log, "run.maxrss_bytes", peak);
    put_number(log, "run.status", child->status);
}

/* The kernel's mark of the program's memory; of several merged runs the largest. */
static int64_t largest_maxrss(const struct sd_profile *p)
{
    int64_t largest = -1, n;

    for (size_t i = 0; i < p->n_metas; i++) {
        if (strcmp(p->metas[i].key, "run.maxrss_bytes") != 0)
            continue;
        n = strtoll(p->metas[i].value, NULL, 10);
        largest = n > largest ? n : largest;
    }
    return largest;
}

int sd_facts_of(const struct sd_profile *p, struct sd_summary *out)
{
    int64_t maxrss = largest_maxrss(p);
    int rc = sd_analyse_summary(p, out);

    if (rc < 0 || p->window.is_set) /* what `run` knew says nothing of a window */
        return rc;
    if (maxrss > out->peak_bytes) {
        out->peak_bytes = maxrss;
        out->is_peak_sum = false;
    }
    if (out->n_processes == 0)
        out->n_processes = 1; /* nobody watched it, but it ran */
    return 0;
}
