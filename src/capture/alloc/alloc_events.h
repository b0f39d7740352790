/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_ALLOC_EVENTS_H
#define SD_CAPTURE_ALLOC_EVENTS_H
/* alloc_events: the bytes of allocations and frees in records of the type ALLOC.
 *
 * A thread fills such a record in place (sd_log_begin_run).  An event is a tag and
 * numbers of 1 to 10 bytes, 7 bits in each, the lowest first, with the top bit set in
 * all but the last.  The tag is stored last, so that a death leaves a whole event or a
 * tag of 0, which ends the record.
 *
 * Threads run at the same time, and their events are put in order by runs: a run is
 * what a thread did while no other one did anything, and all runs of a process are
 * numbered in their order.  A record begins in the run `order`; an event RUN begins the
 * next. Who replays the runs by their numbers finds each block before its free. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/record.h"

/* The lowest two bits of a tag. */
enum sd_alloc_tag {
    SD_ALLOC_NONE,  /* not written yet: the record ends */
    SD_ALLOC_BEGAN, /* address, size, and the stack unless it is the one before */
    SD_ALLOC_ENDS,  /* address: the block is freed */
    SD_ALLOC_OTHER, /* the six upper bits say what */
};
enum {
    SD_ALLOC_TAG_BITS = 2,
    SD_ALLOC_SAME = 4, /* BEGAN: the stack is that of the BEGAN before in the record */
    SD_ALLOC_FINE = 8, /* the distance of the address is in bytes, not in 16 of them */
};

/* What an OTHER is: its number in the upper six bits, and its arguments. */
enum sd_alloc_other {
    SD_ALLOC_RUN,   /* by how much the number of the run is larger than before */
    SD_ALLOC_TIME,  /* ns since the time before; resident memory in pages of 4,096 */
    SD_ALLOC_UNDO,  /* distance of an address in bytes: what this thread freed last is
                       live again, as it was (a realloc that failed) */
    SD_ALLOC_UNMAP, /* distance of an address in bytes, length: this range is unmapped,
                       be it a block, parts of some, or none */
    SD_ALLOC_DROP,  /* distance of an address in bytes: the block there is freed, if one
                       is known; it may be none of those that count */
};

/* Distances are from the address before in the record (0 at first), and signed: 2n for
 * n, 2n - 1 for -n. */
static inline uint64_t sd_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t sd_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

enum { SD_ALLOC_EVENT_MAX = 1 + 3 * 10 }; /* bytes of the longest */

/* hot: puts a number; returns what is behind it. */
static inline uint8_t *sd_alloc_put(uint8_t *p, uint64_t v)
{
    while (v >= 128) {
        *p++ = (uint8_t)(v | 128);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* hot: takes a number that ends before `end`; NULL: there is none. */
static inline const uint8_t *sd_alloc_take(const uint8_t *p, const uint8_t *end,
                                           uint64_t *v)
{
    uint64_t sum = 0;

    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        uint8_t byte = *p++;

        sum |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *v = sum;
            return p;
        }
    }
    return NULL;
}

struct sd_alloc_event {
    enum sd_alloc_tag tag;
    enum sd_alloc_other other;
    uint64_t address; /* BEGAN, ENDS, UNDO, UNMAP, DROP */
    uint64_t size;    /* BEGAN, UNMAP */
    uint32_t stack;   /* BEGAN: its cell */
    uint64_t number;  /* RUN: its number; TIME: ns */
    uint64_t rss;     /* TIME: bytes */
};

/* Where a reader stands in a record. */
struct sd_alloc_cursor {
    const uint8_t *at, *end;
    uint64_t address, order, time_ns;
    uint32_t stack;
};

void sd_alloc_cursor_init(struct sd_alloc_cursor *c, const struct sd_rec_alloc *r);
/* hot: the next event; false: there is none. */
static inline bool sd_alloc_next(struct sd_alloc_cursor *c, struct sd_alloc_event *e);

/* --- Inside of the above. */

static inline const uint8_t *sd_alloc_move(struct sd_alloc_cursor *c, const uint8_t *p,
                                           unsigned shift, struct sd_alloc_event *e)
{
    uint64_t v;

    p = sd_alloc_take(p, c->end, &v);
    if (p)
        c->address += (uint64_t)sd_unzigzag(v) << shift;
    e->address = c->address;
    return p;
}

bool sd_alloc_next_other(struct sd_alloc_cursor *c, const uint8_t *p,
                         struct sd_alloc_event *e);

static inline bool sd_alloc_next(struct sd_alloc_cursor *c, struct sd_alloc_event *e)
{
    const uint8_t *p = c->at;
    uint64_t v;
    uint8_t tag;

    if (p >= c->end || *p == 0)
        return false;
    tag = *p++;
    e->tag = (enum sd_alloc_tag)(tag & ((1u << SD_ALLOC_TAG_BITS) - 1));
    if (__builtin_expect(e->tag == SD_ALLOC_OTHER || e->tag == SD_ALLOC_NONE, 0))
        return sd_alloc_next_other(c, p, e);
    p = sd_alloc_move(c, p, tag & SD_ALLOC_FINE ? 0 : 4, e);
    if (p && e->tag == SD_ALLOC_BEGAN) {
        p = sd_alloc_take(p, c->end, &e->size);
        if (p && !(tag & SD_ALLOC_SAME)) {
            p = sd_alloc_take(p, c->end, &v);
            c->stack += (uint32_t)sd_unzigzag(p ? v : 0);
        }
        e->stack = c->stack;
    }
    c->at = p ? p : c->end;
    return p != NULL;
}
#endif
