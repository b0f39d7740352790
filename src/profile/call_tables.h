/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_TABLES_H
#define SD_PROFILE_CALL_TABLES_H
/* call_tables: turns the cells of traced calls (capture/call_cell.h) into events.
 *
 * A table is one thread's tree, and the pairs of calls beyond it.  Its cells come chunk
 * by chunk, and a name may be defined in a later chunk than the cell that has it, so a
 * table is gathered first and understood at the end of its stream; then each cell is an
 * event: a stack with what its newest function did itself; then each pair is one.
 * Calls beyond the tree that were open count with what had ended in them.
 *
 * Cells are foreign.  A parent must stand before its child, so there are no rings; one
 * that is not there (its chunk was lost, or the file lies) shows as "[lost name]".
 * Memory is bounded by the cells really there, whatever numbers they claim to have. */
#include "capture/call_cell.h"
#include "capture/cells.h"
#include "capture/pair_cell.h"
#include "profile/call_nodes.h"
#include "profile/events.h"
#include "profile/open_pairs.h"

struct sd_decoder;

/* The metrics of traced calls, all of them amounts that a function has for itself. */
enum sd_call_metric {
    SD_CALLS_CALLS,    /* starts and resumes, as cProfile counts */
    SD_CALLS_STARTS,   /* without resumes of generators and coroutines */
    SD_CALLS_TIME,     /* ns, without the cost of tracing */
    SD_CALLS_TRACING,  /* ns of tracing that were subtracted */
    SD_CALLS_CPU_TIME, /* ns of the thread's CPU time, where it was measured */
    SD_CALLS_AWAITED,  /* ns that coroutines were suspended */
    SD_CALLS_METRICS
};

/* The fact that names threads of which calls are missing, one each. */
#define SD_CALLS_LOST_IN "lost_calls.thread"

struct sd_call_piece { /* cells that follow each other */
    uint64_t first;    /* number of the first */
    size_t at, n;      /* where they are in `cells` */
};

struct sd_call_tables {         /* all zero is a fresh one */
    struct sd_call_cell *cells; /* owned; the root is the first, made up when lost */
    size_t n, cap;
    struct sd_call_piece *pieces; /* owned; by first */
    size_t n_pieces, cap_pieces;
    struct sd_pair_cell *pairs; /* owned */
    uint32_t *pair_numbers;     /* of the cells; rising; owned */
    size_t n_pairs, cap_pairs, cap_numbers;
    uint64_t end_of_pairs; /* number behind the last */
    struct sd_open_pairs open;
    uint64_t n_lost;    /* calls for whose pair there was no room */
    uint64_t n_refused; /* cells and chunks of them that cannot be */
    /* Once settled, by cell; owned. */
    struct sd_node *nodes;
    struct sd_calls_below *below; /* of the nodes that are beyond the tree */
    struct sd_pair *settled;      /* by pair, as all that follow; owned */
    struct sd_pair_total *totals;
    int64_t *times, *tracing, *cpu_times; /* ns */
    uint32_t *stacks;
    uint32_t track;
    uint64_t from_ns, to_ns; /* when it was traced */
    double ns_per_tick;
    size_t next;      /* cell to hand out; 0: none */
    size_t next_pair; /* behind the cells */
    sd_metric_id metrics[SD_CALLS_METRICS];
    bool has_metrics;
    int64_t values[SD_CALLS_METRICS]; /* of the event handed out last */
};

/* Takes the cells of a chunk.  0 or SD_ENOMEM. */
int sd_call_tables_add(struct sd_call_tables *t, const struct sd_cells_view *view);
/* The calls that the cells of a chunk count. */
uint64_t sd_call_tables_count(const struct sd_cells_view *view);
/* The stream has ended: understands what was gathered, in ids of the decoder's table.
 * Facts about the tree go into the profile.  0 or < 0. */
int sd_call_tables_settle(struct sd_call_tables *t, struct sd_decoder *d);
/* True: *e is the next cell's event, borrowed until the next. */
bool sd_call_tables_next(struct sd_call_tables *t, struct sd_event *e);
void sd_call_tables_release(struct sd_call_tables *t);
#endif
