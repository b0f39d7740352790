/* SPDX-License-Identifier: MIT */
/* page_lanes: the timeline of a page: what stacks say of CPU and of the interpreter's
 * lock, readings as curves, sections as bands. */
#include <string.h>

#include "analyse/analyse.h"
#include "base/error.h"
#include "base/mem.h"
#include "outputs/page/page_maker.h"

/* Readings above the time: where stacks have lanes of their own, memory alone; the view
 * of readings has the others. */
enum { LANES_MAX = 8, LANES_BESIDE_STACKS = 1 };

static const char *first_upper(struct sd_arena *a, const char *text)
{
    char *copy = sd_arena_string(a, text, strlen(text));

    if (copy && *copy >= 'a' && *copy <= 'z')
        *copy = (char)(*copy - 'a' + 'A');
    return copy;
}

/* --- Of stacks */

static bool has_metric(const struct sd_view_stacks *s, const char *name)
{
    for (size_t k = 0; k < s->n_metrics; k++)
        if (strcmp(s->metrics[k].name, name) == 0)
            return true;
    return false;
}

static bool knows_gil(const struct sd_view_stacks *s)
{
    for (size_t i = 0; i < s->n_places; i++)
        if (s->places[i].has_gil)
            return true;
    return false;
}

static int add_activity(struct sd_page_maker *m, size_t i)
{
    const struct sd_view_stacks *s = &m->stacks[i];
    struct sd_page_lane lane = {
        .stacks = i, .make = "activity", .kind = SD_CELL_PERCENT, .title = "CPU"
    };
    int rc;

    if (!s->has_time)
        return 0;
    if (!has_metric(s, "cpu")) {
        lane.kind = SD_CELL_COUNT;
        lane.title = first_upper(&m->arena, s->evidence);
    }
    if (!lane.title)
        return sd_no_memory();
    rc = sd_page_add_lane(m, &lane);
    if (rc < 0 || !knows_gil(s))
        return rc;
    return sd_page_add_lane(
        m, &(struct sd_page_lane){
               .stacks = i, .make = "gil", .kind = SD_CELL_PERCENT, .title = "GIL" });
}

/* --- Of readings */

static bool changes(const struct sd_view_series *s)
{
    for (size_t i = 0; i < s->n_curves; i++)
        for (size_t k = 0; k < s->curves[i].n_points; k++)
            if (s->curves[i].points[k].max != s->curves[i].points[0].min)
                return true;
    return false;
}

/* Readings of processes alone make curves: of what else there is, none. */
static int add_readings(struct sd_page_maker *m, const char *metric, size_t *n)
{
    struct sd_view_series s = { 0 };
    int rc = sd_analyse_curves(m->profile, metric, &m->arena, &s);
    struct sd_page_lane lane;

    if (rc == SD_EABSENT || rc == SD_EUSAGE)
        return 0;
    if (rc < 0 || s.n_curves == 0 || !changes(&s))
        return rc < 0 ? rc : 0;
    lane = (struct sd_page_lane){ .title = first_upper(&m->arena, s.quantity),
                                  .kind = s.curves[0].kind,
                                  .curves = s.curves,
                                  .n_curves = s.n_curves };
    if (!lane.title)
        return sd_no_memory();
    ++*n;
    return sd_page_add_lane(m, &lane);
}

/* Memory first.  What the CPU did is above already where stacks tell it. */
static int add_all_readings(struct sd_page_maker *m)
{
    const struct sd_profile *p = m->profile;
    bool has_cpu = m->n_lanes > 0;
    size_t n = 0, most = has_cpu ? LANES_BESIDE_STACKS : LANES_MAX;
    int rc = add_readings(m, "rss", &n);

    for (size_t i = 0; i < p->n_metrics && n < most && rc == 0; i++) {
        const char *name = p->metrics[i].name;
        bool is_known = strcmp(name, "rss") == 0 || strcmp(name, "vms") == 0 ||
                        strcmp(name, "peak_rss") == 0 ||
                        (has_cpu && strcmp(name, "cpu") == 0);

        for (size_t k = 0; k < i && !is_known; k++)
            is_known = strcmp(p->metrics[k].name, name) == 0;
        if (!is_known)
            rc = add_readings(m, name, &n);
    }
    return rc;
}

int sd_page_lanes_of(struct sd_page_maker *m)
{
    struct sd_view_series sections = { .to = (double)m->page.duration_ns / 1e9 };
    int rc = 0;

    for (size_t i = 0; i < m->n_stacks && rc == 0; i++)
        rc = add_activity(m, i);
    if (rc == 0)
        rc = add_all_readings(m);
    if (rc == 0)
        rc = sd_analyse_bands(m->profile, &m->arena, &sections);
    m->page.bands = sections.bands;
    m->page.n_bands = sections.n_bands;
    return rc;
}
