/* SPDX-License-Identifier: MIT */
#include "ext/alloc/py_traces.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "collect/alloc/traces.h"

enum { MOST_FRAMES = 65535 };

static int limit = 1; /* frames of a trace; of the one recording of the process */

/* --- Beginning and end */

static PyObject *at_end(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    sd_traces_stop();
    Py_RETURN_NONE;
}

/* While the interpreter still has all of its threads and modules. */
static void watch_end(void)
{
    static PyMethodDef method = { "sonde_traces_end", at_end, METH_NOARGS, NULL };
    static bool is_watched;
    PyObject *atexit = is_watched ? NULL : PyImport_ImportModule("atexit");
    PyObject *function = atexit ? PyCFunction_New(&method, NULL) : NULL;
    PyObject *done =
        function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;

    is_watched |= done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(function);
    Py_XDECREF(atexit);
    PyErr_Clear();
}

PyObject *sd_py_traces_start(PyObject *module, PyObject *args)
{
    int n = 1;

    (void)module;
    if (!PyArg_ParseTuple(args, "|i:start", &n))
        return NULL;
    if (n < 1 || n > MOST_FRAMES)
        return PyErr_Format(PyExc_ValueError,
                            "the number of frames must be in range [1; %d]",
                            MOST_FRAMES);
    if (sd_traces_are_on())
        Py_RETURN_NONE;
    watch_end();
    if (sd_traces_start() < 0) {
        PyErr_SetString(PyExc_RuntimeError, sd_fail_text());
        return NULL;
    }
    limit = n;
    Py_RETURN_NONE;
}

PyObject *sd_py_traces_stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    sd_traces_stop();
    Py_RETURN_NONE;
}

/* --- Figures */

PyObject *sd_py_traces_are_on(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(sd_traces_are_on());
}

PyObject *sd_py_traces_limit(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(limit);
}

PyObject *sd_py_traces_memory(PyObject *module, PyObject *unused)
{
    struct sd_traces_figures f = sd_traces_figures();

    (void)module, (void)unused;
    return Py_BuildValue("KK", (unsigned long long)f.live_bytes,
                         (unsigned long long)f.peak_bytes);
}

PyObject *sd_py_traces_own_memory(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(sd_traces_figures().own_bytes);
}

PyObject *sd_py_traces_reset_peak(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    sd_traces_reset_peak();
    Py_RETURN_NONE;
}

PyObject *sd_py_traces_clear(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    sd_traces_clear();
    Py_RETURN_NONE;
}

/* --- Frames as objects */

struct known_stack {
    PyObject *frames; /* borrowed from `interned` */
    size_t depth;     /* frames in all */
    unsigned domain;
};

struct frames {
    size_t limit; /* of the beginning: a finalizer can start another recording */
    struct sd_trace_frame *buffer; /* of the limit */
    struct sd_table places;        /* site and line: place in the list */
    PyObject *objects;             /* list: (file, line) */
    PyObject *interned;            /* dict: each tuple of frames is itself */
    struct sd_table stacks;        /* stack: place in the array */
    struct known_stack *known;
    size_t n_known, cap_known;
    bool has_totals; /* traces say how many frames there were */
};

static bool begin_frames(struct frames *f)
{
    *f = (struct frames){ .limit = (size_t)limit };
    f->buffer = sd_alloc(f->limit * sizeof *f->buffer);
    f->objects = PyList_New(0);
    f->interned = PyDict_New();
    if (!f->buffer)
        PyErr_NoMemory();
    return f->buffer && f->objects && f->interned;
}

static void release(struct frames *f)
{
    sd_free(f->buffer);
    sd_free(f->known);
    sd_table_release(&f->places);
    sd_table_release(&f->stacks);
    Py_XDECREF(f->objects);
    Py_XDECREF(f->interned);
}

static PyObject *new_frame(const struct sd_trace_frame *at)
{
    size_t n = 0;
    const char *file = at->site ? sd_traces_file(at->site, &n) : NULL;
    PyObject *name = file ? PyUnicode_DecodeUTF8(file, (Py_ssize_t)n, "surrogateescape")
                          : PyUnicode_FromString("<unknown>");

    return name ? Py_BuildValue("(NI)", name, file ? at->line : 0) : NULL;
}

/* Borrowed. */
static PyObject *frame_of(struct frames *f, const struct sd_trace_frame *at)
{
    uint64_t key = (uint64_t)at->site << 32 | at->line, place;
    PyObject *frame;
    int rc;

    if (sd_table_get(&f->places, key, &place))
        return PyList_GET_ITEM(f->objects, (Py_ssize_t)place);
    frame = new_frame(at);
    if (!frame)
        return NULL;
    rc = PyList_Append(f->objects, frame);
    Py_DECREF(frame);
    if (rc < 0)
        return NULL;
    if (sd_table_put(&f->places, key, (uint64_t)PyList_GET_SIZE(f->objects) - 1) < 0)
        return PyErr_NoMemory();
    return frame;
}

static PyObject *new_frames(struct frames *f, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n), *same = NULL;

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *frame = frame_of(f, &f->buffer[i]);

        if (frame)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, Py_NewRef(frame));
        else
            Py_CLEAR(tuple);
    }
    if (tuple)
        same = PyDict_SetDefault(f->interned, tuple, tuple);
    Py_XDECREF(tuple);
    return same;
}

/* Its frames, and how many there are; NULL with an exception. */
static const struct known_stack *frames_of(struct frames *f, uint32_t stack)
{
    struct known_stack one, *known;
    uint64_t at;

    if (sd_table_get(&f->stacks, stack, &at))
        return &f->known[at];
    one.domain = sd_traces_domain(stack);
    one.depth = sd_traces_stack(stack, f->buffer, f->limit);
    if (one.depth == 0) {
        one.depth = 1;
        f->buffer[0] = (struct sd_trace_frame){ 0, 0 };
    }
    one.frames = new_frames(f, one.depth < f->limit ? one.depth : f->limit);
    if (!one.frames)
        return NULL;
    known = sd_grow_array(f->known, &f->cap_known, f->n_known + 1, sizeof *known);
    if (!known || sd_table_put(&f->stacks, stack, f->n_known) < 0) {
        f->known = known ? known : f->known;
        PyErr_NoMemory();
        return NULL;
    }
    f->known = known;
    known[f->n_known] = one;
    return &known[f->n_known++];
}

/* --- Traces as objects */

static PyObject *trace_object(struct frames *f, const struct sd_trace *t)
{
    const struct known_stack *stack = frames_of(f, t->stack);

    if (!stack)
        return NULL;
    if (!f->has_totals)
        return Py_BuildValue("(IKO)", stack->domain, (unsigned long long)t->size,
                             stack->frames);
    return Py_BuildValue("(IKOn)", stack->domain, (unsigned long long)t->size,
                         stack->frames, (Py_ssize_t)stack->depth);
}

static PyObject *traces_list(struct frames *f, const struct sd_trace *traces, size_t n)
{
    PyObject *all = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = trace_object(f, &traces[i]);

        if (one)
            PyList_SET_ITEM(all, (Py_ssize_t)i, one);
        else
            Py_CLEAR(all);
    }
    return all;
}

PyObject *sd_py_traces_all(PyObject *module, PyObject *has_totals)
{
    struct sd_trace *traces = NULL;
    struct frames frames;
    PyObject *all = NULL;
    size_t n = 0;
    int rc = sd_traces_copy(&traces, &n);

    (void)module;
    if (rc < 0)
        return sd_ext_raise(rc);
    if (begin_frames(&frames)) {
        frames.has_totals = has_totals == Py_True;
        all = traces_list(&frames, traces, n);
    }
    release(&frames);
    sd_free(traces);
    return all;
}

/* The block begins before the object where that has a header of the collector's, or
 * words for its dict and weak references. */
static bool find(uint64_t object, struct sd_trace *out)
{
    static const uint64_t before[] = { 0, 2 * sizeof(void *), 4 * sizeof(void *) };

    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (sd_traces_find(object - before[i], out) && out->size > before[i])
            return true;
    return false;
}

PyObject *sd_py_traces_of(PyObject *module, PyObject *object)
{
    const struct known_stack *stack = NULL;
    PyObject *result = NULL;
    struct frames frames;
    struct sd_trace t;

    (void)module;
    if (!find((uint64_t)(uintptr_t)object, &t))
        Py_RETURN_NONE;
    if (begin_frames(&frames))
        stack = frames_of(&frames, t.stack);
    if (stack)
        result = Py_NewRef(stack->frames);
    release(&frames);
    return result;
}
