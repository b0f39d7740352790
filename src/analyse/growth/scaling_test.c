/* SPDX-License-Identifier: MIT */
#include "analyse/growth/scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/findings/findings.h"
#include "base/error.h"
#include "base/matcher_testing.h"
#include "base/test.h"
#include "profile/calls_testing.h"

enum { STREAM = 11, CELLS_MAX = 200, AT_ONCE = 16 };

/* A program that is being made up: what it called, one cell for each. */
struct program {
    struct sd_maker m;
    uint32_t track;
    struct sd_call_cell cells[CELLS_MAX];
    uint32_t n;
};

static void begin(struct program *p)
{
    uint32_t process;

    *p = (struct program){ .n = 0 };
    sd_maker_begin(&p->m);
    sd_maker_defs(&p->m, STREAM, 1);
    process = sd_maker_track(&p->m, SD_TRACK_PROCESS, 0, 7, NULL);
    p->track = sd_maker_track(&p->m, SD_TRACK_THREAD, process, 8, "MainThread");
    p->cells[p->n++] = sd_maker_root(p->track, 0, 0);
}

static uint32_t call(struct program *p, uint32_t from, uint32_t site, uint64_t calls,
                     double ns)
{
    CHECK(p->n < CELLS_MAX);
    p->cells[p->n] = (struct sd_call_cell){ .parent = from,
                                            .site = site,
                                            .calls = calls,
                                            .ticks = (uint64_t)(ns * (double)calls) };
    return p->n++;
}

static struct sd_profile *end(struct program *p)
{
    for (uint32_t at = 0; at < p->n; at += AT_ONCE)
        sd_maker_cells(&p->m, STREAM, 2 + at / AT_ONCE, at, p->cells + at,
                       p->n - at < AT_ONCE ? p->n - at : AT_ONCE);
    sd_maker_end(&p->m, 0);
    return sd_maker_load(&p->m, NULL);
}

static uint32_t of_length(struct program *p, uint32_t function, const char *name,
                          const char *parameter, int64_t n)
{
    char label[64];

    snprintf(label, sizeof label, "%s(%s:list(%lld))", name, parameter, (long long)n);
    return sd_maker_signature(&p->m, function, name, "/app/a.py", 5, label, parameter,
                              n);
}

/* One more argument of the signature that was made last. */
static void has_also(struct program *p, uint32_t site, const char *parameter,
                     enum sd_size_kind kind, const int64_t *dims, uint32_t n_dims)
{
    uint32_t name = sd_maker_string(&p->m, parameter);
    struct sd_rec_size *r =
        sd_maker_record(&p->m, SD_REC_SIZE, sizeof *r + n_dims * sizeof *dims);

    r->site = site;
    r->name = name;
    r->argument = 1;
    r->kind = (uint8_t)kind;
    r->n_dims = (uint8_t)n_dims;
    memcpy(r->dims, dims, n_dims * sizeof *dims);
}

static double size_at(int i) { return round(10 * pow(1000, i / 9.0)); }

/* main calls outer once for each size, outer calls square and a little of its own; and
 * main calls linear, and same. */
static struct sd_profile *load(struct program *p)
{
    uint32_t main, outer, square, linear, same, at;

    begin(p);
    main = sd_maker_function(&p->m, "main", "/app/a.py", 1);
    outer = sd_maker_function(&p->m, "outer", "/app/a.py", 5);
    square = sd_maker_function(&p->m, "square", "/app/a.py", 15);
    linear = sd_maker_function(&p->m, "linear", "/app/a.py", 25);
    same = sd_maker_function(&p->m, "same", "/app/a.py", 35);
    call(p, 0, main, 1, 1e10);
    for (int i = 0; i < 10; i++) {
        double n = size_at(i);

        at = call(p, 1, of_length(p, outer, "outer", "rows", (int64_t)n), 1,
                  10 * n * n + 500);
        call(p, at, of_length(p, square, "square", "rows", (int64_t)n), 1, 10 * n * n);
        call(p, 1, of_length(p, linear, "linear", "rows", (int64_t)n), 20,
             100 * n + 900);
    }
    call(p, 1, of_length(p, same, "same", "rows", 300), 1000, 5000);
    return end(p);
}

static const struct sd_scaling_row *find(const struct sd_profile *p,
                                         const struct sd_scaling *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(p->sites[s->functions[i].site.at].name, name) == 0)
            return &s->functions[i];
    return NULL;
}

/* Has one of its cells this in it? */
static bool has_text(const struct sd_view_table *t, const char *text)
{
    for (size_t row = 0; row < t->n_rows; row++)
        for (size_t k = 0; k < t->n_columns; k++) {
            const struct sd_cell *c = sd_view_cell(t, row, k);

            if (c->kind == SD_CELL_TEXT && c->text && strstr(c->text, text))
                return true;
        }
    return false;
}

TEST(scaling_flags_what_grows_and_says_through_what)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p = load(&made);
    struct sd_scaling s;
    const struct sd_scaling_row *f;

    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 3 && s.n_one_size == 1);
    CHECK(s.functions[0].is_flagged && s.functions[1].is_flagged);
    f = find(p, &s, "square");
    CHECK(f && f->is_flagged && strcmp(f->argument, "len(rows)") == 0);
    CHECK(sd_growth_only(&f->total) == SD_GROWTH_N2 && f->through.at == UINT32_MAX);
    CHECK(f->n_points == 10 && f->points[9].n == 10000 && f->points[9].calls == 1);
    CHECK(f->at_ten_ns / f->at_largest_ns > 90 &&
          f->at_ten_ns / f->at_largest_ns < 110);
    f = find(p, &s, "outer");
    CHECK(f && f->is_flagged && sd_growth_only(&f->total) == SD_GROWTH_N2);
    CHECK(f->through.at != UINT32_MAX &&
          strcmp(p->sites[f->through.at].name, "square") == 0);
    CHECK(f->own.answer == SD_GROWTH_SHORT); /* 500 ns at every size */
    f = find(p, &s, "linear");
    CHECK(f && !f->is_flagged && sd_growth_only(&f->total) == SD_GROWTH_N);
    CHECK(f->calls == 200);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_that_is_flagged_is_a_finding)
{
    const struct sd_view_request r = { .is_tree = false };
    const struct sd_profile_finding *found = NULL;
    struct sd_profile_findings all;
    struct sd_arena arena = { 0 };
    struct program made;
    struct sd_profile *p = load(&made);

    CHECK(sd_findings_make(p, &r, &arena, &all) == 0);
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.items[i].rule, "growth") == 0)
            found = &all.items[i];
    CHECK(found && strcmp(found->text, "The time of outer (a.py:5) grows with "
                                       "len(rows): n²") == 0);
    CHECK(strcmp(found->view, "scaling") == 0 && found->value.real > 1.9 &&
          found->value.real < 2.1);
    sd_arena_release(&arena);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_tables_have_the_functions_and_their_points)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p = load(&made);
    struct sd_view v = { 0 };

    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS | SD_SCALING_POINTS,
                            &v) == 0);
    CHECK(v.n_tables == 2 && v.tables[0].n_rows == 3 && v.tables[1].n_rows == 30);
    CHECK(strstr(v.tables[0].note, "1 function was called with one size"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_draws_what_is_flagged_or_what_matches)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p = load(&made);
    struct sd_view_growth g;
    struct sd_arena a = { 0 };

    CHECK(sd_scaling_picture(p, &request, NULL, &a, &g) == 0 && g.n_panels == 2);
    CHECK(g.panels[0].n_points == 10 && g.panels[0].is_flagged);
    CHECK(g.panels[0].curve[g.panels[0].n_curve - 1].n > 99000);
    CHECK(sd_scaling_picture(p, &request, SD_MATCHER("^lin"), &a, &g) == 0 &&
          g.n_panels == 1);
    CHECK(sd_scaling_picture(p, &request, SD_MATCHER("nothing"), &a, &g) == SD_EABSENT);
    CHECK(sd_scaling_picture(p, &request, SD_MATCHER("("), &a, &g) == SD_EUSAGE);
    sd_arena_release(&a);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_multiplies_sizes_where_both_matter)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    uint32_t pairs, site;

    begin(&made);
    pairs = sd_maker_function(&made.m, "pairs", "/app/a.py", 5);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            int64_t n = 10 << (i * 2), m = 10 << (k * 2);
            char label[64];

            snprintf(label, sizeof label, "pairs(a:list(%d), b:list(%d))", i, k);
            site = sd_maker_signature(&made.m, pairs, "pairs", "/app/a.py", 5, label,
                                      "a", n);
            has_also(&made, site, "b", SD_SIZE_LENGTH, &m, 1);
            call(&made, 0, site, 3, 20 * (double)n * (double)m);
        }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && strcmp(s.functions[0].argument, "len(a) · len(b)") == 0);
    CHECK(s.functions[0].degree == 2 && s.functions[0].is_flagged);
    CHECK(sd_growth_only(&s.functions[0].total) == SD_GROWTH_N);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

/* A search in a sorted list: its time has nothing to do with what is looked for. */
TEST(scaling_takes_no_size_that_leaves_times_apart)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    uint32_t search, site;

    begin(&made);
    search = sd_maker_function(&made.m, "search", "/app/a.py", 5);
    for (int i = 1; i <= 5; i++)
        for (int k = 1; k <= 39; k++) {
            int64_t n = (int64_t)pow(10, i), looked_for = k;
            double noise = 1 + (k * 7 % 10 - 4.5) / 15; /* a third, up and down */
            char label[64];

            snprintf(label, sizeof label, "search(x:list(%d), t:int(%d))", i, k);
            site = sd_maker_signature(&made.m, search, "search", "/app/a.py", 5, label,
                                      "x", n);
            has_also(&made, site, "t", SD_SIZE_VALUE, &looked_for, 1);
            call(&made, 0, site, 1, (900.0 * i + 500) * noise);
        }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && strcmp(s.functions[0].argument, "len(x)") == 0);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

static void call_with(struct program *p, uint32_t function, int64_t i,
                      enum sd_size_kind kind, uint64_t calls, double ns)
{
    char label[64];
    uint32_t site;

    snprintf(label, sizeof label, "burst(rows:list, i:int(%d))", (int)i);
    site =
        sd_maker_signature(&p->m, function, "burst", "/app/a.py", 5, label, "rows", 7);
    has_also(p, site, "i", kind, &i, 1);
    call(p, 0, site, calls, ns);
}

static const struct sd_scaling_point *point_near(const struct sd_scaling_row *f,
                                                 double n)
{
    size_t i = 0;

    while (i + 1 < f->n_points && f->points[i].n < n)
        i++;
    return &f->points[i];
}

/* Constant but for every 16th call, which takes 60 times as long: it stands alone among
 * exact sizes, and is most of the mean of rounded ones. */
TEST(scaling_puts_exact_sizes_together_as_rounded_ones_are)
{
    const struct sd_stacks_request request = { .is_raw = false };
    const enum sd_size_kind rounded = SD_SIZE_VALUE | SD_SIZE_ROUNDED;
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    struct sd_view v = { 0 };
    uint32_t burst;

    begin(&made);
    burst = sd_maker_function(&made.m, "burst", "/app/a.py", 5);
    for (int64_t i = 1; i <= 152; i++)
        call_with(&made, burst, i, SD_SIZE_VALUE, 1, i % 16 ? 2500 : 150000);
    for (int64_t i = 160; i < 2048; i = (int64_t)sd_size_rounded((uint64_t)i * 5 / 4))
        call_with(&made, burst, i, rounded, 64, (2500.0 * 15 + 150000) / 16);
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0 && s.n == 1);
    CHECK(point_near(&s.functions[0], 7)->n == 7);
    CHECK(!point_near(&s.functions[0], 7)->is_rounded);
    CHECK(point_near(&s.functions[0], 90)->calls == 16); /* 88 to 103 */
    CHECK(point_near(&s.functions[0], 90)->is_rounded);
    CHECK(fabs(point_near(&s.functions[0], 90)->ns - 187500.0 / 16) < 1);
    CHECK(!s.functions[0].is_flagged);
    sd_scaling_release(&s);
    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS, &v) == 0);
    CHECK(has_text(&v.tables[0], "1 to ~"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_finds_that_there_is_no_size_where_they_were_asked_for)
{
    const struct sd_stacks_request request = { .has_sizes = true };
    struct program made;
    struct sd_profile *p;
    struct sd_view v = { 0 };

    begin(&made);
    call(&made, 0, sd_maker_function(&made.m, "main", "/app/a.py", 1), 1, 1e6);
    p = end(&made);
    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS | SD_SCALING_POINTS,
                            &v) == 0);
    CHECK(v.n_tables == 2 && v.tables[0].n_rows == 0 && v.tables[1].n_rows == 0);
    CHECK(strstr(v.tables[0].note, "no function was called with arguments of several"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_knows_a_square_by_its_side)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    uint32_t product, site;

    begin(&made);
    product = sd_maker_function(&made.m, "product", "/app/a.py", 5);
    for (int i = 0; i < 8; i++) {
        const int64_t dims[] = { 4 << i, 4 << i };
        double n = (double)dims[0];
        char label[64];

        snprintf(label, sizeof label, "product(k:list, a:ndarray(%d))", i);
        site = sd_maker_signature(&made.m, product, "product", "/app/a.py", 5, label,
                                  "k", 7);
        has_also(&made, site, "a", SD_SIZE_SHAPE, dims, 2);
        call(&made, 0, site, 5, 30 * n * n * n);
    }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && strcmp(s.functions[0].argument, "a.shape[0]") == 0);
    CHECK(sd_growth_only(&s.functions[0].total) == SD_GROWTH_N3);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_sees_every_size_of_one_recursion)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    uint32_t halves, at = 0;

    begin(&made);
    halves = sd_maker_function(&made.m, "halves", "/app/a.py", 5);
    for (int i = 14; i >= 0; i--) {
        double n = (double)(1 << i);

        at = call(&made, at, of_length(&made, halves, "halves", "rows", 1 << i),
                  1ull << (14 - i), 100 * n * n);
        CHECK(at > 0);
    }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && s.functions[0].total.n_sizes == 15);
    CHECK(fabs(s.functions[0].share - 1) < 1e-9); /* inner calls are in the outer one */
    CHECK(sd_growth_only(&s.functions[0].total) == SD_GROWTH_N2);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

/* A function that has `opt` in five calls, and rows in ten thousand. */
TEST(scaling_explains_most_of_the_time_not_a_few_calls)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    uint32_t function;

    begin(&made);
    function = sd_maker_function(&made.m, "f", "/app/a.py", 5);
    for (int i = 0; i < 5; i++)
        call(&made, 0, of_length(&made, function, "f", "opt", 10 << (2 * i)), 1,
             100.0 * (10 << (2 * i)));
    for (int i = 0; i < 10; i++) {
        double n = size_at(i), disturbed = i % 2 ? 1.3 : 1;

        call(&made, 0, of_length(&made, function, "f", "rows", (int64_t)n), 1000,
             10 * n * n * disturbed);
    }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && strcmp(s.functions[0].argument, "len(rows)") == 0);
    CHECK(s.functions[0].is_flagged);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

/* Of recursion between two: each level is in the one above it already. */
TEST(scaling_goes_through_what_has_most_of_the_time_once)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    const struct sd_scaling_row *found;
    uint32_t f, g;

    begin(&made);
    f = sd_maker_function(&made.m, "f", "/app/a.py", 5);
    g = sd_maker_function(&made.m, "g", "/app/a.py", 15);
    for (int i = 0; i < 10; i++) {
        double n = size_at(i);
        uint32_t at =
            call(&made, 0, of_length(&made, f, "f", "rows", (int64_t)n), 1, 7 * n * n);

        for (int level = 0; level < 4; level++) {
            at = call(&made, at, g, 1, 0.01 * n * n);
            at = call(&made, at, f, 1, 0.7 * n * n);
        }
    }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    found = find(p, &s, "f");
    CHECK(found && found->is_flagged && found->through.at == UINT32_MAX);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_says_of_what_has_little_of_the_time_that_it_has)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_view v = { 0 };
    struct sd_scaling s;
    uint32_t little;

    begin(&made);
    little = sd_maker_function(&made.m, "little", "/app/a.py", 5);
    call(&made, 0, sd_maker_function(&made.m, "main", "/app/a.py", 1), 1, 60e9);
    for (int i = 0; i < 5; i++)
        call(&made, 1, of_length(&made, little, "little", "rows", 10 << (2 * i)), 1,
             4e6);
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && s.functions[0].total.answer == SD_GROWTH_LITTLE);
    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS, &v) == 0);
    CHECK(has_text(&v.tables[0], "less than 0.05 % of the time"));
    sd_scaling_release(&s);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_shows_products_that_no_count_holds)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_view v = { 0 };
    uint32_t pairs, site;

    begin(&made);
    pairs = sd_maker_function(&made.m, "pairs", "/app/a.py", 5);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            int64_t n = 1000000000ll << (i * 2), m = 10000000000ll << (k * 2);
            char label[64];

            snprintf(label, sizeof label, "pairs(a:list(%d), b:list(%d))", i, k);
            site = sd_maker_signature(&made.m, pairs, "pairs", "/app/a.py", 5, label,
                                      "a", n);
            has_also(&made, site, "b", SD_SIZE_LENGTH, &m, 1);
            call(&made, 0, site, 3, 1e-15 * (double)n * (double)m);
        }
    p = end(&made);
    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS, &v) == 0);
    CHECK(has_text(&v.tables[0], "1e+19 to 4.096e+22"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

/* A library's function that takes more time than the program's own. */
TEST(scaling_shows_the_programs_own_before_libraries_or_alone)
{
    struct program w;
    struct sd_stacks_request request = { .is_raw = true };
    struct sd_scaling s;
    struct sd_profile *p;
    uint32_t own, library;

    begin(&w);
    own = sd_maker_function(&w.m, "own", "/app/a.py", 5);
    library = sd_maker_function(&w.m, "theirs", "/x/site-packages/b.py", 5);
    call(&w, 0, own, 1, 1e8);
    for (int i = 0; i < 10; i++) {
        int64_t n = (int64_t)size_at(i);
        char label[64];

        call(&w, 1, of_length(&w, own, "own", "rows", n), 1, 100 * (double)n);
        snprintf(label, sizeof label, "theirs(rows:list(%lld))", (long long)n);
        call(&w, 1,
             sd_maker_signature(&w.m, library, "theirs", "/x/site-packages/b.py", 5,
                                label, "rows", n),
             1, 900 * (double)n);
    }
    p = end(&w);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 2 && strcmp(p->sites[s.functions[0].site.at].name, "own") == 0);
    CHECK(s.functions[1].is_library && !s.functions[0].is_library);
    sd_scaling_release(&s);
    request.choice.is_mine = true;
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && strcmp(p->sites[s.functions[0].site.at].name, "own") == 0);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&w.m);
}

static uint32_t of_unknown_size(struct program *p, uint32_t function, const char *name,
                                const char *label)
{
    uint32_t text = sd_maker_string(&p->m, label), named = sd_maker_string(&p->m, name);
    uint32_t file = sd_maker_string(&p->m, "/app/a.py"), id = p->m.next_id++;
    struct sd_rec_site *r = sd_maker_record(&p->m, SD_REC_SITE, sizeof *r);

    sd_fill_signature(r, id, named, text, file, 45, function);
    return id;
}

/* Two functions of something whose size nobody knows, and one without arguments. */
TEST(scaling_counts_what_has_no_known_size)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    struct sd_view v = { 0 };
    uint32_t f;

    begin(&made);
    f = sd_maker_function(&made.m, "f", "/app/a.py", 5);
    for (int i = 0; i < 10; i++)
        call(&made, 0, of_length(&made, f, "f", "rows", (int64_t)size_at(i)), 1, 25e6);
    f = sd_maker_function(&made.m, "series", "/app/a.py", 45);
    call(&made, 0, of_unknown_size(&made, f, "series", "series(s:Own)"), 3, 200e6);
    f = sd_maker_function(&made.m, "little", "/app/a.py", 55);
    call(&made, 0, of_unknown_size(&made, f, "little", "little(s:Own)"), 1, 50e6);
    f = sd_maker_function(&made.m, "none", "/app/a.py", 65);
    call(&made, 0, of_unknown_size(&made, f, "none", "none()"), 1, 100e6);
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0);
    CHECK(s.n == 1 && s.n_unsized == 2 && fabs(s.unsized_share - 0.6) < 1e-6);
    CHECK(strcmp(p->sites[s.unsized.at].name, "series") == 0);
    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS, &v) == 0);
    CHECK(strcmp(v.tables[0].note, "2 functions have no argument of a known size, of "
                                   "them series has 60.0 % of the time") == 0);
    sd_view_release(&v);
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

/* A curve is not what was measured: a busy machine made the largest size slow. */
TEST(scaling_says_what_the_largest_size_took)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;
    uint32_t f;

    begin(&made);
    f = sd_maker_function(&made.m, "f", "/app/a.py", 5);
    for (int i = 0; i < 10; i++) {
        double n = size_at(i);

        call(&made, 0, of_length(&made, f, "f", "rows", (int64_t)n), 1,
             10 * n * n * (i == 9 ? 1.7 : 1));
    }
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == 0 && s.n == 1);
    CHECK(fabs(s.functions[0].at_largest_ns - 1.7e9) < 1e6);
    CHECK(s.functions[0].at_ten_ns < 1.5e11); /* by the curve, which is that of 1e11 */
    sd_scaling_release(&s);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

static enum sd_cell_kind kind_of(const struct sd_view_table *t, const char *column)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (strcmp(t->columns[k].name, column) == 0)
            return sd_view_cell(t, 0, k)->kind;
    return SD_CELL_NONE;
}

/* As a function of a running number, large ones of which are rounded: a call of the
 * last hundreds was slow. */
TEST(scaling_has_neither_exponent_nor_forecast_of_one_slow_call)
{
    static const double steps[] = { 160, 192, 224, 256, 320, 384, 448, 512 };
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_view v = { 0 };
    uint32_t f;

    begin(&made);
    f = sd_maker_function(&made.m, "f", "/app/a.py", 5);
    for (int i = 1; i <= 128; i++)
        call(&made, 0, of_length(&made, f, "f", "rows", i), 1, 5000 + 37 * (i % 5));
    for (int i = 0; i < 8; i++)
        call(&made, 0, of_length(&made, f, "f", "rows", (int64_t)steps[i]), 64,
             i == 7   ? 40e3
             : i == 6 ? 9e3
                      : 4950 + 31 * (i % 3));
    p = end(&made);
    CHECK(sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS, &v) == 0);
    CHECK(has_text(&v.tables[0], "undecided"));
    CHECK(kind_of(&v.tables[0], "at_largest") == SD_CELL_NS);
    CHECK(kind_of(&v.tables[0], "exponent") == SD_CELL_NONE);
    CHECK(kind_of(&v.tables[0], "exponent_high") == SD_CELL_NONE);
    CHECK(kind_of(&v.tables[0], "at_10x") == SD_CELL_NONE);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_without_sizes_says_how_to_record_them)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p;
    struct sd_scaling s;

    begin(&made);
    call(&made, 0, sd_maker_function(&made.m, "main", "/app/a.py", 1), 1, 1e6);
    p = end(&made);
    CHECK(sd_scaling_make(p, &request, &s) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "sonde calls --scaling"));
    sd_profile_free(p);
    sd_maker_release(&made.m);
}

TEST(scaling_without_memory_leaves_nothing)
{
    const struct sd_stacks_request request = { .is_raw = false };
    struct program made;
    struct sd_profile *p = load(&made);

    EACH_FAILURE(nth)
    {
        struct sd_view v = { 0 };
        int rc = sd_scaling_tables(p, &request, SD_SCALING_FUNCTIONS, &v);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_view_release(&v);
    }
    sd_profile_free(p);
    sd_maker_release(&made.m);
}
