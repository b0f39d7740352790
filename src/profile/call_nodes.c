/* SPDX-License-Identifier: MIT */
#include "profile/call_nodes.h"

#include "base/assert.h"
#include "base/mem.h"

struct below { /* of all children of a node */
    uint64_t calls, inclusive;
};

/* Numbers of a capture may be anything: they stop at the largest, and never wrap. */
static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static uint64_t cost_of(uint64_t calls, uint64_t each)
{
    uint64_t all;

    return __builtin_mul_overflow(calls, each, &all) ? UINT64_MAX : all;
}

static struct below *sum_children(const struct sd_node *nodes, size_t n)
{
    struct below *sums = sd_zalloc((n + 1) * sizeof *sums);

    for (size_t i = 0; sums && i < n; i++) {
        uint32_t parent = nodes[i].parent;

        if (parent == SD_NO_NODE)
            continue;
        sd_assert(parent < i);
        sums[parent].calls = add(sums[parent].calls, nodes[i].calls);
        sums[parent].inclusive = add(sums[parent].inclusive, nodes[i].inclusive);
    }
    return sums;
}

int sd_nodes_settle(struct sd_node *nodes, size_t n, const struct sd_trace_cost *cost,
                    uint64_t *subtracted)
{
    static const struct sd_trace_cost free_of_cost = { 0, 0 };
    struct below *below = sum_children(nodes, n);
    uint64_t all = 0;

    if (!below)
        return sd_no_memory();
    if (!cost)
        cost = &free_of_cost;
    for (size_t i = 0; i < n; i++) {
        uint64_t raw = less(nodes[i].inclusive, below[i].inclusive);
        uint64_t ours = add(cost_of(nodes[i].calls, cost->inside),
                            cost_of(below[i].calls, cost->outside)) /
                        1024;

        nodes[i].own = nodes[i].parent == SD_NO_NODE ? 0 : less(raw, ours);
        all += nodes[i].parent == SD_NO_NODE ? 0 : raw - nodes[i].own;
    }
    if (subtracted)
        *subtracted = all;
    sd_free(below);
    return 0;
}
