/* SPDX-License-Identifier: MIT */
#include "collect/shared/pacer.h"

#include <signal.h>

#include "base/clock.h"
#include "base/test.h"

#define SOON_NS 1000000u
#define NEVER_NS 3600000000000u /* an hour: a test that waits for it hangs */

struct worker {
    struct sd_pacer paced;
    uint64_t every_ns;
    _Atomic unsigned n_due, n_asked;
    bool has_ended, takes_signals;
};

static void *work(void *state)
{
    struct worker *w = state;
    enum sd_pacer_why why = SD_PACER_ASKED;
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    w->takes_signals = !sigismember(&blocked, SIGINT);
    for (; why != SD_PACER_STOP;
         why = sd_pacer_wait(&w->paced, sd_clock_ns() + w->every_ns)) {
        atomic_fetch_add(why == SD_PACER_ASKED ? &w->n_asked : &w->n_due, 1);
        if (why == SD_PACER_ASKED)
            sd_pacer_answer(&w->paced);
    }
    w->has_ended = true;
    return NULL;
}

TEST(paced_thread_works_when_it_is_started_asked_and_stopped)
{
    struct worker w = { .every_ns = NEVER_NS };

    CHECK(sd_pacer_start(&w.paced, "test", work, &w) == 0);
    CHECK(w.n_asked == 1 && !w.takes_signals);
    for (unsigned i = 2; i < 100; i++) {
        sd_pacer_ask(&w.paced);
        CHECK(w.n_asked == i);
    }
    CHECK(!sd_pacer_must_stop(&w.paced));
    sd_pacer_stop(&w.paced);
    CHECK(w.has_ended && w.n_due == 0);
    sd_pacer_stop(&w.paced); /* it has */
}

TEST(paced_thread_works_at_its_own_times)
{
    struct worker w = { .every_ns = SOON_NS };

    CHECK(sd_pacer_start(&w.paced, "test", work, &w) == 0);
    while (atomic_load(&w.n_due) < 5)
        sched_yield();
    sd_pacer_ask(&w.paced);
    sd_pacer_stop(&w.paced);
    CHECK(w.n_asked == 2);
}
