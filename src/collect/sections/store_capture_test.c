/* SPDX-License-Identifier: MIT */
#include "collect/sections/store_capture.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/test.h"
#include "capture/reader.h"
#include "collect/sections/metrics.h"

enum { EPOCH = 5000 };

/* Measures one section into the store; open ones are left so. */
static uint32_t measure(struct sd_store *s, const struct sd_path_step *step,
                        enum sd_kind kind, bool is_open)
{
    struct sd_section m;
    uint32_t at = SD_STORE_NONE;

    CHECK(sd_store_open(s, step->entry, kind, SD_SIZE_B, &at) == 0);
    sd_section_begin(&m, &step->name,
                     s->measure | SD_MEASURE_THREAD_CPU | SD_MEASURE_PROCESS_CPU, 0);
    sd_store_begun(s, at, &m, EPOCH);
    sd_section_end(&m, false);
    if (!is_open)
        sd_store_ended(s, at, &m, EPOCH, 0);
    return at;
}

struct found { /* spans of a capture, by their begin */
    struct sd_rec_span heads[8];
    int64_t values[8][SD_SECTION_N_METRICS];
    uint32_t n_values[8];
    uint32_t n, n_notes;
};

static void read_spans(const struct sd_buf *bytes, struct found *f)
{
    struct sd_chunk_view view;
    struct sd_reader *r;

    *f = (struct found){ .n = 0 };
    CHECK(sd_reader_open_bytes(bytes->p, bytes->n, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        const struct sd_record *rec;
        uint32_t at = 0;

        while ((rec = sd_chunk_view_next(&view, &at))) {
            f->n_notes += rec->type == SD_REC_NOTE;
            if (rec->type != SD_REC_SPAN || f->n == 8)
                continue;
            memcpy(&f->heads[f->n], rec, sizeof f->heads[0]);
            f->n_values[f->n] =
                (uint32_t)((rec->len - sizeof f->heads[0]) / sizeof(int64_t));
            memcpy(f->values[f->n], (const char *)rec + sizeof f->heads[0],
                   rec->len - sizeof f->heads[0]);
            f->n++;
        }
    }
    CHECK(!sd_reader_complaint(r));
    sd_reader_free(r);
}

static struct found capture_of(const struct sd_store *s)
{
    struct sd_buf bytes = { 0 };
    struct found f;

    CHECK(sd_store_as_capture(s, EPOCH, "work.py", &bytes) == 0);
    read_spans(&bytes, &f);
    sd_buf_release(&bytes);
    return f;
}

TEST(a_store_as_a_capture_has_the_fields_of_its_rows)
{
    static const enum sd_field order[] = { SD_FIELD_START_RSS, SD_FIELD_END_RSS,
                                           SD_FIELD_START_VMS, SD_FIELD_END_VMS,
                                           SD_FIELD_PEAK,      SD_FIELD_READ,
                                           SD_FIELD_WRITTEN,   SD_FIELD_RECEIVED,
                                           SD_FIELD_SENT };
    struct sd_store s;
    const struct sd_path_step *outer;
    const struct sd_row *row;
    struct found f;

    sd_store_init(&s, SD_MEASURE_ALL);
    outer = sd_store_step(&s, NULL, "outer", 5);
    row = sd_store_row(&s, measure(&s, outer, SD_KIND_WALL, false));
    f = capture_of(&s);
    CHECK(f.n == 1 && f.n_notes == 0 && f.n_values[0] == 9);
    CHECK((int64_t)f.heads[0].from == sd_store_get(&s, row, SD_FIELD_START));
    CHECK((int64_t)f.heads[0].to == sd_store_get(&s, row, SD_FIELD_END));
    CHECK(f.heads[0].flags == 0);
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        CHECK(f.values[0][i] == sd_store_get(&s, row, order[i]));
    sd_store_release(&s);
}

TEST(a_store_as_a_capture_has_cpu_time_where_that_was_the_clock)
{
    struct sd_store s;
    const struct sd_path_step *step;
    const struct sd_row *rows[2];
    struct found f;

    sd_store_init(&s, SD_MEASURE_TIME);
    step = sd_store_step(&s, NULL, "a", 1);
    rows[0] = sd_store_row(&s, measure(&s, step, SD_KIND_CPU, false));
    rows[1] = sd_store_row(&s, measure(&s, step, SD_KIND_PROCESS, false));
    f = capture_of(&s);
    CHECK(f.n == 2);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(f.n_values[i] == 1 && (int64_t)f.heads[i].from == rows[i]->from_ns);
        CHECK(f.values[i][0] == sd_store_get(&s, rows[i], SD_FIELD_END) -
                                    sd_store_get(&s, rows[i], SD_FIELD_START));
    }
    sd_store_release(&s);
}

TEST(a_store_as_a_capture_says_what_is_open_and_what_has_no_time)
{
    struct sd_store s;
    const struct sd_path_step *step;
    uint64_t before = sd_clock_ns() + EPOCH;
    struct found f;
    uint32_t at;

    sd_store_init(&s, SD_MEASURE_TIME);
    step = sd_store_step(&s, NULL, "a", 1);
    measure(&s, step, SD_KIND_WALL, true);
    CHECK(sd_store_open(&s, step->entry, SD_KIND_CPU, SD_SIZE_B, &at) == 0);
    sd_store_row(&s, at)->flags = 0; /* from elsewhere */
    sd_store_set(&s, sd_store_row(&s, at), SD_FIELD_START, 1);
    sd_store_set(&s, sd_store_row(&s, at), SD_FIELD_END, 2);
    f = capture_of(&s);
    CHECK(f.n == 1 && f.n_notes == 1 && f.heads[0].flags == SD_SPAN_UNFINISHED);
    CHECK(f.heads[0].from >= before && f.heads[0].to <= sd_clock_ns() + EPOCH);
    sd_store_release(&s);
}

TEST(a_store_as_a_capture_survives_every_allocation_that_fails)
{
    struct sd_store s;

    sd_store_init(&s, SD_MEASURE_ALL);
    measure(&s, sd_store_step(&s, NULL, "a", 1), SD_KIND_WALL, false);
    EACH_FAILURE(nth)
    {
        struct sd_buf bytes = { 0 };
        int rc = sd_store_as_capture(&s, EPOCH, NULL, &bytes);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_buf_release(&bytes);
    }
    sd_store_release(&s);
}
