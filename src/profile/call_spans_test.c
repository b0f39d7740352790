/* SPDX-License-Identifier: MIT */
#include "profile/call_spans.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "profile/events.h"
#include "profile/series.h"
#include "profile/timeline_testing.h"

enum { TABLE = SD_TIMELINE_TABLE, F = SD_TIMELINE_F, G = SD_TIMELINE_G };

/* All spans of the capture: "g 20-30, f 10-40". */
static const char *spans(struct sd_maker *m, const struct sd_filter *filter)
{
    static char text[4096];
    struct sd_profile *p = sd_maker_load(m, filter);
    struct sd_events *events;
    struct sd_event e;
    size_t n = 0;

    CHECK(sd_events_open(p, *m->path ? m->path : sd_maker_save(m), filter, &events) ==
          0);
    sd_events_want_calls(events);
    *text = 0;
    while (sd_events_next(events, &e) == 1 && n < sizeof text - 64) {
        CHECK(e.kind == SD_EVENT_CALL);
        n += (size_t)snprintf(text + n, 64, "%s%s %d-%d%s%s%s", n ? ", " : "",
                              p->sites[e.site.at].name, (int)e.from_ns, (int)e.to_ns,
                              e.flags & SD_SPAN_UNFINISHED ? " unfinished" : "",
                              e.flags & SD_SPAN_PAUSED ? " paused" : "",
                              e.flags & SD_SPAN_RESUMED ? " resumed" : "");
    }
    sd_events_free(events);
    sd_profile_free(p);
    return text;
}

TEST(calls_of_a_timeline_become_spans)
{
    struct sd_profile *p;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 g20 .30 g35 .38 .40 f50", 10);
    sd_timeline_run(&m, TABLE, 7, "g60 !61 .70", 3);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, NULL), "g\" 20-30, g\" 35-38, f 10-40, f 50-70") == 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_timeline_calls == 4 && p->n_timeline_lost == 0);
    CHECK(p->end_ns == 70 && !p->complaint);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(what_is_open_where_a_timeline_ends_is_unfinished)
{
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 g20 f30 .40", 4);
    /* The slot is another thread's now, with names of its own. */
    sd_timeline_names(&m, TABLE + 1, 9);
    sd_timeline_from(&m, TABLE + 1, 0, 0, 0);
    sd_timeline_run(&m, TABLE + 1, 0, "g50 .60 f70", 3);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, NULL), "f 30-40, g\" 20-40 unfinished, f 10-40 unfinished, "
                                  "g\" 50-60, f 70-70 unfinished") == 0);
    sd_maker_release(&m);
}

TEST(a_paused_call_is_several_spans)
{
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 ~20 g20 .30 ^f31 .40", 6);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, NULL), "f 10-20 paused, g\" 20-30, f 31-40 resumed") == 0);
    sd_maker_release(&m);
}

/* A chunk in the middle is gone: f is the same as before, one g has ended and another
 * is open. */
TEST(a_gap_of_a_timeline_costs_what_was_in_it)
{
    struct sd_rec_calls_from *r;
    struct sd_profile *p;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 g20", 2);
    sd_maker_chunk(&m, 1, 3);
    r = sd_timeline_from(&m, TABLE, 6, 2, 2);
    r->open[0] = (struct sd_open_call){ SD_MAKER_MONO + 10, F, 0 };
    r->open[1] = (struct sd_open_call){ SD_MAKER_MONO + 80, G, 0 };
    sd_timeline_run(&m, TABLE, 6, ".90 .100", 2);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, NULL), "g\" 20-20 unfinished, g\" 80-90, f 10-100") == 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_timeline_calls == 2 && p->n_timeline_lost == 2 && p->complaint);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Only the innermost are told: what ends below them is not known. */
TEST(calls_of_which_nothing_is_known_are_left_out)
{
    struct sd_rec_calls_from *r;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 5);
    r = sd_timeline_from(&m, TABLE, 100, 3, 1);
    r->open[0] = (struct sd_open_call){ SD_MAKER_MONO + 5, F, 0 };
    sd_timeline_run(&m, TABLE, 100, "g6 .7 .8 .9 .10 .11 f12", 7);
    sd_maker_end(&m, 0);
    /* Nor are the names, which stood in a chunk before. */
    CHECK(strcmp(spans(&m, NULL), "[lost name] 6-7, [lost name] 5-8, "
                                  "[lost name] 12-12 unfinished") == 0);
    sd_maker_release(&m);
}

TEST(clocks_that_go_back_and_sites_that_are_none_do_no_harm)
{
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_run(&m, TABLE, 3, ".5 f10 x30",
                    3); /* nor does it say where it stands */
    sd_timeline_run(&m, TABLE, 6, ".20", 1);
    sd_timeline_run(&m, TABLE, 7, ".15", 1);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, NULL), "[lost name] 30-30, f 10-30") == 0);
    sd_maker_release(&m);
}

TEST(a_window_of_time_chooses_calls)
{
    const struct sd_filter window = { .from_ns = 32, .to_ns = 36 };
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 g20 .30 g35 .38 .40 f50 .60", 8);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, &window), "g\" 35-38, f 10-40") == 0);
    sd_maker_release(&m);
}

/* Ticks of a counter, 4 to a nanosecond: the table's pairs and the timeline's are one
 * line, whichever comes first in the file. */
TEST(ticks_of_a_timeline_become_nanoseconds)
{
    struct sd_rec_calls_from *r;
    struct sd_rec_calls *c;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    r = sd_timeline_from(&m, TABLE, 0, 0, 0);
    r->clock = SD_CLOCK_TSC;
    r->ticks = 4000;
    r->mono_ns = SD_MAKER_MONO;
    c = sd_maker_record(&m, SD_REC_CALLS, sizeof *c + 16);
    c->table = TABLE;
    c->base = 4000;
    sd_timeline_event(sd_timeline_event(c->units, SD_CALL_BEGINS, F, 400), SD_CALL_ENDS,
                      0, 3999600);
    m.head.count++;
    sd_maker_defs(&m, TABLE, 1);
    sd_maker_clock(&m, 4000 + 80000000, SD_MAKER_MONO + 20000000);
    sd_maker_end(&m, 0);
    CHECK(strcmp(spans(&m, NULL), "f 100-1000000") == 0);
    sd_maker_release(&m);
}

/* A tree of f, called so often, whose table has this stream. */
static void tree(struct sd_maker *m, uint64_t stream, uint64_t calls)
{
    struct sd_call_cell cells[2];
    uint32_t process, track, f;

    sd_maker_defs(m, stream, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    track = sd_maker_track(m, SD_TRACK_THREAD, process, 8, "Worker");
    f = sd_maker_function(m, "f", "/app/a.py", 1);
    cells[0] = sd_maker_root(track, 0, 0);
    cells[1] = (struct sd_call_cell){ .key = 1, .site = f, .calls = calls, .ticks = 5 };
    sd_maker_cells(m, stream, 2, 0, cells, 2);
}

static uint64_t lost(struct sd_maker *m)
{
    struct sd_profile *p = sd_maker_load(m, NULL);
    uint64_t n = p->n_timeline_lost;

    sd_profile_free(p);
    return n;
}

TEST(a_tree_without_a_timeline_misses_nothing)
{
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8); /* of a Profile, whose tree is nowhere */
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 .20", 2);
    tree(&m, 5, 1000);
    sd_maker_end(&m, 0);
    CHECK(lost(&m) == 0);
    sd_maker_release(&m);
}

TEST(a_tree_says_what_its_own_timeline_misses)
{
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, 5, 8);
    sd_timeline_from(&m, 5, 0, 0, 0);
    sd_timeline_run(&m, 5, 0, "f10 .20 f30 .40", 4);
    tree(&m, 5, 9);
    tree(&m, 6, 1000);
    sd_maker_end(&m, 0);
    CHECK(lost(&m) == 7);
    sd_maker_release(&m);
}

TEST(without_a_tree_a_gap_says_what_a_timeline_misses)
{
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 .20", 2);
    sd_maker_chunk(&m, 1, 2);
    sd_timeline_from(&m, TABLE, 22, 0, 0);
    sd_timeline_run(&m, TABLE, 22, "f30 .40", 2);
    tree(&m, 5, 1000);
    sd_maker_end(&m, 0);
    CHECK(lost(&m) == 10);
    sd_maker_release(&m);
}

TEST(a_call_that_never_was_is_not_counted_in_another_run_either)
{
    struct sd_profile *p;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    sd_timeline_from(&m, TABLE, 0, 0, 0);
    sd_timeline_run(&m, TABLE, 0, "f10 g20", 2);
    sd_timeline_run(&m, TABLE, 2, "!21 g30 .40 .50", 4);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_timeline_calls == 2);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Ticks that are more nanoseconds than there are: the last moment there is. */
TEST(ticks_beyond_all_time_are_its_end)
{
    struct sd_rec_calls *r;
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_timeline_names(&m, TABLE, 8);
    for (int i = 0; i < 2; i++) {
        struct sd_rec_calls_from *at = sd_timeline_from(&m, TABLE, 0, 0, 0);

        at->clock = SD_CLOCK_TSC;
        at->ticks = 1000 + 100000000 * (uint64_t)i;
        at->mono_ns = SD_MAKER_MONO + 400000000 * (uint64_t)i;
    }
    r = sd_maker_record(&m, SD_REC_CALLS, sizeof *r + 8);
    r->table = TABLE;
    r->base = UINT64_MAX - 10;
    sd_timeline_event(r->units, SD_CALL_BEGINS, F, 0);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_timeline_calls == 1 && p->end_ns == SD_TIME_MAX - SD_MAKER_MONO);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Made once from docs/format.md (4.2), not by our writer: short events and long ones,
 * one that never was, a stack that pauses and goes on, and places that are still empty.
 */
static const uint8_t golden[] = {
    0x89, 0x53, 0x4F, 0x4E, 0x44, 0x45, 0x0D, 0x0A, 0x01, 0x00, 0x00, 0x00, 0x40, 0x00,
    0x00, 0x00, 0x4D, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2A, 0x36,
    0xFE, 0x9C, 0x97, 0x17, 0x00, 0xCA, 0x9A, 0x3B, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x44, 0x39, 0x89, 0x3E, 0x44, 0x53, 0x43, 0x4B, 0x01, 0x00,
    0x00, 0x00, 0x4D, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xE0, 0x01, 0x00, 0x00, 0xE0, 0x01,
    0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x8C, 0x9E,
    0x0C, 0x2E, 0x20, 0x01, 0x0C, 0x01, 0x00, 0x00, 0x00, 0x00, 0x84, 0x03, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x18, 0x00, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x06, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x70, 0x79, 0x74, 0x68, 0x6F, 0x6E, 0x00, 0x00,
    0x28, 0x00, 0x03, 0x01, 0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18, 0x00,
    0x01, 0x01, 0x03, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x57, 0x6F, 0x72, 0x6B, 0x65, 0x72, 0x00, 0x00, 0x28, 0x00, 0x03, 0x01, 0x04, 0x00,
    0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18, 0x00, 0x01, 0x01, 0x05, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x66, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x20, 0x00, 0x01, 0x01, 0x06, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x2F, 0x61, 0x70, 0x70, 0x2F, 0x61, 0x2E, 0x70, 0x79, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x02, 0x01, 0x07, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18, 0x00, 0x01, 0x01,
    0x08, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x67, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x02, 0x01, 0x09, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x05, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x38, 0x00, 0x0D, 0x01,
    0x04, 0x00, 0x00, 0x00, 0x84, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xCA, 0x9A, 0x3B, 0x00, 0x00, 0x00, 0x00,
    0x00, 0xCA, 0x9A, 0x3B, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x88, 0x00, 0x16, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x84, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xE8, 0xCD,
    0x9A, 0x3B, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x1D, 0x00, 0x0A, 0x00, 0x25, 0x00, 0xFF, 0xFF, 0x02, 0x00, 0x01, 0x00, 0x23, 0x01,
    0x00, 0x00, 0x70, 0x11, 0x01, 0x00, 0x0B, 0x00, 0x00, 0x00, 0xA0, 0x86, 0x01, 0x00,
    0x25, 0x00, 0x04, 0x00, 0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x25, 0x00,
    0x06, 0x00, 0x0F, 0x00, 0x00, 0x00, 0x0A, 0x00, 0x00, 0x00, 0x0F, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x25, 0x00, 0x14, 0x00, 0x02, 0x00, 0x05, 0x00, 0xE7, 0x00,
    0x00, 0x00, 0x64, 0x00, 0x00, 0x00, 0x27, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x32, 0x00, 0x02, 0x00, 0x01, 0x00, 0x1D, 0x00, 0x09, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x44, 0x53, 0x43, 0x4B, 0x06, 0x00, 0x00, 0x00,
    0x4D, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xB0, 0x49, 0x36, 0x8C,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0xCA, 0x9A, 0x3B, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x2A, 0x36, 0xFE, 0x9C, 0x97, 0x17,
};

TEST(golden_timeline_is_read)
{
    struct sd_maker m = { 0 };
    struct sd_profile *p;

    sd_buf_add(&m.file, golden, sizeof golden);
    CHECK(strcmp(spans(&m, NULL),
                 "g 66545-66546, g 136546-236546, g 236556-236566 paused, "
                 "f 1010-236566 paused, g 236586-236591, g 236691-236741 resumed, "
                 "f 236691-236742 resumed, f 236751-236751 unfinished") == 0);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_timeline_calls == 6);
    sd_profile_free(p);
    sd_maker_release(&m);
}
