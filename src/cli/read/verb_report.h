/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_REPORT_H
#define SD_CLI_REPORT_H
/* report: what `sonde report` was asked for, and its answers.
 *
 * One file for each step: report_asked.c understands what was typed, report_calls.c
 * says it in the words of pstats, report_put.c writes the answer, report_pstats.c is
 * for files of pstats, which have answers of their own, as those of line_profiler have
 * (report_lprof.c), report_graph.c for the call graph.  report.c has the options. */
#include "analyse/analyse.h"
#include "cli/export.h"
#include "cli/pattern.h"
#include "cli/tables.h"
#include "cli/traced.h"
#include "cli/verb.h"

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
    SD_REPORT_FORCE
};

/* A picture is a flame graph or a plot by what the capture has. */
enum sd_report_form {
    SD_FORM_TEXT,
    SD_FORM_CSV,
    SD_FORM_JSON,
    SD_FORM_PICTURE,
    SD_FORM_FLAME,
    SD_FORM_PLOT,
    SD_FORM_GROWTH,
    SD_FORM_GRAPH
};

/* What regular expressions are for. */
enum sd_looked_for { SD_LOOK_ROWS, SD_LOOK_CALLS, SD_LOOK_FILTER, SD_LOOKS };

/* All that was asked for, understood.  It does not move: parts of it point to others.
 */
struct sd_asked {
    const struct sd_command *command;
    const struct sd_option_value *v; /* the command's, by enum sd_report_option */
    enum sd_report_form form;
    struct sd_filter filter;
    struct sd_plot_wish plot;
    struct sd_flame_wish flame;
    unsigned flame_width;
    struct sd_tables_wish tables;
    struct sd_buf names;  /* owned; of the tables */
    const char *calls_of; /* whose callers and callees, as typed; NULL: all */
    struct sd_pattern *patterns[SD_LOOKS]; /* owned; NULL where nothing is looked for */
    struct sd_matcher matchers[SD_LOOKS];  /* that ask them */
    char **words;                          /* the captures */
    int n_words;
};

/* SD_EUSAGE with a sentence for what contradicts itself.  Released in either case. */
int sd_asked_read(struct sd_asked *a, const struct sd_command *c);
void sd_asked_release(struct sd_asked *a);

/* --- report.c */

/* What is said of calls means nothing where none were traced, what is said of samples
 * where calls alone are asked for, and so does a metric that nothing has: SD_EUSAGE. */
int sd_report_check_traced(const struct sd_asked *a, const struct sd_profile *p);
/* Does --from lie past the end?  SD_EUSAGE with how long it is. */
int sd_report_check_window(const struct sd_asked *a, const struct sd_profile *p);
/* Why there is nothing to draw, when options have left nothing: SD_EABSENT.  0 where it
 * is not theirs to answer for. */
int sd_report_check_left(const struct sd_asked *a, const struct sd_profile *p);

/* --- report_calls.c */

/* Order and restrictions of calls, in the words of pstats. */
int sd_asked_calls(const struct sd_asked *a, struct sd_call_wish *w);
/* The tables of a capture with traced calls alone, as text; and of one with samples,
 * too: they stand apart, since what is traced runs slower than what is sampled. */
int sd_report_put_traced(const struct sd_asked *a, const struct sd_profile *p,
                         struct sd_out *out, int fd);
int sd_report_put_both(const struct sd_asked *a, const struct sd_profile *p,
                       struct sd_out *out, int fd);

/* --- report_put.c */

/* "train.sonde: 12.4 s wall, ..." */
void sd_report_put_heading(struct sd_out *out, const struct sd_profile *p,
                           const struct sd_asked *a);
/* A flame graph, by name or because a picture of it is one? */
bool sd_asked_is_flame(const struct sd_asked *a, const struct sd_profile *p);
/* The whole answer, to where it was asked for. */
int sd_report_write(const struct sd_asked *a, const struct sd_profile *p);

/* --- report_graph.c */

/* The call graph of captures or of files of pstats. */
int sd_report_graph_of(const struct sd_asked *a);

/* --- report_pstats.c */

/* Of files of pstats. */
int sd_report_pstats_files(const struct sd_asked *a);
/* SD_EUSAGE: they have nothing that this option, as it was typed, is about. */
int sd_report_not_of_pstats(const struct sd_asked *a, size_t option, const char *file);

/* --- report_lprof.c */

/* Of files of line_profiler. */
int sd_report_lprof_files(const struct sd_asked *a);
#endif
