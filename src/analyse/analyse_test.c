/* SPDX-License-Identifier: MIT */
#include "analyse/analyse.h"

#include <math.h>
#include <string.h>

#include "analyse/moments.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "profile/profile_testing.h"
#include "profile/series.h"

static const struct sd_view_request flat, tree = { .is_tree = true };

enum { MS = 1000000, MIB = 1 << 20 };

static const struct sd_cell *cell(const struct sd_view_table *t, const char *row,
                                  const char *column)
{
    for (size_t i = 0; i < t->n_rows; i++)
        for (size_t k = 0; k < t->n_columns; k++) {
            const struct sd_cell *first = sd_view_cell(t, i, 0);
            const struct sd_cell *second = sd_view_cell(t, i, 1);
            const char *name = first->kind == SD_CELL_TEXT    ? first->text
                               : second->kind == SD_CELL_TEXT ? second->text
                                                              : "";

            if (strcmp(name, row) == 0 && strcmp(t->columns[k].name, column) == 0)
                return sd_view_cell(t, i, k);
        }
    return NULL;
}

static int64_t number(const struct sd_view_table *t, const char *row,
                      const char *column)
{
    const struct sd_cell *c = cell(t, row, column);

    return c && c->kind != SD_CELL_NONE ? c->number : INT64_MIN;
}

/* outer 0..100 ms; inner 10..30 and 40..80 ms with memory and I/O; run of 200 ms. */
static struct sd_profile *make_sections(struct sd_maker *m)
{
    uint32_t process, outer, inner, shape, metrics[5];

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    sd_maker_meta(m, "run.wall_ns", "200000000");
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "prog");
    outer = sd_maker_site(m, 0, "outer");
    inner = sd_maker_site(m, outer, "inner");
    metrics[0] = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    metrics[1] = sd_maker_metric(m, "rss_before", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    metrics[2] = sd_maker_metric(m, "rss_after", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    metrics[3] = sd_maker_metric(m, "peak_rss", SD_UNIT_BYTES, SD_ADDS_PEAK);
    metrics[4] = sd_maker_metric(m, "sent", SD_UNIT_BYTES, SD_ADDS_SUM);
    shape = sd_maker_shape(m, metrics, 5);
    sd_maker_span_with(m, inner, process, 10 * MS, 30 * MS, shape,
                       (int64_t[]){ 15 * MS, 100, 150, 400, 0 }, 5, 0);
    sd_maker_span_with(m, inner, process, 40 * MS, 80 * MS, shape,
                       (int64_t[]){ 25 * MS, 150, 120, 300, 0 }, 5, SD_SPAN_RAISED);
    sd_maker_span(m, outer, process, 0, 0, 100 * MS);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

TEST(sections_table_holds_the_truth)
{
    struct sd_maker m;
    struct sd_profile *p = make_sections(&m);
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    CHECK(sd_section_tables_view(p, &flat, &v) == 0 && v.n_tables == 1);
    t = &v.tables[0];
    CHECK(t->n_rows == 2 && strcmp(sd_view_cell(t, 0, 0)->text, "outer") == 0);
    CHECK(number(t, "outer", "wall") == 100 * MS && number(t, "outer", "count") == 1);
    CHECK(fabs(cell(t, "outer", "share")->real - 50) < 1e-9);
    CHECK(cell(t, "outer", "cpu")->kind == SD_CELL_NONE); /* not measured */
    CHECK(number(t, "outer:inner", "count") == 2);
    CHECK(number(t, "outer:inner", "wall") == 60 * MS);
    CHECK(number(t, "outer:inner", "mean") == 30 * MS);
    CHECK(number(t, "outer:inner", "min") == 20 * MS);
    CHECK(number(t, "outer:inner", "max") == 40 * MS);
    CHECK(number(t, "outer:inner", "cpu") == 40 * MS);
    CHECK(number(t, "outer:inner", "rss_change") == 20);
    CHECK(number(t, "outer:inner", "peak_rss") == 400);
    CHECK(number(t, "outer:inner", "raised") == 1);
    CHECK(number(t, "outer:inner", "unfinished") == 0);
    CHECK(!cell(t, "outer", "rss_before") && !cell(t, "outer", "vms_change"));
    for (size_t k = 0; k < t->n_columns; k++) /* nothing was sent, all finished */
        CHECK(t->columns[k].is_hidden_in_text ==
              (strcmp(t->columns[k].name, "sent") == 0 ||
               strcmp(t->columns[k].name, "unfinished") == 0));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(section_tree_nests_and_subtracts)
{
    struct sd_maker m;
    struct sd_profile *p = make_sections(&m);
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    CHECK(sd_section_tables_view(p, &tree, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 2 && t->parents[0] == -1 && t->parents[1] == 0);
    CHECK(strcmp(sd_view_cell(t, 1, 0)->text, "inner") == 0);
    CHECK(strcmp(cell(t, "inner", "path")->text, "outer:inner") == 0);
    CHECK(strcmp(t->columns[1].name, "path") == 0 && t->columns[1].is_hidden_in_text);
    CHECK(number(t, "outer", "own") == 40 * MS);
    CHECK(number(t, "inner", "own") == 60 * MS);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* A parent that never ended shows up anyway: its children need a place. */
TEST(section_tree_has_rows_for_parents_without_spans)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_view v = { 0 };
    uint32_t track, a, b, c;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    a = sd_maker_site(&m, 0, "a");
    b = sd_maker_site(&m, a, "b");
    c = sd_maker_site(&m, b, "c");
    sd_maker_span(&m, c, track, 0, 0, 5);
    sd_maker_span(&m, sd_maker_site(&m, 0, "z"), track, 0, 0, 9);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_section_tables_view(p, &tree, &v) == 0);
    CHECK(v.tables[0].n_rows == 4);
    CHECK(number(&v.tables[0], "a", "count") == 0);
    CHECK(strcmp(cell(&v.tables[0], "b", "path")->text, "a:b") == 0);
    CHECK(v.tables[0].parents[3] == 2 && v.tables[0].parents[2] == 1);
    CHECK(strcmp(sd_view_cell(&v.tables[0], 3, 0)->text, "c") == 0);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* Two processes whose peaks do not fall together: 100+10, 50+50, 10+100. */
static struct sd_profile *make_processes(struct sd_maker *m)
{
    static const int64_t levels[2][3] = { { 100, 50, 10 }, { 10, 50, 100 } };
    uint32_t processes[2], shape, metrics[4];

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    processes[0] = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "one");
    processes[1] = sd_maker_track(m, SD_TRACK_PROCESS, processes[0], 8, "two");
    metrics[0] = sd_maker_metric(m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    metrics[1] = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_COUNTER);
    metrics[2] = sd_maker_metric(m, "written", SD_UNIT_BYTES, SD_ADDS_COUNTER);
    metrics[3] = sd_maker_metric(m, "peak_rss", SD_UNIT_BYTES, SD_ADDS_PEAK);
    shape = sd_maker_shape(m, metrics, 4);
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t k = 0; k < 2; k++)
            sd_maker_point(m, processes[k], shape, i * 100 * MS + k,
                           (int64_t[]){ levels[k][i] * MIB, (int64_t)i * 80 * MS,
                                        (int64_t)i * 15 * MIB, 120 * MIB },
                           4);
    sd_maker_exit(m, processes[1], 210 * MS, 3);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

TEST(processes_table_sums_at_moments_not_peaks)
{
    struct sd_maker m;
    struct sd_profile *p = make_processes(&m);
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    CHECK(sd_processes_view(p, &flat, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 3);
    CHECK(number(t, "all processes", "rss_max") == 110 * MIB);
    CHECK(number(t, "one", "rss_max") == 100 * MIB);
    CHECK(number(t, "one", "peak_rss") == 120 * MIB);
    CHECK(number(t, "all processes", "peak_rss") == INT64_MIN);
    CHECK(number(t, "one", "written") == 30 * MIB);
    CHECK(number(t, "all processes", "written") == 60 * MIB);
    CHECK(number(t, "all processes", "cpu") == 320 * MS);
    CHECK(fabs(cell(t, "one", "cpu_percent")->real - 80) < 0.1);
    CHECK(number(t, "two", "status") == 3 && number(t, "one", "status") == INT64_MIN);
    CHECK(!cell(t, "one", "vms_max") && !cell(t, "one", "sent"));
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(a_process_whose_definitions_are_lost_has_no_number)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_view v = { 0 };

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_maker_sample(&m, 4000, 0, 0, MS, sd_maker_sample_shape(&m), 1);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_processes_view(p, &flat, &v) == 0 && v.tables[0].n_rows == 1);
    CHECK(number(&v.tables[0], "[lost name]", "pid") == INT64_MIN);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(moments_let_a_process_count_only_while_it_lives)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_series all;
    uint32_t a, b, shape, metric;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    a = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    b = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 8, NULL);
    metric = sd_maker_metric(&m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    shape = sd_maker_shape(&m, &metric, 1);
    for (uint64_t i = 0; i < 10; i++)
        sd_maker_point(&m, a, shape, i * 10 * MS, (int64_t[]){ 70 }, 1);
    for (uint64_t i = 20; i < 30; i++)
        sd_maker_point(&m, b, shape, i * 10 * MS, (int64_t[]){ 60 }, 1);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_moments_sum_processes(p, "rss", &all) == 0);
    CHECK(all.sum.max == 70 && all.sum.last == 60 && all.sum.min == 0);
    sd_series_release(&all);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* The reading that ends a process may be that of another's first one. */
TEST(what_changes_at_one_moment_is_added_up_at_once)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_series all;
    uint32_t a, b, shape, metric;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    a = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    b = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 8, NULL);
    metric = sd_maker_metric(&m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    shape = sd_maker_shape(&m, &metric, 1);
    for (uint64_t i = 0; i < 4; i++) {
        sd_maker_point(&m, a, shape, i * 10 * MS, (int64_t[]){ i % 2 ? 70 : 10 }, 1);
        sd_maker_point(&m, b, shape, i * 10 * MS, (int64_t[]){ i % 2 ? 10 : 70 }, 1);
    }
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_moments_sum_processes(p, "rss", &all) == 0);
    CHECK(all.sum.max == 80 && all.sum.min == 80 && all.sum.last == 80);
    sd_series_release(&all);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(series_table_has_a_row_for_every_metric_of_every_track)
{
    struct sd_maker m;
    struct sd_profile *p = make_processes(&m);
    struct sd_view v = { 0 };

    CHECK(sd_readings_view(p, &flat, &v) == 0);
    CHECK(v.tables[0].n_rows == 8);
    CHECK(number(&v.tables[0], "rss", "max") == 100 * MIB);
    CHECK(number(&v.tables[0], "written", "total") == 30 * MIB);
    CHECK(strcmp(cell(&v.tables[0], "rss", "track")->text, "7 one") == 0);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(summary_tells_peak_cpu_and_how_many)
{
    struct sd_maker m;
    struct sd_profile *p = make_processes(&m);
    struct sd_summary s;

    CHECK(sd_analyse_summary(p, &s) == 0);
    CHECK(s.wall_ns == 200 * MS + 1 && s.cpu_ns == 320 * MS);
    CHECK(s.peak_bytes == 120 * MIB); /* one process's mark is above the sum */
    CHECK(!s.is_peak_sum);
    CHECK(s.n_processes == 2 && s.n_points == 6 && s.n_spans == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* A run of 200 ms that began 30 ms after the capture, and a section in a process that
 * it left behind. */
static uint64_t wall_with_section_until(uint64_t end_ns)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_summary s;
    uint32_t process;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_maker_meta(&m, "run.started_ns", "1030000000");
    sd_maker_meta(&m, "run.wall_ns", "200000000");
    process = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, "prog");
    sd_maker_span(&m, sd_maker_site(&m, 0, "daemon"), process, 0, 100 * MS, end_ns);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_summary(p, &s) == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
    return s.wall_ns;
}

TEST(summary_covers_what_was_recorded_after_the_run)
{
    CHECK(wall_with_section_until(1530 * MS) == 1500 * MS);
    CHECK(wall_with_section_until(231 * MS) == 200 * MS); /* it was read at its end */
    CHECK(wall_with_section_until(110 * MS) == 200 * MS);
}

/* 1 s was waited for; how much was seen? */
static void make_cpu(const char *seen_ns, struct sd_summary *s)
{
    struct sd_maker m;
    struct sd_profile *p;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    sd_maker_meta(&m, "run.cpu_ns", "1000000000");
    sd_maker_meta(&m, "run.seen_cpu_ns", seen_ns);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_summary(p, s) == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(summary_has_cpu_time_that_was_seen_and_not_waited_for)
{
    struct sd_summary s;

    make_cpu("1900000000", &s);
    CHECK(s.cpu_ns == 1900 * MS && s.is_cpu_least);
    make_cpu("1050000000", &s); /* the same, measured otherwise */
    CHECK(s.cpu_ns == 1000 * MS && !s.is_cpu_least);
}

TEST(summary_of_nothing_knows_no_peak)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_summary s;
    struct sd_view v = { 0 };

    sd_maker_begin(&m);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_summary(p, &s) == 0);
    CHECK(s.wall_ns == 0 && s.peak_bytes == -1 && s.n_processes == 0);
    CHECK(sd_section_tables_view(p, &flat, &v) == 0 &&
          sd_section_tables_view(p, &tree, &v) == 0);
    CHECK(sd_processes_view(p, &flat, &v) == 0 && sd_readings_view(p, &flat, &v) == 0);
    for (size_t i = 0; i < v.n_tables; i++)
        CHECK(v.tables[i].n_rows == 0);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(curves_have_one_per_process_and_one_for_all_with_the_peak)
{
    struct sd_maker m;
    struct sd_profile *p = make_processes(&m);
    struct sd_arena a = { 0 };
    struct sd_view_series s;

    CHECK(sd_analyse_curves(p, "rss", &a, &s) == 0);
    CHECK(s.n_curves == 3 && s.curves[2].is_total && s.curves[2].kind == SD_CELL_BYTES);
    CHECK(fabs(s.peak - 110 * MIB) < 1 && s.mark < 0);
    CHECK(strstr(s.peak_label, "peak 110.0 MiB at"));
    CHECK(sd_analyse_curves(p, "cpu", &a, &s) == 0);
    CHECK(s.n_curves == 3 && s.curves[0].kind == SD_CELL_PERCENT);
    CHECK(fabs(s.curves[0].points[1].last - 80) < 1);
    CHECK(fabs(s.curves[2].points[1].last - 160) < 2);
    CHECK(sd_analyse_curves(p, "nonsense", &a, &s) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "rss, cpu, written"));
    sd_arena_release(&a);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(curves_are_summed_or_apart_and_have_the_slope_that_a_line_through_them_has)
{
    struct sd_plot_request how = { .children = SD_PLOT_SUM, .title = "mine" };
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_arena a = { 0 };
    struct sd_view_series s;
    uint32_t process[2], shape, metric;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    for (uint32_t i = 0; i < 2; i++)
        process[i] = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7 + i, NULL);
    metric = sd_maker_metric(&m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    shape = sd_maker_shape(&m, &metric, 1);
    for (uint64_t i = 0; i < 40; i++) /* 3 and 1 bytes in 10 ms */
        for (uint32_t k = 0; k < 2; k++)
            sd_maker_point(&m, process[k], shape, i * 10 * MS,
                           (int64_t[]){ (int64_t)(1000 + i * (k ? 1 : 3)) }, 1);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_curves_as(p, "rss", &how, &a, &s) == 0);
    CHECK(s.n_curves == 1 && s.curves[0].is_total && !s.curves[0].has_trend);
    CHECK(strcmp(s.title, "mine") == 0 && s.peak == 2156);
    how = (struct sd_plot_request){ .children = SD_PLOT_APART, .has_trends = true };
    CHECK(sd_analyse_curves_as(p, "rss", &how, &a, &s) == 0);
    CHECK(s.n_curves == 2 && !s.curves[1].is_total && s.peak == 1117);
    CHECK(fabs(s.curves[0].slope - 300) < 1e-6 && fabs(s.curves[1].slope - 100) < 1e-6);
    CHECK(fabs(s.curves[0].start - 1000) < 1e-6);
    sd_arena_release(&a);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(curves_show_sections_as_bands_thinned_when_there_are_thousands)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_arena a = { 0 };
    struct sd_view_series s;
    uint64_t n = 0;
    uint32_t track, outer, step, shape, metric;

    sd_maker_begin(&m);
    for (uint32_t seq = 1; seq <= 10; seq++) {
        sd_maker_chunk(&m, 1, seq);
        track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
        outer = sd_maker_site(&m, 0, "outer");
        step = sd_maker_site(&m, outer, "step");
        metric = sd_maker_metric(&m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
        shape = sd_maker_shape(&m, &metric, 1);
        for (uint64_t i = 0; i < 1000; i++)
            sd_maker_span(&m, step, track, 0, (seq * 1000 + i) * MS,
                          (seq * 1000 + i) * MS + MS / 2);
        sd_maker_point(&m, track, shape, seq * 1000 * MS, (int64_t[]){ 5 }, 1);
    }
    sd_maker_span(&m, outer, track, 0, 0, (uint64_t)11000 * MS);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_curves(p, "rss", &a, &s) == 0);
    CHECK(s.n_bands >= 2 && s.n_bands <= 1500);
    CHECK(strcmp(s.bands[0].name, "outer") == 0 && s.bands[0].depth == 0);
    CHECK(fabs(s.bands[0].to - 11) < 1e-9 && s.bands[1].depth == 1);
    for (size_t i = 1; i < s.n_bands; i++)
        n += s.bands[i].n;
    CHECK(n == 10000);
    CHECK(s.mark < 0 && s.peak == 5);
    sd_arena_release(&a);
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(curves_tell_of_a_peak_between_two_readings)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_arena a = { 0 };
    struct sd_view_series s;
    uint32_t track, shape, metrics[2];

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 1, 1);
    track = sd_maker_track(&m, SD_TRACK_PROCESS, 0, 7, NULL);
    metrics[0] = sd_maker_metric(&m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    metrics[1] = sd_maker_metric(&m, "peak_rss", SD_UNIT_BYTES, SD_ADDS_PEAK);
    shape = sd_maker_shape(&m, metrics, 2);
    sd_maker_point(&m, track, shape, MS, (int64_t[]){ 50 * MIB, 50 * MIB }, 2);
    sd_maker_point(&m, track, shape, 9 * MS, (int64_t[]){ 60 * MIB, 90 * MIB }, 2);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_analyse_curves(p, "rss", &a, &s) == 0);
    CHECK(s.peak == 60 * MIB && s.mark == 90 * MIB);
    CHECK(strstr(s.mark_label, "90.0 MiB"));
    sd_arena_release(&a);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Windows */

/* A process read every 10 ms for 1 s at 50 % CPU, its memory highest at 900 ms; a
 * section open all the time, another from 200 to 400 ms. */
static void make_windows(struct sd_maker *m)
{
    uint32_t process, thread, shape, metrics[3];

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    sd_maker_meta(m, "run.wall_ns", "1000000000");
    sd_maker_meta(m, "run.cpu_ns", "500000000");
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "sh");
    metrics[0] = sd_maker_metric(m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    metrics[1] = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_COUNTER);
    metrics[2] = sd_maker_metric(m, "peak_rss", SD_UNIT_BYTES, SD_ADDS_PEAK);
    shape = sd_maker_shape(m, metrics, 3);
    for (int64_t i = 0; i <= 100; i++)
        sd_maker_point(m, process, shape, (uint64_t)i * 10 * MS,
                       (int64_t[]){ (i == 90 ? 900 : i) * MIB, i * 5 * MS, 950 * MIB },
                       3);
    thread = sd_maker_track(m, SD_TRACK_THREAD, process, 8, "main");
    sd_maker_span(m, sd_maker_site(m, 0, "whole"), thread, 0, 0, 1000 * MS);
    sd_maker_span(m, sd_maker_site(m, 0, "part"), thread, 0, 200 * MS, 400 * MS);
    sd_maker_chunk(m, 1, 2); /* by now it is another program */
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    sd_maker_exit(m, process, 1000 * MS, 0);
    sd_maker_end(m, 0);
}

static void check_window(const struct sd_maker *m, const struct sd_filter *filter)
{
    struct sd_profile *p = sd_maker_load(m, filter);
    struct sd_view v = { 0 };
    struct sd_summary s;

    CHECK(sd_analyse_summary(p, &s) == 0);
    CHECK(s.wall_ns == 200 * MS && s.cpu_ns == 100 * MS && s.peak_bytes == 40 * MIB);
    CHECK(sd_processes_view(p, &flat, &v) == 0 && v.tables[0].n_rows == 1);
    CHECK(number(&v.tables[0], "python", "wall") == 200 * MS);
    CHECK(number(&v.tables[0], "python", "cpu") == 100 * MS);
    CHECK(fabs(cell(&v.tables[0], "python", "cpu_percent")->real - 50) < 0.1);
    CHECK(number(&v.tables[0], "python", "rss_max") == 40 * MIB);
    CHECK(!cell(&v.tables[0], "python", "peak_rss"));
    sd_view_release(&v);
    CHECK(sd_section_tables_view(p, &flat, &v) == 0); /* its spans count whole */
    CHECK(fabs(cell(&v.tables[0], "whole", "share")->real - 100) < 1e-6);
    sd_view_release(&v);
    sd_profile_free(p);
}

TEST(figures_under_a_filter_of_time_are_of_the_window)
{
    struct sd_maker m;

    make_windows(&m);
    check_window(&m, &(struct sd_filter){ .from_ns = 200 * MS, .to_ns = 400 * MS });
    check_window(&m, &(struct sd_filter){ .section = "part" });
    sd_maker_release(&m);
}

TEST(curves_under_a_filter_of_time_span_the_window)
{
    const struct sd_filter filter = { .from_ns = 300 * MS, .to_ns = 600 * MS };
    struct sd_maker m;
    struct sd_arena a = { 0 };
    struct sd_view_series s;
    struct sd_profile *p;

    make_windows(&m);
    p = sd_maker_load(&m, &filter);
    CHECK(sd_analyse_curves(p, "rss", &a, &s) == 0);
    CHECK(fabs(s.from - 0.3) < 1e-9 && fabs(s.to - 0.6) < 1e-9 && s.mark < 0);
    CHECK(s.n_bands == 2 && fabs(s.bands[0].from - 0.3) < 1e-9);
    for (size_t i = 0; i < s.n_bands; i++)
        CHECK(s.bands[i].from >= s.from && s.bands[i].to <= s.to);
    sd_arena_release(&a);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* The name that tables show is the last a process had. */
TEST(a_process_is_found_by_the_name_that_is_shown_with_all_its_readings)
{
    const struct sd_filter filter = { .track = "python" };
    struct sd_maker m;
    struct sd_profile *p;

    make_windows(&m);
    p = sd_maker_load(&m, &filter);
    CHECK(p->n_point_events == 101 && p->n_span_events == 2);
    CHECK(!p->window.is_set);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Sorting */

TEST(view_sorts_by_any_column_and_cuts_honestly)
{
    static const struct sd_column columns[] = {
        { "name", NULL, SD_CELL_TEXT, false, 0 }, { "n", NULL, SD_CELL_COUNT, false, 0 }
    };
    static const char *const names[] = { "b", "c", "a", "d" };
    struct sd_view v = { 0 };
    struct sd_view_table *t = sd_view_add(&v, "things", NULL, columns, 2, 4);

    CHECK(t);
    for (size_t i = 0; i < 4; i++) {
        *sd_view_cell(t, i, 0) = sd_cell_text(names[i]);
        if (i != 3) /* d has no number */
            *sd_view_cell(t, i, 1) = sd_cell_number(SD_CELL_COUNT, (int64_t)i);
    }
    CHECK(sd_view_table_sort(&v, t, "name", 0) == 0);
    CHECK(strcmp(sd_view_cell(t, 0, 0)->text, "a") == 0);
    CHECK(sd_view_table_sort(&v, t, "-n", 0) == 0);
    CHECK(strcmp(sd_view_cell(t, 0, 0)->text, "b") == 0);
    CHECK(strcmp(sd_view_cell(t, 3, 0)->text, "d") == 0);
    CHECK(sd_view_table_sort(&v, t, "n", 3) == 0);
    CHECK(t->n_rows == 3 && strcmp(t->note, "1 more row") == 0);
    CHECK(strcmp(sd_view_cell(t, 0, 0)->text, "a") == 0);
    CHECK(sd_view_table_sort(&v, t, "size", 0) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "its columns are name, n"));
    sd_view_release(&v);
}

TEST(view_cuts_a_tree_from_its_top_and_says_so)
{
    struct sd_maker m;
    struct sd_profile *p = make_sections(&m);
    struct sd_view v = { 0 };
    struct sd_view_table *t;

    CHECK(sd_section_tables_view(p, &tree, &v) == 0);
    t = &v.tables[0];
    t->note = "not all";
    CHECK(sd_view_table_sort(&v, t, "-wall", 1) == 0);
    CHECK(t->n_rows == 1 && t->parents[0] == -1);
    CHECK(strcmp(sd_view_cell(t, 0, 0)->text, "outer") == 0);
    CHECK(strcmp(t->note, "not all; 1 more row") == 0);
    sd_view_release(&v);
    sd_profile_free(p);
    sd_maker_release(&m);
}

/* --- Out of memory */

TEST(analyse_survives_every_allocation_that_fails)
{
    struct sd_maker m, n;
    struct sd_profile *p = make_sections(&m), *q = make_processes(&n);

    EACH_FAILURE(nth)
    {
        struct sd_view v = { 0 };
        struct sd_arena a = { 0 };
        struct sd_view_series s;
        struct sd_summary summary;
        int rc = sd_section_tables_view(p, &flat, &v);

        rc = rc < 0 ? rc : sd_analyse_summary(q, &summary);
        CHECK(rc < 0 || summary.peak_bytes == 120 * MIB);
        rc = rc < 0 ? rc : sd_section_tables_view(p, &tree, &v);
        rc = rc < 0 ? rc : sd_processes_view(q, &flat, &v);
        rc = rc < 0 ? rc : sd_readings_view(q, &flat, &v);
        rc = rc < 0 ? rc : sd_analyse_curves(q, "rss", &a, &s);
        rc = rc < 0 ? rc : sd_analyse_curves(q, "cpu", &a, &s);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&a);
        sd_view_release(&v);
    }
    sd_profile_free(p);
    sd_profile_free(q);
    sd_maker_release(&m);
    sd_maker_release(&n);
}
