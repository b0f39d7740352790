/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_TALLY_H
#define SD_CLI_LIVE_TALLY_H
/* tally: adds samples up as they come, for a table that is shown while it grows.
 *
 * A look is counted for each function on the stack (total, however often it is on it)
 * and for the innermost (own); the same again by executed line.  Between two turns
 * there are only counts.  A turn makes time of them (a look stands for the time of the
 * turn divided by its rounds) and shares of that time, so that a function in which one
 * thread is all the time has 100 %, and one in which two are has 200 %.
 *
 * A code object is named once and then known by its number; adding a stack is a walk
 * over small arrays.  Who adds and who turns agree on a lock of their own. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/table.h"
#include "collect/sample/sample.h"

struct sd_tally_row {
    const char *name, *qualname, *file; /* in the arena */
    int32_t line;            /* the function's first, or the executed one; 0: none */
    uint64_t n_own, n_total; /* looks since the last turn */
    /* As of the last turn: */
    double own_percent, total_percent; /* of the time between it and the one before */
    uint64_t own_ns, total_ns;         /* since the beginning; of memory: bytes */
    uint64_t stamp;                    /* the last stack that was counted here */
    uint8_t part; /* enum sd_import_part: what the function is to an import */
};

struct sd_tally_rows {
    struct sd_tally_row *items; /* owned */
    size_t n, cap;
};

struct sd_tally_thread {
    pid_t pid, tid;
    uint32_t serial; /* of its process's Python */
    char name[SD_THREAD_NAME];
    bool has_ended;
    unsigned flags;  /* of the last look */
    uint32_t inside; /* function it was in then: index of a row, or UINT32_MAX */
    uint64_t n_looks, n_active, n_gil, cpu_ns; /* since the last turn */
    double active_percent, gil_percent, cpu_percent;
    uint64_t active_ns; /* since the beginning; of memory: bytes */
};

struct sd_tally_codes { /* rows of the code objects of one process */
    uint32_t *rows;     /* owned; by id: row + 1, 0: not named yet */
    size_t n;
};

struct sd_tally_frames { /* the stack at hand, innermost first */
    uint32_t *rows;      /* owned; of functions, or UINT32_MAX */
    int32_t *lines;      /* owned */
    size_t n, cap_rows, cap_lines;
};

enum sd_tally_wants { SD_TALLY_ACTIVE, SD_TALLY_ALL, SD_TALLY_GIL };

struct sd_tally { /* all zero but `wants` is a fresh one */
    enum sd_tally_wants wants;
    bool is_of_memory;  /* of a capture: bytes stand where nanoseconds do */
    bool folds_imports; /* one function stands for all that an import does */
    struct sd_arena arena;
    struct sd_intern keys; /* of functions: its ids are row numbers */
    struct sd_table line_keys;
    struct sd_table imports_at; /* importer's row << 32 | line: row of the only module
                                   that was seen there, or UINT32_MAX */
    struct sd_tally_frames frames;
    struct sd_tally_rows functions, lines;
    struct sd_tally_thread **threads; /* owned, and what they point to */
    size_t n_threads, cap_threads;
    struct sd_tally_codes *codes; /* owned; by serial; emptied with its last thread */
    size_t n_codes;
    uint64_t stamp;
    bool has_no_room;           /* something was not counted for want of memory */
    bool sees_gil, sees_active; /* in the round that goes on */
    uint64_t n_rounds, n_gil, n_active; /* since the last turn */
    /* As of the last turn: */
    double gil_percent, active_percent; /* of rounds in which some thread held, ran */
    uint64_t elapsed_ns;                /* that was sampled, in all */
};

/* For a listener: one sample; a thread that ends; and after each round. */
void sd_tally_add(struct sd_tally *t, const struct sd_thread_sample *told);
void sd_tally_thread_ends(struct sd_tally *t, void *of_thread);
void sd_tally_round(struct sd_tally *t);
/* `ns` have gone by since the last turn, or the beginning. */
void sd_tally_turn(struct sd_tally *t, uint64_t ns);
/* Everything from 0 again; names stay. */
void sd_tally_reset(struct sd_tally *t);
void sd_tally_release(struct sd_tally *t);

/* The row of a function, made when new; UINT32_MAX: no memory.  For who has samples
 * from elsewhere. */
uint32_t sd_tally_function(struct sd_tally *t, const char *name, const char *qualname,
                           const char *file, int32_t first_line);
/* How many of the innermost frames at hand are one import, and its row
 * (tally_imports.c); all of them and UINT32_MAX when they are Sonde's own start. */
size_t sd_tally_fold(struct sd_tally *t, uint32_t *row);
/* The row of one of its lines, the same. */
uint32_t sd_tally_line(struct sd_tally *t, uint32_t function, int32_t line);
#endif
