/* SPDX-License-Identifier: MIT */
#include "profile/call_window.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/by_time/call_slices.h"
#include "profile/profile_define.h"

/* What is inside, by total. */
static int64_t *sum_inside(const struct sd_slices *s, uint32_t column, size_t n_totals)
{
    int64_t *sums = sd_zalloc((n_totals + 1) * sizeof *sums);

    for (size_t i = 0; sums && i < s->n; i++)
        if (s->entries[i].sections & 1)
            sums[s->entries[i].total] =
                sd_sum_i64(sums[s->entries[i].total], s->values[column][i]);
    return sums;
}

static bool is_nothing(const struct sd_stack_totals *t, size_t i)
{
    for (uint32_t k = 0; k < t->n_metrics; k++)
        if (t->values[k][i] != 0)
            return false;
    return true;
}

/* Calls of which nothing is inside are not there, as if they had not been made. */
static int leave_out(struct sd_stack_totals *t, struct sd_triples *places)
{
    struct sd_triples left = { 0 };
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < t->n && rc == 0; i++) {
        uint32_t at;

        if (is_nothing(t, i))
            continue;
        rc = sd_triples_add(&left, places->items[i], &at);
        sd_assert(rc < 0 || at == n);
        t->items[n] = t->items[i];
        for (uint32_t k = 0; k < t->n_metrics; k++)
            t->values[k][n] = t->values[k][i];
        n++;
    }
    if (rc < 0) {
        sd_triples_release(&left);
        return rc;
    }
    for (uint32_t k = 0; k < t->n_metrics; k++)
        memset(t->values[k] + n, 0, (t->n - n) * sizeof *t->values[k]);
    sd_triples_release(places);
    *places = left;
    t->n = n;
    return 0;
}

static int cut(struct sd_profile *p, const struct sd_slices *s)
{
    struct sd_stack_totals *t = &p->evidence[SD_CALLS].stacks;

    sd_assert(s->n_metrics == t->n_metrics && !p->has_calls_cut);
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        int64_t *sums = sum_inside(s, k, t->n);

        if (!sums)
            return sd_no_memory();
        memcpy(t->values[k], sums, t->n * sizeof *sums);
        sd_free(sums);
    }
    p->has_calls_cut = true;
    return leave_out(t, &p->index->places[SD_CALLS]);
}

int sd_call_window_apply(struct sd_profile *p, const char *const *paths, size_t n,
                         const struct sd_filter *filter)
{
    struct sd_slices s;
    int rc;

    if (!filter || !(filter->from_ns || filter->to_ns || filter->section) ||
        !sd_profile_knows_calls(p))
        return 0;
    rc = sd_call_slices_load_part(&s, p, paths, n, filter, SD_CALLS_MARKED);
    if (rc < 0)
        return rc;
    if (sd_call_slices_are_whole(p, &s))
        rc = cut(p, &s);
    sd_slices_release(&s);
    return rc;
}
