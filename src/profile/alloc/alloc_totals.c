/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_totals.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "capture/alloc/alloc_cell.h"

static int add_moments(struct sd_alloc_totals *t,
                       const int64_t moments[SD_ALLOC_MOMENTS])
{
    size_t at = t->n * SD_ALLOC_MOMENTS;
    int64_t *all =
        sd_grow_array(t->moments, &t->cap_moments, at + SD_ALLOC_MOMENTS, sizeof *all);

    if (!all)
        return sd_no_memory();
    t->moments = all;
    memcpy(all + at, moments, SD_ALLOC_MOMENTS * sizeof *all);
    return 0;
}

const char *sd_alloc_total_allocator(uint32_t flags)
{
    return sd_allocator_name(flags & SD_ALLOCS_BY);
}

int sd_alloc_totals_add(struct sd_alloc_totals *t, const struct sd_alloc_total *one,
                        const int64_t moments[SD_ALLOC_MOMENTS])
{
    struct sd_alloc_total *items =
        sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);

    if (!items)
        return sd_no_memory();
    t->items = items;
    if (t->choice.has_growth && add_moments(t, moments) < 0)
        return SD_ENOMEM;
    items[t->n++] = *one;
    return 0;
}

int sd_alloc_totals_add_process(struct sd_alloc_totals *t,
                                const struct sd_alloc_process *one)
{
    struct sd_alloc_process *all =
        sd_grow_array(t->processes, &t->cap_processes, t->n_processes + 1, sizeof *all);

    if (!all)
        return sd_no_memory();
    t->processes = all;
    all[t->n_processes++] = *one;
    if (one->peak_bytes > all[t->largest].peak_bytes)
        t->largest = (uint32_t)t->n_processes - 1;
    return 0;
}

uint32_t sd_alloc_totals_largest(const struct sd_alloc_totals *t)
{
    sd_assert(t->n_processes == 0 || t->largest < t->n_processes);
    return t->n_processes > 0 ? t->largest : UINT32_MAX;
}

int64_t sd_alloc_totals_sum(const struct sd_alloc_totals *t, enum sd_alloc_value v)
{
    bool is_peak = v == SD_ALLOCS_PEAK_BYTES || v == SD_ALLOCS_PEAK_BLOCKS;
    uint32_t largest = sd_alloc_totals_largest(t);
    int64_t sum = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!(t->items[i].flags & SD_ALLOCS_APART) &&
            (!is_peak || t->items[i].process == largest))
            sum = sd_sum_i64(sum, t->items[i].values[v]);
    return sum;
}

bool sd_alloc_totals_know(const struct sd_alloc_totals *t, enum sd_alloc_value v)
{
    switch (v) {
    case SD_ALLOCS_TEMPORARY_BYTES:
    case SD_ALLOCS_TEMPORARIES: /* what came between is known of every block alone */
        return t->mode == SD_ALLOCS_FULL;
    case SD_ALLOCS_LIVE_BYTES:
    case SD_ALLOCS_LIVE_BLOCKS:
        return t->mode != SD_ALLOCS_AGGREGATE && t->choice.has_at;
    case SD_ALLOCS_PEAK_BYTES:
    case SD_ALLOCS_PEAK_BLOCKS:
    case SD_ALLOCS_LEAKED_BYTES:
    case SD_ALLOCS_LEAKED_BLOCKS:
    case SD_ALLOCS_BYTES:
    case SD_ALLOCS_BLOCKS:
    case SD_ALLOCS_VALUES:
        break;
    }
    return true;
}

void sd_alloc_totals_release(struct sd_alloc_totals *t)
{
    sd_free(t->items);
    sd_free(t->moments);
    sd_free(t->processes);
    *t = (struct sd_alloc_totals){ 0 };
}
