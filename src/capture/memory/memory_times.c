/* SPDX-License-Identifier: MIT */
/* memory_times: the part of memory_capture that writes batches of timed statements: a
 * stream for each process, whose chunks each define what their points stand on. */
#include "capture/memory/memory_capture.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/define.h"
#include "capture/memory/memory_chunks.h"
#include "capture/time_batch.h"

enum {
    POINT_BYTES = sizeof(struct sd_rec_point) + SD_TIME_VALUES * sizeof(int64_t),
    DEFINITION_ROOM = 8192,
#ifdef SD_TINY
    POINTS_IN_CHUNK = 4,
#else
    POINTS_IN_CHUNK = (SD_CHUNK_RAW_MAX - DEFINITION_ROOM) / POINT_BYTES,
#endif
};

static const struct sd_metric_about metrics[] = {
#define SD_TIME_VALUE(field, unit, name, meaning)                                      \
    { name, SD_UNIT_##unit, SD_ADDS_LEVEL, meaning },
#include "capture/time_batch.def"
#undef SD_TIME_VALUE
    { "batch.set", SD_UNIT_COUNT, SD_ADDS_LEVEL,
      "processes of one number measured in turn, at the same time" },
};
_Static_assert(sizeof metrics / sizeof *metrics == SD_TIME_VALUES,
               "each value is a metric");
_Static_assert(sizeof(struct sd_time_batch) == SD_TIME_VALUES * sizeof(int64_t),
               "a batch is its time and all values but the set");

struct times_making {
    struct sd_making m;
    struct sd_buf chunk;
    struct sd_chunk_head head;
    uint32_t next_id, track, shape;
};

static void *put(struct times_making *t, enum sd_record_type type, size_t bytes)
{
    uint32_t len = sd_align8((uint32_t)bytes);
    struct sd_record *r = (void *)sd_buf_room(&t->chunk, len);

    if (!r)
        return NULL;
    memset(r, 0, len);
    *r = (struct sd_record){ (uint16_t)len, (uint8_t)type, (uint8_t)t->head.seq };
    t->chunk.n += len;
    return r;
}

static uint32_t define_string(struct times_making *t, const char *s)
{
    struct sd_rec_string *r = put(t, SD_REC_STRING, sizeof *r + strlen(s));

    if (r)
        sd_fill_string(r, t->next_id, s, strlen(s));
    return t->next_id++;
}

static uint32_t define_metric(struct times_making *t, const struct sd_metric_about *a)
{
    uint32_t name = define_string(t, a->name), meaning = define_string(t, a->meaning);
    struct sd_rec_metric *r = put(t, SD_REC_METRIC, sizeof *r);

    if (r) {
        r->id = t->next_id;
        r->unit = (uint16_t)a->unit;
        r->adds = (uint16_t)a->adds;
        r->name = name;
        r->meaning = meaning;
    }
    return t->next_id++;
}

static void define_all(struct times_making *t, uint64_t pid, uint64_t start)
{
    uint32_t ids[SD_TIME_VALUES], name;
    struct sd_rec_track *track;
    struct sd_rec_shape *shape;

    t->next_id = 1;
    name = define_string(t, "python");
    track = put(t, SD_REC_TRACK, sizeof *track);
    t->track = t->next_id++;
    if (track)
        sd_fill_track(track, t->track, SD_TRACK_PROCESS, 0, pid, start, name);
    for (int i = 0; i < SD_TIME_VALUES; i++)
        ids[i] = define_metric(t, &metrics[i]);
    shape = put(t, SD_REC_SHAPE, sizeof *shape + sizeof ids);
    t->shape = t->next_id++;
    if (shape) {
        shape->id = t->shape;
        shape->n = SD_TIME_VALUES;
        memcpy(shape->metrics, ids, sizeof ids);
    }
}

static void put_point(struct times_making *t, const struct sd_time_batch *b,
                      uint32_t set)
{
    struct sd_rec_point *r = put(t, SD_REC_POINT, POINT_BYTES);

    if (!r)
        return;
    r->shape = t->shape;
    r->track = t->track;
    r->time = b->at_ns;
#define SD_TIME_VALUE(field, unit, name, meaning)                                      \
    r->values[SD_TIME_AT_##field] = b->field;
#include "capture/time_batch.def"
#undef SD_TIME_VALUE
    r->values[SD_TIME_AT_set] = set;
    t->head.t0 = t->head.count++ ? t->head.t0 : b->at_ns;
    t->head.t1 = b->at_ns;
}

static void add_process(struct times_making *t, const struct sd_whole_times *of,
                        size_t i)
{
    const struct sd_time_batch *batches;
    uint64_t pid, start;
    uint32_t set;
    size_t n;

    of->process(of->of, i, &pid, &start, &set, &batches, &n);
    for (size_t from = 0, seq = 1; from < n; from += POINTS_IN_CHUNK, seq++) {
        size_t to = from + POINTS_IN_CHUNK < n ? from + POINTS_IN_CHUNK : n;

        t->head = (struct sd_chunk_head){ .type = SD_CHUNK_EVENTS,
                                          .stream = i + 1,
                                          .seq = (uint32_t)seq };
        sd_buf_clear(&t->chunk);
        define_all(t, pid, start);
        for (size_t k = from; k < to; k++)
            put_point(t, &batches[k], set);
        sd_assert(t->chunk.bad || t->chunk.n <= SD_CHUNK_RAW_MAX);
        if (t->chunk.bad)
            t->m.to->bad = true;
        else
            sd_making_add_as(&t->m, t->head, t->chunk.p, (uint32_t)t->chunk.n);
    }
}

/* When the first batch began; now without any. */
static uint64_t first_of(const struct sd_whole_times *of)
{
    uint64_t first = sd_clock_ns(), pid, start;
    const struct sd_time_batch *batches;
    uint32_t set;
    size_t n;

    for (size_t i = 0; i < of->n_processes; i++) {
        of->process(of->of, i, &pid, &start, &set, &batches, &n);
        if (n && batches[0].at_ns < first)
            first = batches[0].at_ns;
    }
    return first;
}

int sd_whole_times(const struct sd_whole_times *of, const struct sd_whole_how *how,
                   struct sd_buf *to)
{
    struct times_making t = { .m = { .to = to } };
    uint64_t first = first_of(of), now = sd_clock_ns(), real = sd_clock_real_ns();
    int rc = 0;

    sd_making_begin(&t.m, real - (now - first), first);
    if (how->command)
        rc = sd_making_add_command(&t.m, how->command);
    for (size_t i = 0; i < of->n_facts && rc == 0; i++)
        rc = sd_making_add_fact(&t.m, of->facts[i].key, of->facts[i].value);
    for (size_t i = 0; i < of->n_processes && rc == 0; i++)
        add_process(&t, of, i);
    sd_buf_release(&t.chunk);
    return sd_making_end(&t.m, real, now, rc);
}
