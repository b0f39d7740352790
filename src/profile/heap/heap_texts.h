/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_HEAP_HEAP_TEXTS_H
#define SD_PROFILE_HEAP_HEAP_TEXTS_H
/* heap_texts: stores each text of a heap once and numbers it: names of types, keys,
 * attributes.
 *
 * base/intern does the same with malloc; the walk of a heap runs in a program that is
 * not ours and takes whole pages instead.  Number 0 is the empty text. */
#include <stdint.h>

#include "base/pages.h"

struct sd_heap_texts {     /* all zero is a fresh one */
    struct sd_pages bytes; /* each text, ended by 0 */
    struct sd_pages first; /* uint32_t[n]: where in `bytes` it begins */
    struct sd_pages slots; /* uint32_t[n_slots]: number of a text; 0: none */
    uint32_t n, n_slots;
    uint32_t n_bytes;
};

/* The number of the text; SD_ENOMEM with its sentence. */
int sd_heap_texts_add(struct sd_heap_texts *t, const char *s, size_t n, uint32_t *id);
/* Borrowed until the next addition; "" for 0 and what is not there. */
const char *sd_heap_texts_get(const struct sd_heap_texts *t, uint32_t id);
void sd_heap_texts_release(struct sd_heap_texts *t);
#endif
