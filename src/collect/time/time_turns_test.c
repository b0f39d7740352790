/* SPDX-License-Identifier: MIT */
#include "collect/time/time_turns.h"

#include <pthread.h>

#include "base/test.h"

TEST(time_turns_have_each_process_once_in_a_round_in_any_order)
{
    bool has_other_order = false;

    for (uint32_t round = 0; round < 200; round++) {
        unsigned seen = 0;

        for (uint32_t at = 0; at < 5; at++)
            seen |= 1u << sd_time_turns_order(7, round, 5, at);
        CHECK(seen == 31);
        has_other_order |=
            sd_time_turns_order(7, round, 5, 0) != sd_time_turns_order(7, 0, 5, 0);
    }
    CHECK(has_other_order);
}

struct player {
    struct sd_time_turns *turns;
    uint32_t me;
    _Atomic unsigned *n_inside;
    unsigned n_turns, n_together;
};

static void *play(void *arg)
{
    struct player *p = arg;

    while (sd_time_turns_wait(p->turns, p->me)) {
        p->n_together += atomic_fetch_add(p->n_inside, 1) != 0;
        if (++p->n_turns == 300)
            sd_time_turns_end(p->turns);
        atomic_fetch_sub(p->n_inside, 1);
        sd_time_turns_pass(p->turns);
    }
    return NULL;
}

TEST(time_turns_may_end_only_when_all_had_as_many_and_have_measured)
{
    struct sd_time_turns turns = { .n = 2, .seed = 5 };

    CHECK(!sd_time_turns_may_end(&turns)); /* nobody has measured */
    sd_time_turns_pass(&turns);
    atomic_fetch_add(&turns.n_measured, 2);
    CHECK(!sd_time_turns_may_end(&turns)); /* the other has not had its turn */
    sd_time_turns_pass(&turns);
    CHECK(sd_time_turns_may_end(&turns));
}

TEST(time_turns_let_one_run_at_a_time_until_somebody_ends_them)
{
    struct sd_time_turns turns = { .n = 3, .seed = 5 };
    _Atomic unsigned n_inside = 0;
    struct player players[3];
    pthread_t threads[3];

    for (uint32_t i = 0; i < 3; i++) {
        players[i] = (struct player){ &turns, i, &n_inside, 0, 0 };
        CHECK(pthread_create(&threads[i], NULL, play, &players[i]) == 0);
    }
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(players[i].n_together == 0 && players[i].n_turns >= 299);
}
