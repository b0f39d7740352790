/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_READ_VERB_REPORT_H
#define SD_CLI_READ_VERB_REPORT_H
/* verb_report: what the files of `sonde report` share.
 *
 * One file for each step: report_request.c understands what was typed, report_calls.c
 * says it in the words of pstats, report_alloc.c is for allocations, report_put.c
 * writes the answer, report_stats.c is
 * for files with calls alone or lines alone, which have answers of their own,
 * report_graph.c for the call graph.  verb_report.c has the
 * options. */
#include "analyse/analyse.h"
#include "cli/read/report_request.h"
#include "cli/verb.h"
#include "outputs/pstats_tables.h"

/* In the order of their values. */
enum sd_report_option {
    SD_REPORT_ROWS,
    SD_REPORT_SORT,
    SD_REPORT_MATCH,
    SD_REPORT_FILTER,
    SD_REPORT_TRACK,
    SD_REPORT_SECTION,
    SD_REPORT_FROM,
    SD_REPORT_TO,
    SD_REPORT_STRIP_DIRS,
    SD_REPORT_REVERSE,
    SD_REPORT_DIGITS,
    SD_REPORT_TABLE,
    SD_REPORT_TREE,
    SD_REPORT_LINES,
    SD_REPORT_HOTTEST,
    SD_REPORT_CALLERS,
    SD_REPORT_CALLEES,
    SD_REPORT_THREADS,
    SD_REPORT_PER_THREAD,
    SD_REPORT_IMPORTS,
    SD_REPORT_SCALING,
    SD_REPORT_ALLOC,
    SD_REPORT_PEAK,
    SD_REPORT_LEAKS,
    SD_REPORT_TEMPORARY,
    SD_REPORT_TOTAL,
    SD_REPORT_GROWING,
    SD_REPORT_AT,
    SD_REPORT_BY,
    SD_REPORT_ALL,
    SD_REPORT_MINE,
    SD_REPORT_SIGNATURES,
    SD_REPORT_RAW,
    SD_REPORT_CPU,
    SD_REPORT_QUALIFIED,
    SD_REPORT_IDLE,
    SD_REPORT_GIL,
    SD_REPORT_FLAME,
    SD_REPORT_PLOT,
    SD_REPORT_SLOPE,
    SD_REPORT_CHILDREN,
    SD_REPORT_MARKS,
    SD_REPORT_OVERLAY,
    SD_REPORT_TITLE,
    SD_REPORT_GRAPH,
    SD_REPORT_NODE_THRES,
    SD_REPORT_EDGE_THRES,
    SD_REPORT_ROOT,
    SD_REPORT_LEAF,
    SD_REPORT_DEPTH,
    SD_REPORT_PATH,
    SD_REPORT_STRIP,
    SD_REPORT_WRAP,
    SD_REPORT_NODE_LABEL,
    SD_REPORT_COLORMAP,
    SD_REPORT_SKEW,
    SD_REPORT_BY_SELF,
    SD_REPORT_COMPARE,
    SD_REPORT_TOLERANCE,
    SD_REPORT_ONLY_SLOWER,
    SD_REPORT_ONLY_FASTER,
    SD_REPORT_BY_DIFFERENCE,
    SD_REPORT_METRIC,
    SD_REPORT_WIDTH,
    SD_REPORT_HEIGHT,
    SD_REPORT_UNIT,
    SD_REPORT_SKIP_ZERO,
    SD_REPORT_SUMMARIZE,
    SD_REPORT_CSV,
    SD_REPORT_JSON,
    SD_REPORT_OUTPUT,
    SD_REPORT_SOURCE,
    SD_REPORT_SHARE,
    SD_REPORT_FORCE
};

/* --- verb_report.c */

/* What files are loaded with: a page has the whole run, and opens with the selection.
 */
struct sd_filter sd_report_filter(const struct sd_report_request *a);
/* What is said of calls means nothing where none were traced, what is said of samples
 * where calls alone are asked for, and so does a metric that nothing has: SD_EUSAGE. */
int sd_report_check_traced(const struct sd_report_request *a,
                           const struct sd_profile *p);
/* Does --from lie past the end?  SD_EUSAGE with how long it is. */
int sd_report_check_window(const struct sd_report_request *a,
                           const struct sd_profile *p);
/* Why there is nothing to draw, when options have left nothing: SD_EABSENT.  0 where it
 * is not theirs to answer for. */
int sd_report_check_left(const struct sd_report_request *a, const struct sd_profile *p);

/* --- report_calls.c */

/* Order and restrictions of calls, in the words of pstats. */
int sd_report_calls_request(const struct sd_report_request *a,
                            struct sd_call_request *w);
/* The tables of a capture with traced calls alone, as text; and of one with samples,
 * too: they stand apart, since what is traced runs slower than what is sampled. */
int sd_report_calls_put(const struct sd_report_request *a, const struct sd_profile *p,
                        struct sd_out *out, int fd);
int sd_report_calls_put_both(const struct sd_report_request *a,
                             const struct sd_profile *p, struct sd_out *out, int fd);

/* --- report_alloc.c */

/* What --alloc asks for, or that its options need it: SD_EUSAGE. */
int sd_report_alloc_read(struct sd_report_request *a);
/* Can the recording answer it? */
int sd_report_alloc_check(const struct sd_report_request *a,
                          const struct sd_profile *p);
/* The summary and the table, as text. */
/* Fills a zeroed view with it. */
int sd_report_alloc_view(const struct sd_report_request *a, const struct sd_profile *p,
                         struct sd_view *v);
int sd_report_alloc_put(const struct sd_report_request *a, const struct sd_profile *p,
                        struct sd_out *out, int fd);

/* --- report_put.c */

/* "train.sonde: 12.4 s wall, ..." */
void sd_report_put_heading(struct sd_out *out, const struct sd_profile *p,
                           const struct sd_report_request *a);
/* A flame graph, by name or because a picture of it is one? */
bool sd_report_put_is_flame(const struct sd_report_request *a,
                            const struct sd_profile *p);
/* The whole answer, to where it was asked for. */
int sd_report_put_result(const struct sd_report_request *a, const struct sd_profile *p);

/* --- report_graph.c */

/* The call graph of captures or of files of pstats. */
int sd_report_graph_of(const struct sd_report_request *a);

/* --- report_stats.c */

/* Of files with functions and their callers alone, or their lines alone. */
int sd_report_stats(const struct sd_report_request *a);
/* SD_EUSAGE: this option, as it was typed, is about what such a file does not have. */
int sd_report_stats_refuse(const struct sd_report_request *a, size_t option,
                           const struct sd_input *input, const char *file);
#endif
