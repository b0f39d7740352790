/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_LINE_LIST_H
#define SD_ANALYSE_LINE_LIST_H
/* line_list: functions with their lines, as line_profiler and memory_profiler show
 * them.
 *
 * What a table of lines is made from, wherever it comes from: a profile, or a file of
 * line_profiler's.  The source is not in it; who prints finds that. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "profile/lines/line_totals.h"

struct sd_line_stats;
struct sd_profile;
struct sd_site;

struct sd_line_list_row {
    uint32_t line;
    int64_t values[SD_LINE_VALUES]; /* SD_LINE_NONE where not measured */
};

struct sd_line_list_function {
    const char *name; /* qualified, where that is known */
    const char *file;
    uint32_t first;                /* line of its def, or of its first decorator */
    struct sd_line_list_row *rows; /* by line; those that ran */
    size_t n_rows;
    int64_t time_ns;    /* of all its lines */
    int64_t tracing_ns; /* that were taken off for telling of them, not of those of
                           functions that they waited for */
    const char *shown;  /* the file as it was typed, or NULL: as `file` has it */
    const struct sd_site *site; /* of the profile */
    const char *text; /* source of the file where the capture has it, or NULL */
};

struct sd_line_list { /* all zero is a fresh one */
    struct sd_arena arena;
    struct sd_line_list_function *functions; /* by file and first line */
    size_t n;
    bool has_memory, has_cpu;
};

/* 0 or SD_ENOMEM.  Released in either case. */
int sd_line_list_of(const struct sd_profile *p, struct sd_line_list *out);
/* Gives back to each line what was taken off for telling of lines. */
void sd_line_list_make_raw(struct sd_line_list *l);
/* Leaves out functions that never ran. */
void sd_line_list_skip_zero(struct sd_line_list *l);
/* Functions of one file, line and name, as exec() makes them again and again: each by
 * itself, or added up, as a file of line_profiler's has to have them. */
enum sd_line_list_twins { SD_TWINS_APART, SD_TWINS_TOGETHER };
/* The same as line_profiler has it: hits and times.  `out` is initialized; 0 or
 * SD_ENOMEM. */
int sd_line_list_stats(const struct sd_line_list *l, enum sd_line_list_twins twins,
                       struct sd_line_stats *out);
void sd_line_list_release(struct sd_line_list *l);
#endif
