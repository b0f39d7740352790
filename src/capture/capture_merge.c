/* SPDX-License-Identifier: MIT */
#include "capture/capture_merge.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/chunk.h"
#include "capture/gather.h"

enum { ZSTD_LEVEL = 3 };

struct part {
    uint64_t at; /* in the file */
    struct sd_preamble preamble;
};

struct sd_capture_merge {
    char *path;   /* owned */
    char *beside; /* owned; what is written instead, and takes its name at the end */
    enum sd_create_flags create;
    int fd;
    uint64_t n_bytes;
    struct part *parts; /* owned */
    size_t n, cap;
    struct sd_squeezer squeezer;
};

static void free_merged(struct sd_capture_merge *m)
{
    if (m->fd >= 0)
        close(m->fd);
    sd_squeezer_release(&m->squeezer);
    sd_free(m->parts);
    sd_free(m->beside);
    sd_free(m->path);
    sd_free(m);
}

int sd_capture_merge_create(const char *path, enum sd_create_flags create,
                            struct sd_capture_merge **out)
{
    struct sd_capture_merge *m = sd_zalloc(sizeof *m);
    int rc;

    *out = NULL;
    if (!m)
        return sd_no_memory();
    m->fd = -1;
    m->create = create;
    m->path = sd_strdup(path);
    rc = m->path ? sd_file_create_beside(path, create, &m->beside, &m->fd)
                 : sd_no_memory();
    if (rc < 0) {
        free_merged(m);
        return rc;
    }
    *out = m;
    return 0;
}

static int put(struct sd_capture_merge *m, const void *p, size_t n)
{
    if (sd_write_all(m->fd, p, n) < 0)
        return sd_fail_errno(errno, "cannot write %s", m->path);
    m->n_bytes += n;
    return 0;
}

static int put_chunk(struct sd_capture_merge *m, struct sd_chunk_head *h,
                     const void *payload)
{
    int rc;

    h->crc = sd_chunk_sum(h, payload);
    rc = put(m, h, sizeof *h);
    return rc < 0 ? rc : put(m, payload, h->stored_len);
}

static int put_view(struct sd_capture_merge *m, const struct sd_reader *r,
                    const struct sd_chunk_view *v)
{
    struct sd_chunk_head h = { .magic = SD_CHUNK_MAGIC,
                               .type = v->type,
                               .salt = r->salt,
                               .stream = v->stream,
                               .seq = v->seq,
                               .count = v->count,
                               .t0 = v->t0,
                               .t1 = v->t1,
                               .lost_before = v->lost_before };
    const void *payload = sd_squeeze(&m->squeezer, ZSTD_LEVEL, v->p, v->n, &h);

    return put_chunk(m, &h, payload);
}

/* Chunks that hold no records (LOST) are not handed out by the reader. */
static int put_bare(struct sd_capture_merge *m, const struct sd_reader *r)
{
    int rc = 0;

    for (size_t i = 0; i < r->refs.n && rc == 0; i++) {
        struct sd_chunk_head h = r->refs.at[i].head;

        if (h.type == SD_CHUNK_LOST && h.raw_len == 0)
            rc = put_chunk(m, &h, NULL);
    }
    return rc;
}

static uint64_t less(uint64_t from, uint64_t n) { return from > n ? from - n : 0; }

/* What only the files of a live folder tell of: there is none beside a merged file. */
static int put_stray_losses(struct sd_capture_merge *m, const struct sd_reader *r)
{
    struct sd_chunk_head h = { .magic = SD_CHUNK_MAGIC,
                               .type = SD_CHUNK_LOST,
                               .salt = r->salt,
                               .t1 = (uint64_t)r->health.lost_tables_why };
    uint64_t events = r->health.lost_events, tables = r->health.lost_tables;

    for (size_t i = 0; i < r->refs.n; i++) {
        const struct sd_chunk_head *of = &r->refs.at[i].head;

        events = less(events, of->lost_before);
        if (of->type == SD_CHUNK_LOST)
            tables = less(tables, of->t0);
        if (of->stream == 0 && of->seq > h.seq)
            h.seq = of->seq;
    }
    if (events == 0 && tables == 0)
        return 0;
    h.seq++;
    h.lost_before = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
    h.t0 = tables;
    return put_chunk(m, &h, NULL);
}

/* How it ended, with the number of chunks that there were then: fewer are here where
 * some were missing. */
static int put_end(struct sd_capture_merge *m, const struct sd_reader *r)
{
    struct sd_chunk_head h = { .magic = SD_CHUNK_MAGIC,
                               .type = SD_CHUNK_END,
                               .salt = r->salt,
                               .seq = UINT32_MAX,
                               .raw_len = sizeof r->end,
                               .stored_len = sizeof r->end };

    return r->health.is_ended ? put_chunk(m, &h, &r->end) : 0;
}

static int put_capture(struct sd_capture_merge *m, struct sd_reader *r,
                       const struct sd_preamble *preamble)
{
    struct sd_chunk_view view;
    int rc = put(m, preamble, sizeof *preamble);

    sd_reader_rewind(r);
    while (rc == 0 && (rc = sd_reader_next(r, &view)) == 1)
        rc = put_view(m, r, &view);
    if (rc == 0)
        rc = put_bare(m, r);
    if (rc == 0)
        rc = put_stray_losses(m, r);
    return rc < 0 ? rc : put_end(m, r);
}

static bool has(const struct sd_capture_merge *m, const struct sd_reader *r)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct sd_preamble *p = &m->parts[i].preamble;

        if (p->salt == r->salt && p->created_real_ns == r->health.created_real_ns &&
            p->created_mono_ns == r->health.created_mono_ns)
            return true;
    }
    return false;
}

int sd_capture_merge_add(struct sd_capture_merge *m, struct sd_reader *r, bool *is_new)
{
    struct part *grown;
    struct part part = { .at = m->n_bytes };
    int rc;

    *is_new = !has(m, r);
    if (!*is_new)
        return 0;
    grown = sd_grow_array(m->parts, &m->cap, m->n + 1, sizeof *m->parts);
    if (!grown)
        return sd_no_memory();
    m->parts = grown;
    sd_preamble_fill(&part.preamble, r->salt, r->health.created_real_ns,
                     r->health.created_mono_ns);
    rc = put_capture(m, r, &part.preamble);
    if (rc < 0)
        return rc;
    part.preamble.part_bytes = m->n_bytes - part.at;
    sd_assert(m->n < m->cap && part.preamble.part_bytes >= sizeof part.preamble);
    m->parts[m->n++] = part;
    return 0;
}

/* Only now is it known how many follow each. */
static int write_preambles(struct sd_capture_merge *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct sd_preamble *p = &m->parts[i].preamble;

        p->n_after = (uint32_t)(m->n - 1 - i);
        sd_preamble_sum(p);
        if (pwrite(m->fd, p, sizeof *p, (off_t)m->parts[i].at) != sizeof *p)
            return sd_fail_errno(errno, "cannot write %s", m->path);
    }
    return 0;
}

/* Only now is there a file of that name, or is one replaced: it may be one of those
 * that were merged, and it stays when one of them cannot be read. */
static int close_file(struct sd_capture_merge *m)
{
    int fd = m->fd;

    sd_assert(fd >= 0 && m->beside);
    m->fd = -1;
    if (close(fd) < 0)
        return sd_fail_errno(errno, "cannot write %s", m->path);
    return sd_file_place(m->path, m->beside, m->create);
}

int sd_capture_merge_finish(struct sd_capture_merge *m)
{
    int rc = write_preambles(m);

    if (rc == 0)
        rc = close_file(m);
    if (rc < 0)
        sd_capture_merge_abandon(m);
    else
        free_merged(m);
    return rc;
}

void sd_capture_merge_abandon(struct sd_capture_merge *m)
{
    if (!m)
        return;
    unlink(m->beside);
    free_merged(m);
}
