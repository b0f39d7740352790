/* SPDX-License-Identifier: MIT */
/* write: writes an output; paths of traced calls are folded where the file would become
 * large. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"
#include "outputs/outputs.h"
#include "outputs/path_fold.h"
#include "outputs/remarks.h"

enum { ANNOUNCED_BYTES = 100 * 1000 * 1000, GB = 1000 * 1000 * 1000 };

static const char *name_of(const struct sd_output_job *job)
{
    return strcmp(job->to, "-") == 0 ? "the output" : job->to;
}

/* Small shares without an exponent: "0.000032". */
static char *percent_text(char text[SD_TEXT_MAX], double percent)
{
    int digits = percent < 1 ? 1 - (int)floor(log10(percent)) : 0;

    snprintf(text, SD_TEXT_MAX, "%.*f", digits < 12 ? digits : 12, percent);
    return text;
}

static void remark_folded(const struct sd_output_job *job,
                          const struct sd_path_fold *fold)
{
    char n[SD_TEXT_MAX], of[SD_TEXT_MAX], percent[SD_TEXT_MAX];

    if (fold->n_folded == 0)
        return;
    sd_remark(
        job->remarks,
        "%s has %s of %s paths folded into their callers, each below %s %% of the "
        "whole, so that it stays small; --all writes every path",
        name_of(job), sd_text_count(n, (int64_t)fold->n_folded),
        sd_text_count(of, (int64_t)fold->n_paths),
        percent_text(percent, fold->percent));
}

/* A file that takes long, or more room than there is, is announced. */
static int remark_expected(const struct sd_output *o, const struct sd_output_job *job)
{
    uint64_t bytes = 0;
    size_t n_paths = 0;
    int rc = sd_path_fold_expect(o, job, &bytes, &n_paths);
    double size = (double)bytes / (bytes < GB ? 1e6 : 1e9);
    char n[SD_TEXT_MAX];

    if (rc == 0 && bytes > ANNOUNCED_BYTES)
        sd_remark(job->remarks, "%s will have about %.*f %s: %s paths", name_of(job),
                  size < 10 ? 1 : 0, size, bytes < GB ? "MB" : "GB",
                  sd_text_count(n, (int64_t)n_paths));
    return rc;
}

static int write_folded(const struct sd_output *o, const struct sd_output_job *job,
                        struct sd_out *out)
{
    struct sd_output_job folded = *job;
    struct sd_path_fold fold;
    int rc = sd_path_fold_make(&fold, o, job, SD_FOLD_LIMIT);

    folded.profile = &fold.profile;
    if (rc == 0)
        rc = o->write(&folded, out);
    if (rc == 0)
        remark_folded(job, &fold);
    sd_path_fold_release(&fold);
    return rc;
}

int sd_output_write(const struct sd_output *o, const struct sd_output_job *job,
                    struct sd_out *out)
{
    int rc = 0;

    sd_assert(o->write && job->from && job->to);
    sd_assert(job->profile || job->calls || job->lines);
    if (sd_path_fold_applies(o, job)) {
        if (!job->style || !job->style->has_all_paths)
            return write_folded(o, job, out);
        rc = remark_expected(o, job);
    }
    return rc < 0 ? rc : o->write(job, out);
}
