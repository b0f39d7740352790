/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_GROUPS_H
#define SD_ANALYSE_HEAP_HEAP_GROUPS_H
/* heap_groups: groups objects, and counts and sizes of each group. */
#include "analyse/heap/heap_dominators.h"
#include "base/arena.h"

enum sd_heap_by {
    SD_HEAP_BY_TYPE,
    SD_HEAP_BY_OWNER,     /* a dict that is an object's __dict__: "dict of its class" */
    SD_HEAP_BY_SIZE,      /* bytes of one object */
    SD_HEAP_BY_MODULE,    /* that defines the type */
    SD_HEAP_BY_REFERRERS, /* types (or "dict of") of all that refer to the object */
    SD_HEAP_N_BYS,
};
/* "type" and so on; -1: there is none such. */
int sd_heap_by_named(const char *word);
const char *sd_heap_by_name(enum sd_heap_by by);
/* Only a snapshot with references can say. */
bool sd_heap_by_needs_edges(enum sd_heap_by by);

struct sd_heap_row {
    const char *name;
    uint64_t count, bytes;
    uint64_t retained; /* each byte once; 0 without dominators */
};

struct sd_heap_groups {
    struct sd_arena arena;
    struct sd_heap_row *rows; /* the largest first; owned */
    uint32_t n;
};

/* Objects `of` (n_of of them), or all when `of` is NULL.  `d` may be NULL: nothing of
 * retained sizes; `r` is needed by SD_HEAP_BY_REFERRERS alone.  0 or SD_ENOMEM with its
 * sentence. */
int sd_heap_groups_make(const struct sd_heap_graph *g, struct sd_heap_reach *r,
                        const struct sd_heap_dominators *d, enum sd_heap_by by,
                        const uint32_t *of, uint32_t n_of, struct sd_heap_groups *out);
void sd_heap_groups_release(struct sd_heap_groups *out);
#endif
