/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "collect/heap/step_names.h"

#include <string.h>

#include "collect/heap/short_text.h"

enum { KNOWN = 4096, JOINED_BYTES = 200 };

struct known { /* what a key's label is; keys live as long as the walk */
    PyObject *key;
    uint32_t label;
};

/* The references of one object while they are named. */
struct naming {
    struct sd_step_names *s;
    const uint64_t *edges;
    uint32_t *labels;
    uint32_t n, at; /* where an ordered search goes on */
    bool has_any;
};

int sd_step_names_init(struct sd_step_names *s, struct sd_heap_kinds *kinds)
{
    *s = (struct sd_step_names){ .kinds = kinds };
    return sd_pages_grow(&s->known, KNOWN * sizeof(struct known));
}

void sd_step_names_release(struct sd_step_names *s)
{
    sd_pages_release(&s->labels);
    sd_pages_release(&s->known);
}

static uint32_t label_of_text(struct sd_step_names *s, enum sd_heap_step step,
                              const char *text)
{
    return sd_heap_kinds_label(s->kinds, step, text, strlen(text));
}

static uint32_t label_of_str(struct sd_step_names *s, enum sd_heap_step step,
                             PyObject *str)
{
    char text[SD_SHORT_TEXT];

    if (!str || !sd_short_text_of_str(str, text))
        return 0;
    return label_of_text(s, step, text);
}

static uint32_t label_of_key(struct sd_step_names *s, PyObject *key)
{
    size_t slot = ((uintptr_t)key >> 4 ^ (uintptr_t)key >> 16) % KNOWN;
    struct known *known = (struct known *)s->known.p + slot;
    bool is_str = PyUnicode_Check(key);
    char text[SD_SHORT_TEXT];
    size_t n;

    if (known->key == key)
        return known->label;
    n = sd_short_text_of_key(key, text);
    known->key = key;
    known->label = sd_heap_kinds_label(
        s->kinds, is_str ? SD_HEAP_STEP_KEY_TEXT : SD_HEAP_STEP_KEY, text, n);
    return known->label;
}

static void put(struct naming *g, uint32_t i, uint32_t label)
{
    g->labels[i] = label;
    g->has_any |= label != 0;
}

/* Names the first reference to `o` that has no name yet. */
static void name_one(struct naming *g, PyObject *o, uint32_t label)
{
    for (uint32_t i = 0; o && label && i < g->n; i++) {
        if (g->edges[i] == (uint64_t)(uintptr_t)o && !g->labels[i]) {
            put(g, i, label);
            return;
        }
    }
}

/* The place of the next reference to `o` in their order; n: there is none. */
static uint32_t find_next(const struct naming *g, const PyObject *o)
{
    uint32_t i = g->at;

    while (i < g->n && g->edges[i] != (uint64_t)(uintptr_t)o)
        i++;
    return i;
}

static void name_fields(struct naming *g, const struct sd_heap_kind *kind, PyObject *o)
{
    const struct sd_heap_field *fields = g->s->kinds->fields.p;

    for (uint32_t i = 0; i < kind->n_fields; i++) {
        const struct sd_heap_field *f = &fields[kind->first_field + i];

        name_one(g, *(PyObject **)((char *)o + f->offset), f->label);
    }
}

static void name_values(struct naming *g, PyObject *o)
{
    struct sd_compat_heap_values v = sd_compat_heap_values_of(o);

    for (size_t i = 0; v.values && i < v.n; i++)
        if (v.values[i])
            name_one(g, v.values[i],
                     label_of_str(g->s, SD_HEAP_STEP_ATTRIBUTE, v.names[i * v.stride]));
}

static void name_instance(struct naming *g, const struct sd_heap_kind *kind,
                          PyObject *o)
{
    if (kind->is_managed)
        name_values(g, o);
    if (kind->has_dict)
        name_one(g, sd_compat_heap_dict_of(o), g->s->kinds->dict_label);
    if (kind->is_heap_type)
        name_one(g, (PyObject *)kind->type, g->s->kinds->class_label);
    name_fields(g, kind, o);
}

/* Values come in the order of their keys; keys, too, where any of them is no str. */
static void name_entries(struct naming *g, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool has_keys = g->n >= 2 * (size_t)PyDict_GET_SIZE(dict);

    while (PyDict_Next(dict, &at, &key, &value)) {
        uint32_t i = find_next(g, value);

        if (i == g->n)
            return; /* its values stand in an object, which has told them */
        put(g, i, label_of_key(g->s, key));
        g->at = i + 1;
        if (has_keys && g->at < g->n && g->edges[g->at] == (uint64_t)(uintptr_t)key) {
            put(g, g->at, SD_HEAP_LABEL(SD_HEAP_STEP_IS_KEY, 0));
            g->at++;
        }
    }
}

/* "a,b" of names[from..to) */
static uint32_t label_of_names(struct sd_step_names *s, enum sd_heap_step step,
                               PyObject *names, size_t from, size_t to)
{
    char joined[JOINED_BYTES];
    size_t n = 0;

    for (size_t i = from; names && i < to && i < (size_t)PyTuple_GET_SIZE(names); i++) {
        char text[SD_SHORT_TEXT];
        size_t length =
            sd_short_text_of_str(PyTuple_GET_ITEM(names, (Py_ssize_t)i), text);

        if (n + length + 1 >= sizeof joined)
            break;
        if (n)
            joined[n++] = ',';
        memcpy(joined + n, text, length);
        n += length;
    }
    return sd_heap_kinds_label(s->kinds, step, joined, n);
}

static void name_function(struct naming *g, PyObject *o)
{
    PyFunctionObject *f = (PyFunctionObject *)o;
    PyCodeObject *code = (PyCodeObject *)f->func_code;
    size_t from, n_defaults, n_parameters;
    PyObject *names;

    if (!code || !PyCode_Check(code))
        return;
    names = sd_compat_heap_free_names(code, &from);
    if (f->func_closure && PyTuple_CheckExact(f->func_closure))
        name_one(g, f->func_closure,
                 label_of_names(g->s, SD_HEAP_STEP_CLOSURE, names, from, SIZE_MAX));
    if (f->func_defaults && PyTuple_CheckExact(f->func_defaults)) {
        n_defaults = (size_t)PyTuple_GET_SIZE(f->func_defaults);
        n_parameters = (size_t)code->co_argcount;
        from = n_parameters > n_defaults ? n_parameters - n_defaults : 0;
        name_one(g, f->func_defaults,
                 label_of_names(g->s, SD_HEAP_STEP_DEFAULTS,
                                sd_compat_heap_parameter_names(code), from,
                                n_parameters));
    }
    name_one(g, f->func_kwdefaults,
             label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__kwdefaults__"));
    name_one(g, f->func_code, label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__code__"));
    name_one(g, f->func_dict, g->s->kinds->dict_label);
    name_one(g, f->func_annotations,
             label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__annotations__"));
}

static void name_type(struct naming *g, const struct sd_heap_kind *kind, PyObject *o)
{
    PyTypeObject *type = (PyTypeObject *)o;

    name_one(g, sd_compat_heap_type_dict(type), g->s->kinds->dict_label);
    name_one(g, type->tp_mro, label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__mro__"));
    name_one(g, type->tp_bases,
             label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__bases__"));
    name_one(g, (PyObject *)type->tp_base,
             label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__base__"));
    name_one(g, sd_compat_heap_type_module(type),
             label_of_text(g->s, SD_HEAP_STEP_ATTRIBUTE, "__module__"));
    name_instance(g, kind, o);
}

/* "x in f" */
static uint32_t label_of_local(struct sd_step_names *s, const sd_walked *f, size_t i)
{
    char text[2 * SD_SHORT_TEXT + 8], function[SD_SHORT_TEXT];
    size_t n = sd_short_text_of_str(sd_compat_heap_local_name(f, i), text);

    sd_short_text_of_str(sd_walk_code(f)->co_name, function);
    memcpy(text + n, " in ", 4);
    strcpy(text + n + 4, function);
    return label_of_text(s, SD_HEAP_STEP_LOCAL, text);
}

static void name_frame(struct naming *g, const struct sd_heap_kind *kind, PyObject *o)
{
    sd_walked *f = sd_compat_heap_frame_of(o);
    size_t n_locals =
        f && sd_compat_heap_is_readable(f) ? sd_compat_heap_n_locals(f) : 0;

    for (size_t i = 0; i < n_locals; i++) {
        PyObject *value = sd_compat_heap_local(f, i);

        if (value)
            name_one(g, value, label_of_local(g->s, f, i));
    }
    name_fields(g, kind, o);
}

const uint32_t *sd_step_names_of(struct sd_step_names *s,
                                 const struct sd_heap_kind *kind, PyObject *o,
                                 const uint64_t *edges, uint32_t n)
{
    struct naming g = { .s = s, .edges = edges, .n = n };

    if (!n || kind->naming == SD_NAMING_NONE)
        return NULL;
    s->rc = sd_pages_grow(&s->labels, n * sizeof(uint32_t));
    if (s->rc < 0)
        return NULL;
    g.labels = s->labels.p;
    memset(g.labels, 0, n * sizeof *g.labels);
    switch (kind->naming) {
    case SD_NAMING_NONE:
        break;
    case SD_NAMING_FIELDS:
        name_instance(&g, kind, o);
        break;
    case SD_NAMING_DICT:
        if (kind->is_heap_type)
            name_instance(&g, kind, o);
        name_entries(&g, o);
        break;
    case SD_NAMING_FUNCTION:
        name_function(&g, o);
        name_fields(&g, kind, o);
        break;
    case SD_NAMING_CELL:
        name_one(&g, ((PyCellObject *)o)->ob_ref,
                 label_of_text(s, SD_HEAP_STEP_ATTRIBUTE, "cell_contents"));
        break;
    case SD_NAMING_TYPE:
        name_type(&g, kind, o);
        break;
    case SD_NAMING_FRAME:
        name_frame(&g, kind, o);
        break;
    }
    if (s->kinds->rc < 0)
        s->rc = s->kinds->rc;
    return g.has_any ? g.labels : NULL;
}
