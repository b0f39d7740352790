/* SPDX-License-Identifier: MIT */
/* Stacks that change while they are read. */
#include "collect/sample/shot_testing.h"

static void move_on(struct setting *s) { go_to(s, s->n_frames - 1, 3, 11); }

TEST(shot_of_a_thread_that_called_another_meanwhile_is_torn)
{
    EACH_VERSION(v)
    {
        struct setting s;

        for (int is_before = 0; is_before < 2; is_before++) {
            look_at(&s, versions[v], 3);
            CHECK(look(&s, is_before, return_and_call_another, false) == SD_SHOT_TORN);
            CHECK(take(&s) == SD_SHOT_GOOD);
            CHECK_STACK(&s, "f7 f2 f1");
            tear_down(&s);
        }
    }
}

TEST(shot_that_is_torn_keeps_the_frames_that_stood)
{
    EACH_VERSION(v)
    {
        struct setting s;

        look_at(&s, versions[v], 3);
        CHECK(look(&s, false, return_and_call_another, true) == SD_SHOT_PARTIAL);
        CHECK_STACK(&s, "f2 f1");
        tear_down(&s);
    }
}

TEST(shot_of_an_innermost_frame_that_moves_on_is_good)
{
    EACH_VERSION(v)
    {
        struct setting s;

        look_at(&s, versions[v], 3);
        CHECK(look(&s, false, move_on, false) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        tear_down(&s);
    }
}

/* The same functions from the same lines, and another value of a variable. */
static void come_round(struct setting *s)
{
    put_word((void *)(uintptr_t)s->frames[1], 8 * (FRAME_WORDS - 1), 77);
}

TEST(shot_of_a_loop_that_has_come_round_is_torn)
{
    struct setting s;

    look_at(&s, WITH_CHUNKS, 3);
    CHECK(look(&s, false, come_round, false) == SD_SHOT_TORN);
    put_word((void *)(uintptr_t)s.frames[1], 8 * (FRAME_WORDS - 1), 78);
    CHECK(look(&s, false, come_round, true) == SD_SHOT_PARTIAL);
    CHECK_STACK(&s, "f2 f1");
    tear_down(&s);
}

static void change_variable(struct setting *s)
{
    put_word((void *)(uintptr_t)s->frames[2], 8 * (FRAME_WORDS - 1), 77);
}

TEST(shot_of_an_innermost_frame_whose_variables_change_is_good)
{
    struct setting s;

    look_at(&s, WITH_CHUNKS, 3);
    CHECK(look(&s, false, change_variable, false) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f3 f2 f1");
    tear_down(&s);
}

/* As `look`, and before the last range another function is called. */
static enum sd_shot_result look_a_third_time(struct setting *s)
{
    size_t i, to = 0;

    s->shot.n_stale = 0;
    CHECK(sd_shot_plan(&s->shot, &s->of) == 0 && s->shot.has_third);
    for (i = 0; i < s->shot.n_from; i++) {
        if (i + 1 == s->shot.n_from) {
            give_back(s);
            call(s, 3);
        }
        memcpy(s->shot.copy + to, s->shot.from[i].iov_base, s->shot.from[i].iov_len);
        to += s->shot.from[i].iov_len;
    }
    came(s, 1000);
    return sd_shot_judge(&s->shot, &s->of, false);
}

TEST(shot_of_a_thread_that_was_torn_is_looked_at_three_times)
{
    struct setting s;
    unsigned i;

    look_at(&s, WITH_CHUNKS, 3);
    CHECK(!s.shot.has_third);
    CHECK(look(&s, false, return_and_call_another, false) == SD_SHOT_TORN);
    CHECK(look_a_third_time(&s) == SD_SHOT_TORN);
    for (i = 0; i < SD_SHOT_RESTLESS; i++)
        CHECK(look(&s, false, NULL, false) == SD_SHOT_GOOD && s.shot.has_third);
    CHECK(look(&s, false, NULL, false) == SD_SHOT_GOOD && !s.shot.has_third);
    tear_down(&s);
}

TEST(shot_of_a_deeper_stack_than_guessed_is_never_a_stack_that_was_not)
{
    EACH_VERSION(v)
    {
        struct setting s;
        enum sd_shot_result result;

        look_at(&s, versions[v], 3);
        result = look(&s, true, call_f6, false);
        CHECK(result == SD_SHOT_TORN || result == SD_SHOT_STALE ||
              strcmp(names(&s.shot), "f6 f3 f2 f1") == 0);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f6 f3 f2 f1");
        tear_down(&s);
    }
}

/* Between two yields a generator has no caller. */
static void resume(struct setting *s)
{
    const struct sd_layout *l = &s->runtime.layout;

    put_word((void *)(uintptr_t)s->frames[2], l->frame_previous, s->frames[1]);
    set_innermost(s);
}

static void yield(struct setting *s)
{
    const struct sd_layout *l = &s->runtime.layout;

    put_word((void *)(uintptr_t)s->frames[2], l->frame_previous, 0);
    s->n_frames = 2;
    set_innermost(s);
    s->n_frames = 3;
}

TEST(shot_of_a_generator_between_two_yields_is_no_stack)
{
    EACH_VERSION(v)
    {
        struct setting s;
        const struct sd_layout *l;
        uint64_t generator;

        set_up(&s, versions[v]);
        l = &s.runtime.layout;
        call(&s, 1);
        call(&s, 2);
        call_outside(&s, 3, 1);
        generator = s.frames[2];
        if (l->frame_generator != SD_NO_OFFSET)
            put_word((void *)(uintptr_t)generator, l->frame_generator, generator);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        /* Suspended at both copies; the words in between say that it runs. */
        put_word((void *)(uintptr_t)generator, l->frame_previous, 0);
        CHECK(look(&s, false, yield, false) == SD_SHOT_TORN);
        resume(&s);
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_was_interrupted_proves_nothing)
{
    struct setting s;

    set_up(&s, WITH_CHUNKS);
    call(&s, 1);
    CHECK(take(&s) == SD_SHOT_GOOD && look(&s, false, NULL, false) == SD_SHOT_GOOD);
    came(&s, 5000000);
    CHECK(sd_shot_judge(&s.shot, &s.of, false) == SD_SHOT_TORN);
    tear_down(&s);
}
