/* SPDX-License-Identifier: MIT */
#include "ext/sections/py_interval.h"

#include <string.h>

#include "ext/sections/interval_values.h"

/* --- Figures as objects */

PyObject *sd_interval_cell_object(struct sd_ext *ext, struct sd_figure cell)
{
    switch (cell.kind) {
    case SD_FIGURE_NONE:
        break;
    case SD_FIGURE_REAL:
        return PyFloat_FromDouble(cell.real);
    case SD_FIGURE_COUNT:
        return PyLong_FromLongLong(cell.count);
    case SD_FIGURE_WORD:
        return Py_NewRef(ext->words[cell.word]);
    }
    Py_RETURN_NONE;
}

PyObject *sd_interval_cell_member(struct sd_ext *ext, struct sd_figure cell)
{
    if (cell.kind != SD_FIGURE_WORD)
        return sd_interval_cell_object(ext, cell);
    if (!ext->members) {
        PyObject *module = PyImport_ImportModule("sonde._enums");

        ext->members = module ? PyObject_GetAttrString(module, "MEMBERS") : NULL;
        Py_XDECREF(module);
    }
    return ext->members ? PySequence_GetItem(ext->members, (Py_ssize_t)cell.word)
                        : NULL;
}

PyObject *sd_interval_figure(struct sd_py_interval *v, enum sd_interval_column c)
{
    const struct sd_store *s;

    if (!v->from)
        return Py_NewRef(v->figures[c] ? v->figures[c] : Py_None);
    s = &v->from->store;
    return sd_interval_cell_member(v->ext,
                                   sd_column_cell(s, sd_store_row(s, v->row), c));
}

/* --- Life */

struct sd_py_interval *sd_interval_make(struct sd_ext *ext, enum sd_view_kind kind)
{
    struct sd_py_interval *v =
        sd_ext_is_gone(ext) ? NULL
                            : PyObject_GC_New(struct sd_py_interval, ext->views[kind]);

    if (!v)
        return NULL;
    v->kind = kind;
    v->ext = ext;
    v->from = NULL;
    v->row = SD_STORE_NONE;
    memset(v->figures, 0, sizeof v->figures);
    PyObject_GC_Track(v);
    return v;
}

static struct sd_py_interval *view_of_row(struct sd_ext *ext, enum sd_view_kind kind,
                                          struct sd_py_profiler *p, uint32_t row)
{
    struct sd_py_interval *v = sd_interval_make(ext, kind);

    if (!v)
        return NULL;
    Py_INCREF(p);
    v->from = p;
    v->row = row;
    return v;
}

PyObject *sd_interval_new(struct sd_py_profiler *p, uint32_t row)
{
    return (PyObject *)view_of_row(p->ext, SD_VIEW_INTERVAL, p, row);
}

static int view_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct sd_py_interval *v = (struct sd_py_interval *)self;

    Py_VISIT(v->from);
    for (int i = 0; i < SD_N_COLUMNS; i++)
        Py_VISIT(v->figures[i]);
    SD_VISIT_TYPE(self);
    return 0;
}

static int view_clear(PyObject *self)
{
    struct sd_py_interval *v = (struct sd_py_interval *)self;

    for (int i = 0; i < SD_N_COLUMNS; i++)
        Py_CLEAR(v->figures[i]);
    return 0;
}

static void view_dealloc(PyObject *self)
{
    struct sd_py_interval *v = (struct sd_py_interval *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    view_clear(self);
    Py_CLEAR(v->from);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

PyObject *sd_interval_part(struct sd_py_interval *v, enum sd_column_group g)
{
    if (v->from)
        return (PyObject *)view_of_row(v->ext, sd_interval_kind_of(g), v->from, v->row);
    return Py_NewRef(v->figures[g] ? v->figures[g] : Py_None);
}

/* --- Attributes */

static PyObject *get_figure(PyObject *self, void *column)
{
    return sd_interval_figure((struct sd_py_interval *)self,
                              (enum sd_interval_column)(uintptr_t)column);
}

static PyObject *get_part(PyObject *self, void *group)
{
    return sd_interval_part((struct sd_py_interval *)self,
                            (enum sd_column_group)(uintptr_t)group);
}

#define FIGURE(id, name)                                                               \
    { name, get_figure, NULL, NULL, (void *)(uintptr_t)SD_COL_##id },
#define NOT_HERE(id, name)
#define COLUMN(id, group, name, shape, a, b) IN_##group(id, name)

#define IN_MEMORY FIGURE
#define IN_TIME NOT_HERE
#define IN_IO NOT_HERE
#define IN_NETWORK NOT_HERE
static PyGetSetDef memory_getset[] = {
#include "ext/sections/columns.def"
    { "vms_used", get_figure, NULL, "The same as diff_vms.",
      (void *)(uintptr_t)SD_COL_DIFF_VMS },
    { "rss_used", get_figure, NULL, "The same as diff_rss.",
      (void *)(uintptr_t)SD_COL_DIFF_RSS },
    { NULL, NULL, NULL, NULL, NULL },
};
#undef IN_MEMORY
#undef IN_TIME
#define IN_MEMORY NOT_HERE
#define IN_TIME FIGURE
static PyGetSetDef time_getset[] = {
#include "ext/sections/columns.def"
    { NULL, NULL, NULL, NULL, NULL },
};
#undef IN_TIME
#undef IN_IO
#define IN_TIME NOT_HERE
#define IN_IO FIGURE
static PyGetSetDef io_getset[] = {
#include "ext/sections/columns.def"
    { NULL, NULL, NULL, NULL, NULL },
};
#undef IN_IO
#undef IN_NETWORK
#define IN_IO NOT_HERE
#define IN_NETWORK FIGURE
static PyGetSetDef network_getset[] = {
#include "ext/sections/columns.def"
    { NULL, NULL, NULL, NULL, NULL },
};
#undef COLUMN

static PyGetSetDef interval_getset[] = {
    { "memory", get_part, NULL, NULL, (void *)(uintptr_t)SD_GROUP_MEMORY },
    { "time", get_part, NULL, NULL, (void *)(uintptr_t)SD_GROUP_TIME },
    { "io", get_part, NULL, NULL, (void *)(uintptr_t)SD_GROUP_IO },
    { "network", get_part, NULL, NULL, (void *)(uintptr_t)SD_GROUP_NETWORK },
    { NULL, NULL, NULL, NULL, NULL },
};

/* --- to_dict, repr, comparison, pickling */

PyObject *sd_interval_any_figure(struct sd_py_interval *v, enum sd_interval_column c)
{
    struct sd_py_interval *p;

    if (v->kind != SD_VIEW_INTERVAL && !sd_interval_has(v->kind, c))
        Py_RETURN_NONE;
    if (v->kind != SD_VIEW_INTERVAL || v->from)
        return sd_interval_figure(v, c);
    p = (struct sd_py_interval *)v->figures[sd_columns[c].group];
    if (!p || (PyObject *)p == Py_None)
        Py_RETURN_NONE;
    return sd_interval_figure(p, c);
}

static bool has_column(struct sd_py_interval *v, enum sd_interval_column c,
                       PyObject *value)
{
    if (v->kind != SD_VIEW_INTERVAL && !sd_interval_has(v->kind, c))
        return false;
    return v->from ? sd_column_is_shown(&v->from->store, c)
                   : c != SD_COL_PSS || value != Py_None;
}

static PyObject *view_to_dict(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "prefix", NULL };
    struct sd_py_interval *v = (struct sd_py_interval *)self;
    bool is_whole = v->kind == SD_VIEW_INTERVAL;
    const char *prefix = "", *colon;
    PyObject *dict = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:to_dict", names, &prefix))
        return NULL;
    colon = is_whole && *prefix ? ":" : "";
    dict = PyDict_New();
    for (int c = 0; dict && c < SD_N_COLUMNS; c++) {
        PyObject *value = sd_interval_any_figure(v, (enum sd_interval_column)c), *key;

        if (value && !has_column(v, (enum sd_interval_column)c, value)) {
            Py_DECREF(value);
            continue;
        }
        key = PyUnicode_FromFormat("%s%s%s", prefix, colon,
                                   is_whole ? sd_columns[c].name : sd_columns[c].field);
        if (!value || !key || PyDict_SetItem(dict, key, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

/* Its constructor's arguments as a list of "name=value", joined by the caller. */
static PyObject *arguments_shown(struct sd_py_interval *v)
{
    PyObject *shown = PyList_New(0);

    for (int i = 0; shown && i < sd_given_arguments[v->kind].n; i++) {
        int c = sd_given_arguments[v->kind].columns[i];
        PyObject *value = v->kind == SD_VIEW_INTERVAL
                              ? sd_interval_part(v, (enum sd_column_group)c)
                              : sd_interval_figure(v, (enum sd_interval_column)c);
        PyObject *text =
            value ? PyUnicode_FromFormat("%s=%R", sd_given_name(v->kind, i), value)
                  : NULL;

        if (!text || PyList_Append(shown, text) < 0)
            Py_CLEAR(shown);
        Py_XDECREF(text);
        Py_XDECREF(value);
    }
    return shown;
}

static PyObject *view_repr(PyObject *self)
{
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *shown = arguments_shown((struct sd_py_interval *)self);
    PyObject *joined = comma && shown ? PyUnicode_Join(comma, shown) : NULL;
    const char *name = strrchr(Py_TYPE(self)->tp_name, '.');
    PyObject *text =
        joined ? PyUnicode_FromFormat("%s(%U)", name ? name + 1 : "Interval", joined)
               : NULL;

    Py_XDECREF(comma);
    Py_XDECREF(shown);
    Py_XDECREF(joined);
    return text;
}

/* Every figure, by column, as a tuple: what equality and pickles look at. */
static PyObject *all_figures(struct sd_py_interval *v)
{
    PyObject *all = PyTuple_New(SD_N_COLUMNS);

    for (int c = 0; all && c < SD_N_COLUMNS; c++) {
        PyObject *value = sd_interval_any_figure(v, (enum sd_interval_column)c);

        if (!value)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, c, value);
    }
    return all;
}

static PyObject *view_compare(PyObject *self, PyObject *other, int op)
{
    PyObject *a, *b, *result;

    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(self) != Py_TYPE(other))
        Py_RETURN_NOTIMPLEMENTED;
    a = all_figures((struct sd_py_interval *)self);
    b = all_figures((struct sd_py_interval *)other);
    result = a && b ? PyObject_RichCompare(a, b, op) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static PyObject *view_reduce(PyObject *self, PyObject *unused)
{
    struct sd_py_interval *v = (struct sd_py_interval *)self;
    PyObject *module = PyImport_ImportModule("sonde._sonde");
    PyObject *rebuild = module ? PyObject_GetAttrString(module, "_interval") : NULL;
    PyObject *figures = rebuild ? all_figures(v) : NULL;
    PyObject *reduced =
        figures ? Py_BuildValue("O(iO)", rebuild, (int)v->kind, figures) : NULL;

    (void)unused;
    Py_XDECREF(module);
    Py_XDECREF(rebuild);
    Py_XDECREF(figures);
    return reduced;
}

/* --- MemoryInterval.to_unit */

static int convert(struct sd_py_interval *to, struct sd_py_interval *from,
                   enum sd_interval_column c, double factor)
{
    PyObject *value = sd_interval_figure(from, c);
    double v;

    if (!value)
        return -1;
    if (value == Py_None) {
        to->figures[c] = value;
        return 0;
    }
    v = PyFloat_AsDouble(value);
    Py_DECREF(value);
    if (v == -1.0 && PyErr_Occurred())
        return -1;
    to->figures[c] = PyFloat_FromDouble(v * factor);
    return to->figures[c] ? 0 : -1;
}

static PyObject *memory_to_unit(PyObject *self, PyObject *unit)
{
    struct sd_py_interval *v = (struct sd_py_interval *)self, *made;
    PyObject *own = sd_interval_figure(v, SD_COL_UNIT);
    uint8_t from, to;
    double factor;

    if (!own)
        return NULL;
    if (!sd_parse_unit(unit, &to) || !sd_parse_unit(own, &from)) {
        PyErr_Format(PyExc_ValueError, "cannot convert from %S to %S", own, unit);
        Py_DECREF(own);
        return NULL;
    }
    Py_DECREF(own);
    factor = sd_column_unit_bytes(from) / sd_column_unit_bytes(to);
    made = sd_interval_make(v->ext, SD_VIEW_MEMORY);
    for (int c = 0; made && c < SD_N_COLUMNS; c++) {
        struct sd_figure word = { .kind = SD_FIGURE_WORD,
                                  .word = (enum sd_word)(SD_WORD_BYTES + to) };

        if (c == SD_COL_UNIT)
            made->figures[c] = sd_interval_cell_member(v->ext, word);
        else if (sd_interval_has(SD_VIEW_MEMORY, (enum sd_interval_column)c) &&
                 convert(made, v, (enum sd_interval_column)c, factor) < 0)
            Py_CLEAR(made);
        if (made && c == SD_COL_UNIT && !made->figures[c])
            Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* --- The five types */

#define VIEW_METHODS                                                                   \
    { "to_dict", (PyCFunction)(void (*)(void))view_to_dict,                            \
      METH_VARARGS | METH_KEYWORDS,                                                    \
      "to_dict($self, /, prefix=\"\")\n--\n\nReturns the figures by name." },          \
    {                                                                                  \
        "__reduce__", view_reduce, METH_NOARGS, NULL                                   \
    }

static PyMethodDef view_methods[] = { VIEW_METHODS, { NULL, NULL, 0, NULL } };

static PyMethodDef memory_methods[] = {
    VIEW_METHODS,
    { "to_unit", memory_to_unit, METH_O,
      "to_unit($self, unit, /)\n--\n\nReturns the same interval in another unit." },
    { NULL, NULL, 0, NULL },
};

#define VIEW_SLOTS(doc, methods, getset)                                               \
    {                                                                                  \
        { Py_tp_doc, (void *)(doc) }, { Py_tp_new, sd_given_new },                     \
            { Py_tp_dealloc, view_dealloc }, { Py_tp_traverse, view_traverse },        \
            { Py_tp_clear, view_clear }, { Py_tp_repr, view_repr },                    \
            { Py_tp_richcompare, view_compare },                                       \
            { Py_tp_hash, PyObject_HashNotImplemented }, { Py_tp_methods, methods },   \
            { Py_tp_getset, getset }, { 0, NULL },                                     \
    }

static PyType_Slot slots[SD_N_VIEWS][12] = {
    VIEW_SLOTS("Interval(memory, time, io=None, network=None)\n--\n\n"
               "What one pass through a section cost.",
               view_methods, interval_getset),
    VIEW_SLOTS(
        "MemoryInterval(start_vms, start_rss, end_vms, end_rss, unit, "
        "peak_rss=None, pss=None)\n--\n\nMemory of the process before and after, "
        "and its peak in between.",
        memory_methods, memory_getset),
    VIEW_SLOTS("TimeInterval(start, end, kind, unit, duration=None)\n--\n\nWhen, and "
               "how long.",
               view_methods, time_getset),
    VIEW_SLOTS("IoInterval(read=None, written=None)\n--\n\nBytes the process read and "
               "wrote.",
               view_methods, io_getset),
    VIEW_SLOTS(
        "NetworkInterval(received=None, sent=None)\n--\n\nBytes over the network "
        "of the machine or container.",
        view_methods, network_getset),
};

#define VIEW_SPEC(kind, type_name)                                                     \
    [kind] = { .name = type_name,                                                      \
               .basicsize = sizeof(struct sd_py_interval),                             \
               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,                       \
               .slots = slots[kind] }

PyType_Spec sd_view_specs[SD_N_VIEWS] = {
    VIEW_SPEC(SD_VIEW_INTERVAL, "sonde.Interval"),
    VIEW_SPEC(SD_VIEW_MEMORY, "sonde.MemoryInterval"),
    VIEW_SPEC(SD_VIEW_TIME, "sonde.TimeInterval"),
    VIEW_SPEC(SD_VIEW_IO, "sonde.IoInterval"),
    VIEW_SPEC(SD_VIEW_NETWORK, "sonde.NetworkInterval"),
};
