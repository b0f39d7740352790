/* SPDX-License-Identifier: MIT */
#include "profile/call_nodes.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"

struct below { /* of all children of a node */
    uint64_t python_calls, c_calls;
    int64_t inclusive;
};

static uint64_t times(uint64_t calls, uint64_t each)
{
    uint64_t all;

    return __builtin_mul_overflow(calls, each, &all) ? UINT64_MAX : all;
}

static int64_t less(int64_t a, int64_t b)
{
    int64_t rest;

    if (__builtin_sub_overflow(a, b, &rest))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return rest;
}

static struct below *sum_children(const struct sd_node *nodes, size_t n)
{
    struct below *sums = sd_zalloc((n + 1) * sizeof *sums);

    for (size_t i = 0; sums && i < n; i++) {
        uint32_t parent = nodes[i].parent;
        uint64_t *calls;

        if (parent == SD_NO_NODE)
            continue;
        sd_assert(parent < i);
        calls = nodes[i].is_c ? &sums[parent].c_calls : &sums[parent].python_calls;
        *calls = sd_sum_u64(*calls, nodes[i].calls);
        sums[parent].inclusive = sd_sum_i64(sums[parent].inclusive, nodes[i].inclusive);
    }
    return sums;
}

/* What tracing took of a node's own time: in its own calls, and around those it made.
 */
static int64_t cost_of(const struct sd_trace_cost *cost, const struct sd_node *node,
                       const struct below *below)
{
    uint64_t inside = node->is_c ? cost->c_inside : cost->python_inside;
    uint64_t all = times(node->calls, inside);

    all = sd_sum_u64(all, times(below->python_calls, cost->python_outside));
    all = sd_sum_u64(all, times(below->c_calls, cost->c_outside));
    return (int64_t)(all / 1024);
}

static int64_t bounded(int64_t own, const struct sd_trace_cost *cost)
{
    return own < 0 && !cost->may_go_below_zero ? 0 : own;
}

int sd_nodes_settle(struct sd_node *nodes, size_t n, const struct sd_trace_cost *cost,
                    uint64_t *subtracted)
{
    static const struct sd_trace_cost nothing = { 0 };
    struct below *below = sum_children(nodes, n);
    uint64_t all = 0;

    if (!below)
        return sd_no_memory();
    if (!cost)
        cost = &nothing;
    for (size_t i = 0; i < n; i++) {
        struct sd_node *node = &nodes[i];
        int64_t raw = bounded(less(node->inclusive, below[i].inclusive), cost);

        node->own = 0;
        if (node->parent == SD_NO_NODE)
            continue;
        node->own = bounded(less(raw, cost_of(cost, node, &below[i])), cost);
        all = sd_sum_u64(all, (uint64_t)less(raw, node->own));
    }
    if (subtracted)
        *subtracted = all;
    sd_free(below);
    return 0;
}
