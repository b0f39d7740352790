/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_MEMORY_H
#define SD_LINES_LINE_MEMORY_H
/* line_memory: books changes of the process's resident memory on lines.
 *
 * It is read when a line ends, and what has changed since the session's reading before,
 * by whatever thread, is that line's: so the changes of all lines of a session add up
 * to that of the whole, in loops and in recursion too, whatever others count beside it.
 * When a chosen function starts it is read once more: what changed until then is the
 * calling line's; where no chosen line called, that of a line which is open in another
 * thread; and nobody's where none is.
 *
 * The peak inside a line is the kernel's high-water mark, which peak.h owns: the region
 * of a line is open from its beginning to its end, with those of sections and of the
 * lines that called. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/line_cell.h"

struct sd_line_code;
struct sd_line_turn;
struct sd_line_peak; /* a region that can be used again and again */

struct sd_line_reading {
    int64_t rss_bytes;  /* -1: it could not be read */
    int64_t peak_bytes; /* -1: not measured */
};

struct sd_line_growth { /* of memory, as one session sees it */
    const struct sd_line_turn *turn;
    int64_t bytes;
    const struct sd_line_reading *read; /* that found it */
};

/* Reads memory now; with the region of the line that ends, which it closes, its peak
 * too.  NULL: none.  Where another line begins at once the region stays open, and
 * is that one's. */
struct sd_line_reading sd_line_memory_at_end(struct sd_line_peak *peak, bool goes_on);
struct sd_line_reading sd_line_memory_look(void); /* the same of no line */
/* What has grown since the session's reading before, which this one becomes; 0 of the
 * first. */
struct sd_line_growth sd_line_memory_grew(struct sd_line_turn *turn,
                                          const struct sd_line_reading *r);
/* Opens the region, made when it is first wanted; one that is open begins anew, unless
 * it was left open for this line. */
void sd_line_peak_begin(struct sd_line_peak **peak);
/* Closes it, if it is open.  NULL is fine. */
void sd_line_peak_leave(struct sd_line_peak *peak);
void sd_line_peak_free(struct sd_line_peak *peak);

/* Above this much resident memory `alarm` is called, once, where the next line begins,
 * with the line that took the process there; it may run Python.  0: no limit. */
struct sd_line_culprit {
    const struct sd_line_code *by; /* NULL: nobody knows */
    uint32_t line;
    const void *thread; /* whose it is: any address that is its own */
};
typedef void sd_line_alarm(int64_t rss_bytes, const struct sd_line_culprit *blamed,
                           bool is_elsewhere);
void sd_line_memory_limit(uint64_t bytes, sd_line_alarm *alarm);
/* Who was called raised an exception, which stands and is the program's: whoever told
 * of the line hands it on, and sets this back. */
extern bool sd_line_alarm_raised;
/* hot: is there one that was not passed yet? */
bool sd_line_memory_has_limit(void);
/* hot: the reading passed the limit just now: the caller rings, when it is done. */
bool sd_line_memory_is_above(const struct sd_line_reading *r);
void sd_line_memory_ring(const struct sd_line_reading *r, const void *thread);
/* Up to this reading it was the line's doing: the first that finds it above the limit
 * is told of when it rings. */
void sd_line_memory_blame(const struct sd_line_reading *r,
                          const struct sd_line_culprit *blamed);
/* The code object goes away. */
void sd_line_memory_acquit(const struct sd_line_code *code);

/* Books a reading at the end of a hit, and what has grown. */
void sd_line_memory_book(struct sd_line_cell *cell, const struct sd_line_reading *r,
                         int64_t grew_bytes);
/* The same when the function was entered: its first line shows what was there before
 * it did anything. */
void sd_line_memory_book_entry(struct sd_line_cell *cell,
                               const struct sd_line_reading *r);
#endif
