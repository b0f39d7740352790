/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_SUSPECTS_H
#define SD_ANALYSE_HEAP_HEAP_SUSPECTS_H
/* heap_suspects: what holds much of a heap.
 *
 * From the top of the dominator tree down to the object below which retained size
 * breaks up into many parts: that one holds them.  A linked list does not break up at
 * all, so a way down on which one type comes again and again ends above its first.
 * Many objects of one class that no single object holds are one suspect together. */
#include "analyse/heap/heap_dominators.h"
#include "base/arena.h"

enum { SD_SUSPECT_PERCENT = 10 }; /* of all bytes; what retains less is none */

struct sd_heap_suspect {
    uint32_t holder;      /* SD_HEAP_NONE: many objects without one holder */
    uint32_t held_type;   /* the type that it holds most of */
    uint64_t retained;    /* bytes */
    uint64_t count;       /* objects of that type */
    double share;         /* of all bytes, 0 to 1 */
    const char *name;     /* the path of the holder as text; "" */
    const char *sentence; /* in the arena, like the name */
};

/* The largest first.  0 or SD_ENOMEM with its sentence. */
int sd_heap_suspects_make(const struct sd_heap_dominators *d, struct sd_arena *a,
                          struct sd_heap_suspect **out, uint32_t *n);
#endif
