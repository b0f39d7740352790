/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ALLOC_PY_ALLOCATIONS_H
#define SD_EXT_ALLOC_PY_ALLOCATIONS_H
/* py_allocations: `_sonde.Allocations(source, nameless)`, what a capture says of
 * allocations; the source is its path, or its bytes.
 *
 * It is read at the first question, and once more for each that needs more than all
 * others do: sizes, growth, what was live at a moment. */
#include "ext/ext.h"

struct sd_profile;

struct sd_py_allocations {
    PyObject_HEAD PyObject *content; /* bytes; NULL: it is a file */
    PyObject *path;                  /* bytes, or NULL; owned */
    bool is_nameless;                /* the path opens it, and is not its name */
    struct sd_profile *profile;      /* of the usual questions; NULL: not read yet */
};
#endif
