/* SPDX-License-Identifier: MIT */
#include "analyse/findings/stats_findings.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

#define HOT_PERCENT 5
#define LIBRARIES_PERCENT 25
#define HEAVY_PERCENT 25 /* of a model, in one operator or layer */

static double percent(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

/* Takes the sentence that `rc` tells of: 1, 0 or < 0. */
static int take(struct sd_profile_findings *out, int rc, const char *rule,
                struct sd_profile_finding *one)
{
    sd_assert(rc != 1 || (one->text && out->n < SD_FINDINGS_MAX));
    one->rule = rule;
    if (rc == 1)
        out->items[out->n++] = *one;
    return rc < 0 ? rc : 0;
}

static int link_search(struct sd_finding_case *c, struct sd_profile_finding *out,
                       const char *view, const char *name, double share)
{
    out->view = view;
    out->value = sd_cell_real(SD_CELL_PERCENT, share);
    out->selection.search = sd_finding_search_name(c, name);
    return out->selection.search ? 0 : SD_ENOMEM;
}

/* --- Calls */

static int site_of(struct sd_arena *a, const struct sd_call_function *f,
                   struct sd_site *site)
{
    *site = (struct sd_site){ .kind = SD_SITE_FUNCTION,
                              .name = sd_arena_string(a, f->name.p, f->name.n),
                              .file = sd_arena_string(a, f->file.p, f->file.n) };
    if (f->line > 0 && f->line < UINT32_MAX)
        site->line = (uint32_t)f->line;
    return site->name && site->file ? 0 : sd_no_memory();
}

/* What is in no file of its own is neither: a C function's is "~". */
static bool is_of(const struct sd_call_function *f, bool is_library)
{
    const struct sd_site site = { .kind = SD_SITE_FUNCTION, .file = f->file.p };

    return *f->file.p != '~' && *f->file.p != '<' &&
           sd_site_is_library(&site) == is_library;
}

/* The one with the most time of its own; `sum` is that of all of them. */
static const struct sd_call_function *hottest(const struct sd_call_stats *s,
                                              bool is_library, double *sum)
{
    const struct sd_call_function *best = NULL;

    *sum = 0;
    for (size_t i = 0; i < s->n_listed; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);

        if (!is_of(f, is_library))
            continue;
        *sum += f->n.own;
        if (!best || f->n.own > best->n.own)
            best = f;
    }
    return best;
}

static int find_function(struct sd_finding_case *c, const struct sd_call_stats *s,
                         bool is_library, struct sd_profile_finding *out)
{
    double sum, share;
    const struct sd_call_function *f = hottest(s, is_library, &sum);
    struct sd_site site;
    const char *name;
    int rc;

    share = f ? percent(is_library ? sum : f->n.own, s->sum.own) : 0;
    if (share < (is_library ? LIBRARIES_PERCENT : HOT_PERCENT))
        return 0;
    rc = site_of(c->arena, f, &site);
    name = rc == 0 ? sd_finding_function(c, &site) : NULL;
    if (!name)
        return SD_ENOMEM;
    rc = link_search(c, out, "functions", site.name, share);
    if (rc < 0)
        return rc;
    return is_library
               ? sd_finding_say(c, out,
                                "%.1f %% of the time is in functions of libraries, "
                                "most of it in %s",
                                share, name)
               : sd_finding_say(c, out, "%.1f %% of the time is in %s", share, name);
}

int sd_stats_findings_of_calls(const struct sd_call_stats *s, struct sd_arena *a,
                               struct sd_profile_findings *out)
{
    struct sd_finding_case c = { .arena = a };
    struct sd_profile_finding own = { 0 }, library = { 0 };
    int rc;

    *out = (struct sd_profile_findings){ 0 };
    rc = take(out, find_function(&c, s, false, &own), "hottest_function", &own);
    return rc < 0
               ? rc
               : take(out, find_function(&c, s, true, &library), "libraries", &library);
}

/* --- Lines */

/* The line with the most time, of all functions; its function. */
static const struct sd_line_function *
hottest_line(const struct sd_line_stats *s, int64_t *line, double *time, double *sum)
{
    const struct sd_line_function *best = NULL;

    *sum = *time = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->functions[i].n; k++) {
            const struct sd_line_entry *e = &s->functions[i].entries[k];

            *sum += e->time;
            if (e->time <= *time)
                continue;
            *time = e->time;
            *line = e->line;
            best = &s->functions[i];
        }
    return best;
}

static int find_line(struct sd_finding_case *c, const struct sd_line_stats *s,
                     struct sd_profile_finding *out)
{
    int64_t line = 0;
    double time, sum;
    const struct sd_line_function *f = hottest_line(s, &line, &time, &sum);
    struct sd_site site = { .kind = SD_SITE_FUNCTION };
    const char *file;

    if (!f || percent(time, sum) < HOT_PERCENT)
        return 0;
    site.file = sd_arena_string(c->arena, f->file.p, f->file.n);
    if (!site.file)
        return sd_no_memory();
    file = sd_site_short_file(&site);
    out->view = "source";
    out->value = sd_cell_real(SD_CELL_PERCENT, percent(time, sum));
    out->selection.search = sd_finding_search(c, file);
    if (!out->selection.search)
        return SD_ENOMEM;
    return sd_finding_say(c, out, "%.1f %% of the time of counted lines is in %s:%lld",
                          percent(time, sum), file, (long long)line);
}

int sd_stats_findings_of_lines(const struct sd_line_stats *s, struct sd_arena *a,
                               struct sd_profile_findings *out)
{
    struct sd_finding_case c = { .arena = a };
    struct sd_profile_finding one = { 0 };

    *out = (struct sd_profile_findings){ 0 };
    return take(out, find_line(&c, s, &one), "hottest_line", &one);
}

/* --- Models */

static int find_uncounted(struct sd_finding_case *c, const struct sd_model_costs *m,
                          struct sd_profile_finding *out)
{
    double share = percent((double)m->total.n_unknown, (double)m->total.n_ops);

    if (m->total.n_unknown == 0)
        return 0;
    out->view = "operators";
    out->value = sd_cell_real(SD_CELL_PERCENT, share);
    return sd_finding_say(c, out,
                          "%.1f %% of the calls of operators have no rule or unknown "
                          "shapes: what they cost is not in the sums",
                          share);
}

static int find_operator(struct sd_finding_case *c, const struct sd_model_costs *m,
                         struct sd_profile_finding *out)
{
    const struct sd_model_group *best = NULL;
    const char *name;
    double share;
    int rc;

    for (size_t i = 0; i < m->n_operators; i++)
        if (!best || m->operators[i].sum.macs > best->sum.macs)
            best = &m->operators[i];
    share = best ? percent((double)best->sum.macs, (double)m->total.macs) : 0;
    if (share < HEAVY_PERCENT)
        return 0;
    name = sd_model_text(m->model, best->name);
    rc = link_search(c, out, "operators", name, share);
    return rc < 0
               ? rc
               : sd_finding_say(c, out, "%.1f %% of the MACs are in %s", share, name);
}

static int find_layer(struct sd_finding_case *c, const struct sd_model_costs *m,
                      struct sd_profile_finding *out)
{
    uint32_t best = 0;
    const char *name;
    double share;
    int rc;

    for (uint32_t i = 1; i < m->model->n_layers; i++)
        if (m->own[i].params > m->own[best].params)
            best = i;
    share = m->model->n_layers > 1
                ? percent((double)m->own[best].params, (double)m->total.params)
                : 0;
    name = share < HEAVY_PERCENT ? ""
                                 : sd_model_text(m->model, m->model->layers[best].name);
    if (!*name)
        return 0;
    rc = link_search(c, out, "layers", name, share);
    return rc < 0 ? rc
                  : sd_finding_say(c, out, "%.1f %% of the parameters are in %s", share,
                                   name);
}

int sd_stats_findings_of_model(const struct sd_model_costs *m, struct sd_arena *a,
                               struct sd_profile_findings *out)
{
    struct sd_finding_case c = { .arena = a };
    struct sd_profile_finding uncounted = { 0 }, op = { 0 }, layer = { 0 };
    int rc;

    *out = (struct sd_profile_findings){ 0 };
    rc =
        take(out, find_uncounted(&c, m, &uncounted), "uncounted_operators", &uncounted);
    if (rc == 0)
        rc = take(out, find_operator(&c, m, &op), "heaviest_operator", &op);
    return rc < 0 ? rc : take(out, find_layer(&c, m, &layer), "largest_layer", &layer);
}
