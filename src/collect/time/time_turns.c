/* SPDX-License-Identifier: MIT */
#include "collect/time/time_turns.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

uint32_t sd_time_turns_order(uint32_t seed, uint32_t round, uint32_t n, uint32_t at)
{
    uint32_t order[SD_TIME_TURNS_MAX], x = mix(seed ^ mix(round + 1));

    sd_assert(n > 0 && n <= SD_TIME_TURNS_MAX && at < n);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t other = (x = mix(x + i)) % (i + 1), moved = order[i];

        order[i] = order[other];
        order[other] = moved;
    }
    return order[at];
}

static void wake(struct sd_time_turns *t)
{
    syscall(SYS_futex, &t->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool sd_time_turns_wait(struct sd_time_turns *t, uint32_t me)
{
    /* A wake-up that was missed costs this much at most. */
    const struct timespec longest = { .tv_nsec = 50 * 1000 * 1000 };

    while (!atomic_load(&t->is_over)) {
        uint32_t turn = atomic_load(&t->turn);

        if (sd_time_turns_order(t->seed, turn / t->n, t->n, turn % t->n) == me)
            return true;
        syscall(SYS_futex, &t->turn, FUTEX_WAIT, turn, &longest, NULL, 0);
    }
    return false;
}

void sd_time_turns_pass(struct sd_time_turns *t)
{
    atomic_fetch_add(&t->turn, 1);
    wake(t);
}

bool sd_time_turns_may_end(struct sd_time_turns *t)
{
    return atomic_load(&t->turn) % t->n == 0 && atomic_load(&t->n_measured) >= t->n;
}

void sd_time_turns_end(struct sd_time_turns *t)
{
    atomic_store(&t->is_over, 1);
    wake(t);
}
