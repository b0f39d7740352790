/* SPDX-License-Identifier: MIT */
#include "base/assert.h"
#include "cpython/compat.h"

#include "collect/model/module_layers.h"

#include <stddef.h>
#include <string.h>

enum {
    MOST_ATTRS = 64, /* of a module; the rest is not noted */
    MOST_INTS = 16,  /* of an attribute */
};

/* --- What a module has: a dict of its own, or, of modules of TorchScript, what its
 * methods tell. */
static PyObject *table_of(PyObject *module, const char *field, const char *method)
{
    PyObject *found = PyObject_GetAttrString(module, field), *told, *dict;

    if (found && PyDict_Check(found))
        return found;
    PyErr_Clear();
    Py_XDECREF(found);
    told = PyObject_CallMethod(module, method, NULL);
    dict = told ? PyDict_New() : NULL;
    if (dict && PyDict_MergeFromSeq2(dict, told, 1) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(told);
    return dict;
}

PyObject *sd_module_children(PyObject *module)
{
    return table_of(module, "_modules", "named_children");
}

PyObject *sd_module_parameters(PyObject *module)
{
    return table_of(module, "_parameters", "named_parameters");
}

static bool is_dotted(PyObject *key)
{
    return PyUnicode_FindChar(key, '.', 0, PyUnicode_GetLength(key), 1) >= 0;
}

/* --- Attributes */

/* False: it is of no kind that is noted. */
static bool attr_of(struct sd_model *m, const char *name, PyObject *v, int64_t *ints,
                    struct sd_attr *out)
{
    uint32_t id, text, n;

    if (sd_model_word(m, name, &id) < 0)
        return false;
    if (PyLong_Check(v)) {
        *out = sd_attr_int(id, PyLong_AsLongLong(v));
    } else if (PyFloat_CheckExact(v)) {
        *out = sd_attr_real(id, PyFloat_AS_DOUBLE(v));
    } else if (PyUnicode_CheckExact(v) && PyUnicode_GetLength(v) < 64) {
        const char *word = PyUnicode_AsUTF8(v);

        if (!word || sd_model_word(m, word, &text) < 0)
            return false;
        *out = sd_attr_text(id, text);
    } else if (sd_pass_numbers(v, ints, MOST_INTS, &n) && n > 0) {
        *out = sd_attr_ints(id, ints, n);
    } else {
        return false;
    }
    return !PyErr_Occurred();
}

static bool is_told(const char *name)
{
    return name && name[0] != '_' && strcmp(name, "training") != 0;
}

static int note_attributes(struct sd_walk *w, PyObject *fields, PyObject *parameters,
                           uint32_t layer)
{
    struct sd_model *m = w->run->model;
    struct sd_attr attrs[MOST_ATTRS + 1];
    int64_t ints[MOST_ATTRS + 1][MOST_INTS];
    PyObject *key, *value, *bias = sd_compat_dict_get(parameters, "bias");
    Py_ssize_t at = 0;
    size_t n = 0;

    while (n < MOST_ATTRS && PyDict_Next(fields, &at, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;

        if (is_told(name) && attr_of(m, name, value, ints[n], &attrs[n]))
            n++;
        PyErr_Clear();
    }
    if (bias &&
        attr_of(m, "bias", bias == Py_None ? Py_False : Py_True, ints[n], &attrs[n]))
        n++;
    PyErr_Clear();
    _Static_assert(MOST_ATTRS + 1 <= SD_MODEL_ATTRS_MAX, "a layer holds them all");
    return sd_pass_raise(sd_model_layer_attrs(m, layer, attrs, n));
}

/* --- Tensors */

struct place { /* of a tensor's data: no gap in it, because it is compared as bytes */
    uint64_t at, n, number;
    int64_t dims[2 * SD_MODEL_DIMS_MAX]; /* and strides, behind the last axis */
};

_Static_assert(offsetof(struct place, dims) == 3 * sizeof(uint64_t), "no gap");

/* Where its data is and how it lies there, as bytes; NULL: it has none that can be
 * told.  A part of another tensor is not that tensor, so the address is not enough. */
static PyObject *place_of_data(PyObject *tensor, const struct sd_tensor_shape *s)
{
    struct place place = { .n = s->n, .number = s->number };
    PyObject *data;

    sd_assert(s->n <= SD_MODEL_DIMS_MAX);
    if (s->is_nested || s->is_sparse ||
        sd_torch_strides(tensor, s, place.dims + s->n) < 0)
        return NULL;
    memcpy(place.dims, s->dims, s->n * sizeof *s->dims);
    data = PyObject_CallMethod(tensor, "data_ptr", NULL);
    place.at = data && PyLong_Check(data) ? PyLong_AsUnsignedLongLong(data) : 0;
    Py_XDECREF(data);
    if (place.at == 0 || PyErr_Occurred()) /* on meta, or without elements */
        return NULL;
    return PyBytes_FromStringAndSize(
        (const char *)&place,
        (Py_ssize_t)(offsetof(struct place, dims) + 2 * s->n * sizeof *place.dims));
}

/* 1: the same object, or the same data under another; -1 with an exception. */
static int is_tied(struct sd_pass *r, PyObject *tensor, const struct sd_tensor_shape *s)
{
    uint64_t object = (uint64_t)(uintptr_t)tensor, unused;
    PyObject *place;
    int is;

    if (sd_table_get(&r->tensors, object, &unused))
        return 1;
    if (sd_pass_raise(sd_table_put(&r->tensors, object, 1)) < 0)
        return -1;
    place = place_of_data(tensor, s);
    PyErr_Clear();
    is = place ? PySet_Contains(r->data, place) : 0;
    if (is == 0 && place && PySet_Add(r->data, place) < 0)
        is = -1;
    Py_XDECREF(place);
    return is;
}

static int name_of_tensor(struct sd_walk *w, PyObject *key, uint32_t *id)
{
    const char *word = PyUnicode_AsUTF8(key);
    char name[SD_WALK_PATH_BYTES + 256];
    size_t n;

    if (!word)
        return -1;
    memcpy(name, w->path, w->n_path);
    n = w->n_path;
    if (n > 0)
        name[n++] = '.';
    for (const char *p = word; *p && n < sizeof name - 1; p++)
        name[n++] = *p;
    sd_assert(n < sizeof name);
    return sd_pass_raise(sd_model_string(w->run->model, name, n, id));
}

static bool wants_gradient(PyObject *tensor)
{
    PyObject *wants = PyObject_GetAttrString(tensor, "requires_grad");
    bool is = wants == Py_True;

    PyErr_Clear();
    Py_XDECREF(wants);
    return is;
}

static int note_tensor(struct sd_walk *w, PyObject *key, PyObject *tensor,
                       uint32_t layer, uint16_t kind)
{
    struct sd_pass *r = w->run;
    struct sd_model_tensor t = { .layer = layer, .flags = kind, .bytes = -1 };
    struct sd_tensor_shape s;
    struct sd_operand o;
    int tied;

    if (sd_torch_shape(&r->torch, tensor, &s) < 0 ||
        name_of_tensor(w, key, &t.name) < 0)
        return -1;
    o = sd_torch_operand(&r->torch, &s);
    t.dims = o.dims;
    t.dtype = o.dtype;
    if (kind == SD_TENSOR_PARAMETER && wants_gradient(tensor))
        t.flags |= SD_TENSOR_TRAINABLE;
    tied = is_tied(r, tensor, &s);
    if (tied < 0)
        return -1;
    if (tied)
        t.flags |= SD_TENSOR_TIED;
    return sd_pass_raise(sd_model_tensor(r->model, &t));
}

static int note_tensors(struct sd_walk *w, PyObject *table, uint32_t layer,
                        uint16_t kind)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(table, &at, &key, &value)) {
        if (!PyUnicode_Check(key) || !sd_torch_is_tensor(&w->run->torch, value) ||
            is_dotted(key)) /* told by a method: one of a module within */
            continue;
        if (note_tensor(w, key, value, layer, kind) < 0)
            return -1;
    }
    return 0;
}

/* As operators will meet them: twins are made by now, and stand in the tables. */
static int note_weights(struct sd_pass *r, PyObject *table)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(table, &at, &key, &value))
        if (sd_torch_is_tensor(&r->torch, value) &&
            (sd_pass_raise(sd_table_put(&r->weights, (uint64_t)(uintptr_t)value, 1)) <
                 0 ||
             (r->request.has_memory && sd_pass_weight(r, value) < 0)))
            return -1;
    return 0;
}

/* --- Modules */

const char *sd_module_type(PyObject *module, PyObject **holder)
{
    const char *name = strrchr(Py_TYPE(module)->tp_name, '.');

    *holder = NULL;
    name = name ? name + 1 : Py_TYPE(module)->tp_name;
    if (strcmp(name, "RecursiveScriptModule") == 0)
        *holder = PyObject_GetAttrString(module, "original_name");
    PyErr_Clear();
    if (*holder && PyUnicode_Check(*holder) && PyUnicode_AsUTF8(*holder))
        return PyUnicode_AsUTF8(*holder);
    return name;
}

static int note_layer(struct sd_walk *w, PyObject *module, uint32_t parent,
                      bool is_leaf, uint32_t *layer)
{
    struct sd_model *m = w->run->model;
    PyObject *holder, *training;
    const char *type = sd_module_type(module, &holder);
    uint32_t id;
    int rc;

    if (w->n_path == 0) {
        *layer = SD_MODEL_ROOT;
        rc = sd_model_word(m, type, &id);
        if (rc == 0)
            sd_model_set_type(m, SD_MODEL_ROOT, id);
    } else {
        rc = sd_model_layer(m, w->path, w->n_path, type, parent, layer);
    }
    Py_XDECREF(holder);
    if (rc < 0)
        return sd_pass_raise(rc);
    sd_assert(*layer < m->n_layers);
    training = PyObject_GetAttrString(module, "training");
    PyErr_Clear();
    if (training == Py_True)
        m->layers[*layer].flags |= SD_LAYER_TRAINING;
    if (is_leaf)
        m->layers[*layer].flags |= SD_LAYER_LEAF;
    else /* of one in its place that was */
        m->layers[*layer].flags &= (uint16_t)~SD_LAYER_LEAF;
    Py_XDECREF(training);
    return 0;
}

/* Its class is asked for the function first: a module without it would ask its own
 * __getattr__. */
bool sd_module_is_unsettled(PyObject *module)
{
    static const char name[] = "has_uninitialized_params";
    PyObject *type = (PyObject *)Py_TYPE(module);
    PyObject *is = PyObject_HasAttrString(type, name)
                       ? PyObject_CallMethod(module, name, NULL)
                       : NULL;
    bool has = is == Py_True;

    PyErr_Clear();
    Py_XDECREF(is);
    return has;
}

static int visit_children(struct sd_walk *w, PyObject *children, uint32_t layer)
{
    PyObject *key, *child;
    Py_ssize_t at = 0;
    size_t n_path = w->n_path;
    int rc = 0;

    while (rc == 0 && PyDict_Next(children, &at, &key, &child)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
        size_t n = name ? strlen(name) : 0;

        PyErr_Clear(); /* a name that is no text in UTF-8 */
        if (child == Py_None || (w->is_made && sd_module_is_unsettled(child)))
            continue; /* a lazy one is found when it runs */
        if (n == 0 || n_path + n + 2 > sizeof w->path) {
            w->n_left_out++;
            continue;
        }
        if (n_path > 0)
            w->path[w->n_path++] = '.';
        memcpy(w->path + w->n_path, name, n);
        w->n_path += n;
        sd_assert(w->n_path < sizeof w->path);
        rc = sd_module_visit(w, child, layer);
        w->n_path = n_path;
    }
    return rc;
}

static int remember(struct sd_pass *r, PyObject *module, uint32_t layer)
{
    if (PyList_Append(r->modules, module) < 0)
        return -1;
    return sd_pass_raise(
        sd_table_put(&r->layer_of, (uint64_t)(uintptr_t)module, layer));
}

/* Attributes first, then tensors, then everything is kept and, on twins, replaced. */
static int note_module(struct sd_walk *w, PyObject *module, PyObject *fields,
                       PyObject *parameters, PyObject *buffers, uint32_t layer)
{
    struct sd_pass *r = w->run;
    struct sd_twins *twins = r->request.on_twins ? &r->twins : NULL;

    if (r->request.is_timing)
        return 0;
    if (note_attributes(w, fields, parameters, layer) < 0)
        return -1;
    if (!w->stands_for_another &&
        (note_tensors(w, parameters, layer, SD_TENSOR_PARAMETER) < 0 ||
         note_tensors(w, buffers, layer, SD_TENSOR_BUFFER) < 0))
        return -1;
    if (!r->request.is_lent &&
        sd_keep_module(&r->keep, module, fields, twins, SD_WALK_KEEP_DEPTH) < 0)
        return -1;
    return note_weights(r, parameters) < 0 || note_weights(r, buffers) < 0 ? -1 : 0;
}

static int find_layer(struct sd_walk *w, PyObject *module, uint32_t parent,
                      bool is_leaf, uint32_t *layer)
{
    if (!w->run->request.is_timing)
        return note_layer(w, module, parent, is_leaf, layer);
    *layer = w->n_path == 0 ? SD_MODEL_ROOT
                            : sd_model_find_layer(w->run->model, w->path, w->n_path);
    return 0;
}

int sd_module_visit(struct sd_walk *w, PyObject *module, uint32_t parent)
{
    PyObject *children, *parameters, *buffers, *fields;
    uint64_t known;
    uint32_t layer = 0;
    int rc = -1;

    if (sd_table_get(&w->run->layer_of, (uint64_t)(uintptr_t)module, &known))
        return 0;
    if (w->depth >= SD_WALK_DEEPEST) {
        w->n_left_out++;
        return 0;
    }
    children = sd_module_children(module);
    parameters = children ? sd_module_parameters(module) : NULL;
    buffers = parameters ? table_of(module, "_buffers", "named_buffers") : NULL;
    fields = buffers ? PyObject_GetAttrString(module, "__dict__") : NULL;
    w->depth++;
    if (fields && PyDict_Check(fields) &&
        find_layer(w, module, parent, PyDict_GET_SIZE(children) == 0, &layer) == 0 &&
        layer == UINT32_MAX) /* was not there to be counted: its time is its holder's */
        rc = 0;
    else if (fields && PyDict_Check(fields) && !PyErr_Occurred() &&
             remember(w->run, module, layer) == 0 &&
             note_module(w, module, fields, parameters, buffers, layer) == 0)
        rc = visit_children(w, children, layer);
    sd_assert(w->depth > 0);
    w->depth--;
    Py_XDECREF(children);
    Py_XDECREF(parameters);
    Py_XDECREF(buffers);
    Py_XDECREF(fields);
    if (rc < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "this is not a module of torch");
    return rc;
}

/* Nothing is left out without a word. */
static int tell_left_out(const struct sd_walk *w)
{
    if (w->n_left_out == 0 || w->run->request.is_timing)
        return 0;
    return sd_pass_raise(sd_model_note(w->run->model,
                                       "%zu modules are nested deeper than %d levels, "
                                       "or their names are not text or longer than %d "
                                       "bytes; their parameters are not counted",
                                       w->n_left_out, SD_WALK_DEEPEST,
                                       SD_WALK_PATH_BYTES));
}

int sd_pass_walk(struct sd_pass *r, PyObject *module)
{
    struct sd_walk w;
    int rc;

    memset(&w, 0, sizeof w);
    w.run = r;
    rc = sd_module_visit(&w, module, SD_MODEL_ROOT);
    if (rc == 0)
        rc = tell_left_out(&w);
    if (rc == 0 && !r->request.is_lent)
        rc = sd_keep_modules(&r->keep, r->request.on_twins ? &r->twins : NULL,
                             SD_WALK_KEEP_DEPTH);
    return rc;
}
