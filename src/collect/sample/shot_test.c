/* SPDX-License-Identifier: MIT */
/* Whole stacks: what is told of a thread that stands still. */
#include "collect/sample/shot_testing.h"

TEST(shot_of_a_thread_that_runs_nothing_is_empty)
{
    EACH_VERSION(v)
    {
        struct setting s;

        set_up(&s, versions[v]);
        CHECK(take(&s) == SD_SHOT_EMPTY);
        tear_down(&s);
    }
}

TEST(shot_tells_the_frames_and_takes_one_call_when_nothing_changed)
{
    EACH_VERSION(v)
    {
        struct setting s;

        look_at(&s, versions[v], 5);
        CHECK_STACK(&s, "f5 f4 f3 f2 f1");
        believe_codes(&s);
        CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
        give_back(&s);
        give_back(&s);
        CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
        CHECK_STACK(&s, "f3 f2 f1");
        CHECK(s.shot.frames[0].address == s.frames[2]);
        tear_down(&s);
    }
}

TEST(shot_of_a_stack_that_stands_says_how_much_of_it_is_known)
{
    struct setting s;

    set_up_stack(&s, WITH_CHUNKS, 5);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 5);
    go_to(&s, 4, 5, 3);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 4);
    CHECK(s.shot.frames[0].instr == instr(&s, 5, 3));
    go_to(&s, 2, 3, 4); /* f3 calls f4 from elsewhere */
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK(s.shot.frames[2].instr == instr(&s, 3, 4));
    give_back(&s);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK_STACK(&s, "f4 f3 f2 f1");
    tear_down(&s);
}

/* f1 to f5, and f6 is known, too. */
static void look_at_five_of_six(struct setting *s)
{
    look_at(s, WITH_CHUNKS, 5);
    call_f6(s);
    CHECK(take(s) == SD_SHOT_GOOD);
    give_back(s);
    CHECK(take(s) == SD_SHOT_GOOD);
}

TEST(shot_of_many_looks_tells_each_as_it_was)
{
    struct setting s;

    look_at_five_of_six(&s);
    CHECK(look_often(&s, 1, false, call_f6) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f5 f4 f3 f2 f1");
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f5 f4 f3 f2 f1"); /* so the words say */
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f6 f5 f4 f3 f2 f1");
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f6 f5 f4 f3 f2 f1");
    tear_down(&s);

    look_at(&s, WITH_CHUNKS, 5);
    CHECK(look_often(&s, 2, false, give_back) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f5 f4 f3 f2 f1");
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f4 f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_many_looks_believes_none_in_which_it_changed)
{
    struct setting s;

    look_at(&s, WITH_CHUNKS, 5);
    CHECK(look_often(&s, 2, true, call_f6) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_GOOD);
    CHECK(sd_shot_judge_next(&s.shot, &s.of) == SD_SHOT_TORN);
    CHECK(sd_shot_plan(&s.shot, &s.of) == 0 && s.shot.n_looks == 1);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_same == 0);
    CHECK_STACK(&s, "f6 f5 f4 f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_generators_and_marks_tells_functions_alone)
{
    struct setting s;
    uint8_t shim;

    set_up(&s, WITH_CHUNKS);
    shim = s.runtime.layout.owner_shim;
    call_outside(&s, 0, shim); /* C called f1 */
    call(&s, 1);
    call_outside(&s, 2, 1); /* a generator */
    call_outside(&s, 0, shim);
    call(&s, 3);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK_STACK(&s, "f3 f2 f1");
    believe_codes(&s);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
    CHECK_STACK(&s, "f3 f2 f1");
    tear_down(&s);
}

TEST(shot_of_two_marks_in_a_row_tells_the_inner_one)
{
    struct setting s;
    uint8_t shim;
    int i;

    set_up(&s, WITH_CHUNKS);
    shim = s.runtime.layout.owner_shim;
    call_outside(&s, 0, shim); /* as the one in the thread state */
    call_outside(&s, 0, shim); /* the evaluator's own */
    call(&s, 1);
    call(&s, 2);
    for (i = 0; i < 3; i++) {
        CHECK(take(&s) == SD_SHOT_GOOD);
        CHECK_STACK(&s, "f2 f1");
        CHECK(s.shot.frames[1].is_entry && s.shot.frames[1].mark == s.frames[1]);
        CHECK(!s.shot.frames[0].is_entry && !s.shot.frames[0].mark);
    }
    tear_down(&s);
}

TEST(shot_of_a_stack_over_several_chunks_is_whole)
{
    struct setting s;
    const struct sd_layout *l;
    size_t per_chunk, i, k, n = 0;
    uint64_t previous = 0;

    set_up(&s, WITH_CHUNKS);
    l = &s.runtime.layout;
    per_chunk = (CHUNK_BYTES - l->chunk_data - 8) / (8 * FRAME_WORDS);
    for (k = 0; k < 3; k++) {
        uint8_t *chunk = s.m->chunks[k];
        uint64_t top = at(chunk) + l->chunk_data + (k == 0 ? 8 : 0);
        size_t n_here = k == 2 ? 10 : per_chunk;

        put_word(chunk, l->chunk_n_bytes, CHUNK_BYTES);
        put_word(chunk, l->chunk_previous, k ? at(s.m->chunks[k - 1]) : 0);
        for (i = 0; i < n_here; i++, n++, top += 8 * FRAME_WORDS) {
            uint8_t *p = (void *)(uintptr_t)top;

            put_word(p, l->frame_code, at(s.m->codes[n % N_CODES].code));
            put_word(p, l->frame_previous, previous);
            put_word(p, l->frame_instr, instr(&s, (unsigned)(n % N_CODES), 1));
            previous = top;
        }
        put_word(chunk, l->chunk_top, (top - at(chunk) - l->chunk_data) / 8);
        put_word(s.m->thread, l->thread_top, top);
    }
    put_word(s.m->thread, l->thread_chunk, at(s.m->chunks[2]));
    put_word(s.m->cframe, l->cframe_frame, previous);
    CHECK(take(&s) == SD_SHOT_GOOD);
    CHECK(s.shot.n_frames == n && n > 200);
    for (i = 0; i < n; i++)
        CHECK(s.shot.frames[i].code->first_line ==
              10 * (int32_t)((n - 1 - i) % N_CODES) + 1);
    believe_codes(&s);
    CHECK(take(&s) == SD_SHOT_GOOD && s.shot.n_calls == 1);
    tear_down(&s);
}

TEST(shot_of_a_chain_that_goes_round_ends)
{
    EACH_VERSION(v)
    {
        struct setting s;

        set_up_stack(&s, versions[v], 4);
        put_word((void *)(uintptr_t)s.frames[0], s.runtime.layout.frame_previous,
                 s.frames[3]);
        CHECK(take(&s) != SD_SHOT_GOOD || s.shot.is_cut);
        tear_down(&s);
    }
}

TEST(shot_of_garbage_is_never_good)
{
    EACH_VERSION(v)
    {
        struct setting s;
        uint64_t random = 88172645463325252u;
        int i, k;

        set_up(&s, versions[v]);
        for (i = 0; i < 300; i++) {
            uint8_t *p;
            size_t n;

            for (s.n_frames = s.n_pushed = 0, k = 1; k <= 4; k++)
                call(&s, (unsigned)k);
            /* One word of the second frame, or of the thread state, is anything. */
            p = i % 2 ? (void *)(uintptr_t)s.frames[1] : s.m->thread;
            n = i % 2 ? s.runtime.layout.frame_size : s.runtime.layout.thread_size;
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            put_word(p, (uint32_t)(random % (n / 8)) * 8, random >> (i % 40));
            if (take(&s) == SD_SHOT_GOOD)
                CHECK(strcmp(names(&s.shot), "f4 f3 f2 f1") == 0);
            tear_down(&s);
            set_up(&s, versions[v]);
        }
        tear_down(&s);
    }
}

/* A word of the thread state is another's from now on: is the stack still told? */
static void check_owner_word(uint32_t version, uint32_t offset, size_t at_byte)
{
    struct setting s;

    set_up(&s, version);
    put_word(s.m->thread, offset, 7);
    CHECK(take(&s) == SD_SHOT_GONE);
    put_word(&s.shot, (uint32_t)at_byte, 7);
    CHECK(take(&s) == SD_SHOT_EMPTY);
    put_word(s.m->thread, offset, 8);
    CHECK(take(&s) == SD_SHOT_GONE);
    tear_down(&s);
}

TEST(shot_of_a_thread_state_that_another_thread_has_is_gone)
{
    EACH_VERSION(v)
    {
        const struct sd_layout *l = sd_layout_of_version(versions[v]);

        check_owner_word(versions[v], l->thread_ident, offsetof(struct sd_shot, ident));
        if (l->thread_native != SD_NO_OFFSET)
            check_owner_word(versions[v], l->thread_native,
                             offsetof(struct sd_shot, native));
        else
            check_owner_word(versions[v], l->thread_serial,
                             offsetof(struct sd_shot, serial));
    }
}

TEST(shot_of_a_process_that_ended_is_gone)
{
    struct setting s;

    look_at(&s, WITH_CHUNKS, 1);
    kill(s.remote.pid, SIGKILL);
    while (sd_remote_is_alive(&s.remote))
        usleep(1000);
    CHECK(take(&s) == SD_SHOT_GONE);
    tear_down(&s);
}

TEST(shot_survives_every_failing_allocation)
{
    EACH_VERSION(v)
    {
        EACH_FAILURE(nth)
        {
            struct setting s;

            set_up_stack(&s, versions[v], 5);
            if (take(&s) == SD_SHOT_GOOD)
                CHECK_STACK(&s, "f5 f4 f3 f2 f1");
            tear_down(&s);
        }
    }
}
