/* SPDX-License-Identifier: MIT */
#include "analyse/analyse.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "profile/profile_testing.h"

struct flame { /* a made capture and its flame graph */
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_arena arena;
    struct sd_view_flame view;
};

/* 100 samples that are not idle: 60 in f, called on two lines; 30 in a library below
 * it; 9 in native code; 1 without a frame.  The worker has 50 idle ones in f. */
static void fill(struct sd_maker *m)
{
    uint32_t process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    uint32_t main = sd_maker_track(m, SD_TRACK_THREAD, process, 7, "MainThread");
    uint32_t worker = sd_maker_track(m, SD_TRACK_THREAD, process, 8, "Worker");
    uint32_t shape = sd_maker_sample_shape(m);
    uint32_t module = sd_maker_function(m, "<module>", "/x/app.py", 1);
    uint32_t f = sd_maker_function(m, "f", "/x/app.py", 5);
    uint32_t leaf = sd_maker_function(m, "leaf", "/usr/lib/python3.11/json/a.py", 9);
    uint32_t at_3 = sd_maker_stack(m, 0, module, 3);
    uint32_t at_4 = sd_maker_stack(m, 0, module, 4);
    uint32_t in_f = sd_maker_stack(m, at_3, f, 6);

    sd_maker_sample(m, main, in_f, SD_SAMPLE_GIL, 10, shape, 40);
    sd_maker_sample(m, main, sd_maker_stack(m, at_4, f, 7), 0, 20, shape, 20);
    sd_maker_sample(m, main, sd_maker_stack(m, in_f, leaf, 11), 0, 30, shape, 30);
    sd_maker_sample(m, main, at_3, 0, 40, shape, 9);
    sd_maker_sample(m, main, 0, 0, 50, shape, 1);
    sd_maker_sample(m, worker, in_f, SD_SAMPLE_IDLE, 60, shape, 50);
}

static void make(struct flame *l, void (*put)(struct sd_maker *m),
                 const struct sd_view_request *request)
{
    *l = (struct flame){ 0 };
    sd_maker_begin(&l->m);
    sd_maker_chunk(&l->m, 1, 1);
    sd_maker_meta(&l->m, "command", "python app.py");
    sd_maker_meta(&l->m, "sample.missed", "3");
    sd_maker_meta(&l->m, "sample.idle", "50");
    put(&l->m);
    sd_maker_end(&l->m, 0);
    l->p = sd_maker_load(&l->m, NULL);
    CHECK(sd_analyse_flame(l->p, request, &l->arena, &l->view) == 0);
}

static void drop(struct flame *l)
{
    sd_arena_release(&l->arena);
    sd_profile_free(l->p);
    sd_maker_release(&l->m);
}

static const struct sd_flame_box *box_of(const struct flame *l, const char *name,
                                         const char *where)
{
    for (size_t i = 0; i < l->view.n_boxes; i++) {
        const struct sd_flame_box *b = &l->view.boxes[i];

        if (strcmp(b->name, name) == 0 &&
            (!where || (b->where && strcmp(b->where, where) == 0)))
            return b;
    }
    CHECK(false); /* there is no such box */
    return NULL;
}

/* Children lie side by side inside their parent, and with its own make it up. */
static void check_geometry(const struct flame *l)
{
    const struct sd_view_flame *v = &l->view;

    for (uint32_t i = 0; i < v->n_boxes; i++) {
        const struct sd_flame_box *b = &v->boxes[i];
        int64_t at = b->from;

        CHECK(b->depth < v->n_levels && b->total > 0);
        CHECK((i == 0) == (b->parent == UINT32_MAX));
        if (i > 0) {
            const struct sd_flame_box *parent = &v->boxes[b->parent];

            CHECK(b->parent < i && b->depth == parent->depth + 1);
            CHECK(b->from >= parent->from &&
                  b->from + b->total <= parent->from + parent->total);
        }
        for (uint32_t k = i + 1; k < v->n_boxes; k++)
            if (v->boxes[k].parent == i) {
                CHECK(v->boxes[k].from == at);
                at += v->boxes[k].total;
            }
        CHECK(at - b->from <= b->total);
        if (!v->note && b->kind != SD_FLAME_FOLDED)
            CHECK(at - b->from + b->self == b->total);
    }
}

TEST(flame_has_functions_of_one_name_together)
{
    const struct sd_view_request request = { .stacks.by = SD_CALLS_BY_FUNCTION };
    struct flame l;

    make(&l, fill, &request);
    check_geometry(&l);
    CHECK(l.view.n_boxes == 4 && l.view.n_levels == 4);
    CHECK(l.view.boxes[0].total == 100 && l.view.boxes[0].self == 1);
    CHECK(box_of(&l, "<module>", "app.py:1")->total == 99);
    CHECK(box_of(&l, "f", "app.py:5")->total == 90);
    CHECK(box_of(&l, "f", "app.py:5")->self == 60);
    CHECK(box_of(&l, "f", NULL)->kind == SD_FLAME_OWN);
    CHECK(box_of(&l, "leaf", "json/a.py:9")->kind == SD_FLAME_LIBRARY);
    CHECK(strcmp(l.view.title, "python app.py") == 0);
    CHECK(strstr(l.view.subtitle, "100 samples in "));
    CHECK(strstr(l.view.subtitle, "3 missed") && strstr(l.view.subtitle, "50 idle"));
    CHECK(strcmp(l.view.unit, "samples") == 0 && !l.view.note);
    drop(&l);
}

TEST(flame_tells_lines_threads_and_waiting_apart_when_asked)
{
    const struct sd_view_request request = { .stacks.by = SD_CALLS_BY_LINE,
                                             .stacks.choice = { .has_idle = true },
                                             .has_process_boxes = true,
                                             .has_thread_boxes = true };
    struct flame l;

    make(&l, fill, &request);
    check_geometry(&l);
    CHECK(box_of(&l, "process 7 python", NULL)->total == 150);
    CHECK(box_of(&l, "thread 7 MainThread", NULL)->idle == 0);
    CHECK(box_of(&l, "thread 8 Worker", NULL)->idle == 50);
    CHECK(box_of(&l, "thread 8 Worker", NULL)->kind == SD_FLAME_THREAD);
    CHECK(box_of(&l, "<module>", "app.py:4")->total == 20);
    CHECK(box_of(&l, "f", "app.py:7")->total == 20);
    CHECK(l.view.boxes[0].idle == 50);
    CHECK(box_of(&l, "[idle]", NULL)->kind == SD_FLAME_IDLE);
    CHECK(box_of(&l, "[idle]", NULL)->total == 50);
    CHECK(l.view.boxes[box_of(&l, "[idle]", NULL)->parent].waited == 50);
    drop(&l);
}

TEST(flame_counts_any_metric_and_refuses_what_is_none)
{
    struct sd_view_request request = { .stacks.choice = { .metric = "cpu" } };
    struct flame l;

    make(&l, fill, &request);
    CHECK(box_of(&l, "f", NULL)->total == 90 * 8000000);
    CHECK(l.view.kind == SD_CELL_NS && !l.view.unit);
    CHECK(strstr(l.view.subtitle, "of cpu time"));
    request.stacks.choice.metric = "nonsense";
    CHECK(sd_analyse_flame(l.p, &request, &l.arena, &l.view) == SD_EUSAGE);
    drop(&l);
}

/* One function of 100,000 samples beside 300 of one each, all below <module>. */
static void fill_crumbs(struct sd_maker *m)
{
    uint32_t process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    uint32_t shape = sd_maker_sample_shape(m);
    uint32_t module = sd_maker_function(m, "<module>", "/x/app.py", 1);
    uint32_t in = sd_maker_stack(m, 0, module, 3);
    uint32_t f = sd_maker_function(m, "f", "/x/app.py", 5);
    char name[32];

    sd_maker_sample(m, process, sd_maker_stack(m, in, f, 6), 0, 10, shape, 100000);
    for (uint32_t i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "crumb_%u", i);
        f = sd_maker_function(m, name, "/x/app.py", 10 + i);
        sd_maker_sample(m, process, sd_maker_stack(m, in, f, 6), 0, 20 + i, shape, 1);
    }
}

TEST(flame_folds_what_is_too_small_and_says_how_much_it_is)
{
    const struct sd_view_request request = { 0 }, all = { .least_percent = 1e-6 };
    struct flame l;
    const struct sd_flame_box *folded;

    make(&l, fill_crumbs, &request);
    check_geometry(&l);
    CHECK(l.view.n_boxes == 4);
    folded = box_of(&l, "… 300 functions below 0.02 %", NULL);
    CHECK(folded->kind == SD_FLAME_FOLDED && folded->total == 300);
    CHECK(folded->from == 100000);
    drop(&l);
    make(&l, fill_crumbs, &all);
    check_geometry(&l);
    CHECK(l.view.n_boxes == 3 + 300);
    drop(&l);
}

static void fill_deep(struct sd_maker *m)
{
    uint32_t process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    uint32_t shape = sd_maker_sample_shape(m);
    uint32_t f = sd_maker_function(m, "f", "/x/app.py", 5), at = 0;

    for (int i = 0; i < SD_FLAME_LEVELS + 500; i++)
        at = sd_maker_stack(m, at, f, 6);
    sd_maker_sample(m, process, at, 0, 10, shape, 5);
}

TEST(flame_of_a_bottomless_recursion_ends_and_says_so)
{
    const struct sd_view_request request = { 0 };
    struct flame l;
    const struct sd_flame_box *last;

    make(&l, fill_deep, &request);
    last = &l.view.boxes[l.view.n_boxes - 1];
    CHECK(l.view.n_levels == SD_FLAME_LEVELS + 1);
    CHECK(last->kind == SD_FLAME_FOLDED && last->total == 5);
    CHECK(strstr(last->name, "deeper than"));
    drop(&l);
}

TEST(flame_of_nothing_is_one_empty_box)
{
    const struct sd_view_request request = { 0 };
    struct flame l = { 0 };

    sd_maker_begin(&l.m);
    sd_maker_end(&l.m, 0);
    l.p = sd_maker_load(&l.m, NULL);
    CHECK(sd_analyse_flame(l.p, &request, &l.arena, &l.view) == 0);
    CHECK(l.view.n_boxes == 1 && l.view.boxes[0].total == 0);
    CHECK(strstr(l.view.subtitle, "nothing was sampled"));
    drop(&l);
}

TEST(flame_survives_every_allocation_that_fails)
{
    const struct sd_view_request request = { .has_thread_boxes = true };
    struct flame l;

    make(&l, fill, &request);
    EACH_FAILURE(nth)
    {
        struct sd_arena arena = { 0 };
        struct sd_view_flame view;
        int rc = sd_analyse_flame(l.p, &request, &arena, &view);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&arena);
    }
    drop(&l);
}
