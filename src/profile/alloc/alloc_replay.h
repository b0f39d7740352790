/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_REPLAY_H
#define SD_PROFILE_ALLOC_REPLAY_H
/* alloc_replay: replays the allocations and frees of one process in their order and
 * adds up what each place (a stack of a thread) allocated, kept, and held at the peak.
 *
 * The peak is exact, to the byte and for every place, though only what is live is
 * known: each new peak of the process has a number, its epoch.  A place that is about
 * to change looks whether there was a peak since it last noted what it held; then it
 * notes that now, before the change.  So a peak costs one addition, however many
 * places there are.
 *
 * The time of an event is the latest that any thread of the process has told.  Within a
 * window of time totals, leaks and temporaries are of blocks that began inside; the
 * peak is that of all live blocks while the window is open. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/alloc/alloc_events.h"
#include "profile/alloc/alloc_blocks.h"
#include "profile/alloc/alloc_maps.h"
#include "profile/alloc/alloc_tables.h"
#include "profile/intervals.h"

/* One amount of what is live, in bytes and blocks, and its variance when sampled. */
struct sd_alloc_amount {
    uint64_t bytes, blocks;
};

struct sd_alloc_place {
    struct sd_alloc_amount live, peak, all; /* peak: as of `epoch` */
    uint64_t epoch;
    uint32_t thread, stack;                     /* stack: of the profile */
    struct sd_alloc_amount temporary, kept, at; /* kept: live, and began inside */
    uint32_t flags;                             /* enum sd_alloc_total_flags */
    bool is_heap; /* counts in the process: heap, on a track that was chosen */
};
/* The variances of its bytes. */
struct sd_alloc_variance {
    double live, peak, all, temporary, kept, at;
};

enum sd_alloc_freed {
    SD_FREED_NOTHING,
    SD_FREED_UNKNOWN,
    SD_FREED_BLOCK,
    SD_FREED_MAP
};

struct sd_alloc_thread_state {
    uint32_t track;
    uint32_t n_begun; /* blocks that it has allocated; wraps */
    bool is_chosen;
    uint32_t last_cell, last_place; /* of its allocation before; UINT32_MAX: none */
    uint32_t **pages; /* owned; by cell / 64 (or cell, with sizes): places + 1 */
    enum sd_alloc_freed freed; /* what its last free ended, for an undo: ... */
    struct sd_alloc_block freed_block;
    struct sd_alloc_map freed_map;
    bool was_temporary, was_inside;
};

/* What is known when a thread has told the time. */
struct sd_alloc_moment {
    uint64_t ns; /* from the capture's zero */
    uint64_t live_bytes;
    uint64_t high_bytes; /* the most that were live since it was told before */
    uint64_t rss;        /* 0: not read */
};

/* What a replay is told before it begins. */
struct sd_alloc_setting {
    const struct sd_alloc_table *table; /* NULL: all stacks are lost */
    struct sd_alloc_choice choice;
    uint64_t zero_ns;                        /* CLOCK_MONOTONIC of the capture's zero */
    uint64_t from_ns, to_ns;                 /* the window, from there; to 0: no end */
    const struct sd_intervals *section;      /* when it was open, or NULL */
    uint64_t moments_from_ns, moments_to_ns; /* what growth is looked at over */
    double sample_bytes;                     /* 0: every block is there */
    uint32_t lost_stack;
    /* Called whenever a thread has told the time, and at the end. */
    int (*at_time)(void *of, const struct sd_alloc_moment *now);
    void *of;
};

struct sd_alloc_replay {
    struct sd_alloc_setting how;
    struct sd_alloc_blocks blocks;
    struct sd_alloc_maps maps;
    struct sd_alloc_place *places;       /* owned */
    struct sd_alloc_variance *variances; /* owned; by place; NULL unless sampled */
    size_t n_places, cap_places, cap_variances;
    struct sd_alloc_thread_state *threads; /* owned */
    size_t n_threads, cap_threads;
    struct sd_table thread_of;     /* track to number */
    uint64_t live_bytes;           /* of the heap */
    uint64_t high_bytes;           /* the most since the time was told */
    uint64_t now_ns;               /* from the capture's zero */
    bool is_inside;                /* the window is open ... */
    bool is_past;                  /* ... or will not open any more */
    uint64_t epoch;                /* number of the peak */
    struct sd_alloc_process facts; /* blocks that were freed, the peak, ... */
    uint64_t least_rise; /* of a new peak over the one before; 0: an equal one counts */
    bool has_window, is_at_past;
    int64_t *moments; /* owned; by place and moment; grows with the places */
    size_t cap_moments, n_moments;
};

int sd_alloc_replay_init(struct sd_alloc_replay *r, const struct sd_alloc_setting *how);
/* The number of a thread, by its track; *thread.  0 or SD_ENOMEM. */
int sd_alloc_replay_thread(struct sd_alloc_replay *r, uint32_t track, bool is_chosen,
                           uint32_t *thread);
/* The time is told: CLOCK_MONOTONIC, and resident bytes or 0. */
int sd_alloc_replay_time(struct sd_alloc_replay *r, uint64_t mono_ns, uint64_t rss);
/* hot: replays the events of a record up to the next run, of which *order is then the
 * number; 1: there is one; 0: the record has ended; < 0: failure. */
int sd_alloc_replay_run(struct sd_alloc_replay *r, uint32_t thread,
                        struct sd_alloc_cursor *c, uint64_t *order);
/* There is no more: settles the peak and what is left. */
int sd_alloc_replay_end(struct sd_alloc_replay *r);
void sd_alloc_replay_release(struct sd_alloc_replay *r);
#endif
