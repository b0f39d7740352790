/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_RECORDER_H
#define SD_ALLOC_RECORDER_H
/* recorder: what every hook of an allocator calls.
 *
 *     struct sd_alloc_thread *t = sd_alloc_enter();
 *     if (!t)
 *         return original(...);      // inside another hook, or nothing is recorded
 *     p = original(...);
 *     if (p)
 *         sd_alloc_began(t, p, size, SD_BY_MALLOC);
 *     sd_alloc_leave(t);
 *
 * A free is recorded before it is done, and an allocation when it is done: so another
 * thread that gets the same block records that later.  A realloc ends the old block
 * before and begins the new one behind; if it fails, sd_alloc_undo makes the old one
 * live on.
 *
 * Everything here may be called by any thread, with and without the interpreter's lock,
 * and keeps errno.  What it needs in memory comes from mmap. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/alloc_cell.h"

struct sd_alloc_thread {
    bool is_inside; /* a hook runs in this thread: what it calls is not counted */
};

/* A thread's; NULL: none yet. */
extern _Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_alloc_thread *sd_alloc_self;
extern bool sd_alloc_is_on; /* something is recorded */

struct sd_alloc_thread *sd_alloc_enter_slowly(void);

/* hot: this thread's, until sd_alloc_leave; NULL: nothing is to be recorded. */
static inline struct sd_alloc_thread *sd_alloc_enter(void)
{
    struct sd_alloc_thread *t = sd_alloc_self;

    if (__builtin_expect(!t || t->is_inside || !sd_alloc_is_on, 0))
        return t && t->is_inside ? NULL : sd_alloc_enter_slowly();
    t->is_inside = true;
    return t;
}

static inline void sd_alloc_leave(struct sd_alloc_thread *t) { t->is_inside = false; }

/* hot: a block of this size was allocated. */
void sd_alloc_began(struct sd_alloc_thread *t, const void *p, size_t size,
                    enum sd_allocator by);
/* hot: the block at p is about to be freed. */
void sd_alloc_ends(struct sd_alloc_thread *t, const void *p);
/* The block at p, which sd_alloc_ends just had, lives on as it was. */
void sd_alloc_undo(struct sd_alloc_thread *t, const void *p);
/* This range of addresses is about to be unmapped. */
void sd_alloc_unmap(struct sd_alloc_thread *t, const void *p, size_t size);

/* The stack of this thread now, for a thread that it is about to create, which runs no
 * Python: 0 is none.  And in that thread, before its first hook: whose child it is. */
uint32_t sd_alloc_creator(struct sd_alloc_thread *t);
void sd_alloc_created_by(uint32_t stack);
#endif
