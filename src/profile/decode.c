/* SPDX-License-Identifier: MIT */
#include "profile/decode.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "capture/call_cell.h"
#include "profile/profile_define.h"
#include "profile/local_ids.h"
#include "profile/samples.h"
#include "profile/series.h"

enum { NONE = UINT32_MAX };

int sd_decoder_init(struct sd_decoder *d, struct sd_reader *r, struct sd_profile *grow,
                    const struct sd_profile *p)
{
    sd_assert(p && (!grow || grow == p));
    *d = (struct sd_decoder){ .reader = r,
                              .grow = grow,
                              .p = p,
                              .zero_ns = sd_reader_health(r)->created_mono_ns };
    sd_reader_leave_out(r, SD_CHUNK_ALLOC); /* alloc_load opens these */
    d->n_locals = SD_LOCAL_IDS;
    d->locals = sd_zalloc(SD_LOCAL_IDS * sizeof *d->locals);
    return d->locals ? 0 : sd_no_memory();
}

void sd_decoder_rewind(struct sd_decoder *d)
{
    sd_reader_rewind(d->reader);
    sd_opens_release(&d->opens);
    sd_call_tables_release(&d->calls);
    sd_line_tables_release(&d->lines);
    sd_alloc_tables_release(&d->allocs);
    sd_call_spans_release(&d->spans);
    sd_table_release(&d->tree_calls);
    d->has_chunk = d->is_draining = d->is_past = false;
    d->n_streams = d->n_chunks = 0;
    d->left_at = 0;
}

void sd_decoder_release(struct sd_decoder *d)
{
    sd_free(d->locals);
    sd_free(d->stream_ends);
    sd_clocks_release(&d->clocks);
    sd_opens_release(&d->opens);
    sd_call_tables_release(&d->calls);
    sd_line_tables_release(&d->lines);
    sd_alloc_tables_release(&d->allocs);
    sd_call_spans_release(&d->spans);
    sd_table_release(&d->tree_calls);
    *d = (struct sd_decoder){ 0 };
}

/* --- Times */

uint64_t sd_decoder_moment(const struct sd_decoder *d, uint64_t ticks)
{
    uint64_t ns = d->line ? sd_clock_line_ns(d->line, ticks) : ticks;

    if (ns <= d->zero_ns)
        return 0;
    ns -= d->zero_ns;
    return ns < SD_TIME_MAX ? ns : SD_TIME_MAX;
}

static void seen_until(struct sd_decoder *d, uint64_t ns)
{
    if (ns > d->stream_last_ns)
        d->stream_last_ns = ns;
}

static int collect_pairs(struct sd_decoder *d, const struct sd_chunk_view *view)
{
    const struct sd_record *rec;
    uint32_t at = 0;
    int rc = 0;

    while (rc == 0 && (rec = sd_chunk_view_next(view, &at))) {
        const struct sd_rec_clock *c = (const void *)rec;

        if (rec->type == SD_REC_CLOCK && c->kind != SD_CLOCK_MONOTONIC)
            rc = sd_clocks_add(&d->clocks, view->stream, c->ticks, c->mono_ns);
        else if (rec->type == SD_REC_NAMES || rec->type == SD_REC_CALLS_FROM)
            rc = sd_call_spans_pairs(d, rec);
    }
    return rc;
}

/* A stream with a clock of its own has turned up.  Its later pairs are needed for its
 * first events, so all of them are collected in one walk over the capture, and the
 * walk that was under way goes on where it was.  Happens once, before the stream's
 * first event. */
static int collect_clocks(struct sd_decoder *d)
{
    struct sd_chunk_view view;
    uint64_t stream = d->view.stream;
    int rc;

    sd_reader_rewind(d->reader);
    while ((rc = sd_reader_next(d->reader, &view)) == 1) {
        rc = collect_pairs(d, &view);
        if (rc < 0)
            return rc;
    }
    sd_reader_rewind(d->reader);
    for (uint64_t i = 0; i < d->n_chunks && rc >= 0; i++)
        rc = sd_reader_next(d->reader, &d->view);
    /* A file that is written or cut meanwhile may have another one there: then nothing
     * more comes of it. */
    if (d->n_chunks && (rc == 0 || d->view.stream != stream || d->view.n < d->at)) {
        d->view.stream = stream;
        d->view.n = d->at = 0;
    }
    d->has_clocks = true;
    return rc < 0 ? rc : 0;
}

static void note_clock(struct sd_decoder *d, uint64_t mono_ns)
{
    uint64_t ns = mono_ns > d->zero_ns ? mono_ns - d->zero_ns : 0;

    ns = ns < SD_TIME_MAX ? ns : SD_TIME_MAX;
    if (ns < d->first_clock_ns)
        d->first_clock_ns = ns;
    if (ns > d->last_clock_ns)
        d->last_clock_ns = ns;
}

static int take_clock(struct sd_decoder *d, const struct sd_rec_clock *c)
{
    int rc;

    d->is_lasting = true;
    note_clock(d, c->mono_ns);
    if (c->kind == SD_CLOCK_MONOTONIC || d->line)
        return 0;
    if (!d->has_clocks) {
        rc = collect_clocks(d);
        if (rc < 0)
            return rc;
    }
    d->line = sd_clocks_line(&d->clocks, d->view.stream);
    return 0;
}

/* --- Facts */

static int take_meta(struct sd_decoder *d, const struct sd_rec_meta *r)
{
    size_t room = r->head.len - offsetof(struct sd_rec_meta, text);

    d->is_lasting = true;
    if (!d->grow || (size_t)r->key_n + r->value_n > room)
        return 0;
    return sd_profile_add_meta(d->grow, r->text, r->key_n, r->text + r->key_n,
                               r->value_n);
}

static int take_note(struct sd_decoder *d, const struct sd_rec_note *r)
{
    size_t room = r->head.len - offsetof(struct sd_rec_note, text);
    enum sd_note_kind kind =
        (enum sd_note_kind)sd_local_known_kind(r->kind, SD_NOTE_REFUSAL, SD_NOTE_INFO);

    d->is_lasting = true;
    if (!d->grow)
        return 0;
    return sd_profile_add_note(d->grow, kind, sd_decoder_moment(d, r->time),
                               sd_local_of(d, r->track, SD_REC_TRACK), r->text,
                               r->n < room ? r->n : room);
}

static int take_model(struct sd_decoder *d, const struct sd_rec_model *r)
{
    d->is_lasting = true;
    return d->grow ? sd_models_add(d->grow, d->view.stream, r) : 0;
}

static void take_exit(struct sd_decoder *d, const struct sd_rec_exit *r)
{
    uint32_t id = sd_local_of(d, r->track, SD_REC_TRACK);
    uint64_t ns = sd_decoder_moment(d, r->time);
    struct sd_track *t;

    d->is_lasting = true;
    seen_until(d, ns);
    if (!d->grow || id == NONE)
        return;
    sd_assert(id < d->grow->n_tracks);
    t = &d->grow->tracks[id];
    t->status = r->status;
    t->last_ns = ns > t->last_ns ? ns : t->last_ns;
}

/* --- Events */

static void set_values(const struct sd_decoder *d, struct sd_event *e, uint32_t shape,
                       const int64_t *values, size_t room)
{
    uint32_t id = sd_local_of(d, shape, SD_REC_SHAPE);

    sd_assert_slow(id == NONE || id < d->p->index->shapes.n);
    e->values = values;
    e->metrics = id == NONE ? NULL : d->p->index->shapes_of[id].metrics;
    e->n_values = id == NONE ? 0 : d->p->index->shapes_of[id].n;
    if (e->n_values > room)
        e->n_values = (uint32_t)room;
}

/* False: the profile does not know the ids, which happens only when a capture grew
 * after the profile was loaded. */
static bool is_known(const struct sd_event *e)
{
    return e->track.at != NONE && (e->kind != SD_EVENT_SPAN || e->site.at != NONE);
}

/* What follows one of those in its stream came later, too, known or not: the events
 * before are then the first ones, without a gap. */
static int give(struct sd_decoder *d, bool is_of_profile)
{
    d->is_past = !is_of_profile;
    return is_of_profile;
}

/* The track of an event, and for spans the process it is matched in. */
static int event_track(struct sd_decoder *d, uint32_t local_at, uint32_t *track,
                       uint32_t *process)
{
    const struct sd_local_id *l = sd_local_find(d, local_at, SD_REC_TRACK);
    int rc;

    if (l) {
        *track = l->id;
        *process = l->process;
        return 0;
    }
    rc = sd_local_lost_track(d, track);
    *process = *track;
    return rc;
}

static int event_site(struct sd_decoder *d, uint32_t local_at, uint32_t *site)
{
    *site = sd_local_of(d, local_at, SD_REC_SITE);
    return *site == NONE ? sd_local_lost_site(d, site) : 0;
}

static int take_open(struct sd_decoder *d, const struct sd_rec_open *r)
{
    struct sd_open_span o = { .span = r->span, .stream = (uint32_t)d->n_streams };
    int rc = event_track(d, r->track, &o.track, &o.process);

    if (rc == 0)
        rc = event_site(d, r->site, &o.site);
    if (rc < 0)
        return rc;
    o.from_ns = sd_decoder_moment(d, r->time);
    seen_until(d, o.from_ns);
    if (o.site == NONE || o.track == NONE || d->has_all_ends)
        return 0;
    return sd_opens_begin(&d->opens, &o);
}

static int take_span(struct sd_decoder *d, const struct sd_rec_span *r,
                     struct sd_event *e)
{
    size_t room = (r->head.len - offsetof(struct sd_rec_span, values)) / 8;
    uint32_t process;
    int rc = event_track(d, r->track, &e->track.at, &process);

    if (rc == 0)
        rc = event_site(d, r->site, &e->site.at);
    if (rc == 0 && !d->has_all_ends)
        rc = sd_opens_end(&d->opens, process, r->span);
    if (rc < 0)
        return rc;
    e->kind = SD_EVENT_SPAN;
    e->stack = SD_NO_STACK;
    e->from_ns = sd_decoder_moment(d, r->from);
    e->to_ns = sd_decoder_moment(d, r->to);
    if (e->to_ns < e->from_ns)
        e->to_ns = e->from_ns;
    e->flags = r->flags;
    seen_until(d, e->to_ns);
    set_values(d, e, r->shape, r->values, room);
    return give(d, is_known(e));
}

static int take_point(struct sd_decoder *d, const struct sd_rec_point *r,
                      struct sd_event *e)
{
    size_t room = (r->head.len - offsetof(struct sd_rec_point, values)) / 8;
    uint32_t process;
    int rc = event_track(d, r->track, &e->track.at, &process);

    if (rc < 0)
        return rc;
    e->kind = SD_EVENT_POINT;
    e->site = SD_NO_SITE;
    e->stack = SD_NO_STACK;
    e->from_ns = e->to_ns = sd_decoder_moment(d, r->time);
    e->flags = 0;
    seen_until(d, e->to_ns);
    set_values(d, e, r->shape, r->values, room);
    return give(d, is_known(e));
}

/* Reports know leaves only, no flags: what is missing is a frame from here on. */
static int end_partial(const struct sd_decoder *d, sd_stack_id *stack)
{
    if (d->grow)
        return sd_define_partial_stack(d->grow, *stack, &stack->at);
    stack->at = sd_find_partial_stack(d->p, *stack);
    return 0;
}

static int take_sample(struct sd_decoder *d, const struct sd_rec_sample *r,
                       struct sd_event *e)
{
    size_t room = (r->head.len - offsetof(struct sd_rec_sample, values)) / 8;
    uint32_t process;
    int rc = event_track(d, r->track, &e->track.at, &process);

    e->stack.at = sd_local_of(d, r->stack, SD_REC_STACK);
    if (rc == 0 && r->stack != 0 && e->stack.at == NONE)
        rc = sd_local_lost_stack(d, &e->stack.at);
    if (rc == 0 && (r->flags & SD_SAMPLE_PARTIAL))
        rc = end_partial(d, &e->stack);
    if (rc < 0)
        return rc;
    sd_assert_slow(e->stack.at == NONE || e->stack.at < d->p->n_stacks);
    e->kind = SD_EVENT_SAMPLE;
    e->site = SD_NO_SITE;
    e->from_ns = e->to_ns = sd_decoder_moment(d, r->time);
    e->flags = r->flags & SD_SAMPLE_KNOWN;
    seen_until(d, e->to_ns);
    set_values(d, e, r->shape, r->values, room);
    return give(d, is_known(e) && (r->stack == 0 || e->stack.at != NONE));
}

static int take_timeline(struct sd_decoder *d, const struct sd_record *rec)
{
    const void *r = rec;
    uint32_t len = rec->len; /* it may be gone behind the calls */
    int rc;

    d->is_lasting = true;
    if (d->spans.request == SD_SPANS_NONE)
        return 0;
    rc = rec->type == SD_REC_NAMES        ? sd_call_spans_names(d, r)
         : rec->type == SD_REC_CALLS_FROM ? sd_call_spans_from(d, r)
                                          : sd_call_spans_run(d, r);
    if (rc == 1)
        d->at -= d->at < len
                     ? d->at
                     : len; /* it comes again, when what is open has been handed out */
    return rc < 0 ? rc : 0;
}

/* 1: *e is filled; 0: it was no event, or one of a timeline, which has it now. */
static int take(struct sd_decoder *d, const struct sd_record *rec, struct sd_event *e)
{
    const void *r = rec;

    switch (rec->type) {
    case SD_REC_SPAN:
        return take_span(d, r, e);
    case SD_REC_OPEN:
        return take_open(d, r);
    case SD_REC_SAMPLE:
        return take_sample(d, r, e);
    case SD_REC_POINT:
        return take_point(d, r, e);
    case SD_REC_STACK:
    case SD_REC_STRING:
    case SD_REC_SITE:
    case SD_REC_SIZE:
    case SD_REC_TRACK:
    case SD_REC_METRIC:
    case SD_REC_SHAPE:
        return sd_local_define(d, rec);
    case SD_REC_CLOCK:
        return take_clock(d, r);
    case SD_REC_META:
        return take_meta(d, r);
    case SD_REC_NOTE:
        return take_note(d, r);
    case SD_REC_MODEL:
        return take_model(d, r);
    case SD_REC_EXIT:
        take_exit(d, r);
        return 0;
    case SD_REC_NAMES:
    case SD_REC_CALLS_FROM:
    case SD_REC_CALLS:
        return take_timeline(d, rec);
    default:
        return 0; /* of a later version: skipped, as the format promises */
    }
}

/* --- Timelines */

int sd_decoder_take_name(struct sd_decoder *d, const struct sd_record *r,
                         struct sd_local_id *names, size_t n)
{
    struct sd_decoder inside = *d;

    inside.locals = names;
    inside.n_locals = n;
    inside.chunk_no = 1;
    return sd_local_define(&inside, r);
}

int sd_decoder_need_clocks(struct sd_decoder *d)
{
    int rc;

    if (d->has_clocks)
        return 0;
    rc = collect_clocks(d);
    return rc < 0 ? rc : 1;
}

/* --- Tables of cells */

int sd_decoder_site(struct sd_decoder *d, uint32_t id, sd_site_id *site)
{
    return event_site(d, id, &site->at);
}

int sd_decoder_track(struct sd_decoder *d, uint32_t id, uint32_t *track)
{
    uint32_t process;

    return event_track(d, id, track, &process);
}

/* Ticks of a counter that nothing compares with the clock are taken for nanoseconds. */
double sd_decoder_ns_per_tick(const struct sd_decoder *d)
{
    double each = d->line ? sd_clocks_ns_per_tick(&d->clocks) : 1;

    return each > 0 ? each : 1;
}

static bool is_table(const struct sd_chunk_view *view)
{
    return view->type == SD_CHUNK_DEFS || view->type == SD_CHUNK_CELLS;
}

/* Memory for a cell until its stream has been handed out, in sizes of a cell: the cell
 * itself, in an array that doubles, and what is derived from it. */
enum { GATHERED_TIMES = 4 };

/* Cells that find no room are left out; the calls that they count are counted. */
static bool has_room_for_cells(struct sd_decoder *d, const struct sd_cells_view *view)
{
    struct sd_profile_index *ix = d->grow->index;
    size_t bytes = (size_t)view->n * view->cell_bytes * GATHERED_TIMES;

    sd_assert(d->grow); /* cells are read while a profile is filled, and never again */
    if (sd_profile_has_room(d->grow, bytes)) {
        ix->gathered_bytes += bytes;
        return true;
    }
    ix->n_cells_refused += view->n;
    ix->n_calls_refused += sd_call_tables_count(view);
    return false;
}

/* Once per chunk, when the calls of the table before have been handed out. */
static int begin_chunk(struct sd_decoder *d)
{
    struct sd_cells_view cells;
    int rc;

    if (!d->has_chunk || d->is_begun)
        return 0;
    d->is_begun = true;
    if (d->view.type == SD_CHUNK_DEFS) {
        d->defs_bytes += d->view.n;
        return sd_local_make_room(d, d->defs_bytes);
    }
    if (!d->wants_calls || !sd_cells_of_chunk(&d->view, &cells) ||
        !has_room_for_cells(d, &cells))
        return 0;
    rc = sd_call_tables_add(&d->calls, &cells);
    if (rc == 0)
        rc = sd_alloc_tables_add(&d->allocs, d->grow, &cells);
    return rc < 0 ? rc : sd_line_tables_add(&d->lines, &cells);
}

/* --- Chunks and streams */

/* Of the tree of this stream, which is settled. */
static int count_tree(struct sd_decoder *d, uint64_t stream)
{
    struct sd_call_root root;
    uint64_t sum = 0;
    int rc;

    if (d->calls.n == 0)
        return 0;
    for (size_t i = 1; i < d->calls.n; i++)
        sum += d->calls.cells[i].calls;
    memcpy(&root, &d->calls.cells[0], sizeof root);
    rc = sd_table_put(&d->tree_calls, stream, sum);
    return rc == 0 && root.flags & SD_CALLS_TIMED
               ? sd_call_spans_expect(&d->spans, stream)
               : rc;
}

static int end_stream(struct sd_decoder *d, uint64_t stream)
{
    uint64_t *ends =
        sd_grow_array(d->stream_ends, &d->cap_streams, d->n_streams + 1, sizeof *ends);
    int rc;

    if (!ends)
        return sd_no_memory();
    d->stream_ends = ends;
    ends[d->n_streams++] = d->stream_last_ns;
    rc = sd_opens_next_stream(&d->opens);
    sd_call_spans_leave(&d->spans);
    if (rc < 0 || !d->wants_calls)
        return rc;
    rc = sd_call_tables_settle(&d->calls, d);
    if (rc == 0)
        rc = count_tree(d, stream);
    if (rc == 0)
        rc = sd_alloc_tables_settle(&d->allocs, d, stream);
    return rc < 0 ? rc : sd_line_tables_settle(&d->lines, d);
}

static void begin_stream(struct sd_decoder *d)
{
    if (d->grow)
        d->grow->index->gathered_bytes = 0;
    d->stream_last_ns = 0;
    d->is_past = false;
    d->line = d->has_clocks ? sd_clocks_line(&d->clocks, d->view.stream) : NULL;
    d->defs_bytes = 0;
    d->first_clock_ns = UINT64_MAX;
    d->last_clock_ns = 0;
}

/* A chunk whose definitions are the first of a track or metric is read for any window:
 * ids are then the same.  (Sites and stacks may be fewer.) */
static int note_chunk(struct sd_decoder *d)
{
    bool is_first =
        d->n_tracks_before != d->p->n_tracks || d->n_metrics_before != d->p->n_metrics;

    if (!d->times || !d->has_chunk)
        return 0;
    return d->is_lasting || is_first || d->view.type != SD_CHUNK_EVENTS
               ? sd_chunk_times_keep(d->times, sd_reader_place(d->reader))
               : 0;
}

/* 1: a chunk; 0: there is none left. */
static int next_chunk(struct sd_decoder *d)
{
    uint64_t stream = d->view.stream;
    bool had = d->has_chunk, is_new;
    int rc = note_chunk(d);

    if (rc == 0)
        rc = sd_reader_next(d->reader, &d->view);
    if (rc < 0)
        return rc;
    d->has_chunk = rc == 1;
    d->n_chunks += d->has_chunk;
    is_new = !had || !d->has_chunk || d->view.stream != stream;
    rc = had && is_new ? end_stream(d, stream) : 0;
    if (rc < 0 || !d->has_chunk)
        return rc;
    if (is_new)
        begin_stream(d);
    d->at = 0;
    if (is_new || !is_table(&d->view))
        d->chunk_no++;
    d->is_begun = d->is_lasting = false;
    d->n_tracks_before = d->p->n_tracks;
    d->n_metrics_before = d->p->n_metrics;
    return 1;
}

/* What began and never ended: it lasted at least until its stream's last word. */
static int next_unfinished(struct sd_decoder *d, struct sd_event *e)
{
    struct sd_open_span left;

    if (!sd_opens_left(&d->opens, &d->left_at, &left))
        return 0;
    sd_assert(left.stream < d->n_streams);
    *e = (struct sd_event){
        .kind = SD_EVENT_SPAN,
        .track = { left.track },
        .site = { left.site },
        .stack = SD_NO_STACK,
        .from_ns = left.from_ns,
        .to_ns = d->stream_ends[left.stream],
        .flags = SD_SPAN_UNFINISHED,
    };
    return 1;
}

/* Has a timeline something to hand out? */
static bool is_pending(const struct sd_call_spans *s)
{
    return s->at != s->end || s->is_closing;
}

int sd_decoder_next(struct sd_decoder *d, struct sd_event *e)
{
    const struct sd_record *rec;
    int rc;

    for (;;) {
        if (sd_call_tables_next(&d->calls, e) || sd_line_tables_next(&d->lines, e))
            return 1;
        rc = sd_call_spans_next(d, e);
        if (rc != 0)
            return rc;
        if (d->is_draining)
            return next_unfinished(d, e);
        rc = begin_chunk(d);
        if (rc < 0)
            return rc;
        while (d->has_chunk && !d->is_past &&
               (rec = sd_chunk_view_next(&d->view, &d->at))) {
            rc = take(d, rec, e);
            if (rc == 0 && is_pending(&d->spans))
                rc = sd_call_spans_next(d, e);
            if (rc != 0)
                return rc;
        }
        rc = next_chunk(d);
        if (rc < 0)
            return rc;
        d->is_draining = rc == 0;
    }
}
