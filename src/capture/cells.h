/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CELLS_H
#define SD_CAPTURE_CELLS_H
/* cells: a live table whose cells are updated in place, for what is counted instead of
 * logged.
 *
 * Cells of one size, numbered from 0, are added at the end and updated in place; they
 * never move.  What they refer to (names, sites) is defined before, through the same
 * records as in a log, and keeps its id for the whole table.  Backed by a file of the
 * live folder a table is read as it stands after any death; on anonymous memory (no
 * writer) it serves results that stay in the process, at the same price.
 *
 * One thread writes a table.  Memory grows by segments of 256 KiB. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/record.h"

struct sd_writer;
struct sd_chunk_view;

enum { SD_SEGMENT = 256 * 1024, SD_SEGMENT_HEAD = 32, SD_MAX_SEGMENTS = 8192 };
#define SD_NO_CELL UINT32_MAX

struct sd_segment {        /* the first bytes of each; also those of a CELLS chunk */
    uint32_t magic;        /* SD_SEGMENT_MAGIC */
    uint16_t type;         /* SD_CHUNK_DEFS or SD_CHUNK_CELLS */
    uint16_t kind;         /* what the cells are: the collector's number */
    uint32_t cell_bytes;   /* a multiple of 8 */
    _Atomic uint32_t used; /* bytes behind this head: whole records, or whole cells */
    uint64_t first;        /* index of the first cell */
    uint64_t zero;
};
_Static_assert(sizeof(struct sd_segment) == SD_SEGMENT_HEAD, "on disk");
enum { SD_SEGMENT_MAGIC = 0x53474553 /* "SEGS" */ };

struct sd_cells;

/* A table of this writer's process, or, with NULL, on anonymous memory. */
int sd_cells_new(struct sd_writer *w, uint16_t kind, uint32_t cell_bytes,
                 struct sd_cells **out);
/* Another kind of cells in the same table, new or known, with the definitions, the file
 * and the life of the first: numbered from 0 by themselves, and freed with it. */
int sd_cells_beside(struct sd_cells *t, uint16_t kind, uint32_t cell_bytes,
                    struct sd_cells **out);
/* Adds a cell with this content and returns its index; SD_NO_CELL when there is no
 * memory or no disk (counted), or when this is a child of fork. */
uint32_t sd_cells_add(struct sd_cells *t, const void *cell);
/* The cell; the pointer stays good until the table is freed. */
void *sd_cells_at(const struct sd_cells *t, uint32_t index);
uint32_t sd_cells_n(const struct sd_cells *t);
/* Times that room for cells ran out, and what sd_cells_lose told of. */
uint64_t sd_cells_lost(const struct sd_cells *t);
/* So many more of whatever the cells count are in none of them. */
void sd_cells_lose(struct sd_cells *t, uint64_t n);
/* The collector counts itself what finds no room: why there was none is all that the
 * capture is told of it. */
void sd_cells_counts_itself(struct sd_cells *t);
/* For a table that found no room for its first cell: takes back what it counted as
 * lost, because sd_writer_lose_table counts the whole table, and fails with the
 * reason. */
int sd_cells_refused(struct sd_cells *t);
/* Where the cell stands that sd_cells_at gave: a look into each segment. */
uint32_t sd_cells_index(const struct sd_cells *t, const void *cell);
/* False in a child of fork when a file is behind it: the cells are the parent's, and
 * nothing may be stored.  Anonymous memory is the child's own copy. */
bool sd_cells_is_ours(const struct sd_cells *t);

/* Its segments, those with definitions among them, in the order of their numbers. */
uint32_t sd_cells_n_segments(const struct sd_cells *t);
const struct sd_segment *sd_cells_segment(const struct sd_cells *t, uint32_t i);

/* Each gives the id, or 0 when it cannot be stored. */
uint32_t sd_cells_define_string(struct sd_cells *t, const char *s, size_t n);
uint32_t sd_cells_define_site(struct sd_cells *t, enum sd_site_kind kind, uint32_t name,
                              uint32_t file, uint32_t line, uint32_t parent);
uint32_t sd_cells_define_function(struct sd_cells *t, enum sd_site_flags flags,
                                  uint32_t name, uint32_t label, uint32_t file,
                                  uint32_t line);
/* A signature of the function `parent`, and after it the size of an argument (false: it
 * cannot be stored). */
uint32_t sd_cells_define_signature(struct sd_cells *t, uint32_t name, uint32_t label,
                                   uint32_t file, uint32_t line, uint32_t parent);
struct sd_cells_size {
    uint32_t site, name;
    uint16_t argument;
    uint8_t kind; /* enum sd_size_kind */
    uint8_t n_dims;
    const int64_t *dims;
};
bool sd_cells_put_size(struct sd_cells *t, const struct sd_cells_size *size);
uint32_t sd_cells_define_track(struct sd_cells *t, enum sd_track_kind kind,
                               uint32_t parent, uint64_t number, uint64_t start,
                               uint32_t name);
/* One moment on the clock of the table's ticks and on CLOCK_MONOTONIC.  False: it
 * cannot be stored. */
bool sd_cells_put_clock(struct sd_cells *t, enum sd_clock_kind kind, uint64_t ticks,
                        uint64_t mono_ns);

/* The table's stream in the capture; 0 on anonymous memory. */
uint64_t sd_cells_stream(const struct sd_cells *t);
/* Definitions made since *mark, which is 0 at first: whole records, as many as `most`
 * bytes hold and one at least; *mark moves behind them.  NULL: there are none. */
const void *sd_cells_definitions(const struct sd_cells *t, uint64_t *mark, size_t most,
                                 size_t *n);

/* Says that it will not change any more and unmaps it; before the writer is left. */
void sd_cells_free(struct sd_cells *t);

/* A CELLS chunk as the reader hands it out.  False when it is not sound. */
struct sd_cells_view {
    uint16_t kind;
    uint32_t cell_bytes, n;
    uint64_t first;
    const uint8_t *cells; /* n * cell_bytes, 8-byte aligned; borrowed from the view */
};
bool sd_cells_of_chunk(const struct sd_chunk_view *view, struct sd_cells_view *out);
#endif
