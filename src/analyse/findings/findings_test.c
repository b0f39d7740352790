/* SPDX-License-Identifier: MIT */
#include "analyse/findings/findings.h"

#include <string.h>

#include "analyse/views.h"
#include "base/error.h"
#include "profile/profile_testing.h"

enum { SECOND = 1000000000, MIB = 1 << 20 };

/* A capture by hand, and what was found in it. */
struct found {
    struct sd_maker m;
    uint32_t process, main, worker, shape;
    struct sd_profile *p;
    struct sd_arena arena;
    struct sd_profile_findings all;
};

static void begin(struct found *f)
{
    memset(f, 0, sizeof *f);
    sd_maker_begin(&f->m);
    sd_maker_chunk(&f->m, 1, 1);
    f->process = sd_maker_track(&f->m, SD_TRACK_PROCESS, 0, 7, "python");
    f->main = sd_maker_track(&f->m, SD_TRACK_THREAD, f->process, 7, "MainThread");
    f->worker = sd_maker_track(&f->m, SD_TRACK_THREAD, f->process, 8, "worker");
    f->shape = sd_maker_sample_shape(&f->m);
}

static uint32_t function(struct found *f, uint32_t below, const char *name,
                         const char *file, uint32_t line)
{
    return sd_maker_stack(&f->m, below, sd_maker_function(&f->m, name, file, line),
                          line + 1);
}

static void sample(struct found *f, uint32_t track, uint32_t stack, uint16_t flags,
                   uint64_t time, int64_t n)
{
    sd_maker_sample(&f->m, track, stack, flags, time, f->shape, n);
}

static void find(struct found *f)
{
    const struct sd_view_request r = { .is_tree = false };

    sd_maker_end(&f->m, 0);
    f->p = sd_maker_load(&f->m, NULL);
    CHECK(sd_findings_make(f->p, &r, &f->arena, &f->all) == 0);
}

static const struct sd_profile_finding *finding(const struct found *f, const char *rule)
{
    for (size_t i = 0; i < f->all.n; i++)
        if (strcmp(f->all.items[i].rule, rule) == 0)
            return &f->all.items[i];
    return NULL;
}

static bool says(const struct found *f, const char *rule, const char *text)
{
    const struct sd_profile_finding *one = finding(f, rule);

    return one && strcmp(one->text, text) == 0;
}

static void end(struct found *f)
{
    sd_arena_release(&f->arena);
    sd_profile_free(f->p);
    sd_maker_release(&f->m);
}

/* --- Rules of stacks */

/* 600 samples in load_batch, 200 in a library below it, 200 in another of ours. */
static void record_functions(struct found *f)
{
    uint32_t load, other;

    begin(f);
    load = function(f, 0, "load_batch", "/x/data.py", 12);
    other = function(f, 0, "train", "/x/train.py", 3);
    sample(f, f->main, load, SD_SAMPLE_GIL, 10, 600);
    sample(f, f->main, function(f, load, "read", "/usr/lib/python3.11/ssl.py", 1166),
           SD_SAMPLE_GIL, 20, 300);
    sample(f, f->main, other, SD_SAMPLE_GIL, 30, 100);
}

TEST(findings_begin_with_the_function_of_the_program_that_takes_most_time)
{
    const struct sd_profile_finding *hot;
    struct found f;

    record_functions(&f);
    find(&f);
    hot = finding(&f, "hottest_function");
    CHECK(says(&f, "hottest_function",
               "60.0 % of the time is in load_batch (data.py:12)"));
    CHECK(hot->value.kind == SD_CELL_PERCENT && hot->value.real > 59.99 &&
          hot->value.real < 60.01);
    CHECK(strcmp(hot->view, "functions") == 0 &&
          strcmp(hot->selection.search, "^load_batch$") == 0 && !hot->selection.thread);
    CHECK(says(&f, "libraries",
               "30.0 % of the time is in functions of libraries, most of it in read "
               "(ssl.py:1166)"));
    CHECK(!finding(&f, "waiting") && !finding(&f, "gil_held") &&
          !finding(&f, "few_samples"));
    end(&f);
}

TEST(findings_name_where_the_main_thread_waits_and_not_that_workers_do)
{
    const struct sd_profile_finding *one;
    struct found f;
    uint32_t fetch;

    begin(&f);
    fetch = function(&f, 0, "fetch", "/x/net.py", 30);
    sample(&f, f.main, fetch, 0, 10, 300);
    sample(&f, f.main,
           function(&f, fetch, "wait", "/usr/lib/python3.11/threading.py", 5),
           SD_SAMPLE_IDLE, 20, 100);
    sample(&f, f.worker, function(&f, 0, "work", "/x/net.py", 50), SD_SAMPLE_IDLE, 20,
           4000);
    find(&f);
    one = finding(&f, "waiting");
    CHECK(says(&f, "waiting",
               "The main thread waits 25.0 % of the time, most of it in fetch "
               "(net.py:30)"));
    CHECK(strcmp(one->view, "threads") == 0 &&
          strcmp(one->selection.thread, "7/7") == 0);
    end(&f);
}

/* 10 ms each: the lock is held 900 of 1000 ms, and the worker waits half of its time.
 */
TEST(findings_say_who_waits_for_the_lock_and_that_it_is_held_all_the_time)
{
    struct found f;
    uint32_t stack;

    begin(&f);
    stack = function(&f, 0, "f", "/x/a.py", 1);
    sample(&f, f.main, stack, SD_SAMPLE_GIL, 10, 60);
    sample(&f, f.main, stack, 0, 10, 40);
    sample(&f, f.worker, stack, SD_SAMPLE_GIL, SECOND, 30);
    sample(&f, f.worker, stack, SD_SAMPLE_WAITS_GIL, SECOND, 30);
    find(&f);
    CHECK(says(&f, "gil_wait",
               "Thread worker waits for the interpreter's lock 50.0 % of the time"));
    CHECK(strcmp(finding(&f, "gil_wait")->selection.thread, "7/8") == 0);
    CHECK(says(&f, "gil_held",
               "The interpreter's lock is held 90.0 % of the run: more threads would "
               "not make it faster"));
    CHECK(strcmp(finding(&f, "gil_held")->selection.thread, "7") == 0);
    end(&f);
}

TEST(findings_tell_how_much_of_the_run_is_imports)
{
    const struct sd_profile_finding *one;
    struct found f;
    uint32_t at;

    begin(&f);
    at = function(&f, 0, "<module>", "/x/app.py", 1);
    sample(&f, f.main, at, 0, 10, 300);
    at = function(&f, at, "_find_and_load", "<frozen importlib._bootstrap>", 1022);
    at = function(&f, at, "<module>", "/usr/lib/python3.11/json/__init__.py", 1);
    sample(&f, f.main, at, 0, 20, 100);
    find(&f);
    one = finding(&f, "imports");
    CHECK(says(&f, "imports", "25.0 % of the time is imports, most of it import json"));
    CHECK(strcmp(one->selection.search, "import json") == 0);
    end(&f);
}

/* --- Quality */

TEST(findings_say_first_what_casts_doubt_on_the_others)
{
    struct found f;

    record_functions(&f);
    sample(&f, f.main, 0, SD_SAMPLE_PARTIAL, 40, 100);
    sd_maker_meta(&f.m, "sample.samples", "1100");
    sd_maker_meta(&f.m, "sample.lost", "100");
    sd_maker_meta(&f.m, "sample.missed", "300");
    find(&f);
    CHECK(strcmp(f.all.items[0].rule, "lost_samples") == 0);
    CHECK(says(&f, "lost_samples",
               "8.3 % of the samples could not be read or were lost (100 of 1,200)"));
    CHECK(says(&f, "late_rounds",
               "300 rounds of sampling came too late and were left out, beside 1,100 "
               "samples: choose a lower --rate"));
    CHECK(says(&f, "partial_samples",
               "The newest frames of 9.1 % of the samples could not be read; they end "
               "in [partial]"));
    CHECK(strcmp(finding(&f, "partial_samples")->selection.search, "\\[partial\\]") ==
          0);
    CHECK(finding(&f, "hottest_function") && !finding(&f, "damaged_file"));
    end(&f);
}

TEST(findings_of_few_samples_say_how_far_off_they_may_be)
{
    struct found f;

    begin(&f);
    sample(&f, f.main, function(&f, 0, "f", "/x/a.py", 1), 0, 10, 49);
    find(&f);
    CHECK(says(&f, "few_samples",
               "There are only 49 samples: shares may be off by 14 %"));
    CHECK(finding(&f, "few_samples")->value.number == 49);
    end(&f);
}

TEST(findings_of_a_busy_machine_point_at_shares_of_cpu_time)
{
    struct found f;

    record_functions(&f);
    sd_maker_meta(&f.m, "sample.ran_ns", "500");
    sd_maker_meta(&f.m, "sample.queued_ns", "500");
    find(&f);
    CHECK(strstr(finding(&f, "busy_machine")->text, "had a CPU 50 % of the time"));
    CHECK(strcmp(finding(&f, "busy_machine")->selection.metric, "cpu") == 0);
    end(&f);
}

TEST(findings_of_a_cut_capture_begin_with_what_is_missing)
{
    struct sd_profile_findings all;
    struct sd_arena arena = { 0 };
    const struct sd_view_request r = { .is_tree = false };
    struct found f;
    struct sd_profile *p;

    record_functions(&f);
    sd_maker_end(&f.m, 0);
    f.m.file.n -= sizeof(struct sd_end) / 2; /* the end of the file is cut off */
    p = sd_maker_load(&f.m, NULL);
    CHECK(p->complaint && sd_findings_make(p, &r, &arena, &all) == 0);
    CHECK(strcmp(all.items[0].rule, "damaged_file") == 0 &&
          strstr(all.items[0].text, p->complaint) && !all.items[0].view);
    sd_arena_release(&arena);
    sd_profile_free(p);
    sd_maker_release(&f.m);
}

/* --- Memory and sections */

/* Readings of resident memory, a tenth of a second apart. */
static void read_memory(struct found *f, const int64_t *mib, size_t n)
{
    uint32_t rss = sd_maker_metric(&f->m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    uint32_t shape = sd_maker_shape(&f->m, &rss, 1);

    for (size_t i = 0; i < n; i++) {
        int64_t bytes = mib[i] * MIB;

        sd_maker_point(&f->m, f->process, shape, i * (SECOND / 10), &bytes, 1);
    }
}

TEST(findings_tell_memory_that_only_grows_from_memory_that_comes_and_goes)
{
    int64_t mib[32];
    struct found f;

    begin(&f);
    for (int i = 0; i < 32; i++)
        mib[i] = i < 4 ? 10 * i : 40 + 2 * i;
    read_memory(&f, mib, 32);
    find(&f);
    CHECK(says(&f, "growing_memory",
               "Memory only grows: from 48.0 MiB after the start to 96.0 MiB at the "
               "end"));
    CHECK(finding(&f, "growing_memory")->value.number == 48 * MIB);
    CHECK(says(&f, "peak_memory", "Memory peaks at 102.0 MiB"));
    end(&f);
    begin(&f);
    mib[20] = 30; /* it was given back once */
    read_memory(&f, mib, 32);
    find(&f);
    CHECK(!finding(&f, "growing_memory"));
    end(&f);
    begin(&f);
    for (int i = 0; i < 32; i++)
        mib[i] = i < 16 ? 50 : 200; /* one step */
    read_memory(&f, mib, 32);
    find(&f);
    CHECK(!finding(&f, "growing_memory") && finding(&f, "peak_memory"));
    end(&f);
}

static void record_sections(struct found *f, int64_t other_mib)
{
    uint32_t peak = sd_maker_metric(&f->m, "peak_rss", SD_UNIT_BYTES, SD_ADDS_PEAK);
    uint32_t shape = sd_maker_shape(&f->m, &peak, 1);
    uint32_t train = sd_maker_site(&f->m, 0, "train");
    uint32_t step = sd_maker_site(&f->m, train, "step");
    int64_t most = 412 * MIB, other = other_mib * MIB;

    sd_maker_span_with(&f->m, train, f->main, 0, 900, shape, &most, 1, 0);
    sd_maker_span_with(&f->m, step, f->main, 10, 20, shape, &most, 1, 0);
    sd_maker_span_with(&f->m, sd_maker_site(&f->m, 0, "load"), f->main, 900, 1000,
                       shape, &other, 1, 0);
}

TEST(findings_name_the_section_in_which_memory_peaks)
{
    struct found f;

    begin(&f);
    record_sections(&f, 100);
    find(&f);
    CHECK(says(&f, "section_peak", "Memory peaks at 412.0 MiB in section train:step"));
    CHECK(strcmp(finding(&f, "section_peak")->selection.section, "train:step") == 0);
    CHECK(says(&f, "longest_section", "Section train is open for 90.0 % of the run"));
    end(&f);
    begin(&f);
    record_sections(&f, 412); /* it may have been before either */
    find(&f);
    CHECK(!finding(&f, "section_peak"));
    end(&f);
}

/* --- Lines */

TEST(findings_name_the_hottest_counted_line)
{
    struct sd_line_total one = { .line = 7 };
    struct sd_site site = { .name = "f", .file = "/x/app.py", .line = 5 };
    struct sd_profile p = { .sites = &site, .n_sites = 1 };
    const struct sd_view_request r = { .is_tree = false };
    struct sd_arena arena = { 0 };
    struct sd_profile_findings all;

    one.values[SD_LINE_HITS] = 3;
    one.values[SD_LINE_TIME] = 750;
    CHECK(sd_line_totals_add(&p.evidence[SD_LINES].lines, &one) == 0);
    one.line = 8;
    one.values[SD_LINE_TIME] = 250;
    CHECK(sd_line_totals_add(&p.evidence[SD_LINES].lines, &one) == 0);
    CHECK(sd_findings_make(&p, &r, &arena, &all) == 0 && all.n == 1);
    CHECK(strcmp(all.items[0].text,
                 "75.0 % of the time of counted lines is in app.py:7") == 0);
    CHECK(strcmp(all.items[0].view, "source") == 0);
    sd_arena_release(&arena);
    sd_line_totals_release(&p.evidence[SD_LINES].lines);
}

/* --- The table */

TEST(findings_are_a_table_whose_selection_is_options_of_report)
{
    const struct sd_view_request r = { .views = "findings" };
    struct sd_view v = { 0 };
    struct found f;

    record_functions(&f);
    find(&f);
    CHECK(sd_views_make(f.p, &r, &v) == 0 && v.n_tables == 1);
    CHECK(strcmp(sd_view_cell(&v.tables[0], 0, 0)->text, "hottest_function") == 0);
    CHECK(strcmp(sd_view_cell(&v.tables[0], 0, 5)->text, "--match '^load_batch$'") ==
          0);
    CHECK(strcmp(sd_view_cell(&v.tables[0], 0, 3)->text, "percent") == 0);
    sd_view_release(&v);
    end(&f);
}

TEST(findings_name_views_that_there_are)
{
    struct found f;

    record_functions(&f);
    record_sections(&f, 100);
    sd_maker_meta(&f.m, "sample.samples", "1000");
    sd_maker_meta(&f.m, "sample.lost", "100");
    find(&f);
    CHECK(f.all.n >= 3 && f.all.n <= SD_FINDINGS_MAX);
    for (size_t i = 0; i < f.all.n; i++)
        CHECK(sd_view_named(SD_OF_PROFILE, f.all.items[i].view,
                            strlen(f.all.items[i].view)));
    end(&f);
}

TEST(findings_survive_every_failed_allocation)
{
    const struct sd_view_request r = { .views = "findings" };
    struct found f;

    record_functions(&f);
    record_sections(&f, 100);
    find(&f);
    EACH_FAILURE(nth)
    {
        struct sd_view v = { 0 };
        int rc = sd_views_make(f.p, &r, &v);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_view_release(&v);
    }
    end(&f);
}
