/* SPDX-License-Identifier: MIT */
#include "cli/lookout.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

/* Runs in a process and a group of its own, so that the tests' group is left alone. */
static int told_apart(void)
{
    struct sd_lookout l;
    sigset_t set;
    int status;
    pid_t pid = fork();

    if (pid > 0) {
        waitpid(pid, &status, 0);
        return status;
    }
    setpgid(0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sd_lookout_post(&l, &set);
    kill(getpid(), SIGTERM);
    if (sd_lookout_saw(&l, SIGTERM))
        _exit(1);
    kill(0, SIGINT);
    if (!sd_lookout_saw(&l, SIGINT))
        _exit(2);
    if (sd_lookout_saw(&l, SIGINT)) /* it was accounted for */
        _exit(3);
    sd_lookout_withdraw(&l);
    _exit(0);
}

TEST(lookout_tells_a_signal_to_the_group_from_one_to_us) { CHECK(told_apart() == 0); }

TEST(lookout_that_was_never_posted_saw_nothing)
{
    struct sd_lookout none = { 0 };

    CHECK(!sd_lookout_saw(&none, SIGTERM));
    sd_lookout_withdraw(&none);
}

/* A lookout that is kept from running, here by a stop, is no sign of a signal to us
 * alone. */
static int told_late(void)
{
    struct sd_lookout l;
    sigset_t set;
    int status;
    pid_t pid = fork();

    if (pid > 0) {
        waitpid(pid, &status, 0);
        return status;
    }
    setpgid(0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sd_lookout_post(&l, &set);
    kill(l.pid, SIGSTOP);
    kill(0, SIGTERM);
    if (fork() == 0) { /* a busy machine: it gets a CPU only after a while */
        usleep(200 * 1000);
        kill(l.pid, SIGCONT);
        _exit(0);
    }
    if (!sd_lookout_saw(&l, SIGTERM))
        _exit(1);
    sd_lookout_withdraw(&l);
    _exit(0);
}

TEST(lookout_that_has_no_cpu_for_a_while_is_waited_for) { CHECK(told_late() == 0); }
