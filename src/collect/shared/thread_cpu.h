/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_THREAD_CPU_H
#define SD_COLLECT_SHARED_THREAD_CPU_H
/* thread_cpu: reads the CPU time of the calling thread, for the price of reading the
 * TSC.
 *
 * Asking the kernel (CLOCK_THREAD_CPUTIME_ID) costs some 600 ns, twice per call: more
 * than most calls.  But while a thread stays on its CPU its CPU time advances with the
 * TSC, so only the moments when it was taken off and put back matter.  The kernel tells
 * of them: a perf event that counts nothing (PERF_COUNT_SW_DUMMY) has a page that is
 * mapped into the process, and its `lock` word changes whenever the thread is put on a
 * CPU.  While the word is the same, CPU time = base + ticks since then; when it
 * changed, the kernel is asked once.
 *
 * The kernel is asked every 2^25 ticks (some 10 ms) too, so that an inexact rate of the
 * TSC never adds up.  The answers never go back: where the TSC has led, because the
 * host of a virtual machine took the CPU or an interrupt did, they go on more slowly
 * until the kernel's have come as far.
 *
 * Where perf events are forbidden (a container's filter, perf_event_paranoid 3) or the
 * TSC is not steady, every read asks the kernel; sd_thread_cpu_is_cheap tells which.
 *
 * Fork: the kernel does not give the page to a child, so to touch it there would end
 * the program.  The struct therefore lies in memory that the kernel clears on fork
 * (MADV_WIPEONFORK): the child, however it was made, finds zeros, which mean "not yet
 * opened", and opens its own at its first read.  No descriptor is kept: the mapping
 * holds the event. */
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

enum { SD_THREAD_CPU_RESYNC_BITS = 25 };

struct sd_thread_cpu {                 /* one thread reads it; zeros: to be opened */
    const volatile uint32_t *switches; /* changes when the thread is put on a CPU; NULL:
                                          ask the kernel, or open first */
    uint32_t seen;                     /* *switches at the base */
    uint32_t is_refused; /* the kernel gave no page, or the TSC is not steady */
    uint64_t base_ticks; /* TSC ... */
    uint64_t base_ns;    /* ... and the thread's CPU time, as told, at one moment */
    uint64_t kernel_ns;  /* what the kernel said then: never more */
    uint64_t last_ns;    /* the last answer */
    uint64_t rate;       /* ns per tick, times 2^32 */
    void *page;          /* owned: the event's page */
    int32_t clock;       /* the kernel's name of the thread's clock; 0: its own alone */
};

/* For the calling thread, and to be read by it alone.  NULL: no memory. */
struct sd_thread_cpu *sd_thread_cpu_new(void);
/* By any thread, once its own thread reads it no more; NULL is fine. */
void sd_thread_cpu_free(struct sd_thread_cpu *c);

/* Does a read cost as little as promised?  Opens it when it is not open. */
bool sd_thread_cpu_is_cheap(struct sd_thread_cpu *c);

uint64_t sd_thread_cpu_ask(struct sd_thread_cpu *c); /* the slow part of a read */
/* By any thread while the one it is of stands still or waits: nothing in it changes, so
 * that the clock of that thread goes on as if nobody had asked. */
uint64_t sd_thread_cpu_from_outside(const struct sd_thread_cpu *c);

/* hot: every call and return when CPU time is asked for.  Nanoseconds, at the moment
 * when the TSC, which the caller has just read, was `ticks`: one reading serves both
 * clocks.
 *
 * The ticks are read before the word: were it the other way round, a switch between
 * the two would count as CPU time.  The processor may do the two in any order, but an
 * interrupt between them repeats what had not retired. */
static inline uint64_t sd_thread_cpu_at(struct sd_thread_cpu *c, uint64_t ticks)
{
    uint64_t since = ticks - c->base_ticks;

    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(!c->switches, 0) ||
        __builtin_expect(*c->switches != c->seen || since >> SD_THREAD_CPU_RESYNC_BITS,
                         0))
        return sd_thread_cpu_ask(c);
    return c->last_ns = c->base_ns + (since * c->rate >> 32);
}

static inline uint64_t sd_thread_cpu_ns(struct sd_thread_cpu *c)
{
    return sd_thread_cpu_at(c, __rdtsc());
}
#endif
