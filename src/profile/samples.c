/* SPDX-License-Identifier: MIT */
#include "profile/samples.h"

#include <string.h>

#include "base/mem.h"
#include "profile/define.h"

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

    if (!stacks)
        return sd_no_memory();
    p->stacks = stacks;
    rc = sd_triples_add(&p->index->stacks, triple_of(key), id);
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
    const struct sd_stack other = alone(sd_find_too_many_site(p));
    uint32_t id = sd_triples_find(&p->index->stacks, triple_of(key));

    return id != UINT32_MAX ? id
                            : sd_triples_find(&p->index->stacks, triple_of(&other));
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

/* The place of a metric among those of samples, made when new; UINT32_MAX: it is one
 * too many, or no amount that adds up. */
static int place_of_metric(struct sd_profile *p, sd_metric_id metric, uint32_t *at)
{
    int64_t *values;

    for (*at = 0; *at < p->n_sample_metrics; (*at)++)
        if (p->sample_metrics[*at].at == metric.at)
            return 0;
    if (*at == SD_SAMPLE_METRICS || p->metrics[metric.at].adds != SD_ADDS_SUM) {
        *at = UINT32_MAX;
        return 0;
    }
    values = sd_zalloc((p->cap_samples ? p->cap_samples : 1) * sizeof *values);
    if (!values)
        return sd_no_memory();
    p->sample_values[*at] = values;
    p->sample_metrics[p->n_sample_metrics++] = metric;
    return 0;
}

/* All columns grow together.  Those that have grown when one fails are only larger
 * than need be. */
static int grow_totals(struct sd_profile *p)
{
    size_t cap = p->cap_samples ? p->cap_samples * 2 : 64;
    struct sd_sample_total *totals;

    if (p->n_samples < p->cap_samples)
        return 0;
    for (uint32_t i = 0; i < p->n_sample_metrics; i++) {
        int64_t *values = sd_regrow(p->sample_values[i], cap * sizeof *values);

        if (!values)
            return sd_no_memory();
        memset(values + p->n_samples, 0, (cap - p->n_samples) * sizeof *values);
        p->sample_values[i] = values;
    }
    totals = sd_regrow(p->samples, cap * sizeof *totals);
    if (!totals)
        return sd_no_memory();
    p->samples = totals;
    p->cap_samples = cap;
    return 0;
}

static int place_of_total(struct sd_profile *p, const struct sd_sample_total *which,
                          uint32_t *at)
{
    struct sd_triple key = { which->stack.at, which->track.at, which->flags };
    int rc;

    *at = sd_triples_find(&p->index->samples, key);
    if (*at != UINT32_MAX || !sd_profile_has_room(p, sizeof *which))
        return 0;
    rc = grow_totals(p);
    if (rc == 0)
        rc = sd_triples_add(&p->index->samples, key, at);
    if (rc == 0)
        p->samples[p->n_samples++] = *which;
    return rc;
}

int sd_samples_add(struct sd_profile *p, const struct sd_sample_total *which,
                   const sd_metric_id *metrics, const int64_t *values, uint32_t n)
{
    uint32_t at, column;
    int rc = place_of_total(p, which, &at);

    if (rc < 0 || at == UINT32_MAX)
        return rc;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (values[i] < 0)
            continue;
        rc = place_of_metric(p, metrics[i], &column);
        if (rc == 0 && column != UINT32_MAX)
            p->sample_values[column][at] =
                sd_amount_add(p->sample_values[column][at], values[i]);
    }
    return rc;
}

uint32_t sd_profile_sample_metric(const struct sd_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->n_sample_metrics; i++)
        if (strcmp(p->metrics[p->sample_metrics[i].at].name, name) == 0)
            return i;
    return UINT32_MAX;
}
