/* SPDX-License-Identifier: MIT */
#include "profile/call_stats.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static sd_function_id function(struct sd_call_stats *s, const char *file, int64_t line,
                               const char *name)
{
    sd_function_id id = { 0 };

    CHECK(sd_call_stats_function(s, file, strlen(file), line, name, strlen(name),
                                 &id) == 0);
    return id;
}

static struct sd_call_numbers numbers(int64_t calls, double own, double total)
{
    return (struct sd_call_numbers){
        .calls = calls, .primitive = calls, .own = own, .total = total
    };
}

/* main calls f of two folders, each of which calls len. */
static void fill(struct sd_call_stats *s)
{
    sd_function_id main = function(s, "/a/m.py", 1, "<module>");
    sd_function_id f = function(s, "/a/f.py", 7, "f");
    sd_function_id g = function(s, "/b/f.py", 7, "f");
    sd_function_id len = function(s, "~", 0, "<built-in method builtins.len>");
    struct sd_call_numbers one = numbers(1, 0.5, 2.0), four = numbers(4, 0.25, 0.25),
                           six = numbers(6, 0.5, 0.5), ten = numbers(10, 0.75, 0.75);

    CHECK(sd_call_stats_count(s, len, &ten) == 0);
    CHECK(sd_call_stats_count_calls(s, f, len, &four) == 0);
    CHECK(sd_call_stats_count_calls(s, g, len, &six) == 0);
    CHECK(sd_call_stats_count(s, f, &one) == 0);
    CHECK(sd_call_stats_count_calls(s, main, f, &one) == 0);
    CHECK(sd_call_stats_count(s, g, &one) == 0);
    CHECK(sd_call_stats_count_calls(s, main, g, &one) == 0);
    CHECK(sd_call_stats_sum(s) == 0);
}

static const char *label(struct sd_buf *b, const struct sd_call_function *f)
{
    sd_buf_clear(b);
    sd_call_function_label(b, f);
    return sd_buf_string(b);
}

TEST(call_stats_keep_functions_in_order_and_callers_unlisted)
{
    struct sd_call_stats s;
    struct sd_buf b = { 0 };

    sd_call_stats_init(&s);
    fill(&s);
    CHECK(s.n_functions == 4 && s.n_listed == 3);
    CHECK(strcmp(label(&b, sd_call_stats_at(&s, s.listed[0])),
                 "{built-in method builtins.len}") == 0);
    CHECK(strcmp(label(&b, sd_call_stats_at(&s, s.listed[1])), "/a/f.py:7(f)") == 0);
    CHECK(!s.functions[0].is_listed); /* the module only calls */
    CHECK(s.sum.calls == 12 && s.sum.own == 1.75);
    sd_buf_release(&b);
    sd_call_stats_release(&s);
}

TEST(call_stats_add_up_equal_functions_and_callers)
{
    struct sd_call_stats s, other;
    const struct sd_call_function *len;

    sd_call_stats_init(&s);
    sd_call_stats_init(&other);
    fill(&s);
    fill(&other);
    CHECK(sd_call_stats_add_origin(&other, "b", 1) == 0);
    CHECK(sd_call_stats_add(&s, &other) == 0);
    len = sd_call_stats_at(&s, s.listed[0]);
    CHECK(s.n_listed == 3 && s.n_edges == 4 && s.n_origins == 1);
    CHECK(len->n.calls == 20 && s.edges[len->first_caller].n.calls == 8);
    CHECK(s.sum.calls == 24 && s.sum.own == 3.5);
    CHECK(sd_call_stats_add(&s, &s) == 0); /* to itself: twice as much */
    CHECK(s.sum.calls == 48 && s.n_origins == 2 &&
          sd_call_stats_at(&s, s.listed[0])->n.calls == 40);
    sd_call_stats_release(&s);
    sd_call_stats_release(&other);
}

TEST(call_stats_stripped_of_folders_lose_no_call)
{
    struct sd_call_stats s;
    const struct sd_call_function *len, *f;

    sd_call_stats_init(&s);
    fill(&s);
    CHECK(sd_call_stats_strip_dirs(&s) == 0);
    CHECK(s.n_listed == 2 && s.sum.calls == 12);
    len = sd_call_stats_at(&s, s.listed[0]);
    f = sd_call_stats_at(&s, s.listed[1]);
    CHECK(strcmp(f->file.p, "f.py") == 0 && f->n.calls == 2 && f->n.total == 4.0);
    CHECK(len->first_caller == len->last_caller);
    CHECK(s.edges[len->first_caller].n.calls == 10);
    CHECK(s.edges[len->first_caller].n.own == 0.75);
    sd_call_stats_release(&s);
}

TEST(call_stats_refuse_to_mix_callers_of_profile_and_cprofile)
{
    struct sd_call_stats s;
    struct sd_call_numbers one = numbers(1, 0, 0);
    sd_function_id f, g;

    sd_call_stats_init(&s);
    f = function(&s, "f.py", 1, "f");
    g = function(&s, "f.py", 2, "g");
    CHECK(sd_call_stats_count_plain(&s, f, g, 3) == 0);
    CHECK(sd_call_stats_count_plain(&s, f, g, 4) == 0);
    CHECK(s.n_edges == 1 && s.edges[0].n.calls == 7 && s.edges[0].is_plain);
    CHECK(sd_call_stats_count_calls(&s, f, g, &one) == SD_EUSAGE);
    sd_call_stats_release(&s);
}

TEST(call_edges_without_times_have_their_part_and_never_more_than_all)
{
    const struct sd_call_function f = { .n = { .calls = 8, .total = 4 } }, none = { 0 };
    struct sd_call_edge e = { .is_plain = true, .n = { .calls = 2, .total = 9 } };

    CHECK(sd_call_edge_total(&e, &f) == 1);
    e.n.calls = 20; /* strangers' files say anything */
    CHECK(sd_call_edge_total(&e, &f) == 4);
    e.n.calls = -1;
    CHECK(sd_call_edge_total(&e, &f) == 0 && sd_call_edge_total(&e, &none) == 0);
    e.is_plain = false;
    CHECK(sd_call_edge_total(&e, &f) == 9);
}

TEST(call_stats_say_when_a_count_does_not_fit)
{
    struct sd_call_stats s;
    struct sd_call_numbers most = numbers(INT64_MAX, 0, 0), one = numbers(1, 0, 0);
    sd_function_id f;

    sd_call_stats_init(&s);
    f = function(&s, "f.py", 1, "f");
    CHECK(sd_call_stats_count(&s, f, &most) == 0);
    CHECK(sd_call_stats_count(&s, f, &one) == SD_EFULL);
    sd_call_stats_release(&s);
}

TEST(call_stats_know_what_old_profilers_called)
{
    struct sd_call_stats s;
    struct sd_call_numbers one = numbers(1, 0, 0);
    sd_function_id f;

    sd_call_stats_init(&s);
    f = function(&s, "f.py", 1, "f");
    CHECK(sd_call_stats_count(&s, f, &one) == 0);
    CHECK(sd_call_stats_sum(&s) == 0);
    CHECK(!sd_call_stats_at(&s, f)->is_top);
    CHECK(sd_call_stats_count_plain(&s, function(&s, "jprofile", 0, "profiler"), f,
                                    1) == 0);
    CHECK(sd_call_stats_sum(&s) == 0);
    CHECK(sd_call_stats_at(&s, f)->is_top);
    sd_call_stats_release(&s);
}

TEST(call_functions_have_the_order_of_python_tuples)
{
    struct sd_call_stats s;
    const struct sd_call_function *a, *b, *c, *d;

    sd_call_stats_init(&s);
    (void)function(&s, "a", 10, "f");
    (void)function(&s, "a", 9, "f\xC3\xA9");
    (void)function(&s, "a", 9, "fz");
    (void)function(&s, "ab", 1, "");
    a = &s.functions[0], b = &s.functions[1], c = &s.functions[2], d = &s.functions[3];
    CHECK(sd_call_function_compare(a, b) > 0 && sd_call_function_compare(b, a) < 0);
    CHECK(sd_call_function_compare(b, c) > 0 && sd_call_function_compare(a, d) < 0);
    CHECK(sd_call_function_compare(d, d) == 0);
    sd_call_stats_release(&s);
}

TEST(call_stats_survive_every_failed_allocation)
{
    EACH_FAILURE(nth)
    {
        struct sd_call_stats s;
        struct sd_call_numbers one = numbers(1, 0, 0);
        sd_function_id f = { 0 }, g = { 0 };
        int rc;

        sd_call_stats_init(&s);
        rc = sd_call_stats_function(&s, "/d/f", 4, 1, "f", 1, &f);
        if (rc == 0)
            rc = sd_call_stats_function(&s, "/d/g", 4, 1, "g", 1, &g);
        if (rc == 0)
            rc = sd_call_stats_count(&s, f, &one);
        if (rc == 0)
            rc = sd_call_stats_count_calls(&s, g, f, &one);
        if (rc == 0)
            rc = sd_call_stats_add_origin(&s, "x", 1);
        if (rc == 0)
            rc = sd_call_stats_strip_dirs(&s);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_call_stats_release(&s);
    }
}
