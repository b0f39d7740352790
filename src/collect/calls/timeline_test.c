/* SPDX-License-Identifier: MIT */
#include "collect/calls/timeline.h"

#include <errno.h>
#include <pthread.h>
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
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON | SD_CALLS_ALL,
                                        .has_timeline = true,
                                        .in_capture = true,
                                        .names = { .define = define } };

    sd_scratch_make(&w->s);
    CHECK(sd_scratch_create(&w->s, &raw) == 0);
    CHECK(sd_session_join(w->s.live) == 0);
    CHECK(sd_calls_session_new(&request, &w->session) == 0);
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
    uint64_t most_site, most_since;
    struct sd_health health;
};

static void hear_event(struct heard *h, const struct sd_call_long_event *told,
                       uint64_t ticks)
{
    uint32_t event = told->event;

    h->begins += event == SD_CALL_BEGINS;
    h->goes_on += event == SD_CALL_GOES_ON;
    h->ends += event == SD_CALL_ENDS;
    h->pauses += event == SD_CALL_PAUSES;
    h->never += event == SD_CALL_NEVER_WAS;
    h->n_wrong += event > SD_CALL_GOES_ON && h->depth == 0;
    h->n_wrong += ticks < h->last;
    h->n_wrong += event <= SD_CALL_GOES_ON && told->site == 0;
    if (told->site > h->most_site)
        h->most_site = told->site;
    if (told->since > h->most_since)
        h->most_since = told->since;
    h->depth += event <= SD_CALL_GOES_ON ? 1 : -(uint64_t)1;
    h->last = ticks;
    h->number++;
}

static void hear_run(struct heard *h, const struct sd_rec_calls *r)
{
    const uint32_t *at = r->units, *end = sd_record_calls_end(r);
    uint64_t ticks = r->base;
    struct sd_call_long_event told;

    h->n_wrong += r->table != h->table || r->number != h->number;
    while ((at = sd_record_call_read(at, end, &told))) {
        ticks += told.since;
        hear_event(h, &told, ticks);
    }
}

static void hear(struct heard *h, const struct sd_record *record)
{
    const struct sd_rec_calls_from *from = (const void *)record;

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
                                 .most_site = h->most_site,
                                 .most_since = h->most_since,
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
        hear_run(h, (const void *)record);
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
        for (uint32_t at = 0; (record = sd_chunk_view_next(&view, &at));)
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
    work(200000);                       /* several chunks */
    sd_calls_enter(48, NULL, 0x100, 0); /* open to the end */
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 200002 && h.ends == 200002 && h.depth == 0);
    CHECK(h.n_wrong == 0 && h.n_gaps == 0 && h.n_names >= 3);
    CHECK(h.n_from > 3 && h.most_open >= 1 && h.most_open <= 2);
    CHECK(h.health.events == 400004 && h.health.lost_events == 0);
    /* 4 bytes an event, and little else. */
    CHECK(w.s.counts.bytes_raw < 400004 * 4 * 5 / 4 + 64 * 1024);
    sd_scratch_remove(&w.s);
}

TEST(a_timeline_tells_what_is_open_where_a_chunk_begins)
{
    struct world w;
    struct heard h;

    begin(&w);
    for (uintptr_t depth = 1; depth <= 1000; depth++)
        sd_calls_enter(16, NULL, depth << 4, (depth - 1) << 4);
    for (int i = 0; i < 80000; i++) {
        sd_calls_enter(32, NULL, 0x10000, 1000 << 4);
        sd_calls_leave(0x10000);
    }
    end(&w); /* ends all that is open */
    h = read_back(&w);
    CHECK(h.begins == 81000 && h.ends == 81000 && h.n_wrong == 0);
    CHECK(h.most_open == 256); /* no more of them are told */
    sd_scratch_remove(&w.s);
}

/* More functions than a short event can name, in one run of events with those that it
 * can; and a call that takes longer than it can say. */
TEST(a_timeline_tells_of_any_function_and_of_any_length)
{
    enum {
        MANY = 10000
    }; /* each is two definitions, and a name by a short event 2^14 */
    uint64_t until;
    struct world w;
    struct heard h;

    begin(&w);
    for (int again = 0; again < 2; again++)
        for (uint64_t key = 1; key <= MANY; key++) {
            sd_calls_enter(key * 16, NULL, 0x100, 0);
            sd_calls_leave(0x100);
        }
    sd_calls_enter(16, NULL, 0x100, 0);
    for (until = sd_tsc() + (UINT64_C(1) << 20); sd_tsc() < until;)
        ;
    sd_calls_leave(0x100);
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 2 * MANY + 1 && h.ends == h.begins && h.n_wrong == 0);
    CHECK(h.most_site > UINT64_C(1) << 14 && h.most_since >= UINT64_C(1) << 20);
    CHECK(h.health.events == 2 * h.begins && h.health.lost_events == 0);
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
        struct sd_calls_request request = { .events = SD_CALLS_PYTHON,
                                            .has_timeline = true,
                                            .in_capture = true,
                                            .names = { .define = define } };

        if (sd_session_join(w.s.live) < 0 ||
            sd_calls_session_new(&request, &w.session) < 0 ||
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
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON,
                                        .has_timeline = true,
                                        .is_trial = true,
                                        .names = { .define = define } };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    CHECK(sd_calls_session_start(s) == 0);
    work(1000);
    CHECK(!s->trees[0]->timeline.log && s->trees[0]->timeline.scratch);
    sd_calls_session_free(s);
}

/* A Profile: its trees are in memory, and only its timeline is in the capture. */
static struct sd_calls_session *new_profile(unsigned events)
{
    struct sd_calls_request request = { .events = SD_CALLS_PYTHON | events,
                                        .has_timeline = true,
                                        .names = { .define = define } };
    struct sd_calls_session *s;

    CHECK(sd_calls_session_new(&request, &s) == 0);
    return s;
}

static void begin_capture(struct world *w)
{
    sd_scratch_make(&w->s);
    CHECK(sd_scratch_create(&w->s, &(struct sd_capture_options){ .zstd_level = 0 }) ==
          0);
    CHECK(sd_session_join(w->s.live) == 0);
}

/* On and off, again and again: names are told once, and nothing is missing between. */
TEST(a_timeline_that_rests_holds_no_log_and_goes_on)
{
    struct world w;
    struct heard h;

    begin_capture(&w);
    w.session = new_profile(0);
    CHECK(sd_calls_session_start(w.session) == 0);
    for (uint64_t key = 100; key < 200; key++) { /* names that would weigh */
        sd_calls_enter(key * 16, NULL, 0x100, 0);
        sd_calls_leave(0x100);
    }
    sd_calls_session_stop(w.session);
    for (int i = 0; i < 50; i++) {
        CHECK(sd_calls_session_start(w.session) == 0);
        work(3);
        CHECK(w.session->trees[0]->timeline.log);
        sd_calls_session_stop(w.session);
        CHECK(!w.session->trees[0]->timeline.log);
    }
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 100 + 50 * 4 && h.ends == h.begins);
    CHECK(h.n_wrong == 0 && h.n_gaps == 0);
    /* The clock is told at every rest, the names once. */
    CHECK(w.s.counts.bytes_raw < 50 * 600 + 32 * 1024);
    sd_scratch_remove(&w.s);
}

/* Two by turns: the log of one is the other's next, where each begins anew. */
TEST(timelines_that_take_turns_in_a_log_are_told_apart)
{
    struct sd_calls_session *other;
    struct world w;
    struct heard h;

    begin_capture(&w);
    w.session = new_profile(0);
    other = new_profile(0);
    for (int i = 0; i < 10; i++) {
        struct sd_calls_session *s = i % 2 ? other : w.session;

        CHECK(sd_calls_session_start(s) == 0);
        work(3);
        sd_calls_session_stop(s);
    }
    sd_calls_session_free(other);
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 10 * 4 && h.ends == 10 * 4 && h.n_wrong == 0 && h.n_missing == 0);
    sd_scratch_remove(&w.s);
}

/* What was stopped before a fork has nothing of the parent's in the child, where the
 * first event of anybody else frees all that was the parent's. */
TEST(a_timeline_that_rests_may_go_in_a_child_of_fork)
{
    struct sd_calls_session *rests;
    struct world w;
    struct heard h;
    pid_t child;
    int status;

    begin_capture(&w);
    rests = new_profile(0);
    CHECK(sd_calls_session_start(rests) == 0);
    work(3);
    sd_calls_session_stop(rests);
    w.session = new_profile(0);
    child = fork();
    if (child == 0) {
        if (!sd_session_log()) /* an event of somebody's */
            _exit(2);
        if (sd_calls_session_start(rests) < 0)
            _exit(3);
        work(5);
        sd_calls_session_free(rests);
        sd_session_leave();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    sd_calls_session_free(rests);
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 4 + 6 && h.ends == 4 + 6 && h.n_wrong == 0 && h.n_missing == 0);
    sd_scratch_remove(&w.s);
}

static void *short_thread(void *unused)
{
    work(2);
    return unused;
}

/* Threads, one after the other: the log of one is the next one's. */
TEST(timelines_of_threads_that_ended_take_no_place)
{
    struct world w;
    struct heard h;
    uint64_t slots = 0;

    begin_capture(&w);
    w.session = new_profile(SD_CALLS_ALL);
    CHECK(sd_calls_session_start(w.session) == 0);
    for (int i = 0; i < 300; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, short_thread, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    for (size_t i = 0; i < w.session->n_trees; i++)
        slots += w.session->trees[i]->timeline.log != NULL;
    CHECK(w.session->n_trees == 301 && slots <= 1);
    end(&w);
    h = read_back(&w);
    CHECK(h.begins == 300 * 3 && h.ends == 300 * 3 && h.n_wrong == 0);
    sd_scratch_remove(&w.s);
}

/* Of a session that is not the capture's, after that was left. */
TEST(a_timeline_writes_nothing_once_the_capture_is_left)
{
    struct world w;
    struct heard h;

    begin_capture(&w);
    w.session = new_profile(0);
    CHECK(sd_calls_session_start(w.session) == 0);
    work(3);
    sd_session_leave();
    work(1000);
    CHECK(!w.session->trees[0]->timeline.log);
    sd_calls_session_free(w.session);
    CHECK(sd_capture_finish(w.s.capture, 0, &w.s.counts) == 0);
    h = read_back(&w);
    CHECK(h.begins < 4 + 256 && h.n_wrong == 0);
    sd_scratch_remove(&w.s);
}
