/* SPDX-License-Identifier: MIT */
#include "analyse/alloc/alloc_rows.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX, QUARTERS = 4, IN_QUARTER = SD_ALLOC_MOMENTS / QUARTERS };

uint32_t sd_alloc_frame(const struct sd_profile *p, uint32_t stack, bool is_mine)
{
    uint32_t innermost = stack;

    for (; stack != NONE; stack = p->stacks[stack].parent.at) {
        const struct sd_site *s = &p->sites[p->stacks[stack].site.at];

        if (!s->is_native && !(is_mine && sd_site_is_library(s)))
            break;
    }
    return stack == NONE && !is_mine ? innermost : stack;
}

/* --- Keys */

static struct sd_triple key_of_file(const struct sd_profile *p, uint32_t frame)
{
    uint64_t file = 0;

    if (frame != NONE) /* equal names are one string */
        file = (uintptr_t)p->sites[p->stacks[frame].site.at].file;
    return (struct sd_triple){ (uint32_t)file, (uint32_t)(file >> 32), 0 };
}

static struct sd_triple key_of(const struct sd_profile *p, enum sd_alloc_by by,
                               const struct sd_alloc_total *t, uint32_t frame,
                               uint32_t import)
{
    uint32_t site = NONE, line = 0, process;

    if (import != NONE)
        return (struct sd_triple){ NONE, NONE, import };
    if (frame != NONE) {
        site = sd_profile_function_of(p, p->stacks[frame].site).at;
        line = p->stacks[frame].line;
    }
    switch (by) {
    case SD_ROWS_BY_LINE:
        return (struct sd_triple){ site, line, 0 };
    case SD_ROWS_BY_FUNCTION:
        return (struct sd_triple){ site, 0, 0 };
    case SD_ROWS_BY_FILE:
        return key_of_file(p, frame);
    case SD_ROWS_BY_STACK:
        return (struct sd_triple){ t->stack, 0, 0 };
    case SD_ROWS_BY_THREAD:
        return (struct sd_triple){ t->track, 0, 0 };
    case SD_ROWS_BY_PROCESS:
        process = sd_profile_process_of(p, (sd_track_id){ t->track }).at;
        return (struct sd_triple){ process, 0, 0 };
    case SD_ROWS_BY_ALLOCATOR:
        return (struct sd_triple){ t->flags & SD_ALLOCS_BY, 0, 0 };
    case SD_ROWS_BY_SIZE:
        return (struct sd_triple){ t->flags & SD_ALLOCS_CLASSES, 0, 0 };
    }
    return (struct sd_triple){ NONE, 0, 0 };
}

/* --- Amounts */

static enum sd_alloc_value value_of(enum sd_alloc_which which)
{
    switch (which) {
    case SD_WHICH_PEAK:
        return SD_ALLOCS_PEAK_BYTES;
    case SD_WHICH_LEAKS:
    case SD_WHICH_GROWING:
        return SD_ALLOCS_LEAKED_BYTES;
    case SD_WHICH_TEMPORARY:
        return SD_ALLOCS_TEMPORARY_BYTES;
    case SD_WHICH_TOTAL:
        return SD_ALLOCS_BYTES;
    case SD_WHICH_LIVE:
        return SD_ALLOCS_LIVE_BYTES;
    }
    return SD_ALLOCS_PEAK_BYTES;
}

static bool is_wanted(const struct sd_alloc_totals *all, const struct sd_alloc_total *t,
                      const struct sd_alloc_request *r)
{
    if (t->flags & SD_ALLOCS_APART && r->by != SD_ROWS_BY_ALLOCATOR)
        return false;
    return r->which != SD_WHICH_PEAK || t->process == sd_alloc_totals_largest(all);
}

static int find_row(struct sd_alloc_rows *rows, struct sd_triple key, uint32_t *row)
{
    struct sd_alloc_row *items;
    int rc = sd_triples_add(&rows->keys, key, row);

    if (rc < 0 || *row < rows->n)
        return rc;
    items = sd_grow_array(rows->items, &rows->cap, rows->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    rows->items = items;
    items[rows->n++] =
        (struct sd_alloc_row){ .stack = NONE, .import = NONE, .track = NONE };
    return 0;
}

static int add_moments(struct sd_alloc_rows *rows, uint32_t row, const int64_t *from)
{
    size_t had = rows->cap_moments;
    int64_t *all = sd_grow_array(rows->moments, &rows->cap_moments,
                                 rows->n * SD_ALLOC_MOMENTS, sizeof *all);

    if (!all)
        return sd_no_memory();
    rows->moments = all;
    memset(all + had, 0, (rows->cap_moments - had) * sizeof *all);
    for (size_t k = 0; k < SD_ALLOC_MOMENTS; k++) {
        int64_t *to = &all[(size_t)row * SD_ALLOC_MOMENTS + k];

        *to = sd_sum_i64(*to, from[k]);
    }
    return 0;
}

/* Of rows that are a line or a function of one. */
static uint32_t import_of(const struct sd_alloc_rows *rows,
                          const struct sd_alloc_request *r, uint32_t stack)
{
    bool is_of_lines = r->by == SD_ROWS_BY_LINE || r->by == SD_ROWS_BY_FUNCTION;

    return is_of_lines && rows->imports.row_of && stack != NONE
               ? rows->imports.row_of[stack]
               : NONE;
}

static bool is_startup(const struct sd_alloc_rows *rows, uint32_t stack)
{
    return rows->imports.is_startup && stack != NONE && rows->imports.is_startup[stack];
}

static int add_total(struct sd_alloc_rows *rows, const struct sd_profile *p,
                     const struct sd_alloc_request *r, size_t i, bool is_mine)
{
    const struct sd_alloc_total *t = &p->allocs.items[i];
    enum sd_alloc_value v = value_of(r->which);
    bool is_ours = is_startup(rows, t->stack);
    uint32_t frame = is_ours ? NONE : sd_alloc_frame(p, t->stack, is_mine), row;
    uint32_t import = import_of(rows, r, t->stack);
    struct sd_alloc_row *to;
    int rc;

    if (t->values[v] == 0 && t->values[v + 1] == 0 && r->which != SD_WHICH_GROWING)
        return 0;
    if (is_ours && !is_mine)
        return 0;
    rc = find_row(rows, key_of(p, r->by, t, frame, import), &row);
    if (rc < 0)
        return rc;
    to = &rows->items[row];
    to->stack = r->by == SD_ROWS_BY_STACK ? t->stack : frame;
    to->import = import;
    to->track = t->track;
    to->flags = t->flags;
    to->bytes = sd_sum_i64(to->bytes, t->values[v]);
    to->count = sd_sum_i64(to->count, t->values[v + 1]);
    to->variance += t->variances[v / 2];
    return r->which == SD_WHICH_GROWING && p->allocs.moments
               ? add_moments(rows, row, p->allocs.moments + i * SD_ALLOC_MOMENTS)
               : 0;
}

/* --- Growth */

static int64_t least_of(const int64_t *moments, size_t quarter)
{
    int64_t least = moments[quarter * IN_QUARTER];

    for (size_t k = 1; k < IN_QUARTER; k++)
        if (moments[quarter * IN_QUARTER + k] < least)
            least = moments[quarter * IN_QUARTER + k];
    return least;
}

static bool keeps_growing(const int64_t *moments, int64_t *growth)
{
    int64_t first = least_of(moments, 0), before = first;

    for (size_t q = 1; q < QUARTERS; q++) {
        int64_t least = least_of(moments, q);

        if (least <= before)
            return false;
        before = least;
    }
    *growth = before - first;
    return true;
}

static void keep_growing(struct sd_alloc_rows *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->n && rows->moments; i++)
        if (keeps_growing(rows->moments + i * SD_ALLOC_MOMENTS, &rows->items[i].growth))
            rows->items[kept++] = rows->items[i];
    rows->n = kept;
}

int sd_alloc_rows_make(struct sd_alloc_rows *rows, const struct sd_profile *p,
                       const struct sd_alloc_request *r, unsigned flags)
{
    bool is_mine = flags & SD_ROWS_MINE;
    int rc = 0;

    sd_assert(rows->n == 0);
    if (flags) /* Sonde's own start is no program's */
        rc = sd_import_rows_make(p, !is_mine, &rows->imports);
    for (size_t i = 0; i < p->allocs.n && rc == 0; i++)
        if (is_wanted(&p->allocs, &p->allocs.items[i], r))
            rc = add_total(rows, p, r, i, is_mine);
    if (r->which == SD_WHICH_GROWING)
        keep_growing(rows);
    for (size_t i = 0; i < rows->n; i++)
        rows->bytes = sd_sum_i64(rows->bytes, rows->items[i].bytes);
    return rc;
}

void sd_alloc_rows_release(struct sd_alloc_rows *rows)
{
    sd_free(rows->items);
    sd_free(rows->moments);
    sd_triples_release(&rows->keys);
    sd_import_rows_release(&rows->imports);
    *rows = (struct sd_alloc_rows){ 0 };
}
