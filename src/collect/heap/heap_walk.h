/* SPDX-License-Identifier: MIT */
#ifndef SD_HEAP_HEAP_WALK_H
#define SD_HEAP_HEAP_WALK_H
/* heap_walk: one pass over the objects of this interpreter.
 *
 * Objects stand in one array in the order in which they are met, which is also the
 * queue of those whose references are still to be followed: no stack is needed, and the
 * next ones can be fetched into the cache before their turn.  References are written as
 * addresses; afterwards, without the interpreter's lock, the marks tell each address's
 * rank, and references become numbers in place.
 *
 * It follows what tp_traverse tells, as gc.get_referents does.  That leaves out what
 * takes no part in cycles: keys of a dict that are all str, constants of code. */
#include "collect/heap/heap_roots.h"
#include "collect/heap/object_marks.h"
#include "collect/heap/step_names.h"

struct sd_heap_walk {
    struct sd_heap_graph graph; /* what it makes; `edges` are addresses until the end */
    struct sd_size_names sizes;
    struct sd_heap_kinds kinds;
    struct sd_step_names names;
    struct sd_heap_guesses guesses;
    struct sd_marks marks;
    uint64_t n_refs; /* references met */
    size_t cap_objects, cap_refs;
    PyTypeObject *type; /* of the object at hand */
    bool has_seen_type, has_graph;
    uint32_t n_skipped_frames; /* of the calling thread; set between init and take */
    int rc;
};

/* Makes what the pass needs.  0, or -1 with an exception. */
int sd_heap_walk_init(struct sd_heap_walk *w, bool has_graph);
/* The pass, with the interpreter's lock.  Negative, with a sentence: it is over. */
int sd_heap_walk_take(struct sd_heap_walk *w);
/* Makes the graph, whose release is the caller's; the lock is not needed. */
int sd_heap_walk_finish(struct sd_heap_walk *w, struct sd_heap_graph *out);
/* With the interpreter's lock. */
void sd_heap_walk_release(struct sd_heap_walk *w);
#endif
