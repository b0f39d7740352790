/* SPDX-License-Identifier: MIT */
#include "ext/sections/py_profiler.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "ext/sections/interval_values.h"
#include "ext/sections/py_interval.h"
#include "ext/sections/py_section.h"

/* --- What the constructor understands */

static int nth_word(const char *s, const char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcasecmp(s, words[i]) == 0)
            return i;
    }
    return -1;
}

/* The members of our enums are str, so that both spellings arrive here. */
static const char *text_of(PyObject *o)
{
    const char *s = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;

    PyErr_Clear();
    return s ? s : "";
}

bool sd_parse_unit(PyObject *o, uint8_t *unit)
{
    static const char *const shorts[] = { "B", "KB", "MB", "GB" };
    int i = nth_word(text_of(o), shorts, SD_N_SIZE_UNITS);

    if (i < 0)
        i = nth_word(text_of(o), sd_words + SD_WORD_BYTES, SD_N_SIZE_UNITS);
    if (i >= 0)
        *unit = (uint8_t)i;
    return i >= 0;
}

bool sd_parse_kind(PyObject *o, uint8_t *kind)
{
    int i = nth_word(text_of(o), sd_words + SD_WORD_WALL, SD_N_KINDS);

    if (i >= 0)
        *kind = (uint8_t)i;
    return i >= 0;
}

static const struct {
    const char *word;
    unsigned bit;
} measures[] = {
    { "time", SD_MEASURE_TIME },       { "memory", SD_MEASURE_MEMORY },
    { "peak", SD_MEASURE_PEAK },       { "io", SD_MEASURE_IO },
    { "network", SD_MEASURE_NETWORK }, { "pss", SD_MEASURE_PSS },
};
enum { N_MEASURES = sizeof measures / sizeof *measures };

static int add_measure(PyObject *word, unsigned *bits)
{
    const char *s = text_of(word);

    for (int i = 0; i < N_MEASURES; i++) {
        if (strcmp(s, measures[i].word) == 0) {
            *bits |= measures[i].bit;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "measure has no %R: choose among time, memory, peak, io, network, pss",
                 word);
    return -1;
}

/* None, one word, or words. */
static int parse_measure(PyObject *o, unsigned *bits)
{
    PyObject *items, *word;

    *bits = SD_MEASURE_ALL;
    if (!o || o == Py_None)
        return 0;
    *bits = 0;
    if (PyUnicode_Check(o))
        return add_measure(o, bits);
    items = PyObject_GetIter(o);
    if (!items)
        return -1;
    while ((word = PyIter_Next(items))) {
        int rc = add_measure(word, bits);

        Py_DECREF(word);
        if (rc < 0)
            break;
    }
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

/* --- Life */

static void set_defaults(struct sd_py_profiler *p)
{
    p->epoch_ns = (int64_t)(sd_clock_real_ns() - sd_clock_ns());
    p->kind = SD_KIND_WALL;
    p->unit = SD_SIZE_B;
    p->keeps = true;
    p->is_disabled = false;
    p->n_lost = 0;
    sd_store_init(&p->store, SD_MEASURE_ALL);
}

static PyObject *profiler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct sd_ext *ext = sd_ext_of(type);
    struct sd_py_profiler *p;

    (void)args;
    (void)kwargs;
    if (!ext)
        return NULL;
    p = (struct sd_py_profiler *)type->tp_alloc(type, 0);
    if (!p)
        return NULL;
    p->ext = ext;
    p->call = sd_py_section_call;
    set_defaults(p);
    p->unit_given = PyUnicode_FromString("B");
    p->kind_given = Py_NewRef(ext->words[SD_WORD_WALL]);
    if (!p->unit_given)
        Py_CLEAR(p);
    return (PyObject *)p;
}

struct sd_py_profiler *sd_profiler_new(struct sd_ext *ext, unsigned measure, bool keeps)
{
    struct sd_py_profiler *p =
        (struct sd_py_profiler *)profiler_new(ext->profiler, NULL, NULL);

    if (!p)
        return NULL;
    sd_store_init(&p->store, measure);
    p->keeps = keeps;
    return p;
}

/* profiles={name: Interval}: what another run measured. */
static int take_profiles(struct sd_py_profiler *p, PyObject *profiles)
{
    PyObject *items = PyMapping_Items(profiles);
    Py_ssize_t n = items ? PyList_GET_SIZE(items) : -1;
    int rc = items ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        PyObject *name, *interval, *owned;
        Py_ssize_t n_bytes;
        const char *bytes;

        if (!PyArg_ParseTuple(PyList_GET_ITEM(items, i), "UO", &name, &interval)) {
            rc = -1;
            break;
        }
        bytes = sd_py_section_name_bytes(name, &n_bytes, &owned);
        rc = bytes ? sd_interval_into_row(p->ext, interval, p, bytes, (size_t)n_bytes)
                   : -1;
        Py_XDECREF(owned);
    }
    Py_XDECREF(items);
    return rc;
}

static int set_unit(struct sd_py_profiler *p, PyObject *given)
{
    if (!sd_parse_unit(given, &p->unit)) {
        PyErr_Format(PyExc_ValueError, "Unknown memory unit: %S", given);
        return -1;
    }
    Py_INCREF(given);
    Py_XSETREF(p->unit_given, given);
    return 0;
}

static int set_kind(struct sd_py_profiler *p, PyObject *given)
{
    if (!sd_parse_kind(given, &p->kind)) {
        PyErr_Format(PyExc_ValueError, "Unknown timer type: %S", given);
        return -1;
    }
    Py_INCREF(given);
    Py_XSETREF(p->kind_given, given);
    return 0;
}

static int profiler_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "profiles", "memory_unit", "time_kind",
                             "disabled", "measure",     NULL };
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    PyObject *profiles = NULL, *unit = NULL, *kind = NULL, *measure = NULL;
    int disabled = 0;
    unsigned bits;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOp$O:Profiler", names, &profiles,
                                     &unit, &kind, &disabled, &measure) ||
        parse_measure(measure, &bits) < 0 || (unit && set_unit(p, unit) < 0) ||
        (kind && set_kind(p, kind) < 0))
        return -1;
    p->is_disabled = disabled != 0;
    if (p->store.n_steps == 0 && p->store.n_rows == 0) {
        sd_store_init(&p->store, bits);
    } else if (p->store.measure != bits) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a Profiler that has measured cannot be made anew");
        return -1;
    }
    return profiles && profiles != Py_None ? take_profiles(p, profiles) : 0;
}

static int profiler_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;

    Py_VISIT(p->unit_given);
    Py_VISIT(p->kind_given);
    SD_VISIT_TYPE(self);
    return 0;
}

/* What sections still need (the store, `ext`) stays until the last one is gone. */
static int profiler_clear(PyObject *self)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;

    Py_CLEAR(p->unit_given);
    Py_CLEAR(p->kind_given);
    return 0;
}

static void profiler_dealloc(PyObject *self)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (p->weakrefs)
        PyObject_ClearWeakRefs(self);
    profiler_clear(self);
    sd_store_release(&p->store);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- A mapping: name -> the last interval of that name */

static uint32_t find(struct sd_py_profiler *p, PyObject *key)
{
    PyObject *owned;
    Py_ssize_t n;
    const char *path;
    uint32_t entry = SD_STORE_NONE;

    if (!PyUnicode_Check(key))
        return entry;
    path = sd_py_section_name_bytes(key, &n, &owned);
    if (path)
        entry = sd_store_find(&p->store, path, (size_t)n);
    Py_XDECREF(owned);
    PyErr_Clear();
    /* A path of which no interval could be kept is not there. */
    return entry != SD_STORE_NONE && p->store.entries[entry].count ? entry
                                                                   : SD_STORE_NONE;
}

static Py_ssize_t profiler_length(PyObject *self)
{
    return ((struct sd_py_profiler *)self)->store.n_named;
}

static PyObject *profiler_subscript(PyObject *self, PyObject *key)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    uint32_t entry = find(p, key);

    if (entry != SD_STORE_NONE)
        return sd_interval_new(p, p->store.entries[entry].last);
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

static int profiler_contains(PyObject *self, PyObject *key)
{
    return find((struct sd_py_profiler *)self, key) != SD_STORE_NONE;
}

static PyObject *names_list(struct sd_py_profiler *p)
{
    PyObject *names = PyList_New(0);

    for (size_t i = 0; names && i < p->store.n_entries; i++) {
        PyObject *name;

        if (!p->store.entries[i].count)
            continue;
        name = sd_py_section_path_object(&p->store.entries[i]);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *profiler_iter(PyObject *self)
{
    PyObject *names = names_list((struct sd_py_profiler *)self);
    PyObject *iter = names ? PyObject_GetIter(names) : NULL;

    Py_XDECREF(names);
    return iter;
}

static PyObject *profiler_get(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "key", "default", NULL };
    PyObject *key, *fallback = Py_None;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:get", names, &key, &fallback))
        return NULL;
    if (profiler_contains(self, key))
        return profiler_subscript(self, key);
    return Py_NewRef(fallback);
}

/* keys(), items(), values() are those of every Mapping. */
static PyObject *mapping_view(PyObject *self, const char *kind)
{
    PyObject *abc = PyImport_ImportModule("_collections_abc");
    PyObject *view = abc ? PyObject_CallMethod(abc, kind, "O", self) : NULL;

    Py_XDECREF(abc);
    return view;
}

static PyObject *profiler_keys(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mapping_view(self, "KeysView");
}

static PyObject *profiler_items(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mapping_view(self, "ItemsView");
}

static PyObject *profiler_values(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mapping_view(self, "ValuesView");
}

/* Every interval of one name, oldest first. */
static PyObject *profiler_all(PyObject *self, PyObject *key)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    uint32_t entry = find(p, key), at;
    uint32_t n = entry == SD_STORE_NONE ? 0 : p->store.entries[entry].count;
    PyObject *all = PyList_New(n);

    at = n ? p->store.entries[entry].last : SD_STORE_NONE;
    for (uint32_t i = n; all && i > 0; i--) {
        PyObject *interval = sd_interval_new(p, at);

        if (!interval)
            Py_CLEAR(all);
        else
            PyList_SET_ITEM(all, i - 1, interval);
        at = sd_store_row(&p->store, at)->prev;
    }
    return all;
}

static PyObject *dict_of(PyObject *mapping)
{
    return PyObject_CallFunctionObjArgs((PyObject *)&PyDict_Type, mapping, NULL);
}

static PyObject *profiler_profiles(PyObject *self, void *unused)
{
    (void)unused;
    return dict_of(self);
}

/* Equal as mappings are; between two Profilers every repeat counts, through rows(). */
static PyObject *profiler_compare(PyObject *self, PyObject *other, int op)
{
    struct sd_ext *ext = ((struct sd_py_profiler *)self)->ext;
    PyObject *a, *b, *result = NULL;

    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    if (PyObject_TypeCheck(other, ext->profiler)) {
        a = sd_profiler_rows(self, NULL);
        b = sd_profiler_rows(other, NULL);
    } else if (PyDict_Check(other)) {
        a = dict_of(self);
        b = Py_NewRef(other);
    } else {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (a && b)
        result = PyObject_RichCompare(a, b, op);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

/* --- The rest */

static PyObject *profiler_enable(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((struct sd_py_profiler *)self)->is_disabled = false;
    Py_RETURN_NONE;
}

static PyObject *profiler_disable(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((struct sd_py_profiler *)self)->is_disabled = true;
    Py_RETURN_NONE;
}

static PyObject *profiler_measure(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                  PyObject *kwnames)
{
    return sd_py_section_call(self, args, (size_t)n, kwnames);
}

static PyObject *profiler_each(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "itr", "name", "itr_name", NULL };
    PyObject *iterable, *name, *itr_name = Py_None;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:each", names, &iterable, &name,
                                     &itr_name))
        return NULL;
    return sd_each_new((struct sd_py_profiler *)self, iterable, name, itr_name);
}

static PyObject *profiler_df(PyObject *self, PyObject *unused)
{
    (void)unused;
    return sd_ext_adapter("_adapters", "data_frame", self);
}

static PyObject *profiler_rich(PyObject *self, PyObject *unused)
{
    (void)unused;
    return sd_ext_adapter("_adapters", "rich_table", self);
}

static PyObject *profiler_repr(PyObject *self)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;

    return PyUnicode_FromFormat("<%s: %zd names, %u intervals%s>",
                                Py_TYPE(self)->tp_name, profiler_length(self),
                                p->store.n_rows, p->is_disabled ? ", disabled" : "");
}

static PyObject *get_disabled(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct sd_py_profiler *)self)->is_disabled);
}

static int set_disabled(PyObject *self, PyObject *value, void *unused)
{
    int is = value ? PyObject_IsTrue(value) : -1;

    (void)unused;
    if (!value)
        PyErr_SetString(PyExc_AttributeError, "disabled cannot be deleted");
    if (is >= 0)
        ((struct sd_py_profiler *)self)->is_disabled = is > 0;
    return is < 0 ? -1 : 0;
}

static PyObject *get_given(PyObject *self, void *which)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;

    return Py_NewRef(which ? p->kind_given : p->unit_given);
}

static int set_given(PyObject *self, PyObject *value, void *which)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;

    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "it cannot be deleted");
        return -1;
    }
    return which ? set_kind(p, value) : set_unit(p, value);
}

static PyObject *get_measures(PyObject *self, void *unused)
{
    const struct sd_store *s = &((struct sd_py_profiler *)self)->store;
    PyObject *words = PyList_New(0), *tuple;

    (void)unused;
    for (int i = 0; words && i < N_MEASURES; i++) {
        PyObject *word;

        if (!(s->measure & measures[i].bit))
            continue;
        word = PyUnicode_FromString(measures[i].word);
        if (!word || PyList_Append(words, word) < 0)
            Py_CLEAR(words);
        Py_XDECREF(word);
    }
    tuple = words ? PyList_AsTuple(words) : NULL;
    Py_XDECREF(words);
    return tuple;
}

static PyObject *get_lost(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct sd_py_profiler *)self)->n_lost);
}

#define WITH_KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

PyDoc_STRVAR(
    measure_doc,
    "measure($self, /, name, memory_unit=None, time_kind=None)\n--\n\nReturns a "
    "section of this name, to be entered by `with`; same as calling the\nProfiler.  "
    "Inside another one the names are joined: \"outer:inner\".");
PyDoc_STRVAR(each_doc,
             "each($self, /, itr, name, itr_name=None)\n--\n\nYields the items of "
             "`itr`, and measures the whole loop as `name` and every turn\ninside it "
             "as its number, as itr_name_<number>, or as itr_name(number, item) says.");
PyDoc_STRVAR(df_doc, "df($self, /)\n--\n\nReturns every interval as a pandas "
                     "DataFrame, indexed by name, repeats included.\nWhat was not "
                     "measured is NaN.  Needs pandas; rows() needs nothing.");
PyDoc_STRVAR(
    rows_doc,
    "rows($self, /)\n--\n\nReturns every interval as a tuple: its name, then df()'s "
    "columns; in the order\nin which they began.  What was not measured is None.");
PyDoc_STRVAR(all_doc, "all($self, name, /)\n--\n\nReturns every interval of this name, "
                      "oldest first; profiler[name] is the last of them.");
PyDoc_STRVAR(arrow_doc,
             "__arrow_c_stream__($self, /, requested_schema=None)\n--\n\nExports the "
             "same rows for polars, pyarrow, DuckDB and pandas 2.2.");

static PyMethodDef profiler_methods[] = {
    { "measure", WITH_KEYWORDS(profiler_measure), METH_FASTCALL | METH_KEYWORDS,
      measure_doc },
    { "each", WITH_KEYWORDS(profiler_each), METH_VARARGS | METH_KEYWORDS, each_doc },
    { "enable", profiler_enable, METH_NOARGS,
      "enable($self, /)\n--\n\nMeasures again." },
    { "disable", profiler_disable, METH_NOARGS,
      "disable($self, /)\n--\n\nMeasures nothing until enable(); blocks run as ever." },
    { "df", profiler_df, METH_NOARGS, df_doc },
    { "rows", sd_profiler_rows, METH_NOARGS, rows_doc },
    { "all", profiler_all, METH_O, all_doc },
    { "get", WITH_KEYWORDS(profiler_get), METH_VARARGS | METH_KEYWORDS,
      "get($self, key, default=None)\n--\n\nReturns the last interval of this name, or "
      "default." },
    { "keys", profiler_keys, METH_NOARGS, NULL },
    { "items", profiler_items, METH_NOARGS, NULL },
    { "values", profiler_values, METH_NOARGS, NULL },
    { "_columns", sd_profiler_columns, METH_NOARGS, NULL },
    { "_capture_sections", sd_profiler_capture, METH_O,
      "_capture_sections($self, command, /)\n--\n\nReturns every interval as the bytes "
      "of a capture; None without any." },
    { "__rich__", profiler_rich, METH_NOARGS, NULL },
    { "_repr_mimebundle_", WITH_KEYWORDS(sd_profiler_mimebundle),
      METH_VARARGS | METH_KEYWORDS,
      "_repr_mimebundle_($self, include=None, exclude=None)\n--\n\nReturns what a "
      "notebook shows: plain text, and a page with every interval unless\nit is "
      "large." },
    { "__reduce__", sd_profiler_reduce, METH_NOARGS, NULL },
    { "__setstate__", sd_profiler_setstate, METH_O, NULL },
    { "__arrow_c_stream__", WITH_KEYWORDS(sd_profiler_arrow_stream),
      METH_VARARGS | METH_KEYWORDS, arrow_doc },
    { "__arrow_c_schema__", sd_profiler_arrow_schema, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef profiler_members[] = {
    SD_OFFSET_MEMBERS(offsetof(struct sd_py_profiler, call),
                      offsetof(struct sd_py_profiler, weakrefs)){ NULL, 0, 0, 0, NULL },
};

static PyGetSetDef profiler_getset[] = {
    { "disabled", get_disabled, set_disabled, "True while it measures nothing.", NULL },
    { "memory_unit", get_given, set_given, "The unit of memory figures.", NULL },
    { "time_kind", get_given, set_given, "The clock: wall, cpu or process.",
      (void *)"kind" },
    { "profiles", profiler_profiles, NULL, "A dict of every name's last interval.",
      NULL },
    { "measures", get_measures, NULL, "The words for what it measures.", NULL },
    { "lost", get_lost, NULL, "How many intervals were lost because memory ran out.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(
    profiler_doc,
    "Profiler(profiles={}, memory_unit=\"B\", time_kind=\"wall\", disabled=False, *, "
    "measure=None)\n--\n\n"
    "Measures named sections of code: `with profiler(\"name\"):`.\n\n"
    "A mapping from name to the last Interval of that name.  `measure` chooses among\n"
    "\"time\", \"memory\", \"peak\", \"io\", \"network\" (default: these five) and "
    "\"pss\".\n"
    "time_kind is \"wall\", \"cpu\" (of the thread) or \"process\" (CPU of all its "
    "threads);\nmemory_unit \"B\", \"KB\", \"MB\" or \"GB\", of 1024 each.\n\n"
    "time:start and time:end are seconds since the epoch for \"wall\", taken from a "
    "clock\nthat nobody can set, and CPU seconds otherwise.  peak_rss is the largest "
    "memory of\nthe process while the section was open; network bytes are those of the "
    "machine or\ncontainer.");

static PyType_Slot profiler_slots[] = {
    { Py_tp_doc, (void *)profiler_doc },
    { Py_tp_new, profiler_new },
    { Py_tp_init, profiler_init },
    { Py_tp_dealloc, profiler_dealloc },
    { Py_tp_traverse, profiler_traverse },
    { Py_tp_clear, profiler_clear },
    { Py_tp_call, PyVectorcall_Call },
    { Py_tp_iter, profiler_iter },
    { Py_tp_repr, profiler_repr },
    { Py_tp_richcompare, profiler_compare },
    { Py_tp_hash, PyObject_HashNotImplemented },
    { Py_mp_length, profiler_length },
    { Py_mp_subscript, profiler_subscript },
    { Py_sq_contains, profiler_contains },
    { Py_tp_methods, profiler_methods },
    { Py_tp_members, profiler_members },
    { Py_tp_getset, profiler_getset },
    { 0, NULL },
};

PyType_Spec sd_profiler_spec = {
    .name = "sonde.Profiler",
    .basicsize = sizeof(struct sd_py_profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
             SD_TPFLAGS_VECTORCALL,
    .slots = profiler_slots,
};
