/* SPDX-License-Identifier: MIT */
#include "ext/calls/py_call_tables.h"

#include "base/error.h"

/* Searching for expressions makes objects, and so may run anybody's code, and another
 * thread's: any number may read at once, and nobody changes what is being read. */
bool sd_py_call_tables_is_busy(PyObject *self)
{
    if (sd_py_call_tables_of(self)->n_readers > 0)
        PyErr_SetString(PyExc_RuntimeError, "changed while it is being read");
    return sd_py_call_tables_of(self)->n_readers > 0;
}

void sd_py_call_tables_unsort(struct sd_py_call_tables *t)
{
    sd_pstats_order_release(&t->order);
    t->is_sorted = false;
}

/* None, or what the core or Python says. */
PyObject *sd_py_call_tables_done(int rc)
{
    if (rc < 0)
        return PyErr_Occurred() ? NULL : sd_ext_raise(rc);
    Py_RETURN_NONE;
}

/* --- Life */

PyObject *sd_py_call_tables_make(PyTypeObject *type)
{
    PyObject *self = type->tp_alloc(type, 0);

    if (self)
        sd_call_stats_init(&sd_py_call_tables_of(self)->stats);
    return self;
}

static PyObject *tables_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { NULL };

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":CallStats", names))
        return NULL;
    return sd_py_call_tables_make(type);
}

static void tables_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_py_call_tables_unsort(sd_py_call_tables_of(self));
    sd_call_stats_release(&sd_py_call_tables_of(self)->stats);
    type->tp_free(self);
    Py_DECREF(type);
}

static Py_ssize_t tables_length(PyObject *self)
{
    return (Py_ssize_t)sd_py_call_tables_of(self)->stats.n_listed;
}

static PyMethodDef methods[] = {
    { "load", sd_py_call_tables_load, METH_O,
      "load(path)\n--\n\nAdds up what the pstats file of this name holds." },
    { "load_dict", sd_py_call_tables_load_dict, METH_O,
      "load_dict(stats)\n--\n\nAdds up a dictionary like pstats.Stats.stats." },
    { "add", sd_py_call_tables_add, METH_O,
      "add(other)\n--\n\nAdds up another CallStats." },
    { "copy", sd_py_call_tables_copy, METH_NOARGS,
      "copy()\n--\n\nReturns the same numbers, unsorted." },
    { "strip_dirs", sd_py_call_tables_strip_dirs, METH_NOARGS,
      "strip_dirs()\n--\n\nTakes the folders from the names of files; what becomes "
      "equal adds up." },
    { "sort", sd_py_call_tables_sort, METH_O,
      "sort(words)\n--\n\nOrders by these words of pstats; KeyError names one that is "
      "none." },
    { "sort_clear", sd_py_call_tables_sort_clear, METH_NOARGS,
      "sort_clear()\n--\n\nForgets the order." },
    { "reverse", sd_py_call_tables_reverse, METH_NOARGS,
      "reverse()\n--\n\nReverses the order." },
    { "set_order", sd_py_call_tables_set_order, METH_VARARGS,
      "set_order(keys, sort_type)\n--\n\nSets an order made elsewhere; None is none." },
    { "fcn_list", sd_py_call_tables_fcn_list, METH_NOARGS,
      "fcn_list()\n--\n\nReturns the keys in order; None when there is none." },
    { "keys", sd_py_call_tables_keys, METH_NOARGS,
      "keys()\n--\n\nReturns the keys as they came." },
    { "print_stats", sd_py_call_tables_print_stats, METH_VARARGS,
      "print_stats(write, restrictions, digits=3)\n--\n\nPasses the table to "
      "write()." },
    { "print_callers", sd_py_call_tables_print_callers, METH_VARARGS,
      "print_callers(write, restrictions, digits=3)\n--\n\nPasses the table of callers "
      "to write()." },
    { "print_callees", sd_py_call_tables_print_callees, METH_VARARGS,
      "print_callees(write, restrictions, digits=3)\n--\n\nPasses the table of callees "
      "to write()." },
    { "get_print_list", sd_py_call_tables_print_list, METH_VARARGS,
      "get_print_list(write, restrictions)\n--\n\nReturns (width, keys) that are "
      "printed." },
    { "as_dict", sd_py_call_tables_as_dict, METH_NOARGS,
      "as_dict()\n--\n\nReturns a new dictionary like pstats.Stats.stats." },
    { "callees", sd_py_call_tables_callees, METH_NOARGS,
      "callees()\n--\n\nReturns a new dictionary like pstats.Stats.all_callees." },
    { "dumps", sd_py_call_tables_dumps, METH_NOARGS,
      "dumps()\n--\n\nReturns the bytes of a pstats file." },
    { "callgrind", sd_py_call_tables_callgrind, METH_VARARGS,
      "callgrind(command, event, per_second)\n--\n\nReturns the bytes of a callgrind "
      "file, in which so many events are a\nsecond; every name stands at its top." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "CallStats()\n--\n\nFunctions, their calls and their callers." },
    { Py_tp_new, tables_new },
    { Py_tp_dealloc, tables_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, sd_py_call_tables_values },
    { Py_sq_length, tables_length },
    { 0, NULL },
};

PyType_Spec sd_py_call_tables_spec = {
    .name = "_sonde.CallStats",
    .basicsize = sizeof(struct sd_py_call_tables),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
