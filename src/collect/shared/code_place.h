/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_CODE_PLACE_H
#define SD_COLLECT_SHARED_CODE_PLACE_H
/* code_place: the place of a code object in its source, as a number, to tell code that
 * was made again from other code. */
#include "cpython/compat.h"

#include <stdint.h>

/* The name, file and first line of a code object, hashed: those of code that exec()
 * made again from one text are equal. */
uint64_t sd_code_place(const PyCodeObject *code);
/* The same of a name alone: of a C function, which has no place in a source. */
uint64_t sd_code_place_of_name(PyObject *name);
#endif
