/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_GUARDED_FD_H
#define SD_CAPTURE_GUARDED_FD_H
/* guarded_fd: keeps a file descriptor usable in a program that may close it.
 *
 * Programs close ranges of descriptors and open files under the same numbers.  So the
 * device and inode are remembered and looked at before each use; when they are not
 * ours any more, the file is opened again by its absolute name. */
#include <sys/types.h>

struct sd_guarded_fd { /* path NULL is none */
    char *path;        /* absolute; owned */
    int fd;
    dev_t dev;
    ino_t ino;
};

/* Makes the file new (0600, O_EXCL) and keeps it.  `path` becomes ours also on
 * failure.  0 or an errno. */
int sd_guarded_fd_create(struct sd_guarded_fd *k, char *take_path, int extra_flags);
/* Keeps a file that is open already; `take_path` and `take_fd` become ours. */
void sd_guarded_fd_adopt(struct sd_guarded_fd *k, char *take_path, int take_fd);
/* A descriptor that is this file for certain, or -1 with errno. */
int sd_guarded_fd_fd(struct sd_guarded_fd *k, int extra_flags);
/* Closes it if it is still ours. */
void sd_guarded_fd_release(struct sd_guarded_fd *k);
/* Moves a descriptor above those that programs count on, and out of 0 to 2. */
int sd_fd_out_of_the_way(int fd);
#endif
