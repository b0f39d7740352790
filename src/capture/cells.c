/* SPDX-License-Identifier: MIT */
#include "capture/cells.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/cells_in.h"
#include "capture/define.h"
#include "capture/owner.h"
#include "capture/pool.h"
#include "capture/writer.h"

enum { RETRY_NS = 100 * 1000 * 1000 }; /* after a segment could not be had */

_Static_assert(SD_SEGMENT % SD_PAGE == 0, "segments are mapped one by one");
_Static_assert((int)SD_SEGMENT <= (int)SD_CHUNK_RAW_MAX, "a segment is one chunk");
_Static_assert(SD_RECORD_MAX <= SD_SEGMENT - SD_SEGMENT_HEAD,
               "a segment holds any record");

struct sd_cells {
    struct sd_cells *host;   /* whose file, segments and definitions these are: itself,
                                or the table that it stands beside; borrowed */
    struct sd_cells *beside; /* the next kind of cells in the same table; owned */
    struct sd_pool *pool;    /* NULL on anonymous memory; borrowed */
    _Atomic uint32_t *is_here; /* a page that fork empties; owned */
    struct sd_guarded_fd file;
    struct sd_live_head *head; /* the file's, or NULL */
    uint16_t kind;
    uint32_t cell_bytes, per_segment;
    uint32_t n;       /* cells */
    uint32_t next_id; /* of definitions */
    uint64_t lost;
    bool counts_itself;      /* what finds no room: the collector, not we */
    bool is_short;           /* there was no room the last time it was asked for */
    uint64_t retry_ns;       /* not before this is more asked for; or 0 */
    bool is_mapped;          /* segments are shared with the file */
    struct sd_segment *defs; /* the one that definitions go to, or NULL */
    uint8_t defs_epoch;
    struct sd_segment **cells; /* those with cells, by number; owned */
    size_t n_cells, cap_cells;
    struct sd_segment **all; /* every one, by its place in the file; owned */
    size_t n_all, cap_all;
};

static void *push(struct sd_segment ***array, size_t *n, size_t *cap,
                  struct sd_segment *s)
{
    struct sd_segment **grown = sd_grow_array(*array, cap, *n + 1, sizeof *grown);

    if (grown) {
        *array = grown;
        grown[(*n)++] = s;
    }
    return grown;
}

static void *map_segment(struct sd_cells *t)
{
    uint64_t at = SD_PAGE + (uint64_t)t->n_all * SD_SEGMENT;
    void *p;
    int fd, why;

    if (!t->is_mapped) {
        p = mmap(NULL, SD_SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
        return p == MAP_FAILED ? NULL : p;
    }
    fd = sd_guarded_fd_fd(&t->file, 0);
    why = fd < 0 ? errno : sd_live_reserve(fd, at, SD_SEGMENT);
    p = why ? NULL : sd_live_map(fd, at, SD_SEGMENT, SD_SEGMENT);
    if (p)
        atomic_fetch_add(&t->pool->table_bytes, SD_SEGMENT);
    else
        atomic_store(&t->pool->why_no_room, why ? why : errno);
    return p;
}

/* On a full disk every call asks for room again: not each of them is a system call. */
static struct sd_segment *try_segment(struct sd_cells *t)
{
    struct sd_segment *s = NULL;

    if (t->n_all >= SD_MAX_SEGMENTS || (t->retry_ns && sd_clock_ns() < t->retry_ns))
        return NULL;
    s = map_segment(t);
    t->retry_ns = s ? 0 : sd_clock_ns() + RETRY_NS;
    return s;
}

/* A fresh segment of the type, visible to others once its head is filled. */
static struct sd_segment *add_segment(struct sd_cells *t, enum sd_chunk_type type)
{
    struct sd_cells *host = t->host;
    struct sd_segment *s = try_segment(host);

    if (!s)
        return NULL;
    t->is_short = false;
    if (!push(&host->all, &host->n_all, &host->cap_all, s)) {
        munmap(s, SD_SEGMENT);
        return NULL;
    }
    s->type = (uint16_t)type;
    s->kind = t->kind;
    s->cell_bytes = t->cell_bytes;
    s->first = t->n;
    s->magic = SD_SEGMENT_MAGIC;
    if (host->head)
        atomic_store_explicit(&host->head->n_slots, (uint32_t)host->n_all,
                              memory_order_release);
    return s;
}

static int back_by_file(struct sd_cells *t, struct sd_writer *w)
{
    int why;

    t->pool = sd_writer_pool(w);
    if (!t->pool)
        return sd_fail(
            SD_EGONE,
            "this process has left the capture, so nothing more of it can be recorded");
    why = sd_pool_make_file(t->pool, SD_LIVE_CELLS, &t->file, &t->head);
    if (why) {
        atomic_store(&t->pool->why_no_room, why);
        return sd_fail_errno(why, "cannot create a file for counters in %s",
                             t->pool->dir);
    }
    t->is_mapped = !t->pool->is_written;
    return 0;
}

static struct sd_cells *make(uint16_t kind, uint32_t cell_bytes)
{
    struct sd_cells *t = sd_zalloc(sizeof *t);

    sd_assert(cell_bytes > 0 && cell_bytes <= SD_SEGMENT - SD_SEGMENT_HEAD);
    if (!t)
        return NULL;
    t->host = t;
    t->kind = kind;
    t->cell_bytes = (cell_bytes + 7) & ~7u;
    t->per_segment = (SD_SEGMENT - SD_SEGMENT_HEAD) / t->cell_bytes;
    t->next_id = 1;
    t->file.fd = -1;
    return t;
}

int sd_cells_new(struct sd_writer *w, uint16_t kind, uint32_t cell_bytes,
                 struct sd_cells **out)
{
    struct sd_cells *t = make(kind, cell_bytes);
    int rc = 0;

    *out = NULL;
    if (!t)
        return sd_no_memory();
    t->is_here = sd_pool_page_emptied_by_fork();
    if (!t->is_here)
        rc = sd_no_memory();
    else if (w)
        rc = back_by_file(t, w);
    if (rc < 0) {
        sd_cells_free(t);
        return rc;
    }
    atomic_store(t->is_here, 1);
    *out = t;
    return 0;
}

int sd_cells_beside(struct sd_cells *t, uint16_t kind, uint32_t cell_bytes,
                    struct sd_cells **out)
{
    struct sd_cells *last = t;

    sd_assert(t->host == t && kind != t->kind);
    while (last->beside && last->beside->kind != kind)
        last = last->beside;
    if (!last->beside) {
        last->beside = make(kind, cell_bytes);
        if (last->beside)
            last->beside->host = t;
    }
    *out = last->beside;
    return *out ? 0 : sd_no_memory();
}

bool sd_cells_is_ours(const struct sd_cells *t)
{
    return !t->host->head ||
           atomic_load_explicit(t->host->is_here, memory_order_relaxed) != 0;
}

void *sd_cells_at(const struct sd_cells *t, uint32_t index)
{
    struct sd_segment *s = t->cells[index / t->per_segment];

    sd_assert_slow(index / t->per_segment < t->n_cells);
    return (uint8_t *)s + SD_SEGMENT_HEAD +
           (size_t)(index % t->per_segment) * t->cell_bytes;
}

uint32_t sd_cells_index(const struct sd_cells *t, const void *cell)
{
    uint32_t bytes = t->per_segment * t->cell_bytes;

    /* The last first: who asks has mostly just got it. */
    for (size_t i = t->n_cells; i-- > 0;) {
        uintptr_t first = (uintptr_t)t->cells[i] + SD_SEGMENT_HEAD;
        uintptr_t at = (uintptr_t)cell;

        if (at >= first && at - first < bytes)
            return (uint32_t)(i * t->per_segment + (at - first) / t->cell_bytes);
    }
    return SD_NO_CELL;
}

static bool has_room(struct sd_cells *t)
{
    struct sd_segment *s;

    if (t->n < t->n_cells * t->per_segment)
        return true;
    s = add_segment(t, SD_CHUNK_CELLS);
    /* Without memory to remember it the segment stays empty in the file. */
    return s && push(&t->cells, &t->n_cells, &t->cap_cells, s);
}

void sd_cells_lose(struct sd_cells *t, uint64_t n)
{
    struct sd_cells *host = t->host;

    host->lost += n;
    if (host->head && sd_cells_is_ours(host))
        atomic_fetch_add(&host->head->lost, n);
}

void sd_cells_counts_itself(struct sd_cells *t) { t->counts_itself = true; }

int sd_cells_refused(struct sd_cells *t)
{
    sd_assert(t->host == t && t->n == 0);
    if (t->head && sd_cells_is_ours(t))
        atomic_fetch_sub(&t->head->lost, t->lost);
    t->lost = 0;
    if (!t->is_mapped)
        return sd_no_memory();
    return sd_fail_errno(atomic_load(&t->pool->why_no_room),
                         "there is no room for counters in %s", t->pool->dir);
}

/* What finds no room is tried again at every event, so it counts once for each time
 * that room ran out.  What is missing for that is the collector's to know: calls are
 * booked in another cell, hits of lines are told of at the end (sd_cells_lose). */
static void lose(struct sd_cells *t)
{
    struct sd_cells *host = t->host;

    if (t->is_short)
        return;
    t->is_short = true;
    if (!host->counts_itself)
        sd_cells_lose(t, 1);
    else if (host->head && host->is_mapped)
        atomic_store(&host->head->lost_tables_why,
                     atomic_load(&host->pool->why_no_room));
}

uint32_t sd_cells_add(struct sd_cells *t, const void *cell)
{
    struct sd_segment *s;

    if (!sd_cells_is_ours(t))
        return SD_NO_CELL;
    if (!has_room(t)) {
        lose(t);
        return SD_NO_CELL;
    }
    memcpy(sd_cells_at(t, t->n), cell, t->cell_bytes);
    s = t->cells[t->n / t->per_segment];
    sd_assert_slow(s->used == t->n % t->per_segment * t->cell_bytes);
    atomic_store_explicit(&s->used, s->used + t->cell_bytes, memory_order_release);
    return t->n++;
}

uint32_t sd_cells_n(const struct sd_cells *t) { return t->n; }
uint64_t sd_cells_lost(const struct sd_cells *t) { return t->lost; }

uint32_t sd_cells_n_segments(const struct sd_cells *t) { return (uint32_t)t->n_all; }

const struct sd_segment *sd_cells_segment(const struct sd_cells *t, uint32_t i)
{
    sd_assert(i < t->n_all);
    return t->all[i];
}

/* --- Definitions */

static void *put(struct sd_cells *t, enum sd_record_type type, size_t len)
{
    struct sd_record *r;
    uint32_t used;

    if (!sd_cells_is_ours(t))
        return NULL;
    len = (len + 7) & ~(size_t)7;
    sd_assert(len <= SD_RECORD_MAX && t->host == t);
    if (!t->defs || t->defs->used + len > SD_SEGMENT - SD_SEGMENT_HEAD) {
        struct sd_segment *s = add_segment(t, SD_CHUNK_DEFS);

        if (!s) {
            lose(t); /* what it would have named */
            return NULL;
        }
        t->defs = s;
        t->defs_epoch = (uint8_t)t->n_all; /* its seq: its place, from 1 */
    }
    used = t->defs->used;
    r = (void *)((uint8_t *)t->defs + SD_SEGMENT_HEAD + used);
    *r = (struct sd_record){ (uint16_t)len, (uint8_t)type, t->defs_epoch };
    return r;
}

static void publish(struct sd_cells *t, const struct sd_record *r)
{
    sd_assert(t->defs->used + r->len <= SD_SEGMENT - SD_SEGMENT_HEAD);
    atomic_store_explicit(&t->defs->used, t->defs->used + r->len, memory_order_release);
}

static uint32_t commit(struct sd_cells *t, const struct sd_record *r)
{
    publish(t, r);
    return t->next_id++;
}

uint32_t sd_cells_define_string(struct sd_cells *t, const char *s, size_t n)
{
    struct sd_rec_string *r;

    if (n > SD_STRING_MAX)
        n = SD_STRING_MAX;
    r = put(t, SD_REC_STRING, sizeof *r + n);
    if (!r)
        return 0;
    sd_fill_string(r, t->next_id, s, n);
    return commit(t, &r->head);
}

uint32_t sd_cells_define_site(struct sd_cells *t, enum sd_site_kind kind, uint32_t name,
                              uint32_t file, uint32_t line, uint32_t parent)
{
    struct sd_rec_site *r = put(t, SD_REC_SITE, sizeof *r);

    if (!r)
        return 0;
    sd_fill_site(r, t->next_id, kind, name, file, line, parent);
    return commit(t, &r->head);
}

uint32_t sd_cells_define_function(struct sd_cells *t, enum sd_site_flags flags,
                                  uint32_t name, uint32_t label, uint32_t file,
                                  uint32_t line)
{
    struct sd_rec_site *r = put(t, SD_REC_SITE, sizeof *r);

    if (!r)
        return 0;
    sd_fill_function(r, t->next_id, flags, name, label, file, line);
    return commit(t, &r->head);
}

uint32_t sd_cells_define_signature(struct sd_cells *t, uint32_t name, uint32_t label,
                                   uint32_t file, uint32_t line, uint32_t parent)
{
    struct sd_rec_site *r = put(t, SD_REC_SITE, sizeof *r);

    if (!r)
        return 0;
    sd_fill_signature(r, t->next_id, name, label, file, line, parent);
    return commit(t, &r->head);
}

bool sd_cells_put_size(struct sd_cells *t, const struct sd_cells_size *size)
{
    size_t n = size->n_dims * sizeof *size->dims;
    struct sd_rec_size *r = put(t, SD_REC_SIZE, sizeof *r + n);

    sd_assert(size->n_dims <= SD_DIMS_MAX);
    if (!r)
        return false;
    *r = (struct sd_rec_size){ r->head,        size->site, size->name,
                               size->argument, size->kind, size->n_dims };
    memcpy(r->dims, size->dims, n);
    publish(t, &r->head);
    return true;
}

uint32_t sd_cells_define_track(struct sd_cells *t, enum sd_track_kind kind,
                               uint32_t parent, uint64_t number, uint64_t start,
                               uint32_t name)
{
    struct sd_rec_track *r = put(t, SD_REC_TRACK, sizeof *r);

    if (!r)
        return 0;
    sd_fill_track(r, t->next_id, kind, parent, number, start, name);
    return commit(t, &r->head);
}

bool sd_cells_put_clock(struct sd_cells *t, enum sd_clock_kind kind, uint64_t ticks,
                        uint64_t mono_ns)
{
    struct sd_rec_clock *r = put(t, SD_REC_CLOCK, sizeof *r);

    if (!r)
        return false;
    *r = (struct sd_rec_clock){ r->head, (uint32_t)kind, ticks, mono_ns };
    publish(t, &r->head);
    return true;
}

uint64_t sd_cells_stream(const struct sd_cells *t)
{
    return t->head ? sd_live_stream_of(&t->pool->who, t->head->number, SD_CELLS_SLOT)
                   : 0;
}

/* A mark is a segment, and how far in it. */
const void *sd_cells_definitions(const struct sd_cells *t, uint64_t *mark, size_t most,
                                 size_t *n)
{
    size_t segment = (size_t)(*mark >> 32);
    uint32_t at = (uint32_t)*mark;

    *n = 0;
    for (; segment < t->n_all; segment++, at = 0) {
        const struct sd_segment *s = t->all[segment];
        const uint8_t *p = (const uint8_t *)s + SD_SEGMENT_HEAD;

        if (s->type != SD_CHUNK_DEFS || at >= s->used)
            continue;
        while (at + *n < s->used) {
            size_t len = ((const struct sd_record *)(const void *)(p + at + *n))->len;

            if (*n > 0 && *n + len > most)
                break;
            *n += len;
        }
        *mark = (uint64_t)segment << 32 | (at + (uint32_t)*n);
        return p + at;
    }
    return NULL;
}

/* --- The end */

/* Where nothing is shared the table is written once, at its end. */
static void spill_all(struct sd_cells *t)
{
    struct sd_chunk_head head = { .magic = SD_CHUNK_MAGIC,
                                  .flags = SD_CHUNK_RAW,
                                  .salt = t->pool->salt,
                                  .stream = sd_cells_stream(t) };

    sd_assert(t->host == t && !t->is_mapped);
    for (size_t i = 0; i < t->n_all; i++) {
        const uint8_t *p = (const uint8_t *)t->all[i];
        uint32_t n = t->all[i]->used;

        head.type = t->all[i]->type;
        head.seq = (uint32_t)i + 1;
        if (head.type == SD_CHUNK_CELLS)
            n += SD_SEGMENT_HEAD;
        else
            p += SD_SEGMENT_HEAD;
        head.raw_len = head.stored_len = n;
        if (sd_spill_write(&t->pool->first->spill, &head, p) != 0)
            atomic_fetch_add(&t->pool->first->head->lost, t->n);
    }
}

void sd_cells_free(struct sd_cells *t)
{
    if (!t)
        return;
    sd_assert(t->host == t); /* whatever stands beside it goes with it */
    if (t->head && t->is_here && sd_cells_is_ours(t)) {
        if (!t->is_mapped) {
            spill_all(t);
            atomic_store(&t->head->n_slots, 0); /* none of them is in this file */
        }
        atomic_store_explicit(&t->head->has_left, 1, memory_order_release);
        if (!t->is_mapped)
            sd_pool_write_head(&t->file, t->head);
        sd_bell_ring(t->pool->bell);
    }
    for (size_t i = 0; i < t->n_all; i++)
        munmap(t->all[i], SD_SEGMENT);
    for (struct sd_cells *kind = t->beside, *next; kind; kind = next) {
        next = kind->beside;
        sd_free(kind->cells);
        sd_free(kind);
    }
    sd_free(t->all);
    sd_free(t->cells);
    sd_pool_unmap_head(t->head);
    sd_guarded_fd_release(&t->file);
    sd_pool_page_release(t->is_here);
    sd_free(t);
}

int sd_seal_cells(struct sd_capture *c, struct sd_live_processes *j)
{
    struct sd_chunk_head head;
    int why = 0;

    for (uint32_t i = 0; why == 0 && i < j->in.head.n_slots; i++)
        if (sd_cells_in_segment(&j->in, i, c->half, &head))
            why = sd_capture_append(c, &head, c->half);
    return why;
}
