/* SPDX-License-Identifier: MIT */
#include "collect/calls/call_tree.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "capture/capture_testing.h"
#include "collect/calls/call_tree_testing.h"

/* The cell of a path, "abc": a called b called c; NULL when there is none. */
static struct sd_call_cell *cell_of(const struct world *w, const char *path)
{
    uint32_t at = 0, n = sd_cells_n(w->tree->table);

    for (; *path; path++) {
        uint32_t i = 1;

        for (; i < n; i++) {
            struct sd_call_cell *c = sd_cells_at(w->tree->table, i);

            if (c->parent == at && c->key == (uint64_t)*path * 10)
                break;
        }
        if (i == n)
            return NULL;
        at = i;
    }
    return sd_cells_at(w->tree->table, at);
}

static bool is(const struct world *w, const char *path, uint64_t calls, uint64_t ticks)
{
    struct sd_call_cell *c = cell_of(w, path);

    return c && c->calls == calls && c->ticks == ticks;
}

/* What we do in between is no time of anybody's, and takes none from who comes later.
 */
TEST(calls_do_not_have_the_time_that_is_skipped)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    w.now += 5;
    enter(&w, 'b', 2, 1);
    w.now += 7;
    w.now += 100;
    sd_call_tree_skip(w.tree, 100, 0);
    enter(&w, 'c', 3, 2);
    w.now += 3;
    leave(&w, 3);
    leave(&w, 2);
    w.now += 1;
    leave(&w, 1);
    enter(&w, 'b', 1, 0);
    w.now += 2;
    leave(&w, 1);
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "abc", 1, 3) && is(&w, "ab", 1, 10) && is(&w, "a", 1, 16));
    CHECK(is(&w, "b", 1, 2));
    sd_call_tree_free(w.tree);
}

/* By the machine's own clock: a call with nothing in it but pauses has next to nothing
 * of what they take, and never less than nothing. */
TEST(a_pause_takes_no_time_of_its_own)
{
    enum { ROUNDS = 100, EACH = 100 };
    struct world w = { 0 };
    struct sd_call_tree_how how = { .names = { .define = define, .of = &w },
                                    .clock = sd_ticks_kind() };
    uint64_t least = UINT64_MAX, least_booked = UINT64_MAX;

    CHECK(sd_call_tree_new(&how, &w.tree) == 0);
    sd_call_tree_begin(w.tree);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t booked = round ? cell_of(&w, "a")->ticks : 0, from, took;

        w.now = from = sd_ticks_now(how.clock);
        enter(&w, 'a', 1, 0);
        for (int i = 0; i < EACH; i++)
            sd_call_tree_go_on(w.tree, sd_call_tree_pause(w.tree));
        w.now = sd_ticks_now(how.clock);
        leave(&w, 1);
        took = w.now - from;
        booked = cell_of(&w, "a")->ticks - booked;
        CHECK(booked <= took);
        least = took < least ? took : least;
        least_booked = booked < least_booked ? booked : least_booked;
    }
    CHECK(least_booked <= least / 2);
    sd_call_tree_end(w.tree);
    sd_call_tree_free(w.tree);
}

/* 1 calls 2, which is left for 9 (of another greenlet) and goes on. */
TEST(what_was_skipped_stays_so_when_a_stack_waits)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    enter(&w, 'b', 2, 1);
    w.now += 50;
    sd_call_tree_skip(w.tree, 40, 0);
    enter(&w, 'c', 9, 0);
    w.now += 30;
    sd_call_tree_skip(w.tree, 20, 0);
    leave(&w, 9);
    w.now += 5;
    enter(&w, 'd', 3, 2);
    w.now += 7;
    sd_call_tree_skip(w.tree, 4, 0);
    leave(&w, 3);
    leave(&w, 2);
    leave(&w, 1);
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "c", 1, 10) && is(&w, "abd", 1, 3));
    CHECK(is(&w, "ab", 1, 13) && is(&w, "a", 1, 13));
    sd_call_tree_free(w.tree);
}

TEST(calls_are_counted_and_timed_along_their_path)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    w.now += 5;
    enter(&w, 'b', 2, 1);
    w.now += 7;
    leave(&w, 2);
    enter(&w, 'b', 2, 1);
    w.now += 1;
    leave(&w, 2);
    leave(&w, 1);
    enter(&w, 'b', 1, 0);
    w.now += 2;
    leave(&w, 1);
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "a", 1, 13));
    CHECK(is(&w, "ab", 2, 8));
    CHECK(is(&w, "b", 1, 2));
    CHECK(w.n_defined == 2);
    CHECK(sd_call_tree_root(w.tree)->resyncs == 0);
    CHECK(sd_call_tree_root(w.tree)->traced == 15);
    sd_call_tree_free(w.tree);
}

TEST(recursion_is_a_path_of_its_own)
{
    struct world w;

    begin(&w, 0);
    for (unsigned depth = 1; depth <= 1000; depth++) {
        enter(&w, 'f', depth, depth - 1);
        w.now++;
    }
    for (unsigned depth = 1000; depth > 0; depth--)
        leave(&w, depth);
    CHECK(is(&w, "f", 1, 1000));
    CHECK(is(&w, "ffff", 1, 997));
    CHECK(sd_cells_n(w.tree->table) == 1001);
    CHECK(w.tree->top == w.tree->stack);
    sd_call_tree_free(w.tree);
}

/* More children than any cache holds, in an order that none foresees. */
TEST(every_child_is_found_again)
{
    struct world w;
    uint64_t seed = 1;
    unsigned calls[4000] = { 0 };

    begin(&w, 0);
    for (int i = 0; i < 40000; i++) {
        unsigned k;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        k = (unsigned)(seed >> 33) % 4000;
        calls[k]++;
        sd_call_tree_enter(w.tree, k + 10, NULL, 16, 0)->start = w.now;
        w.now++;
        sd_call_tree_leave(w.tree, 16, w.now);
    }
    for (uint32_t i = 1; i < sd_cells_n(w.tree->table); i++) {
        struct sd_call_cell *c = sd_cells_at(w.tree->table, i);

        CHECK(c->calls == calls[c->key - 10] && c->ticks == c->calls && c->parent == 0);
        calls[c->key - 10] = 0;
    }
    for (int k = 0; k < 4000; k++)
        CHECK(calls[k] == 0);
    sd_call_tree_free(w.tree);
}

TEST(what_ran_before_the_session_is_below_everything)
{
    struct world w;

    begin(&w, 0);
    leave(&w, 9);
    enter(&w, 'a', 3, 2);
    w.now += 3;
    leave(&w, 3);
    leave(&w, 2);
    enter(&w, 'b', 2, 1);
    w.now += 4;
    leave(&w, 2);
    CHECK(is(&w, "a", 1, 3) && is(&w, "b", 1, 4));
    CHECK(sd_cells_n(w.tree->table) == 3);
    CHECK(sd_call_tree_root(w.tree)->resyncs == 0);
    sd_call_tree_free(w.tree);
}

TEST(a_session_that_ends_in_the_middle_ends_what_is_open)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    w.now += 5;
    enter(&w, 'b', 2, 1);
    w.now += 5;
    sd_call_tree_end(w.tree);
    leave(&w, 2);
    CHECK(is(&w, "a", 1, 10) && is(&w, "ab", 1, 5));
    w.now += 100;
    sd_call_tree_begin(w.tree);
    leave(&w, 1);
    enter(&w, 'b', 1, 0);
    w.now += 1;
    leave(&w, 1);
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "b", 1, 1) && is(&w, "a", 1, 10));
    CHECK(sd_call_tree_root(w.tree)->traced == 11);
    sd_call_tree_free(w.tree);
}

/* Greenlets: frames 1-2 and 11-12 take turns, and no event tells of the switch. */
TEST(stacks_that_take_turns_are_kept_apart)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    enter(&w, 'b', 2, 1);
    w.now += 10;
    enter(&w, 'x', 11, 0); /* the other one starts: nothing is below it */
    w.now += 100;
    enter(&w, 'c', 3, 2); /* back in b, which calls */
    w.now += 1;
    leave(&w, 3);
    w.now += 1;
    enter(&w, 'y', 12, 11);
    w.now += 100;
    leave(&w, 12);
    leave(&w, 2); /* back in b, which returns */
    w.now += 5;
    leave(&w, 1);
    leave(&w, 11);
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "a", 1, 17) && is(&w, "ab", 1, 12) && is(&w, "abc", 1, 1));
    CHECK(is(&w, "x", 1, 200) && is(&w, "xy", 1, 100));
    CHECK(sd_cells_n(w.tree->table) == 6);
    CHECK(sd_call_tree_root(w.tree)->resyncs > 0);
    CHECK(w.tree->n_parked == 0);
    sd_call_tree_free(w.tree);
}

TEST(a_return_that_nobody_told_of_is_found_out)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    enter(&w, 'b', 2, 1);
    w.now += 3;
    enter(&w, 'c', 2, 1); /* b is gone: its frame is c's now */
    w.now += 4;
    leave(&w, 2);
    leave(&w, 1);
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "a", 1, 7) && is(&w, "ab", 1, 3) && is(&w, "ac", 1, 4));
    CHECK(!cell_of(&w, "abc"));
    sd_call_tree_free(w.tree);
}

TEST(many_waiting_stacks_all_come_back)
{
    struct world w;
    enum { STACKS = 300 };

    begin(&w, 0);
    for (unsigned i = 1; i <= STACKS; i++) {
        enter(&w, 'a', i * 10, 0);
        enter(&w, 'b', i * 10 + 1, i * 10);
        w.now++;
    }
    for (unsigned i = STACKS; i > 0; i -= 2) {
        leave(&w, i * 10 + 1);
        leave(&w, i * 10);
    }
    sd_call_tree_end(w.tree);
    CHECK(is(&w, "a", STACKS, STACKS) && is(&w, "ab", STACKS, STACKS));
    sd_call_tree_free(w.tree);
}

TEST(a_call_that_never_ran_is_not_counted)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    enter(&w, 'b', 2, 1);
    sd_call_tree_undo(w.tree, frame_at(2));
    sd_call_tree_undo(w.tree, frame_at(2)); /* told twice */
    w.now += 3;
    leave(&w, 1);
    CHECK(is(&w, "a", 1, 3) && is(&w, "ab", 0, 0));
    sd_call_tree_free(w.tree);
}

TEST(coroutines_are_told_how_long_they_waited)
{
    struct world w;

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    w.now += 2;
    sd_call_tree_suspended(w.tree, frame_at(1), w.now);
    leave(&w, 1);
    w.now += 50;
    enter(&w, 'a', 1, 0);
    sd_call_tree_resumed(w.tree, w.tree->top, w.now);
    w.now += 3;
    leave(&w, 1);
    CHECK(is(&w, "a", 2, 5) && cell_of(&w, "a")->awaited == 50);
    CHECK(w.tree->waiting.n == 0);
    sd_call_tree_free(w.tree);
}

static void count_open(void *of, const struct sd_open_entry *open)
{
    uint64_t *sums = of;

    sums[0] += open->entry->cell->calls;
    sums[1] += open->ticks;
}

TEST(open_calls_are_told_to_who_looks)
{
    struct world w;
    uint64_t sums[2] = { 0, 0 };

    begin(&w, 0);
    enter(&w, 'a', 1, 0);
    w.now += 2;
    enter(&w, 'x', 11, 0);
    w.now += 3;
    sd_call_tree_each_open(w.tree, count_open, sums);
    /* What waits has told its time; what runs would have to ask the user's clock. */
    CHECK(sums[0] == 2 && sums[1] == 2);
    sd_call_tree_free(w.tree);
}

/* Whatever cannot be had, calls and returns stay in step. */
TEST(calls_go_on_without_memory)
{
    EACH_FAILURE(nth)
    {
        struct world w = { .now = 1000 };
        struct sd_call_tree_how how = tree_how(&w, 0);

        if (sd_call_tree_new(&how, &w.tree) == 0) {
            sd_call_tree_begin(w.tree);
            for (unsigned i = 1; i < 400; i++)
                sd_call_tree_enter(w.tree, i * 16, NULL, frame_at(i), frame_at(i - 1));
            sd_call_tree_enter(w.tree, 16, NULL, frame_at(1000), 0);
            leave_from(&w, 399);
            sd_call_tree_end(w.tree);
            CHECK(w.tree->top == w.tree->stack && w.tree->n_parked == 0);
        }
        sd_call_tree_free(w.tree);
    }
}

/* In a file, the cells are read as they stand when the writer is killed. */
static void call_and_die(struct sd_scratch *s)
{
    struct world w = { .now = 1 };
    struct sd_call_tree_how how = { .names = { .define = define, .of = &w },
                                    .clock = SD_CLOCK_MONOTONIC };

    CHECK(sd_scratch_join(s) == 0);
    how.writer = s->writer;
    CHECK(sd_call_tree_new(&how, &w.tree) == 0);
    sd_call_tree_begin(w.tree);
    for (unsigned i = 0; i < 100; i++)
        enter(&w, 'a', i + 1, i);
    kill(getpid(), SIGKILL);
}

TEST(calls_outlive_the_process_that_made_them)
{
    struct sd_scratch s;
    struct sd_reader *r;
    struct sd_chunk_view view;
    struct sd_cells_view cells;
    const struct sd_record *record;
    uint64_t calls = 0, n_clocks = 0;
    pid_t pid;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    pid = fork();
    if (pid == 0)
        call_and_die(&s);
    CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    CHECK(sd_reader_open(s.path, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        uint32_t at = 0;

        if (view.type == SD_CHUNK_DEFS)
            while ((record = sd_chunk_view_next(&view, &at)))
                n_clocks += record->type == SD_REC_CLOCK;
        if (!sd_cells_of_chunk(&view, &cells))
            continue;
        CHECK(cells.kind == SD_CELLS_CALLS);
        for (uint32_t i = 1; i < cells.n; i++)
            calls += ((const struct sd_call_cell *)(const void *)cells.cells)[i].calls;
    }
    sd_reader_free(r);
    CHECK(calls == 100 && n_clocks == 1);
    sd_scratch_remove(&s);
}
