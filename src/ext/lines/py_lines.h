/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_LINES_PY_LINES_H
#define SD_EXT_LINES_PY_LINES_H
/* py_lines: `_sonde.Lines` counts and times the lines of chosen code objects.  What
 * sonde.LineProfiler and its relatives are made of. */
#include "ext/ext.h"

/* The Lines of the capture (collect/lines/collector.h), or None. */
PyObject *sd_py_lines_of_capture(PyObject *module, PyObject *args);
/* Does the run ask for the memory of lines? */
PyObject *sd_py_lines_want_memory(PyObject *module, PyObject *unused);
#endif
