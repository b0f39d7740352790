/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_VERB_TOP_H
#define SD_CLI_LIVE_VERB_TOP_H
/* verb_top: shows where time goes in a table that is refreshed.
 *
 * What is shown is a copy (struct sd_top_state), taken when a refresh is due, of a
 * program that is being sampled or of a capture.  Three ways of showing it know nothing
 * of where it comes from: the screen, the plain table, JSON. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/alloc/alloc_words.h"
#include "base/out.h"
#include "cli/live/rounds.h"
#include "cli/live/tally.h"
#include "cli/live/top_child.h"
#include "cli/verb.h"

enum sd_top_sort {
    SD_TOP_OWN_PERCENT,
    SD_TOP_TOTAL_PERCENT,
    SD_TOP_OWN_TIME,
    SD_TOP_TOTAL_TIME,
    SD_TOP_SORTS,
};

enum { SD_TOP_FILTER = 128 };

struct sd_top_view { /* what the person in front of it has chosen */
    enum sd_top_sort sort;
    bool is_by_line, has_threads, has_full_files, is_qualified;
    bool is_of_memory;          /* live bytes of allocations in the place of time */
    char filter[SD_TOP_FILTER]; /* rows must contain it; "" all */
};

struct sd_top_state {    /* all zero is a fresh one; texts are borrowed */
    const char *title;   /* what is sampled: "python app.py", a file */
    const char *version; /* "3.11.7" or "" */
    struct sd_tally_row *functions, *lines;
    size_t n_functions, n_lines;
    struct sd_tally_thread *threads;
    size_t n_threads, n_processes;
    struct sd_sample_counts counts;
    double gil_percent, active_percent;
    uint64_t elapsed_ns, rate;
    bool has_ended, is_paused, is_file;
    char python[SD_ROUNDS_VERSION];
    struct sd_alloc_summary memory; /* of memory */
    struct sd_tally of_file; /* owned; of a capture: what the texts are borrowed from */
    uint32_t *order;         /* owned; rows (or threads) that are shown, in order */
    size_t n_order, cap_order;
};

/* Where it comes from: one of the two. */
struct sd_top {
    const struct sd_command *command;
    struct sd_top_view view;
    struct sd_top_state shown;
    struct sd_rounds *rounds; /* or NULL */
    const char *file;         /* or NULL */
    enum sd_tally_wants wants;
    bool folds_imports;
    uint64_t delay_ns, until_ns; /* until: CLOCK_MONOTONIC, 0: for ever */
    size_t limit;                /* rows of the plain table; 0: all */
    struct sd_top_child *child;  /* that top has started, or NULL */
    int signals;                 /* signalfd of what ends it, and SIGWINCH */
    int ended_by;                /* signal, or 0 */
};

/* --- shown */

/* Copies what there is to show now.  0 or a failure with its sentence. */
int sd_top_take(struct sd_top *t);
/* The same of a capture (top_file.c). */
int sd_top_take_file(struct sd_top *t);
/* Chooses and sorts the rows that the view asks for. */
int sd_top_arrange(struct sd_top_state *s, const struct sd_top_view *view);
void sd_top_release(struct sd_top_state *s);
const struct sd_tally_row *sd_top_row(const struct sd_top_state *s,
                                      const struct sd_top_view *view, size_t i);

/* Is the program that is watched stopped (job control, a debugger)? */
bool sd_top_is_stopped(const struct sd_top_state *s);

/* Where a column by which is sorted stands in a line: where it begins, and its
 * width. */
void sd_top_column(const struct sd_top_view *view, int *from, int *width);
/* Lines of text; each is added to a cleared buffer, for at most `width` columns (0: no
 * limit). */
enum { SD_TOP_HEAD = 3 }; /* lines above the heading */
void sd_top_put_head(struct sd_buf *to, const struct sd_top_state *s,
                     const struct sd_top_view *view, int line, size_t width);
void sd_top_put_heading(struct sd_buf *to, const struct sd_top_view *view,
                        size_t width);
void sd_top_put_row(struct sd_buf *to, const struct sd_top_state *s,
                    const struct sd_top_view *view, size_t i, size_t width);

/* --- Ways of showing.  Each refreshes until it is over, and says whether it was
 * orderly. */
int sd_top_plain(struct sd_top *t, bool is_json);
/* SD_ELACKS, with a sentence, when this terminal cannot show it. */
int sd_top_screen(struct sd_top *t);

/* From now on what ends it comes through a descriptor, so that there is one way out. */
int sd_top_take_signals(struct sd_top *t, sigset_t *before);
/* Waits for a signal that ends it, until the time (CLOCK_MONOTONIC).  True: it is over,
 * ended_by says why. */
bool sd_top_wait(struct sd_top *t, uint64_t until_ns);
#endif
