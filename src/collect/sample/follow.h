/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_FOLLOW_H
#define SD_COLLECT_SAMPLE_FOLLOW_H
/* follow: reads a thread from the CPU on which it runs.
 *
 * Two threads do not run on one CPU at once: while we run there, the thread we read
 * does not.  So its stack stands still without anybody having stopped it; the price is
 * the time that we are there.  So the sampling thread itself stays away: a visitor
 * (visitor.h) that waits on that CPU is woken for the read.  Where the sampling thread
 * is on that CPU anyway, because all are busy, it reads by itself.
 *
 * The kernel may move the thread away; then the shot is torn, and we ask again where
 * it is.  Asking costs 3 us, so it is done every 20 ms or after a torn shot. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sd_visitor;

struct sd_follow {     /* of the sampling thread */
    cpu_set_t allowed; /* where it may run, as it was */
    bool has_allowed;
    int cpu;                      /* during a visit: where it is; else -1 */
    struct sd_visitor **visitors; /* owned; by CPU, where there is one */
    size_t n_visitors, cap_visitors;
    uint64_t n_visits, n_own; /* and those made by the sampling thread itself */
    uint64_t cpu_ns;          /* CPU time of visitors, once they have ended */
};

struct sd_thread_place { /* of a thread that is read */
    int stat;            /* kept open, or -1 */
    int cpu;             /* where it last ran; -1: not known */
    uint64_t asked_ns;
};

void sd_follow_init(struct sd_follow *f);
/* Has `work` done on the CPU where the thread last ran.  SD_EGONE when it has ended,
 * SD_EACCESS when we may not run there; both without a sentence, and nothing done. */
int sd_follow_visit(struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                    pid_t tid, uint64_t now_ns, bool must_ask, void (*work)(void *),
                    void *arg);
/* The same on a CPU that is known. */
int sd_follow_visit_cpu(struct sd_follow *f, int cpu, void (*work)(void *), void *arg);
/* Where the thread last ran, as was seen some milliseconds ago or, with `must_ask`, is
 * seen now; -1: it has ended, or we may not run there. */
int sd_follow_where(struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                    pid_t tid, uint64_t now_ns, bool must_ask);
/* Whether the thread last ran on a CPU on which we may not run. */
bool sd_follow_is_barred(struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                         pid_t tid, uint64_t now_ns);
/* During a visit: whether the thread is where we are, asked of the kernel: while we run
 * there it cannot.  Else it was moved away, and may have run.  That it did not run in
 * our place, in a moment when the kernel had taken the CPU from us, its counters tell
 * (pulse.h).
 */
bool sd_follow_holds(const struct sd_follow *f, struct sd_thread_place *of, pid_t pid,
                     pid_t tid, uint64_t now_ns);
/* The CPU time of all visitors so far. */
uint64_t sd_follow_cpu_ns(const struct sd_follow *f);
/* Ends the visitors. */
void sd_follow_end(struct sd_follow *f);

void sd_follow_place_init(struct sd_thread_place *of);
void sd_follow_place_close(struct sd_thread_place *of);
#endif
