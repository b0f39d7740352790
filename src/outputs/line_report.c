/* SPDX-License-Identifier: MIT */
#include "outputs/line_report.h"

#include <math.h>

#include "base/encoding/csv.h"
#include "base/encoding/json.h"
#include "base/error.h"
#include "base/mem.h"
#include "outputs/line_json.h"

static int64_t as_ns(const struct sd_line_stats *s, double time)
{
    double ns = rint(time * s->unit * 1e9);

    return ns > -0x1p62 && ns < 0x1p62 ? (int64_t)ns : 0;
}

static bool is_shown(const struct sd_line_function *f,
                     const struct sd_line_text_request *request)
{
    return !request->skips_zeros || sd_line_function_hits(f) != 0;
}

static void put_function_csv(struct sd_out *out, const struct sd_line_stats *s,
                             const struct sd_line_function *f)
{
    for (size_t i = 0; i < f->n; i++) {
        sd_csv_text(out, f->file.p, f->file.n);
        sd_out_printf(out, ",%lld,", (long long)f->line);
        sd_csv_text(out, f->name.p, f->name.n);
        sd_out_printf(out, ",%lld,%lld,%lld\r\n", (long long)f->entries[i].line,
                      (long long)f->entries[i].hits,
                      (long long)as_ns(s, f->entries[i].time));
    }
}

static void put_csv(struct sd_out *out, const struct sd_line_stats *s,
                    const struct sd_line_text_request *request, const size_t *order)
{
    sd_out_text(out, "file,first_line,function,line,hits,time_ns\r\n");
    for (size_t i = 0; i < s->n; i++)
        if (is_shown(&s->functions[order[i]], request))
            put_function_csv(out, s, &s->functions[order[i]]);
}

static void put_row_json(struct sd_json *j, const struct sd_line_stats *s,
                         const struct sd_line_entry *e)
{
    int64_t values[SD_LINE_VALUES];

    for (int i = 0; i < SD_LINE_VALUES; i++)
        values[i] = SD_LINE_NONE;
    values[SD_LINE_HITS] = e->hits;
    values[SD_LINE_TIME] = as_ns(s, e->time);
    sd_line_json_row(j, e->line, values, SD_LINE_JSON_KNOWN);
}

static void put_function_json(struct sd_json *j, const struct sd_line_stats *s,
                              const struct sd_line_function *f)
{
    sd_line_json_begin(
        j, &(struct sd_line_json){ .file = f->file.p,
                                   .name = f->name.p,
                                   .n_file = f->file.n,
                                   .n_name = f->name.n,
                                   .first = f->line,
                                   .time_ns = as_ns(s, sd_line_function_time(f)),
                                   .tracing_ns = SD_LINE_NONE });
    for (size_t i = 0; i < f->n; i++)
        put_row_json(j, s, &f->entries[i]);
    sd_line_json_end(j);
}

static void put_json(struct sd_out *out, const struct sd_line_stats *s,
                     const struct sd_line_text_request *request, const size_t *order)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_real(&j, "unit", s->unit);
    sd_json_key_array(&j, "functions");
    for (size_t i = 0; i < s->n; i++)
        if (is_shown(&s->functions[order[i]], request))
            put_function_json(&j, s, &s->functions[order[i]]);
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

int sd_line_report_write(const struct sd_line_stats *s, enum sd_table_form form,
                         const struct sd_line_text_request *request, struct sd_out *out)
{
    size_t *order;
    int rc;

    if (form == SD_TABLE_TEXT)
        return sd_report_lines(s, request, out);
    rc = sd_line_text_order(s, request, &order);
    if (rc < 0)
        return rc;
    if (form == SD_TABLE_CSV)
        put_csv(out, s, request, order);
    else
        put_json(out, s, request, order);
    sd_free(order);
    return 0;
}
