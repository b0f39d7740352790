/* SPDX-License-Identifier: MIT */
#include "profile/by_time/slice_gathering.h"

#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile_define.h"

void sd_slice_gathering_init(struct sd_slice_gathering *g, const struct sd_profile *p,
                             enum sd_evidence e)
{
    *g = (struct sd_slice_gathering){ .p = p,
                                      .totals = &p->evidence[e].stacks,
                                      .n_columns = p->evidence[e].stacks.n_metrics,
                                      .limit = SD_SLICES_MAX,
                                      .slice_ns = SD_SLICE_NS };
}

void sd_slice_gathering_release(struct sd_slice_gathering *g)
{
    sd_triples_release(&g->keys);
    for (uint32_t i = 0; i < SD_SAMPLE_METRICS; i++)
        sd_free(g->values[i]);
}

static int grow(struct sd_slice_gathering *g)
{
    size_t cap = g->cap ? g->cap * 2 : 64;

    if (g->keys.n < g->cap)
        return 0;
    for (uint32_t i = 0; i < g->n_columns; i++) {
        int64_t *values = sd_regrow(g->values[i], cap * sizeof *values);

        if (!values)
            return sd_no_memory();
        memset(values + g->keys.n, 0, (cap - g->keys.n) * sizeof *values);
        g->values[i] = values;
    }
    g->cap = cap;
    return 0;
}

static int place_of(struct sd_slice_gathering *g, struct sd_triple key, uint32_t *at)
{
    int rc = 0;

    if (!g->has_last_place || !sd_triple_is_equal(key, g->last_key)) {
        rc = grow(g);
        if (rc == 0)
            rc = sd_triples_add(&g->keys, key, &g->last_place);
        g->last_key = key;
        g->has_last_place = rc == 0;
    }
    *at = g->last_place;
    return rc;
}

/* All of `from` in slices twice as long. */
static int add_doubled(struct sd_slice_gathering *into,
                       const struct sd_slice_gathering *from)
{
    int rc = 0;

    for (size_t i = 0; i < from->keys.n && rc == 0; i++) {
        struct sd_triple key = from->keys.items[i];
        uint32_t at;

        key.a /= 2;
        rc = place_of(into, key, &at);
        for (uint32_t k = 0; k < from->n_columns && rc == 0; k++)
            into->values[k][at] = sd_sum_i64(into->values[k][at], from->values[k][i]);
    }
    return rc;
}

static bool is_one_slice(const struct sd_slice_gathering *g)
{
    for (size_t i = 0; i < g->keys.n; i++)
        if (g->keys.items[i].a != 0)
            return false;
    return true;
}

/* Makes slices twice as long. */
static int fold(struct sd_slice_gathering *g)
{
    struct sd_slice_gathering doubled = { .p = g->p,
                                          .totals = g->totals,
                                          .n_columns = g->n_columns,
                                          .limit = g->limit,
                                          .slice_ns = g->slice_ns * 2 };
    int rc = add_doubled(&doubled, g);

    sd_slice_gathering_release(rc == 0 ? g : &doubled);
    if (rc == 0)
        *g = doubled;
    return rc;
}

/* Makes room where there are too many.  What does not become fewer when there is one
 * slice alone may become more. */
static int make_room(struct sd_slice_gathering *g)
{
    int rc = 0;

    while (rc == 0 && g->keys.n >= g->limit) {
        if (is_one_slice(g))
            g->limit = g->keys.n * 2;
        else
            rc = fold(g);
    }
    return rc;
}

/* The number of a slice has to fit into its field, whatever time a file claims. */
static int fit_time(struct sd_slice_gathering *g, uint64_t time_ns)
{
    int rc = 0;

    while (rc == 0 && time_ns / g->slice_ns > UINT32_MAX)
        rc = fold(g);
    return rc;
}

int sd_slice_gathering_place(struct sd_slice_gathering *g, uint64_t time_ns,
                             uint32_t total, uint32_t set, uint32_t *at)
{
    int rc = make_room(g);

    if (rc == 0)
        rc = fit_time(g, time_ns);
    return rc < 0 ? rc
                  : place_of(g,
                             (struct sd_triple){ (uint32_t)(time_ns / g->slice_ns),
                                                 total, set },
                             at);
}

/* --- Samples */

/* A thread is seen in one stack several times in a row. */
static uint32_t total_of(struct sd_slice_gathering *g, const struct sd_event *e)
{
    const struct sd_triple which = { e->stack.at, e->track.at, e->flags };

    if (!g->has_last_total || !sd_triple_is_equal(which, g->last_which)) {
        g->last_total = sd_triples_find(&g->p->index->places[SD_SAMPLES], which);
        g->last_which = which;
        g->has_last_total = g->last_total != UINT32_MAX;
    }
    return g->last_total;
}

/* Metrics turn up while a profile is loaded: their columns begin empty. */
static int add_columns(struct sd_slice_gathering *g)
{
    for (; g->n_columns < g->totals->n_metrics; g->n_columns++) {
        int64_t *values = sd_zalloc((g->cap ? g->cap : 1) * sizeof *values);

        if (!values)
            return sd_no_memory();
        g->values[g->n_columns] = values;
    }
    return 0;
}

static uint32_t column_of(const struct sd_slice_gathering *g, sd_metric_id metric)
{
    for (uint32_t i = 0; i < g->n_columns; i++)
        if (g->totals->metrics[i].at == metric.at)
            return i;
    return UINT32_MAX; /* not an amount, or one too many */
}

int sd_slice_gathering_add_sample(struct sd_slice_gathering *g,
                                  const struct sd_event *e, uint32_t set)
{
    uint32_t total = total_of(g, e), at, column;
    int rc = add_columns(g);

    if (rc < 0 || total == UINT32_MAX)
        return rc; /* the profile had no room for it, and says so */
    rc = sd_slice_gathering_place(g, e->to_ns, total, set, &at);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < e->n_values; i++) {
        column = e->values[i] < 0 ? UINT32_MAX : column_of(g, e->metrics[i]);
        if (column != UINT32_MAX)
            g->values[column][at] = sd_sum_i64(g->values[column][at], e->values[i]);
    }
    return 0;
}
