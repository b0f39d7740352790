/* SPDX-License-Identifier: MIT */
#include "profile/lines/line_tables.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/decode.h"
#include "profile/lines/line_cost.h"

/* --- Gathering */

int sd_line_tables_add(struct sd_line_tables *t, const struct sd_cells_view *view)
{
    struct sd_line_cell *cells;

    if (view->kind != SD_CELLS_LINES || view->cell_bytes < sizeof *cells)
        return 0;
    cells = sd_grow_array(t->cells, &t->cap, t->n + view->n, sizeof *cells);
    if (!cells)
        return sd_no_memory();
    t->cells = cells;
    for (uint32_t i = 0; i < view->n; i++) {
        const uint8_t *at = view->cells + (size_t)i * view->cell_bytes;

        if (view->first + i == 0)
            memcpy(&t->root, at, sizeof t->root);
        else
            memcpy(&cells[t->n++], at, sizeof *cells);
        sd_assert(t->n <= t->cap);
    }
    return 0;
}

static void forget(struct sd_line_tables *t)
{
    sd_free(t->sites);
    t->sites = NULL;
    t->n = t->next = 0;
    memset(&t->root, 0, sizeof t->root);
}

/* --- Understanding */

int sd_line_tables_settle(struct sd_line_tables *t, struct sd_decoder *d)
{
    int rc = 0;

    if (t->n == 0) {
        forget(t);
        return 0;
    }
    t->ns_per_tick = sd_decoder_ns_per_tick(d);
    sd_assert(!t->sites); /* the one before was handed out */
    t->to_ns = d->last_clock_ns;
    t->from_ns = d->first_clock_ns < t->to_ns ? d->first_clock_ns : t->to_ns;
    t->sites = sd_zalloc(t->n * sizeof *t->sites);
    rc = t->sites ? sd_decoder_track(d, t->root.track, &t->track) : sd_no_memory();
    for (size_t i = 0; i < t->n && rc == 0; i++) {
        sd_site_id site;

        rc = sd_decoder_site(d, t->cells[i].site, &site);
        t->sites[i] = site.at;
    }
    if (rc < 0)
        forget(t);
    else
        t->next = 1;
    return rc;
}

enum { TOO_LARGE = 62 }; /* bits: sums of a few of them still have room */

static int64_t bounded(uint64_t n)
{
    return n >> TOO_LARGE ? INT64_C(1) << TOO_LARGE : (int64_t)n;
}

static int64_t ns_of(const struct sd_line_tables *t, double ticks)
{
    double ns = ticks * t->ns_per_tick + 0.5;

    return ns < 4e18 ? (int64_t)ns : (int64_t)4e18;
}

/* What telling of lines cost is CPU time, too. */
static int64_t cpu_of(const struct sd_line_cell *c, int64_t cost_ns)
{
    int64_t ns = bounded(c->cpu_ns);

    return ns > cost_ns ? ns - cost_ns : 0;
}

static void fill(struct sd_line_tables *t, const struct sd_line_cell *c)
{
    bool has_memory = t->root.flags & SD_LINES_HAVE_MEMORY && c->n_read > 0;
    struct sd_line_times times = sd_line_times_of(c, &t->root);
    int64_t *v = t->values;

    sd_assert_slow(times.child <= times.ticks && times.cost >= 0);
    v[SD_LINE_HITS] = bounded(c->hits);
    v[SD_LINE_TIME] = ns_of(t, times.ticks);
    v[SD_LINE_CHILD_TIME] = ns_of(t, times.child);
    v[SD_LINE_TRACING] = ns_of(t, times.cost);
    v[SD_LINE_MIN] = c->min_ticks ? ns_of(t, times.min) : SD_VALUE_NONE;
    v[SD_LINE_MAX] = ns_of(t, times.max);
    v[SD_LINE_CPU_TIME] = t->root.flags & SD_LINES_HAVE_CPU
                              ? cpu_of(c, v[SD_LINE_TRACING])
                              : SD_VALUE_NONE;
    v[SD_LINE_READ] = has_memory ? bounded(c->n_read) : SD_VALUE_NONE;
    v[SD_LINE_INCREMENT] = has_memory ? c->grew_bytes : SD_VALUE_NONE;
    v[SD_LINE_MEMORY] = has_memory ? c->after_bytes : SD_VALUE_NONE;
    v[SD_LINE_PEAK] = has_memory && c->peak_bytes > 0 ? c->peak_bytes : SD_VALUE_NONE;
    v[SD_LINE_TOLD_TIME] = sd_sum_i64(v[SD_LINE_TIME], v[SD_LINE_TRACING]);
    v[SD_LINE_TOLD_CHILD_TIME] =
        sd_sum_i64(v[SD_LINE_CHILD_TIME], ns_of(t, times.child_cost));
    v[SD_LINE_TOLD_MIN] = c->min_ticks ? ns_of(t, (double)c->min_ticks) : SD_VALUE_NONE;
    v[SD_LINE_TOLD_MAX] = ns_of(t, (double)c->max_ticks);
    v[SD_LINE_TOLD_CPU_TIME] =
        t->root.flags & SD_LINES_HAVE_CPU ? bounded(c->cpu_ns) : SD_VALUE_NONE;
}

bool sd_line_tables_next(struct sd_line_tables *t, struct sd_event *e)
{
    const struct sd_line_cell *c;

    if (t->next == 0)
        return false;
    if (t->next > t->n) {
        forget(t);
        return false;
    }
    c = &t->cells[t->next - 1];
    fill(t, c);
    *e = (struct sd_event){ .kind = SD_EVENT_LINES,
                            .track = { t->track },
                            .site = { t->sites[t->next - 1] },
                            .stack = SD_NO_STACK,
                            .from_ns = t->from_ns,
                            .to_ns = t->to_ns,
                            .flags = c->line,
                            .values = t->values };
    t->next++;
    return true;
}

void sd_line_tables_release(struct sd_line_tables *t)
{
    forget(t);
    sd_free(t->cells);
    memset(t, 0, sizeof *t);
}
