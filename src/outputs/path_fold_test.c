/* SPDX-License-Identifier: MIT */
#include "outputs/path_fold.h"

#include <string.h>

#include "base/error.h"
#include "profile/calls_testing.h"

enum { STREAM = 50 };

/* main calls f and g, f calls g and itself; most of the time is main's and f's own. */
static void put_thread(struct sd_made *m, uint64_t stream, uint64_t tid)
{
    uint32_t process, track, main, f, g;

    sd_made_defs(m, stream, 1);
    process = sd_made_track(m, SD_TRACK_PROCESS, 0, 7, NULL);
    track = sd_made_track(m, SD_TRACK_THREAD, process, tid, "MainThread");
    main = sd_made_function(m, "<module>", "/app/train.py", 1);
    f = sd_made_function(m, "f", "/app/train.py", 5);
    g = sd_made_function(m, "g", "/app/train.py", 9);
    sd_made_clock(m, 1000, 1000);
    sd_made_clock(m, 101000, 101000);
    {
        const struct sd_call_cell cells[] = {
            sd_made_root(track, 0, 0),
            { .parent = 0, .site = main, .calls = 1, .ticks = 100000 },
            { .parent = 1, .site = f, .calls = 2, .ticks = 60000 },
            { .parent = 2, .site = f, .calls = 2, .ticks = 10000 },
            { .parent = 3, .site = f, .calls = 2, .ticks = 1000 },
            { .parent = 4, .site = g, .calls = 5, .ticks = 100 },
            { .parent = 2, .site = g, .calls = 7, .ticks = 30 },
            { .parent = 1, .site = g, .calls = 3, .ticks = 3 },
        };

        sd_made_cells(m, stream, 2, 0, cells, sizeof cells / sizeof *cells);
    }
}

static struct sd_profile *load(struct sd_made *m)
{
    sd_made_begin(m);
    put_thread(m, STREAM, 8);
    put_thread(m, STREAM + 1, 9);
    sd_made_end(m, 0);
    return sd_made_load(m, NULL);
}

static uint64_t size_of(const struct sd_format *f, const struct sd_profile *p,
                        const char *path)
{
    struct sd_out out;
    uint64_t n;

    sd_out_to_count(&out, UINT64_MAX);
    CHECK(sd_format_write(f, p, path, NULL, NULL, &out) == 0);
    n = sd_out_counted(&out);
    sd_out_release(&out);
    return n;
}

static void check_sums(const struct sd_profile *a, const struct sd_profile *b)
{
    CHECK(a->calls.n_metrics == b->calls.n_metrics && a->calls.n_metrics > 2);
    for (uint32_t k = 0; k < a->calls.n_metrics; k++) {
        int64_t x = 0, y = 0;

        for (size_t i = 0; i < a->calls.n; i++)
            x += a->calls.values[k][i];
        for (size_t i = 0; i < b->calls.n; i++)
            y += b->calls.values[k][i];
        CHECK(x == y && a->calls.metrics[k].at == b->calls.metrics[k].at);
    }
    for (size_t i = 0; i < a->n_stacks; i++)
        CHECK(a->stacks[i].parent.at == UINT32_MAX || a->stacks[i].parent.at < i);
}

TEST(paths_of_every_format_are_folded_until_it_fits_and_sums_stay)
{
    struct sd_made m;
    struct sd_profile *p = load(&m);
    const char *path = sd_made_save(&m);
    size_t n_folded = 0;

    for (size_t i = 0; sd_formats[i]; i++) {
        const struct sd_format *f = sd_formats[i];
        uint64_t all = size_of(f, p, path);
        struct sd_path_fold fold;

        CHECK(sd_path_fold_applies(f, p, NULL) == (f->write_stacks != NULL));
        if (!f->write_stacks)
            continue;
        CHECK(sd_path_fold_make(&fold, f, p, path, NULL, NULL, all) == 0);
        CHECK(fold.percent == 0 && fold.n_folded == 0);
        CHECK(fold.profile.stacks == p->stacks);
        sd_path_fold_release(&fold);
        CHECK(sd_path_fold_make(&fold, f, p, path, NULL, NULL, 100) == 0);
        CHECK(fold.n_paths == 14 && fold.percent > 0);
        check_sums(&fold.profile, p);
        CHECK(fold.profile.calls.n + fold.n_folded == 14);
        CHECK(size_of(f, &fold.profile, path) < all);
        n_folded += fold.n_folded;
        sd_path_fold_release(&fold);
    }
    CHECK(n_folded > 0);
    sd_profile_free(p);
    sd_made_release(&m);
}

TEST(a_folded_path_is_part_of_its_callers)
{
    const struct sd_format *f = sd_format_named("collapsed");
    struct sd_made m;
    struct sd_profile *p = load(&m);
    const char *path = sd_made_save(&m);
    struct sd_path_fold fold;
    struct sd_out out;

    /* Every line of seven has the name of the file some times. */
    CHECK(sd_path_fold_make(&fold, f, p, path, NULL, NULL, 130) == 0);
    CHECK(fold.percent > 1 && fold.percent < 2); /* the third f has 1 % */
    sd_out_to_memory(&out);
    CHECK(sd_format_write(f, &fold.profile, path, NULL, NULL, &out) == 0);
    CHECK(strcmp(sd_buf_string(&out.pending),
                 "<module> (train.py:1) 80000\n"
                 "<module> (train.py:1);f (train.py:5) 100000\n"
                 "<module> (train.py:1);f (train.py:5);f (train.py:5) 20000\n") == 0);
    sd_out_release(&out);
    sd_path_fold_release(&fold);
    sd_profile_free(p);
    sd_made_release(&m);
}

TEST(the_expected_size_of_few_paths_is_their_size)
{
    struct sd_made m;
    struct sd_profile *p = load(&m);
    const char *path = sd_made_save(&m);

    for (size_t i = 0; sd_formats[i]; i++) {
        uint64_t bytes = 0;

        if (!sd_formats[i]->write_stacks)
            continue;
        CHECK(sd_path_fold_expect(sd_formats[i], p, path, NULL, NULL, &bytes) == 0);
        CHECK(bytes == size_of(sd_formats[i], p, path));
    }
    sd_profile_free(p);
    sd_made_release(&m);
}

TEST(folding_survives_every_allocation_that_fails)
{
    const struct sd_format *f = sd_format_named("speedscope");
    struct sd_made m;
    struct sd_profile *p = load(&m);
    const char *path = sd_made_save(&m);

    EACH_FAILURE(nth)
    {
        struct sd_path_fold fold;
        uint64_t bytes;
        int rc = sd_path_fold_make(&fold, f, p, path, NULL, NULL, 10);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_path_fold_release(&fold);
        rc = sd_path_fold_expect(f, p, path, NULL, NULL, &bytes);
        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
    sd_profile_free(p);
    sd_made_release(&m);
}
