/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_PY_TRACK_H
#define SD_EXT_ALLOC_PY_TRACK_H
/* py_track: `_sonde.Track`, the base of sonde.memory.track: a `with` block whose
 * allocations are recorded into a capture that this process owns.
 *
 * __enter__ and __exit__ are C, so that what is recorded is the program's alone: where
 * a call of a Python function allocates, it would do so while the recording runs.  The
 * subclass has _begin(), which returns (path, text of SONDE_WITH, current_thread_only)
 * and, where it likes, facts to be noted (bytes: names and values in turn, each with a
 * zero behind it) and after how many ms memory is read in any case; and _end(is_ours),
 * which comes when nothing is recorded any more; False: this is a process that was
 * forked inside the block.  _busy is its sentence for a block inside another. */
#include "ext/ext.h"

struct sd_py_track {
    PyObject_HEAD int32_t pid; /* of the process in which it records; 0: it does not */
};
#endif
