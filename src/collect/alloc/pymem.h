/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_PYMEM_H
#define SD_ALLOC_PYMEM_H
/* pymem: hooks on the three domains of PyMem.
 *
 * Other code may take our hooks away (tracemalloc.stop puts back what it found). */
#include <stdbool.h>

/* What the recorder asks of Python. */
extern const struct sd_alloc_language sd_alloc_python;

/* With the interpreter's lock.  `records` false: only code objects that are freed are
 * noticed. */
void sd_alloc_pymem_start(bool records);
void sd_alloc_pymem_stop(void);
/* Did other code take the hooks away?  While Python is asked. */
struct sd_alloc_thread;
bool sd_alloc_pymem_is_gone(const struct sd_alloc_thread *t);
#endif
