/* SPDX-License-Identifier: MIT */
#include "cli/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/record/launch.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define GRACE_NS 2000000000u
enum { POLL_NS = 50 * 1000 * 1000, LONGEST_S = 3600 };

enum { HELPERS_MAX = 16 };

struct helpers {
    struct sd_helper *of;
    pid_t pids[HELPERS_MAX]; /* 0: it has ended, or was never there */
    size_t n, n_running;
    sigset_t waited;     /* its end, and what is to end us; blocked meanwhile */
    sigset_t given_mask; /* ours, before */
    struct sigaction given_chld;
};

/* A blocked signal is kept for us even where it was to be ignored (nohup, jobs in the
 * background): those are left alone. */
static void block(struct helpers *h)
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

static void unblock(const struct helpers *h)
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

static _Noreturn void become(const struct helpers *all, const struct sd_helper *h,
                             pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the kernel was told to tell us */
        _exit(1);
    if (!h->prints_data)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    unblock(all);
    hold_interrupt();
    execve(h->path, h->argv, h->envp);
    dprintf(STDERR_FILENO, "sonde: cannot start %s: %s\n", h->path, strerror(errno));
    _exit(1);
}

/* Waits for a signal; 0: there was none in that time. */
static int next_signal(const struct helpers *h, bool is_short, siginfo_t *info)
{
    const struct timespec longest = { .tv_sec = LONGEST_S };
    const struct timespec moment = { .tv_nsec = POLL_NS };
    int number = sigtimedwait(&h->waited, info, is_short ? &moment : &longest);

    return number > 0 ? number : 0;
}

/* Asks the kernel for those that have ended; how many. */
static size_t reap(struct helpers *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++) {
        int how = 0;
        pid_t ended = h->pids[i] ? waitpid(h->pids[i], &how, WNOHANG) : 0;

        if (ended == 0)
            continue;
        h->pids[i] = 0;
        h->n_running--;
        h->of[i].status = ended < 0          ? 1
                          : WIFSIGNALED(how) ? -WTERMSIG(how)
                                             : WEXITSTATUS(how);
        n++;
    }
    return n;
}

static void tell_all(const struct helpers *h, int number)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->pids[i])
            kill(h->pids[i], number);
}

/* Until all have ended; gives the signal that is to end us, or 0.  What the keyboard
 * sends the helpers have had themselves. */
static int wait_for_all(struct helpers *h, void (*ended)(void *of), void *of)
{
    uint64_t until_ns = UINT64_MAX;
    int asked = 0, number;
    siginfo_t info;

    while (h->n_running > 0) {
        if (reap(h) > 0) {
            if (h->n_running > 0 && ended)
                ended(of);
            continue;
        }
        if (sd_clock_ns() >= until_ns)
            tell_all(h, SIGKILL);
        number = next_signal(h, asked != 0, &info);
        if (number == 0 || number == SIGCHLD)
            continue;
        if (info.si_code <= 0) /* by kill or sigqueue */
            tell_all(h, number);
        if (asked)
            continue;
        asked = number;
        until_ns = sd_clock_ns() + GRACE_NS;
    }
    return asked;
}

/* Those that could be started; the rest never was. */
static int start(struct helpers *h)
{
    pid_t us = getpid();

    for (size_t i = 0; i < h->n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            become(h, &h->of[i], us);
        if (pid < 0)
            return sd_fail_in(sd_fail_errno(errno, "it cannot be started"), "%s",
                              h->of[i].path);
        h->pids[i] = pid;
        h->n_running++;
    }
    return 0;
}

int sd_helper_run_all(struct sd_helper *of, size_t n, void (*ended)(void *of),
                      void *argument)
{
    struct helpers h = { .of = of, .n = n };
    int asked, rc;

    sd_assert(n <= HELPERS_MAX);
    block(&h);
    rc = start(&h);
    if (rc < 0)
        tell_all(&h, SIGKILL);
    asked = wait_for_all(&h, ended, argument);
    if (asked)
        sd_die_of(asked);
    unblock(&h);
    return rc;
}

int sd_helper_run(struct sd_helper *h) { return sd_helper_run_all(h, 1, NULL, NULL); }

char **sd_helper_environment(struct sd_arena *a, char *const *ours, const char *package)
{
    const char *slash = strrchr(package, '/');
    int n_folder = slash ? (int)(slash - package) : 1;
    size_t n = 0, at = 0;
    const char *path = NULL;
    char **made;

    while (ours[n])
        n++;
    made = sd_arena_alloc(a, (n + 2) * sizeof *made);
    if (!made)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(ours[i], "PYTHONPATH=", 11) == 0)
            path = ours[i] + 11;
        else
            made[at++] = ours[i];
    }
    made[at] =
        sd_arena_printf(a, "PYTHONPATH=%.*s%s%s", n_folder, slash ? package : ".",
                        path && *path ? ":" : "", path ? path : "");
    return made[at] ? made : NULL;
}
