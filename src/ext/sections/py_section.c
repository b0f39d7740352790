/* SPDX-License-Identifier: MIT */
#include "ext/sections/py_section.h"

#include <stddef.h>
#include <string.h>

#include "collect/sections/section_block.h"
#include "ext/sections/py_interval.h"

/* --- Names */

const char *sd_py_section_name_bytes(PyObject *o, Py_ssize_t *n, PyObject **owned)
{
    const char *s;

    *owned = NULL;
    if (PyUnicode_IS_READY(o) && PyUnicode_IS_COMPACT_ASCII(o)) {
        *n = PyUnicode_GET_LENGTH(o);
        return (const char *)PyUnicode_DATA(o);
    }
    s = PyUnicode_AsUTF8AndSize(o, n);
    if (s || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return s;
    PyErr_Clear();
    *owned = PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass");
    if (!*owned)
        return NULL;
    *n = PyBytes_GET_SIZE(*owned);
    return PyBytes_AS_STRING(*owned);
}

PyObject *sd_py_section_path_object(const struct sd_entry *e)
{
    return PyUnicode_DecodeUTF8(e->path, e->n, "surrogatepass");
}

/* An exact str, so that no method of a subclass is ever run; NULL with TypeError. */
static PyObject *exact_name(PyObject *o)
{
    if (PyUnicode_CheckExact(o))
        return Py_NewRef(o);
    if (PyUnicode_Check(o))
        return PyUnicode_FromObject(o);
    PyErr_Format(PyExc_TypeError, "the name of a section must be str, not %.100s",
                 Py_TYPE(o)->tp_name);
    return NULL;
}

/* --- Begin and end */

/* The section whose name goes before ours: the nearest of the same Profiler. */
static const struct sd_path_step *step_around(const struct sd_py_section *s)
{
    const struct sd_py_section *o = s->around;

    while (o && !(sd_py_section_is_around(o) && o->profiler == s->profiler))
        o = o->around;
    return o ? o->step : NULL;
}

static bool find_step(struct sd_py_section *s)
{
    PyObject *owned;
    Py_ssize_t n;
    const char *name = sd_py_section_name_bytes(s->name, &n, &owned);

    s->step = NULL;
    if (name && n <= INT32_MAX)
        s->step = sd_store_step(&s->profiler->store, step_around(s), name, (uint32_t)n);
    Py_XDECREF(owned);
    return s->step != NULL;
}

/* Finds its place among the open ones; false when there is no memory to know it. */
static bool find_place(struct sd_py_section *s)
{
    s->nest = sd_nest_here(s->profiler->ext);
    if (s->nest) {
        s->around = sd_nest_innermost(s->nest);
        Py_XINCREF(s->around);
        if (find_step(s))
            return true;
    }
    PyErr_Clear();
    Py_CLEAR(s->nest);
    Py_CLEAR(s->around);
    return false;
}

static unsigned what_to_measure(const struct sd_py_section *s, bool has_capture)
{
    unsigned measure = s->profiler->store.measure;

    if (s->kind == SD_KIND_CPU)
        measure |= SD_MEASURE_THREAD_CPU;
    if (s->kind == SD_KIND_PROCESS)
        measure |= SD_MEASURE_PROCESS_CPU;
    /* Who asked for everything finds CPU time beside wall time in the capture. */
    if (has_capture && (measure & SD_MEASURE_ALL) == SD_MEASURE_ALL)
        measure |= SD_MEASURE_THREAD_CPU;
    return measure;
}

void sd_py_section_begin(struct sd_py_section *s)
{
    struct sd_py_profiler *p = s->profiler;
    bool has_capture = sd_section_is_wanted();
    uint64_t task;

    s->row = SD_STORE_NONE;
    if (!find_place(s)) {
        p->n_lost++;
        return;
    }
    if (p->keeps &&
        sd_store_open(&p->store, s->step->entry, s->kind, s->unit, &s->row) < 0)
        p->n_lost++;
    task = has_capture ? sd_nest_task(p->ext, s->nest) : 0;
    s->is_open = true; /* from here to there nothing runs that could see it half open */
    sd_nest_push(s->nest, s);
    sd_section_begin(&s->core, &s->step->name, what_to_measure(s, has_capture), task);
    if (s->row != SD_STORE_NONE)
        sd_store_begun(&p->store, s->row, &s->core, p->epoch_ns);
}

void sd_py_section_end(struct sd_py_section *s, bool raised)
{
    struct sd_py_profiler *p = s->profiler;
    struct sd_py_nest *nest = s->nest;

    if (!s->is_open)
        return;
    sd_section_end(&s->core, raised);
    s->is_open = false;
    if (s->row != SD_STORE_NONE)
        sd_store_ended(&p->store, s->row, &s->core, p->epoch_ns,
                       raised ? SD_ROW_RAISED : 0);
    s->nest = NULL;
    sd_nest_pop(nest, s);
    Py_DECREF(nest);
}

/* --- Objects */

struct sd_py_section *sd_py_section_new(struct sd_py_profiler *p, PyObject *name)
{
    struct sd_ext *ext = p->ext;
    PyObject *exact = sd_ext_is_gone(ext) ? NULL : exact_name(name);
    struct sd_py_section *s;

    if (!exact)
        return NULL;
    if (ext->n_free > 0) {
        s = (struct sd_py_section *)ext->free[--ext->n_free];
        sd_compat_revive((PyObject *)s);
    } else {
        s = PyObject_GC_New(struct sd_py_section, ext->section);
    }
    if (!s) {
        Py_DECREF(exact);
        return NULL;
    }
    s->name = exact;
    Py_INCREF(p);
    s->profiler = p;
    s->around = s->again = NULL;
    s->first = NULL;
    s->nest = NULL;
    s->step = NULL;
    s->row = SD_STORE_NONE;
    s->kind = p->kind;
    s->unit = p->unit;
    s->is_open = s->is_aside = false;
    PyObject_GC_Track(s);
    return s;
}

static int section_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct sd_py_section *s = (struct sd_py_section *)self;

    Py_VISIT(s->profiler);
    Py_VISIT(s->around);
    Py_VISIT(s->nest);
    Py_VISIT(s->again);
    SD_VISIT_TYPE(self);
    return 0;
}

/* An open section that its program has dropped ends by that. */
static void end_abandoned(struct sd_py_section *s)
{
    struct sd_pending_exception raised;

    if (!s->is_open)
        return;
    raised = sd_pending_exception_take();
    sd_py_section_end(s, false);
    sd_pending_exception_give_back(raised);
}

static int section_clear(PyObject *self)
{
    struct sd_py_section *s = (struct sd_py_section *)self;
    struct sd_py_section *again = s->again;

    end_abandoned(s);
    for (struct sd_py_section *a = again; a; a = a->again)
        a->first = NULL;
    s->again = NULL;
    Py_XDECREF(again);
    Py_CLEAR(s->around);
    return 0;
}

/* Sections hang in chains as long as nesting was deep; the trashcan keeps their end
 * from using as much of the C stack. */
static void section_dealloc(PyObject *self)
{
    struct sd_py_section *s = (struct sd_py_section *)self;
    PyTypeObject *type = Py_TYPE(self);
    struct sd_ext *ext = s->profiler->ext;

    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, section_dealloc) section_clear(self);
    Py_CLEAR(s->name);
    if (ext->n_free < SD_FREE_SECTIONS && !ext->is_cleared) {
        /* Kept with its reference to the type, which keeps `ext`. */
        ext->free[ext->n_free++] = self;
        Py_CLEAR(s->profiler);
    } else {
        Py_CLEAR(s->profiler);
        PyObject_GC_Del(self);
        Py_DECREF(type);
    }
    Py_TRASHCAN_END
}

void sd_py_section_free(PyObject *free)
{
    PyTypeObject *type = Py_TYPE(free);

    PyObject_GC_Del(free);
    Py_DECREF(type);
}

/* The same object entered once more, while it is open or later: a section of its own
 * under the same name.  `around` is thus set once in a section's life, and the ways up
 * through ended ones never lead in a circle. */
static void begin_again(struct sd_py_section *s)
{
    struct sd_py_section *more = sd_py_section_new(s->profiler, s->name);

    if (!more) {
        PyErr_Clear();
        s->profiler->n_lost++;
        return;
    }
    more->kind = s->kind;
    more->unit = s->unit;
    more->first = s;
    more->again = s->again;
    s->again = more; /* takes the reference */
    sd_py_section_begin(more);
    if (!s->is_open) /* else its own row is still to be filled */
        s->row = more->row;
}

/* Which of the entries of this object ends now: the innermost of this context, or,
 * when none of them is open in it, the newest. */
static struct sd_py_section *entry_to_end(struct sd_py_section *s)
{
    struct sd_py_nest *nest;
    struct sd_py_section *o;

    if (!s->again)
        return s;
    nest = sd_nest_here(s->profiler->ext);
    if (!nest)
        PyErr_Clear();
    o = nest ? sd_nest_innermost(nest) : NULL;
    while (o && !(o->is_open && (o == s || o->first == s)))
        o = o->around;
    Py_XDECREF(nest);
    return o ? o : s->again;
}

static void end_again(struct sd_py_section *s, struct sd_py_section *ended, bool raised)
{
    struct sd_py_section **link = &s->again;

    Py_INCREF(ended);
    sd_py_section_end(ended, raised);
    while (*link && *link != ended)
        link = &(*link)->again;
    if (*link) {
        *link = ended->again; /* takes over the reference it held */
        ended->again = NULL;
        ended->first = NULL;
        Py_DECREF(ended);
    }
    Py_DECREF(ended);
}

static PyObject *section_enter(PyObject *self, PyObject *unused)
{
    struct sd_py_section *s = (struct sd_py_section *)self;

    (void)unused;
    if (s->step) /* it has begun before */
        begin_again(s);
    else
        sd_py_section_begin(s);
    return Py_NewRef(self);
}

static PyObject *section_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct sd_py_section *s = (struct sd_py_section *)self;
    struct sd_py_section *ended = entry_to_end(s);
    bool raised = n > 0 && args[0] != Py_None;

    if (ended == s)
        sd_py_section_end(s, raised);
    else
        end_again(s, ended, raised);
    Py_RETURN_NONE;
}

static PyObject *section_decorate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "function", NULL };
    PyObject *function, *both, *made;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:section", names, &function))
        return NULL;
    both = PyTuple_Pack(2, self, function);
    made = both ? sd_ext_adapter("_adapters", "decorate", both) : NULL;
    Py_XDECREF(both);
    return made;
}

static PyObject *section_interval(PyObject *self, void *unused)
{
    struct sd_py_section *s = (struct sd_py_section *)self;

    (void)unused;
    if (s->row == SD_STORE_NONE)
        Py_RETURN_NONE;
    return sd_interval_new(s->profiler, s->row);
}

static PyObject *section_unit(PyObject *self, void *unused)
{
    const struct sd_py_section *s = (struct sd_py_section *)self;

    (void)unused;
    return Py_NewRef(s->profiler->ext->words[SD_WORD_BYTES + s->unit]);
}

static PyObject *section_kind(PyObject *self, void *unused)
{
    const struct sd_py_section *s = (struct sd_py_section *)self;

    (void)unused;
    return Py_NewRef(s->profiler->ext->words[SD_WORD_WALL + s->kind]);
}

static PyObject *section_repr(PyObject *self)
{
    struct sd_py_section *s = (struct sd_py_section *)self;

    return PyUnicode_FromFormat("<section %R%s>", s->name, s->is_open ? ", open" : "");
}

static PyMethodDef section_methods[] = {
    { "__enter__", section_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))section_exit, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef section_members[] = {
    { "name", T_OBJECT, offsetof(struct sd_py_section, name), READONLY,
      "Its own name, without those around it." },
    { "profiler", T_OBJECT, offsetof(struct sd_py_section, profiler), READONLY,
      "The Profiler that made it." },
    { NULL, 0, 0, 0, NULL },
};

static PyGetSetDef section_getset[] = {
    { "interval", section_interval, NULL,
      "What was measured the last time it was entered; None before.", NULL },
    { "memory_unit", section_unit, NULL, "\"bytes\", \"megabytes\", ...", NULL },
    { "time_kind", section_kind, NULL, "\"wall\", \"cpu\" or \"process\"", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot section_slots[] = {
    { Py_tp_doc,
      "A named region of code: `with profiler(\"name\"):`, or a decorator." },
    { Py_tp_dealloc, section_dealloc },
    { Py_tp_traverse, section_traverse },
    { Py_tp_clear, section_clear },
    { Py_tp_repr, section_repr },
    { Py_tp_call, section_decorate },
    { Py_tp_methods, section_methods },
    { Py_tp_members, section_members },
    { Py_tp_getset, section_getset },
    { 0, NULL },
};

PyType_Spec sd_section_spec = {
    .name = "sonde.Section",
    .basicsize = sizeof(struct sd_py_section),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = section_slots,
};

/* --- profiler("name") */

static int parse_options(struct sd_py_section *s, PyObject *unit, PyObject *kind)
{
    if (unit && unit != Py_None && !sd_parse_unit(unit, &s->unit)) {
        PyErr_Format(PyExc_ValueError, "Unknown memory unit: %S", unit);
        return -1;
    }
    if (kind && kind != Py_None && !sd_parse_kind(kind, &s->kind)) {
        PyErr_Format(PyExc_ValueError, "Unknown timer type: %S", kind);
        return -1;
    }
    return 0;
}

/* Sorts (name, memory_unit, time_kind), by position or keyword, into `out`. */
static int sort_arguments(PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                          PyObject *out[3])
{
    static const char *const names[] = { "name", "memory_unit", "time_kind" };
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    if (n > 3) {
        PyErr_Format(PyExc_TypeError, "a section takes at most 3 arguments, not %zd",
                     n);
        return -1;
    }
    memcpy(out, args, (size_t)n * sizeof *out);
    for (Py_ssize_t k = 0; k < n_keywords; k++) {
        PyObject *word = PyTuple_GET_ITEM(kwnames, k);
        int which = 0;

        while (which < 3 && PyUnicode_CompareWithASCIIString(word, names[which]) != 0)
            which++;
        if (which == 3 || out[which]) {
            PyErr_Format(PyExc_TypeError, "a section takes no %sargument %R",
                         which == 3 ? "" : "second ", word);
            return -1;
        }
        out[which] = args[n + k];
    }
    if (out[0])
        return 0;
    PyErr_SetString(PyExc_TypeError, "a section needs a name");
    return -1;
}

/* hot: a section for the price of one object from the free list. */
PyObject *sd_py_section_call(PyObject *profiler, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)profiler;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *sorted[3] = { NULL, NULL, NULL };
    struct sd_py_section *s;

    if (p->is_disabled || (!p->keeps && !sd_section_is_wanted()))
        return sd_ext_is_gone(p->ext) ? NULL : Py_NewRef(p->ext->quiet_one);
    if (n == 1 && !kwnames)
        sorted[0] = args[0];
    else if (sort_arguments(args, n, kwnames, sorted) < 0)
        return NULL;
    s = sd_py_section_new(p, sorted[0]);
    if (!s && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        p->n_lost++;
        return Py_NewRef(p->ext->quiet_one);
    }
    if (s && parse_options(s, sorted[1], sorted[2]) < 0)
        Py_CLEAR(s);
    return (PyObject *)s;
}

/* --- What a disabled Profiler hands out: one object for all */

static PyObject *quiet_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *quiet_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    (void)args;
    (void)n;
    Py_RETURN_NONE;
}

static PyObject *quiet_decorate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *function;

    (void)self;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O:section", &function))
        return NULL;
    return Py_NewRef(function);
}

static PyObject *quiet_none(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_NONE;
}

static void quiet_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef quiet_methods[] = {
    { "__enter__", quiet_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))quiet_exit, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef quiet_getset[] = {
    { "interval", quiet_none, NULL, "None: nothing is measured.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot quiet_slots[] = {
    { Py_tp_doc, "A section that is not measured." },
    { Py_tp_dealloc, quiet_dealloc },
    { Py_tp_call, quiet_decorate },
    { Py_tp_methods, quiet_methods },
    { Py_tp_getset, quiet_getset },
    { 0, NULL },
};

PyType_Spec sd_quiet_spec = {
    .name = "sonde.QuietSection",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = quiet_slots,
};
