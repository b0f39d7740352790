/* SPDX-License-Identifier: MIT */
/* stacks_by_thread: tables of each thread, apart or joined into one. */
#include <string.h>

#include "analyse/stacks/threads.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { N_OWNER = SD_THREAD_COLUMNS };

/* As in the table of threads, but for the name: a row is of a function. */
static const struct sd_column owner_columns[N_OWNER] = {
    [SD_THREAD_PROCESS] = { "process", "its number and name", SD_CELL_TEXT, false, 0 },
    [SD_THREAD_NUMBER] = { "thread", "its number", SD_CELL_COUNT, false, 0 },
    [SD_THREAD_NAME] = { "thread_name", "the thread's", SD_CELL_TEXT, false, 0 },
};

/* Whose it is stands in front, but behind a tree, which is drawn in its first column.
 */
static size_t owner_at(const struct sd_view_table *part)
{
    return part->parents ? part->n_columns : 0;
}

static size_t rest_at(const struct sd_view_table *part)
{
    return part->parents ? 0 : N_OWNER;
}

/* --- Totals, thread by thread */

/* A server may have had thousands of threads: each is asked of its own totals alone. */
struct sorted {
    enum sd_evidence evidence;     /* that is asked for */
    struct sd_stack_totals totals; /* owned; its totals, by track */
    size_t *first;                 /* owned; of each track, and behind the last */
    struct sd_pair_total *pairs;   /* owned; by track, too */
    size_t *first_pair;
};

static void release_sorted(struct sorted *s)
{
    sd_free(s->totals.items);
    for (uint32_t k = 0; k < s->totals.n_metrics; k++)
        sd_free(s->totals.values[k]);
    sd_free(s->first);
    sd_free(s->pairs);
    sd_free(s->first_pair);
}

static int make_sorted(struct sorted *s, const struct sd_profile *p)
{
    const struct sd_stack_totals *all = &p->evidence[s->evidence].stacks;
    bool has_all;

    s->totals = *all;
    s->totals.items = sd_alloc((all->n + 1) * sizeof *s->totals.items);
    s->first = sd_zalloc((p->n_tracks + 2) * sizeof *s->first);
    s->pairs = sd_alloc((p->pairs.n + 1) * sizeof *s->pairs);
    s->first_pair = sd_zalloc((p->n_tracks + 2) * sizeof *s->first_pair);
    has_all = s->totals.items && s->first && s->pairs && s->first_pair;
    for (uint32_t k = 0; k < all->n_metrics; k++) {
        s->totals.values[k] = sd_alloc((all->n + 1) * sizeof **s->totals.values);
        has_all = has_all && s->totals.values[k];
    }
    return has_all ? 0 : sd_no_memory();
}

static void sort_pairs(struct sorted *s, const struct sd_profile *p)
{
    for (size_t i = 0; i < p->pairs.n; i++)
        s->first_pair[p->pairs.items[i].track + 2]++;
    for (size_t i = 2; i < p->n_tracks + 2; i++)
        s->first_pair[i] += s->first_pair[i - 1];
    sd_assert(s->first_pair[p->n_tracks + 1] == p->pairs.n);
    for (size_t i = 0; i < p->pairs.n; i++)
        s->pairs[s->first_pair[p->pairs.items[i].track + 1]++] = p->pairs.items[i];
}

/* They keep their order: where each goes is counted first. */
static int sort(struct sorted *s, const struct sd_profile *p)
{
    const struct sd_stack_totals *all = &p->evidence[s->evidence].stacks;
    int rc = make_sorted(s, p);

    if (rc < 0)
        return rc;
    sort_pairs(s, p);
    for (size_t i = 0; i < all->n; i++)
        s->first[all->items[i].track.at + 2]++;
    for (size_t i = 2; i < p->n_tracks + 2; i++)
        s->first[i] += s->first[i - 1];
    sd_assert(s->first[p->n_tracks + 1] == all->n);
    for (size_t i = 0; i < all->n; i++) {
        size_t to = s->first[all->items[i].track.at + 1]++;

        s->totals.items[to] = all->items[i];
        for (uint32_t k = 0; k < all->n_metrics; k++)
            s->totals.values[k][to] = all->values[k][i];
    }
    return 0;
}

/* The profile as if this thread's were all. */
static struct sd_profile profile_of(const struct sorted *s, const struct sd_profile *p,
                                    uint32_t track)
{
    struct sd_profile one = *p;
    struct sd_stack_totals *totals = &one.evidence[s->evidence].stacks;
    size_t from = s->first[track];

    sd_assert(track < p->n_tracks && s->first[track] <= s->first[track + 1]);
    *totals = s->totals;
    totals->n = s->first[track + 1] - from;
    totals->items += from;
    for (uint32_t k = 0; k < totals->n_metrics; k++)
        totals->values[k] += from;
    one.pairs.items = s->pairs + s->first_pair[track];
    one.pairs.n = s->first_pair[track + 1] - s->first_pair[track];
    return one;
}

/* --- Tables */

struct parts {
    struct sd_view *v;
    size_t from;      /* of the view's tables: those of the threads */
    uint32_t *tracks; /* owned; whose each is */
    size_t n, n_rows;
};

static int make_part(struct parts *parts, const struct sd_profile *one,
                     const struct sd_view_request *r, sd_profile_view *make,
                     uint32_t track)
{
    size_t before = parts->v->n_tables;
    int rc = make(one, r, parts->v);

    if (rc < 0 || parts->v->n_tables == before)
        return rc;
    sd_assert(parts->v->n_tables == before + 1);
    parts->tracks[parts->n++] = track;
    parts->n_rows += parts->v->tables[parts->v->n_tables - 1].n_rows;
    return 0;
}

static int make_parts(struct parts *parts, const struct sd_profile *p,
                      const struct sd_view_request *r, sd_profile_view *make)
{
    struct sorted sorted = { .evidence =
                                 sd_sample_choice_evidence(p, &r->stacks.choice) };
    int rc = sort(&sorted, p);

    parts->tracks = sd_alloc((p->n_tracks + 1) * sizeof *parts->tracks);
    if (rc == 0 && !parts->tracks)
        rc = sd_no_memory();
    for (uint32_t i = 0; i < p->n_tracks && rc == 0; i++) {
        const struct sd_profile one = profile_of(&sorted, p, i);

        if (sd_profile_has(&one, sorted.evidence))
            rc = make_part(parts, &one, r, make, i);
    }
    release_sorted(&sorted);
    return rc;
}

/* Rows of `part` become those of `whole` from `row` on. */
static void copy_rows(struct sd_view_table *whole, size_t row,
                      const struct sd_view_table *part,
                      const struct sd_cell owner[N_OWNER])
{
    for (size_t i = 0; i < part->n_rows; i++) {
        memcpy(sd_view_cell(whole, row + i, owner_at(part)), owner,
               N_OWNER * sizeof *owner);
        memcpy(sd_view_cell(whole, row + i, rest_at(part)), sd_view_cell(part, i, 0),
               part->n_columns * sizeof *owner);
        if (whole->parents)
            whole->parents[row + i] =
                part->parents[i] < 0 ? -1 : part->parents[i] + (int32_t)row;
    }
}

/* An empty table with room for all of them, behind them. */
static struct sd_view_table *add_whole(const struct parts *parts)
{
    struct sd_view *v = parts->v;
    const struct sd_view_table first = v->tables[parts->from];
    size_t n = N_OWNER + first.n_columns;
    struct sd_column *columns = sd_arena_alloc(&v->arena, n * sizeof *columns);
    struct sd_view_table *whole;

    if (!columns) {
        sd_no_memory();
        return NULL;
    }
    memcpy(columns + owner_at(&first), owner_columns, sizeof owner_columns);
    memcpy(columns + rest_at(&first), first.columns, first.n_columns * sizeof *columns);
    whole = sd_view_add(v, first.name, first.title, columns, n, parts->n_rows);
    if (!whole)
        return NULL;
    whole->note = first.note;
    if (!first.parents)
        return whole;
    whole->parents =
        sd_arena_alloc(&v->arena, (parts->n_rows + 1) * sizeof *whole->parents);
    if (!whole->parents)
        sd_no_memory();
    return whole->parents ? whole : NULL;
}

static int join(const struct parts *parts, const struct sd_profile *p)
{
    struct sd_view *v = parts->v;
    struct sd_view_table *whole = add_whole(parts);
    size_t row = 0;

    if (!whole)
        return SD_ENOMEM;
    for (size_t i = 0; i < parts->n; i++) {
        const struct sd_view_table *part = &v->tables[parts->from + i];
        struct sd_cell owner[N_OWNER];
        int rc = sd_thread_cells(&v->arena, p, parts->tracks[i], owner);

        if (rc < 0)
            return rc;
        copy_rows(whole, row, part, owner);
        row += part->n_rows;
    }
    v->tables[parts->from] = *whole;
    v->n_tables = parts->from + 1;
    return 0;
}

/* "Functions of thread 1234 MainThread, process 1230 python" */
static int name_parts(const struct parts *parts, const struct sd_profile *p)
{
    struct sd_view *v = parts->v;

    for (size_t i = 0; i < parts->n; i++) {
        struct sd_view_table *t = &v->tables[parts->from + i];
        struct sd_buf words = { 0 };

        sd_buf_printf(&words, "%s of ", t->title);
        sd_thread_words(&words, p, parts->tracks[i]);
        t->title = words.bad
                       ? NULL
                       : sd_arena_string(&v->arena, sd_buf_string(&words), words.n);
        sd_buf_release(&words);
        if (!t->title)
            return sd_no_memory();
    }
    return 0;
}

int sd_stacks_by_thread(const struct sd_profile *p, const struct sd_view_request *r,
                        sd_profile_view *make, struct sd_view *v)
{
    struct parts parts = { .v = v, .from = v->n_tables };
    int rc = make_parts(&parts, p, r, make);

    if (rc == 0 && parts.n > 0)
        rc = r->is_for_eyes ? name_parts(&parts, p) : join(&parts, p);
    sd_free(parts.tracks);
    return rc;
}

int sd_stacks_no_threads(struct sd_view *v)
{
    return sd_view_add(v, "owners", "Owners", owner_columns, N_OWNER, 0) ? 0
                                                                         : SD_ENOMEM;
}
