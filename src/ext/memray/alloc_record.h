/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_RECORD_H
#define SD_EXT_ALLOC_RECORD_H
/* alloc_record: a row of allocations as memray has it: an event, or what a stack holds.
 *
 * It keeps the object that has the names alive, and looks its stack up there. */
#include "ext/ext.h"

struct sd_profile;

/* Where names are.  Every object that makes records begins with one. */
struct sd_py_alloc_source {
    PyObject_HEAD const struct sd_profile *p; /* owned by the whole of it */
    uint64_t main_tid;  /* the thread that began the recording, and ... */
    uint32_t n_skipped; /* ... how many outer frames of it memray leaves out */
};

/* memray's AllocatorType. */
enum sd_memray_allocator {
    SD_MEMRAY_PYMALLOC_FREE = 1,
    SD_MEMRAY_PYMALLOC_MALLOC,
    SD_MEMRAY_PYMALLOC_CALLOC,
    SD_MEMRAY_PYMALLOC_REALLOC,
    SD_MEMRAY_FREE,
    SD_MEMRAY_MALLOC,
    SD_MEMRAY_REALLOC,
    SD_MEMRAY_CALLOC,
    SD_MEMRAY_POSIX_MEMALIGN,
    SD_MEMRAY_ALIGNED_ALLOC,
    SD_MEMRAY_MEMALIGN,
    SD_MEMRAY_VALLOC,
    SD_MEMRAY_PVALLOC,
    SD_MEMRAY_MMAP,
    SD_MEMRAY_MUNMAP,
    SD_MEMRAY_ALLOCATORS
};
enum { SD_MEMRAY_MERGED = -1 }; /* tid of rows whose threads are taken together */

struct sd_py_alloc_row {
    int64_t tid;
    uint64_t address, size, n;
    uint32_t stack; /* of the profile, or UINT32_MAX */
    enum sd_memray_allocator by;
    bool is_main; /* of the thread that began the recording */
};

/* By what memray would say that a block was allocated (enum sd_allocator), or freed. */
enum sd_memray_allocator sd_memray_allocator_of(uint32_t by);
enum sd_memray_allocator sd_memray_free_of(uint32_t by);
const char *sd_memray_allocator_name(enum sd_memray_allocator by); /* "MALLOC" */
/* Reads who began the recording out of the facts of a capture. */
void sd_memray_find_main(struct sd_py_alloc_source *s);
/* A name of a capture, which need not be UTF-8; NULL is "". */
PyObject *sd_memray_text(const char *text);
/* The number of a thread's track. */
int64_t sd_memray_tid(const struct sd_profile *p, uint32_t track);
/* How many of its frames memray shows. */
size_t sd_py_alloc_row_depth(const struct sd_py_alloc_source *s,
                             const struct sd_py_alloc_row *row);

/* A record; the source keeps the names. */
PyObject *sd_py_alloc_record_new(PyObject *source, const struct sd_py_alloc_row *row);
/* The same with intervals, which it takes over. */
PyObject *sd_py_temporal_record_take(PyObject *source,
                                     const struct sd_py_alloc_row *row,
                                     PyObject *intervals);
#endif
