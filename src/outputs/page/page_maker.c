/* SPDX-License-Identifier: MIT */
#include "outputs/page/page_maker.h"

#include <string.h>

#include "analyse/processes.h"
#include "analyse/stacks/time_stacks.h"
#include "base/error.h"
#include "base/mem.h"
#include "outputs/captures.h"
#include "outputs/page/page_stats.h"
#include "sonde.h"

struct sd_made_view {
    struct sd_view view;
    struct sd_made_view *next;
};

void sd_page_maker_init(struct sd_page_maker *m, const struct sd_page_request *request)
{
    const char *slash = strrchr(request->name, '/');

    *m = (struct sd_page_maker){ .request = request };
    m->page.title = slash && slash[1] ? slash + 1 : request->name;
    m->page.program = "sonde " SONDE_VERSION;
}

void sd_page_maker_release(struct sd_page_maker *m)
{
    for (struct sd_made_view *v = m->made; v; v = v->next)
        sd_view_release(&v->view);
    for (size_t i = 0; i < SD_EVIDENCES; i++)
        sd_slices_release(&m->slices[i]);
    if (m->has_costs)
        sd_model_costs_release(&m->costs);
    if (m->has_model)
        sd_model_release(&m->model);
    sd_free(m->views);
    sd_free(m->lanes);
    sd_free(m->items);
    sd_free(m->notes);
    sd_free(m->stacks);
    sd_arena_release(&m->arena);
    *m = (struct sd_page_maker){ .request = m->request };
}

const struct sd_page *sd_page_made(struct sd_page_maker *m)
{
    m->page.items = m->items;
    m->page.n_items = m->n_items;
    m->page.notes = m->notes;
    m->page.n_notes = m->n_notes;
    m->page.lanes = m->lanes;
    m->page.n_lanes = m->n_lanes;
    m->page.stacks = m->stacks;
    m->page.n_stacks = m->n_stacks;
    m->page.views = m->views;
    m->page.n_views = m->n_views;
    return &m->page;
}

/* --- Lists */

struct sd_view *sd_page_new_view(struct sd_page_maker *m)
{
    struct sd_made_view *v = sd_arena_alloc(&m->arena, sizeof *v);

    if (!v) {
        sd_no_memory();
        return NULL;
    }
    v->next = m->made;
    m->made = v;
    return &v->view;
}

/* Adds `item` to the array m->name. */
#define ADD(m, name, item)                                                             \
    do {                                                                               \
        void *grown_ = sd_grow_array((m)->name, &(m)->cap_##name, (m)->n_##name + 1,   \
                                     sizeof *(m)->name);                               \
        if (!grown_)                                                                   \
            return sd_no_memory();                                                     \
        (m)->name = grown_;                                                            \
        (m)->name[(m)->n_##name++] = item;                                             \
    } while (0)

int sd_page_add_view(struct sd_page_maker *m, const struct sd_page_view *v)
{
    ADD(m, views, *v);
    return 0;
}

int sd_page_add_lane(struct sd_page_maker *m, const struct sd_page_lane *l)
{
    ADD(m, lanes, *l);
    return 0;
}

int sd_page_add_note(struct sd_page_maker *m, const char *text)
{
    const char *copy = sd_arena_string(&m->arena, text, strlen(text));

    if (!copy)
        return sd_no_memory();
    ADD(m, notes, copy);
    return 0;
}

int sd_page_add_item(struct sd_page_maker *m, const char *label, const char *value)
{
    const struct sd_page_item item = {
        sd_arena_string(&m->arena, label, strlen(label)),
        sd_arena_string(&m->arena, value, strlen(value)),
    };

    if (!item.label || !item.value)
        return sd_no_memory();
    ADD(m, items, item);
    return 0;
}

static int add_stacks(struct sd_page_maker *m, enum sd_evidence e,
                      const struct sd_slices *slices)
{
    struct sd_view_stacks stacks = { 0 };
    int rc = sd_time_stacks_make(m->profile, e, slices, &m->arena, &stacks);

    if (rc < 0)
        return rc;
    m->evidence[m->n_stacks] = e;
    ADD(m, stacks, stacks);
    return stacks.note ? sd_page_add_note(m, stacks.note) : 0;
}

bool sd_page_hide_drawings(struct sd_page_maker *m,
                           bool (*hide)(void *of, struct sd_drawing *d), void *of)
{
    bool is_done = true;

    for (struct sd_made_view *v = m->made; v; v = v->next)
        for (size_t i = 0; i < v->view.n_drawings; i++)
            is_done &= hide(of, &v->view.drawings[i]);
    return is_done;
}

/* --- A capture */

/* Samples know when they were taken, and calls with a timeline when they were made.  A
 * page shows no part of those of which something is missing: no report does. */
static int add_evidence(struct sd_page_maker *m, enum sd_evidence e, char *const *files,
                        size_t n_files)
{
    struct sd_slices *slices = &m->slices[e];
    int rc = 0;

    if (n_files > 0 && (e != SD_CALLS || sd_profile_knows_calls(m->profile)))
        rc = sd_captures_slices_of(m->profile, e, files, n_files, m->request->filter,
                                   slices);
    if (rc == 1 && e == SD_CALLS && !sd_call_slices_are_whole(m->profile, slices)) {
        sd_slices_release(slices);
        rc = 0;
    }
    return rc < 0 ? rc : add_stacks(m, e, rc == 1 ? slices : NULL);
}

static int find(struct sd_page_maker *m)
{
    static const struct sd_view_request all;
    int rc = sd_findings_make(m->profile, &all, &m->arena, &m->findings);

    m->page.findings = &m->findings;
    return rc == SD_EUSAGE ? 0 : rc;
}

/* Of several files the first is named, and how many others there are. */
static int name_files(struct sd_page_maker *m, size_t n_files)
{
    if (n_files < 2)
        return 0;
    m->page.title =
        sd_arena_printf(&m->arena, "%s and %zu more", m->page.title, n_files - 1);
    return m->page.title ? 0 : sd_no_memory();
}

static uint64_t duration_of(const struct sd_profile *p)
{
    uint64_t ns = sd_run_wall_ns(p);

    return p->run_end_ns > ns ? p->run_end_ns : ns;
}

int sd_page_of_profile(struct sd_page_maker *m, const struct sd_profile *p,
                       char *const *files, size_t n_files)
{
    int rc = name_files(m, n_files);

    m->profile = p;
    m->page.duration_ns = duration_of(p);
    for (enum sd_evidence e = 0; e < SD_EVIDENCES && rc == 0; e++)
        if (sd_evidence_has_stacks(e) && sd_profile_has(p, e))
            rc = add_evidence(m, e, files, n_files);
    if (rc == 0)
        rc = sd_page_open_with(m);
    if (rc == 0)
        rc = sd_page_head_of(m);
    if (rc == 0)
        rc = find(m);
    if (rc == 0)
        rc = sd_page_lanes_of(m);
    if (rc == 0)
        rc = sd_page_views_of(m);
    return rc < 0 ? rc : sd_page_models_of(m);
}

int sd_page_put_profile(const struct sd_page_request *request,
                        const struct sd_profile *p, char *const *files, size_t n_files,
                        struct sd_out *out)
{
    struct sd_page_maker m;

    sd_page_maker_init(&m, request);
    return sd_page_finish(&m, sd_page_of_profile(&m, p, files, n_files), out);
}
