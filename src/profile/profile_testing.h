/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_PROFILE_TESTING_H
#define SD_PROFILE_PROFILE_TESTING_H
/* profile_testing: captures made by hand, byte for byte, so that tests know every
 * number in them: which stream, which time, which id, lost chunks and all.  Times are
 * given from the capture's zero. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/test.h"
#include "capture/chunk.h"
#include "capture/record.h"
#include "profile/profile.h"

enum { SD_MAKER_MONO = 1000000000, SD_MAKER_SALT = 77 };
#define SD_MAKER_REAL ((uint64_t)1700000000 * 1000000000)

struct sd_maker {
    struct sd_buf file, records; /* records of the chunk at hand */
    struct sd_chunk_head head;
    uint64_t n_chunks, n_events;
    uint32_t next_id;
    char path[64]; /* once saved */
};

static inline void sd_maker_begin_at(struct sd_maker *m, uint64_t real_ns)
{
    struct sd_preamble p;

    *m = (struct sd_maker){ 0 };
    sd_preamble_fill(&p, SD_MAKER_SALT, real_ns, SD_MAKER_MONO);
    sd_buf_add(&m->file, &p, sizeof p);
}

static inline void sd_maker_begin(struct sd_maker *m)
{
    sd_maker_begin_at(m, SD_MAKER_REAL);
}

static inline void sd_maker_put_chunk(struct sd_maker *m, const void *p, size_t n)
{
    m->head.magic = SD_CHUNK_MAGIC;
    m->head.salt = SD_MAKER_SALT;
    m->head.raw_len = m->head.stored_len = (uint32_t)n;
    m->head.crc = sd_chunk_sum(&m->head, p);
    sd_buf_add(&m->file, &m->head, sizeof m->head);
    sd_buf_add(&m->file, p, n);
    m->n_chunks++;
}

static inline void sd_maker_end_chunk(struct sd_maker *m)
{
    if (m->records.n > 0) {
        m->n_events += m->head.count;
        sd_maker_put_chunk(m, m->records.p, m->records.n);
    }
    sd_buf_clear(&m->records);
}

/* What follows stands in this chunk; ids begin again. */
static inline void sd_maker_chunk(struct sd_maker *m, uint64_t stream, uint32_t seq)
{
    sd_maker_end_chunk(m);
    m->head =
        (struct sd_chunk_head){ .type = SD_CHUNK_EVENTS, .stream = stream, .seq = seq };
    m->next_id = 1;
}

/* The capture is complete; its bytes are in m->file. */
static inline void sd_maker_end(struct sd_maker *m, int32_t status)
{
    struct sd_end end = { .status = status };

    sd_maker_end_chunk(m);
    end.chunks = m->n_chunks;
    end.events = m->n_events;
    end.mono_ns = SD_MAKER_MONO;
    m->head = (struct sd_chunk_head){ .type = SD_CHUNK_END, .seq = 1 };
    sd_maker_put_chunk(m, &end, sizeof end);
    CHECK(!m->file.bad);
}

/* A record of `len` bytes, cleared; borrowed until the next. */
static inline void *sd_maker_record(struct sd_maker *m, enum sd_record_type type,
                                    size_t len)
{
    size_t whole = (len + 7) & ~(size_t)7;
    struct sd_record *r = (void *)sd_buf_room(&m->records, whole);

    CHECK(r && m->records.n + whole <= SD_CHUNK_RAW_MAX);
    memset(r, 0, whole);
    r->len = (uint16_t)whole;
    r->type = (uint8_t)type;
    r->epoch = (uint8_t)m->head.seq;
    m->records.n += whole;
    m->head.count += type >= SD_REC_OPEN;
    return r;
}

static inline uint32_t sd_maker_string_n(struct sd_maker *m, const char *s, size_t n)
{
    struct sd_rec_string *r =
        sd_maker_record(m, SD_REC_STRING, offsetof(struct sd_rec_string, text) + n);

    r->id = m->next_id++;
    r->n = (uint32_t)n;
    memcpy(r->text, s, n);
    return r->id;
}

static inline uint32_t sd_maker_string(struct sd_maker *m, const char *s)
{
    return sd_maker_string_n(m, s, strlen(s));
}

static inline uint32_t sd_maker_site(struct sd_maker *m, uint32_t parent, const char *s)
{
    uint32_t name = sd_maker_string(m, s);
    struct sd_rec_site *r = sd_maker_record(m, SD_REC_SITE, sizeof *r);

    r->id = m->next_id++;
    r->kind = SD_SITE_SECTION;
    r->name = name;
    r->parent = parent;
    return r->id;
}

/* A function of `file`, whose first line is `line`. */
static inline uint32_t sd_maker_function(struct sd_maker *m, const char *name,
                                         const char *file, uint32_t line)
{
    uint32_t name_id = sd_maker_string(m, name);
    uint32_t file_id = file ? sd_maker_string(m, file) : 0;
    struct sd_rec_site *r = sd_maker_record(m, SD_REC_SITE, sizeof *r);

    r->id = m->next_id++;
    r->kind = SD_SITE_FUNCTION;
    r->name = name_id;
    r->file = file_id;
    r->line = line;
    return r->id;
}

static inline uint32_t sd_maker_stack(struct sd_maker *m, uint32_t parent,
                                      uint32_t site, uint32_t line)
{
    struct sd_rec_stack *r = sd_maker_record(m, SD_REC_STACK, sizeof *r);

    r->id = m->next_id++;
    r->parent = parent;
    r->site = site;
    r->line = line;
    return r->id;
}

static inline uint32_t sd_maker_track(struct sd_maker *m, enum sd_track_kind kind,
                                      uint32_t parent, uint64_t number, const char *s)
{
    uint32_t name = s ? sd_maker_string(m, s) : 0;
    struct sd_rec_track *r = sd_maker_record(m, SD_REC_TRACK, sizeof *r);

    r->id = m->next_id++;
    r->kind = (uint16_t)kind;
    r->parent = parent;
    r->number = number;
    r->start = number * 10;
    r->name = name;
    return r->id;
}

static inline uint32_t sd_maker_metric(struct sd_maker *m, const char *s,
                                       enum sd_unit unit, enum sd_adds adds)
{
    uint32_t name = sd_maker_string(m, s);
    struct sd_rec_metric *r = sd_maker_record(m, SD_REC_METRIC, sizeof *r);

    r->id = m->next_id++;
    r->unit = (uint16_t)unit;
    r->adds = (uint16_t)adds;
    r->name = name;
    return r->id;
}

static inline uint32_t sd_maker_shape(struct sd_maker *m, const uint32_t *metrics,
                                      uint32_t n)
{
    struct sd_rec_shape *r = sd_maker_record(
        m, SD_REC_SHAPE, offsetof(struct sd_rec_shape, metrics) + 4 * n);

    r->id = m->next_id++;
    r->n = n;
    memcpy(r->metrics, metrics, 4 * n);
    return r->id;
}

static inline void sd_maker_open(struct sd_maker *m, uint32_t site, uint32_t track,
                                 uint64_t span, uint64_t from)
{
    struct sd_rec_open *r = sd_maker_record(m, SD_REC_OPEN, sizeof *r);

    r->site = site;
    r->track = track;
    r->span = span;
    r->time = SD_MAKER_MONO + from;
}

static inline void sd_maker_span(struct sd_maker *m, uint32_t site, uint32_t track,
                                 uint64_t span, uint64_t from, uint64_t to)
{
    struct sd_rec_span *r = sd_maker_record(m, SD_REC_SPAN, sizeof *r);

    r->site = site;
    r->track = track;
    r->span = span;
    r->from = SD_MAKER_MONO + from;
    r->to = SD_MAKER_MONO + to;
}

/* The same with values; flags are enum sd_span_flags. */
static inline void sd_maker_span_with(struct sd_maker *m, uint32_t site, uint32_t track,
                                      uint64_t from, uint64_t to, uint32_t shape,
                                      const int64_t *values, uint32_t n, uint16_t flags)
{
    struct sd_rec_span *r =
        sd_maker_record(m, SD_REC_SPAN, offsetof(struct sd_rec_span, values) + 8 * n);

    r->site = site;
    r->track = track;
    r->shape = (uint16_t)shape;
    r->flags = flags;
    r->from = SD_MAKER_MONO + from;
    r->to = SD_MAKER_MONO + to;
    if (n > 0) /* there may be no values to point at */
        memcpy(r->values, values, 8 * n);
}

static inline void sd_maker_point(struct sd_maker *m, uint32_t track, uint32_t shape,
                                  uint64_t time, const int64_t *values, uint32_t n)
{
    struct sd_rec_point *r =
        sd_maker_record(m, SD_REC_POINT, offsetof(struct sd_rec_point, values) + 8 * n);

    r->track = track;
    r->shape = shape;
    r->time = SD_MAKER_MONO + time;
    memcpy(r->values, values, 8 * n);
}

static inline void sd_maker_sample_with(struct sd_maker *m, uint32_t track,
                                        uint32_t stack, uint16_t flags, uint64_t time,
                                        uint32_t shape, const int64_t *values,
                                        uint32_t n)
{
    struct sd_rec_sample *r = sd_maker_record(
        m, SD_REC_SAMPLE, offsetof(struct sd_rec_sample, values) + 8 * n);

    r->track = track;
    r->stack = stack;
    r->shape = (uint16_t)shape;
    r->flags = flags;
    r->time = SD_MAKER_MONO + time;
    memcpy(r->values, values, 8 * n);
}

/* The metrics that the sampler writes. */
static inline uint32_t sd_maker_sample_shape(struct sd_maker *m)
{
    uint32_t metrics[3];

    metrics[0] = sd_maker_metric(m, "samples", SD_UNIT_COUNT, SD_ADDS_SUM);
    metrics[1] = sd_maker_metric(m, "wall", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    metrics[2] = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    return sd_maker_shape(m, metrics, 3);
}

/* `samples` of them, each of 10 ms wall and 8 ms CPU; no CPU when idle. */
static inline void sd_maker_sample(struct sd_maker *m, uint32_t track, uint32_t stack,
                                   uint16_t flags, uint64_t time, uint32_t shape,
                                   int64_t samples)
{
    int64_t values[] = { samples, samples * 10000000,
                         flags & SD_SAMPLE_IDLE ? 0 : samples * 8000000 };

    sd_maker_sample_with(m, track, stack, flags, time, shape, values, 3);
}

static inline void sd_maker_exit(struct sd_maker *m, uint32_t track, uint64_t time,
                                 int32_t status)
{
    struct sd_rec_exit *r = sd_maker_record(m, SD_REC_EXIT, sizeof *r);

    r->track = track;
    r->time = SD_MAKER_MONO + time;
    r->status = status;
}

static inline void sd_maker_meta(struct sd_maker *m, const char *key, const char *value)
{
    struct sd_rec_meta *r = sd_maker_record(m, SD_REC_META,
                                            offsetof(struct sd_rec_meta, text) +
                                                strlen(key) + strlen(value));

    r->key_n = (uint16_t)strlen(key);
    r->value_n = (uint16_t)strlen(value);
    memcpy(r->text, key, r->key_n);
    memcpy(r->text + r->key_n, value, r->value_n);
}

static inline void sd_maker_note(struct sd_maker *m, unsigned kind, const char *text)
{
    struct sd_rec_note *r = sd_maker_record(
        m, SD_REC_NOTE, offsetof(struct sd_rec_note, text) + strlen(text));

    r->kind = (uint16_t)kind;
    r->n = (uint16_t)strlen(text);
    r->time = SD_MAKER_MONO;
    memcpy(r->text, text, r->n);
}

static inline int sd_maker_try(const struct sd_maker *m, const struct sd_filter *filter,
                               struct sd_profile **p)
{
    struct sd_reader *r = NULL;
    int rc;

    *p = NULL;
    rc = sd_reader_open_bytes(m->file.p, m->file.n, &r);
    if (rc == 0)
        rc = sd_profile_load_reader(r, filter, p);
    sd_reader_free(r);
    return rc;
}

static inline struct sd_profile *sd_maker_load(const struct sd_maker *m,
                                               const struct sd_filter *filter)
{
    struct sd_profile *p;

    CHECK(sd_maker_try(m, filter, &p) == 0);
    return p;
}

/* As a file, removed by sd_maker_release. */
static inline const char *sd_maker_save(struct sd_maker *m)
{
    int fd;

    snprintf(m->path, sizeof m->path, "/tmp/sonde-test-XXXXXX");
    fd = mkstemp(m->path);
    CHECK(fd >= 0 && sd_write_all(fd, m->file.p, m->file.n) == 0);
    close(fd);
    return m->path;
}

/* A new name for a file of this test; the file is not made. */
static inline void sd_maker_name(char path[32])
{
    int fd;

    strcpy(path, "/tmp/sonde-test-XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    unlink(path);
}

/* What a file with these bytes is. */
static inline int sd_maker_load_bytes(const char *path, const uint8_t *p, size_t n,
                                      struct sd_profile **out)
{
    int fd, rc = sd_file_create(path, SD_CREATE_OVER, &fd);

    CHECK(rc == 0 && sd_write_all(fd, p, n) == 0);
    close(fd);
    return sd_profile_load(path, NULL, out);
}

static inline void sd_maker_release(struct sd_maker *m)
{
    if (*m->path)
        unlink(m->path);
    sd_buf_release(&m->file);
    sd_buf_release(&m->records);
}

/* The totals of a path, over all tracks; NULL: none.  Only for paths on one track. */
static inline const struct sd_span_total *sd_maker_total(const struct sd_profile *p,
                                                         const char *path)
{
    for (size_t i = 0; i < p->n_spans; i++)
        if (strcmp(p->sites[p->spans[i].site.at].path, path) == 0)
            return &p->spans[i];
    return NULL;
}
#endif
