/* SPDX-License-Identifier: MIT */
#include "analyse/section_groups.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/series.h"

/* The place of a site's group; the first site of a path gives it its name. */
static int place_of(struct sd_groups *g, const struct sd_profile *p, sd_site_id site,
                    size_t cap, uint32_t *at)
{
    const struct sd_site *s = &p->sites[site.at];
    int rc = sd_intern(&g->paths, s->path, strlen(s->path), at);

    if (rc < 0)
        return rc;
    if (*at == g->n && g->n < cap) {
        struct sd_group *new = &g->items[g->n++];

        new->path = g->paths.items[*at].p;
        new->parent = UINT32_MAX;
        new->name = sd_arena_string(g->paths.arena, s->name, strlen(s->name));
        new->values =
            sd_arena_alloc(g->paths.arena, (p->n_metrics + 1) * sizeof *new->values);
        if (!new->name || !new->values)
            return sd_no_memory();
    }
    sd_assert(*at < g->n); /* there are no more paths than sites */
    return 0;
}

/* Is `at` found on the way up from `from`? */
static bool is_above(const struct sd_groups *g, uint32_t from, uint32_t at)
{
    while (from != UINT32_MAX && from != at)
        from = g->items[from].parent;
    return from == at;
}

/* Places for all sections above this one.  Parents are older than their children, so
 * the walk up ends.  Very long paths are shortened and may then be equal at different
 * depths; one that would become its own parent is left without. */
static int place_parents(struct sd_groups *g, const struct sd_profile *p,
                         sd_site_id site, size_t cap, uint32_t at)
{
    sd_site_id up = p->sites[site.at].parent;
    uint32_t above;

    while (up.at != UINT32_MAX && g->items[at].parent == UINT32_MAX) {
        int rc = place_of(g, p, up, cap, &above);

        if (rc < 0)
            return rc;
        if (is_above(g, above, at))
            return 0;
        g->items[at].parent = above;
        at = above;
        up = p->sites[up.at].parent;
    }
    return 0;
}

static void add(struct sd_groups *g, const struct sd_profile *p,
                const struct sd_span_total *t, struct sd_group *into)
{
    sd_assert(t->values || p->n_metrics == 0);
    into->count += t->count;
    into->n_raised += t->n_raised;
    into->n_unfinished += t->n_unfinished;
    sd_sum_merge(&into->wall, &t->wall, SD_ADDS_SUM);
    for (size_t i = 0; i < p->n_metrics; i++) {
        sd_sum_merge(&into->values[i], &t->values[i], p->metrics[i].adds);
        g->is_measured[i] |= t->values[i].n > 0;
    }
}

int sd_section_groups_make(const struct sd_profile *p, enum sd_groups_flags flags,
                           struct sd_arena *a, struct sd_groups *out)
{
    size_t cap = p->n_sites;
    int rc = 0;

    *out = (struct sd_groups){ .paths = { .arena = a } };
    out->items = sd_arena_alloc(a, (cap + 1) * sizeof *out->items);
    out->is_measured = sd_arena_alloc(a, p->n_metrics + 1);
    if (!out->items || !out->is_measured)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_spans && rc == 0; i++) {
        const struct sd_span_total *t = &p->spans[i];
        uint32_t at;

        if (p->sites[t->site.at].kind != SD_SITE_SECTION)
            continue;
        rc = place_of(out, p, t->site, cap, &at);
        if (rc == 0 && flags == SD_GROUPS_TREE)
            rc = place_parents(out, p, t->site, cap, at);
        if (rc == 0)
            add(out, p, t, &out->items[at]);
    }
    sd_assert(rc < 0 || out->n == out->paths.n);
    if (rc < 0)
        sd_groups_release(out);
    return rc;
}

void sd_groups_release(struct sd_groups *g) { sd_intern_release(&g->paths); }
