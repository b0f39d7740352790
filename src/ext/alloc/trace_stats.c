/* SPDX-License-Identifier: MIT */
#include "ext/alloc/trace_stats.h"

#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/table.h"

/* --- A trace */

struct trace { /* borrowed */
    PyObject *domain, *size, *frames;
};

/* (domain, size, frames), and from 3.9 on how many frames there were. */
static bool read_trace(PyObject *o, struct trace *t)
{
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 3 ||
        !PyTuple_Check(PyTuple_GET_ITEM(o, 2)) ||
        PyTuple_GET_SIZE(PyTuple_GET_ITEM(o, 2)) < 1) {
        PyErr_SetString(PyExc_TypeError,
                        "a trace must be a tuple (domain, size, frames, ...)");
        return false;
    }
    t->domain = PyTuple_GET_ITEM(o, 0);
    t->size = PyTuple_GET_ITEM(o, 1);
    t->frames = PyTuple_GET_ITEM(o, 2);
    return true;
}

static bool is_frame(PyObject *o)
{
    if (PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 2)
        return true;
    PyErr_SetString(PyExc_TypeError, "a frame is (file, line)");
    return false;
}

/* --- Groups */

enum key { BY_TRACEBACK, BY_LINE, BY_FILE };

struct sum {
    long long size, count;
};

struct groups {
    enum key key;
    struct sd_table seen; /* address of frames, or of one: place of its sum */
    PyObject *places;     /* dict: frames of a group to its place */
    PyObject *frames;     /* list: of each group */
    struct sum *sums;
    size_t n, cap;
};

static PyObject *key_of_frame(enum key key, PyObject *frame)
{
    if (!is_frame(frame))
        return NULL;
    if (key == BY_LINE)
        return PyTuple_Pack(1, frame);
    return Py_BuildValue("((Oi))", PyTuple_GET_ITEM(frame, 0), 0);
}

static PyObject *key_of(enum key key, PyObject *frames)
{
    return key == BY_TRACEBACK ? Py_NewRef(frames)
                               : key_of_frame(key, PyTuple_GET_ITEM(frames, 0));
}

/* The place of the group with this key, made if there is none; -1 with an exception. */
static Py_ssize_t place_of(struct groups *g, PyObject *key)
{
    PyObject *found = PyDict_GetItemWithError(g->places, key), *place;
    struct sum *sums;
    int rc;

    if (found)
        return PyLong_AsSsize_t(found);
    if (PyErr_Occurred())
        return -1;
    sums = sd_grow_array(g->sums, &g->cap, g->n + 1, sizeof *sums);
    if (!sums) {
        PyErr_NoMemory();
        return -1;
    }
    g->sums = sums;
    sums[g->n] = (struct sum){ 0, 0 };
    place = PyLong_FromSize_t(g->n);
    rc = place ? PyDict_SetItem(g->places, key, place) : -1;
    Py_XDECREF(place);
    if (rc < 0 || PyList_Append(g->frames, key) < 0)
        return -1;
    return (Py_ssize_t)g->n++;
}

/* Equal frames are mostly the same object, so most are known by their address, which
 * the traces keep. */
static bool add(struct groups *g, PyObject *what, bool is_frame_alone, long long size)
{
    uint64_t at;

    if (!sd_table_get(&g->seen, (uint64_t)(uintptr_t)what, &at)) {
        PyObject *key =
            is_frame_alone ? key_of_frame(g->key, what) : key_of(g->key, what);
        Py_ssize_t place = key ? place_of(g, key) : -1;

        Py_XDECREF(key);
        if (place < 0)
            return false;
        at = (uint64_t)place;
        if (sd_table_put(&g->seen, (uint64_t)(uintptr_t)what, at) < 0) {
            PyErr_NoMemory();
            return false;
        }
    }
    g->sums[at].size = sd_sum_i64(g->sums[at].size, size);
    g->sums[at].count++;
    return true;
}

static bool add_trace(struct groups *g, PyObject *o, bool is_cumulative)
{
    struct trace t;
    long long size;

    if (!read_trace(o, &t))
        return false;
    size = PyLong_AsLongLong(t.size);
    if (size == -1 && PyErr_Occurred())
        return false;
    if (!is_cumulative)
        return add(g, t.frames, false, size);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t.frames); i++)
        if (!add(g, PyTuple_GET_ITEM(t.frames, i), true, size))
            return false;
    return true;
}

static bool add_all(struct groups *g, PyObject *traces, bool is_cumulative)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(traces); i++)
        if (!add_trace(g, PySequence_Fast_GET_ITEM(traces, i), is_cumulative))
            return false;
    return true;
}

static bool put_group(PyObject *into, PyObject *frames, const struct sum *sum,
                      PyObject *traceback_type, PyObject *statistic_type)
{
    PyObject *traceback = PyObject_CallFunctionObjArgs(traceback_type, frames, NULL);
    PyObject *statistic = traceback
                              ? PyObject_CallFunction(statistic_type, "OLL", traceback,
                                                      sum->size, sum->count)
                              : NULL;
    bool is_put = statistic && PyDict_SetItem(into, traceback, statistic) == 0;

    Py_XDECREF(traceback);
    Py_XDECREF(statistic);
    return is_put;
}

static bool read_key(const char *word, enum key *key)
{
    static const char *const words[] = { "traceback", "lineno", "filename" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *key = (enum key)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "unknown key_type: '%s'", word);
    return false;
}

PyObject *sd_trace_stats_groups(PyObject *module, PyObject *args)
{
    PyObject *traces, *traceback_type, *statistic_type, *all = NULL;
    struct groups g = { 0 };
    const char *word;
    int is_cumulative;

    (void)module;
    if (!PyArg_ParseTuple(args, "OspOO", &traces, &word, &is_cumulative,
                          &traceback_type, &statistic_type) ||
        !read_key(word, &g.key))
        return NULL;
    traces = PySequence_Fast(traces, "traces must be a sequence");
    g.places = PyDict_New();
    g.frames = PyList_New(0);
    if (traces && g.places && g.frames && add_all(&g, traces, is_cumulative))
        all = PyDict_New();
    for (size_t i = 0; all && i < g.n; i++)
        if (!put_group(all, PyList_GET_ITEM(g.frames, (Py_ssize_t)i), &g.sums[i],
                       traceback_type, statistic_type))
            Py_CLEAR(all);
    sd_table_release(&g.seen);
    sd_free(g.sums);
    Py_XDECREF(traces);
    Py_XDECREF(g.places);
    Py_XDECREF(g.frames);
    return all;
}

/* --- Differences */

static bool read_sum(PyObject *statistic, struct sum *sum)
{
    PyObject *size = PyObject_GetAttrString(statistic, "size");
    PyObject *count = size ? PyObject_GetAttrString(statistic, "count") : NULL;

    if (count) {
        sum->size = PyLong_AsLongLong(size);
        sum->count = PyLong_AsLongLong(count);
    }
    Py_XDECREF(size);
    Py_XDECREF(count);
    return !PyErr_Occurred();
}

static bool add_difference(PyObject *all, PyObject *type, PyObject *traceback,
                           const struct sum *now, const struct sum *before)
{
    PyObject *one = PyObject_CallFunction(
        type, "OLLLL", traceback, now->size,
        (long long)sd_difference_i64(now->size, before->size), now->count,
        (long long)sd_difference_i64(now->count, before->count));
    int rc = one ? PyList_Append(all, one) : -1;

    Py_XDECREF(one);
    return rc == 0;
}

/* What is in the new ones, less what the old ones have of it, which goes. */
static bool add_new(PyObject *all, PyObject *old, PyObject *fresh, PyObject *type)
{
    PyObject *traceback, *statistic;
    Py_ssize_t at = 0;

    while (PyDict_Next(fresh, &at, &traceback, &statistic)) {
        PyObject *was = PyDict_GetItemWithError(old, traceback);
        struct sum now, before = { 0, 0 };

        if (PyErr_Occurred() || !read_sum(statistic, &now) ||
            (was && !read_sum(was, &before)) ||
            !add_difference(all, type, traceback, &now, &before) ||
            (was && PyDict_DelItem(old, traceback) < 0))
            return false;
    }
    return true;
}

static bool add_gone(PyObject *all, PyObject *old, PyObject *type)
{
    static const struct sum none = { 0, 0 };
    PyObject *traceback, *statistic;
    Py_ssize_t at = 0;

    while (PyDict_Next(old, &at, &traceback, &statistic)) {
        struct sum before;

        if (!read_sum(statistic, &before) ||
            !add_difference(all, type, traceback, &none, &before))
            return false;
    }
    return true;
}

PyObject *sd_trace_stats_differences(PyObject *module, PyObject *args)
{
    PyObject *old, *fresh, *type, *all;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyDict_Type, &old, &PyDict_Type, &fresh,
                          &type))
        return NULL;
    all = PyList_New(0);
    if (all && (!add_new(all, old, fresh, type) || !add_gone(all, old, type)))
        Py_CLEAR(all);
    return all;
}

/* --- Order */

static long long magnitude(long long n)
{
    return n < 0 ? (long long)sd_difference_i64(0, n) : n;
}

/* (|size_diff|, size, |count_diff|, count, frames, itself) or, of plain statistics,
 * (size, count, frames, itself): frames are of one statistic alone. */
static PyObject *sort_key(PyObject *statistic)
{
    PyObject *traceback = PyObject_GetAttrString(statistic, "traceback");
    PyObject *frames = traceback ? PyObject_GetAttrString(traceback, "_frames") : NULL;
    PyObject *difference, *key = NULL;
    struct sum now, by;

    Py_XDECREF(traceback);
    if (!frames || !read_sum(statistic, &now)) {
        Py_XDECREF(frames);
        return NULL;
    }
    difference = PyObject_GetAttrString(statistic, "size_diff");
    if (!difference) {
        PyErr_Clear();
        return Py_BuildValue("LLNO", now.size, now.count, frames, statistic);
    }
    by.size = PyLong_AsLongLong(difference);
    Py_DECREF(difference);
    difference = PyObject_GetAttrString(statistic, "count_diff");
    by.count = difference ? PyLong_AsLongLong(difference) : 0;
    Py_XDECREF(difference);
    if (!PyErr_Occurred())
        key = Py_BuildValue("LLLLOO", magnitude(by.size), now.size, magnitude(by.count),
                            now.count, frames, statistic);
    Py_DECREF(frames);
    return key;
}

PyObject *sd_trace_stats_sort(PyObject *module, PyObject *list)
{
    PyObject *keys;
    Py_ssize_t n;

    (void)module;
    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "a list of statistics is sorted");
    n = PyList_GET_SIZE(list);
    keys = PyList_New(n);
    for (Py_ssize_t i = 0; keys && i < n; i++) {
        PyObject *key = sort_key(PyList_GET_ITEM(list, i));

        if (key)
            PyList_SET_ITEM(keys, i, key);
        else
            Py_CLEAR(keys);
    }
    if (!keys || PyList_Sort(keys) < 0 || PyList_Reverse(keys) < 0) {
        Py_XDECREF(keys);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        PyObject *one = PyTuple_GET_ITEM(key, PyTuple_GET_SIZE(key) - 1);

        if (PyList_SetItem(list, i, Py_NewRef(one)) < 0)
            break;
    }
    Py_DECREF(keys);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* --- Filters */

struct filter {
    PyObject *object; /* borrowed */
    bool is_known;    /* a Filter and no subclass: what follows is filled in */
    bool is_inclusive, has_all_frames;
    PyObject *line, *domain; /* owned; None: any */
    PyObject *names;         /* owned dict: file to whether it matches */
    struct sd_table seen;    /* address of frames: whether they match */
};

static bool read_flag(PyObject *o, const char *name, bool *to)
{
    PyObject *value = PyObject_GetAttrString(o, name);
    int is = value ? PyObject_IsTrue(value) : -1;

    Py_XDECREF(value);
    *to = is > 0;
    return is >= 0;
}

static bool read_filter(PyObject *o, PyObject *type, struct filter *f)
{
    *f = (struct filter){ .object = o };
    f->is_known = (PyObject *)Py_TYPE(o) == type;
    if (!f->is_known)
        return true;
    f->line = PyObject_GetAttrString(o, "lineno");
    f->domain = PyObject_GetAttrString(o, "domain");
    f->names = PyDict_New();
    return f->line && f->domain && f->names &&
           read_flag(o, "inclusive", &f->is_inclusive) &&
           read_flag(o, "all_frames", &f->has_all_frames);
}

static void release_filters(struct filter *f, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; f && i < n; i++) {
        Py_XDECREF(f[i].line);
        Py_XDECREF(f[i].domain);
        Py_XDECREF(f[i].names);
        sd_table_release(&f[i].seen);
    }
    sd_free(f);
}

/* 1, 0, or -1 with an exception; and so below. */
static int file_matches(struct filter *f, PyObject *file)
{
    PyObject *found = PyDict_GetItemWithError(f->names, file), *answer;
    int is = -1;

    if (found || PyErr_Occurred())
        return found ? found == Py_True : -1;
    answer = PyObject_CallMethod(f->object, "_match_file", "(O)", file);
    if (answer)
        is = PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is >= 0 && PyDict_SetItem(f->names, file, is ? Py_True : Py_False) < 0)
        is = -1;
    return is;
}

static int frame_matches(struct filter *f, PyObject *frame)
{
    int is = is_frame(frame) ? file_matches(f, PyTuple_GET_ITEM(frame, 0)) : -1;

    if (is <= 0 || f->line == Py_None)
        return is;
    return PyObject_RichCompareBool(PyTuple_GET_ITEM(frame, 1), f->line, Py_EQ);
}

static int any_frame_matches(struct filter *f, PyObject *frames)
{
    Py_ssize_t n = f->has_all_frames ? PyTuple_GET_SIZE(frames) : 1;
    int is = 0;

    for (Py_ssize_t i = 0; i < n && is == 0; i++)
        is = frame_matches(f, PyTuple_GET_ITEM(frames, i));
    return is;
}

static int frames_match(struct filter *f, PyObject *frames)
{
    uint64_t key = (uint64_t)(uintptr_t)frames, was;
    int is;

    if (sd_table_get(&f->seen, key, &was))
        return (int)was;
    is = any_frame_matches(f, frames);
    if (is < 0)
        return is;
    is = f->is_inclusive ? is : !is;
    if (sd_table_put(&f->seen, key, (uint64_t)is) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return is;
}

static int call_filter(PyObject *filter, PyObject *trace)
{
    PyObject *answer = PyObject_CallMethod(filter, "_match", "(O)", trace);
    int is = answer ? PyObject_IsTrue(answer) : -1;

    Py_XDECREF(answer);
    return is;
}

static int filter_matches(struct filter *f, PyObject *o)
{
    struct trace t;
    int is, is_domain;

    if (!f->is_known)
        return call_filter(f->object, o);
    if (!read_trace(o, &t))
        return -1;
    is = frames_match(f, t.frames);
    if (is < 0 || f->domain == Py_None)
        return is;
    is_domain = PyObject_RichCompareBool(t.domain, f->domain, Py_EQ);
    if (is_domain < 0)
        return -1;
    return f->is_inclusive ? is && is_domain : is || !is_domain;
}

struct filters {
    struct filter *items;
    Py_ssize_t n;
};

/* One that includes is enough, if there is any; each that excludes must let it pass. */
static int passes(struct filters *includes, struct filters *excludes, PyObject *trace)
{
    int is = includes->n == 0;

    for (Py_ssize_t i = 0; i < includes->n && is == 0; i++)
        is = filter_matches(&includes->items[i], trace);
    for (Py_ssize_t i = 0; i < excludes->n && is > 0; i++)
        is = filter_matches(&excludes->items[i], trace);
    return is;
}

static bool read_filters(PyObject *list, PyObject *type, struct filters *f)
{
    f->items = sd_zalloc(((size_t)PyList_GET_SIZE(list) + 1) * sizeof *f->items);
    if (!f->items) {
        PyErr_NoMemory();
        return false;
    }
    for (; f->n < PyList_GET_SIZE(list); f->n++)
        if (!read_filter(PyList_GET_ITEM(list, f->n), type, &f->items[f->n])) {
            f->n++;
            return false;
        }
    return true;
}

static PyObject *filtered(struct filters *includes, struct filters *excludes,
                          PyObject *traces)
{
    PyObject *all = PyList_New(0);

    for (Py_ssize_t i = 0; all && i < PySequence_Fast_GET_SIZE(traces); i++) {
        PyObject *trace = PySequence_Fast_GET_ITEM(traces, i);
        int is = passes(includes, excludes, trace);

        if (is < 0 || (is && PyList_Append(all, trace) < 0))
            Py_CLEAR(all);
    }
    return all;
}

PyObject *sd_trace_stats_filter(PyObject *module, PyObject *args)
{
    PyObject *traces, *includes, *excludes, *type, *all = NULL;
    struct filters in = { 0 }, out = { 0 };

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!O!O", &traces, &PyList_Type, &includes,
                          &PyList_Type, &excludes, &type))
        return NULL;
    traces = PySequence_Fast(traces, "traces must be a sequence");
    if (traces && read_filters(includes, type, &in) &&
        read_filters(excludes, type, &out))
        all = filtered(&in, &out, traces);
    release_filters(in.items, in.n);
    release_filters(out.items, out.n);
    Py_XDECREF(traces);
    return all;
}
