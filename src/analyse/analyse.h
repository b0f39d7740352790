/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_ANALYSE_H
#define SD_ANALYSE_ANALYSE_H
/* analyse: questions to a profile, besides the views of views.def that need no more
 * than a request.  Each fills tables into a view the caller has zeroed or used before;
 * everything it makes lives in the view's arena. */
#include "analyse/stacks/calltree.h"
#include "analyse/views.h"
#include "profile/profile.h"

/* How a value of this unit is shown. */
enum sd_cell_kind sd_cell_kind_of(enum sd_unit unit);

/* Curves of one metric ("rss", "vms", "cpu", ...) over time, sections as bands. */
int sd_analyse_curves(const struct sd_profile *p, const char *metric,
                      struct sd_arena *a, struct sd_view_series *out);
int sd_analyse_curves_as(const struct sd_profile *p, const char *metric,
                         const struct sd_plot_request *how, struct sd_arena *a,
                         struct sd_view_series *out);
/* Sections alone, between `from` and `to` of the series, as bands whose names are
 * paths. */
int sd_analyse_bands(const struct sd_profile *p, struct sd_arena *a,
                     struct sd_view_series *out);

/* Stacks, of the evidence that the request chooses.  Of calls there are cProfile's
 * numbers: calls, primitive ones, own and total time, CPU time and elapsed time where
 * they are known, what tracing took.  Of all other evidence shares are of the choice's
 * metric, and of each metric there is what was seen in the function itself (self) and
 * in it and all it called (cum; however often it is on a stack, the stack counts once,
 * so none is over 100 %).
 *
 * Functions, or lines or modules: one row each, hottest first.  Of samples self_margin
 * and cum_margin are the half widths of the 95 % intervals of the two shares, in
 * percent. */
int sd_analyse_functions(const struct sd_profile *p,
                         const struct sd_stacks_request *request, struct sd_view *v);
/* As a tree of calls from the outermost function (or line) in; what has less than
 * `least_percent` is left out and counted in the table's note. */
int sd_analyse_call_tree(const struct sd_profile *p,
                         const struct sd_stacks_request *request, double least_percent,
                         struct sd_view *v);
/* Who calls whom: one row for each pair of caller and callee, with what was seen below
 * that call.  Functions that match (NULL: all) as callees (their callers), or as
 * callers (their callees). */
enum sd_calls_side { SD_CALLERS, SD_CALLEES };
int sd_analyse_calls(const struct sd_profile *p,
                     const struct sd_stacks_request *request, enum sd_calls_side side,
                     const struct sd_matcher *match, struct sd_view *v);
/* As a flame graph, in the caller's arena: every stack, equal beginnings together.
 * Boxes below the request's percentage (0: SD_FLAME_LEAST), and below what as many
 * boxes as a browser likes would need, are folded into one beside their larger sisters.
 */
#define SD_FLAME_LEAST 0.02
enum { SD_FLAME_BOXES = 5000, SD_FLAME_LEVELS = 1000 };
int sd_analyse_flame(const struct sd_profile *p, const struct sd_view_request *r,
                     struct sd_arena *a, struct sd_view_flame *out);
/* Did threads that could run often have no CPU?  Then shares of CPU time are nearer to
 * the truth than those of samples.  *share is the part of their time in which they had
 * one, 0..1; 1 where too little is known. */
bool sd_analyse_lacks_cpu(const struct sd_profile *p, double *share);

/* The figures of run's one-line summary. */
struct sd_summary {
    uint64_t wall_ns, cpu_ns;
    bool has_cpu;       /* CPU time was read at all */
    bool is_cpu_least;  /* a lower bound: a process that nobody waited for counts up to
                           when it was last seen */
    int64_t peak_bytes; /* -1: not known */
    bool is_peak_sum;   /* of all processes at one moment; else of the largest one */
    uint32_t n_processes, n_threads;
    uint64_t n_points, n_spans;
    uint64_t n_samples; /* as they count themselves: one record may be many */
};
/* 0 or SD_ENOMEM: then the figures are not to be shown. */
int sd_analyse_summary(const struct sd_profile *p, struct sd_summary *out);

/* What became of the samples of a recording. */
struct sd_sample_account {
    uint64_t samples;       /* in the file */
    uint64_t missed;        /* rounds that came too late */
    uint64_t lost;          /* not read, or taken and not in the file */
    uint64_t partial, idle; /* of the samples */
};
/* As the capture says; false when it says nothing, as one that is still written. */
bool sd_account_of(const struct sd_profile *p, struct sd_sample_account *out);
/* `a->samples` are those that were taken.  What is missing of them in the file was lost
 * on the way there, and only the file knows how many: a full disk is noticed after the
 * sampler has let go of a sample. */
void sd_account_settle(struct sd_sample_account *a, const struct sd_profile *p);
#endif
