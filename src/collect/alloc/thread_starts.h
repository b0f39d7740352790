/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_THREAD_STARTS_H
#define SD_ALLOC_THREAD_STARTS_H
/* thread_starts: tells each new thread the stack of the thread that created it, on
 * which its allocations are booked as long as it runs no Python, and its name. */
#include <pthread.h>

typedef int sd_thread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                             void *);

/* As pthread_create, which is `create`. */
int sd_thread_starts_create(sd_thread_create *create, pthread_t *thread,
                            const pthread_attr_t *attributes, void *(*run)(void *),
                            void *argument);
#endif
