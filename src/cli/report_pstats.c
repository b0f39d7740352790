/* SPDX-License-Identifier: MIT */
/* report_pstats: files of pstats, which have functions and their callers alone. */
#include "base/error.h"
#include "cli/read/verb_report.h"

static bool is_for_calls(size_t option)
{
    static const size_t known[] = {
        SD_REPORT_ROWS,    SD_REPORT_SORT,    SD_REPORT_MATCH,      SD_REPORT_CALLERS,
        SD_REPORT_CALLEES, SD_REPORT_CSV,     SD_REPORT_JSON,       SD_REPORT_OUTPUT,
        SD_REPORT_FORCE,   SD_REPORT_REVERSE, SD_REPORT_STRIP_DIRS, SD_REPORT_DIGITS
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == option)
            return true;
    return false;
}

int sd_report_not_of_pstats(const struct sd_asked *a, size_t option, const char *file)
{
    return sd_fail(SD_EUSAGE,
                   "--%s%s is for captures; %s is a pstats file, which has functions "
                   "and their callers alone",
                   option == SD_REPORT_SIGNATURES && !a->v[option].number ? "no-" : "",
                   a->command->verb->options[option].name, file);
}

static int check_for_calls(const struct sd_asked *a)
{
    const struct sd_option *options = a->command->verb->options;
    const struct sd_option_value *v = a->v;

    for (size_t i = 0; options[i].name; i++)
        if (v[i].is_given && !is_for_calls(i))
            return sd_report_not_of_pstats(a, i, a->words[0]);
    if (a->form == SD_FORM_PICTURE || a->form == SD_FORM_PLOT)
        return sd_fail(SD_EUSAGE,
                       "%s is a pstats file, which has no stacks to draw; it becomes "
                       ".txt, .csv or .json, and with --graph a call graph",
                       a->words[0]);
    if (*(v[SD_REPORT_CALLERS].is_given ? v[SD_REPORT_CALLERS].text : "") &&
        *(v[SD_REPORT_CALLEES].is_given ? v[SD_REPORT_CALLEES].text : ""))
        return sd_fail(
            SD_EUSAGE,
            "choose functions once: --callers=RE --callees, or either alone");
    return 0;
}

static int write_calls(const struct sd_asked *a, const struct sd_call_wish *wish,
                       struct sd_call_stats *s)
{
    const char *to = a->v[SD_REPORT_OUTPUT].text ? a->v[SD_REPORT_OUTPUT].text : "-";
    struct sd_export_file file;
    int rc = sd_export_open(
        &file, to, a->v[SD_REPORT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    return sd_export_close(&file, sd_call_tables(s, wish, &file.out));
}

int sd_report_pstats_files(const struct sd_asked *a)
{
    struct sd_call_wish wish;
    struct sd_call_stats s;
    int rc = check_for_calls(a);

    sd_call_stats_init(&s);
    if (rc == 0)
        rc = sd_asked_calls(a, &wish);
    if (rc == 0)
        rc = sd_call_files_load(a->words, (size_t)a->n_words, &s);
    if (rc == 0)
        rc = write_calls(a, &wish, &s);
    sd_call_stats_release(&s);
    return rc;
}
