/* SPDX-License-Identifier: MIT */
#include "ext/memray/alloc_record.h"

#include <stdio.h>

#include "base/text.h"
#include "capture/alloc/alloc_cell.h"
#include "profile/profile.h"

enum { NONE = UINT32_MAX };

struct record {
    PyObject_HEAD PyObject *source; /* or NULL: it was made of a tuple */
    PyObject *intervals;            /* of a temporal one */
    struct sd_py_alloc_row row;
};

static struct record *record_of(PyObject *self) { return (struct record *)self; }

/* --- memray's numbers */

enum sd_memray_allocator sd_memray_allocator_of(uint32_t by)
{
    static const uint8_t as[SD_ALLOCATORS] = {
        [SD_BY_RAW] = SD_MEMRAY_PYMALLOC_MALLOC,
        [SD_BY_MEM] = SD_MEMRAY_PYMALLOC_MALLOC,
        [SD_BY_OBJECT] = SD_MEMRAY_PYMALLOC_MALLOC,
        [SD_BY_RAW_CALLOC] = SD_MEMRAY_PYMALLOC_CALLOC,
        [SD_BY_MEM_CALLOC] = SD_MEMRAY_PYMALLOC_CALLOC,
        [SD_BY_OBJECT_CALLOC] = SD_MEMRAY_PYMALLOC_CALLOC,
        [SD_BY_RAW_REALLOC] = SD_MEMRAY_PYMALLOC_REALLOC,
        [SD_BY_MEM_REALLOC] = SD_MEMRAY_PYMALLOC_REALLOC,
        [SD_BY_OBJECT_REALLOC] = SD_MEMRAY_PYMALLOC_REALLOC,
        [SD_BY_CALLOC] = SD_MEMRAY_CALLOC,
        [SD_BY_REALLOC] = SD_MEMRAY_REALLOC,
        [SD_BY_REALLOCARRAY] = SD_MEMRAY_REALLOC,
        [SD_BY_POSIX_MEMALIGN] = SD_MEMRAY_POSIX_MEMALIGN,
        [SD_BY_ALIGNED_ALLOC] = SD_MEMRAY_ALIGNED_ALLOC,
        [SD_BY_MEMALIGN] = SD_MEMRAY_MEMALIGN,
        [SD_BY_VALLOC] = SD_MEMRAY_VALLOC,
        [SD_BY_PVALLOC] = SD_MEMRAY_PVALLOC,
        [SD_BY_MMAP] = SD_MEMRAY_MMAP,
        [SD_BY_MREMAP] = SD_MEMRAY_MMAP,
        [SD_BY_FILE] = SD_MEMRAY_MMAP,
        [SD_BY_RESERVED] = SD_MEMRAY_MMAP,
    };

    return by < SD_ALLOCATORS && as[by] ? (enum sd_memray_allocator)as[by]
                                        : SD_MEMRAY_MALLOC;
}

enum sd_memray_allocator sd_memray_free_of(uint32_t by)
{
    switch (sd_memray_allocator_of(by)) {
    case SD_MEMRAY_PYMALLOC_MALLOC:
    case SD_MEMRAY_PYMALLOC_CALLOC:
    case SD_MEMRAY_PYMALLOC_REALLOC:
        return SD_MEMRAY_PYMALLOC_FREE;
    case SD_MEMRAY_MMAP:
        return SD_MEMRAY_MUNMAP;
    default:
        return SD_MEMRAY_FREE;
    }
}

const char *sd_memray_allocator_name(enum sd_memray_allocator by)
{
    static const char *const names[SD_MEMRAY_ALLOCATORS] = {
        [SD_MEMRAY_PYMALLOC_FREE] = "PYMALLOC_FREE",
        [SD_MEMRAY_PYMALLOC_MALLOC] = "PYMALLOC_MALLOC",
        [SD_MEMRAY_PYMALLOC_CALLOC] = "PYMALLOC_CALLOC",
        [SD_MEMRAY_PYMALLOC_REALLOC] = "PYMALLOC_REALLOC",
        [SD_MEMRAY_FREE] = "FREE",
        [SD_MEMRAY_MALLOC] = "MALLOC",
        [SD_MEMRAY_REALLOC] = "REALLOC",
        [SD_MEMRAY_CALLOC] = "CALLOC",
        [SD_MEMRAY_POSIX_MEMALIGN] = "POSIX_MEMALIGN",
        [SD_MEMRAY_ALIGNED_ALLOC] = "ALIGNED_ALLOC",
        [SD_MEMRAY_MEMALIGN] = "MEMALIGN",
        [SD_MEMRAY_VALLOC] = "VALLOC",
        [SD_MEMRAY_PVALLOC] = "PVALLOC",
        [SD_MEMRAY_MMAP] = "MMAP",
        [SD_MEMRAY_MUNMAP] = "MUNMAP",
    };

    return by < SD_MEMRAY_ALLOCATORS && names[by] ? names[by] : "";
}

static bool is_free(enum sd_memray_allocator by)
{
    return by == SD_MEMRAY_PYMALLOC_FREE || by == SD_MEMRAY_FREE ||
           by == SD_MEMRAY_MUNMAP;
}

static uint64_t fact(const struct sd_profile *p, const char *key)
{
    const char *text = sd_profile_meta(p, key);
    uint64_t n;

    return text && sd_text_parse_number(text, &n) ? n : 0;
}

void sd_memray_find_main(struct sd_py_alloc_source *s)
{
    s->main_tid = fact(s->p, "track.tid");
    s->n_skipped = (uint32_t)fact(s->p, "track.outer_frames");
}

int64_t sd_memray_tid(const struct sd_profile *p, uint32_t track)
{
    return track < p->n_tracks ? (int64_t)p->tracks[track].number : 0;
}

/* --- Stacks */

enum wanted { PYTHON_FRAMES, NATIVE_FRAMES, ALL_FRAMES };

static bool is_wanted(const struct sd_site *s, enum wanted wanted)
{
    return wanted == ALL_FRAMES || s->is_native == (wanted == NATIVE_FRAMES);
}

static size_t depth_of(const struct sd_profile *p, uint32_t stack, enum wanted wanted)
{
    size_t n = 0;

    for (; stack < p->n_stacks; stack = p->stacks[stack].parent.at)
        n += is_wanted(&p->sites[p->stacks[stack].site.at], wanted);
    return n;
}

/* Frames from the innermost to the outermost that is shown: of the thread that began
 * the recording, the Python frame that did so. */
static size_t shown_depth(const struct sd_py_alloc_source *s,
                          const struct sd_py_alloc_row *row, enum wanted wanted)
{
    size_t n_python = depth_of(s->p, row->stack, PYTHON_FRAMES), n = 0;
    uint32_t at = row->stack;

    if (wanted == NATIVE_FRAMES || !row->is_main || s->n_skipped == 0)
        return depth_of(s->p, row->stack, wanted);
    n_python = n_python > s->n_skipped ? n_python - s->n_skipped : 0;
    for (; n_python > 0 && at < s->p->n_stacks; at = s->p->stacks[at].parent.at) {
        bool is_native = s->p->sites[s->p->stacks[at].site.at].is_native;

        n_python -= !is_native;
        n += wanted == ALL_FRAMES || !is_native;
    }
    return n;
}

size_t sd_py_alloc_row_depth(const struct sd_py_alloc_source *s,
                             const struct sd_py_alloc_row *row)
{
    return shown_depth(s, row, ALL_FRAMES);
}

PyObject *sd_memray_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text ? text : "", text ? (Py_ssize_t)strlen(text) : 0,
                                "replace");
}

static PyObject *frame_object(const struct sd_profile *p, const struct sd_stack *f)
{
    const struct sd_site *s = &p->sites[f->site.at];
    PyObject *name = sd_memray_text(s->name),
             *file = name ? sd_memray_text(s->file) : NULL;

    if (!file) {
        Py_XDECREF(name);
        return NULL;
    }
    return Py_BuildValue("(NNk)", name, file, (unsigned long)f->line);
}

/* The innermost `most` frames. */
static PyObject *frames_list(const struct sd_profile *p, uint32_t stack,
                             enum wanted wanted, size_t most)
{
    PyObject *all = PyList_New(0);

    for (; all && most > 0 && stack < p->n_stacks; stack = p->stacks[stack].parent.at) {
        PyObject *frame;
        int rc;

        if (!is_wanted(&p->sites[p->stacks[stack].site.at], wanted))
            continue;
        most--;
        frame = frame_object(p, &p->stacks[stack]);
        rc = frame ? PyList_Append(all, frame) : -1;
        Py_XDECREF(frame);
        if (rc < 0)
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *trace(PyObject *self, PyObject *args, PyObject *kwargs,
                       enum wanted wanted)
{
    static char *names[] = { "max_stacks", NULL };
    const struct record *r = record_of(self);
    const struct sd_py_alloc_source *s = (void *)r->source;
    PyObject *most = Py_None;
    Py_ssize_t n;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &most))
        return NULL;
    if (is_free(r->row.by)) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "Stack traces for deallocations aren't captured.");
        return NULL;
    }
    if (!s) {
        PyErr_SetString(PyExc_AssertionError, "Cannot get stack trace without reader.");
        return NULL;
    }
    if (most != Py_None) {
        n = PyLong_AsSsize_t(most);
        if (n == -1 && PyErr_Occurred())
            return NULL;
    } else {
        n = (Py_ssize_t)shown_depth(s, &r->row, wanted);
    }
    return frames_list(s->p, r->row.stack, wanted, n > 0 ? (size_t)n : 0);
}

static PyObject *stack_trace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return trace(self, args, kwargs, PYTHON_FRAMES);
}

static PyObject *native_stack_trace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return trace(self, args, kwargs, NATIVE_FRAMES);
}

static PyObject *hybrid_stack_trace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return trace(self, args, kwargs, ALL_FRAMES);
}

/* --- Fields */

/* 0 is no stack; the profile's first is 1. */
static PyObject *get_stack_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(
        record_of(self)->row.stack == NONE ? 0 : record_of(self)->row.stack + 1ul);
}

static PyObject *get_tid(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(record_of(self)->row.tid);
}

static PyObject *get_address(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(record_of(self)->row.address);
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(record_of(self)->row.size);
}

static PyObject *get_n(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(record_of(self)->row.n);
}

static PyObject *get_allocator(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong((long)record_of(self)->row.by);
}

static PyObject *get_zero(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(0);
}

static PyObject *get_intervals(PyObject *self, void *unused)
{
    PyObject *intervals = record_of(self)->intervals;

    (void)unused;
    return Py_NewRef(intervals ? intervals : Py_None);
}

static PyObject *get_thread_name(PyObject *self, void *unused)
{
    const struct record *r = record_of(self);
    const struct sd_py_alloc_source *s = (void *)r->source;

    (void)unused;
    if (r->row.tid == SD_MEMRAY_MERGED)
        return PyUnicode_FromString("merged thread");
    if (!s) {
        PyErr_SetString(PyExc_AssertionError, "Cannot get thread name without reader.");
        return NULL;
    }
    for (size_t i = 0; i < s->p->n_tracks; i++)
        if (s->p->tracks[i].kind == SD_TRACK_THREAD &&
            s->p->tracks[i].number == (uint64_t)r->row.tid)
            return sd_memray_text(s->p->tracks[i].name);
    return PyUnicode_FromString("");
}

/* --- As a tuple: what makes two of them equal */

static PyObject *tuple_of(PyObject *self)
{
    const struct sd_py_alloc_row *r = &record_of(self)->row;

    return Py_BuildValue("(LKKikKii)", (long long)r->tid,
                         (unsigned long long)r->address, (unsigned long long)r->size,
                         (int)r->by, r->stack == NONE ? 0ul : r->stack + 1ul,
                         (unsigned long long)r->n, 0, 0);
}

static PyObject *compare(PyObject *self, PyObject *other, int how)
{
    PyObject *a, *b, *result = NULL;

    if (Py_TYPE(self) != Py_TYPE(other) || (how != Py_EQ && how != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    a = tuple_of(self);
    b = a ? tuple_of(other) : NULL;
    if (b)
        result = PyObject_RichCompare(a, b, how);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static Py_hash_t hash(PyObject *self)
{
    PyObject *t = tuple_of(self);
    Py_hash_t h = t ? PyObject_Hash(t) : -1;

    Py_XDECREF(t);
    return h;
}

static PyObject *repr(PyObject *self)
{
    const struct sd_py_alloc_row *r = &record_of(self)->row;
    char text[160];

    snprintf(text, sizeof text,
             "AllocationRecord<tid=0x%llx, address=0x%llx, size=%llu, allocator=%d, "
             "allocations=%llu>",
             (unsigned long long)r->tid, (unsigned long long)r->address,
             (unsigned long long)r->size, (int)r->by, (unsigned long long)r->n);
    return PyUnicode_FromString(text);
}

/* --- Life */

static PyObject *make(PyTypeObject *type, PyObject *source,
                      const struct sd_py_alloc_row *row)
{
    PyObject *self = type->tp_alloc(type, 0);

    if (!self)
        return NULL;
    record_of(self)->row = *row;
    record_of(self)->source = Py_XNewRef(source);
    return self;
}

PyObject *sd_py_alloc_record_new(PyObject *source, const struct sd_py_alloc_row *row)
{
    struct sd_ext *ext = sd_ext_of(Py_TYPE(source));

    return !ext || sd_ext_is_gone(ext) ? NULL : make(ext->alloc_record, source, row);
}

PyObject *sd_py_temporal_record_take(PyObject *source,
                                     const struct sd_py_alloc_row *row,
                                     PyObject *intervals)
{
    struct sd_ext *ext = sd_ext_of(Py_TYPE(source));
    PyObject *self =
        !ext || sd_ext_is_gone(ext) ? NULL : make(ext->temporal_record, source, row);

    if (self)
        record_of(self)->intervals = intervals;
    else
        Py_DECREF(intervals);
    return self;
}

/* Of a tuple, as memray's own tests make them. */
static PyObject *record_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct sd_py_alloc_row row = { 0 };
    long long tid;
    unsigned long long address, size, n;
    unsigned long stack, native, generation;
    int by;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "(LKKikKkk):AllocationRecord", &tid, &address, &size,
                          &by, &stack, &n, &native, &generation))
        return NULL;
    row.tid = tid;
    row.address = address;
    row.size = size;
    row.n = n;
    row.stack = stack ? (uint32_t)(stack - 1) : NONE;
    row.by = (enum sd_memray_allocator)by;
    return make(type, NULL, &row);
}

static void record_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(record_of(self)->source);
    Py_XDECREF(record_of(self)->intervals);
    type->tp_free(self);
    Py_DECREF(type);
}

#define WITH_KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef methods[] = {
    { "stack_trace", WITH_KEYWORDS(stack_trace), METH_VARARGS | METH_KEYWORDS,
      "stack_trace(max_stacks=None)\n--\n\nReturns its Python frames as (function, "
      "file, "
      "line), the innermost first." },
    { "native_stack_trace", WITH_KEYWORDS(native_stack_trace),
      METH_VARARGS | METH_KEYWORDS,
      "native_stack_trace(max_stacks=None)\n--\n\nReturns its frames of compiled code; "
      "none unless they were recorded." },
    { "hybrid_stack_trace", WITH_KEYWORDS(hybrid_stack_trace),
      METH_VARARGS | METH_KEYWORDS,
      "hybrid_stack_trace(max_stacks=None)\n--\n\nReturns the frames of both kinds." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef fields[] = {
    { "tid", get_tid, NULL, "thread; -1: all of them together", NULL },
    { "address", get_address, NULL, "of the block; 0 of a row of several", NULL },
    { "size", get_size, NULL, "bytes", NULL },
    { "allocator", get_allocator, NULL, "a number of AllocatorType", NULL },
    { "stack_id", get_stack_id, NULL, "equal for equal stacks", NULL },
    { "n_allocations", get_n, NULL, "blocks", NULL },
    { "native_stack_id", get_zero, NULL, "0: it is part of stack_id", NULL },
    { "native_segment_generation", get_zero, NULL, "0: there is one alone", NULL },
    { "thread_name", get_thread_name, NULL, "the latest name of its thread", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyGetSetDef temporal_fields[] = {
    { "tid", get_tid, NULL, "thread; -1: all of them together", NULL },
    { "allocator", get_allocator, NULL, "a number of AllocatorType", NULL },
    { "stack_id", get_stack_id, NULL, "equal for equal stacks", NULL },
    { "native_stack_id", get_zero, NULL, "0: it is part of stack_id", NULL },
    { "native_segment_generation", get_zero, NULL, "0: there is one alone", NULL },
    { "thread_name", get_thread_name, NULL, "the latest name of its thread", NULL },
    { "intervals", get_intervals, NULL, "when its blocks were live", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "AllocationRecord(fields)\n--\n\nAn allocation, a free, or what a "
                 "stack holds." },
    { Py_tp_new, record_new },
    { Py_tp_dealloc, record_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, fields },
    { Py_tp_richcompare, compare },
    { Py_tp_hash, hash },
    { Py_tp_repr, repr },
    { 0, NULL },
};

PyType_Spec sd_alloc_record_spec = {
    .name = "_sonde.AllocationRecord",
    .basicsize = sizeof(struct record),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static PyType_Slot temporal_slots[] = {
    { Py_tp_doc, "What a stack allocated, with the times at which it was live." },
    { Py_tp_new, record_new },
    { Py_tp_dealloc, record_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, temporal_fields },
    { Py_tp_richcompare, compare },
    { Py_tp_hash, hash },
    { 0, NULL },
};

PyType_Spec sd_temporal_record_spec = {
    .name = "_sonde.TemporalAllocationRecord",
    .basicsize = sizeof(struct record),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = temporal_slots,
};
