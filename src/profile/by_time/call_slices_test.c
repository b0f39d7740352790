/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "profile/call_window.h"
#include "profile/slices.h"
#include "profile/timeline_testing.h"

enum { TABLE = SD_TIMELINE_TABLE };

/* f from 0.5 to 2.5 ms, g in it from 0.9 to 2.1 ms; without the cost of tracing they
 * took half as long.  A thread of which no timeline was recorded called f, too.  Of the
 * second millisecond the first half is in a section. */
static void make_half_as_long(struct sd_maker *m)
{
    uint32_t process, tracks[2], f, g;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    sd_timeline_names(m, TABLE, 8);
    sd_timeline_from(m, TABLE, 0, 0, 0);
    sd_timeline_run(m, TABLE, 0, "f500000 g900000 .2100000 .2500000", 4);
    sd_maker_span(m, sd_maker_site(m, 0, "load"),
                  sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python"), 1, 1000000,
                  1499999);
    for (uint32_t i = 0; i < 2; i++) {
        struct sd_call_cell cells[3] = { { .key = 0 } };

        sd_maker_defs(m, TABLE + i, 1);
        process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
        tracks[i] = sd_maker_track(m, SD_TRACK_THREAD, process, 8 + i, "Worker");
        f = sd_maker_function(m, "f", "/app/a.py", 1);
        g = sd_maker_function(m, "g\"", "/app/a.py", 5);
        cells[0] = sd_maker_root(tracks[i], 0, 0);
        cells[1] = (struct sd_call_cell){ .site = f, .calls = 1, .ticks = 1000000 };
        cells[2] = (struct sd_call_cell){
            .parent = 1, .site = g, .calls = 1, .ticks = 600000
        };
        sd_maker_cells(m, TABLE + i, 2, 0, cells, i ? 2 : 3);
    }
    sd_maker_end(m, 0);
}

static int64_t in_slice(const struct sd_profile *p, const struct sd_slices *s,
                        uint32_t slice, const char *function, uint64_t thread,
                        const char *metric, bool is_in_section)
{
    const struct sd_stack_totals *t = &p->evidence[SD_CALLS].stacks;
    uint32_t k = sd_totals_metric(p, t, metric);
    int64_t sum = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct sd_sample_total *total = &t->items[s->entries[i].total];

        if (s->entries[i].slice == slice &&
            p->tracks[total->track.at].number == thread &&
            (!is_in_section || s->entries[i].sections != SD_NO_SECTIONS) &&
            strcmp(p->sites[p->stacks[total->stack.at].site.at].name, function) == 0)
            sum += s->values[k][i];
    }
    return sum;
}

TEST(calls_are_in_the_slices_that_they_span_less_what_they_called)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;
    const char *path;

    make_half_as_long(&m);
    path = sd_maker_save(&m);
    CHECK(sd_profile_load(path, NULL, &p) == 0);
    CHECK(sd_call_slices_load(&s, p, &path, 1, NULL) == 0 && s.slice_ns == SD_SLICE_NS);
    CHECK(in_slice(p, &s, 0, "f", 8, "time", false) == 200000 &&
          in_slice(p, &s, 1, "f", 8, "time", false) == 0 &&
          in_slice(p, &s, 2, "f", 8, "time", false) == 200000);
    CHECK(in_slice(p, &s, 0, "g\"", 8, "time", false) == 50000 &&
          in_slice(p, &s, 1, "g\"", 8, "time", false) == 500000 &&
          in_slice(p, &s, 2, "g\"", 8, "time", false) == 50000);
    CHECK(in_slice(p, &s, 1, "g\"", 8, "time", true) == 250000 &&
          in_slice(p, &s, 0, "g\"", 8, "time", true) == 0);
    CHECK(in_slice(p, &s, 0, "g\"", 8, "calls", false) == 1 &&
          in_slice(p, &s, 1, "g\"", 8, "calls", false) == 0);
    /* When the other thread's call was nobody knows: it is not lost, and is told. */
    CHECK(s.n_untimed == 1 && in_slice(p, &s, 0, "f", 9, "time", false) == 1000000);
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(calls_by_time_survive_every_failed_allocation)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;
    const char *path;
    int rc = SD_ENOMEM;

    make_half_as_long(&m);
    path = sd_maker_save(&m);
    CHECK(sd_profile_load(path, NULL, &p) == 0);
    for (size_t nth = 1; rc == SD_ENOMEM && nth < 5000; nth++) {
        sd_mem_fail_at(nth, false);
        rc = sd_call_slices_load(&s, p, &path, 1, NULL);
        sd_mem_fail_at(0, false);
        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
    CHECK(rc == 0);
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* One thread alone, whose every call has its time: f from 0.5 to 2.5 ms, g in it from
 * 0.9 to 2.1 ms, at half of that in the table. */
static void make_timed(struct sd_maker *m, uint64_t calls_of_g)
{
    struct sd_call_cell cells[3] = { { .key = 0 } };
    uint32_t process, track, f, g;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    sd_timeline_names(m, TABLE, 8);
    sd_timeline_from(m, TABLE, 0, 0, 0);
    sd_timeline_run(m, TABLE, 0, "f500000 g900000 .2100000 .2500000", 4);
    sd_maker_span(m, sd_maker_site(m, 0, "load"),
                  sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python"), 1, 1000000,
                  1499999);
    sd_maker_defs(m, TABLE, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    track = sd_maker_track(m, SD_TRACK_THREAD, process, 8, "Worker");
    f = sd_maker_function(m, "f", "/app/a.py", 1);
    g = sd_maker_function(m, "g\"", "/app/a.py", 5);
    cells[0] = sd_maker_root(track, 0, 0);
    cells[1] = (struct sd_call_cell){ .site = f, .calls = 1, .ticks = 1000000 };
    cells[2] = (struct sd_call_cell){
        .parent = 1, .site = g, .calls = calls_of_g, .ticks = 600000
    };
    sd_maker_cells(m, TABLE, 2, 0, cells, 3);
    sd_maker_end(m, 0);
}

/* Of one function; -1: it has no total. */
static int64_t total_of(const struct sd_profile *p, const char *function,
                        const char *metric)
{
    const struct sd_stack_totals *t = &p->evidence[SD_CALLS].stacks;
    uint32_t k = sd_totals_metric(p, t, metric);

    for (size_t i = 0; i < t->n; i++)
        if (strcmp(p->sites[p->stacks[t->items[i].stack.at].site.at].name, function) ==
            0)
            return t->values[k][i];
    return -1;
}

static struct sd_profile *load_cut(const char *path, const struct sd_filter *filter)
{
    struct sd_profile *p;

    CHECK(sd_profile_load(path, filter, &p) == 0);
    CHECK(sd_call_window_apply(p, &path, 1, filter) == 0);
    return p;
}

TEST(a_window_leaves_of_calls_what_lies_in_it)
{
    /* Its end is the last moment that is part of it. */
    const struct sd_filter middle = { .from_ns = 850000, .to_ns = 949999 },
                           late = { .from_ns = 2200000 },
                           none = { .from_ns = 2600000, .to_ns = 2700000 };
    struct sd_maker m;
    struct sd_profile *p;
    const char *path;

    make_timed(&m, 1);
    path = sd_maker_save(&m);
    p = load_cut(path, &middle);
    CHECK(p->has_calls_cut && p->n_timeline_lost == 0);
    CHECK(total_of(p, "f", "time") == 25000 && total_of(p, "f", "calls") == 0);
    CHECK(total_of(p, "g\"", "time") == 25000 && total_of(p, "g\"", "calls") == 1);
    sd_profile_free(p);
    p = load_cut(path, &late); /* g had ended, and f had begun, before */
    CHECK(total_of(p, "f", "time") == 150000 && total_of(p, "f", "calls") == 0);
    CHECK(total_of(p, "g\"", "time") == -1);
    sd_profile_free(p);
    p = load_cut(path, &none);
    CHECK(p->has_calls_cut && !sd_profile_has(p, SD_CALLS));
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(a_section_leaves_of_calls_what_passed_while_it_was_open)
{
    const struct sd_filter load = { .section = "load" },
                           both = { .section = "load", .from_ns = 1400000 };
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_slices s;
    const char *path;

    make_timed(&m, 1);
    path = sd_maker_save(&m);
    p = load_cut(path, &load);
    CHECK(total_of(p, "g\"", "time") == 250000 && total_of(p, "g\"", "calls") == 0 &&
          total_of(p, "f", "time") == -1);
    sd_profile_free(p);
    p = load_cut(path, &both);
    CHECK(total_of(p, "g\"", "time") == 50000);
    /* What is left has slices of its own. */
    CHECK(sd_call_slices_load(&s, p, &path, 1, &both) == 0 && s.n == 1);
    CHECK(in_slice(p, &s, 1, "g\"", 8, "time", true) == 50000);
    sd_slices_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Slices and windows whose ends are those of slices give the same, whatever rounding
 * does. */
TEST(windows_of_slices_add_up_to_the_whole)
{
    struct sd_maker m;
    struct sd_profile *whole, *p;
    struct sd_slices s;
    int64_t sum = 0;
    const char *path;

    make_timed(&m, 1);
    path = sd_maker_save(&m);
    CHECK(sd_profile_load(path, NULL, &whole) == 0);
    CHECK(sd_call_slices_load(&s, whole, &path, 1, NULL) == 0);
    CHECK(sd_call_slices_are_whole(whole, &s));
    for (uint32_t i = 0; i < 3; i++) {
        struct sd_filter one = { .from_ns = i * s.slice_ns,
                                 .to_ns = (i + 1) * s.slice_ns - 1 };

        p = load_cut(path, &one);
        CHECK(in_slice(whole, &s, i, "g\"", 8, "time", false) ==
              total_of(p, "g\"", "time"));
        sum += total_of(p, "g\"", "time");
        sd_profile_free(p);
    }
    CHECK(sum == total_of(whole, "g\"", "time"));
    sd_slices_release(&s);
    sd_profile_free(whole);
    sd_maker_release(&m);
}

/* The table has counted more calls than the timeline has; or there is none of a thread.
 */
TEST(calls_stay_whole_where_the_timeline_does_not_have_all_of_them)
{
    const struct sd_filter window = { .from_ns = 850000, .to_ns = 949999 };
    struct sd_maker m;
    struct sd_profile *p;

    make_timed(&m, 5);
    p = load_cut(sd_maker_save(&m), &window);
    CHECK(!p->has_calls_cut && p->is_timeline_torn);
    CHECK(total_of(p, "g\"", "time") == 600000 && total_of(p, "g\"", "calls") == 5);
    sd_profile_free(p);
    sd_maker_release(&m);
    make_half_as_long(&m);
    p = load_cut(sd_maker_save(&m), &window);
    CHECK(!p->has_calls_cut && !p->is_timeline_torn);
    CHECK(total_of(p, "g\"", "time") == 600000);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(a_window_of_calls_survives_every_failed_allocation)
{
    const struct sd_filter window = { .from_ns = 850000, .to_ns = 949999 };
    struct sd_maker m;
    struct sd_profile *p;
    const char *path;
    int rc = SD_ENOMEM;

    make_timed(&m, 1);
    path = sd_maker_save(&m);
    for (size_t nth = 1; rc == SD_ENOMEM && nth < 5000; nth++) {
        CHECK(sd_profile_load(path, &window, &p) == 0);
        sd_mem_fail_at(nth, false);
        rc = sd_call_window_apply(p, &path, 1, &window);
        sd_mem_fail_at(0, false);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_profile_free(p);
    }
    CHECK(rc == 0);
    sd_maker_release(&m);
}
