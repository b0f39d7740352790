/* SPDX-License-Identifier: MIT */
/* lib_capture: reads captures for C programs: every section with its totals, over all
 * tracks. */
#include "sonde.h"

#include <string.h>

#include "base/mem.h"
#include "profile/profile.h"

struct sonde_capture {
    struct sd_profile *profile; /* owned */
    sonde_total *totals;        /* owned; names in the profile's arena */
    size_t n;
};

/* The largest peak of both; -1 is below every one. */
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void add(sonde_total *to, const struct sd_profile *p,
                const struct sd_span_total *s)
{
    const struct sd_sum *cpu = sd_span_total_value(p, s, "cpu");
    const struct sd_sum *peak = sd_span_total_value(p, s, "peak_rss");

    to->count += s->count;
    to->wall_ns += (uint64_t)s->wall.total;
    if (cpu)
        to->cpu_ns += (uint64_t)cpu->total;
    if (peak)
        to->peak_bytes = larger(to->peak_bytes, peak->max);
}

/* One total per site that has spans, in the order in which sites were first seen. */
static int add_up(sonde_capture *c)
{
    const struct sd_profile *p = c->profile;
    uint32_t *row_of; /* of a site: 1 + its row, or 0 */
    size_t i;

    c->totals = sd_zalloc((p->n_spans + 1) * sizeof *c->totals);
    row_of = sd_zalloc((p->n_sites + 1) * sizeof *row_of);
    if (!c->totals || !row_of) {
        sd_free(row_of);
        return sd_no_memory();
    }
    for (i = 0; i < p->n_spans; i++) {
        const struct sd_span_total *s = &p->spans[i];

        if (s->site.at >= p->n_sites)
            continue;
        if (!row_of[s->site.at]) {
            row_of[s->site.at] = (uint32_t)++c->n;
            c->totals[c->n - 1] =
                (sonde_total){ .name = p->sites[s->site.at].path, .peak_bytes = -1 };
        }
        add(&c->totals[row_of[s->site.at] - 1], p, s);
    }
    sd_free(row_of);
    return 0;
}

int sonde_open(const char *path, sonde_capture **out)
{
    sonde_capture *c = sd_zalloc(sizeof *c);
    int rc;

    *out = NULL;
    if (!c)
        return sd_no_memory();
    rc = sd_profile_load(path, NULL, &c->profile);
    if (rc == 0)
        rc = add_up(c);
    if (rc < 0) {
        sonde_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

size_t sonde_n_totals(const sonde_capture *c) { return c->n; }

sonde_total sonde_get_total(const sonde_capture *c, size_t i)
{
    static const sonde_total none = { .name = "", .peak_bytes = -1 };

    return i < c->n ? c->totals[i] : none;
}

const char *sonde_complaint(const sonde_capture *c) { return c->profile->complaint; }

void sonde_close(sonde_capture *c)
{
    if (!c)
        return;
    sd_profile_free(c->profile);
    sd_free(c->totals);
    sd_free(c);
}
