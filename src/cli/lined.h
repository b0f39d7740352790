/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LINED_H
#define SD_CLI_LINED_H
/* lined: the lines of a capture, printed with their source. */
#include <stdbool.h>

#include "base/out.h"
#include "profile/profile.h"
#include "report/report.h"

struct sd_tables_wish;

enum sd_lined_layout {
    SD_LINED_TIME,     /* line_profiler's */
    SD_LINED_MEMORY,   /* memory_profiler's */
    SD_LINED_COMBINED, /* all that was measured, side by side */
    SD_LINED_HOTTEST,  /* lines of all functions in one list */
};
enum sd_line_form { SD_LINE_TEXT, SD_LINE_CSV, SD_LINE_JSON };

struct sd_lined_wish {
    enum sd_lined_layout layout;
    enum sd_line_form form;              /* CSV is one list, whatever the layout */
    struct sd_text_style style;          /* of our own layouts */
    size_t rows;                         /* of the hottest; 0: all */
    const struct sd_tables_wish *tables; /* what else of one list is shown, in which
                                            order; NULL: all, the hottest first */
    double unit_s;                       /* of times */
    bool skips_zero, is_sorted, has_summary;
    bool is_raw;        /* times with what it took to tell of lines */
    unsigned precision; /* of memory */
    char *const *words; /* what was typed of the program; a file among them is shown by
                           that name where memory_profiler would */
    int n_words;
};

/* "1e-6" to seconds; SD_EUSAGE with a sentence. */
int sd_lined_unit(const char *typed, double *unit_s);
int sd_lined_put(const struct sd_profile *p, const struct sd_lined_wish *wish,
                 struct sd_out *out);
#endif
