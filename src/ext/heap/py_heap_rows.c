/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_differences.h"
#include "analyse/heap/heap_paths.h"
#include "analyse/heap/heap_suspects.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "ext/heap/py_heap.h"

/* Takes the reference to `item`. */
static bool take(PyObject *list, PyObject *item)
{
    bool is_in = item && PyList_Append(list, item) == 0;

    Py_XDECREF(item);
    return is_in;
}

PyObject *sd_py_heap_rows(struct sd_py_heap *h, const char *by, const uint32_t *of,
                          uint32_t n)
{
    const struct sd_heap_dominators *d = NULL;
    int kind = sd_heap_by_named(by), rc;
    struct sd_heap_groups groups;
    PyObject *list;

    if (kind < 0) {
        PyErr_Format(PyExc_ValueError,
                     "by() knows type, owner, size, module and referrers, not %.50s",
                     by);
        return NULL;
    }
    if (sd_heap_by_needs_edges((enum sd_heap_by)kind) && !sd_py_heap_reach(h))
        return NULL;
    if (h->graph.has_edges) {
        d = sd_py_heap_dominators(h);
        if (!d)
            return NULL;
    }
    rc = sd_heap_groups_make(&h->graph, h->has_reach ? &h->reach : NULL, d,
                             (enum sd_heap_by)kind, of, n, &groups);
    if (rc < 0)
        return sd_ext_raise(rc);
    list = PyList_New(0);
    for (uint32_t i = 0; list && i < groups.n; i++) {
        const struct sd_heap_row *row = &groups.rows[i];
        PyObject *retained =
            d ? PyLong_FromUnsignedLongLong(row->retained) : Py_NewRef(Py_None);

        if (!take(list,
                  Py_BuildValue("(sKKN)", row->name, (unsigned long long)row->count,
                                (unsigned long long)row->bytes, retained)))
            Py_CLEAR(list);
    }
    sd_heap_groups_release(&groups);
    return list;
}

static PyObject *suspect_object(const struct sd_py_heap *h,
                                const struct sd_heap_suspect *s)
{
    const struct sd_heap_graph *g = &h->graph;
    bool has_holder = s->holder != SD_HEAP_NONE;
    PyObject *address = has_holder
                            ? PyLong_FromUnsignedLongLong(sd_heap_address(g, s->holder))
                            : Py_NewRef(Py_None);

    return Py_BuildValue(
        "{sNsssssKsdsssKss}", "address", address, "name", s->name, "type",
        has_holder ? sd_heap_type_name(g, s->holder) : "", "retained",
        (unsigned long long)s->retained, "share", s->share, "holds",
        sd_heap_name(g, sd_heap_type_at(g, s->held_type)->name), "count",
        (unsigned long long)s->count, "sentence", s->sentence);
}

PyObject *sd_py_heap_suspects(PyObject *self, PyObject *unused)
{
    struct sd_py_heap *h = (struct sd_py_heap *)self;
    const struct sd_heap_dominators *d = sd_py_heap_dominators(h);
    struct sd_heap_suspect *suspects;
    struct sd_arena arena = { 0 };
    PyObject *list = NULL;
    uint32_t n;
    int rc;

    (void)unused;
    if (!d)
        return NULL;
    rc = sd_heap_suspects_make(d, &arena, &suspects, &n);
    list = rc < 0 ? sd_ext_raise(rc) : PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        if (!take(list, suspect_object(h, &suspects[i])))
            Py_CLEAR(list);
    sd_arena_release(&arena);
    return list;
}

PyObject *sd_ext_heap_changes(PyObject *module, PyObject *snapshots)
{
    Py_ssize_t n = PyTuple_Check(snapshots) ? PyTuple_GET_SIZE(snapshots) : 0;
    const struct sd_heap_graph **graphs;
    struct sd_heap_changes changes = { NULL, 0 };
    PyObject *list = NULL;
    int rc = 0;

    (void)module;
    if (n < 1) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of snapshots");
        return NULL;
    }
    graphs = sd_alloc((size_t)n * sizeof *graphs);
    if (!graphs)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n && rc == 0; i++) {
        struct sd_py_heap *h = sd_py_heap_of(PyTuple_GET_ITEM(snapshots, i));

        if (!h) {
            sd_free(graphs);
            return NULL;
        }
        graphs[i] = &h->graph;
    }
    rc = sd_heap_changes_make(graphs, (uint32_t)n, &changes);
    list = rc < 0 ? sd_ext_raise(rc) : PyList_New(0);
    for (uint32_t i = 0; list && i < changes.n; i++) {
        const struct sd_heap_change *c = &changes.rows[i];

        if (!take(list,
                  Py_BuildValue("(sKKLLI)", c->name, (unsigned long long)c->count,
                                (unsigned long long)c->bytes, (long long)c->count_delta,
                                (long long)c->bytes_delta, c->n_rises)))
            Py_CLEAR(list);
    }
    sd_heap_changes_release(&changes);
    sd_free(graphs);
    return list;
}
