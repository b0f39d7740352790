/* SPDX-License-Identifier: MIT */
/* Code objects that change while a stack is read, or between two reads. */
#include "collect/sample/shot_testing.h"

TEST(shot_of_a_stack_that_stands_sees_another_code_object_at_its_address)
{
    struct setting s;

    set_up_stack(&s, WITH_CHUNKS, 3);
    CHECK(take(&s) == SD_SHOT_GOOD && take(&s) == SD_SHOT_GOOD);
    CHECK(s.shot.n_same == 3);
    make_code(&s.runtime.layout, &s.m->codes[2], 9);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK_STACK(&s, "f3 f9 f1");
    tear_down(&s);
}

TEST(shot_sees_another_code_object_whose_parts_lie_where_the_last_ones_lay)
{
    EACH_VERSION(v)
    {
        struct setting s;

        look_at(&s, versions[v], 3);
        CHECK_STACK(&s, "f3 f2 f1");
        put_str(&s.runtime.layout, s.m->codes[2].name, "g2");
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 g2 f1");
        tear_down(&s);
    }
}

static void replace_f2(struct setting *s)
{
    make_code(&s->runtime.layout, &s->m->codes[2], 9);
}

TEST(shot_believes_no_code_object_that_was_read_after_the_frames)
{
    EACH_VERSION(v)
    {
        struct setting s;

        look_at(&s, versions[v], 1);
        give_back(&s);
        call(&s, 2); /* not known yet, and another one when it is asked for */
        CHECK(look(&s, false, replace_f2, true) == SD_SHOT_STALE);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f9");
        tear_down(&s);
    }
}

static void replace_again(struct setting *s)
{
    make_code(&s->runtime.layout, &s->m->codes[2], 20 + (unsigned)s->codes.n_retired);
}

TEST(shot_of_codes_that_change_at_every_look_keeps_the_frames_around_them)
{
    struct setting s;

    look_at(&s, WITH_CHUNKS, 3);
    CHECK(look(&s, false, replace_again, true) == SD_SHOT_STALE);
    s.shot.n_stale = SD_SHOT_STALE_MAX;
    CHECK(look_on(&s, false, replace_again, false) == SD_SHOT_TORN);
    CHECK(look_on(&s, false, replace_again, true) == SD_SHOT_PARTIAL);
    CHECK_STACK(&s, "f1");
    tear_down(&s);
}

TEST(shot_believes_a_code_object_for_a_thousandth_of_its_age)
{
    struct setting s;
    uint64_t came_ns;

    look_at(&s, WITH_CHUNKS, 1);
    came_ns = s.shot.came_ns;
    s.codes.all[0]->read_ns = came_ns - 5000000000u;
    s.shot.n_calls = 0;
    sd_shot_came(&s.shot, came_ns + 3999000, came_ns + 4000000, 1, 0);
    CHECK(sd_shot_judge(&s.shot, &s.of, false) == SD_SHOT_GOOD && s.shot.n_calls == 0);
    sd_shot_came(&s.shot, came_ns + 5999000, came_ns + 6000000, 1, 0);
    CHECK(sd_shot_judge(&s.shot, &s.of, false) == SD_SHOT_GOOD && s.shot.n_calls == 1);
    tear_down(&s);
}
