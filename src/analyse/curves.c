/* SPDX-License-Identifier: MIT */
/* curves: makes curves of readings over time, one per process and one for all of them,
 * with the sections that were open meanwhile. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/moments.h"
#include "analyse/processes.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/series.h"

enum {
    MAX_CURVES = 8, /* of processes; more cannot be told apart */
    MAX_BANDS = 1500,
    MAX_GATHERED = 1 << 20,
    MAX_DEPTH = 64,
};

/* Some are shown beside another metric of the same process, which they are part of. */
static const struct {
    const char *metric, *quantity, *beside;
} quantities[] = {
    { "heap", "live heap", "rss" },
    { "rss", "resident memory", NULL },
    { "vms", "mapped memory", NULL },
    { "pss", "proportional memory", NULL },
    { "peak_rss", "highest resident memory", NULL },
    { "cpu", "CPU", NULL },
    { "threads", "threads", NULL },
    { "read", "bytes read", NULL },
    { "written", "bytes written", NULL },
    { "received", "network received", NULL },
    { "sent", "network sent", NULL },
    { "tcp_received", "received over TCP connections", NULL },
    { "tcp_sent", "sent over TCP connections", NULL },
};

static const char *quantity_of(const char *metric)
{
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++)
        if (strcmp(quantities[i].metric, metric) == 0)
            return quantities[i].quantity;
    return metric;
}

static const char *beside(const char *metric)
{
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++)
        if (strcmp(quantities[i].metric, metric) == 0)
            return quantities[i].beside;
    return NULL;
}

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

/* --- Which processes */

struct chosen {
    const struct sd_series **series; /* the largest first */
    size_t n, n_all;
};

static int larger_first(const void *a, const void *b)
{
    const struct sd_series *x = *(const struct sd_series *const *)a;
    const struct sd_series *y = *(const struct sd_series *const *)b;

    if (x->sum.max != y->sum.max)
        return x->sum.max < y->sum.max ? 1 : -1;
    return x->track.at < y->track.at ? -1 : x->track.at > y->track.at;
}

static bool is_read(const struct sd_profile *p, const struct sd_series *s,
                    const char *metric)
{
    return s->n_buckets > 0 && p->tracks[s->track.at].kind == SD_TRACK_PROCESS &&
           strcmp(p->metrics[s->metric.at].name, metric) == 0;
}

/* A fortieth of the largest can hardly be told from zero. */
static bool is_visible(const struct chosen *c, size_t i)
{
    return i == 0 ||
           (double)c->series[i]->sum.max > 0.025 * (double)c->series[0]->sum.max;
}

static int choose(const struct sd_profile *p, const char *metric, struct sd_arena *a,
                  struct chosen *c)
{
    *c = (struct chosen){ 0 };
    c->series = sd_arena_alloc(a, (p->n_series + 1) * sizeof *c->series);
    if (!c->series)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_series; i++)
        if (is_read(p, &p->series[i], metric))
            c->series[c->n_all++] = &p->series[i];
    qsort(c->series, c->n_all, sizeof *c->series, larger_first);
    while (c->n < c->n_all && c->n < MAX_CURVES && is_visible(c, c->n))
        c->n++;
    sd_assert(c->n_all <= p->n_series && c->n <= c->n_all);
    return 0;
}

/* What could be plotted instead. */
static int fail_absent(const struct sd_profile *p, const char *metric)
{
    struct sd_buf known = { 0 };
    int rc;

    for (size_t i = 0; i < p->n_metrics; i++) {
        bool has_any = false;

        for (size_t k = 0; k < p->n_series && !has_any; k++)
            has_any = p->series[k].metric.at == i;
        if (has_any)
            sd_buf_printf(&known, "%s%s", known.n ? ", " : "", p->metrics[i].name);
    }
    rc = known.n ? sd_fail(SD_EUSAGE, "the capture has no readings of '%s'; it has %s",
                           metric, sd_buf_string(&known))
                 : sd_fail(SD_EABSENT, "the capture has no readings over time to plot; "
                                       "record them with: sonde rss");
    sd_buf_release(&known);
    return rc;
}

/* --- Levels and counters as they were read */

static int curve_of(const struct sd_series *s, int64_t less, struct sd_arena *a,
                    struct sd_curve *out)
{
    sd_assert(!out->points);
    out->points = sd_arena_alloc(a, (s->n_buckets + 1) * sizeof *out->points);
    if (!out->points)
        return sd_no_memory();
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        const struct sd_series_bucket *b = &s->buckets[i];

        out->points[i] = (struct sd_curve_point){
            .t = seconds(b->from_ns + (b->to_ns - b->from_ns) / 2),
            .min = (double)b->min - (double)less,
            .max = (double)b->max - (double)less,
            .last = (double)b->last - (double)less,
        };
    }
    out->n_points = s->n_buckets;
    return 0;
}

static int add_total(const struct sd_profile *p, const char *metric, struct sd_arena *a,
                     struct sd_curve *out)
{
    struct sd_series all;
    int rc = sd_moments_sum_processes(p, metric, &all);

    if (rc < 0)
        return rc;
    rc = curve_of(&all, 0, a, out);
    sd_series_release(&all);
    return rc;
}

static int add_readings(const struct sd_profile *p, const char *metric,
                        const struct chosen *c, struct sd_arena *a,
                        struct sd_view_series *out)
{
    int rc = 0;

    for (size_t i = 0; i < c->n && rc == 0; i++) {
        const struct sd_metric *m = &p->metrics[c->series[i]->metric.at];
        struct sd_curve *curve = &out->curves[out->n_curves++];

        curve->kind = sd_cell_kind_of(m->unit);
        curve->name = sd_process_label(p, c->series[i]->track.at, a);
        rc = curve->name
                 ? curve_of(c->series[i],
                            m->adds == SD_ADDS_COUNTER ? c->series[i]->sum.first : 0, a,
                            curve)
                 : sd_no_memory();
    }
    if (rc == 0 && c->n_all > 1 &&
        p->metrics[c->series[0]->metric.at].adds == SD_ADDS_LEVEL) {
        struct sd_curve *all = &out->curves[out->n_curves++];

        *all = (struct sd_curve){ .name = "all processes",
                                  .kind = out->curves[0].kind,
                                  .is_total = true };
        rc = add_total(p, metric, a, all);
    }
    return rc;
}

/* What the first process's readings are a part of: "resident memory of 12 python". */
static int add_beside(const struct sd_profile *p, const char *metric,
                      const struct chosen *c, struct sd_arena *a,
                      struct sd_view_series *out)
{
    const char *other = beside(metric);
    const struct sd_series *s =
        other ? sd_profile_series(p, c->series[0]->track, other) : NULL;
    struct sd_curve *first = &out->curves[0], *curve;
    const char *label = first->name;
    char *title;

    if (!s || s->n_buckets == 0)
        return 0;
    curve = &out->curves[out->n_curves++];
    *curve = (struct sd_curve){
        .kind = first->kind,
        .name = sd_arena_printf(a, "%s of %s", quantity_of(other), label),
    };
    first->name = sd_arena_printf(a, "%s of %s", quantity_of(metric), label);
    title = sd_arena_printf(a, "%s and %s over time", quantity_of(metric),
                            quantity_of(other));
    if (!curve->name || !first->name || !title)
        return sd_no_memory();
    *title = (char)(*title - 'a' + 'A');
    out->title = title;
    out->quantity = "memory";
    return curve_of(s, 0, a, curve);
}

/* --- CPU: a counter of time, shown as its slope */

/* The counter at a moment: a straight line between readings. */
static double counted(const struct sd_series *s, double ns)
{
    uint32_t low = 0, high = s->n_buckets;
    const struct sd_series_bucket *b, *before;
    double part;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if ((double)s->buckets[mid].to_ns < ns)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == s->n_buckets)
        return (double)s->sum.last;
    b = &s->buckets[low];
    if (low == 0)
        return ns <= (double)b->from_ns ? (double)s->sum.first : (double)b->last;
    before = b - 1;
    part = b->to_ns > before->to_ns
               ? (ns - (double)before->to_ns) / (double)(b->to_ns - before->to_ns)
               : 1.0;
    return (double)before->last + part * ((double)b->last - (double)before->last);
}

/* The kernel counts CPU time in ticks of up to 10 ms, so a window must hold many. */
static uint64_t window_ns(const struct sd_profile *p)
{
    uint64_t fine = p->end_ns / 250;

    return fine > 100000000 ? fine : p->end_ns > 1000000000 ? 100000000 : 50000000;
}

/* Percent of one core in each window; adds it to `sums` too. */
static int slope_of(const struct sd_profile *p, const struct sd_series *s, double *sums,
                    struct sd_arena *a, struct sd_curve *out)
{
    uint64_t width = window_ns(p), n = p->end_ns / width + 1;
    uint64_t first = s->buckets[0].from_ns / width;
    uint64_t last = s->buckets[s->n_buckets - 1].to_ns / width;

    sd_assert(s->n_buckets > 0 && first <= last);
    if (out) {
        out->points = sd_arena_alloc(a, (last - first + 2) * sizeof *out->points);
        if (!out->points)
            return sd_no_memory();
    }
    for (uint64_t i = first; i <= last && i < n; i++) {
        double from = (double)(i * width), to = (double)((i + 1) * width);
        double end = (double)p->end_ns < to ? (double)p->end_ns : to;
        double percent =
            end > from ? 100.0 * (counted(s, end) - counted(s, from)) / (end - from)
                       : 0;

        sums[i] += percent;
        if (out)
            out->points[out->n_points++] =
                (struct sd_curve_point){ (from + end) / 2e9, percent, percent,
                                         percent };
    }
    return 0;
}

static int add_sums(const struct sd_profile *p, const double *sums, struct sd_arena *a,
                    struct sd_curve *out)
{
    uint64_t width = window_ns(p), n = p->end_ns / width + 1;

    out->points = sd_arena_alloc(a, n * sizeof *out->points);
    if (!out->points)
        return sd_no_memory();
    for (uint64_t i = 0; i < n; i++) {
        double from = (double)(i * width), end = (double)((i + 1) * width);

        if ((double)p->end_ns < end)
            end = (double)p->end_ns;
        out->points[out->n_points++] =
            (struct sd_curve_point){ (from + end) / 2e9, sums[i], sums[i], sums[i] };
    }
    sd_assert(out->n_points == n);
    return 0;
}

static int add_slopes(const struct sd_profile *p, const struct chosen *c,
                      struct sd_arena *a, struct sd_view_series *out)
{
    double *sums = sd_arena_alloc(a, (p->end_ns / window_ns(p) + 2) * sizeof *sums);
    int rc = sums ? 0 : sd_no_memory();

    for (size_t i = 0; i < c->n_all && rc == 0; i++) {
        struct sd_curve *curve = i < c->n ? &out->curves[out->n_curves++] : NULL;

        if (curve) {
            curve->kind = SD_CELL_PERCENT;
            curve->name = sd_process_label(p, c->series[i]->track.at, a);
            rc = curve->name ? 0 : sd_no_memory();
        }
        if (rc == 0)
            rc = slope_of(p, c->series[i], sums, a, curve);
    }
    if (rc == 0 && c->n_all > 1) {
        struct sd_curve *all = &out->curves[out->n_curves++];

        *all = (struct sd_curve){ .name = "all processes",
                                  .kind = SD_CELL_PERCENT,
                                  .is_total = true };
        rc = add_sums(p, sums, a, all);
    }
    return rc;
}

/* --- Sections */

struct gathered {
    struct sd_band *items; /* owned */
    size_t n, cap;
};

static int longer_first(const void *a, const void *b)
{
    const struct sd_band *x = a, *y = b;
    double long_x = x->to - x->from, long_y = y->to - y->from;

    return (long_x < long_y) - (long_x > long_y);
}

static int earlier_first(const void *a, const void *b)
{
    const struct sd_band *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static uint32_t depth_of(const struct sd_profile *p, sd_site_id site)
{
    uint32_t depth = 0;

    for (site = p->sites[site.at].parent; site.at != UINT32_MAX && depth < MAX_DEPTH;
         site = p->sites[site.at].parent)
        depth++;
    return depth;
}

/* Spans count whole, but a window is drawn only as far as it goes. */
static bool is_seen(const struct sd_view_series *s, const struct sd_interval *i)
{
    return seconds(i->to_ns) >= s->from && seconds(i->from_ns) <= s->to;
}

static int gather(const struct sd_profile *p, const struct sd_span_total *t,
                  bool has_paths, const struct sd_view_series *out, struct gathered *g)
{
    const struct sd_site *site = &p->sites[t->site.at];
    uint32_t depth = depth_of(p, t->site);
    struct sd_band *items;

    if (g->n + t->when.n > MAX_GATHERED)
        return 0;
    items = sd_grow_array(g->items, &g->cap, g->n + t->when.n, sizeof *items);
    if (!items)
        return sd_no_memory();
    g->items = items;
    for (uint32_t i = 0; i < t->when.n; i++)
        if (is_seen(out, &t->when.items[i]))
            g->items[g->n++] = (struct sd_band){
                .name = has_paths ? site->path : site->name,
                .from = fmax(seconds(t->when.items[i].from_ns), out->from),
                .to = fmin(seconds(t->when.items[i].to_ns), out->to),
                .depth = depth,
                .n = t->when.items[i].n,
            };
    return 0;
}

/* Keeps the longest when there are too many to be seen. */
static int keep_bands(struct gathered *g, struct sd_arena *a,
                      struct sd_view_series *out)
{
    if (g->n > MAX_BANDS) {
        qsort(g->items, g->n, sizeof *g->items, longer_first);
        g->n = MAX_BANDS;
    }
    qsort(g->items, g->n, sizeof *g->items, earlier_first);
    out->bands = sd_arena_alloc(a, (g->n + 1) * sizeof *out->bands);
    if (!out->bands)
        return sd_no_memory();
    for (size_t i = 0; i < g->n; i++) {
        out->bands[i] = g->items[i];
        out->bands[i].name =
            sd_arena_string(a, g->items[i].name, strlen(g->items[i].name));
        if (!out->bands[i].name)
            return sd_no_memory();
    }
    sd_assert(g->n <= MAX_BANDS);
    out->n_bands = g->n;
    return 0;
}

static int add_bands(const struct sd_profile *p, bool has_paths, struct sd_arena *a,
                     struct sd_view_series *out)
{
    struct gathered g = { 0 };
    int rc = 0;

    for (size_t i = 0; i < p->n_spans && rc == 0; i++)
        if (p->sites[p->spans[i].site.at].kind == SD_SITE_SECTION &&
            p->spans[i].when.n > 0)
            rc = gather(p, &p->spans[i], has_paths, out, &g);
    if (rc == 0 && g.n > 0)
        rc = keep_bands(&g, a, out);
    sd_free(g.items);
    return rc;
}

int sd_analyse_bands(const struct sd_profile *p, struct sd_arena *a,
                     struct sd_view_series *out)
{
    return add_bands(p, true, a, out);
}

/* --- The peak */

static const char *peak_text(struct sd_arena *a, enum sd_cell_kind kind, double value)
{
    char text[SD_TEXT_MAX];

    value = value < 0x1p62 ? value : 0x1p62; /* a lying file may say anything */
    switch (kind) {
    case SD_CELL_BYTES:
        return sd_arena_printf(a, "%s", sd_text_bytes(text, (int64_t)value));
    case SD_CELL_PERCENT:
        return sd_arena_printf(a, "%.0f %%", value);
    case SD_CELL_NS:
        return sd_arena_printf(a, "%s", sd_text_duration(text, (int64_t)value));
    case SD_CELL_COUNT:
    case SD_CELL_REAL:
    case SD_CELL_TEXT:
    case SD_CELL_NONE:
        break;
    }
    return sd_arena_printf(a, "%s", sd_text_count(text, (int64_t)value));
}

/* Of all together, or where that is no curve of the largest. */
static int set_peak(struct sd_arena *a, struct sd_view_series *out)
{
    size_t n = out->n_curves;
    const struct sd_curve *c = &out->curves[out->curves[n - 1].is_total ? n - 1 : 0];
    char when[SD_TEXT_MAX];
    const char *value;

    sd_assert(out->n_curves <= MAX_CURVES + 1);
    out->peak = -1;
    for (size_t i = 0; i < c->n_points; i++)
        if (c->points[i].max > out->peak) {
            out->peak = c->points[i].max;
            out->peak_t = c->points[i].t;
        }
    if (out->peak <= 0) {
        out->peak = -1;
        return 0;
    }
    value = peak_text(a, c->kind, out->peak);
    sd_text_duration(when, (int64_t)(out->peak_t * 1e9));
    out->peak_label = value ? sd_arena_printf(a, "peak %s at %s", value, when) : NULL;
    return out->peak_label ? 0 : sd_no_memory();
}

/* Between two readings memory may have been higher; the kernel's mark knows, for one
 * process.  (The marks of several need not fall together, so they have no sum.) */
static int set_mark(const struct sd_profile *p, const char *metric,
                    const struct chosen *c, struct sd_arena *a,
                    struct sd_view_series *out)
{
    int64_t mark;
    const char *value;

    sd_assert(c->n_all > 0);
    out->mark = -1;
    if (c->n_all != 1 || strcmp(metric, "rss") != 0)
        return 0;
    mark = sd_process_peak_bytes(p, c->series[0]->track);
    if ((double)mark <= out->peak * 1.005)
        return 0;
    value = peak_text(a, SD_CELL_BYTES, (double)mark);
    out->mark = (double)mark;
    out->mark_label =
        value ? sd_arena_printf(a, "%s reached between two readings", value) : NULL;
    return out->mark_label ? 0 : sd_no_memory();
}

/* --- Title */

static int set_words(const struct sd_profile *p, const char *metric,
                     const struct chosen *c, struct sd_arena *a,
                     struct sd_view_series *out)
{
    const char *whose = sd_profile_meta(p, "command");
    char *title;

    if (!whose)
        whose = sd_profile_meta(p, "program");
    out->quantity = quantity_of(metric);
    out->quantity = sd_arena_string(a, out->quantity, strlen(out->quantity));
    title = sd_arena_printf(a, "%s over time", out->quantity ? out->quantity : "");
    if (!out->quantity || !title)
        return sd_no_memory();
    if (*title >= 'a' && *title <= 'z')
        *title = (char)(*title - 'a' + 'A');
    out->title = title;
    if (whose && !(out->subtitle = sd_arena_string(a, whose, strlen(whose))))
        return sd_no_memory();
    if (c->n_all > c->n &&
        !(out->note = sd_arena_printf(a, "%zu smaller process%s no curve of %s own",
                                      c->n_all - c->n,
                                      c->n_all - c->n == 1 ? " has" : "es have",
                                      c->n_all - c->n == 1 ? "its" : "their")))
        return sd_no_memory();
    return 0;
}

/* --- What was asked for of them */

static void choose_curves(enum sd_plot_children children, struct sd_view_series *out)
{
    size_t last = out->n_curves - 1;

    sd_assert(out->n_curves > 0);
    if (children == SD_PLOT_BOTH || !out->curves[last].is_total)
        return;
    if (children == SD_PLOT_SUM) {
        out->curves[0] = out->curves[last];
        out->n_curves = 1;
        out->note = NULL;
    } else {
        out->n_curves--;
    }
}

/* Least squares.  Times count from the first point, so that squares stay small. */
static void set_trend(struct sd_curve *c)
{
    double n = (double)c->n_points, zero = n > 0 ? c->points[0].t : 0;
    double t = 0, v = 0, tt = 0, tv = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        double at = c->points[i].t - zero;
        double value = (c->points[i].min + c->points[i].max) / 2;

        t += at;
        v += value;
        tt += at * at;
        tv += at * value;
    }
    if (n * tt - t * t <= 0) /* no two at different times */
        return;
    c->has_trend = true;
    c->slope = (n * tv - t * v) / (n * tt - t * t);
    c->start = (v - c->slope * t) / n - c->slope * zero;
}

int sd_analyse_curves(const struct sd_profile *p, const char *metric,
                      struct sd_arena *a, struct sd_view_series *out)
{
    static const struct sd_plot_request usual;

    return sd_analyse_curves_as(p, metric, &usual, a, out);
}

int sd_analyse_curves_as(const struct sd_profile *p, const char *metric,
                         const struct sd_plot_request *how, struct sd_arena *a,
                         struct sd_view_series *out)
{
    struct chosen c;
    int rc;

    *out = (struct sd_view_series){ .to = seconds(p->end_ns), .peak = -1, .mark = -1 };
    if (p->window.is_set) {
        out->from = seconds(p->window.from_ns);
        out->to = seconds(p->window.to_ns);
    }
    rc = choose(p, metric, a, &c);
    if (rc < 0)
        return rc;
    if (c.n_all == 0)
        return fail_absent(p, metric);
    out->curves = sd_arena_alloc(a, (MAX_CURVES + 2) * sizeof *out->curves);
    if (!out->curves)
        return sd_no_memory();
    rc = set_words(p, metric, &c, a, out);
    if (rc == 0)
        rc = strcmp(metric, "cpu") == 0 ? add_slopes(p, &c, a, out)
                                        : add_readings(p, metric, &c, a, out);
    if (rc == 0 && !how->has_no_sections)
        rc = add_bands(p, false, a, out);
    if (rc < 0)
        return rc;
    choose_curves(how->children, out);
    for (size_t i = 0; how->has_trends && i < out->n_curves; i++)
        set_trend(&out->curves[i]);
    out->has_boxes = how->has_boxes;
    rc = set_peak(a, out);
    if (rc == 0 && how->has_beside)
        rc = add_beside(p, metric, &c, a, out);
    out->title = how->title ? how->title : out->title;
    return rc < 0 ? rc : set_mark(p, metric, &c, a, out);
}
