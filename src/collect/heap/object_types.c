/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "collect/heap/object_types.h"

#include <stdio.h>
#include <string.h>

#include <frameobject.h>

#include "base/error.h"
#include "collect/heap/short_text.h"

enum { FIRST_SLOTS = 1024, NAME_MAX_BYTES = 256, FIELDS_MAX = 4096, BASES_MAX = 200 };

uint32_t sd_heap_kinds_label(struct sd_heap_kinds *k, enum sd_heap_step step,
                             const char *text, size_t n)
{
    uint32_t id = 0;
    int rc = sd_heap_texts_add(&k->graph->texts, text, n, &id);

    if (rc == 0 && id >= SD_HEAP_TEXTS_MAX)
        rc = sd_fail(SD_ENOMEM, "a heap with more than 268,435,456 different names");
    if (rc < 0) {
        k->rc = rc;
        return 0;
    }
    return SD_HEAP_LABEL(step, id);
}

int sd_heap_kinds_init(struct sd_heap_kinds *k, struct sd_heap_graph *g,
                       const struct sd_size_names *sizes)
{
    *k = (struct sd_heap_kinds){ .graph = g, .sizes = sizes };
    k->dict_label = sd_heap_kinds_label(k, SD_HEAP_STEP_ATTRIBUTE, "__dict__", 8);
    k->class_label = sd_heap_kinds_label(k, SD_HEAP_STEP_ATTRIBUTE, "__class__", 9);
    return k->rc;
}

void sd_heap_kinds_release(struct sd_heap_kinds *k)
{
    sd_pages_release(&k->kinds);
    sd_pages_release(&k->fields);
    sd_pages_release(&k->slots);
}

/* What a type's own dict has under this name, without asking any key for equality. */
static PyObject *in_dict(PyObject *dict, const char *name)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (!dict || !PyDict_CheckExact(dict))
        return NULL;
    while (PyDict_Next(dict, &at, &key, &value))
        if (PyUnicode_CheckExact(key) &&
            PyUnicode_CompareWithASCIIString(key, name) == 0)
            return value;
    return NULL;
}

static void put_str(PyObject *str, char *to, size_t room)
{
    size_t n = strlen(to);

    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(str) && n + 1 < room; i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(str, i);

        to[n++] = c > 32 && c < 127 ? (char)c : '?';
    }
    to[n] = 0;
}

static void name_type(PyTypeObject *type, char module[NAME_MAX_BYTES],
                      char name[NAME_MAX_BYTES])
{
    const char *dot = strrchr(type->tp_name, '.');
    PyObject *qualname = NULL, *home = NULL;

    module[0] = name[0] = 0;
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        qualname = ((PyHeapTypeObject *)type)->ht_qualname;
        home = in_dict(sd_compat_heap_type_dict(type), "__module__");
    }
    if (home && PyUnicode_Check(home) && PyUnicode_IS_READY(home))
        put_str(home, module, NAME_MAX_BYTES);
    else if (dot)
        snprintf(module, NAME_MAX_BYTES, "%.*s", (int)(dot - type->tp_name),
                 type->tp_name);
    if (!module[0])
        strcpy(module, "builtins");
    if (qualname && PyUnicode_Check(qualname) && PyUnicode_IS_READY(qualname))
        put_str(qualname, name, NAME_MAX_BYTES);
    else
        snprintf(name, NAME_MAX_BYTES, "%s", dot ? dot + 1 : type->tp_name);
}

static int add_names(struct sd_heap_kinds *k, PyTypeObject *type,
                     struct sd_heap_type *t)
{
    char module[NAME_MAX_BYTES], name[NAME_MAX_BYTES], whole[2 * NAME_MAX_BYTES];
    bool is_bare;
    int rc;

    name_type(type, module, name);
    is_bare = strcmp(module, "builtins") == 0;
    snprintf(whole, sizeof whole, "%s%s%s", is_bare ? "" : module, is_bare ? "" : ".",
             name);
    rc = sd_heap_texts_add(&k->graph->texts, whole, strlen(whole), &t->name);
    if (rc == 0)
        rc = sd_heap_texts_add(&k->graph->texts, module, strlen(module), &t->module);
    return rc;
}

static int add_field(struct sd_heap_kinds *k, struct sd_heap_kind *kind,
                     Py_ssize_t offset, const char *name)
{
    struct sd_heap_field field = { offset, 0 };
    char text[SD_SHORT_TEXT];
    int n = snprintf(text, sizeof text, "%.40s", name);

    if (kind->n_fields >= FIELDS_MAX)
        return 0;
    field.label = sd_heap_kinds_label(k, SD_HEAP_STEP_ATTRIBUTE, text, (size_t)n);
    kind->n_fields++;
    return k->rc < 0 ? k->rc
                     : sd_heap_add(&k->fields, &k->n_fields, &field, sizeof field);
}

/* References that types of C keep without showing them as members. */
static int add_hidden_fields(struct sd_heap_kinds *k, struct sd_heap_kind *kind)
{
    static const struct {
        Py_ssize_t offset;
        const char *name;
    } of_errors[] = { { offsetof(PyBaseExceptionObject, args), "args" },
                      { offsetof(PyBaseExceptionObject, traceback), "__traceback__" },
                      { offsetof(PyBaseExceptionObject, context), "__context__" },
                      { offsetof(PyBaseExceptionObject, cause), "__cause__" } };
    int rc = 0;

    if (kind->type == &PyTraceBack_Type)
        rc = add_field(k, kind, offsetof(PyTracebackObject, tb_next), "tb_next");
    if (kind->type->tp_flags & Py_TPFLAGS_BASE_EXC_SUBCLASS)
        for (size_t i = 0; i < sizeof of_errors / sizeof of_errors[0] && rc == 0; i++)
            rc = add_field(k, kind, of_errors[i].offset, of_errors[i].name);
    return rc;
}

/* Members of the type and its bases that are references: __slots__ are such, and what
 * types of C show. */
static int add_fields(struct sd_heap_kinds *k, struct sd_heap_kind *kind)
{
    PyTypeObject *base = kind->type;
    int rc = 0;

    kind->first_field = k->n_fields;
    for (int depth = 0; base && depth < BASES_MAX && rc == 0; depth++) {
        for (PyMemberDef *m = base->tp_members; m && m->name && rc == 0; m++)
            if ((m->type == T_OBJECT || m->type == T_OBJECT_EX) && m->offset > 0 &&
                m->offset + (Py_ssize_t)sizeof(void *) <= base->tp_basicsize)
                rc = add_field(k, kind, m->offset, m->name);
        base = base->tp_base;
    }
    return rc < 0 ? rc : add_hidden_fields(k, kind);
}

static enum sd_step_naming naming_of(PyTypeObject *type)
{
    if (type->tp_flags & Py_TPFLAGS_DICT_SUBCLASS)
        return SD_NAMING_DICT;
    if (type->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS)
        return SD_NAMING_TYPE;
    if (type == &PyFunction_Type)
        return SD_NAMING_FUNCTION;
    if (type == &PyCell_Type)
        return SD_NAMING_CELL;
    if (type == &PyFrame_Type || type == &PyGen_Type || type == &PyCoro_Type ||
        type == &PyAsyncGen_Type)
        return SD_NAMING_FRAME;
    if (type == &PyList_Type || type == &PyTuple_Type)
        return SD_NAMING_NONE;
    return SD_NAMING_FIELDS;
}

static enum sd_heap_items items_of(PyTypeObject *type)
{
    if (type->tp_flags & (Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS))
        return SD_HEAP_ITEMS_REVERSED;
    return strcmp(type->tp_name, "collections.deque") == 0 ? SD_HEAP_ITEMS
                                                           : SD_HEAP_NO_ITEMS;
}

static int add_kind(struct sd_heap_kinds *k, PyTypeObject *type)
{
    struct sd_heap_type t = {
        .address = (uint64_t)(uintptr_t)type,
        .object = SD_HEAP_NONE,
        .items = (uint8_t)items_of(type),
        .is_dict = (type->tp_flags & Py_TPFLAGS_DICT_SUBCLASS) != 0,
        .is_module = PyType_IsSubtype(type, &PyModule_Type),
        .is_type = (type->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS) != 0,
    };
    struct sd_heap_kind kind = {
        .type = type,
        .size = sd_size_of_type(k->sizes, type),
        .naming = naming_of(type),
        .is_gc = (type->tp_flags & Py_TPFLAGS_HAVE_GC) && type->tp_traverse,
        .is_heap_type = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0,
        .is_managed = sd_compat_heap_is_managed(type),
        .has_dict = type->tp_dictoffset != 0 || sd_compat_heap_is_managed(type),
    };
    uint32_t n = k->graph->n_types;
    int rc = add_names(k, type, &t);

    if (rc == 0 && kind.is_gc && kind.naming != SD_NAMING_NONE)
        rc = add_fields(k, &kind);
    if (rc == 0)
        rc = sd_heap_add(&k->kinds, &n, &kind, sizeof kind);
    if (rc == 0)
        rc = sd_heap_add(&k->graph->type_list, &k->graph->n_types, &t, sizeof t);
    return rc;
}

static uint32_t *slot_of(const struct sd_heap_kinds *k, PyTypeObject *type)
{
    uint32_t *slots = k->slots.p;
    uint32_t mask = k->n_slots - 1;
    uint32_t at = (uint32_t)((uint64_t)(uintptr_t)type * 0x9E3779B97F4A7C15u >> 32);

    for (at &= mask; slots[at]; at = (at + 1) & mask)
        if (((struct sd_heap_kind *)k->kinds.p)[slots[at] - 1].type == type)
            break;
    return &slots[at];
}

static int grow_slots(struct sd_heap_kinds *k)
{
    uint32_t n_slots = k->n_slots ? k->n_slots * 2 : FIRST_SLOTS;
    struct sd_pages slots = { 0 };
    int rc = sd_pages_grow(&slots, n_slots * sizeof(uint32_t));

    if (rc < 0)
        return rc;
    sd_pages_release(&k->slots);
    k->slots = slots;
    k->n_slots = n_slots;
    for (uint32_t i = 0; i < k->graph->n_types; i++)
        *slot_of(k, sd_heap_kinds_at(k, i)->type) = i + 1;
    return 0;
}

uint32_t sd_heap_kinds_find(struct sd_heap_kinds *k, PyTypeObject *type)
{
    uint32_t *slot;
    int rc = 0;

    if (type == k->last)
        return k->last_at;
    if (k->graph->n_types >= k->n_slots / 2)
        rc = grow_slots(k);
    if (rc == 0) {
        slot = slot_of(k, type);
        if (!*slot) {
            rc = add_kind(k, type);
            *slot = rc == 0 ? k->graph->n_types : 0;
        }
    }
    if (rc < 0) {
        k->rc = rc;
        return SD_HEAP_NONE;
    }
    k->last = type;
    k->last_at = *slot - 1;
    return k->last_at;
}
