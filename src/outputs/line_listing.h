/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_LINE_LISTING_H
#define SD_OUTPUTS_LINE_LISTING_H
/* line_listing: prints the lines of a capture with their source. */
#include <stdbool.h>

#include "base/out.h"
#include "formats/output.h"
#include "profile/profile.h"
#include "report/report.h"

struct sd_view_request;

enum sd_line_listing_layout {
    SD_LINE_LISTING_TIME,     /* line_profiler's */
    SD_LINE_LISTING_MEMORY,   /* memory_profiler's */
    SD_LINE_LISTING_COMBINED, /* all that was measured, side by side */
    SD_LINE_LISTING_HOTTEST,  /* lines of all functions in one list */
};

struct sd_line_listing_request {
    enum sd_line_listing_layout layout;
    enum sd_table_form form;              /* CSV is one list, whatever the layout */
    struct sd_text_style style;           /* of our own layouts */
    size_t rows;                          /* of the hottest; 0: all */
    const struct sd_view_request *tables; /* what else of one list is shown, in which
                                            order; NULL: all, the hottest first */
    double unit_s;                        /* of times */
    bool skips_zero, is_sorted, has_summary;
    bool is_raw;        /* times with what it took to tell of lines */
    unsigned precision; /* of memory */
    char *const *words; /* what was typed of the program; a file among them is shown by
                           that name where memory_profiler would */
    int n_words;
    const struct sd_remarks *remarks; /* takes what is to be known of the source */
};

/* "1e-6" to seconds; SD_EUSAGE with a sentence. */
int sd_line_listing_unit(const char *typed, double *unit_s);
int sd_line_listing_put(const struct sd_profile *p,
                        const struct sd_line_listing_request *request,
                        struct sd_out *out);
#endif
