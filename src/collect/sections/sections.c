/* SPDX-License-Identifier: MIT */
#include "collect/sections/sections.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/table.h"
#include "base/text.h"
#include "capture/log.h"
#include "collect/sections/metrics.h"
#include "collect/sections/section_block.h"
#include "process/usage.h"

enum {
    NAME_MAX_BYTES = 1000, /* of one part of a path, in the capture */
    /* Ancestors defined with a section when their chunk does not know them yet.  What
     * lies further out is shown as "…": a chunk of a small slot has room for no more.
     */
    ANCESTORS_MAX = 64,
    ANCESTORS_BYTES = 8192,
    SLOW = SD_MEASURE_MEMORY | SD_MEASURE_PEAK | SD_MEASURE_IO | SD_MEASURE_NETWORK |
           SD_MEASURE_PSS,
    CPU = SD_MEASURE_THREAD_CPU | SD_MEASURE_PROCESS_CPU,
};
_Static_assert(ANCESTORS_BYTES + 2 * NAME_MAX_BYTES + SD_ROOM_SHAPE + SD_ROOM_THREAD +
                       512 <=
                   16384,
               "all definitions of one event fit into a small slot");

/* --- Names ----------------------------------------------------------------------- */

void sd_section_name_init(struct sd_section_name *name,
                          const struct sd_section_name *parent, const char *s,
                          uint32_t n)
{
    name->parent = parent;
    name->name = s;
    name->n = n;
    name->depth = parent ? parent->depth + 1 : 1;
    /* Seeded by the parent's, so "a:b" in "c" and "b:c" in "a" differ. */
    name->key = sd_hash(s, n, parent ? parent->key : 0x736974655f736563u);
}

static uint32_t short_length(const struct sd_section_name *name)
{
    return name->n <= NAME_MAX_BYTES
               ? name->n
               : (uint32_t)sd_text_whole(name->name, NAME_MAX_BYTES);
}

static size_t room_of(const struct sd_section_name *name)
{
    return SD_ROOM_STRING(short_length(name)) + SD_ROOM_SITE;
}

static uint32_t define_one(struct sd_log *l, const struct sd_section_name *name,
                           uint32_t parent)
{
    uint64_t string_key = name->key ^ 0x5bd1e9955bd1e995u;
    uint32_t n = short_length(name);
    uint32_t string = sd_log_define_string(l, string_key, name->name, n);

    return sd_log_define_site(l, name->key, SD_SITE_SECTION, string, 0, 0, parent);
}

/* The site of a path and of all its ancestors that this chunk does not know.  Inside
 * room for ANCESTORS_BYTES and two names. */
static uint32_t define_site(struct sd_log *l, const struct sd_section_name *name)
{
    static const struct sd_section_name further_out = {
        .name = "…", .n = sizeof "…" - 1, .depth = 1, .key = 0x6f7574657220736eu
    };
    const struct sd_section_name *unknown[ANCESTORS_MAX];
    size_t bytes = 0;
    uint32_t n = 0;
    uint32_t id = 0;

    while (name && !(id = sd_log_known(l, name->key))) {
        if (n == ANCESTORS_MAX || bytes > ANCESTORS_BYTES) {
            id = sd_log_known(l, further_out.key);
            id = id ? id : define_one(l, &further_out, 0);
            break;
        }
        bytes += room_of(name);
        unknown[n++] = name;
        name = name->parent;
    }
    while (n > 0)
        id = define_one(l, unknown[--n], id);
    sd_assert(id != 0);
    return id;
}

/* --- What an event stands on: its site, track and shape in this chunk ------------ */

struct ids {
    uint32_t site, track, shape;
};

static uint64_t track_key(const struct sd_thread *t, uint64_t task)
{
    return task ? sd_hash(&task, sizeof task, t->key) : t->key;
}

static uint64_t shape_mask(unsigned measure)
{
    _Static_assert(SD_SECTION_N_METRICS < 64, "a bit for each");
#define BIT(id) ((uint64_t)1 << SD_SECTION_##id)
    static const struct {
        unsigned measure;
        uint64_t mask;
    } of[] = {
        { SD_MEASURE_THREAD_CPU, BIT(CPU) },
        { SD_MEASURE_PROCESS_CPU, BIT(PROCESS_CPU) },
        { SD_MEASURE_MEMORY,
          BIT(RSS_BEFORE) | BIT(RSS_AFTER) | BIT(VMS_BEFORE) | BIT(VMS_AFTER) },
        { SD_MEASURE_PEAK, BIT(PEAK_RSS) },
        { SD_MEASURE_IO, BIT(READ) | BIT(WRITTEN) },
        { SD_MEASURE_NETWORK, BIT(RECEIVED) | BIT(SENT) },
        { SD_MEASURE_PSS, BIT(PSS_AFTER) },
    };
#undef BIT
    uint64_t mask = 0;
    size_t i;

    for (i = 0; i < sizeof of / sizeof of[0]; i++)
        if (measure & of[i].measure)
            mask |= of[i].mask;
    return mask;
}

/* Keys of shapes lie where no hash of ours is likely to. */
static uint64_t shape_key(unsigned measure)
{
    sd_assert_slow((measure & ~0xffu) == 0); /* or two shapes would have one key */
    return 0x7368617065000000u | (measure & 0xffu);
}

static uint32_t define_track(struct sd_log *l, const struct sd_thread *t, uint64_t task)
{
    uint32_t thread = sd_log_known(l, t->key);

    if (!thread)
        thread = sd_session_define_thread(l, t);
    if (!task)
        return thread;
    return sd_log_define_track(l, track_key(t, task), SD_TRACK_TASK, thread, task, 0,
                               0);
}

static bool look_up(const struct sd_log *l, const struct sd_section_name *name,
                    const struct sd_thread *t, uint64_t task, unsigned measure,
                    struct ids *out)
{
    out->site = sd_log_known(l, name->key);
    out->track = sd_log_known(l, track_key(t, task));
    out->shape = measure ? sd_log_known(l, shape_key(measure)) : 0;
    return out->site && out->track && (out->shape || !measure);
}

/* Room for an event of `len` bytes and for what this chunk does not know yet.  False:
 * the event is lost, and counted. */
static bool prepare(struct sd_log *l, const struct sd_section_name *name,
                    const struct sd_thread *t, uint64_t task, unsigned measure,
                    size_t len, struct ids *out)
{
    if (!sd_log_room(l, len))
        return false;
    if (__builtin_expect(look_up(l, name, t, task, measure, out), 1))
        return true;
    sd_log_commit(l, 0, 0); /* nothing was put: room is asked for again, for more */
    if (!sd_log_room(l, len + ANCESTORS_BYTES + 2 * NAME_MAX_BYTES + 256 +
                            SD_ROOM_THREAD + SD_ROOM_TRACK + SD_ROOM_SHAPE))
        return false;
    look_up(l, name, t, task, measure, out); /* the chunk may be a new one */
    if (!out->site)
        out->site = define_site(l, name);
    if (!out->track)
        out->track = define_track(l, t, task);
    if (!out->shape && measure)
        out->shape = sd_log_define_shape(l, shape_key(measure), sd_section_metrics,
                                         shape_mask(measure));
    sd_assert(out->site && out->track);
    return true;
}

/* --- Reading --------------------------------------------------------------------- */

static unsigned usage_of(unsigned measure)
{
    return (measure & SD_MEASURE_MEMORY ? SD_USAGE_MEMORY : 0u) |
           (measure & SD_MEASURE_IO ? SD_USAGE_IO : 0u) |
           (measure & SD_MEASURE_NETWORK ? SD_USAGE_NETWORK : 0u) |
           (measure & SD_MEASURE_PSS ? SD_USAGE_PSS : 0u);
}

static void read_usage(unsigned measure, struct sd_reading *out)
{
    /* Before the reading: what is written after it is not in it. */
    uint64_t own_written = measure & SD_MEASURE_IO ? sd_session_own_written() : 0;
    struct sd_usage u;

    sd_usage_read(sd_peak_usage_reader(), usage_of(measure), &u);
    if (u.written_bytes >= 0)
        u.written_bytes -= (int64_t)own_written;
    out->rss_bytes = u.rss_bytes;
    out->vms_bytes = u.vms_bytes;
    out->read_bytes = u.read_bytes;
    out->written_bytes = u.written_bytes;
    out->received_bytes = u.received_bytes;
    out->sent_bytes = u.sent_bytes;
    out->pss_bytes = u.pss_bytes;
}

static void set_unread(struct sd_reading *out)
{
    out->thread_cpu_ns = out->process_cpu_ns = 0;
    out->rss_bytes = out->vms_bytes = -1;
    out->read_bytes = out->written_bytes = -1;
    out->received_bytes = out->sent_bytes = out->pss_bytes = -1;
}

/* The thread's clock is read inside the process's, so it never shows more. */
static void read_cpu_at_begin(struct sd_section *s)
{
    if (s->measure & SD_MEASURE_PROCESS_CPU)
        s->start.process_cpu_ns = sd_clock_process_cpu_ns();
    if (s->measure & SD_MEASURE_THREAD_CPU)
        s->start.thread_cpu_ns = sd_clock_thread_cpu_ns();
}

static void read_cpu_at_end(struct sd_section *s, bool is_same_process)
{
    if (s->measure & SD_MEASURE_THREAD_CPU)
        s->end.thread_cpu_ns = sd_clock_thread_cpu_ns();
    if (s->measure & SD_MEASURE_PROCESS_CPU)
        s->end.process_cpu_ns = sd_clock_process_cpu_ns();
    s->is_moved = !is_same_process || s->thread.tid != sd_thread_self()->tid;
    if (s->is_moved)
        s->end.thread_cpu_ns = s->start.thread_cpu_ns;
    if (!is_same_process)
        s->end.process_cpu_ns = s->start.process_cpu_ns;
}

/* --- The copy in the capture ----------------------------------------------------- */

/* All of the OPEN but its time, not committed yet; NULL when it is lost. */
static struct sd_rec_open *put_open(struct sd_section *s, struct sd_log *l)
{
    struct sd_rec_open *e;
    struct ids ids;

    s->is_recorded = true;
    if (!prepare(l, s->name, &s->thread, s->task, 0, sizeof *e, &ids))
        return NULL;
    e = sd_log_put(l, SD_REC_OPEN, sizeof *e);
    sd_assert_slow(ids.shape == 0);
    e->site = ids.site;
    e->track = ids.track;
    e->pad = 0;
    e->span = s->span = sd_log_next_span(l);
    return e;
}

static int64_t level(int64_t v) { return v < 0 ? SD_VALUE_NONE : v; }

static int64_t amount(int64_t from, int64_t to)
{
    return from < 0 || to < 0 ? SD_VALUE_NONE : to > from ? to - from : 0;
}

/* Values in the order of metrics.def, those that were asked for. */
static uint32_t put_values(const struct sd_section *s, int64_t *v)
{
    const struct sd_reading *a = &s->start, *b = &s->end;
    uint32_t n = 0;

    if (s->measure & SD_MEASURE_THREAD_CPU)
        v[n++] = s->is_moved
                     ? SD_VALUE_NONE
                     : amount((int64_t)a->thread_cpu_ns, (int64_t)b->thread_cpu_ns);
    if (s->measure & SD_MEASURE_PROCESS_CPU)
        v[n++] = amount((int64_t)a->process_cpu_ns, (int64_t)b->process_cpu_ns);
    if (s->measure & SD_MEASURE_MEMORY) {
        v[n++] = level(a->rss_bytes);
        v[n++] = level(b->rss_bytes);
        v[n++] = level(a->vms_bytes);
        v[n++] = level(b->vms_bytes);
    }
    if (s->measure & SD_MEASURE_PEAK)
        v[n++] = level(s->peak_bytes);
    if (s->measure & SD_MEASURE_IO) {
        v[n++] = amount(a->read_bytes, b->read_bytes);
        v[n++] = amount(a->written_bytes, b->written_bytes);
    }
    if (s->measure & SD_MEASURE_NETWORK) {
        v[n++] = amount(a->received_bytes, b->received_bytes);
        v[n++] = amount(a->sent_bytes, b->sent_bytes);
    }
    if (s->measure & SD_MEASURE_PSS)
        v[n++] = level(b->pss_bytes);
    return n;
}

uint64_t sd_section_shape(const struct sd_section *s)
{
    return shape_mask(s->measure & (SLOW | CPU));
}

uint32_t sd_section_values(const struct sd_section *s, int64_t *values)
{
    return put_values(s, values);
}

static void write_span(const struct sd_section *s, struct sd_log *l, bool raised)
{
    unsigned shaped = s->measure & (SLOW | CPU);
    struct sd_rec_span *e;
    uint32_t n = shaped ? (uint32_t)__builtin_popcountll(shape_mask(shaped)) : 0;
    size_t len = sizeof *e + n * sizeof e->values[0];
    struct ids ids;

    if (!prepare(l, s->name, &s->thread, s->task, shaped, len, &ids))
        return;
    sd_assert_slow(ids.shape <= UINT16_MAX && (ids.shape != 0) == (shaped != 0));
    e = sd_log_put(l, SD_REC_SPAN, len);
    e->site = ids.site;
    e->track = ids.track;
    e->shape = (uint16_t)ids.shape;
    e->flags = raised ? SD_SPAN_RAISED : 0;
    e->span = s->span;
    e->from = s->start.wall_ns;
    e->to = s->end.wall_ns;
    n -= put_values(s, e->values);
    sd_assert(n == 0); /* a shape has as many metrics as the event values */
    sd_log_commit(l, 1, e->to);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* --- Begin and end --------------------------------------------------------------- */

static void read_at_begin(struct sd_section *s)
{
    if (s->measure & (SLOW & ~SD_MEASURE_PSS)) {
        read_usage(s->measure & ~(unsigned)SD_MEASURE_PSS, &s->start);
        if (s->measure & SD_MEASURE_PEAK)
            sd_peak_open_at(&s->region, s->start.rss_bytes);
    }
    read_cpu_at_begin(s);
}

/* First whatever may take long or write (a slot, definitions, a full half), then the
 * readings, the clock last: only the commit falls into the section. */
void sd_section_begin(struct sd_section *s, const struct sd_section_name *name,
                      unsigned measure, uint64_t task)
{
    struct sd_log *l = sd_session_log();
    struct sd_rec_open *e = NULL;

    sd_assert_slow(name);
    s->name = name;
    s->measure = measure;
    s->forks = sd_session_forks();
    s->span = 0;
    s->task = task;
    s->is_moved = s->is_recorded = false;
    s->peak_bytes = -1;
    set_unread(&s->start);
    if (l || measure & CPU || sd_section_is_wanted())
        s->thread = *sd_thread_self();
    if (l)
        e = put_open(s, l);
    if (measure & (SLOW | CPU))
        read_at_begin(s);
    s->start.wall_ns = sd_clock_ns();
    if (e) {
        e->time = s->start.wall_ns;
        sd_log_commit(l, 1, e->time);
    }
    sd_session_tick();
}

void sd_section_end(struct sd_section *s, bool raised)
{
    uint64_t now = sd_clock_ns();
    bool is_ours = s->forks == sd_session_forks();
    struct sd_log *l;

    s->end.wall_ns = now;
    sd_session_tick();
    set_unread(&s->end);
    if (s->measure & CPU)
        read_cpu_at_end(s, is_ours);
    if (s->measure & SLOW) {
        read_usage(s->measure, &s->end);
        if (s->measure & SD_MEASURE_PEAK)
            s->peak_bytes = sd_peak_close_at_least(
                &s->region, larger(s->start.rss_bytes, s->end.rss_bytes));
    }
    l = is_ours && s->is_recorded ? sd_session_log() : NULL;
    if (l)
        write_span(s, l, raised);
    if (is_ours && atomic_load_explicit(&sd_section_n_blocks, memory_order_relaxed))
        sd_section_blocks_take(s, raised);
}

void sd_section_mark(const struct sd_section_name *name)
{
    struct sd_section s = { .name = name, .thread = *sd_thread_self() };
    struct sd_log *l = sd_session_log();

    if (!l)
        return;
    s.start.wall_ns = s.end.wall_ns = sd_clock_ns();
    write_span(&s, l, false);
}
