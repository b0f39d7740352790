/* SPDX-License-Identifier: MIT */
#include "profile/slice_sums.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/filter.h"

static uint32_t slice_at(const struct sd_slices *s, uint64_t ns)
{
    uint64_t slice = ns / s->slice_ns;

    return slice < UINT32_MAX ? (uint32_t)slice : UINT32_MAX - 1;
}

bool sd_slices_tell(const struct sd_slices *s, const struct sd_filter *f)
{
    uint64_t end = s->n ? (s->entries[s->n - 1].slice + UINT64_C(1)) * s->slice_ns : 0;

    return s->n > 0 && !f->match && !(f->section && s->sets.is_cut) &&
           f->from_ns % s->slice_ns == 0 &&
           (f->to_ns == 0 || f->to_ns + 1 >= end || f->to_ns % s->slice_ns == 0 ||
            (f->to_ns + 1) % s->slice_ns == 0);
}

static int choose(struct sd_slice_choice *c, const struct sd_slices *s,
                  const struct sd_filter *f)
{
    uint64_t last = f->to_ns % s->slice_ns || !f->to_ns ? f->to_ns : f->to_ns - 1;

    *c = (struct sd_slice_choice){ .from = slice_at(s, f->from_ns),
                                   .to = f->to_ns ? slice_at(s, last) : UINT32_MAX - 1,
                                   .section = UINT32_MAX };
    if (!f->section)
        return 0;
    c->section = sd_intern_find(&s->sets.paths, f->section, strlen(f->section));
    return c->section == UINT32_MAX
               ? sd_fail(SD_EUSAGE, "no section '%s' was recorded", f->section)
               : 0;
}

static int choose_tracks(const struct sd_profile *p, const char *wanted, bool **out)
{
    bool any = false;

    *out = NULL;
    if (!wanted)
        return 0;
    *out = sd_zalloc((p->n_tracks + 1) * sizeof **out);
    if (!*out)
        return sd_no_memory();
    for (uint32_t i = 0; i < p->n_tracks; i++)
        any |= (*out)[i] = sd_filter_takes_track(p, (sd_track_id){ i }, wanted);
    return any ? 0
               : sd_fail(SD_EUSAGE, "the recording has no process or thread \"%s\"",
                         wanted);
}

static void release_totals(struct sd_stack_totals *t)
{
    sd_free(t->items);
    for (uint32_t k = 0; k < t->n_metrics; k++)
        sd_free(t->values[k]);
}

/* All totals with the sums of the chosen slices. */
static int sum(struct sd_stack_totals *part, const struct sd_stack_totals *whole,
               const struct sd_slices *s, const struct sd_slice_choice *c)
{
    size_t room = whole->n + 1;

    *part = *whole;
    memset(part->values, 0, sizeof part->values);
    part->cap = room;
    part->items = sd_alloc(room * sizeof *part->items);
    if (part->items && whole->n > 0)
        memcpy(part->items, whole->items, whole->n * sizeof *part->items);
    for (uint32_t k = 0; k < part->n_metrics; k++) {
        part->values[k] = sd_zalloc(room * sizeof *part->values[k]);
        if (part->values[k])
            sd_slices_sum(s, c, k, part->values[k]);
    }
    for (uint32_t k = 0; k < part->n_metrics; k++)
        if (!part->values[k])
            return sd_no_memory();
    return part->items ? 0 : sd_no_memory();
}

static bool is_empty(const struct sd_stack_totals *t, size_t i)
{
    for (uint32_t k = 0; k < t->n_metrics; k++)
        if (t->values[k][i] != 0)
            return false;
    return true;
}

/* Leaves out what has nothing in that part or is on another track. */
static void drop_others(struct sd_stack_totals *t, const bool *is_chosen)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        if (is_empty(t, i) || (is_chosen && !is_chosen[t->items[i].track.at]))
            continue;
        t->items[n] = t->items[i];
        for (uint32_t k = 0; k < t->n_metrics; k++)
            t->values[k][n] = t->values[k][i];
        n++;
    }
    sd_assert(n <= t->n);
    t->n = n;
}

int sd_slice_sums_init(struct sd_slice_sums *sums, struct sd_profile *p,
                       const struct sd_slices *s, const struct sd_filter *f)
{
    struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks, part = { 0 };
    struct sd_slice_choice choice;
    bool *is_chosen = NULL;
    int rc = choose(&choice, s, f);

    *sums = (struct sd_slice_sums){ 0 };
    sd_assert(s->n_metrics == t->n_metrics && sd_slices_tell(s, f));
    if (rc == 0)
        rc = choose_tracks(p, f->track, &is_chosen);
    if (rc == 0)
        rc = sum(&part, t, s, &choice);
    if (rc == 0) {
        drop_others(&part, is_chosen);
        *sums = (struct sd_slice_sums){ p, *t };
        *t = part;
    } else {
        release_totals(&part);
    }
    sd_free(is_chosen);
    return rc;
}

void sd_slice_sums_release(struct sd_slice_sums *sums)
{
    struct sd_stack_totals *t = sums->p ? &sums->p->evidence[SD_SAMPLES].stacks : NULL;

    if (t) {
        release_totals(t);
        *t = sums->whole;
    }
    *sums = (struct sd_slice_sums){ 0 };
}
