/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_PY_TRACES_H
#define SD_EXT_ALLOC_PY_TRACES_H
/* py_traces: what sonde.compat.tracemalloc asks the recorder of live blocks
 * (collect/alloc/traces.h), as CPython's _tracemalloc has it.
 *
 * A trace is (domain, size, ((file, line), ...), number of frames), the frames
 * innermost first, at most as many as start() was told.  Equal frames are one object.
 */
#include "ext/ext.h"

PyObject *sd_py_traces_start(PyObject *module, PyObject *args); /* traces_start(n) */
PyObject *sd_py_traces_stop(PyObject *module, PyObject *unused);
PyObject *sd_py_traces_are_on(PyObject *module, PyObject *unused);
PyObject *sd_py_traces_limit(PyObject *module, PyObject *unused);
PyObject *sd_py_traces_memory(PyObject *module, PyObject *unused); /* (live, peak) */
PyObject *sd_py_traces_own_memory(PyObject *module, PyObject *unused);
PyObject *sd_py_traces_reset_peak(PyObject *module, PyObject *unused);
PyObject *sd_py_traces_clear(PyObject *module, PyObject *unused);
/* traces_all(has_totals): with the number of frames in each, as from 3.9 on. */
PyObject *sd_py_traces_all(PyObject *module, PyObject *has_totals);
/* The frames of the block that holds the object, or None. */
PyObject *sd_py_traces_of(PyObject *module, PyObject *object);
#endif
