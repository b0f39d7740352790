/* SPDX-License-Identifier: MIT */
#include "capture/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "capture/live.h"

void sd_spill_init(struct sd_spill *s, char *take_path, _Atomic uint64_t *written)
{
    *s = (struct sd_spill){ .path = take_path,
                            .file = { .fd = -1 },
                            .written = written };
    pthread_mutex_init(&s->lock, NULL);
}

static int open_file(struct sd_spill *s)
{
    char *path;
    int fd;

    if (!s->file.path) {
        path = sd_strdup(s->path);
        if (!path)
            return -ENOMEM;
        fd = sd_guarded_fd_create(&s->file, path, O_APPEND);
        if (fd != 0)
            return -fd;
    }
    fd = sd_guarded_fd_fd(&s->file, O_APPEND);
    return fd >= 0 ? fd : -errno;
}

/* All of it or an errno; `size` is what the file has now. */
static int append(int fd, uint64_t size, struct iovec *v)
{
    size_t left = v[0].iov_len + v[1].iov_len;
    struct iovec *at = v;
    int n = 2, why = sd_live_size_allowed(size + left);

    while (why == 0 && left > 0) {
        ssize_t done = writev(fd, at, n);

        if (done <= 0) {
            why = done == 0 ? EIO : errno == EINTR ? 0 : errno;
            continue;
        }
        left -= (size_t)done;
        if (n == 2 && (size_t)done >= at->iov_len) {
            done -= (ssize_t)at->iov_len;
            at++;
            n--;
        }
        at->iov_base = (char *)at->iov_base + done;
        at->iov_len -= (size_t)done;
    }
    return why;
}

static int write_locked(struct sd_spill *s, struct sd_chunk_head *head,
                        const void *payload)
{
    struct iovec v[2] = { { head, sizeof *head },
                          { (void *)(uintptr_t)payload, head->stored_len } };
    int fd = open_file(s), why;
    struct stat st;

    if (fd < 0)
        return -fd;
    if (fstat(fd, &st) < 0)
        return errno;
    why = append(fd, (uint64_t)st.st_size, v);
    /* What remains of a chunk after a failed cut is found by readers as damage. */
    if (why && ftruncate(fd, st.st_size) < 0)
        return errno;
    return why;
}

int sd_spill_write(struct sd_spill *s, struct sd_chunk_head *head, const void *payload)
{
    int kept = errno, why;

    sd_assert(head->stored_len == head->raw_len); /* producers do not compress */
    head->crc = sd_chunk_sum(head, payload);
    pthread_mutex_lock(&s->lock);
    why = write_locked(s, head, payload);
    pthread_mutex_unlock(&s->lock);
    if (why == 0 && s->written)
        atomic_fetch_add_explicit(s->written, sizeof *head + head->stored_len,
                                  memory_order_relaxed);
    errno = kept;
    return why;
}

void sd_spill_release(struct sd_spill *s)
{
    sd_guarded_fd_release(&s->file);
    sd_free(s->path);
    s->path = NULL;
}
