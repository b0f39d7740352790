/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_ALLOC_ROWS_H
#define SD_ANALYSE_ALLOC_ROWS_H
/* alloc_rows: adds up allocations by line, function, stack, thread, ...
 *
 * The line of a block is that of the innermost Python frame of its stack; with "mine"
 * of the innermost that is the program's own.
 *
 * For eyes what an import allocates is one row, `import numpy`, at the line that asked
 * for it; Sonde's own start is none.
 *
 * A row keeps growing when the least that it held in each quarter of the run is more
 * than in the quarter before: so a cache that fills and is emptied does not count, nor
 * does what was allocated at the start alone. */
#include "analyse/alloc/alloc_request.h"
#include "analyse/stacks/import_rows.h"
#include "profile/profile.h"
#include "profile/triples.h"

struct sd_alloc_row {
    uint32_t stack;        /* its frame: UINT32_MAX: none */
    uint32_t import;       /* its row of `imports`; UINT32_MAX: none */
    uint32_t track, flags; /* of one of its totals */
    int64_t bytes, count;
    double variance; /* of the bytes */
    int64_t growth;  /* from the first quarter to the last; of growing rows */
};

struct sd_alloc_rows {          /* all zero is a fresh one */
    struct sd_alloc_row *items; /* owned */
    size_t n, cap;
    struct sd_triples keys;
    struct sd_import_rows imports;
    int64_t *moments; /* owned; by row, of growing ones */
    size_t cap_moments;
    int64_t bytes; /* of all rows */
};

/* What rows are besides what `sd_alloc_request` says. */
enum sd_alloc_rows_flags {
    SD_ROWS_ALL = 0,
    SD_ROWS_MINE = 1,    /* only the program's own frames count */
    SD_ROWS_IMPORTS = 2, /* an import is one row */
};
/* 0 or SD_ENOMEM. */
int sd_alloc_rows_make(struct sd_alloc_rows *rows, const struct sd_profile *p,
                       const struct sd_alloc_request *r, unsigned flags);
/* The innermost frame of a stack that is Python's, and with `is_mine` no library's; of
 * one without Python, and without `is_mine`, the innermost of all; UINT32_MAX: there is
 * none. */
uint32_t sd_alloc_frame(const struct sd_profile *p, uint32_t stack, bool is_mine);
void sd_alloc_rows_release(struct sd_alloc_rows *rows);
#endif
