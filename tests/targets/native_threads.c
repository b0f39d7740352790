/* SPDX-License-Identifier: MIT */
/* native_threads: many threads that no Python knows of, as a library of matrices has.
 *
 * start(n) makes n threads, each of which wakes up ten times a second and computes a
 * little: so at each moment most of them sleep, and now and then one runs. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static void *work(void *of)
{
    const struct timespec pause = { .tv_nsec = 100000000 };
    volatile uint64_t sum = (uint64_t)(uintptr_t)of;
    int i;

    for (;;) {
        nanosleep(&pause, 0);
        for (i = 0; i < 2000; i++)
            sum = sum * 6364136223846793005u + 1;
    }
    return 0;
}

int start(int n)
{
    pthread_attr_t small;
    pthread_t thread;
    int i, rc = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    for (i = 0; i < n && rc == 0; i++)
        rc = pthread_create(&thread, &small, work, (void *)(uintptr_t)i);
    pthread_attr_destroy(&small);
    return rc;
}
