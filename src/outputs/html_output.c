/* SPDX-License-Identifier: MIT */
/* html_output: the output `html`: everything a file holds, as one page for a browser.
 */
#include <string.h>

#include "base/file.h"
#include "outputs/inputs.h"
#include "outputs/page/page_maker.h"

/* A capture that is not kept has the name of the page, with a suffix behind it.  What
 * comes from Python has no name: there the command is known. */
static const char *name_of(const struct sd_output_job *job)
{
    const char *command =
        job->profile ? sd_profile_meta(job->profile, "command") : NULL;

    if (strncmp(job->from, "/proc/", strlen("/proc/")) == 0)
        return command && !strchr(command, '/') ? command : "Python";
    return strncmp(job->from, job->to, strlen(job->to)) == 0 ? job->to : job->from;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_page_request request = {
        .name = name_of(job),
        .privacy = job->privacy,
        .recorded_ns = sd_file_modified_ns(job->from),
    };

    if (job->profile)
        return sd_page_put_profile(&request, job->profile,
                                   (char *[]){ (char *)job->from }, 1, out);
    return job->calls ? sd_page_put_calls(&request, job->calls, out)
                      : sd_page_put_lines(&request, job->lines, out);
}

const struct sd_output sd_output_html = {
    .name = "html",
    .suffixes = { ".html", ".htm" },
    .summary = "everything in one page for a browser",
    .loses = "single events, and what is too small to be seen",
    .needs = SD_HOLDS_EVENTS | SD_HOLDS_STACKS | SD_HOLDS_CALLS | SD_HOLDS_LINES,
    .is_page = true,
    .write = write,
};
