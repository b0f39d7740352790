/* SPDX-License-Identifier: MIT */
/* py_model_run: `_sonde.ModelRun`, what torch and its hooks call while a model runs.
 *
 * A class of Python is both this and torch's TorchDispatchMode; torch then calls
 * __torch_dispatch__ here, without a frame of Python in between. */
#include "ext/model/py_model.h"

#include "analyse/model/op_cost.h"
#include "base/error.h"
#include "collect/model/model_pass.h"

#define FAST(f) ((PyCFunction)(void (*)(void))(f))

struct model_run {
    PyObject_HEAD struct sd_pass run;
    PyObject *model;          /* owned: the Model that is filled; NULL before begin() */
    PyObject *rules, *device; /* owned, or NULL */
    bool is_running;
};

/* False, with an exception: there is nothing to be told to. */
static bool is_begun(struct model_run *r)
{
    if (!r->is_running)
        PyErr_SetString(PyExc_RuntimeError, "this run has not begun, or has ended");
    return r->is_running;
}

static PyObject *done(int rc)
{
    if (rc < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Of a pass that is timed the time for this would be a layer's. */
static PyObject *hush(const struct model_run *r)
{
    return r->run.request.is_timing ? NULL : sd_torch_hush(&r->run.torch);
}

/* --- What torch calls */

/* (func, types, args=(), kwargs=None), by position or by name. */
static PyObject *run_dispatch(PyObject *self, PyObject *const *args, Py_ssize_t n,
                              PyObject *names)
{
    struct model_run *r = (struct model_run *)self;
    PyObject *none = NULL, *result;

    if (!is_begun(r))
        return NULL;
    if (n < 2 || (names && PyTuple_GET_SIZE(names) > 0)) {
        PyErr_SetString(PyExc_TypeError,
                        "__torch_dispatch__(func, types, args, kwargs), by position");
        return NULL;
    }
    if (n < 3)
        none = PyTuple_New(0);
    if (n < 3 && !none)
        return NULL;
    result = sd_pass_dispatch(&r->run, args[0], args[1], n > 2 ? args[2] : none,
                              n > 3 ? args[3] : NULL);
    Py_XDECREF(none);
    return result;
}

static PyObject *run_enter(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct model_run *r = (struct model_run *)self;

    PyObject *hushed;
    int rc;

    if (!r->is_running || n < 2) /* another thread's, or too late */
        Py_RETURN_NONE;
    hushed = hush(r);
    rc = sd_pass_enter(&r->run, args[0], args[1]);
    sd_torch_unhush(hushed);
    return done(rc);
}

/* (module, args, kwargs, result), or, after an exception, without the kwargs. */
static PyObject *run_leave(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct model_run *r = (struct model_run *)self;

    PyObject *hushed;
    int rc;

    if (!r->is_running || n < 3)
        Py_RETURN_NONE;
    hushed = hush(r);
    rc = sd_pass_leave(&r->run, args[0], n > 3 ? args[2] : NULL, args[n > 3 ? 3 : 2]);
    sd_torch_unhush(hushed);
    return done(rc);
}

static PyObject *run_freed(PyObject *self, PyObject *watch)
{
    struct model_run *r = (struct model_run *)self;

    if (r->is_running)
        sd_pass_freed(&r->run, watch);
    Py_RETURN_NONE;
}

/* How often a tensor was written to; -1: it is not counted. */
static int64_t version_of(PyObject *tensor)
{
    PyObject *told = PyObject_GetAttrString(tensor, "_version");
    int64_t n = told && PyLong_Check(told) ? PyLong_AsLongLong(told) : -1;

    PyErr_Clear();
    Py_XDECREF(told);
    return n;
}

/* What is kept is the same data under another object: a result that its own node keeps
 * would keep the node, and both would stay for ever.  It is written to as the first
 * one is, so that this can be seen, as torch does where nobody else keeps it. */
static PyObject *save(struct model_run *r, PyObject *tensor)
{
    PyObject *other;

    if (r->is_running && sd_pass_saved(&r->run, tensor) < 0)
        return NULL;
    r->run.is_ours = true; /* no operator of the model's */
    other = PyObject_CallMethod(tensor, "detach", NULL);
    r->run.is_ours = false;
    return other ? Py_BuildValue("(NL)", other, version_of(tensor)) : NULL;
}

static PyObject *run_saved(PyObject *self, PyObject *tensor)
{
    struct model_run *r = (struct model_run *)self;
    PyObject *hushed = sd_torch_hush(&r->run.torch), *kept = save(r, tensor);

    sd_torch_unhush(hushed);
    return kept;
}

static PyObject *run_restored(PyObject *self, PyObject *kept)
{
    PyObject *tensor, *hushed;
    long long version, now;

    if (!PyArg_ParseTuple(kept, "OL", &tensor, &version))
        return NULL;
    hushed = sd_torch_hush(&((struct model_run *)self)->run.torch);
    now = version_of(tensor);
    sd_torch_unhush(hushed);
    if (version >= 0 && now != version) {
        PyErr_SetString(PyExc_RuntimeError,
                        "one of the variables needed for gradient computation has been "
                        "modified by an inplace operation");
        return NULL;
    }
    return Py_NewRef(tensor);
}

/* A node of the graph of a backward: mark(layer, gradients). */
static PyObject *run_mark(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct model_run *r = (struct model_run *)self;
    unsigned long layer = n > 0 ? PyLong_AsUnsignedLong(args[0]) : 0;

    if (PyErr_Occurred())
        return NULL;
    if (!r->is_running || layer >= r->run.times.n_layers)
        Py_RETURN_NONE;
    return done(sd_pass_times_border(&r->run, (uint32_t)layer));
}

static PyObject *run_look_at_casts(PyObject *self, PyObject *unused)
{
    struct model_run *r = (struct model_run *)self;

    (void)unused;
    return done(r->is_running ? sd_pass_look_at_casts(&r->run) : 0);
}

/* is_fused(query, key, value, mask): of an attention that this run came to. */
static PyObject *run_is_fused(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    const struct sd_pass *r = &((struct model_run *)self)->run;

    if (!((struct model_run *)self)->is_running || n != 4)
        Py_RETURN_FALSE;
    return PyBool_FromLong(
        sd_attention_is_fused(&r->torch, args[0], args[1], args[2], args[3]));
}

/* --- What the adapter calls */

static bool has_rule(const char *name) { return sd_op_known(name) != SD_OP_UNKNOWN; }
static bool is_counted(const char *name) { return sd_op_known(name) == SD_OP_COUNTED; }

static int begin(struct model_run *r, PyObject *module, struct sd_pass_request *request,
                 unsigned passes)
{
    struct sd_model *m = sd_py_model_of(Py_TYPE(r->model), r->model);
    int rc;

    request->rules = r->rules;
    request->device = r->device;
    request->is_known = has_rule;
    request->is_product = is_counted;
    request->is_open = module == Py_None;
    r->is_running = true;
    rc = sd_pass_begin(&r->run, (PyObject *)r, m, module, request);
    if (rc == 0 && request->is_timing) {
        rc = sd_times_init(&r->run.times, (uint32_t)m->n_layers, passes);
        if (rc < 0)
            sd_ext_raise(rc);
    }
    return rc;
}

static PyObject *run_begin(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "module", "twins",   "backward", "memory", "rules",
                             "timing", "into",    "lent",     "device", "stamped",
                             "blank",  "numbers", NULL };
    struct model_run *r = (struct model_run *)self;
    struct sd_ext *ext = sd_ext_of(Py_TYPE(self));
    int twins = 0, backward = 0, memory = 0, passes = 0, lent = 0, stamped = 0,
        blank = 0, numbers = 0;
    PyObject *module, *rules = Py_None, *into = Py_None, *device = NULL;
    struct sd_pass_request request = { 0 };

    if (!ext || !PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pppOiOpUppp:begin",
                                             names, &module, &twins, &backward, &memory,
                                             &rules, &passes, &into, &lent, &device,
                                             &stamped, &blank, &numbers))
        return NULL;
    if (r->is_running || (rules != Py_None && !PyDict_Check(rules)) ||
        (into != Py_None && !sd_py_model_of(ext->model, into))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError,
                            "a run begins once, and its rules are a dict");
        return NULL;
    }
    Py_XSETREF(r->model,
               into != Py_None ? Py_NewRef(into) : sd_py_model_new(ext->model));
    if (!r->model)
        return NULL;
    Py_XSETREF(r->rules, rules != Py_None ? Py_NewRef(rules) : NULL);
    request.on_twins = twins;
    Py_XSETREF(r->device, Py_XNewRef(device));
    request.is_on_cpu = device && PyUnicode_CompareWithASCIIString(device, "cpu") == 0;
    request.is_blank = blank;
    request.keeps_numbers = numbers;
    request.has_backward = backward;
    request.has_memory = memory;
    request.is_timing = passes > 0;
    request.is_lent = lent;
    request.is_stamped = stamped;
    return done(begin(r, module, &request, (unsigned)passes));
}

static PyObject *run_end(PyObject *self, PyObject *unused)
{
    struct model_run *r = (struct model_run *)self;

    (void)unused;
    if (r->is_running) {
        r->is_running = false;
        sd_pass_end(&r->run);
    }
    return r->model ? Py_NewRef(r->model) : Py_NewRef(Py_None);
}

static PyObject *run_twins(PyObject *self, PyObject *o)
{
    struct model_run *r = (struct model_run *)self;

    if (!is_begun(r))
        return NULL;
    return sd_twins_within(&r->run.twins, o, sd_twins_of_input, SD_TWINS_DEPTH);
}

static PyObject *run_weight(PyObject *self, PyObject *tensor)
{
    struct model_run *r = (struct model_run *)self;

    if (!is_begun(r))
        return NULL;
    return done(sd_pass_weight(&r->run, tensor));
}

static PyObject *run_given(PyObject *self, PyObject *o)
{
    struct model_run *r = (struct model_run *)self;

    if (!is_begun(r))
        return NULL;
    return done(sd_pass_given(&r->run, o, SD_TWINS_DEPTH));
}

static PyObject *run_set_backward(PyObject *self, PyObject *is)
{
    struct model_run *r = (struct model_run *)self;
    int truth = PyObject_IsTrue(is);

    if (truth < 0)
        return NULL;
    r->run.is_backward = truth;
    r->run.has_failed = false; /* what the forward caught is over */
    Py_RETURN_NONE;
}

/* refuse(name): of what is about to be refused without data. */
static PyObject *run_refuse(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    if (text && ((struct model_run *)self)->is_running)
        sd_pass_tell(&((struct model_run *)self)->run.refused, text);
    PyErr_Clear();
    Py_RETURN_NONE;
}

/* failed_at(number): of the node of the graph that an exception of the backward left.
 */
static PyObject *run_failed_at(PyObject *self, PyObject *number)
{
    struct model_run *r = (struct model_run *)self;
    long long sequence = PyLong_AsLongLong(number);

    if (sequence == -1 && PyErr_Occurred())
        return NULL;
    if (r->is_running)
        sd_pass_failed(&r->run, sd_pass_layer_of_node(&r->run, sequence));
    Py_RETURN_NONE;
}

static PyObject *run_forward_is_over(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((struct model_run *)self)->run.is_forward_over = true;
    Py_RETURN_NONE;
}

/* pass_begins(), pass_ends(is_backward): of a timed pass. */
static PyObject *run_pass_begins(PyObject *self, PyObject *unused)
{
    struct model_run *r = (struct model_run *)self;

    (void)unused;
    if (!is_begun(r))
        return NULL;
    return done(sd_pass_times_begin(&r->run));
}

static PyObject *run_pass_ends(PyObject *self, PyObject *is_backward)
{
    struct model_run *r = (struct model_run *)self;

    if (!is_begun(r))
        return NULL;
    return done(sd_pass_times_end(&r->run, is_backward == Py_True));
}

/* Own times become those of a layer with all that is in it: layers come behind their
 * parents. */
static int64_t *time_of(struct sd_model_layer *l, bool is_backward)
{
    return is_backward ? &l->backward_ns : &l->time_ns;
}

/* A layer that ran when it was counted and does not run now has no time, and not one of
 * 0: torch has ways of its own for some layers that hold others (an encoder of
 * transformers). */
static void leave_untimed(struct sd_pass *r)
{
    for (size_t i = 1; i < r->model->n_layers; i++) {
        struct sd_model_layer *l = &r->model->layers[i];

        if (l->time_ns != 0 || l->n_calls == 0)
            continue;
        l->time_ns = SD_MODEL_NONE;
        sd_pass_tell(&r->untimed, sd_model_text(r->model, l->name));
    }
}

static void put_times(struct sd_pass *r, bool is_backward)
{
    struct sd_model *m = r->model;

    for (size_t i = m->n_layers; i-- > 0;)
        *time_of(&m->layers[i], is_backward) =
            (int64_t)sd_times_of(&r->times, (uint32_t)i, is_backward);
    for (size_t i = m->n_layers; i-- > 1;) {
        struct sd_model_layer *l = &m->layers[i];

        *time_of(&m->layers[l->parent], is_backward) += *time_of(l, is_backward);
    }
    if (!is_backward)
        leave_untimed(r);
}

static PyObject *run_put_times(PyObject *self, PyObject *is_backward)
{
    struct model_run *r = (struct model_run *)self;

    if (!is_begun(r))
        return NULL;
    put_times(&r->run, is_backward == Py_True);
    Py_RETURN_NONE;
}

/* --- Attributes */

static PyObject *get_model(PyObject *self, void *unused)
{
    PyObject *model = ((struct model_run *)self)->model;

    (void)unused;
    return Py_NewRef(model ? model : Py_None);
}

static PyObject *get_peak(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((struct model_run *)self)->run.storages.peak_bytes);
}

/* (name, type) of the innermost layer that an exception left, or None. */
static PyObject *get_failed_in(PyObject *self, void *unused)
{
    struct sd_pass *r = &((struct model_run *)self)->run;
    const struct sd_model_layer *l;

    (void)unused;
    if (!((struct model_run *)self)->is_running || !r->has_failed)
        Py_RETURN_NONE;
    l = &r->model->layers[r->failed_in];
    return Py_BuildValue("(ss)", sd_model_text(r->model, l->name),
                         sd_model_text(r->model, l->type));
}

static PyObject *get_refused(PyObject *self, void *unused)
{
    const struct sd_pass *r = &((struct model_run *)self)->run;

    (void)unused;
    if (!((struct model_run *)self)->is_running || r->refused.n == 0)
        Py_RETURN_NONE;
    return PyUnicode_FromString(r->refused.names[0]);
}

/* --- The type */

static void run_dealloc(PyObject *self)
{
    struct model_run *r = (struct model_run *)self;
    PyTypeObject *type = Py_TYPE(self);

    if (r->is_running) {
        r->is_running = false;
        sd_pass_end(&r->run);
    }
    Py_XDECREF(r->model);
    Py_XDECREF(r->rules);
    Py_XDECREF(r->device);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "__torch_dispatch__", FAST(run_dispatch), METH_FASTCALL | METH_KEYWORDS,
      "What torch calls for every operator." },
    { "begin", FAST(run_begin), METH_VARARGS | METH_KEYWORDS,
      "begin(module, *, twins=False, backward=False, memory=False, rules=None, "
      "timing=0, into=None, lent=False, device=..., stamped=False, blank=False, "
      "numbers=False)\n--\n\n"
      "Notes the layers and tensors of the module and, with twins, puts tensors "
      "without\ndata in their place until end().  lent: the caller's own code runs; "
      "what it does to\nmodules stays.  device: the name of the one that the model is "
      "on.  stamped: stamp()\nis called at each border of a timed pass, and stamps() "
      "gives their times behind it.\nblank: the model is on no device and counts as "
      "one on the processor.  numbers: few\nwhole numbers that the forward asks for "
      "have values." },
    { "end", run_end, METH_NOARGS,
      "end()\n--\n\nPuts back what was changed; gives the Model." },
    { "twins", run_twins, METH_O,
      "twins(o)\n--\n\nInputs as the run takes them: tensors without data, and copies "
      "of few whole numbers." },
    { "weight", run_weight, METH_O, "The memory of this tensor is the model's." },
    { "given", run_given, METH_O,
      "The memory of tensors in it is the caller's: it is no part of the peak." },
    { "enter", FAST(run_enter), METH_FASTCALL, "The hook before a module's forward." },
    { "leave", FAST(run_leave), METH_FASTCALL, "The hook behind a module's forward." },
    { "mark", FAST(run_mark), METH_FASTCALL, "The hook before a node of a backward." },
    { "is_fused", FAST(run_is_fused), METH_FASTCALL,
      "is_fused(query, key, value, mask)\n--\n\nWould the model's processor run this "
      "attention as one operator?" },
    { "look_at_casts", run_look_at_casts, METH_NOARGS,
      "Raises where autocast is on and memory is followed without data." },
    { "freed", run_freed, METH_O, "A storage is gone." },
    { "saved", run_saved, METH_O, "Autograd keeps a tensor." },
    { "restored", run_restored, METH_O, "Autograd takes it back." },
    { "forward_is_over", run_forward_is_over, METH_NOARGS,
      "What is let go from now on was kept for the backward." },
    { "refuse", run_refuse, METH_O,
      "refuse(name)\n--\n\nWhat is about to be refused without data: a forward may "
      "catch it, and go on." },
    { "set_backward", run_set_backward, METH_O, "Does the backward run now?" },
    { "failed_at", run_failed_at, METH_O,
      "The number of the node that an exception of the backward left." },
    { "pass_begins", run_pass_begins, METH_NOARGS, "A timed pass begins." },
    { "pass_ends", run_pass_ends, METH_O, "A timed pass, backward or not, is over." },
    { "put_times", run_put_times, METH_O,
      "Puts the medians of all passes, backward or not, into the Model." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
    { "model", get_model, NULL, "The Model that is filled.", NULL },
    { "peak_bytes", get_peak, NULL, "Of tensors that this run made.", NULL },
    { "failed_in", get_failed_in, NULL, "The layer that an exception came from.",
      NULL },
    { "refused", get_refused, NULL, "The first operator that was refused without data.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(doc, "One watched pass of a model: the body of a mode of torch.");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)doc },     { Py_tp_new, PyType_GenericNew },
    { Py_tp_dealloc, run_dealloc }, { Py_tp_methods, methods },
    { Py_tp_getset, attributes },   { 0, NULL },
};

PyType_Spec sd_model_run_spec = {
    .name = "sonde._sonde.ModelRun",
    .basicsize = sizeof(struct model_run),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
