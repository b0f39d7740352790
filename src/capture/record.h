/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_RECORD_H
#define SD_CAPTURE_RECORD_H
/* record: the layout of records, the smallest unit of a capture. docs/format.md is the
 * specification; this is the same in C.
 *
 * Little-endian, 8-byte aligned, length a multiple of 8.  Ids are numbered from 1
 * within one chunk and defined in that chunk before use (0 is "none"), so every
 * chunk can be read alone and a lost one blinds no other.  Integers only: times in
 * ticks of the stream's clock, values under a declared metric. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

struct sd_record {
    uint16_t len;  /* bytes, this header included */
    uint8_t type;  /* enum sd_record_type */
    uint8_t epoch; /* low byte of the chunk's seq: an old page is not taken for new */
};

enum sd_record_type {
#define RECORD(name, value, type, meaning) SD_REC_##name = value,
#include "capture/records.def"
#undef RECORD
};

/* What a chunk holds.  On disk: values never change; unknown ones are skipped. */
enum sd_chunk_type {
    SD_CHUNK_EVENTS = 1, /* records of one stream */
    SD_CHUNK_META = 2,   /* records about the whole capture, from its owner */
    SD_CHUNK_DEFS = 3,   /* records; their ids hold for all CELLS of the stream */
    SD_CHUNK_CELLS = 4,  /* cells of a table (cells.h) */
    SD_CHUNK_LOST = 5,   /* nothing but its lost_before, and in t0 the threads that
                            found no room for a table, in t1 the errno of the last */
    SD_CHUNK_END = 6,    /* how it ended (chunk.h); the last one */
    SD_CHUNK_ALLOC = 7,  /* as EVENTS, but its events are all of the type ALLOC: who
                            wants other events need not open it */
};

/* Types from here on are events and are counted; below are definitions and facts. */
enum { SD_REC_FIRST_EVENT = 16 };

enum { SD_RECORD_MAX = 65528, SD_STRING_MAX = 65000 };
_Static_assert(SD_RECORD_MAX % 8 == 0 && SD_RECORD_MAX <= UINT16_MAX,
               "the length of a record");

/* On disk: values never change. */
enum sd_site_kind {
    SD_SITE_SECTION = 1,
    SD_SITE_FUNCTION,
    SD_SITE_LINE,
    SD_SITE_TYPE,
    SD_SITE_OPERATOR,
    SD_SITE_LAYER
};
enum sd_track_kind {
    SD_TRACK_PROCESS = 1,
    SD_TRACK_THREAD,
    SD_TRACK_TASK,
    SD_TRACK_DEVICE
};
enum sd_unit { SD_UNIT_COUNT = 1, SD_UNIT_NANOSECONDS, SD_UNIT_BYTES };
enum sd_adds {
    SD_ADDS_SUM = 1, /* amounts: the whole is the sum of the parts */
    SD_ADDS_LEVEL,   /* a state at a moment: summed over processes, never over time */
    SD_ADDS_COUNTER, /* only rises: the amount is the last minus the first */
    SD_ADDS_PEAK,    /* the whole is the largest of the parts */
};
enum sd_clock_kind { SD_CLOCK_MONOTONIC = 1, SD_CLOCK_TSC };
enum sd_site_flags {
    SD_SITE_NATIVE = 1, /* a function of compiled code: `file` is its source where that
                           is known, else its library */
    SD_SITE_BEYOND = 2, /* no function: calls along paths that are not in a full tree */
    /* The twelve highest bits tell functions apart that have one name, file and line
     * (constructors of dataclasses): 0 for the first, and so on; the last is for all
     * beyond. */
    SD_SITE_TWIN = 16,
    SD_SITE_TWINS = 0xfff0,
};
enum { SD_TWINS_MAX = SD_SITE_TWINS / SD_SITE_TWIN };
_Static_assert((SD_TWINS_MAX + 1) * SD_SITE_TWIN - 1 == UINT16_MAX,
               "all flags take 16 bits");
enum sd_note_kind {
    SD_NOTE_INFO = 1,
    SD_NOTE_WARNING,
    SD_NOTE_LOSS,
    SD_NOTE_REFUSAL, /* a process that could not be measured, and why */
};

enum sd_size_kind {
    SD_SIZE_LENGTH = 1,    /* of a list, str, dict, ... */
    SD_SIZE_SHAPE,         /* of an array, tensor or table */
    SD_SIZE_VALUE,         /* of an integer: how many of something, perhaps */
    SD_SIZE_ROUNDED = 128, /* a bit beside it: to two binary digits behind the first,
                              because there were very many */
};
enum { SD_DIMS_MAX = 32 };
/* Those below are what they are. */
enum { SD_ROUNDED_FROM = 8 };
static inline uint64_t sd_size_rounded(uint64_t n)
{
    int shift = n < SD_ROUNDED_FROM ? 0 : 61 - __builtin_clzll(n);
    uint64_t step = UINT64_C(1) << shift;

    return (n + step / 2) / step * step;
}

enum sd_span_flags {
    SD_SPAN_RAISED = 1, /* left by an exception */
    SD_SPAN_UNFINISHED =
        2,               /* never closed: ends where its stream ends (set by readers) */
    SD_SPAN_PAUSED = 4,  /* of a call: another part of it follows, and */
    SD_SPAN_RESUMED = 8, /* one was before this (set by readers) */
};

enum sd_sample_flags {
    SD_SAMPLE_IDLE = 1,       /* the thread waited for something outside */
    SD_SAMPLE_GIL = 2,        /* it held the interpreter's lock */
    SD_SAMPLE_PARTIAL = 4,    /* the newest frames could not be read */
    SD_SAMPLE_STOPPED = 8,    /* the whole process was stopped */
    SD_SAMPLE_NATIVE = 16,    /* native frames are in it */
    SD_SAMPLE_WAITS_GIL = 32, /* it waited for the interpreter's lock */
    SD_SAMPLE_KNOWN = 63,     /* all of them; others are of a later version */
};

_Static_assert(SD_SAMPLE_KNOWN == 2 * SD_SAMPLE_WAITS_GIL - 1,
               "every flag, and no other");

#define SD_VALUE_NONE INT64_MIN /* could not be measured */

struct sd_rec_string {
    struct sd_record head;
    uint32_t id;
    uint32_t n; /* bytes of text that follow; the rest is padding */
    uint32_t pad;
    char text[];
};

struct sd_rec_site {
    struct sd_record head;
    uint32_t id;
    uint16_t kind;   /* enum sd_site_kind */
    uint16_t flags;  /* enum sd_site_flags */
    uint32_t name;   /* string: "inner", not "outer:inner" */
    uint32_t file;   /* string or 0 */
    uint32_t line;   /* or 0 */
    uint32_t parent; /* site or 0: the enclosing section; a signature's function */
    uint32_t label;  /* string or 0: a signature; of a function its qualified name */
};

struct sd_rec_track {
    struct sd_record head;
    uint32_t id;
    uint16_t kind;    /* enum sd_track_kind */
    uint16_t flags;   /* 0 */
    uint32_t parent;  /* track or 0: a thread's process, a process's parent */
    uint64_t number;  /* pid, tid, or a task's running number */
    uint64_t start;   /* process or thread start time (clock ticks since boot): tells
                         reused numbers apart */
    uint32_t name;    /* string or 0 */
    uint32_t command; /* string or 0: how a process was started */
};

struct sd_rec_metric {
    struct sd_record head;
    uint32_t id;
    uint16_t unit;    /* enum sd_unit */
    uint16_t adds;    /* enum sd_adds */
    uint32_t name;    /* string */
    uint32_t meaning; /* string or 0 */
    uint32_t pad;
};

struct sd_rec_shape {
    struct sd_record head;
    uint32_t id;
    uint32_t n;
    uint32_t pad;
    uint32_t metrics[]; /* n ids */
};

struct sd_rec_clock {
    struct sd_record head;
    uint32_t kind; /* enum sd_clock_kind */
    uint64_t ticks;
    uint64_t mono_ns;
};

struct sd_rec_meta {
    struct sd_record head;
    uint16_t key_n, value_n;
    char text[]; /* key bytes, then value bytes */
};

struct sd_rec_note {
    struct sd_record head;
    uint16_t kind; /* enum sd_note_kind */
    uint16_t n;
    uint64_t time;
    uint32_t track;
    char text[];
};

/* Stacks are a tree: a stack is its outer frames and one more. */
struct sd_rec_stack {
    struct sd_record head;
    uint32_t id;
    uint32_t parent; /* stack or 0: the frames that called this one */
    uint32_t site;
    uint32_t line; /* being executed; 0: not known */
    uint32_t pad;
};

/* How much an argument holds, where that is part of the signature; behind its site. */
struct sd_rec_size {
    struct sd_record head;
    uint32_t site;     /* the signature's */
    uint32_t name;     /* string: the parameter's */
    uint16_t argument; /* from 0, in the order of the parameters */
    uint8_t kind;      /* enum sd_size_kind */
    uint8_t n_dims;
    int64_t dims[]; /* n_dims; one of all but shapes */
};

/* Models are longer than records: all pieces of one have its number and their place. */
struct sd_rec_model {
    struct sd_record head;
    uint32_t n;      /* bytes that follow */
    uint64_t number; /* of the model, in its stream */
    uint32_t total;  /* bytes of the whole */
    uint32_t at;     /* where these belong */
    uint8_t bytes[];
};

struct sd_rec_open {
    struct sd_record head;
    uint32_t site;
    uint32_t track;
    uint32_t pad;
    uint64_t span; /* unique in its process; slot << 40 | running number */
    uint64_t time;
};

struct sd_rec_span {
    struct sd_record head;
    uint32_t site;
    uint32_t track;
    uint16_t shape;
    uint16_t flags; /* enum sd_span_flags */
    uint64_t span;  /* that of its OPEN, which may stand in another stream of the
                       process; 0: none */
    uint64_t from, to;
    int64_t values[]; /* one per metric of the shape */
};

struct sd_rec_point {
    struct sd_record head;
    uint32_t shape;
    uint32_t track;
    uint32_t pad;
    uint64_t time;
    int64_t values[];
};

struct sd_rec_exit {
    struct sd_record head;
    uint32_t track;
    uint64_t time;
    int32_t status; /* exit status, or minus the signal; INT32_MIN: not known */
    uint32_t pad;
};

/* A thread's stack at one moment.  One record may stand for many moments at which it
 * was the same: the values say for how many. */
struct sd_rec_sample {
    struct sd_record head;
    uint32_t track;
    uint32_t stack; /* or 0: no frame at all */
    uint16_t shape;
    uint16_t flags; /* enum sd_sample_flags */
    uint64_t time;
    int64_t values[]; /* one per metric of the shape */
};

/* --- Calls over time.  They use the ids of a table of traced calls (call_cell.h),
 * which hold for all of its stream: whatever they name is copied into the log before.
 */

struct sd_rec_names {
    struct sd_record head;
    uint32_t pad;
    uint64_t table;    /* its stream */
    uint8_t records[]; /* whole ones, one after the other */
};

struct sd_open_call {
    uint64_t ticks; /* when it began */
    uint32_t site;
    uint32_t pad;
};

/* At the beginning of each chunk and behind everything that was dropped: from here on
 * the calls can be understood, whatever was before. */
struct sd_rec_calls_from {
    struct sd_record head;
    uint32_t track; /* the thread, in the table's ids */
    uint64_t table;
    uint64_t number;         /* events of the table before this */
    uint64_t ticks, mono_ns; /* one moment on both clocks; not always a new one */
    uint32_t clock;          /* enum sd_clock_kind */
    uint32_t depth;          /* calls that are open */
    uint32_t n;              /* of them that follow, the innermost, from outside in */
    uint32_t pad;
    struct sd_open_call open[];
};

/* Filled in place: a unit that is 0 has not been written yet, and ends it. */
struct sd_rec_calls {
    struct sd_record head;
    uint32_t pad;
    uint64_t table;
    uint64_t base;   /* ticks */
    uint64_t number; /* of the first event */
    uint32_t units[];
};

/* The first two name a site, the others are of the innermost call. */
enum sd_call_event {
    SD_CALL_BEGINS,
    SD_CALL_GOES_ON, /* what paused is open again: another part of the same call */
    SD_CALL_ENDS,
    SD_CALL_PAUSES,    /* its stack waits, another runs: greenlets */
    SD_CALL_NEVER_WAS, /* told of, and refused before its first step */
};

/* An event is a unit of 4 bytes, mostly, since most of what a program does is to begin
 * and to end, soon after the event before:
 *
 *     form (2 bits) · site (14 bits) · ticks since the event before (16 bits)
 *
 * and where that is not enough, or it is another event, two units:
 *
 *     SD_CALL_LONG (2 bits) · event (3 bits) · site (27 bits) · ticks (32 bits)
 *
 * The event before the first of a record is at its `base`. */
enum sd_calls_form {
    SD_CALL_NONE, /* not written yet */
    SD_CALL_SHORT_BEGINS,
    SD_CALL_SHORT_ENDS,
    SD_CALL_LONG,
};
enum {
    SD_CALL_FORM_BITS = 2,
    SD_CALL_EVENT_BITS = 3,
    SD_CALL_SHORT_BITS = 16, /* of the ticks, and of what stands below them */
    SD_CALL_SITE_MAX = (1 << (32 - SD_CALL_FORM_BITS - SD_CALL_EVENT_BITS)) - 1,
};

_Static_assert(SD_CALL_LONG < 1 << SD_CALL_FORM_BITS, "the last form");
_Static_assert(SD_CALL_NEVER_WAS < 1 << SD_CALL_EVENT_BITS, "the last event");

/* hot: a unit without its ticks; with more than its 16 bits it has no short form. */
static inline uint32_t sd_record_call_short(enum sd_calls_form form, uint32_t site)
{
    sd_assert_slow(form != SD_CALL_NONE && form != SD_CALL_LONG);
    return (uint32_t)form | site << SD_CALL_FORM_BITS;
}

/* Both units, the first in the lower half.  A site beyond all is none: it is lost. */
static inline uint64_t sd_record_call_long(enum sd_call_event event, uint32_t site,
                                           uint32_t since)
{
    if (site > SD_CALL_SITE_MAX)
        site = 0;
    return (uint64_t)since << 32 | site << (SD_CALL_FORM_BITS + SD_CALL_EVENT_BITS) |
           (uint32_t)event << SD_CALL_FORM_BITS | SD_CALL_LONG;
}

struct sd_call_long_event {
    uint32_t event; /* enum sd_call_event, if nobody lies */
    uint32_t site;
    uint32_t since; /* ticks */
};

/* Takes the event at `at`; what follows it, or NULL: there is none before `end`. */
static inline const uint32_t *sd_record_call_read(const uint32_t *at,
                                                  const uint32_t *end,
                                                  struct sd_call_long_event *out)
{
    uint32_t unit = at < end ? *at : SD_CALL_NONE;

    sd_assert_slow(at <= end);
    switch ((enum sd_calls_form)(unit & ((1u << SD_CALL_FORM_BITS) - 1))) {
    case SD_CALL_SHORT_BEGINS:
    case SD_CALL_SHORT_ENDS:
        out->event = (unit & ((1u << SD_CALL_FORM_BITS) - 1)) == SD_CALL_SHORT_BEGINS
                         ? SD_CALL_BEGINS
                         : SD_CALL_ENDS;
        out->site = (unit & ((1u << SD_CALL_SHORT_BITS) - 1)) >> SD_CALL_FORM_BITS;
        out->since = unit >> SD_CALL_SHORT_BITS;
        return at + 1;
    case SD_CALL_LONG:
        if (end - at < 2)
            return NULL;
        out->event = unit >> SD_CALL_FORM_BITS & ((1u << SD_CALL_EVENT_BITS) - 1);
        out->site = unit >> (SD_CALL_FORM_BITS + SD_CALL_EVENT_BITS);
        out->since = at[1];
        return at + 2;
    case SD_CALL_NONE:
        break;
    }
    return NULL;
}

/* Where the units of a sound record end, written or not. */
static inline const uint32_t *sd_record_calls_end(const struct sd_rec_calls *r)
{
    sd_assert_slow(r->head.len >= sizeof *r); /* whoever made it sound looked at that */
    return r->units + (r->head.len - sizeof *r) / sizeof r->units[0];
}

/* Events of a sound record that have been written. */
uint32_t sd_calls_n(const struct sd_rec_calls *r);

/* --- Allocations and frees of a thread (alloc_events.h), filled in place. */

struct sd_rec_alloc {
    struct sd_record head;
    uint32_t track;
    uint64_t table;   /* the stream of the table that has the stacks (alloc_cell.h) */
    uint64_t order;   /* number of the run that the first event belongs to */
    uint64_t time_ns; /* CLOCK_MONOTONIC: the last that was known when it began */
    uint32_t n;       /* allocations and frees in it; 0: not counted yet */
    uint32_t pad;
    uint8_t events[];
};

/* Allocations and frees of a sound record that have been written. */
uint32_t sd_alloc_n(const struct sd_rec_alloc *r);

_Static_assert(sizeof(struct sd_rec_string) == 16, "on disk");
_Static_assert(sizeof(struct sd_rec_site) == 32, "on disk");
_Static_assert(sizeof(struct sd_rec_track) == 40, "on disk");
_Static_assert(sizeof(struct sd_rec_metric) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_shape) == 16, "on disk");
_Static_assert(sizeof(struct sd_rec_clock) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_meta) == 8, "on disk");
_Static_assert(sizeof(struct sd_rec_note) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_stack) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_size) == 16, "on disk");
_Static_assert(sizeof(struct sd_rec_names) == 16, "on disk");
_Static_assert(sizeof(struct sd_rec_calls_from) == 56, "on disk");
_Static_assert(sizeof(struct sd_rec_model) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_open) == 32, "on disk");
_Static_assert(sizeof(struct sd_rec_span) == 40, "on disk");
_Static_assert(sizeof(struct sd_rec_point) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_exit) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_sample) == 24, "on disk");
_Static_assert(sizeof(struct sd_rec_calls) == 32, "on disk");
_Static_assert(sizeof(struct sd_rec_alloc) == 40, "on disk");

static inline uint32_t sd_align8(uint32_t n) { return (n + 7u) & ~7u; }

/* True when a record of this type and length holds all that its struct and its own
 * counts claim.  Unknown types need only their header. */
bool sd_record_is_sound(const struct sd_record *r);

/* How many of the n bytes at p are whole records, one after the other.  With `epoch`
 * 0..255 a record of another epoch ends the walk; -1 takes any.  *n_events counts the
 * events among them. */
uint32_t sd_records_walk(const uint8_t *p, uint32_t n, int epoch, uint32_t *n_events);
#endif
