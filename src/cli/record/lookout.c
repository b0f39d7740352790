/* SPDX-License-Identifier: MIT */
#include "cli/record/lookout.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/stat.h"

enum {
    N_SIGNALS = 65,
    PAUSE_NS = 1000 * 1000,
    TRIES_AT_LEAST = 5,    /* a signal to a group reaches one process after the other */
    TRIES_AT_MOST = 10000, /* it has no CPU: a very busy machine */
};

struct sd_lookout_counts {
    _Atomic unsigned had[N_SIGNALS]; /* by the lookout; it alone adds */
    unsigned known[N_SIGNALS];       /* of them we have accounted for; ours */
};

static _Noreturn void stand(struct sd_lookout_counts *counts, const sigset_t *set,
                            pid_t parent)
{
    int number;

    prctl(PR_SET_NAME, "sonde-lookout");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Descriptors of a pipe that others wait to see closed are not ours to hold. */
    close_range(0, ~0u, 0);
    while (getppid() == parent) {
        number = sigwaitinfo(set, NULL);
        if (number > 0 && number < N_SIGNALS)
            atomic_fetch_add(&counts->had[number], 1);
    }
    _exit(0);
}

void sd_lookout_post(struct sd_lookout *l, const sigset_t *set)
{
    pid_t us = getpid();
    void *p = mmap(NULL, sizeof(struct sd_lookout_counts), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    *l = (struct sd_lookout){ 0 };
    if (p == MAP_FAILED)
        return;
    l->counts = p;
    l->pid = fork();
    if (l->pid == 0)
        stand(l->counts, set, us);
    if (l->pid < 0)
        sd_lookout_withdraw(l);
}

/* Does it wait for a signal?  Then it has counted all it had: one that is on its way
 * makes it runnable at once, however long it then takes to get a CPU.  One that is dead
 * counts no more, either. */
static bool is_waiting(const struct sd_lookout *l)
{
    struct sd_process_stat st;

    return sd_process_stat(l->pid, &st) < 0 || st.state == 'S' || st.state == 'Z';
}

bool sd_lookout_saw(struct sd_lookout *l, int number)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    unsigned had;

    if (!l->counts || number < 0 || number >= N_SIGNALS)
        return false;
    for (int i = 0; i < TRIES_AT_MOST; i++) {
        /* Asked first, so that what it counted before it waited is seen below. */
        bool is_sure = i >= TRIES_AT_LEAST && is_waiting(l);

        had = atomic_load(&l->counts->had[number]);
        if (had != l->counts->known[number]) {
            l->counts->known[number] = had;
            return true;
        }
        if (is_sure)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

void sd_lookout_withdraw(struct sd_lookout *l)
{
    if (l->pid > 0) {
        kill(l->pid, SIGKILL);
        waitpid(l->pid, NULL, 0);
    }
    if (l->counts)
        munmap(l->counts, sizeof *l->counts);
    *l = (struct sd_lookout){ 0 };
}
