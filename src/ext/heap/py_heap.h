/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_HEAP_PY_HEAP_H
#define SD_EXT_HEAP_PY_HEAP_H
/* py_heap: `_sonde.HeapSnapshot` and `_sonde.HeapSet`, what sonde.heap is made of.
 *
 * What a question needs (roots, referrers, dominators) is worked out at the first one
 * that asks, under the interpreter's lock, and kept. */
#include "ext/ext.h"

#include "analyse/heap/heap_dominators.h"
#include "analyse/heap/heap_groups.h"

struct sd_py_heap {
    PyObject_HEAD struct sd_heap_graph graph;
    struct sd_heap_reach reach;
    struct sd_heap_dominators dominators;
    bool has_reach, has_dominators;
};

struct sd_py_heap_set {
    PyObject_HEAD struct sd_py_heap *heap; /* owned */
    uint32_t *objects;                     /* owned; in order */
    uint32_t n;
};

/* Work out what is wanted.  NULL with an exception: a snapshot without references, or
 * no memory. */
struct sd_heap_reach *sd_py_heap_reach(struct sd_py_heap *h);
const struct sd_heap_dominators *sd_py_heap_dominators(struct sd_py_heap *h);
/* The number of an object, given as itself or as an address; SD_HEAP_NONE with an
 * exception: it is not in the snapshot. */
uint32_t sd_py_heap_number(const struct sd_py_heap *h, PyObject *x);

/* A set of these, which are copied; they are in order.  A new reference. */
PyObject *sd_py_heap_set_new(struct sd_py_heap *h, const uint32_t *objects, uint32_t n);
struct sd_py_heap_set *sd_py_heap_set_of(PyObject *o); /* NULL with a TypeError */
struct sd_py_heap *sd_py_heap_of(PyObject *o);         /* the same */

/* [(name, count, bytes, retained)] of all objects or of those; retained is None without
 * references. */
PyObject *sd_py_heap_rows(struct sd_py_heap *h, const char *by, const uint32_t *of,
                          uint32_t n);
/* [{name, type, retained, share, holds, count, chain, sentence}], the largest first. */
PyObject *sd_py_heap_suspects(PyObject *self, PyObject *unused);

/* Refuses: only snapshots make these. */
PyObject *sd_py_heap_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* heap_snapshot(graph, skip): `skip` frames of the calling thread are not looked at:
 * those of our own functions. */
PyObject *sd_ext_heap_snapshot(PyObject *module, PyObject *args);
/* heap_picture(snapshot, objects, hidden, is_backwards, depth, too_many, is_svg): the
 * picture as bytes; both lists are tuples of addresses. */
PyObject *sd_ext_heap_picture(PyObject *module, PyObject *args);
/* heap_tracked_types(): [(type, how many objects of it the collector tracks)]. */
PyObject *sd_ext_heap_tracked_types(PyObject *module, PyObject *unused);
/* heap_tracked_of(types): the tracked objects of these types, a tuple, as a list. */
PyObject *sd_ext_heap_tracked_of(PyObject *module, PyObject *types);
/* heap_changes(snapshots): [(name, count, bytes, count_delta, bytes_delta, rises)]. */
PyObject *sd_ext_heap_changes(PyObject *module, PyObject *snapshots);
#endif
