/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_evidence.h"

#include <string.h>

#include "base/assert.h"
#include "capture/alloc/alloc_cell.h"
#include "profile/profile_define.h"
#include "profile/samples.h"

static const struct {
    const char *name, *meaning;
} about[SD_ALLOCS_VALUES] = {
    [SD_ALLOCS_PEAK_BYTES] = { "peak_bytes", "live at the peak" },
    [SD_ALLOCS_PEAK_BLOCKS] = { "peak_blocks", "blocks that were live at the peak" },
    [SD_ALLOCS_LEAKED_BYTES] = { "leaked_bytes", "never freed" },
    [SD_ALLOCS_LEAKED_BLOCKS] = { "leaked_blocks", "blocks that were never freed" },
    [SD_ALLOCS_TEMPORARY_BYTES] = { "temporary_bytes", "freed soon" },
    [SD_ALLOCS_TEMPORARIES] = { "temporary_allocations",
                                "blocks that were freed soon" },
    [SD_ALLOCS_BYTES] = { "bytes", "allocated in all" },
    [SD_ALLOCS_BLOCKS] = { "allocations", "blocks that were allocated" },
    [SD_ALLOCS_LIVE_BYTES] = { "live_bytes", "live at the given time" },
    [SD_ALLOCS_LIVE_BLOCKS] = { "live_blocks",
                                "blocks that were live at the given time" },
};

const char *sd_alloc_value_pprof(const char *metric)
{
    static const char *const names[SD_ALLOCS_VALUES] = {
        [SD_ALLOCS_PEAK_BYTES] = "peak_space",
        [SD_ALLOCS_PEAK_BLOCKS] = "peak_objects",
        [SD_ALLOCS_LEAKED_BYTES] = "inuse_space",
        [SD_ALLOCS_LEAKED_BLOCKS] = "inuse_objects",
        [SD_ALLOCS_TEMPORARY_BYTES] = "temporary_space",
        [SD_ALLOCS_TEMPORARIES] = "temporary_objects",
        [SD_ALLOCS_BYTES] = "alloc_space",
        [SD_ALLOCS_BLOCKS] = "alloc_objects",
    };

    for (size_t v = 0; v < SD_ALLOCS_VALUES; v++)
        if (strcmp(about[v].name, metric) == 0)
            return names[v];
    return NULL;
}

const char *sd_alloc_value_name(enum sd_alloc_value v)
{
    sd_assert(v < SD_ALLOCS_VALUES);
    return about[v].name;
}

/* What evidence can hold: with a moment to look at, that instead of the peak. */
static size_t choose(const struct sd_alloc_totals *t,
                     enum sd_alloc_value chosen[SD_SAMPLE_METRICS])
{
    bool has_live = sd_alloc_totals_know(t, SD_ALLOCS_LIVE_BYTES);
    size_t n = 0;

    for (unsigned v = has_live ? SD_ALLOCS_LEAKED_BYTES : 0;
         v < SD_ALLOCS_VALUES && n < SD_SAMPLE_METRICS; v++)
        if (sd_alloc_totals_know(t, (enum sd_alloc_value)v))
            chosen[n++] = (enum sd_alloc_value)v;
    return n;
}

static int define(struct sd_profile *p, enum sd_alloc_value v, sd_metric_id *id)
{
    struct sd_metric_key key = { .unit = v % 2 ? SD_UNIT_COUNT : SD_UNIT_BYTES,
                                 .adds = SD_ADDS_SUM };
    uint32_t meaning;
    int rc = sd_define_string(p, about[v].name, strlen(about[v].name), &key.name);

    if (rc == 0)
        rc = sd_define_string(p, about[v].meaning, strlen(about[v].meaning), &meaning);
    return rc < 0 ? rc : sd_define_metric(p, &key, meaning, &id->at);
}

/* The totals are made anew; those that turn out to have nothing stay, with zeros. */
static void clear(struct sd_stack_totals *t)
{
    for (uint32_t k = 0; k < t->n_metrics; k++)
        memset(t->values[k], 0, t->n * sizeof *t->values[k]);
}

static int add(struct sd_profile *p, const struct sd_alloc_total *one,
               const sd_metric_id *metrics, const enum sd_alloc_value *chosen, size_t n)
{
    const struct sd_sample_total which = { { one->stack },
                                           { one->track },
                                           (one->flags & SD_ALLOCS_BY)
                                               << SD_ALLOCATOR_SHIFT };
    bool is_largest = one->process == sd_alloc_totals_largest(&p->allocs);
    int64_t values[SD_SAMPLE_METRICS];

    for (size_t i = 0; i < n; i++) {
        bool is_peak =
            chosen[i] == SD_ALLOCS_PEAK_BYTES || chosen[i] == SD_ALLOCS_PEAK_BLOCKS;

        values[i] = is_peak && !is_largest ? 0 : one->values[chosen[i]];
    }
    return sd_totals_add(p, SD_ALLOCATIONS, &which, metrics, values, (uint32_t)n);
}

int sd_alloc_evidence_make(struct sd_profile *p)
{
    enum sd_alloc_value chosen[SD_SAMPLE_METRICS];
    sd_metric_id metrics[SD_SAMPLE_METRICS];
    size_t n = choose(&p->allocs, chosen);
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = define(p, chosen[i], &metrics[i]);
    clear(&p->evidence[SD_ALLOCATIONS].stacks);
    for (size_t i = 0; i < p->allocs.n && rc == 0; i++)
        if (!(p->allocs.items[i].flags & SD_ALLOCS_APART))
            rc = add(p, &p->allocs.items[i], metrics, chosen, n);
    return rc;
}

const char *sd_alloc_evidence_layer(const struct sd_profile *p)
{
    return sd_profile_meta(p, SD_META_ALLOC_LAYER);
}

bool sd_alloc_evidence_is_of_one_thread(const struct sd_profile *p)
{
    return sd_profile_meta(p, SD_META_ALLOC_ONE) != NULL;
}
