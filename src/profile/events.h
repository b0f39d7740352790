/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_EVENTS_H
#define SD_PROFILE_EVENTS_H
/* events: a cursor over every event of a capture, in the profile's ids: streams in
 * their order, never all in memory. */
#include "profile/profile.h"

enum sd_event_kind {
    SD_EVENT_SPAN,
    SD_EVENT_POINT,
    SD_EVENT_SAMPLE,
    SD_EVENT_CALLS, /* all calls of a stack on a track, while it was traced.  Only a
                       profile that is loaded gets them */
    SD_EVENT_CALL,  /* one call, from its beginning to its end; who wants them says so.
                       Inner ones before outer ones */
    SD_EVENT_LINES, /* all hits of the line `flags` of a function (site), with values by
                       enum sd_line_value and no metrics.  Only a profile that is loaded
                       gets them */
    SD_EVENT_PAIRS, /* all calls of a function (site) by the site `flags`, UINT32_MAX:
                       by none, that are in no stack, with values by enum sd_pair_value
                       and no metrics.  Only a profile that is loaded gets them */
    SD_EVENT_WHOLE_PAIRS, /* the same of functions whatever their signatures are: what
                             is no sum over these.  Calls, starts and own times are 0 */
    SD_EVENT_CALLS_RUN, /* many of those: `flags` of them began.  Only while loading */
};

struct sd_event { /* borrowed until the next */
    enum sd_event_kind kind;
    sd_track_id track;
    sd_site_id site;         /* of a span or call */
    sd_stack_id stack;       /* of a sample or calls, or SD_NO_STACK */
    uint64_t from_ns, to_ns; /* from the capture's zero; only a span's and call's
                                differ */
    uint32_t flags;          /* enum sd_span_flags or sd_sample_flags */
    const sd_metric_id *metrics;
    const int64_t *values;
    uint32_t n_values;
};

/* One total of evidence that has no events, traced calls or allocations, as an event
 * without a time.  `values` is the room for what it has, SD_SAMPLE_METRICS. */
struct sd_event sd_event_of_total(const struct sd_profile *p, enum sd_evidence evidence,
                                  size_t i, int64_t *values);

struct sd_events;
/* `p` must have been loaded from this path; it and `filter` are borrowed while open. */
int sd_events_open(const struct sd_profile *p, const char *path,
                   const struct sd_filter *filter, struct sd_events **out);
/* From the next event on: calls over time, too (SD_EVENT_CALL). */
void sd_events_want_calls(struct sd_events *e);
/* The same with their stacks in the profile; SD_NO_STACK where it has none of those
 * calls, or nobody knows what called them. */
void sd_events_want_call_stacks(struct sd_events *e);
int sd_events_next(struct sd_events *e,
                   struct sd_event *out); /* 1, 0 at the end, < 0 */
/* Which capture of the file the last event is of, from 0. */
uint32_t sd_events_capture(const struct sd_events *e);
/* When the recording of that began, by CLOCK_REALTIME and CLOCK_MONOTONIC: no two have
 * the same. */
struct sd_recording_time {
    uint64_t real_ns, mono_ns;
};
struct sd_recording_time sd_events_recording(const struct sd_events *e);
/* From its zero to the profile's, which is part of the times of events. */
uint64_t sd_events_later_ns(const struct sd_events *e);
void sd_events_free(struct sd_events *e);
#endif
