/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/call_counts.h"

#include <string.h>

#include "analyse/stacks/threads.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/matcher_testing.h"
#include "base/test.h"
#include "profile/calls_testing.h"

enum { STREAM = 11 };

/* What two threads did: the main one ran a script that imported json, which imported
 * re; the script's `work` called json's `loads` 3 times, and itself once. */
struct script {
    uint32_t track, main, work, find, json, re, loads;
};

static void define(struct sd_maker *m, struct script *s, uint64_t stream, uint64_t tid)
{
    uint32_t process;

    sd_maker_defs(m, stream, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, NULL);
    s->track = sd_maker_track(m, SD_TRACK_THREAD, process, tid, "MainThread");
    s->main = sd_maker_function(m, "<module>", "/app/train.py", 1);
    s->work = sd_maker_function(m, "work", "/app/train.py", 5);
    s->find =
        sd_maker_function(m, "_find_and_load", "<frozen importlib._bootstrap>", 9);
    s->json =
        sd_maker_function(m, "<module>", "/usr/lib/python3.11/json/__init__.py", 1);
    s->re = sd_maker_function(m, "<module>", "/usr/lib/python3.11/re.py", 1);
    s->loads =
        sd_maker_function(m, "loads", "/usr/lib/python3.11/json/__init__.py", 90);
}

static void put_thread(struct sd_maker *m, uint64_t stream, uint64_t tid)
{
    struct script s;

    define(m, &s, stream, tid);
    {
        const struct sd_call_cell cells[] = {
            sd_maker_root(s.track, 2, 1),
            { .parent = 0, .site = s.main, .calls = 1, .ticks = 10000 },
            { .parent = 1, .site = s.find, .calls = 1, .ticks = 3000 },
            { .parent = 2, .site = s.json, .calls = 1, .ticks = 2500 },
            { .parent = 3, .site = s.find, .calls = 1, .ticks = 1000 },
            { .parent = 4, .site = s.re, .calls = 1, .ticks = 700 },
            { .parent = 1, .site = s.work, .calls = 2, .ticks = 6000 },
            { .parent = 6, .site = s.work, .calls = 1, .ticks = 1500 },
            { .parent = 6, .site = s.loads, .calls = 3, .ticks = 2000 },
            { .parent = 7, .site = s.loads, .calls = 1, .ticks = 400, .awaited = 50 },
        };

        sd_maker_cells(m, stream, 2, 0, cells, sizeof cells / sizeof *cells);
    }
}

static struct sd_profile *load(struct sd_maker *m, int n_threads)
{
    sd_maker_begin(m);
    for (int i = 0; i < n_threads; i++)
        put_thread(m, (uint64_t)(STREAM + i), (uint64_t)(8 + i));
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

/* --- In pstats' words */

static const struct sd_call_function *function(const struct sd_call_stats *s,
                                               const char *file, const char *name)
{
    for (size_t i = 0; i < s->n_functions; i++) {
        const struct sd_call_function *f = &s->functions[i];

        if (f->file.n == strlen(file) && memcmp(f->file.p, file, f->file.n) == 0 &&
            f->name.n == strlen(name) && memcmp(f->name.p, name, f->name.n) == 0)
            return f;
    }
    return NULL;
}

static bool is_near(double seconds, double ns)
{
    return seconds * 1e9 > ns - 1e-3 && seconds * 1e9 < ns + 1e-3;
}

TEST(traced_calls_become_stats_of_corrected_seconds)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct sd_call_stats s;
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);
    const struct sd_call_function *f;

    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request, &s) == 0);
    f = function(&s, "/app/train.py", "work");
    CHECK(f && f->n.calls == 3 && f->n.primitive == 2);
    /* 2500 and 1100 of its own; 3 calls cost 2 inside, and 5 that it made 1 outside. */
    CHECK(is_near(f->n.own, 3600 - 3 * 2 - 5));
    CHECK(is_near(f->n.total, 6000 - 7 * 2 - 5));
    f = function(&s, "/usr/lib/python3.11/json/__init__.py", "loads");
    CHECK(f && f->n.calls == 4 && f->n.primitive == 4 && is_near(f->n.own, 2400 - 8));
    sd_call_stats_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_calls_of_threads_add_up_or_stay_apart)
{
    struct sd_stacks_request request = { .is_raw = true };
    struct sd_call_stats s;
    struct sd_maker m;
    struct sd_profile *p = load(&m, 2);

    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request, &s) == 0);
    CHECK(s.sum.calls == 24 && is_near(s.sum.own, 20000));
    sd_call_stats_release(&s);
    request.choice.has_track = true;
    request.choice.track = p->evidence[SD_CALLS].stacks.items[0].track;
    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request, &s) == 0);
    CHECK(s.sum.calls == 12 && is_near(s.sum.own, 10000));
    sd_call_stats_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* What json and importlib did is the script's own now. */
TEST(traced_calls_of_libraries_fold_into_what_called_them)
{
    const struct sd_stacks_request request = { .choice.is_mine = true, .is_raw = true };
    struct sd_call_stats s;
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);
    const struct sd_call_function *f;

    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request, &s) == 0);
    CHECK(s.n_listed == 2);
    f = function(&s, "/app/train.py", "<module>");
    CHECK(f->n.calls == 1 && is_near(f->n.own, 4000) && is_near(f->n.total, 10000));
    f = function(&s, "/app/train.py", "work");
    CHECK(f->n.calls == 3 && is_near(f->n.own, 6000));
    sd_call_stats_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_calls_roll_up_by_module)
{
    const struct sd_stacks_request request = { .by = SD_CALLS_BY_MODULE,
                                               .is_raw = true };
    struct sd_call_stats s;
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);
    const struct sd_call_function *f;

    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request, &s) == 0);
    f = function(&s, "~", "train");
    CHECK(f && f->n.calls == 1 && is_near(f->n.own, 1000 + 3600));
    f = function(&s, "~", "json"); /* its body, and 4 times from `work` */
    CHECK(f && f->n.calls == 5 && is_near(f->n.own, 1500 + 2400));
    CHECK(is_near(f->n.total, 2500 + 2400));
    CHECK(function(&s, "~", "importlib._bootstrap"));
    sd_call_stats_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- As tables */

static const struct sd_cell *cell(const struct sd_view_table *t, size_t row,
                                  const char *column)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, column) == 0)
            return sd_view_cell(t, row, i);
    CHECK(false);
    return NULL;
}

TEST(traced_functions_are_a_table_with_the_longest_first)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    CHECK(sd_analyse_functions(p, &request, &v) == 0 && v.n_tables == 1);
    t = &v.tables[0];
    CHECK(t->n_rows == 6 && strcmp(cell(t, 0, "file")->text, "/app/train.py") == 0);
    CHECK(strcmp(cell(t, 1, "function")->text, "work") == 0);
    CHECK(cell(t, 1, "calls")->number == 3 && cell(t, 1, "primitive")->number == 2);
    CHECK(cell(t, 1, "tracing")->number == 11);
    CHECK(cell(t, 2, "total")->number >= cell(t, 3, "total")->number);
    CHECK(sd_view_table_sort(&v, &v.tables[0], "own", 0) == 0);
    CHECK(strcmp(cell(t, 1, "function")->text, "loads") == 0);
    CHECK(cell(t, 1, "elapsed")->number == cell(t, 1, "total")->number + 50);
    CHECK(t->note && strstr(t->note, "of tracing subtracted"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(flame_graphs_have_the_cost_of_tracing_when_it_is_asked_for)
{
    struct sd_view_request request = { .stacks.is_raw = true };
    struct sd_call_stats s;
    struct sd_view raw = { 0 }, plain = { 0 };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);

    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request.stacks, &s) == 0);
    CHECK(sd_views_draw(p, &request, "flame", &raw) == 0);
    request.stacks.is_raw = false;
    CHECK(sd_views_draw(p, &request, "flame", &plain) == 0);
    CHECK(is_near(s.sum.own, (double)raw.drawings[0].flame.boxes[0].total));
    CHECK(plain.drawings[0].flame.boxes[0].total <
          raw.drawings[0].flame.boxes[0].total);
    CHECK(strstr(raw.drawings[0].flame.subtitle, "of tracing in these times"));
    CHECK(strstr(plain.drawings[0].flame.subtitle, "of tracing subtracted"));
    sd_view_release(&raw);
    sd_view_release(&plain);
    sd_call_stats_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_calls_are_a_tree_and_pairs)
{
    const struct sd_stacks_request request = { .is_raw = true };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    CHECK(sd_analyse_call_tree(p, &request, 0, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 9 && cell(t, 0, "total")->number == 10000 &&
          t->parents[0] == -1);
    CHECK(strcmp(cell(t, 1, "function")->text, "work") == 0 && t->parents[1] == 0);
    CHECK(sd_analyse_calls(p, &request, SD_CALLERS, SD_MATCHER("loads"), &v) == 0);
    t = &v.tables[1];
    CHECK(t->n_rows == 1 &&
          strcmp(cell(t, 0, "caller")->text, "work (train.py:5)") == 0);
    CHECK(cell(t, 0, "calls")->number == 4 && cell(t, 0, "total")->number == 2400);
    CHECK(sd_analyse_calls(p, &request, SD_CALLERS, SD_MATCHER("("), &v) == SD_EUSAGE);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_imports_hang_below_what_imported_them)
{
    const struct sd_view_request raw = { .stacks.is_raw = true };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    CHECK(sd_imports_view(p, &raw, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 3 && strcmp(cell(t, 0, "module")->text, "train") == 0);
    CHECK(cell(t, 0, "own")->number == 7000 && cell(t, 0, "loading")->number == 500);
    CHECK(strcmp(cell(t, 1, "module")->text, "json") == 0 && t->parents[1] == 0);
    CHECK(cell(t, 1, "total")->number == 2500 && cell(t, 1, "own")->number == 1500);
    CHECK(strcmp(cell(t, 2, "module")->text, "re") == 0 && t->parents[2] == 1);
    CHECK(cell(t, 2, "total")->number == 700);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_threads_have_a_row_each)
{
    struct sd_maker m;
    struct sd_profile *p = load(&m, 2);
    struct sd_view v = { 0 };

    CHECK(sd_threads_view(p, &(struct sd_view_request){ 0 }, &v) == 0 &&
          v.tables[0].n_rows == 2);
    CHECK(cell(&v.tables[0], 0, "calls")->number == 12);
    CHECK(cell(&v.tables[0], 1, "thread")->number == 9);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_calls_that_are_none_are_said_to_be_absent)
{
    struct sd_stacks_request request = { .choice.evidence = &sd_evidence[SD_CALLS],
                                         .is_cpu = true };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 0);
    struct sd_view v = { 0 };

    CHECK(sd_analyse_functions(p, &request, &v) == SD_EABSENT);
    sd_profile_free(p);
    sd_maker_release(&m);
    p = load(&m, 1);
    CHECK(sd_analyse_functions(p, &request, &v) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "--cpu"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- A table of each thread */

static int make_functions(const struct sd_profile *p, const struct sd_view_request *how,
                          struct sd_view *v)
{
    return sd_analyse_functions(p, &how->stacks, v);
}

static int make_tree(const struct sd_profile *p, const struct sd_view_request *how,
                     struct sd_view *v)
{
    return sd_analyse_call_tree(p, &how->stacks, how->least_percent, v);
}

static int make_callers(const struct sd_profile *p, const struct sd_view_request *how,
                        struct sd_view *v)
{
    return sd_analyse_calls(p, &how->stacks, SD_CALLERS, how->match, v);
}

TEST(traced_rows_of_each_thread_say_whose_they_are)
{
    const struct sd_view_request how = { .match = SD_MATCHER("^loads$") };
    struct sd_view v = { 0 };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 2);
    const struct sd_view_table *t;
    size_t n_of_8 = 0;

    CHECK(sd_stacks_by_thread(p, &how, make_functions, &v) == 0 && v.n_tables == 1);
    t = &v.tables[0];
    CHECK(t->n_rows == 12);
    for (size_t i = 0; i < t->n_rows; i++) {
        n_of_8 += cell(t, i, "thread")->number == 8;
        CHECK(strcmp(cell(t, i, "thread_name")->text, "MainThread") == 0);
        if (strcmp(cell(t, i, "function")->text, "work") == 0)
            CHECK(cell(t, i, "calls")->number == 3);
    }
    CHECK(n_of_8 == 6);
    CHECK(sd_stacks_by_thread(p, &how, make_callers, &v) == 0 && v.n_tables == 2);
    t = &v.tables[1];
    CHECK(t->n_rows == 2 && cell(t, 0, "calls")->number == 4 &&
          cell(t, 1, "calls")->number == 4);
    CHECK(sd_stacks_by_thread(p, &how, make_tree, &v) == 0 && v.n_tables == 3);
    t = &v.tables[2];
    CHECK(t->n_rows == 18);
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->parents[i] >= 0)
            CHECK(cell(t, (size_t)t->parents[i], "thread")->number ==
                  cell(t, i, "thread")->number);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(traced_tables_that_find_no_memory_leave_nothing)
{
    const struct sd_stacks_request request = { .choice.is_mine = true };
    struct sd_maker m;
    struct sd_profile *p = load(&m, 1);

    EACH_FAILURE(nth)
    {
        const struct sd_view_request how = { .stacks = request };
        struct sd_call_stats s;
        struct sd_view v = { 0 };
        int rc = sd_analyse_functions(p, &request, &v);

        if (rc == 0)
            rc = sd_analyse_call_tree(p, &request, 0, &v);
        if (rc == 0)
            rc = sd_imports_view(p, &how, &v);
        if (rc == 0)
            rc = sd_threads_view(p, &how, &v);
        if (rc == 0)
            rc = sd_stacks_by_thread(p, &how, make_tree, &v);
        sd_view_release(&v);
        sd_call_stats_init(&s);
        if (rc == 0)
            rc = sd_call_counts_stats(p, &request, &s);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_call_stats_release(&s);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Functions that look the same */

static uint32_t define_twin(struct sd_maker *m, uint16_t n)
{
    uint32_t name = sd_maker_string(m, "__init__"),
             file = sd_maker_string(m, "<string>");
    struct sd_rec_site *r = sd_maker_record(m, SD_REC_SITE, sizeof *r);

    r->id = m->next_id++;
    r->kind = SD_SITE_FUNCTION;
    r->flags = (uint16_t)(n * SD_SITE_TWIN);
    r->name = name;
    r->file = file;
    r->line = 2;
    return r->id;
}

/* The first calls itself once and the second twice. */
static struct sd_profile *load_twins(struct sd_maker *m)
{
    uint32_t process, track, outer, inner;

    sd_maker_begin(m);
    sd_maker_defs(m, STREAM, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, NULL);
    track = sd_maker_track(m, SD_TRACK_THREAD, process, 8, NULL);
    outer = define_twin(m, 0);
    inner = define_twin(m, 1);
    {
        const struct sd_call_cell cells[] = {
            sd_maker_root(track, 0, 0),
            { .parent = 0, .site = outer, .calls = 1, .ticks = 1000 },
            { .parent = 1, .site = outer, .calls = 1, .ticks = 300 },
            { .parent = 2, .site = inner, .calls = 2, .ticks = 100 },
        };

        sd_maker_cells(m, STREAM, 2, 0, cells, sizeof cells / sizeof *cells);
    }
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

TEST(traced_twins_are_no_recursion_and_add_up_in_tables)
{
    const struct sd_stacks_request request = { .is_raw = true };
    struct sd_view v = { 0 };
    struct sd_call_stats s;
    struct sd_maker m;
    struct sd_profile *p = load_twins(&m);
    const struct sd_view_table *t;

    CHECK(sd_analyse_functions(p, &request, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 1 && cell(t, 0, "calls")->number == 4);
    CHECK(cell(t, 0, "primitive")->number == 3 && cell(t, 0, "starts")->number == 4);
    CHECK(cell(t, 0, "own")->number == 1000 && cell(t, 0, "total")->number == 1100);
    CHECK(sd_analyse_calls(p, &request, SD_CALLERS, NULL, &v) == 0);
    t = &v.tables[1];
    CHECK(t->n_rows == 1 && cell(t, 0, "calls")->number == 3 &&
          cell(t, 0, "primitive")->number == 3);
    CHECK(sd_analyse_call_tree(p, &request, 0, &v) == 0 && v.tables[2].n_rows == 3);
    sd_view_release(&v);
    sd_call_stats_init(&s);
    CHECK(sd_call_counts_stats(p, &request, &s) == 0 && s.n_functions == 1);
    CHECK(s.functions[0].n.calls == 4 && s.functions[0].n.primitive == 3);
    sd_call_stats_release(&s);
    EACH_FAILURE(nth)
    {
        int rc = sd_analyse_functions(p, &request, &v);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_view_release(&v);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}
