/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_ALLOC_REQUEST_H
#define SD_ANALYSE_ALLOC_REQUEST_H
/* alloc_request: which allocations a table is of, what a row of it is, and whether a
 * recording can tell. */
#include <stdbool.h>

#include "profile/profile.h"

enum sd_alloc_which {
    SD_WHICH_PEAK,      /* live at the peak of the process with the largest */
    SD_WHICH_LEAKS,     /* live at the end */
    SD_WHICH_TEMPORARY, /* freed soon */
    SD_WHICH_TOTAL,     /* all */
    SD_WHICH_LIVE,      /* live at a moment */
    SD_WHICH_GROWING,   /* live at the end, of rows whose live bytes keep rising */
};

enum sd_alloc_by {
    SD_ROWS_BY_LINE,
    SD_ROWS_BY_FUNCTION,
    SD_ROWS_BY_FILE,
    SD_ROWS_BY_STACK,
    SD_ROWS_BY_THREAD,
    SD_ROWS_BY_PROCESS,
    SD_ROWS_BY_ALLOCATOR,
    SD_ROWS_BY_SIZE,
};

struct sd_alloc_request {
    enum sd_alloc_which which;
    enum sd_alloc_by by;
    bool has_from; /* a beginning was typed, if only 0 */
};

/* SD_EABSENT with a sentence when allocations like these were not recorded. */
int sd_alloc_request_check_which(const struct sd_profile *p, enum sd_alloc_which which);
/* SD_EABSENT or SD_EUSAGE with a sentence when the recording (of the file `name`)
 * cannot answer this. */
int sd_alloc_request_check(const struct sd_profile *p, const char *name,
                           const struct sd_alloc_request *r,
                           const struct sd_filter *filter);
/* The same of its heap over time. */
int sd_alloc_request_check_plot(const struct sd_profile *p, const char *name);
#endif
