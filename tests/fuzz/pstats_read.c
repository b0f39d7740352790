/* SPDX-License-Identifier: MIT */
/* pstats files: whatever the bytes say, reading ends within memory bounded by them, and
 * what was read can be written, read again, stripped and printed. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/pstats.h"
#include "report/text/pstats_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_writing(const struct sd_call_stats *s)
{
    struct sd_call_stats again;
    struct sd_out out;

    sd_call_stats_init(&again);
    sd_out_to_memory(&out);
    if (sd_call_stats_write_pstats(s, &out) < 0 ||
        sd_pstats_read(out.pending.p, out.pending.n, &again) < 0 ||
        again.n_listed != s->n_listed || again.n_edges != s->n_edges)
        abort();
    sd_out_release(&out);
    sd_call_stats_release(&again);
}

static void check_printing(const struct sd_call_stats *s, enum sd_pstats_table table)
{
    static const char *const words[] = { "cumulative", "stdname" };
    struct sd_pstats_order order;
    struct sd_pstats_view view = { .table = table, .order = &order };
    struct sd_out out;

    sd_out_to_memory(&out);
    if (sd_pstats_sort(s, words, 2, &order, NULL) < 0 ||
        sd_report_pstats(s, &view, &out) < 0)
        abort();
    sd_pstats_order_release(&order);
    sd_out_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sd_call_stats s;

    sd_call_stats_init(&s);
    if (sd_pstats_read(data, size, &s) == 0) {
        if (s.n_edges > size || s.n_functions > size)
            abort();
        check_writing(&s);
        check_printing(&s, SD_PSTATS_STATS);
        check_printing(&s, SD_PSTATS_CALLERS);
        check_printing(&s, SD_PSTATS_CALLEES);
        if (sd_call_stats_strip_dirs(&s) == 0)
            check_writing(&s);
    }
    sd_call_stats_release(&s);
    return 0;
}
