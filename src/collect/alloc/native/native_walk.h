/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_NATIVE_WALK_H
#define SD_ALLOC_NATIVE_WALK_H
/* native_walk: finds the node of the stack that runs in this thread, native functions
 * among it (--native).
 *
 * Each return address on the thread's stack is found by a rule that is known for its
 * place (code_places.h); the language puts its own frames where its evaluator stands.
 * The frames of the walk before are kept: what both have from the outermost on has the
 * same nodes. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/alloc/alloc_cell.h"

struct sd_alloc_thread;

struct sd_native_frame {
    uintptr_t sp; /* of the function, when it called */
    uint32_t function;
    uint8_t role; /* enum sd_native_role */
};

struct sd_mixed_frame {
    uint64_t place;
    const void *frame; /* of the language; NULL: a native function */
    uint32_t function; /* of a native one */
    uint32_t node;     /* as one that others stand on; 0: not looked up */
};

struct sd_mixed_frames {
    struct sd_mixed_frame *items; /* mapped; innermost first */
    uint32_t n, cap;
};

/* Of a thread; mapped at its first walk. */
struct sd_mixed_stack {
    struct sd_native_frame *natives; /* mapped; innermost first, without ours */
    uint32_t n, cap;
    bool is_whole; /* they reach the outermost function */
    struct sd_mixed_frames now, before;
    uint32_t base, n_deaths; /* of `before`: what it stood on, and deaths of code */
    uintptr_t low, high;     /* what can be read of the C stack */
};

/* hot: as sd_alloc_language.walk; SD_BY_NONE: a node that others stand on. */
uint32_t sd_native_walk(struct sd_alloc_thread *t, enum sd_allocator by);

/* For the language: adds a frame of its own, or a native one (by its number), outside
 * of those that are there.  Where there is no memory the walk fails. */
void sd_mixed_put(struct sd_mixed_stack *s, uint64_t place, const void *frame);
void sd_mixed_put_native(struct sd_mixed_stack *s, uint32_t function);
#endif
