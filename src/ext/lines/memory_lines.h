/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_LINES_MEMORY_LINES_H
#define SD_EXT_LINES_MEMORY_LINES_H
/* memory_lines: prints memory by line, given as Python objects, as memory_profiler
 * does. */
#include "ext/ext.h"

/* memory_text([(file, first line, name, {line: (MiB more, MiB after, times)}), ...],
 * precision) -> text */
PyObject *sd_memory_lines_text(PyObject *module, PyObject *args);

/* memory_rows(Lines, {code: {line: (MiB more, MiB after, times)}}): puts there what was
 * counted by now, instead of what was there; code objects may share what they hold. */
PyObject *sd_memory_lines_rows(PyObject *module, PyObject *args);
#endif
