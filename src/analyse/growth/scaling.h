/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_GROWTH_SCALING_H
#define SD_ANALYSE_GROWTH_SCALING_H
/* scaling: finds which functions' time grows with the sizes of their arguments, and
 * how.
 *
 * Traced calls that were recorded with sizes have one site for each signature, below
 * the function's own.  A signature is a point: how large its arguments were, how often
 * it was called, and what a call took, with all it called (less the cost of tracing, as
 * in every table).  A call inside a call of the same function is a call like any other,
 * so one run of a recursive function already shows many sizes.  Where there were so
 * many that sizes are rounded, those before them are put together in the same steps.
 *
 * The size that explains the times best is chosen among lengths, numbers, and sides and
 * elements of arrays, of one argument each, then among sums and products of two of
 * them; what is more complicated must explain them clearly better. */
#include "analyse/growth/growth.h"
#include "analyse/stacks/call_counts.h"

struct sd_scaling_point {
    double n;
    uint64_t calls;    /* starts: a generator's resumes are one call */
    double ns, own_ns; /* of one call: with all it called, and without */
    bool is_first;     /* the function's first call is among them */
    bool is_rounded;   /* n is about that of its calls, of which there were very many */
};

struct sd_scaling_row { /* a function */
    sd_site_id site;
    const char *argument; /* "len(rows)", "n", "a.shape[0]"; NULL: none fits */
    unsigned degree; /* 2: the argument is a product of two sizes, and in the forecast
                        both are ten times larger */
    struct sd_growth total, own;     /* own: of the time in the function itself */
    struct sd_scaling_point *points; /* by size */
    size_t n_points;
    uint64_t calls;
    int64_t total_ns;     /* of outermost calls */
    sd_site_id through;   /* the function in which most of its time is spent, where that
                             is not itself */
    double at_largest_ns; /* one call of the largest size, as measured */
    double at_ten_ns;     /* one of ten times that size, by the curve */
    double share;         /* of all time, 0..1 */
    double share_then;    /* the same when every size is ten times larger and all else
                             grows as n */
    bool is_flagged;      /* faster than linear, and its share then is of interest */
    bool is_library;      /* it came with the interpreter, or was installed */
};

struct sd_scaling_import { /* in the place of all that it did */
    const char *name;      /* "import json" */
    sd_site_id importer;   /* or SD_NO_SITE */
    int64_t ns;
    double share; /* of all time, 0..1 */
};

struct sd_scaling {        /* all zero is a released one */
    struct sd_arena arena; /* owns all below */
    struct sd_scaling_row
        *functions; /* the program's own, then libraries'; of both flagged
                  ones first, then those that were fitted, by time */
    size_t n;
    struct sd_scaling_import *imports; /* where the request folds them; by time */
    size_t n_imports;
    size_t n_one_size;  /* functions that were called with one size only, and are not
                           among them */
    size_t n_unsized;   /* functions with arguments of which none has a known size: they
                           are not among them either */
    sd_site_id unsized; /* the one of them with most of the time */
    double unsized_share; /* its share of all time, 0..1 */
    bool is_cpu;
    bool is_mine; /* without libraries' */
};

/* SD_EABSENT with the way to record them when there are no sizes, and the request does
 * not say that they were asked for. */
int sd_scaling_make(const struct sd_profile *p, const struct sd_stacks_request *request,
                    struct sd_scaling *out);
void sd_scaling_release(struct sd_scaling *s);

/* Views.  One row for each function; and one for each point that was fitted.  Whoever
 * wants both asks once: all is fitted anew each time. */
enum sd_scaling_tables_flags { SD_SCALING_FUNCTIONS = 1, SD_SCALING_POINTS = 2 };
int sd_scaling_tables(const struct sd_profile *p,
                      const struct sd_stacks_request *request,
                      enum sd_scaling_tables_flags which, struct sd_view *v);
/* The columns of that of functions: a table without rows. */
int sd_scaling_no_functions(struct sd_view *v);
/* The picture: of functions that match (NULL: those flagged, or where there is none the
 * first that were fitted), at most SD_GROWTH_PANELS.  SD_EABSENT when there is none. */
enum { SD_GROWTH_PANELS = 12 };
int sd_scaling_picture(const struct sd_profile *p,
                       const struct sd_stacks_request *request,
                       const struct sd_matcher *match, struct sd_arena *a,
                       struct sd_view_growth *out);
#endif
