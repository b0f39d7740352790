/* SPDX-License-Identifier: MIT */
/* report_lprof: files of line_profiler, which have functions and their lines alone. */
#include <string.h>

#include "base/error.h"
#include "cli/line_tables.h"
#include "cli/read/verb_report.h"

static bool is_for_lines(size_t option)
{
    static const size_t known[] = { SD_REPORT_SORT,      SD_REPORT_LINES,
                                    SD_REPORT_UNIT,      SD_REPORT_SKIP_ZERO,
                                    SD_REPORT_SUMMARIZE, SD_REPORT_CSV,
                                    SD_REPORT_JSON,      SD_REPORT_OUTPUT,
                                    SD_REPORT_FORCE };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == option)
            return true;
    return false;
}

static int check_for_lines(const struct sd_asked *a)
{
    const struct sd_option *options = a->command->verb->options;

    for (size_t i = 0; options[i].name; i++)
        if (a->v[i].is_given && !is_for_lines(i))
            return sd_fail(SD_EUSAGE,
                           "--%s is for captures; %s is a file of line_profiler, which "
                           "has functions and their lines alone",
                           options[i].name, a->words[0]);
    if (a->form != SD_FORM_TEXT && a->form != SD_FORM_CSV && a->form != SD_FORM_JSON)
        return sd_fail(SD_EUSAGE,
                       "%s is a file of line_profiler, which has no stacks to draw; it "
                       "becomes .txt, .csv or .json",
                       a->words[0]);
    return 0;
}

/* The largest first, as everywhere; line_profiler's own order is "-time". */
static int read_sort(const char *const *typed, struct sd_line_text_wish *wish)
{
    for (; typed && *typed; typed++) {
        wish->is_sorted = true;
        wish->is_reversed = **typed != '-';
        if (strcmp(*typed + (**typed == '-'), "time") != 0)
            return sd_fail(SD_EUSAGE,
                           "functions of a file of line_profiler are sorted by time "
                           "or -time, not by \"%s\"",
                           *typed);
    }
    return 0;
}

static int write_lines(const struct sd_asked *a, const struct sd_line_stats *s,
                       const struct sd_line_text_wish *wish)
{
    const char *to = a->v[SD_REPORT_OUTPUT].text ? a->v[SD_REPORT_OUTPUT].text : "-";
    enum sd_line_form form = a->form == SD_FORM_CSV    ? SD_LINE_CSV
                             : a->form == SD_FORM_JSON ? SD_LINE_JSON
                                                       : SD_LINE_TEXT;
    struct sd_export_file file;
    int rc = sd_export_open(
        &file, to, a->v[SD_REPORT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    return rc < 0 ? rc
                  : sd_export_close(&file, sd_line_tables(s, form, wish, &file.out));
}

int sd_report_lprof_files(const struct sd_asked *a)
{
    struct sd_line_text_wish wish = {
        .skips_zeros = a->v[SD_REPORT_SKIP_ZERO].number,
        .has_summary = a->v[SD_REPORT_SUMMARIZE].number,
    };
    struct sd_line_stats s;
    int rc = check_for_lines(a);

    sd_line_stats_init(&s);
    if (rc == 0)
        rc = sd_lined_unit(a->v[SD_REPORT_UNIT].text, &wish.unit);
    if (rc == 0)
        rc = read_sort(a->v[SD_REPORT_SORT].words, &wish);
    if (rc == 0)
        rc = sd_line_files_load(a->words, (size_t)a->n_words, &s);
    if (rc == 0)
        rc = write_lines(a, &s, &wish);
    sd_line_stats_release(&s);
    return rc;
}
