/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_PATHS_H
#define SD_ANALYSE_HEAP_HEAP_PATHS_H
/* heap_paths: shortest paths from a root to an object, and their steps as text.
 *
 * Several paths come from a search that goes back from the object and always takes up
 * the way that is shortest in all: what it has gone, and the least that is left, which
 * the search from the roots has told.  A path ends at the first root on it and has no
 * object twice. */
#include "analyse/heap/heap_reach.h"
#include "base/arena.h"
#include "base/buf.h"

struct sd_heap_path {
    uint32_t *objects; /* the root first, the object last; in an arena */
    uint32_t n;
};

/* The shortest path; n is 0: it is garbage.  `parents` is what a search has found
 * (heap_reach.h).  0 or SD_ENOMEM with its sentence. */
int sd_heap_path_make(const struct sd_heap_graph *g, const uint32_t *parents,
                      uint32_t object, struct sd_arena *a, struct sd_heap_path *out);
/* At most `most` different ones, the shortest first; works out referrers.  A search
 * that grows too large ends with what it has. */
int sd_heap_paths_make(struct sd_heap_reach *r, uint32_t object, uint32_t most,
                       struct sd_arena *a, struct sd_heap_path **out, uint32_t *n);

/* Adds the name of step `i` of a path: of the root what is known of it, of others how
 * the one before refers to it: ".x", "['x']", "[3]". */
void sd_heap_path_step(const struct sd_heap_reach *r, const struct sd_heap_path *path,
                       uint32_t i, struct sd_buf *to);
/* Adds the whole path as one would write it: "app.cache._store['x'][3]". */
void sd_heap_path_text(const struct sd_heap_reach *r, const struct sd_heap_path *path,
                       struct sd_buf *to);
#endif
