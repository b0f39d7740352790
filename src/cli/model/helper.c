/* SPDX-License-Identifier: MIT */
#include "cli/model/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/record/launch.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define GRACE_NS 2000000000u
enum { POLL_NS = 50 * 1000 * 1000, LONGEST_S = 3600 };

struct helper {
    pid_t pid;
    sigset_t waited;     /* its end, and what is to end us; blocked meanwhile */
    sigset_t given_mask; /* ours, before */
    struct sigaction given_chld;
};

/* A blocked signal is kept for us even where it was to be ignored (nohup, jobs in the
 * background): those are left alone. */
static void block(struct helper *h)
{
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    struct sigaction given;

    sigemptyset(&h->waited);
    sigaddset(&h->waited, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &given) == 0 && given.sa_handler != SIG_IGN)
            sigaddset(&h->waited, ending[i]);
    sigprocmask(SIG_BLOCK, &h->waited, &h->given_mask);
    /* Were it ignored, the kernel would forget the helper before we ask about it. */
    sigaction(SIGCHLD, &plain, &h->given_chld);
}

static void unblock(const struct helper *h)
{
    sigaction(SIGCHLD, &h->given_chld, NULL);
    sigprocmask(SIG_SETMASK, &h->given_mask, NULL);
}

/* Ctrl-C in the moment before a Python has settled what it does then would be a
 * traceback of its own.  So it is kept back until the helper takes it. */
static void hold_interrupt(void)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, SIGINT);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

static _Noreturn void become(const struct helper *h, pid_t parent, const char *path,
                             char *const *argv, char *const *envp)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the kernel was told to tell us */
        _exit(1);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    unblock(h);
    hold_interrupt();
    execve(path, argv, envp);
    dprintf(STDERR_FILENO, "sonde: cannot start %s: %s\n", path, strerror(errno));
    _exit(1);
}

/* Waits for a signal; 0: there was none in that time. */
static int next_signal(const struct helper *h, bool is_short, siginfo_t *info)
{
    const struct timespec longest = { .tv_sec = LONGEST_S };
    const struct timespec moment = { .tv_nsec = POLL_NS };
    int number = sigtimedwait(&h->waited, info, is_short ? &moment : &longest);

    return number > 0 ? number : 0;
}

/* Its end as waitpid tells it, and in *asked the signal that is to end us, or 0.  What
 * the keyboard sends the helper has had itself. */
static int wait_for(const struct helper *h, int *how, int *asked)
{
    uint64_t until_ns = UINT64_MAX;
    siginfo_t info;
    pid_t ended;
    int number;

    *asked = 0;
    while ((ended = waitpid(h->pid, how, WNOHANG)) == 0) {
        if (sd_clock_ns() >= until_ns)
            kill(h->pid, SIGKILL);
        number = next_signal(h, *asked != 0, &info);
        if (number == 0 || number == SIGCHLD)
            continue;
        if (info.si_code <= 0) /* by kill or sigqueue */
            kill(h->pid, number);
        if (*asked)
            continue;
        *asked = number;
        until_ns = sd_clock_ns() + GRACE_NS;
    }
    return ended < 0 ? sd_fail_errno(errno, "its end cannot be waited for") : 0;
}

int sd_helper_run(const char *path, char *const *argv, char *const *envp, int *status)
{
    pid_t us = getpid();
    int how = 0, asked = 0, rc;
    struct helper h;

    block(&h);
    h.pid = fork();
    if (h.pid == 0)
        become(&h, us, path, argv, envp);
    rc = h.pid < 0 ? sd_fail_errno(errno, "it cannot be started")
                   : wait_for(&h, &how, &asked);
    if (asked)
        sd_die_of(asked);
    unblock(&h);
    *status = WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}
