/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_MEMORY_MEMORY_CAPTURE_H
#define SD_CAPTURE_MEMORY_MEMORY_CAPTURE_H
/* memory_capture: makes a capture in memory, of tables that stayed in the process, of
 * spans, of a model or of timed statements.  What a program has measured for itself can
 * so be handed to whoever reads captures. */
#include "base/buf.h"
#include "capture/cells.h"
#include "capture/log.h"

enum { SD_WHOLE_VALUES = 32, SD_WHOLE_SHAPES = 8 };

struct sd_whole_how {
    const char *command; /* the fact "command": what was run; or NULL */
    double ns_per_tick;  /* of the tables' own clock; 0: they say it themselves */
};

struct sd_making; /* memory_chunks.h: a capture of several parts */

/* Adds tables to a capture in the making; with ns_per_tick theirs is another clock. */
int sd_whole_add_tables(struct sd_making *m, struct sd_cells *const *tables, size_t n,
                        double ns_per_tick);
/* Adds the bytes of a .sonde file.  0 or SD_ENOMEM. */
int sd_whole_capture(struct sd_cells *const *tables, size_t n,
                     const struct sd_whole_how *how, struct sd_buf *to);
/* The same of a model alone (the bytes that sd_model_write gives); SD_EFULL when they
 * are more than a file's 32 bits can tell. */
int sd_whole_model(const void *model, size_t n, const struct sd_whole_how *how,
                   struct sd_buf *to);

/* --- Batches of timed statements (memory_times.c) */

struct sd_time_batch;
struct sd_whole_fact {
    const char *key, *value;
};
struct sd_whole_times {
    const struct sd_whole_fact *facts;
    size_t n_facts;
    size_t n_processes;
    const void *of; /* handed to process() */
    /* Fills the ith: its pid, set, and batches. */
    void (*process)(const void *of, size_t i, uint64_t *pid, uint64_t *start,
                    uint32_t *set, const struct sd_time_batch **batches, size_t *n);
};
/* Adds the bytes of a .sonde file: a stream for each process, a point for each batch.
 */
int sd_whole_times(const struct sd_whole_times *t, const struct sd_whole_how *how,
                   struct sd_buf *to);

/* --- Spans of one process, and readings of it and its children (memory_spans.c) */

struct sd_whole_site { /* a section */
    const char *name;  /* its own part of the path, not ended by a 0 */
    uint32_t n;
    uint32_t parent; /* SD_NO_PARENT, or which of the sites it is in; no ring */
};
#define SD_NO_PARENT UINT32_MAX

struct sd_whole_span {
    uint32_t site;         /* which of them */
    uint32_t tid;          /* its thread; 0: not known, and the process has it */
    uint64_t thread_start; /* of the thread, in clock ticks since boot; 0: not known */
    uint32_t shape;        /* which of them */
    uint16_t flags; /* enum sd_span_flags; UNFINISHED: it is still open at `to` */
    uint64_t from, to;
    int64_t values[SD_WHOLE_VALUES]; /* one per metric of the shape */
};

struct sd_whole_point {
    uint64_t child; /* pid of a child process; 0: it is of the process itself */
    uint32_t shape; /* which of them */
    uint64_t at;
    int64_t values[SD_WHOLE_VALUES]; /* one per metric of the shape */
};

struct sd_whole_spans {
    const struct sd_whole_site *sites;
    uint32_t n_sites;
    const struct sd_metric_about *metrics; /* a NULL-ended list */
    const uint64_t *shapes; /* which of the metrics (bit i: the ith), at most
                               SD_WHOLE_VALUES; 0: none */
    uint32_t n_shapes;      /* at most SD_WHOLE_SHAPES */
    uint64_t pid, start_ticks;
    const char *process; /* its name, or NULL */
    const char *note;    /* a warning that readers pass on, or NULL */
    uint32_t n;          /* spans, in any order */
    const void *of;      /* handed to span() */
    /* Fills the ith; false: it is none. */
    bool (*span)(const void *of, uint32_t i, struct sd_whole_span *out);
    uint32_t n_points; /* readings, in the order of their times */
    void (*point)(const void *of, uint32_t i, struct sd_whole_point *out);
};

/* Adds them to a capture in the making, whose clock they have. */
int sd_whole_add_spans(struct sd_making *m, const struct sd_whole_spans *s);
/* Adds the bytes of a .sonde file.  Times are nanoseconds since the epoch, on both
 * clocks of the capture.  0 or SD_ENOMEM. */
int sd_whole_spans(const struct sd_whole_spans *s, const struct sd_whole_how *how,
                   struct sd_buf *to);
#endif
