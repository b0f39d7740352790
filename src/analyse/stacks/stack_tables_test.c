/* SPDX-License-Identifier: MIT */
#include "analyse/analyse.h"
#include "analyse/stacks/call_counts.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/matcher_testing.h"
#include "profile/profile_testing.h"

#define REQUEST(which, what)                                                           \
    (&(struct sd_stacks_request){ .choice = (which), .by = SD_CALLS_BY_##what })

struct ids {
    uint32_t process, main, worker, shape;
    uint32_t module, fib, leaf;
};

static struct ids define(struct sd_maker *m)
{
    struct ids i;

    i.process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    i.main = sd_maker_track(m, SD_TRACK_THREAD, i.process, 7, "MainThread");
    i.worker = sd_maker_track(m, SD_TRACK_THREAD, i.process, 8, "Worker");
    i.shape = sd_maker_sample_shape(m);
    i.module = sd_maker_function(m, "<module>", "/home/me/app.py", 1);
    i.fib = sd_maker_function(m, "fib", "/home/me/app.py", 5);
    i.leaf = sd_maker_function(m, "leaf", "/usr/lib/python3.11/json/decoder.py", 9);
    return i;
}

/* Of 100 samples that are not idle: 10 in <module> itself, 60 in fib (40 of them three
 * deep), 30 in leaf, called by fib on two lines.  The worker has 50 idle ones. */
static void make(struct sd_maker *m)
{
    struct ids i;
    uint32_t module, fib, inner;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    i = define(m);
    module = sd_maker_stack(m, 0, i.module, 20);
    fib = sd_maker_stack(m, module, i.fib, 6);
    inner = sd_maker_stack(m, sd_maker_stack(m, fib, i.fib, 7), i.fib, 6);
    sd_maker_sample(m, i.main, module, SD_SAMPLE_GIL, 10, i.shape, 10);
    sd_maker_sample(m, i.main, fib, SD_SAMPLE_GIL, 20, i.shape, 20);
    sd_maker_sample(m, i.main, inner, SD_SAMPLE_GIL, 30, i.shape, 40);
    sd_maker_sample(m, i.main, sd_maker_stack(m, fib, i.leaf, 11), 0, 40, i.shape, 25);
    sd_maker_sample(m, i.main, sd_maker_stack(m, inner, i.leaf, 12),
                    SD_SAMPLE_WAITS_GIL, 50, i.shape, 5);
    sd_maker_sample(m, i.worker, module, SD_SAMPLE_IDLE, 60, i.shape, 50);
    sd_maker_end(m, 0);
}

static size_t column(const struct sd_view_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return i;
    CHECK(false); /* there is no such column */
    return 0;
}

static const struct sd_cell *cell(const struct sd_view_table *t, const char *key,
                                  const char *value, const char *name)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *text = sd_view_cell(t, i, column(t, key))->text;

        if (text && strcmp(text, value) == 0)
            return sd_view_cell(t, i, column(t, name));
    }
    CHECK(false); /* there is no such row */
    return NULL;
}

static bool is_near(double a, double b) { return fabs(a - b) < 1e-6; }

static double percent(const struct sd_view_table *t, const char *function,
                      const char *name)
{
    return cell(t, "function", function, name)->real;
}

TEST(hot_functions_count_a_stack_once_however_deep_they_recurse)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;
    const struct sd_view_table *t;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_functions(p, REQUEST(choice, FUNCTION), &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 3);
    CHECK(is_near(percent(t, "fib", "self%"), 60));
    CHECK(is_near(percent(t, "fib", "cum%"), 90));
    CHECK(is_near(percent(t, "leaf", "self%"), 30));
    CHECK(is_near(percent(t, "leaf", "cum%"), 30));
    CHECK(is_near(percent(t, "<module>", "self%"), 10));
    CHECK(is_near(percent(t, "<module>", "cum%"), 100));
    CHECK(cell(t, "function", "fib", "self_wall")->number == 600000000);
    CHECK(cell(t, "function", "fib", "cum_cpu")->number == 90 * 8000000);
    CHECK(cell(t, "function", "fib", "self_samples")->number == 60);
    CHECK(is_near(percent(t, "fib", "self_margin"), 196 * sqrt(0.6 * 0.4 / 100)));
    CHECK(is_near(percent(t, "<module>", "cum_margin"), 0));
    CHECK(strcmp(sd_view_cell(t, 0, column(t, "function"))->text, "fib") == 0);
    CHECK(strcmp(cell(t, "function", "fib", "where")->text, "app.py:5") == 0);
    CHECK(strcmp(cell(t, "function", "leaf", "where")->text, "json/decoder.py:9") == 0);
    CHECK(cell(t, "function", "leaf", "line")->number == 9);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(hot_functions_are_of_the_samples_that_were_chosen)
{
    const struct sd_sample_choice idle = { .has_idle = true };
    const struct sd_sample_choice gil = { .is_gil_only = true, .metric = "cpu" };
    const struct sd_sample_choice none = { .metric = "bytes" };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_functions(p, REQUEST(idle, FUNCTION), &v) == 0);
    CHECK(is_near(percent(&v.tables[0], "<module>", "self%"), 40));
    CHECK(sd_analyse_functions(p, REQUEST(gil, FUNCTION), &v) == 0);
    CHECK(v.tables[1].n_rows == 2);
    CHECK(is_near(percent(&v.tables[1], "fib", "self%"), 100 * 60.0 / 70));
    CHECK(sd_analyse_functions(p, REQUEST(none, FUNCTION), &v) == SD_EUSAGE);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(hot_lines_tell_the_lines_of_a_function_apart)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;
    const struct sd_view_table *t;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_functions(p, REQUEST(choice, LINE), &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 5);
    CHECK(is_near(cell(t, "where", "app.py:6", "self%")->real, 60));
    CHECK(is_near(cell(t, "where", "app.py:6", "cum%")->real, 90));
    CHECK(is_near(cell(t, "where", "app.py:7", "self%")->real, 0));
    CHECK(is_near(cell(t, "where", "app.py:7", "cum%")->real, 45));
    CHECK(is_near(cell(t, "where", "json/decoder.py:12", "self%")->real, 5));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(call_tree_has_a_row_for_each_path_that_is_large_enough)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;
    const struct sd_view_table *t;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_call_tree(p, REQUEST(choice, FUNCTION), 0, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 6 && !t->note);
    CHECK(t->parents[0] == -1 && t->parents[1] == 0 && t->parents[2] == 1);
    CHECK(is_near(sd_view_cell(t, 1, column(t, "cum%"))->real, 90));
    CHECK(is_near(sd_view_cell(t, 2, column(t, "cum%"))->real, 45));
    CHECK(sd_analyse_call_tree(p, REQUEST(choice, FUNCTION), 6, &v) == 0);
    CHECK(v.tables[1].n_rows == 5 && strstr(v.tables[1].note, "1 more"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(callers_and_callees_are_chosen_by_name)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;
    const struct sd_view_table *t;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLERS,
                           SD_MATCHER("^fib$"), &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 2);
    CHECK(is_near(cell(t, "caller", "<module> (app.py:1)", "cum%")->real, 90));
    CHECK(is_near(cell(t, "caller", "fib (app.py:5)", "cum%")->real, 45));
    CHECK(sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLEES,
                           SD_MATCHER("^fib$"), &v) == 0);
    t = &v.tables[1];
    CHECK(t->n_rows == 2);
    CHECK(is_near(cell(t, "callee", "leaf (json/decoder.py:9)", "cum%")->real, 30));
    CHECK(sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLEES, NULL, &v) == 0);
    CHECK(v.tables[2].n_rows == 4);
    CHECK(sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLERS, SD_MATCHER("("),
                           &v) == SD_EUSAGE);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(threads_say_how_much_was_idle_and_how_much_held_the_lock)
{
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_summary s;
    struct sd_profile *p;
    const struct sd_view_table *t;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_threads_view(p, &(struct sd_view_request){ 0 }, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 2);
    CHECK(cell(t, "name", "MainThread", "samples")->number == 100);
    CHECK(is_near(cell(t, "name", "MainThread", "gil%")->real, 70));
    CHECK(is_near(cell(t, "name", "MainThread", "waits%")->real, 5));
    CHECK(is_near(cell(t, "name", "MainThread", "cpu%")->real, 80));
    CHECK(is_near(cell(t, "name", "Worker", "idle%")->real, 100));
    CHECK(cell(t, "name", "Worker", "cpu")->number == 0);
    CHECK(sd_analyse_summary(p, &s) == 0 && s.n_samples == 150 && s.n_threads == 2);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(hot_tables_of_a_profile_without_samples_are_empty)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_functions(p, REQUEST(choice, FUNCTION), &v) == 0);
    CHECK(sd_analyse_functions(p, REQUEST(choice, LINE), &v) == 0);
    CHECK(sd_analyse_call_tree(p, REQUEST(choice, FUNCTION), 0.5, &v) == 0);
    CHECK(sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLERS, NULL, &v) == 0);
    CHECK(sd_threads_view(p, &(struct sd_view_request){ 0 }, &v) == 0);
    for (size_t i = 0; i < v.n_tables; i++)
        CHECK(v.tables[i].n_rows == 0);
    CHECK(v.n_tables == 5);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(hot_tables_survive_stacks_of_ten_thousand_frames)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;
    struct ids i;
    uint32_t stack = 0;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    i = define(&m);
    for (int depth = 0; depth < 10000; depth++)
        stack = sd_maker_stack(&m, stack, depth % 2 ? i.fib : i.leaf, 3);
    sd_maker_sample(&m, i.main, stack, 0, 5, i.shape, 1);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_functions(p, REQUEST(choice, FUNCTION), &v) == 0);
    CHECK(sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLERS, NULL, &v) == 0);
    CHECK(sd_analyse_call_tree(p, REQUEST(choice, FUNCTION), 0, &v) == 0);
    CHECK(is_near(percent(&v.tables[0], "fib", "cum%"), 100));
    CHECK(v.tables[1].n_rows == 3 && v.tables[2].n_rows == 10000);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(hot_tables_survive_every_allocation_that_fails)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_profile *p;

    make(&m);
    p = sd_maker_load(&m, NULL);
    EACH_FAILURE(nth)
    {
        struct sd_view v = { 0 };
        int rc = sd_analyse_functions(p, REQUEST(choice, FUNCTION), &v);

        if (rc == 0)
            rc = sd_analyse_call_tree(p, REQUEST(choice, FUNCTION), 50, &v);
        if (rc == 0)
            rc = sd_analyse_calls(p, REQUEST(choice, FUNCTION), SD_CALLEES, NULL, &v);
        if (rc == 0)
            rc = sd_threads_view(p, &(struct sd_view_request){ 0 }, &v);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        CHECK(rc < 0 || v.n_tables == 4);
        sd_view_release(&v);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(call_tree_keeps_what_matches_and_what_it_hangs_on)
{
    const struct sd_sample_choice choice = { 0 };
    struct sd_maker m;
    struct sd_view v = { 0 };
    struct sd_profile *p;
    struct sd_view_table *t;

    make(&m);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_call_tree(p, REQUEST(choice, LINE), 0, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 6);
    CHECK(sd_view_table_match(&v, t, SD_MATCHER("(")) == SD_EUSAGE);
    CHECK(sd_view_table_match(&v, t, SD_MATCHER("decoder.py:12$")) == 0);
    CHECK(t->n_rows == 5 && strstr(t->note, "1 row that does not match"));
    for (size_t i = 0; i < t->n_rows; i++)
        CHECK(t->parents[i] == (int32_t)i - 1); /* one chain down to the leaf */
    CHECK(strcmp(sd_view_cell(t, 4, column(t, "where"))->text, "json/decoder.py:12") ==
          0);
    CHECK(sd_view_table_match(&v, t, SD_MATCHER("nothing")) == 0 && t->n_rows == 0);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Busy machines */

/* Two functions with as much CPU time, of which one was put aside for longer. */
static struct sd_profile *share_cpu(struct sd_maker *m, int64_t samples, int64_t cpu,
                                    unsigned other_flags)
{
    struct ids i;
    uint32_t module;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    i = define(m);
    module = sd_maker_stack(m, 0, i.module, 20);
    for (int k = 0; k < 2; k++) {
        int64_t n = k ? samples : 3 * samples;
        int64_t values[] = { n, n * 10000000, cpu };

        sd_maker_sample_with(m, i.main,
                             sd_maker_stack(m, module, k ? i.leaf : i.fib, 5), 0, 10,
                             i.shape, values, 3);
    }
    if (other_flags) {
        int64_t values[] = { 1000, 10000000000, 0 };

        sd_maker_sample_with(m, i.worker, module, (uint16_t)other_flags, 20, i.shape,
                             values, 3);
    }
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

TEST(hot_machines_are_busy_when_threads_that_could_run_had_no_cpu)
{
    static const struct {
        int64_t samples, cpu_ns;
        unsigned other_flags;
        bool is_busy;
    } cases[] = {
        { 100, 400000000, 0, true },   /* 0.8 s of 4 s */
        { 100, 1900000000, 0, false }, /* 3.8 s */
        { 10, 40000000, 0, false },    /* too few samples */
        { 100, 1900000000, SD_SAMPLE_IDLE, false },
        { 100, 1900000000, SD_SAMPLE_WAITS_GIL, false }, /* another thread's doing */
    };

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sd_maker m;
        struct sd_profile *p =
            share_cpu(&m, cases[k].samples, cases[k].cpu_ns, cases[k].other_flags);
        double share;

        CHECK(sd_analyse_lacks_cpu(p, &share) == cases[k].is_busy);
        CHECK(k != 0 || is_near(share, 0.2));
        sd_profile_free(p);
        sd_maker_release(&m);
    }
}

/* --- As a pstats file of samples */

static const struct sd_call_function *sampled(const struct sd_call_stats *s,
                                              const char *name)
{
    for (size_t i = 0; i < s->n_listed; i++)
        if (strcmp(sd_call_stats_at(s, s->listed[i])->name.p, name) == 0)
            return sd_call_stats_at(s, s->listed[i]);
    return NULL;
}

TEST(samples_become_stats_with_counts_in_and_below_functions)
{
    struct sd_sample_choice choice = { .has_idle = false };
    const struct sd_call_function *f;
    struct sd_call_stats s;
    struct sd_profile *p;
    struct sd_maker m;

    make(&m);
    p = sd_maker_load(&m, NULL);
    sd_call_stats_init(&s);
    CHECK(sd_call_counts_sampled(p, &choice, &s) == 0);
    CHECK(s.is_sampled && s.n_listed == 3 && s.sum.primitive == 100);
    f = sampled(&s, "fib"); /* in a recursion a stack is one sample */
    CHECK(f && f->n.calls == 90 && f->n.primitive == 60 && f->line == 5);
    CHECK(fabs(f->n.own - 0.6) < 1e-9 && fabs(f->n.total - 0.9) < 1e-9);
    f = sampled(&s, "leaf");
    CHECK(f && f->n.calls == 30 && f->n.primitive == 30 && f->n_callers == 1);
    CHECK(s.edges[f->first_caller].n.calls == 30 && !s.edges[f->first_caller].is_plain);
    sd_call_stats_release(&s);
    choice.has_idle = true;
    CHECK(sd_call_counts_sampled(p, &choice, &s) == 0);
    CHECK(sampled(&s, "<module>")->n.primitive == 60);
    sd_call_stats_release(&s);
    sd_profile_free(p);
    sd_maker_release(&m);
}
