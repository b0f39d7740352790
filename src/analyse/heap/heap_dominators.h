/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_DOMINATORS_H
#define SD_ANALYSE_HEAP_HEAP_DOMINATORS_H
/* heap_dominators: the immediate dominator of every object, and what it retains.
 *
 * An object dominates another when every path from a root to the other leads through
 * it: if it went, so would the other.  Its retained size is that of itself and all that
 * it dominates.  What several hold has none of them as its dominator, and may have none
 * at all.  Garbage has no dominator and retains itself.
 *
 * Semi-NCA (Georgiadis, 2005): numbers of a depth-first search, semidominators with
 * compressed paths, then dominators as nearest common ancestors.  In practice it is
 * linear. */
#include "analyse/heap/heap_reach.h"

struct sd_heap_dominators {
    const struct sd_heap_graph *graph; /* both borrowed */
    const struct sd_heap_reach *reach;
    struct sd_pages idoms;    /* uint32_t[n]: SD_HEAP_NONE: no object dominates it */
    struct sd_pages retained; /* uint64_t[n]: bytes */
    /* The tree: children of object i are children[first[i]..first[i + 1]), those
     * without a dominator children[first[n]..first[n + 1]). */
    struct sd_pages child_first; /* uint32_t[n + 3] */
    struct sd_pages children;    /* uint32_t[n] */
};

/* Works out referrers, too.  0 or SD_ENOMEM with its sentence. */
int sd_heap_dominators_init(struct sd_heap_dominators *d, struct sd_heap_reach *r);
void sd_heap_dominators_release(struct sd_heap_dominators *d);

static inline uint32_t sd_heap_dominators_of(const struct sd_heap_dominators *d,
                                             uint32_t object)
{
    return ((const uint32_t *)d->idoms.p)[object];
}

static inline uint64_t sd_heap_dominators_retained(const struct sd_heap_dominators *d,
                                                   uint32_t object)
{
    return ((const uint64_t *)d->retained.p)[object];
}

static inline const uint32_t *
sd_heap_dominators_children(const struct sd_heap_dominators *d, uint32_t object,
                            uint32_t *n)
{
    const uint32_t *first = (const uint32_t *)d->child_first.p +
                            (object == SD_HEAP_NONE ? d->graph->n : object);

    *n = first[1] - first[0];
    return (const uint32_t *)d->children.p + first[0];
}

/* Of groups of objects: `group` has n places, numbers below n_groups or SD_HEAP_NONE;
 * adds to retained[group] what its objects retain, each byte once. */
int sd_heap_dominators_of_groups(const struct sd_heap_dominators *d,
                                 const uint32_t *group, uint32_t n_groups,
                                 uint64_t *retained);
/* Of a set: what these objects retain, each byte once. */
int sd_heap_dominators_of_set(const struct sd_heap_dominators *d,
                              const uint32_t *objects, uint32_t n, uint64_t *retained);
#endif
