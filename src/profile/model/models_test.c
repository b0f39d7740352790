/* SPDX-License-Identifier: MIT */
#include "profile/model/models.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "capture/capture_testing.h"
#include "capture/memory/memory_capture.h"
#include "profile/model/model.h"
#include "profile/profile.h"
#include "profile/profile_testing.h"

/* Longer than a record: made of pieces. */
static void make_model(struct sd_buf *bytes, size_t n_layers)
{
    struct sd_model m;
    char name[64];

    CHECK(sd_model_init(&m) == 0);
    for (size_t i = 0; i < n_layers; i++) {
        uint32_t unused;

        snprintf(name, sizeof name, "a_layer_with_a_long_name_%zu", i);
        CHECK(sd_model_layer_at(&m, name, strlen(name), &unused) == 0);
    }
    sd_model_write(&m, bytes);
    CHECK(!bytes->bad);
    sd_model_release(&m);
}

static struct sd_profile *load(const struct sd_buf *file)
{
    struct sd_profile *p = NULL;
    struct sd_reader *r;

    CHECK(sd_reader_open_bytes(file->p, file->n, &r) == 0);
    CHECK(sd_profile_load_reader(r, NULL, &p) == 0);
    sd_reader_free(r);
    return p;
}

TEST(a_model_goes_through_a_capture_as_it_is)
{
    const struct sd_whole_how how = { .command = "sonde model x" };
    struct sd_buf model = { 0 }, file = { 0 };
    struct sd_profile *p;
    struct sd_model back;
    const void *got;
    size_t n;

    make_model(&model, 3000);
    CHECK(model.n > 3 * 65536);
    CHECK(sd_whole_model(model.p, model.n, &how, &file) == 0);
    p = load(&file);
    got = sd_profile_model(p, 0, &n);
    CHECK(got && n == model.n && !memcmp(got, model.p, n));
    CHECK(sd_model_read(&back, got, n) == 0 && back.n_layers == 3001);
    CHECK(!sd_profile_model(p, 1, &n) && !p->complaint);
    CHECK(!strcmp(sd_profile_meta(p, "command"), "sonde model x"));
    sd_model_release(&back);
    sd_profile_free(p);
    sd_buf_release(&file);
    sd_buf_release(&model);
}

TEST(a_collector_writes_a_model_into_its_log)
{
    struct sd_buf model = { 0 };
    struct sd_profile *p = NULL;
    struct sd_scratch s;
    const void *got;
    size_t n;

    make_model(&model, 1000);
    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    CHECK(sd_log_model(sd_writer_log(s.writer), 1, model.p, model.n) == 0);
    CHECK(sd_log_model(sd_writer_log(s.writer), 2, model.p, model.n) == 0);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(sd_profile_load(s.path, NULL, &p) == 0);
    for (size_t i = 0; i < 2; i++) {
        got = sd_profile_model(p, i, &n);
        CHECK(got && n == model.n && !memcmp(got, model.p, n));
    }
    CHECK(!p->complaint);
    sd_profile_free(p);
    sd_scratch_remove(&s);
    sd_buf_release(&model);
}

static void put_piece(struct sd_maker *m, uint64_t number, const struct sd_buf *model,
                      size_t at, size_t n)
{
    struct sd_rec_model *r = sd_maker_record(m, SD_REC_MODEL, sizeof *r + n);

    r->n = (uint32_t)n;
    r->number = number;
    r->total = (uint32_t)model->n;
    r->at = (uint32_t)at;
    memcpy(r->bytes, model->p + at, n);
}

TEST(a_model_with_a_hole_is_not_shown_and_that_is_said)
{
    struct sd_buf model = { 0 };
    struct sd_maker m;
    struct sd_profile *p;
    size_t n;

    make_model(&model, 10);
    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    put_piece(&m, 7, &model, 0, 100);
    put_piece(&m, 8, &model, 0, model.n);
    put_piece(&m, 7, &model, 150, model.n - 150);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_profile_model(p, 0, &n) && n == model.n);
    CHECK(!sd_profile_model(p, 1, &n));
    CHECK(p->complaint && strstr(p->complaint, "1 model is not whole"));
    sd_profile_free(p);
    sd_maker_release(&m);
    sd_buf_release(&model);
}

TEST(models_of_two_captures_are_both_there)
{
    const struct sd_whole_how how = { 0 };
    struct sd_buf one = { 0 }, two = { 0 }, a = { 0 }, b = { 0 };
    struct sd_profile *p, *other;
    size_t n;

    make_model(&one, 1);
    make_model(&two, 2);
    CHECK(sd_whole_model(one.p, one.n, &how, &a) == 0);
    CHECK(sd_whole_model(two.p, two.n, &how, &b) == 0);
    p = load(&a);
    other = load(&b);
    CHECK(sd_profile_merge(p, other) == 0);
    sd_profile_free(other);
    CHECK(sd_profile_model(p, 0, &n) && n == one.n);
    CHECK(sd_profile_model(p, 1, &n) && n == two.n);
    sd_profile_free(p);
    sd_buf_release(&one);
    sd_buf_release(&two);
    sd_buf_release(&a);
    sd_buf_release(&b);
}

TEST(a_captured_model_survives_every_allocation_that_fails)
{
    const struct sd_whole_how how = { 0 };
    struct sd_buf model = { 0 };

    make_model(&model, 3);
    EACH_FAILURE(nth)
    {
        struct sd_buf file = { 0 };
        struct sd_profile *p = NULL;
        struct sd_reader *r = NULL;
        int rc = sd_whole_model(model.p, model.n, &how, &file);

        if (rc == 0)
            rc = sd_reader_open_bytes(file.p, file.n, &r);
        if (rc == 0)
            rc = sd_profile_load_reader(r, NULL, &p);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_profile_free(p);
        sd_reader_free(r);
        sd_buf_release(&file);
    }
    sd_buf_release(&model);
}
