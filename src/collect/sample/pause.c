/* SPDX-License-Identifier: MIT */
#include "collect/sample/pause.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"

#define STOPS_IN_NS                                                                    \
    20000000u /* usually some microseconds, more where CPUs are scarce */
#define LET_GO_IN_NS 20000000u

enum {
    EVENT_STOP = 128, /* PTRACE_EVENT_STOP, as it stands in si_code */
    N_LOOKS = 10,     /* in a row, for one that runs on another CPU */
    NAP_NS = 20000,
};

/* Whether it is stopped now, and by which signal on its way, if any.  Its stop is not
 * waited for by waitid: that would be seen by, or taken from, whoever else in this
 * process waits for its children. */
static bool is_stopped(pid_t tid, int *signal)
{
    siginfo_t info;

    *signal = 0;
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
        return errno == EINVAL; /* stopped by job control */
    if (info.si_code >> 8 != EVENT_STOP)
        *signal = info.si_signo;
    return true;
}

/* A thread that runs on our own CPU stops as soon as it gets it: so we sleep, and long
 * enough for that.  Looking again and again, or giving up the CPU for a moment, takes
 * it away from the thread: it then took milliseconds on a busy machine. */
static bool stops_within(pid_t tid, uint64_t ns, int *signal)
{
    const struct timespec nap = { 0, NAP_NS };
    uint64_t until = sd_clock_ns() + ns;
    unsigned n;

    for (n = 0; !is_stopped(tid, signal); n++) {
        if (errno != ESRCH || sd_clock_ns() > until)
            return false;
        if (n >= N_LOOKS)
            nanosleep(&nap, NULL);
    }
    return true;
}

int sd_pause_begin(struct sd_pause *p, pid_t tid)
{
    int signal;

    if (!p->is_seized && ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return errno == ESRCH ? SD_EGONE : SD_EACCESS;
    p->is_seized = true;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
        p->is_seized = false; /* it has ended: there is nobody to let go */
        return SD_EGONE;
    }
    return stops_within(tid, STOPS_IN_NS, &signal) ? 0 : SD_ETORN;
}

bool sd_pause_end(struct sd_pause *p, pid_t tid)
{
    int signal;

    if (!p->is_seized)
        return true;
    if (!stops_within(tid, LET_GO_IN_NS, &signal))
        return false;
    p->is_seized = false;
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal);
    return true;
}
