/* SPDX-License-Identifier: MIT */
/* Stacks that are looked at again and again from another CPU (shot_apart.c). */
#include "collect/sample/shot_testing.h"

/* Whoever is kept from looking for too long cuts more than what has changed; not each
 * time. */
enum { N_TRIES = 50 };

/* A stack of `n` of which `meanwhile` changes something is watched until only that is
 * cut off. */
static void watch_while(struct setting *s, uint32_t version, unsigned n,
                        void (*meanwhile)(struct setting *), const char *left)
{
    for (int i = 0; i < N_TRIES; i++) {
        if (i > 0)
            tear_down(s);
        look_at(s, version, n);
        meanwhile(s);
        CHECK(sd_shot_watch(&s->shot, &s->of, SD_SHOT_GOOD) == SD_SHOT_PARTIAL);
        if (strcmp(names(&s->shot), left) == 0)
            return;
    }
    CHECK_STACK(s, left);
}

/* f2 calls from another line now. */
static void move_the_caller(struct setting *s) { go_to(s, 1, 2, 5); }

/* A frame object is kept for the next call, and says still who called it. */
TEST(shot_that_is_watched_loses_a_frame_object_that_has_returned)
{
    EACH_VERSION(v)
    {
        struct setting s;

        if (sd_layout_of_version(versions[v])->frames_style != SD_FRAMES_OBJECTS)
            continue;
        watch_while(&s, versions[v], 3, give_back, "f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_is_watched_stays_whole_while_nobody_leaves)
{
    EACH_VERSION(v)
    {
        struct setting s;
        enum sd_shot_result result = SD_SHOT_PARTIAL;

        set_up_stack(&s, versions[v], 3);
        for (int i = 0; i < N_TRIES && result != SD_SHOT_GOOD; i++) {
            CHECK(take(&s) == SD_SHOT_GOOD);
            go_to(&s, 2, 3, 5); /* the innermost runs on */
            result = sd_shot_watch(&s.shot, &s.of, SD_SHOT_GOOD);
        }
        CHECK(result == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f3 f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_is_watched_is_cut_where_a_caller_has_moved_on)
{
    EACH_VERSION(v)
    {
        struct setting s;

        watch_while(&s, versions[v], 4, move_the_caller, "f2 f1");
        tear_down(&s);
    }
}

TEST(shot_that_is_watched_is_cut_where_another_function_stands)
{
    EACH_VERSION(v)
    {
        struct setting s;

        watch_while(&s, versions[v], 3, return_and_call_another, "f2 f1");
        kill(s.remote.pid, SIGKILL);
        waitpid(s.remote.pid, NULL, 0);
        CHECK(sd_shot_watch(&s.shot, &s.of, SD_SHOT_PARTIAL) == SD_SHOT_GONE);
        tear_down(&s);
    }
}
