/* SPDX-License-Identifier: MIT */
#include "analyse/time/time_growth.h"

#include <math.h>

#include "analyse/time/time_figures.h"
#include "base/error.h"
#include "base/mem.h"

/* A batch has many executions, and the loop's time is taken off. */
static const struct sd_growth_errors errors = { .call_ns = 0.5, .shortest_ns = 5 };

int sd_time_growth_fit(const struct sd_timings *t, struct sd_growth *out)
{
    struct sd_growth_point *points = sd_zalloc((t->n_sides + 1) * sizeof *points);
    struct sd_time_figures f;
    int rc = points ? 0 : sd_no_memory();
    size_t n = 0;

    for (size_t i = 0; i < t->n_sides && rc == 0; i++) {
        rc = sd_time_figures(t, i, &f);
        if (rc == SD_EABSENT) { /* a selection has left nothing of it */
            rc = 0;
            continue;
        }
        if (rc == 0)
            points[n++] = (struct sd_growth_point){ .n = t->sides[i].n,
                                                    .ns = f.best_ns,
                                                    .calls = (double)f.n_batches *
                                                             (double)f.loops };
    }
    if (rc == 0)
        rc = sd_growth_fit_with(points, n, &errors, out);
    sd_free(points);
    return rc;
}

enum { GROWTH_CURVE = 64 };

static int fill_panel(const struct sd_timings *t, struct sd_arena *a,
                      const struct sd_growth *g, struct sd_growth_panel *panel)
{
    struct sd_buf words = { 0 };
    double from = INFINITY, to = 0;
    struct sd_time_figures f;
    int rc = 0;

    panel->points = sd_arena_alloc(a, t->n_sides * sizeof *panel->points);
    panel->curve = sd_arena_alloc(a, GROWTH_CURVE * sizeof *panel->curve);
    panel->title = t->sides[0].statement;
    panel->argument = t->size_name;
    panel->linear_slope = 1;
    sd_growth_words(&words, g);
    panel->subtitle =
        g->answer == SD_GROWTH_FITTED
            ? sd_arena_printf(a, "%s, exponent %.2f (%.2f to %.2f)",
                              sd_buf_string(&words), g->exponent, g->low, g->high)
            : sd_arena_printf(a, "%s", sd_buf_string(&words));
    sd_buf_release(&words);
    if (!panel->points || !panel->curve || !panel->subtitle)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_sides && rc == 0; i++) {
        rc = sd_time_figures(t, i, &f);
        if (rc == SD_EABSENT) {
            rc = 0;
            continue;
        }
        if (rc < 0)
            break;
        panel->points[panel->n_points++] =
            (struct sd_growth_mark){ t->sides[i].n, f.best_ns };
        from = fmin(from, t->sides[i].n);
        to = fmax(to, t->sides[i].n);
    }
    panel->measured_to = to;
    for (int i = 0; i < GROWTH_CURVE && g->answer == SD_GROWTH_FITTED && from > 0;
         i++) {
        double n = from * pow(2 * to / from, i / (GROWTH_CURVE - 1.0));

        panel->curve[panel->n_curve++] =
            (struct sd_growth_mark){ n, sd_growth_at(&g->curve, n) };
    }
    return rc;
}

int sd_time_growth_picture(const struct sd_timings *t, struct sd_arena *a,
                           struct sd_view_growth *out)
{
    struct sd_growth g;
    int rc = sd_time_growth_fit(t, &g);

    if (rc < 0)
        return rc;
    out->title = "Growth of time";
    out->quantity = "time of one execution";
    out->panels = sd_arena_alloc(a, sizeof *out->panels);
    if (!out->panels)
        return sd_no_memory();
    out->n_panels = 1;
    return fill_panel(t, a, &g, &out->panels[0]);
}
