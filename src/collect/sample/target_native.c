/* SPDX-License-Identifier: MIT */
/* target_native: looks at one thread with its native functions. */
#include "base/clock.h"
#include "collect/sample/target.h"

enum { N_TAKES = 8 }; /* of one stack: a deep one takes several, each twice as large */

/* A thread that waits: it is copied as it stands.  TORN when it has moved. */
static enum sd_shot_result take_waiting(struct sd_target *t, struct sd_target_thread *x,
                                        struct sd_shot_of of)
{
    struct sd_native_wait wait;
    enum sd_shot_result result;

    of.is_still = true;
    if (!sd_native_wait_look(&wait, t->pid, x->who.tid) ||
        !sd_native_copy_waiting(&t->native, &x->native, &t->remote, &wait))
        return SD_SHOT_TORN;
    result = sd_shot_take(&x->shot, &of, 0);
    return sd_native_wait_is_same(&wait, t->pid, x->who.tid) ? result : SD_SHOT_TORN;
}

/* Any other is stopped for it.  TORN when it cannot be. */
static enum sd_shot_result take_stopped(struct sd_target *t, struct sd_target_thread *x,
                                        struct sd_shot_of of, struct sd_round *round)
{
    enum sd_shot_result result = SD_SHOT_TORN;
    uint64_t began_ns, took_ns;

    of.is_still = sd_pause_begin(&x->pause, x->who.tid) == 0;
    began_ns = sd_clock_ns();
    if (of.is_still) {
        if (sd_native_copy(&t->native, &x->native, &t->remote, x->who.tid))
            result = sd_shot_take(&x->shot, &of, 0);
        round->counts->paused++;
    }
    sd_pause_end(&x->pause, x->who.tid);
    took_ns = sd_clock_ns() - began_ns;
    if (of.is_still) {
        round->counts->still_ns += took_ns;
        if (took_ns > round->counts->still_most_ns)
            round->counts->still_most_ns = took_ns;
    }
    return result;
}

static bool is_good(enum sd_shot_result result)
{
    return result == SD_SHOT_GOOD || result == SD_SHOT_EMPTY;
}

enum sd_shot_result sd_target_take_native(struct sd_target *t,
                                          struct sd_target_thread *x,
                                          const struct sd_shot_of *of,
                                          struct sd_round *round)
{
    bool waits = x->state == SD_PULSE_WAITS || x->state == SD_PULSE_STILL;
    enum sd_shot_result result = SD_SHOT_TORN;
    unsigned i, n_calls = 0;
    bool is_done = false;

    t->native.files = round->files;
    x->shot.n_torn = 0;
    for (i = 1; i <= N_TAKES && !is_done; i++) {
        x->shot.n_calls = 0;
        result = waits ? take_waiting(t, x, *of) : take_stopped(t, x, *of, round);
        n_calls += x->shot.n_calls;
        if (is_good(result))
            is_done = sd_native_finish(&t->native, &x->native, &t->remote, &x->shot,
                                       x->shares_tid, round->now_ns, i == N_TAKES);
        else if (!waits)
            break;
        waits = false; /* sp and pc did not suffice, or it has moved: it is stopped */
    }
    x->shot.n_calls = n_calls;
    return result;
}
