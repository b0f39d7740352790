/* SPDX-License-Identifier: MIT */
#include "ext/sections/py_nest.h"

#include "ext/sections/py_section.h"

struct sd_py_section *sd_nest_innermost(const struct sd_py_nest *n)
{
    struct sd_py_section *s = n->innermost ? n->innermost : n->below;

    while (s && !sd_py_section_is_around(s))
        s = s->around;
    return s;
}

/* --- Finding the nest of this context */

static bool is_here(const struct sd_py_nest *n)
{
    return n->context && sd_compat_weakref_is(n->context, sd_compat_context_now());
}

/* `inherited` is the nest this context was copied with, or NULL. */
static struct sd_py_nest *nest_new(struct sd_ext *ext,
                                   const struct sd_py_nest *inherited)
{
    struct sd_py_nest *n =
        sd_ext_is_gone(ext) ? NULL : PyObject_GC_New(struct sd_py_nest, ext->nest);

    if (!n)
        return NULL;
    n->context = NULL;
    n->innermost = NULL;
    n->below = inherited ? sd_nest_innermost(inherited) : NULL;
    Py_XINCREF(n->below);
    n->task = 0;
    n->task_number = 0;
    PyObject_GC_Track(n);
    return n;
}

/* Makes `n` the nest of this context, which setting the variable brings to life. */
static int settle(struct sd_ext *ext, struct sd_py_nest *n)
{
    PyObject *token = PyContextVar_Set(ext->current, (PyObject *)n);

    if (!token)
        return -1;
    Py_DECREF(token);
    n->context = PyWeakref_NewRef(sd_compat_context_now(), NULL);
    return n->context ? 0 : -1;
}

struct sd_py_nest *sd_nest_here(struct sd_ext *ext)
{
    PyObject *found = NULL;
    struct sd_py_nest *n;

    if (PyContextVar_Get(ext->current, NULL, &found) < 0)
        return NULL;
    n = (struct sd_py_nest *)found;
    if (n && is_here(n))
        return n;
    n = nest_new(ext, n);
    Py_XDECREF(found);
    if (n && settle(ext, n) < 0)
        Py_CLEAR(n);
    return n;
}

void sd_nest_push(struct sd_py_nest *n, struct sd_py_section *s) { n->innermost = s; }

/* Is it on the way up from the innermost? */
static bool leads_to(const struct sd_py_nest *n, const struct sd_py_section *s)
{
    const struct sd_py_section *o = n->innermost;

    while (o && o != s)
        o = o->around;
    return o != NULL;
}

/* What began inside `s` and is still open.  Other Profilers nest for themselves: theirs
 * stay, as they would without ours. */
static void set_aside_inside(struct sd_py_nest *n, const struct sd_py_section *s)
{
    for (struct sd_py_section *o = n->innermost; o != s; o = o->around)
        if (o->profiler == s->profiler)
            o->is_aside = true;
}

void sd_nest_pop(struct sd_py_nest *n, const struct sd_py_section *s)
{
    struct sd_py_section *next;

    if (n->innermost != s) {
        if (s->is_aside || !leads_to(n, s))
            return;
        set_aside_inside(n, s);
    }
    next = sd_nest_innermost(n);
    n->innermost = next && next->nest == n ? next : NULL; /* or it is below */
}

/* --- asyncio */

/* The task that runs in `loop`: a new reference, or NULL with or without an exception.
 * In the older ones the function is written in Python, over this dictionary. */
static PyObject *task_of(struct sd_ext *ext, PyObject *module, PyObject *loop)
{
    PyObject *task = PyObject_CallMethodObjArgs(
        module, ext->asyncio[SD_ASYNCIO_CURRENT_TASK], loop, NULL);
    PyObject *tasks;

    if (task)
        return task;
    PyErr_Clear();
    tasks = PyObject_GetAttr(module, ext->asyncio[SD_ASYNCIO_CURRENT_TASKS]);
    task = tasks ? PyObject_GetItem(tasks, loop) : NULL;
    Py_XDECREF(tasks);
    return task;
}

/* The running task; borrowed from the loop, which runs it.
 *
 * hot: in every program that has imported asyncio.  The module is C and never half
 * initialised, so a look into sys.modules is enough; PyImport_GetModule would ask its
 * spec each time, and names as C strings would be made and hashed each time (0.26 us
 * for both). */
static PyObject *running_task(struct sd_ext *ext)
{
    PyObject *modules = sd_compat_python_ends() ? NULL : PyImport_GetModuleDict();
    PyObject *module =
        modules ? PyDict_GetItemWithError(modules, ext->asyncio[SD_ASYNCIO_MODULE])
                : NULL;
    PyObject *loop, *task = NULL;

    if (!module)
        return NULL;
    Py_INCREF(module);
    loop =
        PyObject_CallMethodObjArgs(module, ext->asyncio[SD_ASYNCIO_RUNNING_LOOP], NULL);
    if (loop && loop != Py_None)
        task = task_of(ext, module, loop);
    Py_XDECREF(task);
    Py_XDECREF(loop);
    Py_DECREF(module);
    return task == Py_None ? NULL : task;
}

uint64_t sd_nest_task(struct sd_ext *ext, struct sd_py_nest *n)
{
    PyObject *task = running_task(ext);

    PyErr_Clear();
    if (!task)
        return 0;
    if (n->task != (uintptr_t)task) {
        n->task = (uintptr_t)task;
        n->task_number = ++ext->n_tasks;
    }
    return n->task_number;
}

/* --- The type, which nobody sees */

static int nest_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct sd_py_nest *n = (struct sd_py_nest *)self;

    Py_VISIT(n->below);
    SD_VISIT_TYPE(self);
    return 0;
}

static int nest_clear(PyObject *self)
{
    struct sd_py_nest *n = (struct sd_py_nest *)self;

    Py_CLEAR(n->below);
    return 0;
}

static void nest_dealloc(PyObject *self)
{
    struct sd_py_nest *n = (struct sd_py_nest *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    nest_clear(self);
    Py_CLEAR(n->context);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot nest_slots[] = {
    { Py_tp_doc, "The open sections of one context." },
    { Py_tp_dealloc, nest_dealloc },
    { Py_tp_traverse, nest_traverse },
    { Py_tp_clear, nest_clear },
    { 0, NULL },
};

PyType_Spec sd_nest_spec = {
    .name = "sonde.Nest",
    .basicsize = sizeof(struct sd_py_nest),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = nest_slots,
};
