/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "capture/alloc/alloc_cell.h"
#include "ext/memray/alloc_record.h"
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

        if (!is_ours(s, t) || t->values[bytes + 1] <= 0)
            continue;
        rows[n++] = (struct sd_py_alloc_row){
            .tid = merges ? SD_MEMRAY_MERGED : sd_memray_tid(s->p, t->track),
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

static PyObject *rows(PyObject *self, PyObject *args)
{
    const struct sd_py_alloc_sums *s = sums_of(self);
    struct sd_py_alloc_row *all;
    enum sd_alloc_value value;
    const char *view;
    PyObject *list;
    int merges;
    size_t n;

    if (!PyArg_ParseTuple(args, "sp", &view, &merges) || !value_of(view, &value))
        return NULL;
    all = sd_alloc((s->p->allocs.n + 1) * sizeof *all);
    if (!all)
        return sd_ext_raise(sd_no_memory());
    n = collect(s, value, merges, all);
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

static PyObject *facts(PyObject *self, PyObject *unused)
{
    const struct sd_py_alloc_sums *s = sums_of(self);
    const struct sd_profile *p = s->p;
    const struct sd_alloc_process *f = process_facts(s);
    uint64_t pid = s->process < p->n_tracks ? p->tracks[s->process].number : 0;

    (void)unused;
    return Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsn}", "pid", (unsigned long long)pid, "main_tid",
        (unsigned long long)(s->source.main_tid ? s->source.main_tid : pid),
        "allocations", (unsigned long long)sum_of(s, SD_ALLOCS_BLOCKS), "bytes",
        (unsigned long long)sum_of(s, SD_ALLOCS_BYTES), "frees",
        (unsigned long long)(f->frees + f->unknown_frees), "peak_bytes",
        (unsigned long long)f->peak_bytes, "started_ns",
        (unsigned long long)p->real_zero_ns, "ended_ns",
        (unsigned long long)(p->real_zero_ns + p->run_end_ns), "stacks",
        (Py_ssize_t)p->n_stacks);
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
                       "%s holds no allocations; record some with: sonde "
                       "alloc prog.py, or memray.Tracker",
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
