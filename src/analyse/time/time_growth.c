/* SPDX-License-Identifier: MIT */
#include "analyse/time/time_growth.h"

#include "analyse/time/time_figures.h"
#include "base/error.h"
#include "base/mem.h"

int sd_time_growth_fit(const struct sd_timings *t, struct sd_growth *out)
{
    struct sd_growth_point *points = sd_zalloc((t->n_sides + 1) * sizeof *points);
    struct sd_time_figures f;
    int rc = points ? 0 : sd_no_memory();

    for (size_t i = 0; i < t->n_sides && rc == 0; i++) {
        rc = sd_time_figures(t, i, &f);
        points[i] =
            (struct sd_growth_point){ .n = t->sides[i].n,
                                      .ns = f.best_ns,
                                      .calls = (double)f.n_batches * (double)f.loops };
    }
    if (rc == 0)
        rc = sd_growth_fit(points, t->n_sides, out);
    sd_free(points);
    return rc;
}
