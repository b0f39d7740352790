/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "ext/memray/alloc_record.h"
#include "profile/alloc/alloc_counts.h"
#include "profile/alloc/alloc_history.h"
#include "profile/alloc/alloc_lifetimes.h"
#include "profile/profile.h"

enum { NS_PER_MS = 1000000 };

struct sd_py_alloc_history {
    struct sd_py_alloc_source source;
    struct sd_alloc_history *h;
    bool is_read; /* to its end, or some of it */
    bool is_busy; /* a thread reads it that has let go of the interpreter's lock */
};

static struct sd_py_alloc_history *history_of(PyObject *self)
{
    return (struct sd_py_alloc_history *)self;
}

static struct sd_alloc_history *fresh(PyObject *self)
{
    struct sd_py_alloc_history *h = history_of(self);

    if (h->is_read) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this history was already read; open the file again");
        return NULL;
    }
    h->is_read = true;
    return h->h;
}

/* --- One after the other */

static bool is_record(const struct sd_alloc_change *c)
{
    return c->kind != SD_ALLOC_CHANGE_CUT && c->kind != SD_ALLOC_CHANGE_TIME &&
           c->by != SD_BY_FILE && c->by != SD_BY_RESERVED;
}

static struct sd_py_alloc_row row_of(const struct sd_py_alloc_source *s,
                                     const struct sd_alloc_change *c)
{
    const struct sd_profile *p = s->p;
    struct sd_py_alloc_row row = { .tid = sd_memray_tid(p, c->track),
                                   .address = c->address,
                                   .n = 1,
                                   .stack = UINT32_MAX };

    switch (c->kind) {
    case SD_ALLOC_CHANGE_BEGAN:
        row.by = sd_memray_allocator_of(c->by);
        row.size = c->size;
        row.stack = c->stack;
        row.is_main = row.tid == (int64_t)s->main_tid;
        break;
    case SD_ALLOC_CHANGE_FREED: /* memray knows no size then */
        row.by = c->by == SD_BY_NONE ? SD_MEMRAY_FREE : sd_memray_free_of(c->by);
        break;
    case SD_ALLOC_CHANGE_UNMAPPED:
        row.by = SD_MEMRAY_MUNMAP;
        row.size = c->size;
        break;
    case SD_ALLOC_CHANGE_CUT:
    case SD_ALLOC_CHANGE_TIME:
        break;
    }
    return row;
}

static PyObject *next_record(PyObject *self)
{
    struct sd_py_alloc_history *h = history_of(self);
    struct sd_alloc_change c;
    struct sd_py_alloc_row row;
    int rc;

    if (h->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading this history; "
                                            "open the file again in this thread");
        return NULL;
    }
    h->is_read = true;
    do
        rc = sd_alloc_history_next(h->h, &c);
    while (rc == 1 && !is_record(&c));
    if (rc <= 0)
        return rc < 0 ? sd_ext_raise(rc) : NULL;
    row = row_of(&h->source, &c);
    return sd_py_alloc_record_new(self, &row);
}

/* --- Readings of memory */

struct reading {
    uint64_t ms, rss, live_bytes;
};

static int read_memory(struct sd_alloc_history *h, struct reading **all, size_t *n)
{
    uint64_t zero_ns = sd_alloc_history_profile(h)->real_zero_ns;
    struct sd_alloc_change c;
    size_t cap = 0;
    int rc;

    while ((rc = sd_alloc_history_next(h, &c)) == 1) {
        struct reading *grown;

        if (c.kind != SD_ALLOC_CHANGE_TIME)
            continue;
        grown = sd_grow_array(*all, &cap, *n + 1, sizeof **all);
        if (!grown)
            return sd_no_memory();
        *all = grown;
        grown[(*n)++] =
            (struct reading){ (zero_ns + c.ns) / NS_PER_MS, c.rss, c.live_bytes };
    }
    return rc;
}

static PyObject *readings_list(PyObject *make, const struct reading *all, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = PyObject_CallFunction(
            make, "KKK", (unsigned long long)all[i].ms, (unsigned long long)all[i].rss,
            (unsigned long long)all[i].live_bytes);

        if (one)
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *memory(PyObject *self, PyObject *make)
{
    struct sd_alloc_history *h = fresh(self);
    struct reading *all = NULL;
    PyObject *list = NULL;
    size_t n = 0;
    int rc;

    if (!h)
        return NULL;
    history_of(self)->is_busy = true;
    Py_BEGIN_ALLOW_THREADS /* the whole capture is read */
        rc = read_memory(h, &all, &n);
    Py_END_ALLOW_THREADS history_of(self)->is_busy = false;
    if (rc < 0)
        sd_ext_raise(rc);
    else
        list = readings_list(make, all, n);
    sd_free(all);
    return list;
}

/* --- Lifetimes */

static PyObject *interval_object(PyObject *make, const struct sd_alloc_lifetime *l)
{
    PyObject *to =
        l->to == UINT32_MAX ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(l->to);

    return to ? PyObject_CallFunction(make, "kNLL", (unsigned long)l->from, to,
                                      (long long)l->blocks, (long long)l->bytes)
              : NULL;
}

/* The record of those that stand together, from *i on. */
static PyObject *lifetime_record(PyObject *self, PyObject *make,
                                 const struct sd_alloc_lifetimes *l, size_t *i)
{
    const struct sd_alloc_lifetime *first = &l->items[*i];
    const struct sd_profile *p = history_of(self)->source.p;
    const struct sd_py_alloc_row row = {
        .tid = first->track == UINT32_MAX ? SD_MEMRAY_MERGED
                                          : sd_memray_tid(p, first->track),
        .stack = first->stack,
        .by = sd_memray_allocator_of(first->by),
        .is_main = sd_memray_tid(p, first->track) ==
                   (int64_t)history_of(self)->source.main_tid,
    };
    PyObject *all = PyList_New(0);

    for (; all && *i < l->n && sd_alloc_lifetime_is_of(first, &l->items[*i]); ++*i) {
        PyObject *one = interval_object(make, &l->items[*i]);
        int rc = one ? PyList_Append(all, one) : -1;

        Py_XDECREF(one);
        if (rc < 0)
            Py_CLEAR(all);
    }
    return all ? sd_py_temporal_record_take(self, &row, all) : NULL;
}

static PyObject *lifetimes_list(PyObject *self, PyObject *make,
                                const struct sd_alloc_lifetimes *l)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < l->n;) {
        PyObject *one = lifetime_record(self, make, l, &i);
        int rc = one ? PyList_Append(list, one) : -1;

        Py_XDECREF(one);
        if (rc < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *lifetimes(PyObject *self, PyObject *args)
{
    struct sd_alloc_lifetimes all = { 0 };
    struct sd_alloc_history *h;
    PyObject *make, *list = NULL;
    unsigned stride;
    int merges, rc;

    if (!PyArg_ParseTuple(args, "OpI", &make, &merges, &stride))
        return NULL;
    h = fresh(self);
    if (!h)
        return NULL;
    history_of(self)->is_busy = true;
    Py_BEGIN_ALLOW_THREADS /* the whole capture is read */
        rc = sd_alloc_lifetimes_read(&all, h, merges, stride ? stride : 1);
    Py_END_ALLOW_THREADS history_of(self)->is_busy = false;
    if (rc < 0)
        sd_ext_raise(rc);
    else
        list = lifetimes_list(self, make, &all);
    sd_alloc_lifetimes_release(&all);
    return list;
}

/* --- Statistics */

static int put_number(PyObject *dict, PyObject *key, uint64_t n)
{
    PyObject *value = key ? PyLong_FromUnsignedLongLong(n) : NULL;
    int rc = value ? PyDict_SetItem(dict, key, value) : -1;

    Py_XDECREF(key);
    Py_XDECREF(value);
    return rc;
}

static PyObject *sizes_dict(const struct sd_alloc_counts *c)
{
    PyObject *dict = PyDict_New();
    uint64_t size, n;
    size_t at = 0;

    while (dict && sd_table_next(&c->sizes, &at, &size, &n))
        if (put_number(dict, PyLong_FromUnsignedLongLong(size), n) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *allocators_dict(const struct sd_alloc_counts *c)
{
    uint64_t sums[SD_MEMRAY_ALLOCATORS] = { 0 };
    PyObject *dict = PyDict_New();

    for (uint32_t by = 0; by < SD_ALLOCATORS; by++)
        sums[sd_memray_allocator_of(by)] += c->by[by];
    for (long i = 0; dict && i < SD_MEMRAY_ALLOCATORS; i++)
        if (sums[i] > 0 && put_number(dict, PyLong_FromLong(i), sums[i]) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *place_object(const struct sd_alloc_place_count *p)
{
    PyObject *file = sd_memray_text(p->file);
    PyObject *function = file && p->function ? sd_memray_text(p->function) : NULL;

    if (!file || (p->function && !function)) {
        Py_XDECREF(file);
        return NULL;
    }
    if (!function)
        return Py_BuildValue("(NKK)", file, (unsigned long long)p->count.blocks,
                             (unsigned long long)p->count.bytes);
    return Py_BuildValue("(NNkKK)", function, file, (unsigned long)p->line,
                         (unsigned long long)p->count.blocks,
                         (unsigned long long)p->count.bytes);
}

static PyObject *places_list(const struct sd_alloc_place_count *places, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = place_object(&places[i]);

        if (one)
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *statistics_tuple(const struct sd_alloc_counts *c,
                                  struct sd_alloc_place_count *lines, size_t n_lines,
                                  struct sd_alloc_place_count *files, size_t n_files,
                                  size_t most)
{
    size_t n = n_lines < most ? n_lines : most;
    PyObject *by_size, *by_count;

    sd_alloc_counts_by_bytes(lines, n_lines);
    by_size = places_list(lines, n);
    sd_alloc_counts_by_blocks(lines, n_lines);
    by_count = by_size ? places_list(lines, n) : NULL;
    if (!by_count) {
        Py_XDECREF(by_size);
        return NULL;
    }
    return Py_BuildValue(
        "(KKKNNNNN)", (unsigned long long)c->all.blocks,
        (unsigned long long)c->all.bytes, (unsigned long long)c->n_frees, sizes_dict(c),
        allocators_dict(c), by_size, by_count, places_list(files, n_files));
}

static PyObject *statistics(PyObject *self, PyObject *args)
{
    struct sd_alloc_place_count *lines = NULL, *files = NULL;
    struct sd_alloc_counts counts = { 0 };
    struct sd_alloc_history *h;
    size_t n_lines = 0, n_files = 0;
    PyObject *result = NULL;
    Py_ssize_t most;
    int rc;

    if (!PyArg_ParseTuple(args, "n", &most))
        return NULL;
    h = fresh(self);
    if (!h)
        return NULL;
    history_of(self)->is_busy = true;
    Py_BEGIN_ALLOW_THREADS /* the whole capture is read */
        rc = sd_alloc_counts_read(&counts, h);
    if (rc == 0)
        rc = sd_alloc_counts_lines(&counts, h, &lines, &n_lines);
    if (rc == 0)
        rc = sd_alloc_counts_files(&counts, h, &files, &n_files);
    Py_END_ALLOW_THREADS history_of(self)->is_busy = false;
    if (rc < 0)
        sd_ext_raise(rc);
    else
        result = statistics_tuple(&counts, lines, n_lines, files, n_files,
                                  most > 0 ? (size_t)most : 0);
    sd_free(lines);
    sd_free(files);
    sd_alloc_counts_release(&counts);
    return result;
}

/* --- As text */

static void print_change(FILE *to, const struct sd_profile *p,
                         const struct sd_alloc_change *c)
{
    const char *name = sd_allocator_name(c->by);
    unsigned long long tid = (unsigned long long)sd_memray_tid(p, c->track);

    switch (c->kind) {
    case SD_ALLOC_CHANGE_BEGAN:
        fprintf(to,
                "ALLOCATION tid=%llu address=0x%llx size=%llu allocator=%s "
                "stack=%lld\n",
                tid, (unsigned long long)c->address, (unsigned long long)c->size,
                name ? name : "unknown",
                c->stack == UINT32_MAX ? 0 : (long long)c->stack + 1);
        break;
    case SD_ALLOC_CHANGE_FREED:
        fprintf(to, "DEALLOCATION tid=%llu address=0x%llx allocator=%s\n", tid,
                (unsigned long long)c->address, name ? name : "unknown");
        break;
    case SD_ALLOC_CHANGE_UNMAPPED:
        fprintf(to, "DEALLOCATION tid=%llu address=0x%llx size=%llu allocator=munmap\n",
                tid, (unsigned long long)c->address, (unsigned long long)c->size);
        break;
    case SD_ALLOC_CHANGE_TIME:
        fprintf(to, "MEMORY_RECORD time=%llu rss=%llu heap=%llu\n",
                (unsigned long long)((p->real_zero_ns + c->ns) / NS_PER_MS),
                (unsigned long long)c->rss, (unsigned long long)c->live_bytes);
        break;
    case SD_ALLOC_CHANGE_CUT:
        break;
    }
}

static int print_all(FILE *to, struct sd_alloc_history *h)
{
    const struct sd_profile *p = sd_alloc_history_profile(h);
    struct sd_alloc_change c;
    int rc;

    while ((rc = sd_alloc_history_next(h, &c)) == 1 && !ferror(to))
        print_change(to, p, &c);
    return rc < 0 ? rc : 0;
}

static PyObject *dump(PyObject *self, PyObject *args)
{
    struct sd_alloc_history *h;
    bool is_written;
    FILE *to;
    int fd, rc;

    if (!PyArg_ParseTuple(args, "i", &fd))
        return NULL;
    h = fresh(self);
    if (!h)
        return NULL;
    fd = dup(fd);
    to = fd < 0 ? NULL : fdopen(fd, "w");
    if (!to) {
        PyErr_SetFromErrno(PyExc_OSError);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    history_of(self)->is_busy = true;
    Py_BEGIN_ALLOW_THREADS /* the whole capture is read */
        rc = print_all(to, h);
    is_written = !ferror(to);
    is_written = fclose(to) == 0 && is_written;
    Py_END_ALLOW_THREADS history_of(self)->is_busy = false;
    if (rc < 0)
        return sd_ext_raise(rc);
    if (!is_written)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

/* --- Life */

static PyObject *history_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "path", "pid", "every_ms", NULL };
    struct sd_alloc_history *h = NULL;
    unsigned long long pid = 0, every_ms = 0;
    PyObject *path, *self;
    int rc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|KK:AllocationHistory", names,
                                     PyUnicode_FSConverter, &path, &pid, &every_ms))
        return NULL;
    Py_BEGIN_ALLOW_THREADS /* the names of the capture are read */
        rc = sd_alloc_history_open(PyBytes_AS_STRING(path), pid, every_ms, &h);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (rc < 0)
        return sd_ext_raise(rc);
    self = type->tp_alloc(type, 0);
    if (!self) {
        sd_alloc_history_free(h);
        return NULL;
    }
    history_of(self)->h = h;
    history_of(self)->source.p = sd_alloc_history_profile(h);
    sd_memray_find_main(&history_of(self)->source);
    return self;
}

static void history_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_alloc_history_free(history_of(self)->h);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "memory", memory, METH_O,
      "memory(make)\n--\n\nReturns a list of make(ms since 1970, rss, live bytes)." },
    { "lifetimes", lifetimes, METH_VARARGS,
      "lifetimes(make, merge_threads, stride)\n--\n\nReturns temporal records, with "
      "intervals make(from, to, blocks,\nbytes) in every stride-th reading of "
      "memory." },
    { "statistics", statistics, METH_VARARGS,
      "statistics(n)\n--\n\nReturns (allocations, bytes, frees, counts by size, counts "
      "by allocator,\nn lines by bytes, n lines by blocks, files)." },
    { "dump", dump, METH_VARARGS, "dump(fd)\n--\n\nWrites a line for each record." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc,
      "AllocationHistory(path, pid=0, every_ms=0)\n--\n\nThe allocations and "
      "frees of one process, one after the other." },
    { Py_tp_new, history_new },
    { Py_tp_dealloc, history_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_iter, PyObject_SelfIter },
    { Py_tp_iternext, next_record },
    { 0, NULL },
};

PyType_Spec sd_alloc_history_spec = {
    .name = "_sonde.AllocationHistory",
    .basicsize = sizeof(struct sd_py_alloc_history),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
