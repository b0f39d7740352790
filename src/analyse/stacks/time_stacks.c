/* SPDX-License-Identifier: MIT */
/* time_stacks: samples by time, thread, stack and open sections, for whoever adds up
 * any part of them: the view `stacks`. */
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/stacks/flametree.h"
#include "analyse/stacks/import_rows.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/slices.h"

struct maker {
    const struct sd_profile *p;
    const struct sd_slices *slices;
    struct sd_arena *arena; /* of the view */
    struct sd_view_stacks *view;
    uint32_t *functions; /* owned; by site: its function + 1, 0: not yet */
    uint32_t *threads;   /* owned; by track, the same */
};

static void *room(struct maker *m, size_t n, size_t size)
{
    return sd_arena_alloc(m->arena, (n ? n : 1) * size);
}

static uint32_t function_of(struct maker *m, sd_site_id id)
{
    const struct sd_site *s = &m->p->sites[id.at];
    struct sd_view_stacks *v = m->view;

    if (!m->functions[id.at]) {
        v->functions[v->n_functions++] =
            (struct sd_stacks_function){ s->name, s->file, s->line,
                                         sd_flame_kind_of(s) };
        m->functions[id.at] = (uint32_t)v->n_functions;
    }
    return m->functions[id.at] - 1;
}

static uint32_t thread_of(struct maker *m, sd_track_id id)
{
    const struct sd_track *t = &m->p->tracks[id.at];
    sd_track_id process = sd_profile_process_of(m->p, id);
    struct sd_view_stacks *v = m->view;

    if (!m->threads[id.at]) {
        v->threads[v->n_threads++] = (struct sd_stacks_thread){
            t->name, process.at == UINT32_MAX ? 0 : m->p->tracks[process.at].number,
            t->number
        };
        m->threads[id.at] = (uint32_t)v->n_threads;
    }
    return m->threads[id.at] - 1;
}

/* --- Parts */

static int make_frames(struct maker *m)
{
    struct sd_view_stacks *v = m->view;
    struct sd_import_rows rows = { 0 };
    int rc;

    v->functions = room(m, m->p->n_sites, sizeof *v->functions);
    v->frames = room(m, m->p->n_stacks, sizeof *v->frames);
    if (!v->functions || !v->frames)
        return sd_no_memory();
    rc = sd_import_rows_make(m->p, false, &rows);
    for (size_t i = 0; i < m->p->n_stacks && rc == 0; i++) {
        const struct sd_stack *s = &m->p->stacks[i];

        v->frames[i] =
            (struct sd_stacks_frame){ s->parent.at, function_of(m, s->site), s->line,
                                      rows.is_startup && rows.is_startup[i] };
    }
    v->n_frames = m->p->n_stacks;
    sd_import_rows_release(&rows);
    return rc;
}

static int make_places(struct maker *m)
{
    const struct sd_stack_totals *t = &m->p->evidence[SD_SAMPLES].stacks;
    struct sd_view_stacks *v = m->view;

    v->threads = room(m, m->p->n_tracks, sizeof *v->threads);
    v->places = room(m, t->n, sizeof *v->places);
    if (!v->threads || !v->places)
        return sd_no_memory();
    for (size_t i = 0; i < t->n; i++)
        v->places[i] =
            (struct sd_stacks_place){ t->items[i].stack.at,
                                      thread_of(m, t->items[i].track),
                                      (t->items[i].flags & SD_SAMPLE_IDLE) != 0,
                                      (t->items[i].flags & SD_SAMPLE_GIL) != 0 };
    v->n_places = t->n;
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
    for (uint32_t i = 0; i < sets->sets.n; i++) {
        const uint32_t *members = sd_section_set(sets, i, &n);

        memcpy(v->set_members + n_members, members, n * sizeof *members);
        n_members += n;
        v->set_starts[i + 1] = (uint32_t)n_members;
    }
    v->n_sections = sets->paths.n;
    v->n_sets = sets->sets.n;
    v->note = sets->is_cut ? "there are too many combinations of open sections; some "
                             "samples are shown outside of all sections"
                           : NULL;
    return 0;
}

static int make_entries(struct maker *m)
{
    const struct sd_stack_totals *t = &m->p->evidence[SD_SAMPLES].stacks;
    const struct sd_slices *s = m->slices;
    struct sd_view_stacks *v = m->view;

    v->entries = room(m, s->n, sizeof *v->entries);
    v->metrics = room(m, s->n_metrics, sizeof *v->metrics);
    if (!v->entries || !v->metrics)
        return sd_no_memory();
    for (size_t i = 0; i < s->n; i++)
        v->entries[i] =
            (struct sd_stacks_entry){ s->entries[i].slice, s->entries[i].total,
                                      s->entries[i].sections };
    for (uint32_t k = 0; k < s->n_metrics; k++) {
        const struct sd_metric *metric = &m->p->metrics[t->metrics[k].at];

        v->metrics[k] =
            (struct sd_stacks_metric){ metric->name, sd_cell_kind_of(metric->unit),
                                       s->values[k] };
    }
    v->n_entries = s->n;
    v->n_metrics = s->n_metrics;
    v->slice_ns = s->slice_ns;
    return 0;
}

int sd_view_time_stacks(const struct sd_profile *p, const struct sd_view_request *r,
                        struct sd_view *v)
{
    struct sd_drawing *d;
    struct maker m = { .p = p, .slices = r->slices, .arena = &v->arena };
    int rc;

    if (!r->slices)
        return sd_fail(SD_EUSAGE, "stacks over time need one capture, from a file");
    d = sd_view_draw(v, "stacks", SD_SHAPE_STACKS);
    m.functions = sd_zalloc((p->n_sites + 1) * sizeof *m.functions);
    m.threads = sd_zalloc((p->n_tracks + 1) * sizeof *m.threads);
    rc = d && m.functions && m.threads ? 0 : sd_no_memory();
    m.view = d ? &d->stacks : NULL;
    if (rc == 0)
        rc = make_frames(&m);
    if (rc == 0)
        rc = make_places(&m);
    if (rc == 0)
        rc = make_sets(&m);
    if (rc == 0)
        rc = make_entries(&m);
    sd_free(m.functions);
    sd_free(m.threads);
    return rc;
}
