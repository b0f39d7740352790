/* SPDX-License-Identifier: MIT */
#include "cli/traced.h"

#include "analyse/processes.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/say.h"
#include "formats/pstats.h"

static int put_table(const struct sd_profile *p, const struct sd_traced_tables *wish,
                     struct sd_out *out)
{
    struct sd_call_wish calls = wish->calls;
    struct sd_call_stats stats;
    int rc;

    calls.is_cpu = wish->traced.is_cpu;
    sd_call_stats_init(&stats);
    rc = sd_traced_stats(p, &wish->traced, &stats);
    if (rc == 0)
        rc = sd_call_tables(&stats, &calls, out);
    sd_call_stats_release(&stats);
    return rc;
}

/* "Thread 1234 MainThread, process 1230 python:" */
static void put_heading(const struct sd_profile *p, uint32_t track, struct sd_out *out)
{
    const struct sd_track *t = &p->tracks[track];
    uint32_t process = sd_profile_process_of(p, (sd_track_id){ track }).at;
    struct sd_arena arena = { 0 };
    const char *label =
        process == UINT32_MAX ? NULL : sd_process_label(p, process, &arena);
    struct sd_buf name = { 0 };

    if (t->name)
        sd_text_escape(&name, t->name, strlen(t->name));
    sd_out_printf(out, "Thread %llu%s%s", (unsigned long long)t->number,
                  name.n ? " " : "", sd_buf_string(&name));
    if (label)
        sd_out_printf(out, ", process %s", label);
    sd_out_text(out, ":\n\n");
    sd_buf_release(&name);
    sd_arena_release(&arena);
}

static int put_threads(const struct sd_profile *p, const struct sd_traced_tables *wish,
                       struct sd_out *out)
{
    struct sd_traced_tables one = *wish;
    bool *is_traced = sd_zalloc(p->n_tracks + 1);
    int rc = is_traced ? 0 : sd_no_memory();

    for (size_t i = 0; i < p->calls.n && rc == 0; i++)
        is_traced[p->calls.items[i].track.at] = true;
    one.traced.choice.has_track = true;
    for (uint32_t i = 0; i < p->n_tracks && rc == 0; i++) {
        if (!is_traced[i])
            continue;
        one.traced.choice.track.at = i;
        if (wish->calls.form == SD_CALL_TEXT)
            put_heading(p, i, out);
        rc = put_table(p, &one, out);
    }
    sd_free(is_traced);
    return rc;
}

int sd_traced_put(const struct sd_profile *p, const struct sd_traced_tables *wish,
                  struct sd_out *out)
{
    return wish->has_threads ? put_threads(p, wish, out) : put_table(p, wish, out);
}

int sd_traced_put_pstats(const struct sd_profile *p, const struct sd_traced_wish *wish,
                         struct sd_out *out)
{
    struct sd_call_stats stats;
    int rc;

    sd_call_stats_init(&stats);
    rc = sd_traced_stats(p, wish, &stats);
    if (rc == 0)
        rc = sd_call_stats_write_pstats(&stats, out);
    sd_call_stats_release(&stats);
    return rc;
}

void sd_traced_say(const struct sd_profile *p, const struct sd_traced_wish *wish)
{
    struct sd_buf remarks = { 0 };

    if (wish->is_cpu)
        sd_say("times are CPU time; sonde report without --cpu shows the clock's");
    sd_traced_remarks(&remarks, p, wish->is_raw);
    if (remarks.n > 0 && !remarks.bad)
        sd_say("%s", sd_buf_string(&remarks));
    sd_buf_release(&remarks);
}
