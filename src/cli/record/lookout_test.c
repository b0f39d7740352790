/* SPDX-License-Identifier: MIT */
#include "cli/record/lookout.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

/* Posts a lookout in a process and a group of its own, so that the tests' group is left
 * alone, and gives what `tell` finds: 0 when all is as it should be. */
static int in_a_group(int (*tell)(struct sd_lookout *l))
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
    status = tell(&l);
    sd_lookout_withdraw(&l);
    _exit(status);
}

static int told_apart(struct sd_lookout *l)
{
    kill(getpid(), SIGTERM);
    if (sd_lookout_saw(l, SIGTERM))
        return 1;
    kill(0, SIGINT);
    if (!sd_lookout_saw(l, SIGINT))
        return 2;
    return sd_lookout_saw(l, SIGINT) ? 3 : 0; /* it was accounted for */
}

TEST(lookout_tells_a_signal_to_the_group_from_one_to_us)
{
    CHECK(in_a_group(told_apart) == 0);
}

TEST(lookout_that_was_never_posted_saw_nothing)
{
    struct sd_lookout none = { 0 };

    CHECK(!sd_lookout_saw(&none, SIGTERM));
    sd_lookout_withdraw(&none);
}

/* A lookout that is kept from running, here by a stop, is no sign of a signal to us
 * alone. */
static int told_late(struct sd_lookout *l)
{
    kill(l->pid, SIGSTOP);
    kill(0, SIGTERM);
    if (fork() == 0) { /* a busy machine: it gets a CPU only after a while */
        usleep(200 * 1000);
        kill(l->pid, SIGCONT);
        _exit(0);
    }
    return sd_lookout_saw(l, SIGTERM) ? 0 : 1;
}

TEST(lookout_that_has_no_cpu_for_a_while_is_waited_for)
{
    CHECK(in_a_group(told_late) == 0);
}
