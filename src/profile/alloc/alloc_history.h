/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_HISTORY_H
#define SD_PROFILE_ALLOC_HISTORY_H
/* alloc_history: every allocation and free of one process of a capture, one after the
 * other in the order in which they happened.
 *
 * For those who want each event: they have no other way to them, as a profile keeps
 * sums alone.  A run of events is at hand at a time, so memory follows the blocks that
 * are live, as in a replay (alloc_replay.h), and the stacks. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_alloc_history;
struct sd_profile;

enum sd_alloc_change_kind {
    SD_ALLOC_CHANGE_BEGAN,
    SD_ALLOC_CHANGE_FREED,    /* a block, known or not */
    SD_ALLOC_CHANGE_UNMAPPED, /* this range, with whatever was mapped there ... */
    SD_ALLOC_CHANGE_CUT,      /* ... of which this was a mapping, or a part of one */
    SD_ALLOC_CHANGE_TIME,     /* the time was told, and RSS */
};

struct sd_alloc_change {
    enum sd_alloc_change_kind kind;
    uint32_t track; /* the thread that did it */
    uint64_t address, size;
    /* Of the block, whoever freed it; by SD_BY_NONE: it is from before the recording.
     */
    uint32_t by;         /* enum sd_allocator, with the function of a domain */
    uint32_t stack;      /* of the profile; UINT32_MAX: no frame */
    uint32_t begun_by;   /* track */
    uint32_t n_times;    /* TIMEs before it began; of a TIME: before it */
    bool is_whole;       /* CUT: nothing of the mapping is left */
    uint64_t ns;         /* from the capture's zero: the latest time that was told */
    uint64_t live_bytes; /* TIME: of the heap */
    uint64_t rss;        /* TIME: bytes */
};

/* Of the process with this pid, or, with 0, of the one that was recorded first.  Of two
 * TIMEs in less than so many milliseconds only the first is told.  SD_EUSAGE when the
 * capture has no such process, or only sums of it. */
int sd_alloc_history_open(const char *path, uint64_t pid, uint64_t every_ms,
                          struct sd_alloc_history **out);
/* hot: 1: *change is the next; 0: the end; < 0. */
int sd_alloc_history_next(struct sd_alloc_history *h, struct sd_alloc_change *change);
/* Names, stacks and tracks: borrowed until the history is freed. */
const struct sd_profile *sd_alloc_history_profile(const struct sd_alloc_history *h);
/* The process that it is of. */
uint32_t sd_alloc_history_process(const struct sd_alloc_history *h);
void sd_alloc_history_free(struct sd_alloc_history *h);

/* The one of these tracks that has this pid, or with 0 the first of those whose parent
 * is none of them; UINT32_MAX: there is none. */
uint32_t sd_alloc_history_choose(const struct sd_profile *p, const uint32_t *processes,
                                 size_t n, uint64_t pid);
#endif
