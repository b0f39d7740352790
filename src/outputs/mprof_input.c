/* SPDX-License-Identifier: MIT */
/* mprof_input: reads the .dat files of mprof, each as a capture in memory: readings of
 * rss by process, calls of decorated functions as sections with the memory before and
 * after. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/memory/memory_capture.h"
#include "formats/mprof.h"
#include "outputs/translated.h"

enum { OF_POINTS, OF_SPANS, N_SHAPES };

static const struct sd_metric_about metrics[] = {
    { "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL, "resident memory" },
    { "rss_before", SD_UNIT_BYTES, SD_ADDS_LEVEL,
      "resident memory of the process at the start" },
    { "rss_after", SD_UNIT_BYTES, SD_ADDS_LEVEL,
      "resident memory of the process at the end" },
    { NULL, 0, 0, NULL },
};
static const uint64_t shapes[N_SHAPES] = {
    [OF_POINTS] = 1 << 0, [OF_SPANS] = 1 << 1 | 1 << 2
};

/* A file as it becomes a capture. */
struct translation {
    struct sd_mprof file;
    struct sd_whole_site *sites; /* owned */
    uint32_t n_sites;
    uint32_t *site_of;               /* owned; by call */
    struct sd_mprof_reading *points; /* owned; what is read in between and at both ends
                                        of each call, by time */
    size_t n_points;
};

/* --- Which section a call is, and in which */

struct site_key {
    uint32_t name, parent;
};

/* Calls that are open, from the outermost in: their levels rise. */
struct open_call {
    uint32_t level, site;
    uint64_t to_ns;
};

struct nesting {
    struct sd_arena arena;
    struct sd_intern names, sites;
    const struct sd_mprof_call **order; /* owned; by begin */
    struct open_call *open;             /* owned */
    size_t n_open;
};

/* Of two that begin at once the outer one first. */
static int by_begin(const void *a, const void *b)
{
    const struct sd_mprof_call *x = *(const struct sd_mprof_call *const *)a;
    const struct sd_mprof_call *y = *(const struct sd_mprof_call *const *)b;

    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int place(struct nesting *n, struct translation *t,
                 const struct sd_mprof_call *c)
{
    struct site_key key = { .parent = SD_NO_PARENT };
    uint32_t site;
    int rc;

    while (n->n_open > 0 && (n->open[n->n_open - 1].level >= c->level ||
                             n->open[n->n_open - 1].to_ns < c->to_ns))
        n->n_open--;
    if (n->n_open > 0)
        key.parent = n->open[n->n_open - 1].site;
    rc = sd_intern(&n->names, c->name, c->n_name, &key.name);
    if (rc == 0)
        rc = sd_intern(&n->sites, &key, sizeof key, &site);
    if (rc < 0)
        return rc;
    sd_assert(site <= t->n_sites && t->n_sites <= t->file.n_calls);
    if (site == t->n_sites)
        t->sites[t->n_sites++] =
            (struct sd_whole_site){ c->name, c->n_name, key.parent };
    t->site_of[c - t->file.calls] = site;
    n->open[n->n_open++] = (struct open_call){ c->level, site, c->to_ns };
    return 0;
}

static int place_all(struct nesting *n, struct translation *t)
{
    size_t n_calls = t->file.n_calls;
    int rc = 0;

    n->names.arena = n->sites.arena = &n->arena;
    n->order = sd_alloc((n_calls + 1) * sizeof *n->order);
    n->open = sd_alloc((n_calls + 1) * sizeof *n->open);
    t->sites = sd_alloc((n_calls + 1) * sizeof *t->sites);
    t->site_of = sd_alloc((n_calls + 1) * sizeof *t->site_of);
    if (!n->order || !n->open || !t->sites || !t->site_of)
        return sd_no_memory();
    for (size_t i = 0; i < n_calls; i++)
        n->order[i] = &t->file.calls[i];
    if (n_calls)
        qsort(n->order, n_calls, sizeof *n->order, by_begin);
    for (size_t i = 0; i < n_calls && rc == 0; i++)
        rc = place(n, t, n->order[i]);
    return rc;
}

static int nest(struct translation *t)
{
    struct nesting n = { .n_open = 0 };
    int rc = place_all(&n, t);

    sd_intern_release(&n.names);
    sd_intern_release(&n.sites);
    sd_arena_release(&n.arena);
    sd_free(n.order);
    sd_free(n.open);
    return rc;
}

/* --- The capture */

static int64_t bytes_or_none(sd_mprof_nano_mib memory)
{
    return memory < 0 ? SD_VALUE_NONE : sd_mprof_bytes(memory);
}

static bool span_of(const void *of, uint32_t i, struct sd_whole_span *out)
{
    const struct translation *t = of;
    const struct sd_mprof_call *c = &t->file.calls[i];

    *out = (struct sd_whole_span){
        .site = t->site_of[i],
        .shape = OF_SPANS,
        .from = c->from_ns,
        .to = c->to_ns,
        .values = { bytes_or_none(c->before), bytes_or_none(c->after) },
    };
    return true;
}

static void point_of(const void *of, uint32_t i, struct sd_whole_point *out)
{
    const struct sd_mprof_reading *r = &((const struct translation *)of)->points[i];

    *out = (struct sd_whole_point){
        .child = r->pid,
        .shape = OF_POINTS,
        .at = r->at_ns,
        .values = { bytes_or_none(r->memory) },
    };
}

/* What was read at once stays in the order of the file. */
static int by_time(const void *a, const void *b)
{
    const struct sd_mprof_reading *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* mprof's curve goes through what calls read, too. */
static int gather_points(struct translation *t)
{
    const struct sd_mprof *m = &t->file;

    if (m->n_readings + 2 * m->n_calls > UINT32_MAX)
        return sd_fail(SD_EFULL, "a file of mprof has at most four thousand million "
                                 "readings");
    t->points = sd_alloc((m->n_readings + 2 * m->n_calls + 1) * sizeof *t->points);
    if (!t->points)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_readings; i++)
        t->points[t->n_points++] = m->readings[i];
    for (size_t i = 0; i < m->n_calls; i++) {
        const struct sd_mprof_call *c = &m->calls[i];

        t->points[t->n_points++] =
            (struct sd_mprof_reading){ .at_ns = c->from_ns, .memory = c->before };
        t->points[t->n_points++] =
            (struct sd_mprof_reading){ .at_ns = c->to_ns, .memory = c->after };
    }
    if (t->n_points)
        qsort(t->points, t->n_points, sizeof *t->points, by_time);
    return 0;
}

/* "python" of "/usr/bin/python train.py". */
static const char *name_of(struct sd_arena *a, const char *command)
{
    size_t n = command ? strcspn(command, " \t") : 0;
    const char *base = command;

    for (size_t i = 0; i < n; i++)
        if (command[i] == '/')
            base = command + i + 1;
    n = command ? n - (size_t)(base - command) : 0;
    return n > 0 ? sd_arena_string(a, base, n) : "process";
}

/* In ticks of the kernel's clock: it tells the processes of several files apart. */
static uint64_t start_of(const struct sd_mprof *m)
{
    return m->n_readings ? m->readings[0].at_ns / 10000000 : 0;
}

static int write_capture(struct translation *t, const char *process, struct sd_buf *to)
{
    const struct sd_whole_how how = { .command = t->file.command };
    const struct sd_whole_spans spans = {
        .sites = t->sites,
        .n_sites = t->n_sites,
        .metrics = metrics,
        .shapes = shapes,
        .n_shapes = N_SHAPES,
        .start_ticks = start_of(&t->file),
        .process = process ? process : name_of(&t->file.arena, t->file.command),
        .n = (uint32_t)t->file.n_calls,
        .of = t,
        .span = span_of,
        .n_points = (uint32_t)t->n_points,
        .point = point_of,
    };

    if (!spans.process)
        return sd_no_memory();
    return sd_whole_spans(&spans, &how, to);
}

static int fail_empty(const char *file, bool has_empty_line)
{
    return sd_fail(SD_EABSENT,
                   "%s holds no readings of memory%s; record again, with a smaller "
                   "interval: sonde rss --every 1ms",
                   file,
                   has_empty_line ? ": the program ended before the first one" : "");
}

static int translate(const char *file, const char *process,
                     const struct sd_remarks *remarks, struct sd_buf *to)
{
    struct translation t = { .n_sites = 0 };
    int rc;

    sd_mprof_init(&t.file);
    rc = sd_mprof_load(sd_input_path(file), &t.file);
    if (rc == 0 && t.file.n_readings == 0 && t.file.n_calls == 0)
        rc = fail_empty(file, t.file.has_empty_line);
    if (rc == 0 && t.file.is_cut)
        sd_remark(remarks, "%s ends in the middle of a line, which is left out", file);
    if (rc == 0)
        rc = nest(&t);
    if (rc == 0)
        rc = gather_points(&t);
    if (rc == 0)
        rc = write_capture(&t, process, to);
    sd_mprof_release(&t.file);
    sd_free(t.sites);
    sd_free(t.site_of);
    sd_free(t.points);
    return rc;
}

/* An empty one and one that begins with an empty line are known by their name alone. */
static bool recognises(const char *path, const void *head, size_t n)
{
    if (n > 0 && sd_mprof_is(head, n))
        return true;
    return sd_text_ends(path, ".dat") && (n == 0 || *(const char *)head == '\n');
}

static int load(const struct sd_loader *how, char *const *files, size_t n,
                struct sd_contents *into)
{
    struct sd_translated t;
    int rc = sd_translated_open(&t, &sd_input_mprof, how->remarks, files, n);

    if (rc == 0)
        rc = sd_captures_load(how, t.paths, n, &into->profile);
    sd_translated_close(&t);
    return rc;
}

const struct sd_input sd_input_mprof = {
    .name = "mprof",
    .title = "an mprof file",
    .has = "only readings of memory and calls of functions",
    .gives = SD_HOLDS_EVENTS | SD_HOLDS_READINGS | SD_HOLDS_SECTIONS | SD_HOLDS_TIMES,
    .recognises = recognises,
    .load = load,
    .translate = translate,
};
