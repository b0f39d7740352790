/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_LINE_STATS_H
#define SD_PROFILE_LINE_STATS_H
/* line_stats: functions, and how often and how long each of their lines ran: what an
 * .lprof file of line_profiler holds.
 *
 * This is line_profiler's world and keeps its rules: functions and lines stay in the
 * order in which they came, times are numbers of a unit that the whole has, and what is
 * added up is added up as line_profiler does, so that the same files print the same
 * bytes.  A function is its file, first line and name.  Names are UTF-8, in which lone
 * surrogates may stand, and may hold zeros. */
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/table.h"

struct sd_line_entry {
    int64_t line;
    int64_t hits;
    double time; /* in units; whole, but in files that were made by hand */
};

struct sd_line_function {
    struct sd_intern_string file, name;
    uint32_t file_id, name_id;     /* in `strings` */
    int64_t line;                  /* its first */
    struct sd_line_entry *entries; /* owned; in the order of the file */
    size_t n, cap;
};

struct sd_line_stats {
    struct sd_arena arena;
    struct sd_intern strings;           /* files and names */
    struct sd_line_function *functions; /* owned */
    size_t n, cap;
    struct sd_table by_key;
    double unit; /* seconds of one unit of time */
};

void sd_line_stats_init(struct sd_line_stats *s);
void sd_line_stats_release(struct sd_line_stats *s);

/* The function of these three, new or known; *at is its place in `functions`. */
int sd_line_stats_function(struct sd_line_stats *s, const char *file, size_t n_file,
                           int64_t line, const char *name, size_t n_name, size_t *at);
/* Another one, though it may be called as one that is there: what exec() makes again
 * and again stands where it stood before. */
int sd_line_stats_add_function(struct sd_line_stats *s, const char *file, size_t n_file,
                               int64_t line, const char *name, size_t n_name,
                               size_t *at);
int sd_line_stats_add_line(struct sd_line_stats *s, size_t function,
                           struct sd_line_entry entry);

/* Sorts the lines of each function and adds up those of one number. */
void sd_line_stats_fold(struct sd_line_stats *s);

/* All of these in one, in the largest of their units: what line_profiler's
 * LineStats.from_stats_objects makes of more than one.  `into` is fresh. */
int sd_line_stats_sum(struct sd_line_stats *into, struct sd_line_stats *const *parts,
                      size_t n);

/* In units, of all its lines. */
double sd_line_function_time(const struct sd_line_function *f);
int64_t sd_line_function_hits(const struct sd_line_function *f);
#endif
