/* SPDX-License-Identifier: MIT */
#include "ext/heap/py_heap.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/heap/heap_differences.h"
#include "analyse/heap/heap_paths.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/option.h"
#include "collect/heap/heap_walk.h"
#include "process/memory_watch.h"

enum { NEAREST = 3 };

static struct sd_py_heap *heap_in(PyObject *self) { return (struct sd_py_heap *)self; }

struct sd_py_heap *sd_py_heap_of(PyObject *o)
{
    struct sd_ext *ext;

    if (strcmp(Py_TYPE(o)->tp_name, "sonde._sonde.HeapSnapshot") == 0) {
        ext = sd_ext_of(Py_TYPE(o));
        if (!ext)
            return NULL;
        if (Py_TYPE(o) == ext->heap)
            return heap_in(o);
    }
    PyErr_Format(PyExc_TypeError, "expected a HeapSnapshot, not %.100s",
                 Py_TYPE(o)->tp_name);
    return NULL;
}

PyObject *sd_ext_heap_snapshot(PyObject *module, PyObject *args)
{
    struct sd_ext *ext = sd_ext_of_module(module);
    struct sd_py_heap *h;
    struct sd_heap_walk walk;
    int has_graph, skip, rc;
    int64_t rss;

    if (sd_ext_is_gone(ext) || !PyArg_ParseTuple(args, "pi", &has_graph, &skip) ||
        sd_heap_walk_init(&walk, has_graph) < 0)
        return NULL;
    walk.n_skipped_frames = skip > 0 ? (uint32_t)skip : 0;
    rc = sd_heap_walk_take(&walk);
    rss = sd_memory_of((pid_t)walk.graph.pid, SD_MEMORY_RSS);
    walk.graph.rss_bytes = rss > 0 ? (uint64_t)rss : 0;
    h = rc == 0 ? (struct sd_py_heap *)ext->heap->tp_alloc(ext->heap, 0) : NULL;
    if (h) {
        Py_BEGIN_ALLOW_THREADS /* numbers are given from our own arrays */
            rc = sd_heap_walk_finish(&walk, &h->graph);
        Py_END_ALLOW_THREADS
    }
    sd_heap_walk_release(&walk);
    if (rc < 0) {
        Py_XDECREF(h);
        return sd_ext_raise(rc);
    }
    return (PyObject *)h;
}

PyObject *sd_py_heap_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    PyErr_Format(PyExc_TypeError, "a %.100s comes from sonde.heap.snapshot()",
                 type->tp_name);
    return NULL;
}

static void heap_dealloc(PyObject *self)
{
    struct sd_py_heap *h = heap_in(self);
    PyTypeObject *type = Py_TYPE(self);

    if (h->has_dominators)
        sd_heap_dominators_release(&h->dominators);
    if (h->has_reach)
        sd_heap_reach_release(&h->reach);
    sd_heap_graph_release(&h->graph);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- What is worked out */

struct sd_heap_reach *sd_py_heap_reach(struct sd_py_heap *h)
{
    int rc = 0;

    if (!h->graph.has_edges) {
        PyErr_SetString(PyExc_ValueError,
                        "this snapshot has types and sizes alone, no references: take "
                        "one with graph=True");
        return NULL;
    }
    if (!h->has_reach)
        rc = sd_heap_reach_init(&h->reach, &h->graph);
    if (rc < 0) {
        sd_ext_raise(rc);
        return NULL;
    }
    h->has_reach = true;
    return &h->reach;
}

const struct sd_heap_dominators *sd_py_heap_dominators(struct sd_py_heap *h)
{
    struct sd_heap_reach *reach = sd_py_heap_reach(h);
    int rc = 0;

    if (!reach)
        return NULL;
    if (!h->has_dominators)
        rc = sd_heap_dominators_init(&h->dominators, reach);
    if (rc < 0) {
        sd_ext_raise(rc);
        return NULL;
    }
    h->has_dominators = true;
    return &h->dominators;
}

/* An int is an address; SD_HEAP_NONE: it is not there. */
static uint32_t find(const struct sd_py_heap *h, PyObject *x)
{
    uint64_t address = (uint64_t)(uintptr_t)x;
    int overflow = 0;
    long long given;

    if (PyLong_CheckExact(x)) {
        given = PyLong_AsLongLongAndOverflow(x, &overflow);
        address = overflow || given < 0 ? 0 : (uint64_t)given;
    }
    return sd_heap_find(&h->graph, address);
}

uint32_t sd_py_heap_number(const struct sd_py_heap *h, PyObject *x)
{
    uint32_t number = find(h, x);

    if (number != SD_HEAP_NONE)
        return number;
    if (PyLong_CheckExact(x))
        PyErr_Format(
            PyExc_LookupError,
            "no object of the snapshot has this address (an int is an address)");
    else
        PyErr_Format(
            PyExc_LookupError,
            "this %.100s is not in the snapshot: it was made later, or nothing "
            "that the collector tracks refers to it",
            Py_TYPE(x)->tp_name);
    return SD_HEAP_NONE;
}

/* --- One object */

static int heap_contains(PyObject *self, PyObject *x)
{
    return find(heap_in(self), x) != SD_HEAP_NONE;
}

static PyObject *address_object(const struct sd_py_heap *h, uint32_t object)
{
    return PyLong_FromUnsignedLongLong(sd_heap_address(&h->graph, object));
}

static PyObject *heap_size(PyObject *self, PyObject *x)
{
    uint32_t object = sd_py_heap_number(heap_in(self), x);

    return object == SD_HEAP_NONE ? NULL
                                  : PyLong_FromUnsignedLongLong(
                                        sd_heap_size(&heap_in(self)->graph, object));
}

static PyObject *heap_held(PyObject *self, PyObject *x)
{
    uint32_t object = sd_py_heap_number(heap_in(self), x);

    return object == SD_HEAP_NONE ? NULL
                                  : PyLong_FromUnsignedLongLong(
                                        sd_heap_held(&heap_in(self)->graph, object));
}

static PyObject *heap_type_name(PyObject *self, PyObject *x)
{
    uint32_t object = sd_py_heap_number(heap_in(self), x);

    return object == SD_HEAP_NONE
               ? NULL
               : PyUnicode_FromString(sd_heap_type_name(&heap_in(self)->graph, object));
}

static PyObject *heap_retained(PyObject *self, PyObject *x)
{
    const struct sd_heap_dominators *d;
    uint32_t object = sd_py_heap_number(heap_in(self), x);

    if (object == SD_HEAP_NONE)
        return NULL;
    d = sd_py_heap_dominators(heap_in(self));
    return d ? PyLong_FromUnsignedLongLong(sd_heap_dominators_retained(d, object))
             : NULL;
}

static PyObject *heap_dominator(PyObject *self, PyObject *x)
{
    const struct sd_heap_dominators *d;
    uint32_t object = sd_py_heap_number(heap_in(self), x), above;

    if (object == SD_HEAP_NONE)
        return NULL;
    d = sd_py_heap_dominators(heap_in(self));
    if (!d)
        return NULL;
    above = sd_heap_dominators_of(d, object);
    return above == SD_HEAP_NONE ? Py_NewRef(Py_None)
                                 : address_object(heap_in(self), above);
}

static PyObject *addresses(const struct sd_py_heap *h, const uint32_t *objects,
                           uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *address = address_object(h, objects[i]);

        if (!address)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, address);
    }
    return list;
}

static PyObject *heap_referents(PyObject *self, PyObject *x)
{
    struct sd_py_heap *h = heap_in(self);
    uint32_t object = sd_py_heap_number(h, x), n;
    const uint32_t *edges;

    if (object == SD_HEAP_NONE || !sd_py_heap_reach(h))
        return NULL;
    edges = sd_heap_edges(&h->graph, object, &n);
    return addresses(h, edges, n);
}

static PyObject *heap_referrers(PyObject *self, PyObject *x)
{
    struct sd_py_heap *h = heap_in(self);
    uint32_t object = sd_py_heap_number(h, x), n;
    struct sd_heap_reach *r;
    const uint32_t *in;
    int rc;

    if (object == SD_HEAP_NONE)
        return NULL;
    r = sd_py_heap_reach(h);
    if (!r)
        return NULL;
    rc = sd_heap_reach_referrers(r);
    if (rc < 0)
        return sd_ext_raise(rc);
    in = sd_heap_reach_in(r, object, &n);
    return addresses(h, in, n);
}

/* --- Paths */

static PyObject *text_object(struct sd_buf *text)
{
    PyObject *object = NULL;

    if (text->bad)
        PyErr_NoMemory();
    else
        object =
            PyUnicode_DecodeUTF8(sd_buf_string(text), (Py_ssize_t)text->n, "replace");
    sd_buf_release(text);
    return object;
}

/* (root kind, text, [(address, type, name)]) */
static PyObject *path_object(const struct sd_py_heap *h,
                             const struct sd_heap_path *path)
{
    PyObject *steps = PyList_New(0), *whole;
    struct sd_buf text = { 0 };
    const char *known, *kind = "C";

    for (uint32_t i = 0; steps && i < path->n; i++) {
        uint32_t object = path->objects[i];
        struct sd_buf name = { 0 };
        PyObject *step;

        sd_heap_path_step(&h->reach, path, i, &name);
        step = Py_BuildValue("(KsN)",
                             (unsigned long long)sd_heap_address(&h->graph, object),
                             sd_heap_type_name(&h->graph, object), text_object(&name));
        if (!step || PyList_Append(steps, step) < 0)
            Py_CLEAR(steps);
        Py_XDECREF(step);
    }
    if (!steps)
        return NULL;
    if (sd_heap_reach_is_root(&h->reach, path->objects[0]))
        kind = sd_heap_root_kind_name(
            sd_heap_reach_root(&h->reach, path->objects[0], &known));
    sd_heap_path_text(&h->reach, path, &text);
    whole = text_object(&text);
    return whole ? Py_BuildValue("(sNN)", kind, whole, steps)
                 : (Py_DECREF(steps), NULL);
}

/* The shortest path; None: it is garbage. */
static PyObject *heap_path(PyObject *self, PyObject *x)
{
    struct sd_py_heap *h = heap_in(self);
    uint32_t object = sd_py_heap_number(h, x);
    struct sd_arena arena = { 0 };
    struct sd_heap_path path;
    PyObject *answer = NULL;
    int rc;

    if (object == SD_HEAP_NONE || !sd_py_heap_reach(h))
        return NULL;
    rc = sd_heap_path_make(&h->graph, h->reach.parents.p, object, &arena, &path);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        answer = path.n ? path_object(h, &path) : Py_NewRef(Py_None);
    sd_arena_release(&arena);
    return answer;
}

/* As if the object were no root itself, and as it is where nothing else leads there. */
static PyObject *heap_path_from_others(PyObject *self, PyObject *x)
{
    struct sd_py_heap *h = heap_in(self);
    uint32_t object = sd_py_heap_number(h, x);
    struct sd_pages parents = { 0 }, order = { 0 };
    struct sd_arena arena = { 0 };
    struct sd_heap_path path = { NULL, 0 };
    PyObject *answer = NULL;
    int rc;

    if (object == SD_HEAP_NONE || !sd_py_heap_reach(h))
        return NULL;
    rc = sd_pages_grow(&parents, ((size_t)h->graph.n + 1) * sizeof(uint32_t));
    if (rc == 0)
        rc = sd_pages_grow(&order, ((size_t)h->graph.n + 1) * sizeof(uint32_t));
    if (rc == 0) {
        sd_heap_reach_search(&h->reach, object, parents.p, order.p);
        rc = sd_heap_path_make(&h->graph, parents.p, object, &arena, &path);
    }
    if (rc < 0)
        sd_ext_raise(rc);
    else
        answer = path.n ? path_object(h, &path) : heap_path(self, x);
    sd_pages_release(&parents);
    sd_pages_release(&order);
    sd_arena_release(&arena);
    return answer;
}

static PyObject *heap_paths(PyObject *self, PyObject *args)
{
    struct sd_py_heap *h = heap_in(self);
    struct sd_heap_path *paths;
    struct sd_arena arena = { 0 };
    uint32_t object, most, n;
    PyObject *x, *list;
    int rc;

    if (!PyArg_ParseTuple(args, "OI:paths", &x, &most))
        return NULL;
    object = sd_py_heap_number(h, x);
    if (object == SD_HEAP_NONE || !sd_py_heap_reach(h))
        return NULL;
    most = most < 100000 ? most : 100000;
    rc = sd_heap_paths_make(&h->reach, object, most, &arena, &paths, &n);
    list = rc == 0 ? PyList_New(0) : sd_ext_raise(rc);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *path = path_object(h, &paths[i]);

        if (!path || PyList_Append(list, path) < 0)
            Py_CLEAR(list);
        Py_XDECREF(path);
    }
    sd_arena_release(&arena);
    return list;
}

/* --- Sets */

static PyObject *set_where(struct sd_py_heap *h, bool (*is)(const void *of, uint32_t i),
                           const void *of)
{
    struct sd_pages objects = { 0 };
    PyObject *set = NULL;
    uint32_t n = 0;
    int rc = 0;

    for (uint32_t i = 0; i < h->graph.n && rc == 0; i++)
        if (is(of, i))
            rc = sd_heap_add(&objects, &n, &i, sizeof i);
    set = rc < 0 ? sd_ext_raise(rc) : sd_py_heap_set_new(h, objects.p, n);
    sd_pages_release(&objects);
    return set;
}

static bool is_garbage(const void *of, uint32_t i)
{
    return sd_heap_reach_is_garbage(of, i);
}

static bool is_any(const void *of, uint32_t i)
{
    (void)of, (void)i;
    return true;
}

struct wanted_types {
    const struct sd_heap_graph *g;
    const bool *is_wanted;
};

static bool is_of_type(const void *of, uint32_t i)
{
    const struct wanted_types *w = of;

    return w->is_wanted[sd_heap_type_of(w->g, i)];
}

/* "Session" is app.Session, too. */
static bool is_name(const char *whole, const char *name)
{
    size_t n = strlen(whole), n_name = strlen(name);

    return n >= n_name && strcmp(whole + n - n_name, name) == 0 &&
           (n == n_name || whole[n - n_name - 1] == '.');
}

static PyObject *no_such_type(const struct sd_heap_graph *g, const char *name)
{
    const char **names = sd_alloc(((size_t)g->n_types + 1) * sizeof *names);
    const char *nearest = NULL;

    if (!names)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i < g->n_types; i++) {
        const char *whole = sd_heap_name(g, sd_heap_type_at(g, i)->name);
        const char *dot = strrchr(whole, '.');

        names[i] = strchr(name, '.') || !dot ? whole : dot + 1;
    }
    names[g->n_types] = NULL;
    nearest = sd_nearest(name, names);
    if (nearest)
        PyErr_Format(PyExc_LookupError,
                     "no object has the type %.200s; the nearest name is %.200s", name,
                     nearest);
    else
        PyErr_Format(PyExc_LookupError, "no object has the type %.200s", name);
    sd_free(names);
    return NULL;
}

static PyObject *heap_find(PyObject *self, PyObject *type)
{
    struct sd_py_heap *h = heap_in(self);
    const struct sd_heap_graph *g = &h->graph;
    const char *name = PyUnicode_Check(type) ? PyUnicode_AsUTF8(type) : NULL;
    bool *is_wanted, has_any = false;
    PyObject *set;

    if (!name && !PyType_Check(type)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "find() wants a class or its name");
        return NULL;
    }
    is_wanted = sd_zalloc((size_t)g->n_types + 1);
    if (!is_wanted)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i < g->n_types; i++) {
        const struct sd_heap_type *t = sd_heap_type_at(g, i);

        is_wanted[i] = name ? is_name(sd_heap_name(g, t->name), name)
                            : t->address == (uint64_t)(uintptr_t)type;
        has_any |= is_wanted[i];
    }
    if (name && !has_any)
        set = no_such_type(g, name);
    else
        set = set_where(h, is_of_type, &(struct wanted_types){ g, is_wanted });
    sd_free(is_wanted);
    return set;
}

static PyObject *heap_all(PyObject *self, PyObject *unused)
{
    (void)unused;
    return set_where(heap_in(self), is_any, NULL);
}

static PyObject *heap_by(PyObject *self, PyObject *kind)
{
    const char *word = PyUnicode_AsUTF8(kind);

    return word ? sd_py_heap_rows(heap_in(self), word, NULL, 0) : NULL;
}

static PyObject *heap_only_in(PyObject *self, PyObject *other)
{
    struct sd_py_heap *h = heap_in(self), *o = sd_py_heap_of(other);
    struct sd_pages objects = { 0 };
    PyObject *set;
    uint32_t n;
    int rc;

    if (!o)
        return NULL;
    rc = sd_heap_objects_only_in(&h->graph, &o->graph, &objects, &n);
    set = rc < 0 ? sd_ext_raise(rc) : sd_py_heap_set_new(h, objects.p, n);
    sd_pages_release(&objects);
    return set;
}

/* --- All of it */

static PyObject *get_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(heap_in(self)->graph.n);
}

static PyObject *get_bytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(heap_in(self)->graph.bytes);
}

static PyObject *get_all_held(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(heap_in(self)->graph.held);
}

static PyObject *get_edges(PyObject *self, void *unused)
{
    (void)unused;
    return heap_in(self)->graph.has_edges
               ? PyLong_FromUnsignedLong(heap_in(self)->graph.n_edges)
               : Py_NewRef(Py_None);
}

static PyObject *get_garbage(PyObject *self, void *unused)
{
    struct sd_heap_reach *r = sd_py_heap_reach(heap_in(self));

    (void)unused;
    return r ? set_where(heap_in(self), is_garbage, r) : NULL;
}

static PyObject *get_rss(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(heap_in(self)->graph.rss_bytes);
}

static PyObject *get_pid(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(heap_in(self)->graph.pid);
}

static PyObject *get_taken_ns(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(heap_in(self)->graph.taken_ns);
}

static PyObject *get_other_interpreters(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(heap_in(self)->graph.n_other_interpreters);
}

static PyMethodDef heap_methods[] = {
    { "all", heap_all, METH_NOARGS, NULL },
    { "by", heap_by, METH_O, NULL },
    { "dominator", heap_dominator, METH_O, NULL },
    { "find", heap_find, METH_O, NULL },
    { "held", heap_held, METH_O, NULL },
    { "only_in", heap_only_in, METH_O, NULL },
    { "path", heap_path, METH_O, NULL },
    { "path_from_others", heap_path_from_others, METH_O, NULL },
    { "paths", heap_paths, METH_VARARGS, NULL },
    { "referents", heap_referents, METH_O, NULL },
    { "referrers", heap_referrers, METH_O, NULL },
    { "retained", heap_retained, METH_O, NULL },
    { "size", heap_size, METH_O, NULL },
    { "suspects", sd_py_heap_suspects, METH_NOARGS, NULL },
    { "type_name", heap_type_name, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef heap_getset[] = {
    { "bytes", get_bytes, NULL, NULL, NULL },
    { "count", get_count, NULL, NULL, NULL },
    { "edges", get_edges, NULL, NULL, NULL },
    { "garbage", get_garbage, NULL, NULL, NULL },
    { "held_bytes", get_all_held, NULL, NULL, NULL },
    { "other_interpreters", get_other_interpreters, NULL, NULL, NULL },
    { "pid", get_pid, NULL, NULL, NULL },
    { "rss_bytes", get_rss, NULL, NULL, NULL },
    { "taken_ns", get_taken_ns, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot heap_slots[] = {
    { Py_tp_doc, "The objects of this process at one moment; see sonde.heap." },
    { Py_tp_new, sd_py_heap_no_new },
    { Py_tp_dealloc, heap_dealloc },
    { Py_tp_methods, heap_methods },
    { Py_tp_getset, heap_getset },
    { Py_sq_contains, heap_contains },
    { 0, NULL },
};

PyType_Spec sd_heap_snapshot_spec = {
    .name = "sonde._sonde.HeapSnapshot",
    .basicsize = sizeof(struct sd_py_heap),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = heap_slots,
};
