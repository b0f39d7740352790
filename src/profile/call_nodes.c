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
};

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
    return ticks < 0x1p62 ? (int64_t)ticks : (int64_t)1 << 62;
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

int sd_nodes_settle(struct sd_node *nodes, size_t n, const struct sd_trace_cost *cost,
                    uint64_t *subtracted)
{
    static const struct sd_trace_cost nothing = { 0 };
    struct below *below = sd_zalloc((n + 1) * sizeof *below);
    uint64_t all = 0;

    if (!below)
        return sd_no_memory();
    for (size_t i = n; i-- > 0;) { /* what a node called stands behind it */
        uint32_t parent = nodes[i].parent;

        nodes[i].own = 0;
        if (parent == SD_NO_NODE)
            continue;
        sd_assert(parent < i);
        all = sd_sum_u64(all, (uint64_t)settle(&nodes[i], cost ? cost : &nothing,
                                               &below[i], &below[parent]));
    }
    if (subtracted)
        *subtracted = all;
    sd_free(below);
    return 0;
}
