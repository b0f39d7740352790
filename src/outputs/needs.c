/* SPDX-License-Identifier: MIT */
#include "outputs/needs.h"

#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"
#include "profile/profile.h"

/* A kind of what is recorded. */
struct kind {
    unsigned holds;
    const char *title, *collector, *command;
};

static const struct kind others[] = {
    { SD_HOLDS_READINGS | SD_HOLDS_TIMES, "readings over time", "rss",
      "sonde run --with rss" },
    { SD_HOLDS_SECTIONS, "sections", "sections", "sonde run --with sections" },
};
enum { N_OTHERS = sizeof others / sizeof *others, N_KINDS = SD_EVIDENCES + N_OTHERS };

static unsigned holds_of(enum sd_evidence e)
{
    switch (sd_evidence[e].shape) {
    case SD_OF_STACKS:
        return SD_HOLDS_STACKS | SD_HOLDS_CALLS |
               (e == SD_ALLOCATIONS ? 0 : SD_HOLDS_TIMES);
    case SD_OF_LINES:
        return SD_HOLDS_LINES;
    case SD_OF_MODELS:
        return SD_HOLDS_MODEL;
    case SD_OF_TIMINGS:
        return SD_HOLDS_TIMINGS;
    }
    return 0;
}

static struct kind kind_at(size_t i)
{
    sd_assert(i < N_KINDS);
    if (i >= SD_EVIDENCES)
        return others[i - SD_EVIDENCES];
    return (struct kind){ holds_of((enum sd_evidence)i), sd_evidence[i].title,
                          sd_evidence[i].collector, sd_evidence[i].command };
}

unsigned sd_holds_of_profile(const struct sd_profile *p)
{
    unsigned holds = SD_HOLDS_EVENTS;

    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        holds |= sd_profile_has(p, e) ? holds_of(e) : 0;
    return holds | (p->n_series > 0 ? SD_HOLDS_READINGS : 0) |
           (p->n_point_events > 0 ? SD_HOLDS_TIMES : 0) |
           (p->n_spans > 0 ? SD_HOLDS_SECTIONS : 0) |
           (p->n_timeline_calls > 0 ? SD_HOLDS_TIMELINE : 0);
}

unsigned sd_holds_of_collector(const char *name)
{
    unsigned holds = SD_HOLDS_EVENTS;

    for (size_t i = 0; i < N_KINDS; i++) {
        struct kind k = kind_at(i);

        holds |= k.collector && strcmp(k.collector, name) == 0 ? k.holds : 0;
    }
    return holds;
}

bool sd_holds_lines_alone(const struct sd_profile *p)
{
    return sd_profile_has(p, SD_LINES) && !sd_profile_has_stacks(p) &&
           p->n_span_events == 0 && p->n_point_events == 0;
}

static const char *title(const struct kind *k) { return k->title; }
static const char *command(const struct kind *k) { return k->command; }

/* "a", "a<last>b", "a, b<last>c". */
static void put_list(struct sd_buf *to, unsigned needs, const char *last,
                     const char *(*field)(const struct kind *))
{
    size_t n = 0, i = 0;

    for (size_t at = 0; at < N_KINDS; at++)
        n += (kind_at(at).holds & needs) != 0;
    for (size_t at = 0; at < N_KINDS; at++) {
        struct kind k = kind_at(at);

        if (k.holds & needs) {
            sd_buf_printf(to, "%s%s",
                          i == 0       ? ""
                          : i + 1 == n ? last
                                       : ", ",
                          field(&k));
            i++;
        }
    }
}

int sd_needs_fail(int code, const char *start, unsigned needs)
{
    struct sd_buf titles = { 0 }, commands = { 0 };
    int rc;

    put_list(&titles, needs, " or ", title);
    put_list(&commands, needs, ", or ", command);
    sd_assert(titles.bad || titles.n > 0); /* an output that needs events has them */
    rc = sd_fail(code, "%s no %s; record them with: %s", start, sd_buf_string(&titles),
                 sd_buf_string(&commands));
    sd_buf_release(&titles);
    sd_buf_release(&commands);
    return rc;
}
