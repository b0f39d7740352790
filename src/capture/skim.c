/* SPDX-License-Identifier: MIT */
#include "capture/skim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/error.h"
#include "capture/source.h"

enum { AHEAD = 16 }; /* chunks */
#define SLICE_NS UINT64_C(1000000)
/* No capture is longer; what claims it has another clock. */
#define LONGEST_NS (UINT64_C(400) * 24 * 3600 * 1000000000)

/* Makes slices twice as long. */
static void fold(struct sd_skim *s)
{
    for (uint32_t i = 0; i < SD_SKIM_SLICES / 2; i++)
        s->events[i] = s->events[2 * i] + s->events[2 * i + 1];
    memset(s->events + SD_SKIM_SLICES / 2, 0, sizeof s->events / 2);
    s->n_slices = (s->n_slices + 1) / 2;
    s->slice_ns *= 2;
}

static void add(struct sd_skim *s, uint64_t from, uint64_t to, uint32_t n_events)
{
    uint32_t first, last;

    while (to / s->slice_ns >= SD_SKIM_SLICES)
        fold(s);
    first = (uint32_t)(from / s->slice_ns);
    last = (uint32_t)(to / s->slice_ns);
    sd_assert(first <= last && last < SD_SKIM_SLICES);
    for (uint32_t i = first; i <= last; i++)
        s->events[i] += (double)n_events / (last - first + 1);
    s->n_slices = s->n_slices > last + 1 ? s->n_slices : last + 1;
    s->lasted_ns = s->lasted_ns > to ? s->lasted_ns : to;
}

static void add_chunk(struct sd_skim *s, const struct sd_chunk_head *h, uint64_t zero)
{
    s->n_chunks++;
    s->n_events += h->count;
    if (h->type != SD_CHUNK_EVENTS || h->count == 0 || h->t0 < zero || h->t1 < h->t0 ||
        h->t1 - zero > LONGEST_NS)
        return;
    add(s, h->t0 - zero, h->t1 - zero, h->count);
}

static int read_preamble(struct sd_source *source, struct sd_preamble *preamble)
{
    const uint8_t *p = sd_source_at(source, 0, sizeof *preamble);

    if (!p)
        return sd_fail(SD_EFORMAT, "not a capture of Sonde");
    memcpy(preamble, p, sizeof *preamble);
    return sd_preamble_is_sound(preamble)
               ? 0
               : sd_fail(
                     SD_EFORMAT,
                     "its first 64 bytes are damaged, or it is not a capture of Sonde");
}

/* Chunks of a large file are nearly of one size, so heads further on are where the size
 * of this one leads.  A disk fetches many of them in the time of one. */
static void fetch_ahead(const struct sd_source *source,
                        const struct sd_source_chunk *found)
{
    uint64_t size = SD_CHUNK_HEAD + (uint64_t)found->head.stored_len;

    if (source->fd >= 0 && size > SD_CHUNK_RAW_MAX / 4)
        posix_fadvise(source->fd, (off_t)(source->base + found->at + AHEAD * size),
                      SD_CHUNK_HEAD, POSIX_FADV_WILLNEED);
}

static int skim(struct sd_source *source, struct sd_skim *s)
{
    struct sd_preamble preamble;
    struct sd_source_chunk found;
    struct sd_scan scan;
    int rc = read_preamble(source, &preamble);

    if (rc < 0)
        return rc;
    if (preamble.part_bytes > sizeof preamble && preamble.part_bytes < source->n)
        source->n = preamble.part_bytes;
    sd_scan_init(&scan, source, preamble.salt, sizeof preamble);
    scan.is_quick = true;
    while (sd_scan_next(&scan, &found)) {
        add_chunk(s, &found.head, preamble.created_mono_ns);
        fetch_ahead(source, &found);
    }
    return source->error ? sd_fail_errno(source->error, "cannot be read") : 0;
}

static int open_source(const char *path, struct sd_source *source)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return sd_fail_errno(errno, "cannot open %s", path);
    sd_source_of_fd(source, fd, 0, fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0);
    source->fill = SD_CHUNK_HEAD;
    return 0;
}

int sd_skim_check(const char *path)
{
    struct sd_preamble preamble;
    struct sd_source source;
    int rc = open_source(path, &source);

    if (rc < 0)
        return rc;
    rc = read_preamble(&source, &preamble);
    sd_source_release(&source);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}

int sd_skim_file(const char *path, struct sd_skim *s)
{
    struct sd_source source;
    int rc = open_source(path, &source);

    *s = (struct sd_skim){ .slice_ns = SLICE_NS };
    if (rc < 0)
        return rc;
    s->file_bytes = source.n;
    rc = skim(&source, s);
    sd_source_release(&source);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}
