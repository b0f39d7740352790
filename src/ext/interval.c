/* SPDX-License-Identifier: MIT */
#include "ext/interval.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { N_PARTS = 4 }; /* memory, time, io, network: in the order of enum sd_group */

struct view {
    PyObject_HEAD enum sd_view_kind kind;
    struct sd_ext *ext;       /* lives at least as long as our type */
    struct sd_profiler *from; /* owned; NULL: figures given by hand */
    uint32_t row;
    /* By hand, by column; of an Interval, its parts.  Owned; NULL is None. */
    PyObject *figures[SD_N_COLUMNS];
};

static enum sd_view_kind view_of_group(enum sd_group g)
{
    return (enum sd_view_kind)(SD_VIEW_MEMORY + (int)g);
}

static bool is_in(enum sd_view_kind kind, enum sd_column c)
{
    return view_of_group(sd_columns[c].group) == kind;
}

/* --- Figures as objects */

PyObject *sd_cell_object(struct sd_ext *ext, struct sd_cell cell)
{
    switch (cell.kind) {
    case SD_CELL_NONE:
        break;
    case SD_CELL_REAL:
        return PyFloat_FromDouble(cell.real);
    case SD_CELL_COUNT:
        return PyLong_FromLongLong(cell.count);
    case SD_CELL_WORD:
        return Py_NewRef(ext->words[cell.word]);
    }
    Py_RETURN_NONE;
}

PyObject *sd_cell_member(struct sd_ext *ext, struct sd_cell cell)
{
    if (cell.kind != SD_CELL_WORD)
        return sd_cell_object(ext, cell);
    if (!ext->members) {
        PyObject *module = PyImport_ImportModule("sonde._enums");

        ext->members = module ? PyObject_GetAttrString(module, "MEMBERS") : NULL;
        Py_XDECREF(module);
    }
    return ext->members ? PySequence_GetItem(ext->members, (Py_ssize_t)cell.word)
                        : NULL;
}

static PyObject *figure(struct view *v, enum sd_column c)
{
    const struct sd_store *s;

    if (!v->from)
        return Py_NewRef(v->figures[c] ? v->figures[c] : Py_None);
    s = &v->from->store;
    return sd_cell_member(v->ext, sd_column_cell(s, sd_store_row(s, v->row), c));
}

/* --- Life */

static struct view *view_new(struct sd_ext *ext, enum sd_view_kind kind)
{
    struct view *v =
        sd_ext_is_gone(ext) ? NULL : PyObject_GC_New(struct view, ext->views[kind]);

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

static struct view *view_of_row(struct sd_ext *ext, enum sd_view_kind kind,
                                struct sd_profiler *p, uint32_t row)
{
    struct view *v = view_new(ext, kind);

    if (!v)
        return NULL;
    Py_INCREF(p);
    v->from = p;
    v->row = row;
    return v;
}

PyObject *sd_interval_new(struct sd_profiler *p, uint32_t row)
{
    return (PyObject *)view_of_row(p->ext, SD_VIEW_INTERVAL, p, row);
}

static int view_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct view *v = (struct view *)self;

    Py_VISIT(v->from);
    for (int i = 0; i < SD_N_COLUMNS; i++)
        Py_VISIT(v->figures[i]);
    SD_VISIT_TYPE(self);
    return 0;
}

static int view_clear(PyObject *self)
{
    struct view *v = (struct view *)self;

    for (int i = 0; i < SD_N_COLUMNS; i++)
        Py_CLEAR(v->figures[i]);
    return 0;
}

static void view_dealloc(PyObject *self)
{
    struct view *v = (struct view *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    view_clear(self);
    Py_CLEAR(v->from);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* A part of an Interval: memory, time, io or network. */
static PyObject *part(struct view *v, enum sd_group g)
{
    if (v->from)
        return (PyObject *)view_of_row(v->ext, view_of_group(g), v->from, v->row);
    return Py_NewRef(v->figures[g] ? v->figures[g] : Py_None);
}

/* --- By hand: the constructors, in amltk's order of arguments */

enum { MAX_ARGUMENTS = 7 };

static const struct {
    int n, n_needed;
    int columns[MAX_ARGUMENTS]; /* enum sd_column; of an Interval, enum sd_group */
} arguments[SD_N_VIEWS] = {
    [SD_VIEW_INTERVAL] = { 4,
                           2,
                           { SD_GROUP_MEMORY, SD_GROUP_TIME, SD_GROUP_IO,
                             SD_GROUP_NETWORK } },
    [SD_VIEW_MEMORY] = { 7,
                         5,
                         { SD_COL_START_VMS, SD_COL_START_RSS, SD_COL_END_VMS,
                           SD_COL_END_RSS, SD_COL_UNIT, SD_COL_PEAK_RSS, SD_COL_PSS } },
    [SD_VIEW_TIME] = { 5,
                       4,
                       { SD_COL_START, SD_COL_END, SD_COL_KIND, SD_COL_TIME_UNIT,
                         SD_COL_DURATION } },
    [SD_VIEW_IO] = { 2, 0, { SD_COL_READ, SD_COL_WRITTEN } },
    [SD_VIEW_NETWORK] = { 2, 0, { SD_COL_RECEIVED, SD_COL_SENT } },
};

static const char *const part_names[N_PARTS] = { "memory", "time", "io", "network" };

static const char *argument_name(enum sd_view_kind kind, int i)
{
    int c = arguments[kind].columns[i];

    return kind == SD_VIEW_INTERVAL ? part_names[c] : sd_columns[c].field;
}

/* Puts one argument where it belongs; -1 when its type is wrong or it is twice there.
 */
static int take_argument(struct view *v, int i, PyObject *value)
{
    int c = arguments[v->kind].columns[i];

    if (v->figures[c])
        return PyErr_Format(PyExc_TypeError, "%s is given twice",
                            argument_name(v->kind, i))
                   ? 0
                   : -1;
    if (v->kind == SD_VIEW_INTERVAL && value != Py_None &&
        !PyObject_TypeCheck(value, v->ext->views[view_of_group((enum sd_group)c)])) {
        PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s",
                     argument_name(v->kind, i),
                     v->ext->views[view_of_group((enum sd_group)c)]->tp_name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    v->figures[c] = Py_NewRef(value);
    return 0;
}

static int take_keywords(struct view *v, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        int i = 0, n = arguments[v->kind].n;

        while (i < n &&
               PyUnicode_CompareWithASCIIString(key, argument_name(v->kind, i)) != 0)
            i++;
        if (i == n) {
            PyErr_Format(PyExc_TypeError, "%s takes no argument %R",
                         Py_TYPE(v)->tp_name, key);
            return -1;
        }
        if (take_argument(v, i, value) < 0)
            return -1;
    }
    return 0;
}

static int take_arguments(struct view *v, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);

    if (n > arguments[v->kind].n) {
        PyErr_Format(PyExc_TypeError, "%s takes at most %d arguments",
                     Py_TYPE(v)->tp_name, arguments[v->kind].n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (take_argument(v, (int)i, PyTuple_GET_ITEM(args, i)) < 0)
            return -1;
    }
    if (take_keywords(v, kwargs) < 0)
        return -1;
    for (int i = 0; i < arguments[v->kind].n_needed; i++) {
        if (!v->figures[arguments[v->kind].columns[i]]) {
            PyErr_Format(PyExc_TypeError, "%s needs %s", Py_TYPE(v)->tp_name,
                         argument_name(v->kind, i));
            return -1;
        }
    }
    return 0;
}

/* What follows from two others; None where they cannot be subtracted. */
static int derive(struct view *v, enum sd_column to, enum sd_column from,
                  enum sd_column less)
{
    Py_CLEAR(v->figures[to]); /* a None that was given */
    v->figures[to] = PyNumber_Subtract(v->figures[from], v->figures[less]);
    if (!v->figures[to] && !PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return 0;
}

static bool is_given(const struct view *v, enum sd_column c)
{
    return v->figures[c] && v->figures[c] != Py_None;
}

static int derive_all(struct view *v)
{
    if (v->kind == SD_VIEW_TIME && is_given(v, SD_COL_DURATION))
        return 0; /* more exact than two moments since the epoch, as doubles */
    if (v->kind == SD_VIEW_TIME)
        return derive(v, SD_COL_DURATION, SD_COL_END, SD_COL_START);
    if (v->kind != SD_VIEW_MEMORY)
        return 0;
    return derive(v, SD_COL_DIFF_VMS, SD_COL_END_VMS, SD_COL_START_VMS) < 0 ||
                   derive(v, SD_COL_DIFF_RSS, SD_COL_END_RSS, SD_COL_START_RSS) < 0
               ? -1
               : 0;
}

static PyObject *new_view(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct sd_ext *ext = sd_ext_of(type);
    int kind = 0;
    struct view *v;

    if (!ext)
        return NULL;
    while (kind < SD_N_VIEWS && ext->views[kind] != type)
        kind++;
    if (kind == SD_N_VIEWS) {
        PyErr_SetString(PyExc_TypeError, "the types of intervals have no subclasses");
        return NULL;
    }
    v = view_new(ext, (enum sd_view_kind)kind);
    if (v && (take_arguments(v, args, kwargs) < 0 || derive_all(v) < 0))
        Py_CLEAR(v);
    return (PyObject *)v;
}

/* --- Attributes */

static PyObject *get_figure(PyObject *self, void *column)
{
    return figure((struct view *)self, (enum sd_column)(uintptr_t)column);
}

static PyObject *get_part(PyObject *self, void *group)
{
    return part((struct view *)self, (enum sd_group)(uintptr_t)group);
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
#include "ext/columns.def"
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
#include "ext/columns.def"
    { NULL, NULL, NULL, NULL, NULL },
};
#undef IN_TIME
#undef IN_IO
#define IN_TIME NOT_HERE
#define IN_IO FIGURE
static PyGetSetDef io_getset[] = {
#include "ext/columns.def"
    { NULL, NULL, NULL, NULL, NULL },
};
#undef IN_IO
#undef IN_NETWORK
#define IN_IO NOT_HERE
#define IN_NETWORK FIGURE
static PyGetSetDef network_getset[] = {
#include "ext/columns.def"
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

/* The figure of any column, of an Interval through its parts; None when it is not ours.
 */
static PyObject *any_figure(struct view *v, enum sd_column c)
{
    struct view *p;

    if (v->kind != SD_VIEW_INTERVAL && !is_in(v->kind, c))
        Py_RETURN_NONE;
    if (v->kind != SD_VIEW_INTERVAL || v->from)
        return figure(v, c);
    p = (struct view *)v->figures[sd_columns[c].group];
    if (!p || (PyObject *)p == Py_None)
        Py_RETURN_NONE;
    return figure(p, c);
}

static bool has_column(struct view *v, enum sd_column c, PyObject *value)
{
    if (v->kind != SD_VIEW_INTERVAL && !is_in(v->kind, c))
        return false;
    return v->from ? sd_column_is_shown(&v->from->store, c)
                   : c != SD_COL_PSS || value != Py_None;
}

static PyObject *view_to_dict(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "prefix", NULL };
    struct view *v = (struct view *)self;
    bool is_whole = v->kind == SD_VIEW_INTERVAL;
    const char *prefix = "", *colon;
    PyObject *dict = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:to_dict", names, &prefix))
        return NULL;
    colon = is_whole && *prefix ? ":" : "";
    dict = PyDict_New();
    for (int c = 0; dict && c < SD_N_COLUMNS; c++) {
        PyObject *value = any_figure(v, (enum sd_column)c), *key;

        if (value && !has_column(v, (enum sd_column)c, value)) {
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
static PyObject *arguments_shown(struct view *v)
{
    PyObject *shown = PyList_New(0);

    for (int i = 0; shown && i < arguments[v->kind].n; i++) {
        int c = arguments[v->kind].columns[i];
        PyObject *value = v->kind == SD_VIEW_INTERVAL ? part(v, (enum sd_group)c)
                                                      : figure(v, (enum sd_column)c);
        PyObject *text =
            value ? PyUnicode_FromFormat("%s=%R", argument_name(v->kind, i), value)
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
    PyObject *shown = arguments_shown((struct view *)self);
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
static PyObject *all_figures(struct view *v)
{
    PyObject *all = PyTuple_New(SD_N_COLUMNS);

    for (int c = 0; all && c < SD_N_COLUMNS; c++) {
        PyObject *value = any_figure(v, (enum sd_column)c);

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
    a = all_figures((struct view *)self);
    b = all_figures((struct view *)other);
    result = a && b ? PyObject_RichCompare(a, b, op) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static PyObject *view_reduce(PyObject *self, PyObject *unused)
{
    struct view *v = (struct view *)self;
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

static void set_figures(struct view *v, PyObject *figures)
{
    for (int c = 0; c < SD_N_COLUMNS; c++) {
        if (is_in(v->kind, (enum sd_column)c))
            v->figures[c] = Py_NewRef(PyTuple_GET_ITEM(figures, c));
    }
}

PyObject *sd_interval_rebuild(PyObject *module, PyObject *args)
{
    struct sd_ext *ext = sd_ext_of_module(module);
    PyObject *figures;
    struct view *v;
    int kind;

    if (!PyArg_ParseTuple(args, "iO!:_interval", &kind, &PyTuple_Type, &figures))
        return NULL;
    if (kind < 0 || kind >= SD_N_VIEWS || PyTuple_GET_SIZE(figures) != SD_N_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "not the figures of an interval");
        return NULL;
    }
    v = view_new(ext, (enum sd_view_kind)kind);
    if (v && kind != SD_VIEW_INTERVAL)
        set_figures(v, figures);
    for (int g = 0; v && kind == SD_VIEW_INTERVAL && g < N_PARTS; g++) {
        struct view *p = view_new(ext, view_of_group((enum sd_group)g));

        v->figures[g] = (PyObject *)p;
        if (p)
            set_figures(p, figures);
        else
            Py_CLEAR(v);
    }
    return (PyObject *)v;
}

/* --- MemoryInterval.to_unit */

static int convert(struct view *to, struct view *from, enum sd_column c, double factor)
{
    PyObject *value = figure(from, c);
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
    struct view *v = (struct view *)self, *made;
    PyObject *own = figure(v, SD_COL_UNIT);
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
    factor = sd_unit_bytes(from) / sd_unit_bytes(to);
    made = view_new(v->ext, SD_VIEW_MEMORY);
    for (int c = 0; made && c < SD_N_COLUMNS; c++) {
        struct sd_cell word = { .kind = SD_CELL_WORD,
                                .word = (enum sd_word)(SD_WORD_BYTES + to) };

        if (c == SD_COL_UNIT)
            made->figures[c] = sd_cell_member(v->ext, word);
        else if (is_in(SD_VIEW_MEMORY, (enum sd_column)c) &&
                 convert(made, v, (enum sd_column)c, factor) < 0)
            Py_CLEAR(made);
        if (made && c == SD_COL_UNIT && !made->figures[c])
            Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* --- Into a store: Profiler(profiles={...}) */

static const enum sd_column column_of_field[SD_N_FIELDS] = {
    SD_COL_START,     SD_COL_END,     SD_COL_START_VMS, SD_COL_END_VMS,
    SD_COL_START_RSS, SD_COL_END_RSS, SD_COL_PEAK_RSS,  SD_COL_PSS,
    SD_COL_READ,      SD_COL_WRITTEN, SD_COL_RECEIVED,  SD_COL_SENT,
};

/* A figure given by hand as the integer a row holds; what is no number is not known. */
static int64_t as_integer(PyObject *value, double scale)
{
    double v = value == Py_None ? NAN : PyFloat_AsDouble(value);

    PyErr_Clear();
    v = round(v * scale);
    return isfinite(v) && fabs(v) < 9e18 ? (int64_t)v : SD_VALUE_NONE;
}

static double scale_of(enum sd_field f, enum sd_size_unit unit)
{
    if (f == SD_FIELD_START || f == SD_FIELD_END)
        return 1e9;
    return f >= SD_FIELD_READ ? 1 : sd_unit_bytes(unit);
}

static int64_t integer_of(struct view *v, enum sd_column c, double scale)
{
    PyObject *value = any_figure(v, c);
    int64_t n = value ? as_integer(value, scale) : SD_VALUE_NONE;

    PyErr_Clear();
    Py_XDECREF(value);
    return n;
}

static void copy_figures(struct view *v, const struct sd_store *to, struct sd_row *row)
{
    int64_t start, lasted = integer_of(v, SD_COL_DURATION, 1e9);

    for (int f = 0; f < SD_N_FIELDS; f++)
        sd_store_set(
            to, row, (enum sd_field)f,
            integer_of(v, column_of_field[f], scale_of((enum sd_field)f, row->unit)));
    /* The duration is exact where the moments, as doubles, are not. */
    start = sd_store_get(to, row, SD_FIELD_START);
    if (lasted != SD_VALUE_NONE && start != SD_VALUE_NONE)
        sd_store_set(to, row, SD_FIELD_END, start + lasted);
}

static void copy_row(struct view *v, const struct sd_store *to, struct sd_row *row)
{
    const struct sd_store *s = &v->from->store;
    const struct sd_row *old = sd_store_row(s, v->row);

    row->flags = old->flags;
    for (int f = 0; f < SD_N_FIELDS; f++)
        sd_store_set(to, row, (enum sd_field)f, sd_store_get(s, old, (enum sd_field)f));
}

static void words_of(struct view *v, uint8_t *unit, uint8_t *kind)
{
    PyObject *u = any_figure(v, SD_COL_UNIT), *k = any_figure(v, SD_COL_KIND);

    if (u)
        sd_parse_unit(u, unit);
    if (k)
        sd_parse_kind(k, kind);
    PyErr_Clear();
    Py_XDECREF(u);
    Py_XDECREF(k);
}

int sd_interval_into_row(struct sd_ext *ext, PyObject *interval, struct sd_profiler *p,
                         const char *path, size_t n)
{
    struct view *v = (struct view *)interval;
    uint8_t unit = SD_N_SIZE_UNITS, kind = SD_N_KINDS; /* not known */
    uint32_t entry, at;
    int rc;

    if (!PyObject_TypeCheck(interval, ext->views[SD_VIEW_INTERVAL])) {
        PyErr_Format(PyExc_TypeError, "profiles must hold Interval, not %.100s",
                     Py_TYPE(interval)->tp_name);
        return -1;
    }
    words_of(v, &unit, &kind);
    rc = sd_store_entry(&p->store, path, n, &entry);
    if (rc == 0)
        rc = sd_store_open(&p->store, entry, kind, unit, &at);
    if (rc < 0) {
        sd_ext_raise(rc);
        return -1;
    }
    sd_store_row(&p->store, at)->flags = 0;
    if (v->from)
        copy_row(v, &p->store, sd_store_row(&p->store, at));
    else
        copy_figures(v, &p->store, sd_store_row(&p->store, at));
    return 0;
}

/* --- The five types */

#define VIEW_METHODS                                                                   \
    { "to_dict", (PyCFunction)(void (*)(void))view_to_dict,                            \
      METH_VARARGS | METH_KEYWORDS,                                                    \
      "to_dict($self, /, prefix=\"\")\n--\n\nThe figures by name." },                  \
    {                                                                                  \
        "__reduce__", view_reduce, METH_NOARGS, NULL                                   \
    }

static PyMethodDef view_methods[] = { VIEW_METHODS, { NULL, NULL, 0, NULL } };

static PyMethodDef memory_methods[] = {
    VIEW_METHODS,
    { "to_unit", memory_to_unit, METH_O,
      "to_unit($self, unit, /)\n--\n\nThe same in another unit." },
    { NULL, NULL, 0, NULL },
};

#define VIEW_SLOTS(doc, methods, getset)                                               \
    {                                                                                  \
        { Py_tp_doc, (void *)(doc) }, { Py_tp_new, new_view },                         \
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
               .basicsize = sizeof(struct view),                                       \
               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,                       \
               .slots = slots[kind] }

PyType_Spec sd_view_specs[SD_N_VIEWS] = {
    VIEW_SPEC(SD_VIEW_INTERVAL, "sonde.Interval"),
    VIEW_SPEC(SD_VIEW_MEMORY, "sonde.MemoryInterval"),
    VIEW_SPEC(SD_VIEW_TIME, "sonde.TimeInterval"),
    VIEW_SPEC(SD_VIEW_IO, "sonde.IoInterval"),
    VIEW_SPEC(SD_VIEW_NETWORK, "sonde.NetworkInterval"),
};
