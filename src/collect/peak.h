/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_PEAK_H
#define SD_COLLECT_PEAK_H
/* peak: measures the largest memory of the process while a region of time was open.
 *
 * The kernel keeps one high-water mark per process, and lets it be set back to what is
 * resident now.  A region sets it back when it opens; so before each reset the old mark
 * is folded into every open region and into the process's own peak, and each region's
 * peak comes out true however they nest or overlap in threads.
 *
 * It is the process's peak: what other threads allocate meanwhile counts too.  And the
 * mark is lowered for everyone: the program's own ru_maxrss reads low from then on,
 * which is why nothing is reset unless a peak is asked for. */
#include <stdbool.h>
#include <stdint.h>

struct sd_peak_region { /* the caller's; linked in between open and close */
    struct sd_peak_region *prev, *next;
    int64_t peak_bytes; /* largest folded so far; -1: not measured */
    unsigned forks; /* sd_session_forks() at open: an ancestor's is not in the list */
};

void sd_peak_open(struct sd_peak_region *r);
/* The same, where the caller knows what is resident now: the mark is then set back only
 * if it may be elsewhere. */
void sd_peak_open_at(struct sd_peak_region *r, int64_t seen_bytes);
/* The largest RSS of the process while the region was open, or -1 where the mark cannot
 * be reset, or when the process forked off inside the region. */
int64_t sd_peak_close(struct sd_peak_region *r);
/* The same, where the caller has seen this much resident while the region was open: the
 * kernel's mark is kept from counts that lag by some pages per processor (Linux 6.2
 * and later), those of statm do not. */
int64_t sd_peak_close_at_least(struct sd_peak_region *r, int64_t seen_bytes);
/* The same of a region that opens again at once: one reading of the mark less. */
int64_t sd_peak_next(struct sd_peak_region *r, int64_t seen_bytes);
/* The process's own peak, resets notwithstanding. */
int64_t sd_peak_of_process(void);

struct sd_usage_reader;
/* The reader of our own process that all collectors in it share. */
struct sd_usage_reader *sd_peak_usage_reader(void);

/* session.c's own: nobody reads or folds between the two.  Around fork, and to be sure
 * that no thread still holds the word of a capture that is left. */
void sd_peak_pause(void);
void sd_peak_resume(bool is_child);
#endif
