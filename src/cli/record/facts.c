/* SPDX-License-Identifier: MIT */
#include "cli/record/facts.h"

#include <limits.h>
#include <stdio.h>
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

static int put_names(struct sd_capture *capture, const struct sd_collector_set *chosen)
{
    struct sd_buf names = { 0 };
    int rc;

    sd_collector_set_names(chosen, &names);
    rc = names.bad ? sd_no_memory()
                   : sd_capture_meta(capture, "collectors", sd_buf_string(&names));
    sd_buf_release(&names);
    return rc;
}

int sd_facts_put_before(struct sd_capture *capture, const struct sd_program *target,
                        const struct sd_collector_set *chosen)
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
                        uint64_t folded_peak, uint64_t seen_cpu_ns)
{
    int64_t peak = (int64_t)child->usage.ru_maxrss * 1024;

    if ((int64_t)folded_peak > peak)
        peak = (int64_t)folded_peak;
    put_number(log, "run.started_ns", (int64_t)child->started_ns);
    put_number(log, "run.wall_ns", (int64_t)(child->ended_ns - child->started_ns));
    put_number(log, "run.cpu_ns",
               ns_of(&child->usage.ru_utime) + ns_of(&child->usage.ru_stime));
    if (seen_cpu_ns)
        put_number(log, "run.seen_cpu_ns", (int64_t)seen_cpu_ns);
    put_number(log, "run.maxrss_bytes", peak);
    put_number(log, "run.status", child->status);
}
