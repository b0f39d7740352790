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

    return s->n > 0 && !f->match && f->from_ns % s->slice_ns == 0 &&
           (f->to_ns == 0 || f->to_ns + 1 >= end || (f->to_ns + 1) % s->slice_ns == 0);
}

static int choose(struct sd_slice_choice *c, const struct sd_slices *s,
                  const struct sd_filter *f)
{
    *c = (struct sd_slice_choice){ .from = slice_at(s, f->from_ns),
                                   .to = f->to_ns ? slice_at(s, f->to_ns)
                                                  : UINT32_MAX - 1,
                                   .section = UINT32_MAX };
    if (!f->section)
        return 0;
    c->section = sd_intern_find(&s->sets.paths, f->section, strlen(f->section));
    return c->section == UINT32_MAX
               ? sd_fail(SD_EUSAGE, "no section '%s' was recorded", f->section)
               : 0;
}

/* What the chosen slices hold of each total that is on a chosen track. */
static int64_t *sum(const struct sd_slices *s, const struct sd_slice_choice *c,
                    uint32_t column, const struct sd_stack_totals *t,
                    const bool *is_chosen)
{
    int64_t *sums = sd_zalloc((t->n + 1) * sizeof *sums);

    if (!sums)
        return NULL;
    sd_slices_sum(s, c, column, sums);
    for (size_t i = 0; is_chosen && i < t->n; i++)
        if (!is_chosen[t->items[i].track.at])
            sums[i] = 0;
    return sums;
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
    return any ? 0 : sd_fail(SD_EUSAGE, "no process or thread is '%s'", wanted);
}

int sd_slice_sums_init(struct sd_slice_sums *sums, struct sd_profile *p,
                       const struct sd_slices *s, const struct sd_filter *f)
{
    struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    struct sd_slice_choice choice;
    bool *is_chosen;
    int rc = choose(&choice, s, f);

    *sums = (struct sd_slice_sums){ 0 };
    if (rc < 0)
        return rc;
    sd_assert(s->n_metrics == t->n_metrics && sd_slices_tell(s, f));
    rc = choose_tracks(p, f->track, &is_chosen);
    for (uint32_t k = 0; k < t->n_metrics && rc == 0; k++) {
        sums->whole[k] = sum(s, &choice, k, t, is_chosen);
        rc = sums->whole[k] ? 0 : sd_no_memory();
    }
    sd_free(is_chosen);
    /* Until here the profile was not touched; now the two change places. */
    sums->totals = rc == 0 ? t : NULL;
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        int64_t *part = sums->whole[k];

        if (rc < 0) {
            sd_free(part);
            sums->whole[k] = NULL;
            continue;
        }
        sums->whole[k] = t->values[k];
        t->values[k] = part;
    }
    return rc;
}

void sd_slice_sums_release(struct sd_slice_sums *sums)
{
    for (uint32_t k = 0; sums->totals && k < sums->totals->n_metrics; k++) {
        sd_free(sums->totals->values[k]);
        sums->totals->values[k] = sums->whole[k];
    }
    *sums = (struct sd_slice_sums){ 0 };
}
