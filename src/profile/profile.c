/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "profile/by_time/chunk_times.h"
#include "profile/profile_define.h"
#include "profile/series.h"
#include "profile/slices.h"

static void free_index(struct sd_profile_index *ix)
{
    if (!ix)
        return;
    sd_intern_release(&ix->sites);
    sd_intern_release(&ix->tracks);
    sd_intern_release(&ix->metrics);
    sd_intern_release(&ix->shapes);
    sd_free(ix->shapes_of);
    sd_free(ix->named_at);
    sd_free(ix->sums);
    sd_table_release(&ix->totals);
    sd_table_release(&ix->series);
    sd_triples_release(&ix->stacks);
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        sd_triples_release(&ix->places[e]);
    sd_slices_free(ix->slices);
    if (ix->times)
        sd_chunk_times_release(ix->times);
    sd_free(ix->times);
    sd_free(ix);
}

static void free_totals(struct sd_stack_totals *t)
{
    sd_free(t->items);
    for (uint32_t i = 0; i < t->n_metrics; i++)
        sd_free(t->values[i]);
}

static void release_held(union sd_evidence_data *held, enum sd_evidence_shape shape)
{
    switch (shape) {
    case SD_OF_STACKS:
        free_totals(&held->stacks);
        return;
    case SD_OF_LINES:
        sd_line_totals_release(&held->lines);
        return;
    case SD_OF_MODELS:
        sd_models_release(&held->models);
        return;
    case SD_OF_TIMINGS:
        sd_timings_release(&held->timings);
        return;
    }
}

void sd_profile_free(struct sd_profile *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_spans; i++)
        sd_intervals_release(&p->spans[i].when);
    for (size_t i = 0; i < p->n_series; i++)
        sd_series_release(&p->series[i]);
    sd_free(p->sites);
    sd_free(p->tracks);
    sd_free(p->metrics);
    sd_free(p->spans);
    sd_free(p->series);
    sd_free(p->stacks);
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        release_held(&p->evidence[e], sd_evidence[e].shape);
    sd_pair_totals_release(&p->pairs);
    sd_pair_totals_release(&p->whole_pairs);
    sd_alloc_totals_release(&p->allocs);
    sd_free(p->notes);
    sd_free(p->metas);
    free_index(p->index);
    sd_intern_release(&p->strings);
    sd_arena_release(&p->arena);
    sd_free(p);
}

bool sd_profile_knows_calls(const struct sd_profile *p)
{
    return sd_profile_has(p, SD_CALLS) && p->has_timeline && !p->is_timeline_torn &&
           p->pairs.n == 0;
}

const char *sd_profile_meta(const struct sd_profile *p, const char *key)
{
    for (size_t i = 0; i < p->n_metas; i++)
        if (strcmp(p->metas[i].key, key) == 0)
            return p->metas[i].value;
    return NULL;
}

bool sd_profile_meta_sum(const struct sd_profile *p, const char *key, uint64_t *sum)
{
    bool is_known = false;
    uint64_t n;

    *sum = 0;
    for (size_t i = 0; i < p->n_metas; i++)
        if (strcmp(p->metas[i].key, key) == 0 &&
            sd_text_parse_number(p->metas[i].value, &n)) {
            *sum += n;
            is_known = true;
        }
    return is_known;
}

sd_metric_id sd_profile_metric(const struct sd_profile *p, const char *name,
                               enum sd_adds adds)
{
    for (uint32_t i = 0; i < p->n_metrics; i++)
        if (p->metrics[i].adds == adds && strcmp(p->metrics[i].name, name) == 0)
            return (sd_metric_id){ i };
    return (sd_metric_id){ UINT32_MAX };
}

const struct sd_sum *sd_span_total_value(const struct sd_profile *p,
                                         const struct sd_span_total *t,
                                         const char *name)
{
    for (size_t i = 0; i < p->n_metrics; i++)
        if (t->values[i].n > 0 && strcmp(p->metrics[i].name, name) == 0)
            return &t->values[i];
    return NULL;
}

/* What follows the last "/lib/python3.11/" in the path, or NULL. */
static const char *after_library(const char *path)
{
    const char *found = NULL;

    for (const char *at = path; (at = strstr(at, "/lib/python")); at++) {
        const char *rest = strchr(at + strlen("/lib/"), '/');

        if (rest)
            found = rest + 1;
    }
    return found;
}

static const char *after(const char *path, const char *part)
{
    const char *found = strstr(path, part);

    return found ? found + strlen(part) : NULL;
}

void sd_profile_qualify(struct sd_profile *p)
{
    for (size_t i = 0; i < p->n_sites; i++) {
        struct sd_site *s = &p->sites[i];

        if (s->kind == SD_SITE_FUNCTION && s->label)
            s->name = s->path = s->label;
    }
}

/* Of a pair of functions, whose calls and own times are the sums over its signatures;
 * the rest is known of it where it is among `wholes`. */
static void drop_pair(const struct sd_profile *p, const struct sd_pair_totals *wholes,
                      struct sd_pair_total *pair)
{
    static const enum sd_pair_value sums[] = { SD_PAIR_CALLS, SD_PAIR_STARTS,
                                               SD_PAIR_TIME, SD_PAIR_TRACING,
                                               SD_PAIR_CPU };
    struct sd_pair_total kept = { .track = pair->track, .caller = pair->caller };

    kept.callee = sd_profile_function_of(p, (sd_site_id){ pair->callee }).at;
    if (pair->caller != UINT32_MAX)
        kept.caller = sd_profile_function_of(p, (sd_site_id){ pair->caller }).at;
    if (sd_triples_find(&wholes->index,
                        (struct sd_triple){ kept.track, kept.caller, kept.callee }) ==
        UINT32_MAX) {
        memcpy(kept.values, pair->values, sizeof kept.values);
    } else {
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
            kept.values[sums[i]] = pair->values[sums[i]];
    }
    *pair = kept;
}

static int drop_from_pairs(struct sd_profile *p)
{
    struct sd_pair_totals dropped = { 0 };
    int rc = 0;

    for (size_t i = 0; i < p->pairs.n && rc == 0; i++) {
        struct sd_pair_total pair = p->pairs.items[i];

        drop_pair(p, &p->whole_pairs, &pair);
        rc = sd_pair_totals_add(&dropped, &pair);
    }
    for (size_t i = 0; i < p->whole_pairs.n && rc == 0; i++)
        rc = sd_pair_totals_add(&dropped, &p->whole_pairs.items[i]);
    if (rc < 0) {
        sd_pair_totals_release(&dropped);
        return rc;
    }
    sd_pair_totals_release(&p->pairs);
    sd_pair_totals_release(&p->whole_pairs);
    p->pairs = dropped;
    return 0;
}

int sd_profile_drop_signatures(struct sd_profile *p)
{
    for (size_t i = 0; i < p->n_stacks; i++)
        p->stacks[i].site = sd_profile_function_of(p, p->stacks[i].site);
    return drop_from_pairs(p);
}

bool sd_site_is_library(const struct sd_site *s)
{
    if (s->is_native)
        return true;
    return s->file &&
           (strstr(s->file, "/site-packages/") || strstr(s->file, "/dist-packages/") ||
            strstr(s->file, "/lib/python") || strncmp(s->file, "<frozen ", 8) == 0);
}

const char *sd_site_short_file(const struct sd_site *s)
{
    const char *best = s->file, *found;

    if (!best || *best == '<') /* <frozen importlib>, <string> */
        return best;
    if ((found = after(best, "/site-packages/")) && *found)
        return found;
    if ((found = after(best, "/dist-packages/")) && *found)
        return found;
    if (!s->is_native && (found = after_library(best)) && *found)
        return found;
    found = strrchr(best, '/');
    return found && found[1] ? found + 1 : best;
}

const struct sd_series *sd_profile_series(const struct sd_profile *p, sd_track_id t,
                                          const char *name)
{
    uint64_t at;

    for (uint32_t i = 0; i < p->n_metrics; i++)
        if (strcmp(p->metrics[i].name, name) == 0 &&
            sd_table_get(&p->index->series, (uint64_t)t.at << 32 | i, &at))
            return &p->series[at];
    return NULL;
}
