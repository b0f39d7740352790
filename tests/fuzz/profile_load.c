/* SPDX-License-Identifier: MIT */
/* profile_load: any bytes through the reader into a profile, and from there into every
 * table, every format and a merge.  Ids, counts, times and names are all the fuzzer's.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/analyse.h"
#include "analyse/stacks/call_counts.h"
#include "base/encoding/json.h"
#include "base/file.h"
#include "base/matcher_testing.h"
#include "base/mem.h"
#include "outputs/outputs.h"
#include "profile/alloc/alloc_counts.h"
#include "profile/alloc/alloc_history.h"
#include "profile/alloc/alloc_lifetimes.h"
#include "profile/profile.h"
#include "report/report.h"

/* Every view, as some of the options ask for them. */
static void make_views(const struct sd_profile *p, struct sd_view *v)
{
    const struct sd_view_request requests[] = {
        { .stacks.by = SD_CALLS_BY_LINE, .has_thread_boxes = true, .metric = "rss" },
        { .stacks = { .choice = { .has_idle = true, .metric = "wall" },
                      .by = SD_CALLS_BY_LINE },
          .least_percent = 1,
          .metric = "cpu",
          .match = SD_MATCHER("a"),
          .is_tree = true },
        { .stacks = { .choice.evidence = &sd_evidence[SD_CALLS], .is_raw = true },
          .least_percent = 1,
          .metric = "read" },
        { .stacks = { .choice = { .evidence = &sd_evidence[SD_CALLS], .is_mine = true },
                      .by = SD_CALLS_BY_MODULE },
          .folds_imports = true,
          .match = SD_MATCHER("a") },
        { .alloc = { SD_WHICH_GROWING, SD_ROWS_BY_STACK } },
        { .alloc = { SD_WHICH_LIVE, SD_ROWS_BY_SIZE } },
        { .alloc = { SD_WHICH_LEAKS, SD_ROWS_BY_ALLOCATOR },
          .stacks.choice.is_mine = true },
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        for (const struct sd_view_about *a = sd_views; a->name; a++) {
            size_t n = v->n_drawings;

            if (a->of_profile && a->of_profile(p, &requests[i], v) < 0)
                v->n_drawings = n; /* it is not whole */
        }
}

static void traced_stats(const struct sd_profile *p)
{
    const struct sd_stacks_request plain = { .choice.evidence = &sd_evidence[SD_CALLS],
                                             .is_raw = true };
    struct sd_call_stats stats;

    sd_call_stats_init(&stats);
    sd_call_counts_stats(p, &plain, &stats);
    sd_call_stats_release(&stats);
}

/* Formats read the events again from the file that the profile was loaded from.  What
 * they write goes nowhere: one record may say that it stands for thousands. */
static void write_formats(const struct sd_profile *p, const char *path, int nowhere)
{
    const struct sd_stack_style style = { .has_idle = true,
                                          .has_threads = true,
                                          .has_processes = true };

    struct sd_output_job job = { .from = path, .to = "-", .profile = p };

    for (size_t i = 0; sd_outputs[i]; i++) {
        struct sd_out out;

        if (!sd_outputs[i]->folds_paths && !sd_outputs[i]->has_tables &&
            !sd_outputs[i]->is_page)
            continue;
        sd_out_to_fd(&out, nowhere);
        job.style = NULL;
        sd_outputs[i]->write(&job, &out);
        job.style = &style;
        sd_outputs[i]->write(&job, &out);
        sd_out_release(&out);
    }
}

/* Every allocation of the file, and what is made of them. */
static void read_history(const char *path)
{
    struct sd_alloc_place_count *lines = NULL;
    struct sd_alloc_lifetimes lifetimes = { 0 };
    struct sd_alloc_counts counts = { 0 };
    struct sd_alloc_history *h;
    size_t n_lines;

    if (sd_alloc_history_open(path, 0, 1, &h) == 0)
        sd_alloc_lifetimes_read(&lifetimes, h, false, 2);
    sd_alloc_history_free(h);
    if (sd_alloc_history_open(path, 0, 0, &h) == 0 &&
        sd_alloc_counts_read(&counts, h) == 0)
        sd_alloc_counts_lines(&counts, h, &lines, &n_lines);
    sd_alloc_history_free(h);
    sd_alloc_lifetimes_release(&lifetimes);
    sd_alloc_counts_release(&counts);
    sd_free(lines);
}

static void write_all(const struct sd_profile *p, const uint8_t *data, size_t n)
{
    int fd = memfd_create("fuzz", 0), nowhere = open("/dev/null", O_WRONLY);
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && nowhere >= 0 && sd_write_all(fd, data, n) == 0)
        write_formats(p, path, nowhere);
    if (fd >= 0)
        read_history(path);
    close(fd);
    close(nowhere);
}

static void print_tables(const struct sd_profile *p)
{
    const struct sd_text_style style = { .width = 80 };
    struct sd_view v = { 0 };
    struct sd_out out;
    struct sd_json j;

    make_views(p, &v);
    traced_stats(p);
    sd_out_to_memory(&out);
    sd_json_init(&j, &out, false);
    sd_json_object(&j);
    for (size_t i = 0; i < v.n_tables; i++) {
        sd_view_table_sort(&v, &v.tables[i], "wall", i % 2 ? 3 : 0);
        sd_report_table_json(&j, &v.tables[i]);
    }
    for (size_t i = 0; i < v.n_drawings; i++) {
        sd_report_drawing_json(&j, &v.drawings[i]);
        if (i == 0 && v.drawings[i].shape == SD_SHAPE_FLAME)
            sd_report_flame(&out, &v.drawings[i].flame, 800);
    }
    sd_json_end(&j);
    for (size_t i = 0; i < v.n_tables; i++) {
        sd_report_table_text(&out, &v.tables[i], &style);
        sd_report_table_csv(&out, &v.tables[i]);
    }
    sd_out_release(&out);
    sd_view_release(&v);
}

static struct sd_profile *load(const uint8_t *data, size_t n,
                               const struct sd_filter *filter)
{
    struct sd_profile *p = NULL;
    struct sd_reader *r = NULL;

    if (sd_reader_open_bytes(data, n, &r) == 0)
        sd_profile_load_reader(r, filter, &p);
    sd_reader_free(r);
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct sd_filter filter = { .section = "a",
                                      .match = SD_MATCHER("a|b"),
                                      .to_ns = 1000 };
    const struct sd_filter of_allocations = { .alloc = { .has_at = true,
                                                         .at_ns = 1000000,
                                                         .has_sizes = true,
                                                         .has_growth = true,
                                                         .has_between = true,
                                                         .n_between = 3 } };
    struct sd_profile *p = load(data, n, NULL), *q;

    if (!p)
        return 0;
    print_tables(p);
    write_all(p, data, n);
    q = load(data, n, NULL);
    if (q && sd_profile_merge(p, q) == 0)
        print_tables(p);
    sd_profile_free(q);
    if (sd_profile_drop_signatures(p) == 0)
        print_tables(p);
    sd_profile_free(load(data, n, &filter));
    sd_profile_free(p);
    p = load(data, n, &of_allocations);
    if (p)
        print_tables(p);
    sd_profile_free(p);
    return 0;
}
