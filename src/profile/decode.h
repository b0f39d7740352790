/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_DECODE_H
#define SD_PROFILE_DECODE_H
/* decode: decodes the records of chunks, in ids of each chunk, into events in ids of
 * the profile.
 *
 * local_ids.h has what ids mean; here are events, and the order of chunks and streams.
 *
 * The same code fills a profile (`grow`) and walks the events of one that is already
 * there, which it then leaves as it is. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/reader.h"
#include "profile/alloc/alloc_tables.h"
#include "profile/by_time/chunk_times.h"
#include "profile/call_spans.h"
#include "profile/call_tables.h"
#include "profile/clocks.h"
#include "profile/events.h"
#include "profile/lines/line_tables.h"
#include "profile/opens.h"
#include "profile/profile.h"

struct sd_local_id;

struct sd_decoder {
    struct sd_reader *reader;   /* borrowed */
    struct sd_profile *grow;    /* borrowed; NULL: the profile stays as it is */
    const struct sd_profile *p; /* borrowed */
    uint64_t zero_ns;           /* CLOCK_MONOTONIC at the capture's zero */
    uint32_t host;              /* of its tracks, in a profile of several captures */
    struct sd_local_id *locals; /* owned */
    size_t n_locals;            /* SD_LOCAL_IDS, or more after a large table */
    uint32_t chunk_no;
    struct sd_chunk_view view;
    uint32_t at; /* in the view */
    bool has_chunk, is_begun, is_draining;
    bool is_past;      /* the rest of the stream came after the profile was loaded */
    uint64_t n_chunks; /* taken from the reader since the start */
    const struct sd_clock_line *line; /* of the stream, or NULL */
    struct sd_clocks clocks;
    bool has_clocks; /* all pairs were collected before */
    uint64_t stream_last_ns;
    uint64_t *stream_ends; /* owned; last time of each stream read so far */
    size_t n_streams, cap_streams;
    struct sd_opens opens;
    size_t left_at;                /* in opens, while draining */
    bool wants_calls;              /* hands out traced calls too; with `grow` only */
    struct sd_call_tables calls;   /* the table at hand ... */
    struct sd_line_tables lines;   /* ... when it is one of lines */
    struct sd_alloc_tables allocs; /* ... one of allocations; with all before */
    uint64_t defs_bytes;           /* of its definitions so far */
    struct sd_call_spans spans;    /* the timeline at hand */
    struct sd_table tree_calls;    /* stream of a tree to its calls */
    uint64_t first_clock_ns, last_clock_ns; /* moments that its clock records tell */
    struct sd_chunk_times *times; /* borrowed; filled while `grow` is, or NULL */
    size_t n_tracks_before, n_metrics_before; /* in the profile, at the chunk's start */
    bool is_lasting;   /* the chunk at hand means something for other times, too */
    bool has_all_ends; /* all spans that began have ended: none is unfinished */
};

/* `grow` may be NULL; `p` is then what it finds ids in. */
int sd_decoder_init(struct sd_decoder *d, struct sd_reader *r, struct sd_profile *grow,
                    const struct sd_profile *p);
/* hot: 1: *e is the next event; 0: the end; < 0: failure.  Unfinished spans come
 * last.  Notes, metas and exits go into `grow` on the way. */
int sd_decoder_next(struct sd_decoder *d, struct sd_event *e);
/* What an id of the present table means; what dangles is "[lost name]". */
int sd_decoder_site(struct sd_decoder *d, uint32_t id, sd_site_id *site);
int sd_decoder_track(struct sd_decoder *d, uint32_t id, uint32_t *track);
/* hot: nanoseconds since the capture's zero, of a moment in ticks of the stream. */
uint64_t sd_decoder_moment(const struct sd_decoder *d, uint64_t ticks);
/* What a timeline needs: its definitions, into a table of its own, and the pairs of all
 * clocks of the capture. */
int sd_decoder_take_name(struct sd_decoder *d, const struct sd_record *r,
                         struct sd_local_id *names, size_t n);
/* 1: they were read just now, and the record at hand is to come again; 0; < 0. */
int sd_decoder_need_clocks(struct sd_decoder *d);
/* How long a tick of the present stream is. */
double sd_decoder_ns_per_tick(const struct sd_decoder *d);
/* Starts again from the first chunk. */
void sd_decoder_rewind(struct sd_decoder *d);
void sd_decoder_release(struct sd_decoder *d);
#endif
