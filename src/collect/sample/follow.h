/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_FOLLOW_H
#define SD_COLLECT_SAMPLE_FOLLOW_H
/* follow: the sampling thread goes to the CPU where a thread runs.
 *
 * Two threads do not run on one CPU at once: while we run there, the thread we read
 * does not.  So its stack stands still without anybody having stopped it; the price is
 * our own CPU time, a few microseconds a sample, on that CPU instead of another.
 *
 * The kernel may move the thread away; then the shot is torn, and we ask again where
 * it is.  Asking costs 3 us, so it is done every 20 ms or after a torn shot. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sd_follow {     /* of the sampling thread */
    cpu_set_t allowed; /* where it may run, as it was */
    bool has_allowed;
    int cpu; /* where it is bound to now; -1: anywhere */
    uint64_t n_moves;
};

struct sd_followed { /* of a thread that is read */
    int stat;        /* kept open, or -1 */
    int cpu;         /* where it last ran; -1: not known */
    uint64_t asked_ns;
};

void sd_follow_init(struct sd_follow *f);
/* Goes where the thread last ran.  SD_EGONE when it has ended, SD_EACCESS when we may
 * not run there; both without a sentence. */
int sd_follow_go(struct sd_follow *f, struct sd_followed *of, pid_t pid, pid_t tid,
                 uint64_t now_ns, bool must_ask);
/* Whether the thread last ran on a CPU on which we may not run. */
bool sd_follow_is_barred(struct sd_follow *f, struct sd_followed *of, pid_t pid,
                         pid_t tid, uint64_t now_ns);
/* Whether the thread is where we are, asked of the kernel: while we run there it
 * cannot.  Else it was moved away, and may have run.  That it did not run in our place,
 * in a moment when the kernel had taken the CPU from us, its counters tell (pulse.h).
 */
bool sd_follow_holds(const struct sd_follow *f, struct sd_followed *of, pid_t pid,
                     pid_t tid, uint64_t now_ns);
/* Runs wherever it may again. */
void sd_follow_end(struct sd_follow *f);

void sd_followed_init(struct sd_followed *of);
void sd_followed_close(struct sd_followed *of);
#endif
