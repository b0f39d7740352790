/* SPDX-License-Identifier: MIT */
#include "collect/calls/pairs.h"

#include "collect/calls/tree_testing.h"

/* What `caller` ('\0': nobody) called beyond the tree; NULL: nothing. */
static const struct sd_pair_cell *pair(const struct world *w, char caller, char callee)
{
    for (uint32_t i = 0; i < sd_call_pairs_n(w->tree); i++) {
        uint64_t from, to;

        sd_call_pairs_keys(w->tree, i, &from, &to);
        if (from == (uint64_t)caller * 10 && to == (uint64_t)callee * 10)
            return sd_call_pairs_at(w->tree, i);
    }
    return NULL;
}

static bool counts(const struct sd_pair_cell *p, uint64_t calls, uint64_t primitive,
                   uint64_t pair_primitive)
{
    return p && p->callee.calls == calls && p->primitive == primitive &&
           p->primitive + p->inner_primitive == pair_primitive;
}

static bool times(const struct sd_pair_cell *p, uint64_t own, uint64_t total,
                  uint64_t pair_total)
{
    return p && p->own_ticks == own && p->callee.ticks == total &&
           p->callee.ticks + p->inner_ticks == pair_total;
}

static const struct sd_beyond_cell *left_from(const struct world *w, uint32_t parent)
{
    for (uint32_t i = 1; i < sd_cells_n(w->tree->table); i++) {
        const struct sd_beyond_cell *c = sd_cells_at(w->tree->table, i);

        if (sd_call_key_is_beyond(c->key) && c->parent == parent)
            return c;
    }
    return NULL;
}

TEST(a_full_tree_counts_further_calls_by_pair)
{
    struct world w;
    const struct sd_beyond_cell *left;

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
    left = left_from(&w, 2);
    CHECK(left && left->left == 1 && left->calls == 2 && left->ticks == 1100);
    CHECK(sd_call_pairs_calls(w.tree) == 2);
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
    CHECK(left_from(&w, 1)->calls == 1 && sd_call_pairs_calls(w.tree) == 1);
    end(&w);
}

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
    CHECK(left_from(&w, 1)->calls == most && left_from(&w, 1)->ticks == 2 * most);
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
