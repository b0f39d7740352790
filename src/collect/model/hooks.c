/* SPDX-License-Identifier: MIT */
/* hooks: follows modules as they are entered and left, and finds the layer of an
 * operator.
 *
 * In a forward that is easy: the innermost layer that is open.  A backward opens none,
 * so the forward notes at each border between layers how many nodes of the graph there
 * were; the number of the node that runs then tells the layer that made it. */
#include "cpython/compat.h"

#include "collect/model/model_pass.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { OPEN_DEPTH = 6 }; /* lists in lists of a layer's arguments and results */

/* --- Whose it is */

uint32_t sd_pass_layer_now(struct sd_pass *r)
{
    return r->n_open > 0 ? r->open[r->n_open - 1].layer : SD_MODEL_ROOT;
}

/* Nodes that are made from now on are of the layer that is open. */
static int note_border(struct sd_pass *r)
{
    struct sd_border *grown,
        *last = r->n_borders ? &r->borders[r->n_borders - 1] : NULL;
    PyObject *number;
    int64_t sequence;

    if (!r->request.has_backward || !r->torch.sequence_now)
        return 0;
    number = PyObject_CallObject(r->torch.sequence_now, NULL);
    sequence = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (sequence < 0)
        return PyErr_Occurred() ? -1 : 0;
    if (last && last->sequence == sequence) { /* nothing was made in between */
        last->layer = sd_pass_layer_now(r);
        return 0;
    }
    grown = sd_grow_array(r->borders, &r->cap_borders, r->n_borders + 1,
                          sizeof *r->borders);
    if (!grown)
        return sd_pass_raise(SD_ENOMEM);
    r->borders = grown;
    r->borders[r->n_borders++] = (struct sd_border){ sequence, sd_pass_layer_now(r) };
    return 0;
}

uint32_t sd_pass_layer_of_node(const struct sd_pass *r, int64_t sequence)
{
    size_t low = 0, high = r->n_borders;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->borders[middle].sequence <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? r->borders[low - 1].layer : SD_MODEL_ROOT;
}

/* The node of the graph that runs: a new reference, or NULL without an exception. */
static PyObject *node_now(struct sd_pass *r)
{
    PyObject *node =
        r->torch.node_now ? PyObject_CallObject(r->torch.node_now, NULL) : NULL;

    PyErr_Clear();
    if (node == Py_None)
        Py_CLEAR(node);
    return node;
}

static bool has_node(struct sd_pass *r)
{
    PyObject *node = node_now(r);

    Py_XDECREF(node);
    return node != NULL;
}

bool sd_pass_is_in_backward(struct sd_pass *r)
{
    return r->is_backward || (r->request.is_lent && has_node(r));
}

uint32_t sd_pass_layer_in_backward(struct sd_pass *r)
{
    PyObject *node, *number = NULL;
    int64_t sequence = -1;

    if (r->n_open > 0) /* a forward that is done over again */
        return sd_pass_layer_now(r);
    node = node_now(r);
    if (node)
        number = PyObject_CallMethod(node, "_sequence_nr", NULL);
    if (number && PyLong_Check(number))
        sequence = PyLong_AsLongLong(number);
    PyErr_Clear();
    Py_XDECREF(node);
    Py_XDECREF(number);
    if (sequence >= 0)
        r->backward_layer = sd_pass_layer_of_node(r, sequence);
    return r->backward_layer;
}

/* --- In and out */

static struct sd_open_layer *push(struct sd_pass *r, PyObject *module, uint32_t layer)
{
    size_t before = r->cap_open;
    struct sd_open_layer *grown =
        sd_grow_array(r->open, &r->cap_open, r->n_open + 1, sizeof *r->open);

    if (!grown) {
        sd_pass_raise(SD_ENOMEM);
        return NULL;
    }
    r->open = grown;
    memset(r->open + before, 0, (r->cap_open - before) * sizeof *r->open);
    r->open[r->n_open].module = module;
    r->open[r->n_open].layer = layer;
    sd_operands_clear(&r->open[r->n_open].in);
    return &r->open[r->n_open++];
}

/* False: it is none of the model's. */
static bool find_layer(struct sd_pass *r, PyObject *module, uint32_t *layer)
{
    uint64_t found;

    if (!sd_table_get(&r->layer_of, (uint64_t)(uintptr_t)module, &found))
        return false;
    *layer = (uint32_t)found;
    return true;
}

static int enter_timed(struct sd_pass *r, PyObject *module, PyObject *args,
                       uint32_t layer)
{
    uint32_t outer = sd_pass_layer_now(r);

    if (r->request.has_backward && sd_pass_mark_nodes(r, args, outer) < 0)
        return -1;
    if (!push(r, module, layer))
        return -1;
    return sd_pass_times_border(r, layer);
}

/* Torch tells of all modules of the process.  One that is not known and runs in another
 * thread is another model's, which goes on meanwhile; those that are known may run in
 * threads of torch's, where a backward does a forward over again. */
static bool is_stranger(const struct sd_pass *r)
{
    return r->request.is_timing || (r->request.is_lent && !r->request.is_open) ||
           PyThread_get_thread_ident() != r->thread;
}

/* What is dispatched in a thread that the forward started is not told to us. */
static bool runs_elsewhere(struct sd_pass *r)
{
    return PyThread_get_thread_ident() != r->thread &&
           !(r->request.is_timing ? has_node(r) : sd_pass_is_in_backward(r));
}

int sd_pass_look_at_casts(struct sd_pass *r)
{
    PyObject *told = NULL;
    bool is_on;

    if (r->request.on_twins && r->torch.is_autocast && r->request.device)
        told =
            PyObject_CallFunctionObjArgs(r->torch.is_autocast, r->request.device, NULL);
    PyErr_Clear(); /* a device that has none, or an older torch */
    is_on = told == Py_True;
    Py_XDECREF(told);
    r->is_uncast |= is_on;
    if (!is_on || !r->request.has_memory || r->request.is_blank)
        return 0;
    sd_pass_tell(&r->refused, "autocast");
    PyErr_SetString(PyExc_RuntimeError,
                    "under autocast, what is kept is known only with data");
    return -1;
}

int sd_pass_enter(struct sd_pass *r, PyObject *module, PyObject *args)
{
    struct sd_open_layer *open;
    uint32_t layer;

    if (!find_layer(r, module, &layer)) {
        if (is_stranger(r) || sd_pass_is_in_backward(r))
            return 0;
        if ((r->request.is_open ? sd_pass_walk_met(r, module)
                                : sd_pass_walk_made(r, module, args)) < 0)
            return -1;
        if (!find_layer(r, module, &layer))
            return 0;
    }
    if (runs_elsewhere(r)) {
        sd_pass_tell(&r->elsewhere,
                     sd_model_text(r->model, r->model->layers[layer].name));
        return 0;
    }
    r->has_failed = false;
    if (r->request.is_timing)
        return enter_timed(r, module, args, layer);
    if (sd_pass_look_at_casts(r) < 0)
        return -1;
    open = push(r, module, layer);
    if (!open || sd_operands_find(&open->in, &r->torch, args, OPEN_DEPTH) < 0)
        return -1;
    if (!sd_pass_is_in_backward(r))
        sd_model_entered(r->model, layer);
    return note_border(r);
}

void sd_pass_failed(struct sd_pass *r, uint32_t layer)
{
    if (!r->has_failed)
        r->failed_in = layer;
    r->has_failed = true;
}

/* An exception is on its way: the innermost layer hears of it first. */
static bool is_failing(PyObject *result)
{
    PyObject *type, *value, *traceback;
    bool is;

    if (result != Py_None)
        return false;
    PyErr_GetExcInfo(&type, &value, &traceback);
    is = value && value != Py_None;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return is;
}

/* Keyword arguments are told behind a call only: torch's hook before it has none. */
static int note_call(struct sd_pass *r, struct sd_open_layer *open, PyObject *kwargs,
                     PyObject *result)
{
    sd_operands_clear(&r->out);
    if (kwargs && sd_operands_find(&open->in, &r->torch, kwargs, OPEN_DEPTH) < 0)
        return -1;
    if (sd_operands_find(&r->out, &r->torch, result, OPEN_DEPTH) < 0)
        return -1;
    sd_operands_finish(&open->in);
    sd_operands_finish(&r->out);
    return sd_pass_raise(sd_model_called(r->model, open->layer, open->in.all,
                                         open->in.n, r->out.all, r->out.n));
}

int sd_pass_leave(struct sd_pass *r, PyObject *module, PyObject *kwargs,
                  PyObject *result)
{
    size_t at = r->n_open;
    int rc = 0;

    while (at > 0 && r->open[at - 1].module != module)
        at--;
    if (at == 0 || runs_elsewhere(r))
        return 0;
    if (is_failing(result)) {
        sd_pass_failed(r, r->open[r->n_open - 1].layer);
    } else if (r->request.is_timing && r->request.has_backward) {
        rc = sd_pass_mark_nodes(r, result, r->open[at - 1].layer);
    } else if (!r->request.is_timing && !sd_pass_is_in_backward(r)) {
        rc = note_call(r, &r->open[at - 1], kwargs, result);
    }
    r->n_open = at - 1;
    if (rc < 0)
        return rc;
    return r->request.is_timing ? sd_pass_times_border(r, sd_pass_layer_now(r))
                                : note_border(r);
}
