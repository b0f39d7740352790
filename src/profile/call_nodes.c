/* SPDX-License-Identifier: MIT */
#include "profile/call_nodes.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"

/* Of all children of a node: what tracing took around their calls, what those calls
 * take around them at least (that, and the caller's half of an empty call), and their
 * time. */
struct below {
    double outside, least;
    int64_t inclusive;
    bool has_calls; /* there is a child */
};

enum { MANY_CALLS = 1000 }; /* of one node: their mean tells something */

/* The cost is measured with one function; it is a little different with others. */
#define OTHER_FUNCTIONS 1.1

struct cost { /* of one call, in ticks */
    double inside, outside;
    double half; /* of what an empty call takes: the function's own, and the caller's */
};

static int64_t less(int64_t a, int64_t b)
{
    int64_t rest;

    if (__builtin_sub_overflow(a, b, &rest))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return rest;
}

static int64_t bounded(int64_t own, const struct sd_trace_cost *cost)
{
    return own < 0 && !cost->may_go_below_zero ? 0 : own;
}

static struct cost cost_of(const struct sd_trace_cost *all, bool is_c)
{
    struct cost c = { .inside = (double)(is_c ? all->c_inside : all->python_inside),
                      .outside = (double)(is_c ? all->c_outside : all->python_outside),
                      .half = (double)(is_c ? all->c_plain : all->python_plain) / 2 };

    return (struct cost){ c.inside / 1024, c.outside / 1024, c.half / 1024 };
}

/* How much of `least` there is: 1 when all of it is. */
static double part(double there, double least)
{
    return there < least ? there / least : 1;
}

/* What tracing took of a node's own time, around the calls that it made and in its own;
 * *scale is by how much the cost was less than it was held to be. */
static double taken_from(double own, const struct sd_node *node, struct cost c,
                         const struct below *below, double *scale)
{
    double calls = (double)node->calls;
    double around = below->outside * part(own, below->least);

    *scale = part(own - around, calls * (c.inside + c.half));
    return around + *scale * calls * c.inside;
}

static int64_t ticks_of(double ticks)
{
    return ticks < 0 ? 0 : ticks < 0x1p62 ? (int64_t)ticks : (int64_t)1 << 62;
}

/* Factors of the costs of the whole tree, for Python's functions and for C's: below 1
 * where tracing took less than was measured before. */
struct speeds {
    double python, c;
};

static void bound(double *speed, uint64_t calls, int64_t ticks, struct cost c)
{
    double least = (double)calls * (c.inside + c.half);

    if (calls >= MANY_CALLS && ticks > 0 && least > 0 &&
        (double)ticks * OTHER_FUNCTIONS < *speed * least)
        *speed = (double)ticks * OTHER_FUNCTIONS / least;
}

/* From functions that were called often and called nothing. */
static struct speeds speeds_of(const struct sd_call_forest *f,
                               const struct sd_trace_cost *cost,
                               const struct below *below)
{
    struct speeds s = { 1, 1 };

    for (size_t i = 0; i < f->n && !cost->may_go_below_zero; i++) {
        const struct sd_node *node = &f->nodes[i];

        if (node->parent != SD_NO_NODE && !node->is_beyond && !below[i].has_calls)
            bound(node->is_c ? &s.c : &s.python, node->calls, node->inclusive,
                  cost_of(cost, node->is_c));
    }
    for (size_t i = 0; i < f->n_pairs && !cost->may_go_below_zero; i++) {
        const struct sd_pair *pair = &f->pairs[i];

        if (pair->own_calls.python == 0 && pair->own_calls.c == 0)
            bound(pair->is_c ? &s.c : &s.python, pair->calls, pair->own,
                  cost_of(cost, pair->is_c));
    }
    return s;
}

static uint64_t at_speed(uint64_t ticks, double speed)
{
    return (uint64_t)((double)ticks * speed);
}

static struct sd_trace_cost cost_at(const struct sd_trace_cost *all, struct speeds s)
{
    return (struct sd_trace_cost){
        .python_inside = at_speed(all->python_inside, s.python),
        .python_outside = at_speed(all->python_outside, s.python),
        .c_inside = at_speed(all->c_inside, s.c),
        .c_outside = at_speed(all->c_outside, s.c),
        .python_plain = at_speed(all->python_plain, s.python),
        .c_plain = at_speed(all->c_plain, s.c),
        .may_go_below_zero = all->may_go_below_zero,
    };
}

/* Its own time, without what tracing took; and what that means for its caller. */
static int64_t settle(struct sd_node *node, const struct sd_trace_cost *cost,
                      const struct below *below, struct below *caller)
{
    struct cost c = cost_of(cost, node->is_c);
    int64_t raw = bounded(less(node->inclusive, below->inclusive), cost);
    double scale = 1, taken, calls;

    if (cost->may_go_below_zero)
        taken = below->outside + (double)node->calls * c.inside;
    else
        taken = taken_from((double)raw, node, c, below, &scale);
    calls = scale * (double)node->calls;
    caller->outside += calls * c.outside;
    caller->least += calls * (c.outside + c.half);
    caller->inclusive = sd_sum_i64(caller->inclusive, node->inclusive);
    node->own = bounded(less(raw, ticks_of(taken)), cost);
    return less(raw, node->own);
}

/* --- Beyond the tree */

static int64_t without(int64_t raw, double taken, const struct sd_trace_cost *cost)
{
    return bounded(less(raw, ticks_of(taken)), cost);
}

static double within(const struct sd_trace_cost *cost,
                     struct sd_call_counts_calls inside,
                     struct sd_call_counts_calls around)
{
    struct cost python = cost_of(cost, false), c = cost_of(cost, true);

    return (double)inside.python * python.inside +
           (double)around.python * python.outside + (double)inside.c * c.inside +
           (double)around.c * c.outside;
}

/* Takes the cost of tracing off the own time of a pair, and returns it; *nominal is
 * what was measured for so many calls. */
static double settle_own(struct sd_pair *pair, const struct sd_trace_cost *cost,
                         double *nominal)
{
    struct cost c = cost_of(cost, pair->is_c), python = cost_of(cost, false),
                c_function = cost_of(cost, true);
    double n_python = (double)pair->own_calls.python, n_c = (double)pair->own_calls.c;
    struct below below = { .outside =
                               n_python * python.outside + n_c * c_function.outside };
    struct sd_node node = { .calls = pair->calls };
    int64_t raw = bounded(pair->own, cost);
    double scale = 1, taken;

    below.least = below.outside + n_python * python.half + n_c * c_function.half;
    *nominal = below.outside + (double)pair->calls * c.inside;
    taken = cost->may_go_below_zero ? *nominal
                                    : taken_from((double)raw, &node, c, &below, &scale);
    pair->own = without(raw, taken, cost);
    return taken;
}

/* Returns which share of the measured cost was taken off, over all pairs. */
static double settle_pairs(struct sd_call_forest *f, const struct sd_trace_cost *cost)
{
    double taken = 0, all = 0, nominal, share;

    for (size_t i = 0; i < f->n_pairs; i++) {
        taken += settle_own(&f->pairs[i], cost, &nominal);
        all += nominal;
    }
    share = all > 0 ? taken / all : 1;
    for (size_t i = 0; i < f->n_pairs; i++) {
        struct sd_pair *p = &f->pairs[i];

        p->total = without(
            p->total, share * within(cost, p->total_inside, p->total_around), cost);
        p->pair_total = without(
            p->pair_total, share * within(cost, p->pair_inside, p->pair_around), cost);
    }
    return share;
}

/* All that lies beyond the tree from here: its inclusive time is its own. */
static int64_t settle_beyond(struct sd_node *node, const struct sd_calls_below *calls,
                             const struct sd_trace_cost *cost, double share,
                             struct below *caller)
{
    struct cost c = cost_of(cost, node->is_c);
    int64_t raw = bounded(node->inclusive, cost);
    double n_first = (double)calls->first_calls;
    double taken = within(cost, calls->inside, calls->around);

    node->own = without(raw, share * taken, cost);
    caller->outside += share * n_first * c.outside;
    caller->least += share * n_first * (c.outside + c.half);
    caller->inclusive = sd_sum_i64(caller->inclusive, node->inclusive);
    return less(raw, node->own);
}

/* --- All of it */

int sd_forest_settle(struct sd_call_forest *f, const struct sd_trace_cost *cost,
                     uint64_t *subtracted)
{
    static const struct sd_trace_cost nothing = { 0 };
    struct below *below = sd_zalloc((f->n + 1) * sizeof *below);
    struct sd_trace_cost here;
    uint64_t all = 0;
    double share;

    if (!below)
        return sd_no_memory();
    for (size_t i = 0; i < f->n; i++)
        if (f->nodes[i].parent != SD_NO_NODE)
            below[f->nodes[i].parent].has_calls = true;
    cost = cost ? cost : &nothing;
    here = cost_at(cost, speeds_of(f, cost, below));
    share = settle_pairs(f, &here);
    for (size_t i = f->n; i-- > 0;) { /* what a node called stands behind it */
        struct sd_node *node = &f->nodes[i];
        int64_t taken;

        node->own = 0;
        if (node->parent == SD_NO_NODE)
            continue;
        sd_assert(node->parent < i);
        taken = node->is_beyond ? settle_beyond(node, &f->below[node->function], &here,
                                                share, &below[node->parent])
                                : settle(node, &here, &below[i], &below[node->parent]);
        all = sd_sum_u64(all, (uint64_t)taken);
    }
    if (subtracted)
        *subtracted = all;
    sd_free(below);
    return 0;
}
