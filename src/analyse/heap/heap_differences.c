/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_differences.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/table.h"

/* --- Types */

struct tally { /* of the snapshots */
    struct sd_heap_changes *out;
    struct sd_table names;
    uint64_t *counts, *bytes; /* at row * n + snapshot; owned */
    size_t cap_rows, cap_counts, cap_bytes;
    uint32_t n;
};

static int row_of(struct tally *t, const char *name, uint32_t *row)
{
    struct sd_heap_changes *out = t->out;
    size_t cells;
    void *grown;

    for (uint64_t seed = 0;; seed++) {
        uint64_t hash = sd_hash(name, strlen(name), seed), at;

        if (!sd_table_get(&t->names, hash, &at)) {
            if (sd_table_put(&t->names, hash, out->n) < 0)
                return SD_ENOMEM;
            break;
        }
        if (strcmp(out->rows[at].name, name) == 0) {
            *row = (uint32_t)at;
            return 0;
        }
    }
    grown =
        sd_grow_array(out->rows, &t->cap_rows, (size_t)out->n + 1, sizeof *out->rows);
    if (!grown)
        return sd_no_memory();
    out->rows = grown;
    out->rows[out->n] = (struct sd_heap_change){ .name = name };
    cells = ((size_t)out->n + 1) * t->n;
    grown = sd_grow_array(t->counts, &t->cap_counts, cells, sizeof *t->counts);
    if (!grown)
        return sd_no_memory();
    t->counts = grown;
    grown = sd_grow_array(t->bytes, &t->cap_bytes, cells, sizeof *t->bytes);
    if (!grown)
        return sd_no_memory();
    t->bytes = grown;
    memset(t->counts + cells - t->n, 0, t->n * sizeof *t->counts);
    memset(t->bytes + cells - t->n, 0, t->n * sizeof *t->bytes);
    *row = out->n++;
    return 0;
}

static int count(struct tally *t, const struct sd_heap_graph *g, uint32_t snapshot)
{
    uint32_t *rows = sd_alloc(((size_t)g->n_types + 1) * sizeof *rows);
    int rc = rows ? 0 : sd_no_memory();

    for (uint32_t i = 0; i < g->n_types && rc == 0; i++)
        rc = row_of(t, sd_heap_name(g, sd_heap_type_at(g, i)->name), &rows[i]);
    for (uint32_t i = 0; i < g->n && rc == 0; i++) {
        size_t at = (size_t)rows[sd_heap_type_of(g, i)] * t->n + snapshot;

        t->counts[at]++;
        t->bytes[at] += sd_heap_size(g, i);
    }
    sd_free(rows);
    return rc;
}

static void settle(struct tally *t)
{
    struct sd_heap_changes *out = t->out;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < out->n; i++) {
        const uint64_t *counts = t->counts + (size_t)i * t->n;
        const uint64_t *bytes = t->bytes + (size_t)i * t->n;
        struct sd_heap_change row = { .name = out->rows[i].name,
                                      .count = counts[t->n - 1],
                                      .bytes = bytes[t->n - 1] };

        row.count_delta = sd_difference_i64((int64_t)row.count, (int64_t)counts[0]);
        row.bytes_delta = sd_difference_i64((int64_t)row.bytes, (int64_t)bytes[0]);
        for (uint32_t k = 1; k < t->n; k++)
            row.n_rises += counts[k] > counts[k - 1];
        if (row.count || counts[0])
            out->rows[kept++] = row;
    }
    out->n = kept;
}

static int by_growth(const void *a, const void *b)
{
    const struct sd_heap_change *x = a, *y = b;

    if (x->bytes_delta != y->bytes_delta)
        return x->bytes_delta < y->bytes_delta ? 1 : -1;
    if (x->count_delta != y->count_delta)
        return x->count_delta < y->count_delta ? 1 : -1;
    return strcmp(x->name, y->name);
}

int sd_heap_changes_make(const struct sd_heap_graph *const *graphs, uint32_t n,
                         struct sd_heap_changes *out)
{
    struct tally t = { .out = out, .n = n };
    int rc = 0;

    sd_assert(n > 0);
    *out = (struct sd_heap_changes){ .n = 0 };
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = count(&t, graphs[i], i);
    if (rc == 0)
        settle(&t);
    if (rc == 0 && out->n)
        qsort(out->rows, out->n, sizeof *out->rows, by_growth);
    sd_table_release(&t.names);
    sd_free(t.counts);
    sd_free(t.bytes);
    if (rc < 0)
        sd_heap_changes_release(out);
    return rc;
}

void sd_heap_changes_release(struct sd_heap_changes *out)
{
    sd_free(out->rows);
    *out = (struct sd_heap_changes){ .n = 0 };
}

/* --- Objects */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

int sd_heap_objects_only_in(const struct sd_heap_graph *of,
                            const struct sd_heap_graph *other, struct sd_pages *objects,
                            uint32_t *n)
{
    const uint32_t *ours = of->by_address.p, *theirs = other->by_address.p;
    uint32_t at = 0;
    int rc = sd_pages_grow(objects, ((size_t)of->n + 1) * sizeof(uint32_t));

    *n = 0;
    for (uint32_t i = 0; i < of->n && rc == 0; i++) {
        uint64_t address = sd_heap_address(of, ours[i]);

        while (at < other->n && sd_heap_address(other, theirs[at]) < address)
            at++;
        if (at < other->n && sd_heap_address(other, theirs[at]) == address &&
            strcmp(sd_heap_type_name(of, ours[i]),
                   sd_heap_type_name(other, theirs[at])) == 0)
            continue;
        ((uint32_t *)objects->p)[(*n)++] = ours[i];
    }
    if (rc == 0 && *n)
        qsort(objects->p, *n, sizeof(uint32_t), by_number);
    return rc;
}
