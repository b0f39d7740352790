/* SPDX-License-Identifier: MIT */
#include "outputs/outputs.h"
#include "outputs/path_fold.h"

#include <string.h>

#include "base/error.h"
#include "profile/calls_testing.h"

enum { STREAM = 50 };

/* main calls f and g, f calls g and itself; most of the time is main's and f's own. */
static void put_thread(struct sd_maker *m, uint64_t stream, uint64_t tid)
{
    uint32_t process, track, main, f, g;

    sd_maker_defs(m, stream, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, NULL);
    track = sd_maker_track(m, SD_TRACK_THREAD, process, tid, "MainThread");
    main = sd_maker_function(m, "<module>", "/app/train.py", 1);
    f = sd_maker_function(m, "f", "/app/train.py", 5);
    g = sd_maker_function(m, "g", "/app/train.py", 9);
    sd_maker_clock(m, 1000, 1000);
    sd_maker_clock(m, 101000, 101000);
    {
        const struct sd_call_cell cells[] = {
            sd_maker_root(track, 0, 0),
            { .parent = 0, .site = main, .calls = 1, .ticks = 100000 },
            { .parent = 1, .site = f, .calls = 2, .ticks = 60000 },
            { .parent = 2, .site = f, .calls = 2, .ticks = 10000 },
            { .parent = 3, .site = f, .calls = 2, .ticks = 1000 },
            { .parent = 4, .site = g, .calls = 5, .ticks = 100 },
            { .parent = 2, .site = g, .calls = 7, .ticks = 30 },
            { .parent = 1, .site = g, .calls = 3, .ticks = 3 },
        };

        sd_maker_cells(m, stream, 2, 0, cells, sizeof cells / sizeof *cells);
    }
}

static struct sd_profile *load(struct sd_maker *m)
{
    sd_maker_begin(m);
    put_thread(m, STREAM, 8);
    put_thread(m, STREAM + 1, 9);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

static uint64_t size_of(const struct sd_output *o, const struct sd_profile *p,
                        const char *path)
{
    const struct sd_output_job job = { .from = path, .profile = p };
    struct sd_out out;
    uint64_t n;

    sd_out_to_count(&out, UINT64_MAX);
    CHECK(o->write(&job, &out) == 0);
    n = sd_out_counted(&out);
    sd_out_release(&out);
    return n;
}

static void check_sums(const struct sd_profile *a, const struct sd_profile *b)
{
    CHECK(a->evidence[SD_CALLS].stacks.n_metrics ==
              b->evidence[SD_CALLS].stacks.n_metrics &&
          a->evidence[SD_CALLS].stacks.n_metrics > 2);
    for (uint32_t k = 0; k < a->evidence[SD_CALLS].stacks.n_metrics; k++) {
        int64_t x = 0, y = 0;

        for (size_t i = 0; i < a->evidence[SD_CALLS].stacks.n; i++)
            x += a->evidence[SD_CALLS].stacks.values[k][i];
        for (size_t i = 0; i < b->evidence[SD_CALLS].stacks.n; i++)
            y += b->evidence[SD_CALLS].stacks.values[k][i];
        CHECK(x == y && a->evidence[SD_CALLS].stacks.metrics[k].at ==
                            b->evidence[SD_CALLS].stacks.metrics[k].at);
    }
    for (size_t i = 0; i < a->n_stacks; i++)
        CHECK(a->stacks[i].parent.at == UINT32_MAX || a->stacks[i].parent.at < i);
}

TEST(paths_of_every_format_are_folded_until_it_fits_and_sums_stay)
{
    struct sd_maker m;
    struct sd_profile *p = load(&m);
    const char *path = sd_maker_save(&m);
    const struct sd_output_job job = { .from = path, .profile = p };
    size_t n_folded = 0;

    for (size_t i = 0; sd_outputs[i]; i++) {
        const struct sd_output *f = sd_outputs[i];
        struct sd_path_fold fold;
        uint64_t all;

        CHECK(sd_path_fold_applies(f, &job) == f->folds_paths);
        if (!f->folds_paths)
            continue;
        all = size_of(f, p, path);
        CHECK(sd_path_fold_make(&fold, f, &job, all) == 0);
        CHECK(fold.percent == 0 && fold.n_folded == 0);
        CHECK(fold.profile.stacks == p->stacks);
        sd_path_fold_release(&fold);
        CHECK(sd_path_fold_make(&fold, f, &job, 100) == 0);
        CHECK(fold.n_paths == 14 && fold.percent > 0);
        check_sums(&fold.profile, p);
        CHECK(fold.profile.evidence[SD_CALLS].stacks.n + fold.n_folded == 14);
        CHECK(size_of(f, &fold.profile, path) < all);
        n_folded += fold.n_folded;
        sd_path_fold_release(&fold);
    }
    CHECK(n_folded > 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(a_folded_path_is_part_of_its_callers)
{
    const struct sd_output *f = sd_output_named("collapsed");
    struct sd_maker m;
    struct sd_profile *p = load(&m);
    struct sd_output_job job = { .from = sd_maker_save(&m), .profile = p };
    struct sd_path_fold fold;
    struct sd_out out;

    /* Every line of seven has the name of the file some times. */
    CHECK(sd_path_fold_make(&fold, f, &job, 130) == 0);
    CHECK(fold.percent > 1 && fold.percent < 2); /* the third f has 1 % */
    sd_out_to_memory(&out);
    job.profile = &fold.profile;
    CHECK(f->write(&job, &out) == 0);
    CHECK(strcmp(sd_buf_string(&out.pending),
                 "<module> (train.py:1) 80000\n"
                 "<module> (train.py:1);f (train.py:5) 100000\n"
                 "<module> (train.py:1);f (train.py:5);f (train.py:5) 20000\n") == 0);
    sd_out_release(&out);
    sd_path_fold_release(&fold);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(the_expected_size_of_few_paths_is_their_size)
{
    struct sd_maker m;
    struct sd_profile *p = load(&m);
    const struct sd_output_job job = { .from = sd_maker_save(&m), .profile = p };

    for (size_t i = 0; sd_outputs[i]; i++) {
        uint64_t bytes = 0;
        size_t n_paths = 0;

        if (!sd_outputs[i]->folds_paths)
            continue;
        CHECK(sd_path_fold_expect(sd_outputs[i], &job, &bytes, &n_paths) == 0);
        CHECK(bytes == size_of(sd_outputs[i], p, job.from));
        CHECK(n_paths == p->evidence[SD_CALLS].stacks.n);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(folding_survives_every_allocation_that_fails)
{
    const struct sd_output *f = sd_output_named("speedscope");
    struct sd_maker m;
    struct sd_profile *p = load(&m);
    const struct sd_output_job job = { .from = sd_maker_save(&m), .profile = p };

    EACH_FAILURE(nth)
    {
        struct sd_path_fold fold;
        uint64_t bytes;
        size_t n_paths;
        int rc = sd_path_fold_make(&fold, f, &job, 10);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_path_fold_release(&fold);
        rc = sd_path_fold_expect(f, &job, &bytes, &n_paths);
        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}
