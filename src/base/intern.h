/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_INTERN_H
#define SD_BASE_INTERN_H
/* intern: stores each distinct byte string once and numbers it from 0 in order of
 * arrival.  Bytes live in the caller's arena and are ended by a 0 that does not
 * count. */
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"

struct sd_intern_string {
    const char *p; /* in the arena; p[n] is 0 */
    uint32_t n;
};

struct sd_intern {                  /* all zero but `arena` is a fresh one */
    struct sd_arena *arena;         /* borrowed */
    struct sd_intern_string *items; /* owned; indexed by id */
    size_t n, cap;
    struct sd_table by_hash;
};

/* The id of these bytes, new or old; *id is untouched on SD_ENOMEM. */
int sd_intern(struct sd_intern *t, const void *p, size_t n, uint32_t *id);
/* The id if they are known, else UINT32_MAX. */
uint32_t sd_intern_find(const struct sd_intern *t, const void *p, size_t n);
void sd_intern_release(struct sd_intern *t);
#endif
