/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_ALLOC_WORDS_H
#define SD_ANALYSE_ALLOC_WORDS_H
/* alloc_words: what a recording of allocations amounts to, and what it cannot tell. */
#include "analyse/alloc/alloc_request.h"
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
/* SD_EABSENT with a sentence when allocations like these were not recorded. */
int sd_alloc_check_which(const struct sd_profile *p, enum sd_alloc_which which);
/* SD_EABSENT or SD_EUSAGE with a sentence when the recording (of the file `name`)
 * cannot answer this. */
int sd_alloc_check(const struct sd_profile *p, const char *name,
                   const struct sd_alloc_request *r, const struct sd_filter *filter);
/* The same of its heap over time. */
int sd_alloc_check_plot(const struct sd_profile *p, const char *name);
#endif
