/* SPDX-License-Identifier: MIT */
/* page_prune: folds stacks that are too small to be seen into "(pruned)".
 *
 * A frame stays when what was seen in it and above it is no smaller part of everything
 * than asked for, under any metric.  So what stays hangs together from the outermost
 * frame on, and what goes is, for each frame that stays, one box on it.  Amounts move
 * with their frames, so that all sums are those of before. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/page/page_shapes.h"

enum { NONE = UINT32_MAX };

/* Frames that become one: on the same frame, of the same part of an import. */
struct pruned_key {
    uint32_t parent, import, importer, is_startup;
};
struct place_key {
    uint32_t frame, thread, flags;
};

struct pruner {
    const struct sd_view_stacks *from;
    struct sd_view_stacks *to;
    struct sd_arena *arena;
    struct sd_arena keys_arena;
    struct sd_intern pruned, places, entries;
    bool *stays;     /* by frame */
    uint32_t *moved; /* by frame: where it is now */
    uint32_t *place; /* by place */
    uint32_t pruned_function;
};

static void *room(struct sd_arena *a, size_t n, size_t size)
{
    return sd_arena_alloc(a, (n ? n : 1) * size);
}

/* --- Which frames stay */

/* Adds those with at least that part of one metric. */
static void keep_by(struct pruner *r, const int64_t *values, double least, double *sums)
{
    const struct sd_view_stacks *s = r->from;
    double all = 0;

    memset(sums, 0, s->n_frames * sizeof *sums);
    for (size_t i = 0; i < s->n_entries; i++) {
        uint32_t frame = s->places[s->entries[i].place].frame;

        all += (double)values[i];
        if (frame != NONE)
            sums[frame] += (double)values[i];
    }
    for (size_t f = s->n_frames; f-- > 0;)
        if (s->frames[f].parent != NONE)
            sums[s->frames[f].parent] += sums[f];
    for (size_t f = 0; f < s->n_frames; f++)
        r->stays[f] |= sums[f] > 0 && sums[f] >= least * all;
}

static int choose_frames(struct pruner *r, double least)
{
    double *sums = sd_alloc((r->from->n_frames + 1) * sizeof *sums);

    if (!sums)
        return sd_no_memory();
    for (size_t k = 0; k < r->from->n_metrics; k++)
        keep_by(r, r->from->metrics[k].values, least, sums);
    sd_free(sums);
    return 0;
}

/* --- Frames */

static void put_kept_frames(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    struct sd_view_stacks *v = r->to;

    for (size_t f = 0; f < s->n_frames; f++) {
        struct sd_stacks_frame *frame = &v->frames[v->n_frames];

        if (!r->stays[f])
            continue;
        sd_assert(s->frames[f].parent == NONE || r->stays[s->frames[f].parent]);
        r->moved[f] = (uint32_t)v->n_frames++;
        *frame = s->frames[f];
        frame->parent = frame->parent == NONE ? NONE : r->moved[frame->parent];
        frame->importer = frame->importer == NONE ? NONE : r->moved[frame->importer];
    }
}

/* The importer is below what it imports; when it went, so did the import. */
static int put_pruned_frame(struct pruner *r, size_t f, uint32_t below)
{
    const struct sd_stacks_frame *old = &r->from->frames[f];
    bool has_importer = old->importer == NONE || r->stays[old->importer];
    const struct pruned_key key = {
        .parent = below,
        .import = has_importer ? old->import : NONE,
        .importer =
            old->importer != NONE && has_importer ? r->moved[old->importer] : NONE,
        .is_startup = old->is_startup,
    };
    struct sd_view_stacks *v = r->to;
    size_t n_known = r->pruned.n;
    uint32_t at;
    int rc = sd_intern(&r->pruned, &key, sizeof key, &at);

    if (rc < 0)
        return rc;
    if (at == n_known)
        v->frames[v->n_frames++] =
            (struct sd_stacks_frame){ .parent = below,
                                      .function = r->pruned_function,
                                      .import = key.import,
                                      .importer = key.importer,
                                      .is_startup = old->is_startup };
    r->moved[f] = (uint32_t)(v->n_frames - r->pruned.n + at);
    return 0;
}

/* What stays comes first; so a box on it has a larger number. */
static int put_frames(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    uint32_t *below = sd_alloc((s->n_frames + 1) * sizeof *below);
    int rc = below ? 0 : sd_no_memory();

    r->to->n_frames = 0;
    if (rc == 0)
        put_kept_frames(r);
    for (size_t f = 0; f < s->n_frames && rc == 0; f++) {
        uint32_t parent = s->frames[f].parent;

        if (r->stays[f])
            continue;
        below[f] = parent == NONE     ? NONE
                   : r->stays[parent] ? r->moved[parent]
                                      : below[parent];
        rc = put_pruned_frame(r, f, below[f]);
    }
    sd_free(below);
    return rc;
}

/* --- Functions: those that frames are of */

static int put_functions(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    struct sd_view_stacks *v = r->to;
    uint32_t *moved = sd_alloc((s->n_functions + 2) * sizeof *moved);

    if (!moved)
        return sd_no_memory();
    memset(moved, 0xff, (s->n_functions + 2) * sizeof *moved);
    v->n_functions = 0;
    for (size_t i = 0; i < v->n_frames; i++) {
        uint32_t old = v->frames[i].function;

        if (moved[old] == NONE) {
            moved[old] = (uint32_t)v->n_functions;
            v->functions[v->n_functions++] =
                old < s->n_functions
                    ? s->functions[old]
                    : (struct sd_stacks_function){ .name = SD_PAGE_PRUNED,
                                                   .kind = SD_FLAME_FOLDED,
                                                   .module = (uint32_t)s->n_modules };
        }
        v->frames[i].function = moved[old];
    }
    sd_free(moved);
    return 0;
}

static int put_modules(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    struct sd_view_stacks *v = r->to;
    uint32_t *moved = sd_alloc((s->n_modules + 1) * sizeof *moved);

    if (!moved)
        return sd_no_memory();
    memset(moved, 0xff, (s->n_modules + 1) * sizeof *moved);
    v->n_modules = 0;
    for (size_t i = 0; i < v->n_functions; i++) {
        uint32_t old = v->functions[i].module;

        if (moved[old] == NONE) {
            moved[old] = (uint32_t)v->n_modules;
            v->modules[v->n_modules++] =
                old == s->n_modules ? SD_PAGE_PRUNED : s->modules[old];
        }
        v->functions[i].module = moved[old];
    }
    sd_free(moved);
    return 0;
}

/* --- Places and entries */

static uint32_t flags_of(const struct sd_stacks_place *at)
{
    return (uint32_t)(at->is_idle | at->has_gil << 1 | at->waits_for_gil << 2 |
                      at->is_partial << 3 | at->is_stopped << 4);
}

static int put_places(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    int rc = 0;

    r->to->n_places = 0;
    for (size_t i = 0; i < s->n_places && rc == 0; i++) {
        struct sd_stacks_place place = s->places[i];
        struct place_key key;

        place.frame = place.frame == NONE ? NONE : r->moved[place.frame];
        key = (struct place_key){ place.frame, place.thread, flags_of(&place) };
        rc = sd_intern(&r->places, &key, sizeof key, &r->place[i]);
        if (rc == 0 && r->place[i] == r->to->n_places)
            r->to->places[r->to->n_places++] = place;
    }
    return rc;
}

/* Entries come by slice, and stay so. */
static int put_entries(struct pruner *r, int64_t *values[])
{
    const struct sd_view_stacks *s = r->from;
    int rc = 0;

    r->to->n_entries = 0;
    for (size_t i = 0; i < s->n_entries && rc == 0; i++) {
        struct sd_stacks_entry e = s->entries[i];
        uint32_t at;

        e.place = r->place[e.place];
        rc = sd_intern(&r->entries, &e, sizeof e, &at);
        if (rc < 0)
            break;
        if (at == r->to->n_entries)
            r->to->entries[r->to->n_entries++] = e;
        for (size_t k = 0; k < s->n_metrics; k++)
            values[k][at] = sd_sum_i64(values[k][at], s->metrics[k].values[i]);
    }
    return rc;
}

static int add_up(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    int64_t **values = room(r->arena, s->n_metrics, sizeof *values);

    if (!values)
        return sd_no_memory();
    for (size_t k = 0; k < s->n_metrics; k++) {
        values[k] = room(r->arena, s->n_entries, sizeof **values);
        if (!values[k])
            return sd_no_memory();
        r->to->metrics[k] = s->metrics[k];
        r->to->metrics[k].values = values[k];
    }
    return put_entries(r, values);
}

/* --- All of it */

static int make_room(struct pruner *r)
{
    const struct sd_view_stacks *s = r->from;
    struct sd_view_stacks *v = r->to;

    *v = *s;
    v->frames = room(r->arena, s->n_frames, sizeof *v->frames);
    v->functions = room(r->arena, s->n_functions + 1, sizeof *v->functions);
    v->modules = room(r->arena, s->n_modules + 1, sizeof *v->modules);
    v->places = room(r->arena, s->n_places, sizeof *v->places);
    v->entries = room(r->arena, s->n_entries, sizeof *v->entries);
    v->metrics = room(r->arena, s->n_metrics, sizeof *v->metrics);
    r->stays = room(r->arena, s->n_frames, sizeof *r->stays);
    r->moved = room(r->arena, s->n_frames, sizeof *r->moved);
    r->place = room(r->arena, s->n_places, sizeof *r->place);
    r->pruned_function = (uint32_t)s->n_functions;
    return v->frames && v->functions && v->modules && v->places && v->entries &&
                   v->metrics && r->stays && r->moved && r->place
               ? 0
               : sd_no_memory();
}

int sd_page_prune(const struct sd_view_stacks *from, double least, struct sd_arena *a,
                  struct sd_view_stacks *to)
{
    struct pruner r = { .from = from, .to = to, .arena = a };
    int rc;

    r.pruned.arena = r.places.arena = r.entries.arena = &r.keys_arena;
    rc = make_room(&r);
    if (rc == 0)
        rc = choose_frames(&r, least);
    if (rc == 0)
        rc = put_frames(&r);
    if (rc == 0)
        rc = put_functions(&r);
    if (rc == 0)
        rc = put_modules(&r);
    if (rc == 0)
        rc = put_places(&r);
    if (rc == 0)
        rc = add_up(&r);
    sd_intern_release(&r.pruned);
    sd_intern_release(&r.places);
    sd_intern_release(&r.entries);
    sd_arena_release(&r.keys_arena);
    return rc;
}
