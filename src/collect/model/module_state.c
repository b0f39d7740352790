/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/module_state.h"

#include <string.h>

#include "base/mem.h"
#include "collect/model/containers.h"

enum {
    MOST_OBJECTS = 1 << 12, /* that are no modules: they may lead anywhere */
    TENSOR_DEPTH = 4,       /* containers in what such an object has got */
};

static int note(struct sd_keep *k, PyObject *container, PyObject *copy)
{
    struct sd_saved_value *grown =
        sd_grow_array(k->all, &k->cap, k->n + 1, sizeof *k->all);

    if (grown)
        k->all = grown;
    if (!grown ||
        sd_table_put(&k->by_container, (uint64_t)(uintptr_t)container, 1) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    k->all[k->n++] = (struct sd_saved_value){ .container = Py_NewRef(container),
                                              .copy = Py_NewRef(copy),
                                              .object = k->object };
    return 0;
}

/* --- Going in */

static bool is_of(PyObject *o, PyObject *type)
{
    return type && PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)type);
}

static int meet(struct sd_keep *k, PyObject *module)
{
    if (!k->modules && !(k->modules = PyList_New(0)))
        return -1;
    return PyList_Append(k->modules, module);
}

static bool is_known(const struct sd_keep *k, PyObject *o)
{
    uint64_t unused;

    return sd_table_get(&k->by_container, (uint64_t)(uintptr_t)o, &unused);
}

/* Torch's own class alone: one that derives from it may have code of the user's. */
static bool is_generator(const struct sd_keep *k, PyObject *o)
{
    return (PyObject *)Py_TYPE(o) == k->torch->generator;
}

static int keep_generator(struct sd_keep *k, PyObject *generator)
{
    PyObject *state;
    int rc;

    if (is_known(k, generator))
        return 0;
    state = PyObject_CallMethod(generator, "get_state", NULL);
    rc = state ? note(k, generator, state) : -1;
    if (rc == 0)
        k->all[k->n - 1].is_generator = true;
    Py_XDECREF(state);
    return rc;
}

/* Of a class of Python's, with attributes of its own: a cache, say. */
static bool is_object(PyObject *o)
{
    return (PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(o)) ||
           strcmp(Py_TYPE(o)->tp_name, "types.SimpleNamespace") == 0;
}

static PyObject *keep_value(struct sd_keep *k, PyObject *value, struct sd_twins *twins,
                            int depth);
static int keep_self(struct sd_keep *k, PyObject *self, int depth);
static int keep_slots(struct sd_keep *k, PyObject *o, struct sd_twins *twins,
                      int depth);

/* Its tensors stay, those in its slots too: each gets its twin when an operator meets
 * it. */
static int keep_object(struct sd_keep *k, PyObject *o, int depth)
{
    size_t around = k->object;
    PyObject *fields;
    int rc;

    if (is_known(k, o) || k->n_objects >= MOST_OBJECTS)
        return 0;
    if (sd_table_put(&k->by_container, (uint64_t)(uintptr_t)o, 1) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    k->n_objects++;
    fields = PyObject_GenericGetDict(o, NULL);
    if (!fields)
        PyErr_Clear();
    k->object = around ? around : k->n_objects;
    rc = fields && PyDict_Check(fields) ? sd_keep_module(k, o, fields, NULL, depth)
                                        : keep_slots(k, o, NULL, depth);
    k->object = around;
    Py_XDECREF(fields);
    return rc;
}

/* A class that is derived from tuple is made in a way of its own, and stays. */
static PyObject *keep_tuple(struct sd_keep *k, PyObject *tuple, struct sd_twins *twins,
                            int depth)
{
    PyObject *list = NULL, *made;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *old = PyTuple_GET_ITEM(tuple, i);
        PyObject *new =
            keep_value(k, old, PyTuple_CheckExact(tuple) ? twins : NULL, depth);

        if (new == old) {
            Py_DECREF(new);
            continue;
        }
        if (!new || (!list && !(list = PySequence_List(tuple)))) {
            Py_XDECREF(new);
            Py_XDECREF(list);
            return NULL;
        }
        PyList_SetItem(list, i, new); /* takes it */
    }
    if (!list)
        return Py_NewRef(tuple);
    made = PyList_AsTuple(list);
    Py_DECREF(list);
    return made;
}

/* Notes what is in it, and gives what stands in its place for the run: a new reference,
 * or NULL with an exception. */
static PyObject *keep_value(struct sd_keep *k, PyObject *value, struct sd_twins *twins,
                            int depth)
{
    int rc = 0;

    if (is_of(value, k->torch->tensor_base))
        return twins ? sd_twins_of(twins, value) : Py_NewRef(value);
    if (is_of(value, k->torch->module)) /* an object's may be another model */
        rc = k->object ? 0 : meet(k, value);
    else if (is_generator(k, value))
        rc = k->object ? 0 : keep_generator(k, value);
    else if (depth > 0 && sd_container_is(value))
        rc = sd_keep_container(k, value, twins, depth - 1);
    else if (depth > 0 && PyTuple_Check(value))
        return keep_tuple(k, value, twins, depth - 1);
    else if (depth > 0 && PyMethod_Check(value))
        rc = keep_self(k, PyMethod_GET_SELF(value), depth - 1);
    else if (depth > 0 && is_object(value))
        rc = keep_object(k, value, depth - 1);
    return rc < 0 ? NULL : Py_NewRef(value);
}

/* A method is held with its object. */
static int keep_self(struct sd_keep *k, PyObject *self, int depth)
{
    return is_object(self) && !is_of(self, k->torch->tensor_base) &&
                   !is_of(self, k->torch->module)
               ? keep_object(k, self, depth)
               : 0;
}

/* The copy is walked, because making a twin may run anything. */
static int keep_dict(struct sd_keep *k, PyObject *dict, PyObject *copy,
                     struct sd_twins *twins, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int rc = 0;

    while (rc == 0 && PyDict_Next(copy, &at, &key, &value)) {
        PyObject *now = keep_value(k, value, twins, depth);

        if (!now || (now != value && PyDict_SetItem(dict, key, now) < 0))
            rc = -1;
        Py_XDECREF(now);
    }
    return rc;
}

static int keep_list(struct sd_keep *k, PyObject *list, PyObject *copy,
                     struct sd_twins *twins, int depth)
{
    int rc = 0;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(copy); i++) {
        PyObject *value = PyList_GET_ITEM(copy, i);
        PyObject *now = keep_value(k, value, twins, depth);

        if (!now)
            rc = -1;
        else if (now == value)
            Py_DECREF(now);
        else
            rc = PyList_SetItem(list, i, now); /* takes it */
    }
    return rc;
}

int sd_keep_container(struct sd_keep *k, PyObject *container, struct sd_twins *twins,
                      int depth)
{
    PyObject *copy;
    int rc;

    if (is_known(k, container))
        return 0;
    copy = sd_container_copy(container);
    rc = copy ? note(k, container, copy) : -1;
    if (rc == 0 && PyDict_Check(container))
        rc = keep_dict(k, container, copy, twins, depth);
    else if (rc == 0 && PyList_Check(container))
        rc = keep_list(k, container, copy, twins, depth);
    Py_XDECREF(copy);
    return rc;
}

/* --- Slots */

/* Of a class of Python's, whose entries for __slots__ are read and written by C alone:
 * properties and other descriptors would run the user's code. */
static bool is_slot(PyObject *o) { return Py_TYPE(o) == &PyMemberDescr_Type; }

/* A new reference; NULL without an exception: it is not set. */
static PyObject *read_slot(PyObject *module, PyObject *slot)
{
    PyObject *value = Py_TYPE(slot)->tp_descr_get(slot, module, NULL);

    PyErr_Clear();
    return value;
}

/* NULL empties it. */
static int write_slot(PyObject *module, PyObject *slot, PyObject *value)
{
    return Py_TYPE(slot)->tp_descr_set(slot, module, value);
}

static int note_slot(struct sd_keep *k, PyObject *module, PyObject *slot,
                     PyObject *value)
{
    struct sd_saved_slot *grown =
        sd_grow_array(k->slots, &k->cap_slots, k->n_slots + 1, sizeof *k->slots);

    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    k->slots = grown;
    k->slots[k->n_slots++] = (struct sd_saved_slot){ .module = Py_NewRef(module),
                                                     .slot = Py_NewRef(slot),
                                                     .value = Py_XNewRef(value),
                                                     .object = k->object };
    return 0;
}

static int keep_slot(struct sd_keep *k, PyObject *module, PyObject *slot,
                     struct sd_twins *twins, int depth)
{
    PyObject *value = read_slot(module, slot), *now = NULL;
    int rc = note_slot(k, module, slot, value);

    if (rc == 0 && value) {
        now = keep_value(k, value, twins, depth);
        if (!now || (now != value && write_slot(module, slot, now) < 0))
            rc = -1;
    }
    Py_XDECREF(now);
    Py_XDECREF(value);
    return rc;
}

/* Of all classes that it is of: one may have a slot of a name that another has, too. */
static int keep_slots(struct sd_keep *k, PyObject *module, struct sd_twins *twins,
                      int depth)
{
    PyObject *classes = Py_NewRef(Py_TYPE(module)->tp_mro);
    int rc = 0;

    for (Py_ssize_t i = 0; rc == 0 && i < PyTuple_GET_SIZE(classes); i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(classes, i);
        PyObject *key, *entry, *entries;
        Py_ssize_t at = 0;

        if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
            continue; /* made in C: it has no __slots__ */
        entries = PyDict_Copy(type->tp_dict);
        if (!entries)
            rc = -1;
        while (rc == 0 && PyDict_Next(entries, &at, &key, &entry))
            if (is_slot(entry))
                rc = keep_slot(k, module, entry, twins, depth);
        Py_XDECREF(entries);
    }
    Py_DECREF(classes);
    return rc;
}

int sd_keep_module(struct sd_keep *k, PyObject *module, PyObject *fields,
                   struct sd_twins *twins, int depth)
{
    size_t at = k->n;

    if (is_known(k, fields))
        return 0;
    if (sd_keep_container(k, fields, twins, depth) < 0)
        return -1;
    k->all[at].owner = Py_NewRef(module);
    return keep_slots(k, module, twins, depth);
}

/* The list grows while it is walked; what was noted before is not noted again, so it
 * comes to an end. */
int sd_keep_modules(struct sd_keep *k, struct sd_twins *twins, int depth)
{
    int rc = 0;

    for (Py_ssize_t i = 0; rc == 0 && k->modules && i < PyList_GET_SIZE(k->modules);
         i++) {
        PyObject *module = PyList_GET_ITEM(k->modules, i);
        PyObject *fields = PyObject_GetAttrString(module, "__dict__");

        if (!fields)
            PyErr_Clear();
        else if (PyDict_Check(fields))
            rc = sd_keep_module(k, module, fields, twins, depth);
        Py_XDECREF(fields);
    }
    return rc;
}

/* --- Coming back */

static void put_back_generator(PyObject *generator, PyObject *state)
{
    PyObject *done = PyObject_CallMethod(generator, "set_state", "O", state);

    Py_XDECREF(done);
}

/* Other attributes altogether: the forward has set __dict__. */
static void put_back_owned(PyObject *owner, PyObject *fields)
{
    PyObject *now = PyObject_GenericGetDict(owner, NULL);

    if (now && now != fields)
        PyObject_GenericSetDict(owner, fields, NULL);
    Py_XDECREF(now);
}

static void put_back(const struct sd_saved_value *k)
{
    if (k->owner)
        put_back_owned(k->owner, k->container);
    if (k->is_generator)
        put_back_generator(k->container, k->copy);
    else
        sd_container_put_back(k->container, k->copy);
    PyErr_Clear();
}

static void put_back_slot(const struct sd_saved_slot *s)
{
    PyObject *now = read_slot(s->module, s->slot);

    if (now != s->value)
        write_slot(s->module, s->slot, s->value);
    Py_XDECREF(now);
    PyErr_Clear();
}

/* --- What is no module's
 *
 * It may be anything, also what another thread changes meanwhile.  So an object gets
 * back what it had, with all that it holds, only where it has other tensors than
 * before: then it is a cache, which a run has filled. */

static bool has_tensor(const struct sd_torch *t, PyObject *o, int depth);

static bool has_tensor_in_list(const struct sd_torch *t, PyObject *o, int depth)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
        if (has_tensor(t, PySequence_Fast_GET_ITEM(o, i), depth))
            return true;
    return false;
}

static bool has_tensor_in_dict(const struct sd_torch *t, PyObject *o, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(o, &at, &key, &value))
        if (has_tensor(t, value, depth))
            return true;
    return false;
}

static bool has_tensor(const struct sd_torch *t, PyObject *o, int depth)
{
    PyObject *fields;
    bool has;

    if (is_of(o, t->tensor_base))
        return true;
    if (depth == 0 || is_of(o, t->module))
        return false;
    if (PyDict_Check(o))
        return has_tensor_in_dict(t, o, depth - 1);
    if (PyList_Check(o) || PyTuple_Check(o))
        return has_tensor_in_list(t, o, depth - 1);
    fields = is_object(o) ? PyObject_GenericGetDict(o, NULL) : NULL;
    has = fields && PyDict_Check(fields) && has_tensor_in_dict(t, fields, depth - 1);
    PyErr_Clear();
    Py_XDECREF(fields);
    return has;
}

/* Has one of them an entry with a tensor that the other has not? */
static bool has_other(const struct sd_torch *t, PyObject *one, PyObject *than)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(one, &at, &key, &value)) {
        PyObject *other = PyDict_GetItemWithError(than, key);

        PyErr_Clear();
        if (other != value && has_tensor(t, value, TENSOR_DEPTH))
            return true;
    }
    return false;
}

static bool has_other_in_list(const struct sd_torch *t, PyObject *one, PyObject *than)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(one); i++) {
        PyObject *value = PyList_GET_ITEM(one, i);

        if ((i >= PyList_GET_SIZE(than) || PyList_GET_ITEM(than, i) != value) &&
            has_tensor(t, value, TENSOR_DEPTH))
            return true;
    }
    return false;
}

static bool has_other_tensors(const struct sd_torch *t, const struct sd_saved_value *k)
{
    PyObject *now;
    bool has;

    if (PyDict_Check(k->container))
        return has_other(t, k->container, k->copy) ||
               has_other(t, k->copy, k->container);
    if (!PyList_Check(k->copy)) /* a set, or the state of a generator */
        return false;
    now = sd_container_copy(k->container);
    has = now &&
          (has_other_in_list(t, now, k->copy) || has_other_in_list(t, k->copy, now));
    PyErr_Clear();
    Py_XDECREF(now);
    return has;
}

static bool has_other_in_slot(const struct sd_torch *t, const struct sd_saved_slot *s)
{
    PyObject *now = read_slot(s->module, s->slot);
    bool has = now != s->value && ((now && has_tensor(t, now, TENSOR_DEPTH)) ||
                                   (s->value && has_tensor(t, s->value, TENSOR_DEPTH)));

    Py_XDECREF(now);
    return has;
}

/* Objects, by their numbers, that are to be put back; 0, which is none, is what modules
 * hold, and always is. */
static void mark_filled(const struct sd_keep *k, bool *is_filled)
{
    is_filled[0] = true;
    for (size_t i = 0; i < k->n; i++)
        if (k->all[i].object && !is_filled[k->all[i].object])
            is_filled[k->all[i].object] = has_other_tensors(k->torch, &k->all[i]);
    for (size_t i = 0; i < k->n_slots; i++)
        if (k->slots[i].object && !is_filled[k->slots[i].object])
            is_filled[k->slots[i].object] = has_other_in_slot(k->torch, &k->slots[i]);
}

static void put_back_slots(struct sd_saved_slot *slots, size_t n, const bool *is_filled)
{
    for (size_t i = n; i-- > 0;) {
        if (is_filled[slots[i].object])
            put_back_slot(&slots[i]);
        Py_DECREF(slots[i].module);
        Py_DECREF(slots[i].slot);
        Py_XDECREF(slots[i].value);
    }
    sd_free(slots);
}

static void put_back_all(struct sd_saved_value *all, size_t n, const bool *is_filled)
{
    for (size_t i = n; i-- > 0;) {
        if (is_filled[all[i].object])
            put_back(&all[i]);
        Py_XDECREF(all[i].owner);
        Py_DECREF(all[i].container);
        Py_DECREF(all[i].copy);
    }
    sd_free(all);
}

void sd_keep_put_back(struct sd_keep *k)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    struct sd_keep kept = *k;
    bool is_filled[MOST_OBJECTS + 1] = { false };

    sd_table_release(&k->by_container);
    memset(k, 0, sizeof *k);
    mark_filled(&kept, is_filled);
    put_back_slots(kept.slots, kept.n_slots, is_filled);
    put_back_all(kept.all, kept.n, is_filled);
    Py_XDECREF(kept.modules);
    sd_pending_exception_give_back(raised);
}
