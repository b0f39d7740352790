/* SPDX-License-Identifier: MIT */
/* report_stats: reports files that have functions with their callers alone, as those of
 * pstats, or with their lines alone, as those of line_profiler. */
#include <string.h>

#include "base/error.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "outputs/line_report.h"
#include "outputs/outputs.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))

static const size_t for_calls[] = {
    SD_REPORT_ROWS,    SD_REPORT_SORT,    SD_REPORT_MATCH,      SD_REPORT_CALLERS,
    SD_REPORT_CALLEES, SD_REPORT_CSV,     SD_REPORT_JSON,       SD_REPORT_OUTPUT,
    SD_REPORT_FORCE,   SD_REPORT_REVERSE, SD_REPORT_STRIP_DIRS, SD_REPORT_DIGITS,
    SD_REPORT_SOURCE,  SD_REPORT_SHARE
};
static const size_t for_lines[] = {
    SD_REPORT_SORT,      SD_REPORT_LINES,  SD_REPORT_UNIT, SD_REPORT_SKIP_ZERO,
    SD_REPORT_SUMMARIZE, SD_REPORT_CSV,    SD_REPORT_JSON, SD_REPORT_OUTPUT,
    SD_REPORT_FORCE,     SD_REPORT_SOURCE, SD_REPORT_SHARE
};

int sd_report_stats_refuse(const struct sd_report_request *a, size_t option,
                           const struct sd_input *input, const char *file)
{
    return sd_fail(SD_EUSAGE, "--%s%s needs a capture; %s is %s, which holds %s",
                   option == SD_REPORT_SIGNATURES && !a->v[option].number ? "no-" : "",
                   a->command->verb->options[option].name, file, input->title,
                   input->has);
}

/* Only these options, and nothing that is drawn. */
static int check(const struct sd_report_request *a, const size_t *known, size_t n,
                 const char *besides)
{
    const struct sd_option *options = a->command->verb->options;

    for (size_t i = 0, k; options[i].name; i++) {
        for (k = 0; k < n && known[k] != i; k++)
            continue;
        if (k == n && a->v[i].is_given)
            return sd_report_stats_refuse(a, i, a->input, a->words[0]);
    }
    if (a->form <= SD_FORM_JSON || a->form == SD_FORM_PAGE)
        return 0;
    return sd_fail(SD_EUSAGE,
                   "%s is %s, which has no stacks to draw; it becomes .html, .txt, "
                   ".csv or .json%s",
                   a->words[0], a->input->title, besides);
}

static const char *given(const struct sd_option_value *v)
{
    return v->is_given ? v->text : "";
}

static int read_calls(const struct sd_report_request *a,
                      struct sd_call_request *request)
{
    int rc = check(a, for_calls, N_OF(for_calls), ", and with --graph a call graph");

    if (rc == 0 && *given(&a->v[SD_REPORT_CALLERS]) && *given(&a->v[SD_REPORT_CALLEES]))
        rc = sd_fail(SD_EUSAGE,
                     "give a pattern to --callers or to --callees, not to both");
    return rc < 0 ? rc : sd_report_calls_request(a, request);
}

/* The largest first, as everywhere; line_profiler's own order is "-time". */
static int read_sort(const struct sd_report_request *a,
                     struct sd_line_text_request *request)
{
    for (const char *const *typed = a->v[SD_REPORT_SORT].words; typed && *typed;
         typed++) {
        request->is_sorted = true;
        request->is_reversed = **typed != '-';
        if (strcmp(*typed + (**typed == '-'), "time") != 0)
            return sd_fail(SD_EUSAGE,
                           "functions of %s are sorted by time or -time, not by "
                           "\"%s\"",
                           a->input->title, *typed);
    }
    return 0;
}

static int read_lines(const struct sd_report_request *a,
                      struct sd_line_text_request *request)
{
    int rc = check(a, for_lines, N_OF(for_lines), "");

    *request = (struct sd_line_text_request){
        .skips_zeros = a->v[SD_REPORT_SKIP_ZERO].number,
        .has_summary = a->v[SD_REPORT_SUMMARIZE].number,
    };
    if (rc == 0)
        rc = sd_line_listing_unit(a->v[SD_REPORT_UNIT].text, &request->unit);
    return rc < 0 ? rc : read_sort(a, request);
}

static int put_page(const struct sd_report_request *a, struct sd_contents *from,
                    struct sd_out *out)
{
    bool has_calls = a->input->gives & SD_HOLDS_CALLS;
    const struct sd_output_job job = { .from = a->words[0],
                                       .to = a->v[SD_REPORT_OUTPUT].text,
                                       .calls = has_calls ? &from->calls : NULL,
                                       .lines = has_calls ? NULL : &from->lines,
                                       .privacy = a->privacy,
                                       .remarks = &sd_said_remarks };

    return sd_output_write(sd_output_for(job.to, a->input->gives), &job, out);
}

int sd_report_stats(const struct sd_report_request *a)
{
    static const struct sd_loader how;
    bool has_calls = a->input->gives & SD_HOLDS_CALLS;
    struct sd_line_text_request lines;
    struct sd_call_request calls;
    struct sd_export_file file;
    struct sd_contents from;
    int rc = has_calls ? read_calls(a, &calls) : read_lines(a, &lines);

    sd_contents_init(&from);
    if (rc == 0)
        rc = a->input->load(&how, a->words, (size_t)a->n_words, &from);
    if (rc == 0)
        rc = sd_report_request_open(a, &file);
    if (rc == 0)
        rc = sd_export_close(
            &file, a->form == SD_FORM_PAGE ? put_page(a, &from, &file.out)
                   : has_calls ? sd_call_report_write(&from.calls, &calls, &file.out)
                               : sd_line_report_write(&from.lines,
                                                      sd_report_request_table_form(a),
                                                      &lines, &file.out));
    sd_contents_release(&from);
    return rc;
}
