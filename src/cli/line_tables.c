/* SPDX-License-Identifier: MIT */
#include "cli/line_tables.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analyse/line_list.h"
#include "base/encoding/csv.h"
#include "base/error.h"
#include "base/encoding/json.h"
#include "base/mem.h"
#include "cli/export.h"
#include "outputs/line_json.h"
#include "cli/path.h"
#include "formats/lprof.h"

/* --- Files */

static const char *path_of(const char *file)
{
    return strcmp(file, "-") == 0 ? "/dev/stdin" : file;
}

bool sd_line_file_is(const char *path)
{
    uint8_t head[128];
    int fd = open(path_of(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : pread(fd, head, sizeof head, 0); /* no pipe, no folder */

    if (fd >= 0)
        close(fd);
    return n > 0 && sd_lprof_is(head, (size_t)n);
}

static int load_parts(char *const *files, size_t n, struct sd_line_stats **parts)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        parts[i] = sd_zalloc(sizeof *parts[i]);
        if (!parts[i])
            return sd_no_memory();
        sd_line_stats_init(parts[i]);
        rc = sd_lprof_load(path_of(files[i]), parts[i]);
    }
    return rc;
}

/* One alone is taken as it is: adding up would round it. */
int sd_line_files_load(char *const *files, size_t n, struct sd_line_stats *into)
{
    struct sd_line_stats **parts;
    int rc;

    if (n == 1)
        return sd_lprof_load(path_of(files[0]), into);
    parts = sd_zalloc((n + 1) * sizeof *parts);
    if (!parts)
        return sd_no_memory();
    rc = load_parts(files, n, parts);
    if (rc == 0)
        rc = sd_line_stats_sum(into, parts, n);
    for (size_t i = 0; i < n && parts[i]; i++) {
        sd_line_stats_release(parts[i]);
        sd_free(parts[i]);
    }
    sd_free(parts);
    return rc;
}

/* --- Data */

static int64_t as_ns(const struct sd_line_stats *s, double time)
{
    double ns = rint(time * s->unit * 1e9);

    return ns > -0x1p62 && ns < 0x1p62 ? (int64_t)ns : 0;
}

static bool is_shown(const struct sd_line_function *f,
                     const struct sd_line_text_wish *wish)
{
    return !wish->skips_zeros || sd_line_function_hits(f) != 0;
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
                    const struct sd_line_text_wish *wish, const size_t *order)
{
    sd_out_text(out, "file,first_line,function,line,hits,time_ns\r\n");
    for (size_t i = 0; i < s->n; i++)
        if (is_shown(&s->functions[order[i]], wish))
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
                     const struct sd_line_text_wish *wish, const size_t *order)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_real(&j, "unit", s->unit);
    sd_json_key(&j, "functions");
    sd_json_array(&j);
    for (size_t i = 0; i < s->n; i++)
        if (is_shown(&s->functions[order[i]], wish))
            put_function_json(&j, s, &s->functions[order[i]]);
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

int sd_line_tables(const struct sd_line_stats *s, enum sd_line_form form,
                   const struct sd_line_text_wish *wish, struct sd_out *out)
{
    size_t *order;
    int rc;

    if (form == SD_LINE_TEXT)
        return sd_report_lines(s, wish, out);
    rc = sd_line_text_order(s, wish, &order);
    if (rc < 0)
        return rc;
    if (form == SD_LINE_CSV)
        put_csv(out, s, wish, order);
    else
        put_json(out, s, wish, order);
    sd_free(order);
    return 0;
}

/* --- From file to file */

enum kind { KIND_LPROF, KIND_CSV, KIND_JSON, KIND_TEXT, KIND_NONE };

static enum kind kind_of(const char *to, const char *format)
{
    static const struct {
        const char *suffix;
        enum kind kind;
    } kinds[] = { { ".lprof", KIND_LPROF },
                  { ".csv", KIND_CSV },
                  { ".json", KIND_JSON },
                  { ".txt", KIND_TEXT } };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (format ? strcmp(format, kinds[i].suffix + 1) == 0
                   : sd_path_has_suffix(to, kinds[i].suffix))
            return kinds[i].kind;
    return KIND_NONE;
}

static int put_kind(const struct sd_line_stats *s, enum kind kind, struct sd_out *out)
{
    static const struct sd_line_text_wish wish = { .unit = 1e-6 };

    if (kind == KIND_LPROF)
        return sd_line_stats_write_lprof(s, out);
    return sd_line_tables(s,
                          kind == KIND_CSV    ? SD_LINE_CSV
                          : kind == KIND_JSON ? SD_LINE_JSON
                                              : SD_LINE_TEXT,
                          &wish, out);
}

int sd_line_file_convert(char *file, const char *to, const char *format,
                         enum sd_create_flags create)
{
    enum kind kind = kind_of(to, format);
    struct sd_export_file out;
    struct sd_line_stats s;
    int rc = 0;

    if (kind == KIND_NONE)
        rc = sd_fail(SD_EUSAGE,
                     "%s is a file of line_profiler and has lines alone, which %s is "
                     "not made of; it can become .lprof, .csv, .json or .txt",
                     file, format ? format : to);
    sd_line_stats_init(&s);
    if (rc == 0)
        rc = sd_line_files_load(&file, 1, &s);
    if (rc == 0)
        rc = sd_export_open(&out, to, create);
    if (rc == 0)
        rc = sd_export_close(&out, put_kind(&s, kind, &out.out));
    sd_line_stats_release(&s);
    return rc;
}

/* --- Out of a capture */

int sd_line_tables_put_lprof(const struct sd_profile *p, struct sd_out *out)
{
    struct sd_lined lined = { 0 };
    struct sd_line_stats s;
    int rc;

    if (p->lines.n == 0)
        return sd_fail(SD_EABSENT, "no line was counted in it; sonde lines records "
                                   "them");
    sd_line_stats_init(&s);
    rc = sd_lined_of(p, &lined);
    if (rc == 0)
        rc = sd_lined_stats(&lined, SD_TWINS_TOGETHER, &s);
    if (rc == 0)
        rc = sd_line_stats_write_lprof(&s, out);
    sd_line_stats_release(&s);
    sd_lined_release(&lined);
    return rc;
}
