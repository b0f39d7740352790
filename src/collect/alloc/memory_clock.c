/* SPDX-License-Identifier: MIT */
#include "collect/alloc/memory_clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/alloc/recorder.h"
#include "collect/own.h"

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000, SEAL_MS = 100 };

/* Of the one session of this process. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    pid_t pid; /* the process that has the thread, or 0 */
    uint64_t every_ms;
    bool is_stopping;
} memory_clock = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct timespec later(uint64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000 * NS_PER_MS);
    if (t.tv_nsec >= NS_PER_S) {
        t.tv_nsec -= NS_PER_S;
        t.tv_sec++;
    }
    return t;
}

/* As inside of a hook, what that allocates is not counted. */
static void seal(void)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    sd_own_seal();
    if (t)
        sd_alloc_leave(t);
}

static void *run(void *unused)
{
    uint64_t waited_ms = 0;

    (void)unused;
    pthread_mutex_lock(&memory_clock.lock);
    while (!memory_clock.is_stopping) {
        struct timespec until = later(memory_clock.every_ms);

        pthread_cond_timedwait(&memory_clock.changed, &memory_clock.lock, &until);
        sd_alloc_note_time();
        waited_ms += memory_clock.every_ms;
        if (waited_ms < SEAL_MS || memory_clock.is_stopping)
            continue;
        waited_ms = 0;
        seal();
    }
    pthread_mutex_unlock(&memory_clock.lock);
    return NULL;
}

static int begin_thread(void)
{
    pthread_condattr_t how;
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_mutex_init(&memory_clock.lock, NULL);
    pthread_cond_init(&memory_clock.changed, &how);
    pthread_condattr_destroy(&how);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&memory_clock.thread, NULL, run, NULL);
    if (rc == 0)
        pthread_setname_np(memory_clock.thread, "sonde clock");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int sd_alloc_clock_start(uint64_t every_ms)
{
    int rc;

    sd_alloc_clock_stop();
    memory_clock.every_ms = every_ms > 0 ? every_ms : 1;
    memory_clock.is_stopping = false;
    rc = begin_thread();
    if (rc != 0)
        return sd_fail(SD_EFULL,
                       "cannot start the thread that reads memory every %llu ms: the "
                       "process has as many threads as its limits allow (ulimit -u)",
                       (unsigned long long)every_ms);
    memory_clock.pid = getpid();
    return 0;
}

void sd_alloc_clock_stop(void)
{
    bool is_here = memory_clock.pid == getpid();

    memory_clock.pid = 0;
    if (!is_here)
        return;
    pthread_mutex_lock(&memory_clock.lock);
    memory_clock.is_stopping = true;
    pthread_cond_signal(&memory_clock.changed);
    pthread_mutex_unlock(&memory_clock.lock);
    pthread_join(memory_clock.thread, NULL);
}
