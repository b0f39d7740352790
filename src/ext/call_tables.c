/* SPDX-License-Identifier: MIT */
#include "ext/calls/py_call_tables.h"

#include "base/error.h"

/* Searching for expressions makes objects, and so may run anybody's code, and another
 * thread's: any number may read at once, and nobody changes what is being read. */
bool sd_call_tables_is_busy(PyObject *self)
{
    if (sd_call_tables_of(self)->n_readers > 0)
        PyErr_SetString(PyExc_RuntimeError, "changed while it is being read");
    return sd_call_tables_of(self)->n_readers > 0;
}

void sd_call_tables_unsort(struct sd_call_tables *t)
{
    sd_pstats_order_release(&t->order);
    t->is_sorted = false;
}

/* None, or what the core or Python says. */
PyObject *sd_call_tables_done(int rc)
{
    if (rc < 0)
        return PyErr_Occurred() ? NULL : sd_ext_raise(rc);
    Py_RETURN_NONE;
}

/* --- Life */

PyObject *sd_call_tables_make(PyTypeObject *type)
{
    PyObject *self = type->tp_alloc(type, 0);

    if (self)
        sd_call_stats_init(&sd_call_tables_of(self)->stats);
    return self;
}

static PyObject *tables_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { NULL };

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":CallStats", names))
        return NULL;
    return sd_call_tables_make(type);
}

PyObject *sd_call_tables_new(struct sd_ext *ext, struct sd_call_stats *take_stats)
{
    PyObject *self = sd_ext_is_gone(ext) ? NULL : sd_call_tables_make(ext->call_tables);

    if (self)
        sd_call_stats_move(&sd_call_tables_of(self)->stats, take_stats);
    else
        sd_call_stats_release(take_stats);
    return self;
}

static void tables_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_call_tables_unsort(sd_call_tables_of(self));
    sd_call_stats_release(&sd_call_tables_of(self)->stats);
    type->tp_free(self);
    Py_DECREF(type);
}

static Py_ssize_t tables_length(PyObject *self)
{
    return (Py_ssize_t)sd_call_tables_of(self)->stats.n_listed;
}

static PyMethodDef methods[] = {
    { "load", sd_call_tables_load, METH_O,
      "load(path)\n--\n\nAdds up what the pstats file of this name holds." },
    { "load_dict", sd_call_tables_load_dict, METH_O,
      "load_dict(stats)\n--\n\nThe same of a dictionary as pstats.Stats.stats." },
    { "add", sd_call_tables_add, METH_O,
      "add(other)\n--\n\nAdds up another CallStats." },
    { "copy", sd_call_tables_copy, METH_NOARGS,
      "copy()\n--\n\nThe same numbers, unsorted." },
    { "strip_dirs", sd_call_tables_strip_dirs, METH_NOARGS,
      "strip_dirs()\n--\n\nTakes the folders from the names of files; what becomes "
      "equal adds up." },
    { "sort", sd_call_tables_sort, METH_O,
      "sort(words)\n--\n\nOrders by these words of pstats; KeyError names one that is "
      "none." },
    { "sort_clear", sd_call_tables_sort_clear, METH_NOARGS,
      "sort_clear()\n--\n\nForgets the order." },
    { "reverse", sd_call_tables_reverse, METH_NOARGS,
      "reverse()\n--\n\nReverses the order." },
    { "set_order", sd_call_tables_set_order, METH_VARARGS,
      "set_order(keys, sort_type)\n--\n\nAn order made elsewhere; None is none." },
    { "fcn_list", sd_call_tables_fcn_list, METH_NOARGS,
      "fcn_list()\n--\n\nThe keys in order; None when there is none." },
    { "keys", sd_call_tables_keys, METH_NOARGS,
      "keys()\n--\n\nThe keys as they came." },
    { "print_stats", sd_call_tables_print_stats, METH_VARARGS,
      "print_stats(write, restrictions, digits=3)\n--\n\nHands write() the table." },
    { "print_callers", sd_call_tables_print_callers, METH_VARARGS,
      "print_callers(write, restrictions, digits=3)\n--\n\nWho called them." },
    { "print_callees", sd_call_tables_print_callees, METH_VARARGS,
      "print_callees(write, restrictions, digits=3)\n--\n\nWhom they called." },
    { "get_print_list", sd_call_tables_print_list, METH_VARARGS,
      "get_print_list(write, restrictions)\n--\n\n(width, keys) that are printed." },
    { "as_dict", sd_call_tables_as_dict, METH_NOARGS,
      "as_dict()\n--\n\nA new dictionary, as pstats.Stats.stats." },
    { "callees", sd_call_tables_callees, METH_NOARGS,
      "callees()\n--\n\nA new dictionary, as pstats.Stats.all_callees." },
    { "dumps", sd_call_tables_dumps, METH_NOARGS,
      "dumps()\n--\n\nThe bytes of a pstats file." },
    { "callgrind", sd_call_tables_callgrind, METH_VARARGS,
      "callgrind(command, event, per_second)\n--\n\nThe bytes of a callgrind file, in "
      "which so many events are a\nsecond; every name stands at its top." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "CallStats()\n--\n\nFunctions, their calls and their callers." },
    { Py_tp_new, tables_new },
    { Py_tp_dealloc, tables_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, sd_call_tables_values },
    { Py_sq_length, tables_length },
    { 0, NULL },
};

PyType_Spec sd_call_tables_spec = {
    .name = "_sonde.CallStats",
    .basicsize = sizeof(struct sd_call_tables),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
