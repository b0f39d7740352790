/* SPDX-License-Identifier: MIT */
/* report_put: the answer, as tables, data or a picture. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/lined.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "report/report.h"

void sd_report_put_heading(struct sd_out *out, const struct sd_profile *p,
                           const struct sd_asked *a)
{
    struct sd_buf words = { 0 };

    sd_summary_words(&words, p, true);
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
static bool is_of_lines(const struct sd_asked *a, const struct sd_profile *p)
{
    const char *table = a->tables.table;
    bool is_alone = p->samples.n == 0 && p->calls.n == 0;

    if (p->lines.n == 0)
        return false;
    return a->v[SD_REPORT_LINES].number || a->v[SD_REPORT_HOTTEST].number ||
           (is_alone && (!table || strcmp(table, "lines") == 0));
}

/* Sections and readings are there all the same. */
static int put_others(const struct sd_asked *a, const struct sd_profile *p,
                      struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_view view = { 0 };
    int rc = sd_tables_of(p, &a->tables, &view);

    if (rc == 0 && view.n_tables > 0) {
        sd_out_text(out, "\n");
        sd_tables_text(out, &view, &style);
    }
    sd_view_release(&view);
    return rc;
}

/* The heading last, and first in the file: there is none where there are no tables. */
static int put_below_heading(const struct sd_asked *a, const struct sd_profile *p,
                             const struct sd_lined_wish *wish, struct sd_out *out)
{
    struct sd_out body;
    int rc;

    sd_out_to_memory(&body);
    rc = sd_lined_put(p, wish, &body);
    if (rc == 0 && body.pending.bad)
        rc = sd_no_memory();
    if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_out_write(out, body.pending.p, body.pending.n);
    }
    sd_out_release(&body);
    return rc;
}

static int put_lines(const struct sd_asked *a, const struct sd_profile *p,
                     struct sd_out *out, int fd)
{
    struct sd_lined_wish wish = {
        .layout = a->v[SD_REPORT_HOTTEST].number ? SD_LINED_HOTTEST : SD_LINED_COMBINED,
        .form = a->form == SD_FORM_CSV    ? SD_LINE_CSV
                : a->form == SD_FORM_JSON ? SD_LINE_JSON
                                          : SD_LINE_TEXT,
        .style = sd_style_for(a->command, fd),
        .rows = a->tables.limit,
        .tables = &a->tables,
        .is_raw = a->tables.is_raw,
    };
    int rc;

    if (wish.layout != SD_LINED_HOTTEST && a->form != SD_FORM_CSV &&
        (a->tables.sort || a->tables.rows || a->v[SD_REPORT_ROWS].text))
        return sd_fail(SD_EUSAGE, "-n, -s and --match are for one list of lines: add "
                                  "--hottest");
    if (a->form != SD_FORM_TEXT)
        return sd_lined_put(p, &wish, out);
    rc = put_below_heading(a, p, &wish, out);
    return rc == 0 && !a->tables.table && wish.layout != SD_LINED_HOTTEST
               ? put_others(a, p, out, fd)
               : rc;
}

static int put_tables(const struct sd_asked *a, const struct sd_profile *p,
                      struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(a->command, fd);
    struct sd_view view = { 0 };
    int rc;

    if (is_of_lines(a, p))
        return put_lines(a, p, out, fd);
    if (sd_tables_are_traced(p, &a->tables) && a->form == SD_FORM_TEXT)
        return sd_report_put_traced(a, p, out, fd);
    if (sd_tables_are_both(p, &a->tables) && a->form == SD_FORM_TEXT)
        return sd_report_put_both(a, p, out, fd);
    rc = sd_tables_of(p, &a->tables, &view);
    if (rc == 0 && a->form == SD_FORM_JSON)
        sd_tables_json(out, p, &view, a->words, (size_t)a->n_words);
    else if (rc == 0 && a->form == SD_FORM_CSV)
        sd_tables_csv(out, &view);
    else if (rc == 0) {
        sd_report_put_heading(out, p, a);
        sd_tables_text(out, &view, &style);
    }
    sd_view_release(&view);
    return rc;
}

/* Threads of several processes stand below their own. */
static bool has_several_processes(const struct sd_profile *p, const char *metric)
{
    const struct sd_stack_totals *t = sd_profile_totals(p, metric);

    for (size_t i = 1; i < t->n; i++)
        if (sd_profile_process_of(p, t->items[i].track).at !=
            sd_profile_process_of(p, t->items[0].track).at)
            return true;
    return false;
}

bool sd_asked_is_flame(const struct sd_asked *a, const struct sd_profile *p)
{
    return a->form == SD_FORM_FLAME ||
           (a->form == SD_FORM_PICTURE && (p->samples.n > 0 || p->calls.n > 0));
}

static int put_flame(const struct sd_asked *a, const struct sd_profile *p,
                     struct sd_out *out)
{
    struct sd_flame_wish wish = a->flame;
    int rc = sd_report_check_left(a, p);

    if (rc < 0)
        return rc;
    if (p->samples.n == 0 && p->calls.n == 0)
        return sd_fail(SD_EFORMAT,
                       "nothing was sampled or traced in %s, so there is no flame "
                       "graph; record with: sonde run --with sample, or sonde calls",
                       a->words[0]);
    if (a->tables.is_cpu && sd_totals_metric(p, &p->calls, "cpu_time") == UINT32_MAX)
        return sd_fail(SD_EABSENT,
                       "CPU time of calls was not measured in %s; record "
                       "with: sonde calls --cpu",
                       a->words[0]);
    if (!wish.choice.metric && (a->tables.is_cpu || a->tables.is_raw))
        wish.choice.metric = a->tables.is_cpu ? "cpu_time" : "time"; /* of calls */
    wish.has_processes =
        wish.has_threads && has_several_processes(p, wish.choice.metric);
    return sd_export_flame(p, &wish, a->flame_width, out);
}

static int put_growth(const struct sd_asked *a, const struct sd_profile *p,
                      const char *to, struct sd_out *out)
{
    const struct sd_traced_wish wish = sd_tables_scaling_wish(p, &a->tables);
    const struct sd_growth_wish growth = { a->tables.rows, a->plot.width };

    return sd_export_growth(p, &wish, &growth, to, out);
}

int sd_report_write(const struct sd_asked *a, const struct sd_profile *p)
{
    const char *to = a->v[SD_REPORT_OUTPUT].text ? a->v[SD_REPORT_OUTPUT].text : "-";
    struct sd_export_file file;
    int rc = sd_export_open(
        &file, to, a->v[SD_REPORT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    if (sd_asked_is_flame(a, p))
        rc = put_flame(a, p, &file.out);
    else if (a->form == SD_FORM_GROWTH)
        rc = put_growth(a, p, to, &file.out);
    else if (a->form == SD_FORM_PLOT || a->form == SD_FORM_PICTURE)
        rc = sd_export_plot(p, &a->plot, to, &file.out);
    else
        rc = put_tables(a, p, &file.out, file.fd);
    return sd_export_close(&file, rc);
}
