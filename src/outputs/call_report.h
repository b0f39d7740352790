/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_CALL_TABLES_H
#define SD_CLI_CALL_TABLES_H
/* call_tables: calls as pstats prints them, or as CSV and JSON, by what was typed. */
#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/out.h"
#include "profile/call_stats.h"

enum sd_call_form { SD_CALL_TEXT, SD_CALL_CSV, SD_CALL_JSON };

/* One of the two. */
struct sd_call_limit {
    const char *rows;  /* "10", or "0.1" of them; "0" is all */
    const char *match; /* a regular expression */
    bool prefers_own;  /* of a number of rows: the program's own are chosen first */
};
enum { SD_CALL_LIMITS_MAX = 4 };

struct sd_call_wish {
    enum sd_call_form form;
    const char *const *sort; /* as typed, each perhaps several apart by commas; ended by
                                NULL, or NULL */
    bool is_reversed;
    bool strips_dirs;
    bool has_callers, has_callees; /* instead of the functions themselves */
    bool is_cpu;                   /* the times are the CPU's, which is said */
    unsigned digits;               /* of seconds; 0: three */
    struct sd_call_limit limits[SD_CALL_LIMITS_MAX]; /* one after the other */
    size_t n_limits;
};

/* Writes what is wished for; strips the stats when that is.  SD_EUSAGE with a sentence
 * for words, rows and expressions that are none. */
int sd_call_tables(struct sd_call_stats *s, const struct sd_call_wish *wish,
                   struct sd_out *out);

/* Are these words that calls can be sorted by? */
bool sd_call_sort_is(const char *const *sort);

/* Is this a pstats file, by its first bytes?  "-" is stdin, when that is a file. */
bool sd_call_file_is(const char *path);
/* All these pstats files, added up as pstats.Stats(a, b, c) does. */
int sd_call_files_load(char *const *files, size_t n, struct sd_call_stats *into);
/* Writes a pstats file as another: .pstats or .prof, .csv, .json, .txt; `format` is the
 * word for it, or NULL to go by the suffix.  SD_EUSAGE for what needs more. */
int sd_call_file_convert(char *file, const char *to, const char *format,
                         enum sd_create_flags create);
#endif
