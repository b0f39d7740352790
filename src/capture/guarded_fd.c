/* SPDX-License-Identifier: MIT */
#include "capture/guarded_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { ALWAYS = O_RDWR | O_NOFOLLOW | O_CLOEXEC, HIGH = 64, LOWEST = 3 };

int sd_fd_out_of_the_way(int fd)
{
    int high;

    if (fd < 0)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    if (high < 0 && fd < LOWEST)
        high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
    if (high < 0)
        return fd < LOWEST ? (close(fd), -1) : fd;
    close(fd);
    return high;
}

static int is_ours(const struct sd_guarded_fd *k, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == k->dev && st.st_ino == k->ino;
}

int sd_guarded_fd_create(struct sd_guarded_fd *k, char *take_path, int extra_flags)
{
    struct stat st;
    int why;

    *k = (struct sd_guarded_fd){ .path = take_path, .fd = -1 };
    k->fd = open(take_path, ALWAYS | O_CREAT | O_EXCL | extra_flags, 0600);
    if (k->fd < 0)
        goto failed;
    k->fd = sd_fd_out_of_the_way(k->fd);
    if (k->fd < 0 || fstat(k->fd, &st) < 0)
        goto failed;
    k->dev = st.st_dev;
    k->ino = st.st_ino;
    return 0;
failed:
    why = errno;
    if (k->fd >= 0)
        close(k->fd);
    sd_free(take_path);
    *k = (struct sd_guarded_fd){ .fd = -1 };
    return why;
}

void sd_guarded_fd_adopt(struct sd_guarded_fd *k, char *take_path, int take_fd)
{
    struct stat st = { 0 };

    *k = (struct sd_guarded_fd){ .path = take_path,
                                 .fd = sd_fd_out_of_the_way(take_fd) };
    if (fstat(k->fd, &st) == 0) {
        k->dev = st.st_dev;
        k->ino = st.st_ino;
    }
}

int sd_guarded_fd_fd(struct sd_guarded_fd *k, int extra_flags)
{
    if (k->fd >= 0 && is_ours(k, k->fd))
        return k->fd;
    /* The number is the program's now: it is not ours to close. */
    k->fd = sd_fd_out_of_the_way(open(k->path, ALWAYS | extra_flags));
    if (k->fd >= 0 && !is_ours(k, k->fd)) {
        close(k->fd);
        k->fd = -1;
        errno = ESTALE;
    }
    return k->fd;
}

void sd_guarded_fd_release(struct sd_guarded_fd *k)
{
    if (k->path && k->fd >= 0 && is_ours(k, k->fd))
        close(k->fd);
    sd_free(k->path);
    *k = (struct sd_guarded_fd){ .fd = -1 };
}
