/* SPDX-License-Identifier: MIT */
/* timing: takes times at the borders between layers, in a forward and a backward.
 *
 * A device that works while we go on has a clock of its own: at each border it is told
 * to look at it when it comes there, and the times are asked for behind the pass.
 *
 * Hooks of modules for the backward cannot be used: they refuse modules that work in
 * place, as the ReLU of every ResNet does.  A node of the graph can have a hook of its
 * own, which is called before it runs.  The node that made a layer's result opens that
 * layer's backward; the node that made what the layer was given closes it, and is of
 * the layer around. */
#include "cpython/compat.h"

#include "collect/model/model_pass.h"

#include "base/clock.h"
#include "base/mem.h"

/* --- Borders */

static int stamp(struct sd_pass *r, uint32_t layer)
{
    uint32_t *grown = sd_grow_array(r->stamped, &r->cap_stamped, r->n_stamped + 1,
                                    sizeof *r->stamped);
    PyObject *done;

    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    r->stamped = grown;
    r->stamped[r->n_stamped++] = layer;
    done = PyObject_CallMethod(r->self, "stamp", NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int sd_pass_times_begin(struct sd_pass *r)
{
    r->n_open = r->n_stamped = 0;
    if (r->request.is_stamped)
        return stamp(r, SD_MODEL_ROOT);
    sd_times_begin(&r->times, SD_MODEL_ROOT, sd_clock_ns());
    return 0;
}

int sd_pass_times_border(struct sd_pass *r, uint32_t layer)
{
    if (!r->request.is_stamped)
        sd_times_border(&r->times, layer, sd_clock_ns());
    else if (r->n_stamped > 0) /* else no pass runs */
        return stamp(r, layer);
    return 0;
}

/* The pass over again, by the device's clock: one time for each border. */
static int replay(struct sd_pass *r, PyObject *stamps, bool is_backward)
{
    int64_t last = 0;

    for (size_t i = 0; i < r->n_stamped; i++) {
        int64_t at = PyLong_AsLongLong(PyList_GET_ITEM(stamps, (Py_ssize_t)i));

        if (PyErr_Occurred())
            return -1;
        at = at > last ? at : last; /* streams of a device need not agree */
        last = at;
        if (i == 0)
            sd_times_begin(&r->times, r->stamped[i], (uint64_t)at);
        else if (i + 1 < r->n_stamped)
            sd_times_border(&r->times, r->stamped[i], (uint64_t)at);
        else
            sd_times_end(&r->times, is_backward, (uint64_t)at);
    }
    return 0;
}

static int end_stamped(struct sd_pass *r, bool is_backward)
{
    PyObject *stamps;
    int rc = stamp(r, SD_MODEL_ROOT);

    stamps = rc == 0 ? PyObject_CallMethod(r->self, "stamps", NULL) : NULL;
    if (stamps && PyList_Check(stamps) &&
        (size_t)PyList_GET_SIZE(stamps) == r->n_stamped)
        rc = replay(r, stamps, is_backward);
    else if (stamps)
        PyErr_SetString(PyExc_ValueError, "expected a time for each border");
    Py_XDECREF(stamps);
    r->n_stamped = 0;
    return PyErr_Occurred() ? -1 : rc;
}

void sd_pass_take_marks(struct sd_pass *r)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyObject *handles = r->marks ? PyDict_Values(r->marks) : NULL;

    if (r->marks)
        PyDict_Clear(r->marks);
    for (Py_ssize_t i = 0; handles && i < PyList_GET_SIZE(handles); i++) {
        PyObject *done =
            PyObject_CallMethod(PyList_GET_ITEM(handles, i), "remove", NULL);

        Py_XDECREF(done);
        PyErr_Clear();
    }
    Py_XDECREF(handles);
    sd_pending_exception_give_back(raised);
}

int sd_pass_times_end(struct sd_pass *r, bool is_backward)
{
    uint64_t now = sd_clock_ns();
    int rc = 0;

    if (r->request.is_stamped)
        rc = end_stamped(r, is_backward);
    else
        sd_times_end(&r->times, is_backward, now);
    if (is_backward) /* that of the forward is over, then */
        sd_pass_take_marks(r);
    return rc;
}

/* --- Nodes of the graph */

static PyObject *partial(PyObject *self, uint32_t layer)
{
    PyObject *module = PyImport_ImportModule("functools"), *made = NULL;
    PyObject *mark = PyObject_GetAttrString(self, "mark");

    if (module && mark)
        made = PyObject_CallMethod(module, "partial", "OI", mark, layer);
    Py_XDECREF(module);
    Py_XDECREF(mark);
    return made;
}

/* The first that asks for a node has it: the innermost layer leaves first. */
static int mark_node(struct sd_pass *r, PyObject *node, uint32_t layer)
{
    PyObject *hook, *handle = NULL;
    int rc;

    if (!r->marks && !(r->marks = PyDict_New()))
        return -1;
    rc = PyDict_Contains(r->marks, node);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    hook = partial(r->self, layer);
    if (hook)
        handle = PyObject_CallMethod(node, "register_prehook", "O", hook);
    rc = handle ? PyDict_SetItem(r->marks, node, handle) : -1;
    Py_XDECREF(hook);
    Py_XDECREF(handle);
    return rc;
}

static int mark_tensor(struct sd_pass *r, PyObject *tensor, uint32_t layer)
{
    PyObject *node = PyObject_GetAttrString(tensor, "grad_fn");
    int rc = node && node != Py_None ? mark_node(r, node, layer) : 0;

    Py_XDECREF(node);
    if (rc < 0 || PyErr_Occurred())
        PyErr_Clear(); /* a node without hooks: its time is its neighbour's */
    return 0;
}

static int mark_within(struct sd_pass *r, PyObject *in, uint32_t layer, int depth)
{
    if (sd_torch_is_tensor(&r->torch, in))
        return mark_tensor(r, in, layer);
    if (depth == 0 || (!PyTuple_Check(in) && !PyList_Check(in)))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(in); i++)
        if (mark_within(r, PySequence_Fast_GET_ITEM(in, i), layer, depth - 1) < 0)
            return -1;
    return 0;
}

int sd_pass_mark_nodes(struct sd_pass *r, PyObject *in, uint32_t layer)
{
    return mark_within(r, in, layer, SD_TWINS_DEPTH);
}
