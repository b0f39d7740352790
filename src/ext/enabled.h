/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_ENABLED_H
#define SD_EXT_ENABLED_H
/* enabled: counts which threads have switched a profiler on, and how often each.
 *
 * enable_by_count() of a thread that has it on only counts, so that functions which
 * switch it on may call each other; it is off again once every thread is through.  Each
 * wrapped call asks here twice: a thread is in the list only while it has something to
 * say, so there is rarely more than one.
 *
 * Under the interpreter's lock.  Threads go by the number of their thread state, which
 * no other ever gets. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_enabled_thread {
    uint64_t thread;
    long count;
    bool is_on;
};

struct sd_enabled_threads {            /* {0} is empty */
    struct sd_enabled_thread *threads; /* owned; good until the next change */
    size_t n, cap;
    size_t n_on;
};

/* NULL: it has never switched it on, or is through. */
struct sd_enabled_thread *sd_enabled_threads_find(const struct sd_enabled_threads *e,
                                                  uint64_t thread);
/* The same, made where there is none; NULL: no memory. */
struct sd_enabled_thread *sd_enabled_threads_make(struct sd_enabled_threads *e,
                                                  uint64_t thread);
/* This thread has it on, or not any more. */
int sd_enabled_threads_set(struct sd_enabled_threads *e, uint64_t thread, bool is_on);
int sd_enabled_threads_set_count(struct sd_enabled_threads *e, uint64_t thread,
                                 long count);
/* A child of fork: other threads than this one are not here. */
void sd_enabled_threads_keep_only(struct sd_enabled_threads *e, uint64_t thread);
void sd_enabled_threads_release(struct sd_enabled_threads *e);
#endif
