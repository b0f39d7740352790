/* SPDX-License-Identifier: MIT */
/* profile_load: loads a capture into a profile, adding up its events as they stream by.
 */
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "profile/alloc/alloc_load.h"
#include "profile/by_time/slice_gathering.h"
#include "profile/decode.h"
#include "profile/notebook/cell_names.h"
#include "profile/profile_define.h"
#include "profile/filter.h"
#include "profile/losses.h"
#include "profile/profile.h"
#include "profile/samples.h"
#include "profile/series.h"
#include "profile/time/timings_capture.h"

enum { SETTLE_NS = 20000000 }; /* between a program's end and the last readings of it */

/* A site's spans are nearly always on the track they were on before. */
struct memo {
    uint32_t track;
    uint32_t total;
};

struct loader {
    struct sd_profile *p;
    bool is_unmatched; /* the filter names nothing that is in it */
    struct sd_decoder decoder;
    struct sd_screen screen;
    struct memo *memos; /* owned; by site; track UINT32_MAX: nothing yet */
    size_t n_memos;
    uint64_t read_ns;                 /* CLOCK_MONOTONIC, when the reading began */
    struct sd_slice_gathering slices; /* of samples, while ... */
    bool has_slices;                  /* ... they are wanted and there is no section */
    const struct sd_profile *whole;   /* borrowed; of whose window it is, or NULL */
};

static int grow_memos(struct loader *l, uint32_t site)
{
    size_t cap = l->n_memos;
    struct memo *memos;

    if (site < l->n_memos)
        return 0;
    memos = sd_grow_array(l->memos, &cap, (size_t)site + 1, sizeof *memos);
    if (!memos)
        return sd_no_memory();
    memset(memos + l->n_memos, 0xff, (cap - l->n_memos) * sizeof *memos);
    l->memos = memos;
    l->n_memos = cap;
    sd_assert(site < l->n_memos);
    return 0;
}

static int total_of(struct loader *l, const struct sd_event *e, size_t *at)
{
    int rc = grow_memos(l, e->site.at);
    struct memo *memo;

    if (rc < 0)
        return rc;
    memo = &l->memos[e->site.at];
    if (memo->track != e->track.at) {
        rc = sd_profile_total(l->p, e->site.at, e->track.at, at);
        if (rc < 0)
            return rc;
        *memo = (struct memo){ e->track.at, (uint32_t)*at };
    }
    sd_assert_slow(memo->total < l->p->n_spans);
    *at = memo->total;
    return 0;
}

static void add_values(struct sd_profile *p, size_t row, const struct sd_event *e)
{
    struct sd_sum *sums;

    if (e->n_values == 0)
        return; /* there may be no metric at all, hence no sums */
    sums = p->index->sums + row * p->index->stride;
    sd_assert_slow(row < p->index->n_rows && p->n_metrics <= p->index->stride);
    for (uint32_t i = 0; i < e->n_values; i++)
        if (e->values[i] != SD_VALUE_NONE)
            sd_sum_add(&sums[e->metrics[i].at], p->metrics[e->metrics[i].at].adds,
                       e->values[i]);
}

/* Which sections were open at a sample is known only when all of them are. */
static void drop_slices(struct loader *l)
{
    if (l->has_slices)
        sd_slice_gathering_release(&l->slices);
    l->has_slices = false;
}

static int add_span(struct loader *l, const struct sd_event *e)
{
    struct sd_profile *p = l->p;
    struct sd_span_total *t;
    size_t at;
    int rc = total_of(l, e, &at);

    if (rc < 0)
        return rc;
    drop_slices(l);
    t = &p->spans[at];
    sd_assert_slow(e->from_ns <= e->to_ns);
    t->count++;
    t->n_raised += (e->flags & SD_SPAN_RAISED) != 0;
    t->n_unfinished += (e->flags & SD_SPAN_UNFINISHED) != 0;
    t->first_ns = e->from_ns < t->first_ns ? e->from_ns : t->first_ns;
    t->last_ns = e->to_ns > t->last_ns ? e->to_ns : t->last_ns;
    sd_sum_add(&t->wall, SD_ADDS_SUM, (int64_t)(e->to_ns - e->from_ns));
    add_values(p, at, e);
    p->n_span_events++;
    return sd_intervals_add(&t->when, sd_profile_interval_limit(p),
                            (struct sd_interval){ e->from_ns, e->to_ns, 1 });
}

static int add_point(struct loader *l, const struct sd_event *e)
{
    struct sd_profile *p = l->p;
    int rc = 0;

    p->n_point_events++;
    if (sd_timings_capture_is_batch(p, e))
        return sd_timings_capture_add(p, e);
    for (uint32_t i = 0; i < e->n_values && rc == 0; i++) {
        uint32_t metric = e->metrics[i].at;
        size_t at;

        if (e->values[i] == SD_VALUE_NONE)
            continue;
        rc = sd_profile_readings(p, e->track.at, metric, &at);
        if (rc == 0 && at != SIZE_MAX)
            rc = sd_series_add(&p->series[at], p->metrics[metric].adds, p->real_zero_ns,
                               sd_profile_bucket_limit(p), e->to_ns, e->values[i]);
    }
    return rc;
}

static int add_sample(struct loader *l, const struct sd_event *e)
{
    const struct sd_sample_total which = { e->stack, e->track, e->flags };
    int rc;

    l->p->n_sample_events++;
    rc = sd_totals_add(l->p, SD_SAMPLES, &which, e->metrics, e->values, e->n_values);
    return rc == 0 && l->has_slices
               ? sd_slice_gathering_add_sample(&l->slices, e, SD_NO_SECTIONS)
               : rc;
}

static uint64_t within(const struct sd_window *w, uint64_t ns)
{
    if (!w->is_set)
        return ns;
    return ns < w->from_ns ? w->from_ns : ns > w->to_ns ? w->to_ns : ns;
}

/* A span counts whole, but a track is not older than the window for its sake. */
static void stretch(struct sd_profile *p, const struct sd_event *e)
{
    struct sd_track *t = &p->tracks[e->track.at];
    uint64_t from = within(&p->window, e->from_ns), to = within(&p->window, e->to_ns);

    sd_assert_slow(e->track.at < p->n_tracks);
    t->first_ns = from < t->first_ns ? from : t->first_ns;
    t->last_ns = to > t->last_ns ? to : t->last_ns;
    p->end_ns = to > p->end_ns ? to : p->end_ns;
}

static int add_calls(struct loader *l, const struct sd_event *e)
{
    const struct sd_sample_total which = { e->stack, e->track, 0 };

    return sd_totals_add(l->p, SD_CALLS, &which, e->metrics, e->values, e->n_values);
}

static int add_pairs(struct sd_profile *p, struct sd_pair_totals *to,
                     const struct sd_event *e)
{
    struct sd_pair_total one = { e->track.at, e->flags, e->site.at, { 0 } };

    sd_assert(e->n_values == SD_PAIR_VALUES);
    memcpy(one.values, e->values, sizeof one.values);
    if (sd_profile_has_room(p, sizeof one))
        return sd_pair_totals_add(to, &one);
    p->index->n_calls_refused =
        sd_sum_u64(p->index->n_calls_refused, (uint64_t)one.values[SD_PAIR_CALLS]);
    return 0;
}

static int add_lines(struct loader *l, const struct sd_event *e)
{
    struct sd_line_total one = { .site = e->site.at, .line = e->flags };

    if (!sd_profile_has_room(l->p, sizeof one))
        return 0;
    memcpy(one.values, e->values, sizeof one.values);
    return sd_line_totals_add(&l->p->evidence[SD_LINES].lines, &one);
}

static int add_event(struct loader *l, const struct sd_event *e)
{
    stretch(l->p, e);
    switch (e->kind) {
    case SD_EVENT_SPAN:
        return add_span(l, e);
    case SD_EVENT_POINT:
        return add_point(l, e);
    case SD_EVENT_SAMPLE:
        return add_sample(l, e);
    case SD_EVENT_CALLS:
        return add_calls(l, e);
    case SD_EVENT_PAIRS:
        return add_pairs(l->p, &l->p->pairs, e);
    case SD_EVENT_WHOLE_PAIRS:
        return add_pairs(l->p, &l->p->whole_pairs, e);
    case SD_EVENT_LINES:
        return add_lines(l, e);
    case SD_EVENT_CALLS_RUN:
        l->p->n_timeline_calls += e->flags;
        return 0;
    case SD_EVENT_CALL:
        return 0; /* counted by their runs while loading */
    }
    return 0;
}

/* Tracks are the same, but names that others gave them may be in chunks that were not
 * read. */
static void copy_names(struct loader *l)
{
    for (size_t i = 0; l->whole && i < l->p->n_tracks; i++) {
        const struct sd_track *from = &l->whole->tracks[i];

        sd_assert(l->p->n_tracks <= l->whole->n_tracks);
        l->p->tracks[i].name = from->name;
        l->p->tracks[i].command = from->command;
        l->p->tracks[i].parent = from->parent;
    }
}

/* The pass that some filters need before the real one: a section's moments and the
 * last name of each track are known only at the end.  It defines all names already;
 * that the real one then finds them does no harm. */
static int look_ahead(struct loader *l)
{
    struct sd_event e;
    int rc;

    while ((rc = sd_decoder_next(&l->decoder, &e)) == 1) {
        if (l->screen.has_section)
            rc = sd_screen_section(&l->screen, l->p, &e);
        if (rc < 0)
            return rc;
    }
    copy_names(l);
    if (rc == 0)
        rc = sd_screen_tracks(&l->screen, l->p);
    sd_decoder_rewind(&l->decoder);
    l->p->n_notes = l->p->n_metas = l->p->evidence[SD_MODELS].models.n =
        0; /* they come again */
    l->p->index->n_notes_cut = 0;
    l->p->index->n_refused = 0;
    l->p->index->n_cells_refused = l->p->index->n_calls_refused = 0;
    return rc;
}

static bool needs_look_ahead(const struct sd_screen *s)
{
    return s->has_section || (s->filter && s->filter->track);
}

static unsigned recorded_in(const struct sd_event *e)
{
    switch (e->kind) {
    case SD_EVENT_SAMPLE:
        return 1u << SD_SAMPLES;
    case SD_EVENT_CALLS:
    case SD_EVENT_PAIRS:
    case SD_EVENT_WHOLE_PAIRS:
    case SD_EVENT_CALLS_RUN:
    case SD_EVENT_CALL:
        return 1u << SD_CALLS;
    case SD_EVENT_LINES:
        return 1u << SD_LINES;
    case SD_EVENT_SPAN:
    case SD_EVENT_POINT:
        return 0;
    }
    return 0;
}

/* What ends a stream is of no chunk; so is a section that never ended. */
static int note_time(struct loader *l, const struct sd_event *e)
{
    struct sd_chunk_times *times = l->p->index->times;

    if (!times || (e->kind != SD_EVENT_SPAN && e->kind != SD_EVENT_POINT &&
                   e->kind != SD_EVENT_SAMPLE))
        return 0;
    if (e->kind == SD_EVENT_SPAN && e->flags & SD_SPAN_UNFINISHED) {
        times->is_unusable = true;
        return 0;
    }
    return sd_chunk_times_note(times, sd_reader_place(l->decoder.reader), e);
}

static int add_events(struct loader *l)
{
    struct sd_event e;
    int rc;

    l->p->window = sd_screen_window(&l->screen);
    l->decoder.wants_calls = true;
    l->decoder.spans.request = SD_SPANS_COUNTED;
    while ((rc = sd_decoder_next(&l->decoder, &e)) == 1) {
        l->p->run_end_ns = e.to_ns > l->p->run_end_ns ? e.to_ns : l->p->run_end_ns;
        l->p->recorded |= recorded_in(&e);
        rc = note_time(l, &e);
        if (rc == 0)
            rc = sd_screen_passes(&l->screen, l->p, &e);
        if (rc == 1)
            rc = add_event(l, &e);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static uint64_t bounded(uint64_t ns) { return ns < SD_TIME_MAX ? ns : SD_TIME_MAX; }

/* Who looks only at the complaint must not take what is shown for all there was. */
static int complain(struct sd_profile *p)
{
    struct sd_buf words = { 0 };
    int rc = 0;

    sd_losses_put(&words, p, SD_LOSSES_OF_FILE);
    if (words.n > 0 && !words.bad)
        p->complaint = sd_arena_string(&p->arena, (const char *)words.p, words.n);
    if (words.bad || (words.n > 0 && !p->complaint))
        rc = sd_no_memory();
    sd_buf_release(&words);
    return rc;
}

/* What still runs has lasted until it was read, whenever it told something last; so has
 * a daemon that writes on after the capture has its end.  What only may run, in a
 * container or on another machine, need not even have this clock. */
static void reach_now(struct sd_profile *p, uint64_t now)
{
    if (p->health.is_alive && now > p->zero_ns && now - p->zero_ns > p->run_end_ns)
        p->run_end_ns = now - p->zero_ns;
}

static uint64_t meta_ns(const struct sd_profile *p, const char *key)
{
    const char *text = sd_profile_meta(p, key);
    uint64_t ns;

    return text && sd_text_parse_number(text, &ns) ? bounded(ns) : 0;
}

/* Whoever started the program took the time of its run, but processes that it left
 * behind may have been recorded for longer.  The last readings, which are taken a
 * moment after the end, do not make the run longer.  (Older captures do not say when
 * the run started: then it is taken to start with the capture.) */
static void measure_run(struct sd_profile *p)
{
    uint64_t wall_ns = meta_ns(p, "run.wall_ns");
    uint64_t started_ns = meta_ns(p, "run.started_ns");
    uint64_t lasted_ns = p->run_end_ns;

    if (started_ns > p->zero_ns && started_ns - p->zero_ns < lasted_ns)
        lasted_ns -= started_ns - p->zero_ns;
    p->ran_ns = wall_ns;
    if (wall_ns && lasted_ns > wall_ns + SETTLE_NS)
        p->ran_ns = lasted_ns;
}

static int find_losses(struct loader *l, const struct sd_reader *r)
{
    struct sd_profile *p = l->p;
    const char *damage = sd_reader_damage(r);
    size_t n_models_cut;
    int rc = sd_models_join(p, &n_models_cut);

    if (rc == 0)
        rc = sd_timings_capture_settle(p);
    if (rc < 0)
        return rc;
    p->health = *sd_reader_health(r);
    p->index->n_opens_refused = l->decoder.opens.n_refused;
    p->index->n_models_cut = n_models_cut;
    reach_now(p, l->read_ns);
    measure_run(p);
    if (damage && !(p->damage = sd_arena_string(&p->arena, damage, strlen(damage))))
        return sd_no_memory();
    return complain(p);
}

/* Of a part of the file nobody knows how many calls should be in it. */
static void judge_timeline(struct loader *l)
{
    const struct sd_call_spans *spans = &l->decoder.spans;
    uint64_t lost = sd_call_spans_lost(spans, &l->decoder.tree_calls);
    struct sd_profile *p = l->p;

    p->n_timeline_lost = p->is_part ? 0 : lost;
    p->has_timeline = spans->counted.n > 0;
    p->is_timeline_torn = p->has_timeline && (lost > 0 || p->damage);
}

static int keep_slices(struct loader *l)
{
    struct sd_slices *s = l->has_slices ? sd_alloc(sizeof *s) : NULL;
    int rc;

    if (!l->has_slices)
        return 0;
    rc = s ? sd_slices_of_gathering(s, &l->slices) : sd_no_memory();
    if (rc < 0)
        sd_free(s);
    else
        l->p->index->slices = s;
    return rc;
}

static int finish(struct loader *l, struct sd_reader *r)
{
    struct sd_profile *p = l->p;
    const char *host = sd_profile_meta(p, "host");
    int rc = sd_screen_check(&l->screen, p);

    l->is_unmatched = rc == SD_EUSAGE;
    copy_names(l);
    if (l->whole) {
        p->run_end_ns = l->whole->run_end_ns;
        p->recorded = l->whole->recorded;
    }
    if (rc == 0)
        rc = find_losses(l, r);
    if (p->window.is_set && p->window.to_ns > p->run_end_ns)
        p->window.to_ns = p->run_end_ns;
    for (size_t i = 0; i < p->n_tracks; i++)
        p->tracks[i].host = host;
    for (size_t i = 0; i < p->n_series; i++)
        sd_series_settle(&p->series[i]);
    sd_profile_settle(p);
    judge_timeline(l);
    if (rc == 0)
        rc = sd_cell_names_settle(p);
    return rc < 0 ? rc : keep_slices(l);
}

static int load(struct loader *l, struct sd_reader *r)
{
    int rc = sd_decoder_init(&l->decoder, r, l->p, l->p);

    l->decoder.times = l->p->index->times;
    l->decoder.has_all_ends = l->whole != NULL;

    if (rc == 0 && needs_look_ahead(&l->screen))
        rc = look_ahead(l);
    if (rc == 0)
        rc = add_events(l);
    if (rc == 0)
        rc = sd_alloc_load(l->p, &l->decoder, &l->screen);
    return rc < 0 ? rc : finish(l, r);
}

static bool is_choosy(const struct sd_filter *f)
{
    return f && (f->from_ns || f->to_ns || f->track || f->section || f->match);
}

int sd_profile_load_reader(struct sd_reader *r, const struct sd_filter *filter,
                           struct sd_profile **out)
{
    bool is_unmatched;

    return sd_profile_load_one_of(r, filter, SD_LOAD_TOTALS, out, &is_unmatched);
}

static int prepare(struct loader *l, struct sd_reader *r,
                   const struct sd_filter *filter, unsigned flags)
{
    struct sd_profile *p = sd_profile_new();

    l->p = p;
    if (!p)
        return SD_ENOMEM;
    sd_profile_bound(p, sd_reader_health(r)->stored_bytes);
    p->n_captures = 1;
    p->is_part = is_choosy(filter);
    p->zero_ns = sd_reader_health(r)->created_mono_ns;
    p->real_zero_ns = bounded(sd_reader_health(r)->created_real_ns);
    l->has_slices = flags & SD_LOAD_SLICES && !p->is_part;
    sd_slice_gathering_init(&l->slices, p, SD_SAMPLES);
    if (flags & SD_LOAD_CHUNKS && !p->is_part) {
        p->index->times = sd_zalloc(sizeof *p->index->times);
        if (!p->index->times)
            return sd_no_memory();
    }
    return 0;
}

/* On success *out is the caller's. */
static int load_reader(struct loader *l, struct sd_reader *r,
                       const struct sd_filter *filter, unsigned flags,
                       struct sd_profile **out)
{
    int rc;

    *out = NULL;
    l->read_ns = sd_clock_ns();
    sd_screen_init(&l->screen, filter);
    rc = prepare(l, r, filter, flags);
    sd_reader_rewind(r);
    if (rc == 0)
        rc = load(l, r);
    if (rc == 0) {
        *out = l->p;
        l->p = NULL;
    }
    drop_slices(l);
    sd_profile_free(l->p);
    sd_decoder_release(&l->decoder);
    sd_screen_release(&l->screen);
    sd_free(l->memos);
    return rc;
}

int sd_profile_load_one_of(struct sd_reader *r, const struct sd_filter *filter,
                           unsigned flags, struct sd_profile **out, bool *is_unmatched)
{
    struct loader l = { 0 };
    int rc = load_reader(&l, r, filter, flags, out);

    *is_unmatched = l.is_unmatched;
    return rc;
}

/* --- A window of what was loaded before */

bool sd_profile_has_window(const struct sd_profile *whole,
                           const struct sd_filter *filter)
{
    const struct sd_chunk_times *times = whole->index->times;

    return times && !times->is_unusable && (filter->from_ns || filter->to_ns) &&
           !filter->section && whole->n_captures == 1 && !whole->is_part &&
           !whole->has_timeline && !whole->allocs.is_recorded &&
           !whole->health.is_running && !whole->health.has_live &&
           sd_loss_amount(whole, SD_LOSS_MEMORY) == 0;
}

int sd_profile_load_window(struct sd_reader *r, const struct sd_profile *whole,
                           const struct sd_filter *filter, struct sd_profile **out)
{
    struct loader l = { .whole = whole };
    size_t n = sd_reader_health(r)->chunks;
    uint8_t *chosen = sd_alloc(n + 1);
    int rc = chosen ? 0 : sd_no_memory();

    *out = NULL;
    sd_assert(sd_profile_has_window(whole, filter));
    if (rc == 0) {
        sd_chunk_times_choose(whole->index->times, filter->from_ns,
                              filter->to_ns ? filter->to_ns : UINT64_MAX, chosen, n);
        sd_reader_choose(r, chosen);
        rc = load_reader(&l, r, filter, SD_LOAD_TOTALS, out);
        sd_reader_choose(r, NULL);
    }
    sd_free(chosen);
    return rc;
}

/* The capture that begins at *at, added to *into if there is one; *at becomes that of
 * the next.  One that the filter names nothing of is left out, with its sentence. */
static int load_part(const char *path, uint64_t *at, const struct sd_filter *filter,
                     struct sd_profile **into, bool *is_unmatched)
{
    struct sd_reader *r = NULL;
    struct sd_profile *p = NULL;
    int rc = sd_reader_open_at(path, *at, &r);

    *is_unmatched = false;
    if (rc == 0)
        rc = sd_profile_load_one_of(r, filter, SD_LOAD_TOTALS, *into ? &p : into,
                                    is_unmatched);
    if (rc == 0 || *is_unmatched)
        *at = sd_reader_next_at(r);
    if (rc == 0 && p)
        rc = sd_profile_merge(*into, p);
    sd_profile_free(p);
    sd_reader_free(r);
    return rc;
}

int sd_profile_load(const char *path, const struct sd_filter *filter,
                    struct sd_profile **out)
{
    struct sd_profile *into = NULL;
    bool is_unmatched;
    uint64_t at = 0;
    int rc;

    *out = NULL;
    do
        rc = load_part(path, &at, filter, &into, &is_unmatched);
    while ((rc == 0 || is_unmatched) && at != 0);
    if (is_unmatched && into)
        rc = 0;
    if (rc < 0) {
        sd_profile_free(into);
        into = NULL;
    }
    *out = into;
    return rc;
}
