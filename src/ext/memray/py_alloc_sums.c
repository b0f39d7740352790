/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "capture/alloc/alloc_cell.h"
#include "ext/memray/alloc_record.h"
#include "ext/memray/alloc_transform.h"
#include "profile/alloc/alloc_history.h"
#include "profile/alloc/alloc_totals.h"
#include "profile/profile.h"

struct sd_py_alloc_sums {
    struct sd_py_alloc_source source;
    struct sd_profile *p; /* owned: the source's */
    uint32_t process;     /* track; UINT32_MAX: nothing was recorded */
};

static struct sd_py_alloc_sums *sums_of(PyObject *self)
{
    return (struct sd_py_alloc_sums *)self;
}

/* --- Rows */

static bool is_ours(const struct sd_py_alloc_sums *s, const struct sd_alloc_total *t)
{
    return !(t->flags & SD_ALLOCS_APART) && t->process < s->p->allocs.n_processes &&
           s->p->allocs.processes[t->process].track == s->process;
}

static int compare_keys(const void *a, const void *b)
{
    const struct sd_py_alloc_row *x = a, *y = b;

    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (x->by > y->by) - (x->by < y->by);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct sd_py_alloc_row *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return compare_keys(a, b);
}

/* Those of one stack, thread and allocator become one; then the largest first. */
static size_t merge(struct sd_py_alloc_row *rows, size_t n)
{
    size_t n_left = 0;

    if (n > 0)
        qsort(rows, n, sizeof *rows, compare_keys);
    for (size_t i = 0; i < n; i++) {
        if (n_left > 0 && compare_keys(&rows[n_left - 1], &rows[i]) == 0) {
            rows[n_left - 1].size += rows[i].size;
            rows[n_left - 1].n += rows[i].n;
            rows[n_left - 1].is_main |= rows[i].is_main;
        } else {
            rows[n_left++] = rows[i];
        }
    }
    if (n_left > 0)
        qsort(rows, n_left, sizeof *rows, compare_sizes);
    return n_left;
}

static size_t collect(const struct sd_py_alloc_sums *s, enum sd_alloc_value bytes,
                      bool merges, struct sd_py_alloc_row *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < s->p->allocs.n; i++) {
        const struct sd_alloc_total *t = &s->p->allocs.items[i];
        int64_t tid = sd_memray_tid(s->p, t->track);

        if (!is_ours(s, t) || t->values[bytes + 1] <= 0)
            continue;
        rows[n++] = (struct sd_py_alloc_row){
            .tid = merges ? SD_MEMRAY_MERGED : tid,
            .is_main = tid == (int64_t)s->source.main_tid,
            .size = (uint64_t)t->values[bytes],
            .n = (uint64_t)t->values[bytes + 1],
            .stack = t->stack,
            .by = sd_memray_allocator_of(t->flags & SD_ALLOCS_BY)
        };
    }
    return merge(rows, n);
}

static bool value_of(const char *view, enum sd_alloc_value *value)
{
    static const struct {
        const char *name;
        enum sd_alloc_value value;
    } views[] = { { "peak", SD_ALLOCS_PEAK_BYTES },
                  { "leaks", SD_ALLOCS_LEAKED_BYTES },
                  { "temporary", SD_ALLOCS_TEMPORARY_BYTES },
                  { "total", SD_ALLOCS_BYTES } };

    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].name, view) == 0) {
            *value = views[i].value;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "peak, leaks, temporary or total, not %s", view);
    return false;
}

/* The rows of a view, which are the caller's; NULL with an exception set. */
static struct sd_py_alloc_row *rows_of(PyObject *self, const char *view, bool merges,
                                       size_t *n)
{
    const struct sd_py_alloc_sums *s = sums_of(self);
    struct sd_py_alloc_row *all;
    enum sd_alloc_value value;

    if (!value_of(view, &value))
        return NULL;
    all = sd_alloc((s->p->allocs.n + 1) * sizeof *all);
    if (all)
        *n = collect(s, value, merges, all);
    else
        sd_ext_raise(sd_no_memory());
    return all;
}

static PyObject *rows(PyObject *self, PyObject *args)
{
    struct sd_py_alloc_row *all;
    const char *view;
    PyObject *list;
    int merges;
    size_t n;

    if (!PyArg_ParseTuple(args, "sp", &view, &merges))
        return NULL;
    all = rows_of(self, view, merges, &n);
    if (!all)
        return NULL;
    list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = sd_py_alloc_record_new(self, &all[i]);

        if (one)
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
        else
            Py_CLEAR(list);
    }
    sd_free(all);
    return list;
}

static sd_alloc_transform *transform_of(const char *kind)
{
    static const struct {
        const char *name;
        sd_alloc_transform *write;
    } kinds[] = { { "csv", sd_alloc_transform_csv },
                  { "gprof2dot", sd_alloc_transform_gprof2dot },
                  { "speedscope", sd_alloc_transform_speedscope } };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            return kinds[i].write;
    PyErr_Format(PyExc_ValueError, "csv, gprof2dot or speedscope, not %s", kind);
    return NULL;
}

static PyObject *transform(PyObject *self, PyObject *args)
{
    struct sd_py_alloc_row *all = NULL;
    sd_alloc_transform *write;
    const char *kind, *view;
    struct sd_out out;
    int merges;
    size_t n;

    if (!PyArg_ParseTuple(args, "ssp", &kind, &view, &merges))
        return NULL;
    write = transform_of(kind);
    if (write)
        all = rows_of(self, view, merges, &n);
    if (!all)
        return NULL;
    sd_out_to_memory(&out);
    write(&out, &sums_of(self)->source, all, n);
    sd_free(all);
    return sd_ext_text(&out, 0);
}

/* --- Functions */

enum column { BY_TOTAL = 1, BY_TOTAL_SHARE, BY_OWN, BY_OWN_SHARE, BY_BLOCKS };

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a == b ? 0 : a > b ? -1 : 1;
}

static int by_total(const void *a, const void *b)
{
    const struct sd_alloc_function *x = a, *y = b;
    int rc = compare_numbers(x->total_bytes, y->total_bytes);

    if (rc == 0)
        rc = strcmp(x->file, y->file);
    return rc ? rc : strcmp(x->name, y->name);
}

static int by_own(const void *a, const void *b)
{
    const struct sd_alloc_function *x = a, *y = b;
    int rc = compare_numbers(x->own_bytes, y->own_bytes);

    return rc ? rc : by_total(a, b);
}

static int by_blocks(const void *a, const void *b)
{
    const struct sd_alloc_function *x = a, *y = b;
    int rc = compare_numbers(x->blocks, y->blocks);

    return rc ? rc : by_total(a, b);
}

static PyObject *function_object(const struct sd_alloc_function *f)
{
    return Py_BuildValue(
        "(ssKKK)", f->name, f->file, (unsigned long long)f->total_bytes,
        (unsigned long long)f->own_bytes, (unsigned long long)f->blocks);
}

static PyObject *functions_list(struct sd_alloc_function *all, size_t n, int column,
                                size_t most)
{
    PyObject *list;

    if (n > 0)
        qsort(all, n, sizeof *all,
              column <= BY_TOTAL_SHARE ? by_total
              : column <= BY_OWN_SHARE ? by_own
                                       : by_blocks);
    n = n < most ? n : most;
    list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = function_object(&all[i]);

        if (one)
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *functions(PyObject *self, PyObject *args)
{
    struct sd_alloc_function *all = NULL;
    struct sd_py_alloc_row *rows;
    unsigned long long bytes = 0;
    PyObject *list = NULL;
    const char *view;
    Py_ssize_t most;
    size_t n, n_rows;
    int column, rc;

    if (!PyArg_ParseTuple(args, "sin", &view, &column, &most))
        return NULL;
    rows = rows_of(self, view, true, &n_rows);
    if (!rows)
        return NULL;
    for (size_t i = 0; i < n_rows; i++)
        bytes += rows[i].size;
    rc = sd_alloc_transform_functions(&sums_of(self)->source, rows, n_rows, &all, &n);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        list = functions_list(all, n, column, most > 0 ? (size_t)most : 0);
    sd_free(all);
    sd_free(rows);
    return list ? Py_BuildValue("(KN)", bytes, list) : NULL;
}

/* --- Facts */

static const struct sd_alloc_process *process_facts(const struct sd_py_alloc_sums *s)
{
    static const struct sd_alloc_process none;

    for (size_t i = 0; i < s->p->allocs.n_processes; i++)
        if (s->process != UINT32_MAX && s->p->allocs.processes[i].track == s->process)
            return &s->p->allocs.processes[i];
    return &none;
}

static uint64_t sum_of(const struct sd_py_alloc_sums *s, enum sd_alloc_value v)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->p->allocs.n; i++)
        if (is_ours(s, &s->p->allocs.items[i]))
            sum += (uint64_t)s->p->allocs.items[i].values[v];
    return sum;
}

static bool has_native(const struct sd_profile *p)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (p->sites[i].is_native)
            return true;
    return false;
}

static PyObject *facts(PyObject *self, PyObject *unused)
{
    const struct sd_py_alloc_sums *s = sums_of(self);
    const struct sd_profile *p = s->p;
    const struct sd_alloc_process *f = process_facts(s);
    uint64_t pid = s->process < p->n_tracks ? p->tracks[s->process].number : 0;

    (void)unused;
    return Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsnsO}", "pid", (unsigned long long)pid, "main_tid",
        (unsigned long long)(s->source.main_tid ? s->source.main_tid : pid),
        "allocations", (unsigned long long)sum_of(s, SD_ALLOCS_BLOCKS), "bytes",
        (unsigned long long)sum_of(s, SD_ALLOCS_BYTES), "frees",
        (unsigned long long)(f->frees + f->unknown_frees), "peak_bytes",
        (unsigned long long)f->peak_bytes, "started_ns",
        (unsigned long long)p->real_zero_ns, "ended_ns",
        (unsigned long long)(p->real_zero_ns + p->run_end_ns), "stacks",
        (Py_ssize_t)p->n_stacks, "native", has_native(p) ? Py_True : Py_False);
}

/* What the recording has noted under this name, or None. */
static PyObject *meta(PyObject *self, PyObject *name)
{
    const char *key = PyUnicode_AsUTF8(name), *text;

    if (!key)
        return NULL;
    text = sd_profile_meta(sums_of(self)->p, key);
    if (!text)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* --- Life */

static int choose_process(struct sd_py_alloc_sums *s, const char *path, uint64_t pid)
{
    const struct sd_alloc_totals *all = &s->p->allocs;
    uint32_t *processes = sd_alloc((all->n_processes + 1) * sizeof *processes);

    if (!processes)
        return sd_no_memory();
    for (size_t i = 0; i < all->n_processes; i++)
        processes[i] = all->processes[i].track;
    s->process = sd_alloc_history_choose(s->p, processes, all->n_processes, pid);
    sd_free(processes);
    if (!all->is_recorded)
        return sd_fail(SD_EUSAGE,
                       "%s holds no allocations; record some with: sonde alloc "
                       "prog.py, or sonde.compat.memray.Tracker",
                       path);
    if (pid && s->process == UINT32_MAX)
        return sd_fail(SD_EUSAGE, "%s holds no allocations of process %llu", path,
                       (unsigned long long)pid);
    return 0;
}

static PyObject *sums_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "path", "pid", "threshold", NULL };
    struct sd_filter filter = { 0 };
    unsigned long long pid = 0;
    long long threshold = 1;
    struct sd_py_alloc_sums *s;
    PyObject *path;
    int rc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|KL:AllocationSums", names,
                                     PyUnicode_FSConverter, &path, &pid, &threshold))
        return NULL;
    filter.alloc.has_between = true;
    filter.alloc.has_last_peak = true;
    filter.alloc.n_between = threshold > 0 ? (uint64_t)threshold : 0;
    s = (struct sd_py_alloc_sums *)type->tp_alloc(type, 0);
    if (!s) {
        Py_DECREF(path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS /* the whole capture is read */
        rc = sd_profile_load(PyBytes_AS_STRING(path), &filter, &s->p);
    if (rc == 0)
        rc = choose_process(s, PyBytes_AS_STRING(path), pid);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (rc < 0) {
        Py_DECREF(s);
        return sd_ext_raise(rc);
    }
    s->source.p = s->p;
    sd_memray_find_main(&s->source);
    return (PyObject *)s;
}

static void sums_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_profile_free(sums_of(self)->p);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "rows", rows, METH_VARARGS,
      "rows(view, merge_threads)\n--\n\nReturns records of what is in the view peak, "
      "leaks, temporary or total." },
    { "transform", transform, METH_VARARGS,
      "transform(kind, view, merge_threads)\n--\n\nReturns them as text: csv, "
      "gprof2dot or speedscope." },
    { "functions", functions, METH_VARARGS,
      "functions(view, column, n)\n--\n\nReturns (bytes of all, the first n of "
      "(function, file, bytes with what it\ncalled, own bytes, blocks) by a column of "
      "memray's summary)." },
    { "facts", facts, METH_NOARGS,
      "facts()\n--\n\nReturns what is known of the recording, as a dictionary." },
    { "meta", meta, METH_O,
      "meta(name)\n--\n\nReturns what was noted under this name, or None." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "AllocationSums(path, pid=0, threshold=1)\n--\n\nWhat the stacks of "
                 "one process allocated and held." },
    { Py_tp_new, sums_new },
    { Py_tp_dealloc, sums_dealloc },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec sd_alloc_sums_spec = {
    .name = "_sonde.AllocationSums",
    .basicsize = sizeof(struct sd_py_alloc_sums),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
