/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_VIEW_REQUEST_H
#define SD_ANALYSE_VIEW_REQUEST_H
/* view_request: says which views of a profile or a model are wanted, and of what.
 *
 * One struct for all views: a view reads the fields that concern it.  All zero asks for
 * everything that is shown unasked, of all that was recorded. */
#include "analyse/alloc/alloc_request.h"
#include "analyse/model/model_costs.h"
#include "analyse/stacks/calltree.h"
#include "base/matcher.h"
#include "profile/profile.h"

struct sd_graph_request;
struct sd_slices;

/* Readings over time as curves; all zero draws every process, their sum and the
 * sections. */
enum sd_plot_children { SD_PLOT_BOTH, SD_PLOT_SUM, SD_PLOT_APART };
struct sd_plot_request {
    const char *title;              /* NULL: what is drawn */
    enum sd_plot_children children; /* their sum alone, or each alone */
    bool has_trends;                /* a straight line through each curve */
    bool has_boxes;                 /* sections as boxes behind the curves */
    bool has_no_sections;
    bool has_beside; /* of what is a part of another metric (live heap of resident
                        memory), that as well */
};

struct sd_view_request {
    const char *views; /* names of views.def, apart by commas; NULL: what is shown
                          unasked */
    bool is_tree;      /* sections, calls and layers as trees */
    bool is_short;     /* without what is only asked for by name, or by programs */
    bool has_drawings; /* pictures may be among the names: their data is wanted */

    /* The selection.  A profile is loaded with it. */
    struct sd_filter selection;
    /* The captures by time (profile/slices.h), for views that need it; NULL: not
     * loaded. Of samples, and of traced calls that have a timeline. */
    const struct sd_slices *slices, *call_slices;
    /* What stacks count, under which metric, and what a row or box is. */
    struct sd_stacks_request stacks;
    struct sd_alloc_request alloc; /* which allocations, and what a row is */
    const char *metric;            /* of readings over time; NULL: "rss" */
    struct sd_plot_request plot;   /* how these are drawn */

    /* Rows: those that match, in which order, how many. */
    const struct sd_matcher *rows;  /* NULL: all */
    const struct sd_matcher *match; /* of callers and callees: functions that match;
                                       NULL: all */
    /* Columns, or words of pstats, as typed: each perhaps several apart by commas;
     * ended by NULL.  NULL: as the analysis has them. */
    const char *const *sort;
    bool is_reversed;   /* the sorted order the other way round */
    bool is_sort_known; /* to a table printed elsewhere, so it may be no column here */
    size_t limit;       /* rows or bars of each; 0: all */
    double fraction;    /* of the rows of each; 0: all */
    double least_percent; /* of trees and flame graphs: less is left out; 0: as the view
                             has it */

    /* How they look. */
    bool is_for_eyes;   /* without a metric, shares of samples are of CPU time where the
                           threads often waited for a CPU, and a note says so */
    bool has_both;      /* without a metric: all evidence with stacks, each in views of
                           its own */
    bool has_pstats;    /* traced functions, callers and callees are printed as pstats
                           does, and are no tables here */
    bool folds_imports; /* of functions: an import is one row */
    bool has_threads;   /* of stacks: a table for each thread, or for programs rows that
                           say whose they are */
    bool strips_dirs;   /* names of files without their folders */

    /* Flame and call graphs. */
    bool has_process_boxes, has_thread_boxes; /* these are the first frames */
    bool may_have_process_boxes; /* with those of threads, where there are several */
    bool has_full_files;         /* files as the interpreter names them */
    bool has_no_lines;
    const char *search; /* looked for when the picture is opened, or NULL */
    const struct sd_graph_request
        *graph; /* what of a call graph is drawn; NULL: the usual
                 */

    /* Models. */
    const char *type;                  /* only layers of this type, or NULL */
    uint32_t n_levels;                 /* 1: the model alone; 0: all */
    bool has_impact;                   /* layers by their share of the metric, and what
                                          they add up to */
    enum sd_model_metric model_metric; /* what shares, bars and colours are of */
    double peak_flops;                 /* of this machine, a second; 0: not known */
    const char *peak_of; /* the type of elements that it was measured with */
    double bandwidth;    /* of its memory, bytes a second */
};
#endif
