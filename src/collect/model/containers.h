/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_CONTAINERS_H
#define SD_MODEL_CONTAINERS_H
/* containers: copies and restores lists, dicts, sets and deques of a program.
 *
 * Past what their classes do instead: one that is derived from list or dict may refuse,
 * or tell of itself what it likes.  Of sets and deques only those of Python itself are
 * such, because they can be reached by their methods alone. */
#include <stdbool.h>

#include "cpython/compat.h"

enum { SD_CONTAINER_MOST = 1 << 20 }; /* larger ones are vocabularies, not caches */

bool sd_container_is(PyObject *o);
/* What is in it: a dict, list or set.  A new reference, or NULL with an exception. */
PyObject *sd_container_copy(PyObject *o);
/* It has again what the copy has, in that order; no exception is left. */
void sd_container_put_back(PyObject *o, PyObject *copy);
#endif
