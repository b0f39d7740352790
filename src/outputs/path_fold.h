/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_PATH_FOLD_H
#define SD_OUTPUTS_PATH_FOLD_H
/* path_fold: keeps files of stacks to a size that their viewers can open.
 *
 * A tree of calls holds a path in a few bytes, because its parent is there already.
 * Formats that write every path from its outermost function on take many times that:
 * 13 MB of capture become 180 MB of collapsed stacks.  So where the paths would add
 * more than `limit_bytes` to a file, those with less than a share of the whole become
 * part of their caller's path.  The share doubles until the file fits, as in a flame
 * graph. What a path had is added to where it went: every sum stays what it was.
 *
 * One unit serves all formats: it makes a smaller profile, and counts what the format
 * writes of that.  It folds any evidence with stacks but samples: their number is
 * bounded by time, and most formats read them one by one. */
#include "formats/output.h"

enum { SD_FOLD_LIMIT = 20 * 1000 * 1000 };
#define SD_FOLD_LEAST 0.000001 /* percent: the first share that is tried */

struct sd_path_fold {          /* all zero is a released one */
    struct sd_profile profile; /* what is to be written; it borrows all but stacks and
                                  calls from the profile that was folded */
    enum sd_evidence evidence; /* whose paths they are */
    double percent;            /* paths below that were folded; 0: none was */
    size_t n_folded, n_paths;  /* paths that became part of another's, of how many */
};

/* Does the output write paths of the job's profile that may have to be folded? */
bool sd_path_fold_applies(const struct sd_output *o, const struct sd_output_job *job);

/* Folds as much as is needed; where nothing is, `profile` is all of the job's.  0 or <
 * 0. */
int sd_path_fold_make(struct sd_path_fold *fold, const struct sd_output *o,
                      const struct sd_output_job *job, uint64_t limit_bytes);
void sd_path_fold_release(struct sd_path_fold *fold);

/* About how many bytes the file has with every path in it: known from some thousand of
 * its `n_paths`, without writing it. */
int sd_path_fold_expect(const struct sd_output *o, const struct sd_output_job *job,
                        uint64_t *bytes, size_t *n_paths);
#endif
