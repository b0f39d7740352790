/* SPDX-License-Identifier: MIT */
/* pprof: writes totals of stacks as google/pprof's profile.proto, compressed with gzip.
 *
 * A location is a frame as the style shows it, a function a site.  Every metric that
 * samples carry is a sample type.  What `go tool pprof` taught: Function.system_name
 * stays empty, or its demangler eats "<listcomp>"; the mapping says that it has names
 * already, or pprof looks for a binary; labels are texts, as a number 0 vanishes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding/gzip.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/format_frames.h"
#include "formats/output.h"
#include "profile/alloc/alloc_evidence.h"
#include "formats/protobuf.h"

enum { NONE = UINT32_MAX };

/* Fields of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
};

struct writer {
    const struct sd_profile *p;
    const struct sd_stack_style *style;
    enum sd_evidence evidence;
    const struct sd_stack_totals *totals;
    struct sd_frames frames;
    struct sd_arena arena;
    struct sd_intern strings; /* the string table */
    struct sd_gzip *gzip;     /* owned */
    struct sd_buf top, message, inner;
    bool is_bad; /* a string was lost */
};

/* What is in `top` goes out; called after each message, so that it stays small. */
static void send(struct writer *w)
{
    sd_gzip_write(w->gzip, w->top.p, w->top.n);
    w->is_bad |= w->top.bad || w->message.bad || w->inner.bad;
    sd_buf_clear(&w->top);
}

static uint64_t text(struct writer *w, const char *s)
{
    uint32_t id = 0;

    if (s && sd_intern(&w->strings, s, strlen(s), &id) < 0)
        w->is_bad = true;
    return id;
}

/* --- Parts of the profile */

/* Programs know amounts of memory by the names that Go gave them. */
static const char *name_of(const struct writer *w, const char *metric)
{
    const char *name =
        w->evidence == SD_ALLOCATIONS ? sd_alloc_value_pprof(metric) : NULL;

    return name ? name : metric;
}

static const char *unit_of(enum sd_unit unit)
{
    switch (unit) {
    case SD_UNIT_COUNT:
        return "count";
    case SD_UNIT_NANOSECONDS:
        return "nanoseconds";
    case SD_UNIT_BYTES:
        return "bytes";
    }
    return "count";
}

static void put_types(struct writer *w)
{
    for (uint32_t k = 0; k < w->totals->n_metrics; k++) {
        const struct sd_metric *m = &w->p->metrics[w->totals->metrics[k].at];

        sd_pb_number(&w->message, 1, text(w, name_of(w, m->name)));
        sd_pb_number(&w->message, 2, text(w, unit_of(m->unit)));
        sd_pb_message(&w->top, PROFILE_SAMPLE_TYPE, &w->message);
        send(w);
    }
}

static void put_label(struct writer *w, const char *key, const char *value)
{
    sd_pb_number(&w->inner, 1, text(w, key));
    sd_pb_number(&w->inner, 2, text(w, value));
    sd_pb_message(&w->message, 3, &w->inner);
}

static const char *state_of(uint32_t flags)
{
    if (flags & SD_SAMPLE_STOPPED)
        return "stopped";
    if (flags & SD_SAMPLE_IDLE)
        return "idle";
    if (flags & SD_SAMPLE_WAITS_GIL)
        return "waits for GIL";
    return flags & SD_SAMPLE_GIL ? "holds GIL" : "runs";
}

static void put_labels(struct writer *w, const struct sd_sample_total *t)
{
    const struct sd_track *track = &w->p->tracks[t->track.at];
    sd_track_id process = sd_profile_process_of(w->p, t->track);
    char number[24];

    if (process.at != NONE) {
        snprintf(number, sizeof number, "%" PRIu64, w->p->tracks[process.at].number);
        put_label(w, "process", number);
    }
    if (process.at != t->track.at) {
        snprintf(number, sizeof number, "%" PRIu64, track->number);
        put_label(w, "thread", track->name ? track->name : number);
        put_label(w, "thread_id", number);
    }
    if (w->evidence == SD_SAMPLES)
        put_label(w, "state", state_of(t->flags));
}

static void put_sample(struct writer *w, size_t i)
{
    const struct sd_sample_total *t = &w->totals->items[i];
    uint32_t at = t->stack.at;

    if (at == NONE || !sd_format_frames_wants(w->style, t->flags))
        return;
    for (; at != NONE; at = w->p->stacks[at].parent.at)
        sd_pb_varint(&w->inner, (uint64_t)w->frames.of_stack[at] + 1);
    sd_pb_message(&w->message, 1, &w->inner);
    for (uint32_t k = 0; k < w->totals->n_metrics; k++)
        sd_pb_varint(&w->inner, (uint64_t)w->totals->values[k][i]);
    sd_pb_message(&w->message, 2, &w->inner);
    put_labels(w, t);
    sd_pb_message(&w->top, PROFILE_SAMPLE, &w->message);
    send(w);
}

static void put_mapping(struct writer *w)
{
    sd_pb_number(&w->message, 1, 1);
    sd_pb_number(&w->message, 5, text(w, "python"));
    for (uint32_t has = 7; has <= 10; has++) /* functions, files, lines, inlined */
        sd_pb_number(&w->message, has, 1);
    sd_pb_message(&w->top, PROFILE_MAPPING, &w->message);
    send(w);
}

static void put_location(struct writer *w, size_t i)
{
    const struct sd_format_frame *f = &w->frames.items[i];

    sd_pb_number(&w->message, 1, i + 1);
    sd_pb_number(&w->message, 2, 1);
    sd_pb_number(&w->inner, 1, (uint64_t)f->site.at + 1);
    sd_pb_number(&w->inner, 2, f->line);
    sd_pb_message(&w->message, 4, &w->inner);
    sd_pb_message(&w->top, PROFILE_LOCATION, &w->message);
    send(w);
}

static void put_function(struct writer *w, uint32_t site)
{
    const struct sd_site *s = &w->p->sites[site];
    const char *file = w->style->has_full_files ? s->file : sd_site_short_file(s);

    sd_pb_number(&w->message, 1, (uint64_t)site + 1);
    sd_pb_number(&w->message, 2, text(w, s->name));
    sd_pb_number(&w->message, 4, text(w, file));
    sd_pb_number(&w->message, 5, s->line);
    sd_pb_message(&w->top, PROFILE_FUNCTION, &w->message);
    send(w);
}

static int put_functions(struct writer *w)
{
    bool *is_used = sd_zalloc(w->p->n_sites + 1);

    if (!is_used)
        return sd_no_memory();
    for (size_t i = 0; i < w->frames.n; i++)
        is_used[w->frames.items[i].site.at] = true;
    for (uint32_t i = 0; i < w->p->n_sites; i++)
        if (is_used[i])
            put_function(w, i);
    sd_free(is_used);
    return 0;
}

static void put_facts(struct writer *w)
{
    const char *command = sd_profile_meta(w->p, "command");
    const char *shown =
        w->evidence == SD_SAMPLES ? "wall" : sd_evidence_metric(w->p, w->evidence);

    sd_pb_number(&w->top, PROFILE_TIME_NS, w->p->real_zero_ns);
    sd_pb_number(&w->top, PROFILE_DURATION_NS, w->p->end_ns);
    if (command)
        sd_pb_number(&w->top, PROFILE_COMMENT, text(w, command));
    if (sd_totals_metric(w->p, w->totals, shown) == NONE)
        shown = NULL;
    sd_pb_number(&w->top, PROFILE_DEFAULT_TYPE,
                 text(w, shown ? name_of(w, shown) : NULL));
    send(w);
}

/* Last, when all texts are known; the order of fields is free.  Texts must be UTF-8,
 * and pprof prints them to a terminal as they are. */
static void put_strings(struct writer *w)
{
    for (size_t i = 0; i < w->strings.n; i++) {
        sd_buf_clear(&w->inner);
        sd_text_escape(&w->inner, w->strings.items[i].p, w->strings.items[i].n);
        sd_pb_message(&w->top, PROFILE_STRING, &w->inner);
        send(w);
    }
}

static int put_all(struct writer *w)
{
    int rc;

    text(w, ""); /* the first must be empty */
    put_types(w);
    for (size_t i = 0; i < w->totals->n && w->gzip->out->err == 0; i++)
        put_sample(w, i);
    put_mapping(w);
    for (size_t i = 0; i < w->frames.n; i++)
        put_location(w, i);
    rc = put_functions(w);
    put_facts(w);
    put_strings(w);
    return rc == 0 && w->is_bad ? sd_no_memory() : rc;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    const struct sd_stack_style style = sd_output_style(job);
    struct writer w = { .p = p, .style = &style };
    int rc = sd_format_frames_make(p, &style, &w.frames);

    w.evidence = sd_profile_evidence(p, style.metric);
    w.totals = &p->evidence[w.evidence].stacks;
    w.strings.arena = &w.arena;
    w.gzip = sd_alloc(sizeof *w.gzip);
    if (rc == 0 && !w.gzip)
        rc = sd_no_memory();
    if (rc == 0) {
        sd_gzip_begin(w.gzip, out);
        rc = put_all(&w);
        sd_gzip_end(w.gzip);
    }
    sd_format_frames_release(&w.frames);
    sd_intern_release(&w.strings);
    sd_arena_release(&w.arena);
    sd_buf_release(&w.top);
    sd_buf_release(&w.message);
    sd_buf_release(&w.inner);
    sd_free(w.gzip);
    return rc;
}

const struct sd_output sd_output_pprof = {
    .name = "pprof",
    .suffixes = { ".pb.gz" },
    .summary =
        "stacks with every metric, for go tool pprof, Pyroscope, Parca, Perfetto",
    .loses = "the order of time, sections, readings, idle samples unless asked for",
    .needs = SD_HOLDS_STACKS,
    .folds_paths = true,
    .write = write,
};
