/* SPDX-License-Identifier: MIT */
/* owner: appends whole chunks to x.sonde. */
#include "capture/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"

/* --- The file */

static int write_at(int fd, uint64_t at, struct iovec *v, int n)
{
    size_t left = 0;

    for (int i = 0; i < n; i++)
        left += v[i].iov_len;
    if (sd_live_size_allowed(at + left))
        return EFBIG;
    while (left > 0) {
        ssize_t done = pwritev(fd, v, n, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        at += (uint64_t)done;
        left -= (size_t)done;
        while (n > 0 && (size_t)done >= v->iov_len) {
            done -= (ssize_t)v->iov_len;
            v++;
            n--;
        }
        if (n > 0) {
            v->iov_base = (char *)v->iov_base + done;
            v->iov_len -= (size_t)done;
        }
    }
    return 0;
}

/* Writes behind the last whole chunk; cuts back what did not fit. */
int sd_capture_extend(struct sd_capture *c, const void *a, size_t n, const void *b,
                      size_t m)
{
    struct iovec v[2] = { { (void *)(uintptr_t)a, n }, { (void *)(uintptr_t)b, m } };
    int fd = sd_guarded_fd_fd(&c->file, 0);
    int why = fd < 0 ? errno : write_at(fd, c->size, v, m ? 2 : 1);

    if (why == 0) {
        c->size += n + m;
        return 0;
    }
    if (c->counts.write_error == 0)
        c->counts.write_error = why;
    /* If even this fails, readers find the piece and say that the file is cut; the
     * next chunk that fits is written over it. */
    if (fd >= 0 && ftruncate(fd, (off_t)c->size) < 0)
        return why;
    return why;
}

static int append_locked(struct sd_capture *c, struct sd_chunk_head *head,
                         const void *raw)
{
    const void *payload =
        sd_squeeze(&c->squeezer, c->is_hurried ? 0 : c->options.zstd_level, raw,
                   head->raw_len, head);
    int why;

    sd_assert(head->stored_len <= head->raw_len && head->raw_len <= SD_CHUNK_RAW_MAX);
    head->magic = SD_CHUNK_MAGIC;
    head->salt = c->salt;
    head->flags &= SD_CHUNK_ZSTD;
    head->crc = sd_chunk_sum(head, payload);
    why = sd_capture_extend(c, head, sizeof *head, payload, head->stored_len);
    if (why)
        return why;
    c->n_chunks++;
    c->counts.events += head->count;
    c->counts.lost += head->lost_before;
    c->counts.bytes_raw += head->raw_len;
    c->counts.bytes_stored += sizeof *head + head->stored_len;
    return 0;
}

int sd_capture_append(struct sd_capture *c, struct sd_chunk_head *head, const void *raw)
{
    int why;

    pthread_mutex_lock(&c->file_lock);
    why = append_locked(c, head, raw);
    pthread_mutex_unlock(&c->file_lock);
    return why;
}

static int append_next(struct sd_capture *c, struct sd_chunk_head *head,
                       const void *raw)
{
    int why;

    pthread_mutex_lock(&c->file_lock);
    head->seq = c->seq + 1;
    why = append_locked(c, head, raw);
    c->seq += why == 0;
    pthread_mutex_unlock(&c->file_lock);
    return why;
}

int sd_capture_append_own(struct sd_capture *c, enum sd_chunk_type type,
                          const void *raw, uint32_t n, uint32_t lost)
{
    struct sd_chunk_head head = { .type = (uint16_t)type,
                                  .raw_len = n,
                                  .lost_before = lost };

    return append_next(c, &head, raw);
}

int sd_capture_append_lost(struct sd_capture *c, uint32_t events, uint32_t tables,
                           int why)
{
    struct sd_chunk_head head = {
        .type = SD_CHUNK_LOST, .lost_before = events, .t0 = tables, .t1 = (uint64_t)why
    };

    return append_next(c, &head, NULL);
}

/* --- META */

static void add_record(struct sd_buf *b, uint8_t type, uint32_t len, uint8_t epoch)
{
    struct sd_record r = { (uint16_t)sd_align8(len), type, epoch };

    sd_assert(len <= SD_RECORD_MAX);
    sd_buf_add(b, &r, sizeof r);
}

static void add_meta(struct sd_buf *b, const char *key, const char *value,
                     uint8_t epoch)
{
    static const char zeros[8];
    uint32_t n = (uint32_t)strnlen(key, 1000), m = (uint32_t)strnlen(value, 32000);
    uint32_t len = (uint32_t)sizeof(struct sd_rec_meta) + n + m;

    add_record(b, SD_REC_META, len, epoch);
    sd_buf_u16(b, (uint16_t)n);
    sd_buf_u16(b, (uint16_t)m);
    sd_buf_add(b, key, n);
    sd_buf_add(b, value, m);
    sd_buf_add(b, zeros, sd_align8(len) - len);
}

static int append_buf(struct sd_capture *c, struct sd_buf *b)
{
    int why = b->bad ? ENOMEM
                     : sd_capture_append_own(c, SD_CHUNK_META, b->p, (uint32_t)b->n, 0);

    sd_buf_release(b);
    return why ? sd_fail_errno(why, "cannot write %s", c->file.path) : 0;
}

/* Each fact is a chunk at once: a process that is killed has its facts in the file. */
int sd_capture_meta(struct sd_capture *c, const char *key, const char *value)
{
    struct sd_buf b = { 0 };

    add_meta(&b, key, value, (uint8_t)(c->seq + 1));
    return append_buf(c, &b);
}

/* The first chunk: both clocks, and how safe what follows is. */
int sd_capture_append_first(struct sd_capture *c, uint64_t real_ns)
{
    struct sd_buf b = { 0 };
    char text[24];

    add_record(&b, SD_REC_CLOCK, sizeof(struct sd_rec_clock), 1);
    sd_buf_u32(&b, SD_CLOCK_MONOTONIC);
    sd_buf_u64(&b, c->created_ns);
    sd_buf_u64(&b, c->created_ns);
    snprintf(text, sizeof text, "%lu", real_ns);
    add_meta(&b, "capture.created_real_ns", text, 1);
    snprintf(text, sizeof text, "%lu", c->created_ns);
    add_meta(&b, "capture.created_mono_ns", text, 1);
    add_meta(&b, "capture.class", c->is_bell_mapped ? "mapped" : "written", 1);
    return append_buf(c, &b);
}
