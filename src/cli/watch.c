/* SPDX-License-Identifier: MIT */
#include "cli/watch.h"

#include <poll.h>
#include <time.h>

#include "base/clock.h"

enum { LOOK_MS = 50 }; /* how soon a signal is heard */

static void requests(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

int sd_watch_begin(struct sd_watch *w, pid_t pid)
{
    sigset_t set;
    int rc;

    *w = (struct sd_watch){ .remote = SD_REMOTE_NONE };
    rc = sd_remote_open(&w->remote, pid);
    if (rc < 0)
        return rc;
    requests(&set);
    sigprocmask(SIG_BLOCK, &set, &w->given);
    signal(SIGPIPE, SIG_IGN); /* our own output must not end the recording */
    return 0;
}

static bool was_told(void)
{
    const struct timespec now = { 0 };
    sigset_t set;

    requests(&set);
    return sigtimedwait(&set, NULL, &now) > 0;
}

/* Sleeps for a moment, less when the process ends. */
static void doze(const struct sd_watch *w, uint64_t ns)
{
    struct pollfd end = { .fd = w->remote.pidfd, .events = POLLIN };
    int ms = ns / 1000000 < LOOK_MS ? (int)(ns / 1000000) + 1 : LOOK_MS;

    poll(&end, w->remote.pidfd >= 0, ms);
}

enum sd_watch_end sd_watch_wait(struct sd_watch *w, uint64_t at_most_ns)
{
    uint64_t now = sd_clock_ns(), back = now + at_most_ns, next;

    for (; now < back; now = sd_clock_ns()) {
        if (was_told())
            return SD_WATCH_TOLD;
        if (!sd_remote_is_alive(&w->remote))
            return SD_WATCH_ENDED;
        if (w->until_ns && now >= w->until_ns)
            return SD_WATCH_TIME_UP;
        next = w->until_ns && w->until_ns < back ? w->until_ns : back;
        doze(w, next - now);
    }
    return SD_WATCH_GOES_ON;
}

void sd_watch_end(struct sd_watch *w)
{
    while (was_told())
        continue;
    sigprocmask(SIG_SETMASK, &w->given, NULL);
    sd_remote_close(&w->remote);
}
