/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_POISSON_H
#define SD_ALLOC_POISSON_H
/* poisson: draws blocks at random, each byte as likely as any other (the mode
 * `sample`), and knows those that were drawn until they are freed. */
#include <stdbool.h>
#include <stddef.h>

struct sd_alloc_thread;

int sd_poisson_begin(void); /* 0 or SD_ENOMEM */
void sd_poisson_end(void);  /* forgets all */
/* hot: is this block drawn?  It is remembered then. */
bool sd_poisson_draw(struct sd_alloc_thread *t, const void *p, size_t size);
/* hot: was it drawn?  It is forgotten then; and the same taken back. */
bool sd_poisson_drop(struct sd_alloc_thread *t, const void *p);
bool sd_poisson_undo(struct sd_alloc_thread *t, const void *p);
#endif
