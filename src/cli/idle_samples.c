/* SPDX-License-Identifier: MIT */
#include "cli/idle_samples.h"

#include <stdio.h>
#include <string.h>

#include "analyse/analyse.h"
#include "base/text.h"
#include "cli/say.h"

static bool are_alone(const struct sd_profile *p)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;

    for (size_t i = 0; i < samples->n; i++)
        if (!(samples->items[i].flags & SD_SAMPLE_IDLE))
            return false;
    return sd_profile_has(p, SD_SAMPLES) && sd_profile_n_stacked(p) == 1;
}

static bool understands_idle(const struct sd_verb *v)
{
    for (const struct sd_option *o = v->options; o->name; o++)
        if (strcmp(o->name, "idle") == 0)
            return true;
    return false;
}

void sd_idle_samples_say_counted(const struct sd_command *c, uint64_t n_samples,
                                 const char *capture)
{
    char n[SD_TEXT_MAX];
    char all[3 * SD_TEXT_MAX] = "the only sample is of a thread that waited or was "
                                "stopped";

    if (sd_loudness_of(c) == SD_QUIET)
        return;
    if (n_samples != 1)
        snprintf(all, sizeof all,
                 "all %s samples are of threads that waited or were stopped",
                 sd_text_count(n, (int64_t)n_samples));
    if (capture)
        sd_say("%s; to see %s: sonde report --idle %s", all,
               n_samples == 1 ? "it" : "them", capture);
    else if (understands_idle(c->verb))
        sd_say("%s; --idle shows %s", all, n_samples == 1 ? "it" : "them");
    else
        sd_say("%s; to see %s, record with -o x.sonde, then: sonde report --idle "
               "x.sonde",
               all, n_samples == 1 ? "it" : "them");
}

void sd_idle_samples_say(const struct sd_command *c, const struct sd_profile *p,
                         const char *capture)
{
    struct sd_summary s;

    if (are_alone(p) && sd_analyse_summary(p, &s) == 0)
        sd_idle_samples_say_counted(c, s.n_samples, capture);
}
