/* SPDX-License-Identifier: MIT */
/* table_outputs: a capture's events as CSV and JSON, its tables as text, and all three
 * of files that have calls or lines alone. */
#include "base/mem.h"
#include "formats/event_files.h"
#include "outputs/call_report.h"
#include "outputs/line_report.h"
#include "outputs/needs.h"
#include "outputs/outputs.h"
#include "outputs/tables.h"

extern const struct sd_output sd_output_chrometrace;

static int put_lines(const struct sd_output_job *job, enum sd_table_form form,
                     struct sd_out *out)
{
    const struct sd_line_listing_request request = { .layout = SD_LINE_LISTING_COMBINED,
                                                     .form = form,
                                                     .remarks = job->remarks };

    return sd_line_listing_put(job->profile, &request, out);
}

/* As `sonde report` prints them. */
static int put_tables(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    const struct sd_view_request request = { .is_short = true,
                                             .has_both = true,
                                             .stacks.choice.has_idle =
                                                 job->style && job->style->has_idle };
    const struct sd_text_style style = { 0 };
    struct sd_buf words = { 0 };
    struct sd_view view = { 0 };
    int rc = sd_tables_of(p, &request, &view);

    sd_tables_summary_words(&words, p, true);
    if (words.bad)
        rc = sd_no_memory();
    if (rc == 0) {
        sd_out_printf(out, "%s: %s\n\n", sd_output_from(job), sd_buf_string(&words));
        if (sd_profile_has(p, SD_LINES))
            rc = put_lines(job, SD_TABLE_TEXT, out);
        sd_out_text(out, sd_profile_has(p, SD_LINES) && view.n_tables > 0 ? "\n" : "");
    }
    if (rc == 0)
        sd_tables_put_text(out, &view, &style);
    sd_buf_release(&words);
    sd_view_release(&view);
    return rc;
}

/* Of files with calls or lines alone. */
static int put_stats(const struct sd_output_job *job, enum sd_table_form form,
                     struct sd_out *out)
{
    static const struct sd_line_text_request lines = { .unit = 1e-6 };
    const struct sd_call_request calls = { .form = form };

    return job->calls ? sd_call_report_write(job->calls, &calls, out)
                      : sd_line_report_write(job->lines, form, &lines, out);
}

static int write_txt(const struct sd_output_job *job, struct sd_out *out)
{
    return job->profile ? put_tables(job, out) : put_stats(job, SD_TABLE_TEXT, out);
}

/* A list of events is empty where only lines were counted: as data such a capture is
 * its lines. */
static int write_csv(const struct sd_output_job *job, struct sd_out *out)
{
    if (!job->profile)
        return put_stats(job, SD_TABLE_CSV, out);
    return sd_holds_lines_alone(job->profile) ? put_lines(job, SD_TABLE_CSV, out)
                                              : sd_csv_write_events(job, out);
}

static int write_json(const struct sd_output_job *job, struct sd_out *out)
{
    if (!job->profile)
        return put_stats(job, SD_TABLE_JSON, out);
    return sd_holds_lines_alone(job->profile) ? put_lines(job, SD_TABLE_JSON, out)
                                              : sd_json_write_events(job, out);
}

const struct sd_output sd_output_csv = {
    .name = "csv",
    .suffixes = { ".csv" },
    .summary = "one row per event, one column per metric",
    .loses =
        "notes, facts about the run, how whole the capture is, units and meanings "
        "of metrics, files and lines of sites, and of a sample or a traced call all "
        "frames but the newest",
    .needs = SD_HOLDS_EVENTS | SD_HOLDS_CALLS | SD_HOLDS_LINES,
    .has_tables = true,
    .form = SD_TABLE_CSV,
    .write = write_csv,
};

/* "trace.json" of a capture with a timeline is what every other tracer means by it. */
const struct sd_output sd_output_json = {
    .name = "json",
    .suffixes = { ".json" },
    .summary = "one object: what was measured, who and where, then every event",
    .loses = "the order of events between threads, raw ticks of the clock, and which "
             "section begin belongs to which end",
    .needs = SD_HOLDS_EVENTS | SD_HOLDS_CALLS | SD_HOLDS_LINES,
    .has_tables = true,
    .form = SD_TABLE_JSON,
    .of_timeline = &sd_output_chrometrace,
    .write = write_json,
};

const struct sd_output sd_output_txt = {
    .name = "txt",
    .suffixes = { ".txt" },
    .summary = "the tables, as text",
    .loses = "single events, stacks, and what `sonde report` shows only when asked: "
             "sampled lines, threads, readings",
    .needs = SD_HOLDS_EVENTS /* at least a summary */ | SD_HOLDS_STACKS |
             SD_HOLDS_CALLS | SD_HOLDS_LINES,
    .has_tables = true,
    .form = SD_TABLE_TEXT,
    .write = write_txt,
};
