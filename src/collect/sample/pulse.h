/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_PULSE_H
#define SD_COLLECT_SAMPLE_PULSE_H
/* pulse: tells whether a thread has run since we last looked, and for how long.
 *
 * The kernel counts in /proc/PID/task/TID/schedstat how long a thread has run and how
 * often it was put on a CPU.  Where neither has changed the thread did not run, so its
 * stack is the one we know: reading the counters (1 us) saves reading the stack.
 *
 * One trap: while a thread runs on without a break its counters stand still between
 * two ticks of the kernel (4 ms, 10 ms at most).  So standing still means that it
 * waits only when it has lasted longer than that; before, the kernel is asked what the
 * thread waits in (/proc/PID/task/TID/syscall), which for one that could run says
 * "running", whether or not it has a CPU at this moment.  Another: on a busy machine a
 * thread that could run may get no CPU for longer.  Going to wait moves the counters,
 * so one that could run when they last moved is asked about for as long as they stand
 * still. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sd_pulse_counters {
    uint64_t run_ns;    /* on a CPU; up to the last tick, while it is on one */
    uint64_t n_runs;    /* times that it was put on one */
    uint64_t queued_ns; /* it could run and had none; up to the last of these times */
};

static inline bool sd_pulse_is_same(struct sd_pulse_counters a,
                                    struct sd_pulse_counters b)
{
    return a.run_ns == b.run_ns && a.n_runs == b.n_runs;
}

enum sd_pulse_state {
    SD_PULSE_RUNS,  /* it runs, or would if there were a CPU */
    SD_PULSE_WAITS, /* it has run since the last look, and waits now */
    SD_PULSE_STILL, /* it has not run since the last look, and waits */
    SD_PULSE_GONE,  /* the thread has ended */
};

struct sd_pulse {
    pid_t pid, tid;
    int schedstat, syscall; /* kept open, or -1 */
    bool is_kept;           /* descriptors stay open between looks */
    bool has_begun;         /* the counters below are of a look */
    bool would_run;         /* when last asked about, it could run */
    struct sd_pulse_counters last;
    uint64_t asked_ns; /* CLOCK_MONOTONIC of the look that read the counters */
    uint64_t moved_ns; /* CLOCK_MONOTONIC of the look that last saw them change */
    uint64_t futex;    /* address it waits at, where that is known; else 0 */
};

void sd_pulse_init(struct sd_pulse *p, pid_t pid, pid_t tid, bool is_kept);
void sd_pulse_close(struct sd_pulse *p);

/* hot: one or two small reads, or none when asked again within a quarter of a
 * millisecond of a thread that could run.  *since becomes what the counters grew by
 * since the last look that read them, 0 at the first. */
enum sd_pulse_state sd_pulse_look(struct sd_pulse *p, uint64_t now_ns,
                                  struct sd_pulse_counters *since);

/* The counters as they stand; false when the thread has ended.  One that has no CPU at
 * the second of two looks, and had the same counters at the first, did not run in
 * between: being put on a CPU counts at once, and leaving one brings its time up to
 * date. */
bool sd_pulse_count(struct sd_pulse *p, struct sd_pulse_counters *c);
#endif
