/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_PICTURE_H
#define SD_ANALYSE_HEAP_HEAP_PICTURE_H
/* heap_picture: objects and what refers to them, as a graph to be drawn.
 *
 * Boxes are objects with their types and sizes, lines are references with their names.
 * A box whose neighbours are not all drawn says how many there are more. */
#include "analyse/heap/heap_reach.h"
#include "analyse/view.h"
#include "base/arena.h"

struct sd_heap_picture_request {
    const uint32_t *objects; /* the ones that are asked about */
    uint32_t n;
    const uint32_t *hidden; /* not drawn: what holds them only to ask */
    uint32_t n_hidden;
    uint32_t depth;    /* steps away from them */
    uint32_t too_many; /* neighbours of one object that are drawn */
    bool is_backwards; /* what refers to them, and not what they refer to */
};

/* Works out referrers where they are wanted.  The view lives in the arena.  0 or
 * SD_ENOMEM with its sentence. */
int sd_heap_picture_make(struct sd_heap_reach *r,
                         const struct sd_heap_picture_request *request,
                         struct sd_arena *a, struct sd_view_graph *out);
#endif
