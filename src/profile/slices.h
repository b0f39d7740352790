/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_SLICES_H
#define SD_PROFILE_SLICES_H
/* slices: samples by time: what each slice of it holds of every total of a profile.
 *
 * Totals have no time.  Who wants those of any stretch of time, or of the moments in
 * which a section was open, without reading the capture again, adds up slices.  Sums
 * equal those of a profile that is loaded with the filter (--from, --to, --section,
 * --track), where the ends are ends of slices.
 *
 * Of several captures each has its own time, from its own beginning, as filters have:
 * a second of ten ranks that began one after the other is the same second of each, and
 * runs of different days lie one upon the other.
 *
 * A slice is a millisecond long, or that doubled as often as it takes for the entries
 * to be no more than SD_SLICES_MAX; sums stay exact.  Where more stacks than that were
 * seen in all, there is one slice, with an entry for each. */
#include "profile/events.h"
#include "profile/by_time/section_sets.h"
#include "profile/triples.h"

enum {
    SD_SLICE_NS = 1000000,
#ifdef SD_TINY
    SD_SLICES_MAX = 64,
#else
    SD_SLICES_MAX = 1 << 18,
#endif
};

/* Where an entry belongs; its values stand beside it. */
struct sd_slice_entry {
    uint32_t slice;    /* from slice * slice_ns on, for slice_ns */
    uint32_t total;    /* of the profile's evidence: stack, track and flags */
    uint32_t sections; /* the set that was open */
};

struct sd_slices {
    uint64_t slice_ns;
    struct sd_slice_entry *entries; /* owned; by slice, total and set */
    size_t n;
    int64_t *values[SD_SAMPLE_METRICS]; /* owned; as the columns of the totals */
    uint32_t n_metrics;
    struct sd_section_sets sets;
    uint64_t n_untimed; /* totals of calls of which it is not known when they were: they
                           stand in the first slice */
    uint64_t n_uncertain; /* totals of which the timeline has another number of calls */
};

/* Which of them are added up. */
struct sd_slice_choice {
    uint32_t from, to; /* slices, both of them in it */
    uint32_t section;  /* its number in `sets`; UINT32_MAX: all the time */
};

/* `p` was loaded from these files, with this filter or NULL.  A recording that is there
 * twice counts once.  They are not read again where the profile has gathered its slices
 * while it was loaded (SD_LOAD_SLICES), which it hands over once.  On success the
 * caller releases it. */
int sd_slices_load(struct sd_slices *s, const struct sd_profile *p,
                   const char *const *paths, size_t n, const struct sd_filter *filter);
/* The same of traced calls whose timeline was recorded: a call's own time is where it
 * passed, that of the calls inside it not among it, and calls are where they begin.
 * What all slices have of a total is what the profile has of it, less the cost of
 * tracing, too: of a profile whose calls are those of a window (call_window.h), what
 * lies in that. */
int sd_call_slices_load(struct sd_slices *s, const struct sd_profile *p,
                        const char *const *paths, size_t n,
                        const struct sd_filter *filter);
/* Is it known of every call when it was?  If not, no part of them has exact sums. */
bool sd_call_slices_are_whole(const struct sd_profile *p, const struct sd_slices *s);
/* Adds the values of one column to those of each total, of which there are as many as
 * the profile has. */
void sd_slices_sum(const struct sd_slices *s, const struct sd_slice_choice *choice,
                   uint32_t column, int64_t *totals);
void sd_slices_release(struct sd_slices *s);
/* Those that are allocated alone, or NULL. */
void sd_slices_free(struct sd_slices *s);
#endif
