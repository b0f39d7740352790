/* SPDX-License-Identifier: MIT */
#include "outputs/path_fold.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "formats/thread_samples.h"
#include "profile/triples.h"

enum { NONE = UINT32_MAX };
enum { EXPECTED_FROM = 8192, EXPECTED_BLOCK = 128 }; /* paths */
enum { DOUBLINGS = 26 };                             /* of the share: to 67 % */

/* What is written, and how: the same for every attempt. */
struct target {
    const struct sd_output *output;
    const struct sd_profile *p;
    const struct sd_output_job *job;
    enum sd_evidence evidence; /* whose paths are folded */
    struct sd_stack_style style;
};

static enum sd_evidence evidence_of(const struct sd_output_job *job)
{
    return sd_profile_evidence(job->profile, job->style ? job->style->metric : NULL);
}

/* The metric is said, because a profile without such stacks would show others. */
static struct target target_of(const struct sd_output *o,
                               const struct sd_output_job *job)
{
    struct target t = { o, job->profile, job, evidence_of(job), sd_output_style(job) };

    if (!t.style.metric)
        t.style.metric = sd_evidence_metric(t.p, t.evidence);
    return t;
}

/* How many bytes the format makes of `p`; more than `limit_bytes`: more than that. */
static int count_bytes(const struct target *t, const struct sd_profile *p,
                       uint64_t limit_bytes, uint64_t *bytes)
{
    struct sd_output_job job = *t->job;
    struct sd_out out;
    int rc;

    job.profile = p;
    job.style = &t->style;
    sd_out_to_count(&out, limit_bytes);
    rc = t->output->write(&job, &out);
    if (rc == 0 && out.pending.bad)
        rc = sd_no_memory();
    *bytes = sd_out_counted(&out);
    sd_out_release(&out);
    return rc;
}

bool sd_path_fold_applies(const struct sd_output *o, const struct sd_output_job *job)
{
    const struct sd_profile *p = job->profile;
    enum sd_evidence e;

    if (!o->folds_paths)
        return false;
    e = evidence_of(job);
    return e != SD_SAMPLES && sd_profile_has(p, e) &&
           !(o->prefers_timeline && p->n_timeline_calls > 0);
}

/* --- One attempt */

/* By stack: its share of the whole is that of all paths through it. */
struct weights {
    int64_t *totals; /* owned; by stack */
    int64_t all;
};

static int weigh(const struct target *t, struct weights *w)
{
    const struct sd_stack_totals *calls = &t->p->evidence[t->evidence].stacks;
    uint32_t column = sd_totals_metric(t->p, calls, t->style.metric);

    w->totals = sd_zalloc((t->p->n_stacks + 1) * sizeof *w->totals);
    if (!w->totals)
        return sd_no_memory();
    for (size_t i = 0; i < calls->n && column != NONE; i++) {
        int64_t value = calls->values[column][i];
        uint32_t stack = calls->items[i].stack.at;

        w->all = sd_sum_i64(w->all, value);
        if (stack != NONE)
            w->totals[stack] = sd_sum_i64(w->totals[stack], value);
    }
    for (size_t i = t->p->n_stacks; i-- > 0;) {
        uint32_t parent = t->p->stacks[i].parent.at;

        if (parent != NONE)
            w->totals[parent] = sd_sum_i64(w->totals[parent], w->totals[i]);
    }
    return 0;
}

static void release_calls(struct sd_stack_totals *t)
{
    sd_free(t->items);
    for (uint32_t k = 0; k < t->n_metrics; k++)
        sd_free(t->values[k]);
    *t = (struct sd_stack_totals){ 0 };
}

/* Where each stack goes.  The outermost frame stays, however small: there is nothing
 * to fold it into. */
static void fold_stacks(struct sd_path_fold *fold, const struct sd_profile *p,
                        const struct weights *w, int64_t least, uint32_t *to)
{
    struct sd_profile *made = &fold->profile;

    made->n_stacks = 0;
    for (size_t i = 0; i < p->n_stacks; i++) {
        struct sd_stack one = p->stacks[i];
        uint32_t parent = one.parent.at;

        if (parent != NONE && w->totals[i] < least) {
            to[i] = to[parent];
            continue;
        }
        if (parent != NONE)
            one.parent.at = to[parent];
        to[i] = (uint32_t)made->n_stacks;
        made->stacks[made->n_stacks++] = one;
    }
}

/* Room for as many totals as `p` has, of the same metrics. */
static int take_room(struct sd_stack_totals *calls, const struct sd_stack_totals *all)
{
    *calls = (struct sd_stack_totals){ .cap = all->n };
    memcpy(calls->metrics, all->metrics, sizeof calls->metrics);
    calls->items = sd_alloc((all->n + 1) * sizeof *calls->items);
    if (!calls->items)
        return sd_no_memory();
    for (; calls->n_metrics < all->n_metrics; calls->n_metrics++) {
        int64_t *values = sd_alloc((all->n + 1) * sizeof *values);

        if (!values)
            return sd_no_memory();
        calls->values[calls->n_metrics] = values;
    }
    return 0;
}

/* Totals that now have one stack and one track become one. */
static int fold_calls(struct sd_path_fold *fold, const struct target *t,
                      const uint32_t *to)
{
    const struct sd_stack_totals *all = &t->p->evidence[t->evidence].stacks;
    struct sd_stack_totals *calls = &fold->profile.evidence[t->evidence].stacks;
    struct sd_triples places = { 0 };
    int rc = 0;

    calls->n = 0;
    for (size_t i = 0; i < all->n && rc == 0; i++) {
        struct sd_sample_total one = all->items[i];
        uint32_t at = 0;

        if (one.stack.at != NONE)
            one.stack.at = to[one.stack.at];
        rc = sd_triples_add(
            &places, (struct sd_triple){ one.stack.at, one.track.at, one.flags }, &at);
        if (rc < 0)
            break;
        if (at == calls->n) {
            calls->items[calls->n++] = one;
            for (uint32_t k = 0; k < calls->n_metrics; k++)
                calls->values[k][at] = 0;
        }
        for (uint32_t k = 0; k < calls->n_metrics; k++)
            calls->values[k][at] = sd_sum_i64(calls->values[k][at], all->values[k][i]);
    }
    fold->n_folded = all->n - calls->n;
    sd_triples_release(&places);
    return rc;
}

static int fold_below(struct sd_path_fold *fold, const struct target *t,
                      const struct weights *w, unsigned doublings, uint32_t *to)
{
    int64_t least;

    fold->percent = ldexp(SD_FOLD_LEAST, (int)doublings);
    least = (int64_t)(fold->percent / 100 * (double)w->all);
    fold_stacks(fold, t->p, w, least > 1 ? least : 1, to);
    return fold_calls(fold, t, to);
}

/* --- Until it fits */

/* What the file has besides paths (sections, readings) is not what is folded. */
static int count_others(const struct target *t, uint64_t *bytes)
{
    struct sd_profile none = *t->p;

    none.n_stacks = 0;
    none.evidence[t->evidence].stacks.n = 0;
    return count_bytes(t, &none, UINT64_MAX, bytes);
}

/* The first of the doubled shares with which it fits, found by halving their number:
 * what is too large costs most to count.  With the last one nearly all is folded, and
 * it is taken whether that fits or not. */
static int fold_until_it_fits(struct sd_path_fold *fold, const struct target *t,
                              const struct weights *w, uint64_t limit_bytes)
{
    uint32_t *to = sd_alloc((t->p->n_stacks + 1) * sizeof *to);
    unsigned low = 0, high = DOUBLINGS, middle, folded = UINT_MAX;
    uint64_t bytes = 0;
    int rc;

    fold->profile.stacks = sd_alloc((t->p->n_stacks + 1) * sizeof *t->p->stacks);
    rc = to && fold->profile.stacks
             ? take_room(&fold->profile.evidence[t->evidence].stacks,
                         &t->p->evidence[t->evidence].stacks)
             : sd_no_memory();
    while (low < high && rc == 0) {
        middle = folded = (low + high) / 2;
        rc = fold_below(fold, t, w, middle, to);
        if (rc == 0)
            rc = count_bytes(t, &fold->profile, limit_bytes, &bytes);
        if (bytes <= limit_bytes)
            high = middle;
        else
            low = middle + 1;
    }
    if (rc == 0 && folded != high)
        rc = fold_below(fold, t, w, high, to);
    sd_free(to);
    return rc;
}

int sd_path_fold_make(struct sd_path_fold *fold, const struct sd_output *o,
                      const struct sd_output_job *job, uint64_t limit_bytes)
{
    const struct target t = target_of(o, job);
    const struct sd_profile *p = job->profile;
    struct weights w = { 0 };
    uint64_t bytes, others = 0;
    int rc;

    *fold = (struct sd_path_fold){ .profile = *p,
                                   .evidence = t.evidence,
                                   .n_paths = p->evidence[t.evidence].stacks.n };
    rc = count_bytes(&t, p, limit_bytes, &bytes);
    if (rc < 0 || bytes <= limit_bytes)
        return rc;
    rc = count_others(&t, &others);
    if (rc == 0)
        rc = weigh(&t, &w);
    fold->profile.stacks = NULL;
    fold->profile.evidence[t.evidence].stacks = (struct sd_stack_totals){ 0 };
    if (rc == 0) {
        fold->percent = SD_FOLD_LEAST; /* from here on it owns what it has */
        rc = fold_until_it_fits(fold, &t, &w, others + limit_bytes);
    }
    sd_free(w.totals);
    if (rc < 0)
        sd_path_fold_release(fold);
    return rc;
}

void sd_path_fold_release(struct sd_path_fold *fold)
{
    if (fold->percent > 0) {
        sd_free(fold->profile.stacks);
        release_calls(&fold->profile.evidence[fold->evidence].stacks);
    }
    *fold = (struct sd_path_fold){ 0 };
}

/* --- Without folding */

/* Some thousand paths in blocks that follow each other in a walk depth first: what a
 * path takes in a file may depend on the one before. */
static int take_some(const struct sd_profile *p, const struct sd_stack_totals *calls,
                     struct sd_stack_totals *some)
{
    size_t step = calls->n / EXPECTED_FROM + 1;
    uint64_t *numbers = sd_thread_samples_number_stacks(p);
    int rc = numbers ? take_room(some, calls) : sd_no_memory();

    for (size_t i = 0; i < calls->n && rc == 0; i++) {
        uint32_t stack = calls->items[i].stack.at;

        if (stack == NONE || numbers[stack] / EXPECTED_BLOCK % step != step / 2)
            continue;
        some->items[some->n] = calls->items[i];
        for (uint32_t k = 0; k < some->n_metrics; k++)
            some->values[k][some->n] = calls->values[k][i];
        some->n++;
    }
    sd_free(numbers);
    return rc;
}

int sd_path_fold_expect(const struct sd_output *o, const struct sd_output_job *job,
                        uint64_t *bytes, size_t *n_paths)
{
    const struct target t = target_of(o, job);
    const struct sd_stack_totals *all = &t.p->evidence[t.evidence].stacks;
    struct sd_profile some = *t.p;
    struct sd_stack_totals *taken = &some.evidence[t.evidence].stacks;
    uint64_t fixed = 0, with = 0;
    int rc;

    taken->n = 0;
    rc = count_bytes(&t, &some, UINT64_MAX, &fixed);
    *taken = (struct sd_stack_totals){ 0 };
    if (rc == 0)
        rc = take_some(t.p, all, taken);
    if (rc == 0)
        rc = count_bytes(&t, &some, UINT64_MAX, &with);
    *n_paths = all->n;
    if (rc == 0)
        *bytes = fixed + (uint64_t)((double)(with > fixed ? with - fixed : 0) *
                                    (double)all->n / (double)(taken->n ? taken->n : 1));
    release_calls(taken);
    return rc;
}
