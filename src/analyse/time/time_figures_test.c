/* SPDX-License-Identifier: MIT */
#include "analyse/time/time_figures.h"

#include <math.h>

#include "analyse/time/timings_testing.h"
#include "base/error.h"

static bool is_near(double a, double b, double part)
{
    return fabs(a - b) <= part * fabs(b);
}

static struct sd_timings_maker fresh(void)
{
    return (struct sd_timings_maker){ .random = 88172645463325252ull,
                                      .loop_ns = 6,
                                      .loops = 1000 };
}

/* Ten processes, of which some run at half the speed for their whole life. */
static void make_processes(struct sd_timings_maker *m, double ns, unsigned n_slow)
{
    sd_timings_make_side(m, "x");
    for (unsigned i = 0; i < 10; i++) {
        CHECK(sd_timings_add_process(&m->t, 100 + i, 1, i) == 0);
        for (int64_t round = 0; round < 200; round++)
            sd_timings_make_round(m, 0, round, ns, i < n_slow ? 2 : 1);
    }
}

TEST(time_figures_tell_the_truth_though_most_processes_are_slow)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    make_processes(&m, 100, 7);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(is_near(f.best_ns, 100, 0.01));
    CHECK(is_near(f.loop_ns, 6, 0.01));
    CHECK(f.low_ns <= f.best_ns && f.best_ns <= f.high_ns);
    CHECK(f.median_ns > 150); /* of all batches */
    CHECK(f.n_batches == 2000 && f.n_dropped == 0 && f.n_processes == 10);
    CHECK(f.loops == 1000 && f.has_agreed && f.had_speed);
    CHECK(!isfinite(f.instructions));
    sd_timings_release(&m.t);
}

TEST(time_figures_say_when_processes_do_not_agree)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    make_processes(&m, 100, 8); /* two are fast, and the third least is slow */
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(!f.has_agreed && !sd_time_figures_are_settled(&f) && f.spread > 0.5);
    sd_timings_release(&m.t);
}

TEST(time_figures_say_when_the_machine_was_never_fast)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    make_processes(&m, 100, 0);
    m.t.best_speed = 980;
    CHECK(sd_time_figures_speed(&m.t) == 1000);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0 && sd_time_figures_are_settled(&f));
    m.t.best_speed = 900;
    CHECK(sd_time_figures(&m.t, 0, &f) == 0 && !f.had_speed);
    sd_timings_release(&m.t);
}

TEST(time_figures_drop_and_count_batches_that_were_preempted)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    make_processes(&m, 100, 0);
    for (int i = 0; i < 50; i++)
        sd_timings_make_batch(&m, 0, 200 + i, 1, SD_TIME_PREEMPTED);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(f.n_dropped == 50 && f.n_batches == 2000 && is_near(f.best_ns, 100, 0.01));
    CHECK(f.outliers[SD_TIME_BY_PREEMPTION] == 50);
    sd_timings_release(&m.t);
}

/* Every batch of 4 ms waits for a CPU: what is left is CPU time and time asleep. */
TEST(time_figures_take_waiting_off_statements_that_are_longer_than_a_slice)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    m.loops = 1;
    sd_timings_make_side(&m, "x");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    for (int64_t i = 0; i < 10; i++) {
        sd_timings_make_batch(&m, 0, i, 4e6 + (double)i * 1e6, SD_TIME_PREEMPTED);
        m.t.batches[m.t.n_batches - 1].waited_ns = i * 1000000;
    }
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(f.is_long && !f.is_estimate && f.n_dropped == 0 && f.n_batches == 10);
    CHECK(is_near(f.best_ns, 4e6, 0.001) && is_near(f.median_ns, 4e6, 0.001));
    for (size_t i = 0; i < m.t.n_batches; i++)
        m.t.batches[i].waited_ns = SD_TIME_UNKNOWN;
    CHECK(sd_time_figures(&m.t, 0, &f) == 0 && f.is_estimate && !f.has_agreed);
    sd_timings_release(&m.t);
}

TEST(time_figures_find_two_modes_and_their_shares)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    sd_timings_make_side(&m, "x");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    for (int64_t i = 0; i < 1000; i++)
        sd_timings_make_round(&m, 0, i, i % 5 ? 7300 : 9900, 1);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(f.n_modes == 2);
    CHECK(is_near(f.modes[0].ns, 7300, 0.03) && is_near(f.modes[0].share, 0.8, 0.03));
    CHECK(is_near(f.modes[1].ns, 9900, 0.03) && is_near(f.modes[1].share, 0.2, 0.1));
    sd_timings_release(&m.t);
}

TEST(time_figures_of_few_batches_take_the_least)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    m.loop_ns = 0;
    sd_timings_make_side(&m, "x");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    for (int64_t i = 0; i < 5; i++)
        sd_timings_make_batch(&m, 0, i, 50 - (double)i, 0);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(f.best_ns == 46 && f.low_ns == 46 && f.high_ns > 46 && f.median_ns == 48);
    sd_timings_release(&m.t);
}

TEST(time_figures_of_one_and_two_batches_are_not_settled)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    m.loop_ns = 0;
    sd_timings_make_side(&m, "x");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    sd_timings_make_batch(&m, 0, 0, 50, 0);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(f.best_ns == 50 && isnan(f.low_ns) && isnan(f.high_ns) && !f.has_agreed);
    sd_timings_make_batch(&m, 0, 1, 50, 0);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0 && !f.has_agreed && f.low_ns == 50);
    sd_timings_make_batch(&m, 0, 2, 50, 0);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0 && f.has_agreed);
    sd_timings_release(&m.t);
}

TEST(time_figures_count_batches_that_were_all_dropped_once)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    sd_timings_make_side(&m, "x");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    sd_timings_make_batch(&m, 0, 0, 6, SD_TIME_EMPTY);
    for (int64_t i = 0; i < 5; i++)
        sd_timings_make_batch(&m, 0, i, 50, SD_TIME_PREEMPTED);
    CHECK(sd_time_figures(&m.t, 0, &f) == 0);
    CHECK(f.n_batches + f.n_dropped == 5 && f.is_estimate && !f.has_agreed);
    sd_timings_release(&m.t);
}

TEST(time_figures_of_no_batch_are_none)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_figures f;

    sd_timings_make_side(&m, "x");
    CHECK(sd_time_figures(&m.t, 0, &f) == SD_EABSENT);
    sd_timings_release(&m.t);
}

TEST(time_figures_survive_every_failed_allocation)
{
    struct sd_timings_maker m = fresh();

    make_processes(&m, 100, 0);
    EACH_FAILURE(nth)
    {
        struct sd_time_figures f;
        int rc = sd_time_figures(&m.t, 0, &f);

        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
    sd_timings_release(&m.t);
}

TEST(time_figures_know_quantiles_and_student)
{
    static const double sorted[] = { 1, 2, 3, 4, 5 };

    CHECK(sd_timing_times_quantile(sorted, 5, 0.5) == 3);
    CHECK(sd_timing_times_quantile(sorted, 5, 0) == 1);
    CHECK(sd_timing_times_quantile(sorted, 5, 1) == 5);
    CHECK(sd_timing_times_quantile(sorted, 1, 0.3) == 1);
    /* Of the tables. */
    CHECK(is_near(sd_time_figures_student(2), 4.303, 0.001));
    CHECK(is_near(sd_time_figures_student(5), 2.571, 0.005));
    CHECK(is_near(sd_time_figures_student(9), 2.262, 0.001));
    CHECK(is_near(sd_time_figures_student(100), 1.984, 0.001));
}
