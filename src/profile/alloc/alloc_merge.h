/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_MERGE_H
#define SD_PROFILE_ALLOC_MERGE_H
/* alloc_merge: puts the events of all threads of a process in the order in which they
 * happened, and hands them to a replay or another listener.
 *
 * Each stream of a capture has its runs in order, and every run has a number of the
 * whole process.  So this is a merge of streams by the number of the run at hand: each
 * has one chunk open, and a heap says whose turn it is.  A number that is missing, as
 * its chunk is lost, is passed. */
#include "profile/alloc/alloc_replay.h"

struct sd_decoder;

/* The chunks of the type ALLOC of one stream, and the table that its records name. */
struct sd_alloc_stream {
    size_t from, to; /* numbers of the reader */
    uint64_t table;
    uint64_t first_ns, last_ns; /* as the heads of the chunks tell, CLOCK_MONOTONIC */
};

struct sd_alloc_streams {          /* all zero is a fresh one */
    struct sd_alloc_stream *items; /* owned; by table */
    size_t n, cap;
    uint64_t lost; /* events that found no room */
};

/* Finds them: opens a chunk of each.  0 or SD_ENOMEM. */
int sd_alloc_streams_find(struct sd_alloc_streams *s, struct sd_decoder *d);
void sd_alloc_streams_release(struct sd_alloc_streams *s);

/* Who hears of the events of all threads, in their order. */
struct sd_alloc_listener {
    /* A thread, by its track; its number.  0 or < 0. */
    int (*thread)(void *of, uint32_t track, uint32_t *thread);
    /* The time is told: CLOCK_MONOTONIC. */
    int (*time)(void *of, uint64_t mono_ns);
    /* Takes events of that thread up to the next run, of which *order is then the
     * number; 1: there is one; 0: the record has ended; < 0: failure. */
    int (*run)(void *of, uint32_t thread, struct sd_alloc_cursor *c, uint64_t *order);
    void *of;
};

/* A merge that is taken a run at a time: */
struct sd_alloc_merge;
/* Of these streams, which are all of one table; they need not stay. */
int sd_alloc_merge_open(struct sd_decoder *d, const struct sd_alloc_stream *streams,
                        size_t n, const struct sd_alloc_listener *to,
                        struct sd_alloc_merge **out);
/* Hands over one run.  1: there may be more; 0: that was the end; < 0. */
int sd_alloc_merge_step(struct sd_alloc_merge *m);
void sd_alloc_merge_free(struct sd_alloc_merge *m);

/* Is this track among the chosen ones?  1, 0, or < 0. */
typedef int sd_alloc_is_chosen(void *of, uint32_t track);
/* Replays these streams, which are all of one table. */
int sd_alloc_merge(struct sd_decoder *d, const struct sd_alloc_stream *streams,
                   size_t n, sd_alloc_is_chosen *is_chosen, void *of,
                   struct sd_alloc_replay *r);
#endif
