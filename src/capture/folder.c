/* SPDX-License-Identifier: MIT */
#include "capture/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"

static bool read_at(int fd, uint64_t at, void *to, size_t n)
{
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Follows no link, waits for no pipe, takes regular files only. */
static int open_file(const char *dir, const char *name, int flags)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int sd_folder_bell(const char *dir, struct sd_bell *bell)
{
    int fd = open_file(dir, "capture", O_RDONLY);
    bool is_read;

    if (fd < 0)
        return SD_EABSENT;
    is_read = read_at(fd, 0, bell, sizeof *bell);
    close(fd);
    return is_read && sd_bell_is_sound(bell) ? 0 : SD_EFORMAT;
}

int sd_folder_walk(const char *dir, sd_folder_each *each, void *of)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    struct sd_live_name name;
    int rc = 0;

    if (!d)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : sd_fail_errno(errno, "cannot list %s", dir);
    while (rc == 0 && (entry = readdir(d)))
        if (sd_live_name_read(entry->d_name, &name))
            rc = each(of, &name);
    closedir(d);
    return rc;
}

int sd_folder_open(const char *dir, const struct sd_live_name *name, bool to_write)
{
    char text[SD_LIVE_NAME_MAX];

    return open_file(dir, sd_live_name_write(text, name), to_write ? O_RDWR : O_RDONLY);
}

static void unlink_text(const char *dir, const char *text)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", dir, text) < (int)sizeof path)
        unlink(path);
}

void sd_folder_unlink(const char *dir, const struct sd_live_name *name)
{
    char text[SD_LIVE_NAME_MAX];

    unlink_text(dir, sd_live_name_write(text, name));
}

static int unlink_each(void *dir, const struct sd_live_name *name)
{
    sd_folder_unlink(dir, name);
    return 0;
}

bool sd_folder_remove(const char *dir)
{
    sd_folder_walk(dir, unlink_each, (void *)(uintptr_t)dir);
    unlink_text(dir, "capture");
    return rmdir(dir) == 0 || errno == ENOENT;
}

int sd_live_in_refresh(struct sd_live_in *in, uint64_t salt)
{
    struct sd_live_head now;

    if (!read_at(in->fd, 0, &now, sizeof now) || !sd_live_head_is_sound(&now, salt) ||
        now.big_slots > now.max_slots)
        return SD_EFORMAT;
    in->head = now;
    return 0;
}

int sd_live_in_open(struct sd_live_in *in, const char *dir,
                    const struct sd_live_name *name, uint64_t salt, bool to_write)
{
    int rc;

    *in = (struct sd_live_in){ .name = *name };
    in->fd = sd_folder_open(dir, name, to_write);
    if (in->fd < 0)
        return errno == ENOENT ? SD_EABSENT : SD_EIO;
    rc = sd_live_in_refresh(in, salt);
    if (rc < 0)
        sd_live_in_close(in);
    return rc;
}

void sd_live_in_close(struct sd_live_in *in)
{
    if (in->fd >= 0)
        close(in->fd);
    in->fd = -1;
}

bool sd_live_in_is_final(const struct sd_live_in *in)
{
    struct sd_who who = { in->head.pid, in->head.start, in->head.pid_ns };

    return in->head.has_left || !sd_who_may_live(&who);
}

bool sd_live_in_is_alive(const struct sd_live_in *in)
{
    struct sd_who who = { in->head.pid, in->head.start, in->head.pid_ns };

    return !in->head.has_left && sd_who_lives(&who);
}

bool sd_live_in_slot(const struct sd_live_in *in, uint32_t i, struct sd_slot *slot)
{
    return i < in->head.max_slots &&
           read_at(in->fd, sd_slot_offset(in->head.big_slots, i), slot, sizeof *slot) &&
           slot->magic == SD_SLOT_MAGIC &&
           slot->half_bytes == sd_slot_half_bytes(in->head.big_slots, i);
}

/* Did the half keep its contents while they were read?  More may have been added. */
static bool is_same_half(const struct sd_half *was, const struct sd_half *is)
{
    return is->seq == was->seq && is->state != SD_HALF_FREE &&
           is->committed >= was->committed;
}

static const struct sd_record *last_record(const uint8_t *buf, uint32_t whole)
{
    const struct sd_record *r = NULL;

    for (uint32_t at = 0; at < whole; at += r->len)
        r = (const void *)(buf + at);
    return r;
}

/* A run (log.h) that is ended gives back what it did not use: who copied the half with
 * the length of before has zeros behind the run, and who is killed in the middle of it
 * leaves them.  Behind anything else zeros are pages that never came to the disk. */
static bool is_unused_of_run(const uint8_t *buf, uint32_t whole, uint32_t n)
{
    const struct sd_record *last = last_record(buf, whole);

    if (!last || (last->type != SD_REC_CALLS && last->type != SD_REC_ALLOC))
        return false;
    while (whole < n && buf[whole] == 0)
        whole++;
    return whole == n;
}

int sd_live_in_half(const struct sd_live_in *in, uint32_t i, const struct sd_slot *slot,
                    int half, uint8_t *buf, struct sd_chunk_head *head,
                    uint32_t *bad_bytes)
{
    const struct sd_half *h = &slot->halves[half];
    uint32_t n = h->committed, whole, count, seq = h->seq;
    uint64_t at = sd_slot_offset(in->head.big_slots, i) + SD_PAGE +
                  (uint64_t)half * slot->half_bytes;
    struct sd_slot again;

    sd_assert(half == 0 || half == 1);
    _Static_assert((int)SD_BIG_HALF <= (int)SD_CHUNK_RAW_MAX, "buf holds any half");
    *bad_bytes = 0;
    if (h->state == SD_HALF_FREE || n == 0)
        return 0;
    if (n > slot->half_bytes) {
        *bad_bytes = slot->half_bytes;
        return 0;
    }
    if (!read_at(in->fd, at, buf, n) || !sd_live_in_slot(in, i, &again)) {
        *bad_bytes = n;
        return SD_EIO;
    }
    if (!is_same_half(h, &again.halves[half]))
        return SD_ETORN;
    whole = sd_records_walk(buf, n, (uint8_t)seq, &count);
    if (whole < n && !is_unused_of_run(buf, whole, n)) {
        /* The next record may have begun there just now, and end behind the copy. */
        if (again.halves[half].committed != n)
            return SD_ETORN;
        *bad_bytes = n - whole;
    }
    *head = (struct sd_chunk_head){
        .magic = SD_CHUNK_MAGIC,
        .type =
            (uint16_t)(h->type == SD_CHUNK_ALLOC ? SD_CHUNK_ALLOC : SD_CHUNK_EVENTS),
        .salt = in->head.salt,
        .stream = slot->stream,
        .seq = seq,
        .raw_len = whole,
        .stored_len = whole,
        .count = count,
        .t0 = h->t0,
        .t1 = h->t1,
        .lost_before = h->state == SD_HALF_FULL ? h->lost_before : slot->lost,
    };
    /* Overwritten by the program: no more than there is place for, or its count is too.
     */
    if (h->state == SD_HALF_FULL && h->count > count &&
        h->count - count <= (n - whole) / sizeof(uint64_t))
        head->lost_before += h->count - count;
    return 1;
}

static bool write_word(const struct sd_live_in *in, uint64_t at, uint32_t word)
{
    return pwrite(in->fd, &word, sizeof word, (off_t)at) == sizeof word;
}

int sd_live_in_free_half(const struct sd_live_in *in, uint32_t i,
                         const struct sd_slot *slot, int half)
{
    uint64_t base = sd_slot_offset(in->head.big_slots, i);
    uint64_t state = base + offsetof(struct sd_slot, halves) +
                     (uint64_t)half * sizeof(struct sd_half) +
                     offsetof(struct sd_half, state);

    sd_assert(half == 0 || half == 1);
    if (slot->halves[half].state == SD_HALF_FILLING &&
        !write_word(in, base + offsetof(struct sd_slot, lost), 0))
        return SD_EIO;
    return write_word(in, state, SD_HALF_FREE) ? 0 : SD_EIO;
}

uint32_t sd_slot_stray_losses(const struct sd_slot *slot)
{
    for (int half = 0; half < 2; half++)
        if (slot->halves[half].state == SD_HALF_FILLING && slot->halves[half].committed)
            return 0;
    return slot->lost;
}
