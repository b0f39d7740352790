/* SPDX-License-Identifier: MIT */
/* page_stacks: writes a block of stacks over time: all of it is columns, but for the
 * names of metrics and threads. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "report/page/page_shapes.h"

enum { NONE = UINT32_MAX };

/* Bits of a place, as types.ts has them. */
enum { IDLE = 1, GIL = 2, WAITS = 4, PARTIAL = 8, STOPPED = 16 };

/* Fills a column by an expression of `i`. */
#define PUT(p, key, count, flags, expression)                                          \
    do {                                                                               \
        int64_t *cells_ = sd_payload_column(p, count);                                 \
        for (size_t i = 0; cells_ && i < (count); i++)                                 \
            cells_[i] = (int64_t)(expression);                                         \
        sd_payload_put_column(p, key, count, flags);                                   \
    } while (0)

static int64_t or_0(uint32_t place) { return place == NONE ? 0 : (int64_t)place + 1; }

/* Kinds of functions, as types.ts has them. */
static int64_t kind_of(enum sd_flame_kind kind)
{
    switch (kind) {
    case SD_FLAME_OWN:
        return 0;
    case SD_FLAME_LIBRARY:
        return 1;
    case SD_FLAME_NATIVE:
        return 2;
    case SD_FLAME_FOLDED:
        return 4;
    case SD_FLAME_ALL:
    case SD_FLAME_PROCESS:
    case SD_FLAME_THREAD:
    case SD_FLAME_MARK:
    case SD_FLAME_IDLE:
    case SD_FLAME_KINDS:
        break;
    }
    return 3;
}

static void put_metrics(struct sd_payload *p, const struct sd_view_stacks *s)
{
    sd_json_key_array(&p->j, "metrics");
    for (size_t k = 0; k < s->n_metrics; k++) {
        const struct sd_stacks_metric *m = &s->metrics[k];

        sd_json_object(&p->j);
        sd_json_key_string(&p->j, "name", m->name);
        sd_json_key_string(&p->j, "unit", sd_page_unit(m->kind));
        sd_json_key_string(&p->j, "meaning", m->meaning ? m->meaning : "");
        PUT(p, "values", s->n_entries, SD_PAYLOAD_PLAIN, m->values[i]);
        sd_json_end(&p->j);
    }
    sd_json_end(&p->j);
}

static void put_functions(struct sd_payload *p, const struct sd_view_stacks *s)
{
    const struct sd_stacks_function *f = s->functions;
    size_t n = s->n_functions;

    sd_json_key_object(&p->j, "functions");
    PUT(p, "name", n, SD_PAYLOAD_PLAIN, sd_payload_name(p, f[i].name));
    PUT(p, "file", n, SD_PAYLOAD_PLAIN, sd_payload_name_or_0(p, f[i].file));
    PUT(p, "short", n, SD_PAYLOAD_PLAIN, sd_payload_name_or_0(p, f[i].short_file));
    PUT(p, "line", n, SD_PAYLOAD_PLAIN, f[i].line);
    PUT(p, "kind", n, SD_PAYLOAD_PLAIN, kind_of(f[i].kind));
    PUT(p, "isLibrary", n, SD_PAYLOAD_PLAIN, f[i].is_library);
    PUT(p, "module", n, SD_PAYLOAD_PLAIN, f[i].module);
    sd_json_end(&p->j);
    PUT(p, "modules", s->n_modules, SD_PAYLOAD_PLAIN,
        sd_payload_name(p, s->modules[i]));
}

static void put_frames(struct sd_payload *p, const struct sd_view_stacks *s)
{
    const struct sd_stacks_frame *f = s->frames;
    size_t n = s->n_frames;

    sd_json_key_object(&p->j, "frames");
    PUT(p, "parent", n, SD_PAYLOAD_PLAIN, or_0(f[i].parent));
    PUT(p, "fn", n, SD_PAYLOAD_PLAIN, f[i].function);
    PUT(p, "line", n, SD_PAYLOAD_PLAIN, f[i].line);
    PUT(p, "isStartup", n, SD_PAYLOAD_PLAIN, f[i].is_startup);
    PUT(p, "importRow", n, SD_PAYLOAD_PLAIN, or_0(f[i].import));
    PUT(p, "importer", n, SD_PAYLOAD_PLAIN, or_0(f[i].importer));
    sd_json_end(&p->j);
    PUT(p, "imports", s->n_imports, SD_PAYLOAD_PLAIN,
        sd_payload_name(p, s->imports[i]));
}

/* "1234/1240", or "1234" where nobody knows which thread. */
static void put_threads(struct sd_payload *p, const struct sd_view_stacks *s)
{
    char track[64];

    sd_json_key_array(&p->j, "threads");
    for (size_t i = 0; i < s->n_threads; i++) {
        const struct sd_stacks_thread *t = &s->threads[i];

        if (t->is_process)
            snprintf(track, sizeof track, "%llu", (unsigned long long)t->process);
        else
            snprintf(track, sizeof track, "%llu/%llu", (unsigned long long)t->process,
                     (unsigned long long)t->number);
        sd_json_object(&p->j);
        sd_json_key_string(&p->j, "track", track);
        sd_json_key_string(&p->j, "process", t->process_label);
        sd_json_key_uint(&p->j, "pid", t->process);
        sd_json_key(&p->j, "tid");
        if (t->is_process)
            sd_json_null(&p->j);
        else
            sd_json_uint(&p->j, t->number);
        sd_json_key_string(&p->j, "name", t->name);
        sd_json_end(&p->j);
    }
    sd_json_end(&p->j);
}

static int64_t flags_of(const struct sd_stacks_place *at)
{
    return (at->is_idle ? IDLE : 0) | (at->has_gil ? GIL : 0) |
           (at->waits_for_gil ? WAITS : 0) | (at->is_partial ? PARTIAL : 0) |
           (at->is_stopped ? STOPPED : 0);
}

static void put_places(struct sd_payload *p, const struct sd_view_stacks *s)
{
    sd_json_key_object(&p->j, "places");
    PUT(p, "frame", s->n_places, SD_PAYLOAD_PLAIN, or_0(s->places[i].frame));
    PUT(p, "thread", s->n_places, SD_PAYLOAD_PLAIN, s->places[i].thread);
    PUT(p, "flags", s->n_places, SD_PAYLOAD_PLAIN, flags_of(&s->places[i]));
    sd_json_end(&p->j);
}

/* Sections of the block are those of the page under other numbers. */
static void put_sets(struct sd_payload *p, const struct sd_view_stacks *s,
                     const struct sd_intern *sections)
{
    size_t n_members = s->set_starts[s->n_sets];
    int64_t *members;

    sd_json_key_object(&p->j, "sets");
    PUT(p, "starts", s->n_sets + 1, SD_PAYLOAD_PLAIN, s->set_starts[i]);
    members = sd_payload_column(p, n_members);
    for (size_t i = 0; members && i < n_members; i++) {
        const char *path = s->sections[s->set_members[i]];
        uint32_t at = sd_intern_find(sections, path, strlen(path));

        sd_assert(at != NONE);
        members[i] = at;
    }
    sd_payload_put_column(p, "members", n_members, SD_PAYLOAD_PLAIN);
    sd_json_end(&p->j);
}

void sd_page_put_stacks(struct sd_payload *p, const struct sd_view_stacks *s,
                        const struct sd_intern *sections)
{
    sd_json_object(&p->j);
    sd_json_key_string(&p->j, "evidence", s->evidence);
    sd_json_key_string(&p->j, "verb", s->verb);
    sd_json_key_bool(&p->j, "hasTime", s->has_time);
    sd_json_key_uint(&p->j, "sliceNs", s->slice_ns);
    sd_json_key_string(&p->j, "metric", s->metric);
    put_metrics(p, s);
    put_functions(p, s);
    put_frames(p, s);
    put_threads(p, s);
    put_places(p, s);
    put_sets(p, s, sections);
    sd_json_key_object(&p->j, "entries");
    PUT(p, "slice", s->n_entries, SD_PAYLOAD_DELTA, s->entries[i].slice);
    PUT(p, "place", s->n_entries, SD_PAYLOAD_PLAIN, s->entries[i].place);
    PUT(p, "set", s->n_entries, SD_PAYLOAD_PLAIN, s->entries[i].set);
    sd_json_end(&p->j);
    sd_json_end(&p->j);
}
