/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_PRIVATE_HEAP_H
#define SD_ALLOC_PRIVATE_HEAP_H
/* private_heap: memory for the recorder that comes from no allocator of the program.
 *
 * The program's allocator may be what is recorded at this very moment: one that is
 * linked into it calls mmap under its own lock, and would be called again.  So the
 * linker (--wrap) gives this library's malloc and its relatives these functions.
 *
 * Sizes are rounded up to powers of two, and a block that is given back is kept for the
 * next of its size: a recorder asks for little, and rarely gives back. */
#include <stddef.h>

/* Before the first fork.  0, or an errno. */
int sd_private_heap_watch_forks(void);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
#endif
