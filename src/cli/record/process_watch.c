/* SPDX-License-Identifier: MIT */
#include "cli/record/process_watch.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    LOOK_MS = 50, /* how soon an end or a signal is noticed where nothing tells of it */
    LONG_MS = 60000,
};

static void requests(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

int sd_watch_begin(struct sd_process_watch *w, pid_t pid)
{
    sigset_t set;
    int rc;

    *w = (struct sd_process_watch){ .remote = SD_REMOTE_NONE, .signals = -1 };
    rc = sd_remote_open(&w->remote, pid);
    if (rc < 0)
        return rc;
    requests(&set);
    sigprocmask(SIG_BLOCK, &set, &w->given);
    w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
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

/* Sleeps so long, less when the process ends or a signal comes: what sleeps costs the
 * machine nothing, and a look now and then does. */
static void doze(const struct sd_process_watch *w, uint64_t ns)
{
    struct pollfd news[2] = { { .fd = w->remote.pidfd, .events = POLLIN },
                              { .fd = w->signals, .events = POLLIN } };
    uint64_t most = w->remote.pidfd >= 0 && w->signals >= 0 ? LONG_MS : LOOK_MS;

    poll(news, 2, (int)(ns / 1000000 < most ? ns / 1000000 + 1 : most));
}

enum sd_watch_end sd_watch_wait(struct sd_process_watch *w, uint64_t at_most_ns)
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

void sd_watch_end(struct sd_process_watch *w)
{
    while (was_told())
        continue;
    if (w->signals >= 0)
        close(w->signals);
    w->signals = -1;
    sigprocmask(SIG_SETMASK, &w->given, NULL);
    sd_remote_close(&w->remote);
}
