/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_STATS_H
#define SD_PROFILE_CALL_STATS_H
/* call_stats: functions, how often and how long each was called, and by whom: what a
 * pstats file holds.
 *
 * This is pstats' world and keeps its rules, so that a file read and printed gives the
 * bytes that pstats gives: times are seconds in doubles, sums are made in pstats'
 * order, and functions and callers stay in the order in which they came.  A function is
 * its file, line and name; whatever is the same in all three is one function and adds
 * up.  A function that only calls, and was itself never seen called, is known here but
 * not listed.
 *
 * Names are UTF-8, in which lone surrogates may stand (Python's names of files that are
 * no UTF-8); they may hold zeros, so their length counts.  Everything lives until
 * the release, and ids stay good until then or until sd_call_stats_strip_dirs. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/table.h"

typedef struct {
    uint32_t at;
} sd_function_id; /* in `functions` */

enum { SD_NO_EDGE = UINT32_MAX };

enum sd_whole { /* times that were whole numbers in the file: Python shows them so */
                SD_WHOLE_OWN = 1,
                SD_WHOLE_TOTAL = 2,
};

struct sd_call_numbers {
    int64_t calls;     /* all of them; may be negative in strangers' files */
    int64_t primitive; /* those that were not made below the function itself */
    double own;        /* seconds, without what it called */
    double total;      /* seconds, of the primitive calls, with what they called */
    unsigned whole;    /* of enum sd_whole */
};

struct sd_call_edge {
    sd_function_id caller;
    uint32_t next;            /* of the same function called; SD_NO_EDGE: the last */
    bool is_plain;            /* profile.py's: nothing but `calls` is known */
    struct sd_call_numbers n; /* of the calls from there */
};

struct sd_call_function {
    struct sd_intern_string file, name;
    uint32_t file_id, name_id; /* in `strings` */
    int64_t line;
    bool is_listed; /* has numbers of its own; else it only called */
    bool is_own;    /* the program's, as far as that is known, and no library's */
    bool is_top;    /* old files say so of what the profiler itself called */
    struct sd_call_numbers n;
    uint32_t first_caller, last_caller; /* in `edges`, in order; or SD_NO_EDGE */
    uint32_t n_callers;
};

struct sd_call_stats {
    struct sd_arena arena;
    struct sd_intern strings;           /* files and names */
    struct sd_call_function *functions; /* owned */
    size_t n_functions, functions_cap;
    sd_function_id *listed; /* owned; those that are listed, in order */
    size_t n_listed, listed_cap;
    struct sd_call_edge *edges; /* owned */
    size_t n_edges, edges_cap;
    struct sd_intern_string *origins; /* owned; the lines that say where it came from */
    size_t n_origins, origins_cap;
    struct sd_table by_key;
    struct sd_table by_edge;    /* of functions with many callers */
    struct sd_call_numbers sum; /* of all functions; no total */
    bool is_sampled; /* `calls` are samples below a function, `primitive` those in it */
};

void sd_call_stats_init(struct sd_call_stats *s);
void sd_call_stats_release(struct sd_call_stats *s);
/* `to` becomes what `from` is, and `from` a fresh one: they may not be copied. */
void sd_call_stats_move(struct sd_call_stats *to, struct sd_call_stats *from);

/* The function of these three, new or known. */
int sd_call_stats_function(struct sd_call_stats *s, const char *file, size_t n_file,
                           int64_t line, const char *name, size_t n_name,
                           sd_function_id *id);
/* The same, of file and name that stand in `strings` already. */
int sd_call_stats_function_of(struct sd_call_stats *s, uint32_t file, int64_t line,
                              uint32_t name, sd_function_id *id);
/* Lists the function with these numbers, or adds them to those it has. */
int sd_call_stats_count(struct sd_call_stats *s, sd_function_id id,
                        const struct sd_call_numbers *n);
/* The same for calls from one to another. */
int sd_call_stats_count_calls(struct sd_call_stats *s, sd_function_id caller,
                              sd_function_id callee, const struct sd_call_numbers *n);
/* What profile.py knows of them: how many. */
int sd_call_stats_count_plain(struct sd_call_stats *s, sd_function_id caller,
                              sd_function_id callee, int64_t calls);
/* Makes `sum` and `is_top` of what is listed.  Whoever filled the stats calls it once,
 * at the end. */
int sd_call_stats_sum(struct sd_call_stats *s);
/* A line that says where this came from: "Mon Nov 16 04:13:00 2026    restats". */
int sd_call_stats_add_origin(struct sd_call_stats *s, const char *line, size_t n);

/* Adds all of `from`, as pstats.Stats.add does.  SD_EUSAGE when one knows callers as
 * profile.py does and the other as cProfile does. */
int sd_call_stats_add(struct sd_call_stats *into, const struct sd_call_stats *from);
/* Takes the folders from the names of files.  Functions and callers that become equal
 * add up (pstats keeps only the last of such callers). */
int sd_call_stats_strip_dirs(struct sd_call_stats *s);

static inline struct sd_call_function *sd_call_stats_at(const struct sd_call_stats *s,
                                                        sd_function_id id)
{
    return &s->functions[id.at];
}

/* Adds the name that tables show: "file.py:12(name)", "{built-in method len}". */
void sd_call_function_label(struct sd_buf *to, const struct sd_call_function *f);
/* Is it no Python function: file "~", line 0? */
bool sd_call_function_is_builtin(const struct sd_call_function *f);
/* Total time of `f` below these calls of it.  profile.py counts only how often each
 * caller called: its part of the time is then that of the calls. */
double sd_call_edge_total(const struct sd_call_edge *e,
                          const struct sd_call_function *f);
/* As Python compares strings: < 0, 0, > 0. */
int sd_call_name_compare(const struct sd_intern_string *a,
                         const struct sd_intern_string *b);
/* By file, line and name, as Python compares such tuples. */
int sd_call_function_compare(const struct sd_call_function *a,
                             const struct sd_call_function *b);
#endif
