/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_LINE_COST_H
#define SD_PROFILE_LINE_COST_H
/* line_cost: subtracts the cost of counting lines from the times of a line.
 *
 * A line that is hit a million times looks slower than it is by a million times what
 * telling of it takes, which for a cheap line is most of its time.  The root of a table
 * says what that is (capture/line_cell.h).  Cells are anybody's: nothing here becomes
 * less than 0 or wraps. */
#include "capture/line_cell.h"

struct sd_line_times { /* ticks */
    double ticks, child, min, max;
    double cost;       /* what was taken off `ticks` ... */
    double child_cost; /* ... and of that off `child`, which callees have, too */
};

static inline double sd_line_less(double ticks, double cost)
{
    return ticks > cost ? ticks - cost : 0;
}

/* How many lines the shortest and the longest hit waited for, or how often they stayed,
 * is not known.  The longest did as often as the mean at least, the shortest never,
 * perhaps; and the mean of all is between the two. */
static inline void sd_line_extremes_of(const struct sd_line_cell *c, double one,
                                       double below, struct sd_line_times *t)
{
    double hits = (double)c->hits, mean = c->hits > 0 ? t->ticks / hits : 0;

    t->min = sd_line_less((double)c->min_ticks, one);
    if (below > 0 && t->min > mean)
        t->min = mean;
    t->max = sd_line_less((double)c->max_ticks, one + (mean > 0 ? below / hits : 0));
    t->max = t->max > mean ? t->max : mean;
    t->max = t->max < t->ticks ? t->max : t->ticks;
}

static inline struct sd_line_times sd_line_times_of(const struct sd_line_cell *c,
                                                    const struct sd_line_root *root)
{
    double one = (double)root->hit_cost / 1024;
    double stay = (double)root->stay_cost / 1024;
    double below = ((double)c->child_hits * (double)root->line_cost +
                    (double)c->child_calls * (double)root->call_cost) /
                       1024 +
                   (double)c->child_stays * stay;
    double own = (double)c->hits * one + (double)c->stays * stay;
    double ticks = (double)c->ticks, child = (double)c->child_ticks;
    struct sd_line_times t;

    if (child > ticks)
        child = ticks;
    t.child = sd_line_less(child, below);
    t.ticks = t.child + sd_line_less(ticks - child, own);
    t.cost = ticks - t.ticks;
    t.child_cost = child - t.child;
    sd_line_extremes_of(c, one, below + (double)c->stays * stay, &t);
    return t;
}
#endif
