/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/threads.h"

#include <string.h>

#include "base/error.h"
#include "profile/profile_testing.h"

/* Threads 7 and 8 of process 7, 3 samples in f and 1 in g. */
static struct sd_profile *load(struct sd_maker *m)
{
    uint32_t process, main, worker, shape, f, g;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    main = sd_maker_track(m, SD_TRACK_THREAD, process, 7, "MainThread");
    worker = sd_maker_track(m, SD_TRACK_THREAD, process, 8, "\033[2J");
    shape = sd_maker_sample_shape(m);
    f = sd_maker_stack(m, 0, sd_maker_function(m, "f", "/x/app.py", 10), 12);
    g = sd_maker_stack(m, 0, sd_maker_function(m, "g", "/x/app.py", 20), 22);
    sd_maker_sample(m, worker, g, 0, 15000000, shape, 1);
    sd_maker_sample(m, main, f, 0, 10000000, shape, 3);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

TEST(sampled_functions_of_each_thread_have_a_table_or_say_whose_they_are)
{
    struct sd_view_request r = { .views = "functions,calls,lines,callers",
                                 .has_threads = true };
    struct sd_view data = { 0 }, text = { 0 };
    struct sd_maker m;
    struct sd_profile *p = load(&m);

    CHECK(sd_views_make(p, &r, &data) == 0 && data.n_tables == 4);
    CHECK(data.tables[0].n_rows == 2);
    CHECK(sd_view_cell(&data.tables[0], 0, SD_THREAD_NUMBER)->number == 7);
    CHECK(sd_view_cell(&data.tables[0], 1, SD_THREAD_NUMBER)->number == 8);
    r.is_for_eyes = true;
    CHECK(sd_views_make(p, &r, &text) == 0 && text.n_tables == 8);
    CHECK(text.tables[0].n_rows == 1 && text.tables[1].n_rows == 1);
    CHECK(strncmp(text.tables[0].title, "Functions of thread 7 MainThread, process 7",
                  43) == 0);
    CHECK(strstr(text.tables[1].title, "thread 8 ") &&
          !strchr(text.tables[1].title, '\033'));
    sd_view_release(&data);
    sd_view_release(&text);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(tables_of_each_thread_survive_every_allocation_that_fails)
{
    struct sd_view_request r = { .has_threads = true, .is_for_eyes = true };
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
