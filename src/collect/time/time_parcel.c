/* SPDX-License-Identifier: MIT */
#include "collect/time/time_parcel.h"

#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/mem.h"

#define REQUEST "sonde time 1 ask"
#define RESULT "sonde time 1 got"
enum { N_MAGIC = sizeof REQUEST - 1, N_FIELDS = 9, SIDES_MAX = 4096 };
_Static_assert(sizeof RESULT == sizeof REQUEST, "both are as long");
_Static_assert(sizeof(struct sd_time_batch) == N_FIELDS * sizeof(uint64_t),
               "a batch is so many numbers");

static void put_text(struct sd_buf *to, const char *s)
{
    size_t n = s ? strlen(s) : 0;

    sd_buf_u32(to, (uint32_t)n);
    sd_buf_add(to, s ? s : "", n);
}

static const char *take_text(struct sd_cursor *c, struct sd_arena *a)
{
    uint32_t n = sd_cursor_u32(c);
    const uint8_t *p = sd_cursor_take(c, n);

    return p ? sd_arena_string(a, (const char *)p, n) : NULL;
}

static bool take_magic(struct sd_cursor *c, const char *magic)
{
    const uint8_t *p = sd_cursor_take(c, N_MAGIC);

    return p && memcmp(p, magic, N_MAGIC) == 0;
}

void sd_time_parcel_put_request(struct sd_buf *to, const struct sd_time_request *r)
{
    sd_buf_add(to, REQUEST, N_MAGIC);
    sd_buf_u32(to, r->n_sides);
    for (uint32_t i = 0; i < r->n_sides; i++) {
        put_text(to, r->sides[i].statement);
        put_text(to, r->sides[i].setup);
        put_text(to, r->sides[i].size);
        sd_buf_u64(to, r->sides[i].loops);
    }
    put_text(to, r->size_name);
    sd_buf_u8(to, r->is_cpu_time);
    sd_buf_u8(to, r->collects_garbage);
    sd_buf_u8(to, r->is_as_timeit);
    sd_buf_u8(to, r->wants_memory);
    sd_buf_u64(to, r->budget_ns);
    sd_buf_u64(to, r->loops);
    sd_buf_u64(to, r->repeat);
    sd_buf_u64(to, r->seed);
}

int sd_time_parcel_request(const void *p, size_t n, struct sd_arena *a,
                           struct sd_time_request *out)
{
    struct sd_cursor c = sd_cursor_over(p, n);

    *out = (struct sd_time_request){ 0 };
    if (!take_magic(&c, REQUEST))
        return SD_EFORMAT;
    out->n_sides = sd_cursor_u32(&c);
    if (c.bad || out->n_sides == 0 || out->n_sides > SIDES_MAX)
        return SD_EFORMAT;
    out->sides = sd_arena_alloc(a, out->n_sides * sizeof *out->sides);
    if (!out->sides)
        return sd_no_memory();
    for (uint32_t i = 0; i < out->n_sides; i++) {
        struct sd_time_parcel_side *s = &out->sides[i];

        s->statement = take_text(&c, a);
        s->setup = take_text(&c, a);
        s->size = take_text(&c, a);
        s->loops = sd_cursor_u64(&c);
        if (c.bad || !s->statement || !s->setup || !s->size)
            return SD_EFORMAT;
    }
    out->size_name = take_text(&c, a);
    out->is_cpu_time = sd_cursor_u8(&c);
    out->collects_garbage = sd_cursor_u8(&c);
    out->is_as_timeit = sd_cursor_u8(&c);
    out->wants_memory = sd_cursor_u8(&c);
    out->budget_ns = sd_cursor_u64(&c);
    out->loops = sd_cursor_u64(&c);
    out->repeat = sd_cursor_u64(&c);
    out->seed = sd_cursor_u64(&c);
    return c.bad || !out->size_name ? SD_EFORMAT : 0;
}

void sd_time_parcel_put_result(struct sd_buf *to, const struct sd_time_result *r)
{
    sd_buf_add(to, RESULT, N_MAGIC);
    sd_buf_u32(to, r->refusal);
    sd_buf_u64(to, r->pid);
    sd_buf_u64(to, r->start_ticks);
    sd_buf_u64(to, (uint64_t)r->allocated_bytes);
    sd_buf_u64(to, (uint64_t)r->peak_bytes);
    sd_buf_u32(to, r->n_sides);
    for (uint32_t i = 0; i < r->n_sides; i++)
        sd_buf_u64(to, r->loops[i]);
    sd_buf_u64(to, r->n_batches);
    sd_buf_add(to, r->batches, r->n_batches * sizeof *r->batches);
}

/* What follows was measured in a process that ran any code at all. */
static bool is_sound(const struct sd_time_batch *b, uint32_t n_sides)
{
    return b->loops > 0 && b->side >= 0 && b->side < n_sides && b->round >= 0;
}

int sd_time_parcel_result(const void *p, size_t n, struct sd_arena *a,
                          struct sd_time_result *out)
{
    struct sd_cursor c = sd_cursor_over(p, n);
    const uint8_t *bytes;

    *out = (struct sd_time_result){ 0 };
    if (!take_magic(&c, RESULT))
        return SD_EFORMAT;
    out->refusal = sd_cursor_u32(&c);
    out->pid = sd_cursor_u64(&c);
    out->start_ticks = sd_cursor_u64(&c);
    out->allocated_bytes = sd_cursor_i64(&c);
    out->peak_bytes = sd_cursor_i64(&c);
    out->n_sides = sd_cursor_u32(&c);
    if (c.bad || out->n_sides > SIDES_MAX)
        return SD_EFORMAT;
    out->loops = sd_arena_alloc(a, (out->n_sides + 1) * sizeof *out->loops);
    if (!out->loops)
        return sd_no_memory();
    for (uint32_t i = 0; i < out->n_sides; i++)
        out->loops[i] = sd_cursor_u64(&c);
    out->n_batches = sd_cursor_u64(&c);
    if (c.bad || out->n_batches > sd_cursor_left(&c) / sizeof *out->batches)
        return SD_EFORMAT;
    bytes = sd_cursor_take(&c, out->n_batches * sizeof *out->batches);
    out->batches = sd_arena_copy(a, bytes, out->n_batches * sizeof *out->batches);
    if (!out->batches)
        return sd_no_memory();
    for (size_t i = 0; i < out->n_batches; i++)
        if (!is_sound(&out->batches[i], out->n_sides))
            return SD_EFORMAT;
    return 0;
}
