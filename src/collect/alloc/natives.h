/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_NATIVES_H
#define SD_ALLOC_NATIVES_H
/* natives: records what native code allocates: the malloc family, mmap and its like,
 * and operator new of an allocator that the program brings.
 *
 * Calls are taken over in the slots of the objects that make them (got_slots.h); the
 * allocators stay as they are.  So it can begin and end at any time, and a call that
 * leads from one function of an allocator to another inside it is never seen.  Not seen
 * are calls through pointers that were taken before, and what a library allocates while
 * it is being loaded.
 *
 * A library that is opened later has its slots changed when dlopen is done, or, where
 * dlopen has to know who called it, at the next dlsym: dlopen searches by its caller,
 * so such calls are handed on by a jump that leaves the caller's address in its place.
 */
#include "collect/alloc/got_slots.h"

/* Negative, with a sentence: nothing is recorded. */
int sd_alloc_natives_start(void);
/* Slots hold again what they held.  The functions stay callable: a thread may be in
 * one, and a program may have asked dlsym for one. */
void sd_alloc_natives_stop(void);
/* Around a fork, in the process and in its child. */
void sd_alloc_natives_before_fork(void);
void sd_alloc_natives_after_fork(bool is_child);
/* Looks for libraries that were loaded since; costs little when there are none. */
void sd_alloc_natives_update(void);
/* How many slots were changed and how many were not. */
void sd_alloc_natives_tell(struct sd_got_counts *out);
#endif
