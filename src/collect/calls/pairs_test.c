/* SPDX-License-Identifier: MIT */
#include "collect/calls/pairs.h"

#include "collect/calls/pairs_testing.h"

/* 'F' and 'f' are two signatures of the function 'f'. */
static uint64_t function_key(uint64_t key)
{
    return key >= 'A' * 10 && key <= 'Z' * 10 ? key + ('a' - 'A') * 10 : key;
}

static uint64_t sign(struct sd_call_tree *t, uint64_t key, const void *what,
                     uintptr_t frame, bool goes_on)
{
    (void)t, (void)what, (void)frame, (void)goes_on;
    return key;
}

static void leave_c(struct world *w, unsigned frame)
{
    sd_call_tree_leave(w->tree, frame_at(frame) | SD_FRAME_C, w->now);
}

TEST(a_full_tree_counts_further_calls_by_pair)
{
    struct world w;
    const struct sd_beyond_cell *exit;

    begin(&w, 3); /* the root, a and b */
    enter(&w, 'a', 1, 0);
    w.now += 1;
    enter(&w, 'b', 2, 1);
    w.now += 10;
    enter(&w, 'a', 3, 2); /* open already, as the a outside */
    w.now += 100;
    enter(&w, 'c', 4, 3);
    w.now += 1000;
    leave_from(&w, 4);
    CHECK(counts(pair(&w, 'b', 'a'), 1, 0, 1) && counts(pair(&w, 'a', 'c'), 1, 1, 1));
    CHECK(times(pair(&w, 'b', 'a'), 100, 0, 1100));
    CHECK(times(pair(&w, 'a', 'c'), 1000, 1000, 1000));
    CHECK(pair(&w, 'b', 'a')->own_calls.python == 1);
    CHECK(pair(&w, 'b', 'a')->inner_calls.python == 1);
    exit = exit_from(&w, 2);
    CHECK(exit && exit->first_calls == 1 && exit->calls == 2 && exit->ticks == 1100);
    CHECK(sd_call_pairs_calls(w.tree) == 2);
    end(&w);
}

/* Each cell needs one more for where calls leave the tree, and may have two. */
TEST(a_tree_has_at_most_twice_the_cells_it_may_have)
{
    enum { N_MAX = 3 }; /* the root, a and b */
    const uint64_t c_function = 8001;
    struct world w;
    uint64_t left = 0, c_calls = 0;

    begin(&w, N_MAX);
    w.tree->sees_c = true;
    for (char last = 'b'; last < 'k'; last++) {
        struct sd_call_entry *e;

        enter(&w, 'a', 1, 0);
        enter(&w, last, 2, 1);
        for (int i = 0; i < 2; i++) {
            enter(&w, 'z', 3, 2);
            leave(&w, 3);
            e = sd_call_tree_enter(w.tree, c_function, NULL, frame_at(2) | SD_FRAME_C,
                                   frame_at(2));
            CHECK(e);
            e->start = w.now++;
            leave_c(&w, 2);
        }
        leave(&w, 2);
        e = sd_call_tree_enter(w.tree, c_function, NULL, frame_at(1) | SD_FRAME_C,
                               frame_at(1));
        CHECK(e);
        e->start = w.now++;
        leave_c(&w, 1);
        leave(&w, 1);
        enter(&w, 'q', 4, 0);
        leave(&w, 4);
    }
    CHECK(sd_cells_n(w.tree->table) <= 2 * N_MAX);
    for (uint32_t i = 1; i < sd_cells_n(w.tree->table); i++) {
        const struct sd_beyond_cell *c = sd_cells_at(w.tree->table, i);

        left += sd_call_key_is_beyond(c->key) ? c->calls : 0;
        c_calls += sd_call_key_is_beyond(c->key) ? c->c_calls : 0;
    }
    CHECK(left == sd_call_pairs_calls(w.tree));
    CHECK(c_calls > 0 && c_calls < left);
    end(&w);
}

TEST(a_function_is_open_with_any_of_its_signatures)
{
    struct world w;

    begin(&w, 3); /* the root, f and g */
    w.tree->names.sign = sign;
    w.tree->names.function_key = function_key;
    enter(&w, 'f', 1, 0);
    enter(&w, 'g', 2, 1);
    enter(&w, 'F', 3, 2); /* f is open, as F is not, and g has not called it */
    w.now += 1;
    enter(&w, 'G', 4, 3); /* f has called g, as F has not called G */
    w.now += 10;
    enter(&w, 'f', 5, 4); /* g has called f now */
    w.now += 100;
    enter(&w, 'h', 6, 5);
    w.now += 1000;
    for (unsigned frame = 6; frame > 0; frame--)
        leave(&w, frame);
    CHECK(counts(pair(&w, 'g', 'F'), 1, 1, 1) &&
          times(pair(&w, 'g', 'F'), 1, 1111, 1111));
    CHECK(counts(pair(&w, 'F', 'G'), 1, 1, 1) && counts(pair(&w, 'G', 'f'), 1, 0, 1));
    CHECK(counts(wholes(&w, 'g', 'f'), 0, 0, 1) &&
          times(wholes(&w, 'g', 'f'), 0, 0, 1111));
    CHECK(counts(wholes(&w, 'f', 'g'), 0, 0, 0) &&
          times(wholes(&w, 'f', 'g'), 0, 0, 0));
    CHECK(counts(wholes(&w, 'f', 'h'), 0, 1, 1));
    CHECK(times(wholes(&w, 'f', 'h'), 0, 1000, 1000));
    CHECK(wholes(&w, 'g', 'f')->inner_calls.python == 3);
    CHECK(sd_call_pairs_calls(w.tree) == 4 && !wholes(&w, 'g', 'F'));
    enter(&w, 'G', 7, 0); /* and nothing is open here */
    enter(&w, 'F', 8, 7);
    sd_call_tree_undo(w.tree, frame_at(8)); /* it never ran */
    CHECK(counts(wholes(&w, 'g', 'f'), 0, 0, 1) &&
          counts(wholes(&w, '\0', 'g'), 0, 1, 1));
    leave(&w, 7);
    end(&w);
}

TEST(a_pair_that_is_open_in_the_tree_is_no_primitive_call_beyond_it)
{
    struct world w;

    begin(&w, 4); /* the root, a, ab, aba */
    enter_each(&w, "aba");
    enter(&w, 'b', 4, 3); /* (a, b) is open */
    w.now += 5;
    enter(&w, 'b', 5, 4); /* (b, b) is not */
    w.now += 7;
    leave(&w, 5);
    leave(&w, 4);
    CHECK(counts(pair(&w, 'a', 'b'), 1, 0, 0) && counts(pair(&w, 'b', 'b'), 1, 0, 1));
    CHECK(times(pair(&w, 'a', 'b'), 5, 0, 0) && times(pair(&w, 'b', 'b'), 7, 0, 7));
    leave_from(&w, 3);
    enter(&w, 'c', 6, 0); /* and nothing is open here */
    enter(&w, 'b', 7, 6);
    leave(&w, 7);
    leave(&w, 6);
    CHECK(counts(pair(&w, 'c', 'b'), 1, 1, 1) && counts(pair(&w, '\0', 'c'), 1, 1, 1));
    end(&w);
}

/* Usual calls come and go without a word to the levels that count what is open. */
TEST(entries_that_changed_since_the_last_call_beyond_the_tree_are_counted_anew)
{
    struct world w;

    begin(&w, 5); /* the root, a, ab, ac, acb */
    enter_each(&w, "ab");
    leave(&w, 2);
    enter(&w, 'c', 3, 1);
    enter(&w, 'b', 4, 3);
    leave(&w, 4);
    enter(&w, 'd', 5, 3); /* a, c are open */
    leave(&w, 5);
    leave(&w, 3);
    enter(&w, 'b', 6, 1);
    enter(&w, 'c', 7, 6); /* a, b are open */
    leave(&w, 7);
    enter(&w, 'b', 8, 6);
    leave(&w, 8);
    leave(&w, 6);
    leave(&w, 1);
    CHECK(counts(pair(&w, 'c', 'd'), 1, 1, 1));
    CHECK(counts(pair(&w, 'b', 'c'), 1, 1, 1));
    CHECK(counts(pair(&w, 'b', 'b'), 1, 0, 1));
    end(&w);
}

TEST(a_call_beyond_the_tree_that_never_ran_is_not_counted)
{
    struct world w;

    begin(&w, 2);
    enter_each(&w, "abc");
    sd_call_tree_undo(w.tree, frame_at(3));
    w.now += 3;
    leave_from(&w, 2);
    CHECK(counts(pair(&w, 'b', 'c'), 0, 0, 0) && counts(pair(&w, 'a', 'b'), 1, 1, 1));
    CHECK(pair(&w, 'a', 'b')->own_calls.python == 0);
    CHECK(exit_from(&w, 1)->calls == 1 && sd_call_pairs_calls(w.tree) == 1);
    end(&w);
}

TEST(open_calls_beyond_the_tree_are_in_their_table_with_what_ended_in_them)
{
    struct world w;
    const struct sd_open_cell *b, *c;

    begin(&w, 2);
    enter(&w, 'a', 1, 0);
    enter(&w, 'b', 2, 1);
    enter(&w, 'c', 3, 2);
    for (unsigned i = 0; i < 3; i++) {
        enter(&w, 'd', 4, 3);
        enter(&w, 'e', 5, 4);
        w.now += 10;
        leave(&w, 5);
        leave(&w, 4);
        w.now += 1; /* c's own, which is known when it ends */
    }
    CHECK(n_open(&w) == 2);
    b = w.tree->top[-1].open;
    c = w.tree->top->open;
    CHECK(b->flags == (SD_BEYOND_OPEN | SD_BEYOND_FIRST | SD_BEYOND_OUTERMOST));
    CHECK(b->below == sd_cells_index(w.tree->table, exit_from(&w, 1)));
    CHECK(b->callee_ticks == 0 && b->direct.python == 1 && b->deeper.python == 0);
    CHECK(c->below == b->number && c->callee_ticks == 30);
    CHECK(c->direct.python == 3 && c->deeper.python == 3);
    CHECK(sd_call_pairs_at(w.tree, c->pair - 1) == pair(&w, 'b', 'c'));
    leave(&w, 3);
    CHECK(b->callee_ticks == 33 && b->deeper.python == 6 && n_open(&w) == 1);
    leave(&w, 2);
    leave(&w, 1);
    CHECK(n_open(&w) == 0 && times(pair(&w, 'b', 'c'), 3, 33, 33));
    end(&w);
}

/* A program can make functions without end. */
TEST(calls_that_find_no_room_for_a_pair_are_counted_as_lost)
{
    struct world w;
    struct sd_call_entry *e;
    uint32_t most;

    begin(&w, 2);
    enter(&w, 'a', 1, 0);
    for (uint64_t i = 0; i < 100; i++) {
        e = sd_call_tree_enter(w.tree, 10000 + i * 16, NULL, frame_at(2), frame_at(1));
        CHECK(e);
        e->start = w.now;
        w.now += 2;
        leave(&w, 2);
    }
    leave(&w, 1);
    most = sd_call_pairs_n(w.tree);
    CHECK(sd_call_pairs_lost(w.tree) == 100 - most);
    CHECK(exit_from(&w, 1)->calls == most && exit_from(&w, 1)->ticks == 2 * most);
    end(&w);
}

TEST(calls_beyond_the_tree_survive_want_of_memory)
{
    struct world w = { .now = 1000 };
    struct sd_call_tree_how how = tree_how(&w, 2);

    EACH_FAILURE(nth)
    {
        if (sd_call_tree_new(&how, &w.tree) < 0)
            continue;
        sd_call_tree_begin(w.tree);
        for (unsigned i = 1; i < 40; i++)
            sd_call_tree_enter(w.tree, i * 160, NULL, frame_at(i), frame_at(i - 1));
        leave_from(&w, 39);
        end(&w);
    }
}
