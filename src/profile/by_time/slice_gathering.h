/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_SLICE_GATHERING_H
#define SD_PROFILE_SLICE_GATHERING_H
/* slice_gathering: entries of slices (slices.h) while they are gathered, in any order.
 *
 * Slices become twice as long whenever there are too many entries. */
#include "profile/events.h"
#include "profile/slices.h"
#include "profile/triples.h"

struct sd_slice_gathering {
    const struct sd_profile *p;           /* borrowed */
    const struct sd_stack_totals *totals; /* of the profile's evidence */
    struct sd_triples keys;               /* slice, total, set of sections */
    int64_t *values[SD_SAMPLE_METRICS];   /* owned; by key */
    uint32_t n_columns;                   /* of values; of those that the totals have */
    size_t cap, limit;
    uint64_t slice_ns;
    /* What was looked up last: samples of one stack follow each other. */
    struct sd_triple last_which, last_key; /* a total; a key */
    uint32_t last_total, last_place;
    bool has_last_total, has_last_place;
};

void sd_slice_gathering_init(struct sd_slice_gathering *g, const struct sd_profile *p,
                             enum sd_evidence e);
/* The entry of this moment, new or old; places before may have moved. */
int sd_slice_gathering_place(struct sd_slice_gathering *g, uint64_t time_ns,
                             uint32_t total, uint32_t set, uint32_t *at);
/* A sample of a total that the profile has; one that it had no room for is left out. */
int sd_slice_gathering_add_sample(struct sd_slice_gathering *g,
                                  const struct sd_event *e, uint32_t set);
void sd_slice_gathering_release(struct sd_slice_gathering *g);

/* Goes through the events of all files; times are those of each recording, which counts
 * once. */
struct sd_slice_walk {
    const struct sd_profile *p;
    const struct sd_filter *filter; /* or NULL */
    bool has_calls;                 /* calls over time, with their stacks, too */
    int (*take)(void *of, uint32_t recording, const struct sd_event *e);
    void *of;
};
int sd_slice_walk(const struct sd_slice_walk *w, const char *const *paths, size_t n);
/* Begins with the sections of all files. */
int sd_slices_add_sections(struct sd_slices *s, struct sd_slice_gathering *g,
                           const char *const *paths, size_t n,
                           const struct sd_filter *filter);
/* Fills the entries of `s` in their order.  0 or SD_ENOMEM. */
int sd_slices_settle(struct sd_slices *s, const struct sd_slice_gathering *g);
/* The same, of a capture without sections. */
int sd_slices_of_gathering(struct sd_slices *s, const struct sd_slice_gathering *g);
#endif
