/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "capture/chunk.h"
#include "profile/decode.h"
#include "profile/local_ids.h"

/* --- Streams */

static bool is_ours(const struct sd_decoder *d, size_t i)
{
    return sd_reader_head(d->reader, i)->type == SD_CHUNK_ALLOC;
}

/* One that turns out bad is counted by the reader, and passed. */
static int load(struct sd_decoder *d, size_t i, struct sd_chunk_view *view)
{
    int rc = is_ours(d, i) ? sd_reader_load(d->reader, i, view) : SD_EFORMAT;

    return rc == SD_ENOMEM ? sd_no_memory() : rc;
}

static const struct sd_rec_alloc *next_record(const struct sd_chunk_view *view,
                                              uint32_t *at)
{
    const struct sd_record *rec;

    while ((rec = sd_chunk_view_next(view, at)))
        if (rec->type == SD_REC_ALLOC)
            return (const void *)rec;
    return NULL;
}

/* 1: the first record of the stream says it; 0: there is none. */
static int find_table(struct sd_decoder *d, struct sd_alloc_stream *s)
{
    for (size_t i = s->from; i < s->to; i++) {
        const struct sd_rec_alloc *r;
        struct sd_chunk_view view;
        uint32_t at = 0;
        int rc = load(d, i, &view);

        if (rc == SD_ENOMEM)
            return rc;
        r = rc == 0 ? next_record(&view, &at) : NULL;
        if (r) {
            s->table = r->table;
            return 1;
        }
    }
    return 0;
}

static void note_head(struct sd_alloc_streams *all, struct sd_alloc_stream *s,
                      const struct sd_chunk_head *h)
{
    if (h->type != SD_CHUNK_ALLOC)
        return;
    all->lost = sd_sum_u64(all->lost, h->lost_before);
    if (h->t0 && (s->first_ns == 0 || h->t0 < s->first_ns))
        s->first_ns = h->t0;
    s->last_ns = h->t1 > s->last_ns ? h->t1 : s->last_ns;
}

static int add_stream(struct sd_alloc_streams *all, struct sd_decoder *d,
                      struct sd_alloc_stream *s)
{
    int rc = find_table(d, s);
    struct sd_alloc_stream *items;

    if (rc <= 0)
        return rc;
    items = sd_grow_array(all->items, &all->cap, all->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    all->items = items;
    items[all->n++] = *s;
    return 0;
}

/* By table; those of one stay in the order of the file. */
static int compare(const void *a, const void *b)
{
    const struct sd_alloc_stream *x = a, *y = b;

    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

int sd_alloc_streams_find(struct sd_alloc_streams *all, struct sd_decoder *d)
{
    size_t n = sd_reader_n_chunks(d->reader), i = 0;
    int rc = 0;

    while (i < n && rc == 0) {
        struct sd_alloc_stream s = { .from = i };
        uint64_t stream = sd_reader_head(d->reader, i)->stream;
        bool is_any = false;

        for (; i < n && sd_reader_head(d->reader, i)->stream == stream; i++) {
            is_any |= is_ours(d, i);
            note_head(all, &s, sd_reader_head(d->reader, i));
        }
        s.to = i;
        rc = is_any ? add_stream(all, d, &s) : 0;
    }
    if (all->n > 0)
        qsort(all->items, all->n, sizeof *all->items, compare);
    return rc;
}

void sd_alloc_streams_release(struct sd_alloc_streams *s)
{
    sd_free(s->items);
    *s = (struct sd_alloc_streams){ 0 };
}

/* --- Cursors */

struct cursor { /* where the merge stands in a stream */
    size_t next, end;
    struct sd_chunk_view view; /* of `copy` */
    uint8_t *copy;             /* owned; the records of the chunk at hand */
    size_t cap;
    uint32_t at;
    struct sd_alloc_cursor events;
    uint64_t time_ns; /* of the record, until it is told; 0: it was */
    uint64_t order;   /* number of the run at hand */
    uint32_t thread;
};

struct sd_alloc_merge {
    struct sd_decoder *d;
    struct sd_alloc_listener to;
    uint64_t table;
    struct cursor *cursors; /* owned */
    size_t n_cursors;
    size_t *heap; /* owned; numbers of cursors, the lowest order first */
    size_t n;
};

/* Its definitions hold for the chunk, so the tracks of all records are looked up while
 * it is fresh; they then stand in the records of the copy. */
static int understand(struct sd_alloc_merge *m, struct cursor *c)
{
    const struct sd_record *rec;
    uint32_t at = 0;
    int rc = 0;

    m->d->chunk_no++;
    while (rc == 0 && (rec = sd_chunk_view_next(&c->view, &at))) {
        struct sd_rec_alloc *r = (void *)(c->copy + at - rec->len);

        if (rec->type == SD_REC_ALLOC)
            rc = sd_decoder_track(m->d, r->track, &r->track);
        else if (rec->type == SD_REC_TRACK || rec->type == SD_REC_STRING)
            rc = sd_local_define(m->d, rec);
    }
    return rc;
}

static int copy_chunk(struct cursor *c, const struct sd_chunk_view *view)
{
    uint8_t *copy = sd_grow_array(c->copy, &c->cap, view->n + 1, 1);

    if (!copy)
        return sd_no_memory();
    memcpy(copy, view->p, view->n);
    c->copy = copy;
    c->view = *view;
    c->view.p = copy;
    c->at = 0;
    return 0;
}

/* 1: the next chunk of the stream is open; 0: there is none left; < 0. */
static int next_chunk(struct sd_alloc_merge *m, struct cursor *c)
{
    while (c->next < c->end) {
        struct sd_chunk_view view;
        int rc = load(m->d, c->next++, &view);

        if (rc == SD_ENOMEM)
            return rc;
        if (rc < 0)
            continue;
        rc = copy_chunk(c, &view);
        if (rc == 0)
            rc = understand(m, c);
        return rc < 0 ? rc : 1;
    }
    return 0;
}

static int begin_record(struct sd_alloc_merge *m, struct cursor *c,
                        const struct sd_rec_alloc *r)
{
    sd_alloc_cursor_init(&c->events, r);
    c->order = r->order;
    c->time_ns = r->time_ns;
    return m->to.thread(m->to.of, r->track, &c->thread);
}

/* 1: the cursor stands at the beginning of a record of this table; 0: the end. */
static int next_of_stream(struct sd_alloc_merge *m, struct cursor *c)
{
    int rc = 1;

    while (rc == 1) {
        const struct sd_rec_alloc *r = c->view.p ? next_record(&c->view, &c->at) : NULL;

        if (r && r->table == m->table) {
            rc = begin_record(m, c, r);
            return rc < 0 ? rc : 1;
        }
        if (!r)
            rc = next_chunk(m, c);
    }
    return rc;
}

/* --- The merge */

static uint64_t order_at(const struct sd_alloc_merge *m, size_t i)
{
    return i < m->n ? m->cursors[m->heap[i]].order : UINT64_MAX;
}

static void sift_down(struct sd_alloc_merge *m, size_t i)
{
    for (;;) {
        size_t least = 2 * i + 1, other = least + 1, moved;

        if (order_at(m, other) < order_at(m, least))
            least = other;
        if (least >= m->n || order_at(m, least) >= order_at(m, i))
            return;
        moved = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = moved;
        i = least;
    }
}

static void drop_first(struct sd_alloc_merge *m)
{
    struct cursor *c = &m->cursors[m->heap[0]];

    sd_free(c->copy);
    c->copy = NULL;
    m->heap[0] = m->heap[--m->n];
}

/* 1: a run of this stream is replayed, and it stands at the next. */
static int replay_run(struct sd_alloc_merge *m, struct cursor *c)
{
    int rc = c->time_ns ? m->to.time(m->to.of, c->time_ns) : 0;

    c->time_ns = 0;
    if (rc == 0)
        rc = m->to.run(m->to.of, c->thread, &c->events, &c->order);
    return rc == 0 ? next_of_stream(m, c) : rc;
}

/* As long as this stream has the lowest run.  1: another has; 0: it has ended. */
static int follow(struct sd_alloc_merge *m, struct cursor *c)
{
    uint64_t other = order_at(m, 1), third = order_at(m, 2);
    int rc = 1;

    other = third < other ? third : other;
    while (rc == 1 && c->order <= other)
        rc = replay_run(m, c);
    return rc;
}

static int open_all(struct sd_alloc_merge *m, const struct sd_alloc_stream *streams,
                    size_t n)
{
    m->cursors = sd_zalloc(n * sizeof *m->cursors);
    m->heap = sd_zalloc((n + 1) * sizeof *m->heap);
    if (!m->cursors || !m->heap)
        return sd_no_memory();
    m->n_cursors = n;
    for (size_t i = 0; i < n; i++) {
        struct cursor *c = &m->cursors[i];
        int rc;

        c->next = streams[i].from;
        c->end = streams[i].to;
        rc = next_of_stream(m, c);
        if (rc < 0)
            return rc;
        if (rc == 1)
            m->heap[m->n++] = i;
    }
    for (size_t i = m->n / 2 + 1; i-- > 0;)
        sift_down(m, i);
    return 0;
}

int sd_alloc_merge_open(struct sd_decoder *d, const struct sd_alloc_stream *streams,
                        size_t n, const struct sd_alloc_listener *to,
                        struct sd_alloc_merge **out)
{
    struct sd_alloc_merge *m = sd_zalloc(sizeof *m);
    int rc;

    sd_assert(n > 0);
    *out = NULL;
    if (!m)
        return sd_no_memory();
    m->d = d;
    m->to = *to;
    m->table = streams[0].table;
    rc = open_all(m, streams, n);
    if (rc == 0)
        *out = m;
    else
        sd_alloc_merge_free(m);
    return rc;
}

static int settle(struct sd_alloc_merge *m, int rc)
{
    if (rc == 0)
        drop_first(m);
    sift_down(m, 0);
    return rc < 0 ? rc : m->n > 0;
}

int sd_alloc_merge_step(struct sd_alloc_merge *m)
{
    return m->n == 0 ? 0 : settle(m, replay_run(m, &m->cursors[m->heap[0]]));
}

void sd_alloc_merge_free(struct sd_alloc_merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_cursors; i++)
        sd_free(m->cursors[i].copy);
    sd_free(m->cursors);
    sd_free(m->heap);
    sd_free(m);
}

/* --- Into a replay */

struct target {
    struct sd_alloc_replay *r;
    sd_alloc_is_chosen *is_chosen;
    void *of;
};

static int find_thread(void *of, uint32_t track, uint32_t *thread)
{
    struct target *t = of;
    int is_chosen = t->is_chosen(t->of, track);

    return is_chosen < 0 ? is_chosen
                         : sd_alloc_replay_thread(t->r, track, is_chosen, thread);
}

static int tell_time(void *of, uint64_t mono_ns)
{
    return sd_alloc_replay_time(((struct target *)of)->r, mono_ns, 0);
}

static int replay(void *of, uint32_t thread, struct sd_alloc_cursor *c, uint64_t *order)
{
    return sd_alloc_replay_run(((struct target *)of)->r, thread, c, order);
}

int sd_alloc_merge(struct sd_decoder *d, const struct sd_alloc_stream *streams,
                   size_t n, sd_alloc_is_chosen *is_chosen, void *of,
                   struct sd_alloc_replay *r)
{
    struct target target = { r, is_chosen, of };
    const struct sd_alloc_listener to = { find_thread, tell_time, replay, &target };
    struct sd_alloc_merge *m;
    int rc = sd_alloc_merge_open(d, streams, n, &to, &m);

    if (rc < 0)
        return rc;
    for (rc = m->n > 0; rc == 1;)
        rc = settle(m, follow(m, &m->cursors[m->heap[0]]));
    sd_alloc_merge_free(m);
    return rc;
}
