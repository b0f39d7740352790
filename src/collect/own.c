/* SPDX-License-Identifier: MIT */
#include "collect/own.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "capture/log.h"
#include "collect/session.h"
#include "process/stat.h"

enum {
    ANCESTORS_MAX = 64, /* a longer line of parents is not followed */
    HOST_MAX = 256,
    ZSTD_LEVEL = 1, /* the program waits for it at its end */
};

/* Part of the one session of this process.  No lock: a fork could leave it held. */
static struct {
    _Atomic(struct sd_capture *) capture; /* owned, by process `pid` alone */
    _Atomic int32_t pid;
    _Atomic int32_t starting_pid; /* the process whose thread is at making one, or 0 */
    _Atomic bool has_asked_env;
    uint64_t started_ns; /* of the capture */
} own;

static void add_host(struct sd_buf *to)
{
    char host[HOST_MAX] = "";

    gethostname(host, sizeof host - 1);
    sd_buf_text(to, host);
}

static void expand(struct sd_buf *to, const char *path)
{
    for (; *path; path++) {
        if (path[0] == '%' && path[1] == 'p')
            sd_buf_printf(to, "%d", (int)getpid());
        else if (path[0] == '%' && path[1] == 'h')
            add_host(to);
        else if (path[0] == '%' && path[1] == '%')
            sd_buf_u8(to, '%');
        else {
            sd_buf_u8(to, (uint8_t)*path);
            continue;
        }
        path++;
    }
}

static int add_facts(struct sd_capture *c)
{
    struct sd_buf host = { 0 };
    int rc;

    add_host(&host);
    rc = sd_capture_meta(c, "host", sd_buf_string(&host));
    sd_buf_release(&host);
    return rc < 0 ? rc : sd_capture_meta(c, "command", program_invocation_short_name);
}

static int make(const char *path)
{
    const struct sd_capture_options options = { .create = SD_CREATE_NEW,
                                                .sync = SD_SYNC_OFF,
                                                .zstd_level = ZSTD_LEVEL };
    struct sd_capture *c;
    int rc = sd_capture_create(path, &options, &c);

    if (rc < 0)
        return rc;
    rc = add_facts(c);
    if (rc == 0)
        rc = sd_session_join(sd_capture_live_dir(c));
    if (rc < 0) {
        sd_capture_abandon(c);
        return rc;
    }
    own.started_ns = sd_clock_ns();
    atomic_store(&own.pid, getpid());
    atomic_store(&own.capture, c);
    return 0;
}

static int start_expanded(const char *path)
{
    struct sd_buf full = { 0 };
    int rc;

    expand(&full, path);
    rc = full.bad ? sd_no_memory() : make(sd_buf_string(&full));
    sd_buf_release(&full);
    return rc;
}

int sd_own_start(const char *path)
{
    int32_t me = getpid();
    int32_t other = atomic_load(&own.starting_pid);
    int rc;

    /* Another pid there is that of the process this one was forked from. */
    if (sd_session_has_capture() || other == me ||
        !atomic_compare_exchange_strong(&own.starting_pid, &other, me))
        return sd_fail(SD_EEXISTS,
                       "cannot start %s: this process is already being recorded; stop "
                       "that recording first",
                       path);
    rc = start_expanded(path);
    atomic_store(&own.starting_pid, 0);
    return rc;
}

/* --- A child of the program that owns the capture of this name ------------------- */

/* Live files are named pid-starttime-n. */
static bool has_file_of(const char *live_dir, pid_t pid, uint64_t start_ticks)
{
    char prefix[64];
    const struct dirent *e;
    bool found = false;
    DIR *d = opendir(live_dir);

    if (!d)
        return false;
    snprintf(prefix, sizeof prefix, "%d-%llu-", (int)pid,
             (unsigned long long)start_ticks);
    while (!found && (e = readdir(d)))
        found = strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(d);
    return found;
}

/* A folder left by some earlier run that was killed is not ours to join. */
static bool is_an_ancestors(const char *live_dir)
{
    pid_t pid = getppid();
    int i;

    for (i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct sd_process_stat st;

        if (sd_process_stat(pid, &st) < 0)
            return false;
        if (has_file_of(live_dir, pid, st.start_ticks))
            return true;
        pid = st.parent;
    }
    return false;
}

static void join_ancestor(const char *path)
{
    struct sd_buf live = { 0 };
    const char *dir;

    expand(&live, path);
    sd_buf_text(&live, ".live");
    dir = sd_buf_string(&live);
    if (!live.bad && is_an_ancestors(dir))
        sd_session_join(dir);
    sd_buf_release(&live);
}

void sd_own_start_from_env(void)
{
    const char *path = secure_getenv("SONDE_OUT");
    const char *live = secure_getenv("SONDE_LIVE");
    int saved = errno;

    if (atomic_exchange(&own.has_asked_env, true) || !path || !*path || (live && *live))
        return;
    if (sd_own_start(path) == SD_EEXISTS)
        join_ancestor(path);
    errno = saved;
}

void sd_own_seal(void)
{
    struct sd_capture *c = atomic_load(&own.capture);

    if (c && atomic_load(&own.pid) == getpid())
        sd_capture_seal(c);
}

bool sd_own_is_here(void)
{
    return atomic_load(&own.pid) == getpid() && atomic_load(&own.capture);
}

static void put_time(struct sd_log *log)
{
    char started[32], wall[32];

    if (!log)
        return;
    snprintf(started, sizeof started, "%llu", (unsigned long long)own.started_ns);
    snprintf(wall, sizeof wall, "%llu",
             (unsigned long long)(sd_clock_ns() - own.started_ns));
    sd_log_meta(log, "run.started_ns", started);
    sd_log_meta(log, "run.wall_ns", wall);
}

int sd_own_stop(int32_t status)
{
    struct sd_capture_counts counts;
    struct sd_capture *c;

    if (atomic_load(&own.pid) != getpid())
        return 0;
    c = atomic_exchange(&own.capture, NULL);
    if (!c)
        return 0;
    put_time(sd_session_log());
    sd_session_leave();
    return sd_capture_finish(c, status, &counts);
}
