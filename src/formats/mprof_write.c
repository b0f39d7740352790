/* SPDX-License-Identifier: MIT */
/* mprof_write: writes readings of memory as mprof's .dat: MEM of the first process,
 * CHLD of those that it started, FUNC of sections, with the memory before and after.
 *
 * mprof separates words by spaces, so names get underscores in their place. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/table.h"
#include "formats/mprof.h"
#include "formats/output.h"

enum { MIB = 1 << 20, LEVELS_MAX = 64 };

struct point {
    uint64_t at_ns; /* since the epoch */
    int64_t bytes;
    uint32_t track;
};

struct call {
    uint64_t from_ns, to_ns;
    int64_t before, after;
    uint32_t site;
    uint32_t name; /* numbered in the order in which they were first called */
};

struct writing {
    const struct sd_profile *p;
    uint32_t root;        /* track of the first process */
    struct point *points; /* owned */
    size_t n_points, cap_points;
    struct call *calls; /* owned */
    size_t n_calls, cap_calls;
};

int64_t sd_mprof_bytes(sd_mprof_nano_mib memory)
{
    long double bytes = (long double)memory * MIB / 1e9L;

    return (int64_t)(bytes < 0 ? bytes - 0.5L : bytes + 0.5L);
}

/* --- What there is */

/* The first whose readings began, unless it is a child of another that is read. */
static uint32_t find_root(const struct sd_profile *p)
{
    uint32_t root = UINT32_MAX;
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < p->n_series; i++) {
        const struct sd_series *s = &p->series[i];
        uint32_t parent = p->tracks[s->track.at].parent.at;

        if (strcmp(p->metrics[s->metric.at].name, "rss") != 0 || s->n_buckets == 0 ||
            p->tracks[s->track.at].kind != SD_TRACK_PROCESS)
            continue;
        if (parent != UINT32_MAX &&
            sd_profile_series(p, (sd_track_id){ parent }, "rss"))
            continue;
        if (s->buckets[0].from_ns < first_ns) {
            first_ns = s->buckets[0].from_ns;
            root = s->track.at;
        }
    }
    return root;
}

/* SD_VALUE_NONE: it has none. */
static int64_t value_of(const struct sd_profile *p, const struct sd_event *e,
                        const char *metric)
{
    for (uint32_t i = 0; i < e->n_values; i++)
        if (strcmp(p->metrics[e->metrics[i].at].name, metric) == 0)
            return e->values[i];
    return SD_VALUE_NONE;
}

static int add_point(struct writing *w, const struct sd_event *e)
{
    int64_t bytes = value_of(w->p, e, "rss");
    struct point *grown;

    if (bytes == SD_VALUE_NONE || w->p->tracks[e->track.at].kind != SD_TRACK_PROCESS)
        return 0;
    grown = sd_grow_array(w->points, &w->cap_points, w->n_points + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    w->points = grown;
    grown[w->n_points++] =
        (struct point){ w->p->real_zero_ns + e->from_ns, bytes, e->track.at };
    return 0;
}

static int add_call(struct writing *w, const struct sd_event *e)
{
    int64_t before = value_of(w->p, e, "rss_before");
    int64_t after = value_of(w->p, e, "rss_after");
    struct call *grown;

    if (before == SD_VALUE_NONE || after == SD_VALUE_NONE)
        return 0;
    grown = sd_grow_array(w->calls, &w->cap_calls, w->n_calls + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    w->calls = grown;
    grown[w->n_calls] = (struct call){ w->p->real_zero_ns + e->from_ns,
                                       w->p->real_zero_ns + e->to_ns,
                                       before,
                                       after,
                                       e->site.at,
                                       UINT32_MAX };
    w->n_calls++;
    return 0;
}

static int gather(struct writing *w, const struct sd_output_job *job)
{
    struct sd_events *events = NULL;
    struct sd_event e;
    int rc = sd_events_open(w->p, job->from, job->filter, &events);

    while (rc == 0 && (rc = sd_events_next(events, &e)) == 1)
        rc = e.kind == SD_EVENT_POINT  ? add_point(w, &e)
             : e.kind == SD_EVENT_SPAN ? add_call(w, &e)
                                       : 0;
    sd_events_free(events);
    return rc;
}

/* --- In order */

/* Of one moment the process itself first. */
static int by_time(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static int by_begin(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    return (x->to_ns < y->to_ns) - (x->to_ns > y->to_ns); /* the outer one first */
}

static int by_name(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return by_begin(a, b);
}

/* All calls of a function one after the other, as mprof has them. */
static int order_calls(struct writing *w)
{
    struct sd_arena arena = { 0 };
    struct sd_intern names = { .arena = &arena };
    int rc = 0;

    qsort(w->calls, w->n_calls, sizeof *w->calls, by_begin);
    for (size_t i = 0; i < w->n_calls && rc == 0; i++) {
        const char *name = w->p->sites[w->calls[i].site].name;

        rc = sd_intern(&names, name, strlen(name), &w->calls[i].name);
    }
    if (rc == 0)
        qsort(w->calls, w->n_calls, sizeof *w->calls, by_name);
    sd_intern_release(&names);
    sd_arena_release(&arena);
    return rc;
}

/* What a section itself has read is in its own line, and not among the readings. */
static int find_read_by_calls(const struct writing *w, struct sd_table *to)
{
    int rc = 0;

    for (size_t i = 0; i < w->n_calls && rc == 0; i++) {
        const struct call *c = &w->calls[i];

        rc = sd_table_put(to, c->from_ns, (uint64_t)c->before);
        if (rc == 0)
            rc = sd_table_put(to, c->to_ns, (uint64_t)c->after);
    }
    return rc;
}

/* --- Lines */

/* With so many digits behind the point.  What is right between two of them goes to the
 * even one, as printf and Python have it: with pages of 4 KiB that is every fourth. */
static void put_mib(struct sd_out *out, int64_t bytes, int digits)
{
    int64_t scale = digits == 6 ? 1000000 : 10000;
    int64_t whole = bytes / MIB, scaled = (bytes % MIB) * scale;
    int64_t part = scaled / MIB, rest = scaled % MIB;

    sd_assert(bytes >= 0 && (digits == 6 || digits == 4));
    part += rest > MIB / 2 || (rest == MIB / 2 && part % 2);
    sd_out_printf(out, " %" PRId64 ".%0*" PRId64, whole + part / scale, digits,
                  part % scale);
}

static void put_time(struct sd_out *out, uint64_t ns)
{
    uint64_t parts = (ns + 50000) / 100000;

    sd_out_printf(out, " %" PRIu64 ".%04" PRIu64, parts / 10000, parts % 10000);
}

static void put_command(const struct writing *w, struct sd_out *out)
{
    const char *command = sd_profile_meta(w->p, "command");

    sd_out_printf(out, "CMDLINE ");
    for (const char *at = command ? command : ""; *at; at++)
        sd_out_write(out, *at == '\n' ? " " : at, 1); /* one line */
    sd_out_text(out, "\n");
}

void sd_mprof_put_reading(struct sd_out *out, uint64_t pid, int64_t bytes,
                          uint64_t at_ns)
{
    if (pid == 0)
        sd_out_text(out, "MEM");
    else
        sd_out_printf(out, "CHLD %" PRIu64, pid);
    put_mib(out, bytes < 0 ? 0 : bytes, 6);
    put_time(out, at_ns);
    sd_out_text(out, "\n");
}

static unsigned level_of(const struct sd_profile *p, sd_site_id site)
{
    unsigned level = 0;

    for (site = p->sites[site.at].parent; site.at != UINT32_MAX && level < LEVELS_MAX;
         site = p->sites[site.at].parent)
        level++;
    return level;
}

static void put_call(const struct writing *w, const struct call *c, struct sd_out *out)
{
    const char *name = w->p->sites[c->site].name;

    sd_out_text(out, "FUNC ");
    for (const char *at = name; *at; at++)
        sd_out_write(out, *at == ' ' || *at == '\n' ? "_" : at, 1);
    sd_out_text(out, *name ? "" : "_");
    put_mib(out, c->before < 0 ? 0 : c->before, 4);
    put_time(out, c->from_ns);
    put_mib(out, c->after < 0 ? 0 : c->after, 4);
    put_time(out, c->to_ns);
    sd_out_printf(out, " %u\n", level_of(w->p, (sd_site_id){ c->site }));
}

static int put_points(const struct writing *w, struct sd_out *out)
{
    struct sd_table of_calls = { 0 };
    int rc = find_read_by_calls(w, &of_calls);

    for (size_t i = 0; i < w->n_points && rc == 0 && out->err == 0; i++) {
        const struct point *q = &w->points[i];
        bool is_root = q->track == w->root;
        uint64_t bytes;

        if (is_root && sd_table_get(&of_calls, q->at_ns, &bytes) &&
            bytes == (uint64_t)q->bytes)
            continue;
        sd_mprof_put_reading(out, is_root ? 0 : w->p->tracks[q->track].number, q->bytes,
                             q->at_ns);
    }
    sd_table_release(&of_calls);
    return rc;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    struct writing w = { .p = job->profile, .root = find_root(job->profile) };
    int rc = gather(&w, job);

    if (rc == 0 && w.n_points + w.n_calls == 0)
        rc = sd_fail(SD_EABSENT,
                     "there are no readings of resident memory to write as "
                     "%s; record them with: sonde run --with rss",
                     job->to);
    if (rc == 0 && w.n_points)
        qsort(w.points, w.n_points, sizeof *w.points, by_time);
    if (rc == 0 && w.n_calls)
        rc = order_calls(&w);
    if (rc == 0) {
        put_command(&w, out);
        rc = put_points(&w, out);
    }
    for (size_t i = 0; i < w.n_calls && rc == 0 && out->err == 0; i++)
        put_call(&w, &w.calls[i], out);
    sd_free(w.points);
    sd_free(w.calls);
    return rc;
}

const struct sd_output sd_output_mprof = {
    .name = "mprof",
    .suffixes = { ".dat" },
    .summary = "resident memory over time and the memory around sections, as mprof "
               "writes it",
    .loses = "every metric but resident memory, stacks, peaks between two readings, "
             "sections that did not read memory, which thread and process a section is "
             "of",
    .needs = SD_HOLDS_READINGS,
    .reads_events = true,
    .write = write,
};
