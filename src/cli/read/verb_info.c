/* SPDX-License-Identifier: MIT */
/* verb_info: the verb `info`: whether a capture is complete, what it recorded, and how
 * that ended. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyse/stacks/call_counts.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "base/sum.h"
#include "base/text.h"
#include "capture/capture.h"
#include "cli/model/measured_machine.h"
#include "cli/read/command_captures.h"
#include "cli/say.h"
#include "outputs/tables.h"
#include "profile/losses.h"

enum { OPT_JSON, OPT_MACHINE, OPT_FRESH };
enum { PROCESSES_SHOWN = 20 };
static const struct sd_option options[] = {
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object", 0, NULL },
    [OPT_MACHINE] = { "machine", SD_FLAG, NULL,
                      "show the highest speed of this machine: arithmetic and memory "
                      "bandwidth",
                      0, NULL },
    [OPT_FRESH] = { "fresh", SD_FLAG, NULL,
                    "with --machine: measure again, even if it was before", 0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* "exit status 3", "killed by SIGSEGV". */
static void put_status(struct sd_buf *to, int32_t status)
{
    const char *name = status < 0 ? sigabbrev_np(-status) : NULL;

    if (status == SD_STATUS_UNKNOWN)
        sd_buf_text(to, "not known");
    else if (name)
        sd_buf_printf(to, "killed by SIG%s", name);
    else if (status < 0)
        sd_buf_printf(to, "killed by signal %d", -status);
    else
        sd_buf_printf(to, "exit status %d", status);
}

static void put_ending(struct sd_buf *to, const struct sd_health *h)
{
    if (h->is_running && !h->is_ended)
        sd_buf_text(to, "still running, or its last processes are");
    else if (!h->is_ended && h->has_live) /* which a clean end removes */
        sd_buf_text(to, "sonde itself was killed: the program's end is not known");
    else if (!h->is_ended)
        sd_buf_text(to, "not known: the end of the recording is missing");
    else
        put_status(to, h->status);
    if (h->is_ended && h->is_running)
        sd_buf_text(to, "; processes it started are still running");
}

static void put_time(struct sd_buf *to, uint64_t real_ns)
{
    time_t seconds = (time_t)(real_ns / 1000000000u);
    char text[64];
    struct tm tm;

    if (localtime_r(&seconds, &tm) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
        sd_buf_text(to, text);
}

static void put_row(struct sd_out *out, const char *name, const char *value)
{
    struct sd_buf shown = { 0 };

    if (!value)
        return;
    sd_text_escape(&shown, value, strlen(value));
    sd_out_printf(out, "%-11s %s\n", name, sd_made(out, &shown));
    sd_buf_release(&shown);
}

static void put_counts(struct sd_buf *to, const struct sd_health *h)
{
    char events[SD_TEXT_MAX], chunks[SD_TEXT_MAX], part[SD_TEXT_MAX];

    sd_buf_printf(to, "%s in %s chunks", sd_text_count(events, (int64_t)h->events),
                  sd_text_count(chunks, (int64_t)h->chunks));
    if (h->live_events)
        sd_buf_printf(to, ", %s of them from live regions",
                      sd_text_count(part, (int64_t)h->live_events));
    if (h->lost_events)
        sd_buf_printf(to, ", %s lost while recording",
                      sd_text_count(part, (int64_t)h->lost_events));
    if (h->bad_chunks)
        sd_buf_printf(to, ", %s chunks damaged",
                      sd_text_count(part, (int64_t)h->bad_chunks));
    if (h->missing_chunks)
        sd_buf_printf(to, ", %s chunks missing",
                      sd_text_count(part, (int64_t)h->missing_chunks));
}

static void put_size(struct sd_buf *to, const struct sd_health *h)
{
    char file[SD_TEXT_MAX], raw[SD_TEXT_MAX];

    sd_buf_printf(to, "%s, %s uncompressed, format %u.%u",
                  sd_text_bytes(file, (int64_t)h->file_bytes),
                  sd_text_bytes(raw, (int64_t)h->raw_bytes), h->major, h->minor);
}

/* Fills `b` by `put` and prints it as one row. */
#define PUT_MADE(out, name, put, of)                                                   \
    do {                                                                               \
        struct sd_buf made_ = { 0 };                                                   \
        put(&made_, of);                                                               \
        put_row(out, name, sd_made(out, &made_));                                      \
        sd_buf_release(&made_);                                                        \
    } while (0)

/* What could not be booked on a process stands under one of number 0; that is none. */
static bool is_process(const struct sd_track *t)
{
    return t->kind == SD_TRACK_PROCESS && t->number != 0;
}

static void put_processes(struct sd_out *out, const struct sd_profile *p)
{
    struct sd_buf line = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < p->n_tracks; i++) {
        const struct sd_track *t = &p->tracks[i];

        if (!is_process(t) || n++ >= PROCESSES_SHOWN)
            continue;
        sd_buf_clear(&line);
        sd_buf_printf(&line, "%llu %s", (unsigned long long)t->number,
                      t->name ? t->name : "");
        if (t->status != SD_STATUS_UNKNOWN) {
            sd_buf_text(&line, ", ");
            put_status(&line, t->status);
        }
        put_row(out, "process", sd_made(out, &line));
    }
    if (n > PROCESSES_SHOWN) {
        sd_buf_clear(&line);
        sd_buf_printf(&line, "%zu more", n - PROCESSES_SHOWN);
        put_row(out, "", sd_made(out, &line));
    }
    sd_buf_release(&line);
}

/* "44,463 traced; 63.6 us of tracing subtracted".  Of losses those that have no line of
 * their own, as the file and the timeline have. */
static void put_calls(struct sd_buf *to, const struct sd_profile *p)
{
    const struct sd_stack_totals *calls = &p->evidence[SD_CALLS].stacks;
    const unsigned kinds =
        SD_LOSSES_OF_CALLS & ~SD_LOSSES_OF_FILE & ~SD_LOSS_BIT(TIMELINE);
    uint32_t at = sd_totals_metric(p, calls, "calls");
    struct sd_buf remarks = { 0 }, lost = { 0 };
    char number[SD_TEXT_MAX];
    int64_t n = 0;

    for (size_t i = 0; at != UINT32_MAX && i < calls->n; i++)
        n = sd_sum_i64(n, calls->values[at][i]);
    sd_call_counts_remarks(&remarks, p, false);
    sd_losses_put(&lost, p, kinds);
    sd_buf_printf(to, "%s traced%s%s%s%s", sd_text_count(number, n),
                  remarks.n ? "; " : "", sd_buf_string(&remarks), lost.n ? "; " : "",
                  sd_buf_string(&lost));
    to->bad |= remarks.bad | lost.bad;
    sd_buf_release(&remarks);
    sd_buf_release(&lost);
}

/* "44,463 calls; 12 more were lost" */
static void put_timeline(struct sd_buf *to, const struct sd_profile *p)
{
    char calls[SD_TEXT_MAX], lost[SD_TEXT_MAX];

    sd_buf_printf(to, "%s calls", sd_text_count(calls, (int64_t)p->n_timeline_calls));
    if (p->n_timeline_lost)
        sd_buf_printf(to, "; %s more were lost",
                      sd_text_count(lost, (int64_t)p->n_timeline_lost));
}

static void put_models(struct sd_buf *to, const struct sd_profile *p)
{
    sd_buf_printf(to, "%zu: sonde model shows the first", sd_profile_n_models(p));
}

static void put_captures(struct sd_buf *to, const struct sd_profile *p)
{
    sd_buf_printf(to, "%u captures; what follows describes the first or all of them",
                  p->n_captures);
}

static void put_text(struct sd_out *out, const struct sd_profile *p, const char *file)
{
    static const char *const keys[] = { "command", "cwd", "host", "python",
                                        "collectors" };
    char wall[SD_TEXT_MAX];
    struct sd_summary f;

    if (sd_tables_summary(p, &f) < 0)
        out->pending.bad = true; /* said by the flush */
    put_row(out, "file", file);
    if (p->n_captures > 1)
        PUT_MADE(out, "merged of", put_captures, p);
    put_row(out, "whole", p->complaint ? p->complaint : "yes");
    PUT_MADE(out, "ended", put_ending, &p->health);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_row(out, keys[i], sd_profile_meta(p, keys[i]));
    put_row(out, "sonde", sd_profile_meta(p, "sonde.version"));
    PUT_MADE(out, "recorded", put_time, p->health.created_real_ns);
    put_row(out, "lasted", sd_text_duration(wall, (int64_t)f.wall_ns));
    PUT_MADE(out, "events", put_counts, &p->health);
    if (sd_profile_has(p, SD_CALLS))
        PUT_MADE(out, "calls", put_calls, p);
    if (p->n_timeline_calls + p->n_timeline_lost > 0)
        PUT_MADE(out, "timeline", put_timeline, p);
    if (sd_profile_n_models(p) > 0)
        PUT_MADE(out, "models", put_models, p);
    PUT_MADE(out, "size", put_size, &p->health);
    put_processes(out, p);
    for (size_t i = 0; i < p->n_notes; i++)
        put_row(out, "note", p->notes[i].text);
}

static void put_ending_json(struct sd_json *j, const char *key, int32_t status)
{
    sd_json_key(j, key);
    if (status == SD_STATUS_UNKNOWN)
        sd_json_null(j);
    else
        sd_json_int(j, status);
}

static void put_health_json(struct sd_json *j, const struct sd_health *h)
{
    struct sd_buf words = { 0 };

    put_ending(&words, h);
    sd_json_key_bool(j, "ended", h->is_ended);
    sd_json_key_string(j, "ending", sd_made(j->out, &words));
    put_ending_json(j, "status", h->is_ended ? h->status : SD_STATUS_UNKNOWN);
    sd_json_key_bool(j, "running", h->is_running);
    sd_json_key_bool(j, "live", h->has_live);
    sd_json_key_bool(j, "cut", h->is_cut);
    sd_json_key_uint(j, "chunks", h->chunks);
    sd_json_key_uint(j, "events", h->events);
    sd_json_key_uint(j, "live_events", h->live_events);
    sd_json_key_uint(j, "lost", h->lost_events);
    sd_json_key_uint(j, "bad_chunks", h->bad_chunks);
    sd_json_key_uint(j, "bad_bytes", h->bad_bytes);
    sd_json_key_uint(j, "missing_chunks", h->missing_chunks);
    sd_json_key_uint(j, "created_ns", h->created_real_ns);
    sd_json_key_uint(j, "file_bytes", h->file_bytes);
    sd_json_key_uint(j, "raw_bytes", h->raw_bytes);
    sd_buf_release(&words);
}

static void put_processes_json(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "processes");
    for (size_t i = 0; i < p->n_tracks; i++) {
        const struct sd_track *t = &p->tracks[i];

        if (!is_process(t))
            continue;
        sd_json_object(j);
        sd_json_key_uint(j, "pid", t->number);
        sd_json_key_string(j, "name", t->name);
        put_ending_json(j, "status", t->status);
        sd_json_key_uint(j, "from_ns", t->first_ns);
        sd_json_key_uint(j, "to_ns", t->last_ns);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_json(struct sd_out *out, const struct sd_profile *p, const char *file)
{
    struct sd_summary f;
    struct sd_json j;

    if (sd_tables_summary(p, &f) < 0)
        out->pending.bad = true; /* said by the flush */
    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_string(&j, "file", file);
    sd_json_key_bool(&j, "whole", p->complaint == NULL);
    sd_json_key_string(&j, "complaint", p->complaint);
    sd_tables_put_losses_json(&j, p);
    put_health_json(&j, &p->health);
    sd_json_key_uint(&j, "wall_ns", f.wall_ns);
    sd_json_key(&j, "cpu_ns");
    if (f.has_cpu)
        sd_json_uint(&j, f.cpu_ns);
    else
        sd_json_null(&j);
    sd_json_key_bool(&j, "cpu_is_least", f.is_cpu_least);
    if (p->n_timeline_calls + p->n_timeline_lost > 0) {
        sd_json_key_uint(&j, "timeline_calls", p->n_timeline_calls);
        sd_json_key_uint(&j, "timeline_lost", p->n_timeline_lost);
    }
    if (sd_profile_n_models(p) > 0)
        sd_json_key_uint(&j, "models", sd_profile_n_models(p));
    sd_json_key_object(&j, "meta");
    for (size_t i = 0; i < p->n_metas; i++) {
        sd_json_key_string(&j, p->metas[i].key, p->metas[i].value);
    }
    sd_json_end(&j);
    put_processes_json(&j, p);
    sd_json_key_array(&j, "notes");
    for (size_t i = 0; i < p->n_notes; i++)
        sd_json_string(&j, p->notes[i].text);
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

static int run(const struct sd_command *c)
{
    struct sd_profile *p = NULL;
    struct sd_out out;
    int rc;

    if (c->values[OPT_MACHINE].number && c->n_words == 0)
        return sd_measured_machine_info(c, c->values[OPT_FRESH].number,
                                        c->values[OPT_JSON].number);
    if (c->n_words != 1 || c->values[OPT_MACHINE].number)
        return sd_say_failure(
            sd_fail(SD_EUSAGE, "info needs one capture (sonde info train.sonde), or "
                               "--machine alone"));
    rc = sd_load_one(c, c->words[0], &p);
    if (rc < 0)
        return sd_say_failure(rc);
    sd_out_to_fd(&out, STDOUT_FILENO);
    if (c->values[OPT_JSON].number)
        put_json(&out, p, c->words[0]);
    else
        put_text(&out, p, c->words[0]);
    sd_profile_free(p);
    return sd_finish_stdout(&out, 0);
}

const struct sd_verb sd_verb_info = {
    .name = "info",
    .group = SD_GROUP_READ,
    .summary = "says what a capture holds, whether it is whole, and how the program "
               "ended",
    .usage = "[--json] FILE | --machine [--fresh] [--json]",
    .about = "Prints what a capture is: the command, host and collectors, when and how "
             "long it was recorded, how the program ended, and whether anything of the "
             "recording is missing. Works on a capture that is still being written or "
             "whose writer was killed.\n\nWith --machine: the highest speed of this "
             "machine, measured once and kept in the cache folder (XDG_CACHE_HOME): "
             "operations a second for each type of number with the widest instructions "
             "of the processor, bytes a second from each level of memory, of one core "
             "and of all. sonde model compares run times with it.",
    .examples = "sonde info train.sonde\n"
                "sonde info train.sonde --json | jq .status\n"
                "sonde info --machine\n",
    .options = options,
    .run = run,
};
