/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_history.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "profile/alloc/alloc_merge.h"
#include "profile/decode.h"
#include "profile/profile_define.h"
#include "profile/samples.h"

enum { NONE = UINT32_MAX, NS_PER_MS = 1000000 };

/* Who allocated: a stack of a thread. */
struct origin {
    uint32_t track, cell;
};

struct told {
    struct sd_alloc_change change;
    uint32_t origin; /* of a block that was freed; NONE: it is not known */
};

struct sd_alloc_history {
    struct sd_reader *reader; /* owned, like all below */
    struct sd_profile *p;
    struct sd_decoder decoder;
    struct sd_alloc_streams streams;
    struct sd_alloc_merge *merge;
    const struct sd_alloc_table *table; /* of the decoder; NULL: all stacks are lost */
    uint32_t process, lost_stack;
    struct sd_alloc_blocks blocks; /* `place` is an origin, `index` n_times */
    struct sd_alloc_maps maps;     /* the same */
    struct origin *origins;
    size_t n_origins, cap_origins;
    struct sd_table origin_of;
    uint64_t every_ms, last_ms, ns, live_bytes;
    uint32_t n_times;
    /* Changes of the run at hand. */
    struct told *run;
    size_t n, cap, at;
};

/* --- Changes */

static int put_freed(struct sd_alloc_history *h, struct sd_alloc_change change,
                     uint32_t origin)
{
    struct told *run = sd_grow_array(h->run, &h->cap, h->n + 1, sizeof *run);

    if (!run)
        return sd_no_memory();
    change.ns = h->ns;
    h->run = run;
    run[h->n++] = (struct told){ change, origin };
    return 0;
}

static int put(struct sd_alloc_history *h, struct sd_alloc_change change)
{
    return put_freed(h, change, NONE);
}

static struct sd_alloc_stack stack_of(const struct sd_alloc_history *h, uint32_t cell)
{
    if (h->table && cell < h->table->n_stacks)
        return h->table->stacks[cell];
    return (struct sd_alloc_stack){ .stack = h->lost_stack };
}

static bool is_heap(uint32_t by) { return by != SD_BY_FILE && by != SD_BY_RESERVED; }

static int find_origin(struct sd_alloc_history *h, uint32_t track, uint32_t cell,
                       uint32_t *origin)
{
    uint64_t key = (uint64_t)track << 32 | cell, at;
    struct origin *origins;

    if (sd_table_get(&h->origin_of, key, &at)) {
        *origin = (uint32_t)at;
        return 0;
    }
    origins =
        sd_grow_array(h->origins, &h->cap_origins, h->n_origins + 1, sizeof *origins);
    if (!origins || h->n_origins >= NONE)
        return sd_no_memory();
    h->origins = origins;
    *origin = (uint32_t)h->n_origins;
    origins[h->n_origins++] = (struct origin){ track, cell };
    return sd_table_put(&h->origin_of, key, *origin);
}

static void tell_origin(const struct sd_alloc_history *h, uint32_t origin,
                        struct sd_alloc_change *c)
{
    const struct origin *o = &h->origins[origin];
    struct sd_alloc_stack s = stack_of(h, o->cell);

    sd_assert(origin < h->n_origins);
    c->by = s.function;
    c->stack = s.stack;
    c->begun_by = o->track;
}

/* --- What happened */

/* Each part of a mapping in the range; they are not told where another mapping takes
 * their place unseen. */
static int cut(struct sd_alloc_history *h, uint32_t track, uint64_t from, uint64_t to,
               bool is_told)
{
    struct sd_alloc_map part;
    int rc = 0;

    while (rc == 0 && sd_alloc_maps_in(&h->maps, from, to, &part)) {
        struct sd_alloc_change c = { .kind = SD_ALLOC_CHANGE_CUT,
                                     .track = track,
                                     .address = part.from,
                                     .size = part.to - part.from,
                                     .n_times = part.index };

        tell_origin(h, part.place, &c);
        if (is_heap(c.by))
            h->live_bytes -= c.size;
        rc = sd_alloc_maps_cut(&h->maps, part.from, part.to, &c.is_whole, NULL);
        if (rc == 0 && is_told)
            rc = put(h, c);
    }
    return rc;
}

static int add_map(struct sd_alloc_history *h, const struct sd_alloc_change *c,
                   uint32_t origin)
{
    struct sd_alloc_map one = { .from = c->address,
                                .to = c->address + c->size,
                                .place = origin,
                                .index = c->n_times };
    int rc;

    if (one.to <= one.from)
        return 0; /* no mapping that can be: it is told, and never ends */
    rc = cut(h, c->track, one.from, one.to, false);
    return rc < 0 ? rc : sd_alloc_maps_add(&h->maps, &one);
}

static int add_block(struct sd_alloc_history *h, const struct sd_alloc_change *c,
                     uint32_t origin)
{
    struct sd_alloc_block *b = sd_alloc_blocks_room(&h->blocks, c->address);

    if (!b)
        return sd_no_memory();
    if (b->address)
        h->live_bytes -= b->size; /* nobody saw that one end */
    else
        h->blocks.n++;
    *b = (struct sd_alloc_block){ c->address, c->size, origin, c->n_times };
    return 0;
}

static int begin(struct sd_alloc_history *h, uint32_t track,
                 const struct sd_alloc_event *e)
{
    struct sd_alloc_change c = { .kind = SD_ALLOC_CHANGE_BEGAN,
                                 .track = track,
                                 .address = e->address,
                                 .size = e->size & INT64_MAX,
                                 .n_times = h->n_times };
    uint32_t origin = 0;
    int rc;

    if (e->address == 0)
        return 0; /* no block: a damaged file */
    rc = find_origin(h, track, e->stack, &origin);
    if (rc < 0)
        return rc;
    tell_origin(h, origin, &c);
    rc = sd_allocator_maps(c.by) ? add_map(h, &c, origin) : add_block(h, &c, origin);
    if (is_heap(c.by))
        h->live_bytes += c.size;
    return rc < 0 ? rc : put(h, c);
}

static int unmap(struct sd_alloc_history *h, uint32_t track, uint64_t from,
                 uint64_t size)
{
    const struct sd_alloc_change c = { .kind = SD_ALLOC_CHANGE_UNMAPPED,
                                       .track = track,
                                       .address = from,
                                       .size = size,
                                       .stack = NONE,
                                       .begun_by = NONE };
    int rc = put(h, c);

    return rc < 0 ? rc
                  : cut(h, track, from,
                        size < UINT64_MAX - from ? from + size : UINT64_MAX, true);
}

static int end(struct sd_alloc_history *h, uint32_t track, uint64_t address)
{
    struct sd_alloc_block *b = sd_alloc_blocks_find(&h->blocks, address);
    const struct sd_alloc_map *map = b ? NULL : sd_alloc_maps_at(&h->maps, address);
    struct sd_alloc_change c = { .kind = SD_ALLOC_CHANGE_FREED,
                                 .track = track,
                                 .address = address,
                                 .stack = NONE,
                                 .begun_by = NONE };
    uint32_t origin = NONE;

    if (map)
        return unmap(h, track, map->from, map->to - map->from);
    if (b) {
        origin = b->place;
        tell_origin(h, origin, &c);
        c.size = b->size;
        c.n_times = b->index;
        h->live_bytes -= b->size;
        sd_alloc_blocks_remove(&h->blocks, b);
    }
    return put_freed(h, c, origin);
}

static bool is_free_of(const struct told *t, uint64_t address)
{
    return t->change.kind == SD_ALLOC_CHANGE_FREED && t->change.address == address;
}

/* What was freed last by this thread was not, whatever else it freed within: that is
 * taken back while it is at hand.  (A realloc that failed, without another thread in
 * between.) */
static int undo(struct sd_alloc_history *h, uint32_t track, uint64_t address)
{
    size_t i = h->n;
    struct told was;

    while (i > 0 && (h->run[i - 1].change.track != track ||
                     (h->run[i - 1].change.kind == SD_ALLOC_CHANGE_FREED &&
                      !is_free_of(&h->run[i - 1], address))))
        i--;
    if (i == 0 || !is_free_of(&h->run[i - 1], address))
        return 0;
    was = h->run[i - 1];
    memmove(&h->run[i - 1], &h->run[i], (h->n - i) * sizeof *h->run);
    h->n--;
    if (was.origin == NONE)
        return 0;
    h->live_bytes += was.change.size;
    return add_block(h, &was.change, was.origin);
}

static int tell_time(void *of, uint64_t mono_ns)
{
    struct sd_alloc_history *h = of;
    uint64_t zero = h->p->zero_ns, ns = mono_ns > zero ? mono_ns - zero : 0;

    ns = ns < INT64_MAX ? ns : INT64_MAX;
    h->ns = ns > h->ns ? ns : h->ns;
    return 0;
}

static int read_memory(struct sd_alloc_history *h, uint32_t track,
                       const struct sd_alloc_event *e)
{
    struct sd_alloc_change c = { .kind = SD_ALLOC_CHANGE_TIME,
                                 .track = track,
                                 .n_times = h->n_times,
                                 .live_bytes = h->live_bytes,
                                 .rss = e->rss };
    uint64_t ms;

    tell_time(h, e->number);
    ms = (h->p->real_zero_ns + h->ns) / NS_PER_MS;
    if (e->rss == 0 || (h->n_times > 0 && ms - h->last_ms < h->every_ms))
        return 0;
    h->last_ms = ms;
    h->n_times++;
    return put(h, c);
}

static int take_other(struct sd_alloc_history *h, uint32_t track,
                      const struct sd_alloc_event *e)
{
    switch (e->other) {
    case SD_ALLOC_TIME:
        return read_memory(h, track, e);
    case SD_ALLOC_UNDO:
        return undo(h, track, e->address);
    case SD_ALLOC_DROP:
        return sd_alloc_blocks_find(&h->blocks, e->address) ? end(h, track, e->address)
                                                            : 0;
    case SD_ALLOC_UNMAP:
        return unmap(h, track, e->address, e->size);
    case SD_ALLOC_RUN:
        break;
    }
    return 0;
}

static int take_run(void *of, uint32_t track, struct sd_alloc_cursor *cursor,
                    uint64_t *order)
{
    struct sd_alloc_history *h = of;
    struct sd_alloc_event e;
    int rc = 0;

    while (rc == 0 && sd_alloc_next(cursor, &e)) {
        if (e.tag == SD_ALLOC_OTHER && e.other == SD_ALLOC_RUN) {
            *order = e.number;
            return 1;
        }
        rc = e.tag == SD_ALLOC_BEGAN  ? begin(h, track, &e)
             : e.tag == SD_ALLOC_ENDS ? end(h, track, e.address)
                                      : take_other(h, track, &e);
    }
    return rc;
}

/* A thread is known by its track. */
static int take_thread(void *of, uint32_t track, uint32_t *thread)
{
    struct sd_alloc_history *h = of;

    if (h->process == NONE)
        h->process = sd_profile_process_of(h->p, (sd_track_id){ track }).at;
    *thread = track;
    return 0;
}

int sd_alloc_history_next(struct sd_alloc_history *h, struct sd_alloc_change *change)
{
    while (h->at == h->n) {
        int rc;

        h->at = h->n = 0;
        rc = h->merge ? sd_alloc_merge_step(h->merge) : 0;
        if (rc < 0)
            return rc;
        if (rc == 0 && h->n == 0)
            return 0;
    }
    *change = h->run[h->at++].change;
    return 1;
}

/* --- Opening */

uint32_t sd_alloc_history_choose(const struct sd_profile *p, const uint32_t *processes,
                                 size_t n, uint64_t pid)
{
    for (size_t i = 0; i < n; i++) {
        bool is_first = processes[i] != NONE;

        for (size_t k = 0; k < n && is_first && !pid; k++)
            is_first = p->tracks[processes[i]].parent.at != processes[k];
        if (is_first && (!pid || p->tracks[processes[i]].number == pid))
            return processes[i];
    }
    return NONE;
}

static int read_names(struct sd_alloc_history *h)
{
    struct sd_event e;
    int rc;

    sd_profile_bound(h->p, sd_reader_health(h->reader)->stored_bytes);
    h->p->n_captures = 1;
    h->p->zero_ns = sd_reader_health(h->reader)->created_mono_ns;
    h->p->real_zero_ns = sd_reader_health(h->reader)->created_real_ns;
    sd_reader_rewind(h->reader);
    rc = sd_decoder_init(&h->decoder, h->reader, h->p, h->p);
    h->decoder.wants_calls = true; /* and with them tables of stacks */
    if (rc == 0)
        rc = sd_define_lost_stack(h->p, &h->lost_stack);
    while (rc == 0 && (rc = sd_decoder_next(&h->decoder, &e)) == 1)
        rc = 0;
    return rc < 0 ? rc : sd_alloc_streams_find(&h->streams, &h->decoder);
}

static int no_process(const char *path, uint64_t pid)
{
    if (pid)
        return sd_fail(SD_EUSAGE, "%s holds no allocations of process %llu", path,
                       (unsigned long long)pid);
    return sd_fail(SD_EUSAGE, "%s holds no allocations one by one", path);
}

/* Behind the last stream of the table of the one at `from`. */
static size_t end_of_table(const struct sd_alloc_history *h, size_t from)
{
    const struct sd_alloc_stream *s = h->streams.items;
    size_t end = from;

    while (end < h->streams.n && s[end].table == s[from].table)
        end++;
    return end;
}

static int open_merge(struct sd_alloc_history *h, size_t from)
{
    const struct sd_alloc_listener to = { take_thread, tell_time, take_run, h };

    sd_alloc_merge_free(h->merge);
    h->process = NONE;
    return sd_alloc_merge_open(&h->decoder, h->streams.items + from,
                               end_of_table(h, from) - from, &to, &h->merge);
}

/* A table need not say whose it is: its threads do, as soon as they are met. */
static int find_processes(struct sd_alloc_history *h, uint32_t *processes,
                          size_t *streams, size_t *n)
{
    int rc = 0;

    for (size_t i = 0; i < h->streams.n && rc == 0; i = end_of_table(h, i)) {
        rc = open_merge(h, i);
        processes[*n] = h->process;
        streams[(*n)++] = i;
    }
    return rc;
}

static int open_process(struct sd_alloc_history *h, const char *path, uint64_t pid,
                        uint32_t *processes, size_t *streams)
{
    size_t n = 0, i = 0;
    int rc = find_processes(h, processes, streams, &n);
    uint32_t process = sd_alloc_history_choose(h->p, processes, n, pid);

    if (rc < 0 || (n == 0 && !pid))
        return rc; /* nothing was allocated */
    if (process == NONE)
        return no_process(path, pid);
    while (processes[i] != process)
        i++;
    h->table =
        sd_alloc_tables_find(&h->decoder.allocs, h->streams.items[streams[i]].table);
    return open_merge(h, streams[i]);
}

static int choose_process(struct sd_alloc_history *h, const char *path, uint64_t pid)
{
    uint32_t *processes = sd_alloc((h->streams.n + 1) * sizeof *processes);
    size_t *streams = sd_alloc((h->streams.n + 1) * sizeof *streams);
    int rc = processes && streams ? open_process(h, path, pid, processes, streams)
                                  : sd_no_memory();

    sd_free(processes);
    sd_free(streams);
    return rc;
}

int sd_alloc_history_open(const char *path, uint64_t pid, uint64_t every_ms,
                          struct sd_alloc_history **out)
{
    struct sd_alloc_history *h = sd_zalloc(sizeof *h);
    int rc = h ? sd_reader_open(path, &h->reader) : sd_no_memory();

    *out = NULL;
    if (rc == 0) {
        h->process = NONE;
        h->every_ms = every_ms;
        h->p = sd_profile_new();
        rc = h->p ? read_names(h) : SD_ENOMEM;
    }
    if (rc == 0)
        rc = choose_process(h, path, pid);
    if (rc == 0)
        *out = h;
    else
        sd_alloc_history_free(h);
    return rc;
}

const struct sd_profile *sd_alloc_history_profile(const struct sd_alloc_history *h)
{
    return h->p;
}

uint32_t sd_alloc_history_process(const struct sd_alloc_history *h)
{
    return h->process;
}

void sd_alloc_history_free(struct sd_alloc_history *h)
{
    if (!h)
        return;
    sd_alloc_merge_free(h->merge);
    sd_alloc_streams_release(&h->streams);
    sd_decoder_release(&h->decoder);
    sd_alloc_blocks_release(&h->blocks);
    sd_alloc_maps_release(&h->maps);
    sd_table_release(&h->origin_of);
    sd_free(h->origins);
    sd_free(h->run);
    sd_profile_free(h->p);
    sd_reader_free(h->reader);
    sd_free(h);
}
