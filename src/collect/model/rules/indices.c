/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/rules/indices.h"

#include <string.h>

#include "collect/model/rules/meta.h"

enum { FIRST = -1, BY_PLACE = -2 };

struct sd_taker {
    const char *name;
    int axis;         /* the argument that says it; FIRST: always the first; BY_PLACE:
                         each of a list of tensors is for the axis of its place */
    unsigned indices; /* the argument that has them; those of argument 0 are taken */
    bool counts_back; /* -1 is the last */
};

static const struct sd_taker takers[] = {
    { "aten::embedding", FIRST, 1, false },
    { "aten::_embedding_bag", FIRST, 1, false },
    { "aten::_embedding_bag_forward_only", FIRST, 1, false },
    { "aten::index_select", 1, 2, false },
    { "aten::gather", 1, 2, false },
    { "aten::index", BY_PLACE, 1, true },
};

const struct sd_taker *sd_taker_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (strlen(takers[i].name) == n && memcmp(takers[i].name, name, n) == 0)
            return &takers[i];
    return NULL;
}

static bool number_of(PyObject *tensor, int64_t *out)
{
    PyObject *number = PyObject_CallMethod(tensor, "item", NULL);

    *out = number && PyLong_Check(number) ? PyLong_AsLongLong(number) : 0;
    Py_XDECREF(number);
    return number && !PyErr_Occurred();
}

/* The smallest and the largest; false: they are not known, or there are none. */
static bool range_of(struct sd_pass *r, PyObject *indices, int64_t *low, int64_t *high)
{
    struct sd_tensor_shape s;
    PyObject *both;
    bool is_known;

    if (!sd_torch_is_tensor(&r->torch, indices) ||
        !sd_twins_is_own(&r->twins, indices) ||
        sd_torch_shape(&r->torch, indices, &s) < 0 || !sd_torch_is_whole(s.number) ||
        s.number == SD_TORCH_BOOL || s.number == SD_TORCH_UINT8 || s.is_nested ||
        sd_meta_shape_elements(&s) == 0 ||
        sd_meta_shape_elements(&s) > SD_TWINS_READABLE)
        return false;
    both = PyObject_CallMethod(indices, "aminmax", NULL);
    is_known = both && PyTuple_Check(both) && PyTuple_GET_SIZE(both) == 2 &&
               number_of(PyTuple_GET_ITEM(both, 0), low) &&
               number_of(PyTuple_GET_ITEM(both, 1), high);
    Py_XDECREF(both);
    return is_known;
}

static int check(const struct sd_taker *t, struct sd_pass *r, PyObject *indices,
                 const struct sd_tensor_shape *of, int64_t axis)
{
    int64_t low, high, rows;
    uint32_t at;

    if (!sd_shapes_axis_find(axis, of->n, &at) || !range_of(r, indices, &low, &high)) {
        PyErr_Clear();
        return 0; /* torch will say what it thinks of that */
    }
    rows = of->dims[at];
    if (high < rows && low >= (t->counts_back ? -rows : 0))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s is given the index %lld, and there are %lld",
                 t->name, (long long)(high >= rows ? high : low), (long long)rows);
    return -1;
}

/* A mask among them takes more than one axis: then their places say nothing. */
static int check_places(const struct sd_taker *t, struct sd_pass *r, PyObject *list,
                        const struct sd_tensor_shape *of)
{
    Py_ssize_t n =
        PyList_Check(list) || PyTuple_Check(list) ? PySequence_Fast_GET_SIZE(list) : 0;
    struct sd_tensor_shape s;
    int rc = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(list, i);

        if (!sd_torch_is_tensor(&r->torch, one))
            continue;
        if (sd_torch_shape(&r->torch, one, &s) < 0 || s.number == SD_TORCH_BOOL ||
            s.number == SD_TORCH_UINT8) {
            PyErr_Clear();
            return 0;
        }
    }
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++)
        rc = check(t, r, PySequence_Fast_GET_ITEM(list, i), of, i);
    return rc;
}

int sd_taker_check(const struct sd_taker *t, struct sd_pass *r, PyObject *const *values)
{
    PyObject *of = values[0], *indices = values[t->indices], *axis;
    struct sd_tensor_shape s;

    if (!of || !indices || !sd_torch_is_tensor(&r->torch, of) ||
        sd_torch_shape(&r->torch, of, &s) < 0 || s.is_nested) {
        PyErr_Clear();
        return 0;
    }
    if (t->axis == BY_PLACE)
        return check_places(t, r, indices, &s);
    if (t->axis == FIRST)
        return check(t, r, indices, &s, 0);
    axis = values[t->axis];
    return axis && PyLong_Check(axis)
               ? check(t, r, indices, &s, PyLong_AsLongLong(axis))
               : 0;
}
