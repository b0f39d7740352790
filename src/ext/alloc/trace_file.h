/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_TRACE_FILE_H
#define SD_EXT_ALLOC_TRACE_FILE_H
/* trace_file: reads the file that tracemalloc.Snapshot.dump writes, as data: it is
 * never unpickled (formats/pickle.h). */
#include "ext/ext.h"

/* trace_load(bytes) -> the attributes of the snapshot, as a dict; of its traces the
 * list.  ValueError, with a sentence, for anything else. */
PyObject *sd_trace_file_load(PyObject *module, PyObject *bytes);
#endif
