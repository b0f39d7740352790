/* SPDX-License-Identifier: MIT */
#include "collect/sample/pause.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

/* Usually some microseconds, more where CPUs are scarce.  Giving up sooner would win
 * nothing: it has been told to stop, and must be waited for to be let go. */
#define STOPS_IN_NS 100000000u
#define LET_GO_IN_NS 1000000000u /* see sd_pause_end */

enum {
    EVENT_STOP = 128, /* PTRACE_EVENT_STOP, as it stands in si_code */
    N_LOOKS = 4,      /* without a nap, for one that runs on another CPU */
    BETWEEN_NS = 4000,
    N_NAPS_BLIND = 8, /* naps between two questions whether it has ended */
    NAP_NS = 20000,
    NAP_MOST_NS = 400000,
};

enum stop { STOPPED, TOO_LATE, ENDED };

/* Whether it is stopped now, and by which signal on its way, if any.  Its stop is not
 * waited for by waitid: that would be seen by, or taken from, whoever else in this
 * process waits for its children. */
static bool is_stopped(struct sd_pause *p, pid_t tid)
{
    siginfo_t info;

    if (p->is_stopped)
        return true;
    p->signal = 0;
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0) {
        p->is_stopped = errno == EINVAL; /* by job control */
        return p->is_stopped;
    }
    if (info.si_code >> 8 != EVENT_STOP)
        p->signal = info.si_signo;
    p->is_stopped = true;
    return true;
}

/* Whether it is the first thread of a process that we have started: then its end is
 * for those who wait for that process. */
static bool is_our_child(pid_t tid)
{
    char path[64], line[128];
    long tgid = 0, ppid = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "Tgid:", 5) == 0)
            tgid = strtol(line + 5, NULL, 10);
        if (strncmp(line, "PPid:", 5) == 0)
            ppid = strtol(line + 5, NULL, 10);
    }
    if (f)
        fclose(f);
    return tgid == tid && ppid == getpid();
}

/* A thread that ends while it is traced stays until its tracer has waited for it, and
 * its process with it. */
static bool has_ended(pid_t tid)
{
    const int how = WEXITED | WNOHANG | __WALL | __WNOTHREAD;
    siginfo_t info = { 0 };

    if (waitid(P_PID, (id_t)tid, &info, how | WNOWAIT) < 0)
        return errno == ECHILD;
    if (info.si_pid != tid ||
        (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED &&
         info.si_code != CLD_DUMPED))
        return false;
    if (!is_our_child(tid))
        waitid(P_PID, (id_t)tid, &info, how);
    return true;
}

static void linger(uint64_t ns)
{
    uint64_t until = sd_clock_ns() + ns;

    while (sd_clock_ns() < until)
        __builtin_ia32_pause();
}

/* A thread that runs on another CPU stops within some ten microseconds, in which we
 * linger: a nap costs more than that.  One that runs on our own CPU stops as soon as it
 * gets it: so then we sleep, and long enough for that.  Looking again and again, or
 * giving up the CPU for a moment, takes it away from the thread: it then took
 * milliseconds on a busy machine.  Naps grow with the time that it has had to wait for
 * a CPU anyway. */
static enum stop stops_within(struct sd_pause *p, pid_t tid, uint64_t ns)
{
    struct timespec nap = { 0, NAP_NS };
    uint64_t until = 0;
    unsigned n;

    for (n = 0; !is_stopped(p, tid); n++) {
        if (errno != ESRCH || (until && sd_clock_ns() > until))
            return TOO_LATE;
        if (n < N_LOOKS) {
            linger(n ? BETWEEN_NS : 0);
            continue;
        }
        if (n % N_NAPS_BLIND == N_LOOKS && has_ended(tid))
            return ENDED;
        if (!until)
            until = sd_clock_ns() + ns;
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < NAP_MOST_NS)
            nap.tv_nsec += nap.tv_nsec / 2;
    }
    return STOPPED;
}

static void seize_ended(struct sd_pause *p) { *p = (struct sd_pause){ 0 }; }

/* False when it was killed meanwhile: then its end must be waited for. */
static bool let_go(struct sd_pause *p, pid_t tid)
{
    if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)p->signal) < 0 &&
        errno == ESRCH) {
        p->is_stopped = false;
        return false;
    }
    seize_ended(p);
    return true;
}

bool sd_pause_try_end(struct sd_pause *p, pid_t tid)
{
    if (p->is_seized && is_stopped(p, tid))
        let_go(p, tid);
    if (p->is_seized && has_ended(tid))
        seize_ended(p);
    return !p->is_seized;
}

int sd_pause_begin(struct sd_pause *p, pid_t tid)
{
    if (!sd_pause_try_end(p, tid))
        return SD_ETORN; /* it has still not stopped for the last time we asked */
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return errno == ESRCH ? SD_EGONE : SD_EACCESS;
    p->is_seized = true;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
        seize_ended(p); /* it has ended: there is nobody to let go */
        return SD_EGONE;
    }
    switch (stops_within(p, tid, STOPS_IN_NS)) {
    case STOPPED:
        return 0;
    case TOO_LATE:
        return SD_ETORN;
    case ENDED:
        break;
    }
    seize_ended(p);
    return SD_EGONE;
}

bool sd_pause_end(struct sd_pause *p, pid_t tid)
{
    if (!p->is_seized || (p->is_stopped && let_go(p, tid)))
        return true;
    switch (stops_within(p, tid, LET_GO_IN_NS)) {
    case STOPPED:
        return let_go(p, tid);
    case TOO_LATE:
        return false;
    case ENDED:
        break;
    }
    seize_ended(p);
    return true;
}
