/* SPDX-License-Identifier: MIT */
#include "profile/pair_totals.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"

int sd_pair_totals_add(struct sd_pair_totals *t, const struct sd_pair_total *one)
{
    struct sd_pair_total *items =
        sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);
    uint32_t at;
    int rc;

    if (!items)
        return sd_no_memory();
    t->items = items;
    rc = sd_triples_add(
        &t->index, (struct sd_triple){ one->track, one->caller, one->callee }, &at);
    if (rc < 0)
        return rc;
    sd_assert(at <= t->n);
    if (at == t->n) {
        items[t->n++] = *one;
        return 0;
    }
    for (int i = 0; i < SD_PAIR_VALUES; i++)
        items[at].values[i] = sd_sum_i64(items[at].values[i], one->values[i]);
    return 0;
}

int64_t sd_pair_totals_sum(const struct sd_pair_totals *t, enum sd_pair_value value)
{
    int64_t sum = 0;

    sd_assert(value < SD_PAIR_VALUES);
    for (size_t i = 0; i < t->n; i++)
        sum = sd_sum_i64(sum, t->items[i].values[value]);
    return sum;
}

void sd_pair_totals_release(struct sd_pair_totals *t)
{
    sd_free(t->items);
    sd_triples_release(&t->index);
    memset(t, 0, sizeof *t);
}
