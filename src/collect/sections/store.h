/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SECTIONS_STORE_H
#define SD_COLLECT_SECTIONS_STORE_H
/* store: keeps the sections that one Profiler has measured in memory.
 *
 * One row per interval, in the order in which they began, repeats included; as
 * integers, in columns only for what was asked to be measured.  Rows never move: they
 * lie in segments that double in size, so a growing store copies nothing and touches
 * only the pages it fills; it stands inside the process whose memory is measured.
 *
 * Names are paths ("outer:inner").  A path is found step by step from its parent,
 * without building the joined text: that is done once per different path.  Every
 * failure leaves the store as it was. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"
#include "capture/record.h"
#include "collect/sections/sections.h"

#ifdef SD_TINY
enum { SD_STORE_FIRST = 2 }; /* rows of the first segment; the next has twice as many */
#else
enum { SD_STORE_FIRST = 16 };
#endif
enum {
    SD_STORE_SEGMENTS = 28, /* together 4e9 rows */
    SD_STORE_DEPTH = 1024,  /* deeper sections are named as if they stood at this depth:
                               every path is kept whole, so depth costs its square */
    SD_STORE_NONE = UINT32_MAX,
};

enum sd_field { /* what a row may hold */
                SD_FIELD_START,
                SD_FIELD_END, /* ns of the row's clock, see sd_row */
                SD_FIELD_START_VMS,
                SD_FIELD_END_VMS,
                SD_FIELD_START_RSS,
                SD_FIELD_END_RSS,
                SD_FIELD_PEAK,
                SD_FIELD_PSS,
                SD_FIELD_READ,
                SD_FIELD_WRITTEN,
                SD_FIELD_RECEIVED,
                SD_FIELD_SENT,
                SD_N_FIELDS,
};

enum sd_kind { SD_KIND_WALL, SD_KIND_CPU, SD_KIND_PROCESS, SD_N_KINDS };
/* How memory is shown: the row holds bytes whatever its unit. */
enum sd_size_unit { SD_SIZE_B, SD_SIZE_KB, SD_SIZE_MB, SD_SIZE_GB, SD_N_SIZE_UNITS };

enum sd_row_flags { SD_ROW_OPEN = 1, SD_ROW_RAISED = 2 };

struct sd_row {
    uint32_t entry; /* which path */
    uint32_t prev;  /* the row before it with the same path, or SD_STORE_NONE */
    uint8_t kind;   /* enum sd_kind: the clock of START and END.  Wall is ns since the
                       epoch; the others count from the thread's or process's start */
    uint8_t unit;   /* enum sd_size_unit; of both, the count of them is "not known" */
    uint8_t flags;  /* enum sd_row_flags */
    uint8_t pad;
    uint32_t tid; /* of the thread that began it; of a row from elsewhere 0 */
    /* When it was, in ns since the epoch, whatever its clock; 0: not known, not yet. */
    int64_t from_ns, to_ns;
    int64_t values[]; /* store->at[field]; SD_VALUE_NONE: not known */
};

struct sd_path_step { /* lives in the arena: sections keep pointers to it */
    struct sd_section_name name;
    const struct sd_path_step *parent;
    uint32_t id; /* from 1 */
    uint32_t entry;
};

struct sd_entry { /* one different path */
    const char *path;
    uint32_t n;
    uint32_t last;  /* its newest row */
    uint32_t count; /* rows */
};

struct sd_store {
    unsigned measure; /* enum sd_section_measure bits */
    int8_t at[SD_N_FIELDS];
    uint32_t row_bytes;
    uint32_t n_rows;
    uint32_t n_named; /* entries that have rows */
    uint8_t *segments[SD_STORE_SEGMENTS];
    struct sd_arena arena;
    uint32_t n_steps;
    struct sd_table steps; /* mix of parent and own part -> struct sd_path_step * */
    struct sd_entry *entries;
    size_t n_entries, cap_entries;
    struct sd_table by_path; /* hash of path -> entry */
};

void sd_store_init(struct sd_store *s, unsigned measure);
void sd_store_release(struct sd_store *s);

/* The step from `parent` (NULL: the top) named by these bytes; NULL without memory. */
const struct sd_path_step *sd_store_step(struct sd_store *s,
                                         const struct sd_path_step *parent,
                                         const char *name, uint32_t n);
/* The entry of a whole path, or SD_STORE_NONE. */
uint32_t sd_store_find(const struct sd_store *s, const char *path, size_t n);
/* The same, added when it is new: for rows that come from elsewhere. */
int sd_store_entry(struct sd_store *s, const char *path, size_t n, uint32_t *entry);

/* A new row, open, with nothing known.  SD_ENOMEM leaves nothing. */
int sd_store_open(struct sd_store *s, uint32_t entry, enum sd_kind kind,
                  enum sd_size_unit unit, uint32_t *at);
struct sd_row *sd_store_row(const struct sd_store *s, uint32_t at);
int64_t sd_store_get(const struct sd_store *s, const struct sd_row *row,
                     enum sd_field field);
/* A field that this store does not keep is left out. */
void sd_store_set(const struct sd_store *s, struct sd_row *row, enum sd_field field,
                  int64_t value);

/* What was read at the section's begin, and at its end.  `epoch_ns` is what to add to
 * CLOCK_MONOTONIC for the time since the epoch. */
void sd_store_begun(const struct sd_store *s, uint32_t at, const struct sd_section *m,
                    int64_t epoch_ns);
void sd_store_ended(const struct sd_store *s, uint32_t at, const struct sd_section *m,
                    int64_t epoch_ns, enum sd_row_flags raised);
#endif
