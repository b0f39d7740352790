/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"

enum { KINDS_MAX = 64 }; /* different ones among the referrers of one object */

static const char *const by_names[] = { "type", "owner", "size", "module",
                                        "referrers" };
_Static_assert(sizeof by_names / sizeof by_names[0] == SD_HEAP_N_BYS,
               "each way of grouping has a name");

int sd_heap_by_named(const char *word)
{
    for (int i = 0; i < SD_HEAP_N_BYS; i++)
        if (strcmp(by_names[i], word) == 0)
            return i;
    return -1;
}

const char *sd_heap_by_name(enum sd_heap_by by) { return by_names[by]; }

bool sd_heap_by_needs_edges(enum sd_heap_by by)
{
    return by == SD_HEAP_BY_OWNER || by == SD_HEAP_BY_REFERRERS;
}

/* --- Keys: what objects of a group have in common, as a number */

struct grouping {
    const struct sd_heap_graph *g;
    struct sd_heap_reach *r;
    struct sd_heap_groups *out;
    struct sd_pages groups; /* uint32_t[n]: of each object */
    struct sd_pages owners; /* uint32_t[n]: 1 + type whose instance has this dict */
    struct sd_pages sets;   /* uint32_t[]: each its length and its kinds */
    uint32_t n_set_words;
    struct sd_table numbers; /* of keys */
};

/* A dict that is the __dict__ of an object is its owner's, and no longer any dict. */
static int find_owners(struct grouping *p)
{
    const struct sd_heap_graph *g = p->g;
    const struct sd_heap_labelled *labelled = g->labelled.p;
    int rc = sd_pages_grow(&p->owners, ((size_t)g->n + 1) * sizeof(uint32_t));

    for (uint32_t i = 0; i < g->n_labelled && rc == 0; i++) {
        const uint32_t *labels = (const uint32_t *)g->labels.p + labelled[i].labels;
        uint32_t object = labelled[i].object, n;
        const uint32_t *edges = sd_heap_edges(g, object, &n);

        for (uint32_t k = 0; k < n; k++)
            if (SD_HEAP_LABEL_STEP(labels[k]) == SD_HEAP_STEP_ATTRIBUTE &&
                strcmp(sd_heap_name(g, SD_HEAP_LABEL_TEXT(labels[k])), "__dict__") == 0)
                ((uint32_t *)p->owners.p)[edges[k]] = 1 + sd_heap_type_of(g, object);
    }
    return rc;
}

/* A type, or n_types and the type of the owner of a dict. */
static uint32_t kind_of(const struct grouping *p, uint32_t object)
{
    uint32_t owner = p->owners.p ? ((const uint32_t *)p->owners.p)[object] : 0;

    return owner ? p->g->n_types + owner - 1 : sd_heap_type_of(p->g, object);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The set of kinds of all referrers, as a place in `sets`. */
static int set_of(struct grouping *p, uint32_t object, uint64_t *key)
{
    uint32_t kinds[KINDS_MAX + 1], n_kinds = 0, n;
    const uint32_t *in = sd_heap_reach_in(p->r, object, &n);
    uint64_t at;
    int rc;

    for (uint32_t i = 0; i < n && n_kinds < KINDS_MAX; i++) {
        uint32_t kind = kind_of(p, in[i]), k = 0;

        while (k < n_kinds && kinds[1 + k] != kind)
            k++;
        if (k == n_kinds)
            kinds[1 + n_kinds++] = kind;
    }
    qsort(kinds + 1, n_kinds, sizeof *kinds, by_number);
    kinds[0] = n_kinds;
    for (uint64_t seed = 0;; seed++) { /* another set may have the same hash */
        uint64_t hash = sd_hash(kinds, (n_kinds + 1) * sizeof *kinds, seed);

        if (!sd_table_get(&p->numbers, hash, &at))
            break;
        if (memcmp((uint32_t *)p->sets.p + at, kinds, (n_kinds + 1) * sizeof *kinds) ==
            0) {
            *key = at;
            return 0;
        }
    }
    at = p->n_set_words;
    rc = sd_pages_grow(&p->sets, (at + 2 * (KINDS_MAX + 1)) * sizeof *kinds);
    for (uint64_t seed = 0; rc == 0; seed++) {
        uint64_t hash = sd_hash(kinds, (n_kinds + 1) * sizeof *kinds, seed), other;

        if (sd_table_get(&p->numbers, hash, &other))
            continue;
        rc = sd_table_put(&p->numbers, hash, at);
        break;
    }
    if (rc == 0)
        memcpy((uint32_t *)p->sets.p + at, kinds, (n_kinds + 1) * sizeof *kinds);
    p->n_set_words += n_kinds + 1;
    *key = at;
    return rc;
}

static int key_of(struct grouping *p, enum sd_heap_by by, uint32_t object,
                  uint64_t *key)
{
    switch (by) {
    case SD_HEAP_BY_TYPE:
        *key = sd_heap_type_of(p->g, object);
        return 0;
    case SD_HEAP_BY_OWNER:
        *key = kind_of(p, object);
        return 0;
    case SD_HEAP_BY_SIZE:
        *key = sd_heap_size(p->g, object);
        return 0;
    case SD_HEAP_BY_MODULE:
        *key = sd_heap_type_at(p->g, sd_heap_type_of(p->g, object))->module;
        return 0;
    case SD_HEAP_BY_REFERRERS:
        return set_of(p, object, key);
    case SD_HEAP_N_BYS:
        break;
    }
    return 0;
}

/* --- Names */

static void put_kind(const struct grouping *p, uint32_t kind, struct sd_buf *name)
{
    bool is_dict = kind >= p->g->n_types;
    uint32_t type = is_dict ? kind - p->g->n_types : kind;

    if (is_dict)
        sd_buf_text(name, "dict of ");
    sd_buf_text(name, sd_heap_name(p->g, sd_heap_type_at(p->g, type)->name));
}

static void put_set(const struct grouping *p, uint64_t at, struct sd_buf *name)
{
    const uint32_t *set = (const uint32_t *)p->sets.p + at;

    if (!set[0])
        sd_buf_text(name, "nothing");
    for (uint32_t i = 0; i < set[0]; i++) {
        sd_buf_text(name, i ? ", " : "");
        put_kind(p, set[1 + i], name);
    }
}

static const char *name_of(const struct grouping *p, enum sd_heap_by by, uint64_t key)
{
    struct sd_buf name = { 0 };
    const char *copy = NULL;

    switch (by) {
    case SD_HEAP_BY_TYPE:
    case SD_HEAP_BY_OWNER:
        put_kind(p, (uint32_t)key, &name);
        break;
    case SD_HEAP_BY_SIZE:
        sd_buf_printf(&name, "%" PRIu64, key);
        break;
    case SD_HEAP_BY_MODULE:
        sd_buf_text(&name, sd_heap_name(p->g, (uint32_t)key));
        break;
    case SD_HEAP_BY_REFERRERS:
        put_set(p, key, &name);
        break;
    case SD_HEAP_N_BYS:
        break;
    }
    if (!name.bad)
        copy = sd_arena_string(&p->out->arena, sd_buf_string(&name), name.n);
    sd_buf_release(&name);
    return copy;
}

/* --- Groups */

/* Equal keys of types that have the same name (two classes, made one after the other)
 * are one group, as their names are all that is shown. */
static int row_of(struct grouping *p, enum sd_heap_by by, uint64_t key,
                  struct sd_table *names, uint32_t *row, size_t *cap)
{
    const char *name = name_of(p, by, key);
    struct sd_heap_groups *out = p->out;
    uint64_t at;

    if (!name)
        return sd_no_memory();
    for (uint64_t seed = 0;; seed++) {
        uint64_t hash = sd_hash(name, strlen(name), seed);
        struct sd_heap_row *grown;

        if (sd_table_get(names, hash, &at)) {
            if (strcmp(out->rows[at].name, name) != 0)
                continue;
            *row = (uint32_t)at;
            return 0;
        }
        grown = sd_grow_array(out->rows, cap, (size_t)out->n + 1, sizeof *grown);
        if (!grown)
            return sd_no_memory();
        out->rows = grown;
        grown[out->n] = (struct sd_heap_row){ .name = name };
        *row = out->n++;
        return sd_table_put(names, hash, *row);
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct sd_heap_row *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int put_objects(struct grouping *p, enum sd_heap_by by, const uint32_t *of,
                       uint32_t n_of)
{
    struct sd_table rows = { 0 }, names = { 0 };
    uint32_t *groups = p->groups.p;
    size_t cap = 0;
    int rc = 0;

    for (uint32_t i = 0; i < n_of && rc == 0; i++) {
        uint32_t object = of ? of[i] : i, row = 0;
        uint64_t key = 0, known;

        rc = key_of(p, by, object, &key);
        if (rc < 0)
            break;
        if (sd_table_get(&rows, key, &known)) {
            row = (uint32_t)known;
        } else {
            rc = row_of(p, by, key, &names, &row, &cap);
            if (rc == 0)
                rc = sd_table_put(&rows, key, row);
            if (rc < 0)
                break;
        }
        groups[object] = row;
        p->out->rows[row].count++;
        p->out->rows[row].bytes += sd_heap_size(p->g, object);
    }
    sd_table_release(&rows);
    sd_table_release(&names);
    return rc;
}

static int put_retained(struct grouping *p, const struct sd_heap_dominators *d)
{
    uint64_t *retained = sd_zalloc(((size_t)p->out->n + 1) * sizeof *retained);
    int rc;

    if (!retained)
        return sd_no_memory();
    rc = sd_heap_dominators_of_groups(d, p->groups.p, p->out->n, retained);
    for (uint32_t i = 0; i < p->out->n; i++)
        p->out->rows[i].retained = retained[i];
    sd_free(retained);
    return rc;
}

int sd_heap_groups_make(const struct sd_heap_graph *g, struct sd_heap_reach *r,
                        const struct sd_heap_dominators *d, enum sd_heap_by by,
                        const uint32_t *of, uint32_t n_of, struct sd_heap_groups *out)
{
    struct grouping p = { .g = g, .r = r, .out = out };
    int rc = 0;

    sd_assert(by != SD_HEAP_BY_REFERRERS || r);
    *out = (struct sd_heap_groups){ .n = 0 };
    rc = sd_pages_grow(&p.groups, ((size_t)g->n + 1) * sizeof(uint32_t));
    if (rc == 0)
        memset(p.groups.p, 0xff, (size_t)g->n * sizeof(uint32_t));
    if (rc == 0 && sd_heap_by_needs_edges(by))
        rc = find_owners(&p);
    if (rc == 0 && by == SD_HEAP_BY_REFERRERS)
        rc = sd_heap_reach_referrers(r);
    if (rc == 0)
        rc = put_objects(&p, by, of, of ? n_of : g->n);
    if (rc == 0 && d)
        rc = put_retained(&p, d);
    if (rc == 0 && out->n)
        qsort(out->rows, out->n, sizeof *out->rows, by_bytes);
    sd_pages_release(&p.groups);
    sd_pages_release(&p.owners);
    sd_pages_release(&p.sets);
    sd_table_release(&p.numbers);
    if (rc < 0)
        sd_heap_groups_release(out);
    return rc;
}

void sd_heap_groups_release(struct sd_heap_groups *out)
{
    sd_free(out->rows);
    sd_arena_release(&out->arena);
    *out = (struct sd_heap_groups){ .n = 0 };
}
