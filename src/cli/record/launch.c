/* SPDX-License-Identifier: MIT */
#include "cli/record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "process/stat.h"

/* What sd_launch_wait waits for.  All are blocked, and none is ignored, or the kernel
 * would throw it away before we see it. */
static const int watched[] = { SIGCHLD, SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                               SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGCONT };
enum {
    N_WATCHED = sizeof watched / sizeof watched[0],
    POLL_NS = 50 * 1000 * 1000,
    START_UP_US = 100 * 1000,
    LONGEST_S = 3600
};
#define GRACE_NS 2000000000u

static void watched_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < N_WATCHED; i++)
        sigaddset(set, watched[i]);
}

/* The child's side of the fork: as we were given, so it gets. */
static void become(const struct sd_child *c, int gate, int failure, const char *path,
                   char *const *argv, char *const *envp)
{
    ssize_t done;
    char go;
    int err;

    close(c->gate); /* our end of it, or its end would never be seen */
    sigaction(SIGCHLD, &c->given_chld, NULL);
    do
        done = read(gate, &go, 1);
    while (done < 0 && errno == EINTR);
    if (done != 1)
        _exit(127);
    sigprocmask(SIG_SETMASK, &c->given_mask, NULL);
    execve(path, argv, envp);
    err = errno;
    done = write(failure, &err, sizeof err);
    (void)done;
    _exit(127);
}

static void undo(struct sd_child *c)
{
    sigaction(SIGCHLD, &c->given_chld, NULL);
    sigprocmask(SIG_SETMASK, &c->given_mask, NULL);
}

int sd_launch_prepare(const char *path, char *const *argv, char *const *envp,
                      struct sd_child *c)
{
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    int gate[2], failure[2], err;
    sigset_t set;

    *c = (struct sd_child){ .gate = -1, .failure = -1 };
    if (pipe2(gate, O_CLOEXEC) < 0)
        return sd_fail_errno(errno, "cannot start %s", path);
    if (pipe2(failure, O_CLOEXEC) < 0) {
        err = errno;
        close(gate[0]);
        close(gate[1]);
        return sd_fail_errno(err, "cannot start %s", path);
    }
    c->gate = gate[1];
    c->failure = failure[0];
    watched_set(&set);
    sigprocmask(SIG_BLOCK, &set, &c->given_mask);
    /* Were it ignored, the kernel would forget the child before we ask about it. */
    sigaction(SIGCHLD, &plain, &c->given_chld);
    sd_lookout_post(&c->lookout, &set);
    c->pid = fork();
    if (c->pid == 0)
        become(c, gate[0], failure[1], path, argv, envp);
    err = errno;
    close(gate[0]);
    close(failure[1]);
    if (c->pid > 0)
        return 0;
    sd_launch_cancel(c);
    return sd_fail_errno(err, "cannot start %s", path);
}

void sd_launch_cancel(struct sd_child *c)
{
    close(c->gate); /* it reads the end of the pipe, and ends */
    close(c->failure);
    if (c->pid > 0)
        waitpid(c->pid, NULL, 0);
    sd_lookout_withdraw(&c->lookout);
    undo(c);
}

int sd_launch_go(struct sd_child *c, const char *path)
{
    ssize_t done;
    int err = 0;

    signal(SIGPIPE, SIG_IGN); /* our own output must not end the recording */
    c->started_ns = sd_clock_ns();
    done = write(c->gate, "", 1);
    do /* the pipe closes by itself when the exec succeeds */
        done = read(c->failure, &err, sizeof err);
    while (done < 0 && errno == EINTR);
    if (done == sizeof err) {
        sd_launch_cancel(c);
        return sd_fail_errno(err, "cannot start %s", path);
    }
    close(c->gate);
    close(c->failure);
    for (size_t i = 0; i < N_WATCHED; i++)
        signal(watched[i], SIG_DFL);
    return 0;
}

static bool is_stopped(pid_t pid)
{
    struct sd_process_stat st;

    return sd_process_stat(pid, &st) == 0 && (st.state == 'T' || st.state == 't');
}

/* While we are stopped nobody would notice that the program alone was continued, or
 * was killed: this small process looks, and wakes us.  It is told to end by us, or
 * ends when we are gone. */
static pid_t start_guard(pid_t child)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };
    pid_t us = getpid(), guard = fork();

    if (guard != 0)
        return guard;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == us) {
        nanosleep(&pause, NULL);
        if (!is_stopped(child))
            kill(us, SIGCONT);
    }
    _exit(0);
}

static void stop_with(const struct sd_child *c)
{
    pid_t guard = start_guard(c->pid);

    if (c->hold)
        c->hold(c->of, true);
    kill(getpid(), SIGSTOP);
    if (guard > 0) {
        kill(guard, SIGKILL);
        waitpid(guard, NULL, 0);
    }
    kill(c->pid, SIGCONT);
    if (c->hold)
        c->hold(c->of, false);
}

/* A thread that a collector holds by ptrace is a stop too (CLD_TRAPPED): no business
 * of ours, and no end. */
static bool is_end(int code)
{
    return code == CLD_EXITED || code == CLD_KILLED || code == CLD_DUMPED;
}

/* Asks what became of the program; true when it has ended. */
static bool has_ended(struct sd_child *c)
{
    siginfo_t info;
    int rc;

    for (;;) {
        info.si_pid = 0;
        rc = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
        if (rc < 0 && errno == EINTR)
            continue;
        if (rc == 0 && info.si_pid == 0)
            return false;
        if (rc < 0 || is_end(info.si_code))
            return true;
        waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG);
        if (info.si_code == CLD_STOPPED)
            stop_with(c);
    }
}

/* What the keyboard or the kernel sends, what the program sends to its own group, and
 * what anybody sends to the group, the program has had itself. */
static bool is_passed_on(struct sd_child *c, const siginfo_t *info)
{
    bool was_for_all;

    if (info->si_signo == SIGCHLD)
        return false;
    was_for_all = sd_lookout_saw(&c->lookout, info->si_signo);
    if (info->si_code <= 0) /* by kill or sigqueue */
        return !was_for_all && info->si_pid != c->pid;
    return info->si_signo == SIGCONT && !was_for_all;
}

bool sd_launch_wait_until(struct sd_child *c, uint64_t until_ns)
{
    struct timespec left;
    siginfo_t info;
    sigset_t set;
    uint64_t now;

    watched_set(&set);
    while (!has_ended(c)) {
        now = sd_clock_ns();
        if (now >= until_ns)
            return false;
        left.tv_sec = (time_t)((until_ns - now) / 1000000000u);
        left.tv_nsec = (long)((until_ns - now) % 1000000000u);
        if (left.tv_sec > LONGEST_S)
            left.tv_sec = LONGEST_S;
        if (sigtimedwait(&set, &info, &left) > 0 && is_passed_on(c, &info))
            kill(c->pid, info.si_signo);
    }
    c->ended_ns = sd_clock_ns();
    return true;
}

void sd_launch_wait(struct sd_child *c) { sd_launch_wait_until(c, UINT64_MAX); }

void sd_launch_end(struct sd_child *c)
{
    kill(c->pid, SIGTERM);
    if (sd_launch_wait_until(c, sd_clock_ns() + GRACE_NS))
        return;
    kill(c->pid, SIGKILL);
    sd_launch_wait(c);
}

void sd_launch_reap(struct sd_child *c)
{
    int status;

    c->status = INT32_MIN; /* not known: somebody else waited for it */
    if (wait4(c->pid, &status, 0, &c->usage) == c->pid)
        c->status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool sd_launch_was_short(const struct sd_child *c)
{
    return c->usage.ru_utime.tv_sec == 0 && c->usage.ru_stime.tv_sec == 0 &&
           c->usage.ru_utime.tv_usec + c->usage.ru_stime.tv_usec < START_UP_US;
}

void sd_launch_done(struct sd_child *c)
{
    const struct timespec now = { 0 };
    sigset_t set;

    watched_set(&set);
    while (sigtimedwait(&set, NULL, &now) > 0)
        continue;
    sd_lookout_withdraw(&c->lookout);
    undo(c);
}

_Noreturn void sd_die_of(int number)
{
    const struct rlimit none = { 0, 0 };
    sigset_t set;

    /* A core file of ours would only bury the program's own. */
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 +
          number); /* a signal that does not kill cannot have killed the program */
}
