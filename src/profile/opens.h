/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_OPENS_H
#define SD_PROFILE_OPENS_H
/* opens: finds spans that have begun and not ended, while events stream by.
 *
 * A SPAN record says all about its span, so an OPEN matters only when no SPAN ever
 * comes: then the span is unfinished.  Nearly every end follows its begin closely in
 * the same stream, so a short stack is asked first; what is pushed out of it lies in a
 * hash table by (process, span).
 *
 * A span may end in another stream than it began in (a task that moved to another
 * thread), and that stream may be read first.  Such an early end waits in the table
 * for its OPEN.  Only ends whose span number belongs to another slot than the stream's
 * own can be early, so the ends of OPENs that were lost do not pile up. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef SD_TINY
enum { SD_OPENS_RECENT = 2, SD_OPENS_MAX = 64 };
#else
enum { SD_OPENS_RECENT = 16, SD_OPENS_MAX = 1 << 20 };
#endif

struct sd_open_span {
    uint64_t span; /* as recorded: slot << 40 | running number */
    uint32_t process;
    uint32_t stream; /* the reader's count of streams, where it began */
    uint32_t site, track;
    uint64_t from_ns;
    bool is_used;  /* of a table slot */
    bool is_early; /* an end that waits for its begin */
};

struct sd_opens { /* all zero is a fresh one */
    struct sd_open_span recent[SD_OPENS_RECENT];
    uint32_t n_recent;
    struct sd_open_span *slots; /* owned; open addressing */
    size_t n, n_slots;          /* n_slots is 0 or a power of two */
    uint64_t own_slot;  /* of the stream being read, from its OPENs; plus 1, 0: not
                           known */
    uint64_t n_refused; /* did not fit into SD_OPENS_MAX */
};

/* hot: each 0 or SD_ENOMEM. */
int sd_opens_begin(struct sd_opens *o, const struct sd_open_span *begun);
int sd_opens_end(struct sd_opens *o, uint32_t process, uint64_t span);
/* The stream is read to its end. */
int sd_opens_next_stream(struct sd_opens *o);
/* Hands out what never ended, in no order: start with *at = 0; false at the end. */
bool sd_opens_left(const struct sd_opens *o, size_t *at, struct sd_open_span *left);
void sd_opens_release(struct sd_opens *o);
#endif
