/* SPDX-License-Identifier: MIT */
#include "outputs/pstats_tables.h"

#include "analyse/stacks/threads.h"
#include "base/error.h"
#include "base/mem.h"
#include "formats/pstats.h"
#include "outputs/remarks.h"

static int put_table(const struct sd_profile *p, const struct sd_stacks_request *traced,
                     const struct sd_call_request *calls, struct sd_out *out)
{
    struct sd_call_request request = *calls;
    struct sd_call_stats stats;
    int rc;

    request.is_cpu = traced->is_cpu;
    sd_call_stats_init(&stats);
    rc = sd_call_counts_stats(p, traced, &stats);
    if (rc == 0)
        rc = sd_call_report_write(&stats, &request, out);
    sd_call_stats_release(&stats);
    return rc;
}

/* "Thread 1234 MainThread, process 1230 python:" */
static void put_heading(const struct sd_profile *p, uint32_t track, struct sd_out *out)
{
    struct sd_buf words = { 0 };

    sd_thread_words(&words, p, track);
    sd_out_printf(out, "T%s:\n\n", words.n ? sd_buf_string(&words) + 1 : "hread");
    sd_buf_release(&words);
}

static int put_threads(const struct sd_profile *p,
                       const struct sd_stacks_request *traced,
                       const struct sd_call_request *request, struct sd_out *out)
{
    const struct sd_stack_totals *calls = &p->evidence[SD_CALLS].stacks;
    struct sd_stacks_request one = *traced;
    bool *is_traced = sd_zalloc(p->n_tracks + 1);
    int rc = is_traced ? 0 : sd_no_memory();

    for (size_t i = 0; i < calls->n && rc == 0; i++)
        is_traced[calls->items[i].track.at] = true;
    one.choice.has_track = true;
    for (uint32_t i = 0; i < p->n_tracks && rc == 0; i++) {
        if (!is_traced[i])
            continue;
        one.choice.track.at = i;
        if (request->form == SD_TABLE_TEXT)
            put_heading(p, i, out);
        rc = put_table(p, &one, request, out);
    }
    sd_free(is_traced);
    return rc;
}

int sd_pstats_tables_put(const struct sd_profile *p, const struct sd_view_request *r,
                         const struct sd_call_request *calls, struct sd_out *out)
{
    return r->has_threads ? put_threads(p, &r->stacks, calls, out)
                          : put_table(p, &r->stacks, calls, out);
}

int sd_pstats_tables_put_file(const struct sd_profile *p,
                              const struct sd_stacks_request *request,
                              struct sd_out *out)
{
    struct sd_call_stats stats;
    int rc;

    sd_call_stats_init(&stats);
    rc = sd_call_counts_stats(p, request, &stats);
    if (rc == 0)
        rc = sd_call_stats_write_pstats(&stats, out);
    sd_call_stats_release(&stats);
    return rc;
}

void sd_pstats_tables_remark(const struct sd_profile *p,
                             const struct sd_stacks_request *request,
                             const struct sd_remarks *to)
{
    struct sd_buf remarks = { 0 };

    if (request->is_cpu)
        sd_remark(to, "times are CPU time; sonde report without --cpu shows wall-clock "
                      "time");
    sd_call_counts_remarks(&remarks, p, request->is_raw);
    if (remarks.n > 0 && !remarks.bad)
        sd_remark(to, "%s", sd_buf_string(&remarks));
    sd_buf_release(&remarks);
}
