/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_BORDER_H
#define SD_MODEL_BORDER_H
/* border: where the graph of one forward ends.
 *
 * A backward goes as far as there is a graph: through a tensor that a forward found
 * elsewhere (a teacher's output, a cache that was computed before) into the graph that
 * made it, which would then be counted, freed, and leave gradients behind.  The nodes
 * of a thread have numbers that grow, so one with a number from before the forward is
 * not of it. */
#include "cpython/compat.h"

/* ([leaf, ...], [(node, which of its inputs), ...]) of all that a backward from these
 * tensors comes to first: tensors that were not computed, and edges into graphs from
 * before `since`.  A new reference, or NULL with an exception. */
PyObject *sd_border_find(PyObject *tensors, unsigned long long since);
#endif
