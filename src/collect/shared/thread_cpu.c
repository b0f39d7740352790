/* SPDX-License-Identifier: MIT */
#include "collect/shared/thread_cpu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "collect/shared/ticks.h"

enum {
    PAGE = 4096,
    FIRST_PAIR_NS =
        100 * 1000, /* the first two pairs of the process stand so far apart */
};

_Static_assert(sizeof(struct sd_thread_cpu) <= PAGE, "it has one page");

/* --- How fast the TSC goes ------------------------------------------------------- */

/* The process's first pair.  The farther back it lies, the more exact is the rate, so
 * all threads share it; a child of fork keeps it. */
static struct {
    _Atomic uint64_t ns;
    _Atomic uint64_t ticks; /* 0: not taken */
} first;

/* Two threads may both be first; whichever pair is stored, it is a true one, and the
 * ticks are stored last. */
static struct sd_ticks_pair first_pair(void)
{
    struct sd_ticks_pair p = { .ticks = atomic_load_explicit(&first.ticks,
                                                             memory_order_acquire) };

    p.mono_ns = atomic_load_explicit(&first.ns, memory_order_relaxed);
    if (p.ticks)
        return p;
    p = sd_ticks_pair(SD_CLOCK_TSC);
    atomic_store_explicit(&first.ns, p.mono_ns, memory_order_relaxed);
    atomic_store_explicit(&first.ticks, p.ticks, memory_order_release);
    return p;
}

static uint64_t rate_now(void)
{
    struct sd_ticks_pair from = first_pair(), to = sd_ticks_pair(SD_CLOCK_TSC);

    while (to.mono_ns - from.mono_ns < FIRST_PAIR_NS)
        to = sd_ticks_pair(SD_CLOCK_TSC);
    return (uint64_t)(sd_ticks_ns(SD_CLOCK_TSC, &from, &to) * 4294967296.0);
}

/* --- The page -------------------------------------------------------------------- */

static void *map_event(void)
{
    struct perf_event_attr attr;
    void *page;
    long fd;

    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1; /* plain users may then ask, too */
    attr.exclude_hv = 1;
    fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return NULL;
    page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (int)fd, 0);
    close((int)fd);
    return page == MAP_FAILED ? NULL : page;
}

/* The kernel's answer and the ticks of one stay on the CPU. */
static void take_base(struct sd_thread_cpu *c)
{
    do {
        c->seen = *c->switches;
        c->kernel_ns = sd_clock_thread_cpu_ns();
        c->base_ticks = __rdtsc();
    } while (*c->switches != c->seen);
}

/* So that other threads can ask for it. */
static void name_clock(struct sd_thread_cpu *c)
{
    clockid_t clock;

    if (pthread_getcpuclockid(pthread_self(), &clock) == 0)
        c->clock = clock;
}

/* In a child of fork, too, where all of it was wiped. */
static void open_page(struct sd_thread_cpu *c)
{
    int saved = errno;

    name_clock(c);
    c->page = sd_tsc_is_steady() ? map_event() : NULL;
    c->is_refused = !c->page;
    if (c->page)
        c->switches = &((struct perf_event_mmap_page *)c->page)->lock;
    errno = saved;
}

/* We have told more than the kernel has: it comes as far while we go on at a rate that
 * is as much less until it is asked next, or a sixteenth less.  Were we to wait for
 * it, calls would take no time; and what the host of a virtual machine takes from it
 * would add up if we did neither. */
static void go_slower(struct sd_thread_cpu *c, uint64_t lead_ns)
{
    uint64_t span_ns = c->rate >> (32 - SD_THREAD_CPU_RESYNC_BITS);
    uint64_t less = lead_ns < span_ns / 16 ? lead_ns : span_ns / 16;

    c->rate -= span_ns ? (c->rate >> 16) * ((less << 16) / span_ns) : 0;
}

/* What is told now that the kernel, which said `before` when we told `told`, has said
 * more.  A thread that is taken off its CPU within a call has the kernel asked at the
 * call's end, and while we lead, the last answer once more would be a call without any
 * time: half of what passed is told at least, and sums are right again after twice what
 * we led by. */
static uint64_t told_after(uint64_t told, uint64_t before, uint64_t kernel)
{
    uint64_t passed = kernel - before, lead = told - before;
    uint64_t less = lead < passed / 2 ? lead : passed / 2;

    sd_assert_slow(kernel >= before && told >= before);
    return told + passed - less;
}

/* --- Verbs ----------------------------------------------------------------------- */

struct sd_thread_cpu *sd_thread_cpu_new(void)
{
    struct sd_thread_cpu *c =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (c == MAP_FAILED)
        return NULL;
    name_clock(c);
    /* Without it (Linux before 4.14) a child would touch a page it does not have. */
    c->is_refused = madvise(c, PAGE, MADV_WIPEONFORK) != 0;
    return c;
}

void sd_thread_cpu_free(struct sd_thread_cpu *c)
{
    if (!c)
        return;
    if (c->page)
        munmap(c->page, PAGE);
    munmap(c, PAGE);
}

uint64_t sd_thread_cpu_ask(struct sd_thread_cpu *c)
{
    uint64_t before;

    if (!c->switches && !c->is_refused)
        open_page(c);
    if (!c->switches)
        return sd_clock_thread_cpu_ns();
    before = c->kernel_ns;
    c->rate = rate_now();
    take_base(c);
    c->base_ns = told_after(c->base_ns, before, c->kernel_ns);
    if (c->base_ns < c->last_ns)
        c->base_ns = c->last_ns; /* the TSC has led since then */
    if (c->base_ns > c->kernel_ns)
        go_slower(c, c->base_ns - c->kernel_ns);
    return c->last_ns = c->base_ns;
}

/* Without a name it is that of a child of fork, which has not been read there: its own
 * thread is the one there is.  The kernel may be a little behind what the TSC has told
 * already. */
uint64_t sd_thread_cpu_from_outside(const struct sd_thread_cpu *c)
{
    struct timespec t;
    uint64_t ns;

    if (clock_gettime(c->clock ? c->clock : CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return c->last_ns;
    ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return ns > c->last_ns ? ns : c->last_ns;
}

bool sd_thread_cpu_is_cheap(struct sd_thread_cpu *c)
{
    sd_thread_cpu_ns(c);
    return c->switches != NULL;
}
