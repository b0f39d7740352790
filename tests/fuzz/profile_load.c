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
#include "analyse/growth/scaling.h"
#include "analyse/traced.h"
#include "base/file.h"
#include "base/encoding/json.h"
#include "base/matcher_testing.h"
#include "formats/format.h"
#include "profile/profile.h"
#include "report/report.h"

static void sample_tables(const struct sd_profile *p, struct sd_view *v)
{
    const struct sd_sample_choice plain = { 0 };
    const struct sd_sample_choice all = { .has_idle = true, .metric = "wall" };

    sd_analyse_functions(p, &all, v);
    sd_analyse_lines(p, &plain, v);
    sd_analyse_call_tree(p, &all, SD_CALLS_BY_LINE, 1, v);
    sd_analyse_calls(p, &plain, SD_CALLERS, SD_MATCHER("a"), v);
    sd_analyse_calls(p, &all, SD_CALLEES, NULL, v);
    sd_analyse_threads(p, v);
}

static void traced_tables(const struct sd_profile *p, struct sd_view *v)
{
    const struct sd_traced_wish plain = { .is_raw = true };
    const struct sd_traced_wish folded = { .choice.is_mine = true,
                                           .by = SD_CALLS_BY_MODULE };
    const struct sd_traced_wish modules = { .by = SD_CALLS_BY_MODULE };
    struct sd_call_stats stats;

    sd_traced_functions(p, &plain, v);
    sd_traced_functions(p, &modules, v);
    sd_traced_calls(p, &modules, SD_CALLEES, NULL, v);
    sd_traced_functions(p, &folded, v);
    sd_traced_tree(p, &plain, 1, v);
    sd_traced_calls(p, &folded, SD_CALLERS, SD_MATCHER("a"), v);
    sd_traced_imports(p, &plain, v);
    sd_scaling_tables(p, &plain, SD_SCALING_FUNCTIONS, v);
    sd_traced_threads(p, v);
    sd_call_stats_init(&stats);
    sd_traced_stats(p, &plain, &stats);
    sd_call_stats_release(&stats);
}

static void draw_flames(const struct sd_profile *p, struct sd_out *out)
{
    const struct sd_flame_wish wish = { .has_threads = true, .by = SD_CALLS_BY_LINE };
    struct sd_arena arena = { 0 };
    struct sd_view_flame flame = { 0 };

    if (sd_analyse_flame(p, &wish, &arena, &flame) == 0)
        sd_report_flame(out, &flame, 800);
    sd_arena_release(&arena);
}

/* Formats read the events again from the file that the profile was loaded from.  What
 * they write goes nowhere: one record may say that it stands for thousands. */
static void write_formats(const struct sd_profile *p, const char *path, int nowhere)
{
    const struct sd_stack_style style = { .has_idle = true,
                                          .has_threads = true,
                                          .has_processes = true };

    for (size_t i = 0; sd_formats[i]; i++) {
        struct sd_out out;

        sd_out_to_fd(&out, nowhere);
        sd_format_write(sd_formats[i], p, path, NULL, NULL, &out);
        if (sd_formats[i]->write_stacks)
            sd_formats[i]->write_stacks(p, path, NULL, &style, &out);
        sd_out_release(&out);
    }
}

static void write_all(const struct sd_profile *p, const uint8_t *data, size_t n)
{
    int fd = memfd_create("fuzz", 0), nowhere = open("/dev/null", O_WRONLY);
    struct sd_out out;
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && nowhere >= 0 && sd_write_all(fd, data, n) == 0)
        write_formats(p, path, nowhere);
    sd_out_to_fd(&out, nowhere);
    draw_flames(p, &out);
    sd_out_release(&out);
    close(fd);
    close(nowhere);
}

static void print_tables(const struct sd_profile *p)
{
    const struct sd_text_style style = { .width = 80 };
    struct sd_view v = { 0 };
    struct sd_out out;
    struct sd_json j;

    sd_analyse_sections(p, &v);
    sd_analyse_section_tree(p, &v);
    sd_analyse_processes(p, &v);
    sd_analyse_series(p, &v);
    sample_tables(p, &v);
    traced_tables(p, &v);
    sd_out_to_memory(&out);
    sd_json_init(&j, &out, false);
    sd_json_object(&j);
    for (size_t i = 0; i < v.n_tables; i++) {
        sd_view_table_sort(&v, &v.tables[i], "wall", i % 2 ? 3 : 0);
        sd_report_table_json(&j, &v.tables[i]);
    }
    sd_json_end(&j);
    for (size_t i = 0; i < v.n_tables; i++) {
        sd_report_table_text(&out, &v.tables[i], &style);
        sd_report_table_csv(&out, &v.tables[i]);
    }
    sd_out_release(&out);
    sd_view_release(&v);
}

static void make_curves(const struct sd_profile *p)
{
    static const char *const metrics[] = { "rss", "cpu", "read" };

    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        struct sd_arena arena = { 0 };
        struct sd_view_series series;

        sd_analyse_curves(p, metrics[i], &arena, &series);
        sd_arena_release(&arena);
    }
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
    struct sd_profile *p = load(data, n, NULL), *q;

    if (!p)
        return 0;
    print_tables(p);
    make_curves(p);
    write_all(p, data, n);
    q = load(data, n, NULL);
    if (q && sd_profile_merge(p, q) == 0)
        print_tables(p);
    sd_profile_free(q);
    if (sd_profile_drop_signatures(p) == 0)
        print_tables(p);
    sd_profile_free(load(data, n, &filter));
    sd_profile_free(p);
    return 0;
}
