/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_CALLTREE_H
#define SD_ANALYSE_STACKS_CALLTREE_H
/* calltree: merges the chosen stacks of an evidence into one tree of calls.
 * Sonde's own start is never among them.
 *
 * The stacks of a profile tell lines apart; here those of one function (or one line)
 * under the same callers are one node.  Every amount is kept under every metric that
 * samples have.  A node's parent has a smaller number than itself, so sums run up in
 * one pass over the nodes; nothing here recurses, as stacks come from strangers and may
 * be thousands deep. */
#include <stdbool.h>

#include "analyse/stacks/import_rows.h"
#include "base/buf.h"
#include "base/matcher.h"
#include "profile/profile.h"

/* Which samples count.  All zero: those of threads that did something. */
struct sd_sample_choice {
    const struct sd_evidence_about *evidence; /* NULL: that which carries the metric, or
                                                 the first that the profile holds */
    const char *metric; /* that shares are of; NULL: the evidence's own */
    bool has_idle;      /* idle ones too */
    bool is_gil_only;   /* only while the thread held the interpreter's lock */
    sd_track_id track;  /* only this one; used when has_track */
    bool has_track;
    bool has_twins; /* functions of one name, file and line that are not the same stay
                       apart */
    bool has_pairs; /* calls beyond a full tree, too, by caller and callee; by module
                       those of one module by another, and all own times */
    bool is_mine;   /* library frames are folded into what called them; where nothing
                       did, the outermost one stays */
    bool folds_imports; /* by function: an import is one callee (import_rows.h) */
};

enum sd_calls_by { SD_CALLS_BY_FUNCTION, SD_CALLS_BY_LINE, SD_CALLS_BY_MODULE };

/* What is asked of a table, a graph or the stats of stacks. */
struct sd_stacks_request {
    struct sd_sample_choice choice; /* which evidence, metric, threads */
    enum sd_calls_by by;
    /* Of traced calls: */
    bool is_raw;     /* with the cost of tracing */
    bool is_cpu;     /* CPU time, not wall-clock time */
    bool is_sampled; /* other evidence, by the choice's metric: amounts without calls */
    bool has_sizes;  /* of growth: sizes were asked for, so that there is none is an
                        answer */
};

/* A function: sites of one name, file and first line.  By line: one line of it.  By
 * module: all functions of a file, and what they call in it is the module itself. */
struct sd_callee {
    sd_site_id site;    /* the first of its sites; of an import the importer's, or
                           SD_NO_SITE */
    uint32_t line;      /* executed; 0 when not by line; of an import the importer's */
    const char *import; /* "import json", of the tree's rows; NULL: a function */
};

struct sd_call_node {
    uint32_t parent; /* UINT32_MAX: called by nobody known */
    uint32_t callee;
    uint32_t first_child, next; /* UINT32_MAX ends */
};

/* Calls of which no path is known. */
struct sd_callee_pair {
    uint32_t caller, callee;           /* callees; caller UINT32_MAX: there is none */
    const struct sd_pair_total *total; /* of the profile */
};

struct sd_calltree {                      /* all zero is a released one */
    const struct sd_profile *p;           /* borrowed */
    enum sd_evidence evidence;            /* what it is made of */
    const struct sd_stack_totals *totals; /* of the profile: that evidence */
    enum sd_calls_by by;
    uint32_t n_metrics;        /* as theirs */
    uint32_t metric;           /* that shares are of */
    struct sd_callee *callees; /* owned */
    size_t n_callees;
    struct sd_callee_pair *pairs; /* owned; of the tracks chosen, when asked for */
    size_t n_pairs;
    struct sd_call_node *nodes; /* owned */
    size_t n_nodes;
    uint32_t first_root; /* UINT32_MAX: none */
    /* Amounts in rows of n_metrics; owned. */
    int64_t *self, *total;               /* by node */
    int64_t *callee_self, *callee_total; /* by callee; each stack counts once in total,
                                            however often the function is in it */
    int64_t all[SD_SAMPLE_METRICS];      /* everything that was chosen */
    int64_t startup[SD_SAMPLE_METRICS];  /* Sonde's own start, which is not in all */
    int64_t n_samples;                   /* all under `samples`, or 0 */
    struct sd_import_rows imports;       /* owned */
};

/* SD_EUSAGE when the samples do not have the metric. */
int sd_calltree_make(const struct sd_profile *p, const struct sd_sample_choice *choice,
                     enum sd_calls_by by, struct sd_calltree *out);
void sd_calltree_release(struct sd_calltree *t);

/* Writes "json.decoder" or "train": how a module is called that is a file. */
void sd_callee_module(struct sd_buf *to, const struct sd_site *s);
/* What a row is called: a function's name, or its module's; NULL: no memory. */
const char *sd_callee_name(struct sd_arena *a, const struct sd_site *s,
                           enum sd_calls_by by);
/* Does the function match, by its name, its file or both as pstats writes them
 * (file:line(name))?  1, 0 or negative with a sentence; `label` is scratch space,
 * which the caller releases. */
int sd_callee_match_site(const struct sd_site *s, const struct sd_matcher *match,
                         struct sd_buf *label);
/* Which of the callees match: one answer for each, to be freed.  NULL for all of them
 * when nothing is looked for. */
int sd_callees_match(const struct sd_calltree *t, const struct sd_matcher *match,
                     bool **out);
/* Adds the metrics of an evidence with stacks: "samples, wall, cpu". */
void sd_calltree_put_metrics(struct sd_buf *to, const struct sd_profile *p,
                             enum sd_evidence e);
/* SD_EUSAGE with a sentence: that evidence has no such metric. */
int sd_calltree_refuse_metric(const struct sd_profile *p, enum sd_evidence e,
                              const char *name);
/* The evidence that is chosen, which has stacks. */
enum sd_evidence sd_sample_choice_evidence(const struct sd_profile *p,
                                           const struct sd_sample_choice *choice);
/* Does this total of the profile count? */
bool sd_sample_choice_takes(const struct sd_sample_choice *choice,
                            const struct sd_sample_total *t);
/* The node after this one, depth first, children before siblings; UINT32_MAX: the end.
 * *n_left counts the nodes that were left on the way, the given one among them. */
uint32_t sd_calltree_next(const struct sd_calltree *t, uint32_t node, uint32_t *n_left);
/* `amount` in percent of all. */
double sd_calltree_share(const struct sd_calltree *t, const int64_t *amounts);
#endif
