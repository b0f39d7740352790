/* SPDX-License-Identifier: MIT */
#include "analyse/views.h"

#include <string.h>

#include "analyse/model/model_costs_testing.h"
#include "base/error.h"
#include "profile/profile_testing.h"

/* 60 samples in f, 40 in its caller. */
static struct sd_profile *load(struct sd_maker *m)
{
    uint32_t process, main, shape, outer, f, stack;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    main = sd_maker_track(m, SD_TRACK_THREAD, process, 7, "MainThread");
    shape = sd_maker_sample_shape(m);
    outer = sd_maker_function(m, "outer", "/x/app.py", 1);
    f = sd_maker_function(m, "f", "/x/app.py", 5);
    stack = sd_maker_stack(m, 0, outer, 3);
    sd_maker_sample(m, main, stack, 0, 10, shape, 40);
    sd_maker_sample(m, main, sd_maker_stack(m, stack, f, 6), 0, 20, shape, 60);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

TEST(views_have_one_name_a_title_and_a_function_each)
{
    for (const struct sd_view_about *a = sd_views; a->name; a++) {
        enum sd_view_subject s = a->of_model ? SD_OF_MODEL : SD_OF_PROFILE;

        CHECK(a->title && *a->title && !strchr(a->name, ','));
        CHECK((a->of_model != NULL) != (a->of_profile != NULL));
        CHECK(sd_view_named(s, a->name, strlen(a->name)) == a);
        CHECK(!a->plot ||
              (sd_view_of_plot(a->plot) == a && strstr(sd_model_plot_words, a->plot)));
        CHECK(strstr(s == SD_OF_MODEL ? sd_model_view_names : sd_profile_view_names,
                     a->name));
        /* Other shapes cannot be printed as text. */
        CHECK(a->shape == SD_SHAPE_TABLE || a->when == SD_WHEN_NAMED);
    }
    CHECK(strncmp(sd_model_plot_words, "|top|impact|", 12) == 0);
    CHECK(!sd_view_named(SD_OF_MODEL, "functions", 9) && !sd_view_of_plot("map"));
}

TEST(views_follow_what_their_evidence_can)
{
    enum { ALL = SD_PART_TIME | SD_PART_TRACK | SD_PART_SECTION };
    const struct sd_view_about *functions =
        sd_view_named(SD_OF_PROFILE, "functions", 9);
    const struct sd_view_about *plot = sd_view_named(SD_OF_PROFILE, "plot", 4);
    const struct sd_view_about *growth = sd_view_named(SD_OF_PROFILE, "growth", 6);

    CHECK(sd_view_follows(functions, SD_SAMPLES, true) == ALL);
    CHECK(sd_view_follows(functions, SD_SAMPLES, false) == SD_PART_TRACK);
    CHECK(sd_view_follows(functions, SD_CALLS, true) == ALL);
    CHECK(sd_view_follows(functions, SD_CALLS, false) == SD_PART_TRACK);
    CHECK(sd_view_follows(plot, SD_CALLS, false) == ALL);
    CHECK(sd_view_follows(growth, SD_CALLS, true) == SD_PART_TRACK);
    for (const struct sd_view_about *a = sd_views; a->name; a++) {
        CHECK((a->follows & ~(unsigned)ALL) == 0 && (!a->of_model || !a->follows));
        /* What is made from stacks over time follows whatever they do. */
        CHECK(!a->recipe || (a->follows == ALL && a->needs != SD_NEEDS_ANY));
    }
}

TEST(views_that_are_not_there_are_refused_with_a_list)
{
    struct sd_view_request r = { .views = "functions,nothing" };

    CHECK(sd_view_names_check(SD_OF_PROFILE, &r) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "no table \"nothing\"; the tables are timings, "));
    CHECK(strstr(sd_fail_text(), ", and with --json also timing_growth, flame, "));
    r.views = "";
    CHECK(sd_view_names_check(SD_OF_MODEL, &r) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "\"\" of a model; the tables are layers"));
    r.views = "threads,flame";
    CHECK(sd_view_names_check(SD_OF_PROFILE, &r) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "flame is a picture"));
    r.has_drawings = true;
    CHECK(sd_view_names_check(SD_OF_PROFILE, &r) == 0);
}

TEST(views_of_a_profile_are_those_asked_for)
{
    struct sd_view_request r = { .views = "graph,functions,flame",
                                 .has_drawings = true };
    struct sd_view v = { 0 };
    struct sd_maker m;
    struct sd_profile *p = load(&m);

    CHECK(sd_views_make(p, &r, &v) == 0);
    CHECK(v.n_tables == 1 && strcmp(v.tables[0].name, "functions") == 0 &&
          v.tables[0].n_rows == 2);
    CHECK(v.n_drawings == 2 && v.drawings[0].shape == SD_SHAPE_FLAME &&
          v.drawings[0].flame.boxes[0].total == 100);
    CHECK(v.drawings[1].shape == SD_SHAPE_GRAPH && v.drawings[1].graph.n_nodes == 2 &&
          v.drawings[1].graph.n_edges == 1 &&
          v.drawings[1].graph.edges[0].total > .599 &&
          v.drawings[1].graph.edges[0].total < .601);
    CHECK(strcmp(v.drawings[1].graph.unit, "samples") == 0 &&
          strcmp(v.drawings[1].graph.nodes[0].file, "/x/app.py") == 0);
    sd_view_release(&v);
    r = (struct sd_view_request){ .is_short = true };
    CHECK(sd_views_make(p, &r, &v) == 0 && v.n_drawings == 0);
    CHECK(strcmp(v.tables[0].name, "functions") == 0 && !sd_views_have(p, &r, "lines"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(views_of_stacks_are_refused_where_none_were_recorded)
{
    struct sd_maker m;
    struct sd_view_request r = { .views = "functions,flame", .has_drawings = true };
    struct sd_view v = { 0 };
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, "python");
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_views_make(p, &r, &v) == SD_EABSENT);
    CHECK(
        strstr(sd_fail_text(), "functions,flame cannot be shown; record with: sonde"));
    r.selection.from_ns = 1; /* no stacks is an answer then */
    CHECK(sd_views_make(p, &r, &v) == 0 && v.n_tables == 0);
    r.selection.from_ns = 0;
    r.views = "functions,sections"; /* one of them needs none */
    CHECK(sd_views_make(p, &r, &v) == 0);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(views_of_a_model_are_those_asked_for)
{
    struct sd_view_request r = { .views = "types,top_bars,roofline,map",
                                 .has_drawings = true,
                                 .limit = 3,
                                 .peak_flops = 1e12,
                                 .peak_of = "float32",
                                 .bandwidth = 1e10 };
    struct sd_model_costs c;
    struct sd_view v = { 0 };
    struct sd_net n;

    sd_net_alexnet(&n);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &c) == 0);
    CHECK(sd_model_metric_named("params", &r.model_metric) == 0);
    CHECK(sd_views_make_model(&c, &r, &v) == 0);
    CHECK(v.n_tables == 1 && strcmp(v.tables[0].name, "types") == 0);
    CHECK(v.n_drawings == 3 && v.drawings[0].bars.n_bars == 3 &&
          v.drawings[0].bars.bars[0].values[0] == 9216 * 4096 + 4096);
    CHECK(v.drawings[1].shape == SD_SHAPE_ROOFLINE &&
          v.drawings[1].roofline.peak == 1e12);
    CHECK(v.drawings[2].shape == SD_SHAPE_MAP && v.drawings[2].map.n_boxes > 0);
    sd_view_release(&v);
    sd_model_costs_release(&c);
    sd_net_end(&n);
}

TEST(views_survive_every_failed_allocation)
{
    const struct sd_view_request r = { .views = "functions,threads,flame,graph",
                                       .has_drawings = true };
    struct sd_maker m;
    struct sd_profile *p = load(&m);

    EACH_FAILURE(nth)
    {
        struct sd_view v = { 0 };
        int rc = sd_views_make(p, &r, &v);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_view_release(&v);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}
