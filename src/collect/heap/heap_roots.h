/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_HEAP_ROOTS_H
#define SD_HEAP_HEAP_ROOTS_H
/* heap_roots: what modules, running functions and the interpreter hold.
 *
 * Only addresses are written down.  A word of the interpreter's own structs, or of the
 * part of a frame above its variables, may be of long ago: it counts where an object
 * that lives stands at that address and has more references than were found. */
#include "collect/heap/object_types.h"

struct sd_heap_guess {
    uint64_t address;
    uint32_t text;
    uint8_t kind; /* enum sd_heap_root_kind */
    bool needs_excess;
};

struct sd_heap_guesses {
    struct sd_pages list; /* struct sd_heap_guess[n] */
    uint32_t n;
};

/* Adds what is found, as far as `is_met` (an object stands there).  The newest
 * `n_skipped` frames of the calling thread are left out.  Negative: no memory, with its
 * sentence. */
int sd_heap_roots_find(struct sd_heap_guesses *g, struct sd_heap_kinds *kinds,
                       uint32_t n_skipped,
                       bool (*is_met)(const void *of, uint64_t address),
                       const void *of);
void sd_heap_guesses_release(struct sd_heap_guesses *g);
#endif
