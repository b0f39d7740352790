/* SPDX-License-Identifier: MIT */
#include "collect/time/stopwatch.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "collect/shared/speed.h"

/* -1 where there is no such counter: most virtual machines, and where perf events are
 * forbidden. */
static int open_instructions(void)
{
    struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE,
                                 .size = sizeof a,
                                 .config = PERF_COUNT_HW_INSTRUCTIONS };

    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void sd_stopwatch_init(struct sd_stopwatch *w, enum sd_time_clock clock)
{
    *w = (struct sd_stopwatch){ .clock = clock };
    w->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    w->instructions = open_instructions();
}

void sd_stopwatch_release(struct sd_stopwatch *w)
{
    if (w->schedstat >= 0)
        close(w->schedstat);
    if (w->instructions >= 0)
        close(w->instructions);
    w->schedstat = w->instructions = -1;
}

static uint64_t now(const struct sd_stopwatch *w)
{
    return w->clock == SD_TIME_CPU ? sd_clock_process_cpu_ns() : sd_clock_ns();
}

/* Its second number: nanoseconds that the thread waited to be run. */
static int64_t read_waited(const struct sd_stopwatch *w)
{
    char text[96];
    ssize_t n = w->schedstat < 0 ? -1 : pread(w->schedstat, text, sizeof text - 1, 0);
    unsigned long long ran, waited;

    if (n <= 0)
        return SD_TIME_UNKNOWN;
    text[n] = 0;
    return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? (int64_t)waited
                                                         : SD_TIME_UNKNOWN;
}

static int64_t read_instructions(const struct sd_stopwatch *w)
{
    uint64_t n;

    if (w->instructions < 0 || read(w->instructions, &n, sizeof n) != (ssize_t)sizeof n)
        return SD_TIME_UNKNOWN;
    return (int64_t)n;
}

static void read_usage(struct sd_stopwatch_end *e)
{
    struct rusage u = { 0 };

    getrusage(RUSAGE_THREAD, &u);
    e->switches = u.ru_nivcsw;
    e->sleeps = u.ru_nvcsw;
    e->faults = u.ru_majflt + u.ru_minflt;
}

static int64_t since(int64_t from, int64_t to)
{
    return from == SD_TIME_UNKNOWN || to == SD_TIME_UNKNOWN ? SD_TIME_UNKNOWN
                                                            : to - from;
}

void sd_stopwatch_begin(struct sd_stopwatch *w)
{
    w->from.waited_ns = read_waited(w);
    read_usage(&w->from);
    w->from.instructions = read_instructions(w);
    w->from.at_ns = sd_clock_ns();
    w->from.now_ns = w->clock == SD_TIME_WALL ? w->from.at_ns : now(w);
}

void sd_stopwatch_end(struct sd_stopwatch *w, struct sd_time_batch *b)
{
    struct sd_stopwatch_end to = { .now_ns = now(w) };
    const struct sd_stopwatch_end *from = &w->from;

    sd_assert(from->at_ns > 0); /* it has begun */
    to.instructions = read_instructions(w);
    read_usage(&to);
    to.waited_ns = read_waited(w);
    b->at_ns = from->at_ns;
    b->took_ns = (int64_t)(to.now_ns - from->now_ns);
    b->waited_ns = since(from->waited_ns, to.waited_ns);
    b->instructions = since(from->instructions, to.instructions);
    b->speed = (int64_t)sd_speed_loop();
    if (to.switches != from->switches)
        b->flags |= SD_TIME_PREEMPTED;
    if (to.sleeps != from->sleeps)
        b->flags |= SD_TIME_SLEPT;
    if (to.faults != from->faults)
        b->flags |= SD_TIME_FAULTED;
}
