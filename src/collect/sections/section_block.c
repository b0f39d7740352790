/* SPDX-License-Identifier: MIT */
#include "collect/sections/section_block.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "capture/memory/memory_capture.h"
#include "collect/sections/metrics.h"
#include "process/stat.h"

struct row { /* a section that ended */
    struct sd_whole_span span;
};

struct section_block {
    uint64_t began_ns;
    unsigned measure; /* that was asked for; 0: nothing was */
    bool in_capture;  /* sections go there by themselves */
    struct sd_arena arena;
    struct sd_table by_key; /* of a path, to its site */
    struct sd_whole_site *sites;
    size_t n_sites, cap_sites;
    struct row *rows;
    size_t n_rows, cap_rows;
    uint64_t shapes[SD_WHOLE_SHAPES]; /* the first is that without values */
    uint32_t n_shapes;
    uint64_t n_lost; /* without memory, or deeper than names are kept */
    uint64_t n_over; /* more than are kept */
    struct section_block *next;
};

_Atomic unsigned sd_section_n_blocks;
size_t sd_section_block_max = 1000000; /* some 300 MB */
static struct section_block *blocks;   /* of this process, that run; the newest first */

/* --- A section becomes a span ---------------------------------------------------- */

enum { DEPTH_MAX = 64 }; /* of a path; readers are shown no more either */

static uint32_t add_site(struct section_block *b, const struct sd_section_name *name,
                         uint32_t parent)
{
    struct sd_whole_site *grown =
        sd_grow_array(b->sites, &b->cap_sites, b->n_sites + 1, sizeof *grown);
    char *copy = grown ? sd_arena_string(&b->arena, name->name, name->n) : NULL;

    if (grown)
        b->sites = grown;
    if (!copy || sd_table_put(&b->by_key, name->key, b->n_sites) < 0)
        return SD_NO_PARENT;
    b->sites[b->n_sites] = (struct sd_whole_site){ copy, name->n, parent };
    return (uint32_t)b->n_sites++;
}

/* The site of a path; SD_NO_PARENT: it has none. */
static uint32_t site_of(struct section_block *b, const struct sd_section_name *name)
{
    const struct sd_section_name *unknown[DEPTH_MAX];
    uint32_t site = SD_NO_PARENT;
    uint64_t known;
    size_t n = 0;

    for (; name && n < DEPTH_MAX; name = name->parent) {
        if (sd_table_get(&b->by_key, name->key, &known)) {
            site = (uint32_t)known;
            break;
        }
        unknown[n++] = name;
    }
    while (n > 0) {
        site = add_site(b, unknown[--n], site);
        if (site == SD_NO_PARENT)
            return SD_NO_PARENT;
    }
    return site;
}

static uint32_t shape_of(struct section_block *b, uint64_t mask)
{
    for (uint32_t i = 0; i < b->n_shapes; i++)
        if (b->shapes[i] == mask)
            return i;
    if (b->n_shapes == SD_WHOLE_SHAPES)
        return 0;
    b->shapes[b->n_shapes] = mask;
    return b->n_shapes++;
}

static bool take(struct section_block *b, const struct sd_section *s, bool raised)
{
    struct row *grown =
        sd_grow_array(b->rows, &b->cap_rows, b->n_rows + 1, sizeof *grown);
    uint32_t site = grown ? site_of(b, s->name) : SD_NO_PARENT;
    struct row *row;

    if (grown)
        b->rows = grown;
    if (site == SD_NO_PARENT)
        return false;
    row = &b->rows[b->n_rows];
    *row = (struct row){ .span = { .site = site,
                                   .tid = s->thread.tid,
                                   .thread_start = s->thread.start_ticks,
                                   .shape = shape_of(b, sd_section_shape(s)),
                                   .flags = raised ? SD_SPAN_RAISED : 0,
                                   .from = s->start.wall_ns,
                                   .to = s->end.wall_ns } };
    if (row->span.shape)
        sd_section_values(s, row->span.values);
    b->n_rows++;
    return true;
}

void sd_section_blocks_take(const struct sd_section *s, bool raised)
{
    for (struct section_block *b = blocks; b; b = b->next) {
        if (b->in_capture || s->start.wall_ns < b->began_ns)
            continue;
        if (b->n_rows >= sd_section_block_max)
            b->n_over++;
        else if (!take(b, s, raised))
            b->n_lost++;
    }
}

/* --- The block ------------------------------------------------------------------- */

/* What the newest block asks for that asks for anything. */
static void choose_measure(void)
{
    const struct section_block *b = blocks;

    while (b && !b->measure)
        b = b->next;
    sd_section_choose(b ? b->measure : 0);
}

static int begin(const struct sd_option_value *values, bool in_capture, void **state)
{
    struct section_block *b = sd_zalloc(sizeof *b);
    int rc = b ? 0 : sd_no_memory();

    *state = NULL;
    if (rc == 0 && values[0].is_given)
        rc = sd_section_measure_parse(values[0].text, &b->measure);
    if (rc < 0) {
        sd_free(b);
        return rc;
    }
    b->n_shapes = 1;
    b->in_capture = in_capture;
    b->began_ns = sd_clock_ns();
    b->next = blocks;
    blocks = b;
    choose_measure();
    if (!in_capture)
        atomic_fetch_add(&sd_section_n_blocks, 1);
    *state = b;
    return 0;
}

static void end(void *state)
{
    struct section_block *b = state, **link = &blocks;

    while (*link && *link != b)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = b->next;
    choose_measure();
    if (!b->in_capture)
        atomic_fetch_sub(&sd_section_n_blocks, 1);
}

static bool span_of(const void *of, uint32_t i, struct sd_whole_span *out)
{
    const struct section_block *b = of;

    sd_assert(i < b->n_rows);
    *out = b->rows[i].span;
    return true;
}

static void write_note(const struct section_block *b, char *to, size_t size)
{
    if (b->n_over)
        snprintf(to, size,
                 "%llu sections are missing: a block keeps the first %zu; `sonde run` "
                 "has no such limit",
                 (unsigned long long)(b->n_over + b->n_lost), sd_section_block_max);
    else
        snprintf(to, size, "%llu sections are missing: there was no memory for them",
                 (unsigned long long)b->n_lost);
}

static int add(void *state, struct sd_making *to)
{
    const struct section_block *b = state;
    char note[160];
    struct sd_process_stat stat = { .start_ticks = 0 };
    struct sd_whole_spans spans = { .sites = b->sites,
                                    .n_sites = (uint32_t)b->n_sites,
                                    .metrics = sd_section_metrics,
                                    .shapes = b->shapes,
                                    .n_shapes = b->n_shapes,
                                    .pid = (uint64_t)getpid(),
                                    .n = (uint32_t)b->n_rows,
                                    .of = b,
                                    .span = span_of };

    if (sd_process_stat(0, &stat) == 0) {
        spans.start_ticks = stat.start_ticks;
        spans.process = stat.name;
    }
    if (b->n_over || b->n_lost) {
        write_note(b, note, sizeof note);
        spans.note = note;
    }
    return sd_whole_add_spans(to, &spans);
}

static void free_block(void *state)
{
    struct section_block *b = state;

    end(b);
    sd_table_release(&b->by_key);
    sd_arena_release(&b->arena);
    sd_free(b->sites);
    sd_free(b->rows);
    sd_free(b);
}

const struct sd_inside_block sd_section_block = {
    .begin = begin, .end = end, .add = add, .free = free_block
};
