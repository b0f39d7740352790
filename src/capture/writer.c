/* SPDX-License-Identifier: MIT */
#include "capture/writer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <string.h>
#include <limits.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/pool.h"

/* Never freed (see `retired`), so that its lock may be taken by any thread at any time.
 * In the child of a fork the lock may be held by a thread that is not there; `is_here`
 * lies on a page that fork empties and is asked before it. */
struct sd_writer {
    _Atomic uint32_t *is_here;
    pthread_mutex_t lock;           /* over the pool's coming and going */
    _Atomic(struct sd_pool *) pool; /* NULL once left, or not yet made after fork */
    char *dir;                      /* to join again after fork; owned */
    uint64_t salt;                  /* of the capture, which may have ended by then */
    bool is_pending;                /* a forked child that has not written yet */
    pthread_key_t key; /* each thread's log; its destructor gives it back */
    /* Of a forked child that has no file of its own yet, or could make none: events
     * that it loses are counted with its parent's. */
    struct sd_live_head *parents;
    struct sd_writer *next; /* among the retired */
};

/* One pointer of thread storage, at a fixed place of the thread's block: no call, no
 * allocation at first touch. */
static __thread struct sd_log *cached __attribute__((tls_model("initial-exec")));

/* A writer that has left is kept and used by the next join: a thread that was about to
 * ask it for a log finds an empty one, and not freed memory. */
static _Atomic(struct sd_writer *) retired;

static void give_back(void *log)
{
    struct sd_log *l = log;

    if (cached == l)
        cached = NULL;
    if (atomic_load(l->writer->is_here)) /* else it is the log of a parent's thread */
        sd_pool_give_back(l->pool, l);
}

static void retire(struct sd_writer *w)
{
    w->next = atomic_load(&retired);
    while (!atomic_compare_exchange_weak(&retired, &w->next, w))
        ;
}

/* All are taken out, one is kept, the others go back: no other thread can see one of
 * them half removed. */
static struct sd_writer *unretire(void)
{
    struct sd_writer *w = atomic_exchange(&retired, NULL), *rest, *next;

    if (!w)
        return NULL;
    for (rest = w->next; rest; rest = next) {
        next = rest->next;
        retire(rest);
    }
    return w;
}

static struct sd_writer *fresh_writer(void)
{
    struct sd_writer *w = unretire();

    if (w)
        return w;
    w = sd_zalloc(sizeof *w);
    if (!w)
        return NULL;
    w->is_here = sd_pool_page_emptied_by_fork();
    if (!w->is_here || pthread_key_create(&w->key, give_back) != 0) {
        sd_pool_page_release(w->is_here);
        sd_free(w);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

int sd_writer_join(const char *live_dir, struct sd_writer **out)
{
    struct sd_writer *w = fresh_writer();
    struct sd_pool *pool = NULL;
    int rc;

    *out = NULL;
    if (!w)
        return sd_no_memory();
    sd_assert(!atomic_load(&w->pool) &&
              !w->dir); /* one that has left is as a fresh one */
    rc = sd_pool_new(live_dir, 0, &pool);
    if (rc == 0 && !(w->dir = sd_strdup(pool->dir)))
        rc = sd_no_memory();
    if (rc < 0) {
        if (pool)
            sd_pool_leave(pool);
        retire(w);
        return rc;
    }
    w->salt = pool->salt;
    atomic_store(w->is_here, 1);
    atomic_store(&w->pool, pool);
    *out = w;
    return 0;
}

static void forget_parents(struct sd_writer *w)
{
    sd_pool_unmap_head(w->parents);
    w->parents = NULL;
}

/* The pool, made now if this is a forked child's first need of it; or NULL.  A failure
 * is not tried again: a guest does not knock twice. */
static struct sd_pool *pool_of(struct sd_writer *w)
{
    struct sd_pool *p = atomic_load(&w->pool);

    if (!p && w->is_pending) {
        w->is_pending = false;
        if (sd_pool_new(w->dir, w->salt, &p) == 0) {
            atomic_store(&w->pool, p);
            forget_parents(w);
        }
    }
    return p;
}

struct sd_log *sd_writer_take_log(struct sd_writer *w, enum sd_log_losses losses)
{
    struct sd_log *l = NULL;
    struct sd_pool *p;

    if (!atomic_load(w->is_here))
        return NULL;

    /* Under the lock the pool cannot be left, and with a log taken it is not freed. */
    pthread_mutex_lock(&w->lock);
    p = pool_of(w);
    if (p)
        l = sd_pool_take(p);
    if (!l && losses == SD_LOSSES_COUNTED && p)
        sd_pool_lose_event(p);
    else if (!l && losses == SD_LOSSES_COUNTED && w->parents)
        atomic_fetch_add(&w->parents->lost, 1);
    pthread_mutex_unlock(&w->lock);
    if (l) {
        l->writer = w;
        l->is_numbered = losses == SD_LOSSES_NUMBERED;
        sd_log_set_type(l, SD_CHUNK_EVENTS);
    }
    return l;
}

void sd_writer_give_log(struct sd_writer *w, struct sd_log *l)
{
    if (!l || !atomic_load(w->is_here))
        return;
    l->is_numbered = false;
    sd_pool_give_back(l->pool, l);
}

static struct sd_log *take_log(struct sd_writer *w)
{
    struct sd_log *l = sd_writer_take_log(w, SD_LOSSES_COUNTED);

    if (l && pthread_setspecific(w->key, l) != 0) {
        sd_writer_give_log(w, l);
        return NULL;
    }
    return l;
}

static struct sd_log *log_slowly(struct sd_writer *w)
{
    struct sd_log *l;

    if (!atomic_load(w->is_here))
        return NULL;
    l = pthread_getspecific(w->key);
    if (l && l->pool != atomic_load(&w->pool)) { /* of a capture that was left */
        pthread_setspecific(w->key, NULL);
        give_back(l);
        l = NULL;
    }
    if (!l)
        l = take_log(w);
    else if (!sd_log_may_write(l))
        return NULL;
    cached = l;
    return l;
}

struct sd_log *sd_writer_log(struct sd_writer *w)
{
    struct sd_log *l = cached;

    if (__builtin_expect(l && l->writer == w && sd_log_may_write(l), 1))
        return l;
    return log_slowly(w);
}

struct sd_log *sd_writer_own_log(struct sd_writer *w)
{
    return cached && cached->writer == w && sd_log_may_write(cached) ? cached : NULL;
}

/* A child of fork that cannot even make a file of its own is counted in its parent's.
 */
void sd_writer_lose_table(struct sd_writer *w)
{
    struct sd_live_head *head;
    struct sd_pool *p;

    if (!atomic_load(w->is_here))
        return;
    pthread_mutex_lock(&w->lock);
    p = pool_of(w);
    head = p ? p->first->head : w->parents;
    if (head) {
        atomic_fetch_add(&head->lost_tables, 1);
        atomic_store(&head->lost_tables_why, p ? atomic_load(&p->why_no_room) : 0);
    }
    pthread_mutex_unlock(&w->lock);
}

static void expect(struct sd_writer *w, uint32_t more)
{
    struct sd_pool *p;

    if (!atomic_load(w->is_here))
        return;
    pthread_mutex_lock(&w->lock);
    p = pool_of(w);
    if (p && p->bell)
        atomic_fetch_add(&p->bell->n_coming, more);
    pthread_mutex_unlock(&w->lock);
}

void sd_writer_expect_child(struct sd_writer *w) { expect(w, 1); }
void sd_writer_child_is_here(struct sd_writer *w) { expect(w, UINT32_MAX); }

int sd_writer_after_fork(struct sd_writer *w)
{
    struct sd_pool *p = atomic_load(&w->pool);

    pthread_mutex_init(&w->lock, NULL); /* another thread may have held it */
    cached = NULL;
    pthread_setspecific(w->key, NULL);
    atomic_store(&w->pool, NULL);
    if (p) {
        forget_parents(w);
        w->parents = sd_pool_detach_head(p);
        sd_pool_forget(p);
    }
    w->is_pending = w->dir != NULL;
    atomic_store(w->is_here, 1);
    return 0;
}

struct sd_pool *sd_writer_pool(struct sd_writer *w)
{
    struct sd_pool *p;

    if (!atomic_load(w->is_here))
        return NULL;
    pthread_mutex_lock(&w->lock);
    p = pool_of(w);
    pthread_mutex_unlock(&w->lock);
    return p;
}

_Atomic uint64_t *sd_writer_peak_bytes(struct sd_writer *w)
{
    struct sd_pool *p = sd_writer_pool(w);

    return p ? &p->first->head->peak_bytes : NULL;
}

/* A process that owns its capture has no thread that could. */
_Atomic uint32_t *sd_writer_want_ticks(struct sd_writer *w)
{
    struct sd_pool *p = sd_writer_pool(w);

    if (!p || !p->bell || p->is_written || p->owner_pid == p->who.pid)
        return NULL;
    atomic_store(&p->bell->wants_ticks, 1);
    return &p->bell->ticks;
}

uint64_t sd_writer_file_bytes(struct sd_writer *w)
{
    static const char live[] = ".live";
    struct sd_pool *p = sd_writer_pool(w);
    size_t n = p ? strlen(p->dir) : 0, k = sizeof live - 1;
    char path[PATH_MAX];
    struct stat st;

    if (n <= k || n >= sizeof path || memcmp(p->dir + n - k, live, k) != 0)
        return 0;
    memcpy(path, p->dir, n - k);
    path[n - k] = '\0';
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Under the lock, which whoever leaves takes before the pool goes. */
uint64_t sd_writer_own_io(struct sd_writer *w, uint64_t read)
{
    uint64_t written = 0;
    struct sd_pool *p;

    if (!atomic_load(w->is_here))
        return 0;
    pthread_mutex_lock(&w->lock);
    p = pool_of(w);
    if (p) {
        atomic_store_explicit(&p->first->head->own_read, read, memory_order_relaxed);
        written =
            atomic_load_explicit(&p->first->head->own_written, memory_order_relaxed);
    }
    pthread_mutex_unlock(&w->lock);
    return written;
}

uint32_t sd_writer_owner_pid(struct sd_writer *w)
{
    struct sd_pool *p;
    uint32_t pid;

    if (!atomic_load(w->is_here))
        return 0;
    pthread_mutex_lock(&w->lock);
    p = pool_of(w);
    pid = p ? p->owner_pid : 0;
    pthread_mutex_unlock(&w->lock);
    return pid;
}

void sd_writer_leave(struct sd_writer *w)
{
    struct sd_log *own;
    struct sd_pool *p;

    if (!w || !atomic_load(w->is_here))
        return;
    own = pthread_getspecific(w->key);
    if (own) {
        pthread_setspecific(w->key, NULL);
        give_back(own);
    }
    pthread_mutex_lock(&w->lock);
    p = atomic_load(&w->pool);
    atomic_store(&w->pool, NULL);
    w->is_pending = false;
    sd_free(w->dir);
    forget_parents(w);
    w->dir = NULL;
    pthread_mutex_unlock(&w->lock);
    if (p)
        sd_pool_leave(p);
    retire(w);
}
