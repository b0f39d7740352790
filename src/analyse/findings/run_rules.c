/* SPDX-License-Identifier: MIT */
/* run_rules: growth with size, memory, sections, counted lines. */
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/findings/findings.h"
#include "analyse/growth/scaling.h"
#include "analyse/moments.h"
#include "analyse/processes.h"
#include "analyse/section_groups.h"
#include "analyse/source_rows.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/series.h"

#define HOT_LINE_PERCENT 5
#define LONG_SECTION_PERCENT 20
#define GROWN_SHARE 0.2 /* of what there was after the start */
enum {
    GROWTH_PARTS = 8,        /* of the run; the first is the start, which may grow */
    GROWN_BYTES = 8 << 20,   /* less may be anything */
    GROWTH_NS = 1000000000,  /* a shorter run says nothing of the next hour */
    SLACK_BYTES = 256 << 10, /* by which memory may shrink and still only grow */
    PEAK_BYTES = 1 << 20,
};

/* --- Counted lines */

static const struct sd_cell *cell_named(const struct sd_view_source *s,
                                        const struct sd_cell *row, const char *column)
{
    for (size_t k = 0; k < s->n_columns; k++)
        if (strcmp(s->columns[k].name, column) == 0)
            return &row[k];
    return NULL;
}

static int say_line(struct sd_finding_case *c, struct sd_profile_finding *out,
                    const struct sd_source_file *f, uint32_t line, double share)
{
    out->value = sd_cell_real(SD_CELL_PERCENT, share);
    out->view = "source";
    out->selection.search = sd_finding_search(c, f->short_file);
    if (!out->selection.search)
        return sd_no_memory();
    return sd_finding_say(c, out, "%.1f %% of the time of counted lines is in %s:%u",
                          share, f->short_file, line);
}

int sd_finding_of_hottest_line(struct sd_finding_case *c,
                               struct sd_profile_finding *out)
{
    struct sd_view_source s = { 0 };
    const struct sd_source_file *file = NULL;
    uint32_t line = 0;
    double most = 0;
    int rc = sd_profile_has(c->p, SD_LINES)
                 ? sd_source_of_lines(c->p, &c->r->stacks, c->arena, &s)
                 : 0;

    for (size_t i = 0; i < s.n_files && rc == 0; i++)
        for (size_t k = 0; k < s.files[i].n_lines; k++) {
            const struct sd_cell *share =
                cell_named(&s, &s.files[i].cells[k * s.n_columns], "self%");

            if (!share || share->real <= most)
                continue;
            most = share->real;
            file = &s.files[i];
            line = file->lines[k];
        }
    if (rc < 0 || most < HOT_LINE_PERCENT)
        return rc;
    return say_line(c, out, file, line, most);
}

/* --- Growth with size */

static bool has_sizes(const struct sd_profile *p)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (p->sites[i].n_sizes > 0)
            return true;
    return false;
}

static int say_growth(struct sd_finding_case *c, struct sd_profile_finding *out,
                      const struct sd_scaling_row *f)
{
    const struct sd_site *site = &c->p->sites[f->site.at];
    const char *name = sd_finding_function(c, site);
    struct sd_buf words = { 0 };
    int rc;

    sd_growth_words(&words, &f->total);
    out->selection.search = sd_finding_search_name(c, site->name);
    if (!name || !out->selection.search || words.bad) {
        sd_buf_release(&words);
        return sd_no_memory();
    }
    out->value = sd_cell_real(SD_CELL_REAL, f->total.exponent);
    out->view = "scaling";
    rc = sd_finding_say(c, out, "The time of %s grows with %s: %s", name,
                        f->argument ? f->argument : "its size", sd_buf_string(&words));
    sd_buf_release(&words);
    return rc;
}

/* Of CPU time where that was measured, as the table has it. */
int sd_finding_of_growth(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    struct sd_stacks_request traced = { .choice.folds_imports = true };
    struct sd_scaling s;
    int rc;

    if (!sd_profile_has(c->p, SD_CALLS) || !has_sizes(c->p) || c->p->has_calls_cut)
        return 0;
    traced.is_cpu = sd_totals_metric(c->p, &c->p->evidence[SD_CALLS].stacks,
                                     "cpu_time") != UINT32_MAX;
    rc = sd_scaling_make(c->p, &traced, &s);
    if (rc == SD_EABSENT)
        return 0;
    if (rc == 0 && s.n > 0 && s.functions[0].is_flagged)
        rc = say_growth(c, out, &s.functions[0]);
    if (rc >= 0)
        sd_scaling_release(&s);
    return rc;
}

/* --- Memory */

/* The least that was held in each part of the run; false where one has no reading. */
static bool least_of_parts(const struct sd_series *s, int64_t least[GROWTH_PARTS])
{
    uint64_t from = s->buckets[0].from_ns, to = s->buckets[s->n_buckets - 1].to_ns;
    bool has[GROWTH_PARTS] = { false };

    if (to - from < GROWTH_NS)
        return false;
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        uint64_t at = (s->buckets[i].from_ns - from) * GROWTH_PARTS / (to - from + 1);
        int64_t min = s->buckets[i].min;

        least[at] = has[at] && least[at] < min ? least[at] : min;
        has[at] = true;
    }
    for (size_t i = 0; i < GROWTH_PARTS; i++)
        if (!has[i])
            return false;
    return true;
}

/* Behind the start, no part has less than the one before it. */
static bool only_grows(const int64_t least[GROWTH_PARTS])
{
    int64_t first = least[1], last = least[GROWTH_PARTS - 1];

    for (size_t i = 2; i < GROWTH_PARTS; i++)
        if (least[i] < least[i - 1] - SLACK_BYTES)
            return false;
    /* Most of it in one step is no trend. */
    for (size_t i = 2; i < GROWTH_PARTS; i++)
        if (least[i] - least[i - 1] > (last - first) / 2)
            return false;
    return last - first >= GROWN_BYTES &&
           (double)(last - first) >= GROWN_SHARE * (double)first;
}

static int say_growing(struct sd_finding_case *c, struct sd_profile_finding *out,
                       const int64_t least[GROWTH_PARTS])
{
    char first[SD_TEXT_MAX], last[SD_TEXT_MAX];
    int64_t grown = least[GROWTH_PARTS - 1] - least[1];

    out->value = sd_cell_number(SD_CELL_BYTES, grown);
    out->view = "plot";
    return sd_finding_say(
        c, out, "Memory only grows: from %s after the start to %s at the end",
        sd_text_bytes(first, least[1]), sd_text_bytes(last, least[GROWTH_PARTS - 1]));
}

int sd_finding_of_growing_memory(struct sd_finding_case *c,
                                 struct sd_profile_finding *out)
{
    int64_t least[GROWTH_PARTS] = { 0 };
    struct sd_series all;
    int rc = sd_moments_sum_processes(c->p, "rss", &all);

    if (rc < 0)
        return rc;
    if (all.n_buckets >= GROWTH_PARTS && least_of_parts(&all, least) &&
        only_grows(least))
        rc = say_growing(c, out, least);
    sd_series_release(&all);
    return rc;
}

static bool is_around(const struct sd_group *outer, const struct sd_group *inner)
{
    size_t n = strlen(outer->path);

    return strncmp(outer->path, inner->path, n) == 0 &&
           (inner->path[n] == ':' || inner->path[n] == '\0');
}

/* Only those around it reached as much: it was there, and not anywhere. */
static bool is_alone(const struct sd_groups *g, const struct sd_group *best, uint32_t k)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].values[k].n > 0 &&
            g->items[i].values[k].total == best->values[k].total &&
            !is_around(&g->items[i], best))
            return false;
    return true;
}

/* The section with the largest peak; of several, the innermost. */
static const struct sd_group *highest(const struct sd_profile *p,
                                      const struct sd_groups *g, int64_t *peak)
{
    uint32_t k = sd_profile_metric(p, "peak_rss", SD_ADDS_PEAK).at;
    const struct sd_group *best = NULL;

    *peak = 0;
    for (size_t i = 0; k != UINT32_MAX && i < g->n; i++) {
        const struct sd_group *one = &g->items[i];
        int64_t total = one->values[k].n > 0 ? one->values[k].total : 0;

        if (total > *peak ||
            (best && total == *peak && strlen(one->path) > strlen(best->path))) {
            *peak = total;
            best = one;
        }
    }
    return best && is_alone(g, best, k) ? best : NULL;
}

static int find_section_peak(struct sd_finding_case *c, const char **section,
                             int64_t *peak)
{
    const struct sd_group *best;
    struct sd_groups g;
    int rc = sd_section_groups_make(c->p, SD_GROUPS_FLAT, c->arena, &g);

    *section = NULL;
    if (rc < 0)
        return rc;
    best = highest(c->p, &g, peak);
    if (best && *peak >= PEAK_BYTES)
        *section = best->path;
    sd_groups_release(&g);
    return 0;
}

int sd_finding_of_section_peak(struct sd_finding_case *c,
                               struct sd_profile_finding *out)
{
    char text[SD_TEXT_MAX];
    const char *section;
    int64_t peak;
    int rc = find_section_peak(c, &section, &peak);

    if (rc < 0 || !section)
        return rc;
    out->value = sd_cell_number(SD_CELL_BYTES, peak);
    out->view = "sections";
    out->selection.section = section;
    return sd_finding_say(c, out, "Memory peaks at %s in section %s",
                          sd_text_bytes(text, peak), section);
}

/* Where no section tells. */
int sd_finding_of_peak_memory(struct sd_finding_case *c, struct sd_profile_finding *out)
{
    char text[SD_TEXT_MAX];
    const char *section;
    struct sd_summary s;
    int64_t peak;
    int rc = find_section_peak(c, &section, &peak);

    if (rc < 0 || section)
        return rc;
    rc = sd_analyse_summary(c->p, &s);
    if (rc < 0 || s.peak_bytes < PEAK_BYTES)
        return rc;
    out->value = sd_cell_number(SD_CELL_BYTES, s.peak_bytes);
    out->view = "plot";
    return sd_finding_say(c, out, "Memory peaks at %s%s",
                          sd_text_bytes(text, s.peak_bytes),
                          s.n_processes < 2 ? ""
                          : s.is_peak_sum   ? ", of all processes together"
                                            : ", in the largest process");
}

/* --- Sections */

/* Where there are no stacks to say more. */
int sd_finding_of_longest_section(struct sd_finding_case *c,
                                  struct sd_profile_finding *out)
{
    double run_ns = (double)sd_run_wall_ns(c->p), percent;
    const struct sd_group *best = NULL;
    struct sd_groups g;
    int rc = 0;

    if (sd_profile_has_stacks(c->p) || run_ns <= 0)
        return 0;
    rc = sd_section_groups_make(c->p, SD_GROUPS_FLAT, c->arena, &g);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < g.n; i++)
        if (!best || g.items[i].wall.total > best->wall.total)
            best = &g.items[i];
    sd_groups_release(&g);
    percent = best ? 100.0 * (double)best->wall.total / run_ns : 0;
    if (percent < LONG_SECTION_PERCENT)
        return 0;
    out->value = sd_cell_real(SD_CELL_PERCENT, percent);
    out->view = "sections";
    out->selection.section = best->path;
    return sd_finding_say(c, out, "Section %s is open for %.1f %% of the run",
                          best->path, percent);
}
