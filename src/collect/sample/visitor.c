/* SPDX-License-Identifier: MIT */
#include "collect/sample/visitor.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "collect/sample/time_slice.h"

/* For so long it is waited for without sleeping: a read usually takes a tenth.  Where
 * that was not enough, CPUs are short, and the next times nobody waits that way. */
#define SPIN_NS 100000u
enum { SLEEPS = 64 };

enum { IDLE, POSTED, ENDS };        /* of `order` */
enum { BUSY, DONE, IS_WAITED_FOR }; /* of `state` */

struct sd_visitor {
    int cpu;
    pthread_t thread;
    _Atomic uint32_t order; /* futex of the thread */
    _Atomic uint32_t state; /* futex of whoever has given the order */
    void (*work)(void *of);
    void *of;
    unsigned n_sleeps; /* times to wait asleep at once */
};

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *run(void *of)
{
    struct sd_visitor *r = of;

    sd_time_slice_shorten(0); /* its nice value is that of who started it */
    for (;;) {
        wait_while(&r->order, IDLE);
        if (atomic_load_explicit(&r->order, memory_order_acquire) == ENDS)
            return NULL;
        r->work(r->of);
        atomic_store_explicit(&r->order, IDLE, memory_order_relaxed);
        if (atomic_exchange_explicit(&r->state, DONE, memory_order_acq_rel) ==
            IS_WAITED_FOR)
            wake(&r->state);
    }
}

/* It is on its CPU before it first runs. */
static int start(struct sd_visitor *r)
{
    pthread_attr_t how;
    sigset_t all, old;
    cpu_set_t there;
    int err;

    if (r->cpu < 0 || r->cpu >= CPU_SETSIZE || pthread_attr_init(&how) != 0)
        return -1;
    CPU_ZERO(&there);
    CPU_SET((size_t)r->cpu, &there);
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* as every thread that reads */
    err = pthread_attr_setaffinity_np(&how, sizeof there, &there);
    if (err == 0) {
        pthread_sigmask(SIG_SETMASK, &all, &old);
        err = pthread_create(&r->thread, &how, run, r);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_attr_destroy(&how);
    return err ? -1 : 0;
}

struct sd_visitor *sd_visitor_new(int cpu)
{
    struct sd_visitor *r = sd_zalloc(sizeof *r);

    if (!r)
        return NULL;
    r->cpu = cpu;
    if (start(r) == 0)
        return r;
    sd_free(r);
    return NULL;
}

uint64_t sd_visitor_cpu_ns(const struct sd_visitor *r)
{
    struct timespec t;
    clockid_t clock;

    if (!r || pthread_getcpuclockid(r->thread, &clock) != 0 ||
        clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sd_visitor_free(struct sd_visitor *r)
{
    if (!r)
        return;
    atomic_store_explicit(&r->order, ENDS, memory_order_release);
    wake(&r->order);
    pthread_join(r->thread, NULL);
    sd_free(r);
}

/* Without sleeping; on the visitor's own CPU that would keep it from working. */
static bool sees_it_done(struct sd_visitor *r)
{
    uint64_t until_ns = sd_clock_ns() + SPIN_NS;

    while (sd_clock_ns() < until_ns && sched_getcpu() != r->cpu) {
        int i;

        for (i = 0; i < 16; i++) {
            if (atomic_load_explicit(&r->state, memory_order_acquire) == DONE)
                return true;
            __builtin_ia32_pause();
        }
    }
    return false;
}

static void wait_for_it(struct sd_visitor *r)
{
    uint32_t busy = BUSY;

    if (r->n_sleeps > 0)
        r->n_sleeps--;
    else if (sees_it_done(r))
        return;
    else
        r->n_sleeps = SLEEPS;
    if (atomic_compare_exchange_strong(&r->state, &busy, IS_WAITED_FOR))
        wait_while(&r->state, IS_WAITED_FOR);
}

void sd_visitor_do(struct sd_visitor *r, void (*work)(void *of), void *of)
{
    sd_assert(atomic_load(&r->order) == IDLE); /* one order at a time */
    r->work = work;
    r->of = of;
    atomic_store_explicit(&r->state, BUSY, memory_order_relaxed);
    atomic_store_explicit(&r->order, POSTED, memory_order_release);
    wake(&r->order);
    wait_for_it(r);
}
