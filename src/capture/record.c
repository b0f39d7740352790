/* SPDX-License-Identifier: MIT */
#include "capture/record.h"

#include "base/assert.h"

/* Lengths are multiples of 8, and a type is one byte. */
#define RECORD(name, value, type, meaning)                                             \
    _Static_assert(sizeof(struct type) % 8 == 0 && (value) > 0 && (value) < 256,       \
                   "on disk: " #name);
#include "capture/records.def"
#undef RECORD
_Static_assert((int)SD_REC_OPEN >= (int)SD_REC_FIRST_EVENT &&
                   (int)SD_REC_MODEL < (int)SD_REC_FIRST_EVENT,
               "definitions and facts are below, events from there on");
_Static_assert(offsetof(struct sd_rec_note, text) == 20, "on disk");
_Static_assert(sizeof(struct sd_open_call) == 16, "on disk");
_Static_assert(sizeof(struct sd_rec_string) + SD_STRING_MAX <= SD_RECORD_MAX,
               "the longest text is a record");

/* The bytes that each type needs before its variable part; 0 for unknown types. */
static uint32_t fixed_bytes(uint8_t type)
{
    switch (type) {
#define RECORD(name, value, type, meaning)                                             \
    case value:                                                                        \
        return (uint32_t)sizeof(struct type);
#include "capture/records.def"
#undef RECORD
    }
    return 0;
}

/* The bytes that the record's own counts say it has; 64 bits, so that no count from a
 * stranger can wrap around. */
static uint64_t claimed_bytes(const struct sd_record *r)
{
    const void *p = r;

    switch (r->type) {
    case SD_REC_STRING:
        return offsetof(struct sd_rec_string, text) +
               (uint64_t)((const struct sd_rec_string *)p)->n;
    case SD_REC_SHAPE:
        return offsetof(struct sd_rec_shape, metrics) +
               4 * (uint64_t)((const struct sd_rec_shape *)p)->n;
    case SD_REC_SIZE:
        return offsetof(struct sd_rec_size, dims) +
               sizeof(int64_t) * (uint64_t)((const struct sd_rec_size *)p)->n_dims;
    case SD_REC_META: {
        const struct sd_rec_meta *m = p;
        return offsetof(struct sd_rec_meta, text) + (uint64_t)m->key_n + m->value_n;
    }
    case SD_REC_NOTE:
        return offsetof(struct sd_rec_note, text) +
               (uint64_t)((const struct sd_rec_note *)p)->n;
    case SD_REC_MODEL:
        return offsetof(struct sd_rec_model, bytes) +
               (uint64_t)((const struct sd_rec_model *)p)->n;
    case SD_REC_CALLS_FROM:
        return offsetof(struct sd_rec_calls_from, open) +
               sizeof(struct sd_open_call) *
                   (uint64_t)((const struct sd_rec_calls_from *)p)->n;
    }
    return 0;
}

bool sd_record_is_sound(const struct sd_record *r)
{
    return r->len >= fixed_bytes(r->type) && r->len >= claimed_bytes(r);
}

uint32_t sd_calls_n(const struct sd_rec_calls *r)
{
    const uint32_t *at = r->units, *end = sd_record_calls_end(r);
    struct sd_call_long_event told;
    uint32_t n = 0;

    while ((at = sd_record_call_read(at, end, &told)))
        n++;
    return n;
}

/* Most events are a record each. */
static uint32_t events_in(const struct sd_record *r)
{
    if (r->type != SD_REC_CALLS && r->type != SD_REC_ALLOC)
        return r->type >= SD_REC_FIRST_EVENT;
    if (!sd_record_is_sound(r))
        return 0;
    return r->type == SD_REC_CALLS ? sd_calls_n((const void *)r)
                                   : sd_alloc_n((const void *)r);
}

uint32_t sd_records_walk(const uint8_t *p, uint32_t n, int epoch, uint32_t *n_events)
{
    uint32_t at = 0;

    *n_events = 0;
    while (n - at >= 8) {
        const struct sd_record *r = (const void *)(p + at);

        if (r->len < 8 || r->len % 8 || r->len > n - at || r->type == 0)
            break;
        if (epoch >= 0 && r->epoch != epoch)
            break;
        *n_events += events_in(r);
        at += r->len;
    }
    sd_assert(at <= n);
    return at;
}
