/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ARENA_H
#define SD_BASE_ARENA_H
/* arena: allocates pieces that are all freed together.  Pieces are never freed one by
 * one and never move, so pointers into an arena stay good until it is released. */
#include <stddef.h>

struct sd_arena_block;

struct sd_arena {                  /* all zero is a fresh one */
    struct sd_arena_block *blocks; /* owned; newest first */
    size_t used_bytes;             /* handed out in all */
};

/* Cleared, aligned for any type; NULL when out of memory. */
void *sd_arena_alloc(struct sd_arena *a, size_t n);
void *sd_arena_copy(struct sd_arena *a, const void *p, size_t n);
char *sd_arena_string(struct sd_arena *a, const char *s, size_t n); /* adds the 0 */
char *sd_arena_printf(struct sd_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void sd_arena_release(struct sd_arena *a);
#endif
