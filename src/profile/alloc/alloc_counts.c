/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/alloc/alloc_history.h"
#include "profile/profile.h"

/* --- Reading */

static int count_size(struct sd_alloc_counts *c, uint64_t size)
{
    uint64_t n = 0;

    sd_table_get(&c->sizes, size, &n);
    return sd_table_put(&c->sizes, size, n + 1);
}

static int count_stack(struct sd_alloc_counts *c, uint32_t stack, uint64_t size)
{
    size_t at = stack == UINT32_MAX ? 0 : (size_t)stack + 1;
    struct sd_alloc_count *all =
        sd_grow_array(c->stacks, &c->cap_stacks, at + 1, sizeof *all);

    if (!all)
        return sd_no_memory();
    c->stacks = all;
    for (; c->n_stacks <= at; c->n_stacks++)
        all[c->n_stacks] = (struct sd_alloc_count){ 0 };
    all[at].blocks++;
    all[at].bytes += size;
    return 0;
}

static bool is_heap(uint32_t by) { return by != SD_BY_FILE && by != SD_BY_RESERVED; }

int sd_alloc_counts_read(struct sd_alloc_counts *c, struct sd_alloc_history *h)
{
    struct sd_alloc_change change;
    int rc;

    while ((rc = sd_alloc_history_next(h, &change)) == 1) {
        c->n_frees += change.kind == SD_ALLOC_CHANGE_FREED ||
                      change.kind == SD_ALLOC_CHANGE_UNMAPPED;
        if (change.kind != SD_ALLOC_CHANGE_BEGAN || !is_heap(change.by))
            continue;
        sd_assert(change.by < SD_ALLOCATORS);
        c->all.blocks++;
        c->all.bytes += change.size;
        c->by[change.by]++;
        rc = count_size(c, change.size);
        if (rc == 0)
            rc = count_stack(c, change.stack, change.size);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* --- Places */

static uint32_t innermost(const struct sd_profile *p, uint32_t stack, bool is_own)
{
    for (; stack < p->n_stacks; stack = p->stacks[stack].parent.at) {
        const struct sd_site *s = &p->sites[p->stacks[stack].site.at];

        if (!s->is_native && !(is_own && sd_site_is_library(s)))
            return stack;
    }
    return UINT32_MAX;
}

static struct sd_alloc_place_count line_of(const struct sd_profile *p, uint32_t stack)
{
    uint32_t at = innermost(p, stack, false);
    struct sd_alloc_place_count one = { .function = "", .file = "" };
    const struct sd_site *s;

    if (at == UINT32_MAX)
        return one;
    s = &p->sites[p->stacks[at].site.at];
    one.function = s->name;
    one.file = s->file ? s->file : "";
    one.line = p->stacks[at].line;
    return one;
}

static struct sd_alloc_place_count file_of(const struct sd_profile *p, uint32_t stack)
{
    uint32_t at = innermost(p, stack, true);
    struct sd_alloc_place_count one = line_of(p, at == UINT32_MAX ? stack : at);

    one.function = NULL;
    one.line = 0;
    return one;
}

static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

static int compare(const void *a, const void *b)
{
    const struct sd_alloc_place_count *x = a, *y = b;
    int rc = compare_texts(x->file, y->file);

    if (rc == 0)
        rc = (x->line > y->line) - (x->line < y->line);
    return rc ? rc : compare_texts(x->function, y->function);
}

static size_t merge(struct sd_alloc_place_count *all, size_t n)
{
    size_t n_left = 0;

    if (n > 0)
        qsort(all, n, sizeof *all, compare);
    for (size_t i = 0; i < n; i++) {
        if (n_left > 0 && compare(&all[n_left - 1], &all[i]) == 0) {
            all[n_left - 1].count.blocks += all[i].count.blocks;
            all[n_left - 1].count.bytes += all[i].count.bytes;
        } else {
            all[n_left++] = all[i];
        }
    }
    return n_left;
}

static int places_of(const struct sd_alloc_counts *c, const struct sd_alloc_history *h,
                     struct sd_alloc_place_count (*place_of)(const struct sd_profile *,
                                                             uint32_t),
                     struct sd_alloc_place_count **places, size_t *n)
{
    const struct sd_profile *p = sd_alloc_history_profile(h);
    struct sd_alloc_place_count *all = sd_alloc((c->n_stacks + 1) * sizeof *all);

    *places = all;
    *n = 0;
    if (!all)
        return sd_no_memory();
    for (size_t i = 0; i < c->n_stacks; i++)
        if (c->stacks[i].blocks > 0) {
            all[*n] = place_of(p, i ? (uint32_t)(i - 1) : UINT32_MAX);
            all[(*n)++].count = c->stacks[i];
        }
    *n = merge(all, *n);
    return 0;
}

int sd_alloc_counts_lines(const struct sd_alloc_counts *c,
                          const struct sd_alloc_history *h,
                          struct sd_alloc_place_count **places, size_t *n)
{
    return places_of(c, h, line_of, places, n);
}

int sd_alloc_counts_files(const struct sd_alloc_counts *c,
                          const struct sd_alloc_history *h,
                          struct sd_alloc_place_count **places, size_t *n)
{
    return places_of(c, h, file_of, places, n);
}

/* --- Orders: equal ones by their places */

static int compare_bytes(const void *a, const void *b)
{
    const struct sd_alloc_place_count *x = a, *y = b;

    if (x->count.bytes != y->count.bytes)
        return x->count.bytes > y->count.bytes ? -1 : 1;
    return compare(a, b);
}

static int compare_blocks(const void *a, const void *b)
{
    const struct sd_alloc_place_count *x = a, *y = b;

    if (x->count.blocks != y->count.blocks)
        return x->count.blocks > y->count.blocks ? -1 : 1;
    return compare(a, b);
}

void sd_alloc_counts_by_bytes(struct sd_alloc_place_count *places, size_t n)
{
    if (n > 0)
        qsort(places, n, sizeof *places, compare_bytes);
}

void sd_alloc_counts_by_blocks(struct sd_alloc_place_count *places, size_t n)
{
    if (n > 0)
        qsort(places, n, sizeof *places, compare_blocks);
}

void sd_alloc_counts_release(struct sd_alloc_counts *c)
{
    sd_table_release(&c->sizes);
    sd_free(c->stacks);
    *c = (struct sd_alloc_counts){ 0 };
}
