/* SPDX-License-Identifier: MIT */
#include "analyse/growth/growth.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

enum { MAX = 600 };

/* Points that are made up: sizes from..to, evenly by their logarithm. */
struct made {
    struct sd_growth_point points[MAX];
    size_t n;
    uint64_t seed;
};

/* -1..1, the same in every run. */
static double chance(struct made *m)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(m->seed >> 11) / (double)(1ull << 52) - 1;
}

static double linear(double n) { return 40 * n; }
static double n_log_n(double n) { return 9 * n * log2(n + 1); }
static double square(double n) { return 15 * n * n; }
static double cube(double n) { return 6 * n * n * n; }
static double root(double n) { return 900 * sqrt(n); }
static double logarithm(double n) { return 4000 * log(n + 1); }
static double constant(double n)
{
    (void)n;
    return 50000;
}

static void make(struct made *m, size_t n, double from, double to,
                 double (*time)(double), double offset, double noise)
{
    *m = (struct made){ .n = n, .seed = 12345 };
    for (size_t i = 0; i < n; i++) {
        double size = round(from * pow(to / from, (double)i / (double)(n - 1)));

        m->points[i] = (struct sd_growth_point){
            size, (offset + time(size)) * exp(noise * chance(m)), 10, false
        };
    }
}

static struct sd_growth fit(struct made *m)
{
    struct sd_growth g;

    CHECK(sd_growth_fit(m->points, m->n, &g) == 0);
    return g;
}

static bool says(const struct sd_growth *g, const char *words)
{
    struct sd_buf text = { 0 };
    bool is;

    sd_growth_words(&text, g);
    is = strcmp(sd_buf_string(&text), words) == 0;
    if (!is)
        print_message("it says: %s, %.3f (%.3f to %.3f)\n", sd_buf_string(&text),
                      g->exponent, g->low, g->high);
    sd_buf_release(&text);
    return is;
}

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

TEST(growth_over_three_decades_is_named)
{
    static const struct {
        double (*time)(double);
        const char *words;
        bool is_fast;
    } known[] = { { constant, "constant", false },
                  { logarithm, "log n", false },
                  { root, "√n", false },
                  { linear, "n", false },
                  { n_log_n, "n log n", false },
                  { square, "n²", true },
                  { cube, "n³", true } };
    struct made m;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int noisy = 0; noisy < 2; noisy++) {
            struct sd_growth g;

            make(&m, 13, 10, 10000, known[i].time, 0, noisy * 0.1);
            g = fit(&m);
            CHECK(g.answer == SD_GROWTH_FITTED);
            CHECK(says(&g, known[i].words));
            CHECK(sd_growth_is_fast(&g, 1) == known[i].is_fast);
        }
}

TEST(growth_sees_through_what_every_call_costs)
{
    struct made m;
    struct sd_growth g;

    make(&m, 13, 10, 10000, square, 300000, 0.05);
    g = fit(&m);
    CHECK(says(&g, "n²"));
    CHECK(near(g.exponent, 2, 0.1));
    CHECK(near(exp(g.curve.log_offset), 300000, 60000));
    make(&m, 13, 10, 10000, linear, 20000, 0.05);
    g = fit(&m);
    CHECK(near(g.exponent, 1, 0.1));
    CHECK(!sd_growth_is_fast(&g, 1));
}

static double loops(double n) { return 200 + 80 * n + 60 * n * n + 8 * n * n * n; }
static double two_loops(double n) { return 200 + 150 * n + 8 * n * n; }

TEST(growth_of_loops_within_loops_is_named_by_the_innermost)
{
    struct made m;
    struct sd_growth g;

    make(&m, 12, 1, 150, loops, 0, 0.05);
    g = fit(&m);
    CHECK(says(&g, "n³"));
    CHECK(near(g.exponent, 3, 0.35)); /* of these sizes: lower terms are in them */
    CHECK(near(sd_growth_at(&g.curve, 1500) / loops(1500), 1, 0.15));
    make(&m, 12, 1, 1000, two_loops, 0, 0.05);
    g = fit(&m);
    CHECK(says(&g, "n²") && sd_growth_is_fast(&g, 1));
    CHECK(near(sd_growth_at(&g.curve, 10000) / two_loops(10000), 1, 0.15));
}

TEST(growth_is_not_led_astray_by_slow_calls)
{
    struct made m;
    struct sd_growth g;

    make(&m, 13, 10, 10000, square, 0, 0.05);
    m.points[1].ns *= 8;
    m.points[6].ns *= 5;
    m.points[11].ns *= 4;
    g = fit(&m);
    CHECK(near(g.exponent, 2, 0.15));
    CHECK(g.low <= 2 && g.high >= 2);
    make(&m, 13, 10, 10000, linear, 0, 0.05);
    m.points[12].ns *= 6;
    m.points[11].ns *= 3;
    g = fit(&m);
    CHECK(!sd_growth_is_fast(&g, 1));
}

TEST(growth_of_noise_is_never_fast)
{
    struct made m;
    size_t n_fast = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sd_growth g;

        make(&m, 5 + seed % 20, 10, 1000, constant, 0, 0);
        m.seed = seed * 7919;
        for (size_t i = 0; i < m.n; i++)
            m.points[i].ns *= exp(1.5 * chance(&m));
        g = fit(&m);
        n_fast += sd_growth_is_fast(&g, 1);
    }
    CHECK(n_fast == 0);
}

TEST(growth_of_noisy_linear_time_is_hardly_ever_fast)
{
    struct made m;
    size_t n_fast = 0, n_covered = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sd_growth g;

        make(&m, 5 + seed % 20, 10, 1000, linear, 0, 0);
        m.seed = seed * 7919;
        for (size_t i = 0; i < m.n; i++)
            m.points[i].ns *= exp(0.4 * chance(&m));
        g = fit(&m);
        n_fast += sd_growth_is_fast(&g, 1);
        n_covered += g.low <= 1 && g.high >= 1;
    }
    CHECK(n_fast <= 1);
    CHECK(n_covered >= 90); /* what 95 % are meant to be */
}

TEST(growth_that_the_range_does_not_decide_is_left_open)
{
    struct made m;
    struct sd_growth g;

    make(&m, 8, 2000, 10000, n_log_n, 0, 0.05);
    g = fit(&m);
    CHECK(says(&g, "n to n log n"));
    CHECK(!sd_growth_is_fast(&g, 1));
}

TEST(growth_refuses_what_cannot_be_told)
{
    struct made m;
    struct sd_growth g;

    make(&m, 3, 10, 1000, square, 0, 0);
    g = fit(&m);
    CHECK(g.answer == SD_GROWTH_FEW_SIZES && says(&g, "3 sizes are too few"));
    make(&m, 6, 1000, 2000, square, 0, 0);
    g = fit(&m);
    CHECK(g.answer == SD_GROWTH_NARROW && says(&g, "sizes too close together"));
    make(&m, 6, 1, 10, square, 0, 0);
    g = fit(&m);
    CHECK(g.answer == SD_GROWTH_SHORT && says(&g, "calls too short"));
    make(&m, 6, 100, 100, square, 0, 0.1);
    g = fit(&m);
    CHECK(g.answer == SD_GROWTH_ONE_SIZE && says(&g, "one size only"));
    CHECK(!sd_growth_is_fast(&g, 1));
    m.n = 0;
    g = fit(&m);
    CHECK(g.answer == SD_GROWTH_ONE_SIZE && g.n_sizes == 0);
}

TEST(growth_ignores_empty_sizes_and_calls_without_time)
{
    struct made m;
    struct sd_growth g;

    make(&m, 13, 10, 10000, square, 0, 0.02);
    m.points[m.n++] = (struct sd_growth_point){ 0, 100, 5, false };
    m.points[m.n++] = (struct sd_growth_point){ 50, 0, 5, false };
    m.points[m.n++] = (struct sd_growth_point){ 50, -3, 5, false };
    g = fit(&m);
    CHECK(g.n_sizes == 13 && says(&g, "n²"));
}

static double exponential(double n) { return 3000 * pow(1.618, n); }

TEST(growth_that_no_power_describes_is_exponential)
{
    struct made m = { .n = 16 };
    struct sd_growth g;

    for (size_t i = 0; i < m.n; i++)
        m.points[i] =
            (struct sd_growth_point){ (double)(5 + i), exponential((double)(5 + i)), 10,
                                      false };
    g = fit(&m);
    CHECK(says(&g, "exponential: ×1.62 with each 1"));
    CHECK(sd_growth_is_fast(&g, 1));
    CHECK(sd_growth_at(&g.curve, 1e6) == INFINITY);
}

static double doubled(double n) { return 300 * pow(1.62, n); }

/* As a function does whose every call with n makes one with n - 1 and one with n - 2,
 * on a machine that others use, too. */
TEST(growth_of_every_step_is_exponential_in_noise)
{
    struct made m;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sd_growth g;

        m.n = 0;
        m.seed = seed * 104729;
        for (double n = 5; n <= 22; n++)
            m.points[m.n++] = (struct sd_growth_point){
                n, (2000 + doubled(n)) * exp(0.4 * chance(&m)), 1, false
            };
        g = fit(&m);
        CHECK(sd_growth_only(&g) == SD_GROWTH_EXPONENTIAL);
        CHECK(near(exp(g.curve.k), 1.62, 0.25));
        CHECK(sd_growth_is_fast(&g, 1));
    }
}

TEST(growth_of_a_constant_is_constant_when_its_last_point_was_disturbed)
{
    struct made m;
    struct sd_growth g;

    make(&m, 12, 1, 1000, constant, 0, 0.03);
    m.points[m.n - 1].ns *= 1.2;
    g = fit(&m);
    CHECK(says(&g, "constant") && near(g.exponent, 0, 0.1));
    CHECK(!sd_growth_is_fast(&g, 1));
}

/* What depends on how deep a path is, say, more than on how long it is. */
TEST(growth_in_a_short_range_with_scatter_is_neither_fast_nor_exponential)
{
    struct made m;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sd_growth g;

        make(&m, 40, 20, 110, constant, 0, 0);
        m.seed = seed * 15485863;
        for (size_t i = 0; i < m.n; i++)
            m.points[i].ns =
                (4000 + (m.points[i].n > 80 ? 12000 : 0)) * exp(0.8 * chance(&m));
        g = fit(&m);
        CHECK(sd_growth_only(&g) != SD_GROWTH_EXPONENTIAL);
        CHECK(!sd_growth_is_fast(&g, 1));
    }
}

/* Over two decades, with a little noise, n is also what n log n would be. */
TEST(growth_names_n_and_n_log_n_where_the_interval_has_both)
{
    struct made m;
    size_t n_both = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct sd_growth g;
        double bend;

        make(&m, 6, 100, 10000, linear, 0, 0);
        m.seed = seed * 7919;
        for (size_t i = 0; i < m.n; i++)
            m.points[i].ns *= exp(0.1 * chance(&m));
        g = fit(&m);
        bend = log(log1p(10000) / log1p(100)) / log(100); /* of the logarithm alone */
        CHECK(!sd_growth_is_fast(&g, 1));
        if (g.low < 1 && g.high > 1 + bend && (g.classes & 3u << SD_GROWTH_N)) {
            n_both++;
            CHECK((g.classes & 3u << SD_GROWTH_N) == 3u << SD_GROWTH_N);
        }
    }
    CHECK(n_both > 0);
}

/* Two of many calls that were disturbed leave what all others say. */
TEST(growth_of_many_sizes_is_not_lost_by_two_slow_calls)
{
    struct made m;
    struct sd_growth g;

    make(&m, 60, 50, 250, linear, 0, 0);
    for (size_t i = 0; i < m.n; i++) { /* 3.5 times as long at the largest */
        m.points[i].n = 50 + 3.4 * (double)i;
        m.points[i].ns = 1000 * (1200 + linear(m.points[i].n)) * exp(0.01 * chance(&m));
    }
    m.points[20].ns *= 5;
    m.points[41].ns *= 5;
    g = fit(&m);
    CHECK(g.answer == SD_GROWTH_FITTED);
    CHECK(!(g.classes & 1u << SD_GROWTH_CONSTANT));
    CHECK(g.classes & 1u << SD_GROWTH_N);
}

TEST(growth_takes_hundreds_of_points)
{
    struct made m;
    struct sd_growth g;

    make(&m, MAX, 10, 100000, square, 5000, 0.3);
    g = fit(&m);
    CHECK(near(g.exponent, 2, 0.1));
    CHECK(g.n_sizes > 300);
    CHECK(says(&g, "n²"));
    CHECK(near(sd_growth_at(&g.curve, 1e6) / square(1e6), 1, 0.2));
}

/* The interval is that of the points that are left when they are put together. */
TEST(growth_of_hundreds_of_points_is_known_no_better_than_they_scatter)
{
    struct made m;
    size_t n_covered = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sd_growth g;

        make(&m, MAX, 100, 2000, square, 0, 0);
        m.seed = seed * 7919;
        for (size_t i = 0; i < m.n; i++)
            m.points[i].ns *= exp(0.8 * chance(&m));
        g = fit(&m);
        n_covered += g.low <= 2 && g.high >= 2;
    }
    CHECK(n_covered >= 92); /* 94; by all points' degrees of freedom it were 50 */
}

TEST(growth_is_the_same_every_time_in_any_order)
{
    struct made m;
    struct sd_growth a, b;

    make(&m, 20, 10, 10000, cube, 100, 0.2);
    a = fit(&m);
    for (size_t i = 0; i < m.n / 2; i++) {
        struct sd_growth_point p = m.points[i];

        m.points[i] = m.points[m.n - 1 - i];
        m.points[m.n - 1 - i] = p;
    }
    b = fit(&m);
    CHECK(a.exponent == b.exponent && a.low == b.low && a.high == b.high);
}

TEST(growth_with_a_product_of_sizes_is_fast_when_both_grow)
{
    struct made m;
    struct sd_growth g;

    make(&m, 13, 10, 10000, linear, 0, 0.05);
    g = fit(&m);
    CHECK(!sd_growth_is_fast(&g, 1) && sd_growth_is_fast(&g, 2));
    make(&m, 13, 10, 10000, root, 0, 0.05);
    g = fit(&m);
    CHECK(!sd_growth_is_fast(&g, 2));
}

/* --- Times that were measured on a busy machine.  The first call of each function of
 * several sizes was that of the smallest, of the recursive one that of the largest. */

static struct sd_growth fit_measured(struct sd_growth_point *points, size_t n,
                                     size_t first)
{
    struct sd_growth g;

    points[first].is_first = true;
    CHECK(sd_growth_fit(points, n, &g) == 0 && g.answer == SD_GROWTH_FITTED);
    return g;
}

enum { FIBONACCI = 19, SIDES = 12, LOOPED = 7, CUBED = 6 };

/* Small sizes have thousands of calls, and the largest all of the time. */
TEST(growth_of_measured_fibonacci_is_exponential)
{
    static const double ns[][FIBONACCI] = {
        { 41, 894, 2044, 4368, 7811, 14555, 24197, 30223, 50258, 85048, 168559, 208882,
          338252, 716811, 930911, 1473478, 2444040, 4722571, 7005127 },
        { 70, 1295, 5177, 9102, 16148, 29648, 29172, 72207, 68038, 185519, 338113,
          486513, 804863, 1337835, 1239284, 3495826, 5049146, 6289420, 13272094 },
    };
    static const double calls[FIBONACCI] = { 4181, 2584, 1597, 987, 610, 377, 233,
                                             144,  89,   55,   34,  21,  13,  8,
                                             5,    3,    2,    1,   1 };

    for (size_t run = 0; run < sizeof ns / sizeof *ns; run++) {
        struct sd_growth_point points[FIBONACCI];
        struct sd_growth g;

        for (size_t i = 0; i < FIBONACCI; i++)
            points[i] = (struct sd_growth_point){ (double)(i + 1), ns[run][i], calls[i],
                                                  false };
        g = fit_measured(points, FIBONACCI, FIBONACCI - 1);
        CHECK(sd_growth_only(&g) == SD_GROWTH_EXPONENTIAL);
        CHECK(near(exp(g.curve.k), 1.65, 0.1));
        CHECK(near(sd_growth_at(&g.curve, 19) / ns[run][18], 1, 0.5));
        CHECK(sd_growth_is_fast(&g, 1));
    }
}

TEST(growth_of_measured_squares_is_not_named_a_cube)
{
    static const double ns[][LOOPED] = {
        { 3170, 10372, 74761, 292132, 1719209, 14701886, 53795995 },
        { 3044, 10225, 73202, 300880, 1243840, 14051131, 52768176 },
    };
    static const double sizes[LOOPED] = { 10, 20, 50, 100, 200, 500, 1000 };

    for (size_t run = 0; run < sizeof ns / sizeof *ns; run++) {
        struct sd_growth_point points[LOOPED];
        struct sd_growth g;

        for (size_t i = 0; i < LOOPED; i++)
            points[i] = (struct sd_growth_point){ sizes[i], ns[run][i], 2, false };
        g = fit_measured(points, LOOPED, 0);
        CHECK(!(g.classes & 1u << SD_GROWTH_N3) && sd_growth_is_fast(&g, 1));
        CHECK(near(log10(sd_growth_at(&g.curve, 10000) / ns[run][6]), 2, 0.3));
    }
}

/* To begin the inner loop costs as much as some twenty rounds of it. */
TEST(growth_of_measured_squares_with_a_large_lower_term_is_fast)
{
    static const double ns[][SIDES] = {
        { 1523, 1358, 2051, 3403, 6625, 12012, 41233, 70945, 215388, 579207, 1393262,
          6370967 },
        { 1294, 1533, 2081, 5169, 7327, 15650, 117425, 108359, 273765, 943252, 2473275,
          8718163 },
    };
    static const double sizes[SIDES] = {
        1, 2, 3, 6, 12, 22, 41, 76, 141, 261, 485, 900
    };

    for (size_t run = 0; run < sizeof ns / sizeof *ns; run++) {
        struct sd_growth_point points[SIDES];
        struct sd_growth g;

        for (size_t i = 0; i < SIDES; i++)
            points[i] = (struct sd_growth_point){ sizes[i], ns[run][i],
                                                  i < 9    ? 21
                                                  : i == 9 ? 10
                                                           : 2,
                                                  false };
        g = fit_measured(points, SIDES, 0);
        CHECK(g.classes & 1u << SD_GROWTH_N2 && sd_growth_is_fast(&g, 1));
    }
}

TEST(growth_of_measured_cubes_has_what_its_interval_has)
{
    struct sd_growth_point points[CUBED] = {
        { 4, 12898, 1, false },     { 8, 17913, 1, false },
        { 16, 131116, 1, false },   { 32, 1514983, 1, false },
        { 64, 14760253, 1, false }, { 100, 53528090, 1, false },
    };
    struct sd_growth g = fit_measured(points, CUBED, 0);

    CHECK(g.low < 3 && g.high > 3 && g.classes & 1u << SD_GROWTH_N3);
    CHECK(sd_growth_is_fast(&g, 1));
}

/* The first call, of the smallest size, was up to forty times too slow. */
TEST(growth_of_measured_n_log_n_is_not_fast)
{
    static const double ns[][LOOPED] = {
        { 4761, 3754, 17756, 74996, 363780, 1316850, 8656354 },
        { 35590, 2354, 13453, 63214, 320436, 1996093, 9374495 },
        { 4286, 3434, 16780, 74795, 329940, 1294425, 6178338 },
        { 3196, 3307, 13070, 65416, 553178, 2282945, 7477702 },
        { 2462, 2510, 11802, 50479, 369066, 1928272, 7425214 },
    };
    static const double sizes[LOOPED] = { 10, 30, 100, 300, 1000, 3000, 10000 };

    for (size_t run = 0; run < sizeof ns / sizeof *ns; run++) {
        struct sd_growth_point points[LOOPED];
        struct sd_growth g;

        for (size_t i = 0; i < LOOPED; i++)
            points[i] = (struct sd_growth_point){ sizes[i], ns[run][i], 3, false };
        g = fit_measured(points, LOOPED, 0);
        CHECK(!sd_growth_is_fast(&g, 1));
        CHECK(g.classes & 1u << SD_GROWTH_N_LOG_N);
        CHECK(!(g.classes & 1u << SD_GROWTH_N3));
    }
}

/* Loops within loops, over five sizes that were each called once. */
TEST(growth_of_five_measured_sizes_called_once_is_fast)
{
    static const double squares[] = { 5e3, 18e3, 338e3, 1799e3, 22051e3 };
    static const double sizes[] = { 10, 30, 100, 300, 1000 };
    enum { ONCE = 5 };
    struct sd_growth_point points[ONCE];
    struct sd_growth g;

    for (size_t i = 0; i < ONCE; i++)
        points[i] = (struct sd_growth_point){ sizes[i], squares[i], 1, false };
    g = fit_measured(points, ONCE, 0);
    CHECK(says(&g, "n²") && sd_growth_is_fast(&g, 1));
    CHECK(g.low > 1.3 && g.high < 3);
}

static double cold_cube(double n) { return 300 + 250 * n + 250 * n * n + 6 * cube(n); }
static double cold_square(double n) { return 300 + 200 * n + 43 * n * n; }
static double slow_linear(double n) { return 300 + 2000 * n; }

/* How many of a hundred such are called fast: single calls that are off by a quarter
 * mostly, some of them by more, and the first up to 30 us slower. */
static size_t n_fast_of_hundred(double (*time)(double), double from, double to)
{
    struct made m;
    size_t n_fast = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sd_growth g;

        make(&m, 5, from, to, time, 0, 0);
        m.seed = seed * 7919;
        for (size_t i = 0; i < m.n; i++) {
            double slow = chance(&m) > 0.8 ? 2 + chance(&m) : 1;

            m.points[i].ns *= slow * exp(0.25 * chance(&m));
            m.points[i].calls = 1;
        }
        m.points[0].ns += 15000 * (1 + chance(&m));
        m.points[0].is_first = true;
        g = fit(&m);
        n_fast += sd_growth_is_fast(&g, 1);
    }
    return n_fast;
}

TEST(growth_of_five_sizes_called_once_is_mostly_known)
{
    size_t squares = n_fast_of_hundred(cold_square, 10, 1000);
    size_t cubes = n_fast_of_hundred(cold_cube, 3, 70);

    print_message("of 100 n² %zu, of n³ %zu\n", squares, cubes);
    CHECK(squares >= 80 && cubes >= 70);
    CHECK(n_fast_of_hundred(slow_linear, 10, 1000) <= 1);
    CHECK(n_fast_of_hundred(n_log_n, 10, 1000) <= 1);
    CHECK(n_fast_of_hundred(constant, 10, 1000) == 0);
}

TEST(growth_that_one_size_alone_shows_has_no_name)
{
    struct sd_growth_point points[LOOPED] = {
        { 10, 11954, 3, false },    { 30, 9314, 3, false },   { 100, 9116, 3, false },
        { 300, 9402, 3, false },    { 1000, 9776, 3, false }, { 3000, 9694, 3, false },
        { 10000, 35078, 3, false },
    };
    struct sd_growth g = fit_measured(points, LOOPED, 0);

    CHECK(says(&g, "undecided") && !sd_growth_is_fast(&g, 1));
}

/* Flat for long, and then three sizes that nothing led to. */
TEST(growth_that_misses_the_largest_sizes_has_no_name_and_no_forecast)
{
    struct made m;
    struct sd_growth g;

    make(&m, 30, 10, 10000, constant, 0, 0.02);
    for (size_t i = m.n - 3; i < m.n; i++)
        m.points[i].ns *= 3;
    g = fit(&m);
    CHECK(g.is_missed && sd_growth_is_vague(&g));
    CHECK(says(&g, "undecided: no curve fits") && !sd_growth_is_fast(&g, 1));
}

enum { PERMUTED = 7, CALLED = 264 };

/* Lists of all orders, n! of them: each size takes more times as long than the one
 * before.  No curve of ours is that, and n⁴, which is sixteen times too low at the
 * largest size, least of all. */
TEST(growth_of_measured_permutations_is_not_named_a_power)
{
    static const double ns[PERMUTED] = { 239,    2710,    11695,   54418,
                                         302446, 2433814, 18566829 };
    static const double calls[PERMUTED] = { 5040, 2520, 840, 210, 42, 7, 1 };
    struct sd_growth_point points[PERMUTED];
    struct sd_growth g;

    for (size_t i = 0; i < PERMUTED; i++)
        points[i] = (struct sd_growth_point){ (double)(i + 1), ns[i], calls[i], false };
    g = fit_measured(points, PERMUTED, PERMUTED - 1);
    CHECK(g.classes == 0 || sd_growth_only(&g) == SD_GROWTH_EXPONENTIAL);
    CHECK(g.classes == 0 || near(log(sd_growth_at(&g.curve, 7) / ns[6]), 0, log(6)));
}

/* A number from 1 to 999 that changes nothing, once as it is and beyond 256 in steps;
 * one of the calls, the size of which is the largest or the one before, is slow. */
static size_t make_steady(struct sd_growth_point *points, double slow, bool is_last)
{
    static const double steps[] = { 320, 384, 448, 512, 640, 768, 896, 1024 };
    static const double calls[] = { 64, 64, 64, 96, 128, 128, 128, 40 };
    struct made m = { .seed = 12345 };
    size_t n = 0;

    for (double i = 1; i <= 256; i++)
        points[n++] =
            (struct sd_growth_point){ i, 5250 * exp(0.04 * chance(&m)), 1, i == 1 };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        points[n++] = (struct sd_growth_point){ steps[i], 5150 * exp(0.08 * chance(&m)),
                                                calls[i], false };
    points[n - 1 - !is_last].ns = slow;
    return n;
}

TEST(growth_of_a_constant_with_one_slow_call_is_not_steep)
{
    static const double slow[] = { 25e3, 75e3, 100e3, 200e3, 2e6 };
    struct sd_growth_point points[CALLED];

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        for (int is_last = 0; is_last < 2; is_last++) {
            size_t n = make_steady(points, slow[i], is_last != 0);
            struct sd_growth g = fit_measured(points, n, 0);

            CHECK(n <= CALLED && !sd_growth_is_fast(&g, 1));
            CHECK(!(g.classes & ~3u << SD_GROWTH_CONSTANT)); /* nothing beyond log n */
            CHECK(g.classes || sd_growth_is_vague(&g));      /* nor "about n^8" */
        }
}

/* The size before the last is slower, too, but by less than any curve from there to the
 * last would have it: so steep a one rests on a single size. */
TEST(growth_of_a_constant_with_two_slow_sizes_is_undecided)
{
    static const double slow[] = { 10e3, 15e3, 25e3, 40e3 };
    struct sd_growth_point points[CALLED];

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        size_t n = make_steady(points, slow[i], true);
        struct sd_growth g;

        points[n - 2].ns = 9000;
        g = fit_measured(points, n, 0);
        CHECK(says(&g, "undecided") && g.is_thin && sd_growth_is_vague(&g));
        CHECK(!sd_growth_is_fast(&g, 1));
    }
}

TEST(growth_without_memory_leaves_nothing)
{
    struct made m;

    make(&m, 10, 10, 10000, square, 0, 0);
    EACH_FAILURE(nth)
    {
        struct sd_growth g;
        int rc = sd_growth_fit(m.points, m.n, &g);

        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
}

/* One call in a hundred is slow, of any size: few of the small sizes have one, and all
 * of the large ones a part of it. */
TEST(growth_that_is_less_than_what_points_miss_it_by_may_be_none)
{
    struct sd_growth_point points[40];
    struct sd_growth g;

    for (int i = 0; i < 40; i++) {
        double n = round(pow(2, i / 3.5));

        points[i] =
            (struct sd_growth_point){ n, n > 250 ? 5000 : 2500, n / 4 + 1, false };
    }
    CHECK(sd_growth_fit(points, 40, &g) == 0);
    CHECK(!(g.classes & 1u << SD_GROWTH_CONSTANT));
    points[22].ns = 40000;
    points[26].ns = 25000;
    CHECK(sd_growth_fit(points, 40, &g) == 0);
    CHECK(g.classes & 1u << SD_GROWTH_CONSTANT);
    CHECK(!sd_growth_is_fast(&g, 1));
}

/* A timing is the mean of many executions, a traced call is not. */
TEST(growth_of_short_times_is_told_where_they_are_exact)
{
    const struct sd_growth_errors exact = { .call_ns = 0.5, .shortest_ns = 5 };
    struct sd_growth_point points[4];
    struct sd_growth g;

    for (int i = 0; i < 4; i++) {
        double n = pow(10, i + 1);

        points[i] = (struct sd_growth_point){ .n = n, .ns = 3 + 0.1 * n, .calls = 1e6 };
    }
    CHECK(sd_growth_fit(points, 4, &g) == 0 && g.answer == SD_GROWTH_SHORT);
    CHECK(sd_growth_fit_with(points, 4, &exact, &g) == 0);
    CHECK(g.answer == SD_GROWTH_FITTED && g.low <= 1 && g.high >= 1);
}
