/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "capture/memory/memory_capture.h"
#include "capture/reader.h"

static const struct sd_metric_about metrics[] = {
    { "alpha", SD_UNIT_COUNT, SD_ADDS_SUM, "the first" },
    { "beta", SD_UNIT_BYTES, SD_ADDS_LEVEL, "left out" },
    { "gamma", SD_UNIT_BYTES, SD_ADDS_PEAK, "the last" },
    { NULL, 0, 0, NULL },
};
static const uint64_t shapes[] = { 0, 5 };
static const struct sd_whole_site sites[] = {
    { "inner", 5, 1 }, /* before the one that it is in */
    { "outer", 5, SD_NO_PARENT },
};

enum { ZERO = 1000, N = 30000 };

/* The ith begins at ZERO + i and ends the sooner the later it begins; every tenth is
 * none. */
static bool nth(const void *of, uint32_t i, struct sd_whole_span *out)
{
    uint32_t n = *(const uint32_t *)of;

    *out = (struct sd_whole_span){ .site = i % 2,
                                   .tid = i % 3,
                                   .shape = i % 2,
                                   .flags = i % 5 ? 0 : SD_SPAN_RAISED,
                                   .from = ZERO + i,
                                   .to = ZERO + 2 * n - i,
                                   .values = { i, SD_VALUE_NONE } };
    return i % 10 != 9;
}

static struct sd_whole_spans of_n(const uint32_t *n)
{
    return (struct sd_whole_spans){ .sites = sites,
                                    .n_sites = 2,
                                    .metrics = metrics,
                                    .shapes = shapes,
                                    .n_shapes = 2,
                                    .pid = 77,
                                    .start_ticks = 5,
                                    .process = "work",
                                    .note = "a note",
                                    .n = *n,
                                    .of = n,
                                    .span = nth };
}

struct seen { /* in a capture */
    uint32_t n_spans, n_notes, n_chunks;
    uint64_t last;
    /* Of the chunk: what an id is. */
    uint64_t track_number[64];
    uint32_t site_parent[64];
    char name[64][16];
};

static void look_at_span(struct seen *s, const struct sd_rec_span *r, uint32_t n)
{
    uint32_t i = (uint32_t)(r->from - ZERO), tid = i % 3;

    CHECK(r->to == ZERO + 2 * n - i && r->to >= s->last && i % 10 != 9);
    CHECK(r->flags == (i % 5 ? 0 : SD_SPAN_RAISED));
    CHECK(s->track_number[r->track] == (tid ? tid : 77));
    CHECK(!strcmp(s->name[r->site], i % 2 ? "outer" : "inner"));
    CHECK(i % 2 ? s->site_parent[r->site] == 0
                : !strcmp(s->name[s->site_parent[r->site]], "outer"));
    CHECK((r->shape != 0) == (i % 2 != 0));
    CHECK(r->head.len == sizeof *r + (i % 2 ? 2 * sizeof(int64_t) : 0));
    CHECK(!(i % 2) || (r->values[0] == (int64_t)i && r->values[1] == SD_VALUE_NONE));
    s->last = r->to;
    s->n_spans++;
}

static void look_at(struct seen *s, const struct sd_record *rec, uint32_t n)
{
    const void *r = rec;
    const struct sd_rec_site *site = r;
    const struct sd_rec_track *track = r;
    const struct sd_rec_string *string = r;

    CHECK(sd_record_is_sound(rec));
    if (rec->type == SD_REC_STRING && string->n < 16)
        memcpy(s->name[string->id], string->text, string->n);
    if (rec->type == SD_REC_SITE) {
        memcpy(s->name[site->id], s->name[site->name], 16);
        s->site_parent[site->id] = site->parent;
    }
    if (rec->type == SD_REC_TRACK)
        s->track_number[track->id] = track->number;
    if (rec->type == SD_REC_SPAN)
        look_at_span(s, r, n);
    s->n_notes += rec->type == SD_REC_NOTE;
}

static struct seen read_all(const struct sd_buf *bytes, uint32_t n)
{
    struct seen s = { .n_spans = 0 };
    struct sd_chunk_view view;
    struct sd_reader *r;

    CHECK(sd_reader_open_bytes(bytes->p, bytes->n, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        const struct sd_record *rec;
        uint32_t at = 0;

        memset(s.name, 0, sizeof s.name);
        s.n_chunks += view.type == SD_CHUNK_EVENTS;
        while ((rec = sd_chunk_view_next(&view, &at)))
            look_at(&s, rec, n);
    }
    CHECK(sd_reader_health(r)->is_ended && !sd_reader_complaint(r));
    CHECK(sd_reader_health(r)->created_mono_ns == ZERO);
    sd_reader_free(r);
    return s;
}

TEST(a_capture_of_spans_has_each_in_the_order_of_their_ends)
{
    const uint32_t n = N;
    const struct sd_whole_spans spans = of_n(&n);
    const struct sd_whole_how how = { .command = "work.py" };
    struct sd_buf bytes = { 0 };
    struct seen seen;

    CHECK(sd_whole_spans(&spans, &how, &bytes) == 0);
    seen = read_all(&bytes, n);
    CHECK(seen.n_spans == N - N / 10 && seen.n_notes == 1 && seen.n_chunks > 5);
    sd_buf_release(&bytes);
}

TEST(a_capture_of_no_spans_is_whole)
{
    const uint32_t n = 0;
    const struct sd_whole_spans spans = of_n(&n);
    const struct sd_whole_how how = { .command = NULL };
    struct sd_buf bytes = { 0 };
    struct sd_reader *r;

    CHECK(sd_whole_spans(&spans, &how, &bytes) == 0);
    CHECK(sd_reader_open_bytes(bytes.p, bytes.n, &r) == 0);
    CHECK(!sd_reader_complaint(r));
    sd_reader_free(r);
    sd_buf_release(&bytes);
}

/* --- Readings */

static void reading(const void *of, uint32_t i, struct sd_whole_point *out)
{
    (void)of;
    *out = (struct sd_whole_point){
        .child = i % 3, .shape = 1, .at = ZERO + i, .values = { i, -(int64_t)i }
    };
}

static void look_at_point(struct seen *s, const struct sd_rec_point *r)
{
    CHECK(r->time == s->last + 1 && r->head.len == sizeof *r + 2 * sizeof(int64_t));
    CHECK(s->track_number[r->track] ==
          (r->time % 3 == ZERO % 3 ? 77 : (r->time - ZERO) % 3));
    CHECK(r->shape && r->values[0] == (int64_t)(r->time - ZERO));
    s->last = r->time;
    s->n_spans++;
}

TEST(a_capture_of_readings_has_each_with_its_process)
{
    const uint32_t n = 0;
    struct sd_whole_spans spans = of_n(&n);
    const struct sd_whole_how how = { .command = "work.py" };
    struct seen s = { .last = ZERO - 1 };
    struct sd_buf bytes = { 0 };
    struct sd_chunk_view view;
    struct sd_reader *r;

    spans.n_points = N;
    spans.point = reading;
    CHECK(sd_whole_spans(&spans, &how, &bytes) == 0);
    CHECK(sd_reader_open_bytes(bytes.p, bytes.n, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        const struct sd_record *rec;
        uint32_t at = 0;

        s.n_chunks += view.type == SD_CHUNK_EVENTS;
        while ((rec = sd_chunk_view_next(&view, &at))) {
            if (rec->type == SD_REC_POINT)
                look_at_point(&s, (const void *)rec);
            else
                look_at(&s, rec, n);
        }
    }
    CHECK(s.n_spans == N && s.n_chunks > 3 && !sd_reader_complaint(r));
    CHECK(sd_reader_health(r)->created_mono_ns == ZERO);
    sd_reader_free(r);
    sd_buf_release(&bytes);
}

enum { DEEP = 200 };

static bool deepest(const void *of, uint32_t i, struct sd_whole_span *out)
{
    (void)of;
    *out = (struct sd_whole_span){ .site = DEEP - 1, .from = 1, .to = 2 + i };
    return true;
}

TEST(what_lies_far_outside_of_a_section_is_left_out)
{
    static const uint64_t none[] = { 0 };
    static char name[5000];
    struct sd_whole_site path[DEEP];
    const struct sd_whole_how how = { .command = NULL };
    const struct sd_whole_spans spans = { .sites = path,
                                          .n_sites = DEEP,
                                          .metrics = metrics,
                                          .shapes = none,
                                          .n_shapes = 1,
                                          .n = 3,
                                          .span = deepest };
    struct sd_buf bytes = { 0 };
    struct sd_chunk_view view;
    struct sd_reader *r;
    uint32_t n_sites = 0, n_spans = 0;

    memset(name, 'x', sizeof name);
    for (uint32_t i = 0; i < DEEP; i++)
        path[i] = (struct sd_whole_site){ name, sizeof name, i ? i - 1 : SD_NO_PARENT };
    CHECK(sd_whole_spans(&spans, &how, &bytes) == 0);
    CHECK(sd_reader_open_bytes(bytes.p, bytes.n, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        const struct sd_record *rec;
        uint32_t at = 0;

        n_sites = view.type == SD_CHUNK_EVENTS ? 0 : n_sites;
        while ((rec = sd_chunk_view_next(&view, &at))) {
            n_sites += rec->type == SD_REC_SITE;
            n_spans += rec->type == SD_REC_SPAN;
        }
    }
    CHECK(n_spans == 3 && n_sites == 65);
    CHECK(!sd_reader_complaint(r));
    sd_reader_free(r);
    sd_buf_release(&bytes);
}

TEST(a_capture_of_spans_survives_every_allocation_that_fails)
{
    const uint32_t n = 20;
    const struct sd_whole_spans spans = of_n(&n);
    const struct sd_whole_how how = { .command = "work.py" };

    EACH_FAILURE(nth_allocation)
    {
        struct sd_buf bytes = { 0 };
        int rc = sd_whole_spans(&spans, &how, &bytes);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_buf_release(&bytes);
    }
}
