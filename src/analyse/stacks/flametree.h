/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_FLAMETREE_H
#define SD_ANALYSE_STACKS_FLAMETREE_H
/* flametree: the tree that a flame graph shows.
 *
 * Unlike a calltree its nodes may be processes and threads, and two functions that look
 * the same are one.  It carries one metric, and how much of it was idle: what a
 * function waited is a node "[idle]" below it, so that waiting and working are never
 * one box.  A parent has a smaller number than its children. */
#include "analyse/analyse.h"
#include "base/intern.h"
#include "profile/triples.h"

struct sd_flame_label { /* texts are borrowed from the profile */
    const char *name;   /* NULL of a process or thread */
    const char *file;   /* as shown, or NULL */
    uint32_t line;      /* 0: none; of a process or thread its track */
    enum sd_flame_kind kind;
};

struct sd_flametree { /* all zero is a released one */
    const struct sd_profile *p;
    const struct sd_view_request *request;
    enum sd_evidence evidence;            /* what it is made of */
    const struct sd_stack_totals *totals; /* of that */
    uint32_t metric;                      /* which of theirs */
    uint32_t tracing; /* theirs that is added to it, or UINT32_MAX: none is */
    struct sd_flame_label *labels; /* owned */
    size_t n_labels, cap_labels;
    struct sd_triples nodes; /* parent or UINT32_MAX, label, 0 */
    /* By node; owned.  Sums over what is below are in `total` and `idle`. */
    int64_t *self, *total, *idle;
    int64_t *waited; /* of `idle`, what stands in its own node "[idle]" */
    size_t cap_amounts;
    int64_t all; /* with samples that have no frame */
};

/* SD_EUSAGE when the samples do not have the metric. */
int sd_flametree_make(const struct sd_profile *p, const struct sd_view_request *request,
                      struct sd_flametree *out);
void sd_flametree_release(struct sd_flametree *t);
/* What a frame of this site is: OWN, LIBRARY, NATIVE or MARK. */
enum sd_flame_kind sd_flametree_kind_of(const struct sd_site *s);
#endif
