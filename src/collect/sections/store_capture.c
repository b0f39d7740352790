/* SPDX-License-Identifier: MIT */
#include "collect/sections/store_capture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/memory/memory_capture.h"
#include "collect/sections/metrics.h"
#include "process/stat.h"

/* --- Which field is which metric; SUM and LEVEL alike are as the row has them ---- */

static const struct {
    enum sd_section_metric metric;
    enum sd_field field;
} metric_fields[] = {
    { SD_SECTION_RSS_BEFORE, SD_FIELD_START_RSS },
    { SD_SECTION_RSS_AFTER, SD_FIELD_END_RSS },
    { SD_SECTION_VMS_BEFORE, SD_FIELD_START_VMS },
    { SD_SECTION_VMS_AFTER, SD_FIELD_END_VMS },
    { SD_SECTION_PEAK_RSS, SD_FIELD_PEAK },
    { SD_SECTION_READ, SD_FIELD_READ },
    { SD_SECTION_WRITTEN, SD_FIELD_WRITTEN },
    { SD_SECTION_RECEIVED, SD_FIELD_RECEIVED },
    { SD_SECTION_SENT, SD_FIELD_SENT },
    { SD_SECTION_PSS_AFTER, SD_FIELD_PSS },
};
enum { N_METRIC_FIELDS = sizeof metric_fields / sizeof *metric_fields };
_Static_assert((int)SD_SECTION_N_METRICS <= (int)SD_WHOLE_VALUES,
               "a span holds them all");

/* Those of rows with this clock. */
static uint64_t metrics_of_rows(const struct sd_store *s, enum sd_kind kind)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < N_METRIC_FIELDS; i++)
        if (s->at[metric_fields[i].field] >= 0)
            mask |= (uint64_t)1 << metric_fields[i].metric;
    if (s->at[SD_FIELD_START] >= 0 && kind == SD_KIND_CPU)
        mask |= (uint64_t)1 << SD_SECTION_CPU;
    if (s->at[SD_FIELD_START] >= 0 && kind == SD_KIND_PROCESS)
        mask |= (uint64_t)1 << SD_SECTION_PROCESS_CPU;
    return mask;
}

static int64_t lasted(const struct sd_store *s, const struct sd_row *row)
{
    int64_t a = sd_store_get(s, row, SD_FIELD_START);
    int64_t b = sd_store_get(s, row, SD_FIELD_END);

    return a == SD_VALUE_NONE || b == SD_VALUE_NONE || b < a
               ? SD_VALUE_NONE
               : (int64_t)((uint64_t)b - (uint64_t)a);
}

static void take_values(const struct sd_store *s, const struct sd_row *row,
                        uint64_t mask, int64_t *values)
{
    int64_t all[SD_SECTION_N_METRICS];
    unsigned n = 0;

    all[SD_SECTION_CPU] = all[SD_SECTION_PROCESS_CPU] = lasted(s, row);
    for (unsigned i = 0; i < N_METRIC_FIELDS; i++)
        all[metric_fields[i].metric] = sd_store_get(s, row, metric_fields[i].field);
    for (unsigned i = 0; i < SD_SECTION_N_METRICS; i++)
        if (mask >> i & 1)
            values[n++] = all[i];
}

/* --- Rows as spans --------------------------------------------------------------- */

struct rows { /* being made a capture of */
    const struct sd_store *store;
    uint64_t shapes[SD_N_KINDS + 1]; /* the last: its clock is not known */
    int64_t now_ns;
};

static bool is_open(const struct sd_row *row) { return row->flags & SD_ROW_OPEN; }

/* When it was, in ns since the epoch.  A row that was measured here knows it; one from
 * elsewhere has it when its clock was that. */
static bool when(const struct rows *rows, const struct sd_row *row, int64_t *from,
                 int64_t *to)
{
    *from = row->from_ns;
    *to = is_open(row) ? rows->now_ns : row->to_ns;
    if (!row->from_ns && row->kind == SD_KIND_WALL) {
        *from = sd_store_get(rows->store, row, SD_FIELD_START);
        *to = sd_store_get(rows->store, row, SD_FIELD_END);
    }
    return *from > 0 && *to >= *from;
}

static bool row_as_span(const void *of, uint32_t i, struct sd_whole_span *out)
{
    const struct rows *rows = of;
    const struct sd_row *row = sd_store_row(rows->store, i);
    int64_t from, to;

    sd_assert(row->kind <= SD_N_KINDS);
    if (!when(rows, row, &from, &to))
        return false;
    *out = (struct sd_whole_span){
        .site = row->entry,
        .tid = row->tid,
        .shape = row->kind,
        .flags = (uint16_t)((row->flags & SD_ROW_RAISED ? SD_SPAN_RAISED : 0) |
                            (is_open(row) ? SD_SPAN_UNFINISHED : 0)),
        .from = (uint64_t)from,
        .to = (uint64_t)to,
    };
    take_values(rows->store, row, rows->shapes[row->kind], out->values);
    return true;
}

static uint32_t n_without_times(const struct rows *rows)
{
    uint32_t n = 0;
    int64_t from, to;

    for (uint32_t i = 0; i < rows->store->n_rows; i++)
        n += !when(rows, sd_store_row(rows->store, i), &from, &to);
    return n;
}

/* --- Paths as sites -------------------------------------------------------------- */

/* "a:b" is in "a" where there is such a path; else it is one name. */
static struct sd_whole_site site_of(const struct sd_store *s, const struct sd_entry *e)
{
    for (uint32_t n = e->n; n-- > 0;) {
        uint32_t parent =
            e->path[n] == ':' ? sd_store_find(s, e->path, n) : SD_STORE_NONE;

        if (parent != SD_STORE_NONE)
            return (struct sd_whole_site){ e->path + n + 1, e->n - n - 1, parent };
    }
    return (struct sd_whole_site){ e->path, e->n, SD_NO_PARENT };
}

static struct sd_whole_site *sites_of(const struct sd_store *s)
{
    struct sd_whole_site *sites = sd_alloc((s->n_entries + 1) * sizeof *sites);

    for (size_t i = 0; sites && i < s->n_entries; i++)
        sites[i] = site_of(s, &s->entries[i]);
    return sites;
}

int sd_store_as_capture(const struct sd_store *s, int64_t epoch_ns, const char *command,
                        struct sd_buf *to)
{
    struct rows rows = { .store = s, .now_ns = (int64_t)sd_clock_ns() + epoch_ns };
    const struct sd_whole_how how = { .command = command };
    struct sd_process_stat stat = { .start_ticks = 0 };
    struct sd_whole_site *sites = sites_of(s);
    struct sd_whole_spans spans = { .sites = sites,
                                    .n_sites = (uint32_t)s->n_entries,
                                    .metrics = sd_section_metrics,
                                    .shapes = rows.shapes,
                                    .n_shapes = SD_N_KINDS + 1,
                                    .pid = (uint64_t)getpid(),
                                    .n = s->n_rows,
                                    .of = &rows,
                                    .span = row_as_span };
    char note[120];
    uint32_t n_left_out;
    int rc;

    if (!sites)
        return sd_no_memory();
    for (unsigned k = 0; k <= SD_N_KINDS; k++)
        rows.shapes[k] = metrics_of_rows(s, (enum sd_kind)k);
    if (sd_process_stat(0, &stat) == 0) {
        spans.start_ticks = stat.start_ticks;
        spans.process = stat.name;
    }
    n_left_out = n_without_times(&rows);
    if (n_left_out) {
        snprintf(note, sizeof note,
                 "%u intervals are left out: it is not known when they were",
                 n_left_out);
        spans.note = note;
    }
    rc = sd_whole_spans(&spans, &how, to);
    sd_free(sites);
    return rc;
}
