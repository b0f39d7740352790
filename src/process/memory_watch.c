/* SPDX-License-Identifier: MIT */
#include "process/memory_watch.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/tree.h"
#include "process/usage.h"

struct sd_memory_watch {
    struct sd_memory_request request;
    pid_t started_in;
    pthread_t thread;
    bool is_running;
    pthread_mutex_t lock; /* of what follows, while the thread runs */
    pthread_cond_t wakes;
    bool ends;
    struct sd_memory_reading *readings; /* owned */
    size_t n, cap, n_read;
};

/* --- One reading */

int64_t sd_memory_of(pid_t pid, enum sd_memory_kind kind)
{
    struct sd_usage_reader reader;
    struct sd_usage u;
    int rc;

    sd_usage_init(&reader, pid);
    rc = sd_usage_read(&reader, kind == SD_MEMORY_RSS ? SD_USAGE_MEMORY : SD_USAGE_PSS,
                       &u);
    sd_usage_release(&reader);
    if (rc < 0)
        return -1;
    return kind == SD_MEMORY_RSS   ? u.rss_bytes
           : kind == SD_MEMORY_PSS ? u.pss_bytes
                                   : u.uss_bytes;
}

int64_t sd_memory_of_tree(pid_t pid, enum sd_memory_kind kind)
{
    struct sd_tree tree;
    int64_t sum = -1;

    if (sd_tree_init(&tree, pid ? pid : getpid()) < 0)
        return -1;
    sd_tree_look(&tree);
    for (size_t i = 0; i < tree.n; i++) {
        int64_t bytes = sd_memory_of(tree.members[i].pid, kind);

        if (bytes >= 0)
            sum = (sum < 0 ? 0 : sum) + bytes;
    }
    sd_tree_release(&tree);
    return sum;
}

static struct sd_memory_reading read_now(const struct sd_memory_request *request)
{
    return (struct sd_memory_reading){
        .bytes = request->has_children ? sd_memory_of_tree(request->pid, request->kind)
                                       : sd_memory_of(request->pid, request->kind),
        .real_ns = sd_clock_real_ns(),
    };
}

/* A reading that finds no memory is not kept, but counted. */
static void keep(struct sd_memory_watch *w, struct sd_memory_reading r)
{
    struct sd_memory_reading *grown;

    w->n_read++;
    if (w->request.has_most && w->n > 0) {
        if (r.bytes > w->readings[0].bytes)
            w->readings[0] = r;
        return;
    }
    grown = sd_grow_array(w->readings, &w->cap, w->n + 1, sizeof *w->readings);
    if (!grown)
        return;
    w->readings = grown;
    w->readings[w->n++] = r;
}

/* --- The thread */

static struct timespec after(uint64_t ns)
{
    uint64_t at = sd_clock_ns() + ns;

    return (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
}

/* Reads without the lock: a tree of processes takes its time. */
static void *run(void *watch)
{
    struct sd_memory_watch *w = watch;
    bool ends = false;

    while (!ends) {
        struct sd_memory_reading r = read_now(&w->request);
        struct timespec until = after(w->request.every_ns);
        int rc = 0;

        pthread_mutex_lock(&w->lock);
        keep(w, r);
        while (!w->ends && rc == 0)
            rc = pthread_cond_timedwait(&w->wakes, &w->lock, &until);
        ends = w->ends;
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

static int start_thread(struct sd_memory_watch *w)
{
    pthread_condattr_t by_monotonic;
    sigset_t all, before;
    int err;

    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL); /* and destroyed with the watch */
    pthread_cond_init(&w->wakes, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return sd_fail_errno(err, "cannot start the thread that reads memory");
    w->is_running = true;
    return 0;
}

/* --- memory_watch.h */

int sd_memory_watch_start(const struct sd_memory_request *request,
                          struct sd_memory_watch **out)
{
    struct sd_memory_watch *w = sd_zalloc(sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return sd_no_memory();
    w->request = *request;
    w->started_in = getpid();
    keep(w, read_now(request));
    rc = start_thread(w);
    if (rc < 0) {
        sd_memory_watch_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

void sd_memory_watch_stop(struct sd_memory_watch *w)
{
    if (!w->is_running)
        return;
    w->is_running = false;
    if (w->started_in != getpid())
        return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_signal(&w->wakes);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    keep(w, read_now(&w->request));
}

const struct sd_memory_reading *
sd_memory_watch_readings(const struct sd_memory_watch *w, size_t *n, size_t *n_read)
{
    *n = w->n;
    *n_read = w->n_read;
    return w->readings;
}

/* What the child of a fork inherits may be half-way through a change: it is left. */
void sd_memory_watch_free(struct sd_memory_watch *w)
{
    if (!w || w->started_in != getpid())
        return;
    sd_memory_watch_stop(w);
    pthread_cond_destroy(&w->wakes);
    pthread_mutex_destroy(&w->lock);
    sd_free(w->readings);
    sd_free(w);
}
