/* SPDX-License-Identifier: MIT */
#include "profile/samples.h"

#include <string.h>

#include "base/error.h"
#include "base/matcher_testing.h"
#include "base/mem.h"
#include "profile/events.h"
#include "profile/profile_testing.h"

struct ids {
    uint32_t process, thread, main, f, g, shape, in_main, in_f, in_g;
};

/* main:3 calls f:12 and, from line 4, g:22. */
static struct ids define(struct sd_maker *m)
{
    struct ids i;

    i.process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    i.thread = sd_maker_track(m, SD_TRACK_THREAD, i.process, 7, "MainThread");
    i.main = sd_maker_function(m, "<module>", "/x/app.py", 1);
    i.f = sd_maker_function(m, "f", "/x/app.py", 10);
    i.g = sd_maker_function(m, "g", "/x/lib.py", 20);
    i.shape = sd_maker_sample_shape(m);
    i.in_main = sd_maker_stack(m, 0, i.main, 3);
    i.in_f = sd_maker_stack(m, i.in_main, i.f, 12);
    i.in_g = sd_maker_stack(m, sd_maker_stack(m, 0, i.main, 4), i.g, 22);
    return i;
}

/* Two chunks that define everything afresh and in another order of ids. */
static void make(struct sd_maker *m)
{
    struct ids i;
    uint32_t section;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    i = define(m);
    sd_maker_sample(m, i.thread, i.in_f, SD_SAMPLE_GIL, 10, i.shape, 1);
    sd_maker_sample(m, i.thread, i.in_f, SD_SAMPLE_GIL, 20, i.shape, 1);
    sd_maker_sample(m, i.thread, i.in_g, SD_SAMPLE_IDLE, 30, i.shape, 10);
    sd_maker_chunk(m, 1, 2);
    sd_maker_string(m, "ids are other ones now");
    i = define(m);
    sd_maker_sample(m, i.thread, i.in_f, 0, 40, i.shape, 1);
    sd_maker_sample(m, i.thread, i.in_f, SD_SAMPLE_GIL, 50, i.shape, 1);
    sd_maker_sample(m, i.thread, 0, 0, 60, i.shape, 1);
    section = sd_maker_site(m, 0, "train");
    sd_maker_span(m, section, i.thread, 1, 15, 35);
    sd_maker_end(m, 0);
}

static int64_t value(const struct sd_profile *p, const char *metric, const char *leaf,
                     uint32_t flags)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;
    uint32_t column = sd_profile_sample_metric(p, metric);
    int64_t sum = 0;

    for (size_t i = 0; column != UINT32_MAX && i < samples->n; i++) {
        const struct sd_sample_total *t = &samples->items[i];
        const char *name = t->stack.at == UINT32_MAX
                               ? "none"
                               : p->sites[p->stacks[t->stack.at].site.at].name;

        if (t->flags == flags && strcmp(name, leaf) == 0)
            sum += samples->values[column][i];
    }
    return sum;
}

TEST(triples_have_one_id_each_and_keep_it)
{
    struct sd_triples t = { 0 };
    uint32_t id;

    CHECK(sd_triples_find(&t, (struct sd_triple){ 0, 0, 0 }) == UINT32_MAX);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++) {
            CHECK(sd_triples_add(&t, (struct sd_triple){ i % 10, i / 10, 5 }, &id) ==
                  0);
            CHECK(id == i);
        }
    CHECK(t.n == 1000);
    CHECK(sd_triples_find(&t, (struct sd_triple){ 7, 3, 5 }) == 37);
    CHECK(sd_triples_find(&t, (struct sd_triple){ 3, 7, 6 }) == UINT32_MAX);
    sd_triples_release(&t);
}

TEST(samples_of_one_stack_are_one_total_over_all_chunks)
{
    struct sd_maker m;
    struct sd_profile *p;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(p->n_stacks == 4 && p->evidence[SD_SAMPLES].stacks.n == 4 &&
          p->n_sample_events == 6);
    CHECK(value(p, "samples", "f", SD_SAMPLE_GIL) == 3);
    CHECK(value(p, "wall", "f", SD_SAMPLE_GIL) == 30000000);
    CHECK(value(p, "cpu", "f", SD_SAMPLE_GIL) == 24000000);
    CHECK(value(p, "samples", "f", 0) == 1);
    CHECK(value(p, "samples", "g", SD_SAMPLE_IDLE) == 10);
    CHECK(value(p, "cpu", "g", SD_SAMPLE_IDLE) == 0);
    CHECK(value(p, "samples", "none", 0) == 1);
    for (size_t i = 0; i < p->n_stacks; i++)
        CHECK(p->stacks[i].parent.at == UINT32_MAX || p->stacks[i].parent.at < i);
    sd_profile_free(p);
    sd_maker_release(&m);
}

static int64_t all_samples(const struct sd_profile *p)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;
    uint32_t column = sd_profile_sample_metric(p, "samples");
    int64_t sum = 0;

    for (size_t i = 0; column != UINT32_MAX && i < samples->n; i++)
        sum += samples->values[column][i];
    return sum;
}

static int64_t filtered(const struct sd_maker *m, struct sd_filter filter)
{
    struct sd_profile *p = sd_maker_load(m, &filter);
    int64_t n = all_samples(p);

    sd_profile_free(p);
    return n;
}

TEST(filters_judge_samples_by_time_thread_section_and_frames)
{
    struct sd_maker m;

    make(&m);
    CHECK(filtered(&m, (struct sd_filter){ .from_ns = 40 }) == 3);
    CHECK(filtered(&m, (struct sd_filter){ .to_ns = 20 }) == 2);
    CHECK(filtered(&m, (struct sd_filter){ .track = "7/7" }) == 15);
    CHECK(filtered(&m, (struct sd_filter){ .track = "Main" }) == 15);
    CHECK(filtered(&m, (struct sd_filter){ .section = "train" }) == 11);
    CHECK(filtered(&m, (struct sd_filter){ .match = SD_MATCHER("^f$") }) == 4);
    CHECK(filtered(&m, (struct sd_filter){ .match = SD_MATCHER("lib.py") }) == 10);
    CHECK(filtered(&m, (struct sd_filter){ .match = SD_MATCHER("module") }) == 14);
    CHECK(filtered(&m, (struct sd_filter){ .match = SD_MATCHER("nothing") }) == 0);
    sd_maker_release(&m);
}

TEST(events_hand_out_samples_in_order)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_events *events;
    struct sd_event e;
    uint64_t last = 0;
    int n = 0;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_events_open(p, sd_maker_save(&m), NULL, &events) == 0);
    while (sd_events_next(events, &e) == 1) {
        if (e.kind != SD_EVENT_SAMPLE)
            continue;
        CHECK(e.from_ns > last && e.n_values == 3);
        CHECK((e.from_ns == 60) == (e.stack.at == UINT32_MAX));
        if (e.from_ns == 40)
            CHECK(strcmp(p->sites[p->stacks[e.stack.at].site.at].name, "f") == 0 &&
                  p->stacks[e.stack.at].line == 12);
        last = e.from_ns;
        n++;
    }
    CHECK(n == 6);
    sd_events_free(events);
    sd_profile_free(p);
    sd_maker_release(&m);
}

static const char *leaf_of(const struct sd_profile *p, sd_stack_id stack)
{
    return p->sites[p->stacks[stack.at].site.at].name;
}

/* One sample of <module>; later, too, of what it calls and of itself below that. */
static void make_growing(struct sd_maker *m, bool is_later)
{
    struct ids i;
    uint32_t new, below;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    i = define(m);
    sd_maker_sample(m, i.thread, i.in_main, 0, 10, i.shape, 1);
    if (is_later) {
        new = sd_maker_stack(m, i.in_main, sd_maker_function(m, "new", "/x/app.py", 5),
                             6);
        below = sd_maker_stack(m, new, i.main, 3);
        sd_maker_sample(m, i.thread, new, 0, 20, i.shape, 1);
        sd_maker_sample(m, i.thread, below, 0, 30, i.shape, 1);
        sd_maker_sample(m, i.thread, below, SD_SAMPLE_PARTIAL, 40, i.shape, 1);
        sd_maker_sample(m, i.thread, i.in_main, 0, 50, i.shape, 1);
    }
    sd_maker_end(m, 0);
}

TEST(events_of_a_capture_that_grew_are_those_that_the_profile_knows)
{
    struct sd_maker before, after;
    struct sd_profile *p;
    struct sd_events *events;
    struct sd_event e;

    make_growing(&before, false);
    make_growing(&after, true);
    p = sd_maker_load(&before, NULL);
    CHECK(sd_events_open(p, sd_maker_save(&after), NULL, &events) == 0);
    CHECK(sd_events_next(events, &e) == 1 && e.from_ns == 10);
    CHECK(strcmp(leaf_of(p, e.stack), "<module>") == 0);
    CHECK(sd_events_next(events, &e) == 0);
    sd_events_free(events);
    sd_profile_free(p);
    sd_maker_release(&before);
    sd_maker_release(&after);
}

/* f:12 whole, cut, and nothing of it read at all. */
static void make_partial(struct sd_maker *m)
{
    struct ids i;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    i = define(m);
    sd_maker_sample(m, i.thread, i.in_f, 0, 10, i.shape, 5);
    sd_maker_sample(m, i.thread, i.in_f, SD_SAMPLE_PARTIAL, 20, i.shape, 2);
    sd_maker_sample(m, i.thread, 0, SD_SAMPLE_PARTIAL, 30, i.shape, 1);
    sd_maker_end(m, 0);
}

TEST(a_sample_that_was_cut_ends_in_a_frame_that_says_so)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_events *events;
    struct sd_event e;

    make_partial(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(value(p, "samples", "f", 0) == 5);
    CHECK(value(p, "samples", "f", SD_SAMPLE_PARTIAL) == 0);
    CHECK(value(p, "samples", "[partial]", SD_SAMPLE_PARTIAL) == 3);
    CHECK(sd_events_open(p, sd_maker_save(&m), NULL, &events) == 0);
    CHECK(sd_events_next(events, &e) == 1 && strcmp(leaf_of(p, e.stack), "f") == 0);
    CHECK(sd_events_next(events, &e) == 1 && p->stacks[e.stack.at].line == 0);
    CHECK(strcmp(leaf_of(p, e.stack), "[partial]") == 0);
    CHECK(strcmp(leaf_of(p, p->stacks[e.stack.at].parent), "f") == 0);
    CHECK(sd_events_next(events, &e) == 1);
    CHECK(strcmp(leaf_of(p, e.stack), "[partial]") == 0);
    CHECK(p->stacks[e.stack.at].parent.at == UINT32_MAX);
    sd_events_free(events);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* One capture with a sample of `name` on the line `line`. */
static void make_one(struct sd_maker *m, const char *name, uint32_t line)
{
    uint32_t process, site, shape;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    if (line % 2)
        sd_maker_metric(m, "shifts the others", SD_UNIT_COUNT, SD_ADDS_SUM);
    site = sd_maker_function(m, name, "a.py", 1);
    shape = sd_maker_sample_shape(m);
    sd_maker_sample(m, process, sd_maker_stack(m, 0, site, line), 0, 5, shape, line);
    sd_maker_end(m, 0);
}

static struct sd_profile *loaded(const struct sd_maker *m,
                                 const struct sd_profile *more)
{
    struct sd_profile *p = sd_maker_load(m, NULL);

    if (more)
        CHECK(sd_profile_merge(p, more) == 0);
    return p;
}

static bool is_same(const struct sd_profile *a, const struct sd_profile *b)
{
    bool is = a->n_stacks == b->n_stacks &&
              a->evidence[SD_SAMPLES].stacks.n == b->evidence[SD_SAMPLES].stacks.n &&
              a->evidence[SD_SAMPLES].stacks.n_metrics ==
                  b->evidence[SD_SAMPLES].stacks.n_metrics &&
              a->n_sample_events == b->n_sample_events;

    for (size_t i = 0; is && i < a->n_stacks; i++)
        is = memcmp(&a->stacks[i], &b->stacks[i], sizeof a->stacks[i]) == 0;
    for (size_t i = 0; is && i < a->evidence[SD_SAMPLES].stacks.n; i++)
        for (uint32_t k = 0; is && k < a->evidence[SD_SAMPLES].stacks.n_metrics; k++)
            is = a->evidence[SD_SAMPLES].stacks.values[k][i] ==
                     b->evidence[SD_SAMPLES].stacks.values[k][i] &&
                 a->evidence[SD_SAMPLES].stacks.items[i].stack.at ==
                     b->evidence[SD_SAMPLES].stacks.items[i].stack.at;
    return is;
}

TEST(merged_samples_are_the_same_in_any_grouping)
{
    struct sd_maker m[3];
    struct sd_profile *left, *right, *bc, *b, *c;

    make_one(&m[0], "f", 1);
    make_one(&m[1], "g", 2);
    make_one(&m[2], "f", 1);
    b = loaded(&m[1], NULL);
    c = loaded(&m[2], NULL);
    left = loaded(&m[0], b);
    CHECK(sd_profile_merge(left, c) == 0);
    bc = loaded(&m[1], c);
    right = loaded(&m[0], bc);
    CHECK(is_same(left, right));
    CHECK(value(left, "samples", "f", 0) == 2 && value(left, "samples", "g", 0) == 2);
    CHECK(all_samples(left) == 4);
    sd_profile_free(left);
    sd_profile_free(right);
    sd_profile_free(bc);
    sd_profile_free(b);
    sd_profile_free(c);
    for (int i = 0; i < 3; i++)
        sd_maker_release(&m[i]);
}

TEST(samples_with_dangling_ids_are_kept_under_lost_names)
{
    struct sd_maker m;
    struct sd_profile *p;
    uint32_t shape, stack, site;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    shape = sd_maker_sample_shape(&m);
    site = sd_maker_function(&m, "f", NULL, 0);
    sd_maker_sample(&m, 0, 4000, 0xffff, 1, shape, 1);
    stack = sd_maker_stack(&m, 3999, site, 1);
    sd_maker_sample(&m, 0, stack, 0, 2, shape, 1);
    stack = sd_maker_stack(&m, m.next_id, 3998, 1); /* its own parent, nobody's site */
    sd_maker_sample(&m, 0, stack, 0, 3, shape, 1);
    sd_maker_sample_with(&m, 0, stack, 0, 4, shape, (int64_t[]){ -5, SD_VALUE_NONE },
                         2);
    sd_maker_sample_with(&m, 0, stack, 0, 5, shape,
                         (int64_t[]){ INT64_MAX, INT64_MAX, 1 }, 3);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(value(p, "samples", "[partial]", SD_SAMPLE_KNOWN) == 1);
    CHECK(value(p, "samples", "f", 0) == 1);
    CHECK(value(p, "samples", "[lost name]", 0) == INT64_MAX);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(samples_survive_every_allocation_that_fails)
{
    struct sd_maker m;
    struct sd_profile *p, *q;
    const struct sd_filter filter = { .match = SD_MATCHER("f") };

    make(&m);
    q = sd_maker_load(&m, NULL);
    EACH_FAILURE(nth)
    {
        int rc = sd_maker_try(&m, &filter, &p);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0) {
            CHECK(all_samples(p) == 4);
            rc = sd_profile_merge(p, q);
            CHECK(rc == 0 || rc == SD_ENOMEM);
        }
        sd_profile_free(p);
    }
    sd_profile_free(q);
    sd_maker_release(&m);
}
