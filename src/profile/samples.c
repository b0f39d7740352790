/* SPDX-License-Identifier: MIT */
#include "profile/samples.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile_define.h"

/* --- Stacks */

static struct sd_triple triple_of(const struct sd_stack *s)
{
    return (struct sd_triple){ s->parent.at, s->site.at, s->line };
}

/* Parents are ids of what is there already, so a stack's parent has a smaller id. */
static int new_stack(struct sd_profile *p, const struct sd_stack *key, uint32_t *id)
{
    struct sd_stack *stacks =
        sd_grow_array(p->stacks, &p->cap_stacks, p->n_stacks + 1, sizeof *stacks);
    int rc;

    sd_assert(key->site.at < p->n_sites);
    sd_assert(key->parent.at == UINT32_MAX || key->parent.at < p->n_stacks);
    if (!stacks)
        return sd_no_memory();
    p->stacks = stacks;
    rc = sd_triples_add(&p->index->stacks, triple_of(key), id);
    sd_assert(rc < 0 || *id == p->n_stacks);
    if (rc == 0)
        stacks[p->n_stacks++] = *key;
    return rc;
}

static struct sd_stack alone(uint32_t site)
{
    return (struct sd_stack){ SD_NO_STACK, { site }, 0 };
}

int sd_define_stack(struct sd_profile *p, const struct sd_stack *key, uint32_t *id)
{
    struct sd_stack other;
    uint32_t site;
    int rc;

    *id = sd_triples_find(&p->index->stacks, triple_of(key));
    if (*id != UINT32_MAX)
        return 0;
    if (sd_profile_has_room(p, sizeof *key))
        return new_stack(p, key, id);
    rc = sd_define_too_many_site(p, &site);
    if (rc < 0)
        return rc;
    other = alone(site);
    *id = sd_triples_find(&p->index->stacks, triple_of(&other));
    return *id != UINT32_MAX ? 0 : new_stack(p, &other, id);
}

int sd_define_lost_stack(struct sd_profile *p, uint32_t *id)
{
    struct sd_stack lost;
    uint32_t site;
    int rc = sd_define_lost_site(p, &site);

    if (rc < 0)
        return rc;
    lost = alone(site);
    return sd_define_stack(p, &lost, id);
}

int sd_define_partial_stack(struct sd_profile *p, sd_stack_id below, uint32_t *id)
{
    struct sd_stack partial = { .parent = below };
    int rc = sd_define_partial_site(p, &partial.site.at);

    return rc < 0 ? rc : sd_define_stack(p, &partial, id);
}

uint32_t sd_find_stack(const struct sd_profile *p, const struct sd_stack *key)
{
    uint32_t id = sd_triples_find(&p->index->stacks, triple_of(key));
    struct sd_stack other;

    if (id != UINT32_MAX)
        return id;
    other = alone(sd_find_too_many_site(p));
    return sd_triples_find(&p->index->stacks, triple_of(&other));
}

uint32_t sd_find_lost_stack(const struct sd_profile *p)
{
    const struct sd_stack lost = alone(sd_find_lost_site(p));

    return sd_find_stack(p, &lost);
}

uint32_t sd_find_partial_stack(const struct sd_profile *p, sd_stack_id below)
{
    const struct sd_stack partial = { below, { sd_find_partial_site(p) }, 0 };

    return sd_find_stack(p, &partial);
}

/* --- Totals */

/* The place of a metric among those of the totals, made when new; UINT32_MAX: it is one
 * too many, or no amount that adds up. */
static int place_of_metric(const struct sd_profile *p, struct sd_stack_totals *t,
                           sd_metric_id metric, uint32_t *at)
{
    int64_t *values;

    sd_assert_slow(metric.at < p->n_metrics);
    for (*at = 0; *at < t->n_metrics; (*at)++)
        if (t->metrics[*at].at == metric.at)
            return 0;
    if (*at == SD_SAMPLE_METRICS || p->metrics[metric.at].adds != SD_ADDS_SUM) {
        *at = UINT32_MAX;
        return 0;
    }
    values = sd_zalloc((t->cap ? t->cap : 1) * sizeof *values);
    if (!values)
        return sd_no_memory();
    t->values[*at] = values;
    t->metrics[t->n_metrics++] = metric;
    return 0;
}

/* All columns grow together.  Those that have grown when one fails are only larger
 * than need be. */
static int grow_totals(struct sd_stack_totals *t)
{
    size_t cap = t->cap ? t->cap * 2 : 64;
    struct sd_sample_total *items;

    if (t->n < t->cap)
        return 0;
    for (uint32_t i = 0; i < t->n_metrics; i++) {
        int64_t *values = sd_regrow(t->values[i], cap * sizeof *values);

        if (!values)
            return sd_no_memory();
        memset(values + t->n, 0, (cap - t->n) * sizeof *values);
        t->values[i] = values;
    }
    items = sd_regrow(t->items, cap * sizeof *items);
    if (!items)
        return sd_no_memory();
    t->items = items;
    t->cap = cap;
    sd_assert(t->n < t->cap);
    return 0;
}

static int place_of_total(struct sd_profile *p, enum sd_evidence e,
                          const struct sd_sample_total *which, uint32_t *at)
{
    struct sd_stack_totals *t = &p->evidence[e].stacks;
    struct sd_triples *places = &p->index->places[e];
    struct sd_triple key = { which->stack.at, which->track.at, which->flags };
    int rc;

    sd_assert(sd_evidence_has_stacks(e));
    *at = sd_triples_find(places, key);
    if (*at != UINT32_MAX || !sd_profile_has_room(p, sizeof *which))
        return 0;
    rc = grow_totals(t);
    if (rc == 0)
        rc = sd_triples_add(places, key, at);
    sd_assert(rc < 0 || *at == t->n);
    if (rc == 0)
        t->items[t->n++] = *which;
    return rc;
}

int sd_totals_add(struct sd_profile *p, enum sd_evidence e,
                  const struct sd_sample_total *which, const sd_metric_id *metrics,
                  const int64_t *values, uint32_t n)
{
    struct sd_stack_totals *t = &p->evidence[e].stacks;
    uint32_t at, column;
    int rc = place_of_total(p, e, which, &at);

    if (rc < 0 || at == UINT32_MAX)
        return rc;
    sd_assert_slow(at < t->n);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (values[i] < 0)
            continue;
        rc = place_of_metric(p, t, metrics[i], &column);
        if (rc == 0 && column != UINT32_MAX)
            t->values[column][at] = sd_sum_i64(t->values[column][at], values[i]);
    }
    return rc;
}

uint32_t sd_totals_metric(const struct sd_profile *p, const struct sd_stack_totals *t,
                          const char *name)
{
    sd_assert(t->n_metrics <= SD_SAMPLE_METRICS);
    for (uint32_t i = 0; i < t->n_metrics; i++)
        if (strcmp(p->metrics[t->metrics[i].at].name, name) == 0)
            return i;
    return UINT32_MAX;
}

uint32_t sd_profile_sample_metric(const struct sd_profile *p, const char *name)
{
    return sd_totals_metric(p, &p->evidence[SD_SAMPLES].stacks, name);
}
