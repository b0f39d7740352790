/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_PROFILE_H
#define SD_PROFILE_PROFILE_H
/* profile: a capture as the reports see it.
 *
 * Names, sites, tracks and metrics of all streams, unified, and the aggregates
 * over events; all in one arena.  Events themselves are never all held: totals are
 * built while they stream by, and who wants each one walks them again (events.h).  So a
 * capture of 1e8 events needs the memory of its different names.
 *
 * Metrics are data: nothing here knows what "rss" is. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/intern.h"
#include "base/matcher.h"
#include "capture/capture.h" /* SD_STATUS_UNKNOWN */
#include "capture/reader.h"
#include "profile/alloc/alloc_totals.h"
#include "profile/evidence.h"
#include "profile/intervals.h"
#include "profile/lines/line_totals.h"
#include "profile/model/models.h"
#include "profile/pair_totals.h"
#include "profile/time/timings.h"

typedef struct {
    uint32_t at;
} sd_string_id;
typedef struct {
    uint32_t at;
} sd_site_id;
typedef struct {
    uint32_t at;
} sd_track_id;
typedef struct {
    uint32_t at;
} sd_metric_id;
typedef struct {
    uint32_t at;
} sd_stack_id;
#define SD_NO_SITE ((sd_site_id){ UINT32_MAX })
#define SD_NO_TRACK ((sd_track_id){ UINT32_MAX })
#define SD_NO_STACK ((sd_stack_id){ UINT32_MAX })

/* How much an argument of a signature held. */
struct sd_size {
    const char *name;       /* its parameter's */
    uint32_t argument;      /* its number, from 0 */
    enum sd_size_kind kind; /* without the bit */
    bool is_rounded;
    uint32_t n_dims;
    const int64_t *dims; /* none below 0 */
};

struct sd_site {
    enum sd_site_kind kind;
    const char *name; /* "inner" */
    const char *path; /* "outer:inner": parents' names joined */
    const char *file; /* or NULL */
    uint32_t line;
    sd_site_id parent; /* the section around a section; a signature's function */
    const char *label; /* signature, or NULL; of a function its qualified name */
    bool is_native;    /* compiled code: `file` is its library */
    bool is_beyond;    /* no function: calls beyond a full tree (capture/call_cell.h) */
    uint16_t twin;     /* tells functions of one name, file and line apart */
    /* Of a signature, whose name is the whole of it ("dot(a:list, b:list)"): the sizes
     * of those arguments that have one. */
    const struct sd_size *sizes;
    uint32_t n_sizes;
};

struct sd_track {
    enum sd_track_kind kind;
    sd_track_id parent;
    uint64_t number, start;
    const char *name;    /* the latest it had, or NULL */
    const char *command; /* by which a process was started, or NULL */
    const char *host;    /* of the capture it stands in, or NULL */
    /* Times of its first and last event, from the capture's zero and within the window
     * of a filter; first > last: none. */
    uint64_t first_ns, last_ns;
    int32_t status; /* of a process that said how it ended; SD_STATUS_UNKNOWN */
};

struct sd_metric {
    const char *name;
    enum sd_unit unit;
    enum sd_adds adds;
    const char *meaning;
};

/* What is known of one metric over many events. */
struct sd_sum {
    uint64_t n; /* values seen; SD_VALUE_NONE does not count */
    /* By the metric's `adds`: the sum (of levels too: total / n is their mean), last -
     * first of a counter, the largest of peaks.  Saturates. */
    int64_t total;
    int64_t min, max, first, last;
};

/* All spans of one site on one track. */
struct sd_span_total {
    sd_site_id site;
    sd_track_id track;
    uint64_t count, n_raised, n_unfinished;
    uint64_t first_ns, last_ns; /* first begin, last end */
    struct sd_sum wall;         /* of their lengths; total is the sum */
    struct sd_sum *values;      /* n_metrics of the profile; n 0 where not measured */
    struct sd_intervals when;   /* its spans, thinned to SD_SPAN_INTERVALS */
};
enum { SD_SPAN_INTERVALS = 512 };

/* One frame on top of its parent's.  A parent has a smaller id than what stands on it,
 * so walking ids downwards meets children before parents. */
struct sd_stack {
    sd_stack_id parent; /* or SD_NO_STACK: the outermost frame */
    sd_site_id site;
    uint32_t line; /* being executed; 0: not known */
};

/* All samples of one stack on one track under the same flags, or all calls that were
 * traced along it; how many and how long is in the values beside it. */
struct sd_sample_total {
    sd_stack_id stack; /* or SD_NO_STACK: no frame */
    sd_track_id track;
    uint32_t flags; /* enum sd_sample_flags; 0 of calls */
};
enum { SD_SAMPLE_METRICS = 8 };

/* What was seen of stacks.  The metrics it is known by, and of each the amount of every
 * total: that of the newest frame alone, none below 0; they saturate. */
struct sd_stack_totals {
    struct sd_sample_total *items; /* owned */
    size_t n, cap;
    sd_metric_id metrics[SD_SAMPLE_METRICS];
    int64_t *values[SD_SAMPLE_METRICS]; /* owned; n each */
    uint32_t n_metrics;
};

/* What a profile holds of one evidence, by the evidence's shape; all zero is nothing.
 */
union sd_evidence_data {
    struct sd_stack_totals stacks;
    struct sd_line_totals lines; /* of chosen functions */
    struct sd_models models;     /* that were profiled */
    struct sd_timings timings;   /* of statements */
};

/* One metric's readings on one track, thinned to a bounded number of buckets. */
struct sd_series_bucket {
    uint64_t from_ns, to_ns; /* of its first and last reading */
    int64_t min, max, last;
};
struct sd_series {
    sd_track_id track;
    sd_metric_id metric;
    struct sd_sum sum;
    struct sd_series_bucket *buckets; /* owned; in order of time, none empty */
    uint32_t n_buckets, cap_buckets;
    uint64_t bucket_ns; /* width now; doubles when they would pass SD_SERIES_BUCKETS */
};
enum { SD_SERIES_BUCKETS = 4096 };

struct sd_note {
    enum sd_note_kind kind;
    uint64_t time_ns;
    const char *text;
    sd_track_id track;
};
struct sd_meta {
    const char *key, *value;
};

/* Which events count.  All zero: all of them.  A span counts whole when any part of it
 * lies inside. */
struct sd_filter {
    uint64_t from_ns, to_ns; /* from the capture's zero; to 0: no end */
    const char *track;       /* pid, "pid/tid", or part of a track's name; NULL: all */
    const char *section; /* path of a section: only what happened while one was open on
                            any track */
    const struct sd_matcher *match; /* spans whose path matches, samples with a function
                                       or file that does; points all; NULL: all */
    struct sd_alloc_choice alloc;   /* what is worked out of allocations */
};

/* The stretch of time that a filter left: from..to, or where its section was open, from
 * the first time to the last. */
struct sd_window {
    bool is_set; /* a filter of time or section was given */
    uint64_t from_ns, to_ns;
};

struct sd_profile {
    struct sd_arena arena;
    struct sd_intern strings;
    struct sd_site *sites;
    size_t n_sites, cap_sites;
    struct sd_track *tracks;
    size_t n_tracks, cap_tracks;
    struct sd_metric *metrics;
    size_t n_metrics, cap_metrics;
    struct sd_span_total *spans;
    size_t n_spans, cap_spans;
    struct sd_series *series;
    size_t n_series, cap_series;
    struct sd_stack *stacks;
    size_t n_stacks, cap_stacks;
    union sd_evidence_data evidence[SD_EVIDENCES]; /* by enum sd_evidence */
    struct sd_pair_totals pairs; /* traced, too: what is known of calls beyond a full
                                    tree, of which SD_CALLS has paths up to where they
                                    left it, and all of their time and number */
    struct sd_pair_totals whole_pairs; /* the same of functions whatever their
                                          signatures are, but for calls, starts and own
                                          times, which are sums over these */
    struct sd_alloc_totals allocs;     /* what SD_ALLOCATIONS is made of, and more */
    struct sd_note *notes;
    size_t n_notes, cap_notes;
    struct sd_meta *metas;
    size_t n_metas, cap_metas;
    uint64_t zero_ns;      /* CLOCK_MONOTONIC at the capture's zero: subtracted from all
                              times above */
    uint64_t real_zero_ns; /* the same moment of CLOCK_REALTIME */
    uint64_t end_ns;       /* last event that passed the filter, within the window */
    uint64_t run_end_ns;   /* last event of all */
    uint64_t ran_ns;       /* how long the recorded run took, with what was recorded of
                              its processes afterwards; of several captures the longest;
                              0: they do not say */
    struct sd_window window;
    uint64_t n_span_events, n_point_events,
        n_sample_events;       /* that passed the filter */
    uint64_t n_timeline_calls; /* of which it is known when they were, and ... */
    uint64_t n_timeline_lost;  /* ... of which it should be: dropped while recording, or
                                  in a chunk that is lost */
    bool has_timeline;         /* of calls, whatever a filter left of it ... */
    bool is_timeline_torn;     /* ... and some of it is missing, or of the file */
    bool has_calls_cut;        /* traced calls are those of the window: call_window.h */
    uint32_t n_captures;       /* that it was made of */
    unsigned recorded;         /* what the file has any of, as bits of enum sd_evidence,
                                  whatever a filter left of it */
    bool is_part;              /* a filter was given: not all of the file */
    struct sd_health health;
    const char *damage;    /* what is missing of the file itself, or NULL */
    const char *complaint; /* that, and what did not get in or fit, or NULL: losses.h */
    struct sd_profile_index *index; /* profile_define.h */
};

/* On success *out is the caller's, to be freed with sd_profile_free. */
int sd_profile_load(const char *path, const struct sd_filter *filter,
                    struct sd_profile **out);
int sd_profile_load_reader(struct sd_reader *r, const struct sd_filter *filter,
                           struct sd_profile **out);
/* What else is made while a profile is loaded. */
enum sd_load_flags {
    SD_LOAD_TOTALS = 0,
    SD_LOAD_SLICES = 1, /* samples by time, for sd_slices_load; where there are sections
                           it reads the file again all the same */
    SD_LOAD_CHUNKS = 2, /* of which time each chunk is, for sd_profile_load_window */
    SD_LOAD_OVERLAY = 4, /* of several captures each begins when the first does
                            (outputs/captures.h) */
};
/* The same of one of several captures: where SD_EUSAGE says that its section or track
 * names nothing there, *is_unmatched, and another may have it. */
int sd_profile_load_one_of(struct sd_reader *r, const struct sd_filter *filter,
                           unsigned flags, struct sd_profile **out, bool *is_unmatched);
/* The same as with SD_LOAD_TOTALS, of a capture that was loaded whole with
 * SD_LOAD_CHUNKS by the same reader: only the chunks of the filter's window are read.
 * Functions that are only in others are not in it.  `whole` outlives *out. */
int sd_profile_load_window(struct sd_reader *r, const struct sd_profile *whole,
                           const struct sd_filter *filter, struct sd_profile **out);
/* Can it be?  Not of a section, whose moments are all over the file, nor where a
 * section never ended, a timeline was recorded, allocations were (what is live in a
 * window began before it), or the program still runs. */
bool sd_profile_has_window(const struct sd_profile *whole,
                           const struct sd_filter *filter);
/* Adds all of `from` into `into` (associative); times are aligned by CLOCK_REALTIME. */
int sd_profile_merge(struct sd_profile *into, const struct sd_profile *from);
void sd_profile_free(struct sd_profile *p);

/* From now on a function's name is the qualified one where it is known
 * ("Thread.run").  To be done last: what is merged into it later keeps its names. */
void sd_profile_qualify(struct sd_profile *p);
/* From now on the signatures of a function are that function.  To be done last, too. */
int sd_profile_drop_signatures(struct sd_profile *p); /* 0 or SD_ENOMEM */

/* May a timeline tell of every traced call when it was?  Of what is beyond a full tree
 * nobody knows where it belongs. */
bool sd_profile_knows_calls(const struct sd_profile *p);

/* Is it a function as called with arguments of certain types?  Its function is then its
 * parent. */
static inline bool sd_site_is_signature(const struct sd_site *s)
{
    return s->kind == SD_SITE_FUNCTION && s->parent.at != UINT32_MAX;
}
/* The function of a signature; every other site is its own. */
static inline sd_site_id sd_profile_function_of(const struct sd_profile *p,
                                                sd_site_id id)
{
    sd_assert_slow(id.at < p->n_sites);
    return sd_site_is_signature(&p->sites[id.at]) ? p->sites[id.at].parent : id;
}

const char *sd_profile_meta(const struct sd_profile *p, const char *key); /* or NULL */
/* Of several captures all numbers of that name; false: there is none. */
bool sd_profile_meta_sum(const struct sd_profile *p, const char *key, uint64_t *sum);
/* The bytes of the ith model that it holds (sd_model_read reads them), borrowed; NULL
 * behind the last. */
const void *sd_profile_model(const struct sd_profile *p, size_t i, size_t *n);
size_t sd_profile_n_models(const struct sd_profile *p);
/* The id, or at = UINT32_MAX.  One name may be two metrics: `cpu` of a process is a
 * counter, that of a section an amount. */
sd_metric_id sd_profile_metric(const struct sd_profile *p, const char *name,
                               enum sd_adds adds);
/* What these spans say of the metric of this name, whatever it adds; NULL: not
 * measured. */
const struct sd_sum *sd_span_total_value(const struct sd_profile *p,
                                         const struct sd_span_total *t,
                                         const char *name);
/* The readings of a metric on a track, whatever it adds; NULL: none. */
const struct sd_series *sd_profile_series(const struct sd_profile *p, sd_track_id t,
                                          const char *name);
/* The end of a site's file that is enough to know it: below site-packages, the standard
 * library or a virtual environment the path from there, else the last part.  NULL when
 * it has none. */
const char *sd_site_short_file(const struct sd_site *s);
/* Is it code that came with the interpreter or was installed: below site-packages, in
 * the standard library, frozen, or compiled?  What exec() runs ("<string>") is not. */
bool sd_site_is_library(const struct sd_site *s);
/* Which of the metrics of these totals has this name ("samples", "wall", "cpu", or of
 * calls "calls", "time", ...); UINT32_MAX: none. */
uint32_t sd_totals_metric(const struct sd_profile *p, const struct sd_stack_totals *t,
                          const char *name);
uint32_t sd_profile_sample_metric(const struct sd_profile *p, const char *name);
/* The process a track belongs to (itself when it is one), or SD_NO_TRACK. */
sd_track_id sd_profile_process_of(const struct sd_profile *p, sd_track_id t);
/* The thread that a task runs in; every other track is its own. */
sd_track_id sd_profile_thread_of(const struct sd_profile *p, sd_track_id t);
#endif
