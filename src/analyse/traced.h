/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_TRACED_H
#define SD_ANALYSE_TRACED_H
/* traced: what was traced of calls, counted as cProfile counts.
 *
 * The tree of calls (calltree.h) holds what every function did itself; from there come
 * the numbers per function and per pair of caller and callee, for the tables of pstats
 * as for our own. */
#include "analyse/analyse.h"
#include "analyse/stacks/call_stacks.h"
#include "profile/call_stats.h"

struct sd_traced_wish {
    struct sd_sample_choice choice; /* which threads; library frames folded or not */
    enum sd_calls_by by;            /* function or module */
    bool is_raw;                    /* with the cost of tracing */
    bool is_cpu;                    /* CPU time, not the clock's */
    bool is_sampled; /* samples instead, by the choice's metric: times without calls */
    bool has_sizes;  /* of growth: sizes were asked for, so that there is none is an
                        answer */
};

struct sd_traced { /* all zero is a released one */
    struct sd_calltree tree;
    struct sd_calls calls; /* of the tree's callees; times in ns */
    int64_t *own;          /* owned; by node */
    int64_t *awaited;      /* owned; by callee: ns suspended, of outermost calls */
    bool has_awaited;      /* coroutines were suspended */
    bool *is_twin;         /* owned; by callee: its numbers are in those of another that
                              looks the same, or (calls beyond a full tree) of several;
                              NULL but for tables of functions */
    double per_unit;       /* of `own` in what stats count: 1e9 ns in a second */
};

/* SD_EABSENT when nothing was traced, or no CPU time when that is asked for. */
int sd_traced_make(const struct sd_profile *p, const struct sd_traced_wish *wish,
                   struct sd_traced *out);
void sd_traced_release(struct sd_traced *t);

/* The same for tables of functions: twins (traced_twins.c) are counted apart, and what
 * looks the same then adds up under the first of its kind. */
int sd_traced_make_functions(const struct sd_profile *p,
                             const struct sd_traced_wish *wish, struct sd_traced *out);

/* Of modules, with calls beyond a full tree: their total times, which would take all
 * paths, are at least their own and that of each of their functions. */
int sd_traced_bound_modules(const struct sd_profile *p,
                            const struct sd_traced_wish *wish, struct sd_traced *t);

/* As what a pstats file holds, in seconds: fills fresh stats and sums them up. */
int sd_traced_stats(const struct sd_profile *p, const struct sd_traced_wish *wish,
                    struct sd_call_stats *out);
/* What the stats of samples count: "s", "samples". */
const char *sd_traced_unit(const struct sd_profile *p,
                           const struct sd_traced_wish *wish);

/* Views.  Functions (or modules): calls, primitive ones, starts, own and total time,
 * CPU time and elapsed time where they are known, what tracing took. */
int sd_traced_functions(const struct sd_profile *p, const struct sd_traced_wish *wish,
                        struct sd_view *v);
/* The same from the outermost function in, without what has less than `least_percent`
 * of the time. */
int sd_traced_tree(const struct sd_profile *p, const struct sd_traced_wish *wish,
                   double least_percent, struct sd_view *v);
/* Who calls whom, as sd_analyse_calls. */
int sd_traced_calls(const struct sd_profile *p, const struct sd_traced_wish *wish,
                    enum sd_calls_side side, const struct sd_matcher *match,
                    struct sd_view *v);
/* The columns that they have, of an empty table: what may be said of them is known
 * before anything was traced. */
int sd_traced_no_functions(enum sd_calls_by by, struct sd_view *v);
int sd_traced_no_calls(struct sd_view *v);
int sd_traced_no_threads(struct sd_view *v);
/* A table of each thread in one: the rows of all, with columns that say whose they are.
 * `make` adds one table to the view, of the threads that the wish chooses. */
struct sd_traced_table_wish {
    struct sd_traced_wish traced;
    const struct sd_matcher *match; /* of callers and callees, or NULL */
    double least_percent;           /* of the tree */
};
typedef int sd_traced_table(const struct sd_profile *p,
                            const struct sd_traced_table_wish *how, struct sd_view *v);
int sd_traced_by_thread(const struct sd_profile *p,
                        const struct sd_traced_table_wish *how, sd_traced_table *make,
                        struct sd_view *v);
/* Each thread's calls and times. */
int sd_traced_threads(const struct sd_profile *p, struct sd_view *v);
/* Modules as they were imported, one below the one that imported it first. */
int sd_traced_imports(const struct sd_profile *p, const struct sd_traced_wish *wish,
                      struct sd_view *v);

/* What is to be known of the numbers, besides what is lost (profile/losses.h): what
 * tracing took, and that a window of time does not narrow them.  Sentences, or none. */
void sd_traced_remarks(struct sd_buf *to, const struct sd_profile *p, bool is_raw);
/* The same, and what is lost of calls: for what is looked at by itself, as a picture.
 */
void sd_traced_caption(struct sd_buf *to, const struct sd_profile *p, bool is_raw);
#endif
