/* SPDX-License-Identifier: MIT */
/* report_put: writes the result as tables, data or a picture. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "outputs/line_listing.h"
#include "outputs/page/page_maker.h"
#include "report/report.h"

void sd_report_put_heading(struct sd_out *out, const struct sd_profile *p,
                           const struct sd_report_request *a)
{
    struct sd_buf words = { 0 };

    sd_tables_summary_words(&words, p, true);
    sd_out_printf(out, "%s", a->words[0]);
    if (a->n_words > 1)
        sd_out_printf(out, " and %d more", a->n_words - 1);
    sd_out_printf(out, ": %s\n", sd_made(out, &words));
    if (sd_profile_n_models(p) > 0)
        sd_out_printf(out, "It holds a model: look at it with sonde model %s\n",
                      a->words[0]);
    sd_out_text(out, "\n");
    sd_buf_release(&words);
}

/* Are the lines of chosen functions what is asked for?  By name, or because there is
 * nothing else that was followed. */
static bool is_of_lines(const struct sd_report_request *a, const struct sd_profile *p)
{
    const char *table = a->views.views;
    bool is_alone = !sd_profile_has_stacks(p);

    if (!sd_profile_has(p, SD_LINES))
        return false;
    return a->v[SD_REPORT_LINES].number || a->v[SD_REPORT_HOTTEST].number ||
           (is_alone && (!table || strcmp(table, "lines") == 0));
}

/* Sections and readings are there all the same. */
static int put_others(const struct sd_report_request *a, const struct sd_profile *p,
                      struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_view view = { 0 };
    int rc = sd_tables_of(p, &a->views, &view);

    if (rc == 0 && view.n_tables > 0) {
        sd_out_text(out, "\n");
        sd_tables_put_text(out, &view, &style);
    }
    sd_view_release(&view);
    return rc;
}

/* The heading last, and first in the file: there is none where there are no tables. */
static int put_below_heading(const struct sd_report_request *a,
                             const struct sd_profile *p,
                             const struct sd_line_listing_request *request,
                             struct sd_out *out)
{
    struct sd_out body;
    int rc;

    sd_out_to_memory(&body);
    rc = sd_line_listing_put(p, request, &body);
    if (rc == 0 && body.pending.bad)
        rc = sd_no_memory();
    if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_out_write(out, body.pending.p, body.pending.n);
    }
    sd_out_release(&body);
    return rc;
}

static int put_lines(const struct sd_report_request *a, const struct sd_profile *p,
                     struct sd_out *out, int fd)
{
    struct sd_line_listing_request request = {
        .layout = a->v[SD_REPORT_HOTTEST].number ? SD_LINE_LISTING_HOTTEST
                                                 : SD_LINE_LISTING_COMBINED,
        .form = sd_report_request_table_form(a),
        .style = sd_style_for(a->command, fd),
        .rows = a->views.limit,
        .tables = &a->views,
        .is_raw = a->views.stacks.is_raw,
        .remarks = &sd_said_remarks,
    };
    int rc;

    if (request.layout != SD_LINE_LISTING_HOTTEST && a->form != SD_FORM_CSV &&
        (a->views.sort || a->views.rows || a->v[SD_REPORT_ROWS].text))
        return sd_fail(SD_EUSAGE, "-n, -s and --match need --hottest, which makes one "
                                  "list of lines");
    if (a->form != SD_FORM_TEXT)
        return sd_line_listing_put(p, &request, out);
    rc = put_below_heading(a, p, &request, out);
    return rc == 0 && !a->views.views && request.layout != SD_LINE_LISTING_HOTTEST
               ? put_others(a, p, out, fd)
               : rc;
}

static int put_tables(const struct sd_report_request *a, const struct sd_profile *p,
                      struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    bool is_alloc = a->v[SD_REPORT_ALLOC].number != 0;
    struct sd_view view = { 0 };
    int rc;

    if (is_alloc && a->form == SD_FORM_TEXT)
        return sd_report_alloc_put(a, p, out, fd);
    if (is_of_lines(a, p) && !is_alloc)
        return put_lines(a, p, out, fd);
    if (sd_views_are_traced(p, &a->views) && a->form == SD_FORM_TEXT)
        return sd_report_calls_put(a, p, out, fd);
    if (sd_views_are_both(p, &a->views) && sd_profile_has(p, SD_CALLS) &&
        a->form == SD_FORM_TEXT)
        return sd_report_calls_put_both(a, p, out, fd);
    rc = is_alloc ? sd_report_alloc_view(a, p, &view)
                  : sd_tables_of(p, &a->views, &view);
    if (rc == 0 && a->form == SD_FORM_JSON)
        sd_tables_put_json(out, p, &view, a->words, (size_t)a->n_words);
    else if (rc == 0 && a->form == SD_FORM_CSV)
        sd_tables_put_csv(out, &view);
    else if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_tables_put_text(out, &view, &style);
    }
    sd_view_release(&view);
    return rc;
}

bool sd_report_put_is_flame(const struct sd_report_request *a,
                            const struct sd_profile *p)
{
    return a->form == SD_FORM_FLAME ||
           (a->form == SD_FORM_PICTURE && sd_profile_has_stacks(p));
}

static int put_flame(const struct sd_report_request *a, const struct sd_profile *p,
                     struct sd_out *out)
{
    char verbs[SD_EVIDENCE_TEXT], commands[SD_EVIDENCE_TEXT];
    int rc = sd_report_check_left(a, p);

    if (rc < 0)
        return rc;
    if (!sd_profile_has_stacks(p))
        return sd_fail(SD_EFORMAT,
                       "nothing was %s in %s, so there is no flame graph; record with: "
                       "%s",
                       sd_evidence_verbs(verbs), a->words[0],
                       sd_evidence_commands(commands));
    if (a->views.stacks.is_cpu &&
        sd_totals_metric(p, &p->evidence[SD_CALLS].stacks, "cpu_time") == UINT32_MAX)
        return sd_fail(SD_EABSENT,
                       "CPU time of calls was not measured in %s; record "
                       "with: sonde calls --cpu",
                       a->words[0]);
    return sd_picture_write_flame(p, &a->views, a->size, out);
}

static int put_page(const struct sd_report_request *a, const struct sd_profile *p,
                    struct sd_out *out)
{
    const struct sd_filter filter = sd_report_filter(a);
    const struct sd_page_request request = { .name = a->words[0],
                                             .privacy = a->privacy,
                                             .filter = &filter,
                                             .opens = &a->views };

    return sd_page_put_profile(&request, p, a->paths, (size_t)a->n_words, out);
}

int sd_report_put_result(const struct sd_report_request *a, const struct sd_profile *p)
{
    struct sd_export_file file;
    int rc = sd_report_request_open(a, &file);

    if (rc < 0)
        return rc;
    if (sd_report_put_is_flame(a, p))
        rc = put_flame(a, p, &file.out);
    else if (a->form == SD_FORM_PAGE)
        rc = put_page(a, p, &file.out);
    else if (a->form == SD_FORM_GROWTH)
        rc = sd_picture_write_growth(p, &a->views, file.path, a->size, &file.out);
    else if (a->form == SD_FORM_PLOT || a->form == SD_FORM_PICTURE)
        rc = sd_picture_write_plot(p, &a->views, file.path, a->size, &file.out);
    else
        rc = put_tables(a, p, &file.out, file.fd);
    return sd_export_close(&file, rc);
}
