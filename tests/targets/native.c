/* SPDX-License-Identifier: MIT */
/* native: functions whose callers and shares of time are known, for native stacks.
 *
 * native_split() spends 60 % in native_a and 40 % in native_b; native_sort() is qsort
 * with a function of the caller's.  The same file compiled without unwind tables is a
 * library that nobody can unwind. */
#include <stdint.h>
#include <stdlib.h>

void native_work(uint64_t n);
void native_a(uint64_t n);
void native_b(uint64_t n);
void native_split(uint64_t rounds);
void native_sort(int *items, size_t n, int (*compare)(const void *, const void *));
void native_deep(int depth, uint64_t n);

volatile uint64_t native_sink; /* keeps loops alive, and calls from becoming jumps */

__attribute__((noinline)) void native_work(uint64_t n)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        native_sink += i;
}

__attribute__((noinline)) void native_a(uint64_t n)
{
    native_work(n);
    native_sink++;
}

__attribute__((noinline)) void native_b(uint64_t n)
{
    native_work(n);
    native_sink--;
}

void native_split(uint64_t rounds)
{
    uint64_t i;

    for (i = 0; i < rounds; i++) {
        native_a(60000);
        native_b(40000);
    }
}

void native_sort(int *items, size_t n, int (*compare)(const void *, const void *))
{
    qsort(items, n, sizeof *items, compare);
    native_sink++;
}

/* A stack of more than a kilobyte for each call. */
__attribute__((noinline)) void native_deep(int depth, uint64_t n)
{
    volatile char room[1024];

    room[depth % 1024] = 1;
    if (depth > 0)
        native_deep(depth - 1, n);
    else
        native_work(n);
    native_sink += (uint64_t)room[depth % 1024];
}
