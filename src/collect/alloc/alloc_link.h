/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_LINK_H
#define SD_ALLOC_LINK_H
/* alloc_link: the recorder that the hooks of an interpreter report to.
 *
 * Mostly it is that of their own object, the extension.  Where the library of --preload
 * is in the process it has recorded since the process began: then hooks use its
 * recorder, its stacks and its word in each thread, so that there is one order of
 * events, and nothing is counted twice.
 *
 * Both objects are made of the same sources; `sizes` and `version` tell. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/alloc/alloc_cell.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/stacks.h"

struct sd_alloc_link {
    uint32_t sizes[4];
    char version[32];
    ptrdiff_t self; /* of sd_alloc_self, from a thread's pointer */
    const struct sd_alloc_here *here;
    struct sd_alloc_recorder *recorder;
    struct sd_alloc_stacks *stacks;
    struct sd_alloc_thread *(*enter_slowly)(void);
    void (*began)(struct sd_alloc_thread *, const void *, size_t, enum sd_allocator);
    void (*ends)(struct sd_alloc_thread *, const void *);
    void (*undo)(struct sd_alloc_thread *, const void *);
    void (*drop)(struct sd_alloc_thread *, const void *);
    void (*ask)(struct sd_alloc_thread *);
    void (*asked_began)(struct sd_alloc_thread *, const void *);
    void (*asked_ends)(struct sd_alloc_thread *, const void *);
    void (*hear_uncounted)(bool begins);
    uint32_t (*add)(const struct sd_alloc_key *, const struct sd_alloc_frame *);
    uint32_t (*no_frame)(uint32_t, enum sd_allocator);
    void (*code_dies)(const void *);
    void (*flush)(void); /* ends what this thread has begun, and records no more */
    void (*end)(void);   /* the same, and gives the slots of natives back */
};

/* Of this object.  Read by hooks; written before they are there. */
extern struct sd_alloc_link sd_alloc_link;

/* The thread pointer's word is its own address. */
static inline char *sd_linked_base(void)
{
    char *p;

#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(p));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(p));
#else
    p = (char *)&sd_alloc_self;
#endif
    return p;
}

/* hot: as sd_alloc_self and sd_alloc_enter, wherever the recorder is. */
static inline struct sd_alloc_thread *sd_linked_self(void)
{
    return *(struct sd_alloc_thread **)(void *)(sd_linked_base() + sd_alloc_link.self);
}

static inline struct sd_alloc_thread *sd_linked_enter(void)
{
    struct sd_alloc_thread *t = sd_linked_self();

    if (__builtin_expect(!t || !sd_alloc_is_on(sd_alloc_link.here), 0))
        return sd_alloc_link.enter_slowly();
    if (__builtin_expect(t->is_inside, 0))
        return NULL;
    t->is_inside = true;
    return t;
}

/* Before sd_alloc_link is used: it leads to this object's own recorder. */
void sd_alloc_link_own(void);
/* 1: a preloaded library records in this process, and sd_alloc_link is to it from now
 * on; 0: there is none; negative, with a sentence: it is another Sonde's. */
int sd_alloc_link_preloaded(void);
/* What the library of --preload defines: its link, or NULL while it does not record. */
typedef const struct sd_alloc_link *sd_alloc_link_function(void);
#define SD_ALLOC_LINK_FUNCTION "sonde_alloc_link"
#endif
