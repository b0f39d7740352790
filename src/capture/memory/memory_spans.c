/* SPDX-License-Identifier: MIT */
/* memory_spans: the half of memory_capture that writes spans and readings: a stream of
 * spans in the order of their ends, as a log has them, and one of readings.  Each chunk
 * defines what its events stand on. */
#include "capture/memory/memory_capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "capture/define.h"
#include "capture/memory/memory_chunks.h"

enum {
    NAME_BYTES_MAX = 1000, /* of one part of a path, as sections have it */
    ANCESTORS_MAX = 64,    /* what lies further out is shown as one "…" */
    /* What one span may need, with all that it stands on; */
    SPAN_ROOM = (ANCESTORS_MAX + 2) * (NAME_BYTES_MAX + 64) + SD_WHOLE_VALUES * 256,
#ifdef SD_TINY
    CHUNK_FULL = 256,
#else
    CHUNK_FULL = SD_CHUNK_RAW_MAX - SPAN_ROOM, /* and is begun in no fuller chunk */
#endif
};
_Static_assert(CHUNK_FULL > 0 && CHUNK_FULL + SPAN_ROOM <= SD_CHUNK_RAW_MAX,
               "a span finds room in a chunk");

struct spans_making {
    struct sd_making *m;
    const struct sd_whole_spans *s;
    struct sd_buf chunk;
    struct sd_chunk_head head; /* of the chunk */
    uint32_t next_id;
    /* Ids in this chunk; 0: not defined yet. */
    uint32_t *sites;
    uint32_t shapes[SD_WHOLE_SHAPES];
    uint32_t process, further_out;
    struct sd_table threads;  /* tid -> id */
    struct sd_table children; /* pid -> id */
};

/* --- Records --------------------------------------------------------------------- */

/* Cleared but for its header; NULL without memory, and the buffer says so at the end.
 */
static void *put(struct spans_making *sm, enum sd_record_type type, size_t bytes)
{
    uint32_t len = sd_align8((uint32_t)bytes);
    struct sd_record *r = (void *)sd_buf_room(&sm->chunk, len);

    sd_assert(len <= SD_RECORD_MAX);
    if (!r)
        return NULL;
    memset(r, 0, len);
    *r = (struct sd_record){ (uint16_t)len, (uint8_t)type, (uint8_t)sm->head.seq };
    sm->chunk.n += len;
    return r;
}

static uint32_t define_string(struct spans_making *sm, const char *s, size_t n)
{
    struct sd_rec_string *r = put(sm, SD_REC_STRING, sizeof *r + n);

    if (r)
        sd_fill_string(r, sm->next_id, s, n);
    return sm->next_id++;
}

static uint32_t define_section(struct spans_making *sm, const char *name, size_t n,
                               uint32_t parent)
{
    size_t short_n = n <= NAME_BYTES_MAX ? n : sd_text_whole(name, NAME_BYTES_MAX);
    uint32_t string = define_string(sm, name, short_n);
    struct sd_rec_site *r = put(sm, SD_REC_SITE, sizeof *r);

    if (r)
        sd_fill_site(r, sm->next_id, SD_SITE_SECTION, string, 0, 0, parent);
    return sm->next_id++;
}

/* In the process, which is 0 until it is defined itself. */
static uint32_t define_track(struct spans_making *sm, enum sd_track_kind kind,
                             uint64_t number, uint64_t start, const char *name)
{
    uint32_t string = name && *name ? define_string(sm, name, strlen(name)) : 0;
    uint32_t parent = sm->process;
    struct sd_rec_track *r = put(sm, SD_REC_TRACK, sizeof *r);

    if (r)
        sd_fill_track(r, sm->next_id, kind, parent, number, start, string);
    return sm->next_id++;
}

static uint32_t define_metric(struct spans_making *sm, const struct sd_metric_about *a)
{
    uint32_t name = define_string(sm, a->name, strlen(a->name));
    uint32_t meaning = define_string(sm, a->meaning, strlen(a->meaning));
    struct sd_rec_metric *r = put(sm, SD_REC_METRIC, sizeof *r);

    if (r) {
        r->id = sm->next_id;
        r->unit = (uint16_t)a->unit;
        r->adds = (uint16_t)a->adds;
        r->name = name;
        r->meaning = meaning;
    }
    return sm->next_id++;
}

static uint32_t define_shape(struct spans_making *sm, uint64_t mask)
{
    uint32_t ids[SD_WHOLE_VALUES], n = 0;
    struct sd_rec_shape *r;

    for (unsigned i = 0; mask >> i; i++)
        if (mask >> i & 1)
            ids[n++] = define_metric(sm, &sm->s->metrics[i]);
    r = put(sm, SD_REC_SHAPE, sizeof *r + n * sizeof *ids);
    if (r) {
        r->id = sm->next_id;
        r->n = n;
        memcpy(r->metrics, ids, n * sizeof *ids);
    }
    return sm->next_id++;
}

/* --- What a span stands on -------------------------------------------------------- */

static uint32_t site_here(struct spans_making *sm, uint32_t site)
{
    uint32_t unknown[ANCESTORS_MAX], n = 0, id = 0;

    for (; site != SD_NO_PARENT; site = sm->s->sites[site].parent) {
        sd_assert(site < sm->s->n_sites);
        id = sm->sites[site];
        if (id)
            break;
        if (n == ANCESTORS_MAX) {
            if (!sm->further_out)
                sm->further_out = define_section(sm, "…", sizeof "…" - 1, 0);
            id = sm->further_out;
            break;
        }
        unknown[n++] = site;
    }
    while (n > 0) {
        const struct sd_whole_site *one = &sm->s->sites[unknown[--n]];

        id = sm->sites[unknown[n]] = define_section(sm, one->name, one->n, id);
    }
    return id;
}

static int track_here(struct spans_making *sm, uint32_t tid, uint64_t start,
                      uint32_t *track)
{
    uint64_t id;

    if (!sm->process)
        sm->process = define_track(sm, SD_TRACK_PROCESS, sm->s->pid, sm->s->start_ticks,
                                   sm->s->process);
    *track = sm->process;
    if (!tid)
        return 0;
    if (!sd_table_get(&sm->threads, tid, &id)) {
        id = define_track(sm, SD_TRACK_THREAD, tid, start, NULL);
        if (sd_table_put(&sm->threads, tid, id) < 0)
            return SD_ENOMEM;
    }
    *track = (uint32_t)id;
    return 0;
}

static int child_here(struct spans_making *sm, uint64_t pid, uint32_t *track)
{
    uint64_t id;
    int rc = track_here(sm, 0, 0, track);

    if (rc < 0 || pid == 0)
        return rc;
    if (!sd_table_get(&sm->children, pid, &id)) {
        id = define_track(sm, SD_TRACK_PROCESS, pid, 0, NULL);
        rc = sd_table_put(&sm->children, pid, id);
    }
    *track = (uint32_t)id;
    return rc;
}

static uint32_t shape_here(struct spans_making *sm, uint32_t shape)
{
    sd_assert(shape < sm->s->n_shapes);
    if (!sm->shapes[shape] && sm->s->shapes[shape])
        sm->shapes[shape] = define_shape(sm, sm->s->shapes[shape]);
    return sm->shapes[shape];
}

/* --- Chunks ----------------------------------------------------------------------- */

static void flush(struct spans_making *sm)
{
    if (sm->chunk.bad)
        sm->m->to->bad = true;
    else if (sm->head.count)
        sd_making_add_as(sm->m, sm->head, sm->chunk.p, (uint32_t)sm->chunk.n);
    sd_buf_clear(&sm->chunk);
    sm->head = (struct sd_chunk_head){ .type = SD_CHUNK_EVENTS,
                                       .stream = sm->head.stream,
                                       .seq = sm->head.seq + 1 };
    sm->next_id = 1;
    memset(sm->sites, 0, sm->s->n_sites * sizeof *sm->sites);
    memset(sm->shapes, 0, sizeof sm->shapes);
    sm->process = sm->further_out = 0;
    sd_table_clear(&sm->threads);
    sd_table_clear(&sm->children);
}

static void begin_stream(struct spans_making *sm)
{
    sm->head = (struct sd_chunk_head){ .stream = ++sm->m->n_streams };
    flush(sm);
}

static void count(struct spans_making *sm, uint64_t time)
{
    sm->head.t0 = sm->head.count++ ? sm->head.t0 : time;
    sm->head.t1 = time;
}

static int add_span(struct spans_making *sm, const struct sd_whole_span *span)
{
    uint32_t n = (uint32_t)__builtin_popcountll(sm->s->shapes[span->shape]);
    uint32_t site, track, shape;
    struct sd_rec_span *r;

    if (sm->chunk.n >= CHUNK_FULL)
        flush(sm);
    site = site_here(sm, span->site);
    shape = shape_here(sm, span->shape);
    if (track_here(sm, span->tid, span->thread_start, &track) < 0)
        return SD_ENOMEM;
    r = put(sm, SD_REC_SPAN, sizeof *r + n * sizeof *r->values);
    if (!r)
        return sd_no_memory();
    r->site = site;
    r->track = track;
    r->shape = (uint16_t)shape;
    r->flags = span->flags;
    r->from = span->from;
    r->to = span->to;
    memcpy(r->values, span->values, n * sizeof *r->values);
    count(sm, span->to);
    return 0;
}

static int add_point(struct spans_making *sm, const struct sd_whole_point *point)
{
    uint32_t n = (uint32_t)__builtin_popcountll(sm->s->shapes[point->shape]);
    uint32_t track, shape;
    struct sd_rec_point *r;

    if (sm->chunk.n >= CHUNK_FULL)
        flush(sm);
    shape = shape_here(sm, point->shape);
    if (child_here(sm, point->child, &track) < 0)
        return SD_ENOMEM;
    r = put(sm, SD_REC_POINT, sizeof *r + n * sizeof *r->values);
    if (!r)
        return sd_no_memory();
    r->shape = shape;
    r->track = track;
    r->time = point->at;
    memcpy(r->values, point->values, n * sizeof *r->values);
    count(sm, point->at);
    return 0;
}

static int add_note(struct sd_making *m, const char *text)
{
    size_t n = strlen(text);
    uint32_t len = sd_align8((uint32_t)(sizeof(struct sd_rec_note) + n));
    struct sd_rec_note *r = sd_zalloc(len);

    sd_assert(len <= SD_RECORD_MAX);
    if (!r)
        return sd_no_memory();
    r->head = (struct sd_record){ (uint16_t)len, SD_REC_NOTE, (uint8_t)(m->seq + 1) };
    r->kind = SD_NOTE_WARNING;
    r->n = (uint16_t)n;
    memcpy(r->text, text, n);
    sd_making_add(m, SD_CHUNK_META, 0, ++m->seq, r, len);
    sd_free(r);
    return 0;
}

/* --- In the order of their ends --------------------------------------------------- */

struct span_end {
    uint64_t to;
    uint32_t at;
};

/* Of two that end at once, the one that came later is the inner one. */
static int by_end(const void *a, const void *b)
{
    const struct span_end *x = a, *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->at > y->at ? -1 : x->at < y->at;
}

/* Those that are spans, sorted; *n of them, the first of which begins at *from.  NULL
 * without memory. */
static struct span_end *sort_ends(const struct sd_whole_spans *s, uint32_t *n,
                                  uint64_t *from)
{
    struct span_end *ends = sd_alloc(((size_t)s->n + 1) * sizeof *ends);
    struct sd_whole_span span;

    *n = 0;
    *from = UINT64_MAX;
    for (uint32_t i = 0; ends && i < s->n; i++) {
        if (!s->span(s->of, i, &span))
            continue;
        sd_assert(span.from <= span.to);
        *from = span.from < *from ? span.from : *from;
        ends[(*n)++] = (struct span_end){ span.to, i };
    }
    if (ends && *n)
        qsort(ends, *n, sizeof *ends, by_end);
    return ends;
}

static int add_spans(struct spans_making *sm, const struct span_end *ends, uint32_t n)
{
    int rc = 0;

    begin_stream(sm);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct sd_whole_span span;

        if (sm->s->span(sm->s->of, ends[i].at, &span))
            rc = add_span(sm, &span);
    }
    flush(sm);
    return rc;
}

static int add_points(struct spans_making *sm)
{
    int rc = 0;

    begin_stream(sm);
    for (uint32_t i = 0; i < sm->s->n_points && rc == 0; i++) {
        struct sd_whole_point point;

        sm->s->point(sm->s->of, i, &point);
        rc = add_point(sm, &point);
    }
    flush(sm);
    return rc;
}

/* When the first event is, and the last; without any it is now. */
static void look_at_times(const struct sd_whole_spans *s, const struct span_end *ends,
                          uint32_t n, uint64_t *from, uint64_t *last)
{
    struct sd_whole_point point;

    *last = n ? ends[n - 1].to : 0;
    for (uint32_t i = 0; i<s->n_points; i += s->n_points> 1 ? s->n_points - 1 : 1) {
        s->point(s->of, i, &point);
        *from = point.at < *from ? point.at : *from;
        *last = point.at > *last ? point.at : *last;
    }
    if (*last == 0)
        *from = *last = sd_clock_real_ns();
}

static int add_sorted(struct sd_making *m, const struct sd_whole_spans *s,
                      const struct span_end *ends, uint32_t n)
{
    struct spans_making sm = { .m = m, .s = s };
    int rc = 0;

    sd_assert(s->n_shapes <= SD_WHOLE_SHAPES);
    sm.sites = sd_alloc((s->n_sites + 1) * sizeof *sm.sites);
    if (!ends || !sm.sites)
        rc = sd_no_memory();
    if (s->note && rc == 0)
        rc = add_note(m, s->note);
    if (rc == 0)
        rc = add_spans(&sm, ends, n);
    if (rc == 0)
        rc = add_points(&sm);
    sd_table_release(&sm.threads);
    sd_table_release(&sm.children);
    sd_buf_release(&sm.chunk);
    sd_free(sm.sites);
    return rc;
}

int sd_whole_add_spans(struct sd_making *m, const struct sd_whole_spans *s)
{
    uint64_t from = 0;
    uint32_t n = 0;
    struct span_end *ends = sort_ends(s, &n, &from);
    int rc = add_sorted(m, s, ends, n);

    sd_free(ends);
    return rc;
}

int sd_whole_spans(const struct sd_whole_spans *s, const struct sd_whole_how *how,
                   struct sd_buf *to)
{
    struct sd_making m = { .to = to };
    uint64_t from = 0, last;
    uint32_t n = 0;
    struct span_end *ends = sort_ends(s, &n, &from);
    int rc = 0;

    look_at_times(s, ends, ends ? n : 0, &from, &last);
    sd_making_begin(&m, from, from);
    if (how->command)
        rc = sd_making_add_command(&m, how->command);
    if (rc == 0)
        rc = add_sorted(&m, s, ends, n);
    rc = sd_making_end(&m, last, last, rc);
    sd_free(ends);
    return rc;
}
