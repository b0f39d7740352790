/* SPDX-License-Identifier: MIT */
/* merge: merges one profile into another. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/alloc/alloc_evidence.h"
#include "profile/profile_define.h"
#include "profile/profile.h"
#include "profile/samples.h"
#include "profile/series.h"
#include "profile/slices.h"
#include "profile/time/timings_capture.h"

/* What the ids of `from` are in `into`. */
struct ids {
    uint32_t *sites, *tracks, *metrics, *stacks;
    uint64_t later_ns; /* added to the times of `from` */
};

static int map_text(struct sd_profile *into, const char *s, uint32_t *id)
{
    *id = UINT32_MAX;
    return s ? sd_define_string(into, s, strlen(s), id) : 0;
}

/* --- Hosts: a pid means something on one machine only. */

static uint32_t host_id(struct sd_profile *p, const char *host, int *rc)
{
    uint32_t id = 0;

    if (*rc == 0)
        *rc = sd_define_string(p, host ? host : "", host ? strlen(host) : 0, &id);
    return id;
}

/* Makes the tracks of a freshly loaded profile known under their host too.  They stay
 * in the same order, hence keep their ids. */
static int bring_hosts(struct sd_profile *p)
{
    struct sd_intern fresh = { .arena = &p->arena };
    int rc = 0;

    if (p->index->has_hosts)
        return 0;
    for (size_t i = 0; i < p->n_tracks && rc == 0; i++) {
        struct sd_track_key key;
        uint32_t id;

        memcpy(&key, p->index->tracks.items[i].p, sizeof key);
        key.host = host_id(p, p->tracks[i].host, &rc);
        if (rc == 0)
            rc = sd_intern(&fresh, &key, sizeof key, &id);
        sd_assert(rc < 0 || id == i);
    }
    if (rc < 0) {
        sd_intern_release(&fresh);
        return rc;
    }
    sd_intern_release(&p->index->tracks);
    p->index->tracks = fresh;
    p->index->has_hosts = true;
    return 0;
}

/* --- Times */

static void delay(struct sd_profile *p, uint64_t by_ns)
{
    for (size_t i = 0; i < p->n_tracks; i++) {
        if (p->tracks[i].first_ns != UINT64_MAX)
            p->tracks[i].first_ns += by_ns;
        p->tracks[i].last_ns += p->tracks[i].last_ns ? by_ns : 0;
        p->index->named_at[i] += by_ns;
    }
    for (size_t i = 0; i < p->n_spans; i++) {
        struct sd_span_total *t = &p->spans[i];

        t->first_ns += by_ns;
        t->last_ns += by_ns;
        for (uint32_t k = 0; k < t->when.n; k++) {
            t->when.items[k].from_ns += by_ns;
            t->when.items[k].to_ns += by_ns;
        }
    }
    for (size_t i = 0; i < p->n_series; i++)
        for (uint32_t k = 0; k < p->series[i].n_buckets; k++) {
            p->series[i].buckets[k].from_ns += by_ns;
            p->series[i].buckets[k].to_ns += by_ns;
        }
    for (size_t i = 0; i < p->n_notes; i++)
        p->notes[i].time_ns += by_ns;
    p->end_ns += by_ns;
    p->run_end_ns += by_ns;
    p->window.from_ns += by_ns;
    p->window.to_ns += by_ns;
}

/* The earlier zero of the two becomes that of both. */
static uint64_t align(struct sd_profile *into, const struct sd_profile *from)
{
    uint64_t by_ns;

    if (from->real_zero_ns >= into->real_zero_ns)
        return from->real_zero_ns - into->real_zero_ns;
    by_ns = into->real_zero_ns - from->real_zero_ns;
    delay(into, by_ns);
    into->real_zero_ns = from->real_zero_ns;
    into->zero_ns = from->zero_ns;
    return 0;
}

/* --- Definitions */

static int map_sizes(struct sd_profile *into, const struct sd_site *s, uint32_t site)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->n_sizes && rc == 0; i++) {
        struct sd_size size = s->sizes[i];
        uint32_t name;

        rc = map_text(into, size.name, &name);
        if (rc == 0) {
            size.name = into->strings.items[name].p;
            rc = sd_define_size(into, site, &size);
        }
    }
    return rc;
}

static int map_site(struct sd_profile *into, const struct sd_profile *from, size_t i,
                    struct ids *ids)
{
    const struct sd_site *s = &from->sites[i];
    struct sd_site_key key = { .kind = s->kind,
                               .line = s->line,
                               .flags = (s->is_native ? SD_SITE_NATIVE : 0u) |
                                        (s->is_beyond ? SD_SITE_BEYOND : 0u) |
                                        (uint32_t)s->twin * SD_SITE_TWIN };
    int rc = map_text(into, s->name, &key.name);

    sd_assert(s->parent.at == UINT32_MAX ||
              s->parent.at < i); /* it is mapped already */
    if (rc == 0)
        rc = map_text(into, s->file, &key.file);
    if (rc == 0)
        rc = map_text(into, s->label, &key.label);
    key.parent = s->parent.at == UINT32_MAX ? UINT32_MAX : ids->sites[s->parent.at];
    if (rc == 0)
        rc = sd_define_site(into, &key, &ids->sites[i]);
    return rc < 0 ? rc : map_sizes(into, s, ids->sites[i]);
}

/* A process's parent may have a higher id than itself, so processes are defined
 * without one first; threads always come after their process. */
static int map_track(struct sd_profile *into, const struct sd_profile *from, size_t i,
                     struct ids *ids)
{
    const struct sd_track *t = &from->tracks[i];
    struct sd_track_definition d = {
        .key = { .kind = t->kind, .number = t->number, .start = t->start },
        .parent = UINT32_MAX,
        .time_ns = from->index->named_at[i] + ids->later_ns,
    };
    int rc = map_text(into, t->name, &d.name);

    if (rc == 0)
        rc = map_text(into, t->command, &d.command);
    d.key.host = host_id(into, t->host, &rc);
    if (t->parent.at != UINT32_MAX && ids->tracks[t->parent.at] != UINT32_MAX)
        d.parent = ids->tracks[t->parent.at];
    return rc < 0 ? rc : sd_define_track(into, &d, &ids->tracks[i]);
}

static int map_stack(struct sd_profile *into, const struct sd_profile *from, size_t i,
                     struct ids *ids)
{
    const struct sd_stack *s = &from->stacks[i];
    struct sd_stack key = { SD_NO_STACK, { ids->sites[s->site.at] }, s->line };

    sd_assert(s->site.at < from->n_sites);
    sd_assert(s->parent.at == UINT32_MAX ||
              s->parent.at < i); /* it is mapped already */
    if (s->parent.at != UINT32_MAX)
        key.parent.at = ids->stacks[s->parent.at];
    return sd_define_stack(into, &key, &ids->stacks[i]);
}

static void merge_track(struct sd_track *into, const struct sd_track *from,
                        uint64_t later_ns)
{
    if (from->first_ns != UINT64_MAX && from->first_ns + later_ns < into->first_ns)
        into->first_ns = from->first_ns + later_ns;
    if (from->last_ns && from->last_ns + later_ns > into->last_ns)
        into->last_ns = from->last_ns + later_ns;
    if (into->status == SD_STATUS_UNKNOWN)
        into->status = from->status;
}

static int map_metric(struct sd_profile *into, const struct sd_metric *m, uint32_t *id)
{
    struct sd_metric_key key = { .unit = m->unit, .adds = m->adds };
    uint32_t meaning;
    int rc = map_text(into, m->name, &key.name);

    if (rc == 0)
        rc = map_text(into, m->meaning, &meaning);
    return rc < 0 ? rc : sd_define_metric(into, &key, meaning, id);
}

static int map_definitions(struct sd_profile *into, const struct sd_profile *from,
                           struct ids *ids)
{
    int rc = 0;

    memset(ids->tracks, 0xff, from->n_tracks * sizeof *ids->tracks);
    for (size_t i = 0; i < from->n_sites && rc == 0; i++)
        rc = map_site(into, from, i, ids);
    for (size_t i = 0; i < from->n_metrics && rc == 0; i++)
        rc = map_metric(into, &from->metrics[i], &ids->metrics[i]);
    for (size_t i = 0; i < from->n_stacks && rc == 0; i++)
        rc = map_stack(into, from, i, ids);
    for (size_t i = 0; i < from->n_tracks && rc == 0; i++)
        rc = map_track(into, from, i, ids);
    for (size_t i = 0; i < from->n_tracks && rc == 0; i++)
        rc = map_track(into, from, i, ids); /* now with every parent */
    for (size_t i = 0; i < from->n_tracks && rc == 0; i++)
        merge_track(&into->tracks[ids->tracks[i]], &from->tracks[i], ids->later_ns);
    return rc;
}

/* --- Aggregates */

static void merge_values(struct sd_profile *into, size_t row,
                         const struct sd_profile *from, const struct sd_span_total *f,
                         const struct ids *ids)
{
    struct sd_sum *sums;

    sd_assert(row < into->n_spans);
    if (from->n_metrics == 0)
        return;
    sums = into->index->sums + row * into->index->stride;
    for (size_t i = 0; i < from->n_metrics; i++)
        if (f->values[i].n > 0 && ids->metrics[i] != UINT32_MAX)
            sd_sum_merge(&sums[ids->metrics[i]], &f->values[i], from->metrics[i].adds);
}

static int merge_intervals(struct sd_intervals *into, const struct sd_intervals *from,
                           uint32_t limit, uint64_t later_ns)
{
    int rc = 0;

    if (into->gap_ns < from->gap_ns)
        into->gap_ns = from->gap_ns;
    for (uint32_t i = 0; i < from->n && rc == 0; i++) {
        struct sd_interval one = from->items[i];

        one.from_ns += later_ns;
        one.to_ns += later_ns;
        rc = sd_intervals_add(into, limit, one);
    }
    return rc;
}

static int merge_total(struct sd_profile *into, const struct sd_profile *from,
                       const struct sd_span_total *f, const struct ids *ids)
{
    struct sd_span_total *t;
    size_t at;
    int rc =
        sd_profile_total(into, ids->sites[f->site.at], ids->tracks[f->track.at], &at);

    sd_assert(f->site.at < from->n_sites && f->track.at < from->n_tracks);
    if (rc < 0)
        return rc;
    t = &into->spans[at];
    t->count += f->count;
    t->n_raised += f->n_raised;
    t->n_unfinished += f->n_unfinished;
    if (f->first_ns + ids->later_ns < t->first_ns)
        t->first_ns = f->first_ns + ids->later_ns;
    if (f->last_ns + ids->later_ns > t->last_ns)
        t->last_ns = f->last_ns + ids->later_ns;
    sd_sum_merge(&t->wall, &f->wall, SD_ADDS_SUM);
    merge_values(into, at, from, f, ids);
    return merge_intervals(&t->when, &f->when, sd_profile_interval_limit(into),
                           ids->later_ns);
}

static int merge_series(struct sd_profile *into, const struct sd_series *f,
                        const struct ids *ids)
{
    size_t at;
    int rc;

    sd_assert(ids->tracks[f->track.at] < into->n_tracks); /* it is mapped already */
    if (ids->metrics[f->metric.at] == UINT32_MAX)
        return 0;
    rc = sd_profile_readings(into, ids->tracks[f->track.at], ids->metrics[f->metric.at],
                             &at);
    if (rc < 0 || at == SIZE_MAX)
        return rc;
    return sd_series_merge(&into->series[at], f,
                           into->metrics[ids->metrics[f->metric.at]].adds,
                           into->real_zero_ns, ids->later_ns);
}

static int merge_stack_total(struct sd_profile *into, enum sd_evidence e,
                             const struct sd_stack_totals *from, size_t i,
                             const struct ids *ids)
{
    struct sd_sample_total which = from->items[i];
    sd_metric_id metrics[SD_SAMPLE_METRICS];
    int64_t values[SD_SAMPLE_METRICS];
    uint32_t n = 0;

    sd_assert(i < from->n && from->n_metrics <= SD_SAMPLE_METRICS);
    which.track.at = ids->tracks[which.track.at];
    if (which.stack.at != UINT32_MAX)
        which.stack.at = ids->stacks[which.stack.at];
    for (uint32_t k = 0; k < from->n_metrics; k++) {
        metrics[n].at = ids->metrics[from->metrics[k].at];
        values[n] = from->values[k][i];
        n += metrics[n].at != UINT32_MAX;
    }
    return sd_totals_add(into, e, &which, metrics, values, n);
}

static int merge_stack_totals(struct sd_profile *into, enum sd_evidence e,
                              const struct sd_stack_totals *from, const struct ids *ids)
{
    int rc = 0;

    for (size_t i = 0; i < from->n && rc == 0; i++)
        rc = merge_stack_total(into, e, from, i, ids);
    return rc;
}

static int merge_facts(struct sd_profile *into, const struct sd_profile *from,
                       const struct ids *ids)
{
    int rc = 0;

    for (size_t i = 0; i < from->n_notes && rc == 0; i++) {
        const struct sd_note *n = &from->notes[i];
        uint32_t track =
            n->track.at == UINT32_MAX ? UINT32_MAX : ids->tracks[n->track.at];

        rc = sd_profile_add_note(into, n->kind, n->time_ns + ids->later_ns, track,
                                 n->text, strlen(n->text));
    }
    for (size_t i = 0; i < from->n_metas && rc == 0; i++)
        rc = sd_profile_add_meta(into, from->metas[i].key, strlen(from->metas[i].key),
                                 from->metas[i].value, strlen(from->metas[i].value));
    return rc;
}

static void merge_health(struct sd_health *into, const struct sd_health *from)
{
    into->is_ended &= from->is_ended;
    into->has_live |= from->has_live;
    into->is_running |= from->is_running;
    into->is_alive |= from->is_alive;
    into->is_cut |= from->is_cut;
    if (into->status == 0 || into->status == SD_STATUS_UNKNOWN)
        into->status = from->status != 0 ? from->status : into->status;
    into->chunks += from->chunks;
    into->events += from->events;
    into->live_events += from->live_events;
    into->lost_events += from->lost_events;
    into->lost_tables += from->lost_tables;
    if (from->lost_tables)
        into->lost_tables_why = from->lost_tables_why;
    into->bad_chunks += from->bad_chunks;
    into->bad_bytes += from->bad_bytes;
    into->missing_chunks += from->missing_chunks;
    into->file_bytes += from->file_bytes;
    into->raw_bytes += from->raw_bytes;
    into->stored_bytes += from->stored_bytes;
    if (from->created_real_ns < into->created_real_ns) {
        into->created_real_ns = from->created_real_ns;
        into->created_mono_ns = from->created_mono_ns;
    }
}

/* Both sentences, one behind the other. */
static int merge_words(struct sd_profile *into, const char **words, const char *more)
{
    if (!more)
        return 0;
    *words = *words ? sd_arena_printf(&into->arena, "%s; %s", *words, more)
                    : sd_arena_string(&into->arena, more, strlen(more));
    return *words ? 0 : sd_no_memory();
}

/* Adds them to what did not fit while merging. */
static void merge_losses(struct sd_profile_index *into,
                         const struct sd_profile_index *from)
{
    into->n_refused += from->n_refused;
    into->n_cells_refused += from->n_cells_refused;
    into->n_calls_refused += from->n_calls_refused;
    into->n_opens_refused += from->n_opens_refused;
    into->n_models_cut += from->n_models_cut;
    into->n_notes_cut += from->n_notes_cut;
}

static int merge_lines(struct sd_profile *into, const struct sd_profile *from,
                       const struct ids *ids)
{
    int rc = 0;

    for (size_t i = 0; i < from->evidence[SD_LINES].lines.n && rc == 0; i++) {
        struct sd_line_total one = from->evidence[SD_LINES].lines.items[i];
        sd_assert(one.site < from->n_sites);

        one.site = ids->sites[one.site];
        rc = sd_line_totals_add(&into->evidence[SD_LINES].lines, &one);
    }
    return rc;
}

static int merge_pairs(struct sd_pair_totals *into, const struct sd_pair_totals *from,
                       const struct ids *ids)
{
    int rc = 0;

    for (size_t i = 0; i < from->n && rc == 0; i++) {
        struct sd_pair_total one = from->items[i];

        one.track = ids->tracks[one.track];
        one.callee = ids->sites[one.callee];
        if (one.caller != UINT32_MAX)
            one.caller = ids->sites[one.caller];
        rc = sd_pair_totals_add(into, &one);
    }
    return rc;
}

static int merge_alloc_total(struct sd_profile *into,
                             const struct sd_alloc_totals *from, size_t i,
                             uint32_t n_before, const struct ids *ids)
{
    static const int64_t none[SD_ALLOC_MOMENTS];
    struct sd_alloc_total one = from->items[i];

    one.track = ids->tracks[one.track];
    one.process += n_before;
    if (one.stack != UINT32_MAX)
        one.stack = ids->stacks[one.stack];
    return sd_alloc_totals_add(&into->allocs, &one,
                               from->moments ? from->moments + i * SD_ALLOC_MOMENTS
                                             : none);
}

static void merge_alloc_facts(struct sd_alloc_totals *into,
                              const struct sd_alloc_totals *from)
{
    if (!into->is_recorded) {
        into->choice = from->choice;
        into->mode = from->mode;
    }
    into->has_modes |= from->has_modes || into->mode != from->mode;
    if (from->mode == SD_ALLOCS_AGGREGATE) /* what it does not know nobody does */
        into->mode = from->mode;
    into->is_recorded = true;
    into->lost += from->lost;
}

/* Processes stand behind those that there are. */
static int merge_allocs(struct sd_profile *into, const struct sd_alloc_totals *from,
                        const struct ids *ids)
{
    uint32_t n_before = (uint32_t)into->allocs.n_processes;
    int rc = 0;

    if (!from->is_recorded)
        return 0;
    merge_alloc_facts(&into->allocs, from);
    for (size_t i = 0; i < from->n_processes && rc == 0; i++) {
        struct sd_alloc_process one = from->processes[i];

        one.track = one.track == UINT32_MAX ? one.track : ids->tracks[one.track];
        one.peak_ns += ids->later_ns;
        rc = sd_alloc_totals_add_process(&into->allocs, &one);
    }
    for (size_t i = 0; i < from->n && rc == 0; i++)
        rc = merge_alloc_total(into, from, i, n_before, ids);
    return rc < 0 ? rc : sd_alloc_evidence_make(into);
}

static int merge_all(struct sd_profile *into, const struct sd_profile *from,
                     struct ids *ids)
{
    int rc = map_definitions(into, from, ids);

    for (size_t i = 0; i < from->n_spans && rc == 0; i++)
        rc = merge_total(into, from, &from->spans[i], ids);
    for (size_t i = 0; i < from->n_series && rc == 0; i++)
        rc = merge_series(into, &from->series[i], ids);
    for (enum sd_evidence e = 0; e < SD_EVIDENCES && rc == 0; e++)
        if (sd_evidence_has_stacks(e) && e != SD_ALLOCATIONS)
            rc = merge_stack_totals(into, e, &from->evidence[e].stacks, ids);
    if (rc == 0)
        rc = merge_pairs(&into->pairs, &from->pairs, ids);
    if (rc == 0)
        rc = merge_pairs(&into->whole_pairs, &from->whole_pairs, ids);
    if (rc == 0)
        rc = merge_lines(into, from, ids);
    if (rc == 0)
        rc = merge_allocs(into, &from->allocs, ids);
    if (rc == 0)
        rc = merge_facts(into, from, ids);
    if (rc == 0)
        rc = sd_models_take(into, &from->evidence[SD_MODELS].models);
    if (rc == 0)
        rc = sd_timings_capture_merge(into, from, ids->later_ns);
    if (rc == 0)
        rc = merge_words(into, &into->damage, from->damage);
    if (rc == 0)
        rc = merge_words(into, &into->complaint, from->complaint);
    return rc;
}

/* Each capture had the same filter, of its own time: what was left reaches from the
 * first to the last. */
static void merge_window(struct sd_window *into, const struct sd_window *from,
                         uint64_t later_ns)
{
    if (!from->is_set)
        return;
    if (from->from_ns + later_ns < into->from_ns)
        into->from_ns = from->from_ns + later_ns;
    if (from->to_ns + later_ns > into->to_ns)
        into->to_ns = from->to_ns + later_ns;
}

int sd_profile_merge(struct sd_profile *into, const struct sd_profile *from)
{
    struct ids ids = { 0 };
    int rc;

    sd_assert(into != from); /* its arrays would move while they are read */
    ids.sites = sd_alloc((from->n_sites + 1) * sizeof *ids.sites);
    ids.tracks = sd_alloc((from->n_tracks + 1) * sizeof *ids.tracks);
    ids.metrics = sd_alloc((from->n_metrics + 1) * sizeof *ids.metrics);
    ids.stacks = sd_alloc((from->n_stacks + 1) * sizeof *ids.stacks);
    rc = ids.sites && ids.tracks && ids.metrics && ids.stacks ? 0 : sd_no_memory();
    sd_profile_bound(into, from->health.stored_bytes);
    if (rc == 0)
        rc = bring_hosts(into);
    if (rc == 0) {
        ids.later_ns = align(into, from);
        rc = merge_all(into, from, &ids);
    }
    if (rc == 0) {
        uint64_t end_ns = from->end_ns + ids.later_ns;

        into->end_ns = end_ns > into->end_ns ? end_ns : into->end_ns;
        end_ns = from->run_end_ns + ids.later_ns;
        into->run_end_ns = end_ns > into->run_end_ns ? end_ns : into->run_end_ns;
        into->ran_ns = from->ran_ns > into->ran_ns ? from->ran_ns : into->ran_ns;
        merge_window(&into->window, &from->window, ids.later_ns);
        into->n_span_events += from->n_span_events;
        into->n_point_events += from->n_point_events;
        into->n_sample_events += from->n_sample_events;
        into->n_timeline_calls += from->n_timeline_calls;
        into->n_timeline_lost += from->n_timeline_lost;
        into->has_timeline |= from->has_timeline;
        into->is_timeline_torn |= from->is_timeline_torn;
        into->n_captures += from->n_captures;
        into->is_part |= from->is_part;
        into->recorded |= from->recorded;
        merge_health(&into->health, &from->health);
        merge_losses(into->index, from->index);
        sd_slices_free(into->index->slices); /* they are of one of the two */
        into->index->slices = NULL;
    }
    sd_profile_settle(into);
    sd_free(ids.sites);
    sd_free(ids.tracks);
    sd_free(ids.metrics);
    sd_free(ids.stacks);
    return rc;
}
