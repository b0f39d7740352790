/* SPDX-License-Identifier: MIT */
/* new_modules: handles modules that run and were not known before.
 *
 * Where a model was given, its forward made them: one that the model holds by now is
 * looked for from the root, so that it has its name; one that it does not hold has no
 * name, and what it computes is its caller's.  Where none was given every module is
 * met in this way. */
#include "cpython/compat.h"

#include "collect/model/module_layers.h"

#include <stdio.h>
#include <string.h>

/* --- Modules that a forward makes */

struct search {
    struct sd_walk walk;
    PyObject *wanted;
    struct sd_table seen; /* addresses of modules: 1 */
};

/* 1: it is this module or one in it.  0: it is not, or was looked through before. */
static int holds(struct search *s, PyObject *module, int depth)
{
    PyObject *children, *key, *child;
    Py_ssize_t at = 0;
    uint64_t unused;
    int rc = 0;

    if (module == s->wanted)
        return 1;
    if (depth == 0 || sd_table_get(&s->seen, (uint64_t)(uintptr_t)module, &unused))
        return 0;
    if (sd_pass_raise(sd_table_put(&s->seen, (uint64_t)(uintptr_t)module, 1)) < 0)
        return -1;
    children = sd_module_children(module);
    while (children && rc == 0 && PyDict_Next(children, &at, &key, &child))
        rc = child == Py_None ? 0 : holds(s, child, depth - 1);
    Py_XDECREF(children);
    return children ? rc : -1;
}

/* The path of a child of that layer; false: it is too long. */
static bool set_path(struct sd_walk *w, uint32_t layer, const char *key)
{
    const char *holder =
        sd_model_text(w->run->model, w->run->model->layers[layer].name);
    int n =
        snprintf(w->path, sizeof w->path, "%s%s%s", holder, *holder ? "." : "", key);

    w->n_path = (size_t)n;
    return n > 0 && (size_t)n < sizeof w->path;
}

static int search_in(struct search *s, PyObject *module, uint32_t layer);

/* A child that is known is searched; one that is not and holds what is wanted becomes a
 * layer, with all that is in it.  Where there was one of that name before, it is that
 * layer. */
static int search_child(struct search *s, const char *key, PyObject *child,
                        uint32_t holder)
{
    struct sd_pass *r = s->walk.run;
    uint64_t layer;
    int rc;

    if (sd_table_get(&r->layer_of, (uint64_t)(uintptr_t)child, &layer))
        return search_in(s, child, (uint32_t)layer);
    rc = holds(s, child, SD_WALK_DEEPEST);
    if (rc <= 0 || !key || !set_path(&s->walk, holder, key))
        return rc < 0 ? -1 : 0;
    s->walk.is_made = true;
    s->walk.stands_for_another =
        sd_model_find_layer(r->model, s->walk.path, s->walk.n_path) != UINT32_MAX;
    r->model->layers[holder].flags &= (uint16_t)~SD_LAYER_LEAF;
    sd_pass_tell(s->walk.stands_for_another ? &r->replaced : &r->made, s->walk.path);
    return sd_module_visit(&s->walk, child, holder) < 0 ? -1 : 1;
}

static int search_in(struct search *s, PyObject *module, uint32_t layer)
{
    PyObject *children, *key, *child;
    Py_ssize_t at = 0;
    uint64_t unused;
    int rc = 0;

    if (sd_table_get(&s->seen, (uint64_t)(uintptr_t)module, &unused))
        return 0;
    if (sd_pass_raise(sd_table_put(&s->seen, (uint64_t)(uintptr_t)module, 1)) < 0)
        return -1;
    children = sd_module_children(module);
    while (children && rc == 0 && PyDict_Next(children, &at, &key, &child))
        if (child != Py_None && PyUnicode_Check(key)) {
            const char *name = PyUnicode_AsUTF8(key);

            if (name)
                rc = search_child(s, name, child, layer);
            else
                PyErr_Clear(); /* no text in UTF-8: it has no name here */
        }
    Py_XDECREF(children);
    return children ? rc : -1;
}

static bool has_any(PyObject *table)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(table, &at, &key, &value))
        if (value != Py_None)
            return true;
    return false;
}

/* 1: it has some, or a module in it does; 0: it has none; -1 with an exception. */
static int has_parameters(PyObject *module, int depth)
{
    PyObject *own = sd_module_parameters(module), *children, *key, *child;
    Py_ssize_t at = 0;
    int rc = own ? has_any(own) : -1;

    Py_XDECREF(own);
    if (rc != 0 || depth == 0)
        return rc;
    children = sd_module_children(module);
    while (children && rc == 0 && PyDict_Next(children, &at, &key, &child))
        rc = child == Py_None ? 0 : has_parameters(child, depth - 1);
    Py_XDECREF(children);
    return children ? rc : -1;
}

/* It is not looked for again when it runs the next time.  It lives until the end, so
 * that no other one has its address; one with numbers of its own would be too much. */
static int ignore(struct sd_pass *r, PyObject *module)
{
    if (PyList_Append(r->modules, module) < 0)
        return -1;
    return sd_pass_raise(sd_table_put(&r->ignored, (uint64_t)(uintptr_t)module, 1));
}

/* Not the model's, by any name: what it computes is its caller's.  On twins it needs
 * tensors without data all the same. */
static int take_unheld(struct sd_pass *r, PyObject *module)
{
    PyObject *holder, *fields;
    int rc = has_parameters(module, SD_WALK_DEEPEST);

    if (rc <= 0) /* a loss or the like: there is nothing to say */
        return rc < 0 ? -1 : ignore(r, module);
    rc = 0;
    sd_pass_tell(&r->unheld, sd_module_type(module, &holder));
    Py_XDECREF(holder);
    if (!r->request.on_twins)
        return 0;
    fields = PyObject_GetAttrString(module, "__dict__");
    if (fields && PyDict_Check(fields))
        rc = sd_keep_module(&r->keep, module, fields, &r->twins, SD_WALK_KEEP_DEPTH);
    else
        PyErr_Clear();
    Py_XDECREF(fields);
    return rc < 0 ? -1 : ignore(r, module);
}

/* A lazy one gets its shapes by a hook that runs behind ours; to ask for them twice
 * does no harm.  1: it has none yet, because its inputs come by name, which that hook
 * alone is told; then it is entered from there. */
static int settle_shapes(struct sd_pass *r, PyObject *module, PyObject *args)
{
    PyObject *done;

    if (!sd_module_is_unsettled(module))
        return 0;
    done = PyObject_CallMethod(r->self, "settle_shapes", "OO", module, args);
    Py_XDECREF(done);
    return !done ? -1 : sd_module_is_unsettled(module) ? 1 : 0;
}

int sd_pass_walk_made(struct sd_pass *r, PyObject *module, PyObject *args)
{
    struct search s;
    uint64_t unused;
    int rc;

    if (sd_table_get(&r->ignored, (uint64_t)(uintptr_t)module, &unused))
        return 0;
    rc = settle_shapes(r, module, args);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    memset(&s, 0, sizeof s);
    s.walk.run = r;
    s.wanted = module;
    rc = search_in(&s, PyList_GET_ITEM(r->modules, 0), SD_MODEL_ROOT);
    sd_table_release(&s.seen);
    return rc == 0 ? take_unheld(r, module) : rc < 0 ? -1 : 0;
}

/* --- Modules of nobody */

/* Two of a type have different names. */
int sd_pass_walk_met(struct sd_pass *r, PyObject *module)
{
    struct sd_walk w;
    PyObject *holder;
    const char *type = sd_module_type(module, &holder);

    memset(&w, 0, sizeof w);
    w.run = r;
    w.n_path = (size_t)snprintf(w.path, 256, "%.200s", type);
    for (int i = 2;
         i < 10000 && sd_model_find_layer(r->model, w.path, w.n_path) != UINT32_MAX;
         i++)
        w.n_path = (size_t)snprintf(w.path, 256, "%.200s#%d", type, i);
    Py_XDECREF(holder);
    return sd_module_visit(&w, module, SD_MODEL_ROOT);
}
