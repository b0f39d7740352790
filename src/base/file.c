/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

/* Of names for new files. */
enum { N_DIGITS = 6, TRIES = 1000, ANOTHER = 0x9e3779 };

_Static_assert((1 << 4 * N_DIGITS) - 1 == 0xffffff,
               "as many digits as the mask leaves");
_Static_assert(ANOTHER % 2 == 1, "it comes to every number before it meets one again");

/* Maps the open file `fd`.  The map is private and read-only, but a file that is cut
 * short under it still raises SIGBUS when read past its new end; captures only grow,
 * and the program goes on (cli/cut_file.h). */
static int map_fd(struct sd_map *m, int fd, const char *path)
{
    struct stat st;
    void *p;

    if (fstat(fd, &st) < 0)
        return sd_fail_errno(errno, "cannot read %s", path);
    if (S_ISDIR(st.st_mode))
        return sd_fail(SD_EFORMAT, "%s is a directory, not a file", path);
    if (!S_ISREG(st.st_mode))
        return sd_fail(SD_EFORMAT, "%s is not a regular file", path);
    if (st.st_size == 0) /* mmap refuses to map nothing */
        return 0;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return sd_fail_errno(errno, "cannot read %s", path);
    *m = (struct sd_map){ p, (size_t)st.st_size };
    return 0;
}

int sd_map_file(struct sd_map *m, const char *path)
{
    /* Without O_NONBLOCK opening a pipe would wait for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int rc;

    *m = (struct sd_map){ 0 };
    if (fd < 0)
        return sd_fail_errno(errno, "cannot open %s", path);
    rc = map_fd(m, fd, path);
    close(fd);
    return rc;
}

void sd_map_release(struct sd_map *m)
{
    if (m->p)
        munmap((void *)(uintptr_t)m->p, m->n);
    *m = (struct sd_map){ 0 };
}

static bool has_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int n =
        snprintf(dir, sizeof dir, "%.*s.", slash ? (int)(slash - path) + 1 : 0, path);

    return n < (int)sizeof dir && access(dir, F_OK) == 0;
}

/* Where no files can be made at all (/proc), the system says that there is none. */
static int fail_to_create(int err, const char *path)
{
    if (err != ENOENT && err != ENOTDIR)
        return sd_fail_errno(err, "cannot create %s", path);
    if (has_directory(path))
        return sd_fail(SD_EACCESS,
                       "cannot create %s: its directory does not accept new files",
                       path);
    return sd_fail(SD_EABSENT, "cannot create %s: its directory does not exist", path);
}

static int fail_as_existing(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return sd_fail(SD_EEXISTS, "%s is a directory; name a file in it", path);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return sd_fail(SD_EEXISTS,
                       "%s is not a regular file, so sonde does not replace it; choose "
                       "another name",
                       path);
    return sd_fail(SD_EEXISTS, "%s already exists; choose another name or remove it",
                   path);
}

static int open_fresh(const char *path, enum sd_create_flags flags)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                flags & SD_CREATE_SHOWN ? 0666 : 0600);
}

static int create_new(const char *path, enum sd_create_flags flags, int *fd)
{
    *fd = open_fresh(path, flags);
    if (*fd >= 0)
        return 0;
    return errno == EEXIST ? fail_as_existing(path) : fail_to_create(errno, path);
}

/* A name for a new file in the directory of `path`, whose last digits the caller
 * chooses; the caller frees it. */
static char *name_beside(const char *path, char **digits)
{
    static const char start[] = ".sonde-";
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    char *name = sd_alloc(n + sizeof start + N_DIGITS);

    if (name) {
        memcpy(name, path, n);
        memcpy(name + n, start, sizeof start);
        *digits = name + n + sizeof start - 1;
    }
    return name;
}

/* mkostemp would do, but for the mode: what the umask leaves of 0666 is known to the
 * kernel alone.  A name that is there is never opened, so it need not be a secret. */
static int make_beside(const char *path, enum sd_create_flags flags, char **beside,
                       int *fd)
{
    uint64_t number = sd_clock_ns();
    char *digits = NULL;
    int err;

    *beside = name_beside(path, &digits);
    if (!*beside)
        return sd_no_memory();
    for (int i = 0; i < TRIES; i++) {
        snprintf(digits, N_DIGITS + 1, "%06x", (unsigned)(number & 0xffffff));
        *fd = open_fresh(*beside, flags);
        if (*fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
        number += ANOTHER;
    }
    err = errno;
    sd_free(*beside);
    *beside = NULL;
    return fail_to_create(err, path);
}

/* The new file is made under another name and renamed when it is whole.  Either the
 * rename succeeds or what was there stands untouched: removing it first would lose it
 * whenever the new one then cannot be made (no space, no right to the directory),
 * and truncating it would follow links and write into what others have open.  Where
 * there was none, nobody takes half a file for a whole one. */
int sd_file_create_beside(const char *path, enum sd_create_flags flags, char **beside,
                          int *fd)
{
    struct stat st;
    bool is_there = lstat(path, &st) == 0;
    int rc;

    *beside = NULL;
    *fd = -1;
    if (!is_there)
        return errno == ENOENT ? make_beside(path, flags, beside, fd)
                               : fail_to_create(errno, path);
    if (!(flags & SD_CREATE_OVER) || !S_ISREG(st.st_mode))
        return fail_as_existing(path);
    rc = make_beside(path, SD_CREATE_NEW, beside, fd);
    if (rc == 0 && flags & SD_CREATE_SHOWN)
        fchmod(*fd,
               st.st_mode & 0777); /* where that fails it stays the owner's alone */
    return rc;
}

/* Renames, but never over another file.  File systems that cannot (some over a network)
 * give it a second name instead, or, without such names, must do with a look. */
static int rename_to_new(const char *from, const char *to)
{
    struct stat st;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno == EEXIST || lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

int sd_file_place(const char *path, const char *beside, enum sd_create_flags flags)
{
    sd_assert(beside); /* only what was created is given its name */
    if (flags & SD_CREATE_OVER)
        return rename(beside, path) == 0
                   ? 0
                   : sd_fail_errno(errno, "cannot replace %s", path);
    if (rename_to_new(beside, path) == 0)
        return 0;
    return errno == EEXIST ? fail_as_existing(path) : fail_to_create(errno, path);
}

int sd_file_create(const char *path, enum sd_create_flags flags, int *fd)
{
    struct stat st;
    char *beside;
    int rc;

    if (!(flags & SD_CREATE_OVER) || lstat(path, &st) < 0)
        return create_new(path, flags, fd);
    rc = sd_file_create_beside(path, flags, &beside, fd);
    if (rc < 0)
        return rc;
    rc = sd_file_place(path, beside, flags);
    if (rc < 0) {
        unlink(beside);
        close(*fd);
        *fd = -1;
    }
    sd_free(beside);
    return rc;
}

/* Waits where someone set the descriptor non-blocking: a terminal is shared with
 * programs that do.  False when waiting failed. */
static bool wait_to_write(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

int sd_write_all(int fd, const void *p, size_t n)
{
    const uint8_t *at = p;

    while (n > 0) {
        ssize_t done = write(fd, at, n);

        if (done > 0) {
            at += done;
            n -= (size_t)done;
        } else if (done == 0) {
            errno = EIO; /* no device says this; without it we might turn for ever */
            return sd_fail_errno(errno, "cannot write");
        } else if (errno != EINTR && !(errno == EAGAIN && wait_to_write(fd))) {
            return sd_fail_errno(errno, "cannot write");
        }
    }
    return 0;
}

/* Reads to the end, whatever size the file claims: files of /proc claim 0. */
static int read_all(int fd, size_t limit, struct sd_buf *b)
{
    enum { STEP = 4096 };

    for (;;) {
        uint8_t *to = sd_buf_room(b, STEP + 1); /* one for the 0 */
        ssize_t done;

        if (!to)
            return sd_no_memory();
        done = read(fd, to, STEP);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return sd_fail_errno(errno, "cannot read");
        if (done == 0)
            return 0;
        b->n += (size_t)done;
        if (b->n > limit)
            return sd_fail(
                SD_EFULL,
                "the file is larger than %zu bytes, the most that can be read", limit);
    }
}

int sd_read_file(const char *path, size_t limit, char **p, size_t *n)
{
    struct sd_buf b = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int rc;

    *p = NULL;
    *n = 0;
    if (fd < 0)
        return sd_fail_errno(errno, "cannot open %s", path);
    rc = read_all(fd, limit, &b);
    close(fd);
    if (rc < 0) {
        sd_buf_release(&b);
        return rc == SD_ENOMEM ? rc : sd_fail_in(rc, "%s", path);
    }
    sd_assert(b.n < b.cap && b.n <= limit);
    b.p[b.n] = 0;
    *p = (char *)b.p;
    *n = b.n;
    return 0;
}

uint64_t sd_file_modified_ns(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_mtim.tv_sec * 1000000000u +
                                      (uint64_t)st.st_mtim.tv_nsec
                                : 0;
}
