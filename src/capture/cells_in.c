/* SPDX-License-Identifier: MIT */
#include "capture/cells_in.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "capture/cells.h"
#include "capture/reader.h"

/* Bytes of a segment that hold whole cells or records, or 0. */
static uint32_t whole_bytes(const struct sd_segment *s, uint32_t n, const uint8_t *p,
                            uint8_t epoch)
{
    uint32_t n_events;

    if (s->type == SD_CHUNK_DEFS)
        return sd_records_walk(p, n, epoch, &n_events);
    if (s->type != SD_CHUNK_CELLS || s->cell_bytes == 0 || s->cell_bytes % 8)
        return 0;
    return n - n % s->cell_bytes;
}

bool sd_cells_in_segment(const struct sd_live_in *in, uint32_t i, uint8_t *buf,
                         struct sd_chunk_head *head)
{
    const struct sd_who who = { in->head.pid, in->head.start, in->head.pid_ns };
    const off_t at = SD_PAGE + (off_t)i * SD_SEGMENT;
    struct sd_segment s;
    uint32_t n;

    _Static_assert((int)SD_SEGMENT <= (int)SD_CHUNK_RAW_MAX, "buf holds any segment");
    if (i >= SD_MAX_SEGMENTS || pread(in->fd, &s, sizeof s, at) != sizeof s ||
        s.magic != SD_SEGMENT_MAGIC || s.used > SD_SEGMENT - SD_SEGMENT_HEAD)
        return false;
    n = s.used;
    if (pread(in->fd, buf + sizeof s, n, at + (off_t)sizeof s) != (ssize_t)n)
        return false;
    n = whole_bytes(&s, n, buf + sizeof s, (uint8_t)(i + 1));
    if (n == 0)
        return false;
    if (s.type == SD_CHUNK_CELLS) {
        s.used = n;
        memcpy(buf, &s, sizeof s);
        n += (uint32_t)sizeof s;
    } else {
        memmove(buf, buf + sizeof s, n);
    }
    sd_assert(n <= SD_SEGMENT);
    *head = (struct sd_chunk_head){ .magic = SD_CHUNK_MAGIC,
                                    .type = s.type,
                                    .salt = in->head.salt,
                                    .stream = sd_live_stream_of(&who, in->head.number,
                                                                SD_CELLS_SLOT),
                                    .seq = i + 1,
                                    .raw_len = n,
                                    .stored_len = n };
    return true;
}

bool sd_cells_of_chunk(const struct sd_chunk_view *view, struct sd_cells_view *out)
{
    const struct sd_segment *s = (const void *)view->p;

    if (view->type != SD_CHUNK_CELLS || view->n < sizeof *s ||
        s->magic != SD_SEGMENT_MAGIC || s->cell_bytes == 0 || s->cell_bytes % 8 ||
        s->used > view->n - sizeof *s)
        return false;
    *out = (struct sd_cells_view){ .kind = s->kind,
                                   .cell_bytes = s->cell_bytes,
                                   .n = s->used / s->cell_bytes,
                                   .first = s->first,
                                   .cells = view->p + sizeof *s };
    return true;
}
