/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_LINES_PY_LINE_STATS_H
#define SD_EXT_LINES_PY_LINE_STATS_H
/* py_line_stats: prints, loads, saves and adds up times of lines as line_profiler has
 * them in Python: {(file, first line, name): [(line, hits, time), ...]} and the seconds
 * of a unit. */
#include "ext/ext.h"

/* line_text(timings, unit, output_unit, stripzeros, details, summarize, sort, source)
 * -> str; source(file) gives the text of a file or None, and then the file is read. */
PyObject *sd_py_line_stats_text(PyObject *module, PyObject *args);
/* line_dumps(timings, unit) -> bytes: a file of line_profiler */
PyObject *sd_py_line_stats_dumps(PyObject *module, PyObject *args);
/* line_loads(bytes) -> (timings, unit); nothing in them is run */
PyObject *sd_py_line_stats_loads(PyObject *module, PyObject *bytes);
/* line_sum([(timings, unit), ...]) -> (timings, unit) */
PyObject *sd_py_line_stats_add_up(PyObject *module, PyObject *parts);
#endif
