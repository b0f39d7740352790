/* SPDX-License-Identifier: MIT */
/* py_call_tables_values: the attributes, which Python's Stats lets everybody set. */
#include "base/error.h"
#include "ext/calls/py_call_tables.h"

static bool may_set(PyObject *self, const PyObject *value)
{
    if (!value)
        PyErr_SetString(PyExc_AttributeError,
                        "this attribute can be set but not deleted");
    return value && !sd_py_call_tables_is_busy(self);
}

static PyObject *get_files(PyObject *self, void *unused)
{
    const struct sd_call_stats *s = &sd_py_call_tables_of(self)->stats;
    PyObject *list = PyList_New((Py_ssize_t)s->n_origins);

    (void)unused;
    for (size_t i = 0; list && i < s->n_origins; i++) {
        PyObject *line = sd_py_call_text_object(s->origins[i].p, s->origins[i].n);

        if (line)
            PyList_SET_ITEM(list, (Py_ssize_t)i, line);
        else
            Py_CLEAR(list);
    }
    return list;
}

static int set_files(PyObject *self, PyObject *value, void *unused)
{
    struct sd_call_stats *s = &sd_py_call_tables_of(self)->stats;
    PyObject *fast =
        value ? PySequence_Fast(value, "files must be a list of str") : NULL;
    int rc = 0;

    (void)unused;
    if (value && !fast)
        return -1;
    if (!may_set(self, value)) {
        Py_XDECREF(fast);
        return -1;
    }
    s->n_origins = 0;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(fast); i++) {
        PyObject *owner;
        size_t n;
        const char *text =
            sd_py_call_text(PySequence_Fast_GET_ITEM(fast, i), &owner, &n);

        rc = text ? sd_call_stats_add_origin(s, text, n) : -1;
        if (text && rc < 0)
            sd_ext_raise(rc);
        Py_XDECREF(owner);
    }
    Py_XDECREF(fast);
    return rc < 0 ? -1 : 0;
}

static int64_t *count_of(PyObject *self, const void *is_primitive)
{
    struct sd_call_numbers *sum = &sd_py_call_tables_of(self)->stats.sum;

    return is_primitive ? &sum->primitive : &sum->calls;
}

static PyObject *get_count(PyObject *self, void *is_primitive)
{
    return PyLong_FromLongLong(*count_of(self, is_primitive));
}

static int set_count(PyObject *self, PyObject *value, void *is_primitive)
{
    long long count = value ? PyLong_AsLongLong(value) : 0;

    if ((count == -1 && PyErr_Occurred()) || !may_set(self, value))
        return -1;
    *count_of(self, is_primitive) = count;
    return 0;
}

static PyObject *get_total_tt(PyObject *self, void *unused)
{
    const struct sd_call_numbers *sum = &sd_py_call_tables_of(self)->stats.sum;

    (void)unused;
    return sd_py_call_seconds(sum->own, sum->whole & SD_WHOLE_OWN);
}

static int set_total_tt(PyObject *self, PyObject *value, void *unused)
{
    struct sd_call_numbers *sum = &sd_py_call_tables_of(self)->stats.sum;
    double seconds = value ? PyFloat_AsDouble(value) : 0;

    (void)unused;
    if ((seconds == -1 && PyErr_Occurred()) || !may_set(self, value))
        return -1;
    sum->own = seconds;
    sum->whole = PyLong_Check(value) ? SD_WHOLE_OWN : 0;
    return 0;
}

static PyObject *get_max_name_len(PyObject *self, void *unused)
{
    const struct sd_py_call_tables *t = sd_py_call_tables_of(self);

    (void)unused;
    return PyLong_FromSize_t(t->widest ? t->widest : sd_pstats_widest(&t->stats));
}

static int set_max_name_len(PyObject *self, PyObject *value, void *unused)
{
    size_t widest = value ? PyLong_AsSize_t(value) : 0;

    (void)unused;
    if ((widest == (size_t)-1 && PyErr_Occurred()) || !may_set(self, value))
        return -1;
    sd_py_call_tables_of(self)->widest = widest;
    return 0;
}

static PyObject *get_sort_type(PyObject *self, void *unused)
{
    const struct sd_buf *by = &sd_py_call_tables_of(self)->order.by;

    (void)unused;
    return sd_py_call_text_object((const char *)by->p, by->n);
}

static PyObject *get_is_sampled(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(sd_py_call_tables_of(self)->stats.is_sampled);
}

static int set_is_sampled(PyObject *self, PyObject *value, void *unused)
{
    int is = value ? PyObject_IsTrue(value) : 0;

    (void)unused;
    if (is < 0 || !may_set(self, value))
        return -1;
    sd_py_call_tables_of(self)->stats.is_sampled = is;
    return 0;
}

static PyObject *get_top_level(PyObject *self, void *unused)
{
    const struct sd_call_stats *s = &sd_py_call_tables_of(self)->stats;
    PyObject *all = PySet_New(NULL);

    (void)unused;
    sd_py_call_tables_of(self)->n_readers++;
    for (size_t i = 0; all && i < s->n_listed; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);
        PyObject *key = f->is_top ? sd_py_call_key_object(f) : Py_NewRef(Py_None);

        if (!key || (key != Py_None && PySet_Add(all, key) < 0))
            Py_CLEAR(all);
        Py_XDECREF(key);
    }
    sd_py_call_tables_of(self)->n_readers--;
    return all;
}

static int set_top_level(PyObject *self, PyObject *value, void *unused)
{
    struct sd_call_stats *s = &sd_py_call_tables_of(self)->stats;
    PyObject *fast = value ? PySequence_List(value) : NULL;
    int rc = 0;

    (void)unused;
    if (value && !fast)
        return -1;
    if (!may_set(self, value)) {
        Py_XDECREF(fast);
        return -1;
    }
    for (size_t i = 0; rc == 0 && i < s->n_functions; i++)
        s->functions[i].is_top = false;
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(fast); i++) {
        sd_function_id id;

        rc = sd_py_call_key_read(s, PyList_GET_ITEM(fast, i), &id);
        if (rc == 0)
            sd_call_stats_at(s, id)->is_top = true;
    }
    Py_XDECREF(fast);
    return rc;
}

static char primitive_calls[] = "primitive"; /* told by its address */

PyGetSetDef sd_py_call_tables_values[] = {
    { "files", get_files, set_files, "the lines that say where it came from", NULL },
    { "total_calls", get_count, set_count, "calls of all functions", NULL },
    { "prim_calls", get_count, set_count, "those that were not recursive",
      primitive_calls },
    { "total_tt", get_total_tt, set_total_tt, "seconds in all functions", NULL },
    { "max_name_len", get_max_name_len, set_max_name_len,
      "characters of the longest label", NULL },
    { "sort_type", get_sort_type, NULL, "what it is ordered by, or ''", NULL },
    { "is_sampled", get_is_sampled, set_is_sampled,
      "are these samples instead of calls?", NULL },
    { "top_level", get_top_level, set_top_level, "what old profilers called", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
