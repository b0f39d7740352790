/* SPDX-License-Identifier: MIT */
/* profile_load: any bytes through the reader into a profile, and from there into every
 * table and a merge.  Ids, counts, times and names are all the fuzzer's. */
#include <stddef.h>
#include <stdint.h>

#include "analyse/analyse.h"
#include "base/json.h"
#include "profile/profile.h"
#include "report/report.h"

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
    const struct sd_filter filter = { .section = "a", .match = "a|b", .to_ns = 1000 };
    struct sd_profile *p = load(data, n, NULL), *q;

    if (!p)
        return 0;
    print_tables(p);
    make_curves(p);
    q = load(data, n, NULL);
    if (q && sd_profile_merge(p, q) == 0)
        print_tables(p);
    sd_profile_free(q);
    sd_profile_free(load(data, n, &filter));
    sd_profile_free(p);
    return 0;
}
