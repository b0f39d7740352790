/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_SOURCE_ROWS_H
#define SD_ANALYSE_SOURCE_ROWS_H
/* source_rows: numbers lines of files as they come, and lays them out as the files of a
 * view of source (struct sd_view_source).
 *
 * Several functions may have figures of one line (a lambda beside its def, twins that
 * exec() made); a file has each line once, so whoever fills it adds them up by these
 * numbers. */
#include "analyse/stacks/calltree.h"
#include "analyse/view.h"
#include "base/intern.h"
#include "profile/triples.h"

struct sd_source_rows { /* after sd_source_rows_init */
    struct sd_arena arena;
    struct sd_intern files;       /* names */
    const struct sd_site **sites; /* owned; by file: one of its functions */
    size_t cap_sites;
    struct sd_triples lines; /* file, line, 0 */
};

void sd_source_rows_init(struct sd_source_rows *s);
/* The number of the row of this line of a function's file, new or old; UINT32_MAX of
 * what has no source: compiled code, or no line.  0 or SD_ENOMEM. */
int sd_source_row(struct sd_source_rows *s, const struct sd_site *site, uint32_t line,
                  uint32_t *row);
/* Makes the files of a view that has its columns: those whose rows weigh most first,
 * their lines in order, cells empty.  *cells has the cells of each row by its number,
 * in the arena.  0 or SD_ENOMEM. */
int sd_source_rows_settle(const struct sd_source_rows *s, const int64_t *weights,
                          struct sd_arena *a, struct sd_view_source *out,
                          struct sd_cell ***cells);
void sd_source_rows_release(struct sd_source_rows *s);

/* Fills a zeroed view, in the arena, with the lines that the chosen stacks executed;
 * texts are the profile's.  Of traced calls, which have no lines, it has none. */
int sd_source_of_stacks(const struct sd_profile *p, const struct sd_stacks_request *r,
                        struct sd_arena *a, struct sd_view_source *out);
/* The same of counted lines. */
int sd_source_of_lines(const struct sd_profile *p, const struct sd_stacks_request *r,
                       struct sd_arena *a, struct sd_view_source *out);
#endif
