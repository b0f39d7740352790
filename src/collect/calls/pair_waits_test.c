/* SPDX-License-Identifier: MIT */
#include "collect/calls/pair_waits.h"

#include "collect/calls/pairs_testing.h"

TEST(stacks_beyond_the_tree_wait_as_others_do)
{
    struct world w;

    begin(&w, 2);
    enter_each(&w, "abc");
    w.now += 10;
    enter(&w, 'a', 11, 0); /* another greenlet: nothing of the first is open here */
    enter(&w, 'b', 12, 11);
    w.now += 100;
    enter(&w, 'd', 4, 3); /* the first again */
    w.now += 1;
    leave_from(&w, 4);
    sd_call_tree_end(w.tree); /* the second never comes back */
    CHECK(counts(pair(&w, 'a', 'b'), 2, 2, 2));
    CHECK(times(pair(&w, 'a', 'b'), 100, 111, 111));
    CHECK(times(pair(&w, 'b', 'c'), 10, 11, 11) && times(pair(&w, 'c', 'd'), 1, 1, 1));
    CHECK(pair(&w, 'b', 'c')->inside_calls.python == 1);
    sd_call_tree_free(w.tree);
}

/* A greenlet is left, and its caller goes on, in the midst of what is beyond the tree.
 */
TEST(a_stack_that_is_cut_beyond_the_tree_adds_to_its_caller_until_then)
{
    struct world w;
    const struct sd_open_cell *upper;

    begin(&w, 2);
    enter(&w, 'a', 1, 0);
    enter(&w, 'b', 2, 1);
    enter(&w, 'c', 3, 2);
    enter(&w, 'd', 4, 3);
    w.now += 10;
    leave(&w, 4);
    w.now += 1;
    upper = w.tree->top->open;
    enter(&w, 'e', 5, 2); /* b calls, and c has not ended */
    CHECK(upper->flags & SD_BEYOND_CUT && n_open(&w) == 3);
    CHECK(w.tree->top[-1].open->callee_ticks == 11);
    CHECK(w.tree->top[-1].open->deeper.python == 1);
    w.now += 100;
    leave(&w, 5);
    leave(&w, 2);
    leave(&w, 1);
    enter(&w, 'd', 6, 3); /* c goes on, below nothing */
    w.now += 1000;
    leave(&w, 6);
    leave(&w, 3);
    CHECK(n_open(&w) == 0);
    CHECK(times(pair(&w, 'a', 'b'), 0, 111, 111));
    CHECK(times(pair(&w, 'b', 'c'), 1, 1011, 1011));
    CHECK(times(pair(&w, 'b', 'e'), 100, 100, 100));
    CHECK(counts(pair(&w, 'c', 'd'), 2, 2, 2));
    CHECK(exit_from(&w, 1)->ticks == 111 && exit_from(&w, 1)->first_calls == 1);
    CHECK(sd_call_pairs_calls(w.tree) == 5);
    end(&w);
}

TEST(stacks_that_wait_beyond_the_tree_keep_their_open_cells)
{
    struct world w;

    begin(&w, 2);
    for (unsigned i = 0; i < 3; i++) { /* three greenlets, each with two calls open */
        enter(&w, 'a', 10 * i + 1, 0);
        enter(&w, 'b', 10 * i + 2, 10 * i + 1);
        enter(&w, 'c', 10 * i + 3, 10 * i + 2);
        w.now += 10;
    }
    CHECK(n_open(&w) == 6);
    for (unsigned i = 0; i < 3; i++) {
        enter(&w, 'd', 10 * i + 4, 10 * i + 3);
        w.now += 1;
        leave(&w, 10 * i + 4);
        CHECK(w.tree->top->open->callee_ticks == 1);
    }
    CHECK(n_open(&w) == 6);
    sd_call_tree_end(w.tree);
    CHECK(n_open(&w) == 0 && times(pair(&w, 'a', 'b'), 0, 33, 33));
    CHECK(times(pair(&w, 'b', 'c'), 30, 33, 33));
    sd_call_tree_free(w.tree);
}
