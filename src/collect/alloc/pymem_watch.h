/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_PYMEM_WATCH_H
#define SD_ALLOC_PYMEM_WATCH_H
/* pymem_watch: notices when other code takes our hooks away from Python's allocators,
 * and writes down since when. */
struct sd_alloc_thread;

/* Looks, if this thread holds the interpreter's lock; while Python is asked. */
void sd_pymem_watch_look(struct sd_alloc_thread *t);
/* Recording begins, or has ended: with the lock. */
void sd_pymem_watch_begin(void);
void sd_pymem_watch_end(void);
#endif
