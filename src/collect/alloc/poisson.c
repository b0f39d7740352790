/* SPDX-License-Identifier: MIT */
#include "collect/alloc/poisson.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/table.h"
#include "collect/alloc/recorder.h"

static struct {
    _Atomic bool is_locked;
    struct sd_table live; /* addresses of those that live */
} drawn;
_Atomic uint8_t sd_poisson_filter[SD_POISSON_FILTER];

static void lock(void)
{
    while (atomic_exchange_explicit(&drawn.is_locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&drawn.is_locked, false, memory_order_release);
}

_Static_assert(SD_POISSON_FILTER == 1 << 16, "16 bits are left of the product");

static uint64_t random_word(struct sd_alloc_thread *t)
{
    if (!t->random)
        t->random = sd_clock_ns() ^ (uint64_t)(uintptr_t)t * 0x9E3779B97F4A7C15u;
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

/* -ln(u) of 0 < u < 1: the extension links libc alone.  With u = m / 2^e and m from 1
 * to 2, ln m is a series in (m - 1) / (m + 1); ten terms leave 1e-11. */
static double minus_ln(double u)
{
    double e = 0, z, power, sum = 0;

    for (; u < 1; u *= 2)
        e++;
    z = power = (u - 1) / (u + 1);
    for (int i = 1; i < 20; i += 2, power *= z * z)
        sum += power / i;
    return e * 0.69314718055994531 - 2 * sum;
}

/* Bytes to the next one that is drawn: the gaps of a Poisson process. */
static int64_t gap(struct sd_alloc_thread *t)
{
    double u = ((double)(random_word(t) >> 11) + 0.5) / 9007199254740992.0;

    return (int64_t)(minus_ln(u) * (double)sd_alloc_recorder.sample_bytes) + 1;
}

static void remember(const void *p)
{
    _Atomic uint8_t *count = sd_poisson_count(p);

    if (sd_table_put(&drawn.live, (uint64_t)(uintptr_t)p, 1) == 0 && *count < 255)
        ++*count;
}

bool sd_poisson_draw(struct sd_alloc_thread *t, const void *p, size_t size)
{
    bool is_first = t->random == 0;

    if (is_first) {
        t->until = gap(t) - (int64_t)size;
        if (t->until >= 0)
            return false;
    }
    t->until = gap(t); /* from the end of this one: how far back does not matter */
    lock();
    remember(p);
    unlock();
    return true;
}

bool sd_poisson_drop(struct sd_alloc_thread *t, const void *p)
{
    _Atomic uint8_t *count = sd_poisson_count(p);
    bool was;

    lock();
    was = sd_table_remove(&drawn.live, (uint64_t)(uintptr_t)p);
    if (was && *count < 255)
        --*count;
    unlock();
    t->ended = was;
    return was;
}

bool sd_poisson_undo(struct sd_alloc_thread *t, const void *p)
{
    if (!t->ended)
        return false;
    lock();
    remember(p);
    unlock();
    return true;
}

int sd_poisson_begin(void)
{
    memset(&drawn, 0, sizeof drawn);
    memset(sd_poisson_filter, 0, sizeof sd_poisson_filter);
    return 0;
}

/* A thread may still be in a hook. */
void sd_poisson_end(void)
{
    lock();
    sd_table_release(&drawn.live);
    for (size_t i = 0; i < SD_POISSON_FILTER; i++)
        atomic_store_explicit(&sd_poisson_filter[i], 0, memory_order_relaxed);
    unlock();
}
