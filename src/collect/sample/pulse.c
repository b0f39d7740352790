/* SPDX-License-Identifier: MIT */
#include "collect/sample/pulse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

/* Longer than a tick of any kernel (CONFIG_HZ of 100), so that a thread that ran all
 * the time would have been counted. */
#define TICKS_NS 25000000u
/* A thread that could run is taken to do so for this long without asking again: at
 * rates above 4 kHz asking would cost as much as reading the stack. */
#define FRESH_NS 250000u

void sd_pulse_init(struct sd_pulse *p, pid_t pid, pid_t tid, bool is_kept)
{
    *p = (struct sd_pulse){
        .pid = pid, .tid = tid, .schedstat = -1, .syscall = -1, .is_kept = is_kept
    };
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void sd_pulse_close(struct sd_pulse *p)
{
    close_one(&p->schedstat);
    close_one(&p->syscall);
}

/* The file, ended by a 0; bytes read, or -1 when the thread is no more. */
static ssize_t read_file(struct sd_pulse *p, int *fd, const char *name, char *to,
                         size_t n)
{
    char path[80];
    ssize_t got;

    if (*fd < 0) {
        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)p->pid, (int)p->tid,
                 name);
        *fd = open(path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            return -1;
    }
    got = pread(*fd, to, n - 1, 0);
    to[got > 0 ? got : 0] = 0;
    if (!p->is_kept || got <= 0)
        close_one(fd);
    return got;
}

static const char *number(const char *s, uint64_t *v)
{
    for (*v = 0; *s >= '0' && *s <= '9'; s++)
        *v = *v * 10 + (uint64_t)(*s - '0');
    while (*s == ' ')
        s++;
    return s;
}

/* Where the kernel does not say (no such file, no right) a thread that has not run for
 * a while is taken for waiting, any other for running. */
static bool could_run(struct sd_pulse *p, bool has_moved)
{
    char text[256], *end;

    p->futex = 0;
    if (read_file(p, &p->syscall, "syscall", text, sizeof text) <= 0)
        return has_moved;
    if (strncmp(text, "running", 7) == 0)
        return true;
    if (strtol(text, &end, 10) == SYS_futex) /* "202 0x7f0c... ..." */
        p->futex = strtoull(end, NULL, 16);
    return false;
}

bool sd_pulse_count(struct sd_pulse *p, struct sd_pulse_counters *c)
{
    char text[128];

    if (read_file(p, &p->schedstat, "schedstat", text, sizeof text) <= 0)
        return false;
    number(number(number(text, &c->run_ns), &c->queued_ns), &c->n_runs);
    return true;
}

static uint64_t growth(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

enum sd_pulse_state sd_pulse_look(struct sd_pulse *p, uint64_t now_ns,
                                  struct sd_pulse_counters *since)
{
    struct sd_pulse_counters now;
    bool has_moved;

    *since = (struct sd_pulse_counters){ 0 };
    if (p->would_run && now_ns - p->asked_ns < FRESH_NS)
        return SD_PULSE_RUNS;
    p->asked_ns = now_ns;
    if (!sd_pulse_count(p, &now))
        return SD_PULSE_GONE;
    has_moved = !p->has_begun || !sd_pulse_is_same(now, p->last);
    if (p->has_begun)
        *since = (struct sd_pulse_counters){
            .run_ns = growth(p->last.run_ns, now.run_ns),
            .n_runs = growth(p->last.n_runs, now.n_runs),
            .queued_ns = growth(p->last.queued_ns, now.queued_ns),
        };
    p->has_begun = true;
    p->last = now;
    if (has_moved)
        p->moved_ns = now_ns;
    else if (now_ns - p->moved_ns > TICKS_NS && !p->would_run)
        return SD_PULSE_STILL;
    p->would_run = could_run(p, has_moved);
    if (p->would_run)
        return SD_PULSE_RUNS;
    return has_moved ? SD_PULSE_WAITS : SD_PULSE_STILL;
}
