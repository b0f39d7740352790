/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_REACH_H
#define SD_ANALYSE_HEAP_HEAP_REACH_H
/* heap_reach: who refers to an object, which objects are roots, and what these reach.
 *
 * A root is an object with more references than the graph has, or one that the walk
 * knows: a module, a variable of a function that runs.  The search from the roots goes
 * from kind to kind, the telling ones first, so that the path of an object begins at a
 * module where there is such a path of the least length, and at an unexplained count of
 * references only where nothing else reaches it.  What no root reaches is garbage.
 *
 * The dict of a module is none, whoever else holds it: what it has is held by the
 * module. */
#include "profile/heap/heap_graph.h"

struct sd_heap_reach {
    const struct sd_heap_graph *graph; /* borrowed; has references */
    struct sd_pages kinds;   /* uint8_t[n]: 1 + enum sd_heap_root_kind; 0: no root */
    struct sd_pages roots;   /* uint32_t[n_roots], in the order of the search */
    struct sd_pages parents; /* uint32_t[n]: before it on a shortest path; itself: it is
                                a root; SD_HEAP_NONE: garbage */
    struct sd_pages order;   /* uint32_t[n_reached], the nearest first */
    uint32_t n_roots, n_named, n_reached; /* named: searched first */
    uint64_t garbage_bytes;
    /* Worked out by sd_heap_reach_referrers. */
    struct sd_pages in_first; /* uint32_t[n + 2] */
    struct sd_pages in_edges; /* uint32_t[n_edges] */
};

/* 0 or SD_ENOMEM with its sentence. */
int sd_heap_reach_init(struct sd_heap_reach *r, const struct sd_heap_graph *g);
void sd_heap_reach_release(struct sd_heap_reach *r);

/* Works out referrers, once. */
int sd_heap_reach_referrers(struct sd_heap_reach *r);

/* hot: the referrers of an object, each as often as it refers to it. */
static inline const uint32_t *sd_heap_reach_in(const struct sd_heap_reach *r,
                                               uint32_t object, uint32_t *n)
{
    const uint32_t *first = (const uint32_t *)r->in_first.p + object;

    *n = first[1] - first[0];
    return (const uint32_t *)r->in_edges.p + first[0];
}

static inline bool sd_heap_reach_is_root(const struct sd_heap_reach *r, uint32_t object)
{
    return ((const uint8_t *)r->kinds.p)[object] != 0;
}

static inline bool sd_heap_reach_is_garbage(const struct sd_heap_reach *r,
                                            uint32_t object)
{
    return ((const uint32_t *)r->parents.p)[object] == SD_HEAP_NONE;
}

/* Of a root: its kind, and what is known of it ("x in f, main thread"); "": nothing. */
enum sd_heap_root_kind sd_heap_reach_root(const struct sd_heap_reach *r,
                                          uint32_t object, const char **text);

/* Searches again, into `parents` (n places), as if `but` were no root, and no further
 * than it; SD_HEAP_NONE: there is no such one.  Uses `order` (n places). */
uint32_t sd_heap_reach_search(const struct sd_heap_reach *r, uint32_t but,
                              uint32_t *parents, uint32_t *order);
#endif
