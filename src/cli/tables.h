/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_TABLES_H
#define SD_CLI_TABLES_H
/* tables: what a profile has to say, as report and the collectors' verbs print it. */
#include "analyse/stacks/calltree.h"
#include "analyse/traced.h"
#include "analyse/view.h"
#include "base/encoding/json.h"
#include "profile/profile.h"
#include "report/report.h"

struct sd_tables_wish {
    const char *table; /* only those of these names, apart by commas; NULL: all */
    /* Columns, or words of pstats, as typed: each perhaps several
     * apart by commas; ended by NULL.  NULL: as the analysis has them. */
    const char *const *sort;
    bool is_reversed; /* the sorted order the other way round */
    size_t limit;     /* rows of each; 0: all */
    double fraction;  /* of the rows of each; 0: all */
    bool is_tree;     /* sections and calls as trees */
    bool is_short;    /* without what is only asked for by name: lines, threads and
                         readings */
    struct sd_sample_choice samples; /* which of them count */
    double least_percent;            /* of the tree of calls: less is left out */
    enum sd_calls_by by;             /* functions, or lines or modules in their place */
    bool is_raw, is_cpu, has_sizes;  /* of traced calls (analyse/traced.h) */
    bool folds_imports;              /* of functions: an import is one row */
    bool is_for_eyes; /* without a metric, shares of samples are of CPU time where the
                         threads often waited for a CPU, and a note says so */
    bool has_threads; /* of traced calls: rows for each thread, and whose they are */
    bool strips_dirs; /* names of files without their folders */
    bool has_both; /* without a metric: samples, and traced calls in tables of their own
                    */
    bool is_sort_known; /* to a table printed elsewhere, so it may be no column here */
    bool has_pstats;    /* traced functions, callers and callees are printed as pstats
                           does,   and are no tables here */
    const struct sd_matcher *match; /* of callers and callees: functions that match;
                                       NULL: all */
    const struct sd_matcher *rows;  /* only rows that match; NULL: all */
};

/* Are they those of traced calls, not of samples? */
bool sd_tables_are_traced(const struct sd_profile *p,
                          const struct sd_tables_wish *wish);
/* Are there tables of either? */
bool sd_tables_are_both(const struct sd_profile *p, const struct sd_tables_wish *wish);
/* Is this one of the tables that are wished for? */
bool sd_tables_has(const struct sd_profile *p, const struct sd_tables_wish *wish,
                   const char *name);
struct sd_traced_wish sd_tables_traced_wish(const struct sd_tables_wish *wish);
/* For growth: of CPU time where it was measured, unless the metric is "time".  What
 * takes longer is interrupted more often, and so would grow by itself on a busy
 * machine. */
struct sd_traced_wish sd_tables_scaling_wish(const struct sd_profile *p,
                                             const struct sd_tables_wish *wish);

/* Should shares of samples be of CPU time, as nothing else was asked for?  Then *why is
 * a sentence about it. */
bool sd_tables_by_cpu(const struct sd_profile *p, const struct sd_sample_choice *choice,
                      struct sd_buf *why);
/* Fills a zeroed view: functions or calls, lines, threads, sections, processes, series,
 * less those without rows.  Of samples and traced calls both, the latter's have the
 * name that they have alone behind "traced_". SD_EUSAGE with a sentence when there is
 * no such table or column. */
int sd_tables_of(const struct sd_profile *p, const struct sd_tables_wish *wish,
                 struct sd_view *v);

/* "10" rows, or "0.1" of them; NULL: as the wish has it.  SD_EUSAGE for anything else.
 */
int sd_tables_read_rows(const char *typed, struct sd_tables_wish *wish);
/* Whether those of traced calls can be sorted as wished for, before there are any:
 * SD_EUSAGE with a sentence when no column is called so. */
int sd_tables_check_order(const struct sd_tables_wish *wish);
/* Sorts them and cuts them to as many rows as are wished for. */
int sd_tables_order(struct sd_view *v, const struct sd_tables_wish *wish);

void sd_tables_text(struct sd_out *out, const struct sd_view *v,
                    const struct sd_text_style *style);
/* The first of them: one table is one CSV file. */
void sd_tables_csv(struct sd_out *out, const struct sd_view *v);

/* One object: what the capture is, its summary, and every table under its name.  Of a
 * capture that is not kept there is no file. */
void sd_tables_json(struct sd_out *out, const struct sd_profile *p,
                    const struct sd_view *v, char *const *files, size_t n_files);

/* "12.4 s wall, 11.9 s CPU, peak 412 MiB, 1,239 samples (0 missed) in 1 process, 3
 * threads"; with `says_lost`, and where some are, "(0 missed, 2 lost)". */
void sd_summary_words(struct sd_buf *to, const struct sd_profile *p, bool says_lost);
#endif
