/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_PACER_H
#define SD_COLLECT_SHARED_PACER_H
/* pacer: the thread of a collector outside, which does something at its own times until
 * it is stopped, or at once when it is asked.
 *
 * Its owner starts it, may ask, and stops it; the thread waits and answers.  Waiting is
 * a futex with an absolute deadline on CLOCK_MONOTONIC, so that a late round does not
 * shift those after it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sd_pacer { /* all zero: not started */
    pthread_t thread;
    bool has_thread;            /* the owner's */
    uint32_t n_seen;            /* the thread's: asks when it last waited */
    _Atomic uint32_t must_stop; /* futexes, the three of them */
    _Atomic uint32_t n_asked;   /* the start is the first */
    _Atomic uint32_t n_answered;
    _Atomic uint32_t n_calls; /* asks and the stop: what the thread sleeps on */
};

/* --- Its owner's --- */

/* Starts it and waits for its first answer.  Signals stay with the other threads, but
 * for SIGBUS, which is of a file that is cut short while this thread reads it.  `name`
 * is the collector's, for the sentence. */
int sd_pacer_start(struct sd_pacer *p, const char *name, void *(*run)(void *),
                   void *state);
/* Asks it to do its work now, and waits for the answer. */
void sd_pacer_ask(struct sd_pacer *p);
/* Tells it to stop, and waits for its end; nothing where it was not started. */
void sd_pacer_stop(struct sd_pacer *p);

/* --- The thread's --- */

enum sd_pacer_why { SD_PACER_STOP, SD_PACER_ASKED, SD_PACER_DUE };

/* Until the deadline, or until its owner asks or stops it. */
enum sd_pacer_why sd_pacer_wait(struct sd_pacer *p, uint64_t until_ns);
/* What was asked for before the last wait, or by the start, is done. */
void sd_pacer_answer(struct sd_pacer *p);
/* hot: for loops that do not wait. */
static inline bool sd_pacer_must_stop(const struct sd_pacer *p)
{
    return atomic_load_explicit(&p->must_stop, memory_order_acquire) != 0;
}

/* --- Words, for either --- */

/* Waits while the word has this value, at most until the time (0: for ever); false: the
 * time has come. */
bool sd_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns);
void sd_word_wake(_Atomic uint32_t *word); /* all who wait */
#endif
