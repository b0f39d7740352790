/* SPDX-License-Identifier: MIT */
#include "profile/events.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/decode.h"
#include "profile/profile_define.h"
#include "profile/series.h"
#include "profile/filter.h"

struct sd_events {
    const struct sd_profile *p;     /* borrowed */
    const struct sd_filter *filter; /* borrowed */
    char *path;                     /* owned */
    struct sd_reader *reader; /* owned; of the capture at hand: a file may hold more */
    struct sd_decoder decoder;
    struct sd_screen screen;
    uint32_t capture;  /* its number, from 0 */
    uint64_t later_ns; /* from the zero of this capture to the profile's */
    bool wants_calls, wants_stacks;
};

static int note_sections(struct sd_events *e)
{
    struct sd_event event;
    int rc;

    while ((rc = sd_decoder_next(&e->decoder, &event)) == 1) {
        rc = sd_screen_section(&e->screen, e->p, &event);
        if (rc < 0)
            return rc;
    }
    sd_decoder_rewind(&e->decoder);
    return rc;
}

/* --- The captures of a file */

static bool is_host(const struct sd_record *head, const struct sd_rec_meta **out)
{
    const struct sd_rec_meta *r = (const void *)head;

    if (head->type != SD_REC_META || r->key_n != 4 || memcmp(r->text, "host", 4) != 0 ||
        offsetof(struct sd_rec_meta, text) + 4u + r->value_n > head->len)
        return false;
    *out = r;
    return true;
}

/* Pids of several captures are told apart by their host; each says its own. */
static uint32_t find_host(struct sd_events *e)
{
    const struct sd_rec_meta *meta = NULL;
    const struct sd_record *r;
    struct sd_chunk_view view;

    sd_reader_rewind(e->reader);
    while (!meta && sd_reader_next(e->reader, &view) == 1)
        for (uint32_t at = 0; !meta && (r = sd_chunk_view_next(&view, &at));)
            is_host(r, &meta);
    return sd_find_string(e->p, meta ? meta->text + 4 : "", meta ? meta->value_n : 0);
}

static void close_capture(struct sd_events *e)
{
    sd_decoder_release(&e->decoder);
    sd_screen_release(&e->screen);
    sd_reader_free(e->reader);
    e->reader = NULL;
}

static int open_capture(struct sd_events *e, uint64_t at)
{
    uint32_t host = 0;
    int rc = sd_reader_open_at(e->path, at, &e->reader);

    sd_screen_init(&e->screen, e->filter);
    if (rc < 0)
        return rc;
    e->later_ns = 0;
    if (e->p->index->has_hosts) {
        uint64_t zero = sd_reader_health(e->reader)->created_real_ns;

        host = find_host(e);
        sd_reader_rewind(e->reader);
        if (zero > e->p->real_zero_ns && zero < SD_TIME_MAX)
            e->later_ns = zero - e->p->real_zero_ns;
    }
    rc = sd_decoder_init(&e->decoder, e->reader, NULL, e->p);
    e->decoder.host = host;
    if (rc == 0 && e->screen.has_section)
        rc = note_sections(e);
    e->decoder.spans.request = e->wants_calls ? SD_SPANS_EACH : SD_SPANS_NONE;
    e->decoder.spans.has_stacks = e->wants_stacks;
    return rc;
}

/* 1: there is another capture, and it is open; 0: that was the last. */
static int open_next(struct sd_events *e)
{
    uint64_t at = sd_reader_next_at(e->reader);
    int rc;

    if (at == 0)
        return 0;
    close_capture(e);
    e->capture++;
    rc = open_capture(e, at);
    return rc < 0 ? rc : 1;
}

int sd_events_open(const struct sd_profile *p, const char *path,
                   const struct sd_filter *filter, struct sd_events **out)
{
    struct sd_events *e = sd_zalloc(sizeof *e);
    int rc;

    *out = NULL;
    if (!e)
        return sd_no_memory();
    e->p = p;
    e->filter = filter;
    e->path = sd_strdup(path);
    rc = e->path ? open_capture(e, 0) : sd_no_memory();
    if (rc < 0) {
        sd_events_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

void sd_events_want_calls(struct sd_events *e)
{
    e->wants_calls = true;
    e->decoder.spans.request = SD_SPANS_EACH;
}

void sd_events_want_call_stacks(struct sd_events *e)
{
    sd_events_want_calls(e);
    e->wants_stacks = e->decoder.spans.has_stacks = true;
}

static int next_of_capture(struct sd_events *e, struct sd_event *out)
{
    int rc;

    while ((rc = sd_decoder_next(&e->decoder, out)) == 1) {
        rc = sd_screen_passes(&e->screen, e->p, out);
        if (rc != 0)
            return rc;
    }
    return rc;
}

int sd_events_next(struct sd_events *e, struct sd_event *out)
{
    int rc;

    do
        rc = next_of_capture(e, out);
    while (rc == 0 && (rc = open_next(e)) == 1);
    if (rc == 1) {
        out->from_ns += e->later_ns;
        out->to_ns += e->later_ns;
    }
    return rc;
}

uint32_t sd_events_capture(const struct sd_events *e) { return e->capture; }

uint64_t sd_events_later_ns(const struct sd_events *e) { return e->later_ns; }

struct sd_recording_time sd_events_recording(const struct sd_events *e)
{
    const struct sd_health *h = sd_reader_health(e->reader);

    return (struct sd_recording_time){ h->created_real_ns, h->created_mono_ns };
}

struct sd_event sd_event_of_total(const struct sd_profile *p, enum sd_evidence evidence,
                                  size_t i, int64_t *values)
{
    const struct sd_stack_totals *t = &p->evidence[evidence].stacks;

    sd_assert(sd_evidence_has_stacks(evidence) && evidence != SD_SAMPLES);
    sd_assert(i < t->n && t->n_metrics <= SD_SAMPLE_METRICS);
    for (uint32_t k = 0; k < t->n_metrics; k++)
        values[k] = t->values[k][i];
    return (struct sd_event){ .kind = SD_EVENT_CALLS,
                              .track = t->items[i].track,
                              .site = SD_NO_SITE,
                              .stack = t->items[i].stack,
                              .metrics = t->metrics,
                              .values = values,
                              .n_values = t->n_metrics };
}

void sd_events_free(struct sd_events *e)
{
    if (!e)
        return;
    close_capture(e);
    sd_free(e->path);
    sd_free(e);
}
