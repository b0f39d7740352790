/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_lifetimes.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/alloc/alloc_cell.h"
#include "profile/alloc/alloc_history.h"

enum { STILL_LIVE = UINT32_MAX, ALL_THREADS = UINT32_MAX, FIRST_MERGE = 4096 };

/* --- Equal ones together */

static int compare(const void *a, const void *b)
{
    const struct sd_alloc_lifetime *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->by != y->by)
        return x->by < y->by ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* What came and went adds up to nothing, and goes. */
static void merge(struct sd_alloc_lifetimes *l)
{
    size_t n = 0;

    if (l->n > 0)
        qsort(l->items, l->n, sizeof *l->items, compare);
    for (size_t i = 0, next; i < l->n; i = next) {
        struct sd_alloc_lifetime sum = l->items[i];

        for (next = i + 1; next < l->n && compare(&sum, &l->items[next]) == 0; next++) {
            sum.blocks += l->items[next].blocks;
            sum.bytes += l->items[next].bytes;
        }
        if (sum.blocks != 0 || sum.bytes != 0)
            l->items[n++] = sum;
    }
    sd_assert(n <= l->n);
    l->n = n;
}

/* Merged whenever there are twice as many as were left the last time. */
static int add(struct sd_alloc_lifetimes *l, const struct sd_alloc_lifetime *one,
               size_t *merge_at)
{
    struct sd_alloc_lifetime *items;

    if (l->n >= *merge_at) {
        merge(l);
        *merge_at = 2 * l->n > FIRST_MERGE ? 2 * l->n : FIRST_MERGE;
    }
    items = sd_grow_array(l->items, &l->cap, l->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    l->items = items;
    items[l->n++] = *one;
    return 0;
}

/* --- Reading */

static uint32_t reading(uint32_t n_times, uint32_t stride)
{
    return n_times / stride + (n_times % stride != 0);
}

/* It is taken from those that are live, and has lived so long. */
static int add_end(struct sd_alloc_lifetimes *l, struct sd_alloc_lifetime one,
                   uint32_t to, size_t *merge_at)
{
    struct sd_alloc_lifetime was = one;
    int rc;

    was.to = STILL_LIVE;
    was.blocks = -one.blocks;
    was.bytes = -one.bytes;
    one.to = to;
    rc = add(l, &was, merge_at);
    return rc == 0 && one.from != to ? add(l, &one, merge_at) : rc;
}

static int take(struct sd_alloc_lifetimes *l, const struct sd_alloc_change *c,
                struct sd_alloc_lifetime one, uint32_t now, size_t *merge_at)
{
    one.by = c->by;
    one.stack = c->stack;
    one.bytes = (int64_t)c->size;
    one.blocks = 1;
    switch (c->kind) {
    case SD_ALLOC_CHANGE_BEGAN:
        one.to = STILL_LIVE;
        return add(l, &one, merge_at);
    case SD_ALLOC_CHANGE_FREED:
        return add_end(l, one, now, merge_at);
    case SD_ALLOC_CHANGE_CUT:
        one.blocks = c->is_whole;
        return add_end(l, one, now, merge_at);
    case SD_ALLOC_CHANGE_UNMAPPED:
    case SD_ALLOC_CHANGE_TIME:
        break;
    }
    return 0;
}

int sd_alloc_lifetimes_read(struct sd_alloc_lifetimes *l, struct sd_alloc_history *h,
                            bool merges_threads, uint32_t stride)
{
    struct sd_alloc_change c;
    size_t merge_at = FIRST_MERGE;
    uint32_t n_times = 0;
    int rc;

    sd_assert(stride > 0);
    while ((rc = sd_alloc_history_next(h, &c)) == 1) {
        struct sd_alloc_lifetime one = { .from = reading(c.n_times, stride) };

        one.track = merges_threads                    ? ALL_THREADS
                    : c.kind == SD_ALLOC_CHANGE_BEGAN ? c.track
                                                      : c.begun_by;
        n_times += c.kind == SD_ALLOC_CHANGE_TIME;
        if (c.by == SD_BY_NONE || c.by == SD_BY_FILE || c.by == SD_BY_RESERVED)
            continue;
        rc = take(l, &c, one, reading(n_times, stride), &merge_at);
        if (rc < 0)
            return rc;
    }
    merge(l);
    return rc;
}

bool sd_alloc_lifetime_is_of(const struct sd_alloc_lifetime *a,
                             const struct sd_alloc_lifetime *b)
{
    return a->track == b->track && a->stack == b->stack && a->by == b->by;
}

void sd_alloc_lifetimes_release(struct sd_alloc_lifetimes *l)
{
    sd_free(l->items);
    *l = (struct sd_alloc_lifetimes){ 0 };
}
