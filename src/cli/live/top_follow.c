/* SPDX-License-Identifier: MIT */
#include "cli/live/top_follow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/live/verb_top.h"
#include "cli/path.h"
#include "cli/record/launch.h"
#include "cli/say.h"
#include "profile/profile.h"

enum { STEP_NS = 20 * 1000 * 1000, STEPS = 500 };

static bool has_screen(void) { return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO); }

/* Waits until there is something to follow, or never will be. */
static bool wait_for_capture(struct sd_top *t)
{
    while (!sd_path_exists(t->file)) {
        sd_top_child_reap(t->child);
        if (!t->child->pid || sd_top_wait(t, sd_clock_ns() + STEP_NS))
            return sd_path_exists(t->file);
    }
    return true;
}

static int show(struct sd_top *t)
{
    int rc = SD_ELACKS;

    if (has_screen()) {
        rc = sd_top_screen(t);
        if (rc == SD_ELACKS)
            sd_say("%s; the table is printed instead", sd_fail_text());
    }
    return rc == SD_ELACKS ? sd_top_plain(t, false) : rc;
}

/* A capture that is complete: who wrote it needs no signal any more. */
static void wait_for_end(struct sd_top *t)
{
    for (int i = 0; i < STEPS && t->shown.has_ended && t->child->pid; i++) {
        sd_top_wait(t, sd_clock_ns() + STEP_NS);
        sd_top_child_reap(t->child);
    }
}

static int status_of(int told)
{
    return WIFEXITED(told) ? WEXITSTATUS(told) : 128 + WTERMSIG(told);
}

static int finish(struct sd_top *t, struct sd_top_child *child, const sigset_t *before)
{
    int status;

    sd_top_child_end(child);
    status = child->status;
    close(t->signals);
    sigprocmask(SIG_SETMASK, before, NULL);
    if (!child->has_status) /* it goes on without us */
        return 0;
    if (WIFSIGNALED(status))
        sd_die_of(WTERMSIG(status));
    return status_of(status);
}

int sd_top_follow(const struct sd_top_following *f, bool *is_recorded)
{
    struct sd_top_child child;
    struct sd_top t = { .command = f->command,
                        .view = { .sort = SD_TOP_OWN_TIME, .is_of_memory = true },
                        .file = f->capture,
                        .child = &child,
                        .delay_ns = f->delay_ns,
                        .limit = f->limit,
                        .folds_imports = !f->has_all };
    sigset_t before;
    int rc = sd_top_child_fork(&child, has_screen());

    *is_recorded = false;
    if (rc == 1)
        _exit(f->record(f->command, f->capture));
    if (rc == 0)
        rc = sd_top_take_signals(&t, &before);
    if (rc < 0)
        return sd_say_failure(rc);
    if (wait_for_capture(&t))
        rc = show(&t);
    wait_for_end(&t);
    sd_top_release(&t.shown);
    if (rc < 0)
        sd_say("%s", sd_fail_text());
    *is_recorded = sd_path_exists(f->capture);
    return finish(&t, &child, &before);
}
