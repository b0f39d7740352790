/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_ALLOC_WORDS_H
#define SD_ANALYSE_ALLOC_WORDS_H
/* alloc_words: what a recording of allocations amounts to, in sentences. */
#include "base/buf.h"
#include "profile/profile.h"

struct sd_alloc_summary {
    const char *mode, *layer; /* NULL: not known, or several */
    /* Of all processes; below 0: not known. */
    int64_t allocations, bytes, frees, unknown_frees, overlaps, lost;
    int64_t leaked_allocations, leaked_bytes, temporary_allocations;
    /* Of the process with the largest peak: */
    int64_t peak_bytes, peak_ns;
    int64_t peak_rss_bytes;  /* with has_rss */
    int64_t untracked_bytes; /* with has_untracked; what was allocated and never touched
                                makes it less, and perhaps less than 0 */
    bool has_rss, has_untracked;
};
void sd_alloc_summarize(const struct sd_profile *p, struct sd_alloc_summary *s);
/* Four lines: the peak, the total, leaks, and what of RSS nobody allocated. */
void sd_alloc_words(struct sd_buf *to, const struct sd_profile *p);
/* Why the allocations of a process were not recorded: the note after `last` (NULL: the
 * first), or NULL. */
const struct sd_note *sd_alloc_words_refusal(const struct sd_profile *p,
                                             const struct sd_note *last);
#endif
