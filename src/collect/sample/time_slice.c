/* SPDX-License-Identifier: MIT */
#include "collect/sample/time_slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000u  /* the shortest that the kernel grants */
#define PERIOD_NS 500000u /* the shortest with which it may go before others */
enum { NICE = -10 };

struct attributes { /* struct sched_attr of the kernel, its first version */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

_Static_assert(sizeof(struct attributes) == 48, "SCHED_ATTR_SIZE_VER0");

void sd_time_slice_shorten(uint64_t period_ns)
{
    struct attributes a = { .size = sizeof a };

    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) < 0 || a.policy != SCHED_OTHER)
        return;
    a.size = sizeof a;
    a.runtime_ns = SLICE_NS;
    if (a.nice == 0 && period_ns >= PERIOD_NS) {
        a.nice = NICE;
        if (syscall(SYS_sched_setattr, 0, &a, 0) == 0)
            return;
        a.nice = 0; /* that is not ours to ask for */
    }
    syscall(SYS_sched_setattr, 0, &a, 0);
}
