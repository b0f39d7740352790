/* SPDX-License-Identifier: MIT */
/* page_sections: the names of sections on a page, and those that are too small to be
 * seen as one section "(pruned)".
 *
 * A program may open sections of very many names, one for each request.  One stays when
 * what was seen in it is no smaller part of everything than asked for, under any metric
 * of any block.  Moments in which others were open are moments of "(pruned)", so that
 * all sums, of the whole and of each section that stays, are those of before. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "report/page/page_shapes.h"

enum { NONE = UINT32_MAX, NUMBER_MAX = 16 };

/* --- Which sections stay */

/* Sums of each section under one metric; the sum of everything is the result. */
static double add_up(const struct sd_view_stacks *s, const int64_t *values,
                     double *of_sets, double *sums)
{
    double all = 0;

    memset(of_sets, 0, s->n_sets * sizeof *of_sets);
    memset(sums, 0, s->n_sections * sizeof *sums);
    for (size_t i = 0; i < s->n_entries; i++) {
        all += (double)values[i];
        of_sets[s->entries[i].set] += (double)values[i];
    }
    for (size_t i = 0; i < s->n_sets; i++)
        for (uint32_t k = s->set_starts[i]; k < s->set_starts[i + 1]; k++)
            sums[s->set_members[k]] += of_sets[i];
    return all;
}

static int keep_by(const struct sd_view_stacks *s, double all, const double *sums,
                   double least, struct sd_intern *kept)
{
    int rc = 0;

    for (size_t i = 0; i < s->n_sections && rc == 0; i++) {
        uint32_t at;

        if (sums[i] > 0 && sums[i] >= least * all)
            rc = sd_intern(kept, s->sections[i], strlen(s->sections[i]), &at);
    }
    return rc;
}

int sd_page_keep_sections(const struct sd_view_stacks *s, double least,
                          struct sd_intern *kept)
{
    double *of_sets = sd_alloc((s->n_sets + 1) * sizeof *of_sets);
    double *sums = sd_alloc((s->n_sections + 1) * sizeof *sums);
    int rc = of_sets && sums ? 0 : sd_no_memory();

    for (size_t k = 0; k < s->n_metrics && rc == 0; k++) {
        double all = add_up(s, s->metrics[k].values, of_sets, sums);

        rc = keep_by(s, all, sums, least, kept);
    }
    sd_free(of_sets);
    sd_free(sums);
    return rc;
}

/* --- Folding the others */

struct folder {
    const struct sd_view_stacks *from;
    struct sd_view_stacks *to;
    struct sd_arena *arena;
    struct sd_arena keys_arena;
    struct sd_intern sets; /* numbers of sections, ascending, as bytes */
    uint32_t *number;      /* by section: where it is now */
    uint32_t *moved;       /* by set */
    uint32_t *members;     /* of one set */
};

/* False: all of them stay. */
static bool number_sections(struct folder *f, const struct sd_intern *kept)
{
    const struct sd_view_stacks *s = f->from;
    uint32_t n = 0;

    for (size_t i = 0; i < s->n_sections; i++) {
        const char *path = s->sections[i];
        bool stays = sd_intern_find(kept, path, strlen(path)) != NONE;

        f->number[i] = stays ? n : NONE;
        if (stays)
            f->to->sections[n++] = path;
    }
    f->to->n_sections = n;
    if (n == s->n_sections)
        return false;
    for (size_t i = 0; i < s->n_sections; i++)
        f->number[i] = f->number[i] == NONE ? n : f->number[i];
    f->to->sections[f->to->n_sections++] = SD_PAGE_PRUNED;
    return true;
}

/* Numbers that stay keep their order, and that of the others is the highest. */
static int fold_set(struct folder *f, size_t set)
{
    const struct sd_view_stacks *s = f->from;
    uint32_t pruned = (uint32_t)f->to->n_sections - 1, n = 0;
    bool has_pruned = false;

    for (uint32_t k = s->set_starts[set]; k < s->set_starts[set + 1]; k++) {
        uint32_t number = f->number[s->set_members[k]];

        if (number == pruned)
            has_pruned = true;
        else
            f->members[n++] = number;
    }
    if (has_pruned)
        f->members[n++] = pruned;
    return sd_intern(&f->sets, f->members, n * sizeof *f->members, &f->moved[set]);
}

static int put_sets(struct folder *f)
{
    struct sd_view_stacks *v = f->to;
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < f->from->n_sets && rc == 0; i++)
        rc = fold_set(f, i);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < f->sets.n; i++) {
        v->set_starts[i] = (uint32_t)(n / sizeof *v->set_members);
        if (f->sets.items[i].n > 0)
            memcpy((uint8_t *)v->set_members + n, f->sets.items[i].p,
                   f->sets.items[i].n);
        n += f->sets.items[i].n;
    }
    v->n_sets = f->sets.n;
    v->set_starts[v->n_sets] = (uint32_t)(n / sizeof *v->set_members);
    sd_assert(v->n_sets <= f->from->n_sets &&
              v->set_starts[v->n_sets] <= f->from->set_starts[f->from->n_sets]);
    return 0;
}

static void put_entries(struct folder *f)
{
    for (size_t i = 0; i < f->from->n_entries; i++) {
        f->to->entries[i] = f->from->entries[i];
        f->to->entries[i].set = f->moved[f->from->entries[i].set];
    }
}

static void *room(struct sd_arena *a, size_t n, size_t size)
{
    return sd_arena_alloc(a, (n ? n : 1) * size);
}

static int make_room(struct folder *f)
{
    const struct sd_view_stacks *s = f->from;
    struct sd_view_stacks *v = f->to;
    size_t n_members = s->set_starts[s->n_sets];

    v->sections = room(f->arena, s->n_sections + 1, sizeof *v->sections);
    v->set_starts = room(f->arena, s->n_sets + 1, sizeof *v->set_starts);
    v->set_members = room(f->arena, n_members, sizeof *v->set_members);
    v->entries = room(f->arena, s->n_entries, sizeof *v->entries);
    f->number = room(&f->keys_arena, s->n_sections, sizeof *f->number);
    f->moved = room(&f->keys_arena, s->n_sets, sizeof *f->moved);
    f->members = room(&f->keys_arena, s->n_sections + 1, sizeof *f->members);
    return v->sections && v->set_starts && v->set_members && v->entries && f->number &&
                   f->moved && f->members
               ? 0
               : sd_no_memory();
}

int sd_page_fold_sections(const struct sd_view_stacks *from,
                          const struct sd_intern *kept, struct sd_arena *a,
                          struct sd_view_stacks *to)
{
    struct folder f = { .from = from, .to = to, .arena = a };
    int rc;

    f.sets.arena = &f.keys_arena;
    *to = *from;
    rc = make_room(&f);
    if (rc == 0 && number_sections(&f, kept)) {
        rc = put_sets(&f);
        if (rc == 0)
            put_entries(&f);
    } else {
        *to = *from;
    }
    sd_intern_release(&f.sets);
    sd_arena_release(&f.keys_arena);
    return rc;
}

/* --- Names */

/* Of two long names that are the same where they are cut, one has a number. */
int sd_page_name_section(struct sd_intern *names, const char *path)
{
    char cut[SD_PAYLOAD_CUT], numbered[SD_PAYLOAD_CUT + NUMBER_MAX];
    const char *name = sd_payload_cut(path, cut);
    size_t n_known = names->n;
    uint32_t at;
    int rc = sd_intern(names, name, strlen(name), &at);

    for (unsigned k = 2; rc == 0 && names->n == n_known; k++) {
        snprintf(numbered, sizeof numbered, "%s (%u)", name, k);
        rc = sd_intern(names, numbered, strlen(numbered), &at);
    }
    return rc;
}
