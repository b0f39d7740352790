/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/time_stacks.h"

#include <string.h>

#include "analyse/analyse.h"
#include "analyse/processes.h"
#include "analyse/stacks/calltree.h"
#include "analyse/stacks/flametree.h"
#include "analyse/stacks/import_rows.h"
#include "analyse/views.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { NONE = UINT32_MAX };

/* Texts of a profile are interned: equal ones are the same pointer. */
struct function_key {
    const char *name, *file;
    uint64_t line;
};

struct maker {
    const struct sd_profile *p;
    const struct sd_stack_totals *totals;
    const struct sd_slices *slices; /* or NULL */
    struct sd_arena *arena;         /* of the view */
    struct sd_view_stacks *view;
    struct sd_arena keys_arena;
    struct sd_intern functions; /* function_key */
    struct sd_intern modules;   /* names of files, or of what has none; as pointers */
    uint32_t *threads;          /* owned; by track: its thread + 1, 0: not yet */
    uint32_t *frame_of;         /* owned; by stack; NONE: of other evidence */
};

static void *room(struct maker *m, size_t n, size_t size)
{
    return sd_arena_alloc(m->arena, (n ? n : 1) * size);
}

/* --- Functions and modules */

static int add_module(struct maker *m, const struct sd_site *s, uint32_t *id)
{
    const void *key = s->file ? s->file : s->is_native && !s->is_beyond ? "" : s->name;
    struct sd_view_stacks *v = m->view;
    int rc = sd_intern(&m->modules, &key, sizeof key, id);

    if (rc < 0 || *id < v->n_modules)
        return rc;
    sd_assert(*id == v->n_modules && v->n_modules < m->p->n_sites);
    v->modules[v->n_modules++] = sd_callee_name(m->arena, s, SD_CALLS_BY_MODULE);
    return v->modules[*id] ? 0 : sd_no_memory();
}

static int function_of(struct maker *m, sd_site_id id, uint32_t *at)
{
    const struct sd_site *s = &m->p->sites[id.at];
    const struct function_key key = { s->name, s->file, s->line };
    struct sd_view_stacks *v = m->view;
    int rc = sd_intern(&m->functions, &key, sizeof key, at);

    if (rc < 0 || *at < v->n_functions)
        return rc;
    sd_assert(*at == v->n_functions && v->n_functions < m->p->n_sites);
    v->functions[v->n_functions++] = (struct sd_stacks_function){
        .name = s->name,
        .file = s->file,
        .short_file = s->file ? sd_site_short_file(s) : NULL,
        .line = s->line,
        .kind = sd_flametree_kind_of(s),
        .is_library = sd_site_is_library(s),
    };
    return add_module(m, s, &v->functions[*at].module);
}

/* --- Frames */

/* Those that stacks of this evidence stand on get a number, parents first. */
static int number_frames(struct maker *m)
{
    size_t n = m->p->n_stacks;

    m->frame_of = sd_alloc((n + 1) * sizeof *m->frame_of);
    if (!m->frame_of)
        return sd_no_memory();
    memset(m->frame_of, 0xff, (n + 1) * sizeof *m->frame_of);
    for (size_t i = 0; i < m->totals->n; i++)
        if (m->totals->items[i].stack.at != NONE)
            m->frame_of[m->totals->items[i].stack.at] = 0;
    for (size_t i = n; i-- > 0;)
        if (m->frame_of[i] != NONE && m->p->stacks[i].parent.at != NONE)
            m->frame_of[m->p->stacks[i].parent.at] = 0;
    for (size_t i = 0; i < n; i++)
        if (m->frame_of[i] != NONE)
            m->frame_of[i] = (uint32_t)m->view->n_frames++;
    return 0;
}

static uint32_t frame_at(const struct maker *m, uint32_t stack)
{
    return stack == NONE ? NONE : m->frame_of[stack];
}

static int put_frame(struct maker *m, const struct sd_import_rows *rows, size_t i)
{
    const struct sd_stack *s = &m->p->stacks[i];
    struct sd_stacks_frame *f = &m->view->frames[m->frame_of[i]];
    bool is_part = rows->row_of && rows->row_of[i] != NONE;

    *f = (struct sd_stacks_frame){
        .parent = frame_at(m, s->parent.at),
        .line = s->line,
        .import = is_part ? rows->row_of[i] : NONE,
        .importer = is_part ? frame_at(m, rows->importer[i]) : NONE,
        .is_startup = rows->is_startup && rows->is_startup[i],
    };
    sd_assert(f->parent == NONE || f->parent < m->frame_of[i]);
    return function_of(m, s->site, &f->function);
}

static int copy_imports(struct maker *m, const struct sd_import_rows *rows)
{
    struct sd_view_stacks *v = m->view;

    v->imports = room(m, rows->n, sizeof *v->imports);
    for (size_t i = 0; v->imports && i < rows->n; i++) {
        const char *name = rows->rows[i].name;

        v->imports[i] = sd_arena_string(m->arena, name, strlen(name));
        if (!v->imports[i])
            return sd_no_memory();
    }
    v->n_imports = rows->n;
    return v->imports ? 0 : sd_no_memory();
}

static int make_frames(struct maker *m)
{
    struct sd_view_stacks *v = m->view;
    struct sd_import_rows rows = { 0 };
    int rc = number_frames(m);

    if (rc < 0)
        return rc;
    v->functions = room(m, m->p->n_sites, sizeof *v->functions);
    v->modules = room(m, m->p->n_sites, sizeof *v->modules);
    v->frames = room(m, v->n_frames, sizeof *v->frames);
    if (!v->functions || !v->modules || !v->frames)
        return sd_no_memory();
    rc = sd_import_rows_make(m->p, true, &rows);
    for (size_t i = 0; i < m->p->n_stacks && rc == 0; i++)
        if (m->frame_of[i] != NONE)
            rc = put_frame(m, &rows, i);
    if (rc == 0)
        rc = copy_imports(m, &rows);
    sd_import_rows_release(&rows);
    return rc;
}

/* --- Places */

static int thread_of(struct maker *m, sd_track_id id, uint32_t *at)
{
    const struct sd_track *t = &m->p->tracks[id.at];
    sd_track_id process = sd_profile_process_of(m->p, id);
    struct sd_view_stacks *v = m->view;

    if (!m->threads[id.at]) {
        struct sd_stacks_thread *thread = &v->threads[v->n_threads++];

        *thread = (struct sd_stacks_thread){
            .name = t->name,
            .process = process.at == NONE ? 0 : m->p->tracks[process.at].number,
            .number = t->number,
            .is_process = process.at == id.at,
            .process_label =
                process.at == NONE ? "" : sd_process_label(m->p, process.at, m->arena),
        };
        if (!thread->process_label)
            return sd_no_memory();
        m->threads[id.at] = (uint32_t)v->n_threads;
    }
    *at = m->threads[id.at] - 1;
    return 0;
}

static int make_places(struct maker *m)
{
    const struct sd_stack_totals *t = m->totals;
    struct sd_view_stacks *v = m->view;
    int rc = 0;

    v->threads = room(m, m->p->n_tracks, sizeof *v->threads);
    v->places = room(m, t->n, sizeof *v->places);
    if (!v->threads || !v->places)
        return sd_no_memory();
    for (size_t i = 0; i < t->n && rc == 0; i++) {
        uint32_t flags = t->items[i].flags;

        v->places[i] = (struct sd_stacks_place){
            .frame = frame_at(m, t->items[i].stack.at),
            .is_idle = flags & SD_SAMPLE_IDLE,
            .has_gil = flags & SD_SAMPLE_GIL,
            .waits_for_gil = flags & SD_SAMPLE_WAITS_GIL,
            .is_partial = flags & SD_SAMPLE_PARTIAL,
            .is_stopped = flags & SD_SAMPLE_STOPPED,
        };
        rc = thread_of(m, t->items[i].track, &v->places[i].thread);
    }
    v->n_places = t->n;
    return rc;
}

/* --- Sections */

static int make_no_sets(struct maker *m)
{
    struct sd_view_stacks *v = m->view;

    v->set_starts = room(m, 2, sizeof *v->set_starts);
    v->set_members = room(m, 1, sizeof *v->set_members);
    v->sections = room(m, 1, sizeof *v->sections);
    if (!v->set_starts || !v->set_members || !v->sections)
        return sd_no_memory();
    memset(v->set_starts, 0, 2 * sizeof *v->set_starts);
    v->n_sets = 1;
    return 0;
}

static int make_sets(struct maker *m)
{
    const struct sd_section_sets *sets = &m->slices->sets;
    struct sd_view_stacks *v = m->view;
    size_t n_members = 0, n;

    for (uint32_t i = 0; i < sets->sets.n; i++) {
        sd_section_set(sets, i, &n);
        n_members += n;
    }
    v->sections = room(m, sets->paths.n, sizeof *v->sections);
    v->set_starts = room(m, sets->sets.n + 1, sizeof *v->set_starts);
    v->set_members = room(m, n_members, sizeof *v->set_members);
    if (!v->sections || !v->set_starts || !v->set_members)
        return sd_no_memory();
    for (size_t i = 0; i < sets->paths.n; i++) {
        v->sections[i] =
            sd_arena_string(m->arena, sets->paths.items[i].p, sets->paths.items[i].n);
        if (!v->sections[i])
            return sd_no_memory();
    }
    n_members = 0;
    v->set_starts[0] = 0;
    for (uint32_t i = 0; i < sets->sets.n; i++) {
        const uint32_t *members = sd_section_set(sets, i, &n);

        if (n > 0)
            memcpy(v->set_members + n_members, members, n * sizeof *members);
        n_members += n;
        v->set_starts[i + 1] = (uint32_t)n_members;
    }
    v->n_sections = sets->paths.n;
    v->n_sets = sets->sets.n;
    v->note = sets->is_cut ? "there are too many combinations of open sections; some "
                             "samples are shown outside of all sections"
              : m->slices->n_untimed > 0
                  ? "the time of some calls is unknown; they are shown at the "
                    "beginning"
                  : NULL;
    return 0;
}

/* --- Entries */

static void put_entries(struct maker *m)
{
    struct sd_view_stacks *v = m->view;

    for (size_t i = 0; i < v->n_entries; i++)
        if (m->slices)
            v->entries[i] = (struct sd_stacks_entry){ m->slices->entries[i].slice,
                                                      m->slices->entries[i].total,
                                                      m->slices->entries[i].sections };
        else
            v->entries[i] = (struct sd_stacks_entry){ .place = (uint32_t)i };
}

static int make_entries(struct maker *m)
{
    const struct sd_slices *s = m->slices;
    struct sd_view_stacks *v = m->view;

    v->n_entries = s ? s->n : m->totals->n;
    v->n_metrics = m->totals->n_metrics;
    v->entries = room(m, v->n_entries, sizeof *v->entries);
    v->metrics = room(m, v->n_metrics, sizeof *v->metrics);
    if (!v->entries || !v->metrics)
        return sd_no_memory();
    put_entries(m);
    for (uint32_t k = 0; k < v->n_metrics; k++) {
        const struct sd_metric *metric = &m->p->metrics[m->totals->metrics[k].at];

        v->metrics[k] =
            (struct sd_stacks_metric){ metric->name, metric->meaning,
                                       sd_cell_kind_of(metric->unit),
                                       s ? s->values[k] : m->totals->values[k] };
    }
    v->has_time = s != NULL;
    v->slice_ns = s ? s->slice_ns : 0;
    return 0;
}

int sd_time_stacks_make(const struct sd_profile *p, enum sd_evidence e,
                        const struct sd_slices *slices, struct sd_arena *a,
                        struct sd_view_stacks *out)
{
    struct maker m = { .p = p,
                       .totals = &p->evidence[e].stacks,
                       .slices = slices,
                       .arena = a,
                       .view = out };
    int rc;

    sd_assert(sd_evidence_has_stacks(e));
    out->evidence = sd_evidence[e].name;
    out->verb = sd_evidence[e].verb;
    out->metric = sd_evidence_metric(p, e);
    m.functions.arena = m.modules.arena = &m.keys_arena;
    m.threads = sd_zalloc((p->n_tracks + 1) * sizeof *m.threads);
    rc = m.threads ? make_frames(&m) : sd_no_memory();
    if (rc == 0)
        rc = make_places(&m);
    if (rc == 0)
        rc = slices ? make_sets(&m) : make_no_sets(&m);
    if (rc == 0)
        rc = make_entries(&m);
    sd_intern_release(&m.functions);
    sd_intern_release(&m.modules);
    sd_arena_release(&m.keys_arena);
    sd_free(m.threads);
    sd_free(m.frame_of);
    return rc;
}

static int draw(const struct sd_profile *p, enum sd_evidence e, const char *name,
                const struct sd_slices *slices, struct sd_view *v)
{
    struct sd_drawing *d = sd_view_draw(v, name, SD_SHAPE_STACKS);

    return d ? sd_time_stacks_make(p, e, slices, &v->arena, &d->stacks) : SD_ENOMEM;
}

/* Samples, and traced calls of which it is known when they were. */
int sd_time_stacks_view(const struct sd_profile *p, const struct sd_view_request *r,
                        struct sd_view *v)
{
    bool has_calls = r->call_slices && sd_profile_has(p, SD_CALLS);
    bool has_samples = sd_profile_has(p, SD_SAMPLES);
    int rc = 0;

    if (!r->slices)
        return sd_fail(SD_EUSAGE,
                       "only captures (.sonde) can be shown as stacks over time");
    if (has_samples || !has_calls)
        rc = draw(p, SD_SAMPLES, "stacks", r->slices, v);
    if (rc == 0 && has_calls)
        rc = draw(p, SD_CALLS, has_samples ? "traced_stacks" : "stacks", r->call_slices,
                  v);
    return rc;
}
