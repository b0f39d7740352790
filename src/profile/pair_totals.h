/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_PAIR_TOTALS_H
#define SD_PROFILE_PAIR_TOTALS_H
/* pair_totals: adds up calls beyond full trees by thread, caller and callee, over
 * sessions (capture/pair_cell.h). */
#include <stddef.h>
#include <stdint.h>

#include "profile/triples.h"

enum sd_pair_value {
    SD_PAIR_CALLS,
    SD_PAIR_STARTS,            /* without resumes of generators and coroutines */
    SD_PAIR_PRIMITIVE,         /* not made below another call of the function ... */
    SD_PAIR_PRIMITIVE_OF_PAIR, /* ... or of the pair */
    /* ns, without what tracing took of them, which is below */
    SD_PAIR_TIME,       /* the callee's own */
    SD_PAIR_TOTAL,      /* of its primitive calls, with all that they called */
    SD_PAIR_PAIR_TOTAL, /* of primitive calls of the pair */
    SD_PAIR_TRACING,
    SD_PAIR_TOTAL_TRACING,
    SD_PAIR_PAIR_TRACING,
    SD_PAIR_CPU, /* the same in CPU time; 0 where it is not measured */
    SD_PAIR_CPU_TOTAL,
    SD_PAIR_CPU_PAIR_TOTAL,
    SD_PAIR_AWAITED,
    SD_PAIR_VALUES
};

struct sd_pair_total {
    uint32_t track;          /* of the profile, as the sites are */
    uint32_t caller, callee; /* sites; caller UINT32_MAX: there is none */
    int64_t values[SD_PAIR_VALUES];
};

struct sd_pair_totals {          /* all zero is a fresh one */
    struct sd_pair_total *items; /* owned; in the order of their first appearance */
    size_t n, cap;
    struct sd_triples index; /* track, caller, callee */
};

/* Adds what one table knows of a pair.  0 or SD_ENOMEM. */
int sd_pair_totals_add(struct sd_pair_totals *t, const struct sd_pair_total *one);
/* The sum of one value over all pairs. */
int64_t sd_pair_totals_sum(const struct sd_pair_totals *t, enum sd_pair_value value);
void sd_pair_totals_release(struct sd_pair_totals *t);
#endif
