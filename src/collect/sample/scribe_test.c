/* SPDX-License-Identifier: MIT */
#include "collect/sample/scribe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"
#include "capture/capture.h"
#include "collect/captured_test.h"

/* Told by hand: functions f0, f1, ... whose every instruction is on the line that it
 * counts. */
enum { N_CODES = 8, N_LINES = 50 };

struct setting {
    char path[96];
    struct sd_capture *capture;
    struct sd_writer *writer;
    struct sd_tree tree;
    struct sd_scribe scribe;
    struct sd_listener listener;
    struct sd_runtime rt;
    struct sd_codes codes;
    struct sd_code code[N_CODES], *all[N_CODES];
    struct sd_line_run runs[N_LINES];
    char names[N_CODES][8];
    struct sd_shot_frame frames[SD_STACK_MAX];
    void *of_thread;
    uint64_t now_ns, step_ns; /* the time, and from one sample to the next */
    size_t n_same;
};

static struct setting *set_up(void)
{
    const struct sd_capture_options raw = { .zstd_level = 0 };
    struct setting *s = sd_zalloc(sizeof *s);
    unsigned i;

    CHECK(s != NULL);
    strcpy(s->path, captured_path());
    CHECK(sd_capture_create(s->path, &raw, &s->capture) == 0);
    CHECK(sd_writer_join(sd_capture_live_dir(s->capture), &s->writer) == 0);
    CHECK(sd_tree_init(&s->tree, getpid()) == 0);
    CHECK(sd_scribe_init(&s->scribe, s->writer, &s->tree) == 0);
    s->listener = sd_scribe_listener(&s->scribe);
    s->rt.layout = *sd_layout_of_version(0x03090000);
    for (i = 0; i < N_LINES; i++)
        s->runs[i] = (struct sd_line_run){ i, i + 1, (int32_t)i };
    for (i = 0; i < N_CODES; i++) {
        snprintf(s->names[i], sizeof s->names[i], "f%u", i);
        s->code[i] = (struct sd_code){ .id = i,
                                       .name = s->names[i],
                                       .qualname = "",
                                       .filename = "x.py",
                                       .path = "x.py",
                                       .first_line = 1,
                                       .runs = s->runs,
                                       .n_runs = N_LINES };
        s->all[i] = &s->code[i];
    }
    s->codes.all = s->all;
    s->codes.n = N_CODES;
    s->now_ns = 1000000000u;
    s->step_ns = 1000000;
    return s;
}

static struct captured *finish(struct setting *s)
{
    struct sd_capture_counts counts;
    struct captured *c;

    if (s->of_thread)
        s->listener.thread_ends(s->listener.of, s->of_thread);
    CHECK(s->scribe.memos == NULL);
    sd_scribe_release(&s->scribe);
    sd_tree_release(&s->tree);
    sd_writer_leave(s->writer);
    CHECK(sd_capture_finish(s->capture, 0, &counts) == 0);
    c = captured_read(s->path);
    captured_clean();
    sd_free(s);
    return c;
}

/* Innermost first, as "code:line" pairs. */
static void tell(struct setting *s, unsigned flags, const unsigned (*frames)[2],
                 size_t n)
{
    struct sd_thread_sample t = { .time_ns = s->now_ns += s->step_ns,
                                  .pid = getpid(),
                                  .tid = 77,
                                  .thread_start_ticks = 5,
                                  .name = "worker",
                                  .flags = flags,
                                  .n_same = s->n_same,
                                  .wall_ns = s->step_ns,
                                  .cpu_ns = 10,
                                  .frames = s->frames,
                                  .n_frames = n,
                                  .codes = &s->codes,
                                  .serial = 1,
                                  .rt = &s->rt,
                                  .of_thread = &s->of_thread };
    size_t i;

    for (i = 0; i < n; i++)
        s->frames[i] = (struct sd_shot_frame){ .code = s->all[frames[i][0]],
                                               .instr = frames[i][1] };
    s->listener.sample(s->listener.of, &t);
}

TEST(scribe_writes_stacks_with_functions_lines_and_tracks)
{
    struct setting *s = set_up();
    const struct captured_event *e;
    struct captured *c;

    tell(s, SD_SAMPLE_GIL, (const unsigned[][2]){ { 2, 7 }, { 1, 5 }, { 0, 3 } }, 3);
    tell(s, 0, (const unsigned[][2]){ { 2, 7 }, { 1, 5 }, { 0, 3 } }, 3);
    tell(s, 0, (const unsigned[][2]){ { 2, 8 }, { 1, 5 }, { 0, 3 } }, 3);
    tell(s, 0, (const unsigned[][2]){ { 1, 5 }, { 0, 4 } }, 2);
    c = finish(s);
    CHECK(c->is_whole && c->n == 4);
    CHECK(captured_count(c, SD_REC_SAMPLE, "f0:3;f1:5;f2:7") == 2);
    CHECK(captured_count(c, SD_REC_SAMPLE, "f0:3;f1:5;f2:8") == 1);
    CHECK(captured_count(c, SD_REC_SAMPLE, "f0:4;f1:5") == 1);
    e = &c->events[0];
    CHECK(e->flags == SD_SAMPLE_GIL && e->number == 77);
    CHECK(e->process == (uint64_t)getpid() && strcmp(e->track, "worker") == 0);
    CHECK(captured_value(e, "samples") == 1 && captured_value(e, "wall") == 1000000);
    CHECK(captured_value(e, "cpu") == 10);
    captured_free(c);
}

TEST(scribe_adds_up_waiting_and_loses_none_of_it)
{
    enum { N = 250 };
    struct setting *s = set_up();
    struct captured *c;
    int64_t samples = 0, wall = 0;
    size_t i;

    for (i = 0; i < N; i++)
        tell(s, SD_SAMPLE_IDLE, (const unsigned[][2]){ { 1, 5 }, { 0, 3 } }, 2);
    tell(s, 0, (const unsigned[][2]){ { 2, 1 }, { 0, 4 } }, 2);
    tell(s, SD_SAMPLE_IDLE, (const unsigned[][2]){ { 1, 5 }, { 0, 3 } }, 2);
    c = finish(s);
    CHECK(c->n < 8 && c->n >= 4); /* one each 100 ms */
    for (i = 0; i < c->n; i++) {
        samples += captured_value(&c->events[i], "samples");
        wall += captured_value(&c->events[i], "wall");
    }
    CHECK(samples == N + 2 && wall == (N + 2) * 1000000);
    CHECK(captured_count(c, SD_REC_SAMPLE, "f0:4;f2:1") == 1);
    captured_free(c);
}

TEST(scribe_adds_up_equal_stacks_that_come_faster_than_they_can_be_told_apart)
{
    enum { N = 500 };
    struct setting *s = set_up();
    struct captured *c;
    int64_t samples = 0, wall = 0;
    size_t i;

    s->step_ns = 1000;
    for (i = 0; i < N; i++)
        tell(s, 0, (const unsigned[][2]){ { 1, 5 }, { 0, 3 } }, 2);
    tell(s, 0, (const unsigned[][2]){ { 1, 6 }, { 0, 3 } }, 2);
    c = finish(s);
    CHECK(c->n >= 5 && c->n <= 7); /* one each 0.1 ms, and the other */
    for (i = 0; i < c->n; i++) {
        samples += captured_value(&c->events[i], "samples");
        wall += captured_value(&c->events[i], "wall");
    }
    CHECK(samples == N + 1 && wall == (N + 1) * 1000);
    CHECK(captured_value(&c->events[c->n - 1], "samples") == 1);
    CHECK(captured_count(c, SD_REC_SAMPLE, "f0:3;f1:6") == 1);
    captured_free(c);
}

TEST(scribe_takes_the_word_for_outer_frames_that_are_the_same)
{
    struct setting *s = set_up();
    struct captured *c;

    tell(s, 0, (const unsigned[][2]){ { 2, 7 }, { 1, 5 }, { 0, 3 } }, 3);
    s->n_same = 2;
    tell(s, 0, (const unsigned[][2]){ { 2, 8 }, { 1, 5 }, { 0, 3 } }, 3);
    s->n_same = 3;
    tell(s, 0, (const unsigned[][2]){ { 2, 8 }, { 1, 5 }, { 0, 3 } }, 3);
    c = finish(s);
    CHECK(c->n == 3 && captured_count(c, SD_REC_SAMPLE, "f0:3;f1:5;f2:7") == 1);
    CHECK(captured_count(c, SD_REC_SAMPLE, "f0:3;f1:5;f2:8") == 2);
    captured_free(c);
}

/* Ids are good for one chunk: each new one defines its stacks anew. */
TEST(scribe_goes_on_over_chunks_and_a_tree_that_is_begun_again)
{
    enum { N = 9000 };
    struct setting *s = set_up();
    struct captured *c;
    unsigned i;

    CHECK(sd_capture_start(s->capture) == 0);
    for (i = 0; i < N; i++)
        tell(s, 0,
             (const unsigned[][2]){ { i % 7, i % 41 }, { 1, i % 43 }, { 0, i % 47 } },
             3);
    c = finish(s);
    CHECK(c->is_whole && c->n == N);
    for (i = 0; i < N; i++) {
        char path[64];

        snprintf(path, sizeof path, "f0:%u;f1:%u;f%u:%u", i % 47, i % 43, i % 7,
                 i % 41);
        CHECK(strcmp(c->events[i].path, path) == 0);
    }
    captured_free(c);
}

TEST(scribe_cuts_the_outer_end_of_a_stack_that_is_too_deep_and_says_so)
{
    struct setting *s = set_up();
    unsigned(*frames)[2] = sd_zalloc(SD_STACK_MAX * sizeof *frames);
    struct captured *c;
    size_t i;

    CHECK(frames != NULL);
    for (i = 0; i < SD_STACK_MAX; i++)
        frames[i][0] = frames[i][1] = 2;
    tell(s, 0, frames, SD_STACK_MAX);
    tell(s, 0, frames, 3);
    c = finish(s);
    CHECK(c->n == 2);
    CHECK(strncmp(c->events[0].path, "[partial]:0;f2:2;f2:2;", 22) == 0);
    CHECK(strcmp(c->events[1].path, "f2:2;f2:2;f2:2") == 0);
    captured_free(c);
    sd_free(frames);
}

TEST(scribe_without_memory_counts_what_it_could_not_write)
{
    struct setting *s = set_up();
    struct captured *c;
    uint64_t unwritten;

    sd_mem_fail_at(1, true);
    tell(s, 0, (const unsigned[][2]){ { 1, 5 }, { 0, 3 } }, 2);
    sd_mem_fail_at(0, false);
    unwritten = s->scribe.n_unwritten;
    tell(s, 0, (const unsigned[][2]){ { 1, 5 }, { 0, 3 } }, 2);
    c = finish(s);
    CHECK(unwritten == 1 && c->n == 1);
    captured_free(c);
}
