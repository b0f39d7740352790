/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_SPANS_H
#define SD_PROFILE_CALL_SPANS_H
/* call_spans: turns the events of a timeline of calls (capture/record.h) into spans.
 *
 * A stream holds the timelines of one thread after another, each in the ids of its
 * table, whose definitions it brings along.  So there is one at hand: its names, and
 * the stack of what is open.  A call is handed out when it ends; inner ones come before
 * the outer.  What is open where a timeline ends is handed out then, as unfinished.
 *
 * They are foreign: an end without a beginning is left out, a clock that goes back
 * stands still, and after a gap the stack is what the chunk behind it says. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/record.h"

struct sd_decoder;
struct sd_event;
struct sd_local_id;

enum sd_spans_request {
    SD_SPANS_NONE,
    SD_SPANS_COUNTED, /* an event SD_EVENT_CALLS_RUN for each record of them */
    SD_SPANS_EACH,    /* an event SD_EVENT_CALL for each call */
};

struct sd_call_open {
    uint64_t from_ns;
    uint32_t site;  /* in the table's ids */
    uint32_t flags; /* enum sd_span_flags */
    uint32_t stack; /* of the profile, or UINT32_MAX */
};

struct sd_call_spans { /* all zero is a fresh one */
    enum sd_spans_request request;
    bool has_stacks; /* of each call its stack is looked for */
    uint64_t table;  /* whose timeline is at hand; 0: none */
    bool is_begun;   /* it has said where it stands */
    uint32_t track;
    uint64_t number;           /* of the next event */
    uint64_t n_missing;        /* of its events: dropped, or in a chunk that is lost */
    uint64_t n_calls;          /* that began in it, where runs are counted ... */
    uint64_t n_undone;         /* ... and of those, what turned out in a later run */
    struct sd_table counted;   /* table to calls, and ... */
    struct sd_table missing;   /* ... to events, of those that were left */
    struct sd_local_id *names; /* owned; by the table's ids */
    size_t n_names;            /* that there is room for */
    size_t n_named;            /* above the highest id that was used */
    uint64_t names_bytes;      /* of its definitions so far */
    struct sd_call_open *open; /* owned; from outside in */
    size_t n_open, cap_open;
    uint64_t n_below;         /* more of them, outside, of which nothing is known */
    uint64_t last_ns;         /* of its last event */
    bool is_closing;          /* hands out what is open above `n_kept` */
    bool is_leaving;          /* and is done with the table then */
    size_t n_kept;            /* while closing */
    const uint32_t *at, *end; /* units of the run at hand */
    uint64_t ticks;           /* of its last event */
    struct { /* how ticks become nanoseconds: a stretch of a straight line */
        uint64_t ticks, until, ns, most_ns;
        double slope;
    } line;
};

/* Records of a timeline.  1: what is at hand has to be closed before, and the record is
 * to come again; 0; < 0: failure. */
int sd_call_spans_names(struct sd_decoder *d, const struct sd_rec_names *r);
int sd_call_spans_from(struct sd_decoder *d, const struct sd_rec_calls_from *r);
int sd_call_spans_run(struct sd_decoder *d, const struct sd_rec_calls *r);
/* This table should have a timeline.  0 or SD_ENOMEM. */
int sd_call_spans_expect(struct sd_call_spans *s, uint64_t table);
/* How many calls should be in the timelines that were counted or expected, and are not:
 * by the trees, which have counted every call (`in_trees`: calls by the stream of the
 * table), and where there is none, as of a Profile, or it is lost, by what is missing
 * between the events: a call is two of them.  A tree without a timeline misses nothing.
 */
uint64_t sd_call_spans_lost(const struct sd_call_spans *s,
                            const struct sd_table *in_trees);
/* The stream has ended. */
void sd_call_spans_leave(struct sd_call_spans *s);
/* hot: 1: *e is the next span; 0: another record is wanted; < 0. */
int sd_call_spans_next(struct sd_decoder *d, struct sd_event *e);
/* What a walk needs of the pairs of clocks in these records. */
int sd_call_spans_pairs(struct sd_decoder *d, const struct sd_record *r);
void sd_call_spans_release(struct sd_call_spans *s);
#endif
