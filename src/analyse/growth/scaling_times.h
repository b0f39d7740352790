/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_GROWTH_SCALING_TIMES_H
#define SD_ANALYSE_GROWTH_SCALING_TIMES_H
/* scaling_times: adds up traced calls by signature, by function, and by pairs of
 * functions of which one calls the other (scaling.h). */
#include "analyse/stacks/call_counts.h"
#include "base/table.h"

struct sd_scaling_times { /* all zero but `p` is a released one */
    const struct sd_profile *p;
    int64_t *own, *total, *starts; /* owned; by stack */
    uint32_t *first_child, *next;  /* owned; by stack: the tree downwards */
    uint32_t first_root;
    /* Owned; by site: of signatures, and total_of of functions (outermost calls). */
    int64_t *sums, *own_sums, *counts, *total_of;
    struct sd_table below; /* function << 32 | function it called: place in `spent` */
    uint32_t *edge; /* owned; by stack: that of it and its caller; or UINT32_MAX */
    int64_t *spent; /* owned; ns of outermost such calls */
    size_t n_spent, cap_spent;
    int64_t whole;                 /* ns */
    struct sd_import_rows imports; /* owned; what they do is in no sum above */
    int64_t *import_ns;            /* owned; by their rows */
};

/* 0, SD_EABSENT where no such time was measured, SD_ENOMEM; released in any case. */
int sd_scaling_times_make(struct sd_scaling_times *g,
                          const struct sd_stacks_request *request);
void sd_scaling_times_release(struct sd_scaling_times *g);
/* The function of a site, which may be one of its signatures. */
uint32_t sd_scaling_function_of(const struct sd_profile *p, uint32_t site);
#endif
