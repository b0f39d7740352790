/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "ext/heap/py_heap.h"

static struct sd_py_heap_set *set_in(PyObject *self)
{
    return (struct sd_py_heap_set *)self;
}

PyObject *sd_py_heap_set_new(struct sd_py_heap *h, const uint32_t *objects, uint32_t n)
{
    struct sd_ext *ext = sd_ext_of(Py_TYPE(h));
    struct sd_py_heap_set *set;

    if (!ext)
        return NULL;
    set = (struct sd_py_heap_set *)ext->heap_set->tp_alloc(ext->heap_set, 0);
    if (!set)
        return NULL;
    set->heap = (struct sd_py_heap *)Py_NewRef((PyObject *)h);
    set->objects = sd_alloc((size_t)n * sizeof *objects);
    if (!set->objects) {
        Py_DECREF(set);
        return PyErr_NoMemory();
    }
    if (n)
        memcpy(set->objects, objects, (size_t)n * sizeof *objects);
    set->n = n;
    return (PyObject *)set;
}

static void set_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_free(set_in(self)->objects);
    Py_XDECREF(set_in(self)->heap);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- Algebra */

enum { IN_FIRST = 1, IN_SECOND = 2, IN_BOTH = 4 };

static bool is_set_like(PyObject *a, PyObject *b) { return Py_TYPE(a) == Py_TYPE(b); }

static PyObject *merge(PyObject *left, PyObject *right, int wanted)
{
    const struct sd_py_heap_set *a, *b;
    uint32_t *out, n = 0, i = 0, k = 0;
    PyObject *set;

    if (!is_set_like(left, right))
        Py_RETURN_NOTIMPLEMENTED;
    a = set_in(left);
    b = set_in(right);
    if (a->heap != b->heap) {
        PyErr_SetString(
            PyExc_ValueError,
            "these sets are of two snapshots: subtract the snapshots instead");
        return NULL;
    }
    out = sd_alloc(((size_t)a->n + b->n) * sizeof *out);
    if (!out)
        return PyErr_NoMemory();
    while (i < a->n || k < b->n) {
        uint32_t x = i < a->n ? a->objects[i] : UINT32_MAX;
        uint32_t y = k < b->n ? b->objects[k] : UINT32_MAX;
        int where = x == y ? IN_BOTH : x < y ? IN_FIRST : IN_SECOND;

        if (where & wanted)
            out[n++] = x < y ? x : y;
        i += x <= y;
        k += y <= x;
    }
    set = sd_py_heap_set_new(a->heap, out, n);
    sd_free(out);
    return set;
}

static PyObject *set_and(PyObject *a, PyObject *b) { return merge(a, b, IN_BOTH); }

static PyObject *set_or(PyObject *a, PyObject *b)
{
    return merge(a, b, IN_FIRST | IN_SECOND | IN_BOTH);
}

static PyObject *set_subtract(PyObject *a, PyObject *b)
{
    return merge(a, b, IN_FIRST);
}

static PyObject *set_xor(PyObject *a, PyObject *b)
{
    return merge(a, b, IN_FIRST | IN_SECOND);
}

static Py_ssize_t set_length(PyObject *self) { return (Py_ssize_t)set_in(self)->n; }

static int set_contains(PyObject *self, PyObject *x)
{
    const struct sd_py_heap_set *set = set_in(self);
    uint32_t number = sd_py_heap_number(set->heap, x), low = 0, high = set->n;

    if (number == SD_HEAP_NONE) {
        PyErr_Clear(); /* what is not in the snapshot is in none of its sets */
        return 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (set->objects[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->objects[low] == number;
}

/* --- Answers */

static PyObject *set_by(PyObject *self, PyObject *kind)
{
    const struct sd_py_heap_set *set = set_in(self);
    const char *word = PyUnicode_AsUTF8(kind);

    return word ? sd_py_heap_rows(set->heap, word, set->objects, set->n) : NULL;
}

static PyObject *get_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(set_in(self)->n);
}

static PyObject *get_bytes(PyObject *self, void *unused)
{
    const struct sd_py_heap_set *set = set_in(self);
    uint64_t bytes = 0;

    (void)unused;
    for (uint32_t i = 0; i < set->n; i++)
        bytes += sd_heap_size(&set->heap->graph, set->objects[i]);
    return PyLong_FromUnsignedLongLong(bytes);
}

static PyObject *get_retained(PyObject *self, void *unused)
{
    const struct sd_py_heap_set *set = set_in(self);
    const struct sd_heap_dominators *d = sd_py_heap_dominators(set->heap);
    uint64_t retained;
    int rc;

    (void)unused;
    if (!d)
        return NULL;
    rc = sd_heap_dominators_of_set(d, set->objects, set->n, &retained);
    return rc < 0 ? sd_ext_raise(rc) : PyLong_FromUnsignedLongLong(retained);
}

static PyObject *get_addresses(PyObject *self, void *unused)
{
    const struct sd_py_heap_set *set = set_in(self);
    PyObject *list = PyList_New((Py_ssize_t)set->n);

    (void)unused;
    for (uint32_t i = 0; list && i < set->n; i++) {
        PyObject *address = PyLong_FromUnsignedLongLong(
            sd_heap_address(&set->heap->graph, set->objects[i]));

        if (!address)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, address);
    }
    return list;
}

static PyMethodDef set_methods[] = {
    { "_rows", set_by, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef set_getset[] = {
    { "addresses", get_addresses, NULL, "The addresses of its objects, as a list.",
      NULL },
    { "bytes", get_bytes, NULL, "The sum of their sizes.", NULL },
    { "count", get_count, NULL, "How many objects it has.", NULL },
    { "retained", get_retained, NULL,
      "Bytes of its objects and of all that they dominate, each once.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot set_slots[] = {
    { Py_tp_doc, "Some objects of a snapshot.  Sets of one snapshot have & | - ^." },
    { Py_tp_new, sd_py_heap_no_new },
    { Py_tp_dealloc, set_dealloc },
    { Py_tp_methods, set_methods },
    { Py_tp_getset, set_getset },
    { Py_nb_and, set_and },
    { Py_nb_or, set_or },
    { Py_nb_subtract, set_subtract },
    { Py_nb_xor, set_xor },
    { Py_sq_length, set_length },
    { Py_sq_contains, set_contains },
    { 0, NULL },
};

PyType_Spec sd_heap_set_spec = {
    .name = "sonde._sonde.HeapSet",
    .basicsize = sizeof(struct sd_py_heap_set),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = set_slots,
};
