/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_POISSON_H
#define SD_ALLOC_POISSON_H
/* poisson: draws blocks at random, each byte as likely as any other (the mode
 * `sample`), and knows those that were drawn until they are freed. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_alloc_thread;

int sd_poisson_begin(void); /* 0 or SD_ENOMEM */
void sd_poisson_end(void);  /* forgets all */
/* This block of the thread, after which `until` is below 0, is drawn (but for the first
 * that a thread ever has, which only begins to count): it is remembered then. */
bool sd_poisson_draw(struct sd_alloc_thread *t, const void *p, size_t size);

enum { SD_POISSON_FILTER = 1 << 16 };
/* How many of those that were drawn and live have this hash; 255: many. */
extern _Atomic uint8_t sd_poisson_filter[SD_POISSON_FILTER];
static inline _Atomic uint8_t *sd_poisson_count(const void *p)
{
    return &sd_poisson_filter[((uint64_t)(uintptr_t)p >> 3) * 0x9E3779B97F4A7C15u >>
                              48];
}
/* hot: false: it was not drawn. */
static inline bool sd_poisson_may_have(const void *p)
{
    return atomic_load_explicit(sd_poisson_count(p), memory_order_relaxed) > 0;
}

/* Was it drawn?  It is forgotten then; and the same taken back. */
bool sd_poisson_drop(struct sd_alloc_thread *t, const void *p);
bool sd_poisson_undo(struct sd_alloc_thread *t, const void *p);
#endif
