/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/matcher_testing.h"
#include "base/mem.h"
#include "base/memory_left.h"
#include "profile/profile_define.h"
#include "profile/events.h"
#include "capture/folder.h"
#include "profile/losses.h"
#include "profile/profile_testing.h"

enum { MS = 1000000 };

/* Two chunks of one thread: outer 0..10 ms with three inner of 1, 2, 3 ms. */
static void make_nested(struct sd_maker *m)
{
    uint32_t process, thread, outer, inner;

    sd_maker_begin(m);
    sd_maker_chunk(m, 5, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 100, "prog");
    thread = sd_maker_track(m, SD_TRACK_THREAD, process, 101, "main");
    outer = sd_maker_site(m, 0, "outer");
    inner = sd_maker_site(m, outer, "inner");
    sd_maker_open(m, outer, thread, 1, 0);
    sd_maker_open(m, inner, thread, 2, 1 * MS);
    sd_maker_span(m, inner, thread, 2, 1 * MS, 2 * MS);
    sd_maker_chunk(m, 5, 2); /* ids are others here */
    sd_maker_string(m, "unused");
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 100, "prog");
    outer = sd_maker_site(m, 0, "outer");
    inner = sd_maker_site(m, outer, "inner");
    thread = sd_maker_track(m, SD_TRACK_THREAD, process, 101, "main");
    sd_maker_open(m, inner, thread, 3, 3 * MS);
    sd_maker_span(m, inner, thread, 3, 3 * MS, 5 * MS);
    sd_maker_open(m, inner, thread, 4, 6 * MS);
    sd_maker_span(m, inner, thread, 4, 6 * MS, 9 * MS);
    sd_maker_span(m, outer, thread, 1, 0, 10 * MS);
    sd_maker_end(m, 0);
}

TEST(profile_unifies_what_chunks_define_again)
{
    struct sd_maker m;
    struct sd_profile *p;
    const struct sd_span_total *inner, *outer;

    make_nested(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_sites == 2 && p->n_tracks == 2 && p->n_spans == 2);
    inner = sd_maker_total(p, "outer:inner");
    outer = sd_maker_total(p, "outer");
    CHECK(inner && inner->count == 3 && inner->wall.total == 6 * MS);
    CHECK(inner->wall.min == 1 * MS && inner->wall.max == 3 * MS);
    CHECK(inner->first_ns == 1 * MS && inner->last_ns == 9 * MS);
    CHECK(outer && outer->count == 1 && outer->wall.total == 10 * MS);
    CHECK(outer->n_unfinished == 0 && inner->n_unfinished == 0);
    CHECK(p->end_ns == 10 * MS && p->n_span_events == 4);
    CHECK(inner->when.n == 3 && inner->when.items[1].from_ns == 3 * MS);
    CHECK(p->complaint == NULL);
    CHECK(sd_profile_process_of(p, inner->track).at ==
          p->tracks[inner->track.at].parent.at);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_of_an_empty_capture_is_empty)
{
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_end(&m, 3);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_sites == 0 && p->n_spans == 0 && p->n_series == 0 && p->end_ns == 0);
    CHECK(p->health.status == 3 && p->health.is_ended);
    CHECK(sd_profile_meta(p, "nothing") == NULL);
    CHECK(sd_profile_metric(p, "rss", SD_ADDS_LEVEL).at == UINT32_MAX);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_shows_ids_that_dangle_as_lost_names)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t track, site;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    site = sd_maker_site(&m, 999, "child"); /* its parent was never defined */
    sd_maker_span(&m, 12345, track, 0, 0, 5);
    sd_maker_span(&m, UINT32_MAX, 4000000, 0, 0, 6);
    sd_maker_span(&m, track, site, 0, 0, 7); /* swapped: each is of the other kind */
    sd_maker_span(&m, site, track, 0, 0, 8);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_maker_total(p, SD_LOST_NAME ":child")->wall.total == 8);
    CHECK(sd_maker_total(p, SD_LOST_NAME)->track.at == 0);
    CHECK(p->n_span_events == 4 && p->n_tracks == 2);
    CHECK(strcmp(p->tracks[1].name, SD_LOST_NAME) == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_ends_unfinished_spans_where_their_stream_ends)
{
    struct sd_maker m;
    struct sd_profile *p;
    const struct sd_span_total *t;
    uint32_t track, a, b;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    a = sd_maker_site(&m, 0, "killed");
    b = sd_maker_site(&m, 0, "done");
    sd_maker_open(&m, a, track, 1, 10);
    sd_maker_open(&m, b, track, 2, 20);
    sd_maker_span(&m, b, track, 2, 20, 90);
    sd_maker_chunk(&m, 2, 1); /* a later event of another stream says nothing */
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    b = sd_maker_site(&m, 0, "other");
    sd_maker_span(&m, b, track, (uint64_t)1 << 40 | 1, 0, 5000);
    sd_maker_end(&m, -9);
    p = sd_maker_load(&m, NULL);
    t = sd_maker_total(p, "killed");
    CHECK(t && t->n_unfinished == 1 && t->count == 1);
    CHECK(t->wall.total == 80 && t->last_ns == 90);
    CHECK(sd_maker_total(p, "done")->n_unfinished == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Streams are read one after the other, so the end may be met before the begin. */
TEST(profile_matches_ends_in_other_streams_whichever_is_read_first)
{
    for (int swapped = 0; swapped < 2; swapped++) {
        struct sd_maker m;
        struct sd_profile *p;
        uint32_t track, site;

        sd_maker_begin(&m);
        sd_maker_chunk(&m, swapped ? 2 : 1, 1);
        track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
        site = sd_maker_site(&m, 0, "moves");
        sd_maker_open(&m, site, track, 0 << 20 | 5, 10);
        sd_maker_chunk(&m, swapped ? 1 : 2, 1);
        track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
        site = sd_maker_site(&m, 0, "own");
        sd_maker_open(&m, site, track, (uint64_t)1 << 40 | 1, 20);
        sd_maker_span(&m, site, track, (uint64_t)1 << 40 | 1, 20, 30);
        site = sd_maker_site(&m, 0, "moves");
        sd_maker_span(&m, site, track, 5, 10, 40);
        sd_maker_end(&m, 0);
        p = sd_maker_load(&m, NULL);
        CHECK(sd_maker_total(p, "moves")->count == 1);
        CHECK(sd_maker_total(p, "moves")->n_unfinished == 0);
        sd_profile_free(p);
        sd_maker_release(&m);
    }
}

TEST(profile_counts_a_span_whose_begin_was_lost_once)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t track, site;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 2); /* the first chunk, with the OPEN, is gone */
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    site = sd_maker_site(&m, 0, "x");
    sd_maker_span(&m, site, track, 1, 0, 10);
    sd_maker_open(&m, site, track, 2, 20); /* and its end with the third */
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_maker_total(p, "x")->count == 2);
    CHECK(sd_maker_total(p, "x")->n_unfinished == 1);
    CHECK(sd_maker_total(p, "x")->wall.total == 10);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_adds_values_up_by_what_each_metric_says)
{
    struct sd_maker m;
    struct sd_profile *p;
    const struct sd_span_total *t;
    uint32_t track, site, shape, metrics[4];

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    site = sd_maker_site(&m, 0, "x");
    metrics[0] = sd_maker_metric(&m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    metrics[1] = sd_maker_metric(&m, "rss_after", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    metrics[2] = sd_maker_metric(&m, "peak_rss", SD_UNIT_BYTES, SD_ADDS_PEAK);
    metrics[3] = sd_maker_metric(&m, "odometer", SD_UNIT_COUNT, SD_ADDS_COUNTER);
    shape = sd_maker_shape(&m, metrics, 4);
    sd_maker_span_with(&m, site, track, 0, 10, shape, (int64_t[]){ 3, 100, 500, 7 }, 4,
                       SD_SPAN_RAISED);
    sd_maker_span_with(&m, site, track, 10, 30, shape,
                       (int64_t[]){ 4, 50, 200, SD_VALUE_NONE }, 4, 0);
    sd_maker_span_with(&m, site, track, 30, 60, shape, (int64_t[]){ 5, 60, 300, 19 }, 4,
                       0);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    t = sd_maker_total(p, "x");
    CHECK(t->count == 3 && t->n_raised == 1);
    CHECK(sd_span_total_value(p, t, "cpu")->total == 12);
    CHECK(sd_span_total_value(p, t, "rss_after")->total == 210);
    CHECK(sd_span_total_value(p, t, "rss_after")->last == 60);
    CHECK(sd_span_total_value(p, t, "peak_rss")->total == 500);
    CHECK(sd_span_total_value(p, t, "odometer")->n == 2);
    CHECK(sd_span_total_value(p, t, "odometer")->total == 12);
    CHECK(sd_span_total_value(p, t, "wall") == NULL);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_keeps_metrics_of_one_name_apart_by_how_they_add)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t track, site, sum, counter, of_span, of_point;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    site = sd_maker_site(&m, 0, "x");
    counter = sd_maker_metric(&m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_COUNTER);
    sum = sd_maker_metric(&m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    of_point = sd_maker_shape(&m, &counter, 1);
    of_span = sd_maker_shape(&m, &sum, 1);
    sd_maker_point(&m, track, of_point, 1, (int64_t[]){ 1000 }, 1);
    sd_maker_span_with(&m, site, track, 0, 9, of_span, (int64_t[]){ 8 }, 1, 0);
    sd_maker_point(&m, track, of_point, 9, (int64_t[]){ 1500 }, 1);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_metrics == 2);
    CHECK(sd_profile_metric(p, "cpu", SD_ADDS_SUM).at !=
          sd_profile_metric(p, "cpu", SD_ADDS_COUNTER).at);
    CHECK(sd_span_total_value(p, sd_maker_total(p, "x"), "cpu")->total == 8);
    CHECK(sd_profile_series(p, (sd_track_id){ 0 }, "cpu")->sum.total == 500);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_takes_the_latest_name_status_and_parent_of_a_process)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t parent, child;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    child = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 8, "before-exec");
    sd_maker_span(&m, 0, child, 0, 0, 1);
    parent = sd_maker_track(&m, SD_TRACK_PROCESS, child, 7, "parent");
    child = sd_maker_track(&m, SD_TRACK_PROCESS, parent, 8, "after-exec");
    sd_maker_exit(&m, child, 77, -11);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(strcmp(p->tracks[0].name, "after-exec") == 0);
    CHECK(p->tracks[0].status == -11 && p->tracks[0].last_ns == 77);
    /* The parent claims to be the child's child too: rings are not made. */
    CHECK(p->tracks[1].parent.at == 0 && p->tracks[0].parent.at == UINT32_MAX);
    sd_profile_free(p);
    sd_maker_release(&m);
}

static void make_for_filters(struct sd_maker *m)
{
    uint32_t one, two, thread, site, metric, shape;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    one = sd_maker_track(m, SD_TRACK_PROCESS, 0, 100, "trainer");
    thread = sd_maker_track(m, SD_TRACK_THREAD, one, 101, "loader");
    two = sd_maker_track(m, SD_TRACK_PROCESS, one, 200, "worker");
    metric = sd_maker_metric(m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    shape = sd_maker_shape(m, &metric, 1);
    for (int i = 0; i < 100; i++) {
        sd_maker_point(m, one, shape, (uint64_t)i * MS, (int64_t[]){ i }, 1);
        sd_maker_point(m, two, shape, (uint64_t)i * MS, (int64_t[]){ 1000 - i }, 1);
    }
    site = sd_maker_site(m, 0, "fit");
    sd_maker_span(m, site, one, 0, 10 * MS, 30 * MS);
    sd_maker_span(m, site, one, 0, 60 * MS, 70 * MS);
    site = sd_maker_site(m, site, "step");
    sd_maker_span(m, site, thread, 0, 12 * MS, 13 * MS);
    sd_maker_span(m, site, thread, 0, 80 * MS, 81 * MS);
    sd_maker_end(m, 0);
}

TEST(profile_filters_by_time_track_section_and_name)
{
    struct sd_maker m;
    struct sd_profile *p;

    make_for_filters(&m);
    p = sd_maker_load(&m, &(struct sd_filter){ .from_ns = 50 * MS, .to_ns = 65 * MS });
    CHECK(p->n_point_events == 32); /* 50..65, both ends */
    CHECK(sd_maker_total(p, "fit")->count == 1 && !sd_maker_total(p, "fit:step"));
    sd_profile_free(p);
    p = sd_maker_load(&m, &(struct sd_filter){ .track = "100" });
    CHECK(p->n_point_events == 100 && p->n_span_events == 4);
    sd_profile_free(p);
    p = sd_maker_load(&m, &(struct sd_filter){ .track = "100/101" });
    CHECK(p->n_point_events == 0 && p->n_span_events == 2);
    sd_profile_free(p);
    p = sd_maker_load(&m, &(struct sd_filter){ .track = "work" });
    CHECK(p->n_point_events == 100 && p->n_span_events == 0);
    sd_profile_free(p);
    p = sd_maker_load(&m, &(struct sd_filter){ .section = "fit" });
    CHECK(p->n_point_events == 2 * (21 + 11) && p->n_span_events == 3);
    CHECK(sd_maker_total(p, "fit:step")->count == 1);
    sd_profile_free(p);
    p = sd_maker_load(&m, &(struct sd_filter){ .match = SD_MATCHER("s(t|p)ep$") });
    CHECK(p->n_span_events == 2 && p->n_point_events == 200);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_refuses_filters_that_name_nothing)
{
    struct sd_maker m;
    struct sd_profile *p;

    make_for_filters(&m);
    CHECK(sd_maker_try(&m, &(struct sd_filter){ .match = SD_MATCHER("(") }, &p) ==
          SD_EUSAGE);
    CHECK(p == NULL && strstr(sd_fail_text(), "regular expression"));
    CHECK(sd_maker_try(&m, &(struct sd_filter){ .section = "fitt" }, &p) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "there are fit, fit:step"));
    CHECK(sd_maker_try(&m, &(struct sd_filter){ .track = "999" }, &p) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "\"999\""));
    sd_maker_release(&m);
}

/* Also where two captures say the same number, which any other fact would do once. */
TEST(profile_adds_the_counts_of_samplers)
{
    struct sd_maker m;
    struct sd_profile *one, *other;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_maker_meta(&m, "sample.missed", "116");
    sd_maker_meta(&m, "sample.asked_per_s", "200");
    sd_maker_meta(&m, "sample.python", "3.11.7");
    sd_maker_end(&m, 0);
    one = sd_maker_load(&m, NULL);
    other = sd_maker_load(&m, NULL);
    CHECK(strcmp(sd_profile_meta(one, "sample.missed"), "116") == 0);
    CHECK(sd_profile_merge(one, other) == 0);
    CHECK(strcmp(sd_profile_meta(one, "sample.missed"), "232") == 0);
    CHECK(strcmp(sd_profile_meta(one, "sample.asked_per_s"), "200") == 0);
    CHECK(strcmp(sd_profile_meta(one, "sample.python"), "3.11.7") == 0);
    CHECK(one->n_metas == 3);
    sd_profile_free(other);
    sd_profile_free(one);
    sd_maker_release(&m);
}

TEST(profile_keeps_facts_and_notes)
{
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_maker_meta(&m, "host", "one");
    sd_maker_meta(&m, "host", "one");
    sd_maker_meta(&m, "command", "x.py");
    sd_maker_note(&m, SD_NOTE_WARNING, "half of it was refused");
    sd_maker_note(&m, SD_NOTE_REFUSAL, "process 8 is not sampled: it is another's");
    sd_maker_note(&m, 99, "of a later version");
    sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_metas == 2 && strcmp(sd_profile_meta(p, "command"), "x.py") == 0);
    CHECK(p->n_notes == 3 && strcmp(p->notes[0].text, "half of it was refused") == 0);
    CHECK(p->notes[0].kind == SD_NOTE_WARNING);
    CHECK(p->notes[1].kind == SD_NOTE_REFUSAL && p->notes[2].kind == SD_NOTE_INFO);
    CHECK(strcmp(p->tracks[0].host, "one") == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_books_tasks_beyond_the_limit_on_their_process)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint64_t task = 1;

    sd_maker_begin(&m);
    for (uint32_t seq = 1; task < 3 * SD_TASKS_MAX; seq++) {
        uint32_t process, site;

        sd_maker_chunk(&m, 1, seq);
        process = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
        site = sd_maker_site(&m, 0, "handle");
        for (int i = 0; i < 1000; i++, task++)
            sd_maker_span(&m, site,
                          sd_maker_track(&m, SD_TRACK_TASK, process, task, NULL), 0,
                          task, task + 1);
    }
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_tracks == 1 + SD_TASKS_MAX);
    CHECK(p->n_span_events == task - 1);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_stays_bounded_and_says_so_when_a_file_names_more_than_fits)
{
    enum { LIMIT_BYTES = 8 << 20 };
    const uint64_t n_names = LIMIT_BYTES / 250;
    struct sd_maker m;
    struct sd_profile *p;
    uint64_t name = 0, counted = 0;
    char text[32];

    sd_maker_begin(&m);
    for (uint32_t seq = 1; name < n_names; seq++) {
        uint32_t process;

        sd_maker_chunk(&m, 1, seq);
        process = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
        for (int i = 0; i < 1500; i++, name++) {
            snprintf(text, sizeof text, "section %llu", (unsigned long long)name);
            sd_maker_span(&m, sd_maker_site(&m, 0, text), process, 0, name, name + 1);
        }
    }
    sd_maker_end(&m, 0);
    sd_memory_left_pretend(2 * LIMIT_BYTES); /* half of which is for the profile */
    p = sd_maker_load(&m, NULL);
    sd_memory_left_pretend(0);
    CHECK(p->n_sites < name && p->n_sites > name / 10);
    for (size_t i = 0; i < p->n_spans; i++)
        counted += p->spans[i].count;
    CHECK(counted == name && p->n_span_events == name);
    CHECK(sd_maker_total(p, SD_TOO_MANY)->count > 1);
    CHECK(p->complaint && strstr(p->complaint, "names did not fit into memory"));
    CHECK(sd_loss_amount(p, SD_LOSS_MEMORY) > 1);
    sd_profile_free(p);
    p = sd_maker_load(&m, NULL); /* with the memory that there is all of it fits */
    CHECK(p->n_sites == name && !p->complaint);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(profile_keeps_names_apart_that_differ_behind_a_zero)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_rec_site *r;
    uint32_t process, cut, name;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    process = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    cut = sd_maker_site(&m, 0, "n");
    name = sd_maker_string_n(&m, "n\0ul", 4);
    r = sd_maker_record(&m, SD_REC_SITE, sizeof *r);
    r->id = m.next_id++;
    r->kind = SD_SITE_SECTION;
    r->name = name;
    sd_maker_span(&m, m.next_id - 1, process, 0, 0, 5);
    sd_maker_span(&m, cut, process, 0, 0, 7);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_spans == 2 && sd_maker_total(p, "n")->wall.total == 7);
    CHECK(sd_maker_total(p, "n\u2400ul") &&
          sd_maker_total(p, "n\u2400ul")->wall.total == 5);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Ticks of another clock */

TEST(profile_turns_ticks_into_nanoseconds_between_the_pairs_of_a_stream)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_rec_clock *c;
    struct sd_rec_span *s;
    uint32_t track, site;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 9, 1);
    c = sd_maker_record(&m, SD_REC_CLOCK, sizeof *c);
    *c = (struct sd_rec_clock){ c->head, SD_CLOCK_TSC, 1000, SD_MAKER_MONO };
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    site = sd_maker_site(&m, 0, "x");
    s = sd_maker_record(&m, SD_REC_SPAN, sizeof *s);
    s->site = site;
    s->track = track;
    s->from = 1000 + 300; /* three ticks are a nanosecond */
    s->to = 1000 + 900;
    sd_maker_chunk(&m, 9, 2);
    c = sd_maker_record(&m, SD_REC_CLOCK, sizeof *c);
    *c = (struct sd_rec_clock){ c->head, SD_CLOCK_TSC, 4000, SD_MAKER_MONO + 1000 };
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_maker_total(p, "x")->first_ns == 100);
    CHECK(sd_maker_total(p, "x")->wall.total == 200);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- The walk over events */

TEST(events_come_in_ids_of_the_profile_unfinished_ones_last)
{
    const struct sd_filter fit = { .section = "fit" };
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_events *walk;
    struct sd_event e;
    size_t n_points = 0, n_spans = 0;

    make_for_filters(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_events_open(p, sd_maker_save(&m), NULL, &walk) == 0);
    while (sd_events_next(walk, &e) == 1) {
        n_points += e.kind == SD_EVENT_POINT;
        n_spans += e.kind == SD_EVENT_SPAN;
        CHECK(e.track.at < p->n_tracks);
        CHECK(e.kind == SD_EVENT_POINT || e.site.at < p->n_sites);
        CHECK(e.kind == SD_EVENT_SPAN ||
              strcmp(p->metrics[e.metrics[0].at].name, "rss") == 0);
    }
    CHECK(n_points == 200 && n_spans == 4);
    sd_events_free(walk);
    CHECK(sd_events_open(p, m.path, &fit, &walk) == 0);
    for (n_points = 0; sd_events_next(walk, &e) == 1; n_points++)
        continue;
    CHECK(n_points == 2 * (21 + 11) + 3);
    sd_events_free(walk);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Runs without an end */

/* How long the run of a capture without an end was, whose folder has this bell. */
static uint64_t end_beside(const struct sd_maker *m, struct sd_bell *bell)
{
    char path[64], live[72], file[88];
    struct sd_profile *p;
    uint64_t end_ns;
    int fd;

    sd_maker_name(path);
    snprintf(live, sizeof live, "%s.live", path);
    snprintf(file, sizeof file, "%s/capture", live);
    bell->crc = sd_bell_sum(bell);
    CHECK(mkdir(live, 0700) == 0);
    CHECK(sd_file_create(file, SD_CREATE_NEW, &fd) == 0);
    CHECK(sd_write_all(fd, bell, sizeof *bell) == 0 && close(fd) == 0);
    CHECK(sd_maker_load_bytes(path, m->file.p, m->file.n, &p) == 0);
    end_ns = p->run_end_ns;
    sd_profile_free(p);
    CHECK(sd_folder_remove(live) && unlink(path) == 0);
    return end_ns;
}

/* In another pid namespace, or another boot, nobody knows, and the clock is another. */
TEST(a_run_reaches_now_only_where_it_surely_goes_on)
{
    struct sd_maker m;
    struct sd_bell bell;
    uint32_t process, thread;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 5, 1);
    process = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 100, "prog");
    thread = sd_maker_track(&m, SD_TRACK_THREAD, process, 101, "main");
    sd_maker_span(&m, sd_maker_site(&m, 0, "outer"), thread, 1, 0, 10 * MS);
    sd_maker_end_chunk(&m);
    sd_bell_fill(&bell, SD_MAKER_SALT, SD_MAKER_REAL, SD_MAKER_MONO); /* it is ours */
    CHECK(end_beside(&m, &bell) > 10 * MS);
    bell.boot ^= 1;
    CHECK(end_beside(&m, &bell) == 10 * MS);
    bell.boot ^= 1;
    bell.owner_pid_ns++;
    CHECK(end_beside(&m, &bell) == 10 * MS);
    bell.owner_pid_ns--;
    bell.owner_start++;
    CHECK(end_beside(&m, &bell) == 10 * MS);
    sd_maker_release(&m);
}

/* --- Out of memory */

TEST(profile_survives_every_allocation_that_fails)
{
    struct sd_maker m;
    struct sd_profile *p = NULL;

    make_for_filters(&m);
    EACH_FAILURE(nth)
    {
        int rc = sd_maker_try(&m, &(struct sd_filter){ .section = "fit" }, &p);

        CHECK(rc == 0 ? p != NULL : rc == SD_ENOMEM && p == NULL);
        sd_profile_free(p);
    }
    sd_maker_release(&m);
}
