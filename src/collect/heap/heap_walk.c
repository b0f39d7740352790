/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "collect/heap/heap_walk.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

enum { AHEAD = 8 }; /* objects that are fetched before their turn */

int sd_heap_walk_init(struct sd_heap_walk *w, bool has_graph)
{
    *w = (struct sd_heap_walk){ .has_graph = has_graph };
    return sd_size_names_init(&w->sizes);
}

void sd_heap_walk_release(struct sd_heap_walk *w)
{
    sd_heap_graph_release(&w->graph);
    sd_size_names_release(&w->sizes);
    sd_heap_kinds_release(&w->kinds);
    sd_step_names_release(&w->names);
    sd_heap_guesses_release(&w->guesses);
    sd_marks_release(&w->marks);
}

/* --- What is met */

static int grow_objects(struct sd_heap_walk *w)
{
    struct sd_heap_graph *g = &w->graph;
    size_t n = (size_t)g->n + 1;
    int rc;

    if (g->n >= SD_HEAP_OBJECTS_MAX)
        return sd_fail(SD_ENOMEM, "a heap of more than 4,294,967,293 objects");
    rc = sd_pages_grow(&g->addresses, n * sizeof(uint64_t));
    w->cap_objects = g->addresses.bytes / sizeof(uint64_t);
    n = w->cap_objects;
    if (rc == 0)
        rc = sd_pages_grow(&g->types, n * sizeof(uint32_t));
    if (rc == 0)
        rc = sd_pages_grow(&g->sizes, n * sizeof(uint32_t));
    if (rc == 0 && w->has_graph)
        rc = sd_pages_grow(&g->counts, n * sizeof(uint32_t));
    if (rc == 0 && w->has_graph)
        rc = sd_pages_grow(&g->first, (n + 1) * sizeof(uint32_t));
    if (rc < 0)
        w->cap_objects = 0;
    return rc;
}

/* hot: every reference. */
static int meet(struct sd_heap_walk *w, const PyObject *o)
{
    int is_new = sd_marks_mark(&w->marks, (uint64_t)(uintptr_t)o);

    if (__builtin_expect(is_new <= 0, 1)) {
        if (__builtin_expect(is_new < 0, 0))
            w->rc = sd_no_memory();
        return is_new;
    }
    if (__builtin_expect(w->graph.n >= w->cap_objects, 0)) {
        w->rc = grow_objects(w);
        if (w->rc < 0)
            return -1;
    }
    ((uint64_t *)w->graph.addresses.p)[w->graph.n++] = (uint64_t)(uintptr_t)o;
    return 0;
}

static void meet_tracked(PyObject *o, void *of)
{
    struct sd_heap_walk *w = of;

    if (w->rc == 0)
        meet(w, o);
}

/* hot */
static int visit_without_graph(PyObject *o, void *of) { return o ? meet(of, o) : 0; }

/* hot */
static int visit(PyObject *o, void *of)
{
    struct sd_heap_walk *w = of;

    if (!o)
        return 0;
    if (__builtin_expect(w->n_refs >= w->cap_refs, 0)) {
        w->rc =
            w->n_refs < SD_HEAP_OBJECTS_MAX
                ? sd_pages_grow(&w->graph.edges, (w->n_refs + 1) * sizeof(uint64_t))
                : sd_fail(SD_ENOMEM, "a heap of more than 4,294,967,293 references");
        w->cap_refs = w->graph.edges.bytes / sizeof(uint64_t);
        if (w->rc < 0)
            return -1;
    }
    ((uint64_t *)w->graph.edges.p)[w->n_refs++] = (uint64_t)(uintptr_t)o;
    w->has_seen_type |= (PyTypeObject *)o == w->type;
    return meet(w, o);
}

/* --- One object */

static void put_size(struct sd_heap_walk *w, uint32_t i, size_t size)
{
    struct sd_heap_graph *g = &w->graph;
    bool is_large = size >= UINT32_MAX;
    struct sd_heap_pair pair = { i, size };

    ((uint32_t *)g->sizes.p)[i] = is_large ? UINT32_MAX : (uint32_t)size;
    g->bytes += size;
    if (is_large)
        w->rc = sd_heap_add(&g->large, &g->n_large, &pair, sizeof pair);
}

static void put_held(struct sd_heap_walk *w, uint32_t i, PyObject *o)
{
    struct sd_heap_graph *g = &w->graph;
    struct sd_heap_pair pair = { i, sd_compat_heap_values_of(o).held_bytes };

    g->held += pair.bytes;
    if (pair.bytes)
        w->rc = sd_heap_add(&g->held_list, &g->n_held, &pair, sizeof pair);
}

/* Many objects have the labels of the last one of their type. */
static int put_labels(struct sd_heap_walk *w, struct sd_heap_kind *kind, uint32_t i,
                      const uint32_t *labels, uint32_t n)
{
    struct sd_heap_graph *g = &w->graph;
    struct sd_heap_labelled labelled = { i, kind->last_labels };
    const uint32_t *last = (const uint32_t *)g->labels.p + kind->last_labels;
    int rc = 0;

    if (kind->n_last_labels != n || memcmp(last, labels, n * sizeof *labels) != 0) {
        labelled.labels = g->n_labels;
        rc = sd_pages_grow(&g->labels, ((size_t)g->n_labels + n) * sizeof *labels);
        if (rc == 0) {
            memcpy((uint32_t *)g->labels.p + g->n_labels, labels, n * sizeof *labels);
            g->n_labels += n;
            kind->last_labels = labelled.labels;
            kind->n_last_labels = n;
        }
    }
    if (rc == 0)
        rc = sd_heap_add(&g->labelled, &g->n_labelled, &labelled, sizeof labelled);
    return rc;
}

static void follow(struct sd_heap_walk *w, uint32_t at, uint32_t i, PyObject *o)
{
    struct sd_heap_kind *kind = sd_heap_kinds_at(&w->kinds, at);
    const uint32_t *labels;
    uint64_t first = w->n_refs;

    w->type = kind->type;
    w->has_seen_type = false;
    if (kind->is_gc && sd_compat_heap_is_gc(o))
        kind->type->tp_traverse(o, visit, w);
    if (kind->is_heap_type && !w->has_seen_type)
        ((struct sd_heap_type *)w->graph.type_list.p)[at].n_told++;
    if (w->rc < 0 || w->n_refs == first)
        return;
    labels =
        sd_step_names_of(&w->names, kind, o, (const uint64_t *)w->graph.edges.p + first,
                         (uint32_t)(w->n_refs - first));
    if (w->names.rc < 0)
        w->rc = w->names.rc;
    else if (labels)
        w->rc = put_labels(w, kind, i, labels, (uint32_t)(w->n_refs - first));
}

static void take_object(struct sd_heap_walk *w, uint32_t i)
{
    struct sd_heap_graph *g = &w->graph;
    PyObject *o = (PyObject *)(uintptr_t)((const uint64_t *)g->addresses.p)[i];
    uint32_t at = sd_heap_kinds_find(&w->kinds, Py_TYPE(o));
    struct sd_heap_kind *kind;

    if (at == SD_HEAP_NONE) {
        w->rc = w->kinds.rc;
        return;
    }
    kind = sd_heap_kinds_at(&w->kinds, at);
    ((uint32_t *)g->types.p)[i] = at;
    put_size(w, i, sd_object_size(&w->sizes, &kind->size, o));
    if (w->rc == 0 && kind->is_managed)
        put_held(w, i, o);
    if (w->rc < 0)
        return;
    if (w->has_graph) {
        ((uint32_t *)g->counts.p)[i] = sd_compat_heap_count(o);
        ((uint32_t *)g->first.p)[i] = (uint32_t)w->n_refs;
        follow(w, at, i, o);
    } else if (kind->is_gc && sd_compat_heap_is_gc(o)) {
        kind->type->tp_traverse(o, visit_without_graph, w);
    }
}

static bool is_met(const void *of, uint64_t address)
{
    return sd_marks_has(of, address);
}

int sd_heap_walk_take(struct sd_heap_walk *w)
{
    struct sd_heap_graph *g = &w->graph;

    g->pid = getpid();
    g->taken_ns = sd_clock_ns();
    g->has_edges = w->has_graph;
    g->n_other_interpreters = sd_compat_heap_other_interpreters();
    w->rc = sd_heap_kinds_init(&w->kinds, g, &w->sizes);
    if (w->rc == 0)
        w->rc = sd_step_names_init(&w->names, &w->kinds);
    if (w->rc == 0)
        w->rc = grow_objects(w);
    if (w->rc == 0)
        sd_compat_heap_visit(meet_tracked, w);
    for (uint32_t i = 0; i < g->n && w->rc == 0; i++) {
        if (i + AHEAD < g->n)
            __builtin_prefetch(
                (const void *)(uintptr_t)((const uint64_t *)g->addresses.p)[i + AHEAD]);
        take_object(w, i);
    }
    if (w->rc == 0 && w->has_graph)
        w->rc = sd_heap_roots_find(&w->guesses, &w->kinds, w->n_skipped_frames, is_met,
                                   &w->marks);
    return w->rc;
}

/* --- Afterwards */

static uint32_t number_of(const struct sd_heap_walk *w, uint64_t address)
{
    return ((const uint32_t *)w->graph.by_address.p)[sd_marks_rank(&w->marks, address)];
}

/* Places of numbers are never behind those of the addresses that they are made of. */
static void number_edges(struct sd_heap_walk *w)
{
    struct sd_heap_graph *g = &w->graph;
    char *bytes = g->edges.p;

    for (uint64_t i = 0; i < w->n_refs; i++) {
        uint64_t address;
        uint32_t number;

        memcpy(&address, bytes + i * sizeof address, sizeof address);
        number = number_of(w, address);
        memcpy(bytes + i * sizeof number, &number, sizeof number);
    }
    g->n_edges = (uint32_t)w->n_refs;
    sd_pages_shrink(&g->edges, w->n_refs * sizeof(uint32_t));
    ((uint32_t *)g->first.p)[g->n] = g->n_edges;
}

static int number_roots(struct sd_heap_walk *w)
{
    struct sd_heap_graph *g = &w->graph;
    const struct sd_heap_guess *guesses = w->guesses.list.p;
    int rc = 0;

    for (uint32_t i = 0; i < w->guesses.n && rc == 0; i++) {
        struct sd_heap_root root = { .object = number_of(w, guesses[i].address),
                                     .kind = guesses[i].kind,
                                     .needs_excess = guesses[i].needs_excess,
                                     .text = guesses[i].text };

        rc = sd_heap_add(&g->roots, &g->n_roots, &root, sizeof root);
    }
    return rc;
}

static void number_types(struct sd_heap_walk *w)
{
    struct sd_heap_type *types = w->graph.type_list.p;

    for (uint32_t i = 0; i < w->graph.n_types; i++)
        if (sd_marks_has(&w->marks, types[i].address))
            types[i].object = number_of(w, types[i].address);
}

int sd_heap_walk_finish(struct sd_heap_walk *w, struct sd_heap_graph *out)
{
    struct sd_heap_graph *g = &w->graph;
    int rc = sd_pages_grow(&g->by_address, (size_t)g->n * sizeof(uint32_t));

    if (rc < 0)
        return rc;
    sd_marks_count(&w->marks);
    for (uint32_t i = 0; i < g->n; i++)
        ((uint32_t *)g->by_address
             .p)[sd_marks_rank(&w->marks, ((const uint64_t *)g->addresses.p)[i])] = i;
    number_types(w);
    if (w->has_graph) {
        number_edges(w);
        rc = number_roots(w);
    }
    if (rc < 0)
        return rc;
    *out = *g;
    *g = (struct sd_heap_graph){ .n = 0 };
    return 0;
}
