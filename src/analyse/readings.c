/* SPDX-License-Identifier: MIT */
/* readings: every series in one row, whatever it measures. */
#include <inttypes.h>

#include "analyse/analyse.h"
#include "analyse/processes.h"
#include "analyse/views.h"
#include "base/assert.h"
#include "base/mem.h"

enum column { METRIC, TRACK, N, FIRST, MIN, MEAN, MAX, LAST, TOTAL, UNIT, MEANING };
enum { N_COLUMNS = MEANING + 1 };

static const struct sd_column columns[N_COLUMNS] = {
    [METRIC] = { "metric", "what was read", SD_CELL_TEXT, false, 0 },
    [TRACK] = { "track", "whose it is", SD_CELL_TEXT, false, 0 },
    [N] = { "n", "how many readings", SD_CELL_COUNT, false, 1 },
    [FIRST] = { "first", "the earliest reading", SD_CELL_COUNT, true, 5 },
    [MIN] = { "min", "the smallest", SD_CELL_COUNT, false, 3 },
    [MEAN] = { "mean", "of all readings", SD_CELL_COUNT, false, 2 },
    [MAX] = { "max", "the largest", SD_CELL_COUNT, false, 0 },
    [LAST] = { "last", "the latest", SD_CELL_COUNT, false, 4 },
    [TOTAL] = { "total", "what a counter rose by", SD_CELL_COUNT, true, 5 },
    [UNIT] = { "unit", "of the numbers in CSV and JSON", SD_CELL_TEXT, true, 5 },
    [MEANING] = { "meaning", "what the metric is", SD_CELL_TEXT, true, 9 },
};

static const struct {
    enum sd_cell_kind kind;
    const char *name;
} units[] = {
    [SD_UNIT_COUNT] = { SD_CELL_COUNT, "count" },
    [SD_UNIT_NANOSECONDS] = { SD_CELL_NS, "ns" },
    [SD_UNIT_BYTES] = { SD_CELL_BYTES, "bytes" },
};

static const char *label_of(const struct sd_profile *p, sd_track_id t,
                            struct sd_arena *a)
{
    sd_track_id process = sd_profile_process_of(p, t);

    if (process.at == t.at || process.at == UINT32_MAX)
        return sd_process_label(p, t.at, a);
    return sd_arena_printf(a, "%" PRIu64 "/%" PRIu64 "%s%s",
                           p->tracks[process.at].number, p->tracks[t.at].number,
                           p->tracks[t.at].name ? " " : "",
                           p->tracks[t.at].name ? p->tracks[t.at].name : "");
}

static int fill(const struct sd_profile *p, const struct sd_series *s,
                struct sd_arena *a, struct sd_cell *row)
{
    const struct sd_metric *m = &p->metrics[s->metric.at];
    enum sd_cell_kind kind = units[m->unit].kind;

    sd_assert(s->sum.n > 0 && m->unit < sizeof units / sizeof *units &&
              units[m->unit].name);
    row[METRIC] = sd_cell_text(sd_arena_printf(a, "%s", m->name));
    row[TRACK] = sd_cell_text(label_of(p, s->track, a));
    if (!row[METRIC].text || !row[TRACK].text)
        return sd_no_memory();
    row[N] = sd_cell_number(SD_CELL_COUNT, (int64_t)s->sum.n);
    row[FIRST] = sd_cell_number(kind, s->sum.first);
    row[MIN] = sd_cell_number(kind, s->sum.min);
    row[MAX] = sd_cell_number(kind, s->sum.max);
    row[LAST] = sd_cell_number(kind, s->sum.last);
    if (m->adds == SD_ADDS_COUNTER || m->adds == SD_ADDS_SUM)
        row[TOTAL] = sd_cell_number(kind, s->sum.total);
    if (m->adds == SD_ADDS_LEVEL || m->adds == SD_ADDS_SUM)
        row[MEAN] = sd_cell_number(kind, s->sum.total / (int64_t)s->sum.n);
    row[UNIT] = sd_cell_text(units[m->unit].name);
    if (m->meaning)
        row[MEANING] = sd_cell_text(sd_arena_printf(a, "%s", m->meaning));
    return m->meaning && !row[MEANING].text ? sd_no_memory() : 0;
}

/* One row per series: metric, track, n, min, mean, max, last. */
int sd_readings_view(const struct sd_profile *p, const struct sd_view_request *r,
                     struct sd_view *v)
{
    struct sd_view_table *t;
    size_t n = 0, row = 0;
    int rc = 0;

    (void)r;
    for (size_t i = 0; i < p->n_series; i++)
        n += p->series[i].sum.n > 0;
    t = sd_views_add(v, "series", columns, N_COLUMNS, n);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_series && rc == 0; i++)
        if (p->series[i].sum.n > 0)
            rc = fill(p, &p->series[i], &v->arena, sd_view_cell(t, row++, 0));
    sd_assert(rc < 0 || row == n);
    return rc;
}
