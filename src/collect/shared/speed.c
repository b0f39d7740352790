/* SPDX-License-Identifier: MIT */
#include "collect/shared/speed.h"

#include "collect/shared/ticks.h"

enum { N_STEPS = 256, N_PROGRAM = 61, N_SLOTS = 16, N_LOOPS = 5 };

/* Operations follow each other in no order that repeats soon: 61 is a prime, and every
 * step moves on by one or two. */
static uint64_t interpret(void)
{
    uint64_t slots[N_SLOTS] = { 3 }, x = 1;
    unsigned at = 0;

    for (unsigned i = 0; i < N_STEPS; i++) {
        uint64_t *slot = &slots[(x ^ i) % N_SLOTS];

        switch (at * 7 % N_PROGRAM % 6) {
        case 0:
            x += *slot;
            break;
        case 1:
            *slot = x;
            break;
        case 2:
            x ^= x << 7;
            break;
        case 3:
            *slot += i;
            break;
        case 4:
            x = x > *slot ? x - *slot : x + 1;
            at++;
            break;
        case 5:
            x ^= x >> 9;
            break;
        }
        at = at + 1 < N_PROGRAM ? at + 1 : 0;
    }
    return x;
}

uint64_t sd_speed_loop(void)
{
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < N_LOOPS; i++) {
        uint64_t from = sd_tsc(), result = interpret(), took;

        __asm__ volatile("" ::"r"(result));
        took = sd_tsc() - from;
        if (took < shortest)
            shortest = took;
    }
    return shortest;
}
