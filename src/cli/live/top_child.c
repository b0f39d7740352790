/* SPDX-License-Identifier: MIT */
#include "cli/live/top_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/say.h"

#define ENDS_WITHIN_NS 2000000000u
enum { NAP_NS = 10000000, SHOWN_BYTES = 64 << 10 };

static int open_output(void)
{
    const char *dir = getenv("TMPDIR");
    int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0)
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return fd;
}

int sd_top_child_start(struct sd_top_child *c, const struct sd_program *target,
                       bool has_screen)
{
    char **envp = target->environment ? target->environment : environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, ignored;
    int err;

    *c = (struct sd_top_child){ .output = has_screen ? open_output() : -1 };
    posix_spawn_file_actions_init(&files);
    if (c->output >= 0) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                         0);
        posix_spawn_file_actions_adddup2(&files, c->output, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, c->output, STDERR_FILENO);
    } else {
        posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    }
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE); /* by us alone; an exec would hand it on */
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &ignored);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    err = posix_spawn(&c->pid, target->path, &files, &how, target->argv, envp);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (!err)
        return 0;
    c->pid = 0;
    sd_top_child_end(c);
    return sd_fail_errno(err, "cannot start %s", target->path);
}

/* In the new process: signals are as they were, output is not the terminal's. */
static void become_quiet(const struct sd_top_child *c)
{
    int none = c->output >= 0 ? open("/dev/null", O_RDONLY) : -1;

    if (none >= 0) {
        dup2(none, STDIN_FILENO);
        close(none);
    }
    if (c->output >= 0) {
        dup2(c->output, STDOUT_FILENO);
        dup2(c->output, STDERR_FILENO);
    } else {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    }
}

int sd_top_child_fork(struct sd_top_child *c, bool has_screen)
{
    *c = (struct sd_top_child){ .output = has_screen ? open_output() : -1 };
    c->pid = fork();
    if (c->pid == 0) {
        become_quiet(c);
        return 1;
    }
    if (c->pid > 0)
        return 0;
    c->pid = 0;
    sd_top_child_end(c);
    return sd_fail_errno(errno, "cannot start a process");
}

static bool has_ended(struct sd_top_child *c, uint64_t within_ns)
{
    const struct timespec nap = { 0, NAP_NS };
    uint64_t until = sd_clock_ns() + within_ns;
    pid_t got;

    while ((got = waitpid(c->pid, &c->status, WNOHANG)) == 0) {
        if (sd_clock_ns() > until)
            return false;
        nanosleep(&nap, NULL);
    }
    c->has_status = got == c->pid;
    return true;
}

void sd_top_child_reap(struct sd_top_child *c)
{
    if (c && c->pid && has_ended(c, 0))
        c->pid = 0;
}

static void show_output(int fd)
{
    off_t n = lseek(fd, 0, SEEK_END), at = n > SHOWN_BYTES ? n - SHOWN_BYTES : 0;
    char room[4096];
    ssize_t got;

    if (at > 0)
        sd_say("the last %d KiB of the program's output:", SHOWN_BYTES >> 10);
    while ((got = pread(fd, room, sizeof room, at)) > 0) {
        ssize_t done = write(STDERR_FILENO, room, (size_t)got);

        (void)done;
        at += got;
    }
}

void sd_top_child_end(struct sd_top_child *c)
{
    if (c->pid && !has_ended(c, 0)) {
        kill(c->pid, SIGTERM);
        if (!has_ended(c, ENDS_WITHIN_NS))
            sd_say("the program goes on as process %d", (int)c->pid);
    }
    if (c->output >= 0) {
        show_output(c->output);
        close(c->output);
    }
    *c = (struct sd_top_child){ .output = -1,
                                .status = c->status,
                                .has_status = c->has_status };
}
