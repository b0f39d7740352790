/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_PY_MPROF_H
#define SD_EXT_PY_MPROF_H
/* py_mprof: what sonde.compat.mprof has done in C: reads memory into a .dat file while
 * a process runs, and reads such files. */
#include "ext/ext.h"

/* mprof_watch(pid, kind, include_children, multiprocess, interval, n_most, fd): writes
 * readings to fd until the process has ended or was read n_most times (0: no end); how
 * often it was read.  Signals are heard between readings. */
PyObject *sd_py_mprof_watch(PyObject *module, PyObject *args);
/* mprof_file(path): (command or None, [(MiB, time), ...], [(pid, MiB, time), ...],
 * [(name, start, end, MiB, MiB, level or None), ...]) */
PyObject *sd_py_mprof_file(PyObject *module, PyObject *args);
/* mprof_peaks(path, function or None): (MiB or None, [(pid, MiB), ...]): the most of
 * the process (None: it was never read, or the function never ran) and of children. */
PyObject *sd_py_mprof_peaks(PyObject *module, PyObject *args);
#endif
