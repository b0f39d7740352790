/* SPDX-License-Identifier: MIT */
#include "collect/shared/pacer.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"

/* --- Words ----------------------------------------------------------------------- */

bool sd_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
    struct timespec at = { .tv_sec = (time_t)(until_ns / 1000000000u),
                           .tv_nsec = (long)(until_ns % 1000000000u) };

    while (atomic_load_explicit(word, memory_order_acquire) == value) {
        long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
                          until_ns ? &at : NULL, NULL, FUTEX_BITSET_MATCH_ANY);

        if (rc < 0 && errno == ETIMEDOUT)
            return false;
    }
    return true;
}

void sd_word_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* --- Its owner's ----------------------------------------------------------------- */

static void call(struct sd_pacer *p)
{
    atomic_fetch_add(&p->n_calls, 1);
    sd_word_wake(&p->n_calls);
}

static void wait_for_answer(struct sd_pacer *p, uint32_t to)
{
    uint32_t n;

    while ((n = atomic_load(&p->n_answered)) < to)
        sd_word_wait(&p->n_answered, n, 0);
}

int sd_pacer_start(struct sd_pacer *p, const char *name, void *(*run)(void *),
                   void *state)
{
    sigset_t all, old;
    int err;

    sd_assert(!p->has_thread && p->n_asked == p->n_answered);
    p->n_seen = atomic_fetch_add(&p->n_asked, 1) + 1;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&p->thread, NULL, run, state);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err)
        return sd_fail_errno(err, "cannot start the thread of %s", name);
    p->has_thread = true;
    wait_for_answer(p, p->n_asked);
    return 0;
}

void sd_pacer_ask(struct sd_pacer *p)
{
    uint32_t n = atomic_fetch_add(&p->n_asked, 1) + 1;

    sd_assert(p->has_thread);
    call(p);
    wait_for_answer(p, n);
}

void sd_pacer_stop(struct sd_pacer *p)
{
    if (!p->has_thread)
        return;
    atomic_store(&p->must_stop, 1);
    call(p);
    pthread_join(p->thread, NULL);
    p->has_thread = false;
}

/* --- The thread's ---------------------------------------------------------------- */

enum sd_pacer_why sd_pacer_wait(struct sd_pacer *p, uint64_t until_ns)
{
    uint32_t calls;

    do {
        calls = atomic_load(&p->n_calls);
        if (sd_pacer_must_stop(p))
            return SD_PACER_STOP;
        p->n_seen = atomic_load(&p->n_asked);
        if (p->n_seen != atomic_load(&p->n_answered))
            return SD_PACER_ASKED;
    } while (sd_word_wait(&p->n_calls, calls, until_ns));
    return SD_PACER_DUE;
}

void sd_pacer_answer(struct sd_pacer *p)
{
    atomic_store(&p->n_answered, p->n_seen);
    sd_word_wake(&p->n_answered);
}
