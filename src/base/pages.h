/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_PAGES_H
#define SD_BASE_PAGES_H
/* pages: a large array in pages of its own, straight from the kernel.
 *
 * It grows without being copied (mremap), leaves no hole in the malloc of a program
 * that is a host to us, and goes back whole.  Memory that nobody has written to yet
 * costs nothing and is zero. */
#include <stdbool.h>
#include <stddef.h>

struct sd_pages { /* all zero is an empty one */
    void *p;      /* owned */
    size_t bytes; /* room */
};

/* Makes room for `bytes`, at least doubling.  0 or SD_ENOMEM with its sentence. */
int sd_pages_grow(struct sd_pages *s, size_t bytes);
/* Gives back what is beyond `bytes`, where the kernel takes it. */
void sd_pages_shrink(struct sd_pages *s, size_t bytes);
void sd_pages_release(struct sd_pages *s);
#endif
