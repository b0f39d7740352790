/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_PATH_FOLD_H
#define SD_FORMATS_PATH_FOLD_H
/* path_fold: keeps files of traced calls to a size that their viewers can open.
 *
 * A tree of calls holds a path in a few bytes, because its parent is there already.
 * Formats that write every path from its outermost function on take many times that:
 * 13 MB of capture become 180 MB of collapsed stacks.  So where the paths would add
 * more than `limit_bytes` to a file, those with less than a share of the whole become
 * part of their caller's path.  The share doubles until the file fits, as in a flame
 * graph. What a path had is added to where it went: every sum stays what it was.
 *
 * One unit serves all formats: it makes a smaller profile, and counts what the format
 * writes of that.  Samples are left alone: their number is bounded by time. */
#include "formats/format.h"

enum { SD_FOLD_LIMIT = 20 * 1000 * 1000 };
#define SD_FOLD_LEAST 0.000001 /* percent: the first share that is tried */

struct sd_path_fold {          /* all zero is a released one */
    struct sd_profile profile; /* what is to be written; it borrows all but stacks and
                                  calls from the profile that was folded */
    double percent;            /* paths below that were folded; 0: none was */
    size_t n_folded, n_paths;  /* paths that became part of another's, of how many */
};

/* Does the format write the paths of traced calls of this profile? */
bool sd_path_fold_applies(const struct sd_format *f, const struct sd_profile *p,
                          const struct sd_stack_style *style);

/* Folds as much as is needed; where nothing is, `profile` is all of `p`.  0 or < 0. */
int sd_path_fold_make(struct sd_path_fold *fold, const struct sd_format *f,
                      const struct sd_profile *p, const char *path,
                      const struct sd_filter *filter,
                      const struct sd_stack_style *style, uint64_t limit_bytes);
void sd_path_fold_release(struct sd_path_fold *fold);

/* About how many bytes the file has with every path in it: known from some thousand of
 * them, without writing it. */
int sd_path_fold_expect(const struct sd_format *f, const struct sd_profile *p,
                        const char *path, const struct sd_filter *filter,
                        const struct sd_stack_style *style, uint64_t *bytes);
#endif
