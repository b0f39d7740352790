/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_load.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "profile/alloc/alloc_evidence.h"
#include "profile/alloc/alloc_merge.h"
#include "profile/profile_define.h"
#include "profile/samples.h"
#include "profile/series.h"

enum { NONE = UINT32_MAX };

struct job {
    struct sd_profile *p;
    struct sd_decoder *d;
    struct sd_screen *screen;
    struct sd_alloc_streams streams;
    struct sd_alloc_setting how;
    uint32_t heap, rss;                   /* metrics */
    uint32_t process;                     /* of the table at hand; NONE: not known */
    const struct sd_alloc_replay *replay; /* at hand */
    bool has_series;
    size_t heap_at, rss_at; /* its series; SIZE_MAX: none */
};

/* --- What was recorded, and what is asked for */

static enum sd_allocs_mode mode_of(const struct sd_profile *p)
{
    const char *mode = sd_profile_meta(p, SD_META_ALLOC_MODE);

    if (mode && strcmp(mode, "aggregate") == 0)
        return SD_ALLOCS_AGGREGATE;
    return mode && strcmp(mode, "sample") == 0 ? SD_ALLOCS_SAMPLE : SD_ALLOCS_FULL;
}

static double sample_bytes(const struct sd_profile *p)
{
    const char *text = sd_profile_meta(p, SD_META_ALLOC_SAMPLE);
    uint64_t bytes;

    return text && sd_text_parse_number(text, &bytes) && bytes > 0 ? (double)bytes : 1;
}

static void span_moments(struct job *j)
{
    uint64_t first = UINT64_MAX, last = 0, zero = j->how.zero_ns;

    for (size_t i = 0; i < j->streams.n; i++) {
        const struct sd_alloc_stream *s = &j->streams.items[i];

        first = s->first_ns && s->first_ns < first ? s->first_ns : first;
        last = s->last_ns > last ? s->last_ns : last;
    }
    j->how.moments_from_ns = first < last && first > zero ? first - zero : 0;
    j->how.moments_to_ns = last > zero ? last - zero : 0;
    if (!j->p->window.is_set)
        return;
    if (j->p->window.from_ns > j->how.moments_from_ns)
        j->how.moments_from_ns = j->p->window.from_ns;
    if (j->p->window.to_ns < j->how.moments_to_ns)
        j->how.moments_to_ns = j->p->window.to_ns;
    if (j->how.moments_to_ns < j->how.moments_from_ns)
        j->how.moments_to_ns = j->how.moments_from_ns;
}

static int add_point(void *of, const struct sd_alloc_moment *now);

static int prepare(struct job *j)
{
    const struct sd_filter *f = j->screen->filter;

    j->how.zero_ns = j->d->zero_ns;
    if (f) {
        j->how.choice = f->alloc;
        j->how.from_ns = f->from_ns;
        j->how.to_ns = f->to_ns;
        j->how.section = f->section ? &j->screen->open : NULL;
    }
    j->how.choice.has_growth = true; /* findings look at it */
    j->how.at_time = add_point;
    j->how.of = j;
    if (j->p->allocs.mode == SD_ALLOCS_SAMPLE)
        j->how.sample_bytes = sample_bytes(j->p);
    j->p->allocs.choice = j->how.choice;
    span_moments(j);
    return sd_define_lost_stack(j->p, &j->how.lost_stack);
}

/* --- Readings over time */

static int define_metric(struct sd_profile *p, const char *name, const char *meaning,
                         uint32_t *id)
{
    struct sd_metric_key key = { .unit = SD_UNIT_BYTES, .adds = SD_ADDS_LEVEL };
    uint32_t text;
    int rc = sd_define_string(p, name, strlen(name), &key.name);

    if (rc == 0)
        rc = sd_define_string(p, meaning, strlen(meaning), &text);
    return rc < 0 ? rc : sd_define_metric(p, &key, text, id);
}

/* A table need not say whose it is: its threads do. */
static void find_process(struct job *j)
{
    const struct sd_alloc_replay *r = j->replay;

    if (j->process == NONE && r->n_threads > 0)
        j->process =
            sd_profile_process_of(j->p, (sd_track_id){ r->threads[0].track }).at;
}

/* RSS that another collector read all the time is better than ours. */
static int open_series(struct job *j)
{
    struct sd_profile *p = j->p;
    int rc = 0;

    j->has_series = true;
    find_process(j);
    if (j->process == NONE)
        return 0;
    if (!sd_profile_series(p, (sd_track_id){ j->process }, "rss"))
        rc = define_metric(p, "rss", "memory that the process holds", &j->rss);
    if (rc == 0 && !sd_profile_series(p, (sd_track_id){ j->process }, "rss"))
        rc = sd_profile_readings(p, j->process, j->rss, &j->rss_at);
    if (rc == 0)
        rc = define_metric(p, "heap", "live bytes that were allocated", &j->heap);
    return rc < 0 ? rc : sd_profile_readings(p, j->process, j->heap, &j->heap_at);
}

static int add_reading(struct job *j, size_t at, uint64_t ns, uint64_t bytes)
{
    if (at == SIZE_MAX)
        return 0;
    return sd_series_add(&j->p->series[at], SD_ADDS_LEVEL, j->p->real_zero_ns,
                         sd_profile_bucket_limit(j->p), ns,
                         (int64_t)(bytes & INT64_MAX));
}

static int add_point(void *of, const struct sd_alloc_moment *now)
{
    struct job *j = of;
    int rc = j->has_series ? 0 : open_series(j);

    if (rc == 0)
        rc = add_reading(j, j->heap_at, now->ns, now->high_bytes);
    if (rc == 0)
        rc = add_reading(j, j->heap_at, now->ns, now->live_bytes);
    return rc == 0 && now->rss ? add_reading(j, j->rss_at, now->ns, now->rss) : rc;
}

/* --- Totals */

static int64_t bounded(uint64_t n) { return n < INT64_MAX ? (int64_t)n : INT64_MAX; }

static void put(struct sd_alloc_total *to, enum sd_alloc_value bytes,
                const struct sd_alloc_amount *amount, double variance)
{
    to->values[bytes] = bounded(amount->bytes);
    to->values[bytes + 1] = bounded(amount->blocks);
    to->variances[bytes / 2] = variance > 0 ? variance : 0;
}

static bool is_nothing(const struct sd_alloc_total *t)
{
    for (size_t i = 0; i < SD_ALLOCS_VALUES; i++)
        if (t->values[i] != 0)
            return false;
    return true;
}

static int add_total(struct job *j, struct sd_alloc_total *one, const int64_t *moments)
{
    struct sd_profile *p = j->p;
    int rc;

    one->process = (uint32_t)p->allocs.n_processes;
    if (is_nothing(one))
        return 0;
    rc = sd_screen_passes_stack(j->screen, p, (sd_track_id){ one->track },
                                (sd_stack_id){ one->stack });
    if (rc <= 0 || !sd_profile_has_room(p, sizeof *one))
        return rc < 0 ? rc : 0;
    return sd_alloc_totals_add(&p->allocs, one, moments);
}

/* Tracks last as long as their process was replayed. */
static void stretch(struct sd_profile *p, uint32_t track, uint64_t ns)
{
    struct sd_track *t = &p->tracks[track];

    t->first_ns = ns < t->first_ns ? ns : t->first_ns;
    t->last_ns = ns > t->last_ns ? ns : t->last_ns;
    p->end_ns = ns > p->end_ns ? ns : p->end_ns;
}

/* Of a window the tracks that allocated while it was open. */
static void stretch_to_window(struct sd_profile *p, const struct sd_alloc_replay *r,
                              const struct sd_alloc_place *place)
{
    uint32_t track = r->threads[place->thread].track;
    uint64_t last = p->window.to_ns < r->now_ns ? p->window.to_ns : r->now_ns;

    if (!r->has_window || place->all.blocks == 0 || p->window.from_ns > last)
        return;
    stretch(p, track, p->window.from_ns);
    stretch(p, track, last);
}

static int add_place(struct job *j, const struct sd_alloc_replay *r, size_t i)
{
    const struct sd_alloc_place *place = &r->places[i];
    struct sd_alloc_variance none = { 0 };
    const struct sd_alloc_variance *v = r->variances ? &r->variances[i] : &none;
    struct sd_alloc_total one = { .stack = place->stack,
                                  .track = r->threads[place->thread].track,
                                  .flags = place->flags };

    stretch_to_window(j->p, r, place);
    put(&one, SD_ALLOCS_PEAK_BYTES, &place->peak, v->peak);
    put(&one, SD_ALLOCS_LEAKED_BYTES, &place->kept, v->kept);
    put(&one, SD_ALLOCS_TEMPORARY_BYTES, &place->temporary, v->temporary);
    put(&one, SD_ALLOCS_BYTES, &place->all, v->all);
    put(&one, SD_ALLOCS_LIVE_BYTES, &place->at, v->at);
    return add_total(j, &one, r->moments ? r->moments + i * SD_ALLOC_MOMENTS : NULL);
}

static int add_process(struct job *j, const struct sd_alloc_process *facts)
{
    struct sd_alloc_process one = *facts;

    one.track = j->process;
    return sd_alloc_totals_add_process(&j->p->allocs, &one);
}

/* --- A process with logs */

static int is_chosen(void *of, uint32_t track)
{
    struct job *j = of;
    struct sd_screen *s = j->screen;

    return !s->filter || !s->filter->track ||
           sd_filter_takes_track(j->p, (sd_track_id){ track }, s->filter->track);
}

static int keep(struct job *j, struct sd_alloc_replay *r)
{
    int rc = sd_alloc_replay_end(r);

    find_process(j);
    j->p->run_end_ns = r->now_ns > j->p->run_end_ns ? r->now_ns : j->p->run_end_ns;
    for (size_t i = 0; i < r->n_threads; i++) {
        if (!r->has_window)
            stretch(j->p, r->threads[i].track, r->now_ns);
        r->facts.is_part |= !r->threads[i].is_chosen;
    }
    for (size_t i = 0; i < r->n_places && rc == 0; i++)
        rc = add_place(j, r, i);
    return rc < 0 ? rc : add_process(j, &r->facts);
}

static int replay(struct job *j, const struct sd_alloc_stream *streams, size_t n)
{
    struct sd_alloc_replay r;
    int rc;

    j->how.table = sd_alloc_tables_find(&j->d->allocs, streams->table);
    j->process = j->how.table ? j->how.table->process : NONE;
    j->replay = &r;
    j->has_series = false;
    j->heap_at = j->rss_at = SIZE_MAX;
    rc = sd_alloc_replay_init(&r, &j->how);
    if (rc == 0)
        rc = sd_alloc_merge(j->d, streams, n, is_chosen, j, &r);
    if (rc == 0)
        rc = keep(j, &r);
    sd_alloc_replay_release(&r);
    return rc;
}

static int replay_all(struct job *j)
{
    const struct sd_alloc_stream *s = j->streams.items;
    size_t n = j->streams.n, i = 0, end;
    int rc = 0;

    for (; i < n && rc == 0; i = end) {
        for (end = i + 1; end < n && s[end].table == s[i].table; end++)
            continue;
        rc = replay(j, s + i, end - i);
    }
    return rc;
}

static bool has_stream(const struct job *j, const struct sd_alloc_table *t)
{
    for (size_t i = 0; i < j->streams.n; i++)
        if (j->streams.items[i].table == t->stream)
            return true;
    return false;
}

/* Processes of which no block was drawn: each took part, with nothing. */
static int take_undrawn(struct job *j)
{
    static const struct sd_alloc_process nothing;
    int rc = 0;

    for (size_t i = 0; i < j->d->allocs.n && rc == 0; i++) {
        const struct sd_alloc_table *t = &j->d->allocs.items[i];

        j->process = t->process;
        if (t->process != NONE && !has_stream(j, t) && is_chosen(j, t->process))
            rc = add_process(j, &nothing);
    }
    return rc;
}

/* --- A process with sums */

/* What has not changed since the peak was the same then. */
static int add_sum(struct job *j, const struct sd_alloc_table *t,
                   const struct sd_alloc_sum_cell *c, struct sd_alloc_process *facts)
{
    const struct sd_alloc_stack *s =
        &t->stacks[c->stack < t->n_stacks ? c->stack : t->n_stacks];
    bool is_apart = s->by == SD_BY_FILE || s->by == SD_BY_RESERVED;
    bool is_same = c->epoch < t->root.epoch;
    struct sd_alloc_total one = { .stack = s->stack,
                                  .track = j->process,
                                  .flags = s->by | (is_apart ? SD_ALLOCS_APART : 0) };
    const struct sd_alloc_amount live = { c->live_bytes, c->live_count },
                                 peak = { c->peak_bytes, c->peak_count },
                                 all = { c->bytes, c->count };

    if (!is_apart && c->count > c->live_count)
        facts->frees = sd_sum_u64(facts->frees, c->count - c->live_count);
    put(&one, SD_ALLOCS_PEAK_BYTES, is_same ? &live : &peak, 0);
    put(&one, SD_ALLOCS_LEAKED_BYTES, &live, 0);
    put(&one, SD_ALLOCS_BYTES, &all, 0);
    return add_total(j, &one, NULL);
}

static int take_sums(struct job *j, const struct sd_alloc_table *t)
{
    const struct sd_alloc_sum_root *root = &t->root;
    struct sd_alloc_process facts = { .unknown_frees = root->unknown_frees,
                                      .overlaps = root->overlaps,
                                      .peak_bytes = root->peak_bytes,
                                      .peak_rss = root->peak_rss,
                                      .rss_live_bytes = root->rss_live_bytes };
    int rc = 0;

    j->process = t->process;
    if (j->process == NONE)
        rc = sd_define_lost_track(j->p, &j->process);
    if (root->peak_ns > j->how.zero_ns)
        facts.peak_ns = root->peak_ns - j->how.zero_ns;
    if (rc == 0 && !is_chosen(j, j->process))
        return 0;
    for (size_t i = 0; i < t->n_sums && rc == 0; i++)
        rc = add_sum(j, t, &t->sums[i], &facts);
    return rc < 0 ? rc : add_process(j, &facts);
}

static int take_all_sums(struct job *j)
{
    int rc = 0;

    j->p->allocs.choice.has_growth = false; /* sums have no time */
    for (size_t i = 0; i < j->d->allocs.n && rc == 0; i++)
        if (j->d->allocs.items[i].has_root)
            rc = take_sums(j, &j->d->allocs.items[i]);
    return rc;
}

/* --- All of it */

int sd_alloc_load(struct sd_profile *p, struct sd_decoder *d, struct sd_screen *s)
{
    struct job j = { .p = p, .d = d, .screen = s };
    int rc = sd_alloc_streams_find(&j.streams, d);

    p->allocs.is_recorded =
        d->allocs.n > 0 || j.streams.n > 0 || sd_profile_meta(p, SD_META_ALLOC_MODE);
    if (rc < 0 || !p->allocs.is_recorded)
        goto out;
    p->allocs.mode = mode_of(p);
    p->allocs.lost = j.streams.lost;
    rc = prepare(&j);
    if (rc == 0)
        rc = p->allocs.mode == SD_ALLOCS_AGGREGATE ? take_all_sums(&j) : replay_all(&j);
    if (rc == 0 && p->allocs.mode == SD_ALLOCS_SAMPLE)
        rc = take_undrawn(&j);
    if (rc == 0)
        rc = sd_alloc_evidence_make(p);
out:
    sd_alloc_streams_release(&j.streams);
    return rc;
}
