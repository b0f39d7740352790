/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_UTF8_H
#define SD_ALLOC_UTF8_H
/* utf8: copies a str object as UTF-8, reading memory alone. */
#include "cpython/compat.h"

/* As many whole characters as `most` bytes hold; what is no character goes as the bytes
 * it stands for.  Returns the bytes; 0: it is no str that is ready. */
size_t sd_utf8_of_str(PyObject *str, char *to, size_t most);
#endif
