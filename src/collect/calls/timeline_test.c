/* SPDX-License-Identifier: MIT */
#include "collect/calls/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "capture/capture_testing.h"
#include "collect/calls/sessions.h"
#include "collect/session.h"

/* Functions are numbers, frames too; no interpreter is near. */
static uint32_t define(void *of, struct sd_call_tree *t, uint64_t key, const void *what)
{
    char name[24];
    int n = snprintf(name, sizeof name, "f%d", (int)key);

    (void)of, (void)what;
    return sd_cells_define_function(
        t->table, 0, sd_cells_define_string(t->table, name, (size_t)n), 0, 0, 1);
}

struct world {
    struct sd_scratch s;
    struct sd_calls_session *session;
};

static void begin(struct world *w)
{
    const struct sd_capture_options raw = { .zstd_level = 0 };
    struct sd_calls_wish wish = { .events = SD_CALLS_PYTHON | SD_CALLS_ALL,
                                  .has_timeline = true,
                                  .in_capture = true,
                                  .names = { .define = define } };

    sd_scratch_make(&w->s);
    CHECK(sd_scratch_create(&w->s, &raw) == 0);
    CHECK(sd_session_join(w->s.live) == 0);
    CHECK(sd_calls_session_new(&wish, &w->session) == 0);
    CHECK(sd_calls_session_start(w->session) == 0);
}

static void end(struct world *w)
{
    sd_calls_session_free(w->session);
    sd_session_leave();
    CHECK(sd_capture_finish(w->s.capture, 0, &w->s.counts) == 0);
}

/* f calls g, `n` times. */
static void work(unsigned n)
{
    sd_calls_enter(16, NULL, 0x100, 0);
    for (unsigned i = 0; i < n; i++) {
        sd_calls_enter(32, NULL, 0x200, 0x100);
        sd_calls_leave(0x200);
    }
    sd_calls_leave(0x100);
}

/* --- What the capture says */

struct heard {
    uint64_t begins, goes_on, ends, pauses, never;
    uint64_t n_from, n_names, n_gaps, n_missing;
    uint64_t depth, most_open; /* calls that are told as open where a chunk begins */
    uint64_t n_wrong;          /* ends without a beginning, clocks that go back */
    uint64_t table, number, last;
    struct sd_health health;
};

static void hear_word(struct heard *h, const struct sd_rec_calls *r, uint64_t word)
{
    uint64_t ticks = r->base + (uint32_t)word;
    uint32_t event = (uint32_t)(word >> 32) & 7;

    h->begins += event == SD_CALL_BEGINS;
    h->goes_on += event == SD_CALL_GOES_ON;
    h->ends += event == SD_CALL_ENDS;
    h->pauses += event == SD_CALL_PAUSES;
    h->never += event == SD_CALL_NEVER_WAS;
    h->n_wrong += event > SD_CALL_GOES_ON && h->depth == 0;
    h->n_wrong += ticks < h->last;
    h->n_wrong += event <= SD_CALL_GOES_ON && word >> 35 == 0;
    h->depth += event <= SD_CALL_GOES_ON ? 1 : -(uint64_t)1;
    h->last = ticks;
    h->number++;
}

static void hear(struct heard *h, const struct sd_record *record)
{
    const struct sd_rec_calls_from *from = (const void *)record;
    const struct sd_rec_calls *calls = (const void *)record;

    h->n_names += record->type == SD_REC_NAMES;
    if (record->type == SD_REC_CALLS_FROM) {
        if (from->table != h->table)
            *h = (struct heard){ h->begins,
                                 h->goes_on,
                                 h->ends,
                                 h->pauses,
                                 h->never,
                                 h->n_from,
                                 h->n_names,
                                 h->n_gaps,
                                 h->n_missing,
                                 h->depth,
                                 h->most_open,
                                 .n_wrong = h->n_wrong,
                                 .table = from->table };
        h->n_gaps += from->number != h->number;
        h->n_missing += from->number - h->number;
        h->n_wrong += from->number == h->number && from->depth != h->depth;
        h->number = from->number;
        h->depth = from->depth;
        if (from->n > h->most_open)
            h->most_open = from->n;
        h->n_from++;
    } else if (record->type == SD_REC_CALLS) {
        h->n_wrong += calls->table != h->table || calls->number != h->number;
        for (uint32_t i = 0; i < sd_calls_n(calls); i++)
            hear_word(h, calls, calls->events[i]);
    }
}

static struct heard read_back(const struct world *w)
{
    const struct sd_record *record;
    struct heard h = { .n_wrong = 0 };
    struct sd_chunk_view view;
    struct sd_reader *r;

    CHECK(sd_reader_open(w->s.path, &r) == 0);
    while (sd_reader_next(r, &view) == 1)
        for (uint32_t at = 0; (record = sd_chunk_next(&view, &at));)
            hear(&h, record);
    h.health = *sd_reader_health(r);
    sd_reader_free(r);
    return h;
}

/* --- Tests */

TEST(every_call_of_a_timeline_is_in_the_capture)
{
    struct world w;
    struct heard h;

    begin(&w);
    work(100000);                       /* several chunks */
    sd_calls_enter(48, NULL, 0x100, 0); /* open to the end */
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 100002 && h.ends == 100002 && h.depth == 0);
    CHECK(h.n_wrong == 0 && h.n_gaps == 0 && h.n_names >= 3);
    CHECK(h.n_from > 3 && h.most_open == 1);
    CHECK(h.health.events == 200004 && h.health.lost_events == 0);
    /* 8 bytes an event, and little else. */
    CHECK(w.s.counts.bytes_raw < 200004 * 8 * 21 / 20 + 64 * 1024);
    sd_scratch_remove(&w.s);
}

TEST(a_timeline_tells_what_is_open_where_a_chunk_begins)
{
    struct world w;
    struct heard h;

    begin(&w);
    for (uintptr_t depth = 1; depth <= 1000; depth++)
        sd_calls_enter(16, NULL, depth << 4, (depth - 1) << 4);
    for (int i = 0; i < 40000; i++) {
        sd_calls_enter(32, NULL, 0x10000, 1000 << 4);
        sd_calls_leave(0x10000);
    }
    end(&w); /* ends all that is open */
    h = read_back(&w);
    CHECK(h.begins == 41000 && h.ends == 41000 && h.n_wrong == 0);
    CHECK(h.most_open == 256); /* no more of them are told */
    sd_scratch_remove(&w.s);
}

TEST(a_stack_that_waits_is_paused_and_goes_on)
{
    struct world w;
    struct heard h;

    begin(&w);
    sd_calls_enter(16, NULL, 0x100, 0x10);
    sd_calls_enter(32, NULL, 0x200, 0x100);
    sd_calls_enter(48, NULL, 0x300, 0x20); /* a greenlet */
    sd_calls_leave(0x300);
    sd_calls_leave(0x200); /* back */
    sd_calls_leave(0x100);
    sd_calls_enter(64, NULL, 0x100, 0x10);
    sd_calls_never_ran(0x100);
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 4 && h.pauses == 2 && h.goes_on == 2 && h.ends == 3);
    CHECK(h.never == 1 && h.depth == 0 && h.n_wrong == 0);
    sd_scratch_remove(&w.s);
}

/* The process is killed in the middle of it. */
TEST(a_timeline_outlives_its_process)
{
    struct world w;
    struct heard h;
    pid_t child;

    sd_scratch_make(&w.s);
    CHECK(sd_scratch_create(&w.s, &(struct sd_capture_options){ .zstd_level = 0 }) ==
          0);
    child = fork();
    if (child == 0) {
        struct sd_calls_wish wish = { .events = SD_CALLS_PYTHON,
                                      .has_timeline = true,
                                      .in_capture = true,
                                      .names = { .define = define } };

        if (sd_session_join(w.s.live) < 0 ||
            sd_calls_session_new(&wish, &w.session) < 0 ||
            sd_calls_session_start(w.session) < 0)
            _exit(1);
        work(50000);
        sd_calls_enter(16, NULL, 0x100, 0);
        sd_calls_enter(32, NULL, 0x200, 0x100);
        kill(getpid(), SIGKILL);
    }
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    CHECK(sd_capture_finish(w.s.capture, 0, &w.s.counts) == 0);
    h = read_back(&w);
    CHECK(h.begins == 50003 && h.ends == 50001 && h.depth == 2 && h.n_wrong == 0);
    CHECK(h.health.lost_events == 0);
    sd_scratch_remove(&w.s);
}

/* The child's calls are its own; the parent's log is left alone. */
TEST(a_forked_child_has_a_timeline_of_its_own)
{
    struct world w;
    struct heard h;
    pid_t child;
    int status;

    begin(&w);
    sd_calls_enter(16, NULL, 0x100, 0);
    child = fork();
    if (child == 0) {
        sd_calls_enter(32, NULL, 0x200, 0x100);
        sd_calls_leave(0x200);
        sd_calls_leave(0x100);
        sd_calls_session_stop(w.session);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    sd_calls_leave(0x100);
    work(10);
    end(&w);
    h = read_back(&w);
    /* In the child f was running before: it is below everything. */
    CHECK(h.begins == 12 + 1 && h.ends == 12 + 1 && h.n_wrong == 0);
    sd_scratch_remove(&w.s);
}

/* Where nothing can be shared it is written, at the latest after 100 ms. */
TEST(a_timeline_is_written_where_nothing_is_shared)
{
    struct world w;
    struct heard h;

    sd_live_forbid_mapping(true);
    begin(&w);
    work(20000);
    end(&w);
    sd_live_forbid_mapping(false);
    h = read_back(&w);
    CHECK(h.begins == 20001 && h.ends == 20001 && h.n_wrong == 0 && h.n_gaps == 0);
    sd_scratch_remove(&w.s);
}

/* A trial goes nowhere. */
TEST(a_trial_of_a_timeline_is_not_in_the_capture)
{
    struct sd_calls_wish wish = { .events = SD_CALLS_PYTHON,
                                  .has_timeline = true,
                                  .is_trial = true,
                                  .names = { .define = define } };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&wish, &s) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    work(1000);
    CHECK(!s->trees[0]->timeline.log && s->trees[0]->timeline.scratch);
    sd_calls_session_free(s);
}
