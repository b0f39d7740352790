/* SPDX-License-Identifier: MIT */
/* report_alloc: reads the options of `report --alloc` and prints allocations. */
#include <string.h>

#include "analyse/alloc/alloc_request.h"
#include "analyse/alloc/alloc_words.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "outputs/alloc_listing.h"
#include "report/report.h"

/* --- What was typed */

/* Which blocks, by the option that says so. */
static const struct {
    size_t option;
    enum sd_alloc_which which;
    const char *metric; /* of trees and flame graphs; NULL: there are none */
} choices[] = {
    { SD_REPORT_PEAK, SD_WHICH_PEAK, "peak_bytes" },
    { SD_REPORT_LEAKS, SD_WHICH_LEAKS, "leaked_bytes" },
    { SD_REPORT_TEMPORARY, SD_WHICH_TEMPORARY, "temporary_bytes" },
    { SD_REPORT_TOTAL, SD_WHICH_TOTAL, "bytes" },
    { SD_REPORT_GROWING, SD_WHICH_GROWING, NULL },
    { SD_REPORT_AT, SD_WHICH_LIVE, "live_bytes" },
};
enum { N_CHOICES = sizeof choices / sizeof *choices };

static const char *const ways[] = {
    [SD_ROWS_BY_LINE] = "line",           [SD_ROWS_BY_FUNCTION] = "function",
    [SD_ROWS_BY_FILE] = "file",           [SD_ROWS_BY_STACK] = "stack",
    [SD_ROWS_BY_THREAD] = "thread",       [SD_ROWS_BY_PROCESS] = "process",
    [SD_ROWS_BY_ALLOCATOR] = "allocator", [SD_ROWS_BY_SIZE] = "size",
};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* Of stacks only the first two are known, and modules. */
static int check_without(const struct sd_report_request *a)
{
    const char *by = a->v[SD_REPORT_BY].text;

    for (size_t i = 0; i < N_CHOICES; i++)
        if (a->v[choices[i].option].is_given)
            return sd_fail(SD_EUSAGE, "--%s needs --alloc",
                           a->command->verb->options[choices[i].option].name);
    for (size_t i = SD_ROWS_BY_FILE; i < N_WAYS; i++)
        if (strcmp(by, ways[i]) == 0)
            return sd_fail(SD_EUSAGE, "--by %s needs --alloc", by);
    return 0;
}

static int read_which(struct sd_report_request *a, const char **metric)
{
    const struct sd_option *options = a->command->verb->options;
    size_t chosen = N_CHOICES;

    for (size_t i = 0; i < N_CHOICES; i++) {
        if (!a->v[choices[i].option].is_given)
            continue;
        if (chosen < N_CHOICES)
            return sd_fail(SD_EUSAGE, "choose one of --%s and --%s",
                           options[choices[chosen].option].name,
                           options[choices[i].option].name);
        chosen = i;
    }
    chosen = chosen < N_CHOICES ? chosen : 0;
    a->views.alloc.which = choices[chosen].which;
    *metric = choices[chosen].metric;
    return 0;
}

static int read_between(struct sd_report_request *a)
{
    const struct sd_option_value *v = &a->v[SD_REPORT_TEMPORARY];
    struct sd_alloc_choice *choice = &a->views.selection.alloc;

    if (!v->is_given || !*v->text)
        return 0;
    choice->has_between = true;
    if (!sd_text_parse_number(v->text, &choice->n_between))
        return sd_fail(SD_EUSAGE, "--temporary takes a number of allocations, not '%s'",
                       v->text);
    return 0;
}

static int read_by(struct sd_report_request *a)
{
    const struct sd_option_value *v = &a->v[SD_REPORT_BY];

    if (!v->is_given)
        return 0;
    for (size_t i = 0; i < N_WAYS; i++)
        if (strcmp(v->text, ways[i]) == 0) {
            a->views.alloc.by = (enum sd_alloc_by)i;
            return 0;
        }
    return sd_fail(SD_EUSAGE,
                   "--by %s has no effect on allocations; drop it or --alloc", v->text);
}

/* What a tree or a picture of stacks is of. */
static int read_stacks(struct sd_report_request *a, const char *metric)
{
    const struct sd_option_value *v = a->v;
    bool is_of_stacks = v[SD_REPORT_TREE].number || a->form == SD_FORM_FLAME ||
                        a->form == SD_FORM_PICTURE;

    if (v[SD_REPORT_LINES].number && (is_of_stacks || a->form == SD_FORM_PLOT))
        return sd_fail(
            SD_EUSAGE,
            "--lines makes a list; drop --lines, or --tree, --flame and --plot");
    if (v[SD_REPORT_LINES].number && a->views.alloc.by != SD_ROWS_BY_LINE)
        return sd_fail(SD_EUSAGE, "--lines makes rows by line; drop --lines or --by %s",
                       v[SD_REPORT_BY].text);
    if (is_of_stacks && !metric)
        return sd_fail(
            SD_EUSAGE,
            "--growing makes a table; drop --growing, or --tree and --flame");
    if (is_of_stacks || a->form == SD_FORM_PAGE) {
        a->views.stacks.choice.evidence = &sd_evidence[SD_ALLOCATIONS];
        a->views.stacks.choice.metric = metric;
    }
    if (a->form == SD_FORM_PLOT) {
        a->views.metric = "heap";
        a->views.plot.has_beside = true;
    }
    if (a->form <= SD_FORM_JSON)
        a->views.views = v[SD_REPORT_TREE].number ? "calls" : "allocations";
    return 0;
}

/* Tables and options that are of something else. */
static int check_others(const struct sd_report_request *a)
{
    static const size_t others[] = {
        SD_REPORT_TABLE,   SD_REPORT_HOTTEST,    SD_REPORT_CALLERS, SD_REPORT_CALLEES,
        SD_REPORT_THREADS, SD_REPORT_PER_THREAD, SD_REPORT_IMPORTS, SD_REPORT_SCALING,
        SD_REPORT_RAW,     SD_REPORT_CPU,        SD_REPORT_IDLE,    SD_REPORT_GIL,
        SD_REPORT_GRAPH,   SD_REPORT_METRIC,
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (a->v[others[i]].is_given)
            return sd_fail(SD_EUSAGE,
                           "--%s has no effect on allocations; drop it or --alloc",
                           a->command->verb->options[others[i]].name);
    return 0;
}

int sd_report_alloc_read(struct sd_report_request *a)
{
    struct sd_alloc_choice *choice = &a->views.selection.alloc;
    const char *metric = NULL;
    int rc;

    if (!a->v[SD_REPORT_ALLOC].number)
        return check_without(a);
    rc = check_others(a);
    if (rc == 0)
        rc = read_which(a, &metric);
    if (rc == 0)
        rc = read_between(a);
    if (rc == 0)
        rc = read_by(a);
    if (rc < 0)
        return rc;
    choice->has_at = a->v[SD_REPORT_AT].is_given;
    choice->at_ns = a->v[SD_REPORT_AT].number;
    choice->has_sizes = a->views.alloc.by == SD_ROWS_BY_SIZE;
    a->views.alloc.has_from = a->v[SD_REPORT_FROM].is_given;
    a->views.has_both = false;
    return read_stacks(a, metric);
}

int sd_report_alloc_check(const struct sd_report_request *a, const struct sd_profile *p)
{
    int rc = 0;

    if (a->v[SD_REPORT_ALLOC].number)
        rc = sd_alloc_request_check(p, a->words[0], &a->views.alloc,
                                    &a->views.selection);
    if (rc == 0 && a->v[SD_REPORT_ALLOC].number && a->form == SD_FORM_PLOT)
        rc = sd_alloc_request_check_plot(p, a->words[0]);
    return rc;
}

/* --- The answer */

int sd_report_alloc_view(const struct sd_report_request *a, const struct sd_profile *p,
                         struct sd_view *v)
{
    return a->v[SD_REPORT_LINES].number
               ? sd_alloc_listing_of(p, &a->views, &sd_said_remarks, v)
               : sd_tables_of(p, &a->views, v);
}

int sd_report_alloc_put(const struct sd_report_request *a, const struct sd_profile *p,
                        struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_buf words = { 0 };
    struct sd_view view = { 0 };
    int rc = sd_report_alloc_view(a, p, &view);

    if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_alloc_words(&words, p);
        sd_out_printf(out, "%s\n", sd_made(out, &words));
        sd_tables_put_text(out, &view, &style);
    }
    sd_buf_release(&words);
    sd_view_release(&view);
    return rc;
}
