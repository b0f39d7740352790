/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_TOTALS_H
#define SD_PROFILE_ALLOC_TOTALS_H
/* alloc_totals: what a profile holds of allocations: amounts of every stack, and facts
 * about each process.
 *
 * The evidence `allocations` is made of them (alloc_evidence.h).  They hold more than
 * it: sizes, errors of samples, memory over time, and mappings that are no heap. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is worked out besides.  All zero: nothing, and a temporary block lives for one
 * other allocation at most. */
struct sd_alloc_choice {
    bool has_at;        /* what was live at a moment, ... */
    uint64_t at_ns;     /* ... from the capture's zero */
    bool has_sizes;     /* blocks of different sizes apart */
    bool has_last_peak; /* of equal peaks the last is shown, not the first */
    bool has_growth;    /* what was live at moments over the run */
    bool has_between;   /* a temporary block is freed with at most ... */
    uint64_t n_between; /* ... so many other allocations of its thread in between */
};

enum sd_alloc_value {
    SD_ALLOCS_PEAK_BYTES, /* live at the peak of the process */
    SD_ALLOCS_PEAK_BLOCKS,
    SD_ALLOCS_LEAKED_BYTES, /* live at the end */
    SD_ALLOCS_LEAKED_BLOCKS,
    SD_ALLOCS_TEMPORARY_BYTES, /* freed soon */
    SD_ALLOCS_TEMPORARIES,
    SD_ALLOCS_BYTES, /* in all */
    SD_ALLOCS_BLOCKS,
    SD_ALLOCS_LIVE_BYTES, /* at the moment of the choice */
    SD_ALLOCS_LIVE_BLOCKS,
    SD_ALLOCS_VALUES
};
enum { SD_ALLOCS_PAIRS = SD_ALLOCS_VALUES / 2 }; /* of bytes and blocks */

enum sd_allocs_mode { SD_ALLOCS_FULL, SD_ALLOCS_AGGREGATE, SD_ALLOCS_SAMPLE };

enum sd_alloc_total_flags {
    SD_ALLOCS_BY = 0xff,     /* enum sd_allocator */
    SD_ALLOCS_CLASS = 0x100, /* times the class of sizes + 1; 0: not told apart */
    SD_ALLOCS_CLASSES = 0xff00,
    SD_ALLOCS_APART = 0x10000, /* no heap: only shown by allocator */
};

/* The class of a size: 0 for 0, k for those from 2^(k - 1) on. */
static inline unsigned sd_alloc_class(uint64_t size)
{
    return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}
enum { SD_ALLOC_CLASSES = 64 }; /* sizes are below 2^63 */

enum { SD_ALLOC_MOMENTS = 16 }; /* of growth: ends of equal parts of the run */

struct sd_alloc_total {
    uint32_t stack, track; /* UINT32_MAX: no frame */
    uint32_t flags;        /* enum sd_alloc_total_flags */
    uint32_t process;      /* its place in `processes` */
    int64_t values[SD_ALLOCS_VALUES];
    double variances[SD_ALLOCS_PAIRS]; /* of the bytes, where they were sampled */
};

struct sd_alloc_process {
    uint32_t track; /* UINT32_MAX: not known */
    uint64_t frees, unknown_frees, overlaps;
    uint64_t peak_bytes, peak_ns;      /* when, from the capture's zero */
    uint64_t peak_rss, rss_live_bytes; /* and the live bytes then; 0: never read */
    bool is_part; /* of some of its threads alone, so these two are not of one thing */
};

struct sd_alloc_totals {          /* all zero is a fresh one */
    struct sd_alloc_total *items; /* owned; several may be of one stack */
    size_t n, cap;
    int64_t *moments; /* owned; live bytes at each moment, item after item; NULL unless
                         chosen */
    size_t cap_moments;
    struct sd_alloc_process *processes; /* owned */
    size_t n_processes, cap_processes;
    uint32_t largest;              /* of them: the first with the largest peak */
    struct sd_alloc_choice choice; /* that they were made with */
    enum sd_allocs_mode mode;
    bool is_recorded; /* allocations were, whether there are any */
    bool has_modes;   /* several: of captures that are merged */
    uint64_t lost;    /* events that found no room */
};

/* The name of the allocator ("malloc") in the flags of a total, or NULL. */
const char *sd_alloc_total_allocator(uint32_t flags);
/* `moments` is NULL unless chosen.  0 or SD_ENOMEM. */
int sd_alloc_totals_add(struct sd_alloc_totals *t, const struct sd_alloc_total *one,
                        const int64_t moments[SD_ALLOC_MOMENTS]);
int sd_alloc_totals_add_process(struct sd_alloc_totals *t,
                                const struct sd_alloc_process *one);
/* The place of the process with the largest peak; UINT32_MAX: there is none. */
uint32_t sd_alloc_totals_largest(const struct sd_alloc_totals *t);
/* The sum of a value over the heap: of the largest process, for what is of a peak. */
int64_t sd_alloc_totals_sum(const struct sd_alloc_totals *t, enum sd_alloc_value v);
/* Whether this can be known of how they were recorded. */
bool sd_alloc_totals_know(const struct sd_alloc_totals *t, enum sd_alloc_value v);
void sd_alloc_totals_release(struct sd_alloc_totals *t);
#endif
