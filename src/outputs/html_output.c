/* SPDX-License-Identifier: MIT */
/* html_output: the output `html`: everything a file holds, as one page for a browser.
 */
#include "outputs/inputs.h"
#include "outputs/page/page_maker.h"

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_page_request request = { .name = job->from };

    return sd_page_put_profile(&request, job->profile, sd_input_path(job->from), out);
}

const struct sd_output sd_output_html = {
    .name = "html",
    .suffixes = { ".html", ".htm" },
    .summary = "everything in one page for a browser",
    .loses = "single events, and what is too small to be seen",
    .needs = SD_HOLDS_EVENTS | SD_HOLDS_STACKS,
    .is_page = true,
    .write = write,
};
