/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/model_pass.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

int sd_pass_raise(int rc)
{
    if (rc < 0 && !PyErr_Occurred())
        PyErr_SetString(rc == SD_ENOMEM ? PyExc_MemoryError : PyExc_ValueError,
                        sd_fail_text());
    return rc < 0 ? -1 : 0;
}

/* --- Beginning and end */

int sd_pass_begin(struct sd_pass *r, PyObject *self, struct sd_model *model,
                  PyObject *module, const struct sd_pass_request *request)
{
    memset(r, 0, sizeof *r);
    r->self = self;
    r->model = model;
    r->thread = PyThread_get_thread_ident();
    r->request = *request;
    r->twins.torch = &r->torch;
    r->keep.torch = &r->torch;
    r->modules = PyList_New(0);
    r->data = PySet_New(NULL);
    if (!r->modules || !r->data || sd_torch_init(&r->torch) < 0)
        return -1;
    return request->is_open ? 0 : sd_pass_walk(r, module);
}

void sd_pass_tell(struct sd_first_names *t, const char *name)
{
    size_t most = sizeof t->names[0], n = strnlen(name, most - 1);

    while (n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80) /* no half character */
        n--;
    for (size_t i = 0; i < t->n && i < SD_FIRST_NAMES; i++)
        if (strlen(t->names[i]) == n && strncmp(t->names[i], name, n) == 0)
            return;
    if (t->n < SD_FIRST_NAMES)
        snprintf(t->names[t->n], most, "%.*s", (int)n, name);
    t->n++;
}

/* What the forward made is gone again; a note is all that is left of it.  Where there
 * is no memory for it nothing is said. */
static void tell(struct sd_pass *r, const struct sd_first_names *t, const char *before,
                 const char *behind)
{
    const char *more = t->n > SD_FIRST_NAMES ? ", ..." : "";

    if (t->n == 0)
        return;
    sd_model_note(r->model, "%s: %s%s%s%s%s%s; %s", before, t->names[0],
                  t->n > 1 ? ", " : "", t->names[1], t->n > 2 ? ", " : "", t->names[2],
                  more, behind);
}

void sd_pass_end(struct sd_pass *r)
{
    struct sd_pending_exception raised = sd_pending_exception_take();

    tell(r, &r->made, "the forward itself made layers",
         "they are counted, and sonde removed them again");
    tell(r, &r->replaced, "the forward itself replaced layers",
         "sonde counts the parameters of the layers before, and has put them back");
    tell(r, &r->unheld, "modules ran that the model does not hold",
         "what they compute counts for the layer that called them, their parameters do "
         "not");
    tell(r, &r->elsewhere, "layers ran in threads that the forward started",
         r->request.is_timing ? "their times are those of the layer that waits for them"
                              : "what they compute there is not counted");
    if (r->elsewhere.n == 0)
        tell(r, &r->untimed,
             "layers did not run by themselves when the model was timed",
             "torch ran the layer around them in another way, and that layer has their "
             "time");
    if (r->is_uncast)
        sd_model_note(r->model,
                      "the model runs under autocast, which casts only tensors "
                      "with data: bytes are those without its casts");
    sd_keep_put_back(&r->keep);
    for (size_t i = 0; i < r->cap_open; i++)
        sd_operands_release(&r->open[i].in);
    sd_free(r->open);
    sd_free(r->borders);
    sd_table_release(&r->layer_of);
    sd_table_release(&r->ignored);
    sd_table_release(&r->weights);
    sd_table_release(&r->makers);
    sd_table_release(&r->tensors);
    Py_CLEAR(r->data);
    sd_operands_release(&r->in);
    sd_operands_release(&r->out);
    sd_times_release(&r->times);
    sd_free(r->stamped);
    Py_CLEAR(r->modules);
    sd_pass_take_marks(r);
    Py_CLEAR(r->marks);
    sd_storages_release(&r->storages);
    sd_twins_release(&r->twins);
    sd_operators_release(&r->operators);
    sd_torch_release(&r->torch);
    memset(r, 0, sizeof *r);
    sd_pending_exception_give_back(raised);
}

/* --- The door */

/* A class that is torch's Tensor but for methods and __torch_function__ is none. */
static bool dispatches(const struct sd_pass *r, PyObject *type)
{
    PyObject *how;
    bool does;

    if (type == r->torch.tensor || type == r->torch.parameter)
        return false;
    how = PyObject_GetAttrString(type, "__torch_dispatch__");
    does = how && how != r->torch.no_dispatch;
    PyErr_Clear();
    Py_XDECREF(how);
    return does;
}

/* Tensors of a class that dispatches by itself are first its own affair: what it does
 * with plain tensors comes here then. */
static bool has_strangers(const struct sd_pass *r, PyObject *types)
{
    PyObject *list = types ? PySequence_Fast(types, "") : NULL;
    bool has = false;

    PyErr_Clear();
    for (Py_ssize_t i = 0; list && !has && i < PySequence_Fast_GET_SIZE(list); i++)
        has = dispatches(r, PySequence_Fast_GET_ITEM(list, i));
    Py_XDECREF(list);
    return has;
}

/* NotImplemented: it cannot be taken apart, after all. */
static PyObject *take_apart(struct sd_pass *r, const struct sd_operator *op,
                            PyObject *args, PyObject *kwargs)
{
    PyObject *words = kwargs ? Py_NewRef(kwargs) : PyDict_New();
    const char *how = op->is_of_functions ? "run_functions" : "decompose";
    PyObject *result =
        words ? PyObject_CallMethod(r->self, how, "OOO", op->func, args, words) : NULL;

    Py_XDECREF(words);
    return result;
}

/* A model that catches it goes another way than it does with data. */
static void tell_refused(struct sd_pass *r, const struct sd_operator *op)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)op->schema.n, op->schema.name);
    sd_pass_tell(&r->refused, name);
}

/* Behind it the node that ran is not known any more. */
static void tell_failed(struct sd_pass *r)
{
    struct sd_pending_exception raised = sd_pending_exception_take();

    sd_pass_failed(r, sd_pass_layer_in_backward(r));
    sd_pending_exception_give_back(raised);
}

static PyObject *call_and_record(struct sd_pass *r, const struct sd_operator *op,
                                 struct sd_pass_call *c)
{
    PyObject *result = r->request.on_twins
                           ? sd_pass_on_twins(r, op, c)
                           : PyObject_Call(op->call, c->args, c->kwargs);

    if (!result) {
        if (r->is_backward)
            tell_failed(r);
        if (r->request.on_twins && PyErr_ExceptionMatches(PyExc_Exception))
            tell_refused(r, op);
        return NULL;
    }
    if (sd_pass_record(r, op, c, result) < 0 ||
        (r->request.has_memory && sd_pass_watch_outputs(r, result) < 0))
        Py_CLEAR(result);
    return result;
}

PyObject *sd_pass_dispatch(struct sd_pass *r, PyObject *func, PyObject *types,
                           PyObject *args, PyObject *kwargs)
{
    const struct sd_operator_asks asks = { r->request.rules, r->request.is_known,
                                           r->request.is_product };
    struct sd_operator *op;
    struct sd_pass_call c;
    PyObject *result;

    if (kwargs == Py_None)
        kwargs = NULL;
    if (has_strangers(r, types))
        return Py_NewRef(Py_NotImplemented);
    if (r->is_ours)
        return PyObject_Call(func, args, kwargs);
    op = sd_operators_find(&r->operators, r->model, func, &asks);
    if (!op)
        return NULL;
    if (op->is_composite || op->is_of_functions) {
        result = take_apart(r, op, args, kwargs);
        if (!result && r->request.on_twins && PyErr_ExceptionMatches(PyExc_Exception))
            tell_refused(r, op);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    c = (struct sd_pass_call){ Py_NewRef(args), Py_XNewRef(kwargs) };
    result = call_and_record(r, op, &c);
    Py_DECREF(c.args);
    Py_XDECREF(c.kwargs);
    return result;
}
