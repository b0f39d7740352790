/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_SHORT_TEXT_H
#define SD_HEAP_SHORT_TEXT_H
/* short_text: a str or another key as a short text.
 *
 * Read from memory: no repr, no encoding that the str would remember.  What is longer
 * is cut and ends in "...". */
#include "cpython/compat.h"

enum { SD_SHORT_TEXT = 48 }; /* of which 40 bytes are the object's own */

/* Bytes written, without the 0 at the end. */
size_t sd_short_text_of_str(PyObject *str, char to[SD_SHORT_TEXT]);
/* Of any key: numbers as they are, other things as "<type>". */
size_t sd_short_text_of_key(PyObject *key, char to[SD_SHORT_TEXT]);
#endif
