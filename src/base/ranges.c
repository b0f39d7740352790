/* SPDX-License-Identifier: MIT */
#include "base/ranges.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

/* The first that ends behind this address. */
static size_t first_behind(const struct sd_ranges *r, uint64_t from)
{
    size_t low = 0, high = r->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->at[middle].to <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(struct sd_ranges *r, size_t i, struct sd_range range)
{
    struct sd_range *at = sd_grow_array(r->at, &r->cap, r->n + 1, sizeof *at);

    sd_assert(i <= r->n && range.from < range.to);
    if (!at)
        return sd_no_memory();
    r->at = at;
    memmove(at + i + 1, at + i, (r->n - i) * sizeof *at);
    at[i] = range;
    r->n++;
    return 0;
}

static void drop(struct sd_ranges *r, size_t i)
{
    sd_assert(i < r->n);
    r->n--;
    memmove(r->at + i, r->at + i + 1, (r->n - i) * sizeof *r->at);
}

/* Leaves of number i what is outside of from..to; *i moves to the next. */
static int cut_one(struct sd_ranges *r, size_t *i, uint64_t from, uint64_t to)
{
    struct sd_range *at = &r->at[*i], was = *at;

    if (was.from < from)
        at->to = from;
    if (was.to <= to) {
        if (was.from < from)
            ++*i;
        else
            drop(r, *i);
        return 0;
    }
    if (was.from < from)
        return insert(r, ++*i, (struct sd_range){ to, was.to, was.value });
    at->from = to;
    return 0;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

int sd_ranges_cut(struct sd_ranges *r, uint64_t from, uint64_t bytes, sd_range_cut *cut,
                  void *of)
{
    uint64_t to = bytes < UINT64_MAX - from ? from + bytes : UINT64_MAX;
    size_t i = first_behind(r, from);
    int rc = 0;

    while (rc == 0 && i < r->n && r->at[i].from < to) {
        struct sd_range was = r->at[i];

        if (cut)
            cut(of, &was, least(was.to, to) - most(was.from, from));
        rc = cut_one(r, &i, from, to);
        if (was.to >= to)
            break;
    }
    return rc;
}

int sd_ranges_add(struct sd_ranges *r, uint64_t from, uint64_t bytes, uint64_t value)
{
    uint64_t to = bytes < UINT64_MAX - from ? from + bytes : UINT64_MAX;
    size_t i = first_behind(r, from);

    if (from >= to)
        return 0;
    sd_assert(i == r->n || r->at[i].from >= to);
    return insert(r, i, (struct sd_range){ from, to, value });
}

const struct sd_range *sd_ranges_find(const struct sd_ranges *r, uint64_t from)
{
    size_t i = first_behind(r, from);

    return i < r->n && r->at[i].from == from ? &r->at[i] : NULL;
}

void sd_ranges_release(struct sd_ranges *r)
{
    sd_free(r->at);
    *r = (struct sd_ranges){ 0 };
}
