/* SPDX-License-Identifier: MIT */
#include "process/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/diagnose.h"
#include "process/stat.h"

enum {
    PROOF_ADDRESS = 1,     /* in a page that nobody can map: see sd_remote_may */
    STATUS_MAX = 16 << 10, /* of /proc/PID/status; it is about 1.5 kB */
    STRING_STEP = 64,      /* bytes of a string that are read at once */
};

/* The kernel asks for our rights before it looks at the address: with them an address
 * that is never mapped is EFAULT, without them EPERM.  So nothing of the process is
 * needed. */
int sd_remote_may(pid_t pid)
{
    char byte;
    struct iovec to = { &byte, 1 };
    struct iovec from = { (void *)PROOF_ADDRESS, 1 };

    if (process_vm_readv(pid, &to, 1, &from, 1, 0) == 1)
        return 0;
    return errno == EFAULT ? 0 : errno;
}

/* Forbidden system calls are EPERM or ENOSYS even for our own memory. */
bool sd_remote_is_forbidden(void)
{
    char byte = 0, copy;
    struct iovec to = { &copy, 1 };
    struct iovec from = { &byte, 1 };

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1 &&
           (errno == EPERM || errno == ENOSYS);
}

int sd_remote_open(struct sd_remote *r, pid_t pid)
{
    struct sd_diagnosis d;
    char path[64];

    *r = SD_REMOTE_NONE;
    if (pid <= 0)
        return sd_fail(SD_EUSAGE, "%d is not a process ID", (int)pid);
    r->pid = pid;
    r->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    r->start_ticks = sd_process_start_time(pid);
    if (r->start_ticks && pid != getpid()) {
        if (sd_remote_may(pid) == 0)
            return 0;
        if (sd_remote_is_forbidden()) {
            snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
            r->mem = open(path, O_RDONLY | O_CLOEXEC);
            if (r->mem >= 0)
                return 0;
        }
    }
    sd_remote_close(r);
    sd_diagnose(&d, pid);
    if (d.what ==
        SD_HINDRANCE_NONE) /* it ended, or was let go, between the two looks */
        return sd_fail(SD_EGONE, "process %d has just ended", (int)pid);
    return sd_diagnosis_fail(&d);
}

void sd_remote_close(struct sd_remote *r)
{
    if (r->pidfd >= 0)
        close(r->pidfd);
    if (r->mem >= 0)
        close(r->mem);
    *r = SD_REMOTE_NONE;
}

bool sd_remote_is_alive(const struct sd_remote *r)
{
    struct pollfd p = { r->pidfd, POLLIN, 0 };
    struct sd_process_stat st;

    if (r->pidfd >= 0)
        return poll(&p, 1, 0) == 0;
    return sd_process_stat(r->pid, &st) == 0 && st.start_ticks == r->start_ticks &&
           st.state != 'Z' && st.state != 'X';
}

static int code_of(int err)
{
    switch (err) {
    case ESRCH:
        return SD_EGONE;
    case EPERM:
    case EACCES:
    case ENOSYS:
        return SD_EACCESS;
    }
    return SD_ETORN;
}

/* Range by range through /proc/PID/mem: each into the local list where the last ended.
 */
static ssize_t read_mem(const struct sd_remote *r, const struct iovec *to, size_t n_to,
                        const struct iovec *from, size_t n_from)
{
    size_t at = 0, used = 0, i; /* which local range, and how much of it is filled */
    ssize_t total = 0;

    for (i = 0; i < n_from; i++) {
        size_t done = 0;

        while (done < from[i].iov_len && at < n_to) {
            size_t room = to[at].iov_len - used, want = from[i].iov_len - done;
            off_t where = (off_t)((uintptr_t)from[i].iov_base + done);
            ssize_t got = pread(r->mem, (char *)to[at].iov_base + used,
                                room < want ? room : want, where);

            if (got == 0 && total == 0)
                return SD_EGONE; /* its memory is gone: it has ended or exec'ed */
            if (got <= 0)
                return total ? total : code_of(errno);
            total += got;
            done += (size_t)got;
            used += (size_t)got;
            if (used == to[at].iov_len) {
                at++;
                used = 0;
            }
        }
    }
    return total;
}

ssize_t sd_remote_readv_some(const struct sd_remote *r, const struct iovec *to,
                             size_t n_to, const struct iovec *from, size_t n_from)
{
    ssize_t got;

    if (r->mem >= 0)
        return read_mem(r, to, n_to, from, n_from);
    got = process_vm_readv(r->pid, to, n_to, from, n_from, 0);
    return got >= 0 ? got : code_of(errno);
}

int sd_remote_readv(const struct sd_remote *r, const struct iovec *to, size_t n_to,
                    const struct iovec *from, size_t n_from)
{
    ssize_t got = sd_remote_readv_some(r, to, n_to, from, n_from);
    size_t want = 0, i;

    if (got < 0)
        return (int)got;
    for (i = 0; i < n_from; i++)
        want += from[i].iov_len;
    return (size_t)got == want ? 0 : SD_ETORN;
}

int sd_remote_read(const struct sd_remote *r, uint64_t from, void *to, size_t n)
{
    struct iovec here = { to, n };
    struct iovec there = { (void *)(uintptr_t)from, n };

    return sd_remote_readv(r, &here, 1, &there, 1);
}

int sd_remote_string(const struct sd_remote *r, uint64_t from, char *to, size_t n)
{
    size_t at = 0;

    while (at + 1 < n) {
        size_t step = STRING_STEP - (from + at) % STRING_STEP; /* never across a page */
        int rc;

        if (step > n - 1 - at)
            step = n - 1 - at;
        rc = sd_remote_read(r, from + at, to + at, step);
        if (rc < 0)
            return rc;
        if (memchr(to + at, 0, step))
            return 0;
        at += step;
    }
    to[n - 1] = 0;
    return 0;
}

pid_t sd_remote_inner_pid(pid_t pid)
{
    char path[64], *text = NULL, *line, *end, *last;
    long inner = pid;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (sd_read_file(path, STATUS_MAX, &text, &n) < 0)
        return 0;
    line = strstr(text, "\nNSpid:");
    if (line && (end = strchr(line + 1, '\n')) != NULL) {
        *end = 0;
        last = strrchr(line, '\t');
        if (last)
            inner = strtol(last + 1, NULL, 10);
    }
    sd_free(text);
    return (pid_t)inner;
}
