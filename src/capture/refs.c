/* SPDX-License-Identifier: MIT */
#include "capture/refs.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"

int sd_refs_add(struct sd_refs *r, const struct sd_ref *ref)
{
    struct sd_ref *at = sd_grow_array(r->at, &r->cap, r->n + 1, sizeof *at);

    if (!at)
        return sd_no_memory();
    r->at = at;
    at[r->n++] = *ref;
    return 0;
}

static int compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

/* Streams are read in the order of their first events, the owner's own (0) first. */
static int by_time(const void *pa, const void *pb)
{
    const struct sd_ref *a = pa, *b = pb;
    int rc = compare(a->head.stream != 0, b->head.stream != 0);

    if (rc == 0)
        rc = compare(a->head.t0, b->head.t0);
    return rc ? rc : compare(a->head.stream, b->head.stream);
}

/* Of two under one name the sealed one comes first: it is complete. */
static int by_name(const void *pa, const void *pb)
{
    const struct sd_ref *a = pa, *b = pb;
    int rc = compare(a->rank, b->rank);

    if (rc == 0)
        rc = compare(a->head.seq, b->head.seq);
    if (rc == 0)
        rc = compare(a->place, b->place);
    if (rc == 0)
        rc = compare(a->file, b->file);
    return rc ? rc : compare(a->at, b->at);
}

static int rank_streams(struct sd_refs *r)
{
    struct sd_table ranks = { 0 };
    uint64_t rank = 0;
    int rc = 0;

    for (size_t i = 0; i < r->n && rc == 0; i++) {
        if (!sd_table_get(&ranks, r->at[i].head.stream, &rank)) {
            rank = ranks.n;
            rc = sd_table_put(&ranks, r->at[i].head.stream, rank);
        }
        r->at[i].rank = (uint32_t)rank;
    }
    sd_table_release(&ranks);
    return rc;
}

/* Puts the next one behind the n that are kept already, or drops it. */
static size_t keep(struct sd_refs *r, size_t n, struct sd_ref *next)
{
    struct sd_ref *last = n ? &r->at[n - 1] : NULL;
    uint32_t expected = 1;

    sd_assert(next >=
              r->at + n); /* what is kept is not written over before it is looked at */
    sd_assert(!last || last->rank <= next->rank);
    if (last && last->rank == next->rank) {
        if (last->head.seq == next->head.seq) {
            sd_free(next->copy);
            return n;
        }
        expected = last->head.seq + 1;
        last->is_last = false;
    }
    next->is_first = !last || last->rank != next->rank;
    next->is_last = true;
    next->is_after_gap = next->head.seq > expected;
    if (next->is_after_gap)
        r->missing += next->head.seq - expected;
    r->at[n] = *next;
    return n + 1;
}

int sd_refs_order(struct sd_refs *r)
{
    size_t n = 0;
    int rc;

    if (r->n == 0)
        return 0;
    qsort(r->at, r->n, sizeof *r->at, by_time);
    rc = rank_streams(r);
    if (rc < 0)
        return rc;
    qsort(r->at, r->n, sizeof *r->at, by_name);
    for (size_t i = 0; i < r->n; i++)
        n = keep(r, n, &r->at[i]);
    sd_assert(n > 0 && n <= r->n);
    r->n = n;
    return 0;
}

void sd_refs_release(struct sd_refs *r)
{
    for (size_t i = 0; i < r->n; i++)
        sd_free(r->at[i].copy);
    sd_free(r->at);
    *r = (struct sd_refs){ 0 };
}
