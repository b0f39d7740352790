/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_CALL_COUNTS_H
#define SD_ANALYSE_STACKS_CALL_COUNTS_H
/* call_counts: counts traced calls as cProfile does.
 *
 * The tree of calls (calltree.h) holds what every function did itself; from there come
 * the numbers per function and per pair of caller and callee, for the tables of pstats
 * as for our own. */
#include "analyse/analyse.h"
#include "analyse/stacks/call_stacks.h"
#include "profile/call_stats.h"

struct sd_call_counts { /* all zero is a released one */
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
int sd_call_counts_make(const struct sd_profile *p,
                        const struct sd_stacks_request *request,
                        struct sd_call_counts *out);
void sd_call_counts_release(struct sd_call_counts *t);

/* The same for tables of functions: twins (call_counts_twins.c) are counted apart, and
 * what looks the same then adds up under the first of its kind. */
int sd_call_counts_make_functions(const struct sd_profile *p,
                                  const struct sd_stacks_request *request,
                                  struct sd_call_counts *out);

/* Of modules, with calls beyond a full tree: their total times, which would take all
 * paths, are at least their own and that of each of their functions. */
int sd_call_counts_bound_modules(const struct sd_profile *p,
                                 const struct sd_stacks_request *request,
                                 struct sd_call_counts *t);

/* As what a pstats file holds, in seconds: fills fresh stats and sums them up. */
int sd_call_counts_stats(const struct sd_profile *p,
                         const struct sd_stacks_request *request,
                         struct sd_call_stats *out);
/* The same of samples (call_counts_sampled.c): what is_sampled of the stats says. */
int sd_call_counts_sampled(const struct sd_profile *p,
                           const struct sd_sample_choice *choice,
                           struct sd_call_stats *out);
/* What the stats of samples count: "s", "samples". */
const char *sd_call_counts_unit(const struct sd_profile *p,
                                const struct sd_stacks_request *request);

/* An empty table with their columns: options that name a column can be checked before
 * anything is traced. */
int sd_call_counts_no_functions(enum sd_calls_by by, struct sd_view *v);
int sd_call_counts_no_calls(struct sd_view *v);

/* What is to be known of the numbers, besides what is lost (profile/losses.h): what
 * tracing took, and that a window of time does not narrow them.  Sentences, or none. */
void sd_call_counts_remarks(struct sd_buf *to, const struct sd_profile *p, bool is_raw);
/* The same, and what is lost of calls: for what is looked at by itself, as a picture.
 */
void sd_call_counts_caption(struct sd_buf *to, const struct sd_profile *p, bool is_raw);
#endif
