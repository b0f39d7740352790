/* SPDX-License-Identifier: MIT */
#include "outputs/line_listing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/line_list.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "outputs/line_json.h"
#include "outputs/remarks.h"
#include "outputs/source_age.h"
#include "outputs/tables.h"
#include "profile/lines/line_stats.h"
#include "report/text/line_text.h"
#include "report/text/line_view.h"
#include "report/text/memory_text.h"

int sd_line_listing_unit(const char *typed, double *unit_s)
{
    char *end;

    *unit_s = strtod(typed, &end);
    if (end == typed || *end || !isfinite(*unit_s) || *unit_s <= 0)
        return sd_fail(SD_EUSAGE,
                       "--unit takes a number of seconds, such as 1e-6, not \"%s\"",
                       typed);
    return 0;
}

/* --- JSON */

static void put_function(struct sd_json *j, const struct sd_line_list_function *f)
{
    sd_line_json_begin(j, &(struct sd_line_json){ .file = f->file,
                                                  .name = f->name,
                                                  .n_file = strlen(f->file),
                                                  .n_name = strlen(f->name),
                                                  .first = f->first,
                                                  .time_ns = f->time_ns,
                                                  .tracing_ns = f->tracing_ns });
    for (size_t i = 0; i < f->n_rows; i++)
        sd_line_json_row(j, f->rows[i].line, f->rows[i].values, SD_LINE_JSON_NULLS);
    sd_line_json_end(j);
}

static void put_json(struct sd_out *out, const struct sd_line_list *l)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_array(&j, "functions");
    for (size_t i = 0; i < l->n; i++)
        put_function(&j, &l->functions[i]);
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

/* --- Text */

/* What the capture has itself of the source, else the file. */
static int find_text(void *context, const char *file, struct sd_code_text *into)
{
    const struct sd_line_list *l = context;
    int rc;

    for (size_t i = 0; i < l->n; i++) {
        const struct sd_line_list_function *f = &l->functions[i];

        if (!f->text || strcmp(f->file, file) != 0)
            continue;
        rc = sd_code_text_take_utf8(into, f->text, strlen(f->text));
        return rc < 0 ? rc : 1;
    }
    return sd_code_text_read(into, file);
}

static int put_time(const struct sd_line_list *l,
                    const struct sd_line_listing_request *request, struct sd_out *out)
{
    const struct sd_line_text_request text = {
        .unit = request->unit_s,
        .skips_zeros = request->skips_zero,
        .has_summary = request->has_summary,
        .is_sorted = request->is_sorted,
        .source = find_text,
        .context = (void *)(uintptr_t)l,
    };
    struct sd_line_stats stats;
    int rc;

    sd_line_stats_init(&stats);
    rc = sd_line_list_stats(l, SD_TWINS_APART, &stats);
    if (rc == 0)
        rc = sd_report_lines(&stats, &text, out);
    sd_line_stats_release(&stats);
    return rc;
}

static void remark_changed(const struct sd_profile *p, const struct sd_line_list *l,
                           const struct sd_remarks *remarks)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *file = l->functions[i].file;

        if ((i > 0 && strcmp(file, l->functions[i - 1].file) == 0) ||
            !sd_source_has_changed(p, file))
            continue;
        sd_remark(remarks,
                  "%s has changed since it was run: numbers and source may not belong "
                  "together",
                  file);
    }
}

/* All lines, and then those that were asked for: what is rare in one order is first in
 * another. */
static int list_lines(const struct sd_line_list *l,
                      const struct sd_line_listing_request *request, struct sd_view *v)
{
    const struct sd_view_request *t = request->tables;
    int rc;

    if (!t || (!t->sort && !t->rows && t->fraction <= 0))
        return sd_line_view_hottest(l, request->rows, v);
    rc = sd_line_view_hottest(l, 0, v);
    if (rc == 0 && t->rows)
        rc = sd_view_table_match(v, &v->tables[0], t->rows);
    return rc == 0 ? sd_tables_order(v, t) : rc;
}

static int put_hottest(const struct sd_line_list *l,
                       const struct sd_line_listing_request *request,
                       struct sd_out *out)
{
    struct sd_view v = { 0 };
    struct sd_json j;
    int rc = list_lines(l, request, &v);

    if (rc == 0 && request->form == SD_TABLE_CSV)
        sd_report_table_csv(out, &v.tables[0]);
    else if (rc == 0 && request->form == SD_TABLE_TEXT)
        sd_report_table_text(out, &v.tables[0], &request->style);
    else if (rc == 0) {
        sd_json_init(&j, out, true);
        sd_json_object(&j);
        sd_report_table_json(&j, &v.tables[0]);
        sd_json_end(&j);
        sd_out_text(out, "\n");
    }
    sd_view_release(&v);
    return rc;
}

static int put_text(const struct sd_line_list *l,
                    const struct sd_line_listing_request *request, struct sd_out *out)
{
    switch (request->layout) {
    case SD_LINE_LISTING_TIME:
        return put_time(l, request, out);
    case SD_LINE_LISTING_MEMORY:
        return sd_report_line_memory(l, request->precision, out);
    case SD_LINE_LISTING_COMBINED:
        return sd_report_lines_combined(l, &request->style, out);
    case SD_LINE_LISTING_HOTTEST:
        break;
    }
    return put_hottest(l, request, out);
}

/* The interpreter keeps the name of a script as it was typed, and memory_profiler shows
 * that. */
static void show_as_typed(struct sd_line_list *l,
                          const struct sd_line_listing_request *request)
{
    struct stat typed, file;

    for (int w = 0; w < request->n_words; w++) {
        if (stat(request->words[w], &typed) < 0 || !S_ISREG(typed.st_mode))
            continue;
        for (size_t i = 0; i < l->n; i++)
            if (!l->functions[i].shown && stat(l->functions[i].file, &file) == 0 &&
                file.st_dev == typed.st_dev && file.st_ino == typed.st_ino)
                l->functions[i].shown = request->words[w];
    }
}

int sd_line_listing_put(const struct sd_profile *p,
                        const struct sd_line_listing_request *request,
                        struct sd_out *out)
{
    struct sd_line_list l;
    int rc = sd_line_list_of(p, &l);

    if (rc == 0)
        remark_changed(p, &l, request->remarks);
    if (rc == 0 && request->layout == SD_LINE_LISTING_MEMORY)
        show_as_typed(&l, request);
    if (request->skips_zero)
        sd_line_list_skip_zero(&l);
    if (request->is_raw)
        sd_line_list_make_raw(&l);
    if (rc == 0 && request->layout != SD_LINE_LISTING_HOTTEST &&
        request->form == SD_TABLE_JSON)
        put_json(out, &l);
    else if (rc == 0)
        rc = request->form == SD_TABLE_TEXT ? put_text(&l, request, out)
                                            : put_hottest(&l, request, out);
    sd_line_list_release(&l);
    return rc;
}
