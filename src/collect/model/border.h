/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_BORDER_H
#define SD_MODEL_BORDER_H
/* border: finds where the graph of a forward ends, so that a backward stays within it.
 *
 * A backward goes as far as there is a graph: through a tensor that a forward found
 * elsewhere (a teacher's output, a cache that was computed before) into the graph that
 * made it, which would then be counted, freed, and leave gradients behind.  The nodes
 * of a thread have numbers that grow, so those of the forward are between two.  A node
 * that another thread made has any number; but what was made before the forward leads
 * to nothing that it made, so one that does is of it, too.  (One of another thread that
 * has such a number by chance is taken for the forward's.) */
#include "cpython/compat.h"

struct sd_graph_part {
    unsigned long long from, to; /* numbers of its nodes: from <= n < to */
};

/* ([leaf, ...], [(node, which of its inputs), ...], [node, ...], is_shared) of what a
 * backward from these tensors comes to: tensors that were not computed, edges into
 * other graphs, and the nodes behind them, also of tensors that were computed before;
 * and whether those lead on to leaves of the forward's, too.  A new reference, or NULL
 * with an exception. */
PyObject *sd_border_find(PyObject *tensors, struct sd_graph_part of);
#endif
